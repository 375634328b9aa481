// SPDX-License-Identifier: MIT
// What the first-level trap handler does by itself, without a second level: s_trap, exceptions, host traps, and the save after
// them. LYRA_CWSR_HANDLER=file runs it with the handler that a driver installs.
#include "cwsr/testing/wave_rig.h"

namespace lyra::cwsr {
namespace {

using gcn::WaveCommand;
using gcn::WaveState;
using testing::WaveRig;

constexpr uint32_t kHalt = 1u << 13;

class FirstLevel : public ::testing::Test {
protected:
    void SetUp() override { rig.memory.at<uint64_t>(WaveRig::kTma) = 0; }
    static constexpr const char* kStore = "\n v_mov_b32 v1, 0\n global_store_dword v1, v2, s[0:1]";
    uint32_t stored() { return rig.memory.at<uint32_t>(WaveRig::kData); }
    WaveRig rig;
};

TEST_F(FirstLevel, StepsOverEachTrap) {
    rig.load(std::string("v_mov_b32 v2, 7\n s_trap 1\n s_trap 2\n s_trap 3\n s_trap 255\n v_add_u32 v2, 1, v2") + kStore);
    rig.start();
    rig.run_out();
    EXPECT_EQ(stored(), 8u);
    EXPECT_TRUE(rig.services.interrupts.empty());
    EXPECT_TRUE(rig.services.errors.empty());
}

/// It halts, 8 bytes before its PC, so that it is not at an s_endpgm; and is saved and restored so.
TEST_F(FirstLevel, HaltsAWaveWithAnException) {
    const struct {
        const char* text;
        uint64_t pc;  ///< of the exception, from the start
        uint32_t trapsts;
    } cases[] = {
        {"s_nop 0\n s_nop 0\n s_nop 0\n .long 0xbfff0000", 12, 1u << 11},
        {"v_mov_b32 v4, 0\n v_mov_b32 v5, 0x7fff\n global_load_dword v3, v[4:5], off", 20, 1u << 8 | 1u << 28},
        {"s_nop 0\n v_mov_b32 v4, 2\n global_atomic_add v4, v2, s[0:1] offset:64", 16, 1u << 8},
        {"v_mov_b32 v4, 0\n s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 7), 4\n v_rcp_f32 v5, v4\n s_nop 0", 16, 1u << 2},
    };
    for (const auto& c : cases) {
        SCOPED_TRACE(c.text);
        rig.load(c.text);
        rig.start();
        rig.settle();
        ASSERT_EQ(rig.live(), 1u);
        ASSERT_EQ(rig.wave(0)->state, WaveState::Halted);
        EXPECT_FALSE(rig.wave(0)->priv());
        EXPECT_EQ(rig.wave(0)->pc, WaveRig::kCode + c.pc - 8);
        EXPECT_EQ(rig.wave(0)->trapsts, c.trapsts);
        EXPECT_TRUE(rig.services.interrupts.empty());
        EXPECT_TRUE(rig.services.errors.empty()) << "the sequencer reports only what no handler takes";
        ASSERT_TRUE(rig.save());
        ASSERT_EQ(rig.image.waves.size(), 1u);
        EXPECT_EQ(rig.image.waves[0].status & kHalt, kHalt);
        EXPECT_EQ(rig.image.waves[0].trapsts & c.trapsts, c.trapsts);
        EXPECT_EQ(rig.image.waves[0].pc, WaveRig::kCode + c.pc - 8);
        rig.restore();
        rig.settle();
        ASSERT_EQ(rig.live(), 1u);
        EXPECT_EQ(rig.wave(0)->state, WaveState::Halted);
        EXPECT_EQ(rig.wave(0)->trapsts, c.trapsts);
    }
}

/// The bits are part of the saved state, and so is that the wave's exceptions are tracked.
TEST_F(FirstLevel, ExceptionsOutliveASave) {
    rig.load(std::string(R"(
  v_mov_b32 v4, 0
  v_rcp_f32 v5, v4
wait:
  s_load_dword s4, s[0:1], 0x40 glc
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s4, 0
  s_cbranch_scc1 wait
  v_sqrt_f32 v5, -1.0
  s_getreg_b32 s5, hwreg(HW_REG_TRAPSTS, 0, 9)
  v_mov_b32 v2, s5)") +
             kStore);
    rig.start();
    rig.step(20);
    EXPECT_EQ(rig.wave(0)->trapsts & 0x1ff, 4u);
    ASSERT_TRUE(rig.save());
    ASSERT_EQ(rig.image.waves.size(), 1u);
    EXPECT_EQ(rig.image.waves[0].trapsts & 0x1ff, 4u);
    rig.restore();
    rig.memory.at<uint32_t>(WaveRig::kData + 0x40) = 1;
    rig.run_out();
    EXPECT_EQ(stored(), 5u);
}

}  // namespace
}  // namespace lyra::cwsr
