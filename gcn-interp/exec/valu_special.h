// SPDX-License-Identifier: MIT
// Vector instructions that do not work lane by lane, and the packed formats; step 6 of the data flow.
#pragma once

#include "gcn-interp/exec/valu_operand.h"

namespace lyra::gcn {

void exec_nop(ExecContext& ctx, const Inst& inst);
void exec_v_clrexcp(ExecContext& ctx, const Inst& inst);
void exec_v_readfirstlane_b32(ExecContext& ctx, const Inst& inst);
void exec_v_readlane_b32(ExecContext& ctx, const Inst& inst);
void exec_v_writelane_b32(ExecContext& ctx, const Inst& inst);
void exec_v_swap_b32(ExecContext& ctx, const Inst& inst);
void exec_v_mqsad_u32_u8(ExecContext& ctx, const Inst& inst);
/// v_accvgpr_read_b32, v_accvgpr_write_b32, v_accvgpr_mov_b32. M0 may make the numbers relative (s_set_gpr_idx_on).
void exec_acc_move(ExecContext& ctx, const Inst& inst);
void exec_v_pk_mov_b32(ExecContext& ctx, const Inst& inst);
/// Stochastic rounding to a byte of the destination.
void exec_v_cvt_sr_fp8_f32(ExecContext& ctx, const Inst& inst);
void exec_v_cvt_sr_bf8_f32(ExecContext& ctx, const Inst& inst);

/// The packed multiply-add on the old destination.
template <Backend kBackend>
void exec_v_pk_fmac_f16(ExecContext& ctx, const Inst& inst);

/// Packed: the 16-bit operation on the low halves and on the high halves, chosen by op_sel and op_sel_hi.
template <Backend kBackend>
void run_packed(ExecContext& ctx, const Inst& inst, const OpDesc& desc);

/// Packed f32: the operation on a register of each pair, chosen by op_sel and op_sel_hi, for each register of the result.
template <Backend kBackend>
void run_packed32(ExecContext& ctx, const Inst& inst, const OpDesc& desc);

/// v_mad_mix family: f32 operation on operands that are f32 or a half of a register.
enum class MixResult : uint8_t { F32, LowHalf, HighHalf };
template <Backend kBackend>
void run_mix(ExecContext& ctx, const Inst& inst, const OpDesc& desc, MixResult result);

/// |a - b| of each byte, added up; masked: only where the byte of b is not 0.
uint32_t sum_of_differences(uint32_t a, uint32_t b, bool masked);

void register_vop1(ExecTable& table);
void register_vop2(ExecTable& table);
void register_vop3(ExecTable& table);
void register_vop3p(ExecTable& table);
void register_vopc(ExecTable& table);
void register_matrix(ExecTable& table);

}  // namespace lyra::gcn
