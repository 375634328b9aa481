// SPDX-License-Identifier: MIT
// The simulator against what follows from its parameters by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "scheduler/sim/experiment.h"

namespace lyra::sim {
namespace {

constexpr uint64_t kUs = 1000, kMs = 1'000'000;

/// One latency-critical client at 100 Hz against one that fills the GPU.
Experiment two_clients() {
    Experiment e;
    ClientClass critical, effort;
    critical.name = "critical";
    critical.queue.priority = 15;
    critical.kernel_ns = 50 * kUs;
    critical.arrival = Arrival::Poisson;
    critical.rate_hz = 100;
    critical.latency_critical = true;
    effort.name = "effort";
    effort.kernel_ns = 100 * kMs;
    effort.context_bytes = 20 << 20;
    e.clients = {critical, effort};
    e.policy.policy = QSCHED_FIXED;
    e.samples = 4000;
    return e;
}

uint64_t percentile(std::vector<uint64_t> values, double p) {
    std::sort(values.begin(), values.end());
    return values.at(std::min(values.size() - 1, static_cast<size_t>(p * static_cast<double>(values.size()))));
}
std::vector<uint64_t> latencies(const Result& r) {
    std::vector<uint64_t> out;
    for (const Sample& s : r.samples) {
        if (s.displaced) out.push_back(s.t8_first_wave - s.t0_doorbell);
    }
    return out;
}

TEST(Simulation, OtherFirmwareIsForGuests) {
    Experiment e = two_clients();
    e.samples = 10;
    e.firmware = {"runlist-over-live=keep"};
    EXPECT_NO_THROW(simulate(e));
    e.firmware = {"runlist-over-live=reject"};
    EXPECT_THROW(simulate(e), std::invalid_argument);
}

TEST(Simulation, PollingWaitsForHalfAPeriod) {
    Experiment e = two_clients();
    e.unmap = Unmap::Queue;
    e.clients[0].rate_hz = 10;  // only the first one in a period displaces somebody, and so is earlier in it than any
    const Result r = simulate(e);
    const std::vector<uint64_t> l = latencies(r);
    ASSERT_GT(l.size(), 2000u) << "those that come while the victim is still away displace nobody";
    const uint64_t fixed = percentile(l, 0);  // what remains when the look comes at once
    EXPECT_NEAR(static_cast<double>(percentile(l, 0.5) - fixed), 2.5 * kMs, 0.15 * kMs);
    EXPECT_NEAR(static_cast<double>(percentile(l, 1) - fixed), 5.0 * kMs, 0.1 * kMs);
}

// The driver sleeps for an eighth of the time that it has waited, and wakes. So the latency grows with the save in steps, each
// a sleep and a waking high.
TEST(Simulation, TheFenceIsSeenAtALook) {
    Experiment e = two_clients();
    e.detection = Detection::Notify;
    e.unmap = Unmap::All;
    e.clients[1].context_bytes = 2 << 20;
    e.retry_ns = kUs;
    e.samples = 50;
    std::vector<uint64_t> steps;
    for (uint64_t grace = 1; grace < 120; ++grace) {
        e.grace_ns = grace * kUs;
        const uint64_t latency = percentile(latencies(simulate(e)), 0.5);
        if (steps.empty() || latency > steps.back()) steps.push_back(latency);
        ASSERT_GE(latency, steps.back()) << "at " << grace << " us";
    }
    ASSERT_GT(steps.size(), 4u);
    ASSERT_LT(steps.size(), 20u);
    for (size_t n = 1; n < steps.size(); ++n) {
        const uint64_t step = steps[n] - steps[n - 1] - e.driver.wake_ns, before = n > 1 ? steps[n - 1] - steps[n - 2] : 0;
        EXPECT_EQ(step % kUs, 0u);
        EXPECT_GE(steps[n] - steps[n - 1], before);
        const double waited = static_cast<double>(steps[n - 1] - steps[0]);
        EXPECT_GT(static_cast<double>(step), waited / 8);
        EXPECT_LT(static_cast<double>(step), static_cast<double>(steps[n]) * 9 / 64 + 2 * kUs);
    }
}

TEST(Simulation, TimeLineIsInOrder) {
    for (const Unmap unmap : {Unmap::All, Unmap::Queue}) {
        for (const Detection detection : {Detection::Poll, Detection::Adaptive, Detection::Notify}) {
            Experiment e = two_clients();
            e.unmap = unmap;
            e.detection = detection;
            e.period_ns = 100 * kUs;
            e.samples = 500;
            const Result r = simulate(e);
            unsigned displaced = 0;
            for (const Sample& s : r.samples) {
                EXPECT_LE(s.t0_doorbell, s.t8_first_wave);
                EXPECT_LE(s.t8_first_wave + e.clients[0].kernel_ns, s.t9_done);
                if (!s.displaced) continue;
                EXPECT_LE(s.t0_doorbell, s.t2_detected);
                EXPECT_LE(s.t2_detected, s.t3_requested);
                if (s.t4_dequeue == 0) continue;  // in the grace period
                ++displaced;
                EXPECT_LE(s.t3_requested, s.t4_dequeue);
                EXPECT_LE(s.t4_dequeue, s.t5_saved);
                EXPECT_LE(s.t5_saved, s.t8_first_wave);
            }
            EXPECT_GT(displaced, 400u);
        }
    }
}

TEST(Simulation, LatencyDoesNotDependOnTheVictimsKernel) {
    Experiment e = two_clients();
    e.detection = Detection::Notify;
    e.unmap = Unmap::Queue;
    std::vector<uint64_t> p99;
    for (const uint64_t kernel : {kMs, 10 * kMs, 10'000 * kMs}) {
        e.clients[1].kernel_ns = kernel;
        p99.push_back(percentile(latencies(simulate(e)), 0.99));
    }
    const auto [least, most] = std::minmax_element(p99.begin(), p99.end());
    EXPECT_LE(static_cast<double>(*most), 1.05 * static_cast<double>(*least));
}

TEST(Simulation, LatencyGrowsWithTheBytesThatAreSaved) {
    Experiment e = two_clients();
    e.detection = Detection::Notify;
    e.unmap = Unmap::Queue;
    e.clients[1].context_bytes = 0;
    const uint64_t none = percentile(latencies(simulate(e)), 0.5);
    e.clients[1].context_bytes = 20'000'000;
    const uint64_t some = percentile(latencies(simulate(e)), 0.5);
    EXPECT_NEAR(static_cast<double>(some - none), 20e9 / static_cast<double>(e.timing.vram_speed()) * 1000 / 1000, 2000.0);
}

TEST(Simulation, WithoutSchedulerTheVictimsKernelIsWaitedFor) {
    Experiment e = two_clients();
    e.policy.policy = QSCHED_NONE;
    e.clients[1].kernel_ns = 20 * kMs;
    e.samples = 500;
    const Result r = simulate(e);
    std::vector<uint64_t> waits;
    for (const Sample& s : r.samples) waits.push_back(s.t8_first_wave - s.t0_doorbell);
    EXPECT_GT(percentile(waits, 0.5), 5 * kMs);
    EXPECT_EQ(r.actions, 0u);
}

TEST(Simulation, TheGpuIsNotWorkedTwice) {
    Experiment e = two_clients();
    e.clients[1].count = 3;
    e.clients[1].room = 0;
    e.period_ns = kMs;
    const Result r = simulate(e);
    const uint64_t critical = r.clients[0].work_ns, rest = r.clients[1].work_ns;
    EXPECT_LE(critical + rest, r.duration_ns + 4 * e.clients[1].kernel_ns);
    const double retained = static_cast<double>(rest) / static_cast<double>(r.duration_ns - critical);
    EXPECT_GT(retained, 0.7);
    EXPECT_LE(retained, 1.01);
}

/// A client with one kernel at a time is late for those that come meanwhile: who counts from its doorbell does not see that.
TEST(Simulation, ArrivalsThatWaitForTheirClientCount) {
    Experiment e = two_clients();
    e.clients.resize(1);
    ClientClass& c = e.clients[0];
    c.arrival = Arrival::Trace;
    c.kernel_ns = kMs;
    c.turnaround_ns = 10 * kUs;
    c.trace_ns = {kMs, kMs + 100 * kUs, 10 * kMs};
    const Result r = simulate(e);
    ASSERT_EQ(r.samples.size(), 3u);
    EXPECT_EQ(r.samples[1].arrival, kMs + 100 * kUs);
    EXPECT_GT(r.samples[1].t8_first_wave - r.samples[1].arrival, 900 * kUs);
    EXPECT_LT(r.samples[1].t8_first_wave - r.samples[1].t0_doorbell, 10 * kUs) << "from the doorbell nobody waits";
    EXPECT_EQ(r.samples[2].arrival, 10 * kMs);
    EXPECT_LT(r.samples[2].t8_first_wave - r.samples[2].arrival, 10 * kUs);
}

TEST(Simulation, StarvationIsBounded) {
    Experiment e = two_clients();
    e.clients[0].arrival = Arrival::Closed;
    e.policy.starvation_ns = 50 * kMs;
    e.policy.turn_ns = 5 * kMs;
    e.detection = Detection::Adaptive;
    e.period_ns = 100 * kUs;
    e.clients[1].kernel_ns = kMs;
    const Result r = simulate(e);
    EXPECT_GT(r.clients[1].kernels, 0u);
    EXPECT_LE(r.clients[1].longest_off_ns, 52 * kMs);
    EXPECT_GE(r.clients[1].longest_off_ns, 50 * kMs);
}

TEST(Simulation, SameSeedSameResult) {
    Experiment e = two_clients();
    e.samples = 300;
    const Result a = simulate(e), b = simulate(e);
    e.seed = 2;
    const Result c = simulate(e);
    ASSERT_EQ(a.samples.size(), b.samples.size());
    EXPECT_EQ(latencies(a), latencies(b));
    EXPECT_NE(latencies(a), latencies(c));
}

TEST(Simulation, SaysWhatIsWrong) {
    Experiment e;
    EXPECT_THROW(simulate(e), std::invalid_argument);
    e = two_clients();
    e.clients[0].rate_hz = 0;
    EXPECT_THROW(simulate(e), std::invalid_argument);
    e = two_clients();
    e.clients[0].count = 257;
    EXPECT_THROW(simulate(e), std::invalid_argument);
    e = two_clients();
    e.period_ns = 0;
    EXPECT_THROW(simulate(e), std::invalid_argument);
}

}  // namespace
}  // namespace lyra::sim
