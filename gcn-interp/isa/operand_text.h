// SPDX-License-Identifier: MIT
// Operands in LLVM's spelling: registers, inline constants, literals, wait counts, messages, hardware registers.
#pragma once

#include <string>

#include "gcn-interp/isa/op.h"

namespace lyra::gcn {

/// "v3", "v[4:5]".
std::string vgpr_text(unsigned first, unsigned dwords);
/// The same; with acc "a3", "a[4:5]".
std::string data_text(unsigned first, unsigned dwords, bool acc);
/// "s3", "s[4:5]", "vcc", "ttmp[0:3]" for operand numbers 0..127.
std::string sreg_text(unsigned number, unsigned dwords);
/// Any source as encoded; constants and literals are printed as the operand type has them.
std::string source_text(const Inst& inst, uint16_t number, Type type);
/// A 32-bit constant that follows the instruction, as an operand of this type.
std::string literal_text(uint32_t literal, Type type);

std::string waitcnt_text(uint16_t imm);
std::string sendmsg_text(uint16_t imm);
std::string hwreg_text(uint16_t imm, Chip chip);
std::string gpr_index_text(uint16_t imm);
/// " offset:swizzle(...)" of ds_swizzle_b32; empty for 0.
std::string swizzle_text(uint16_t imm);
/// " quad_perm:[0,1,2,3]", " row_shl:1" ...; empty where LLVM calls the value invalid.
std::string dpp_text(uint16_t ctrl);

}  // namespace lyra::gcn
