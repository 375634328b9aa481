// SPDX-License-Identifier: MIT
// Entering and leaving the trap handler, and halts, in every state of a wave; as fast as possible and in virtual time.
#include "gcn-interp/cu/test_machine.h"

namespace lyra::gcn::test {
namespace {

/// Logs TTMP0, relative to the code, and TTMP1 at its TMA; steps over s_trap.
constexpr const char* kLog = R"(
  s_getreg_b32 ttmp12, hwreg(HW_REG_STATUS)
  s_getreg_b32 ttmp14, hwreg(HW_REG_TMA_LO)
  s_getreg_b32 ttmp15, hwreg(HW_REG_TMA_HI)
  s_lshl_b64 ttmp[14:15], ttmp[14:15], 8
  s_mov_b32 ttmp2, 8
  s_atomic_add ttmp2, ttmp[14:15], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_add_u32 ttmp14, ttmp14, ttmp2
  s_store_dwordx2 ttmp[0:1], ttmp[14:15], 0x8
  s_bfe_u32 ttmp2, ttmp1, 0x80010
  s_cbranch_scc0 leave
  s_bitcmp1_b32 ttmp1, 24
  s_cbranch_scc1 leave
  s_add_u32 ttmp0, ttmp0, 4
  s_addc_u32 ttmp1, ttmp1, 0
leave:
  s_and_b32 ttmp1, ttmp1, 0xffff
  s_setreg_b32 hwreg(HW_REG_STATUS, 0, 1), ttmp12
  s_rfe_b64 ttmp[0:1])";

struct Entry {
    uint32_t at;     ///< bytes of the PC from the start of the program
    uint32_t cause;  ///< TTMP1[24:16]: HT and TrapID
    bool operator==(const Entry&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Entry& entry) { return out << "{" << entry.at << ", " << entry.cause << "}"; }
using Entries = std::vector<Entry>;

/// Waits in DS_GWS_* until the test says otherwise.
class GwsServices : public TestServices {
public:
    GwsAnswer gws(const Wave&, GwsOp, uint32_t, uint32_t) override {
        ++asked;
        return GwsAnswer::Wait;
    }
    void gws_left(const Wave&) override { ++left; }
    unsigned asked = 0, left = 0;
};

class Trap : public Machine, public ::testing::WithParamInterface<bool> {
protected:
    Trap() {
        if (GetParam()) env.clock.start(env.timing);
    }
    void launch(const std::string& text, uint32_t items = 64, const std::string& handler = kLog) {
        WorkgroupLaunch launch = simple(text, items);
        with_traps(launch, handler);
        std::fill_n(&memory.at<uint8_t>(kData + 0x8000), 0x4000, 0);
        unit.launch(launch);
    }
    void go(unsigned rounds = 20) {
        for (unsigned n = 0; n < rounds; ++n) {
            if (GetParam())
                env.clock.set_clk(unit.run_until(env.clock.clk() + 1000));
            else
                unit.run(1000);
        }
    }
    void all(WaveCommand command, uint32_t data) {
        unit.command(command, data, [](const Wave&) { return true; });
    }
    Entries log() {
        Entries entries;
        for (unsigned n = 0; n < memory.at<uint32_t>(kData + 0x8000) / 8; ++n) {
            const uint32_t* entry = &memory.at<uint32_t>(kData + 0x8008 + 8 * n);
            entries.push_back({entry[0] - lo32(kCode), entry[1] >> 16});
        }
        return entries;
    }
    unsigned count(WaveState state) const {
        unsigned n = 0;
        for (unsigned slot = 0; slot < kWaveSlots; ++slot) n += unit.wave(slot).state == state;
        return n;
    }
    GwsServices services;
    ComputeUnit unit{env, memory, services, 1};
};

TEST_P(Trap, TheNumberIsTheLowByteOfTheImmediate) {
    std::string text;
    Entries expected;
    for (unsigned n = 1; n < 256; ++n) {
        // With bits above the byte, which must not become HT.
        text += "  .long 0xbf920000 + " + std::to_string(n % 2 ? n : n | 0x100 | n << 8) + "\n";
        expected.push_back({4 * (n - 1), n});
    }
    launch(text);
    for (unsigned n = 0; n < 1000 && unit.waves_live() != 0; ++n) go();
    EXPECT_EQ(unit.waves_live(), 0u);
    EXPECT_EQ(log(), expected);
}

TEST_P(Trap, TheHandlerIsNotInterruptedByItsOwnTrap) {
    launch("s_trap 7\n s_mov_b32 s5, 5", 64, std::string("  s_trap 9\n  s_trap 9\n") + kLog);
    go();
    EXPECT_EQ(log(), (Entries{{0, 7}}));
    EXPECT_EQ(services.last.read_scalar(5), 5u);
}

TEST_P(Trap, OfTheHostComesToEveryState) {
    launch("s_sleep 127\n s_sleep 127\n s_barrier\n s_mov_b32 s5, 5", 128);
    // Wave 1 sleeps first; wave 0 is kept from its barrier by a halt.
    go(1);
    all(WaveCommand::SetHalt, 1);
    go();
    all(WaveCommand::Trap, 11);
    go();
    ASSERT_EQ(log().size(), 2u);
    for (const Entry& entry : log()) EXPECT_EQ(entry.cause, 0x100u | 11);
    EXPECT_EQ(count(WaveState::Halted), 2u) << "they halt again";
    all(WaveCommand::SetHalt, 0);
    go();
    EXPECT_EQ(unit.waves_live(), 0u);
}

/// Its arrival does not count while it is in the handler; it arrives anew.
TEST_P(Trap, OfTheHostAtABarrier) {
    launch("s_cmp_eq_u32 s2, 0\n s_barrier\n s_mov_b32 s5, 5", 128);
    for (unsigned slot = 0; slot < kWaveSlots; ++slot) {
        if (unit.wave(slot).state == WaveState::Running && unit.wave(slot).wave_in_group == 1) {
            unit.command(WaveCommand::SetHalt, 1, [](const Wave& wave) { return wave.wave_in_group == 1; });
        }
    }
    go();
    ASSERT_EQ(count(WaveState::AtBarrier), 1u);
    all(WaveCommand::Trap, 3);
    go();
    Entries entries = log();
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.at < b.at; });
    EXPECT_EQ(entries, (Entries{{0, 0x103}, {4, 0x103}})) << "at the start of the halted one, and at the barrier";
    EXPECT_EQ(count(WaveState::AtBarrier), 1u);
    all(WaveCommand::SetHalt, 0);
    go();
    EXPECT_EQ(unit.waves_live(), 0u);
}

/// Halted while it waits: it stays there when the wait is over.
TEST_P(Trap, AHaltHoldsWhenABarrierOpens) {
    for (const WaveCommand halt : {WaveCommand::SetHalt, WaveCommand::SetFatalHalt}) {
        launch("s_barrier\n s_mov_b32 s5, 5", 128);
        unit.command(WaveCommand::SetHalt, 1, [](const Wave& wave) { return wave.wave_in_group == 1; });
        go();
        ASSERT_EQ(count(WaveState::AtBarrier), 1u);
        unit.command(halt, 1, [](const Wave& wave) { return wave.wave_in_group == 0; });
        EXPECT_EQ(count(WaveState::AtBarrier), 1u);
        unit.command(WaveCommand::SetHalt, 0, [](const Wave& wave) { return wave.wave_in_group == 1; });
        go();
        EXPECT_EQ(unit.waves_live(), 1u) << "the barrier has opened";
        EXPECT_EQ(count(WaveState::Halted), 1u);
        all(halt, 0);
        go();
        EXPECT_EQ(unit.waves_live(), 0u);
        unit.reset();
    }
}

TEST_P(Trap, AHaltHoldsWhenAResourceIsThere) {
    for (const WaveCommand halt : {WaveCommand::SetHalt, WaveCommand::SetFatalHalt}) {
        launch("ds_gws_sema_p offset:0 gds\n s_mov_b32 s5, 5");
        go();
        ASSERT_EQ(count(WaveState::AtGws), 1u);
        all(halt, 1);
        unit.gws_done(0);
        go();
        ASSERT_EQ(count(WaveState::Halted), 1u);
        EXPECT_EQ(unit.wave(0).pc, kCode + 8);
        all(halt, 0);
        go();
        EXPECT_EQ(unit.waves_live(), 0u);
        // The same when it has to ask again.
        launch("ds_gws_sema_p offset:0 gds\n s_mov_b32 s5, 5");
        go();
        const unsigned asked = services.asked;
        all(halt, 1);
        unit.gws_again(0);
        go();
        EXPECT_EQ(services.asked, asked);
        EXPECT_EQ(count(WaveState::Halted), 1u);
        all(halt, 0);
        go();
        EXPECT_EQ(services.asked, asked + 1);
        EXPECT_EQ(count(WaveState::AtGws), 1u);
        unit.reset();
    }
}

/// SAVECTX waits as long as nothing runs, and comes then.
TEST_P(Trap, ASaveWaitsForTheEndOfAFatalHalt) {
    for (const uint32_t halted : {0u, 1u}) {
        launch("l: s_branch l");
        all(WaveCommand::SetHalt, halted);
        all(WaveCommand::SetFatalHalt, 1);
        unit.request_save(1);
        go();
        EXPECT_TRUE(log().empty());
        EXPECT_EQ(count(WaveState::Halted), 1u);
        all(WaveCommand::SetFatalHalt, 0);
        go(1);
        ASSERT_FALSE(log().empty());
        EXPECT_EQ(log()[0], (Entry{0, 0}));
        EXPECT_EQ(TrapstsBits::Savectx::get(unit.wave(0).trapsts), 1u);
        unit.reset();
    }
}

/// MODE.DEBUG_EN from the code itself: the first trap is after the instruction behind the one that sets it.
TEST_P(Trap, SingleStepBeginsAndEndsWithTheMode) {
    launch(R"(
  s_mov_b32 s4, 0
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 11, 1), 1
  s_mov_b32 s4, 1
  s_mov_b32 s4, 0x12345
  s_nop 0
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 11, 1), 0
  s_mov_b32 s4, 2
  s_nop 0)");
    go();
    EXPECT_EQ(unit.waves_live(), 0u);
    const Entries entries = log();
    ASSERT_GE(entries.size(), 3u);
    EXPECT_EQ(entries, (Entries{{16, 0}, {24, 0}, {28, 0}}));
    EXPECT_EQ(services.last.read_scalar(4), 2u);
}

// Floating-point exceptions

/// As kLog, but the second dword is TRAPSTS, and the first TTMP1's rewind in its highest byte.
constexpr const char* kLogExceptions = R"(
  s_getreg_b32 ttmp12, hwreg(HW_REG_STATUS)
  s_getreg_b32 ttmp3, hwreg(HW_REG_TRAPSTS)
  s_getreg_b32 ttmp14, hwreg(HW_REG_TMA_LO)
  s_getreg_b32 ttmp15, hwreg(HW_REG_TMA_HI)
  s_lshl_b64 ttmp[14:15], ttmp[14:15], 8
  s_mov_b32 ttmp2, 8
  s_atomic_add ttmp2, ttmp[14:15], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_add_u32 ttmp14, ttmp14, ttmp2
  s_bfe_u32 ttmp4, ttmp1, 0x40019
  s_lshl_b32 ttmp4, ttmp4, 24
  s_add_u32 ttmp2, ttmp0, ttmp4
  s_store_dwordx2 ttmp[2:3], ttmp[14:15], 0x8
  s_and_b32 ttmp1, ttmp1, 0xffff
  s_setreg_b32 hwreg(HW_REG_STATUS, 0, 1), ttmp12
  s_rfe_b64 ttmp[0:1])";

class FloatTrap : public Trap {
protected:
    struct Taken {
        uint32_t at, rewind, trapsts;
        bool operator==(const Taken&) const = default;
        friend std::ostream& operator<<(std::ostream& out, const Taken& t) {
            return out << "{" << t.at << ", " << t.rewind << ", " << t.trapsts << "}";
        }
    };
    std::vector<Taken> taken() {
        std::vector<Taken> all;
        for (unsigned n = 0; n < memory.at<uint32_t>(kData + 0x8000) / 8; ++n) {
            const uint32_t* entry = &memory.at<uint32_t>(kData + 0x8008 + 8 * n);
            all.push_back({(entry[0] & 0xffffff) - lo32(kCode), entry[0] >> 24, entry[1]});
        }
        return all;
    }
    /// @param enabled  EXCP_EN of the launch: COMPUTE_PGM_RSRC2[30:24]
    void start(const std::string& text, uint32_t enabled, bool handler = true) {
        std::fill_n(&memory.at<uint8_t>(kCode), kPageBytes, 0);  // nothing of the program before it
        WorkgroupLaunch launch = simple(text, 64);
        unit.invalidate_code();
        launch.rsrc1 |= 0x30 << 12;  // f32 denormals
        if (handler) with_traps(launch, kLogExceptions);
        launch.rsrc2 |= enabled << 24;
        std::fill_n(&memory.at<uint8_t>(kData + 0x8000), 0x4000, 0);
        unit.launch(launch);
        go();
        EXPECT_EQ(unit.waves_live(), 0u);
    }
    uint32_t sgpr(unsigned n) { return services.last.read_scalar(n); }
};
/// The trap comes after the instruction that raises an enabled exception: its result is there, the PC is past it, and TTMP1
/// says by how many dwords. What is not enabled stays in TRAPSTS only.
TEST_P(FloatTrap, ComesAfterTheInstructionThatRaisesWhatIsEnabled) {
    start(R"(
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1.0
  v_add_f32 v3, 0x33000000, v2
  v_rcp_f32 v4, v1
  v_readfirstlane_b32 s8, v4
  v_rcp_f32_e64 v5, -v1
  v_mov_b32 v6, 1.0)",
          1 << 2);
    EXPECT_EQ(taken(), (std::vector<Taken>{{20, 1, 0x24}, {32, 2, 0x24}})) << "inexact was first, and is not enabled";
    EXPECT_EQ(sgpr(8), 0x7f800000u);
}

TEST_P(FloatTrap, IsEnabledByTheProgramItself) {
    start(R"(
  v_mov_b32 v1, 0
  v_rcp_f32 v4, v1
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 7), 4
  v_mov_b32 v5, v1
  v_rcp_f32 v4, v1
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 7), 0
  v_rcp_f32 v4, v1)",
          0);
    EXPECT_EQ(taken(), (std::vector<Taken>{{24, 1, 4}}));
}

TEST_P(FloatTrap, NeedsALaneThatExecutes) {
    start(R"(
  v_mov_b32 v1, 0
  s_mov_b64 exec, 0
  v_rcp_f32 v4, v1
  s_mov_b64 exec, 1
  v_mov_b32 v2, 1.0
  v_rcp_f32 v4, v2)",
          0x7f);
    EXPECT_TRUE(taken().empty());
    EXPECT_EQ(services.last.trapsts, 0u);
}

/// Several at a time are one trap; integer division has an exception of its own.
TEST_P(FloatTrap, EachExceptionHasItsBit) {
    start(R"(
  v_mov_b32 v1, 0
  v_mov_b32 v2, 0x7f800001
  v_add_f32 v3, v2, v2
  v_mov_b32 v2, 1
  v_max_f32 v3, v2, v2
  v_rcp_f32 v3, v1
  v_mov_b32 v2, 0x7f7fffff
  v_add_f32 v3, v2, v2
  v_mov_b32 v2, 0x00800001
  v_mul_f32 v3, 0.5, v2
  v_rcp_iflag_f32 v3, v1)",
          0x7f);
    EXPECT_EQ(taken(),
              (std::vector<Taken>{{16, 1, 0x01}, {24, 1, 0x03}, {28, 1, 0x07}, {40, 1, 0x2f}, {52, 1, 0x3f}, {56, 1, 0x7f}}));
}

/// Without a handler the program goes on, and finds the bits.
TEST_P(FloatTrap, WithoutAHandlerTheBitsStay) {
    start(R"(
  v_mov_b32 v1, 0
  v_rcp_f32 v4, v1
  v_mov_b32 v2, 0x7f7fffff
  v_add_f32 v3, v2, v2
  s_getreg_b32 s8, hwreg(HW_REG_TRAPSTS, 0, 9)
  s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 7), 0
  s_getreg_b32 s9, hwreg(HW_REG_TRAPSTS, 0, 9)
  v_rcp_f32 v4, v1
  s_getreg_b32 s10, hwreg(HW_REG_TRAPSTS, 0, 9)
  v_clrexcp
  s_getreg_b32 s11, hwreg(HW_REG_TRAPSTS, 0, 9))",
          4, false);
    EXPECT_EQ(sgpr(8), 0x2cu);
    EXPECT_EQ(sgpr(9), 0u);
    EXPECT_EQ(sgpr(10), 4u);
    EXPECT_EQ(sgpr(11), 0u);
}

constexpr const char* kDividesByZero = "v_mov_b32 v1, 0\n v_rcp_f32 v4, v1\n";

/// Nothing is enabled: exceptions are tracked where the code reads them, or always.
TEST_P(FloatTrap, WhoReadsTheBitsFindsThem) {
    start(std::string(kDividesByZero) + "s_getreg_b32 s8, hwreg(HW_REG_TRAPSTS, 2, 1)", 0, false);
    EXPECT_EQ(sgpr(8), 1u);
    start(kDividesByZero, 0);
    EXPECT_EQ(services.last.trapsts, 0u) << "nobody looks; the trap handler does not count";
    env.fp_exceptions = FpExceptions::Always;
    start(kDividesByZero, 0);
    EXPECT_EQ(services.last.trapsts, 4u);
}

/// What happens in the trap handler is noted, and is no trap.
TEST_P(FloatTrap, TheHandlerIsNotInterruptedByItsOwn) {
    WorkgroupLaunch launch = simple("v_mov_b32 v1, 0\n v_rcp_f32 v2, v1\n s_nop 0");
    with_traps(launch, std::string("v_rcp_f32 v2, v1\n v_sqrt_f32 v2, -1.0\n") + kLogExceptions);
    launch.rsrc2 |= 0x7fu << 24;
    std::fill_n(&memory.at<uint8_t>(kData + 0x8000), 0x4000, 0);
    unit.launch(launch);
    go();
    EXPECT_EQ(unit.waves_live(), 0u);
    EXPECT_EQ(taken(), (std::vector<Taken>{{8, 1, 5}}));
}

INSTANTIATE_TEST_SUITE_P(Clock, FloatTrap, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& info) { return info.param ? "Virtual" : "Free"; });
INSTANTIATE_TEST_SUITE_P(Clock, Trap, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& info) { return info.param ? "Virtual" : "Free"; });

}  // namespace
}  // namespace lyra::gcn::test
