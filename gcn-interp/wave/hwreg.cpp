// SPDX-License-Identifier: MIT
// Wave hardware registers: composed from the wave's state on a read, taken apart on a write; step 6 of the data flow.
// @source docs/spec/front-end.md 5.3
#include "gcn-interp/wave/hwreg.h"

#include <algorithm>

namespace lyra::gcn::hwreg {
namespace {

uint32_t status(const Wave& wave) {
    uint32_t value = wave.status;
    value = StatusBits::Scc::set(value, wave.scc);
    value = StatusBits::ExecZ::set(value, wave.exec == 0);
    return StatusBits::VccZ::set(value, wave.vcc() == 0);
}

/// Sizes are given as hardware encodes them: granules minus 1. @source Linux 6.12 cwsr_trap_handler_gfx9.asm,
/// SQ_WAVE_GPR_ALLOC_*
uint32_t gpr_alloc(const Wave& wave) {
    const ChipFacts& chip = facts_of(wave.chip);
    const uint32_t vgprs = wave.vgpr_count / chip.vgpr_granule - 1u;
    uint32_t value = Bits<24, 4>::set(0u, wave.sgpr_count / kSgprGranule - 1u);
    if (!chip.acc_vgprs) return Bits<8, 6>::set(value, vgprs);
    value = Bits<6, 6>::set(value, vgprs);
    return Bits<12, 6>::set(value, wave.acc_first / kAccGranule - 1u);
}

/// LDS_BASE and LDS_SIZE count 64 dwords.
uint32_t lds_alloc(const Wave& wave) {
    uint32_t value = 0;
    value = Bits<0, 8>::set(value, wave.lds_base / 256);
    return Bits<12, 9>::set(value, wave.lds_bytes / 256);
}

uint32_t sh_mem_bases(const Wave& wave) {
    return static_cast<uint32_t>(wave.private_base >> 48) | static_cast<uint32_t>(wave.shared_base >> 48 << 16);
}

uint32_t writable(Id id, bool priv) {
    switch (id) {
#define HWREG(number, name, user, privileged) \
    case Id::name: return priv ? privileged : user;
#include "gcn-interp/wave/hwreg_access.def"
#undef HWREG
    }
    return 0;
}

struct Field {
    Id id;
    unsigned low, width;
    explicit Field(uint32_t simm16)
        : id(static_cast<Id>(simm16 & 63)), low(simm16 >> 6 & 31), width(std::min((simm16 >> 11 & 31) + 1, 32 - low)) {}
    uint32_t mask() const { return static_cast<uint32_t>(((uint64_t{1} << width) - 1) << low); }
};

}  // namespace

uint32_t read(const Wave& wave, Id id) {
    switch (id) {
        case Id::MODE: return ModeBits::GprIdxEn::set(wave.mode, ModeBits::GprIdxEn::get(wave.mode) | wave.user_gpr_idx);
        case Id::STATUS: return status(wave);
        case Id::TRAPSTS: return wave.priv() ? wave.trapsts : TrapstsBits::ReadsExcp::set(wave.trapsts, 0);
        case Id::HW_ID: return wave.hw_id;
        case Id::XCC_ID: return facts_of(wave.chip).xccs > 1 ? wave.xcc : 0;
        case Id::GPR_ALLOC: return gpr_alloc(wave);
        case Id::LDS_ALLOC: return lds_alloc(wave);
        case Id::IB_STS: return wave.ib_sts;
        case Id::SH_MEM_BASES: return sh_mem_bases(wave);
        case Id::TBA_LO: return lo32(wave.tba >> 8);
        case Id::TBA_HI: return hi32(wave.tba >> 8) & 0xff;
        case Id::TMA_LO: return lo32(wave.tma >> 8);
        case Id::TMA_HI: return hi32(wave.tma >> 8) & 0xff;
    }
    return 0;
}

void write(Wave& wave, Id id, uint32_t value, uint32_t mask) {
    mask &= writable(id, wave.priv());
    const auto merge = [&](uint32_t& word) { word = (word & ~mask) | (value & mask); };
    switch (id) {
        case Id::MODE:
            merge(wave.mode);
            if (mask & ModeBits::GprIdxEn::kMask) wave.user_gpr_idx = false;
            break;
        case Id::TRAPSTS: merge(wave.trapsts); break;
        case Id::IB_STS: merge(wave.ib_sts); break;
        case Id::STATUS:
            merge(wave.status);
            if (mask & 1) wave.scc = value & 1;
            break;
        default: break;
    }
}

uint32_t read_field(const Wave& wave, uint32_t simm16) {
    const Field field(simm16);
    return bits(read(wave, field.id), field.low, field.width);
}

void write_field(Wave& wave, uint32_t simm16, uint32_t value) {
    const Field field(simm16);
    write(wave, field.id, value << field.low, field.mask());
}

}  // namespace lyra::gcn::hwreg
