// SPDX-License-Identifier: MIT
// XNACK: waves whose instruction meets a page that the driver has yet to map.
#include "gcn-interp/cu/test_machine.h"
#include "gcn-interp/exec/flow.h"

namespace lyra::gcn {
namespace {

constexpr uint64_t kPage = 0x3000;  ///< of the data, missing at first

class PageRetry : public test::Machine {
protected:
    PageRetry() {
        memory.missing = kData + kPage;
        fill();
    }
    void fill() {
        for (uint32_t n = 0; n < 4096; ++n) memory.at<uint32_t>(kData + 4 * n) = n;
    }
    void start(const std::string& text) {
        WorkgroupLaunch launch = simple(text);
        launch.retry = true;
        cu.launch(launch);
    }
    void map() {
        memory.missing = ~uint64_t{0};
        memory.translations_changed();
    }
    /// It waits, and takes no time meanwhile.
    void expect_waiting() {
        for (int n = 0; n < 3; ++n) cu.run(1000);
        EXPECT_EQ(cu.waves_live(), 1u);
        EXPECT_EQ(cu.wave(0).state, WaveState::AtPage);
        EXPECT_FALSE(cu.runnable());
        EXPECT_TRUE(cu.waits_for_page());
        EXPECT_TRUE(services.errors.empty());
        EXPECT_EQ(cu.wave(0).trapsts, 0u);
    }
};

/// Lane n at page + 4 * (n - 32): half of the wave is on the page before.
constexpr const char* kStraddle = R"(
  v_lshlrev_b32 v1, 2, v0
  v_add_u32 v1, 0x2f80, v1
  v_mov_b32 v2, 1
  s_mov_b32 s8, 0x77
)";

TEST_F(PageRetry, ALoadIsExecutedAgainWhenThePageIsThere) {
    start(std::string(kStraddle) + "global_load_dword v3, v1, s[0:1]\n s_mov_b32 s8, 0x99");
    expect_waiting();
    EXPECT_EQ(cu.wave(0).read_scalar(8), 0x77u);
    map();
    finish();
    for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(v(3, lane), 0x2f80 / 4 + lane);
    EXPECT_EQ(s(8), 0x99u);
}

TEST_F(PageRetry, AScalarLoadToo) {
    start("s_mov_b32 s8, 0x3000\n s_load_dwordx4 s[8:11], s[0:1], s8");
    expect_waiting();
    map();
    finish();
    EXPECT_EQ(s(8), kPage / 4);
    EXPECT_EQ(s(11), kPage / 4 + 3);
}

TEST_F(PageRetry, AStoreReachesEveryLaneInTheEnd) {
    start(std::string(kStraddle) + "global_store_dword v1, v2, s[0:1]");
    expect_waiting();
    map();
    finish();
    for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(word(0x2f80 / 4 + lane), 1u);
}

/// Executed twice, it still happens once.
TEST_F(PageRetry, NoLaneOfAnAtomicHappensBeforeAllCan) {
    for (const char* text : {"global_atomic_add v3, v1, v2, s[0:1] glc", "flat_atomic_add v3, v[4:5], v2 glc",
                             "buffer_atomic_add v2, v1, s[4:7], 0 offen glc"}) {
        SCOPED_TRACE(text);
        fill();
        memory.missing = kData + kPage;
        memory.translations_changed();
        start(std::string(kStraddle) +
              "s_mov_b32 s4, s0\n s_and_b32 s5, s1, 0xffff\n s_mov_b32 s6, 0x10000\n s_mov_b32 s7, 0x00020000\n"
              "v_mov_b32 v5, s1\n v_add_co_u32 v4, vcc, s0, v1\n v_addc_co_u32 v5, vcc, 0, v5, vcc\n" +
              text);
        expect_waiting();
        for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(word(0x2f80 / 4 + lane), 0x2f80 / 4 + lane);
        map();
        finish();
        const unsigned old = text[0] == 'b' ? 2 : 3;
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            EXPECT_EQ(word(0x2f80 / 4 + lane), 0x2f80 / 4 + lane + 1);
            EXPECT_EQ(v(old, lane), 0x2f80 / 4 + lane);
        }
    }
}

TEST_F(PageRetry, WithoutNewsThePageIsAskedForOnceAMillisecond) {
    start(std::string(kStraddle) + "global_load_dword v3, v1, s[0:1]");
    expect_waiting();
    const unsigned asked = memory.faults;
    host.time += 1'000'000;
    EXPECT_TRUE(cu.runnable());
    expect_waiting();
    EXPECT_EQ(memory.faults, asked + 1);
    memory.missing = ~uint64_t{0};
    host.time += 1'000'000;
    finish();
    EXPECT_EQ(v(3, 63), 0x2f80 / 4 + 63);
}

TEST_F(PageRetry, CodeCanBeMissing) {
    memory.missing = kCode;
    start("s_mov_b32 s8, 5");
    expect_waiting();
    map();
    finish();
    EXPECT_EQ(s(8), 5u);
}

TEST_F(PageRetry, AHaltedWaveDoesNotGoOnWhenThePageComes) {
    start(std::string(kStraddle) + "global_load_dword v3, v1, s[0:1]");
    expect_waiting();
    cu.command(WaveCommand::SetHalt, 1, [](const Wave&) { return true; });
    map();
    cu.run(1000);
    EXPECT_EQ(cu.wave(0).state, WaveState::Halted);
    cu.command(WaveCommand::SetHalt, 0, [](const Wave&) { return true; });
    finish();
    EXPECT_EQ(v(3, 63), 0x2f80 / 4 + 63);
}

/// The handler sees the address of the instruction that has not happened, and returns to it.
TEST_F(PageRetry, AWaitingWaveTakesATrap) {
    WorkgroupLaunch launch = simple(std::string(kStraddle) + "global_load_dword v3, v1, s[0:1]");
    with_traps(launch, "s_mov_b32 s20, ttmp0\n s_and_b32 ttmp1, ttmp1, 0xffff\n s_rfe_b64 [ttmp0, ttmp1]");
    launch.retry = true;
    cu.launch(launch);
    expect_waiting();
    const uint64_t pc = cu.wave(0).pc;
    cu.command(WaveCommand::Trap, 1, [](const Wave&) { return true; });
    cu.run(1000);
    EXPECT_EQ(cu.wave(0).read_scalar(20), lo32(pc));
    expect_waiting();
    map();
    finish();
    EXPECT_EQ(v(3, 63), 0x2f80 / 4 + 63);
}

TEST_F(PageRetry, VirtualTimePassesWhileAWaveWaits) {
    env.clock.start(env.timing);
    start(std::string(kStraddle) + "global_load_dword v3, v1, s[0:1]");
    uint64_t clk = 0;
    for (unsigned n = 0; n < 100; ++n) env.clock.set_clk(clk = cu.run_until(clk + 3000));
    EXPECT_EQ(cu.wave(0).state, WaveState::AtPage);
    EXPECT_GT(memory.faults, 1u);
    EXPECT_LT(memory.faults, 400u);
    map();
    for (unsigned n = 0; n < 100; ++n) env.clock.set_clk(clk = cu.run_until(clk + 3000));
    EXPECT_EQ(cu.waves_live(), 0u);
    EXPECT_EQ(v(3, 63), 0x2f80 / 4 + 63);
}

}  // namespace
}  // namespace lyra::gcn
