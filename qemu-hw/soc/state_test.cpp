// SPDX-License-Identifier: MIT
// The chip's blocks through a stream: what waits in them is there, and has its effect, in another chip.
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "qemu-hw/soc/soc.h"
#include "qemu-hw/soc/test_host.h"

namespace lyra {
namespace {

constexpr uint64_t kVram = uint64_t{256} << 20, kTable = 0x100000, kPage = 0x400000, kRamBus = 0x80000000;
constexpr uint64_t kRw = PteBits::kValid | PteBits::kRead | PteBits::kWrite;
constexpr uint32_t kVmid = 8;

struct TestChip {
    explicit TestChip(Chip chip = Chip::gfx900, unsigned xccs = 0) : vram(kVram), ram(1 << 16) {
        shape.chip = chip;
        shape.xccs = xccs != 0 ? xccs : facts_of(chip).xccs;
        env.strict = {true, true, true};
        shape.cus_per_engine = 1;
        soc = std::make_unique<Soc>(env, shape, vram.data(), kVram);
        soc->set_ram_map({{kRamBus, ram.size(), ram.data(), false}});
    }
    /// VMID 8 with one table, of which one page is RAM.
    void map() {
        soc->registers().write(regs::kGfxHub.VM_CONTEXT_CNTL + kVmid, 1);
        soc->registers().write(regs::kGfxHub.VM_CONTEXT_PAGE_TABLE_END_ADDR + 2 * kVmid, 0xffff);
        ProcessBinding binding;
        binding.page_table_base = kTable | PteBits::kValid;
        soc->bind_process(kVmid, binding);
        put(kRamBus);
    }
    void put(uint64_t address) {
        const uint64_t entry = address | kRw | PteBits::kSystem;
        std::memcpy(vram.data() + kTable + kPage / kPageBytes * 8, &entry, sizeof entry);
    }
    void store(uint32_t value) { EXPECT_EQ(soc->xcc(0).wave_memory(0).write(kVmid, kPage, &value, sizeof value), Fault::None); }
    uint32_t in_ram(size_t offset = 0) const {
        uint32_t value;
        std::memcpy(&value, ram.data() + offset, sizeof value);
        return value;
    }
    /// Host memory and the chip.
    void become(TestChip& other) {
        vram = other.vram;
        ram = other.ram;
        StateWriter writer;
        other.soc->visit(writer);
        const std::vector<uint8_t> stream = writer.take();
        StateLoader loader(stream);
        soc->visit(loader);
        loader.finish();
        ASSERT_EQ(loader.error(), "");
        StateWriter again;
        soc->visit(again);
        EXPECT_EQ(again.take(), stream);
    }
    TestHost host;
    Env env{host};
    GpuShape shape;
    std::vector<uint8_t> vram, ram;
    std::unique_ptr<Soc> soc;
};

TEST(SocState, InterruptsThatWaitAreDelivered) {
    TestChip from, to;
    Interrupt interrupt;
    interrupt.client = ih_client::kGrbmCp;
    interrupt.source = ih_source::kCpEndOfPipe;
    interrupt.data[0] = 0x1234;
    from.soc->interrupt(interrupt);  // the ring is off
    to.become(from);
    to.soc->set_bus_master(true);
    RegisterFile& registers = to.soc->registers();
    registers.write(regs::OSSSYS::IH_RB_BASE, kRamBus >> 8);
    registers.write(regs::OSSSYS::IH_RB_CNTL, 1 | 5 << 1 | 1 << 17);
    EXPECT_EQ(to.in_ram() & 0xffff, uint32_t{ih_client::kGrbmCp} | uint32_t{ih_source::kCpEndOfPipe} << 8);
    EXPECT_EQ(to.in_ram(16), 0x1234u);
    EXPECT_EQ(to.host.msis, 1u);
}

/// In SPX the first XCC runs the waves of both.
TEST(SocXccs, AFaultIsThatOfTheXccWhoseWaveItIs) {
    TestChip chip(Chip::gfx942);
    chip.soc->set_bus_master(true);
    RegisterFile& registers = chip.soc->registers();
    registers.write(registers.on_chip(regs::OSSSYS::IH_RB_BASE), kRamBus >> 8);
    registers.write(registers.on_chip(regs::OSSSYS::IH_RB_CNTL), 1 | 5 << 1 | 1 << 17);
    const uint32_t status = registers.on_chip(regs::kGfxHub.VM_L2_PROTECTION_FAULT_STATUS);
    uint32_t word;
    for (const unsigned xcc : {1u, 0u}) {
        EXPECT_EQ(registers.read(status + xcc * regs::kXccStride), 0u) << xcc;
        EXPECT_NE(chip.soc->xcc(0).wave_memory(xcc).read(kVmid, kPage, &word, sizeof word), Fault::None);
        EXPECT_NE(registers.read(status + xcc * regs::kXccStride), 0u) << xcc;
    }
    EXPECT_EQ(chip.in_ram() & 0xff, uint32_t{ih_client::kUtcl2});
    EXPECT_EQ(chip.in_ram(12) >> 16 & 0xff, 2u);
    EXPECT_EQ(chip.in_ram(32 + 12) >> 16 & 0xff, 1u);
}

/// The GPU's own access: the BAR of four XCCs is twice as long.
TEST(SocXccs, TheirRegistersAreWithinTheBarThatTheGpuReaches) {
    TestChip chip(Chip::gfx942, 4);
    constexpr uint64_t kBar = 0xc0000000;
    RegisterFile& registers = chip.soc->registers();
    chip.soc->bus().set_bars(UINT64_MAX, UINT64_MAX, kBar, registers.bytes());
    chip.soc->set_bus_master(true);
    const uint32_t dw = 3 * regs::kXccStride + registers.on_chip(regs::GC::CP_HYP_XCP_CTL);
    const uint32_t last = registers.read(dw);
    EXPECT_NE(last, 0u);
    uint32_t word = 0;
    EXPECT_EQ(chip.soc->bus().read(kBar + dw * 4, &word, sizeof word), Fault::None);
    EXPECT_EQ(word, last);
    EXPECT_NE(chip.soc->bus().read(kBar + registers.bytes(), &word, sizeof word), Fault::None);
}

TEST(SocState, StoresInTheHostDataPathStayThere) {
    TestChip from, to;
    from.soc->hdp().write_vram(0x5004, 0xaabbccdd, 4);
    to.become(from);
    EXPECT_EQ(to.vram[0x5004], 0);
    EXPECT_EQ(to.soc->hdp().read_vram(0x5004, 4), 0xaabbccddu);
    to.soc->hdp().flush();
    EXPECT_EQ(to.vram[0x5004], 0xdd);
}

TEST(SocState, LinesOfTheL2StayDirty) {
    TestChip from, to;
    from.map();
    from.store(77);
    ASSERT_EQ(from.in_ram(), 0u);
    to.become(from);
    uint32_t seen = 0;
    EXPECT_EQ(to.soc->xcc(0).wave_memory(0).read(kVmid, kPage, &seen, sizeof seen), Fault::None);
    EXPECT_EQ(seen, 77u);
    EXPECT_EQ(to.in_ram(), 0u);
    to.soc->xcc(0).write_back_l2();
    EXPECT_EQ(to.in_ram(), 77u);
}

// They were written to memory that was no longer the guest's.
TEST(SocState, LinesOfTheL2ReachRamThatIsTakenAway) {
    TestChip chip;
    chip.map();
    chip.store(78);
    chip.soc->set_ram_map({});
    EXPECT_EQ(chip.in_ram(), 78u);
    std::fill(chip.ram.begin(), chip.ram.end(), 0);
    chip.soc->xcc(0).write_back_l2();
    EXPECT_EQ(chip.in_ram(), 0u);
}

TEST(SocState, TranslationsThatWereNotInvalidatedStay) {
    TestChip from, to;
    from.map();
    from.store(1);
    from.put(kRamBus + kPageBytes);  // without an invalidation
    to.become(from);
    to.store(79);
    to.soc->xcc(0).write_back_l2();
    EXPECT_EQ(to.in_ram(), 79u);
    EXPECT_EQ(to.in_ram(kPageBytes), 0u);
    to.soc->invalidate_tlb(1u << kVmid, true);
    to.store(80);
    to.soc->xcc(0).write_back_l2();
    EXPECT_EQ(to.in_ram(kPageBytes), 80u);
}

TEST(SocState, RegistersBehindWindowsAndBanks) {
    TestChip from, to;
    RegisterFile& registers = from.soc->registers();
    registers.write(regs::NBIO::PCIE_INDEX2, 0x12345678);
    registers.write(regs::NBIO::PCIE_DATA2, 0xfeedf00d);
    registers.write(regs::GC::GRBM_GFX_CNTL, 9 << 4);
    registers.write(regs::GC::SH_MEM_BASES, 0x20001);
    registers.silence(from.host.now + 1000);
    to.become(from);
    EXPECT_EQ(to.soc->registers().read(regs::NBIO::PCIE_DATA2), 0xfeedf00du);
    EXPECT_EQ(to.soc->vmid_state(9).sh_mem_bases, 0x20001u);
    EXPECT_EQ(to.soc->registers().guest_read(regs::NBIO::PCIE_DATA2), ~0u) << "it is still in its reset";
    to.host.now += 1000;
    EXPECT_EQ(to.soc->registers().guest_read(regs::NBIO::PCIE_DATA2), 0xfeedf00du);
}

}  // namespace
}  // namespace lyra
