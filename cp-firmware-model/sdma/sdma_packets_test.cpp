// SPDX-License-Identifier: MIT
// Tests of every SDMA packet on the kernel ring: effect, position, counters.
#include <gtest/gtest.h>

#include "cp-firmware-model/sdma/sdma_rig.h"

namespace lyra::sdma_test {
namespace {

TEST(SdmaPacketTable, HeadersWithoutARow) {
    EXPECT_EQ(sdma::find_packet(3), nullptr);
    EXPECT_EQ(sdma::find_packet(0x100), nullptr);
    EXPECT_EQ(sdma::find_packet(0xff), nullptr);
}

TEST(SdmaPacket, NopAndZeroDwords) {
    Rig rig;
    EXPECT_EQ(rig.submit(Dwords{0, 0, 3u << 16, ~0u, ~0u, ~0u} + fence(kDataVa, 1)), RunState::Idle);
    EXPECT_EQ(rig.data32(0), 1u);
    EXPECT_EQ(rig.env.stats.get(Stat::sdma_packets), 4u);
}

TEST(SdmaPacket, CopyLinearAcrossPages) {
    Rig rig;
    rig.fill(0x123, 20000, 3);
    EXPECT_EQ(rig.submit(copy_linear(kDataVa + 0x123, kDataVa + 0x8001, 20000)), RunState::Idle);
    EXPECT_EQ(rig.bytes(0x123, 20000), rig.bytes(0x8001, 20000));
    EXPECT_EQ(rig.env.stats.get(Stat::sdma_bytes), 20000u);
}

/// The count has 22 bits, and 30 of later chips; what is above them is ignored.
TEST(SdmaPacket, SizesOfLinearCopies) {
    constexpr uint32_t kBytes = (5u << 20) + 12;
    constexpr uint64_t kFrom = 0x10000000, kTo = 0x20000000;
    for (const auto& [chip, copied] : {std::pair(Chip::gfx900, (1u << 20) + 12), std::pair(Chip::gfx906, (1u << 20) + 12),
                                       std::pair(Chip::gfx90a, kBytes), std::pair(Chip::gfx942, kBytes)}) {
        Rig rig(10, chip);
        rig.bus.memory.map(0, kFrom, kBytes);
        rig.bus.memory.map(0, kTo, kBytes);
        for (uint32_t at = 0; at < kBytes; at += kPageBytes) rig.bus.memory.put<uint32_t>(0, kFrom + at, at + 1);
        Dwords packet = copy_linear(kFrom, kTo, kBytes);
        packet[1] |= 3u << 30;
        EXPECT_EQ(rig.submit(packet), RunState::Idle);
        EXPECT_EQ(rig.env.stats.get(Stat::sdma_bytes), copied) << facts_of(chip).name;
        for (uint32_t at = 0; at < kBytes; at += kPageBytes)
            ASSERT_EQ(rig.bus.memory.get<uint32_t>(0, kTo + at), at < copied ? at + 1 : 0) << facts_of(chip).name;
    }
}

TEST(SdmaPacket, CopyOneByte) {
    Rig rig;
    rig.fill(0, 1, 0x77);
    rig.submit(copy_linear(kDataVa, kDataVa + 5, 1));
    EXPECT_EQ(rig.data32(4), 0x7700u);
}

TEST(SdmaPacket, OverlappingCopiesKeepTheSource) {
    for (int64_t shift : {int64_t{1}, int64_t{100}, int64_t{4096}, int64_t{5000}, int64_t{-1}, int64_t{-100}, int64_t{-5000}}) {
        Rig rig;
        rig.fill(0x8000, 30000, 9);
        const auto expected = rig.bytes(0x8000, 30000);
        rig.submit(copy_linear(kDataVa + 0x8000, kDataVa + 0x8000 + shift, 30000));
        EXPECT_EQ(rig.bytes(0x8000 + shift, 30000), expected) << shift;
    }
}

TEST(SdmaPacket, CopyBetweenAliasesOfOnePage) {
    Rig rig;
    rig.fill(0, 4096, 1);
    rig.bus.memory.alias(0, 0x900000, kDataVa);
    const auto expected = rig.bytes(0, 4000);
    rig.submit(copy_linear(kDataVa, 0x900000 + 50, 4000));
    EXPECT_EQ(rig.bytes(50, 4000), expected);
}

TEST(SdmaPacket, CopyBroadcast) {
    Rig rig;
    rig.fill(0, 9000, 4);
    rig.submit({1 | 1u << 27, 9000 - 1, 0, lo32(kDataVa), 0, lo32(kDataVa + 0x4010), 0, lo32(kDataVa + 0x8020), 0});
    EXPECT_EQ(rig.bytes(0, 9000), rig.bytes(0x4010, 9000));
    EXPECT_EQ(rig.bytes(0, 9000), rig.bytes(0x8020, 9000));
}

TEST(SdmaPacket, CopyRectangle) {
    Rig rig;
    rig.fill(0, 0x4000, 11);
    // 5 x 3 x 2 dwords from (2, 1, 1) of a 16 x 8 source to (1, 0, 0) of a 10 x 4 destination.
    rig.submit({1 | 4 << 8 | 2u << 29, lo32(kDataVa), 0, 2 | 1 << 16, 1 | 15u << 13, 16 * 8 - 1, lo32(kDataVa + 0x8000), 0, 1,
                9u << 13, 10 * 4 - 1, 4 | 2 << 16, 1});
    for (uint64_t z = 0; z < 2; ++z) {
        for (uint64_t y = 0; y < 3; ++y) {
            const uint64_t from = 4 * (2 + (1 + y) * 16 + (1 + z) * 128), to = 0x8000 + 4 * (1 + y * 10 + z * 40);
            EXPECT_EQ(rig.bytes(from, 20), rig.bytes(to, 20)) << y << z;
            EXPECT_EQ(rig.data32(to + 20), 0u);
            EXPECT_EQ(rig.data32(to - 4), 0u);
        }
    }
    rig.submit({1 | 4 << 8 | 7u << 29, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(rig.count(Fault::PacketField), 1u);
}

TEST(SdmaPacket, WriteLinearAcrossPagesAndRingEnd) {
    Rig rig(11);
    Dwords data;
    for (uint32_t i = 0; i < 1500; ++i) data.push_back(i * 0x01010101u);
    for (int round = 0; round < 3; ++round) {
        rig.submit(write_linear(kDataVa + 0xffc, data));
        for (uint32_t i = 0; i < data.size(); ++i) ASSERT_EQ(rig.data32(0xffc + 4 * i), data[i]);
        rig.bus.memory.put<uint32_t>(0, kDataVa + 0xffc, 0);
    }
    EXPECT_EQ(rig.rptr(), 3 * 4 * 1504u);
}

TEST(SdmaPacket, ConstFillDwordAndByte) {
    Rig rig;
    rig.submit({11 | 2u << 30, lo32(kDataVa + 0xff8), 0, 0x11223344, 5000 - 1});
    EXPECT_EQ(rig.data32(0xff8), 0x11223344u);
    EXPECT_EQ(rig.data32(0xff8 + 4996), 0x11223344u);
    EXPECT_EQ(rig.data32(0xff8 + 5000), 0u);
    rig.submit({11, lo32(kDataVa + 0x3001), 0, 0x11223344, 6 - 1});
    EXPECT_EQ(rig.data32(0x3000), 0x44444400u);
    EXPECT_EQ(rig.data32(0x3004), 0x00444444u);
}

TEST(SdmaPacket, ConstFillKeepsThePhaseFromItsStart) {
    Rig rig;
    rig.submit({11 | 2u << 30, lo32(kDataVa + 0xffd), 0, 0x44332211, 16 - 1});
    const std::vector<uint8_t> expected = {0x11, 0x22, 0x33, 0x44, 0x11, 0x22, 0x33, 0x44,
                                           0x11, 0x22, 0x33, 0x44, 0x11, 0x22, 0x33, 0x44};
    EXPECT_EQ(rig.bytes(0xffd, 16), expected);
}

TEST(SdmaPacket, GeneratesPageTableEntries) {
    Rig rig;
    rig.submit({12, lo32(kDataVa), 0, 0x77, 0x1, 0x80000000, 0, 0x40000000, 0, 1200 - 1});
    for (uint64_t i = 0; i < 1200; ++i) {
        ASSERT_EQ(rig.bus.memory.get<uint64_t>(0, kDataVa + 8 * i), ((0x80000000 + i * 0x40000000) | 0x100000077)) << i;
    }
    EXPECT_EQ(rig.bus.memory.get<uint64_t>(0, kDataVa + 8 * 1200), 0u);
}

TEST(SdmaPacket, FenceAndTrap) {
    Rig rig;
    rig.submit(fence(kDataVa + 4, 0xabcd) + trap(0xf1234567));
    EXPECT_EQ(rig.data32(4), 0xabcdu);
    ASSERT_EQ(rig.bus.interrupts.size(), 1u);
    const Interrupt& iv = rig.bus.interrupts[0];
    EXPECT_EQ(iv.client, 8);
    EXPECT_EQ(iv.source, 224);
    EXPECT_EQ(iv.ring_id, 0);
    EXPECT_EQ(iv.vmid, 0);
    EXPECT_EQ(iv.pasid, 0);
    EXPECT_TRUE(iv.mmhub);
    EXPECT_EQ(iv.data[0], 0x1234567u);
}

TEST(SdmaPacket, TrapNeedsItsEnable) {
    Rig rig;
    rig.engine.write_register(reg::CNTL, 2);
    rig.submit(trap(1));
    EXPECT_TRUE(rig.bus.interrupts.empty());
    EXPECT_EQ(rig.rptr(), rig.wptr);
}

TEST(SdmaPacket, PollMemoryBlocksUntilTheValueIsThere) {
    Rig rig;
    EXPECT_EQ(rig.submit(poll_memory(kDataVa, 42) + fence(kDataVa + 8, 1)), RunState::Polling);
    EXPECT_EQ(rig.settle(), RunState::Polling);
    EXPECT_EQ(rig.rptr(), 0u);
    rig.bus.memory.put<uint32_t>(0, kDataVa, 42);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.data32(8), 1u);
}

TEST(SdmaPacket, PollConditions) {
    const uint32_t cases[][3] = {
        // function, value that fails, value that passes; reference 10
        {1, 10, 9}, {2, 11, 10}, {3, 9, 10}, {4, 10, 11}, {5, 9, 10}, {6, 10, 11},
    };
    for (const auto& c : cases) {
        Rig rig;
        rig.bus.memory.put<uint32_t>(0, kDataVa, c[1]);
        EXPECT_EQ(rig.submit(poll_memory(kDataVa, 10, c[0])), RunState::Polling) << c[0];
        rig.bus.memory.put<uint32_t>(0, kDataVa, c[2]);
        EXPECT_EQ(rig.settle(), RunState::Idle) << c[0];
    }
    Rig rig;
    EXPECT_EQ(rig.submit(poll_memory(kDataVa, 10, 0)), RunState::Idle);
    EXPECT_EQ(rig.submit(poll_memory(kDataVa, 10, 7)), RunState::Idle);
    EXPECT_EQ(rig.count(Fault::PacketField), 1u);
}

TEST(SdmaPacket, PollGivesUpAfterItsTries) {
    Rig rig;
    EXPECT_EQ(rig.submit(poll_memory(kDataVa, 1, 3, 3u << 16 | 10) + fence(kDataVa + 8, 1)), RunState::Polling);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(rig.settle(), RunState::Polling);  // time stands still
    for (int i = 0; i < 10; ++i) {
        rig.host.now += 1000;
        rig.settle();
    }
    EXPECT_EQ(rig.count(Fault::SdmaPollTimeout), 1u);
    EXPECT_EQ(rig.data32(8), 1u);
    ASSERT_EQ(rig.bus.interrupts.size(), 1u);
    EXPECT_EQ(rig.bus.interrupts[0].source, 246);
}

TEST(SdmaPacket, PollRegister) {
    Rig rig;
    const uint32_t reg = 0x2d00;
    EXPECT_EQ(rig.submit({8 | 3u << 28, reg << 2, 0, 0x80, 0x80, 0x0fff000a}), RunState::Polling);
    rig.bus.registers[reg] = 0xff;
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.rptr(), rig.wptr);
}

TEST(SdmaPacket, HdpFlushWritesTheRequestOnceAndWaits) {
    Rig rig;
    const uint32_t done = 0xe27, request = 0xe26, bits = 1u << 10;
    EXPECT_EQ(rig.submit({8 | 1u << 26 | 3u << 28, done << 2, request << 2, bits, bits, 0x0fff000a}), RunState::Polling);
    EXPECT_EQ(rig.bus.registers[request], bits);
    EXPECT_EQ(rig.settle(), RunState::Polling);
    EXPECT_EQ(rig.bus.register_writes, 1u);
    rig.bus.registers[done] = 0xffffffff;
    EXPECT_EQ(rig.settle(), RunState::Idle);
}

TEST(SdmaPacket, RegisterWriteWithByteEnables) {
    Rig rig;
    rig.bus.registers[0x2000] = 0x11111111;
    rig.submit({14 | 0xfu << 28, 0x2000, 0x89abcdef});
    EXPECT_EQ(rig.bus.registers[0x2000], 0x89abcdefu);
    rig.submit({14 | 0x5u << 28, 0x2000, 0});
    EXPECT_EQ(rig.bus.registers[0x2000], 0x8900cd00u);
    rig.submit({14, 0x2000, 0x55});
    EXPECT_EQ(rig.bus.registers[0x2000], 0x8900cd00u);
}

TEST(SdmaPacket, RegisterToMemory) {
    Rig rig;
    rig.bus.registers[0x2001] = 0x600df00d;
    rig.submit({8 | 1 << 8, 0x2001 << 2, lo32(kDataVa), 0});
    EXPECT_EQ(rig.data32(0), 0x600df00du);
}

TEST(SdmaPacket, CondExeAndPreExe) {
    Rig rig;
    const Dwords inner = fence(kDataVa + 0x10, 1);
    rig.submit(Dwords{9, lo32(kDataVa), 0, 1, 4} + inner + fence(kDataVa + 0x14, 2));
    EXPECT_EQ(rig.data32(0x10), 0u);
    EXPECT_EQ(rig.data32(0x14), 2u);
    rig.bus.memory.put<uint32_t>(0, kDataVa, 1);
    rig.submit(Dwords{9, lo32(kDataVa), 0, 1, 4} + inner);
    EXPECT_EQ(rig.data32(0x10), 1u);
    rig.submit(Dwords{15 | 2 << 16, 4} + fence(kDataVa + 0x18, 3) + Dwords{15 | 1 << 16, 4} + fence(kDataVa + 0x1c, 4));
    EXPECT_EQ(rig.data32(0x18), 0u);
    EXPECT_EQ(rig.data32(0x1c), 4u);
}

TEST(SdmaPacket, SkippedDwordsMayComeLater) {
    Rig rig;
    rig.submit({9, lo32(kDataVa), 0, 1, 6, 0xffffffff});
    EXPECT_EQ(rig.settle(), RunState::Idle);
    rig.submit(Dwords(5, 0xffffffff) + fence(kDataVa + 4, 9));
    EXPECT_EQ(rig.data32(4), 9u);
    EXPECT_EQ(rig.count(Fault::SdmaOpcode), 0u);
}

TEST(SdmaPacket, AtomicDecrementOfASignal) {
    Rig rig;
    rig.bus.memory.put<uint64_t>(0, kDataVa, 1);
    rig.submit(atomic(47, kDataVa, ~uint64_t{0}));
    EXPECT_EQ(rig.bus.memory.get<uint64_t>(0, kDataVa), 0u);
}

TEST(SdmaPacket, AtomicOperations) {
    const struct {
        uint32_t op;
        uint64_t old, src, result;
    } cases[] = {
        {0x07, 5, 9, 9},
        {0x0f, 0xffffffff, 2, 1},
        {0x10, 1, 2, 0xffffffff},
        {0x11, 1, 0xffffffff, 0xffffffff},
        {0x12, 1, 0xffffffff, 1},
        {0x13, 1, 0xffffffff, 1},
        {0x14, 1, 0xffffffff, 0xffffffff},
        {0x15, 12, 10, 8},
        {0x16, 12, 10, 14},
        {0x17, 12, 10, 6},
        {0x18, 3, 4, 4},
        {0x18, 4, 4, 0},
        {0x19, 3, 4, 2},
        {0x19, 0, 4, 4},
        {0x19, 9, 4, 4},
        {0x4f, 5, 6, 11},
        {0x2f, 0xffffffff, 1, 0x100000000},
        {0x6f, 1, 1, 2},
        {0x31, 1, ~uint64_t{0}, ~uint64_t{0}},
    };
    for (const auto& c : cases) {
        Rig rig;
        rig.bus.memory.put<uint64_t>(0, kDataVa, c.old);
        rig.submit(atomic(c.op, kDataVa, c.src));
        EXPECT_EQ(rig.bus.memory.get<uint64_t>(0, kDataVa), c.result) << std::hex << c.op;
    }
}

TEST(SdmaPacket, CompareAndSwapOnceOrUntilItHolds) {
    Rig rig;
    rig.bus.memory.put<uint32_t>(0, kDataVa, 7);
    EXPECT_EQ(rig.submit(atomic(8, kDataVa, 1, 2)), RunState::Idle);
    EXPECT_EQ(rig.data32(0), 7u);
    EXPECT_EQ(rig.submit(atomic(8, kDataVa, 1, 2, true)), RunState::Polling);
    rig.bus.memory.put<uint32_t>(0, kDataVa, 2);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.data32(0), 1u);
}

TEST(SdmaPacket, Timestamps) {
    Rig rig;
    rig.submit({13 | 2 << 8, lo32(kDataVa), 0});
    EXPECT_EQ(rig.bus.memory.get<uint64_t>(0, kDataVa), rig.host.now / 10);
    rig.submit({13, 1000, 0});
    rig.host.now += 50;
    rig.submit({13 | 1 << 8, lo32(kDataVa + 8), 0});
    EXPECT_EQ(rig.bus.memory.get<uint64_t>(0, kDataVa + 8), 1005u);
}

TEST(SdmaPacket, IndirectBufferRunsInItsVmid) {
    Rig rig;
    rig.put_ib(kUserVmid, write_linear(kDataVa, {0x77}) + Dwords{2u << 16, 0, 0});
    EXPECT_EQ(rig.submit(indirect(kIbVa, 8, kUserVmid) + fence(kDataVa, 1)), RunState::Idle);
    EXPECT_EQ(rig.bus.memory.get<uint32_t>(kUserVmid, kDataVa), 0x77u);
    EXPECT_EQ(rig.data32(0), 1u);
    EXPECT_EQ(rig.rptr(), rig.wptr);
}

TEST(SdmaPacket, IndirectBufferNeedsItsEnable) {
    Rig rig;
    rig.put_ib(0, fence(kDataVa, 5));
    rig.set(0, ring_reg::IB_CNTL, 0);
    EXPECT_EQ(rig.submit(indirect(kIbVa, 4)), RunState::Idle);
    EXPECT_EQ(rig.data32(0), 0u);
    rig.set(0, ring_reg::IB_CNTL, 1);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.data32(0), 5u);
}

TEST(SdmaPacket, ConditionDoesNotReachBeyondItsBuffer) {
    Rig rig;
    rig.put_ib(0, {9, lo32(kDataVa), 0, 1, 0x3fff});
    rig.submit(indirect(kIbVa, 5) + fence(kDataVa + 4, 1));
    EXPECT_EQ(rig.data32(4), 1u);
}

}  // namespace
}  // namespace lyra::sdma_test
