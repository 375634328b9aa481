// SPDX-License-Identifier: MIT
// No simulated response is longer than the bound, and the bound says something.
#include "scheduler/analysis/response_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lyra::sim {
namespace {

constexpr uint64_t kUs = 1000, kMs = 1'000'000;

/// Three clients at fixed rates above one that never rests.
Experiment some(uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto between = [&](uint64_t low, uint64_t high) { return low + random() % (high - low + 1); };
    Experiment e;
    e.policy.policy = QSCHED_FIXED;
    e.detection = static_cast<Detection>(seed % 3);
    e.unmap = static_cast<Unmap>(seed / 3 % 4);
    e.period_ns = between(100, 400) * kUs;
    e.idle_period_ns = e.period_ns;
    e.seed = seed;
    e.samples = 150;
    for (unsigned n = 0; n < 3; ++n) {
        ClientClass c;
        c.name = "client" + std::to_string(n);
        c.queue.priority = static_cast<uint8_t>(12 - 3 * n);
        c.arrival = Arrival::Uniform;
        c.rate_hz = 1e9 / static_cast<double>(between(10, 20) * kMs << n);
        c.kernel_ns = between(100, 1500) * kUs << n;
        c.context_bytes = between(0, 20) << 20;
        e.clients.push_back(c);
    }
    ClientClass effort;
    effort.name = "effort";
    effort.kernel_ns = 50 * kMs;
    effort.context_bytes = 20 << 20;
    e.clients.push_back(effort);
    return e;
}

TEST(ResponseTime, NoSimulatedOneIsLonger) {
    unsigned bounded = 0;
    double tightest = 0;
    for (uint64_t seed = 0; seed < 36; ++seed) {
        for (size_t client = 0; client < 3; ++client) {
            Experiment e = some(seed);
            e.clients[client].latency_critical = true;
            const std::optional<uint64_t> bound = response_bound_ns(e, client);
            if (!bound) continue;
            ++bounded;
            uint64_t longest = 0;
            for (const Sample& s : simulate(e).samples) longest = std::max(longest, s.t9_done - s.t0_doorbell);
            EXPECT_LE(longest, *bound) << "seed " << seed << " client " << client;
            EXPECT_GT(longest, e.clients[client].kernel_ns);
            tightest = std::max(tightest, static_cast<double>(longest) / static_cast<double>(*bound));
        }
    }
    EXPECT_GT(bounded, 54u) << "half of them";
    EXPECT_GT(tightest, 0.5) << "a bound twice as long as anything that happens says little";
}

TEST(ResponseTime, TooMuchWorkHasNone) {
    Experiment e = some(1);
    EXPECT_TRUE(response_bound_ns(e, 2));
    e.clients[0].kernel_ns = 20 * kMs;
    EXPECT_FALSE(response_bound_ns(e, 2));
}

TEST(ResponseTime, OutsideOfTheModel) {
    Experiment e = some(1);
    EXPECT_THROW(response_bound_ns(e, 3), std::invalid_argument) << "a closed loop has no period";
    EXPECT_THROW(response_bound_ns(e, 9), std::invalid_argument);
    e.clients[1].queue.priority = e.clients[0].queue.priority;
    EXPECT_THROW(response_bound_ns(e, 0), std::invalid_argument);
    e = some(1);
    e.policy.starvation_ns = 1;
    EXPECT_THROW(response_bound_ns(e, 0), std::invalid_argument);
    e = some(1);
    e.clients[2].waits_for = "effort";
    EXPECT_THROW(response_bound_ns(e, 0), std::invalid_argument);
    e = some(1);
    e.clients[0].arrival = Arrival::Poisson;
    EXPECT_THROW(response_bound_ns(e, 1), std::invalid_argument);
}

}  // namespace
}  // namespace lyra::sim
