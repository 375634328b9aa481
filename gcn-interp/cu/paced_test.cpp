// SPDX-License-Identifier: MIT
// Virtual time of one compute unit: what instructions cost, what waves share, and what they wait for.
#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "gcn-interp/cu/paced.h"
#include "gcn-interp/cu/test_machine.h"

namespace lyra::gcn {
namespace {

class Paced : public test::Machine {
protected:
    Paced() { env.clock.start(env.timing); }

    /// Launch work-groups of one wave each and run them. @return clocks until the last has ended
    uint64_t clocks(const std::string& text, unsigned groups = 1, uint32_t items = 64) {
        const WorkgroupLaunch launch = simple(text, items);
        const uint64_t begin = env.clock.clk();
        for (unsigned n = 0; n < groups; ++n) cu.launch(launch);
        return finish_from(begin);
    }
    uint64_t finish_from(uint64_t begin) {
        uint64_t end = begin;
        for (unsigned n = 0; n < 100000 && cu.waves_live() != 0; ++n) {
            end = cu.run_until(begin + 300 * (n + 1));
            env.clock.set_clk(end);
        }
        EXPECT_EQ(cu.waves_live(), 0u);
        return end - begin;
    }
    static std::string repeat(unsigned n, const std::string& line) {
        std::string text;
        for (unsigned i = 0; i < n; ++i) text += line + "\n";
        return text;
    }
    const Timing& t = env.timing;
};

/// Two programs whose waves share a SIMD: which of the two is done when.
class WavePriority : public Paced {
protected:
    static constexpr uint64_t kFirst = 1, kSecond = 2;  ///< dispatches
    static constexpr uint64_t kSecondCode = kCode + 0x10000;
    static constexpr unsigned kGroups = 8;  ///< of one wave each, so that every SIMD has two of them

    struct Ended {
        uint64_t first, second;
    };
    /// Four waves of each program, one on every SIMD. @param priorities RSRC1.PRIORITY of the two
    Ended race(const std::string& first, const std::string& second, std::array<uint32_t, 2> priorities = {}) {
        WorkgroupLaunch launch = simple(first);
        memory.put(kSecondCode, test::assemble(second + "\ns_endpgm"));
        const uint32_t rsrc1 = launch.rsrc1;
        const uint64_t begin = env.clock.clk();
        for (unsigned n = 0; n < kGroups; ++n) {
            const bool is_first = n < kGroups / 2;
            launch.dispatch = is_first ? kFirst : kSecond;
            launch.entry = is_first ? kCode : kSecondCode;
            launch.rsrc1 = rsrc1 | priorities[is_first ? 0 : 1] << 10;
            cu.launch(launch);
        }
        if (launched) launched();
        Ended ended{};
        for (uint64_t clk = begin; cu.waves_live() != 0 && clk < begin + 1'000'000;) {
            clk = cu.run_until(clk + 100);
            env.clock.set_clk(clk);
            if (ended.first == 0 && cu.waves_live(kFirst) == 0) ended.first = clk - begin;
            if (ended.second == 0 && cu.waves_live(kSecond) == 0) ended.second = clk - begin;
        }
        EXPECT_EQ(cu.waves_live(), 0u);
        return ended;
    }
    static void expect_near(uint64_t value, uint64_t clocks) {
        EXPECT_NEAR(static_cast<double>(value), static_cast<double>(clocks), 0.05 * static_cast<double>(clocks));
    }
    const std::string vector = repeat(1000, "v_add_f32 v1, v2, v3"), scalar = repeat(1000, "s_add_u32 s4, s5, s6");
    const uint64_t alone = 1000 * t.valu_clk;  ///< of either
    std::function<void()> launched;
};

TEST_F(Paced, InstructionsCostWhatTheTableSays) {
    constexpr unsigned n = 500;
    const auto each = [&](const char* line) { return clocks(repeat(n, line)); };
    EXPECT_EQ(each("v_add_f32 v1, v2, v3"), n * t.valu_clk);
    EXPECT_EQ(each("s_add_u32 s4, s5, s6"), n * t.issue_clk);
    EXPECT_EQ(each("v_rcp_f32 v1, v2"), n * t.valu_quarter_clk);
    EXPECT_EQ(each("v_mul_lo_u32 v1, v2, v3"), n * t.valu_quarter_clk);
    EXPECT_EQ(each("v_fma_f64 v[2:3], v[4:5], v[6:7], v[8:9]"), n * t.valu_f64_clk);
    EXPECT_EQ(each("s_branch 0"), n * t.branch_clk);
    EXPECT_EQ(each("s_nop 3"), n * 4 * t.issue_clk);
    EXPECT_EQ(each("s_sleep 5"), n * 5 * t.sleep_clk);
    EXPECT_EQ(each("s_load_dword s4, s[0:1], 0x0\n s_waitcnt lgkmcnt(0)"),
              n * (env.clock.to_clk(t.scalar_latency_ns) + t.issue_clk));
    EXPECT_EQ(each("ds_read_b32 v1, v0\n s_waitcnt lgkmcnt(0)"), n * (t.lds_latency_clk + t.issue_clk));
}

TEST_F(Paced, WavesShareTheirSimdAndNotTheOthers) {
    const std::string vector = repeat(400, "v_add_f32 v1, v2, v3"), scalar = repeat(400, "s_add_u32 s4, s5, s6");
    const uint64_t one = clocks(vector);
    EXPECT_EQ(clocks(vector, 4), one);  // one on each SIMD
    EXPECT_EQ(clocks(vector, 8), 2 * one);
    EXPECT_EQ(clocks(vector, 24), 6 * one);
    EXPECT_EQ(clocks(scalar, 24), 6 * one);
    // Scalar and vector instructions of different waves go side by side.
    const uint64_t both = clocks(repeat(400, "v_add_f32 v1, v2, v3\n s_add_u32 s4, s5, s6"), 8);
    EXPECT_NEAR(static_cast<double>(both), 2.0 * one, 0.05 * one);
}

TEST_F(Paced, LoadsOverlapUntilTheyAreWaitedFor) {
    const uint64_t latency = env.clock.to_clk(t.vram_latency_ns);
    const std::string address = "v_lshlrev_b32 v4, 2, v0\n";
    const uint64_t one = clocks(address + "global_load_dword v1, v4, s[0:1]\n s_waitcnt vmcnt(0)");
    EXPECT_GE(one, latency);
    EXPECT_LE(one, latency + 20);
    const uint64_t eight = clocks(address + repeat(8, "global_load_dword v1, v4, s[0:1]") + "s_waitcnt vmcnt(0)");
    EXPECT_LE(eight, one + 8 * 10);
    const uint64_t serial = clocks(address + repeat(8, "global_load_dword v1, v4, s[0:1]\n s_waitcnt vmcnt(0)"));
    EXPECT_NEAR(static_cast<double>(serial), 8.0 * one, 8 * 10);
    // The first of two is waited for; the end of the wave waits for the other.
    const uint64_t first = clocks(address + "global_load_dword v1, v4, s[0:1]\n" + repeat(50, "v_add_f32 v2, v2, v2") +
                                  "global_load_dword v1, v4, s[0:1]\n s_waitcnt vmcnt(1)");
    EXPECT_NEAR(static_cast<double>(first), static_cast<double>(one + 50 * t.valu_clk), 20);
}

TEST_F(Paced, ScatteredLanesCostALineEach) {
    const std::string wait = "s_waitcnt vmcnt(0)\n";
    const auto loads = [&](unsigned shift) {
        return clocks(fmt::format("v_lshlrev_b32 v4, {}, v0\n", shift) + repeat(64, "global_load_dword v1, v4, s[0:1]") + wait);
    };
    const uint64_t latency = env.clock.to_clk(t.vram_latency_ns);
    // 4 lines of 64 bytes, or 64 of them, at 64 bytes a clock.
    EXPECT_NEAR(static_cast<double>(loads(2) - latency), 64.0 * 4, 64);
    EXPECT_NEAR(static_cast<double>(loads(6) - latency), 64.0 * 64 * t.cu_bytes_per_clk / 64, 500);
}

TEST_F(Paced, StoresGoNoFasterThanTheMemory) {
    env.timing.set("vram_mb_per_s=10000,vram_efficiency_percent=100");
    constexpr uint64_t kStores = 200, kWaves = 16;
    const uint64_t taken = clocks("v_lshlrev_b32 v4, 2, v0\n" + repeat(kStores, "global_store_dword v4, v1, s[0:1]"), kWaves);
    const double ns = static_cast<double>(env.clock.to_ns(taken)), bytes = kStores * kWaves * 256;
    EXPECT_NEAR(ns, bytes / 10 + static_cast<double>(t.vram_latency_ns), 0.03 * ns);
}

TEST_F(Paced, BarrierWaitsForTheSlowestWave) {
    // Wave 0 works for long, the others come to the barrier at once; what is behind it costs all of them the same.
    const uint64_t all =
        clocks("v_readfirstlane_b32 s4, v0\n s_cmp_lg_u32 s4, 0\n s_cbranch_scc1 there\n" +
                   repeat(1000, "v_add_f32 v1, v2, v3") + "there:\n s_barrier\n" + repeat(500, "v_add_f32 v1, v2, v3"),
               1, 256);
    EXPECT_NEAR(static_cast<double>(all), 1500.0 * t.valu_clk, 200);
}

TEST_F(Paced, WakeupEndsASleep) {
    const WorkgroupLaunch launch =
        simple("v_readfirstlane_b32 s4, v0\n s_cmp_eq_u32 s4, 0\n s_cbranch_scc1 sleeper\n" + repeat(100, "s_nop 0") +
                   "s_wakeup\n s_branch end\nsleeper:\n s_sleep 127\nend:\n",
               128);
    const uint64_t begin = env.clock.clk();
    cu.launch(launch);
    const uint64_t taken = finish_from(begin);
    EXPECT_GT(taken, 100 * t.issue_clk);
    EXPECT_LT(taken, 200 * t.issue_clk);
}

TEST_F(WavePriority, EqualsShare) {
    for (const uint32_t both : {0u, 2u}) {
        const Ended ended = race(vector, vector, {both, both});
        expect_near(ended.first, 2 * alone);
        expect_near(ended.second, 2 * alone);
    }
}

TEST_F(WavePriority, TheHigherOneIssuesFirst) {
    for (const uint32_t priority : {1u, 3u}) {
        Ended ended = race(vector, vector, {priority, 0});
        expect_near(ended.first, alone);
        expect_near(ended.second, 2 * alone);
        ended = race(vector, vector, {0, priority});
        expect_near(ended.first, 2 * alone);
        expect_near(ended.second, alone);
    }
}

TEST_F(WavePriority, AProgramSetsItsOwn) {
    Ended ended = race(vector, "s_setprio 1\n" + vector);
    expect_near(ended.first, 2 * alone);
    expect_near(ended.second, alone);
    // Given back half way: from there on they share.
    const std::string half = repeat(500, "v_add_f32 v1, v2, v3");
    ended = race(vector, "s_setprio 3\n" + half + "s_setprio 0\n" + half);
    EXPECT_GT(ended.second, alone + alone / 3);
    expect_near(ended.first, 2 * alone);
}

/// @source AMD Vega ISA document, S_SETPRIO: SPIPrio + UserPrio
TEST_F(WavePriority, TheTwoPrioritiesAddUp) {
    Ended ended = race("s_setprio 1\n" + vector, vector, {1, 1});
    expect_near(ended.first, alone);
    ended = race("s_setprio 3\n" + vector, vector, {0, 3});
    expect_near(ended.first, 2 * alone);
    expect_near(ended.second, 2 * alone);
}

TEST_F(WavePriority, ACommandChangesItAtOnce) {
    launched = [&] { cu.command(WaveCommand::SetPriority, 2, [](const Wave& wave) { return wave.dispatch == kSecond; }); };
    const Ended ended = race(vector, vector);
    expect_near(ended.first, 2 * alone);
    expect_near(ended.second, alone);
}

TEST_F(WavePriority, WhatTheHigherOneLeavesIsUsed) {
    // Its unit: the two go side by side.
    Ended ended = race(scalar, vector, {3, 0});
    expect_near(ended.first, alone);
    expect_near(ended.second, alone);
    // Its time: while it waits for memory the other one issues.
    const std::string loads = "v_lshlrev_b32 v4, 2, v0\n" + repeat(8, "global_load_dword v1, v4, s[0:1]\n s_waitcnt vmcnt(0)");
    ended = race(loads, vector, {3, 0});
    EXPECT_GE(ended.first, 8 * env.clock.to_clk(t.vram_latency_ns));
    expect_near(ended.second, alone);
}

/// RSRC1.PRIORITY is what the SPI gives the wave. @source LLVM amd_kernel_code_t: drives spi_priority
TEST_F(WavePriority, IsInStatus) {
    WorkgroupLaunch launch =
        simple("s_getreg_b32 s4, hwreg(HW_REG_STATUS)\n s_setprio 1\n s_getreg_b32 s5, hwreg(HW_REG_STATUS)");
    launch.rsrc1 |= 2 << 10;
    cu.launch(launch);
    finish_from(env.clock.clk());
    EXPECT_EQ(s(4) >> 1 & 15, 2u) << "SPI_PRIO 2, USER_PRIO 0";
    EXPECT_EQ(s(5) >> 1 & 15, 2u | 1u << 2) << "SPI_PRIO 2, USER_PRIO 1";
}

TEST(Turns, TheTwoFirstOnesOfAll) {
    std::mt19937_64 random(1);
    Turns turns;
    std::vector<uint64_t> all(kWaveSlots, kNever);
    EXPECT_EQ(turns.least(), kNever);
    EXPECT_EQ(turns.second(), kNever);
    for (unsigned n = 0; n < 20'000; ++n) {
        const unsigned slot = random() % kWaveSlots, priority = random() % 7;
        const uint64_t clk = random() % 50;
        all[slot] = random() % 4 == 0 ? kNever : Turn::at(clk, priority, slot);
        turns.set(slot, all[slot]);
        std::vector<uint64_t> sorted = all;
        std::ranges::sort(sorted);
        ASSERT_EQ(turns.least(), sorted[0]);
        ASSERT_EQ(turns.second(), sorted[1]);
        ASSERT_EQ(turns.of(slot), all[slot]);
        if (all[slot] == kNever) continue;
        EXPECT_EQ(Turn::clk(all[slot]), clk);
        EXPECT_EQ(Turn::priority(all[slot]), priority);
        EXPECT_EQ(Turn::slot(all[slot]), slot);
    }
}

TEST(Turns, AnEarlierClockIsFirstThenAHigherPriorityThenALowerSlot) {
    EXPECT_LT(Turn::at(1, 0, 39), Turn::at(2, 6, 0));
    EXPECT_LT(Turn::at(1, 6, 39), Turn::at(1, 5, 0));
    EXPECT_LT(Turn::at(1, 6, 3), Turn::at(1, 6, 4));
    EXPECT_LT(Turn::at(uint64_t{1} << 50, 0, 0), Turn::at(kNever - 1, 0, 0)) << "a clock that has no room is late, not early";
}

}  // namespace
}  // namespace lyra::gcn
