// SPDX-License-Identifier: MIT
// The gfx ring: grids of compute shaders in a process's buffers, as Mesa sends them; what is graphics stays refused.
#include <array>

#include "cp-firmware-model/testing/cp_rig.h"

namespace lyra {
namespace {

using namespace lyra::testing;
using pm4::Opcode;

class GfxRing : public CpRig {
protected:
    static constexpr uint32_t kVmid = 3;
    static constexpr uint64_t kEntry = 0x7'1234'5600;

    GfxRing() : ring(start_gfx()) {}
    /// Program and geometry: groups of 64.
    static Words state(uint32_t threads = 64) {
        return concat({packet(Opcode::SET_SH_REG, {0x207, threads, 1, 1}),
                       packet(Opcode::SET_SH_REG, {0x20c, lo32(kEntry >> 8), hi32(kEntry >> 8)}),
                       packet(Opcode::SET_SH_REG, {0x212, 3 | 2 << 6 | 0xc0u << 12, 4 << 1}),
                       packet(Opcode::SET_SH_REG, {0x240, 10, 11, 12, 13})});
    }
    static Words concat(const std::vector<Words>& packets) {
        Words all;
        for (const Words& words : packets) all.insert(all.end(), words.begin(), words.end());
        return all;
    }
    /// As a process's buffer, and the kernel's fence behind it.
    void submit_buffer(const std::vector<Words>& packets) {
        const Words buffer = concat(packets);
        put_words(kIb, buffer);
        submit(ring, indirect(kIb, buffer.size(), kVmid << 24));
        submit(ring, release_mem(kFence, ++fences, 1, 2, 0));
        settle();
    }
    static Words grid(uint32_t groups) { return packet(Opcode::DISPATCH_DIRECT, {groups, 1, 1, 1}); }
    const std::vector<FakeLaunch>& launches() const { return fakes.launches; }

    static constexpr uint64_t kFence = kScratch + 0x1000;
    uint32_t fences = 0;
    TestRing ring;
};

TEST_F(GfxRing, RunsGridsOfABuffer) {
    submit_buffer({packet(Opcode::CONTEXT_CONTROL, {0x80000000, 0x80000000}), state(), grid(6)});
    EXPECT_EQ(faults(Fault::UnknownOpcode), 0u);
    ASSERT_EQ(launches().size(), 6u);
    std::array<unsigned, 4> on_cu{};
    for (const FakeLaunch& one : launches()) {
        ++on_cu.at(one.cu);
        EXPECT_EQ(one.launch.vmid, kVmid);
        EXPECT_EQ(one.launch.entry, kEntry);
        EXPECT_EQ(one.launch.user_sgpr_count, 4u);
        EXPECT_EQ(one.launch.user_sgprs[3], 13u);
        EXPECT_EQ(one.launch.tba, 0u);
    }
    for (const unsigned n : on_cu) EXPECT_GT(n, 0u) << "the masks at reset allow all";
    EXPECT_EQ(word(kFence), 1u);
}

TEST_F(GfxRing, FenceAndFlushWaitForTheWaves) {
    fakes.paused = true;
    submit_buffer({state(), grid(2), packet(Opcode::EVENT_WRITE, {0x407}), write_data(kScratch, {7})});
    EXPECT_EQ(word(kScratch), 0u) << "CS_PARTIAL_FLUSH";
    EXPECT_EQ(word(kFence), 0u);
    fakes.paused = false;
    settle();
    EXPECT_EQ(word(kScratch), 7u);
    EXPECT_EQ(word(kFence), 1u);
}

/// Offset from SET_BASE, unlike on the compute queues. @source Mesa radeonsi, si_emit_dispatch_packets()
TEST_F(GfxRing, IndirectDimensionsLieAtABase) {
    put_words(kScratch + 0x40, {2, 3, 1});
    submit_buffer(
        {state(), packet(Opcode::SET_BASE, {1, lo32(kScratch), hi32(kScratch)}), packet(Opcode::DISPATCH_INDIRECT, {0x40, 1})});
    EXPECT_EQ(launches().size(), 6u);
    // Another base is not that of dispatches.
    submit_buffer({packet(Opcode::SET_BASE, {2, lo32(kScratch) + 0x100, 0}), packet(Opcode::DISPATCH_INDIRECT, {0x40, 1})});
    EXPECT_EQ(launches().size(), 12u);
}

TEST_F(GfxRing, IndirectHasTheFormOfItsEngine) {
    put_words(kScratch, {1, 1, 1});
    submit_buffer({state(), packet(Opcode::DISPATCH_INDIRECT, {lo32(kScratch), 0, 1})});
    EXPECT_EQ(faults(Fault::PacketField), 1u);
    start_user();
    submit(user, concat({state(), packet(Opcode::DISPATCH_INDIRECT, {lo32(kScratch), 1})}));
    settle();
    EXPECT_EQ(faults(Fault::PacketField), 2u);
    EXPECT_TRUE(launches().empty());
    EXPECT_EQ(word(kFence), 1u);
}

/// Mesa copies the dimensions of an indirect grid to user SGPRs. Registers of shaders are the process's own.
TEST_F(GfxRing, ABufferCopiesMemoryToItsShaderRegisters) {
    put_words(kScratch, {77, 78});
    submit_buffer({state(), packet(Opcode::COPY_DATA, {1, lo32(kScratch), 0, 0x2e41, 0}),
                   packet(Opcode::COPY_DATA, {1 | 1 << 16, lo32(kScratch), 0, 0x2e42, 0}), grid(1)});
    ASSERT_EQ(launches().size(), 1u);
    const auto& sgprs = launches()[0].launch.user_sgprs;
    EXPECT_EQ(sgprs[0], 10u);
    EXPECT_EQ(sgprs[1], 77u);
    EXPECT_EQ(sgprs[2], 77u);
    EXPECT_EQ(sgprs[3], 78u);
    EXPECT_EQ(interrupts(184), 0u);
    // The last of them and what is behind it, which is not a shader's.
    submit_buffer({packet(Opcode::COPY_DATA, {1 | 1 << 16, lo32(kScratch), 0, 0x2e4f, 0})});
    EXPECT_EQ(bus.registers.count(0x2e50), 0u);
    // Others are not its own.
    submit_buffer({packet(Opcode::COPY_DATA, {1, lo32(kScratch), 0, kScratchReg, 0})});
    EXPECT_EQ(interrupts(184), 1u);
    EXPECT_EQ(word(kFence), 3u);
}

/// @source Mesa, PKT3_SET_UCONFIG_REG_INDEX: "new for GFX9, CP ucode version >= 26"
TEST_F(GfxRing, RegistersWithAnIndex) {
    submit(ring, packet(Opcode::SET_UCONFIG_REG_INDEX, {0x40 | 2u << 28, 0x1234}));
    settle();
    EXPECT_EQ(bus.registers[0x30100 / 4], 0x1234u);
    submit_buffer({packet(Opcode::SET_UCONFIG_REG_INDEX, {0x40 | 2u << 28, 0x5678}), state(), grid(1)});
    EXPECT_EQ(bus.registers[0x30100 / 4], 0x1234u);
    EXPECT_EQ(faults(Fault::TodoPacket), 1u);
    EXPECT_EQ(faults(Fault::UnknownOpcode), 0u);
    EXPECT_EQ(launches().size(), 1u) << "the buffer goes on";
}

TEST_F(GfxRing, ABadGridStopsItUntilItIsStartedAnew) {
    submit_buffer({state(2048), grid(1)});
    EXPECT_TRUE(launches().empty());
    EXPECT_EQ(interrupts(183), 1u);
    EXPECT_EQ(word(kFence), 0u);
    set_reg(0x86d8, 0x15000000);
    ring = start_gfx();
    submit_buffer({state(), grid(1)});
    EXPECT_EQ(launches().size(), 1u);
    EXPECT_EQ(word(kFence), fences);
}

TEST_F(GfxRing, AHungGridGoesWithItsVmid) {
    plan({.forever = true});
    submit_buffer({state(), grid(3)});
    EXPECT_EQ(word(kFence), 0u);
    set_reg(0xc2cc, 1 << kVmid);  // CP_VMID_RESET
    settle();
    EXPECT_EQ(cp.dispatcher().waves_live_total(), 0u);
    EXPECT_EQ(word(kFence), 1u);
}

TEST_F(GfxRing, DrawingIsCountedAsMissing) {
    submit_buffer({packet(Opcode::DRAW_INDEX_AUTO, {3, 2}), packet(Opcode::DRAW_INDEX_2, {1, 0, 0, 3, 0})});
    EXPECT_EQ(faults(Fault::TodoPacket), 2u);
    EXPECT_TRUE(launches().empty());
    EXPECT_EQ(word(kFence), 1u);
}

}  // namespace
}  // namespace lyra
