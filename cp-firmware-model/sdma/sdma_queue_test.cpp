// SPDX-License-Identifier: MIT
// Tests of SDMA user queues: map from an MQD, privileges, interrupts, unmap in every state, resume.
#include <gtest/gtest.h>

#include "cp-firmware-model/sdma/sdma_rig.h"

namespace lyra::sdma_test {
namespace {

uint64_t mqd_rptr(Rig& rig) { return rig.bus.memory.get<uint64_t>(0, kMqdVa + 3 * 4); }
uint64_t mqd_wptr(Rig& rig) { return rig.bus.memory.get<uint64_t>(0, kMqdVa + 5 * 4); }

TEST(SdmaQueue, MapRunUnmap) {
    Rig rig;
    ASSERT_EQ(rig.map_user(), 0);
    EXPECT_EQ(rig.submit(write_linear(kDataVa, {0x55}) + fence(kDataVa + 8, 1) + trap(0x1234)), RunState::Idle);
    EXPECT_EQ(rig.data32(0), 0x55u);
    EXPECT_EQ(rig.env.stats.get(Stat::user_sdma_packets), 3u);
    EXPECT_EQ(rig.bus.memory.get<uint32_t>(0, kDataVa), 0u);
    EXPECT_EQ(rig.bus.memory.get<uint64_t>(kUserVmid, kRptrVa), rig.wptr);
    ASSERT_EQ(rig.bus.interrupts.size(), 1u);
    EXPECT_EQ(rig.bus.interrupts[0].vmid, kUserVmid);
    EXPECT_EQ(rig.bus.interrupts[0].pasid, kPasid);
    EXPECT_NE(rig.bus.interrupts[0].ring_id, 0);
    EXPECT_NE(rig.bus.interrupts[0].ring_id, 3);
    EXPECT_EQ(rig.bus.interrupts[0].data[0], 0x1234u);
    EXPECT_TRUE(rig.engine.unmap_queue(0));
    EXPECT_EQ(mqd_rptr(rig), rig.wptr);
    EXPECT_EQ(mqd_wptr(rig), rig.wptr);
    EXPECT_FALSE(rig.engine.doorbell(kUserDoorbell, 4));
    EXPECT_EQ(rig.get(2, ring_reg::RB_CNTL) & 1, 0u);
}

TEST(SdmaQueue, RegistersShowTheMappedQueue) {
    Rig rig;
    rig.map_user();
    EXPECT_EQ(rig.get(2, ring_reg::RB_BASE), kRingVa >> 8);
    EXPECT_EQ(bits(rig.get(2, ring_reg::RB_CNTL), 24, 4), kUserVmid);
    EXPECT_EQ(rig.get(2, ring_reg::DOORBELL_OFFSET), kUserDoorbell);
}

TEST(SdmaQueue, WritePointerComesFromMemory) {
    Rig rig;
    rig.map_user();
    EXPECT_TRUE(rig.engine.unmap_queue(0));
    rig.put(write_linear(kDataVa, {3}));
    rig.bus.memory.put<uint64_t>(kUserVmid, kWptrVa, rig.wptr);
    EXPECT_FALSE(rig.engine.doorbell(kUserDoorbell, rig.wptr));
    ASSERT_EQ(rig.engine.map_queue(kMqdVa, kWptrVa, kUserDoorbell, kUserVmid, kPasid), 0);
    rig.settle();
    EXPECT_EQ(rig.data32(0), 3u);
}

TEST(SdmaQueue, ADoorbellOlderThanTheWritePointerInMemoryIsNoFault) {
    for (const uint64_t start : {uint64_t{0}, uint64_t{0x500000000}}) {  // then of 32 bits
        Rig rig;
        rig.map_user(start);
        EXPECT_TRUE(rig.engine.unmap_queue(0));
        rig.put(write_linear(kDataVa, {3}));
        const uint64_t older = rig.wptr;
        rig.put(write_linear(kDataVa, {4}));
        rig.bus.memory.put<uint64_t>(kUserVmid, kWptrVa, rig.wptr);
        ASSERT_EQ(rig.engine.map_queue(kMqdVa, kWptrVa, kUserDoorbell, kUserVmid, kPasid), 0);
        rig.settle();
        EXPECT_EQ(rig.data32(0), 4u);
        EXPECT_TRUE(rig.engine.doorbell(kUserDoorbell, lo32(older)));
        EXPECT_EQ(rig.count(Fault::WritePointer), 0u);
        rig.submit(write_linear(kDataVa, {5}));
        EXPECT_EQ(rig.data32(0), 5u);
        EXPECT_TRUE(rig.engine.doorbell(kUserDoorbell, lo32(older)));
        EXPECT_EQ(rig.count(Fault::WritePointer), 1u);
    }
}

TEST(SdmaQueue, VirtualTimeLooksAtAQueueThatIsMappedWithWork) {
    Rig rig;
    rig.env.clock.start(rig.env.timing);
    rig.map_user();
    EXPECT_TRUE(rig.engine.unmap_queue(0));
    rig.settle();
    ASSERT_EQ(rig.engine.next_run_ns(), kNever);
    rig.put(write_linear(kDataVa, {3}));
    rig.bus.memory.put<uint64_t>(kUserVmid, kWptrVa, rig.wptr);
    ASSERT_EQ(rig.engine.map_queue(kMqdVa, kWptrVa, kUserDoorbell, kUserVmid, kPasid), 0);
    ASSERT_EQ(rig.engine.next_run_ns(), rig.env.clock.ns());
    rig.engine.run();
    EXPECT_EQ(rig.data32(0), 3u);
}

TEST(SdmaQueue, TwoSlotsThenNone) {
    Rig rig;
    EXPECT_EQ(rig.map_user(), 0);
    EXPECT_EQ(rig.engine.map_queue(kMqdVa, 0, kUserDoorbell + 8, 9, 5), 1);
    EXPECT_EQ(rig.engine.map_queue(kMqdVa, 0, kUserDoorbell + 16, 9, 5), -1);
    EXPECT_TRUE(rig.engine.unmap_queue(0));
    EXPECT_EQ(rig.engine.map_queue(kMqdVa, 0, kUserDoorbell + 16, 9, 5), 0);
}

TEST(SdmaQueue, BadCalls) {
    Rig rig;
    EXPECT_EQ(rig.engine.map_queue(kUnmappedVa, 0, kUserDoorbell, 8, 1), -1);
    EXPECT_EQ(rig.count(Fault::MqdUnreadable), 1u);
    EXPECT_TRUE(rig.engine.unmap_queue(0));
    EXPECT_TRUE(rig.engine.unmap_queue(7));
    rig.engine.reset_queue(1);
    EXPECT_EQ(rig.count(Fault::QueueNotMapped), 3u);
    EXPECT_EQ(rig.engine.map_queue(kMqdVa, kUnmappedVa, kUserDoorbell, 8, 1), 0);
    EXPECT_EQ(rig.bus.memory.vm_faults, 2u);
    EXPECT_EQ(rig.settle(), RunState::Idle);
}

TEST(SdmaQueue, MqdVanishesBeforeUnmap) {
    Rig rig;
    rig.map_user();
    rig.bus.memory.unmap(0, kMqdVa);
    EXPECT_TRUE(rig.engine.unmap_queue(0));
    EXPECT_EQ(rig.count(Fault::MqdUnreadable), 1u);
}

TEST(SdmaQueue, UserPrivileges) {
    Rig rig;
    rig.map_user();
    rig.bus.register_reads = 0;
    EXPECT_EQ(rig.submit(Dwords{14 | 0xfu << 28, 0x2000, 1} + Dwords{8 | 3u << 28, 0x2000 << 2, 0, 1, 1, 0x0fff0001} +
                         Dwords{8 | 1u << 26 | 3u << 28, 4, 8, 1, 1, 0x0fff0001} + fence(kDataVa, 1)),
              RunState::Idle);
    EXPECT_EQ(rig.count(Fault::SdmaPrivilege), 3u);
    EXPECT_EQ(rig.bus.register_writes + rig.bus.register_reads, 0u);
    EXPECT_EQ(rig.data32(0), 1u);
}

TEST(SdmaQueue, UserHdpFlushIsNoRegisterAccess) {
    Rig rig;
    rig.map_user();
    EXPECT_EQ(rig.submit(Dwords{8, 0, 0x80000000, 0, 0, 0} + fence(kDataVa, 1)), RunState::Idle);
    EXPECT_EQ(rig.count(Fault::SdmaPrivilege), 0u);
    EXPECT_EQ(rig.bus.register_reads, 0u);
    EXPECT_EQ(rig.data32(0), 1u);
}

TEST(SdmaQueue, UserBufferStaysInItsOwnVmid) {
    Rig rig;
    rig.map_user();
    rig.put_ib(kUserVmid, fence(kDataVa, 0x11));
    rig.put_ib(0, fence(kDataVa, 0x22));
    rig.submit(indirect(kIbVa, 4, 0));
    EXPECT_EQ(rig.data32(0), 0x11u);
    EXPECT_EQ(rig.bus.memory.get<uint32_t>(0, kDataVa), 0u);
}

TEST(SdmaQueue, UnmapWaitsForTheCopyInProgress) {
    Rig rig;
    rig.map_user();
    rig.bus.memory.map(kUserVmid, 0x10000000, 8 << 20);
    rig.bus.memory.put<uint32_t>(kUserVmid, 0x10400000 - 4, 0xabcd);
    rig.put(copy_linear(0x10000000, 0x10400000, 4 << 20) + fence(kDataVa, 1));
    rig.ring_doorbell();
    EXPECT_EQ(rig.engine.run(), RunState::Busy);
    EXPECT_FALSE(rig.engine.unmap_queue(0));
    int asked = 1;
    while (rig.engine.run(), !rig.engine.unmap_queue(0)) ASSERT_LT(++asked, 100);
    EXPECT_EQ(mqd_rptr(rig), 28u);
    EXPECT_EQ(mqd_wptr(rig), rig.wptr);
    EXPECT_EQ(rig.bus.memory.get<uint32_t>(kUserVmid, 0x10800000 - 4), 0xabcdu);
    EXPECT_EQ(rig.data32(0), 0u);
    EXPECT_EQ(rig.bus.memory.get<uint64_t>(kUserVmid, kRptrVa), 28u);
    rig.bus.memory.put<uint64_t>(kUserVmid, kWptrVa, rig.wptr);
    EXPECT_EQ(rig.engine.map_queue(kMqdVa, kWptrVa, kUserDoorbell, kUserVmid, kPasid), 0);
    rig.settle();
    EXPECT_EQ(rig.data32(0), 1u);
}

TEST(SdmaQueue, UnmapTakesAHugeRectangleBack) {
    Rig rig;
    rig.map_user();
    // Pitch and slice of one element: every row is the same memory, 2^43 bytes in all.
    rig.put({1 | 4 << 8 | 4u << 29, lo32(kDataVa), 0, 0, 0, 0, lo32(kDataVa + 0x20000), 0, 0, 0, 0, 0x3fff00ff, 0x7ff});
    rig.ring_doorbell();
    EXPECT_EQ(rig.engine.run(), RunState::Busy);
    EXPECT_EQ(rig.engine.run(), RunState::Busy);
    EXPECT_TRUE(rig.engine.unmap_queue(0));
    EXPECT_EQ(mqd_rptr(rig), 0u);
    EXPECT_EQ(rig.settle(), RunState::Idle);
}

TEST(SdmaQueue, UnmapDuringAPollStandsBeforeIt) {
    Rig rig;
    rig.map_user();
    EXPECT_EQ(rig.submit(fence(kDataVa + 8, 1) + poll_memory(kDataVa, 1) + fence(kDataVa + 8, 2)), RunState::Polling);
    EXPECT_TRUE(rig.engine.unmap_queue(0));
    EXPECT_EQ(mqd_rptr(rig), 16u);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    rig.bus.memory.put<uint32_t>(kUserVmid, kDataVa, 1);
    rig.bus.memory.put<uint64_t>(kUserVmid, kWptrVa, rig.wptr);
    rig.engine.map_queue(kMqdVa, kWptrVa, kUserDoorbell, kUserVmid, kPasid);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.data32(8), 2u);
}

TEST(SdmaQueue, UnmapInsideABufferResumesThere) {
    Rig rig;
    rig.map_user();
    rig.put_ib(kUserVmid,
               Dwords{10 | 0x0fu << 25, lo32(kDataVa), 0, 1, 0, 0, 0, 0} + poll_memory(kDataVa + 4, 1) + fence(kDataVa + 8, 5));
    EXPECT_EQ(rig.submit(indirect(kIbVa, 18) + fence(kDataVa + 12, 6)), RunState::Polling);
    EXPECT_TRUE(rig.engine.unmap_queue(0));
    EXPECT_EQ(mqd_rptr(rig), 0u);
    rig.bus.memory.put<uint32_t>(kUserVmid, kDataVa + 4, 1);
    rig.bus.memory.put<uint64_t>(kUserVmid, kWptrVa, rig.wptr);
    rig.engine.map_queue(kMqdVa, kWptrVa, kUserDoorbell, kUserVmid, kPasid);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.data32(0), 1u);  // the addition ran once
    EXPECT_EQ(rig.data32(8), 5u);
    EXPECT_EQ(rig.data32(12), 6u);
    EXPECT_EQ(rig.rptr(2), rig.wptr);
    EXPECT_TRUE(rig.engine.unmap_queue(0));
    EXPECT_EQ(rig.bus.memory.get<uint32_t>(0, kMqdVa + 15 * 4), 0u);
}

TEST(SdmaQueue, StoppedAndHaltedQueuesUnmapAtOnce) {
    Rig rig;
    rig.map_user();
    rig.submit({0xff});
    EXPECT_EQ(rig.count(Fault::SdmaOpcode), 1u);
    EXPECT_TRUE(rig.engine.unmap_queue(0));
    rig.bus.memory.map(kUserVmid, 0x10000000, 8 << 20);
    rig.map_user();
    rig.put(copy_linear(0x10000000, 0x10400000, 4 << 20));
    rig.ring_doorbell();
    rig.engine.run();
    rig.engine.write_register(reg::F32_CNTL, 1);
    EXPECT_TRUE(rig.engine.unmap_queue(0));
    EXPECT_EQ(mqd_rptr(rig), 0u);
}

TEST(SdmaQueue, ResetDropsThePacketAndFreesTheSlot) {
    Rig rig;
    rig.map_user();
    EXPECT_EQ(rig.submit(poll_memory(kDataVa, 1)), RunState::Polling);
    rig.engine.reset_queue(0);
    EXPECT_EQ(rig.settle(), RunState::Idle);
    EXPECT_EQ(rig.map_user(), 0);
}

TEST(SdmaQueue, HostileMqd) {
    Rig rig;
    for (uint32_t seed = 1; seed < 200; ++seed) {
        uint32_t x = seed * 2654435761u;
        for (uint32_t dw = 0; dw < 128; ++dw) {
            x = x * 1664525 + 1013904223;
            rig.bus.memory.put<uint32_t>(0, kMqdVa + 4 * dw, (x & 0x300) ? x : ~0u);
        }
        const int slot = rig.engine.map_queue(kMqdVa, seed % 2 ? kMqdVa : 0, x, seed, static_cast<uint16_t>(x));
        ASSERT_GE(slot, 0);
        for (int i = 0; i < 20; ++i) rig.engine.run();
        for (int i = 0; i < 20 && !rig.engine.unmap_queue(static_cast<unsigned>(slot)); ++i) rig.engine.run();
    }
}

TEST(SdmaQueue, UserFaultLeavesTheOtherRingsAlone) {
    Rig rig;
    rig.map_user();
    rig.submit({0xff});
    rig.vmid = 0;
    rig.wptr = 0;
    EXPECT_EQ(rig.submit(write_linear(kDataVa, {1})), RunState::Idle);
    EXPECT_EQ(rig.data32(0), 1u);
}

/// XNACK: the packet stands still where it is, and nothing is abandoned.
TEST(SdmaUserQueue, APacketWaitsForAPageThatTheDriverMayMap) {
    const Dwords packets[] = {
        fence(kUnmappedVa, 0x55),
        write_linear(kUnmappedVa, {0x55}),
        copy_linear(kDataVa, kUnmappedVa, 4),
        {11, lo32(kUnmappedVa), hi32(kUnmappedVa), 0x55, 3 | 0u},
        {10 | 47u << 25, lo32(kUnmappedVa), hi32(kUnmappedVa), 0x55, 0, 0, 0, 0x100},
    };
    for (const Dwords& packet : packets) {
        SCOPED_TRACE(packet[0] & 0xff);
        Rig rig;
        rig.bus.memory.retries = true;
        ASSERT_GE(rig.map_user(), 0);
        rig.fill(0, 4, 0);
        rig.bus.memory.put<uint32_t>(kUserVmid, kDataVa, 0x55);
        EXPECT_EQ(rig.submit(packet + fence(kDataVa + 64, 1)), RunState::Polling);
        EXPECT_EQ(rig.settle(), RunState::Polling);
        EXPECT_EQ(rig.data32(64), 0u);
        EXPECT_EQ(rig.count(Fault::SdmaVmHole), 0u);
        rig.bus.memory.map(kUserVmid, kUnmappedVa, kPageBytes);
        EXPECT_EQ(rig.settle(), RunState::Idle);
        EXPECT_NE(rig.bus.memory.get<uint8_t>(kUserVmid, kUnmappedVa), 0u);
        EXPECT_EQ(rig.data32(64), 1u);
    }
}

TEST(SdmaUserQueue, AWaitingPacketIsTakenBackByAnUnmap) {
    Rig rig;
    rig.bus.memory.retries = true;
    const int slot = rig.map_user();
    ASSERT_GE(slot, 0);
    EXPECT_EQ(rig.submit(copy_linear(kDataVa, kUnmappedVa, 4) + fence(kDataVa + 64, 1)), RunState::Polling);
    EXPECT_TRUE(rig.engine.unmap_queue(static_cast<unsigned>(slot)));
    EXPECT_EQ(rig.bus.memory.get<uint32_t>(0, kMqdVa + 3 * 4), 0u);  // it stands before the packet
    EXPECT_EQ(rig.data32(64), 0u);
}

}  // namespace
}  // namespace lyra::sdma_test
