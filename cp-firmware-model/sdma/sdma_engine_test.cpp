// SPDX-License-Identifier: MIT
// Tests of the SDMA engine's registers, doorbells, ring pointers and run states.
#include <gtest/gtest.h>

#include "cp-firmware-model/sdma/sdma_rig.h"

namespace lyra::sdma_test {
namespace {

TEST(SdmaRegisters, ResetValuesAndHoles) {
    Rig rig;
    rig.engine.reset();
    uint32_t value = 0;
    EXPECT_TRUE(rig.engine.read_register(reg::STATUS_REG, value));
    EXPECT_EQ(value, 0x46dee557u);
    EXPECT_TRUE(rig.engine.read_register(reg::F32_CNTL, value));
    EXPECT_EQ(value, 1u);
    EXPECT_EQ(rig.get(2, ring_reg::CONTEXT_STATUS), 4u);
    EXPECT_EQ(rig.get(0, ring_reg::CONTEXT_STATUS), 5u);
    EXPECT_FALSE(rig.engine.read_register(0x02, value));
    EXPECT_FALSE(rig.engine.read_register(0x80 + 0x14, value));
    EXPECT_FALSE(rig.engine.read_register(0x200, value));
    EXPECT_FALSE(rig.engine.write_register(0x5ff, 0));
    EXPECT_FALSE(rig.engine.write_register(~0u, 0));
}

TEST(SdmaRegisters, DriverOffsets) {
    // Byte offsets of docs/spec/bring-up.md 4.1 minus the engine base 0x4980.
    EXPECT_EQ(4 * sdma::kRingBase, 0x4b80u - 0x4980);
    EXPECT_EQ(4 * (sdma::kRingBase + ring_reg::DOORBELL), 0x4bc8u - 0x4980);
    EXPECT_EQ(4 * (sdma::kRingBase + ring_reg::DOORBELL_OFFSET), 0x4c2cu - 0x4980);
    EXPECT_EQ(4 * (sdma::kRingBase + ring_reg::MINOR_PTR_UPDATE), 0x4c54u - 0x4980);
    EXPECT_EQ(4 * (sdma::kRingBase + sdma::kRingStride), 0x4d00u - 0x4980);
    EXPECT_EQ(4 * (sdma::kRingBase + 2 * sdma::kRingStride), 0x4e80u - 0x4980);
    EXPECT_EQ(4 * (sdma::kRingBase + 3 * sdma::kRingStride), 0x5000u - 0x4980);
    EXPECT_EQ(4 * reg::STATUS_REG, 0x4a14u - 0x4980);
}

TEST(SdmaRegisters, EveryRegisterTakesEveryValue) {
    Rig rig;
    for (uint32_t value : {0u, ~0u, 0x5a5a5a5au}) {
        for (uint32_t offset = 0; offset < 0x210; ++offset) {
            uint32_t out = 0;
            EXPECT_EQ(rig.engine.write_register(offset, value), rig.engine.read_register(offset, out)) << offset;
            rig.engine.run();
        }
    }
}

TEST(SdmaRing, DriverRingTest) {
    Rig rig;
    EXPECT_EQ(rig.submit(write_linear(kDataVa + 0x20, {0xdeadbeef})), RunState::Idle);
    EXPECT_EQ(rig.data32(0x20), 0xdeadbeefu);
    EXPECT_EQ(rig.rptr(), 20u);
    EXPECT_EQ(rig.bus.memory.get<uint64_t>(0, kRptrVa), 20u);
    EXPECT_EQ(rig.env.stats.get(Stat::sdma_packets), 1u);
    EXPECT_EQ(rig.env.stats.get(Stat::user_sdma_packets), 0u);
    EXPECT_EQ(rig.env.stats.get(Stat::sdma_bytes), 4u);
    EXPECT_EQ(rig.bus.memory.vm_faults, 0u);
}

TEST(SdmaRing, WritePointerByRegister) {
    Rig rig;
    rig.put(write_linear(kDataVa, {1, 2}));
    rig.set(0, ring_reg::RB_WPTR, 24);
    rig.set(0, ring_reg::RB_WPTR_HI, 0);
    rig.settle();
    EXPECT_EQ(rig.data32(4), 2u);
    EXPECT_EQ(rig.get(0, ring_reg::RB_WPTR), 24u);
}

TEST(SdmaRing, PageRingHasItsOwnPointersAndRingId) {
    Rig rig;
    rig.set(1, ring_reg::RB_BASE, kRingVa >> 8);
    rig.set(1, ring_reg::RB_CNTL, 1 | 10 << 1);
    rig.put(write_linear(kDataVa, {7}) + trap(0));
    rig.set(1, ring_reg::RB_WPTR, static_cast<uint32_t>(rig.wptr));
    rig.settle();
    EXPECT_EQ(rig.data32(0), 7u);
    EXPECT_EQ(rig.rptr(1), rig.wptr);
    EXPECT_EQ(rig.rptr(0), 0u);
    ASSERT_EQ(rig.bus.interrupts.size(), 1u);
    EXPECT_EQ(rig.bus.interrupts[0].ring_id, 3);
}

TEST(SdmaRing, WrapsAndStaysMonotonic) {
    Rig rig(5);  // 128 bytes
    for (uint32_t i = 0; i < 1000; ++i) {
        ASSERT_EQ(rig.submit(write_linear(kDataVa, {i, ~i, i})), RunState::Idle);
        ASSERT_EQ(rig.data32(0), i);
        ASSERT_EQ(rig.data32(4), ~i);
    }
    EXPECT_EQ(rig.rptr(), 28000u);
    EXPECT_EQ(rig.bus.memory.get<uint64_t>(0, kRptrVa), 28000u);
}

TEST(SdmaRing, PointersBeyond32Bits) {
    Rig rig;
    const uint64_t start = 0xfffffff0;
    rig.set(0, ring_reg::RB_RPTR, lo32(start));
    rig.set(0, ring_reg::RB_WPTR, lo32(start));
    rig.wptr = start;
    rig.submit(write_linear(kDataVa, {1, 2, 3}));
    EXPECT_EQ(rig.data32(8), 3u);
    EXPECT_EQ(rig.rptr(), start + 28);
    EXPECT_EQ(rig.bus.memory.get<uint64_t>(0, kRptrVa), start + 28);
}

TEST(SdmaRing, ShortDoorbellCarriesIntoTheHighHalf) {
    Rig rig;
    const uint64_t start = 0x2fffffff0;
    rig.set(0, ring_reg::RB_RPTR, lo32(start));
    rig.set(0, ring_reg::RB_RPTR_HI, hi32(start));
    rig.set(0, ring_reg::RB_WPTR, lo32(start));
    rig.set(0, ring_reg::RB_WPTR_HI, hi32(start));
    rig.wptr = start;
    rig.put(write_linear(kDataVa, {9, 9}));
    EXPECT_TRUE(rig.engine.doorbell(kDoorbell, lo32(rig.wptr)));
    rig.settle();
    EXPECT_EQ(rig.rptr(), rig.wptr);
    EXPECT_EQ(rig.count(Fault::WritePointer), 0u);
}

TEST(SdmaRing, DoorbellMatchesOffsetAndEnable) {
    Rig rig;
    EXPECT_FALSE(rig.engine.doorbell(kDoorbell + 8, 4));
    rig.set(0, ring_reg::DOORBELL, 0);
    EXPECT_FALSE(rig.engine.doorbell(kDoorbell, 4));
    EXPECT_EQ(rig.get(0, ring_reg::RB_WPTR), 0u);
}

TEST(SdmaRing, DoorbellOutsideTheRingIsRefused) {
    Rig rig;
    rig.submit(write_linear(kDataVa, {1}));
    for (uint64_t value : {uint64_t{4}, rig.wptr + rig.ring_bytes() + 4, uint64_t{1} << 63, ~uint64_t{0}}) {
        EXPECT_TRUE(rig.engine.doorbell(kDoorbell, value));
    }
    EXPECT_EQ(rig.count(Fault::WritePointer), 4u);
    EXPECT_EQ(rig.get(0, ring_reg::RB_WPTR), 20u);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    rig.submit(write_linear(kDataVa, {5}));
    EXPECT_EQ(rig.data32(0), 5u);
}

TEST(SdmaRing, MinorPointerUpdateAllowsASmallerValue) {
    Rig rig;
    rig.submit(write_linear(kDataVa, {1}));
    rig.set(0, ring_reg::RB_CNTL, 10 << 1);
    rig.set(0, ring_reg::RB_RPTR, 0);
    rig.set(0, ring_reg::MINOR_PTR_UPDATE, 1);
    EXPECT_TRUE(rig.engine.doorbell(kDoorbell, 0));
    rig.set(0, ring_reg::MINOR_PTR_UPDATE, 0);
    rig.set(0, ring_reg::RB_CNTL, 1 | 10 << 1);
    rig.wptr = 0;
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.env.stats.get(Stat::sdma_packets), 1u);
    rig.submit(write_linear(kDataVa, {2}));
    EXPECT_EQ(rig.data32(0), 2u);
    EXPECT_EQ(rig.count(Fault::WritePointer), 0u);
}

TEST(SdmaRing, WildWritePointerRegisterIsReportedOnceAndRunsNothing) {
    Rig rig;
    rig.set(0, ring_reg::RB_WPTR_HI, 0xffffffff);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.count(Fault::WritePointer), 1u);
    EXPECT_EQ(rig.rptr(), 0u);
}

TEST(SdmaRing, HaltFreezeAndEnableGateWork) {
    Rig rig;
    const Dwords packet = write_linear(kDataVa, {3});
    rig.put(packet);
    rig.ring_doorbell();
    rig.engine.write_register(reg::F32_CNTL, 1);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    rig.engine.write_register(reg::F32_CNTL, 0);
    rig.engine.write_register(reg::FREEZE, 1 << 4);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    uint32_t freeze = 0;
    rig.engine.read_register(reg::FREEZE, freeze);
    EXPECT_TRUE(bit(freeze, 5));
    rig.engine.write_register(reg::FREEZE, 0);
    rig.set(0, ring_reg::RB_CNTL, 10 << 1);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.data32(0), 0u);
    rig.set(0, ring_reg::RB_CNTL, 1 | 10 << 1);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.data32(0), 3u);
}

TEST(SdmaRing, StatusTellsWorkFromIdle) {
    Rig rig;
    uint32_t status = 0;
    rig.put(poll_memory(kDataVa, 1));
    rig.ring_doorbell();
    EXPECT_EQ(rig.settle(), RunState::Polling);
    rig.engine.read_register(reg::STATUS_REG, status);
    EXPECT_FALSE(bit(status, 0));
    EXPECT_FALSE(bit(rig.get(0, ring_reg::CONTEXT_STATUS), 2));
    // What the driver does to take a queue out: clear RB_ENABLE, wait for IDLE.
    rig.set(0, ring_reg::RB_CNTL, 10 << 1);
    EXPECT_TRUE(bit(rig.get(0, ring_reg::CONTEXT_STATUS), 2));
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.rptr(), 0u);
    rig.bus.memory.put<uint32_t>(0, kDataVa, 1);
    rig.set(0, ring_reg::RB_CNTL, 1 | 10 << 1);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.rptr(), rig.wptr);
    rig.engine.read_register(reg::STATUS_REG, status);
    EXPECT_EQ(status, 0x46dee557u);
}

TEST(SdmaRing, DisableInMidCopyEndsThePacketFirst) {
    Rig rig;
    rig.bus.memory.map(0, 0x10000000, 8 << 20);
    rig.put(copy_linear(0x10000000, 0x10400000, 4 << 20) + write_linear(kDataVa, {1}));
    rig.bus.memory.put<uint32_t>(0, 0x10000000 + (4 << 20) - 4, 0x1234);
    rig.ring_doorbell();
    EXPECT_EQ(rig.engine.run(), RunState::Busy);
    rig.set(0, ring_reg::RB_CNTL, 10 << 1);
    EXPECT_FALSE(bit(rig.get(0, ring_reg::CONTEXT_STATUS), 2));
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_TRUE(bit(rig.get(0, ring_reg::CONTEXT_STATUS), 2));
    EXPECT_EQ(rig.rptr(), 28u);
    EXPECT_EQ(rig.bus.memory.get<uint32_t>(0, 0x10800000 - 4), 0x1234u);
    EXPECT_EQ(rig.data32(0), 0u);
}

TEST(SdmaRing, OutsideMemoryStopsUntilEnabledAnew) {
    Rig rig;
    rig.set(0, ring_reg::RB_BASE, lo32(kUnmappedVa >> 8));
    rig.set(0, ring_reg::RB_BASE_HI, 0xffffff);
    rig.engine.doorbell(kDoorbell, 64);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.count(Fault::RingUnreadable), 1u);
    EXPECT_EQ(rig.rptr(), 0u);
    rig.set(0, ring_reg::RB_CNTL, 10 << 1);
    rig.set(0, ring_reg::RB_BASE, kRingVa >> 8);
    rig.set(0, ring_reg::RB_BASE_HI, 0);
    rig.set(0, ring_reg::RB_CNTL, 1 | 10 << 1);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.rptr(), 64u);
}

TEST(SdmaRing, UnwritableRptrAddressFaultsOnce) {
    Rig rig;
    rig.set(0, ring_reg::RB_RPTR_ADDR_HI, 0x1234);
    for (uint32_t i = 0; i < 5; ++i) rig.submit(write_linear(kDataVa, {i}));
    EXPECT_EQ(rig.data32(0), 4u);
    EXPECT_EQ(rig.bus.memory.vm_faults, 1u);
}

TEST(SdmaRing, EveryRingSizeIsBounded) {
    for (uint32_t log2 = 0; log2 < 64; ++log2) {
        Rig rig;
        rig.set(0, ring_reg::RB_CNTL, 1 | log2 << 1);
        rig.engine.doorbell(kDoorbell, rig.ring_bytes());
        rig.settle();
        EXPECT_LE(rig.rptr(), rig.ring_bytes());
    }
}

TEST(SdmaRing, TruncatedPacketWaitsForItsRest) {
    Rig rig;
    const Dwords packet = write_linear(kDataVa, {1, 2, 3});
    EXPECT_EQ(rig.submit({packet.begin(), packet.begin() + 5}), RunState::Idle);
    EXPECT_EQ(rig.rptr(), 0u);
    EXPECT_EQ(rig.count(Fault::ShortPacket), 1u);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.count(Fault::ShortPacket), 1u);
    EXPECT_EQ(rig.submit({packet.begin() + 5, packet.end()}), RunState::Idle);
    EXPECT_EQ(rig.data32(8), 3u);
    EXPECT_EQ(rig.rptr(), 28u);
}

TEST(SdmaRing, PacketLargerThanTheRingStopsIt) {
    Rig rig(5);
    rig.submit({2, lo32(kDataVa), 0, 0xfffff, 0, 0, 0, 0});
    EXPECT_EQ(rig.count(Fault::ShortPacket), 1u);
    rig.submit(write_linear(kDataVa, {1}));
    EXPECT_EQ(rig.data32(0), 0u);
}

TEST(SdmaRing, OneCallIsBounded) {
    Rig rig;
    rig.bus.memory.map(0, 0x10000000, 8 << 20);
    for (int i = 0; i < 20; ++i) rig.put(copy_linear(0x10000000, 0x10400000, 4 << 20));
    rig.ring_doorbell();
    uint64_t before = 0;
    for (int i = 0; i < 200 && rig.engine.run() == RunState::Busy; ++i) {
        const uint64_t now = rig.env.stats.get(Stat::sdma_bytes);
        ASSERT_LE(now - before, uint64_t{1} << 20);
        ASSERT_GT(now, before);
        before = now;
    }
    EXPECT_EQ(rig.env.stats.get(Stat::sdma_bytes), uint64_t{80} << 20);
}

TEST(SdmaRing, ARingAloneHasAllOfACall) {
    Rig rig;
    rig.bus.memory.map(0, 0x10000000, 8 << 20);
    for (int i = 0; i < 20; ++i) rig.put(copy_linear(0x10000000, 0x10400000, 4 << 20));
    rig.ring_doorbell();
    for (uint64_t calls = 1; calls <= 40; ++calls) {
        EXPECT_EQ(rig.engine.run(), RunState::Busy);
        ASSERT_GT(rig.env.stats.get(Stat::sdma_bytes), calls * ((1 << 20) - 4096));
    }
}

TEST(SdmaRing, RingsShareTheEngine) {
    Rig rig;
    rig.bus.memory.map(0, 0x10000000, 8 << 20);
    rig.put(copy_linear(0x10000000, 0x10400000, 4 << 20));
    rig.ring_doorbell();
    rig.bus.memory.map(0, 0x600000, kPageBytes);
    rig.set(1, ring_reg::RB_BASE, 0x6000);
    rig.set(1, ring_reg::RB_CNTL, 1 | 10 << 1);
    const Dwords packet = write_linear(kDataVa, {5});
    for (size_t i = 0; i < packet.size(); ++i) rig.bus.memory.put<uint32_t>(0, 0x600000 + 4 * i, packet[i]);
    rig.set(1, ring_reg::RB_WPTR, 20);
    EXPECT_EQ(rig.engine.run(), RunState::Busy);
    EXPECT_EQ(rig.data32(0), 5u);
}

TEST(SdmaRing, TraceShowsEveryPacket) {
    struct Sink : TraceSink {
        std::vector<TraceRecord> records;
        void record(const TraceRecord& record) override { records.push_back(record); }
    } sink;
    Rig rig;
    rig.env.tracer.set_sink(&sink);
    rig.submit(fence(kDataVa, 1) + trap(0));
    ASSERT_EQ(sink.records.size(), 2u);
    EXPECT_EQ(sink.records[1].id, EventId::packet);
    EXPECT_EQ(sink.records[1].args[1], 2u);
    EXPECT_EQ(sink.records[1].args[2], 6u);
    EXPECT_EQ(sink.records[1].args[3], 16u);
}

}  // namespace
}  // namespace lyra::sdma_test
