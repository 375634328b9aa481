// SPDX-License-Identifier: MIT
// AQL queues with bad packets, memory that is not there, and too little scratch.
#include <utility>

#include "cp-firmware-model/testing/aql_queue.h"

namespace lyra {
namespace {

using testing::AqlQueueTest;
using testing::kDescriptor;
using testing::kInactive;
using testing::kMailbox;
using testing::kPackets;
using testing::kQueue;
using testing::kRing;
using testing::kRptr;
using testing::kWptr;
using testing::WavePlan;

class AqlError : public AqlQueueTest {
protected:
    /// The packet stops the queue with this code and this exception, is counted, and nothing after it runs.
    void expect_error(const AqlPacket& p, Fault fault, int64_t code, uint32_t exception) {
        SCOPED_TRACE(fault_info(fault).name);
        const uint64_t before = env.stats.get(fault);
        bus.interrupts.clear();
        fakes.launches.clear();
        submit(p);
        submit(kernel());
        settle();
        EXPECT_EQ(hqd.state, HqdState::Stopped);
        EXPECT_TRUE(field::CP_HQD_ERROR::AQL_ERROR::get(hqd.regs[hqd_reg::CP_HQD_ERROR]));
        EXPECT_EQ(inactive(), code);
        EXPECT_EQ(env.stats.get(fault), before + 1);
        EXPECT_TRUE(fakes.launches.empty());
        ASSERT_EQ(bus.interrupts.size(), exception != 0 ? 1u : 0u);
        if (exception != 0) {
            EXPECT_EQ(bus.interrupts[0].source, 183);
            EXPECT_EQ(bus.interrupts[0].client, 0x14);
            EXPECT_EQ(bus.interrupts[0].pasid, 0x8003);
            EXPECT_EQ(bus.interrupts[0].data[0] & 0x3ff, (hqd.doorbell_bytes() / 8) & 0x3ff);
            EXPECT_EQ(bus.interrupts[0].data[0] >> 10, exception);
        }
        restart();
    }
    void restart() {
        for (unsigned i = 0; i < kPackets; ++i) bus.memory.put<uint16_t>(kRing + 64 * i, 1);
        bus.memory.put<int64_t>(kInactive + 8, 0);
        bus.memory.put<uint64_t>(kWptr, 0);
        next_index = 0;
        dispatcher.reset();
        hqd.compute[mqd::cp_mqd_readindex_lo] = hqd.compute[mqd::cp_mqd_readindex_hi] = 0;
        hqd.regs[hqd_reg::CP_HQD_ERROR] = 0;
        map();
    }
};

TEST_F(AqlError, BadDimensions) {
    expect_error(kernel().put<uint16_t>(2, 0), Fault::AqlDimension, 2, 16);
    expect_error(kernel(0), Fault::AqlDimension, 2, 16);
    expect_error(kernel().put<uint32_t>(0x10, 0), Fault::AqlDimension, 2, 16);
    expect_error(kernel().put<uint32_t>(0x14, 2), Fault::AqlDimension, 2, 16);
    expect_error(kernel().put<uint16_t>(6, 2), Fault::AqlDimension, 2, 16);
    expect_error(kernel(64, 0), Fault::AqlDimension, 2, 16);
}

TEST_F(AqlError, BadSizes) {
    expect_error(kernel(64, 1025), Fault::AqlWorkgroupSize, 0x40, 21);
    expect_error(kernel(64, 0xffff).put<uint16_t>(2, 3).put<uint16_t>(6, 0xffff).put<uint16_t>(8, 0xffff),
                 Fault::AqlWorkgroupSize, 0x40, 21);
    expect_error(kernel().put<uint32_t>(0x1c, 65537), Fault::AqlGroupMemory, 4, 17);
    expect_error(kernel().put<uint32_t>(0x1c, ~0u), Fault::AqlGroupMemory, 4, 17);
    bus.memory.put<uint32_t>(kDescriptor + 48, 63);
    expect_error(kernel(1024, 1024), Fault::AqlRegisters, 0x80, 22);
}

TEST_F(AqlError, BadCodeObjects) {
    expect_error(kernel().put<uint64_t>(0x20, 0), Fault::AqlCodeObject, 8, 18);
    expect_error(kernel().put<uint64_t>(0x20, kDescriptor + 4), Fault::AqlCodeObject, 8, 18);
    bus.memory.put<int64_t>(kDescriptor + 16, 0x104);
    expect_error(kernel(), Fault::AqlCodeObject, 8, 18);
}

TEST_F(AqlError, PacketsThatDoNotExist) {
    expect_error(barrier(4), Fault::AqlInvalidPacket, 0x20, 20);
    expect_error(barrier(6), Fault::AqlInvalidPacket, 0x20, 20);
    expect_error(barrier(255), Fault::AqlInvalidPacket, 0x20, 20);
    expect_error(barrier_value(signal(0), 0, 0, 4), Fault::AqlInvalidPacket, 0x20, 20);
    expect_error(barrier(0), Fault::AqlVendorPacket, 0x100, 23);
    expect_error(barrier(0).put<uint8_t>(2, 3), Fault::AqlVendorPacket, 0x100, 23);
    expect_error(ib(0x1000, 4).put<uint32_t>(4, 0xc0021000), Fault::AqlVendorPacket, 0x100, 23);
}

TEST_F(AqlError, MisalignedSignals) {
    expect_error(barrier(3, {signal(0) + 1}), Fault::AqlInvalidPacket, 0x20, 20);
    expect_error(barrier_value(signal(0) + 4, 1, -1, 0), Fault::AqlInvalidPacket, 0x20, 20);
    submit(kernel().completion(signal(0) + 2));
    settle();
    EXPECT_EQ(hqd.state, HqdState::Stopped);
    EXPECT_EQ(inactive(), 0x20);
}

TEST_F(AqlError, TheErrorCodeIsToldByEventToo) {
    bus.memory.put<uint64_t>(kInactive + 0x10, kMailbox);
    bus.memory.put<uint32_t>(kInactive + 0x18, 9);
    submit(barrier(4));
    settle();
    EXPECT_EQ(bus.memory.get<uint64_t>(kMailbox), 9u);
    ASSERT_EQ(bus.interrupts.size(), 2u);
    EXPECT_EQ(bus.interrupts[0].source, 181);
    EXPECT_EQ(bus.interrupts[0].data[0], 9u);
    EXPECT_EQ(bus.interrupts[1].source, 183);
}

TEST_F(AqlError, EarlierKernelsStillComplete) {
    fakes.plan = [](const auto&) { return WavePlan{.instructions = 3000}; };
    set_signal(0, 1);
    submit(kernel().completion(signal(0)));
    submit(barrier(4));
    step();
    dispatcher.run(1);
    step();
    EXPECT_EQ(hqd.state, HqdState::Stopped);
    EXPECT_EQ(signal_value(0), 1);
    settle();
    EXPECT_EQ(signal_value(0), 0);
    EXPECT_EQ(read_index(), 1u);
}

TEST_F(AqlError, AStoppedQueueStaysStoppedWhenTheCodeIsCleared) {
    submit(barrier(4));
    settle();
    bus.memory.put<int64_t>(kInactive + 8, 0);
    submit(kernel());
    settle();
    EXPECT_TRUE(fakes.launches.empty());
}

TEST_F(AqlError, ARingOutsideMemory) {
    bus.memory.unmap(kRing);
    aql.doorbell(hqd, 0);
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(hqd.state, HqdState::Stopped);
    EXPECT_TRUE(field::CP_HQD_ERROR::PQ_UTCL1_ERROR::get(hqd.regs[hqd_reg::CP_HQD_ERROR]));
    EXPECT_EQ(env.stats.get(Fault::RingUnreadable), 1u);
    EXPECT_EQ(bus.memory.faults, 1u);
}

TEST_F(AqlError, ARingTooSmallForAPacket) {
    hqd.regs[hqd_reg::CP_HQD_PQ_CONTROL] = 0;
    aql.doorbell(hqd, 0);
    settle();
    EXPECT_EQ(hqd.state, HqdState::Stopped);
}

TEST_F(AqlError, ADescriptorOutsideMemory) {
    submit(kernel().put<uint64_t>(0x20, 0x7fffffffff00));
    settle();
    EXPECT_EQ(hqd.state, HqdState::Stopped);
    EXPECT_EQ(env.stats.get(Fault::AqlCodeObject), 1u);
    EXPECT_EQ(bus.memory.faults, 1u);
    EXPECT_EQ(inactive(), 0) << "the page fault is what the guest sees";
}

TEST_F(AqlError, SignalsOutsideMemory) {
    submit(barrier(3, {0x12345678}));
    settle();
    EXPECT_EQ(hqd.state, HqdState::Stopped);
    EXPECT_TRUE(field::CP_HQD_ERROR::SEM_UTCL1_ERROR::get(hqd.regs[hqd_reg::CP_HQD_ERROR]));
    restart();
    submit(kernel().completion(0xffff'ffff'ffff'fff8));
    settle();
    EXPECT_EQ(hqd.state, HqdState::Stopped);
    EXPECT_EQ(read_index(), 1u) << "the kernel itself has run";
    restart();
    set_signal(0, 1);
    bus.memory.put<uint64_t>(signal(0) + 0x10, 0x99999000);
    submit(kernel().completion(signal(0)));
    settle();
    EXPECT_EQ(hqd.state, HqdState::Stopped);
    EXPECT_EQ(signal_value(0), 0);
}

TEST_F(AqlError, AReadOnlySignal) {
    bus.memory.map(0x900000, 0x1000, false);
    submit(kernel().completion(0x900000));
    settle();
    EXPECT_EQ(hqd.state, HqdState::Stopped);
    EXPECT_EQ(bus.memory.get<int64_t>(0x900008), 0);
}

TEST_F(AqlError, AReadPointerOutsideMemory) {
    bus.memory.unmap(kQueue);
    write_packet(0, barrier(3));
    aql.doorbell(hqd, 0);
    settle();
    EXPECT_EQ(hqd.state, HqdState::Stopped);
    EXPECT_TRUE(field::CP_HQD_ERROR::RRPT_UTCL1_ERROR::get(hqd.regs[hqd_reg::CP_HQD_ERROR]));
}

TEST_F(AqlError, AWritePointerOutsideMemory) {
    aql.save(hqd);
    hqd.regs[hqd_reg::CP_HQD_PQ_WPTR_POLL_ADDR] = 0x66660000;
    hqd.state = HqdState::Active;
    aql.load(hqd);
    EXPECT_EQ(hqd.state, HqdState::Stopped);
    EXPECT_TRUE(field::CP_HQD_ERROR::WPP_UTCL1_ERROR::get(hqd.regs[hqd_reg::CP_HQD_ERROR]));
}

TEST_F(AqlError, AQueueWithoutAmdQueueStillStops) {
    bus.memory.put<uint32_t>(kQueue + 0x88, 0);
    submit(barrier(4));
    settle();
    EXPECT_EQ(hqd.state, HqdState::Stopped);
    EXPECT_EQ(inactive(), 0);
}

class AqlScratch : public AqlQueueTest {
protected:
    void give_scratch(uint32_t lane_bytes, bool once = false) {
        bus.memory.put<uint32_t>(kQueue + 0x8c, 64 | (lane_bytes * 64 / 1024) << 12);
        bus.memory.put<uint64_t>(kQueue + 0xa0, 0x40000000);
        bus.memory.put<uint32_t>(kQueue + 0xb0, lane_bytes);
        bus.memory.put<uint32_t>(kQueue + 0xb4, once ? 1 << 4 : 0);
    }
    static Packet scratch_kernel(uint32_t bytes) { return kernel().put<uint32_t>(0x18, bytes); }
    AqlScratch() { bus.memory.put<uint32_t>(kDescriptor + 52, 2 << 1 | 1); }
};

TEST_F(AqlScratch, IsAskedForAndWaitedFor) {
    set_signal(0, 1);
    bus.memory.put<uint64_t>(kInactive + 0x10, kMailbox);
    bus.memory.put<uint32_t>(kInactive + 0x18, 3);
    submit(scratch_kernel(100).completion(signal(0)));
    EXPECT_EQ(settle(), RunState::Polling);
    EXPECT_EQ(inactive(), 1);
    EXPECT_EQ(hqd.state, HqdState::Active);
    ASSERT_EQ(bus.interrupts.size(), 1u);
    EXPECT_EQ(bus.interrupts[0].data[0], 3u);
    EXPECT_EQ(read_index(), 0u);
    EXPECT_TRUE(aql.drained(hqd)) << "the queue can be unmapped while it waits";
    give_scratch(112);
    EXPECT_EQ(settle(), RunState::Polling);
    EXPECT_TRUE(fakes.launches.empty());
    bus.memory.put<int64_t>(kInactive + 8, 0);
    settle();
    ASSERT_EQ(fakes.launches.size(), 1u);
    EXPECT_GE(fakes.launches[0].launch.scratch_slot[0], 0);
    EXPECT_EQ(signal_value(0), 0);
    EXPECT_EQ(bus.interrupts.size(), 1u);
}

TEST_F(AqlScratch, IsAskedAgainWhenItIsStillTooLittle) {
    submit(scratch_kernel(100));
    settle();
    give_scratch(96);
    bus.memory.put<int64_t>(kInactive + 8, 0);
    EXPECT_EQ(settle(), RunState::Polling);
    EXPECT_EQ(inactive(), 1);
}

TEST_F(AqlScratch, IsAskedForOnlyWhenThePacketIsTheOldest) {
    fakes.plan = [](const auto&) { return WavePlan{.instructions = 3000}; };
    submit(kernel());
    submit(scratch_kernel(100));
    step();
    dispatcher.run(1);
    step();
    EXPECT_EQ(inactive(), 0);
    settle();
    EXPECT_EQ(read_index(), 1u);
    EXPECT_EQ(inactive(), 1);
}

TEST_F(AqlScratch, IsNotAskedForByKernelsWithoutPrivateMemory) {
    submit(scratch_kernel(0));
    settle();
    EXPECT_EQ(fakes.launches.size(), 1u);
    EXPECT_EQ(fakes.launches[0].launch.scratch_slot[0], -1);
    EXPECT_EQ(inactive(), 0);
}

TEST_F(AqlScratch, WithTooFewSlotsForAGroupIsAskedForToo) {
    give_scratch(128);
    bus.memory.put<uint32_t>(kQueue + 0x8c, 4 | 8u << 12);
    submit(kernel(1024, 1024).put<uint32_t>(0x18, 100));
    EXPECT_EQ(settle(), RunState::Polling);
    EXPECT_EQ(inactive(), 1);
    give_scratch(128);
    bus.memory.put<int64_t>(kInactive + 8, 0);
    settle();
    EXPECT_EQ(fakes.launches.size(), 1u);
}

TEST_F(AqlScratch, UsedOnceIsGivenBack) {
    give_scratch(128, true);
    set_signal(0, 1);
    submit(scratch_kernel(100).completion(signal(0)));
    submit(kernel());
    EXPECT_EQ(settle(), RunState::Polling);
    EXPECT_EQ(signal_value(0), 0);
    EXPECT_EQ(inactive(), 0x200);
    EXPECT_EQ(fakes.launches.size(), 1u) << "nothing starts before the scratch is back";
    bus.memory.put<int64_t>(kInactive + 8, 0);
    EXPECT_EQ(settle(), RunState::Polling) << "the runtime clears the property after the signal";
    give_scratch(0);
    settle();
    EXPECT_EQ(fakes.launches.size(), 2u);
}

TEST_F(AqlScratch, TheQuestionSurvivesRemapping) {
    submit(scratch_kernel(100));
    settle();
    aql.save(hqd);
    bus.interrupts.clear();
    map();
    EXPECT_EQ(settle(), RunState::Polling);
    EXPECT_TRUE(bus.interrupts.empty()) << "it is not asked twice";
    give_scratch(128);
    bus.memory.put<int64_t>(kInactive + 8, 0);
    settle();
    EXPECT_EQ(fakes.launches.size(), 1u);
}

TEST_F(AqlScratch, WithoutARuntimeToAskTheQueueStops) {
    bus.memory.put<uint64_t>(kQueue + 0xc0, 0);
    submit(scratch_kernel(100));
    settle();
    EXPECT_EQ(hqd.state, HqdState::Stopped);
    EXPECT_EQ(env.stats.get(Fault::AqlScratch), 1u);
}

}  // namespace
}  // namespace lyra
