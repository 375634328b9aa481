// SPDX-License-Identifier: MIT
// Scalar operations with a 16-bit immediate, hardware register access among them; step 6 of the data flow.
// @source AMD Vega ISA document, "SOPK instructions"
#include "gcn-interp/exec/formats.h"
#include "gcn-interp/wave/hwreg.h"

namespace lyra::gcn {
namespace {

using U32 = uint32_t;
using U64 = uint64_t;
using I32 = int32_t;

/// SCC = fn(D, immediate as signed / as unsigned 16 bits).
template <auto kFn>
void compare_signed(ExecContext&, Wave& wave, const Inst& inst) {
    wave.scc = kFn(static_cast<I32>(wave.read_scalar(inst.src[0])), static_cast<I32>(sign_extend(inst.imm & 0xffff, 16)));
}
template <auto kFn>
void compare_unsigned(ExecContext&, Wave& wave, const Inst& inst) {
    wave.scc = kFn(wave.read_scalar(inst.src[0]), static_cast<U32>(inst.imm & 0xffff));
}

U32 signed_imm(const Inst& inst) { return static_cast<U32>(sign_extend(inst.imm & 0xffff, 16)); }

/// Address a branch immediate names: dwords after the next instruction.
U64 branch_target(const Wave& wave, const Inst& inst) {
    return flow::code_address(wave.pc + static_cast<U64>(sign_extend(inst.imm & 0xffff, 16) * 4));
}

/// A write to STATUS may halt the wave, one to MODE make it step, or have its exceptions tracked.
void set_register(ExecContext& ctx, Wave& wave, const Inst& inst, U32 value) {
    const U32 enabled = ModeBits::ExcpEn::get(wave.mode);
    hwreg::write_field(wave, static_cast<U32>(inst.imm) & 0xffff, value);
    const auto id = static_cast<hwreg::Id>(inst.imm & 63);
    if (id == hwreg::Id::STATUS) ctx.ask(Request::Halt);
    if (id == hwreg::Id::MODE && (ModeBits::DebugEn::get(wave.mode) || ModeBits::ExcpEn::get(wave.mode) != enabled))
        ctx.ask(Request::Step);
}

namespace row {

void s_movk_i32(ExecContext&, Wave& wave, const Inst& inst) { wave.write_scalar(inst.dst, signed_imm(inst)); }
void s_cmovk_i32(ExecContext&, Wave& wave, const Inst& inst) {
    if (wave.scc) wave.write_scalar(inst.dst, signed_imm(inst));
}
void s_addk_i32(ExecContext&, Wave& wave, const Inst& inst) {
    const U32 a = wave.read_scalar(inst.dst), b = signed_imm(inst), r = a + b;
    wave.scc = ((~(a ^ b) & (a ^ r)) >> 31) != 0;
    wave.write_scalar(inst.dst, r);
}
void s_mulk_i32(ExecContext&, Wave& wave, const Inst& inst) {
    wave.write_scalar(inst.dst, wave.read_scalar(inst.dst) * signed_imm(inst));
}
void s_getreg_b32(ExecContext&, Wave& wave, const Inst& inst) {
    wave.write_scalar(inst.dst, hwreg::read_field(wave, static_cast<U32>(inst.imm) & 0xffff));
}
void s_setreg_b32(ExecContext& ctx, Wave& wave, const Inst& inst) {
    set_register(ctx, wave, inst, wave.read_scalar(inst.src[0]));
}
void s_setreg_imm32_b32(ExecContext& ctx, Wave& wave, const Inst& inst) { set_register(ctx, wave, inst, inst.literal); }
void s_call_b64(ExecContext&, Wave& wave, const Inst& inst) {
    wave.write_scalar64(inst.dst, wave.pc);
    wave.pc = branch_target(wave, inst);
}
void s_cbranch_i_fork(ExecContext&, Wave& wave, const Inst& inst) {
    flow::fork(wave, wave.read_scalar64(inst.src[0]), branch_target(wave, inst));
}

#define COMPARE(name, kind, T, op) constexpr WaveFn name = compare_##kind<[](T a, T b) -> bool { return (a op b); }>;

COMPARE(s_cmpk_eq_i32, signed, I32, ==)
COMPARE(s_cmpk_lg_i32, signed, I32, !=)
COMPARE(s_cmpk_gt_i32, signed, I32, >)
COMPARE(s_cmpk_ge_i32, signed, I32, >=)
COMPARE(s_cmpk_lt_i32, signed, I32, <)
COMPARE(s_cmpk_le_i32, signed, I32, <=)
COMPARE(s_cmpk_eq_u32, unsigned, U32, ==)
COMPARE(s_cmpk_lg_u32, unsigned, U32, !=)
COMPARE(s_cmpk_gt_u32, unsigned, U32, >)
COMPARE(s_cmpk_ge_u32, unsigned, U32, >=)
COMPARE(s_cmpk_lt_u32, unsigned, U32, <)
COMPARE(s_cmpk_le_u32, unsigned, U32, <=)

#undef COMPARE

}  // namespace row
}  // namespace

void register_sopk(ExecTable& table) {
#define SOPK(opcode, name, profile, flags, ...) enter<row::name>(table, Op::name, Format::SOPK);
#include "gcn-interp/isa/sopk.def"
#undef SOPK
}

}  // namespace lyra::gcn
