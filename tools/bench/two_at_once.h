// SPDX-License-Identifier: MIT
// Two things at once on two threads that stay awake, which is what a machine can do at best with its second processor.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace lyra::bench {

/// The second thread, from construction to destruction. It spins, so that neither waits for the other to wake up.
class TwoAtOnce {
public:
    /// @param other  what the second thread does each time; false: it failed
    explicit TwoAtOnce(std::function<bool()> other) : other_(std::move(other)), thread_([this] { serve(); }) {}
    ~TwoAtOnce() {
        asked_ = kEnd;
        thread_.join();
    }
    TwoAtOnce(const TwoAtOnce&) = delete;
    TwoAtOnce& operator=(const TwoAtOnce&) = delete;

    /// @param own  done meanwhile by the caller  @return both were done
    bool run(const std::function<bool()>& own) {
        const uint32_t turn = ++turn_;
        asked_.store(turn, std::memory_order_release);
        const bool done = own();
        while (served_.load(std::memory_order_acquire) != turn) {}
        return done && good_;
    }

private:
    static constexpr uint32_t kEnd = ~0u;
    void serve() {
        for (uint32_t last = 0;;) {
            uint32_t turn;
            while ((turn = asked_.load(std::memory_order_acquire)) == last) {}
            if (turn == kEnd) return;
            good_ = other_();
            served_.store(last = turn, std::memory_order_release);
        }
    }

    std::function<bool()> other_;
    uint32_t turn_ = 0;
    bool good_ = false;  ///< as of the turn that was served last
    alignas(64) std::atomic<uint32_t> asked_{0};
    alignas(64) std::atomic<uint32_t> served_{0};
    std::thread thread_;  ///< last: it uses the others
};

}  // namespace lyra::bench
