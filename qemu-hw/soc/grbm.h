// SPDX-License-Identifier: MIT
// GRBM register banking (GRBM_GFX_CNTL, GRBM_GFX_INDEX), per-VMID shader state, RLC handshakes, clock counter.
#pragma once

#include <array>
#include <cstdint>

#include "common/env.h"
#include "common/snapshot.h"
#include "cp-firmware-model/command_processor.h"
#include "qemu-hw/soc/register_file.h"

namespace lyra {

class Grbm : public RegisterBlock {
public:
    Grbm(Env& env, RegisterFile& registers, const GpuShape& shape);
    uint32_t read(uint32_t dw) override;
    void write(uint32_t dw, uint32_t value) override;
    void reset();
    void visit(StateVisitor& v);

    GrbmSelect select() const;
    /// SH_MEM_* and SQ_SHADER_TBA/TMA of a VMID.
    VmidState vmid_state(uint32_t vmid) const;
    void bind(uint32_t vmid, const ProcessBinding& binding);

private:
    /// SH_MEM_BASES, SH_MEM_CONFIG, SQ_SHADER_TBA_LO/HI, TMA_LO/HI.
    struct ShaderBank {
        uint32_t bases = 0, config = 0, tba_lo = 0, tba_hi = 0, tma_lo = 0, tma_hi = 0;
        void visit(StateVisitor& v);
    };
    uint32_t* banked(uint32_t dw);

    Env& env_;
    RegisterFile& registers_;
    GpuShape shape_;
    std::array<ShaderBank, kVmids> banks_{};
    uint64_t captured_clock_ = 0;
};

}  // namespace lyra
