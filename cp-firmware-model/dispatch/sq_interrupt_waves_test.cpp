// SPDX-License-Identifier: MIT
// Interrupts that real waves cause, taken apart as the driver does it: who sent them, from where, and what they say.
#include <set>

#include "cp-firmware-model/testing/debug_bench.h"

namespace lyra {
namespace {

using testing::SqInterrupt;
using testing::TestRing;

constexpr uint16_t kPasid = 0x8001;
constexpr unsigned kSourceSqMessage = 239, kClientSe0Sh = 0x0a, kFirstKfdVmid = 8;
/// EC_QUEUE_WAVE_* of kfd_ioctl.h as bits of the trap code: code n is bit n - 1.
constexpr unsigned kAbort = 1 << 0, kTrap = 1 << 1, kIllegal = 1 << 3, kMemoryViolation = 1 << 4, kAperture = 1 << 5;

struct SqInterrupts : testing::DebugBench {
    /// What every SQ interrupt of the only process has.
    static void expect_sender(const SqInterrupt& i) {
        EXPECT_EQ(i.source, kSourceSqMessage);
        EXPECT_EQ(i.client, kClientSe0Sh + i.se);
        EXPECT_EQ(i.vmid, kFirstKfdVmid);
        EXPECT_EQ(i.pasid, kPasid);
        EXPECT_EQ(i.sh, 0u);
    }
};

/// M0[23:0] arrives; the waves send their own HW_ID, which says where they are.
TEST_F(SqInterrupts, AMessageSaysFromWhereItComes) {
    ASSERT_TRUE(program(0, R"(
  s_getreg_b32 s8, hwreg(HW_REG_HW_ID)
  s_or_b32 m0, s8, 0x5a000000
  s_nop 0
  s_sendmsg sendmsg(MSG_INTERRUPT)
wait:
  s_load_dword s9, s[0:1], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s9, 0
  s_cbranch_scc1 wait
  s_endpgm)"));
    constexpr unsigned kWaves = 48;
    TestRing ring = save_ring(0);
    start(process_with(kPasid, kHandler), {&ring});
    submit_grid(ring, 0, kWaves, 0);
    ASSERT_TRUE(run_until([&] { return sq_interrupts().size() == kWaves; }));
    std::set<std::array<unsigned, 4>> places;
    for (const SqInterrupt& i : sq_interrupts()) {
        expect_sender(i);
        EXPECT_EQ(i.encoding, SqInterrupt::kInst);
        EXPECT_FALSE(i.priv);
        // SQ_WAVE_HW_ID: WAVE_ID 3:0, SIMD_ID 5:4, CU_ID 11:8, SH_ID 12, SE_ID 14:13, VM_ID 23:20
        EXPECT_EQ(i.wave, i.data & 0xf);
        EXPECT_EQ(i.simd, i.data >> 4 & 3);
        EXPECT_EQ(i.cu, i.data >> 8 & 0xf);
        EXPECT_EQ(i.sh, i.data >> 12 & 1);
        EXPECT_EQ(i.se, i.data >> 13 & 3);
        EXPECT_EQ(i.vmid, i.data >> 20 & 0xf);
        places.insert({i.se, i.cu, i.simd, i.wave});
    }
    EXPECT_EQ(places.size(), kWaves) << "no two at the same place";
    EXPECT_EQ(*places.begin(), (std::array<unsigned, 4>{0, 0, 0, 0}));
    EXPECT_EQ(*places.rbegin(), (std::array<unsigned, 4>{1, 1, 3, 2})) << "2 engines, 2 compute units, 4 SIMDs, 3 waves each";
    bus.memory.put<uint32_t>(kData, 1);
    finish(ring);
    EXPECT_EQ(sq_interrupts().size(), kWaves);
}

TEST_F(SqInterrupts, EachBitOfTheDataArrives) {
    ASSERT_TRUE(program(0, "s_mov_b32 m0, s3\n s_nop 0\n s_sendmsg sendmsg(MSG_INTERRUPT)\n s_endpgm"));
    TestRing ring = save_ring(0);
    start(process_with(kPasid, kHandler), {&ring});
    for (unsigned n = 0; n < 32; ++n) {
        submit_grid(ring, 0, 1, 1u << n);
        finish(ring);
        ASSERT_EQ(sq_interrupts().size(), n + 1);
        EXPECT_EQ(sq_interrupts().back().data, n < 24 ? 1u << n : 0);
    }
}

/// The process that a VMID has now is the one that is told.
TEST_F(SqInterrupts, EachProcessHasItsVmidAndPasid) {
    ASSERT_TRUE(program(0, "s_mov_b32 m0, s3\n s_nop 0\n s_sendmsg sendmsg(MSG_INTERRUPT)\n s_endpgm"));
    TestRing first = save_ring(0), second = save_ring(1);
    run_list({process_with(kPasid, kHandler), map_queue(first, kMapQueue), process_with(kPasid + 1, 0),
              map_queue(second, kMapQueue)});
    go_on(1);
    submit_grid(second, 0, 1, 2);
    finish(second);
    submit_grid(first, 0, 1, 1);
    finish(first);
    const auto seen = sq_interrupts();
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0].data, 2u);
    EXPECT_EQ(seen[0].pasid, kPasid + 1);
    EXPECT_EQ(seen[0].vmid, kFirstKfdVmid + 1);
    EXPECT_EQ(seen[1].data, 1u);
    EXPECT_EQ(seen[1].pasid, kPasid);
    EXPECT_EQ(seen[1].vmid, kFirstKfdVmid);
}

struct Stop {
    const char* name;
    const char* text;
    unsigned trap_code;   ///< 0: not in a wave without a handler
    unsigned error_type;  ///< 0: nothing happens without a handler
};
std::ostream& operator<<(std::ostream& out, const Stop& stop) { return out << stop.name; }

constexpr Stop kStops[] = {
    {"Abort", "s_trap 2", kAbort, 0},
    {"Trap", "s_trap 3", kTrap, 0},
    {"Illegal", ".long 0xbfff0000", kIllegal, SqInterrupt::kIllegalInst},
    {"PageFault", "v_mov_b32 v4, 0\n v_mov_b32 v5, 0x7fff\n global_load_dword v3, v[4:5], off", kMemoryViolation,
     SqInterrupt::kMemviol},
    {"ScalarPageFault", "s_mov_b32 s5, 0x7fff\n s_mov_b32 s4, 0\n s_load_dword s6, s[4:5], 0x0", kMemoryViolation,
     SqInterrupt::kMemviol},
    {"Aperture", "v_mov_b32 v4, 0\n v_mov_b32 v5, 0x10001\n flat_store_dword v[4:5], v2", kAperture, SqInterrupt::kMemviol},
    {"Misaligned", "v_mov_b32 v4, 2\n global_atomic_add v4, v2, s[0:1] offset:64", kAperture, SqInterrupt::kMemviol},
    {"Fetch", "s_mov_b64 s[8:9], 0x1000\n s_setpc_b64 s[8:9]", kAperture, SqInterrupt::kMemviol},
};

struct StoppedWave : SqInterrupts, ::testing::WithParamInterface<Stop> {
    /// One wave, after another one that is in the first slot; it runs into the stop.
    void run(uint64_t handler) {
        program(0, "wait:\n s_branch wait");
        program(1, (std::string(GetParam().text) + "\n s_endpgm").c_str());
        rings = {save_ring(0), save_ring(5)};
        start(process_with(kPasid, handler), {&rings[0], &rings[1]});
        submit_grid(rings[0], 0, 6, 0);
        ASSERT_TRUE(run_until([&] { return live() == 6; }));
        submit_grid(rings[1], 1, 1, 0);
        go_on();
    }
    std::vector<TestRing> rings;
};

/// With the runtime's handler: kfd_set_dbg_ev_from_interrupt() gets the queue's doorbell and the exception.
TEST_P(StoppedWave, IsReportedByItsHandler) {
    ASSERT_TRUE(with_second_level());
    run(kHandler);
    const auto seen = sq_interrupts();
    ASSERT_EQ(seen.size(), 1u);
    expect_sender(seen[0]);
    EXPECT_EQ(seen[0].encoding, SqInterrupt::kInst);
    EXPECT_TRUE(seen[0].priv);
    EXPECT_EQ(seen[0].doorbell_id(), 5u);
    EXPECT_EQ(seen[0].trap_code(), GetParam().trap_code);
    EXPECT_EQ(live(), 7u) << "parked";
    EXPECT_EQ(count([&](unsigned cu, const gcn::Wave& wave) {
                  return wave.state == gcn::WaveState::Halted && cu / 2 == seen[0].se && cu % 2 == seen[0].cu &&
                         wave.slot % 4 == seen[0].simd && wave.slot / 4 == seen[0].wave;
              }),
              1u);
}

/// Without: the sequencer says so itself, and the driver logs it.
TEST_P(StoppedWave, IsReportedByTheSequencerWithoutAHandler) {
    run(0);
    const auto seen = sq_interrupts();
    if (GetParam().error_type == 0) {
        EXPECT_TRUE(seen.empty());
        EXPECT_TRUE(done(rings[1])) << "s_trap does nothing";
        return;
    }
    ASSERT_EQ(seen.size(), 1u);
    expect_sender(seen[0]);
    EXPECT_EQ(seen[0].encoding, SqInterrupt::kError);
    EXPECT_FALSE(seen[0].priv);
    EXPECT_EQ(seen[0].error_type(), GetParam().error_type);
    EXPECT_EQ(seen[0].data & 0xfffff, 0u);
    EXPECT_EQ(count([&](unsigned cu, const gcn::Wave& wave) {
                  return wave.state == gcn::WaveState::Halted && cu / 2 == seen[0].se && cu % 2 == seen[0].cu &&
                         wave.slot % 4 == seen[0].simd && wave.slot / 4 == seen[0].wave;
              }),
              1u);
}

INSTANTIATE_TEST_SUITE_P(Stops, StoppedWave, ::testing::ValuesIn(kStops),
                         [](const ::testing::TestParamInfo<Stop>& info) { return std::string(info.param.name); });

/// An error inside the handler has nobody else to tell it.
TEST_F(SqInterrupts, AnErrorInTheHandlerIsPrivileged) {
    ASSERT_TRUE(own_handler("s_nop 0\n .long 0xbfff0000"));
    ASSERT_TRUE(program(0, "s_trap 3\n s_endpgm"));
    TestRing ring = save_ring(0);
    start(process_with(kPasid, kOwnHandler), {&ring});
    submit_grid(ring, 0, 1, 0);
    go_on();
    const auto seen = sq_interrupts();
    ASSERT_EQ(seen.size(), 1u);
    expect_sender(seen[0]);
    EXPECT_EQ(seen[0].encoding, SqInterrupt::kError);
    EXPECT_TRUE(seen[0].priv);
    EXPECT_EQ(seen[0].error_type(), SqInterrupt::kIllegalInst);
}

}  // namespace
}  // namespace lyra
