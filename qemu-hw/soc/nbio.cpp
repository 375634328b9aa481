// SPDX-License-Identifier: MIT
// NBIO registers. @source Linux 6.12 nbio_v7_4.c, amdgpu_device.c, amdgpu_discovery.c
#include "qemu-hw/soc/nbio.h"

#include <fmt/format.h>

#include "common/bits.h"
#include "facts/register_fields.h"

namespace lyra {

namespace {

using namespace regs::NBIO;

constexpr struct {
    uint32_t dw;
    DoorbellTarget target;
} kDoorbellRanges[] = {{BIF_SDMA0_DOORBELL_RANGE, DoorbellTarget::Sdma0},
                       {BIF_SDMA1_DOORBELL_RANGE, DoorbellTarget::Sdma1},
                       {BIF_IH_DOORBELL_RANGE, DoorbellTarget::Ih},
                       {BIF_MMSCH0_DOORBELL_RANGE, DoorbellTarget::Video}};
namespace doorbell_range = field::BIF_SDMA0_DOORBELL_RANGE;  ///< of all; dwords; SIZE 0: off
// A guest that walks the whole SMN space must not make us keep all of it.
constexpr size_t kSmnRegisters = 65536;

/// NBIF 7.9 has the ranges behind the SMN window, in this order. @source Linux 6.12 nbio_v7_9.c, nbio_7_9_0_offset.h
/// DOORBELL0_CTRL_ENTRY_0 of segment 8
constexpr uint32_t kDoorbellEntries = (ip_block(Chip::gfx942, "NBIF").base[8] + 0xcd00) * 4;
struct DoorbellEntry {
    using Offset = Bits<0, 10>;
    using Size = Bits<10, 5>;
};
constexpr uint32_t kEntryRanges[] = {BIF_IH_DOORBELL_RANGE, BIF_SDMA0_DOORBELL_RANGE, BIF_SDMA1_DOORBELL_RANGE};

/// PARTITION_MODE by the number of partitions. @source Linux 6.12 amdgpu_gfx.h enum amdgpu_gfx_partition
uint32_t partition_mode(unsigned partitions, unsigned xccs) {
    constexpr uint32_t kSpx = 0, kDpx = 1, kTpx = 2, kQpx = 3, kCpx = 4;
    if (partitions == xccs) return kCpx;
    return partitions == 1 ? kSpx : partitions == 2 ? kDpx : partitions == 3 ? kTpx : kQpx;
}

}  // namespace

Nbio::Nbio(Env& env, RegisterFile& registers, BusMemory& bus, Chip chip)
    : env_(env), registers_(registers), bus_(bus), chip_(chip) {
    registers.attach(regs::Owner::Nbio, *this);
}

void Nbio::reset() {
    smn_.clear();
    registers_.store(RCC_CONFIG_MEMSIZE, static_cast<uint32_t>(bus_.vram_bytes() >> 20));
    registers_.store(BIOS_SCRATCH + 7, 0x200);  // asic_init done
    if (facts_of(chip_).xccs == 1) return;
    // One revision older the driver takes the chip for gfx941. @source Linux 6.12 kfd_device.c kgd2kfd_probe()
    registers_.store(RCC_DEV0_EPF0_STRAP0, field::RCC_DEV0_EPF0_STRAP0::STRAP_ATI_REV_ID_DEV0_F0::of(1));
    registers_.store(BIF_BX_PF0_PARTITION_MEM_CAP, field::BIF_BX_PF0_PARTITION_MEM_CAP::NPS1_SUPPORT::of(1));
    registers_.store(BIF_BX_PF0_PARTITION_MEM_STATUS, field::BIF_BX_PF0_PARTITION_MEM_STATUS::NPS_MODE::of(1));
}

void Nbio::set_partitions(unsigned count, unsigned xccs) {
    registers_.store(BIF_BX_PF0_PARTITION_COMPUTE_STATUS,
                     field::BIF_BX_PF0_PARTITION_COMPUTE_STATUS::PARTITION_MODE::of(partition_mode(count, xccs)));
}

/// A range is compared with bits 11:2 of the offset: it is there in every page of the aperture, so that processes have
/// doorbells of SDMA queues in their own pages. @source Linux 6.12 kfd_priv.h KFD_QUEUE_DOORBELL_MIRROR_OFFSET
DoorbellTarget Nbio::doorbell_target(uint32_t byte_offset) const {
    if (!field::RCC_DOORBELL_APER_EN::BIF_DOORBELL_APER_EN::get(registers_.stored(RCC_DOORBELL_APER_EN)))
        return DoorbellTarget::Nowhere;
    const uint32_t dw = doorbell_range::OFFSET::get(byte_offset);
    for (const auto& row : kDoorbellRanges) {
        const uint32_t range = registers_.stored(row.dw), first = doorbell_range::OFFSET::get(range);
        if (dw >= first && dw - first < doorbell_range::SIZE::get(range)) return row.target;
    }
    return DoorbellTarget::Cp;
}

uint32_t* Nbio::vram_window() {
    const uint32_t index = registers_.stored(MM_INDEX);
    const uint64_t offset = (uint64_t{registers_.stored(MM_INDEX_HI)} << 31) | (field::MM_INDEX::MM_OFFSET::get(index) & ~3u);
    if (offset > bus_.vram_bytes() - 4) {
        report(env_, Fault::VramAddress, fmt::format("MM_DATA at {:#x}", offset));
        return nullptr;
    }
    return reinterpret_cast<uint32_t*>(bus_.vram(offset, 4));
}

uint32_t Nbio::read(uint32_t dw) {
    if (dw == MM_DATA) {
        const uint32_t index = registers_.stored(MM_INDEX);
        if (!field::MM_INDEX::MM_APER::get(index)) return index / 4 == MM_DATA ? 0 : registers_.read(index / 4);
        const uint32_t* p = vram_window();
        return p ? *p : ~0u;
    }
    if (dw == PCIE_DATA2) {
        auto it = smn_.find(registers_.stored(PCIE_INDEX2));
        return it == smn_.end() ? 0 : it->second;
    }
    return registers_.stored(dw);
}

void Nbio::write(uint32_t dw, uint32_t value) {
    if (dw == MM_INDEX) return registers_.store(dw, value);
    if (dw == MM_DATA) {
        const uint32_t index = registers_.stored(MM_INDEX);
        if (!field::MM_INDEX::MM_APER::get(index)) {
            if (index / 4 != MM_DATA) registers_.write(index / 4, value);
        } else if (uint32_t* p = vram_window()) {
            *p = value;
        }
        return;
    }
    // Those of other dies are not there.
    if (dw == PCIE_DATA2 && registers_.stored(BIF_BX0_PCIE_INDEX2_HI) == 0) write_smn(registers_.stored(PCIE_INDEX2), value);
    // The rest are constants: writes have no effect.
}

void Nbio::write_smn(uint32_t address, uint32_t value) {
    if (smn_.size() < kSmnRegisters || smn_.count(address)) smn_[address] = value;
    const uint32_t entry = (address - kDoorbellEntries) / 4;
    if (facts_of(chip_).xccs == 1 || address < kDoorbellEntries || entry >= std::size(kEntryRanges)) return;
    registers_.store(kEntryRanges[entry], doorbell_range::OFFSET::of(DoorbellEntry::Offset::get(value)) |
                                              doorbell_range::SIZE::of(DoorbellEntry::Size::get(value)));
}

void Nbio::visit(StateVisitor& v) { v.map("smn", smn_, kSmnRegisters); }

}  // namespace lyra
