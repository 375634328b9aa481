// SPDX-License-Identifier: MIT
// Pipe priority, queue priority and quantum: who launches first, who executes packets first, and that nobody starves.
// The two grids of kfdtest's QueuePriorityOnDifferentPipe and OnSamePipe are among them, with an order that can be wrong.
#include "cp-firmware-model/testing/cp_rig.h"

namespace lyra {
namespace {

using namespace lyra::testing;
using pm4::Opcode;

constexpr uint32_t kLow = 0, kMedium = 1, kHigh = 2;
constexpr uint32_t kQuantumMs = 1u << 4 | 1;  ///< EN, SCALE; DURATION from bit 8

class Priority : public CpRig {
protected:
    Priority() {
        start_hiq();
        plan({.instructions = 100});
    }

    /// Values of the driver's MQD. @source Linux 6.12 kfd_mqd_manager_v9.c update_mqd(), set_priority()
    TestRing ring(unsigned n, uint32_t pipe_priority, uint32_t queue_priority, uint32_t quantum = kQuantumMs | 1 << 8) {
        TestRing made = user_ring(n);
        bus.memory.put<uint32_t>(made.mqd + 133 * 4, pipe_priority);
        bus.memory.put<uint32_t>(made.mqd + 134 * 4, queue_priority);
        bus.memory.put<uint32_t>(made.mqd + 135 * 4, quantum);
        return made;
    }
    void map(const std::vector<TestRing>& rings) {
        std::vector<Words> list{map_process(0x8001)};
        for (const TestRing& r : rings) list.push_back(map_queue(r));
        run_list(list);
        settle();
    }
    void submit_grid(TestRing& r, uint32_t groups) {
        emit(r, dispatch(groups));
        submit(r, release_mem(fence(r), 1, 1, 0, 0));
    }
    static uint64_t fence(const TestRing& r) { return kScratch + r.doorbell; }
    bool done(const TestRing& r) { return word(fence(r)) == 1; }
    /// Until the queue's fence is there.
    void finish(const TestRing& r, unsigned step_us = 10) {
        for (unsigned n = 0; n < 100'000 && !done(r); ++n) {
            cp.run(500);
            host.time_ns += step_us * 1000;
        }
        ASSERT_TRUE(done(r));
    }
    static bool of(const FakeLaunch& l, const TestRing& r) { return l.launch.doorbell_id == (r.doorbell / 8 & 0x3ff); }
    /// Launches from the first to the last one of a queue, its own and all.
    std::pair<double, double> window(const TestRing& r) const {
        const auto& all = fakes.launches;
        size_t first = all.size(), last = 0, own = 0;
        for (size_t n = 0; n < all.size(); ++n) {
            if (!of(all[n], r)) continue;
            first = std::min(first, n);
            last = n;
            ++own;
        }
        return {static_cast<double>(own), static_cast<double>(last - first + 1)};
    }
    unsigned pipe_of(const TestRing& r) {
        for (uint8_t pipe = 0; pipe < 4; ++pipe) {
            for (uint8_t queue = 0; queue < 8; ++queue) {
                const GrbmSelect slot{1, pipe, queue, 0};
                if (reg(0xc91c, slot) == 1 && (reg(0xc950, slot) & 0x0ffffffc) == r.doorbell) return pipe;
            }
        }
        return ~0u;
    }
};

TEST_F(Priority, OnDifferentPipesTheHigherOneGetsFourOfFiveLaunches) {
    TestRing low = ring(0, kLow, 0), high = ring(1, kHigh, 15);
    map({low, high});
    ASSERT_NE(pipe_of(low), pipe_of(high));
    submit_grid(low, 4000);
    for (unsigned n = 0; n < 3; ++n) cp.run(100);
    submit_grid(high, 4000);
    finish(high);
    EXPECT_FALSE(done(low));
    const auto [own, all] = window(high);
    EXPECT_NEAR(own / all, 0.8, 0.02);
    finish(low);
}

TEST_F(Priority, OnTheSamePipeTheHigherOneGetsThemAll) {
    // Thirteen queues in the order in which the driver lists them: the last one made first.
    std::vector<TestRing> rings;
    rings.push_back(ring(1, kHigh, 15));
    for (unsigned n = 12; n >= 2; --n) rings.push_back(ring(n, kMedium, 7));
    rings.push_back(ring(0, kLow, 0));
    map(rings);
    TestRing &high = rings.front(), &low = rings.back();
    ASSERT_EQ(pipe_of(low), pipe_of(high));
    submit_grid(low, 4000);
    for (unsigned n = 0; n < 3; ++n) cp.run(100);
    submit_grid(high, 4000);
    finish(high);
    EXPECT_FALSE(done(low));
    const auto [own, all] = window(high);
    EXPECT_EQ(own, all);
    finish(low);
}

TEST_F(Priority, EqualPipesTakeTurns) {
    TestRing a = ring(0, kMedium, 7), b = ring(1, kMedium, 3);
    map({a, b});
    submit_grid(a, 2000);
    submit_grid(b, 2000);
    finish(b);
    const auto [own, all] = window(b);
    EXPECT_NEAR(own / all, 0.5, 0.02) << "queue priority counts on one pipe only";
}

TEST_F(Priority, WeightsComeFromTheRegister) {
    EXPECT_EQ(reg(0xc264), 0x08081020u);
    set_reg(0xc264, 0x01000003);  // high 3, medium 0 as 1, low 1
    TestRing low = ring(0, kLow, 0), high = ring(1, kHigh, 0);
    map({low, high});
    submit_grid(low, 4000);
    submit_grid(high, 4000);
    finish(high);
    const auto [own, all] = window(high);
    EXPECT_NEAR(own / all, 0.75, 0.02);
}

TEST_F(Priority, TheLowerOneIsNotStarved) {
    TestRing low = ring(0, kLow, 0), high = ring(1, kHigh, 15);
    map({low, high});
    submit_grid(high, 1'000'000);
    cp.run(100);
    submit_grid(low, 1000);
    finish(low);
    EXPECT_FALSE(done(high));
    const auto [own, all] = window(low);
    EXPECT_NEAR(own / all, 0.2, 0.02);
}

TEST_F(Priority, EqualsOnOnePipeHaveItForTheirQuantum) {
    std::vector<TestRing> rings;
    for (unsigned n = 0; n < 5; ++n) rings.push_back(ring(n, kMedium, 7));
    map(rings);
    TestRing &a = rings[0], &b = rings[4];
    ASSERT_EQ(pipe_of(a), pipe_of(b));
    submit_grid(a, 4000);
    submit_grid(b, 4000);
    finish(b);
    finish(a);
    // A step is 10 us, so a quantum is about a hundred of them.
    unsigned changes = 0;
    const auto& all = fakes.launches;
    for (size_t n = 1; n < all.size(); ++n) changes += of(all[n], a) != of(all[n - 1], a);
    EXPECT_EQ(all.size(), 8000u);
    EXPECT_GE(changes, 10u);
    EXPECT_LE(changes, 40u);
}

TEST_F(Priority, WithoutAQuantumTheFirstOneKeepsThePipe) {
    std::vector<TestRing> rings;
    for (unsigned n = 0; n < 5; ++n) rings.push_back(ring(n, kMedium, 7, 0));
    map(rings);
    submit_grid(rings[0], 2000);
    cp.run(100);
    submit_grid(rings[4], 2000);
    finish(rings[4]);
    const auto [own, all] = window(rings[0]);
    EXPECT_GT(own / all, 0.95);
}

TEST_F(Priority, PacketsOfTheHigherQueueGoFirst) {
    std::vector<TestRing> rings{ring(0, kLow, 3)};
    for (unsigned n = 1; n < 4; ++n) rings.push_back(ring(n, kLow, 3));
    rings.push_back(ring(4, kLow, 9));
    map(rings);
    TestRing &low = rings[0], &high = rings[4];
    ASSERT_EQ(pipe_of(low), pipe_of(high));
    for (unsigned n = 0; n < 50; ++n) {
        emit(low, release_mem(kScratch, 0, 0, 1, 1));
        emit(high, release_mem(kScratch, 0, 0, 1, 2));
    }
    ring_bell(low);
    ring_bell(high);
    EXPECT_EQ(settle(), RunState::Idle);
    ASSERT_EQ(interrupts(181), 100u);
    for (unsigned n = 0; n < 50; ++n) ASSERT_EQ(bus.interrupts[n].data[0], 2u) << n;
}

TEST_F(Priority, AHigherQueueThatWaitsDoesNotKeepTheLowerOneOut) {
    std::vector<TestRing> rings{ring(0, kLow, 0)};
    for (unsigned n = 1; n < 4; ++n) rings.push_back(ring(n, kLow, 0));
    rings.push_back(ring(4, kHigh, 15));
    map(rings);
    TestRing &low = rings[0], &high = rings[4];
    submit(high, packet(Opcode::WAIT_REG_MEM, {3 | 1 << 4, lo32(fence(low)), 0, 1, ~0u, 4}));
    submit(high, release_mem(fence(high), 1, 1, 0, 0));
    settle(10);
    submit_grid(low, 100);
    finish(high);
    EXPECT_TRUE(done(low));
}

TEST_F(Priority, ALevelOfThePipeSetsItsPacketsPerTurn) {
    EXPECT_EQ(reg(0xc26c), 2u);
    set_reg(0xc26c, 3);  // ME1 pipe 1
    EXPECT_EQ(reg(0xc26c), 3u);
    TestRing a = ring(0, kMedium, 7), b = ring(1, kMedium, 7);
    map({a, b});
    for (unsigned n = 0; n < 60; ++n) {
        emit(a, release_mem(kScratch, 0, 0, 1, 1));
        emit(b, release_mem(kScratch, 0, 0, 1, 2));
    }
    ring_bell(a);
    ring_bell(b);
    cp.run(1);
    unsigned of_a = 0, of_b = 0;
    for (const Interrupt& i : bus.interrupts) ++(i.data[0] == 1 ? of_a : of_b);
    EXPECT_EQ(of_a, 16u);
    EXPECT_EQ(of_b, 8u);
}

TEST_F(Priority, RegistersOfARunningQueueTakeEffect) {
    TestRing low = ring(0, kMedium, 7), other = ring(1, kMedium, 7);
    map({low, other});
    submit_grid(low, 4000);
    submit_grid(other, 4000);
    cp.run(1000);
    set_reg(0xc928, kLow, {1, 0, 2, 0});
    set_reg(0xc928, kHigh, {1, 1, 2, 0});
    finish(other);
    const auto [own, all] = window(other);
    EXPECT_NEAR(own / all, 0.8, 0.04);
}

}  // namespace
}  // namespace lyra
