// SPDX-License-Identifier: MIT
// NBIO registers. @source Linux 6.12 nbio_v7_4.c, amdgpu_device.c, amdgpu_discovery.c
#include "qemu-hw/soc/nbio.h"

#include <iterator>

#include <fmt/format.h>

#include "common/bits.h"

namespace lyra {

namespace {

constexpr uint32_t kMmIndex = 0, kMmData = 1, kMmIndexHi = 6, kPcieIndex2 = 0x38 / 4, kPcieData2 = 0x3c / 4;
constexpr uint32_t kConfigMemsize = 0x378c / 4, kIovFuncIdentifier = 0x3794 / 4, kStrap0 = 0x34c4 / 4;
constexpr uint32_t kDoorbellAperEn = 0x3780 / 4;
/// BIF_SDMA0, BIF_SDMA1, BIF_IH and BIF_MMSCH0_DOORBELL_RANGE.
constexpr uint32_t kDoorbellRanges = 0x3bc0 / 4;
constexpr DoorbellTarget kRangeTargets[] = {DoorbellTarget::Sdma0, DoorbellTarget::Sdma1, DoorbellTarget::Ih,
                                            DoorbellTarget::Video};
using RangeOffset = Bits<2, 10>;  ///< dwords
using RangeSize = Bits<16, 5>;    ///< dwords; 0: off
constexpr uint32_t kBiosScratch7 = 0x14c / 4;
// A guest that walks the whole SMN space must not make us keep all of it.
constexpr size_t kSmnRegisters = 65536;

}  // namespace

Nbio::Nbio(Env& env, RegisterFile& registers, BusMemory& bus) : env_(env), registers_(registers), bus_(bus) {
    registers.claim(kMmIndex, 2, *this);
    registers.claim(kPcieData2, 1, *this);
    registers.claim(kConfigMemsize, 1, *this);
    registers.claim(kIovFuncIdentifier, 1, *this);
    registers.claim(kStrap0, 1, *this);
}

void Nbio::reset() {
    smn_.clear();
    registers_.store(kConfigMemsize, static_cast<uint32_t>(bus_.vram_bytes() >> 20));
    // "IOV enabled, not a virtual function": the driver then takes us neither for a VF nor for a passed-through card, and
    // asks for no reset at probe.
    registers_.store(kIovFuncIdentifier, 0x80000000);
    registers_.store(kBiosScratch7, 0x200);  // asic_init done
}

/// A range is compared with bits 11:2 of the offset: it is there in every page of the aperture, so that processes have
/// doorbells of SDMA queues in their own pages. @source Linux 6.12 kfd_priv.h KFD_QUEUE_DOORBELL_MIRROR_OFFSET
DoorbellTarget Nbio::doorbell_target(uint32_t byte_offset) const {
    if (!bit(registers_.stored(kDoorbellAperEn), 0)) return DoorbellTarget::Nowhere;
    const uint32_t dw = bits(byte_offset, 2, 10);
    for (uint32_t n = 0; n < std::size(kRangeTargets); ++n) {
        const uint32_t range = registers_.stored(kDoorbellRanges + n);
        const uint32_t first = RangeOffset::get(range);
        if (dw >= first && dw - first < RangeSize::get(range)) return kRangeTargets[n];
    }
    return DoorbellTarget::Cp;
}

uint32_t* Nbio::vram_window() {
    const uint32_t index = registers_.stored(kMmIndex);
    const uint64_t offset = (uint64_t{registers_.stored(kMmIndexHi)} << 31) | (index & 0x7ffffffcu);
    if (offset > bus_.vram_bytes() - 4) {
        report(env_, Fault::VramAddress, fmt::format("MM_DATA at {:#x}", offset));
        return nullptr;
    }
    return reinterpret_cast<uint32_t*>(bus_.vram() + offset);
}

uint32_t Nbio::read(uint32_t dw) {
    if (dw == kMmData) {
        const uint32_t index = registers_.stored(kMmIndex);
        if (!bit(index, 31)) return index / 4 == kMmData ? 0 : registers_.read(index / 4);
        const uint32_t* p = vram_window();
        return p ? *p : ~0u;
    }
    if (dw == kPcieData2) {
        auto it = smn_.find(registers_.stored(kPcieIndex2));
        return it == smn_.end() ? 0 : it->second;
    }
    return registers_.stored(dw);
}

void Nbio::write(uint32_t dw, uint32_t value) {
    if (dw == kMmIndex) return registers_.store(dw, value);
    if (dw == kMmData) {
        const uint32_t index = registers_.stored(kMmIndex);
        if (!bit(index, 31)) {
            if (index / 4 != kMmData) registers_.write(index / 4, value);
        } else if (uint32_t* p = vram_window()) {
            *p = value;
        }
        return;
    }
    if (dw == kPcieData2) {
        const uint32_t index = registers_.stored(kPcieIndex2);
        if (smn_.size() < kSmnRegisters || smn_.count(index)) smn_[index] = value;
    }
    // The rest are constants: writes have no effect.
}

}  // namespace lyra
