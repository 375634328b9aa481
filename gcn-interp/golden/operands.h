// SPDX-License-Identifier: MIT
// Reference model: what one lane reads from an operand, and the lane and sub-dword selections of DPP and SDWA.
#pragma once

#include <cstdint>

#include "gcn-interp/isa/inst.h"
#include "gcn-interp/isa/op.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::golden {

struct Value128 {
    uint64_t low = 0, high = 0;
};
/// @param type  of the operand: decides its size and what constants are
Value128 read_operand(const gcn::Wave& wave, const gcn::Inst& inst, uint16_t operand, gcn::Type type, unsigned lane);

/// Two 16-bit numbers in one register.
bool is_pair(gcn::Type type);

/// Registers made relative by M0 while MODE.GPR_IDX_EN is set.
gcn::Inst indexed(const gcn::Wave& wave, const gcn::Inst& inst);

uint32_t sdwa_field(uint32_t v, uint8_t select, bool sign_extended);
uint32_t sdwa_placed(const gcn::Inst& inst, uint32_t value, uint32_t old);

struct DppSource {
    unsigned lane;
    bool valid;  ///< there is such a lane, and EXEC has it
};
DppSource dpp_source(const gcn::Inst& inst, unsigned lane, uint64_t exec);
/// Row and bank mask.
bool dpp_writes(const gcn::Inst& inst, unsigned lane);

}  // namespace lyra::golden
