// SPDX-License-Identifier: MIT
// The debugger's registers as the driver writes them, and real waves: launch modes, stall, exceptions, watched addresses.
#include "cp-firmware-model/testing/debug_bench.h"

namespace lyra {
namespace {

using gcn::Wave;
using gcn::WaveState;
using testing::kLogHandler;
using testing::kWait;
using testing::TestRing;

constexpr unsigned kVmid = 8;
constexpr uint32_t kStatusHalt = 1u << 13, kModeDebugEn = 1u << 11;

/// MODE.EXCP_EN
uint32_t excp_en(const Wave& wave) { return bits(wave.mode, 12, 9); }

struct DebugRegisters : testing::DebugBench {
    void prepare(const char* text) {
        ASSERT_TRUE(own_handler(kLogHandler));
        ASSERT_TRUE(program(0, text));
        ring = save_ring(0);
        other = save_ring(1);
        // Two processes: VMID 8 and 9.
        run_list({process_with(0x8001, kOwnHandler), map_queue(ring, kMapQueue), process_with(0x8002, kOwnHandler),
                  map_queue(other, kMapQueue)});
        go_on(2);
    }
    unsigned waves_of(uint32_t vmid) {
        return count([=](unsigned, const Wave& wave) { return wave.vmid == vmid; });
    }
    TestRing ring, other;
};

TEST_F(DebugRegisters, StallHoldsNewWavesBackAndLosesNone) {
    prepare(kWait);
    submit_grid(ring, 0, 2, 0);
    ASSERT_TRUE(run_until([&] { return live() == 2; }));
    set_wave_launch_stall(true);
    EXPECT_EQ(reg(kWaveCntl), 1u);
    submit_grid(other, 0, 3, 0);
    const uint32_t wanted = fences;
    go_on();
    EXPECT_EQ(live(), 2u) << "those that run go on running";
    let_end();
    go_on();
    EXPECT_EQ(live(), 0u);
    EXPECT_NE(word(fence(other)), wanted);
    set_wave_launch_stall(false);
    finish(other);
}

/// SPI_GDBG_WAVE_CNTL.STALL_VMID, a mask.
TEST_F(DebugRegisters, StallOfAVmidIsOnlyThatVmids) {
    prepare(kWait);
    set_reg(kWaveCntl, 1u << (1 + kVmid));
    submit_grid(ring, 0, 2, 0);
    const uint32_t stalled = fences;
    submit_grid(other, 0, 3, 0);
    ASSERT_TRUE(run_until([&] { return live() == 3; }));
    EXPECT_EQ(waves_of(kVmid), 0u);
    let_end();
    finish(other);
    EXPECT_NE(word(fence(ring)), stalled);
    set_reg(kWaveCntl, 0);
    EXPECT_TRUE(run_until([&] { return word(fence(ring)) == stalled; }));
}

/// Waves that come back from the save area are launched by the same unit.
TEST_F(DebugRegisters, StallHoldsRestoredWavesBackToo) {
    ASSERT_TRUE(program(0, kWait));
    ring = save_ring(0);
    const uint32_t stalls[] = {1u, 1u << (1 + kVmid)};
    for (const uint32_t stall : stalls) {
        SCOPED_TRACE(stall);
        bus.memory.put<uint32_t>(kData, 0);
        start(process_with(0x8001, kHandler), {&ring});
        submit_grid(ring, 0, 3, 0);
        ASSERT_TRUE(run_until([&] { return live() == 3; }));
        unmap();
        set_reg(kWaveCntl, stall);
        start(process_with(0x8001, kHandler), {&ring});
        let_end();
        go_on();
        EXPECT_EQ(live(), 0u);
        EXPECT_FALSE(done(ring));
        unmap();  // what has not been brought back stays where it is
        start(process_with(0x8001, kHandler), {&ring});
        go_on();
        EXPECT_FALSE(done(ring));
        set_reg(kWaveCntl, 1u << (2 + kVmid));
        finish(ring);
        set_reg(kWaveCntl, 0);
        unmap();
        expect_all_restored();
    }
}

TEST_F(DebugRegisters, LaunchModeHaltHoldsEachWaveAtItsFirstInstruction) {
    prepare(kWait);
    let_end();
    set_wave_launch_mode(kLaunchHalt, kVmid);
    EXPECT_EQ(reg(kWaveCntl2), 1u << 16 | 1u << kVmid);
    EXPECT_EQ(reg(kWaveCntl), 0u);
    submit_grid(ring, 0, 5, 0);
    const uint32_t halted = fences;
    go_on();
    EXPECT_EQ(count([&](unsigned, const Wave& wave) {
                  return wave.state == WaveState::Halted && (wave.status & kStatusHalt) != 0 && wave.pc == code(0) &&
                         wave.instructions == 0;
              }),
              5u);
    submit_grid(other, 0, 5, 0);
    finish(other);
    // Back to normal: new waves run, those that halt stay.
    set_wave_launch_mode(kLaunchNormal, kVmid);
    EXPECT_EQ(reg(kWaveCntl2), 0u);
    go_on();
    EXPECT_EQ(live(), 5u);
    wave_control(kEverywhere, kSetHalt | kBroadcast << 4);
    EXPECT_TRUE(run_until([&] { return word(fence(ring)) == halted; }));
}

TEST_F(DebugRegisters, LaunchModeDebugTrapsAfterEachInstruction) {
    prepare("s_mov_b32 s8, 1\n s_mov_b32 s9, 0x12345\n s_nop 0\n s_endpgm");
    set_wave_launch_mode(kLaunchDebug, kVmid);
    EXPECT_EQ(reg(kWaveCntl2), 3u << 16 | 1u << kVmid);
    submit_grid(other, 0, 1, 0);
    finish(other);
    EXPECT_TRUE(log().empty());
    EXPECT_EQ(env.stats.get(Stat::wave_traps), 0u);
    const uint64_t packets = env.stats.get(Stat::user_pm4_packets);
    submit_grid(ring, 0, 1, 0);
    finish(ring);
    EXPECT_EQ(env.stats.get(Stat::user_pm4_packets), packets + 6) << "four of registers, the grid and its fence";
    EXPECT_EQ(env.stats.get(Stat::wave_traps), 3u);
    const auto seen = log();
    ASSERT_EQ(seen.size(), 3u);
    const uint32_t at[] = {4, 12, 16};
    for (unsigned n = 0; n < 3; ++n) {
        EXPECT_EQ(seen[n].at, at[n]);
        EXPECT_EQ(seen[n].trapsts, 0u);
        EXPECT_EQ(seen[n].ttmp1 >> 16, 0u) << "neither a TrapID nor HT";
        EXPECT_EQ(seen[n].mode & kModeDebugEn, kModeDebugEn);
    }
    set_wave_launch_mode(kLaunchNormal, kVmid);
    submit_grid(ring, 0, 1, 0);
    finish(ring);
    EXPECT_EQ(log().size(), 3u);
}

/// No driver asks for it: the ioctl knows normal, halt and debug.
TEST_F(DebugRegisters, LaunchModeKillIsCountedAndSkipped) {
    prepare(kWait);
    let_end();
    set_wave_launch_mode(kLaunchKill, kVmid);
    EXPECT_GE(faults(Fault::TodoRegister), 1u);
    submit_grid(ring, 0, 1, 0);
    finish(ring);
}

TEST_F(DebugRegisters, TheTrapMaskIsForNewWavesOfEveryVmid) {
    prepare(kWait);
    submit_grid(ring, 0, 1, 0);
    ASSERT_TRUE(run_until([&] { return live() == 1; }));
    enable_debug_trap();
    EXPECT_EQ(set_trap_override(0, kTrapMaskWatch, kTrapMaskWatch), 0u);
    EXPECT_EQ(reg(kTrapMask), 0x80u);
    EXPECT_EQ(reg(kWaveCntl), 0u);
    submit_grid(other, 0, 2, 0);
    ASSERT_TRUE(run_until([&] { return live() == 3; }));
    for_waves([&](unsigned, const Wave& wave) { EXPECT_EQ(excp_en(wave), wave.vmid == kVmid ? 0u : 0x80u); });
    EXPECT_EQ(set_trap_override(0, 0, kTrapMaskWatch), 0x80u);
    EXPECT_EQ(reg(kTrapMask), 0u);
    let_end();
    go_on();
    EXPECT_EQ(live(), 0u);
}

/// OR adds to what the kernel enabled (RSRC2.EXCP_EN), REPLACE takes its place.
TEST_F(DebugRegisters, TheTrapMaskAddsOrReplaces) {
    prepare(kWait);
    const auto launched = [&](uint32_t own) {
        bus.memory.put<uint32_t>(kData, 0);
        emit(ring, sh(0x207, {64, 1, 1}));
        emit(ring, sh(0x20c, {lo32(code(0) >> 8), 0}));
        emit(ring, sh(0x212, {3 | 2 << 6 | 0xc0u << 12, 4 << 1 | 1 << 6 | (own >> 7 & 3) << 13 | (own & 0x7f) << 24}));
        emit(ring, sh(0x240, {lo32(kData), hi32(kData), 0, 0}));
        submit(ring, testing::packet(pm4::Opcode::DISPATCH_DIRECT, {1, 1, 1, 1}));
        uint32_t mask = ~0u;
        EXPECT_TRUE(run_until([&] { return live() == 1; }));
        for_waves([&](unsigned, const Wave& wave) { mask = excp_en(wave); });
        let_end();
        EXPECT_TRUE(run_until([&] { return live() == 0; }));
        return mask;
    };
    EXPECT_EQ(launched(0), 0u);
    EXPECT_EQ(launched(0x1ff), 0x1ffu);
    set_reg(kTrapMask, 0x0a5);
    EXPECT_EQ(launched(0x012), 0x0b7u);
    EXPECT_EQ(launched(0x100), 0x1a5u);
    set_reg(kTrapMask, 0x0a5 | 1u << 9);
    EXPECT_EQ(launched(0x1ff), 0x0a5u);
    set_reg(kTrapMask, 1u << 9);
    EXPECT_EQ(launched(0x1ff), 0u);
    set_reg(kTrapMask, 0);
    EXPECT_EQ(launched(0x055), 0x055u);
}

/// A load, a store and an atomic on each of four watched places, 256 bytes apart.
constexpr const char* kTouch = R"(
  v_mov_b32 v2, s0
  v_mov_b32 v3, s1
  v_mov_b32 v4, 1
  global_load_dword v5, v[2:3], off offset:0x400
  global_store_dword v[2:3], v4, off offset:0x500
  global_atomic_add v[2:3], v4, off offset:0x600
  global_load_dword v5, v[2:3], off offset:0x700
  global_store_dword v[2:3], v4, off offset:0x700
  s_endpgm)";

TEST_F(DebugRegisters, WatchedAddressesTrap) {
    prepare(kTouch);
    set_trap_override(0, kTrapMaskWatch, kTrapMaskWatch);
    const uint32_t line = 0xffffffc0;
    set_address_watch(0, kData + 0x400, line, kWatchRead, kVmid);
    set_address_watch(1, kData + 0x500, line, kWatchNonread, kVmid);
    set_address_watch(2, kData + 0x600, line, kWatchAtomic, kVmid);
    set_address_watch(3, kData + 0x700, line, kWatchAll, kVmid);
    submit_grid(other, 0, 1, 0);
    finish(other);
    EXPECT_TRUE(log().empty()) << "another process";
    submit_grid(ring, 0, 1, 0);
    finish(ring);
    const auto seen = log();
    ASSERT_EQ(seen.size(), 5u);
    const uint32_t bits_of_trapsts[] = {1 << 7, 1 << 12, 1 << 13, 1 << 14, 1 << 14};
    for (unsigned n = 0; n < 5; ++n) {
        EXPECT_EQ(seen[n].trapsts, bits_of_trapsts[n]);
        EXPECT_EQ(seen[n].at, 12 + 8 * (n + 1)) << "behind the access";
        EXPECT_EQ(seen[n].ttmp1 >> 16, 0u);
    }
    EXPECT_EQ(word(kData + 0x600), 128u) << "64 lanes of two waves";
    // Modes the other way round: nothing fits but the last watch.
    set_address_watch(0, kData + 0x400, line, kWatchNonread, kVmid);
    set_address_watch(1, kData + 0x500, line, kWatchRead, kVmid);
    set_address_watch(2, kData + 0x600, line, kWatchRead, kVmid);
    set_address_watch(3, kData + 0x700, line, kWatchRead, kVmid);
    submit_grid(ring, 0, 1, 0);
    finish(ring);
    EXPECT_EQ(log().size(), 6u);
    for (unsigned n = 0; n < 4; ++n) clear_address_watch(n);
    submit_grid(ring, 0, 1, 0);
    finish(ring);
    EXPECT_EQ(log().size(), 6u);
}

/// The mask of the register begins with bit 6 and ends with bit 29; higher bits are always compared.
TEST_F(DebugRegisters, TheMaskOfAWatchIsOfBits6To29) {
    prepare(kTouch);
    set_trap_override(0, kTrapMaskWatch, kTrapMaskWatch);
    const auto hits = [&](uint64_t address, uint32_t mask) {
        const uint32_t before = word(kTma);
        set_address_watch(1, address, mask, kWatchAll, kVmid);
        submit_grid(ring, 0, 1, 0);
        finish(ring);
        return word(kTma) - before;
    };
    EXPECT_EQ(hits(kData + 0x700, 0xffffff00), 2u);
    EXPECT_EQ(hits(kData + 0x73f, 0xffffffff), 2u) << "bits 5:0 are not there";
    EXPECT_EQ(hits(kData + 0x740, 0xffffffc0), 0u);
    EXPECT_EQ(hits(kData + 0x740, 0xffffff80), 2u);
    EXPECT_EQ(hits(kData + 0x780, 0xffffff80), 0u);
    EXPECT_EQ(hits(kData + 0x740, 0xffffff00), 2u);
    EXPECT_EQ(hits(kData, 0xfffff800), 5u);
    EXPECT_EQ(hits(0x3f000000, 0), 5u) << "nothing below 1 GiB is compared";
    EXPECT_EQ(hits(0x40000000 + kData, 0), 0u) << "but bit 30 is";
    EXPECT_EQ(hits(0x100000000 + kData, 0), 0u);
    EXPECT_EQ(hits((uint64_t{1} << 47) + kData, 0), 0u);
}

/// Waves that run already get watches too; the exception only those launched with it.
TEST_F(DebugRegisters, WatchesAreForWavesThatRunAlready) {
    prepare(R"(
  v_mov_b32 v2, s0
  v_mov_b32 v3, s1
again:
  global_load_dword v5, v[2:3], off glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s9, v5
  s_cmp_eq_u32 s9, 0
  s_cbranch_scc1 again
  s_endpgm)");
    submit_grid(other, 0, 1, 0);
    ASSERT_TRUE(run_until([&] { return live() == 1; }));
    set_trap_override(0, kTrapMaskWatch, kTrapMaskWatch);
    submit_grid(ring, 0, 1, 0);
    ASSERT_TRUE(run_until([&] { return live() == 2; }));
    set_address_watch(0, kData, 0xffffffc0, kWatchRead, kVmid);
    set_address_watch(1, kData, 0xffffffc0, kWatchRead, kVmid + 1);
    ASSERT_TRUE(run_until([&] { return word(kTma) != 0; }));
    go_on(2);
    clear_address_watch(0);
    clear_address_watch(1);
    for_waves(
        [&](unsigned, const Wave& wave) { EXPECT_EQ(wave.vmid != kVmid ? wave.trapsts : 1u << 12, 1u << 12) << "noted"; });
    let_end();
    go_on();
    EXPECT_EQ(live(), 0u);
    for (const Entry& entry : log()) EXPECT_EQ(entry.trapsts, 1u << 7) << "not the other one's";
}

TEST_F(DebugRegisters, AResetForgetsThem) {
    prepare(kTouch);
    set_trap_override(0, kTrapMaskWatch, kTrapMaskWatch);
    set_address_watch(3, kData + 0x700, 0xffffffc0, kWatchAll, kVmid);
    set_wave_launch_mode(kLaunchHalt, kVmid);
    set_wave_launch_stall(true);
    cp.reset();
    for (const uint32_t byte : {kWaveCntl, kWaveCntl2, kTrapMask, kWatch0AddrH + 3 * kWatchStride + 8})
        EXPECT_EQ(reg(byte), 0u);
    start_hiq();
    prepare(kTouch);
    submit_grid(ring, 0, 1, 0);
    finish(ring);
    EXPECT_TRUE(log().empty());
}

}  // namespace
}  // namespace lyra
