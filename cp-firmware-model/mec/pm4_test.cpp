// SPDX-License-Identifier: MIT
// PM4 packets that move data and registers, wait, signal and dispatch; bad packets are in pm4_bad_test.cpp.
#include "cp-firmware-model/testing/cp_rig.h"

namespace lyra {
namespace {

using namespace lyra::testing;
using pm4::Opcode;

class Pm4 : public CpRig {
protected:
    Pm4() { start_kcq(); }
};

class Pm4User : public CpRig {
protected:
    Pm4User() { start_user(); }
};

TEST_F(Pm4, WriteDataReachesMemory) {
    submit(kcq, write_data(kScratch, {0x11, 0x22, 0x33}));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch), 0x11u);
    EXPECT_EQ(word(kScratch + 8), 0x33u);
}

TEST_F(Pm4, WriteDataToOneAddressKeepsTheLastWord) {
    submit(kcq, write_data(kScratch, {1, 2, 3}, 5 << 8 | 1 << 16));
    settle();
    EXPECT_EQ(word(kScratch), 3u);
    EXPECT_EQ(word(kScratch + 4), 0u);
}

TEST_F(Pm4, WriteDataReachesRegisters) {
    submit(kcq, packet(Opcode::WRITE_DATA, {0, kScratchReg, 0, 5, 6}));
    submit(kcq, packet(Opcode::WRITE_DATA, {1 << 16, kScratchReg + 4, 0, 7, 8}));
    settle();
    EXPECT_EQ(bus.registers[kScratchReg], 5u);
    EXPECT_EQ(bus.registers[kScratchReg + 1], 6u);
    EXPECT_EQ(bus.registers[kScratchReg + 4], 8u);
}

TEST_F(Pm4, SetRegisterPacketsUseTheirBases) {
    submit(kcq, packet(Opcode::SET_UCONFIG_REG, {0x40, 0xdeadbeef}));
    submit(kcq, packet(Opcode::SET_CONFIG_REG, {0x1348, 0x77}));
    settle();
    EXPECT_EQ(bus.registers[0x30100 / 4], 0xdeadbeefu);
    EXPECT_EQ(bus.registers[0x0cd20 / 4], 0x77u);
}

TEST_F(Pm4, NopWithTheLargestCountIsOneDword) {
    submit(kcq, {pm4::kOneDwordNop, pm4::kOneDwordNop});
    submit(kcq, packet(Opcode::NOP, {0xffffffff, 0xffffffff}));
    submit(kcq, {0x80000000});
    submit(kcq, write_data(kScratch, {9}));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch), 9u);
}

TEST_F(Pm4, ReadPointerIsReportedWrapped) {
    for (unsigned n = 0; n < 150; ++n) submit(kcq, write_data(kScratch, {n})), settle();
    EXPECT_EQ(kcq.wptr, 750u);
    EXPECT_EQ(word(kcq.rptr), 750u % 512);
    EXPECT_EQ(reg(0xc93c, {1, 0, 0, 0}), 750u % 512);
    EXPECT_EQ(word(kScratch), 149u);
}

TEST_F(Pm4, WaitForMemoryPollsUntilTheValueIsThere) {
    submit(kcq, packet(Opcode::WAIT_REG_MEM, {3 | 1 << 4, lo32(kScratch), 0, 5, 0xff, 4}));
    submit(kcq, write_data(kScratch + 16, {1}));
    EXPECT_EQ(settle(), RunState::Polling);
    EXPECT_EQ(word(kScratch + 16), 0u);
    bus.memory.put<uint32_t>(kScratch, 0xab05);
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch + 16), 1u);
}

TEST_F(Pm4, WaitComparesInEveryWay) {
    struct Case {
        uint32_t function, value;
        bool passes;
    };
    const Case cases[] = {{0, 9, true}, {1, 4, true},  {1, 5, false}, {2, 5, true},  {2, 6, false}, {3, 5, true}, {3, 4, false},
                          {4, 4, true}, {4, 5, false}, {5, 5, true},  {5, 4, false}, {6, 6, true},  {6, 5, false}};
    for (const Case& c : cases) {
        bus.memory.put<uint32_t>(kScratch, c.value);
        submit(kcq, packet(Opcode::WAIT_REG_MEM, {c.function | 1 << 4, lo32(kScratch), 0, 5, ~0u, 4}));
        EXPECT_EQ(settle(), c.passes ? RunState::Idle : RunState::Polling) << c.function << " " << c.value;
        bus.memory.put<uint32_t>(kScratch, c.function == 1 ? 0 : c.function == 4 ? 0 : c.function == 6 ? 99 : 5);
        EXPECT_EQ(settle(), RunState::Idle) << c.function;
    }
}

TEST_F(Pm4, WriteThenWaitWritesOnceAndComparesUnderTheMask) {
    const uint32_t request = 0x1000, acknowledge = 0x1001;
    submit(kcq, packet(Opcode::WAIT_REG_MEM, {3 | 1 << 6, request, acknowledge, 0x00f80002, 0x2, 4}));
    EXPECT_EQ(settle(), RunState::Polling);
    EXPECT_EQ(bus.registers[request], 0x00f80002u);
    bus.registers[request] = 0;
    EXPECT_EQ(settle(), RunState::Polling);
    EXPECT_EQ(bus.registers[request], 0u) << "written again while it waits";
    bus.registers[acknowledge] = 0x2;
    EXPECT_EQ(settle(), RunState::Idle);
}

TEST_F(Pm4, CondExecSkipsWhenTheWordIsZero) {
    for (const uint32_t value : {0u, 1u}) {
        bus.memory.put<uint32_t>(kScratch, value);
        bus.memory.put<uint32_t>(kScratch + 4, 0);
        submit(kcq, packet(Opcode::COND_EXEC, {lo32(kScratch), 0, 0, 5}));
        submit(kcq, write_data(kScratch + 4, {7}));
        submit(kcq, write_data(kScratch + 8, {8 + value}));
        EXPECT_EQ(settle(), RunState::Idle);
        EXPECT_EQ(word(kScratch + 4), value ? 7u : 0u);
        EXPECT_EQ(word(kScratch + 8), 8 + value);
    }
}

TEST_F(Pm4, PredExecLooksAtDeviceZero) {
    submit(kcq, packet(Opcode::PRED_EXEC, {2u << 24 | 5}));
    submit(kcq, write_data(kScratch, {1}));
    submit(kcq, packet(Opcode::PRED_EXEC, {1u << 24 | 5}));
    submit(kcq, write_data(kScratch + 4, {1}));
    settle();
    EXPECT_EQ(word(kScratch), 0u);
    EXPECT_EQ(word(kScratch + 4), 1u);
}

/// Whoever reads one finds a number and not what lay there.
TEST_F(Pm4, PerformanceCountersAreZero) {
    start_user();
    bus.memory.put<uint64_t>(kScratch, ~uint64_t{0});
    submit(user, packet(Opcode::COPY_DATA, {4 | 5 << 8 | 1 << 16, 0x123, 0, lo32(kScratch), 0}));
    settle();
    EXPECT_EQ(qword(kScratch), 0u);
    EXPECT_EQ(faults(Fault::TodoPacket), 1u);
}

TEST_F(Pm4, CopyDataBetweenRegisterMemoryImmediateAndClock) {
    bus.registers[kScratchReg] = 0x1234;
    submit(kcq, packet(Opcode::COPY_DATA, {0 | 5 << 8 | 1 << 20, kScratchReg, 0, lo32(kScratch), 0}));
    submit(kcq, packet(Opcode::COPY_DATA, {1 | 0 << 8, lo32(kScratch), 0, kScratchReg + 1, 0}));
    submit(kcq, packet(Opcode::COPY_DATA, {5 | 1 << 8 | 1 << 16, 0xaaaa, 0xbbbb, lo32(kScratch + 8), 0}));
    submit(kcq, packet(Opcode::COPY_DATA, {9 | 1 << 8 | 1 << 16, 0, 0, lo32(kScratch + 16), 0}));
    settle();
    EXPECT_EQ(word(kScratch), 0x1234u);
    EXPECT_EQ(bus.registers[kScratchReg + 1], 0x1234u);
    EXPECT_EQ(qword(kScratch + 8), 0xbbbb0000aaaaull);
    EXPECT_GT(qword(kScratch + 16), 0u);
}

TEST_F(Pm4, DmaDataCopiesAndFills) {
    for (unsigned i = 0; i < 16; ++i) bus.memory.put<uint32_t>(kScratch + i * 4, i + 100);
    submit(kcq, packet(Opcode::DMA_DATA, {3u << 29 | 3u << 20, lo32(kScratch), 0, lo32(kScratch + 0x100), 0, 64}));
    submit(kcq, packet(Opcode::DMA_DATA, {2u << 29, 0x01020304, 0, lo32(kScratch + 0x2000), 0, 0x80006}));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch + 0x100), 100u);
    EXPECT_EQ(word(kScratch + 0x13c), 115u);
    EXPECT_EQ(word(kScratch + 0x2000 + 0x80000), 0x01020304u) << "more than one step";
    EXPECT_EQ(word(kScratch + 0x2000 + 0x80004), 0x0304u);
}

TEST_F(Pm4, AtomicsOnMemory) {
    struct Case {
        uint32_t op;
        uint64_t old, source, expected;
    };
    const Case cases[] = {{0x07, 5, 9, 9},
                          {0x0f, 5, 9, 14},
                          {0x10, 5, 9, 0xfffffffc},
                          {0x11, 5, 0xffffffff, 0xffffffff},
                          {0x12, 5, 0xffffffff, 5},
                          {0x13, 5, 0xffffffff, 5},
                          {0x14, 5, 9, 9},
                          {0x15, 6, 3, 2},
                          {0x16, 6, 3, 7},
                          {0x17, 6, 3, 5},
                          {0x18, 5, 5, 0},
                          {0x19, 0, 7, 7},
                          {0x2f, 0xffffffff, 1, 0x100000000}};
    for (const Case& c : cases) {
        bus.memory.put<uint64_t>(kScratch, c.old);
        submit(kcq, packet(Opcode::ATOMIC_MEM, {c.op, lo32(kScratch), 0, lo32(c.source), hi32(c.source), 0, 0, 0}));
        EXPECT_EQ(settle(), RunState::Idle);
        EXPECT_EQ(qword(kScratch), c.expected) << "operation " << c.op;
    }
}

TEST_F(Pm4, CompareSwapMayLoopUntilItHolds) {
    bus.memory.put<uint32_t>(kScratch, 1);
    submit(kcq, packet(Opcode::ATOMIC_MEM, {0x08 | 1 << 8, lo32(kScratch), 0, 7, 0, 2, 0, 0}));
    EXPECT_EQ(settle(), RunState::Polling);
    bus.memory.put<uint32_t>(kScratch, 2);
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch), 7u);
}

TEST_F(Pm4, IndirectBuffersNestAndChain) {
    Words inner = write_data(kScratch, {1});
    put_words(kIb + 0x1000, inner);
    Words outer = indirect(kIb + 0x1000, inner.size());
    const Words more = write_data(kScratch + 4, {2});
    outer.insert(outer.end(), more.begin(), more.end());
    const Words next = write_data(kScratch + 8, {3});
    put_words(kIb + 0x2000, next);
    const Words chain = indirect(kIb + 0x2000, next.size(), 1 << 20);
    outer.insert(outer.end(), chain.begin(), chain.end());
    put_words(kIb, outer);
    submit(kcq, indirect(kIb, outer.size(), 1 << 23));
    submit(kcq, write_data(kScratch + 12, {4}));
    EXPECT_EQ(settle(), RunState::Idle);
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(word(kScratch + 4 * i), i + 1);
}

TEST_F(Pm4, ReadPointerStaysBehindAWaitingBuffer) {
    Words ib = packet(Opcode::WAIT_REG_MEM, {3 | 1 << 4, lo32(kScratch), 0, 5, ~0u, 4});
    put_words(kIb, ib);
    submit(kcq, indirect(kIb, ib.size()));
    EXPECT_EQ(settle(), RunState::Polling);
    EXPECT_EQ(word(kcq.rptr), 0u);
    bus.memory.put<uint32_t>(kScratch, 5);
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kcq.rptr), 4u);
}

TEST_F(Pm4, ReleaseMemWritesDataAndInterruptsWithItsRing) {
    submit(kcq, release_mem(kScratch, 0x1122334455667788, 1, 0, 0));
    submit(kcq, release_mem(kScratch + 8, 0x1122334455667788, 2, 2, 0x42));
    submit(kcq, release_mem(kScratch + 16, 0, 3, 0, 0));
    submit(kcq, release_mem(0, 0, 0, 1, 0x43));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(qword(kScratch), 0x55667788u);
    EXPECT_EQ(qword(kScratch + 8), 0x1122334455667788u);
    EXPECT_GT(qword(kScratch + 16), 0u);
    ASSERT_EQ(interrupts(181), 2u);
    EXPECT_EQ(bus.interrupts[0].ring_id, 1 << 2);
    EXPECT_EQ(bus.interrupts[0].data[0], 0x42u);
    EXPECT_EQ(bus.interrupts[1].data[0], 0x43u);
}

TEST_F(Pm4, ReadPointerIsReportedBeforeTheInterruptOfReleaseMem) {
    const Words first = release_mem(kScratch, 1, 1, 2, 0), second = release_mem(kScratch, 2, 1, 2, 0);
    std::vector<uint32_t> seen;
    bus.on_interrupt = [&](const Interrupt&) { seen.push_back(word(kcq.rptr)); };
    submit(kcq, first);
    submit(kcq, second);
    EXPECT_EQ(settle(), RunState::Idle);
    bus.on_interrupt = nullptr;
    const auto dwords = static_cast<uint32_t>(first.size());
    EXPECT_EQ(seen, (std::vector<uint32_t>{dwords, 2 * dwords})) << "the room that who was interrupted finds";
}

TEST_F(Pm4, AcquireMemWithTheCodeCacheBitDropsDecodedCode) {
    submit(kcq, packet(Opcode::ACQUIRE_MEM, {1u << 23, ~0u, 0xff, 0, 0, 10}));
    settle();
    const unsigned before = fakes.invalidations;
    submit(kcq, packet(Opcode::ACQUIRE_MEM, {1u << 29, ~0u, 0xff, 0, 0, 10}));
    settle();
    EXPECT_GT(fakes.invalidations, before);
}

TEST_F(Pm4, InvalidateTlbsByPasid) {
    submit(kcq, packet(Opcode::INVALIDATE_TLBS, {1 | 1 << 4 | 0x8001 << 5}));
    settle();
    ASSERT_EQ(bus.invalidated.size(), 1u);
    EXPECT_EQ(bus.invalidated[0].first, 0x8001);
    EXPECT_TRUE(bus.invalidated[0].second);
}

TEST_F(Pm4User, DispatchUsesTheQueuesComputeState) {
    Words words = packet(Opcode::SET_SH_REG, {0x20c, 0x1234, 0x1});  // PGM_LO, HI
    const Words rsrc = packet(Opcode::SET_SH_REG, {0x212, 0x0c0084, 4 << 1 | 1 << 7 | 2 << 15});
    const Words data = packet(Opcode::SET_SH_REG, {0x240, 0xa, 0xb, 0xc, 0xd});
    words.insert(words.end(), rsrc.begin(), rsrc.end());
    words.insert(words.end(), data.begin(), data.end());
    submit(user, words);
    submit(user, dispatch(3));
    EXPECT_EQ(settle(), RunState::Idle);
    ASSERT_EQ(fakes.launches.size(), 3u);
    const gcn::WorkgroupLaunch& launch = fakes.launches[2].launch;
    EXPECT_EQ(launch.entry, 0x100001234ull << 8);
    EXPECT_EQ(launch.vmid, 8u);
    EXPECT_EQ(launch.group_size[0], 64u);
    EXPECT_EQ(launch.lds_bytes, 1024u);
    EXPECT_EQ(launch.user_sgpr_count, 4u);
    EXPECT_EQ(launch.user_sgprs[3], 0xdu);
    EXPECT_TRUE(bus.registers.empty()) << "a register was written";
}

TEST_F(Pm4User, ThreadDimensionsCutTheLastGroup) {
    submit(user, packet(Opcode::SET_SH_REG, {0x207, 64, 1, 1}));
    submit(user, packet(Opcode::DISPATCH_DIRECT, {100, 1, 1, 0x21}));
    settle();
    ASSERT_EQ(fakes.launches.size(), 2u);
    EXPECT_EQ(fakes.launches[0].launch.group_valid[0] + fakes.launches[1].launch.group_valid[0], 100u);
}

TEST_F(Pm4User, DispatchIndirectReadsItsDimensions) {
    put_words(kScratch, {2, 2, 1});
    submit(user, packet(Opcode::SET_SH_REG, {0x207, 8, 8, 1}));
    submit(user, packet(Opcode::DISPATCH_INDIRECT, {lo32(kScratch), 0, 1}));
    settle();
    EXPECT_EQ(fakes.launches.size(), 4u);
}

TEST_F(Pm4User, ReleaseMemWaitsForTheDispatchesBeforeIt) {
    plan({.forever = true});
    submit(user, dispatch(1));
    submit(user, release_mem(kScratch, 1, 1, 2, 7));
    submit(user, write_data(kScratch + 4, {1}));
    settle();
    EXPECT_EQ(word(kScratch), 0u);
    EXPECT_EQ(word(kScratch + 4), 1u) << "the ring goes on meanwhile";
    cp.dispatcher().kill_vmid(8);
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch), 1u);
    ASSERT_EQ(interrupts(181), 1u);
    EXPECT_EQ(bus.interrupts.back().vmid, 8);
    EXPECT_EQ(bus.interrupts.back().pasid, 0x8001);
    EXPECT_EQ(bus.interrupts.back().data[0], 7u);
}

TEST_F(Pm4User, PartialFlushHoldsTheRingUntilWavesHaveEnded) {
    plan({.instructions = 5000});
    submit(user, dispatch(2));
    submit(user, packet(Opcode::EVENT_WRITE, {7 | 4 << 8}));
    submit(user, write_data(kScratch, {1}));
    cp.run(10);
    cp.run(10);
    EXPECT_EQ(word(kScratch), 0u);
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch), 1u);
}

TEST_F(Pm4User, ProgramsCannotTakeTheTrapHandlerAway) {
    submit(hiq, unmap(3));
    settle();
    bus.memory.put<uint32_t>(user.mqd + mqd::compute_pgm_rsrc2 * 4, 1 << 6);
    run_list({map_process(0x8001), map_queue(user)});
    settle();
    submit(user, packet(Opcode::SET_SH_REG, {0x213, 0}));
    submit(user, dispatch(1));
    settle();
    ASSERT_EQ(fakes.launches.size(), 1u);
    EXPECT_TRUE(bit(fakes.launches[0].launch.rsrc2, 6));
}

TEST_F(Pm4, ReleaseAndAcquireMemActOnTheL2AsTheirBitsSay) {
    struct Case {
        uint32_t event;
        unsigned write_backs, invalidations;
    };
    for (const Case& c : {Case{0x14, 0, 0}, Case{0x14 | 1 << 15, 1, 0}, Case{0x14 | 1 << 17, 1, 1}}) {
        bus.l2_write_backs = bus.l2_invalidations = 0;
        bus.on_write_back = [this] { EXPECT_EQ(word(kScratch), 0u) << "the data comes after what it tells of"; };
        bus.memory.put<uint32_t>(kScratch, 0);
        submit(kcq, packet(Opcode::RELEASE_MEM, {c.event, 1u << 29, kScratch, 0, 1, 0, 0}));
        settle();
        EXPECT_EQ(word(kScratch), 1u);
        EXPECT_EQ(bus.l2_write_backs, c.write_backs) << c.event;
        EXPECT_EQ(bus.l2_invalidations, c.invalidations) << c.event;
    }
    bus.on_write_back = nullptr;
    for (const Case& c : {Case{1u << 29, 0, 0}, Case{1u << 18, 1, 0}, Case{1u << 23, 0, 1}}) {
        bus.l2_write_backs = bus.l2_invalidations = 0;
        submit(kcq, packet(Opcode::ACQUIRE_MEM, {c.event, ~0u, 0xff, 0, 0, 10}));
        settle();
        EXPECT_EQ(bus.l2_write_backs, c.write_backs) << c.event;
        EXPECT_EQ(bus.l2_invalidations, c.invalidations) << c.event;
    }
}

TEST_F(Pm4, AHeavyweightInvalidationOfTranslationsDropsTheL2) {
    submit(kcq, packet(Opcode::INVALIDATE_TLBS, {1u | 0x8001u << 5}));
    settle();
    EXPECT_EQ(bus.l2_invalidations, 0u);
    submit(kcq, packet(Opcode::INVALIDATE_TLBS, {1u | 0x8001u << 5 | 2u << 29}));
    settle();
    EXPECT_EQ(bus.l2_invalidations, 1u);
}

}  // namespace
}  // namespace lyra
