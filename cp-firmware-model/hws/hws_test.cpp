// SPDX-License-Identifier: MIT
// Hardware scheduler: run lists, VMIDs, slots, unmapping with every filter and action, oversubscription, failures.
#include "cp-firmware-model/testing/cp_rig.h"

namespace lyra {
namespace {

using namespace lyra::testing;
using pm4::Opcode;

constexpr uint64_t kFenceValue = 100;

class Hws : public CpRig {
protected:
    Hws() { start_hiq(); }

    static constexpr uint64_t kFence = kScratch + 0xf000;
    void submit_unmap(uint32_t select = 3, uint32_t action = 0, uint32_t pasid = 0) {
        bus.memory.put<uint64_t>(kFence, 10);
        submit(hiq, unmap(select, action, pasid));
        submit(hiq, query_status(kFence, kFenceValue));
    }
    bool fenced() { return qword(kFence) == kFenceValue; }
    unsigned mapped() {
        unsigned n = 0;
        for (unsigned pipe = 0; pipe < 4; ++pipe) {
            for (unsigned queue = 0; queue < 8; ++queue) n += reg(0xc91c, {1, uint8_t(pipe), uint8_t(queue), 0});
        }
        return n;
    }
    /// Maps queues of one process, all from one list.
    std::vector<Words> list_of(std::vector<TestRing>& rings, unsigned first, unsigned count, uint16_t pasid) {
        std::vector<Words> list{map_process(pasid)};
        for (unsigned n = first; n < first + count; ++n) {
            rings.push_back(user_ring(n));
            list.push_back(map_queue(rings.back()));
        }
        return list;
    }
};

TEST_F(Hws, MapProcessProgramsTheLowestVmid) {
    TestRing q = user_ring(0);
    run_list({map_process(0x8003), map_queue(q)});
    EXPECT_EQ(settle(), RunState::Idle);
    ASSERT_EQ(bus.bound, (std::set<uint32_t>{8}));
    const ProcessBinding& b = bus.bindings[8];
    EXPECT_EQ(b.pasid, 0x8003);
    EXPECT_EQ(b.page_table_base, 0x8003001u);
    EXPECT_EQ(b.sh_mem_bases, 0x00010002u);
    EXPECT_EQ(b.sh_mem_config, 0x18u);
    EXPECT_EQ(b.tba, 0xffffff0000123400u) << "bit 31 of the high word is not an address bit, bit 47 is the sign";
    EXPECT_EQ(b.tma, 0x567800u);
}

/// new_debug and debug_vmid: the debugger has set up the registers of that VMID, which is not among those of the others.
TEST_F(Hws, ADebuggedProcessGetsItsVmid) {
    submit(hiq, packet(Opcode::SET_RESOURCES, {0x7f00 | 40u << 16 | 1u << 29, kAllKfdSlots, 0, ~0u, ~0u, 0, 0}));
    TestRing q = user_ring(0), other = user_ring(1), third = user_ring(2);
    const auto debugged = [](uint16_t pasid) {
        Words packet = map_process(pasid);
        packet[1] |= 15u << 18 | 1u << 22;
        return packet;
    };
    run_list({map_process(0x8001), map_queue(q), debugged(0x8002), map_queue(other)});
    EXPECT_EQ(settle(), RunState::Idle);
    ASSERT_EQ(bus.bound, (std::set<uint32_t>{8, 15}));
    EXPECT_EQ(bus.bindings[8].pasid, 0x8001);
    EXPECT_EQ(bus.bindings[15].pasid, 0x8002);
    submit(hiq, unmap(3));
    settle();
    // Two of them take turns.
    for (TestRing* ring : {&q, &other, &third}) emit(*ring, write_data(kScratch + ring->doorbell, {1})), ring_bell(*ring);
    run_list({debugged(0x8001), map_queue(q), debugged(0x8002), map_queue(other), map_process(0x8003), map_queue(third)}, 8,
             true);
    std::set<uint16_t> seen;
    for (unsigned n = 0; n < 100; ++n) {
        cp.run(1000);
        pass_ms(1);
        if (bus.bound.count(15)) seen.insert(bus.bindings[15].pasid);
    }
    EXPECT_EQ(seen, (std::set<uint16_t>{0x8001, 0x8002}));
    for (const TestRing* ring : {&q, &other, &third}) EXPECT_EQ(word(kScratch + ring->doorbell), 1u);
}

/// Action 3 is the gfx ring's. A compute queue stays as it is, and what follows in the ring is done.
TEST_F(Hws, UnmapWithoutUnmappingLeavesComputeQueuesAlone) {
    TestRing q = user_ring(0);
    run_list({map_process(0x8001), map_queue(q)});
    settle();
    for (const uint32_t select : {0u, 1u, 2u, 3u}) {
        bus.memory.put<uint64_t>(kFence, 10);
        submit(hiq, packet(Opcode::UNMAP_QUEUES, {3 | select << 4 | 1u << 29, select == 1 ? 0x8001 : q.doorbell, 0x10, 0, 0}));
        submit(hiq, query_status(kFence, kFenceValue));
        settle();
        EXPECT_TRUE(fenced());
        EXPECT_EQ(faults(Fault::TodoPacket), select + 1);
    }
    EXPECT_EQ(mapped(), 1u);
    submit(q, write_data(kScratch, {7}));
    settle();
    EXPECT_EQ(word(kScratch), 7u);
    submit_unmap();
    settle();
    EXPECT_TRUE(fenced());
    EXPECT_EQ(mapped(), 0u);
}

TEST_F(Hws, TheLongerMapProcessIsReadAlike) {
    TestRing q = user_ring(0);
    run_list({map_process(0x8003, 20), map_queue(q)});
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(bus.bindings[8].pasid, 0x8003);
    EXPECT_EQ(mapped(), 1u);
}

TEST_F(Hws, QueuesSpreadOverPipesAndShowInTheRegisters) {
    std::vector<TestRing> rings;
    run_list(list_of(rings, 0, 5, 0x8001));
    settle();
    for (unsigned pipe = 0; pipe < 4; ++pipe) EXPECT_EQ(reg(0xc91c, {1, uint8_t(pipe), 2, 0}), 1u);
    EXPECT_EQ(reg(0xc91c, {1, 0, 3, 0}), 1u);
    EXPECT_EQ(reg(0xc920, {1, 0, 2, 0}) & 0xf, 8u);
    EXPECT_EQ(reg(0xc950, {1, 1, 2, 0}), rings[1].doorbell | 1u << 30);
    EXPECT_EQ(reg(0xc934, {1, 1, 2, 0}), lo32(rings[1].base >> 8));
}

TEST_F(Hws, WorkSubmittedBeforeMappingRunsAfterIt) {
    TestRing q = user_ring(0);
    emit(q, write_data(kScratch, {1}));
    EXPECT_FALSE(ring_bell(q)) << "nobody has this doorbell yet";
    run_list({map_process(0x8001), map_queue(q)});
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch), 1u);
}

TEST_F(Hws, ADoorbellOlderThanTheWritePointerInMemoryIsNoFault) {
    TestRing q = user_ring(0);
    emit(q, write_data(kScratch, {1}));
    const uint64_t older = q.wptr;
    emit(q, write_data(kScratch, {2}));
    bus.memory.put<uint64_t>(q.wptr_address, q.wptr);
    run_list({map_process(0x8001), map_queue(q)});
    EXPECT_EQ(settle(), RunState::Idle);
    ASSERT_EQ(word(kScratch), 2u);
    EXPECT_TRUE(cp.doorbell(q.doorbell, older)) << "rung first, handed over late";
    EXPECT_TRUE(cp.doorbell(q.doorbell, q.wptr));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(faults(Fault::WritePointer), 0u);
    submit(q, write_data(kScratch, {3}));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch), 3u);
    EXPECT_TRUE(cp.doorbell(q.doorbell, older));
    EXPECT_EQ(faults(Fault::WritePointer), 1u) << "doorbells come in order: this one is wrong";
}

TEST_F(Hws, UnmapWritesTheMqdBackAndReleasesTheVmid) {
    TestRing q = user_ring(0);
    run_list({map_process(0x8001), map_queue(q)});
    submit(q, write_data(kScratch, {1}));
    settle();
    submit(q, write_data(kScratch, {2}));
    settle();
    submit_unmap();
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_TRUE(fenced());
    EXPECT_EQ(mapped(), 0u);
    EXPECT_TRUE(bus.bound.empty());
    EXPECT_EQ(word(q.mqd + 130 * 4), 0u);
    EXPECT_EQ(word(q.mqd + 131 * 4), 0u) << "the VMID is not the queue's";
    EXPECT_EQ(word(q.mqd + 138 * 4), 10u);
    EXPECT_EQ(word(q.mqd + 182 * 4), 10u);
    EXPECT_EQ(word(hiq.mqd + 240 * 4), 0u);
}

TEST_F(Hws, QueueGoesOnWhereItWasUnmapped) {
    TestRing q = user_ring(0);
    run_list({map_process(0x8001), map_queue(q)});
    settle();
    for (unsigned n = 0; n < 140; ++n) submit(q, write_data(kScratch, {n})), settle();  // beyond one turn of the ring
    submit_unmap();
    settle();
    emit(q, write_data(kScratch + 4, {77}));
    ring_bell(q);
    run_list({map_process(0x8001), map_queue(q)});
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch), 139u);
    EXPECT_EQ(word(kScratch + 4), 77u);
    EXPECT_EQ(word(q.rptr), 705u % 512);
}

TEST_F(Hws, AWaitingPacketIsUnmappedAndExecutedAgain) {
    TestRing q = user_ring(0);
    run_list({map_process(0x8001), map_queue(q)});
    settle();
    Words ib = write_data(kScratch + 8, {1});
    const Words wait = packet(Opcode::WAIT_REG_MEM, {3 | 1 << 4, lo32(kScratch), 0, 5, ~0u, 4});
    const Words end = write_data(kScratch + 4, {9});
    ib.insert(ib.end(), wait.begin(), wait.end());
    ib.insert(ib.end(), end.begin(), end.end());
    put_words(kIb, ib);
    submit(q, indirect(kIb, ib.size()));
    EXPECT_EQ(settle(), RunState::Polling);
    submit_unmap();
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_TRUE(fenced());
    bus.memory.put<uint32_t>(kScratch + 8, 0);
    bus.memory.put<uint32_t>(kScratch, 5);
    run_list({map_process(0x8001), map_queue(q)});
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch + 4), 9u);
    EXPECT_EQ(word(kScratch + 8), 0u) << "the buffer began again instead of going on";
}

TEST_F(Hws, TheFenceComesAfterTheWavesHaveEnded) {
    TestRing q = user_ring(0);
    run_list({map_process(0x8001), map_queue(q)});
    settle();
    fakes.paused = true;
    submit(q, dispatch(2));
    submit(q, release_mem(kScratch, 1, 1, 0, 0));
    settle(20);
    submit_unmap();
    settle(20);
    EXPECT_FALSE(fenced());
    EXPECT_EQ(faults(Fault::NotSaveable), 1u);
    // The HIQ and the other rings are alive meanwhile.
    submit(kiq, write_data(kScratch + 4, {1}));
    settle(20);
    EXPECT_EQ(word(kScratch + 4), 1u);
    fakes.paused = false;
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_TRUE(fenced());
    EXPECT_EQ(word(kScratch), 1u) << "an end-of-pipe action was lost";
}

TEST_F(Hws, ResetKillsWavesAndTheirFences) {
    TestRing q = user_ring(0);
    run_list({map_process(0x8001), map_queue(q)});
    settle();
    plan({.forever = true});
    submit(q, dispatch(2));
    submit(q, release_mem(kScratch, 1, 1, 2, 5));
    settle(20);
    submit_unmap(2, 1);
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_TRUE(fenced());
    EXPECT_EQ(cp.dispatcher().waves_live_total(), 0u);
    EXPECT_EQ(word(kScratch), 0u);
    EXPECT_EQ(interrupts(181), 0u);
}

TEST_F(Hws, QueueThatDoesNotDrainIsReportedAndTheFenceStillComes) {
    std::vector<TestRing> rings;
    run_list(list_of(rings, 0, 2, 0x8001));
    settle();
    plan({.forever = true});
    submit(rings[1], dispatch(1));
    settle(20);
    submit_unmap();
    settle(20);
    EXPECT_FALSE(fenced());
    pass_ms(9000);
    settle(20);
    EXPECT_TRUE(fenced());
    EXPECT_EQ(faults(Fault::PreemptionFailed), 1u);
    EXPECT_EQ(word(hiq.mqd + 240 * 4), rings[1].doorbell / 4);
    EXPECT_EQ(mapped(), 1u) << "it keeps its slot, the other one is out";
    EXPECT_EQ(bus.bound.size(), 1u);
    // The driver resets it: SPI_COMPUTE_QUEUE_RESET completes the pending dequeue.
    set_reg(0xc76c, 1, {1, 1, 2, 0});
    EXPECT_EQ(reg(0xc91c, {1, 1, 2, 0}), 0u);
    EXPECT_EQ(settle(), RunState::Idle);
}

TEST_F(Hws, HaltedWavesDoNotHoldUpAnUnmap) {
    TestRing q = user_ring(0);
    run_list({map_process(0x8001), map_queue(q)});
    settle();
    plan({.halts = true});
    submit(q, dispatch(1));
    settle(20);
    submit_unmap();
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_TRUE(fenced());
    EXPECT_EQ(faults(Fault::PreemptionFailed), 0u);
    // Its waves are lost, so it must not run on when it is mapped again.
    run_list({map_process(0x8001), map_queue(q)});
    submit(q, write_data(kScratch, {1}));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch), 0u);
}

TEST_F(Hws, FiltersChooseTheirQueues) {
    std::vector<TestRing> rings;
    auto list = list_of(rings, 0, 2, 0x8001);
    const auto second = list_of(rings, 2, 1, 0x8002);
    list.insert(list.end(), second.begin(), second.end());
    list.push_back(map_queue(rings.emplace_back(user_ring(3)), 1u << 29 | 1u << 4 | 2u << 21));  // static
    run_list(list);
    settle();
    ASSERT_EQ(mapped(), 4u);
    submit(hiq, packet(Opcode::UNMAP_QUEUES, {1u << 29, rings[0].doorbell, 0, 0, 0}));
    settle();
    EXPECT_EQ(mapped(), 3u);
    submit_unmap(1, 0, 0x8001);
    settle();
    EXPECT_EQ(mapped(), 2u);
    EXPECT_EQ(bus.bound, (std::set<uint32_t>{9}));
    submit_unmap(3);
    settle();
    EXPECT_EQ(mapped(), 1u);
    submit_unmap(2);
    settle();
    EXPECT_EQ(mapped(), 0u);
    EXPECT_TRUE(fenced());
    submit(hiq, packet(Opcode::UNMAP_QUEUES, {1u << 29, 0x7770, 0, 0, 0}));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(faults(Fault::QueueNotMapped), 1u);
}

TEST_F(Hws, QueryStatusInterrupts) {
    submit(hiq, query_status(kFence, 5, 0));
    submit(hiq, query_status(kFence + 8, 6, 3));
    settle();
    EXPECT_EQ(interrupts(199), 2u);
    EXPECT_EQ(qword(kFence), 0u);
    EXPECT_EQ(qword(kFence + 8), 6u);
}

TEST_F(Hws, OversubscribedQueuesAllRun) {
    std::vector<TestRing> rings;
    const auto list = list_of(rings, 0, 65, 0x8001);
    for (unsigned n = 0; n < rings.size(); ++n) {
        emit(rings[n], write_data(kScratch + n * 4, {n + 1}));
        ring_bell(rings[n]);
    }
    run_list(list, 8, true);
    for (unsigned n = 0; n < 400; ++n) {
        cp.run(1000);
        EXPECT_LE(mapped(), 24u);
        pass_ms(1);
    }
    for (unsigned n = 0; n < rings.size(); ++n) EXPECT_EQ(word(kScratch + n * 4), n + 1);
    // New work of a queue that has no slot just now is found when its turn comes.
    for (TestRing& ring : rings) {
        emit(ring, write_data(kScratch + 0x1000 + (&ring - rings.data()) * 4, {3}));
        ring_bell(ring);
    }
    EXPECT_EQ(settle(20), RunState::Polling) << "time-sharing never ends by itself";
    for (unsigned n = 0; n < 400; ++n) cp.run(1000), pass_ms(1);
    for (unsigned n = 0; n < rings.size(); ++n) EXPECT_EQ(word(kScratch + 0x1000 + n * 4), 3u);
    submit_unmap();
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_TRUE(fenced());
    EXPECT_TRUE(bus.bound.empty());
}

TEST_F(Hws, MoreProcessesThanVmidsTakeTurns) {
    submit(hiq, packet(Opcode::SET_RESOURCES, {0x0300 | 40u << 16 | 1u << 29, kAllKfdSlots, 0, ~0u, ~0u, 0, 0}));
    settle();
    std::vector<TestRing> rings;
    std::vector<Words> list;
    for (unsigned p = 0; p < 5; ++p) {
        const auto part = list_of(rings, p * 2, 2, static_cast<uint16_t>(0x8001 + p));
        list.insert(list.end(), part.begin(), part.end());
    }
    for (unsigned n = 0; n < rings.size(); ++n) emit(rings[n], write_data(kScratch + n * 4, {n + 1})), ring_bell(rings[n]);
    run_list(list, 8, true);
    for (unsigned n = 0; n < 300; ++n) {
        cp.run(1000);
        EXPECT_LE(bus.bound.size(), 2u);
        pass_ms(1);
    }
    for (unsigned n = 0; n < rings.size(); ++n) EXPECT_EQ(word(kScratch + n * 4), n + 1);
}

TEST_F(Hws, AQueueThatSpinsDoesNotStarveTheOthers) {
    std::vector<TestRing> rings;
    const auto list = list_of(rings, 0, 30, 0x8001);
    plan({.forever = true});
    emit(rings[0], dispatch(1));
    ring_bell(rings[0]);
    for (unsigned n = 1; n < rings.size(); ++n) emit(rings[n], write_data(kScratch + n * 4, {n})), ring_bell(rings[n]);
    run_list(list, 8, true);
    for (unsigned n = 0; n < 1000; ++n) cp.run(100), pass_ms(1);
    for (unsigned n = 1; n < rings.size(); ++n) EXPECT_EQ(word(kScratch + n * 4), n);
    submit_unmap(3);  // the HIQ is served while the list rotates
    pass_ms(1);
    settle(20);
    pass_ms(9000);
    settle(20);
    EXPECT_TRUE(fenced());
}

TEST_F(Hws, SdmaQueuesAreMappedAndUnmappedWithTheOthers) {
    TestRing q = user_ring(0), s = user_ring(1);
    Words mqd(128);
    mqd[0] = 9 << 1 | 1 << 12;
    mqd[1] = lo32(s.base >> 8);
    mqd[9] = lo32(s.rptr);
    mqd[22] = s.doorbell;
    put_words(s.mqd, mqd);
    run_list({map_process(0x8001), map_queue(q), map_queue(s, 1u << 29 | 1u << 4 | 2u << 26)});
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_TRUE(sdma0.doorbell(s.doorbell, 0));
    submit_unmap(3);
    settle();
    EXPECT_TRUE(fenced());
    EXPECT_FALSE(sdma0.doorbell(s.doorbell, 0));
    EXPECT_TRUE(bus.bound.empty());
}

TEST_F(Hws, AqlQueuesKeepTheirIndexOverAnUnmap) {
    TestRing q = user_ring(0);
    bus.memory.put<uint32_t>(q.mqd + 181 * 4, 1);  // CP_HQD_AQL_CONTROL
    const uint64_t signal = kScratch + 0x40;
    bus.memory.put<int64_t>(signal + 8, 3);
    unsigned written = 0;
    const auto barrier = [&] {
        const uint64_t slot = q.base + written % 32 * 64;
        bus.memory.put<uint64_t>(slot + 0x38, signal);
        bus.memory.put<uint16_t>(slot, 3);
        bus.memory.put<uint64_t>(q.wptr_address, ++written);
        return cp.doorbell(q.doorbell, written - 1);
    };
    EXPECT_FALSE(barrier()) << "rung before it is mapped";
    run_list({map_process(0x8001), map_queue(q)});
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(qword(signal + 8), 2u);
    EXPECT_TRUE(barrier());
    settle();
    EXPECT_EQ(qword(q.rptr), 2u);
    submit_unmap();
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_TRUE(fenced());
    EXPECT_FALSE(barrier());
    EXPECT_EQ(qword(signal + 8), 1u);
    run_list({map_process(0x8001), map_queue(q)});
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(qword(signal + 8), 0u);
    EXPECT_EQ(qword(q.rptr), 3u);
}

TEST_F(Hws, BadListsAreRefused) {
    TestRing q = user_ring(0);
    run_list({{0x12345678}});
    settle();
    EXPECT_EQ(faults(Fault::PacketType), 1u);
    run_list({{0xc000ff00, 0}});
    settle();
    EXPECT_EQ(faults(Fault::UnknownOpcode), 1u);
    run_list({{pm4::header(Opcode::MAP_QUEUES, 6), 0}});
    settle();
    EXPECT_EQ(faults(Fault::ShortPacket), 1u);
    run_list({map_queue(q)});
    settle();
    EXPECT_EQ(faults(Fault::PacketField), 1u) << "a queue without a process";
    run_list(
        {map_process(0x8001), packet(Opcode::QUERY_STATUS, {0, 0, 0, 0, 0, 0}), map_queue(q, 1u << 29 | 1u << 4 | 7u << 26)});
    settle();
    EXPECT_EQ(faults(Fault::PacketField), 3u);
    submit(hiq, run_list_packet(0x700000000000, 100, 8));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(faults(Fault::RingUnreadable), 1u);
    submit(hiq, map_process(0x8001));
    settle();
    EXPECT_EQ(faults(Fault::TodoPacket), 1u);
    EXPECT_EQ(mapped(), 0u);
}

// In a ring a packet of type 2 is a NOP, and a packet of unknown opcode is unknown before it is short.
TEST_F(Hws, ListsAreStricterThanRings) {
    start_user();
    put_words(kRunList, {0x80000000});
    submit(hiq, packet(Opcode::RUN_LIST, {lo32(kRunList), 0, 1 | 1u << 23}));
    settle();
    EXPECT_EQ(faults(Fault::PacketType), 1u);
    put_words(kRunList, {0xc0050000, 0});
    submit(hiq, packet(Opcode::RUN_LIST, {lo32(kRunList), 0, 2 | 1u << 23}));
    settle();
    EXPECT_EQ(faults(Fault::ShortPacket), 1u);
    EXPECT_EQ(faults(Fault::UnknownOpcode), 0u);
}

TEST_F(Hws, ListsThatNothingCanServeAreRefused) {
    TestRing q = user_ring(0);
    submit(hiq, packet(Opcode::SET_RESOURCES, {1u << 29, kAllKfdSlots, 0, 0, 0, 0, 0}));
    run_list({map_process(0x8001), map_queue(q)});
    settle();
    EXPECT_EQ(faults(Fault::NoVmid), 1u);
    submit(hiq, packet(Opcode::SET_RESOURCES, {kKfdVmids | 1u << 29, 0, 0, 0, 0, 0, 0}));
    run_list({map_process(0x8001), map_queue(q)});
    settle();
    EXPECT_EQ(faults(Fault::NoHqd), 1u);
    submit(hiq, packet(Opcode::SET_RESOURCES, {kKfdVmids | 1u << 29, kAllKfdSlots, 0, 0, 0, 0, 0}));
    TestRing lost = user_ring(1);
    lost.mqd = 0x700000000000;
    run_list({map_process(0x8001), map_queue(lost), map_queue(q)});
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(faults(Fault::MqdUnreadable), 1u);
    EXPECT_EQ(mapped(), 1u);
}

TEST_F(Hws, ListThatChainsToNothingEnds) {
    TestRing q = user_ring(0);
    const Words loop = run_list_packet(kRunList, 4, 8, true);
    put_words(kRunList, loop);
    submit(hiq, run_list_packet(kRunList, 4, 8));
    EXPECT_EQ(settle(), RunState::Idle);
    run_list({map_process(0x8001), map_queue(q)});
    settle();
    EXPECT_EQ(mapped(), 1u);
}

TEST_F(Hws, KiqStopsTheHiqByReset) {
    submit(kiq, kiq_unmap(hiq, 1));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(reg(0xc91c, {2, 0, 0, 0}), 0u);
    EXPECT_FALSE(ring_bell(hiq));
}

TEST_F(Hws, KiqCannotTakeItsOwnSlot) {
    submit(kiq, kiq_map(kiq, 2, 1, 0, 0));
    settle();
    EXPECT_EQ(faults(Fault::NoHqd), 1u);
    submit(kiq, write_data(kScratch, {1}));
    settle();
    EXPECT_EQ(word(kScratch), 1u);
}

}  // namespace
}  // namespace lyra
