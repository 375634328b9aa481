// SPDX-License-Identifier: MIT
// AQL packets with real kernels on real compute units: doorbell to completion signal.
#include <map>
#include <set>

#include "cp-firmware-model/mec/pm4.h"
#include "cp-firmware-model/testing/aql_queue.h"
#include "cp-firmware-model/testing/assembler.h"

namespace lyra {
namespace {

using testing::AqlQueueTest;
using testing::kDescriptor;
using testing::kInactive;
using testing::kKernarg;
using testing::kMailbox;
using testing::kQueue;

constexpr uint64_t kIn = 0x600000, kOut = 0x700000;

/// v[2:3] = \base + v1, bytes
constexpr const char* kMacros = R"(
.macro address base_lo, base_hi
  v_mov_b32 v3, \base_hi
  v_add_co_u32 v2, vcc, \base_lo, v1
  v_addc_co_u32 v3, vcc, 0, v3, vcc
.endm
)";

class AqlWaves : public AqlQueueTest {
protected:
    AqlWaves() : AqlQueueTest(testing::Waves::Real) {
        bus.memory.map(kKernarg, 0x1000);
        bus.memory.map(kIn, 0x10000);
        bus.memory.map(kOut, 0x10000);
        bus.memory.put<uint64_t>(kKernarg, kIn);
        bus.memory.put<uint64_t>(kKernarg + 8, kOut);
    }
    /// Put a kernel behind the descriptor. @return false: no assembler
    bool load_kernel(const std::string& text, uint32_t rsrc2, uint16_t properties) {
        const auto code = testing::assemble(kMacros + text + "\ns_endpgm\n");
        if (!code) return false;
        EXPECT_LE(code->size(), 0xe00u);
        bus.memory.write(0, kDescriptor + 0x100, code->data(), code->size());
        bus.memory.put<uint32_t>(kDescriptor + 48, 3 | 4 << 6 | 0xc0u << 12);  // 16 VGPRs, 48 SGPRs, denormals
        bus.memory.put<uint32_t>(kDescriptor + 52, rsrc2);
        bus.memory.put<uint16_t>(kDescriptor + 56, properties);
        return true;
    }
    uint32_t out(unsigned i) { return bus.memory.get<uint32_t>(kOut + 4 * i); }

    static constexpr uint32_t users(unsigned n) { return n << 1; }
    static constexpr uint32_t kGroupX = 1 << 7, kGroupY = 1 << 8, kGroupZ = 1 << 9;
};

#define ASSERT_LOADED(...) ASSERT_TRUE(load_kernel(__VA_ARGS__)) << "no LLVM assembler (llvm-mc-19)"

constexpr const char* kAdd = R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_lshl_b32 s3, s2, 7
  v_add_u32 v1, s3, v0
  v_lshlrev_b32 v1, 2, v1
  s_waitcnt lgkmcnt(0)
  address s4, s5
  global_load_dword v4, v[2:3], off
  s_waitcnt vmcnt(0)
  v_add_u32 v4, 0x3e8, v4
  address s6, s7
  global_store_dword v[2:3], v4, off
)";

TEST_F(AqlWaves, AddsToEveryElementAndToNoOther) {
    ASSERT_LOADED(kAdd, users(2) | kGroupX, 1 << 3);
    for (unsigned i = 0; i < 2048; ++i) bus.memory.put<uint32_t>(kIn + 4 * i, i * 3);
    set_signal(0, 1);
    bus.memory.put<uint64_t>(signal(0) + 0x10, kMailbox);
    bus.memory.put<uint32_t>(signal(0) + 0x18, 5);
    submit(kernel(1000, 128).completion(signal(0)));
    settle();
    EXPECT_EQ(signal_value(0), 0);
    EXPECT_EQ(bus.interrupts.size(), 1u);
    for (unsigned i = 0; i < 1000; ++i) ASSERT_EQ(out(i), i * 3 + 1000) << i;
    for (unsigned i = 1000; i < 1100; ++i) ASSERT_EQ(out(i), 0u) << i;
    EXPECT_EQ(dispatcher.waves_live_total(), 0u);
    EXPECT_EQ(env.stats.get(Stat::waves), 16u);
}

TEST_F(AqlWaves, IdsOfAThreeDimensionalGrid) {
    // out[x + 7 * (y + 5 * z)] = group ids << 16 | local ids, one nibble each
    ASSERT_LOADED(R"(
  s_load_dwordx2 s[6:7], s[0:1], 0x8
  v_mul_u32_u24 v4, 1, v0
  s_mul_i32 s8, s2, 4
  s_mul_i32 s9, s3, 2
  s_mul_i32 s10, s4, 3
  v_add_u32 v5, s8, v0
  v_add_u32 v6, s9, v1
  v_add_u32 v7, s10, v2
  v_mul_u32_u24 v7, 5, v7
  v_add_u32 v6, v6, v7
  v_mul_u32_u24 v6, 7, v6
  v_add_u32 v5, v5, v6
  v_lshlrev_b32 v8, 4, v1
  v_or_b32 v8, v8, v0
  v_lshlrev_b32 v9, 8, v2
  v_or_b32 v8, v8, v9
  s_lshl_b32 s8, s2, 16
  s_lshl_b32 s9, s3, 20
  s_or_b32 s8, s8, s9
  s_lshl_b32 s9, s4, 24
  s_or_b32 s8, s8, s9
  v_or_b32 v8, s8, v8
  v_lshlrev_b32 v1, 2, v5
  s_waitcnt lgkmcnt(0)
  address s6, s7
  global_store_dword v[2:3], v8, off
)",
                  users(2) | kGroupX | kGroupY | kGroupZ | 2 << 11, 1 << 3);
    Packet p = kernel(7, 4);
    p.put<uint16_t>(2, 3).put<uint16_t>(6, 2).put<uint16_t>(8, 3).put<uint32_t>(0x10, 5).put<uint32_t>(0x14, 4);
    submit(p);
    settle();
    for (unsigned z = 0; z < 4; ++z) {
        for (unsigned y = 0; y < 5; ++y) {
            for (unsigned x = 0; x < 7; ++x) {
                const uint32_t expected = (z / 3) << 24 | (y / 2) << 20 | (x / 4) << 16 | (z % 3) << 8 | (y % 2) << 4 | x % 4;
                ASSERT_EQ(out(x + 7 * (y + 5 * z)), expected) << x << ' ' << y << ' ' << z;
            }
        }
    }
    EXPECT_EQ(out(7 * 5 * 4), 0u);
}

TEST_F(AqlWaves, APacketWithTheBarrierBitSeesEverythingBefore) {
    constexpr const char* kCount = R"(
  s_load_dwordx2 s[6:7], s[0:1], 0x8
  v_mov_b32 v1, 0
  v_mov_b32 v4, 1
  s_waitcnt lgkmcnt(0)
  address s6, s7
  global_atomic_add v5, v[2:3], v4, off glc
  s_waitcnt vmcnt(0)
  s_sleep 3
  global_atomic_add v[2:3], v4, off offset:4
)";
    ASSERT_LOADED(kCount, users(2) | kGroupX, 1 << 3);
    for (unsigned i = 0; i < 4; ++i) submit(kernel(64 * 50));
    set_signal(0, 1);
    submit(barrier(3).barrier_bit().completion(signal(0)));
    uint32_t seen = 0;
    for (unsigned i = 0; i < 10000 && signal_value(0) != 0; ++i) {
        step();
        if (signal_value(0) == 0) seen = out(1);
        dispatcher.run(200);
    }
    EXPECT_EQ(seen, 4 * 64 * 50u);
    EXPECT_EQ(out(0), 4 * 64 * 50u);
}

TEST_F(AqlWaves, AGroupThatSpinsOnALaterOneGetsThere) {
    // Group 0 waits for the flag that the last group sets; far more groups than fit at once.
    ASSERT_LOADED(R"(
  s_load_dwordx2 s[6:7], s[0:1], 0x8
  v_mov_b32 v1, 0
  v_mov_b32 v4, 1
  s_waitcnt lgkmcnt(0)
  address s6, s7
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 wait
  global_atomic_add v[2:3], v4, off
  s_endpgm
wait:
  global_load_dword v5, v[2:3], off glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v5
  s_cmp_lt_u32 s8, 999
  s_cbranch_scc1 wait
  v_mov_b32 v5, 42
  global_store_dword v[2:3], v5, off offset:4
)",
                  users(2) | kGroupX, 1 << 3);
    submit(kernel(1000, 1));
    settle();
    EXPECT_EQ(out(0), 999u);
    EXPECT_EQ(out(1), 42u);
    EXPECT_TRUE(dispatcher.complete(1));
}

TEST_F(AqlWaves, EveryWaveHasScratchOfItsOwn) {
    // out[group] = wave's scratch offset; s[2:3] flat_scratch_init, s4 group, s5 offset. The waves live long enough to overlap.
    ASSERT_LOADED(R"(
  s_load_dwordx2 s[6:7], s[0:1], 0x8
  s_sleep 100
  s_lshl_b32 s8, s4, 2
  v_mov_b32 v1, s8
  v_mov_b32 v4, s5
  s_waitcnt lgkmcnt(0)
  address s6, s7
  global_store_dword v[2:3], v4, off
  v_mov_b32 v4, s2
  global_store_dword v[2:3], v4, off offset:2048
)",
                  users(4) | kGroupX | 1, 1 << 3 | 1 << 5);
    bus.memory.put<uint32_t>(kQueue + 0x8c, 32 | 2u << 12);
    bus.memory.put<uint64_t>(kQueue + 0xa0, 0x87654321);
    bus.memory.put<uint32_t>(kQueue + 0xb0, 32);
    submit(kernel(64 * 32).put<uint32_t>(0x18, 32));
    settle();
    std::set<uint32_t> offsets;
    for (unsigned i = 0; i < 32; ++i) {
        offsets.insert(out(i));
        EXPECT_EQ(out(i) % 2048, 0u);
        EXPECT_LT(out(i), 32u * 2048);
        EXPECT_EQ(out(512 + i), 0x87654321u);
    }
    EXPECT_EQ(offsets.size(), 32u);
}

TEST_F(AqlWaves, AMessageReachesTheHost) {
    ASSERT_LOADED(R"(
  s_mov_b32 m0, 0x00abc123
  s_nop 0
  s_sendmsg sendmsg(MSG_INTERRUPT)
)",
                  users(2), 1 << 3);
    submit(kernel());
    settle();
    ASSERT_EQ(bus.interrupts.size(), 1u);
    EXPECT_EQ(bus.interrupts[0].source, 239);
    EXPECT_EQ(bus.interrupts[0].vmid, 9);
    EXPECT_EQ(bus.interrupts[0].pasid, 0x8003);
    EXPECT_EQ(bus.interrupts[0].data[0] & 0xfff, 0x123u);
    EXPECT_EQ(bus.interrupts[0].data[0] >> 28, 0xcu);
    EXPECT_EQ(bus.interrupts[0].data[1], 0xabu);
    EXPECT_TRUE(dispatcher.complete(1));
}

TEST_F(AqlWaves, AnIllegalInstructionHaltsTheWaveAndTellsTheHost) {
    ASSERT_LOADED(".long 0xbf7f0000", users(2), 1 << 3);
    set_signal(0, 1);
    submit(kernel().completion(signal(0)));
    settle();
    EXPECT_EQ(signal_value(0), 1);
    EXPECT_TRUE(dispatcher.only_halted_waves(hqd.id()));
    ASSERT_EQ(bus.interrupts.size(), 1u);
    EXPECT_EQ(bits(bus.interrupts[0].data[0], 26, 2), 2u);
    EXPECT_EQ(bits(bus.interrupts[0].data[1], 4, 4), 1u);
    dispatcher.kill_queue(hqd.id());
    EXPECT_EQ(dispatcher.waves_live_total(), 0u);
}

TEST_F(AqlWaves, LdsAndBarriersWithinAGroup) {
    // out[i] = in[255 - i] by way of LDS, four waves per group
    ASSERT_LOADED(R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_mov_b32 m0, -1
  v_lshlrev_b32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  address s4, s5
  global_load_dword v4, v[2:3], off
  s_waitcnt vmcnt(0)
  ds_write_b32 v1, v4
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_sub_u32 v5, 0x3fc, v1
  ds_read_b32 v4, v5
  s_waitcnt lgkmcnt(0)
  address s6, s7
  global_store_dword v[2:3], v4, off
)",
                  users(2) | kGroupX, 1 << 3);
    for (unsigned i = 0; i < 256; ++i) bus.memory.put<uint32_t>(kIn + 4 * i, 7 * i + 1);
    submit(kernel(256, 256).put<uint32_t>(0x1c, 1024));
    settle();
    for (unsigned i = 0; i < 256; ++i) ASSERT_EQ(out(i), 7 * (255 - i) + 1) << i;
}

TEST_F(AqlWaves, AKernelThatIsOverwrittenBetweenDispatchesIsReadAgain) {
    constexpr const char* kStore = R"(
  s_load_dwordx2 s[6:7], s[0:1], 0x8
  v_mov_b32 v1, 0
  v_mov_b32 v4, VALUE
  s_waitcnt lgkmcnt(0)
  address s6, s7
  global_store_dword v[2:3], v4, off
)";
    for (const char* value : {"1", "2", "3"}) {
        std::string text = kStore;
        ASSERT_LOADED(text.replace(text.find("VALUE"), 5, value), users(2), 1 << 3);
        submit(kernel());
        settle();
        EXPECT_EQ(out(0), static_cast<uint32_t>(std::stoi(value)));
    }
}

TEST_F(AqlWaves, APm4BufferBetweenKernels) {
    ASSERT_LOADED(kAdd, users(2) | kGroupX, 1 << 3);
    Pm4Processor pm4(env, bus, dispatcher);
    AqlProcessor both(env, bus, dispatcher, pm4);
    both.load(hqd);
    // WRITE_DATA to memory: in[0] = 77
    const uint32_t words[] = {0xc0033700, 5u << 8 | 1u << 20, lo32(kIn), 0, 77};
    bus.memory.write(9, kIn + 0x8000, words, sizeof words);
    write_packet(0, ib(kIn + 0x8000, 5).barrier_bit());
    write_packet(1, kernel().barrier_bit());
    both.doorbell(hqd, 1);
    for (unsigned i = 0; i < 100; ++i) {
        both.step(hqd);
        dispatcher.run(1000);
    }
    EXPECT_EQ(out(0), 1077u);
    EXPECT_EQ(read_index(), 2u);
}

}  // namespace
}  // namespace lyra
