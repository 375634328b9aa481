// SPDX-License-Identifier: MIT
// Registers: banking, bring-up by register writes, halts, resets, the gfx ring, what is not the command processor's.
#include "cp-firmware-model/testing/cp_rig.h"

namespace lyra {
namespace {

using namespace lyra::testing;
using pm4::Opcode;

class CpRegs : public CpRig {
protected:
    static constexpr GrbmSelect kSlot{1, 2, 3, 0};
    /// GRBM_STATUS, GRBM_STATUS2, CP_CPC_STATUS, CP_CPC_BUSY_STAT, CP_CPF_STATUS, CP_STAT, GRBM_STATUS_SE0 to SE3.
    static constexpr uint32_t kStatus[] = {0x8010, 0x8008, 0x8210, 0x8214, 0x821c, 0x8680, 0x8014, 0x8018, 0x8038, 0x803c};
    std::vector<uint32_t> status() {
        std::vector<uint32_t> values;
        for (const uint32_t byte : kStatus) values.push_back(reg(byte));
        return values;
    }
    static const std::vector<uint32_t> kIdle;
};

const std::vector<uint32_t> CpRegs::kIdle = std::vector<uint32_t>(std::size(kStatus));

TEST_F(CpRegs, ResetValuesAreThoseOfTheChip) {
    EXPECT_EQ(reg(0xc924, kSlot), 0x0be05301u);
    EXPECT_EQ(reg(0xc958, kSlot), 0x00308509u);
    EXPECT_EQ(reg(0xc994, kSlot), 0x40000000u);
    EXPECT_EQ(reg(0xc2c0), 0x40404040u);
    EXPECT_EQ(reg(0x8234), 0x50000000u);
    EXPECT_EQ(reg(0xc91c, kSlot), 0u);
}

TEST_F(CpRegs, QueueRegistersAreBanked) {
    set_reg(0xc934, 0x111, {1, 2, 3, 0});
    set_reg(0xc934, 0x222, {2, 2, 3, 0});
    EXPECT_EQ(reg(0xc934, {1, 2, 3, 0}), 0x111u);
    EXPECT_EQ(reg(0xc934, {2, 2, 3, 0}), 0x222u);
    EXPECT_EQ(reg(0xc934, {1, 2, 4, 0}), 0u);
    set_reg(0xc934, 0x333, {0, 0, 0, 0});
    EXPECT_EQ(faults(Fault::RegisterRange), 1u);
    set_reg(0xc2d0, 5, {1, 1, 0, 0});
    EXPECT_EQ(reg(0xc2d0, {1, 1, 0, 0}), 5u);
    EXPECT_EQ(reg(0xc2d0, {1, 2, 0, 0}), 0u);
}

TEST_F(CpRegs, StatusIsBusyWhileWavesAreResident) {
    EXPECT_EQ(status(), kIdle);
    start_user();
    EXPECT_EQ(status(), kIdle) << "queues that have nothing to do are mapped";
    plan({.forever = true});
    submit(user, dispatch(1));
    settle();
    // The only group is on the first engine, its queue on ME1 pipe 0.
    const std::vector<uint32_t> one{1u << 31 | 1u << 29 | 1u << 22,
                                    1u << 29 | 1u << 28,
                                    1u << 31 | 1u,
                                    1u << 10,
                                    1u << 31 | 1u << 27 | 1u << 15,
                                    0,
                                    1u << 27,
                                    0,
                                    0,
                                    0};
    EXPECT_EQ(status(), one);
    submit(user, dispatch(1));
    settle();
    EXPECT_EQ(reg(0x8018), 1u << 27) << "the chip of the bench has two engines";
    EXPECT_EQ(reg(0x8038), 0u);
    // What the driver does to a queue that hangs: unmap it with a reset.
    submit(hiq, unmap(3, 1));
    settle();
    EXPECT_EQ(status(), kIdle);
    // A wave that ends.
    plan({.instructions = 10});
    run_list({map_process(0x8001), map_queue(user)});
    submit(user, dispatch(4));
    settle();
    EXPECT_EQ(status(), kIdle);
}

TEST_F(CpRegs, StatusIsBusyWhilePacketsAreExecuted) {
    start_user();
    // It waits for memory, so that nothing but its packet is unfinished.
    submit(user, packet(Opcode::WAIT_REG_MEM, {3 | 1 << 4, lo32(kScratch), 0, 1, ~0u, 4}));
    settle();
    EXPECT_EQ(reg(0x8010), 1u << 31 | 1u << 29);
    EXPECT_EQ(reg(0x8014), 0u);
    bus.memory.put<uint32_t>(kScratch, 1);
    settle();
    EXPECT_EQ(status(), kIdle);
    // Packets that nobody fetches: the driver halts the micro engines before it takes the chip down.
    set_reg(0x8234, 0x50000000);
    submit(user, write_data(kScratch, {2}));
    EXPECT_EQ(status(), kIdle);
    set_reg(0x8234, 0);
    EXPECT_NE(status(), kIdle);
    settle();
    EXPECT_EQ(status(), kIdle);
    // A packet that stops its queue.
    submit(user, {0xc000ff00, 0});
    settle();
    EXPECT_EQ(status(), kIdle);
}

TEST_F(CpRegs, StatusTellsTheGfxRingFromTheComputeQueues) {
    TestRing ring = start_gfx();
    submit(ring, packet(Opcode::WAIT_REG_MEM, {3 | 1 << 4, lo32(kScratch), 0, 1, ~0u, 4}));
    settle();
    EXPECT_EQ(status(), (std::vector<uint32_t>{1u << 31 | 1u << 29, 1u << 30 | 1u << 28, 0, 0, 1u << 31 | 1u << 26,
                                               1u << 31 | 1u << 17, 0, 0, 0, 0}));
    bus.memory.put<uint32_t>(kScratch, 1);
    settle();
    EXPECT_EQ(status(), kIdle);
}

TEST_F(CpRegs, OtherRegistersAreLeftToTheChip) {
    uint32_t value = 0;
    EXPECT_FALSE(cp.read_register(0x30100 / 4, {}, value));
    EXPECT_FALSE(cp.write_register(0x30100 / 4, {}, 1));
}

TEST_F(CpRegs, KiqKeepsItsDoorbellWhileTheMecIsHalted) {
    start_kiq();
    set_reg(0x8234, 0x50000000);
    submit(kiq, write_data(kScratch, {1}));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch), 0u);
    start_mec();
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch), 1u);
}

TEST_F(CpRegs, KiqInterruptsThroughItsStatusRegister) {
    start_kiq();
    submit(kiq, packet(Opcode::WRITE_DATA, {1 << 20, 0xc2d4 / 4, 0, 0x20000000}));
    settle();
    ASSERT_EQ(interrupts(178), 1u);
    EXPECT_EQ(bus.interrupts[0].ring_id, 1 | 2 << 2);
}

TEST_F(CpRegs, DequeueByRegisterFreesTheSlotAtOnce) {
    start_kiq();
    set_reg(0xc974, 1, {2, 1, 0, 0});
    EXPECT_EQ(reg(0xc91c, {2, 1, 0, 0}), 0u);
    EXPECT_FALSE(ring_bell(kiq));
}

TEST_F(CpRegs, QueueLoadedByRegistersReadsItsWritePointerOnce) {
    start_mec();
    TestRing q = user_ring(0);
    emit(q, write_data(kScratch, {1}));
    bus.memory.put<uint64_t>(q.wptr_address, q.wptr);
    const GrbmSelect slot{1, 1, 2, 0};
    for (unsigned n = 0; n < 56; ++n) set_reg(0xc914 + n * 4, word(q.mqd + (128 + n) * 4), slot);
    set_reg(0xc920, 8, slot);
    set_reg(0xc950, q.doorbell | 1u << 30, slot);
    set_reg(0xc9ec, 0, slot);
    set_reg(0xc9f0, 0, slot);
    set_reg(0xc210, 1u << (1 * 8 + 2));
    set_reg(0xc91c, 1, slot);
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch), 1u);
    submit(q, write_data(kScratch, {2}));
    settle();
    EXPECT_EQ(word(kScratch), 2u);
    submit(q, packet(Opcode::WRITE_DATA, {0, kScratchReg, 0, 1}));
    settle();
    EXPECT_EQ(faults(Fault::PrivilegedRegister), 1u) << "a user's queue";
}

TEST_F(CpRegs, GfxRingRunsAndReportsItsReadPointer) {
    TestRing gfx = start_gfx();
    submit(gfx, packet(Opcode::SET_UCONFIG_REG, {0x40, 0xdeadbeef}));
    submit(gfx, packet(Opcode::CONTEXT_CONTROL, {0x80000000, 0x80000000}));
    submit(gfx, packet(Opcode::SET_CONTEXT_REG, {0, 1, 2, 3}));
    submit(gfx, packet(Opcode::CLEAR_STATE, {0}));
    submit(gfx, release_mem(kScratch, 7, 1, 2, 0));
    submit(gfx, packet(Opcode::SWITCH_BUFFER, {0}));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(bus.registers[kScratchReg], 0xdeadbeefu);
    EXPECT_EQ(word(kScratch), 7u);
    ASSERT_EQ(interrupts(181), 1u);
    EXPECT_EQ(bus.interrupts[0].ring_id, 0);
    EXPECT_EQ(word(gfx.rptr), gfx.wptr);
    EXPECT_EQ(reg(0x8700), gfx.wptr);
}

TEST_F(CpRegs, HaltedGfxRingKeepsItsDoorbell) {
    TestRing gfx = start_gfx(false);
    submit(gfx, write_data(kScratch, {1}));
    settle();
    EXPECT_EQ(word(kScratch), 0u);
    set_reg(0x86d8, 0);
    settle();
    EXPECT_EQ(word(kScratch), 1u);
}

TEST_F(CpRegs, GfxRingStartsAnewAfterABadPacket) {
    TestRing gfx = start_gfx();
    submit(gfx, {0xc000ff00, 0});
    settle();
    EXPECT_EQ(faults(Fault::UnknownOpcode), 1u);
    EXPECT_EQ(interrupts(183), 1u);
    set_reg(0x86d8, 0x15000000);
    gfx = start_gfx();
    submit(gfx, write_data(kScratch, {1}));
    settle();
    EXPECT_EQ(word(kScratch), 1u);
}

TEST_F(CpRegs, DrawingIsCountedAsMissing) {
    TestRing gfx = start_gfx();
    submit(gfx, packet(Opcode::DRAW_INDEX_AUTO, {3, 2}));
    settle();
    EXPECT_EQ(faults(Fault::TodoPacket), 1u);
}

TEST_F(CpRegs, VmidResetDropsTheBuffersOfThatVmid) {
    TestRing gfx = start_gfx();
    put_words(kIb, packet(Opcode::WAIT_REG_MEM, {3 | 1 << 4, lo32(kScratch), 0, 5, ~0u, 4}));
    submit(gfx, indirect(kIb, 7, 3u << 24));
    submit(gfx, write_data(kScratch + 4, {1}));
    EXPECT_EQ(settle(), RunState::Polling);
    set_reg(0xc2cc, 1 << 3);
    EXPECT_EQ(reg(0xc2cc), 0u);
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch + 4), 1u);
}

constexpr uint32_t kGrbmGfxIndex = 0x30800;

TEST_F(CpRegs, SqCmdKillsTheWavesOfAVmid) {
    start_user();
    plan({.forever = true});
    submit(user, dispatch(2));
    settle(10);
    EXPECT_EQ(reg(0x9370 + 2 * 4, {1, 0, 2, 0}), 2u);
    EXPECT_TRUE(bit(reg(0x936c, {1, 0, 0, 0}), 2));
    set_reg(kGrbmGfxIndex, 0xe0000000);
    set_reg(0x8dec, 3 | 1 << 4 | 1 << 7 | 9u << 28);
    EXPECT_EQ(cp.dispatcher().waves_live_total(), 2u);
    set_reg(kGrbmGfxIndex, 0x60010000);  // shader engine 1
    set_reg(0x8dec, 3 | 1 << 4 | 1 << 7 | 8u << 28);
    EXPECT_EQ(cp.dispatcher().waves_live_total(), 1u);
    set_reg(kGrbmGfxIndex, 0xe0000000);
    set_reg(0x8dec, 3 | 1 << 4 | 1 << 7 | 8u << 28);
    EXPECT_EQ(cp.dispatcher().waves_live_total(), 0u);
    set_reg(0x8dec, 3 | 7 << 4);
    EXPECT_EQ(faults(Fault::TodoRegister), 1u);
}

TEST_F(CpRegs, PipeResetFreesItsSlots) {
    start_user();
    plan({.forever = true});
    submit(user, dispatch(1));
    settle(10);
    set_reg(0x8234, 1 << 16);
    set_reg(0x8234, 0);
    EXPECT_EQ(reg(0xc91c, {1, 0, 2, 0}), 0u);
    EXPECT_EQ(cp.dispatcher().waves_live_total(), 0u);
}

TEST_F(CpRegs, ResetForgetsEverything) {
    start_user();
    plan({.forever = true});
    submit(user, dispatch(1));
    settle(10);
    cp.reset();
    EXPECT_EQ(cp.run(1000), RunState::Idle);
    EXPECT_EQ(reg(0xc91c, {1, 0, 2, 0}), 0u);
    EXPECT_EQ(reg(0x8234), 0x50000000u);
    start_kcq();  // and it comes up again
    submit(kcq, write_data(kScratch, {1}));
    settle();
    EXPECT_EQ(word(kScratch), 1u);
}

TEST_F(CpRegs, KcqResetAndMapAgain) {
    start_kcq();
    submit(kcq, packet(Opcode::WAIT_REG_MEM, {3 | 1 << 4, lo32(kScratch), 0, 5, ~0u, 4}));
    EXPECT_EQ(settle(), RunState::Polling);
    submit(kiq, kiq_unmap(kcq, 1));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(reg(0xc91c, {1, 0, 0, 0}), 0u);
    kcq = make_ring(kKcqBase, 0x18);
    submit(kiq, kiq_map(kcq, 1, 0, 0, 0));
    settle();
    submit(kcq, write_data(kScratch + 4, {1}));
    settle();
    EXPECT_EQ(word(kScratch + 4), 1u);
}

}  // namespace
}  // namespace lyra
