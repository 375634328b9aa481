// SPDX-License-Identifier: MIT
// Tests of bad SDMA packets: unknown, wild addresses, cyclic buffers, no privilege, packets that change their own engine.
#include <gtest/gtest.h>

#include <string_view>

#include "cp-firmware-model/sdma/sdma_rig.h"

namespace lyra::sdma_test {
namespace {

TEST(SdmaBadPacket, BadAtomics) {
    Rig rig;
    rig.bus.memory.map_register_page(0, 0xa00000);
    rig.submit(atomic(0x0f, kDataVa + 2, 1));
    EXPECT_EQ(rig.count(Fault::PacketField), 1u);
    rig.submit(atomic(0x2f, kDataVa + 4, 1));
    EXPECT_EQ(rig.count(Fault::PacketField), 2u);
    rig.submit(atomic(0x02, kDataVa, 1));
    EXPECT_EQ(rig.count(Fault::TodoPacket), 1u);
    rig.submit(atomic(0x0f, 0xa00000, 1));
    EXPECT_EQ(rig.count(Fault::NotPlainMemory), 1u);
    rig.submit(atomic(0x0f, kUnmappedVa, 1));
    EXPECT_EQ(rig.count(Fault::SdmaVmHole), 1u);
    rig.bus.memory.protect(0, kDataVa);
    rig.submit(atomic(0x0f, kDataVa, 1));
    EXPECT_EQ(rig.count(Fault::SdmaVmHole), 2u);
    EXPECT_EQ(rig.bus.memory.vm_faults, 2u);
    EXPECT_EQ(rig.data32(0), 0u);
    EXPECT_EQ(rig.rptr(), rig.wptr);
}

TEST(SdmaBadPacket, BadIndirectBuffers) {
    {
        Rig rig;  // calls itself
        rig.put_ib(0, indirect(kIbVa, 6));
        EXPECT_EQ(rig.submit(indirect(kIbVa, 6)), RunState::Idle);
        EXPECT_EQ(rig.count(Fault::IndirectDepth), 1u);
    }
    {
        Rig rig;  // outside memory
        EXPECT_EQ(rig.submit(indirect(kUnmappedVa, 0xfffff) + fence(kDataVa, 1)), RunState::Idle);
        EXPECT_EQ(rig.count(Fault::RingUnreadable), 1u);
        EXPECT_EQ(rig.data32(0), 0u);
    }
    {
        Rig rig;  // ends inside a packet
        rig.put_ib(0, write_linear(kDataVa, {1, 2}));
        EXPECT_EQ(rig.submit(indirect(kIbVa, 5)), RunState::Idle);
        EXPECT_EQ(rig.count(Fault::ShortPacket), 1u);
        EXPECT_EQ(rig.data32(0), 0u);
    }
    {
        Rig rig;  // empty
        EXPECT_EQ(rig.submit(indirect(kIbVa, 0) + fence(kDataVa, 1)), RunState::Idle);
        EXPECT_EQ(rig.data32(0), 1u);
    }
    {
        Rig rig;  // the largest, all zero dwords where memory is
        EXPECT_EQ(rig.submit(indirect(kIbVa, 0xfffff)), RunState::Idle);
        EXPECT_EQ(rig.count(Fault::RingUnreadable), 1u);
    }
}

TEST(SdmaBadPacket, UnprivilegedBufferCannotTouchRegisters) {
    Rig rig;
    rig.put_ib(kUserVmid, Dwords{14 | 0xfu << 28, 0x2000, 1} + Dwords{8 | 3u << 28, 0x2000 << 2, 0, 1, 1, 0x0fff0001} +
                              Dwords{8 | 1 << 8, 0x2000 << 2, lo32(kDataVa), 0} + fence(kDataVa, 6));
    rig.bus.register_reads = 0;
    EXPECT_EQ(rig.submit(indirect(kIbVa, 17, kUserVmid)), RunState::Idle);
    EXPECT_EQ(rig.count(Fault::SdmaPrivilege), 3u);
    EXPECT_EQ(rig.bus.register_writes, 0u);
    EXPECT_EQ(rig.bus.register_reads, 0u);
    EXPECT_EQ(rig.bus.memory.get<uint32_t>(kUserVmid, kDataVa), 6u);
    ASSERT_EQ(rig.bus.interrupts.size(), 1u);
    EXPECT_EQ(rig.bus.interrupts[0].source, 247);
    EXPECT_EQ(rig.bus.interrupts[0].pasid, 0x100 + kUserVmid);
}

TEST(SdmaBadPacket, WildAddressesAbandonThePacketOnly) {
    const uint64_t wild[] = {kUnmappedVa, 0, 0x8000000000000000, 0xffffffffffffff00, 0x0000800000000000};
    for (const uint64_t va : wild) {
        const Dwords packets[] = {
            copy_linear(va, kDataVa, 100),
            copy_linear(kDataVa, va, 0x400000),
            write_linear(va, {1, 2, 3}),
            fence(va, 1),
            {1 | 1u << 27, 99, 0, lo32(kDataVa), 0, lo32(kDataVa + 0x1000), 0, lo32(va), hi32(va)},
            {11 | 2u << 30, lo32(va), hi32(va), 1, 0x3fffff},
            {12, lo32(va), hi32(va), 1, 0, 0, 0, 1, 0, 0x7ffff},
            {13 | 2 << 8, lo32(va), hi32(va)},
            poll_memory(va, 1),
            {9, lo32(va), hi32(va), 1, 4},
            atomic(47, va & ~7ull, 1),
            {1 | 4 << 8, lo32(va), hi32(va), 0x3fff3fff, ~0u, ~0u, lo32(kDataVa), 0, 0, 0, 0, 0x3fff3fff, 0x7ff},
            {8 | 1 << 8, 0x2000 << 2, lo32(va), hi32(va)},
        };
        for (const Dwords& packet : packets) {
            Rig rig;
            ASSERT_EQ(rig.submit(packet + fence(kDataVa + 0xf000, 0x600d)), RunState::Idle)
                << std::hex << va << ' ' << packet[0];
            EXPECT_EQ(rig.count(Fault::SdmaVmHole), 1u) << std::hex << va << ' ' << packet[0];
            EXPECT_EQ(rig.bus.memory.vm_faults, 1u);
            EXPECT_EQ(rig.data32(0xf000), 0x600du);
        }
    }
}

TEST(SdmaBadPacket, CopyStopsAtTheFirstBadPage) {
    Rig rig;
    rig.fill(0, 0x3000, 5);
    rig.bus.memory.unmap(0, kDataVa + 0x12000);
    rig.submit(copy_linear(kDataVa, kDataVa + 0x10000, 0x3000) + fence(kDataVa + 0x20000, 1));
    EXPECT_EQ(rig.bytes(0, 0x2000), rig.bytes(0x10000, 0x2000));
    EXPECT_EQ(rig.bus.memory.vm_faults, 1u);
    EXPECT_EQ(rig.data32(0x20000), 1u);
}

TEST(SdmaBadPacket, RegisterPagesAreReachedThroughThePort) {
    Rig rig;
    rig.bus.memory.map_register_page(0, 0xa00000);
    rig.fill(0, 64, 1);
    EXPECT_EQ(rig.submit(copy_linear(0xa00000, kDataVa, 64) + copy_linear(kDataVa, 0xa00000, 64)), RunState::Idle);
    EXPECT_EQ(rig.bytes(0, 64), std::vector<uint8_t>(64, 0));
    EXPECT_EQ(rig.count(Fault::SdmaVmHole), 0u);
}

TEST(SdmaBadPacket, PacketThatResetsItsOwnEngine) {
    Rig rig;
    rig.submit(Dwords{14 | 0xfu << 28, FakeBus::kResetRegister, 1} + fence(kDataVa, 1));
    EXPECT_EQ(rig.data32(0), 0u);
    EXPECT_EQ(rig.rptr(), 0u);
    EXPECT_EQ(rig.settle(), RunState::Idle);
}

TEST(SdmaBadPacket, PacketThatRewindsItsOwnRingIsBounded) {
    Rig rig;
    rig.put({14 | 0xfu << 28, 0x1260 + sdma::kRingBase + ring_reg::RB_RPTR, 0});
    rig.ring_doorbell();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(rig.engine.run(), RunState::Busy);
    EXPECT_EQ(rig.rptr(), 0u);
}

TEST(SdmaBadPacket, CopyIntoARegisterPageThatResetsTheEngine) {
    static SdmaEngine* victim = nullptr;
    static unsigned resets = 0;
    Rig rig;
    victim = &rig.engine;
    rig.bus.memory.map_register_page(0, 0xa00000);
    rig.bus.memory.on_register_page = [] {
        ++resets;
        victim->reset();
    };
    for (const Dwords& packet : {copy_linear(kDataVa, 0xa00fff, 100), write_linear(0xa00000, {1, 2}), fence(0xa00000, 1),
                                 Dwords{11, 0xa00000, 0, 0, 99}, Dwords{12, 0xa00000, 0, 0, 0, 0, 0, 0, 0, 9}}) {
        Rig fresh;
        victim = &fresh.engine;
        fresh.bus.memory.map_register_page(0, 0xa00000);
        fresh.bus.memory.on_register_page = rig.bus.memory.on_register_page;
        fresh.bus.memory.map(0, 0xa01000, kPageBytes);
        fresh.fill(0, 256, 1);
        resets = 0;
        fresh.submit(packet + fence(kDataVa, 1));
        EXPECT_EQ(resets, 1u);
        EXPECT_EQ(fresh.env.stats.get(Stat::sdma_packets), 0u);
        EXPECT_EQ(fresh.bus.memory.get<uint32_t>(0, 0xa01000), 0u) << "the copy went on";
        EXPECT_NE(fresh.data32(0), 1u) << "the next packet ran";
        EXPECT_EQ(fresh.rptr(), 0u);
    }
}

TEST(SdmaBadPacket, UnknownOpcodeOrSubOpcodeStopsTheRing) {
    for (uint32_t header : {3u, 0x11u, 0xffu, 0xff01u, 0x0102u, 0x0f0cu, 0xdeadbeefu}) {
        Rig rig;
        rig.submit(Dwords{header} + fence(kDataVa, 1));
        if (sdma::find_packet(header)) continue;
        EXPECT_EQ(rig.count(Fault::SdmaOpcode), 1u) << header;
        EXPECT_EQ(rig.data32(0), 0u);
        EXPECT_EQ(rig.rptr(), 0u);
        EXPECT_EQ(rig.settle(), RunState::Idle);
        EXPECT_EQ(rig.count(Fault::SdmaOpcode), 1u);
    }
}

TEST(SdmaBadPacket, GapsOfTheModelAreSkippedByTheirLength) {
    constexpr std::string_view kHandlers[] = {
#define SDMA_PACKET(name, op, sub_op, variant, dwords, tail, handler) #handler,
#include "facts/packets/sdma.def"
#undef SDMA_PACKET
    };
    for (size_t n = 0; n < std::size(kHandlers); ++n) {
        if (kHandlers[n] != "todo") continue;
        const sdma::Packet& row = sdma::kPackets[n];
        Rig rig;
        Dwords packet(row.dwords, 0);
        packet[0] = sdma::header(row);
        if (row.tail == sdma::Tail::TiledCount) packet.push_back(0);
        rig.submit(packet + fence(kDataVa, 1));
        EXPECT_EQ(rig.count(Fault::TodoPacket), 1u) << row.name;
        EXPECT_EQ(rig.data32(0), 1u) << row.name;
    }
}

}  // namespace
}  // namespace lyra::sdma_test
