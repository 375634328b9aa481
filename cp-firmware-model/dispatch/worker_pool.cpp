// SPDX-License-Identifier: MIT
// The gate through which helpers come into a round, and how they wait for the next one.
#include "cp-firmware-model/dispatch/worker_pool.h"

#include <csignal>

#include <algorithm>
#include <chrono>

namespace lyra {

namespace {

/// The next round mostly begins a few microseconds after the last one: longer than that a waiting thread sleeps.
constexpr auto kSpin = std::chrono::microseconds(50);
constexpr unsigned kPauses = 32;  ///< between two looks at the clock

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
}

}  // namespace

WorkerPool::WorkerPool(unsigned helpers, std::function<void(unsigned)> work) : work_(std::move(work)) {
    for (unsigned n = 0; n < std::min(helpers, kInside); ++n) helpers_.emplace_back([this, n] { help(n + 1); });
}

WorkerPool::~WorkerPool() {
    stop_ = true;
    gate_ += kRound;
    gate_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
}

/// Until the gate is as done wants it. @return how it is then
template <class Done>
uint32_t WorkerPool::wait(Done done) {
    for (;;) {
        uint32_t gate = gate_.load(std::memory_order_acquire);
        const auto until = std::chrono::steady_clock::now() + kSpin;
        do {
            for (unsigned n = 0; n < kPauses; ++n) {
                gate = gate_.load(std::memory_order_acquire);
                if (done(gate)) return gate;
                relax();
            }
        } while (std::chrono::steady_clock::now() < until);
        gate_.wait(gate);
    }
}

void WorkerPool::call() {
    gate_ += kRound;
    gate_.notify_all();
}

void WorkerPool::round() {
    const uint32_t opened = (gate_.load(std::memory_order_relaxed) & ~(kOpen | kInside)) + kRound + kOpen;
    gate_ = opened;
    gate_.notify_all();
    work_(0);
    if ((gate_.fetch_and(~kOpen) & kInside) != 0) wait([](uint32_t gate) { return (gate & kInside) == 0; });
}

void WorkerPool::help(unsigned thread) {
    // The process's signals are for its other threads.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    uint32_t last = 0;
    for (;;) {
        uint32_t gate = wait([&](uint32_t now) { return stop_ || ((now & kOpen) != 0 && now / kRound != last); });
        if (stop_) return;
        if (!gate_.compare_exchange_strong(gate, gate + 1)) continue;
        last = gate / kRound;
        work_(thread);
        gate_.fetch_sub(1);
        gate_.notify_all();
    }
}

}  // namespace lyra
