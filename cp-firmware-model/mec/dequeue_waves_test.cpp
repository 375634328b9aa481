// SPDX-License-Identifier: MIT
// How a queue with running waves leaves its slot and comes back: grace period, and by registers as without a scheduler.
#include "cp-firmware-model/testing/waves_bench.h"

namespace lyra {
namespace {

using testing::TestRing;
using testing::WavesBench;
using testing::Words;

constexpr uint32_t kWaitTime2 = 0xc2c0;

/// Adds 1 to word 0 at its end, after s3 turns.
constexpr const char* kCount = R"(
  s_mov_b32 s10, 0
again:
  s_add_u32 s10, s10, 1
  s_nop 0
  s_cmp_lt_u32 s10, s3
  s_cbranch_scc1 again
  s_mov_b64 exec, 1
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  global_atomic_add v1, v2, s[0:1]
  s_endpgm
)";

struct DequeueWaves : WavesBench {
    DequeueWaves() { ready = ready && program(0, kCount); }
    uint64_t saved() const { return env.stats.get(Stat::waves_saved); }
    void map(const TestRing& ring) {
        run_list({process(0x8001), map_queue(ring)});
        for (unsigned n = 0; n < 5; ++n) cp.run(64);
    }
    /// The packet starts the grid, and then its groups are launched; no instruction is executed yet.
    void launch() {
        cp.run(1);
        cp.run(1);
    }
    /// As the driver sets it: a write to the register on the HIQ. @source Linux 6.12 pm_set_grace_period_v9()
    void set_grace(uint32_t wave) {
        submit(hiq, write_data(kWaitTime2 / 4, {0x40400040 | wave << 8}, 1 << 16));
        settle(5);
        ASSERT_EQ(reg(kWaitTime2), 0x40400040 | wave << 8);
    }
};

TEST_F(DequeueWaves, WavesMayEndInTheGracePeriod) {
    ASSERT_READY();
    EXPECT_EQ(reg(kWaitTime2), 0x40404040u);
    TestRing ring = save_ring(0);
    map(ring);
    set_grace(250);
    submit_grid(ring, 0, 500, 20);
    launch();
    const unsigned live = cp.dispatcher().waves_live_total();
    ASSERT_GT(live, 100u);
    ASSERT_EQ(word(kData), 0u);
    unmap();
    EXPECT_EQ(saved(), 0u) << "all ended before they were asked";
    EXPECT_GE(word(kData), live);
    EXPECT_LT(word(kData), live + 40) << "groups found room until the packet was executed, not afterwards";
    map(ring);
    finish(ring);
    EXPECT_EQ(word(kData), 500u);
}

TEST_F(DequeueWaves, AfterTheGracePeriodTheRestIsSaved) {
    ASSERT_READY();
    TestRing ring = save_ring(0);
    map(ring);
    set_grace(1);
    submit_grid(ring, 0, 100, 1'000'000);
    launch();
    submit(hiq, CpBench::unmap(3));
    cp.run(100);
    EXPECT_EQ(saved(), 0u);
    host.time_ns += env.timing.iq_wait_unit_ns;
    settle(200);
    EXPECT_EQ(saved(), 100u);
}

TEST_F(DequeueWaves, NoGracePeriodAtTheResetValue) {
    ASSERT_READY();
    TestRing ring = save_ring(0);
    map(ring);
    set_grace(1);
    set_grace(0x40);
    submit_grid(ring, 0, 100, 1000);
    launch();
    unmap();
    EXPECT_EQ(saved(), 100u);
    EXPECT_EQ(word(kData), 0u);
}

TEST_F(DequeueWaves, AZeroGracePeriodNeverEnds) {
    ASSERT_READY();
    TestRing ring = save_ring(0);
    map(ring);
    set_grace(0);
    submit_grid(ring, 0, 1, 100'000'000);
    launch();
    submit(hiq, CpBench::unmap(3));
    cp.run(10);
    pass_ms(7000);
    settle(20);
    EXPECT_EQ(saved(), 0u);
    EXPECT_EQ(faults(Fault::PreemptionFailed), 0u);
    pass_ms(2000);
    settle(20);
    EXPECT_EQ(saved(), 0u);
    EXPECT_EQ(faults(Fault::PreemptionFailed), 1u);
}

/// @source Linux 6.12 kgd_gfx_v9_hqd_load(), kgd_gfx_v9_hqd_destroy()
TEST_F(DequeueWaves, ByRegistersSavedWavesComeBack) {
    ASSERT_READY();
    TestRing ring = save_ring(0);
    const GrbmSelect slot{1, 2, 3, 0};
    ProcessBinding binding;
    binding.pasid = 0x8001;
    binding.tba = kHandler;
    bus.bind_process(8, binding);
    const auto load = [&] {
        for (unsigned n = 0; n < kHqdRegisters; ++n) {
            if (n != hqd_reg::CP_HQD_ACTIVE)
                set_reg(0xc914 + 4 * n, n == hqd_reg::CP_HQD_VMID ? 8 : word(ring.mqd + 4 * (128 + n)), slot);
        }
        set_reg(0xc950, ring.doorbell | 1u << 30, slot);
        set_reg(0xc210, 1u << (2 * 8 + 3));
        set_reg(0xc91c, 1, slot);
    };
    load();
    submit_grid(ring, 0, 200, 3000);
    for (unsigned n = 0; n < 2000 && !done(ring); ++n) {
        for (unsigned k = 0; k < 30; ++k) cp.run(2000);  // enough for a restore with several threads too
        set_reg(0xc974, 3, slot);  // save waves
        for (unsigned k = 0; k < 1000 && reg(0xc91c, slot) == 1; ++k) cp.run(500);
        ASSERT_EQ(reg(0xc91c, slot), 0u);
        ASSERT_EQ(cp.dispatcher().waves_live_total(), 0u);
        load();
    }
    EXPECT_TRUE(done(ring));
    EXPECT_EQ(word(kData), 200u);
    EXPECT_GT(saved(), 200u);
    expect_all_restored();
}

}  // namespace
}  // namespace lyra
