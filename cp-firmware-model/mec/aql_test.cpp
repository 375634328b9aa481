// SPDX-License-Identifier: MIT
// AQL queues: order, completion, retirement, barriers, PM4 buffers, mapping. Errors and scratch are in aql_error_test.cpp.
#include "cp-firmware-model/testing/aql_queue.h"

namespace lyra {
namespace {

using testing::AqlQueueTest;
using testing::kDescriptor;
using testing::kKernarg;
using testing::kMailbox;
using testing::kPackets;
using testing::kQueue;
using testing::kRing;
using testing::kRptr;
using testing::kWptr;
using testing::WavePlan;

class Aql : public AqlQueueTest {};

TEST_F(Aql, AKernelRunsAndCompletes) {
    set_signal(0, 1);
    bus.memory.put<uint64_t>(signal(0) + 0x10, kMailbox + 8);
    bus.memory.put<uint32_t>(signal(0) + 0x18, 42);
    int64_t value_at_interrupt = -1;
    uint64_t mailbox_at_interrupt = 0;
    bus.on_interrupt = [&](const Interrupt&) {
        value_at_interrupt = signal_value(0);
        mailbox_at_interrupt = bus.memory.get<uint64_t>(kMailbox + 8);
    };
    submit(kernel(640, 64).completion(signal(0)));
    settle();
    EXPECT_EQ(fakes.launches.size(), 10u);
    EXPECT_EQ(signal_value(0), 0);
    EXPECT_EQ(value_at_interrupt, 0);
    EXPECT_EQ(mailbox_at_interrupt, 42u);
    const uint64_t start = bus.memory.get<uint64_t>(signal(0) + 0x20), end = bus.memory.get<uint64_t>(signal(0) + 0x28);
    EXPECT_NE(start, 0u);
    EXPECT_GT(end, start);
    ASSERT_EQ(bus.interrupts.size(), 1u);
    const Interrupt& i = bus.interrupts[0];
    EXPECT_EQ(i.client, 0x14);
    EXPECT_EQ(i.source, 181);
    EXPECT_EQ(i.ring_id, 2 | 1 << 2 | 3 << 4);
    EXPECT_EQ(i.vmid, 9);
    EXPECT_EQ(i.pasid, 0x8003);
    EXPECT_EQ(i.data[0], 42u);
    EXPECT_EQ(header(0), 1);
    EXPECT_EQ(read_index(), 1u);
    EXPECT_EQ(env.stats.get(Stat::aql_packets), 1u);
}

TEST_F(Aql, AStepThatStartedSomethingIsNotIdle) {
    submit(kernel());
    EXPECT_EQ(step(), RunState::Busy) << "the dispatcher has something to do now";
    EXPECT_EQ(step(), RunState::Idle);
    dispatcher.run(1000);
    EXPECT_EQ(step(), RunState::Busy) << "somebody may wait for what was completed";
    EXPECT_EQ(step(), RunState::Idle);
}

TEST_F(Aql, WithoutMailboxThereIsNoInterrupt) {
    set_signal(0, 7);
    submit(kernel().completion(signal(0)));
    submit(kernel());
    settle();
    EXPECT_EQ(signal_value(0), 6);
    EXPECT_EQ(read_index(), 2u);
    EXPECT_TRUE(bus.interrupts.empty());
}

TEST_F(Aql, UserSgprsFollowTheDescriptor) {
    bus.memory.put<uint16_t>(kDescriptor + 56, 0x7f);
    bus.memory.put<uint32_t>(kDescriptor + 52, 15 << 1 | 1);
    bus.memory.put<uint32_t>(kDescriptor + 48, 1u << 20 | 3u << 10 | 5);
    for (unsigned i = 0; i < 4; ++i) bus.memory.put<uint32_t>(kQueue + 0x90 + 4 * i, 0xd0 + i);
    bus.memory.put<uint64_t>(kQueue + 0xa0, 0x7766554433221100);
    bus.memory.put<uint32_t>(kQueue + 0xb0, 4096);
    bus.memory.put<uint32_t>(kQueue + 0x8c, 64 | 4u << 12);
    for (unsigned i = 0; i < 17; ++i) {
        submit(barrier(3));
        settle();
    }
    submit(kernel().put<uint32_t>(0x18, 1001).put<uint32_t>(0x1c, 600));
    settle();
    ASSERT_EQ(fakes.launches.size(), 1u);
    const gcn::WorkgroupLaunch& l = fakes.launches[0].launch;
    const uint32_t expected[15] = {0xd0,           0xd1, 0xd2, 0xd3, lo32(kRing + 64), 0,          lo32(kQueue), 0,
                                   lo32(kKernarg), 0,    17,   0,    0x33221100,       0x77665544, 1004};
    EXPECT_EQ(l.user_sgpr_count, 15u);
    for (unsigned i = 0; i < 15; ++i) EXPECT_EQ(l.user_sgprs[i], expected[i]) << i;
    EXPECT_EQ(l.entry, kDescriptor + 0x100);
    EXPECT_EQ(l.rsrc1, 5u);
    EXPECT_EQ(bits(l.rsrc2, 15, 9), 2u);
    EXPECT_EQ(l.lds_bytes, 1024u);
    EXPECT_EQ(l.packet_index, 1u);
    EXPECT_EQ(l.doorbell_id, (0x2008u * 4 / 8) & 0x3ff);
    EXPECT_EQ(l.vmid, 9u);
}

TEST_F(Aql, TheCuMaskComesFromTheQueue) {
    for (const unsigned dw : {23, 24, 26, 27}) hqd.compute[dw] = 0;
    hqd.compute[mqd::compute_static_thread_mgmt_se2] = 2;
    submit(kernel(64 * 20));
    settle();
    ASSERT_EQ(fakes.launches.size(), 20u);
    for (const auto& l : fakes.launches) EXPECT_EQ(l.cu, 5u);
}

TEST_F(Aql, ThePacketAfterStartsWhenAllGroupsAreOut) {
    fakes.plan = [](const gcn::WorkgroupLaunch& l) { return WavePlan{.instructions = l.dispatch == 1 ? 4000u : 10u}; };
    set_signal(0, 1);
    set_signal(1, 1);
    submit(kernel(64 * 8).completion(signal(0)));
    submit(kernel(64).completion(signal(1)));
    step();
    EXPECT_FALSE(dispatcher.launched(1));
    EXPECT_EQ(hqd.aql.in_flight.size(), 1u);
    dispatcher.run(1);
    step();
    EXPECT_EQ(hqd.aql.in_flight.size(), 2u);
    // The second one ends first: its signal says so, its slot waits for the first.
    for (unsigned i = 0; i < 20 && signal_value(1) != 0; ++i) {
        dispatcher.run(500);
        step();
    }
    EXPECT_EQ(signal_value(1), 0);
    EXPECT_EQ(signal_value(0), 1);
    EXPECT_EQ(read_index(), 0u);
    EXPECT_EQ(header(1) & 0xff, 2);
    settle();
    EXPECT_EQ(signal_value(0), 0);
    EXPECT_EQ(read_index(), 2u);
}

TEST_F(Aql, TheBarrierBitWaitsForEverythingBefore) {
    fakes.plan = [](const auto&) { return WavePlan{.instructions = 2000}; };
    submit(kernel());
    submit(kernel());
    submit(kernel().barrier_bit());
    for (unsigned i = 0; i < 3; ++i) {
        step();
        dispatcher.run(1);
    }
    EXPECT_EQ(hqd.aql.in_flight.size(), 2u);
    EXPECT_EQ(fakes.launches.size(), 2u);
    settle();
    EXPECT_EQ(fakes.launches.size(), 3u);
    EXPECT_EQ(read_index(), 3u);
}

TEST_F(Aql, TheRingWraps) {
    set_signal(0, 1000);
    for (unsigned i = 0; i < 5 * kPackets; ++i) {
        submit(kernel().completion(signal(0)));
        if (i % 7 == 6) settle();
    }
    settle();
    EXPECT_EQ(signal_value(0), 1000 - 5 * static_cast<int64_t>(kPackets));
    EXPECT_EQ(read_index(), 5u * kPackets);
    for (unsigned i = 0; i < kPackets; ++i) EXPECT_EQ(header(i), 1);
}

TEST_F(Aql, AProducerThatPublishesLateIsWaitedFor) {
    set_signal(0, 2);
    write_packet(1, kernel().completion(signal(0)));
    aql.doorbell(hqd, 1);
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(signal_value(0), 2);
    // The slow producer fills slot 0 and rings its own, lower index.
    write_packet(0, kernel().completion(signal(0)));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(signal_value(0), 2) << "without a doorbell nothing is looked at";
    aql.doorbell(hqd, 0);
    settle();
    EXPECT_EQ(signal_value(0), 0);
    EXPECT_EQ(read_index(), 2u);
}

TEST_F(Aql, ADoorbellBeyondTheRingRunsNothingTwice) {
    fakes.plan = [](const auto&) { return WavePlan{.forever = true}; };
    for (unsigned i = 0; i < kPackets; ++i) submit(kernel());
    aql.doorbell(hqd, 1000);
    aql.doorbell(hqd, ~uint64_t{0});
    aql.doorbell(hqd, ~uint64_t{0} - 1);
    for (unsigned i = 0; i < 100; ++i) {
        step();
        dispatcher.run(100);
    }
    EXPECT_EQ(fakes.launches.size(), kPackets);
    EXPECT_EQ(env.stats.get(Fault::WritePointer), 3u);
}

TEST_F(Aql, BarrierAndWaitsForEverySignal) {
    set_signal(0, 1);
    set_signal(1, 0);
    set_signal(2, -1);
    set_signal(3, 1);
    submit(barrier(3, {signal(0), 0, signal(1), 0, signal(2)}).completion(signal(3)));
    submit(kernel());
    EXPECT_EQ(settle(), RunState::Polling);
    set_signal(0, 0);
    EXPECT_EQ(settle(), RunState::Polling) << "a negative value is not 0";
    EXPECT_TRUE(fakes.launches.empty()) << "nothing passes an unsatisfied barrier packet";
    EXPECT_EQ(signal_value(3), 1);
    set_signal(2, 0);
    settle();
    EXPECT_EQ(signal_value(3), 0);
    EXPECT_EQ(fakes.launches.size(), 1u);
    EXPECT_EQ(read_index(), 2u);
}

TEST_F(Aql, BarrierOrWaitsForOneSignal) {
    set_signal(0, 1);
    set_signal(1, 1);
    set_signal(2, 1);
    submit(barrier(5, {0, signal(0), signal(1)}).completion(signal(2)));
    EXPECT_EQ(settle(), RunState::Polling);
    set_signal(1, 0);
    settle();
    EXPECT_EQ(signal_value(2), 0);
}

TEST_F(Aql, BarriersWithoutSignalsAreSatisfied) {
    set_signal(0, 2);
    submit(barrier(3).completion(signal(0)));
    submit(barrier(5).completion(signal(0)));
    settle();
    EXPECT_EQ(signal_value(0), 0);
}

TEST_F(Aql, ABarrierPacketDoesNotWaitForKernelsUnlessItsBitSaysSo) {
    fakes.plan = [](const auto&) { return WavePlan{.forever = true}; };
    set_signal(0, 1);
    set_signal(1, 1);
    submit(kernel());
    submit(barrier(3).completion(signal(0)));
    submit(barrier(3).completion(signal(1)).barrier_bit());
    for (unsigned i = 0; i < 10; ++i) {
        step();
        dispatcher.run(100);
    }
    EXPECT_EQ(signal_value(0), 0);
    EXPECT_EQ(signal_value(1), 1);
    EXPECT_EQ(read_index(), 0u);
    dispatcher.kill_queue(hqd.id());
    settle();
    EXPECT_EQ(signal_value(1), 0);
    EXPECT_EQ(read_index(), 3u);
}

TEST_F(Aql, BarrierValueComparesSigned) {
    struct Case {
        uint32_t condition;
        int64_t value, reference, mask;
        bool met;
    };
    const Case cases[] = {
        {0, 5, 5, -1, true},  {0, 5, 4, -1, false}, {0, 0x15, 5, 0xf, true}, {1, 5, 4, -1, true},  {1, 5, 5, -1, false},
        {2, -1, 0, -1, true}, {2, 0, 0, -1, false}, {3, 0, 0, -1, true},     {3, 1, -1, -1, true}, {3, -2, -1, -1, false},
    };
    for (const Case& c : cases) {
        set_signal(0, c.value);
        set_signal(1, 1);
        submit(barrier_value(signal(0), c.reference, c.mask, c.condition).completion(signal(1)));
        settle();
        EXPECT_EQ(signal_value(1) == 0, c.met) << c.condition << ' ' << c.value << ' ' << c.reference;
        // Let the ones that wait go.
        for (const int64_t v : {c.reference, c.reference + 1, c.reference - 1}) {
            set_signal(0, v);
            settle();
        }
        EXPECT_EQ(signal_value(1), 0);
    }
}

TEST_F(Aql, BarrierValueWithoutSignalIsSatisfied) {
    set_signal(0, 1);
    submit(barrier_value(0, 5, -1, 0).completion(signal(0)));
    settle();
    EXPECT_EQ(signal_value(0), 0);
}

TEST_F(Aql, APm4BufferRunsInOrderAndCompletes) {
    set_signal(0, 1);
    ib_runner.waiting = true;
    submit(ib(0x7000000000 | 3, 40).completion(signal(0)));
    submit(kernel());
    EXPECT_EQ(settle(), RunState::Polling);
    ASSERT_EQ(hqd.pm4.ib_stack.size(), 1u);
    EXPECT_EQ(hqd.pm4.ib_stack[0].base, 0x7000000000u);
    EXPECT_EQ(hqd.pm4.ib_stack[0].size_dw, 40u);
    EXPECT_EQ(hqd.pm4.ib_stack[0].vmid, 9u);
    EXPECT_TRUE(fakes.launches.empty());
    ib_runner.waiting = false;
    settle();
    EXPECT_EQ(ib_runner.executed, 40u);
    EXPECT_EQ(signal_value(0), 0);
    EXPECT_EQ(read_index(), 2u);
}

TEST_F(Aql, ABadPm4BufferStopsTheQueue) {
    ib_runner.bad = true;
    submit(ib(0x1000, 4));
    submit(kernel());
    settle();
    EXPECT_EQ(hqd.state, HqdState::Stopped);
    EXPECT_TRUE(fakes.launches.empty());
    EXPECT_EQ(read_index(), 0u);
}

TEST_F(Aql, AWaitingBufferGoesOnAfterRemapping) {
    submit(ib(0x10000, 40));
    step();
    ib_runner.waiting = true;
    EXPECT_EQ(settle(), RunState::Polling);
    const unsigned executed = ib_runner.executed;
    EXPECT_GT(executed, 0u);
    hqd.state = HqdState::Draining;
    step();
    EXPECT_TRUE(aql.drained(hqd));
    aql.save(hqd);
    EXPECT_TRUE(hqd.pm4.ib_stack.empty());
    map();
    ib_runner.waiting = false;
    settle();
    EXPECT_EQ(ib_runner.executed, 40u);
    EXPECT_EQ(read_index(), 1u);
    EXPECT_EQ(hqd.regs[hqd_reg::CP_HQD_IB_CONTROL], 0u);
}

TEST_F(Aql, DrainingStartsNothingNew) {
    fakes.plan = [](const auto&) { return WavePlan{.instructions = 3000}; };
    set_signal(0, 1);
    submit(kernel().completion(signal(0)));
    step();
    dispatcher.run(1);
    submit(kernel());
    hqd.state = HqdState::Draining;
    EXPECT_FALSE(aql.drained(hqd));
    settle();
    EXPECT_TRUE(aql.drained(hqd));
    EXPECT_EQ(signal_value(0), 0);
    EXPECT_EQ(read_index(), 1u);
    EXPECT_EQ(fakes.launches.size(), 1u);
}

TEST_F(Aql, RemappingGoesOnWhereItWas) {
    for (unsigned i = 0; i < 20; ++i) {
        submit(kernel());
        settle();
    }
    hqd.state = HqdState::Draining;
    aql.save(hqd);
    EXPECT_EQ(hqd.compute[mqd::cp_mqd_readindex_lo], 20u);
    EXPECT_EQ(hqd.regs[hqd_reg::CP_HQD_PQ_RPTR], 20u * 16 % (kPackets * 16));
    const auto compute = hqd.compute;
    const auto regs = hqd.regs;
    // Rung while unmapped: only the write index in memory tells.
    write_packet(20, kernel());
    bus.memory.put<uint64_t>(kWptr, 21);
    hqd = Hqd{};
    hqd.me = 1;
    hqd.pipe = 1;
    hqd.compute = compute;
    hqd.regs = regs;
    map();
    settle();
    EXPECT_EQ(fakes.launches.size(), 21u);
    EXPECT_EQ(read_index(), 21u);
}

TEST_F(Aql, AWritePointerBehindTheReadPointerIsIgnored) {
    submit(kernel());
    settle();
    aql.save(hqd);
    bus.memory.put<uint64_t>(kWptr, 0);
    map();
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(fakes.launches.size(), 1u);
}

TEST_F(Aql, PacketsBehindAnEndlessOneAreBounded) {
    hqd.regs[hqd_reg::CP_HQD_PQ_CONTROL] = 20;
    const uint64_t packets = (uint64_t{2} << 20) / 16;
    bus.memory.map(kRing, packets * 64 < 0x80000 ? packets * 64 : 0x80000);
    fakes.plan = [](const auto&) { return WavePlan{.forever = true}; };
    bus.memory.write(9, kRing, kernel().bytes.data(), 64);
    for (uint64_t i = 1; i < 0x80000 / 64; ++i) bus.memory.write(9, kRing + 64 * i, barrier(3).bytes.data(), 64);
    aql.doorbell(hqd, 0x80000 / 64 - 1);
    for (unsigned i = 0; i < 1000; ++i) {
        step();
        dispatcher.run(10);
    }
    EXPECT_EQ(hqd.aql.in_flight.size(), 1024u);
}

/// Scopes: acquire 10:9, release 12:11; 1 agent, 2 system.
constexpr uint16_t fences(unsigned acquire, unsigned release) { return static_cast<uint16_t>(acquire << 9 | release << 11); }

TEST_F(Aql, OnlySystemFencesReachTheL2) {
    for (const unsigned acquire : {0u, 1u, 2u}) {
        for (const unsigned release : {0u, 1u, 2u}) {
            bus.l2_write_backs = bus.l2_invalidations = 0;
            submit(kernel().put<uint16_t>(0, 2 | fences(acquire, release)));
            settle();
            EXPECT_EQ(bus.l2_invalidations, acquire == 2 ? 1u : 0u);
            EXPECT_EQ(bus.l2_write_backs, release == 2 ? 1u : 0u);
            submit(barrier(3).put<uint16_t>(0, 3 | fences(acquire, release)));
            settle();
            EXPECT_EQ(bus.l2_invalidations, acquire == 2 ? 2u : 0u);
            EXPECT_EQ(bus.l2_write_backs, release == 2 ? 2u : 0u);
        }
    }
}

TEST_F(Aql, WhatAPacketReleasesIsInMemoryBeforeItsSignal) {
    set_signal(0, 1);
    bus.on_write_back = [this] { EXPECT_EQ(signal_value(0), 1); };
    submit(kernel().completion(signal(0)).put<uint16_t>(0, 2 | fences(2, 2)));
    settle();
    EXPECT_EQ(bus.l2_write_backs, 1u);
    EXPECT_EQ(signal_value(0), 0);
}

}  // namespace
}  // namespace lyra
