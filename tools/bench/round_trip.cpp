// SPDX-License-Identifier: MIT
#include "tools/bench/round_trip.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>

namespace lyra::bench {

double line_round_trip_ns() {
    constexpr uint32_t kExchanges = 5000, kBatches = 8;
    alignas(64) std::atomic<uint32_t> ball{0};
    std::thread other([&ball] {
        for (uint32_t n = 0; n < kBatches * kExchanges; ++n) {
            while (ball.load(std::memory_order_acquire) != 2 * n + 1) {}
            ball.store(2 * n + 2, std::memory_order_release);
        }
    });
    double best = std::numeric_limits<double>::max();
    uint32_t n = 0;
    for (uint32_t batch = 0; batch < kBatches; ++batch) {
        const auto begin = std::chrono::steady_clock::now();
        for (uint32_t last = n + kExchanges; n < last; ++n) {
            ball.store(2 * n + 1, std::memory_order_release);
            while (ball.load(std::memory_order_acquire) != 2 * n + 2) {}
        }
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
        best = std::min(best, took.count() / kExchanges);
    }
    other.join();
    return best;
}

}  // namespace lyra::bench
