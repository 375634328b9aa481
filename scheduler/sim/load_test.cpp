// SPDX-License-Identifier: MIT
// Kinds of unmapping, queues that share a process, and more queues than the hardware has slots, in the simulator.
#include <gtest/gtest.h>

#include <algorithm>

#include "scheduler/sim/experiment.h"

namespace lyra::sim {
namespace {

constexpr uint64_t kUs = 1000, kMs = 1'000'000;

/// A latency-critical client against so many queues that fill the GPU together.
Experiment load(unsigned count) {
    Experiment e;
    ClientClass critical, effort;
    critical.name = "critical";
    critical.queue.priority = 15;
    critical.kernel_ns = 50 * kUs;
    critical.arrival = Arrival::Poisson;
    critical.rate_hz = 100;
    critical.latency_critical = true;
    effort.name = "effort";
    effort.process = "effort";
    effort.count = count;
    effort.kernel_ns = 10 * kMs;
    effort.room = 1.0 / std::min(count, 23u);
    effort.context_bytes = (20 << 20) / std::min(count, 23u);
    e.clients = {critical, effort};
    e.policy.policy = QSCHED_FIXED;
    e.detection = Detection::Notify;
    e.period_ns = 100 * kUs;
    e.retry_ns = kUs;
    e.unmap = Unmap::Queue;
    e.samples = 400;
    return e;
}

uint64_t percentile(const Result& r, double p) {
    std::vector<uint64_t> all;
    for (const Sample& s : r.samples) all.push_back(s.t8_first_wave - s.t0_doorbell);
    std::sort(all.begin(), all.end());
    return all.at(std::min(all.size() - 1, static_cast<size_t>(p * static_cast<double>(all.size()))));
}

uint64_t saved_for_each(const Result& r) { return r.queues_saved / std::max<uint64_t>(r.displacements, 1); }

TEST(Load, WhatIsSavedByKindOfUnmapping) {
    Experiment e = load(4);
    e.clients[1].process = "app";
    // A queue of middle priority in the same process, which could stay when only the low ones have to go.
    ClientClass side = e.clients[1];
    side.name = "side";
    side.count = 1;
    side.queue.priority = 15;
    side.arrival = Arrival::Uniform;
    side.rate_hz = 1;
    e.clients.push_back(side);
    ClientClass other = e.clients[1];
    other.name = "other";
    other.process = "";
    other.count = 1;
    other.queue.priority = 15;
    other.arrival = Arrival::Uniform;
    other.rate_hz = 1;
    e.clients.push_back(other);
    e.samples = 200;
    const auto with = [&](Unmap unmap) {
        e.unmap = unmap;
        return saved_for_each(simulate(e));
    };
    EXPECT_EQ(with(Unmap::Queue), 4u) << "the low ones";
    EXPECT_EQ(with(Unmap::Process), 5u) << "and the one that shares their process";
    EXPECT_EQ(with(Unmap::Static), 4u) << "all that are not static";
    e.static_priority = 16;
    EXPECT_EQ(with(Unmap::Static), 7u) << "nobody is";
    EXPECT_GE(with(Unmap::All), 7u) << "everybody, also when queues come back";
}

TEST(Load, FourDoorbellsInAPacket) {
    Experiment e = load(8);
    e.timing.scheduler_packet_ns = 100 * kUs;
    const uint64_t two = percentile(simulate(e), 0.5);
    e.unmap = Unmap::Process;
    const uint64_t one = percentile(simulate(e), 0.5);
    e.clients[1].process = "";
    e.hardware.processes = 9;
    const uint64_t eight = percentile(simulate(e), 0.5);
    EXPECT_NEAR(static_cast<double>(two - one), 100.0 * kUs, kUs);
    EXPECT_NEAR(static_cast<double>(eight - one), 700.0 * kUs, kUs);
}

TEST(Load, FewSlotsAreSharedByQuantum) {
    for (const bool by_process : {false, true}) {
        Experiment e = load(12);
        e.clients.erase(e.clients.begin());
        e.policy.policy = QSCHED_NONE;
        if (by_process) {
            e.clients[0].process = "";
            e.hardware.processes = 4;
        } else {
            e.hardware.hqds = 4;
        }
        e.hardware.quantum_ns = 5 * kMs;
        e.clients[0].latency_critical = true;
        e.clients[0].kernel_ns = kMs;
        e.samples = 2000;
        const Result r = simulate(e);
        ASSERT_EQ(r.samples.size(), 2000u);
        EXPECT_NEAR(static_cast<double>(r.rotations), static_cast<double>(r.duration_ns) / (5.0 * kMs),
                    0.1 * static_cast<double>(r.rotations));
        // Three rounds: each is away for two quanta and three rotations, which save and restore.
        EXPECT_GT(r.clients[0].longest_off_ns, 10 * kMs);
        EXPECT_LT(r.clients[0].longest_off_ns, 11 * kMs);
    }
}

TEST(Load, WhatFitsIsNotRotated) {
    Experiment e = load(23);
    EXPECT_EQ(simulate(e).rotations, 0u);
    e.clients[1].count = 24;
    EXPECT_GT(simulate(e).rotations, 10u);
}

TEST(Load, StaticQueuesKeepTheirSlots) {
    Experiment e = load(48);
    std::swap(e.clients[0], e.clients[1]);  // last of the run list, the first round would not reach it
    e.unmap = Unmap::Static;
    const Result r = simulate(e);
    EXPECT_EQ(r.clients[1].longest_off_ns, 0u);
    EXPECT_GT(r.rotations, 10u);
    e.unmap = Unmap::Queue;
    EXPECT_GT(simulate(e).clients[1].longest_off_ns, 0u) << "it has to wait for its slot";
}

TEST(Load, EverybodyGetsHisRound) {
    Experiment e = load(48);
    e.clients[1].kernel_ns = 100 * kUs;
    e.samples = 200;
    const Result r = simulate(e);
    EXPECT_GT(static_cast<double>(r.clients[1].work_ns) / static_cast<double>(r.duration_ns), 0.8);
    EXPECT_LT(r.clients[1].longest_off_ns, 100 * kMs) << "two rounds, and what the critical client interrupts";
}

TEST(Load, SaysWhatIsWrong) {
    Experiment e = load(2);
    e.hardware.hqds = 0;
    EXPECT_THROW(simulate(e), std::invalid_argument);
    e = load(2);
    e.clients[1].room = 1.5;
    EXPECT_THROW(simulate(e), std::invalid_argument);
}

}  // namespace
}  // namespace lyra::sim
