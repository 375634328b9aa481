// SPDX-License-Identifier: MIT
// GRBM, per-VMID SQ state and RLC registers. @source Linux 6.12 gfx_v9_0.c, soc15.c
#include "qemu-hw/soc/grbm.h"

#include "common/bits.h"
#include "facts/register_fields.h"

namespace lyra {

namespace {

using namespace regs::GC;

// TBA and TMA registers hold address >> 8 in 40 bits; bit 31 of the high word is an enable bit of later chips.
uint64_t trap_address(uint32_t lo, uint32_t hi) {
    const uint64_t address = make64(lo, field::SQ_SHADER_TBA_HI::ADDR_HI::get(hi)) << 8;
    return static_cast<uint64_t>(sign_extend(address, 48));
}

}  // namespace

Grbm::Grbm(Env& env, RegisterFile& registers, const GpuShape& shape) : env_(env), registers_(registers), shape_(shape) {
    registers.attach(regs::Owner::Grbm, *this);
}

void Grbm::reset() {
    banks_ = {};
    captured_clock_ = 0;
}

GrbmSelect Grbm::select() const {
    namespace gfx = field::GRBM_GFX_CNTL;
    const uint32_t v = registers_.stored(GRBM_GFX_CNTL);
    GrbmSelect s;
    s.me = static_cast<uint8_t>(gfx::MEID::get(v));
    s.pipe = static_cast<uint8_t>(gfx::PIPEID::get(v));
    s.queue = static_cast<uint8_t>(gfx::QUEUEID::get(v));
    s.vmid = static_cast<uint8_t>(gfx::VMID::get(v));
    return s;
}

uint32_t* Grbm::banked(uint32_t dw) {
    ShaderBank& bank = banks_[select().vmid];
    switch (dw) {
        case SH_MEM_BASES: return &bank.bases;
        case SH_MEM_CONFIG: return &bank.config;
        case SQ_SHADER_TBA_LO: return &bank.tba_lo;
        case SQ_SHADER_TBA_HI: return &bank.tba_hi;
        case SQ_SHADER_TMA_LO: return &bank.tma_lo;
        case SQ_SHADER_TMA_HI: return &bank.tma_hi;
        default: return nullptr;
    }
}

uint32_t Grbm::read(uint32_t dw) {
    if (const uint32_t* p = banked(dw)) return *p;
    if (dw == RLC_GPU_CLOCK_COUNT_LSB) return lo32(captured_clock_);
    if (dw == RLC_GPU_CLOCK_COUNT_MSB) return hi32(captured_clock_);
    return registers_.stored(dw);
}

void Grbm::write(uint32_t dw, uint32_t value) {
    if (uint32_t* p = banked(dw)) {
        *p = value;
    } else if (dw == RLC_SAFE_MODE) {
        registers_.store(dw, field::RLC_SAFE_MODE::CMD::set(value, 0));  // done at once
    } else if (dw == RLC_CAPTURE_GPU_CLOCK_COUNT) {
        if (field::RLC_CAPTURE_GPU_CLOCK_COUNT::CAPTURE::get(value)) captured_clock_ = gpu_clock(env_);
    }
}

VmidState Grbm::vmid_state(uint32_t vmid) const {
    const ShaderBank& bank = banks_[vmid & 0xf];
    VmidState state;
    state.sh_mem_bases = bank.bases;
    state.sh_mem_config = bank.config;
    state.tba = trap_address(bank.tba_lo, bank.tba_hi);
    state.tma = trap_address(bank.tma_lo, bank.tma_hi);
    return state;
}

void Grbm::bind(uint32_t vmid, const ProcessBinding& binding) {
    ShaderBank& bank = banks_[vmid & 0xf];
    bank.bases = binding.sh_mem_bases;
    bank.config = binding.sh_mem_config;
    bank.tba_lo = lo32(binding.tba >> 8);
    bank.tba_hi = field::SQ_SHADER_TBA_HI::ADDR_HI::of(hi32(binding.tba >> 8));
    bank.tma_lo = lo32(binding.tma >> 8);
    bank.tma_hi = field::SQ_SHADER_TMA_HI::ADDR_HI::of(hi32(binding.tma >> 8));
}

void Grbm::ShaderBank::visit(StateVisitor& v) {
    v("bases", bases);
    v("config", config);
    v("tba_lo", tba_lo);
    v("tba_hi", tba_hi);
    v("tma_lo", tma_lo);
    v("tma_hi", tma_hi);
}

void Grbm::visit(StateVisitor& v) {
    v("vmid", banks_);
    v("captured_clock", captured_clock_);
}

}  // namespace lyra
