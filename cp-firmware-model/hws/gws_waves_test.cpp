// SPDX-License-Identifier: MIT
// Waves that synchronise over the whole chip, in queues that are mapped with global wave sync and unmapped at random moments.
// The increments under a semaphore are those of kfdtest's KFDGWSTest.Semaphore.
#include "cp-firmware-model/testing/waves_bench.h"

namespace lyra {
namespace {

using testing::packet;
using testing::TestRing;
using testing::WavesBench;
using testing::Words;

constexpr uint32_t kGwsControl = 1u << 12;
constexpr uint32_t kGwsVmid8 = 0xcc80 + 8 * 4;
constexpr unsigned kMaxResources = 64;

constexpr const char* kInit = R"(
  s_mov_b32 m0, 0
  v_mov_b32 v0, s3
  ds_gws_init v0 offset:0 gds
  s_waitcnt 0
  s_endpgm
)";

/// One increment of word 0 that is no atomic.
constexpr const char* kIncrement = R"(
  s_mov_b32 m0, 0
  ds_gws_sema_p offset:0 gds
  s_waitcnt 0
  s_load_dword s16, s[0:1], 0x0 glc
  s_waitcnt 0
  s_add_u32 s16, s16, 1
  s_store_dword s16, s[0:1], 0x0 glc
  s_waitcnt lgkmcnt(0)
  ds_gws_sema_v offset:0 gds
  s_endpgm
)";

/// s3 + 1 waves meet 50 times. Each adds one to word 0 before, and finds all of them there after; else it counts word 1.
constexpr const char* kMeet = R"(
  s_mov_b32 m0, 0x10000
  s_mov_b32 s10, 0
  s_mov_b32 s11, 0
  s_add_u32 s12, s3, 1
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  v_mov_b32 v0, s3
  s_mov_b64 exec, 1
again:
  global_atomic_add v1, v2, s[0:1]
  s_waitcnt vmcnt(0)
  ds_gws_barrier v0 offset:1 gds
  s_waitcnt 0
  s_add_u32 s11, s11, s12
  global_load_dword v3, v1, s[0:1] glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s13, v3
  ds_gws_barrier v0 offset:1 gds
  s_cmp_eq_u32 s13, s11
  s_cbranch_scc1 good
  global_atomic_add v1, v2, s[0:1] offset:4
good:
  s_add_u32 s10, s10, 1
  s_cmp_lt_u32 s10, 50
  s_cbranch_scc1 again
  s_endpgm
)";

struct GwsWaves : WavesBench {
    GwsWaves() { ready = ready && program(0, kInit) && program(1, kIncrement) && program(2, kMeet); }
    static Words process(uint16_t pasid, uint32_t resources = kMaxResources) { return WavesBench::process(pasid, resources); }
    static Words map_gws(const TestRing& ring) { return map_queue(ring, kMapQueue | kGwsControl); }
    void map(const TestRing& ring) {
        run_list({process(0x8001), map_gws(ring)});
        for (unsigned n = 0; n < 5; ++n) cp.run(64);
    }
    void finish_preempted(const TestRing& ring, unsigned seed) {
        std::mt19937 random(seed);
        for (unsigned n = 0; n < 3000 && !done(ring); ++n) {
            for (unsigned k = random() % 30; k != 0; --k) cp.run(1 + random() % 2500);
            unmap();
            ASSERT_FALSE(HasFailure());
            map(ring);
        }
        ASSERT_TRUE(done(ring));
        EXPECT_GT(env.stats.get(Stat::waves_saved), 50u);
        expect_all_restored();
    }
    unsigned interrupts_of_waves() const {
        unsigned n = 0;
        for (const Interrupt& i : bus.interrupts) n += i.source == ih_source::kSqMessage;
        return n;
    }
};

TEST_F(GwsWaves, MappingGivesTheProcessItsResources) {
    ASSERT_READY();
    TestRing ring = save_ring(0);
    run_list({process(0x8001, 16), map_queue(ring)});
    settle();
    EXPECT_EQ(reg(kGwsVmid8), 0u) << "no queue of the process asks for them";
    unmap();
    run_list({process(0x8001, 16), map_gws(ring)});
    settle();
    EXPECT_EQ(reg(kGwsVmid8), 16u << 16);
    EXPECT_EQ(reg(0xc9dc, {1, 0, 2, 0}), 16u << 4);
    unmap();
    EXPECT_EQ(reg(kGwsVmid8), 0u);
    submit(hiq, packet(pm4::Opcode::SET_RESOURCES,
                       {kKfdVmids | 40u << 16 | 1u << 29, kAllKfdSlots, 0, 0xfffffff0, 0x00ffffff, 0, 0}));
    run_list({process(0x8001, 16), map_gws(ring)});
    settle();
    EXPECT_EQ(reg(kGwsVmid8), 16u << 16 | 4u) << "the first free ones of SET_RESOURCES";
    EXPECT_EQ(reg(0xc9dc, {1, 0, 2, 0}), 16u << 4 | 4u << 12);
    unmap();
    run_list({process(0x8001, 64), map_gws(ring)});
    settle();
    EXPECT_EQ(faults(Fault::NoGws), 1u) << "more than there are";
    EXPECT_EQ(reg(0xc91c, {1, 0, 2, 0}), 1u);
}

TEST_F(GwsWaves, ASemaphoreGuardsAnIncrement) {
    ASSERT_READY();
    TestRing ring = save_ring(0);
    map(ring);
    submit_grid(ring, 0, 1, 1);
    finish(ring);
    submit_grid(ring, 1, 3000, 0);
    finish(ring);
    EXPECT_EQ(word(kData), 3000u);
}

TEST_F(GwsWaves, TheSemaphoreSurvivesPreemptionAtRandomMoments) {
    ASSERT_READY();
    TestRing ring = save_ring(0);
    map(ring);
    submit_grid(ring, 0, 1, 1);
    finish(ring);
    unmap();  // nothing runs: the counter is kept all the same
    map(ring);
    submit_grid(ring, 1, 3000, 0);
    finish_preempted(ring, 7);
    EXPECT_EQ(word(kData), 3000u);
}

TEST_F(GwsWaves, TheBarrierSurvivesPreemptionAtRandomMoments) {
    ASSERT_READY();
    constexpr uint32_t kWaves = 24, kRounds = 50;
    TestRing ring = save_ring(0);
    bus.memory.put<uint32_t>(kData, 0);
    map(ring);
    // The barrier is resource 2: the offset field and bits 21:16 of M0 add up.
    ASSERT_TRUE(program(3, "s_mov_b32 m0, 0x10000\n v_mov_b32 v0, s3\n ds_gws_init v0 offset:1 gds\n s_endpgm"));
    submit_grid(ring, 3, 1, kWaves - 1);
    finish(ring);
    submit_grid(ring, 2, kWaves, kWaves - 1);
    finish_preempted(ring, 8);
    EXPECT_EQ(word(kData), kWaves * kRounds);
    EXPECT_EQ(word(kData + 4), 0u) << "a wave came through before all were there";
}

TEST_F(GwsWaves, WithoutResourcesTheWaveGetsAMemoryViolation) {
    ASSERT_READY();
    ASSERT_TRUE(program(3,
                        "s_mov_b32 m0, 0\n ds_gws_sema_p gds\n v_mov_b32 v0, 1\n v_mov_b32 v1, 0\n"
                        "global_store_dword v1, v0, s[0:1]\n s_endpgm"));
    TestRing ring = save_ring(0);
    Words without_handler = process(0x8001);
    without_handler[6] = 0;
    run_list({without_handler, map_queue(ring)});
    submit_grid(ring, 3, 1, 0);
    settle();
    EXPECT_EQ(faults(Fault::GwsRange), 1u);
    EXPECT_EQ(faults(Fault::WaveHalted), 1u);
    EXPECT_EQ(interrupts_of_waves(), 1u);
    EXPECT_EQ(word(kData), 0u);
}

TEST_F(GwsWaves, TwoQueuesTakeTurns) {
    ASSERT_READY();
    TestRing a = save_ring(0), b = save_ring(1);
    const auto mapped = [&] {
        unsigned n = 0;
        for (uint8_t pipe = 0; pipe < 4; ++pipe) {
            for (uint8_t queue = 0; queue < 8; ++queue) n += reg(0xc91c, {1, pipe, queue, 0});
        }
        return n;
    };
    bus.memory.put<uint32_t>(kData + 0x1000, 0);
    for (TestRing* ring : {&a, &b}) {
        const uint64_t data = ring == &a ? kData : kData + 0x1000;
        submit_grid(*ring, 0, 1, 1, data);
        submit_grid(*ring, 1, 2000, 0, data);
    }
    run_list({process(0x8001), map_gws(a), process(0x8002), map_gws(b)}, 8, true);
    unsigned first = 0, second = 0;
    for (unsigned n = 0; n < 20'000 && (word(kData) != 2000 || word(kData + 0x1000) != 2000); ++n) {
        cp.run(1000);
        pass_ms(2);
        ASSERT_LE(mapped(), 1u) << "the resources are one process' at a time";
        const bool owner_a = word(kData) != first, owner_b = word(kData + 0x1000) != second;
        ASSERT_FALSE(owner_a && owner_b);
        first = word(kData);
        second = word(kData + 0x1000);
    }
    EXPECT_EQ(word(kData), 2000u);
    EXPECT_EQ(word(kData + 0x1000), 2000u);
    EXPECT_GT(env.stats.get(Stat::waves_saved), 0u);
}

TEST_F(GwsWaves, AResetForgetsTheWaiters) {
    ASSERT_READY();
    TestRing ring = save_ring(0);
    map(ring);
    submit_grid(ring, 1, 100, 0);  // nobody has initialised it: all wait
    settle(50);
    EXPECT_GT(cp.dispatcher().waves_live_total(), 50u);
    set_reg(0x31068, 0);
    EXPECT_EQ(reg(0x31070), cp.dispatcher().waves_live_total());
    submit(hiq, CpBench::unmap(3, 1));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(cp.dispatcher().waves_live_total(), 0u);
    EXPECT_EQ(reg(0x31070), 0u);
}

}  // namespace
}  // namespace lyra
