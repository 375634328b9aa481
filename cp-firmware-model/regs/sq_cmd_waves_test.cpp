// SPDX-License-Identifier: MIT
// SQ_CMD as the driver writes it, and real waves: which waves each mode means, and what each command does to them.
#include <set>

#include "cp-firmware-model/testing/debug_bench.h"

namespace lyra {
namespace {

using gcn::Wave;
using gcn::WaveState;
using testing::kLogHandler;
using testing::kWait;
using testing::TestRing;

constexpr uint32_t kHalt = 1u << 13, kPriv = 1u << 5;

struct SqCmd : testing::DebugBench {
    /// SQ_CMD: CMD 2:0, MODE 6:4, DATA 11:8
    static uint32_t all(SqCommand command, uint32_t data = 0) { return command | kBroadcast << 4 | data << 8; }
    /// Queues of one process, VMID 8, each with so many waves of kWait; the queue of a wave is its doorbell.
    void run_queues(unsigned queues, unsigned waves, uint64_t handler = kOwnHandler) {
        ASSERT_TRUE(own_handler(kLogHandler));
        ASSERT_TRUE(program(0, kWait));
        std::vector<TestRing*> pointers;
        for (unsigned n = 0; n < queues; ++n) rings.push_back(save_ring(n));
        for (TestRing& ring : rings) pointers.push_back(&ring);
        start(process_with(0x8001, handler), pointers);
        for (TestRing& ring : rings) submit_grid(ring, 0, waves, 0);
        ASSERT_TRUE(run_until([&] { return live() == queues * waves; }));
        go_on(2);
    }
    void expect_all_end() {
        let_end();
        EXPECT_TRUE(run_until([&] { return live() == 0; }));
        for (unsigned n = 0; n < rings.size(); ++n) EXPECT_TRUE(run_until([&] { return word(fence(rings[n])) == n + 1; }));
    }
    std::set<unsigned> halted_queues() {
        std::set<unsigned> queues;
        for_waves([&](unsigned, const Wave& wave) {
            if (wave.state == WaveState::Halted) queues.insert(wave.doorbell_id);
        });
        return queues;
    }
    unsigned halted() {
        return count([](unsigned, const Wave& wave) { return wave.state == WaveState::Halted; });
    }
    std::vector<TestRing> rings;
};

TEST_F(SqCmd, ModesNameWavesByQueuePipeAndMicroEngine) {
    run_queues(5, 2);
    // Pipes first, then the next queue; the registers say so too.
    const GrbmSelect slots[] = {{1, 0, 2, 0}, {1, 1, 2, 0}, {1, 2, 2, 0}, {1, 3, 2, 0}, {1, 0, 3, 0}};
    for (unsigned n = 0; n < 5; ++n) ASSERT_EQ(reg(0xc950, slots[n]) & 0x0ffffffc, rings[n].doorbell);
    const auto halts = [&](uint32_t mode, uint32_t queue, GrbmSelect select) {
        wave_control(kEverywhere, kSetHalt | mode << 4 | 1u << 8 | queue << 24, select);
        const std::set<unsigned> queues = halted_queues();
        EXPECT_EQ(halted(), 2 * queues.size());
        wave_control(kEverywhere, all(kSetHalt));
        EXPECT_EQ(halted(), 0u);
        return queues;
    };
    using Queues = std::set<unsigned>;
    EXPECT_EQ(halts(kBroadcast, 0, {}), (Queues{0, 1, 2, 3, 4}));
    EXPECT_EQ(halts(kBroadcastQueue, 2, {1, 0, 0, 0}), (Queues{0}));
    EXPECT_EQ(halts(kBroadcastQueue, 3, {1, 0, 0, 0}), (Queues{4}));
    EXPECT_EQ(halts(kBroadcastQueue, 2, {1, 3, 7, 0}), (Queues{3})) << "the queue is SQ_CMD's, not that of GRBM_GFX_CNTL";
    EXPECT_EQ(halts(kBroadcastQueue, 3, {1, 1, 0, 0}), (Queues{}));
    EXPECT_EQ(halts(kBroadcastQueue, 2, {2, 0, 0, 0}), (Queues{}));
    EXPECT_EQ(halts(kBroadcastPipe, 0, {1, 0, 0, 0}), (Queues{0, 4}));
    EXPECT_EQ(halts(kBroadcastPipe, 0, {1, 2, 0, 0}), (Queues{2}));
    EXPECT_EQ(halts(kBroadcastMe, 0, {1, 0, 0, 0}), (Queues{0, 1, 2, 3, 4}));
    EXPECT_EQ(halts(kBroadcastMe, 0, {2, 0, 0, 0}), (Queues{}));
    for (const uint32_t mode : {5u, 6u, 7u}) EXPECT_EQ(halts(mode, 2, {1, 0, 0, 0}), (Queues{}));
    EXPECT_EQ(faults(Fault::TodoRegister), 3u);
    expect_all_end();
}

TEST_F(SqCmd, WavesOfTheGfxRingAreOfMicroEngine0) {
    run_queues(1, 2);
    TestRing gfx = start_gfx();
    submit_grid(gfx, 0, 3, 0);
    ASSERT_TRUE(run_until([&] { return live() == 5; }));
    const auto halts = [&](uint32_t mode, GrbmSelect select) {
        wave_control(kEverywhere, kSetHalt | mode << 4 | 1u << 8, select);
        const unsigned n = halted();
        wave_control(kEverywhere, all(kSetHalt));
        return n;
    };
    EXPECT_EQ(halts(kBroadcast, {}), 5u);
    EXPECT_EQ(halts(kBroadcastMe, {0, 0, 0, 0}), 3u);
    EXPECT_EQ(halts(kBroadcastMe, {1, 0, 0, 0}), 2u);
    EXPECT_EQ(halts(kBroadcastQueue, {1, 0, 0, 0}), 0u) << "queue 0 of that engine has none";
    let_end();
    EXPECT_TRUE(run_until([&] { return word(fence(gfx)) == fences; }));
    EXPECT_EQ(live(), 0u);
}

TEST_F(SqCmd, OneWaveIsNamedByItsPlace) {
    run_queues(1, 32);  // two waves on each SIMD
    unsigned seen = 0;
    for (unsigned cu = 0; cu < 4; ++cu) {
        for (unsigned simd = 0; simd < 4; ++simd) {
            for (unsigned wave = 0; wave < 3; ++wave) {
                const uint32_t index = kShBroadcast | cu / 2 << 16 | cu % 2;
                wave_control(index, kSetHalt | kSingle << 4 | 1u << 8 | wave << 16 | simd << 20);
                const unsigned exact = count([&](unsigned at, const Wave& w) {
                    return w.state == WaveState::Halted && at == cu && w.slot % 4 == simd && w.slot / 4 == wave;
                });
                EXPECT_EQ(halted(), exact);
                EXPECT_EQ(exact, wave < 2 ? 1u : 0u);
                seen += exact;
                wave_control(kEverywhere, all(kSetHalt));
            }
        }
    }
    EXPECT_EQ(seen, 32u);
    EXPECT_EQ(reg(kGfxIndex), kEverywhere);
    expect_all_end();
}

TEST_F(SqCmd, TheIndexRegisterSaysWhere) {
    run_queues(1, 16);
    const auto halts = [&](uint32_t index) {
        wave_control(index, all(kSetHalt, 1));
        const unsigned n = halted();
        wave_control(kEverywhere, all(kSetHalt));
        return n;
    };
    EXPECT_EQ(halts(kEverywhere), 16u);
    EXPECT_EQ(halts(kInstanceBroadcast | kShBroadcast | 0u << 16), 8u);
    EXPECT_EQ(halts(kInstanceBroadcast | kShBroadcast | 1u << 16), 8u);
    EXPECT_EQ(halts(kInstanceBroadcast | kShBroadcast | 2u << 16), 0u) << "there are two shader engines";
    EXPECT_EQ(halts(kSeBroadcast | kShBroadcast | 1u), 8u);
    EXPECT_EQ(halts(kSeBroadcast | kShBroadcast | 2u), 0u) << "of two compute units";
    EXPECT_EQ(halts(kSeBroadcast | kInstanceBroadcast | 0u << 8), 16u);
    EXPECT_EQ(halts(kSeBroadcast | kInstanceBroadcast | 1u << 8), 0u) << "and one shader array";
    EXPECT_EQ(halts(1u << 16 | 1u), 4u);
    expect_all_end();
}

/// KFD's kill of a process that has gone: dbgdev_wave_reset_wavefronts().
TEST_F(SqCmd, CheckVmidSparesOtherProcesses) {
    ASSERT_TRUE(program(0, kWait));
    TestRing first = save_ring(0), second = save_ring(1);
    run_list({process_with(0x8001, 0), map_queue(first, kMapQueue), process_with(0x8002, 0), map_queue(second, kMapQueue)});
    go_on(2);
    submit_grid(first, 0, 4, 0);
    submit_grid(second, 0, 3, 0);
    ASSERT_TRUE(run_until([&] { return live() == 7; }));
    constexpr uint32_t kCheckVmid = 1u << 7;
    wave_control(kEverywhere, all(kKill) | kCheckVmid | 10u << 28);
    EXPECT_EQ(live(), 7u);
    wave_control(kEverywhere, all(kKill) | kCheckVmid | 8u << 28);
    EXPECT_EQ(count([](unsigned, const Wave& wave) { return wave.vmid == 9; }), 3u);
    EXPECT_EQ(live(), 3u);
    wave_control(kEverywhere, all(kKill) | 8u << 28);
    EXPECT_EQ(live(), 0u) << "without CHECK_VMID the number means nothing";
}

TEST_F(SqCmd, KillEndsWavesButNotTheirGrid) {
    ASSERT_TRUE(program(0, kWait));
    TestRing ring = save_ring(0);
    start(process_with(0x8001, 0), {&ring});
    submit_grid(ring, 0, 200, 0);  // 160 find room
    ASSERT_TRUE(run_until([&] { return live() == 160; }));
    wave_control(kEverywhere, all(kKill));
    EXPECT_EQ(live(), 0u);
    ASSERT_TRUE(run_until([&] { return live() == 40; }));
    EXPECT_FALSE(done(ring));
    wave_control(kEverywhere, all(kKill));
    EXPECT_EQ(live(), 0u);
    finish(ring);
    EXPECT_EQ(env.stats.get(Stat::workgroups), 200u);
}

TEST_F(SqCmd, TrapIsAHostTrapWithItsNumber) {
    run_queues(2, 1);
    for (uint32_t number = 0; number < 16; ++number) {
        wave_control(kEverywhere, kTrap | kBroadcastQueue << 4 | number << 8 | 2u << 24, {1, 1, 0, 0});
        go_on(3);
        const auto seen = log();
        ASSERT_EQ(seen.size(), number + 1) << "one queue's";
        EXPECT_EQ(seen[number].ttmp1 >> 16, 0x100 | number) << "HT and TrapID";
        EXPECT_EQ(seen[number].trapsts, 0u);
        EXPECT_LT(seen[number].at, 20u) << "in the loop";
    }
    expect_all_end();
}

TEST_F(SqCmd, DebugStepsTheWaves) {
    run_queues(1, 1);
    let_end();
    wave_control(kEverywhere, all(kDebug));
    EXPECT_TRUE(run_until([&] { return live() == 0; }));
    const auto seen = log();
    ASSERT_GE(seen.size(), 2u);
    EXPECT_LE(seen.size(), 8u) << "at most a turn of the loop that began before, and one that did not";
    EXPECT_EQ(seen.back().at, 0x14u) << "before s_endpgm";
    for (size_t n = 1; n < seen.size(); ++n) {
        EXPECT_NE(seen[n].at, seen[n - 1].at);
        EXPECT_EQ(seen[n].ttmp1 >> 16, 0u);
        EXPECT_EQ(seen[n].trapsts, 0u);
        EXPECT_EQ(seen[n].mode >> 11 & 1, 1u);
    }
}

TEST_F(SqCmd, PriorityIsInStatus) {
    run_queues(1, 2);
    for (const uint32_t priority : {3u, 1u, 2u, 0u}) {
        wave_control(kEverywhere, all(kSetSpiPrio, priority));
        for_waves([&](unsigned, const Wave& wave) { EXPECT_EQ(wave.status >> 1 & 3, priority); });
    }
    expect_all_end();
}

/// The SPI sets SPI_PRIO when it starts a wave, also one that comes back; the handler leaves it as it is.
/// @source Linux 6.12 cwsr_trap_handler_gfx9.asm set_status_without_spi_prio()
TEST_F(SqCmd, ARestoredWaveHasThePriorityOfItsGrid) {
    rsrc1_more = 2u << 10;
    run_queues(1, 2, kHandler);
    for_waves([&](unsigned, const Wave& wave) { EXPECT_EQ(wave.status >> 1 & 15, 2u); });
    wave_control(kEverywhere, all(kSetSpiPrio, 3));
    unmap();
    start(process_with(0x8001, kHandler), {&rings[0]});
    ASSERT_TRUE(run_until([&] { return live() == 2 && !cp.dispatcher().restoring(); }));
    for_waves([&](unsigned, const Wave& wave) { EXPECT_EQ(wave.status >> 1 & 15, 2u); });
    expect_all_end();
    expect_all_restored();
}

TEST_F(SqCmd, SaveCtxBringsTheWavesToTheirSave) {
    run_queues(2, 3, kHandler);
    wave_control(kEverywhere, kSaveCtx | kBroadcastQueue << 4 | 2u << 24, {1, 0, 0, 0});
    go_on();
    EXPECT_EQ(count([](unsigned, const Wave& wave) { return wave.state == WaveState::Saving && wave.doorbell_id == 0; }), 3u);
    EXPECT_EQ(count([](unsigned, const Wave& wave) { return wave.state == WaveState::Saving; }), 3u);
    unmap();
    start(process_with(0x8001, kHandler), {&rings[0], &rings[1]});
    expect_all_end();
    expect_all_restored();
    EXPECT_EQ(env.stats.get(Stat::waves_saved), 6u);
}

TEST_F(SqCmd, AHaltedWaveStillTrapsAndIsSaved) {
    run_queues(1, 2, kHandler);
    wave_control(kEverywhere, all(kSetHalt, 1));
    EXPECT_EQ(halted(), 2u);
    unmap();
    start(process_with(0x8001, kHandler), {&rings[0]});
    ASSERT_TRUE(run_until([&] { return halted() == 2; }));
    for_waves([&](unsigned, const Wave& wave) { EXPECT_EQ(wave.status & kHalt, kHalt); });
    wave_control(kEverywhere, all(kSetHalt, 0));
    expect_all_end();
    expect_all_restored();
}

/// Fatal: neither the trap handler nor the other halt's release let it go on.
TEST_F(SqCmd, FatalHaltStopsTheHandlerToo) {
    run_queues(1, 2);
    wave_control(kEverywhere, all(kSetFatalHalt, 1));
    EXPECT_EQ(halted(), 2u);
    wave_control(kEverywhere, all(kTrap, 1));
    go_on(5);
    EXPECT_TRUE(log().empty());
    wave_control(kEverywhere, all(kSetHalt, 1));
    wave_control(kEverywhere, all(kSetHalt, 0));
    EXPECT_EQ(halted(), 2u);
    wave_control(kEverywhere, all(kSetHalt, 1));
    wave_control(kEverywhere, all(kSetFatalHalt, 0));
    EXPECT_EQ(halted(), 2u) << "the other one holds them now";
    wave_control(kEverywhere, all(kSetHalt, 0));
    EXPECT_EQ(halted(), 0u);
    // In the handler.
    wave_control(kEverywhere, all(kTrap, 1));
    EXPECT_EQ(count([](unsigned, const Wave& wave) { return (wave.status & kPriv) != 0; }), 2u);
    wave_control(kEverywhere, all(kSetFatalHalt, 1));
    go_on(5);
    EXPECT_TRUE(log().empty());
    wave_control(kEverywhere, all(kSetFatalHalt, 0));
    go_on(20);
    EXPECT_EQ(log().size(), 2u);
    expect_all_end();
}

}  // namespace
}  // namespace lyra
