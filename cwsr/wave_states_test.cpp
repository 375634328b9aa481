// SPDX-License-Identifier: MIT
// Every state that a wave can be in when its queue is taken away: at a barrier, halted, in a trap handler, parked by it,
// stepped.
#include <random>

#include "cwsr/testing/wave_rig.h"

namespace lyra::cwsr {
namespace {

using gcn::WaveCommand;
using gcn::WaveState;
using testing::kHandlers;
using testing::kKernels;
using testing::WaveRig;
using Reg = ImageRegister;

constexpr unsigned kStatusHalt = 13, kModeGprIdx = 27, kModeVskip = 28;

class WaveStates : public ::testing::Test {
protected:
    void undisturbed(unsigned groups = 1) {
        rig.start(groups);
        rig.run_out();
        expected = rig.results();
    }
    void finish() {
        rig.run_out();
        EXPECT_EQ(rig.services.waves, rig.waves_started);
        EXPECT_EQ(rig.results(), expected);
    }
    unsigned count(WaveState state) const {
        unsigned n = 0;
        for (unsigned slot = 0; slot < gcn::kWaveSlots; ++slot) n += rig.unit.wave(slot).state == state;
        return n;
    }
    WaveRig rig;
    std::vector<uint8_t> expected;
};

TEST_F(WaveStates, OneToFifteenOfSixteenWavesWaitAtABarrier) {
    rig.load(testing::read_kernel(kKernels, "barrier_sixteen_waves"));
    undisturbed();
    for (unsigned waiting = 1; waiting < 16; ++waiting) {
        SCOPED_TRACE(waiting);
        rig.start();
        while (count(WaveState::AtBarrier) != waiting) ASSERT_TRUE(rig.step(1));
        const uint64_t barrier = rig.wave(0)->pc - 4;
        ASSERT_TRUE(rig.save());
        unsigned at_barrier = 0;
        for (const WaveImage& wave : rig.image.waves) {
            at_barrier += wave.pc == barrier;
            EXPECT_FALSE(bit(wave.status, 12)) << "IN_BARRIER";
        }
        EXPECT_GE(at_barrier, waiting);
        rig.restore();
        // Nobody gets past it before all have come again.
        unsigned most = 0;
        for (bool open = false; !open;) {
            ASSERT_TRUE(rig.step(1));
            unsigned here = 0;
            for (unsigned n = 0; n < 16; ++n) {
                ASSERT_NE(rig.wave(n), nullptr);
                const gcn::Wave& wave = *rig.wave(n);
                here += !wave.priv() && wave.state == WaveState::AtBarrier && wave.pc == barrier + 4;
                open |= !wave.priv() && wave.state == WaveState::Running && wave.pc > barrier;
            }
            if (!open) most = std::max(most, here);
        }
        EXPECT_EQ(most, 15u);
        finish();
        ASSERT_FALSE(HasFailure());
    }
}

TEST_F(WaveStates, SeveralWorkGroupsOnOneComputeUnit) {
    rig.load(testing::read_kernel(kKernels, "barrier_lds"));
    undisturbed(5);
    for (unsigned at = 3; at < 400; at += 29) {
        SCOPED_TRACE(at);
        rig.start(5);
        rig.step(at);
        ASSERT_TRUE(rig.save());
        EXPECT_EQ(rig.groups.size(), 5u);
        rig.restore(true);
        finish();
        ASSERT_FALSE(HasFailure());
    }
}

TEST_F(WaveStates, IndexingAndSkippingAreInTheImage) {
    const auto seen = [&](const char* name, unsigned bit_of_mode) {
        rig.load(testing::read_kernel(kKernels, name));
        unsigned on = 0, off = 0;
        for (unsigned at = 0; at < 120; at += 3) {
            rig.start();
            if (!rig.step(at) || !rig.save()) break;
            const bool set = bit(rig.image.waves[0].mode, bit_of_mode);
            on += set;
            off += !set;
        }
        EXPECT_GT(on, 2u) << name;
        EXPECT_GT(off, 2u) << name;
    };
    seen("register_index", kModeGprIdx);
    seen("skip", kModeVskip);
}

/// USER_PRIO is in the image, SPI_PRIO is what the SPI gives a wave that it starts.
TEST_F(WaveStates, PriorityIsKept) {
    rig.rsrc1_more = 2u << 10;
    rig.load("s_setprio 1\nagain:\n s_branch again");
    const auto priorities = [&] { return rig.wave(0)->status >> 1 & 15; };
    rig.start();
    rig.step(10);
    EXPECT_EQ(priorities(), 2u | 1u << 2);
    ASSERT_TRUE(rig.save());
    EXPECT_EQ(rig.image.waves[0].status >> 3 & 3, 1u);
    rig.restore();
    for (unsigned n = 0; n < 1000 && rig.wave(0)->priv(); ++n) rig.step(1);
    EXPECT_FALSE(rig.wave(0)->priv());
    EXPECT_EQ(priorities(), 2u | 1u << 2);
}

/// Saved while halted, it stays halted until somebody takes the halt away.
class Halted : public WaveStates {
protected:
    void save_and_release() {
        rig.settle();
        ASSERT_EQ(rig.live(), 1u);
        ASSERT_EQ(count(WaveState::Halted), 1u);
        const uint64_t pc = rig.wave(0)->pc;
        ASSERT_TRUE(rig.save());
        EXPECT_TRUE(bit(rig.image.waves[0].status, kStatusHalt));
        EXPECT_EQ(rig.image.waves[0].pc, pc);
        EXPECT_EQ(rig.image.waves[0].stop, WaveStop::Halted);
        rig.restore();
        rig.settle();
        ASSERT_EQ(rig.live(), 1u);
        ASSERT_EQ(rig.wave(0)->state, WaveState::Halted);
        EXPECT_EQ(rig.wave(0)->pc, pc);
        rig.command(WaveCommand::SetHalt, 0);
        rig.run_out();
        EXPECT_EQ(rig.services.waves, 1u);
    }
    static constexpr const char* kStore = "\n v_mov_b32 v1, 0\n global_store_dword v1, v2, s[0:1]";
};

TEST_F(Halted, BySethalt) {
    rig.load(std::string("v_mov_b32 v2, 7\n s_sethalt 1\n v_mov_b32 v2, 8") + kStore);
    rig.start();
    save_and_release();
    EXPECT_EQ(rig.memory.at<uint32_t>(WaveRig::kData), 8u);
}

TEST_F(Halted, ByACommand) {
    rig.load(std::string("v_mov_b32 v2, 7\n s_nop 0\n s_nop 0\n v_mov_b32 v2, 8") + kStore);
    rig.start();
    rig.step(2);
    rig.command(WaveCommand::SetHalt, 1);
    save_and_release();
    EXPECT_EQ(rig.memory.at<uint32_t>(WaveRig::kData), 8u);
}

TEST_F(Halted, ByTheHandlersWriteOfStatus) {
    rig.load(std::string("v_mov_b32 v2, 7\n s_trap 9\n v_mov_b32 v2, 8") + kStore);
    rig.memory.put(WaveRig::kSecond, gcn::test::assemble(R"(
  s_add_u32 ttmp0, ttmp0, 4
  s_addc_u32 ttmp1, ttmp1, 0
  s_and_b32 ttmp1, ttmp1, 0xffff
  s_bitset1_b32 ttmp12, 13
  s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12
  s_rfe_b64 ttmp[0:1])"));
    rig.set_second_level(0);
    rig.start();
    save_and_release();
    EXPECT_EQ(rig.memory.at<uint32_t>(WaveRig::kData), 8u);
}

TEST_F(Halted, AtLaunch) {
    rig.load("s_nop 0");
    rig.start(0);
    gcn::WorkgroupLaunch launch = rig.launch_of(0);
    launch.halted = true;
    rig.unit.launch(launch);
    rig.settle();
    ASSERT_EQ(rig.live(), 1u);
    ASSERT_TRUE(rig.save());
    EXPECT_EQ(rig.image.waves[0].stop, WaveStop::HaltedAtLaunch);
    EXPECT_EQ(rig.image.waves[0].pc, WaveRig::kCode);
    rig.restore();
    rig.settle();
    EXPECT_EQ(rig.live(), 1u);
    rig.command(WaveCommand::SetHalt, 0);
    rig.run_out();
}

TEST_F(WaveStates, TheHandlerIsNotInterruptedAndSavesAfterwards) {
    rig.load(testing::read_kernel(kKernels, "traps"));
    // A second level that waits for word 0 of its TMA.
    rig.memory.put(WaveRig::kSecond, gcn::test::assemble(R"(
wait:
  s_load_dword ttmp2, ttmp[14:15], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 ttmp2, 0
  s_cbranch_scc1 wait
  s_add_u32 ttmp0, ttmp0, 4
  s_addc_u32 ttmp1, ttmp1, 0
  s_and_b32 ttmp1, ttmp1, 0xffff
  s_setreg_b32 hwreg(HW_REG_STATUS, 0, 1), ttmp12
  s_rfe_b64 ttmp[0:1])"));
    rig.start();
    rig.step(500);
    ASSERT_TRUE(rig.wave(0)->priv());
    rig.unit.request_save(WaveRig::kDispatch);
    for (unsigned n = 0; n < 20; ++n) rig.unit.run(1000);
    EXPECT_EQ(rig.services.ready, 0u) << "SAVECTX waits until the handler returns";
    EXPECT_TRUE(gcn::TrapstsBits::Savectx::get(rig.wave(0)->trapsts));
    rig.memory.at<uint32_t>(WaveRig::kTma2) = 1;
    ASSERT_TRUE(rig.finish_save());
    EXPECT_EQ(rig.image.waves.size(), 2u);
    EXPECT_EQ(rig.image.waves[0].pc, WaveRig::kCode + 12) << "behind the trap";
    rig.restore();
    rig.run_out();
    EXPECT_EQ(rig.services.waves, 2u);
}

TEST_F(WaveStates, AWaveAtItsEndEnds) {
    rig.load("s_nop 0");
    rig.start();
    rig.step(1);
    EXPECT_FALSE(rig.save());
    EXPECT_EQ(rig.services.waves, 1u);
    EXPECT_EQ(rig.services.ready, 0u);
}

TEST_F(WaveStates, TheMessageMeansNothingWithoutARequest) {
    rig.load("s_sendmsg sendmsg(MSG_SAVEWAVE)");
    rig.start();
    rig.run_out();
    EXPECT_EQ(rig.services.ready, 0u);
    EXPECT_EQ(rig.services.waves, 1u);
    EXPECT_EQ(rig.env.stats.get(Fault::SaveMessage), 1u);
}

TEST_F(WaveStates, AWaveWithoutAHandlerGoesOn) {
    rig.load("s_nop 0\n s_nop 0");
    rig.start(0);
    gcn::WorkgroupLaunch launch = rig.launch_of(0);
    launch.rsrc2 &= ~(1u << 6);
    rig.unit.launch(launch);
    rig.unit.request_save(WaveRig::kDispatch);
    rig.run_out();
    EXPECT_EQ(rig.services.waves, 1u);
    EXPECT_EQ(rig.services.ready, 0u);
}

/// A wave is stopped by what it does, reported once, and parked; a debugger lets it go on.
struct Cause {
    const char* name;
    const char* text;   ///< the stop comes in its middle; stores 8 at the end
    uint32_t report;    ///< bit of the report: 0 abort, 1 trap, 3 illegal, 4 page fault, 5 aperture
    unsigned skip;      ///< bytes a debugger steps over
};
std::ostream& operator<<(std::ostream& out, const Cause& cause) { return out << cause.name; }

constexpr Cause kCauses[] = {
    {"Abort", "v_mov_b32 v2, 7\n s_trap 2\n v_mov_b32 v2, 8", 0, 4},
    {"Trap", "v_mov_b32 v2, 7\n s_trap 3\n v_mov_b32 v2, 8", 1, 4},
    {"Illegal", "v_mov_b32 v2, 7\n .long 0xbfff0000\n v_mov_b32 v2, 8", 3, 4},
    {"PageFault",
     "v_mov_b32 v2, 7\n v_mov_b32 v4, 0\n v_mov_b32 v5, 0x7fff\n global_load_dword v3, v[4:5], off\n v_mov_b32 v2, 8", 4, 0},
    {"Lds", "v_mov_b32 v2, 7\n v_mov_b32 v4, 0x8000\n v_mov_b32 v5, 0x10000\n flat_load_dword v3, v[4:5]\n v_mov_b32 v2, 8", 5,
     0},
    {"Aperture", "v_mov_b32 v2, 7\n v_mov_b32 v4, 0\n v_mov_b32 v5, 0x10001\n flat_store_dword v[4:5], v2\n v_mov_b32 v2, 8", 5,
     0},
    {"Misaligned", "v_mov_b32 v2, 7\n v_mov_b32 v4, 2\n global_atomic_add v4, v2, s[0:1] offset:64\n v_mov_b32 v2, 8", 5, 0},
    {"Fetch",
     "v_mov_b32 v2, 7\n s_getpc_b64 s[10:11]\n s_mov_b64 s[8:9], 0x1000\n s_swappc_b64 s[6:7], s[8:9]\n v_mov_b32 v2, 8", 5, 0},
};

class Parked : public WaveStates, public ::testing::WithParamInterface<Cause> {
protected:
    void SetUp() override {
        rig.load(std::string(GetParam().text) + "\n v_mov_b32 v1, 0\n global_store_dword v1, v2, s[0:1]");
        rig.set_second_level(0);
    }
    uint32_t report() const { return WaveRig::kDoorbell | 1u << (10 + GetParam().report); }
    /// It is parked, and has said so once.
    void expect_parked() {
        ASSERT_EQ(rig.live(), 1u);
        ASSERT_EQ(count(WaveState::Halted), 1u);
        EXPECT_EQ(rig.services.interrupts, std::vector<uint32_t>{report()});
    }
    /// Save the parked wave, and go on as a debugger makes it.
    void release() {
        ASSERT_TRUE(rig.save());
        ASSERT_EQ(rig.image.waves[0].stop, WaveStop::Parked);
        EXPECT_NE(rig.image.waves[0].pc, rig.image.waves[0].user_pc);
        rig.unpark(0, GetParam().skip);
        rig.saved(0, Reg::Trapsts) &= ~(1u << 8 | 1u << 11 | 1u << 28);
        if (std::string(GetParam().name) == "Fetch") {
            rig.saved(0, Reg::Pc) = rig.saved(0, Reg::Sgpr, 6);
            rig.saved(0, Reg::Pc, 1) = rig.saved(0, Reg::Sgpr, 7);
        }
        rig.restore();
        rig.run_out();
        EXPECT_EQ(rig.services.waves, 1u);
        EXPECT_EQ(rig.memory.at<uint32_t>(WaveRig::kData), 8u);
        EXPECT_EQ(rig.services.interrupts.size(), 1u);
    }
};

TEST_P(Parked, IsSavedAndGoesOn) {
    rig.start();
    rig.settle();
    expect_parked();
    release();
}

/// The save may come before, in, or after the handler: the report comes once, and the wave ends up parked.
TEST_P(Parked, WithTheSaveAtEveryInstruction) {
    for (unsigned at = 0;; ++at) {
        SCOPED_TRACE(at);
        rig.start();
        for (unsigned n = 0; n < at; ++n) rig.unit.run(1);
        const bool stopped = !rig.unit.runnable();
        ASSERT_TRUE(rig.save());
        rig.restore(at % 2);
        rig.settle();
        expect_parked();
        release();
        ASSERT_FALSE(HasFailure());
        if (stopped) break;
    }
}

INSTANTIATE_TEST_SUITE_P(Causes, Parked, ::testing::ValuesIn(kCauses),
                         [](const ::testing::TestParamInfo<Cause>& info) { return std::string(info.param.name); });

/// A trap that comes from outside, and the save with it.
TEST_F(WaveStates, AHostTrapAtEveryInstruction) {
    rig.load(testing::read_kernel(kKernels, "traps"));
    undisturbed();
    const uint32_t services = rig.memory.at<uint32_t>(WaveRig::kTma2);
    for (unsigned at = 0; at < 300; ++at) {
        SCOPED_TRACE(at);
        rig.start();
        rig.step(at);
        unsigned taken = 0;
        for (unsigned n = 0; n < 2; ++n) taken += rig.wave(n) != nullptr && !rig.wave(n)->priv();
        rig.command(WaveCommand::Trap, 1);
        if (at % 3 != 0) {
            ASSERT_TRUE(rig.save());
            rig.restore();
        }
        rig.run_out();
        EXPECT_EQ(rig.services.waves, rig.waves_started);
        EXPECT_EQ(rig.memory.at<uint32_t>(WaveRig::kTma2), services + taken);
        rig.memory.at<uint32_t>(WaveRig::kTma2) = services;
        EXPECT_EQ(rig.results(), expected);
        ASSERT_FALSE(HasFailure());
    }
}

TEST_F(WaveStates, AHostTrapOfAHaltedWave) {
    rig.load("s_sethalt 1");
    rig.set_second_level(0);
    rig.start();
    rig.settle();
    rig.command(WaveCommand::Trap, 1);
    rig.settle();
    EXPECT_EQ(rig.memory.at<uint32_t>(WaveRig::kTma2), 1u);
    ASSERT_EQ(rig.live(), 1u);
    EXPECT_EQ(rig.wave(0)->state, WaveState::Halted);
}

/// Without a second level the first one halts the wave; when what is behind its PC cannot be fetched either, it waits in the
/// handler for its save.
TEST_F(WaveStates, AWaveThatCannotFetchWaitsForItsSave) {
    rig.load("s_mov_b64 s[8:9], 0x1100\n s_setpc_b64 s[8:9]");
    rig.start();
    for (unsigned n = 0; n < 100; ++n) rig.unit.run(10);
    ASSERT_EQ(rig.live(), 1u);
    EXPECT_TRUE(rig.wave(0)->priv());
    EXPECT_TRUE(rig.unit.runnable());
    ASSERT_TRUE(rig.save());
    EXPECT_TRUE(bit(rig.image.waves[0].status, kStatusHalt));
    EXPECT_EQ(rig.image.waves[0].pc, 0x1100u - 8);
    rig.restore();
    for (unsigned n = 0; n < 100; ++n) rig.unit.run(10);
    EXPECT_EQ(rig.live(), 1u);
    ASSERT_TRUE(rig.save());
    rig.saved(0, Reg::Pc) = lo32(WaveRig::kFiller);
    rig.saved(0, Reg::Status) &= ~(1u << kStatusHalt);
    rig.saved(0, Reg::Trapsts) = 0;
    rig.restore();
    rig.run_out();
    EXPECT_EQ(rig.services.waves, 1u);
}

/// A debugger's single step: MODE.DEBUG_EN, one instruction, the handler reports and parks, the debugger lets it go on.
TEST_F(WaveStates, SingleStepsThroughAKernel) {
    rig.load(testing::read_kernel(kKernels, "flow"));
    undisturbed();
    unsigned length = 0;
    rig.start();
    while (rig.step(1)) ++length;
    rig.set_second_level(0);
    rig.rsrc1_more = 1u << 22;
    rig.start();
    unsigned steps = 0;
    uint64_t last_pc = WaveRig::kCode;
    for (;; ++steps) {
        ASSERT_LE(steps, length);
        rig.settle();
        if (rig.live() == 0) break;
        ASSERT_EQ(rig.services.interrupts.size(), steps + 1u);
        ASSERT_EQ(rig.services.interrupts.back(), WaveRig::kDoorbell | 1u << 11);
        ASSERT_TRUE(rig.save());
        ASSERT_EQ(rig.image.waves[0].stop, WaveStop::Parked);
        ASSERT_NE(rig.image.waves[0].user_pc, last_pc) << "an instruction was executed";
        last_pc = rig.image.waves[0].user_pc;
        rig.unpark(0, 0);
        rig.restore();
    }
    EXPECT_EQ(steps, length) << "a stop after each instruction but s_endpgm";
    EXPECT_EQ(rig.services.waves, 1u);
    EXPECT_EQ(rig.results(), expected);
}

/// What a debugger writes into the image is what the wave goes on with.
TEST_F(WaveStates, TheDebuggersChangesAreRestored) {
    rig.load(R"(
  s_mov_b32 s8, 1
  v_mov_b32 v2, 2
  v_mov_b32 v4, 0
  ds_write_b32 v4, v2
  s_sethalt 1
  s_mov_b32 s8, 3
  s_nop 0
  v_add_u32 v2, s8, v2
  ds_read_b32 v3, v4 offset:8
  s_waitcnt lgkmcnt(0)
  v_add_u32 v2, v2, v3
  v_lshlrev_b32 v1, 2, v0
  global_store_dword v1, v2, s[0:1])");
    rig.kernel.lds_bytes = 512;
    rig.start();
    rig.settle();
    ASSERT_TRUE(rig.save());
    rig.saved(0, Reg::Pc) += 4;  // not s8 = 3
    rig.saved(0, Reg::Status) &= ~(1u << kStatusHalt);
    rig.saved(0, Reg::Sgpr, 8) = 100;
    rig.saved(0, Reg::Lds, 2) = 1000;
    for (unsigned lane = 0; lane < 64; ++lane) (&rig.saved(0, Reg::Vgpr, 2))[lane] = 10 * lane;
    rig.saved(0, Reg::Exec) = 0xffff;
    rig.saved(0, Reg::Exec, 1) = 0;
    rig.saved(0, Reg::Ttmp, 4) = 77;
    rig.debugger_ids = {77};
    rig.restore();
    rig.run_out();
    for (unsigned lane = 0; lane < 64; ++lane) {
        EXPECT_EQ(rig.memory.at<uint32_t>(WaveRig::kData + 4 * lane), lane < 16 ? 1100 + 10 * lane : 0) << lane;
    }
    EXPECT_EQ(rig.services.last.ttmp[4], 77u);
    // The next wave in the same slot is nobody's.
    rig.start();
    rig.settle();
    EXPECT_EQ(rig.wave(0)->ttmp[4], 0u);
    EXPECT_EQ(rig.wave(0)->ttmp[6], WaveRig::kPacket);
}

TEST_F(WaveStates, NewWavesHaveCleanTrapRegisters) {
    rig.load(testing::read_kernel(kKernels, "traps"));
    rig.set_second_level(0);
    for (unsigned round = 0; round < 3; ++round) {
        rig.start();
        const gcn::Wave& wave = *rig.wave(1);
        const std::array<uint32_t, 16> expected_ttmps = {0, 0,          0, 0, 0, 0, WaveRig::kPacket, 0, 0, 2,
                                                         1, 1 | 1 << 6, 0, 0, 0, 0};
        EXPECT_EQ(wave.ttmp, expected_ttmps);
        rig.step(300);
        ASSERT_TRUE(rig.save());
        for (const WaveImage& saved : rig.image.waves) {
            EXPECT_EQ(saved.debugger_id, 0u);
            EXPECT_EQ(saved.ttmp[6] >> 25, 0u);
        }
        for (unsigned n = 0; n < 2; ++n) rig.saved(n, Reg::Ttmp, 4) = 5 + n;
        rig.debugger_ids = {5, 6};
        rig.restore();
        rig.run_out();
        rig.debugger_ids.clear();
    }
}

/// Geometry of a wave.
struct Geometry {
    unsigned vgprs, sgprs;
    uint32_t lds_bytes;
    unsigned waves;
};

/// Every register and all LDS get random values in the image; what is restored is saved again at once: it is the same.
TEST_F(WaveStates, EveryRegisterSurvives) {
    constexpr Geometry kGeometries[] = {{4, 16, 0, 1},       {4, 112, 65536, 1},  {8, 32, 512, 2}, {12, 48, 1024, 3},
                                        {24, 96, 32768, 16}, {64, 64, 0, 16},     {84, 112, 0, 4}, {128, 80, 512, 8},
                                        {252, 16, 1536, 4},  {256, 112, 65536, 2}};
    std::mt19937 random(7);
    for (const Geometry& g : kGeometries) {
        SCOPED_TRACE(::testing::Message() << g.vgprs << " VGPRs, " << g.sgprs << " SGPRs, " << g.lds_bytes << " LDS, "
                                          << g.waves);
        rig.load("s_nop 0\n s_nop 0\n s_nop 0");
        rig.kernel.vgprs = g.vgprs;
        rig.kernel.sgprs = g.sgprs;
        rig.kernel.lds_bytes = g.lds_bytes;
        rig.kernel.group = rig.kernel.valid = {g.waves * 64, 1, 1};
        rig.start();
        ASSERT_TRUE(rig.save());
        ASSERT_EQ(rig.image.waves.size(), g.waves);
        const auto each = [&](auto visit) {
            for (size_t n = 0; n < rig.image.waves.size(); ++n) {
                for (unsigned r = 0; r < g.vgprs; ++r) {
                    for (unsigned lane = 0; lane < 64; ++lane) visit((&rig.saved(n, Reg::Vgpr, r))[lane]);
                }
                for (unsigned r = 0; r < std::min(108u, g.sgprs) - 6; ++r) visit(rig.saved(n, Reg::Sgpr, r));
                for (unsigned r = 0; r < 2; ++r) {
                    for (const Reg name : {Reg::Vcc, Reg::FlatScratch, Reg::XnackMask, Reg::Exec}) visit(rig.saved(n, name, r));
                }
                visit(rig.saved(n, Reg::M0));
                for (const unsigned r : {7, 13}) visit(rig.saved(n, Reg::Ttmp, r));
                for (unsigned r = 0; n == 0 && r < g.lds_bytes / 4; ++r) visit(rig.saved(n, Reg::Lds, r));
            }
        };
        std::vector<uint32_t> written;
        each([&](uint32_t& word) { written.push_back(word = static_cast<uint32_t>(random())); });
        std::vector<uint32_t> modes, statuses;
        for (size_t n = 0; n < rig.image.waves.size(); ++n) {
            modes.push_back(rig.saved(n, Reg::Mode) = static_cast<uint32_t>(random()) & ~(1u << 11));
            statuses.push_back(rig.saved(n, Reg::Status) = rig.saved(n, Reg::Status) ^ (random() & 0x00500019));
        }
        rig.restore(g.waves * g.vgprs <= 400);
        ASSERT_TRUE(rig.save());
        size_t at = 0;
        each([&](uint32_t& word) {
            EXPECT_EQ(word, written[at]) << at;
            ++at;
        });
        for (size_t n = 0; n < rig.image.waves.size(); ++n) {
            EXPECT_EQ(rig.image.waves[n].mode, modes[n]);
            EXPECT_EQ(rig.image.waves[n].status & 0x00500019, statuses[n] & 0x00500019);
            EXPECT_EQ(rig.image.waves[n].pc, WaveRig::kCode);
        }
        ASSERT_FALSE(HasFailure());
    }
}

/// Saved a thousand times inside its restore, at random moments of it.
TEST_F(WaveStates, AThousandSavesInsideTheRestore) {
    std::mt19937 random(8);
    for (const char* name : {"barrier_lds", "scratch"}) {
        rig.load(testing::read_kernel(kKernels, name));
        undisturbed();
        bool saved = false;
        for (unsigned n = 0; n < 1000; ++n) {
            if (!saved) {
                rig.start();
                rig.step(40);
                ASSERT_TRUE(rig.save());
            }
            rig.restore(n % 2);
            for (unsigned k = random() % 300; k != 0; --k) rig.unit.run(1);
            saved = rig.save();
            if (!saved) finish();
            ASSERT_FALSE(HasFailure());
        }
        if (saved) rig.restore();
        finish();
    }
}

}  // namespace
}  // namespace lyra::cwsr
