// SPDX-License-Identifier: MIT
// Wrong PM4: truncated, unknown, out of range, cyclic, unprivileged. Each has its effect and its counter; nothing hangs.
#include "cp-firmware-model/testing/cp_rig.h"
#include "facts/registers.h"

namespace lyra {
namespace {

using namespace lyra::testing;
using pm4::Opcode;

class BadPm4 : public CpRig {
protected:
    BadPm4() { start_user(); }
    /// The queue stopped with this fault, its slot is still taken, and a bad-opcode interrupt tells its process.
    /// @param exception KFD's code
    void expect_stopped(Fault fault, uint32_t exception) {
        EXPECT_NE(settle(), RunState::Busy);
        EXPECT_EQ(faults(fault), 1u) << fault_info(fault).name;
        EXPECT_EQ(reg(0xc91c, {1, 0, 2, 0}), 1u);
        EXPECT_NE(reg(0xc9e0, {1, 0, 2, 0}), 0u);
        ASSERT_EQ(interrupts(183), 1u);
        EXPECT_EQ(bus.interrupts.back().pasid, 0x8001);
        EXPECT_EQ(bus.interrupts.back().data[0], (user.doorbell / 8 & 0x3ff) | exception << 10);
        submit(user, write_data(kScratch + 0x80, {1}));
        settle();
        EXPECT_EQ(word(kScratch + 0x80), 0u) << "a stopped queue went on";
        // It can still be unmapped, and other rings live.
        submit(hiq, unmap(3));
        submit(hiq, query_status(kScratch + 0x100, 100));
        EXPECT_EQ(settle(), RunState::Idle);
        EXPECT_EQ(qword(kScratch + 0x100), 100u);
        EXPECT_EQ(reg(0xc91c, {1, 0, 2, 0}), 0u);
    }
};

TEST_F(BadPm4, UnknownOpcodeStopsTheQueue) {
    submit(user, {0xc000ff00, 0});
    expect_stopped(Fault::UnknownOpcode, 20);
}

TEST_F(BadPm4, SchedulerPacketsAreNotForUsers) {
    submit(user, unmap(2));
    expect_stopped(Fault::UnknownOpcode, 20);
}

TEST_F(BadPm4, OldPacketTypesStopTheQueue) {
    submit(user, {0x40000000});
    expect_stopped(Fault::PacketType, 20);
}

TEST_F(BadPm4, PacketLongerThanTheRingStopsTheQueue) {
    submit(user, {pm4::header(Opcode::WRITE_DATA, 600), 5 << 8});
    expect_stopped(Fault::ShortPacket, 20);
}

TEST_F(BadPm4, PacketCutByItsBufferStopsTheQueue) {
    put_words(kIb, {pm4::header(Opcode::WRITE_DATA, 4), 5 << 8, lo32(kScratch)});
    submit(user, indirect(kIb, 3));
    expect_stopped(Fault::ShortPacket, 20);
}

TEST_F(BadPm4, BufferOutsideMemoryStopsTheQueue) {
    submit(user, indirect(0x7000000000, 16));
    expect_stopped(Fault::RingUnreadable, 0);
}

TEST_F(BadPm4, RingThatDisappearsStopsTheQueue) {
    for (unsigned page = 0; page < 2; ++page) bus.memory.unmap(user.base + page * 4096);
    cp.doorbell(user.doorbell, 5);
    EXPECT_NE(settle(), RunState::Busy);
    EXPECT_EQ(faults(Fault::RingUnreadable), 1u);
    EXPECT_TRUE(bit(reg(0xc9e0, {1, 0, 2, 0}), 8));
}

TEST_F(BadPm4, BufferThatCallsItselfIsStopped) {
    const Words self = indirect(kIb, 4);
    put_words(kIb, self);
    submit(user, self);
    expect_stopped(Fault::IndirectDepth, 20);
}

TEST_F(BadPm4, ChainThatClosesIsStopped) {
    const Words self = indirect(kIb, 4, 1 << 20);
    put_words(kIb, self);
    submit(user, self);
    settle(10000);
    expect_stopped(Fault::IndirectDepth, 20);
}

TEST_F(BadPm4, BadGroupStopsTheQueue) {
    submit(user, packet(Opcode::SET_SH_REG, {0x207, 1025, 1, 1}));
    submit(user, packet(Opcode::DISPATCH_DIRECT, {1, 1, 1, 1}));
    expect_stopped(Fault::AqlWorkgroupSize, 21);
}

TEST_F(BadPm4, TooMuchGroupMemoryStopsTheQueue) {
    // COMPUTE_PGM_RSRC2.LDS_SIZE 23:15, of 512 bytes each.
    submit(user, packet(Opcode::SET_SH_REG, {0x213, 129u << 15}));
    submit(user, packet(Opcode::SET_SH_REG, {0x207, 64, 1, 1}));
    submit(user, packet(Opcode::DISPATCH_DIRECT, {1, 1, 1, 1}));
    expect_stopped(Fault::AqlGroupMemory, 17);
}

/// The driver's own rings have no process that could be told; the driver goes by the ring.
TEST_F(BadPm4, AKernelQueueHasNoExceptionCode) {
    start_kcq();
    submit(kcq, {0xc000ff00, 0});
    settle();
    ASSERT_EQ(interrupts(183), 1u);
    EXPECT_EQ(bus.interrupts.back().data[0], 0u);
}

TEST_F(BadPm4, GroupOfNothingStopsTheQueue) {
    submit(user, packet(Opcode::DISPATCH_DIRECT, {1, 1, 1, 1}));
    expect_stopped(Fault::AqlWorkgroupSize, 21);
}

TEST_F(BadPm4, RingWaitsForTheRestOfAPacketAndCountsItOnce) {
    const Words words = write_data(kScratch, {1, 2});
    emit(user, {words.begin(), words.begin() + 2});
    ring_bell(user);
    EXPECT_EQ(settle(), RunState::Idle);
    ring_bell(user);
    settle();
    EXPECT_EQ(faults(Fault::ShortPacket), 1u);
    submit(user, {words.begin() + 2, words.end()});
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch + 4), 2u);
}

TEST_F(BadPm4, WrongLengthSkipsThePacket) {
    submit(user, packet(Opcode::WAIT_REG_MEM, {0, 0}));
    submit(user, packet(Opcode::DISPATCH_DIRECT, {1, 1, 1, 1, 1, 1}));
    submit(user, write_data(kScratch, {1}));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(faults(Fault::PacketField), 2u);
    EXPECT_EQ(word(kScratch), 1u);
}

TEST_F(BadPm4, UserCannotTouchRegisters) {
    const uint32_t secret = 0x1234;
    bus.registers[secret] = 0x5a5a;
    submit(user, packet(Opcode::WRITE_DATA, {0, secret, 0, 1}));
    submit(user, packet(Opcode::COPY_DATA, {0 | 5 << 8, secret, 0, lo32(kScratch), 0}));
    submit(user, packet(Opcode::COPY_DATA, {5 | 0 << 8, 1, 0, secret, 0}));
    submit(user, packet(Opcode::WAIT_REG_MEM, {3, secret, 0, 1, ~0u, 4}));
    submit(user, packet(Opcode::WAIT_REG_MEM, {3 | 1 << 6, secret, secret, 1, ~0u, 4}));
    submit(user, packet(Opcode::REG_RMW, {secret, 0, 1}));
    submit(user, packet(Opcode::SET_CONFIG_REG, {0x10, 1}));
    submit(user, packet(Opcode::DMA_DATA, {2u << 29, 1, 0, secret, 0, 4 | 1 << 27}));
    submit(user, packet(Opcode::SET_UCONFIG_REG, {0x40, 1}));
    submit(user, write_data(kScratch + 4, {1}));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(bus.registers[secret], 0x5a5au);
    EXPECT_EQ(word(kScratch), 0u) << "a register was read";
    EXPECT_EQ(faults(Fault::PrivilegedRegister), 8u);
    EXPECT_EQ(interrupts(184), 8u);
    EXPECT_EQ(faults(Fault::TodoPacket), 1u);
    EXPECT_EQ(bus.registers.count(kScratchReg), 0u);
    EXPECT_EQ(word(kScratch + 4), 1u);
}

// The MQD has dwords for these, too, but behind those of the COMPUTE_* registers.
TEST_F(BadPm4, RegistersOfTheSlotAreNotAUsersShaderRegisters) {
    const uint32_t vmid = regs::GC::CP_HQD_VMID;
    submit(user, packet(Opcode::SET_SH_REG, {vmid - pm4::kShRegisters, 3}));
    submit(user, packet(Opcode::COPY_DATA, {5, 3, 0, vmid, 0}));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(faults(Fault::PrivilegedRegister), 1u) << "the other packet is ignored";
    EXPECT_EQ(bus.registers.count(vmid), 0u);
}

TEST_F(BadPm4, UserBufferOnAKernelRingIsNotPrivileged) {
    start_kcq();
    put_words(kIb, packet(Opcode::WRITE_DATA, {0, kScratchReg, 0, 1}));
    submit(kcq, indirect(kIb, 5, 3u << 24));
    settle();
    EXPECT_EQ(faults(Fault::PrivilegedRegister), 1u);
    EXPECT_EQ(bus.registers.count(kScratchReg), 0u);
    submit(kcq, indirect(kIb, 5));
    settle();
    EXPECT_EQ(bus.registers[kScratchReg], 1u);
}

TEST_F(BadPm4, RegistersOutsideTheApertureAreRefused) {
    start_kcq();
    submit(kcq, packet(Opcode::WRITE_DATA, {0, 0x3ffff, 0, 1}));
    submit(kcq, packet(Opcode::SET_UCONFIG_REG, {0xffff, 1}));
    submit(kcq, packet(Opcode::COPY_DATA, {0 | 5 << 8, 0x3ffff, 0, lo32(kScratch), 0}));
    settle();
    EXPECT_EQ(faults(Fault::PacketField), 2u);
    EXPECT_EQ(bus.registers.at(0x1bfff), 1u);
}

TEST_F(BadPm4, AddressesOutsideMemoryDoNothing) {
    const uint64_t nowhere = 0x7fff00000000;
    submit(user, write_data(nowhere, {1}));
    submit(user, packet(Opcode::WAIT_REG_MEM, {3 | 1 << 4, 0, 0x7fff, 1, ~0u, 4}));
    submit(user, packet(Opcode::COND_EXEC, {0, 0x7fff, 0, 5}));
    submit(user, packet(Opcode::COPY_DATA, {1 | 1 << 8, 0, 0x7fff, lo32(kScratch), 0}));
    submit(user, packet(Opcode::ATOMIC_MEM, {0x0f, 0, 0x7fff, 1, 0, 0, 0, 0}));
    submit(user, packet(Opcode::DMA_DATA, {0, 0, 0x7fff, lo32(kScratch), 0, 64}));
    submit(user, packet(Opcode::DMA_DATA, {2u << 29, 1, 0, 0, 0x7fff, 64}));
    submit(user, packet(Opcode::DISPATCH_INDIRECT, {0, 0x7fff, 1}));
    submit(user, release_mem(nowhere, 1, 2, 0, 0));
    submit(user, write_data(kScratch + 4, {1}));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(word(kScratch + 4), 1u);
    EXPECT_GE(bus.memory.faults, 9u);
}

TEST_F(BadPm4, UnknownFieldsAreCounted) {
    submit(user, write_data(kScratch, {1}, 3 << 8));
    submit(user, packet(Opcode::WAIT_REG_MEM, {3 | 2 << 6, 0, 0, 0, 0, 0}));
    submit(user, packet(Opcode::COPY_DATA, {7 | 5 << 8, 0, 0, 0, 0}));
    submit(user, packet(Opcode::ATOMIC_MEM, {0x1f, lo32(kScratch), 0, 1, 0, 0, 0, 0}));
    submit(user, packet(Opcode::MEM_SEMAPHORE, {0, 0}));
    submit(user, release_mem(kScratch, 1, 5, 0, 0));
    submit(user, packet(Opcode::SET_SH_REG, {0x207, 64, 1, 1}));
    submit(user, packet(Opcode::DISPATCH_DIRECT, {~0u, 1, 1, 1}));
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(faults(Fault::TodoPacket), 4u);
    EXPECT_EQ(faults(Fault::PacketField), 3u);
    EXPECT_EQ(word(kScratch), 0u);
}

TEST_F(BadPm4, WritePointersThatCannotBeTrueAreIgnored) {
    submit(user, write_data(kScratch, {1}));
    settle();
    cp.doorbell(user.doorbell, 2);
    cp.doorbell(user.doorbell, ~uint64_t{0});
    EXPECT_EQ(settle(), RunState::Idle);
    EXPECT_EQ(faults(Fault::WritePointer), 2u);
    submit(user, write_data(kScratch, {2}));
    settle();
    EXPECT_EQ(word(kScratch), 2u);
}

TEST_F(BadPm4, EveryOpcodeWithEveryLengthEnds) {
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        for (uint32_t body : {1u, 2u, 3u, 5u, 8u, 20u}) {
            start_kcq();
            Words words{0xc0000000u | (body - 1) << 16 | opcode << 8};
            for (uint32_t i = 0; i < body; ++i) words.push_back(0x01020304u * (i + opcode));
            submit(kcq, words);
            EXPECT_NE(settle(50), RunState::Busy) << opcode << " " << body;
            const GrbmSelect slot{1, 0, 0, 0};
            set_reg(0xc974, 2, slot);
            EXPECT_EQ(reg(0xc91c, slot), 0u);
        }
    }
}

}  // namespace
}  // namespace lyra
