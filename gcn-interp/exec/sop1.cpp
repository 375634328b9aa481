// SPDX-License-Identifier: MIT
// Scalar operations with one source; step 6 of the data flow.
// @source AMD Vega ISA document, "SOP1 instructions"
#include <bit>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/exec/formats.h"
#include "gcn-interp/exec/scalar.h"
#include "gcn-interp/isa/op.h"

namespace lyra::gcn {
namespace {

using U32 = uint32_t;
using U64 = uint64_t;

template <class Word>
Word fetch(const Wave& wave, const Inst& inst) {
    if constexpr (sizeof(Word) == 8) {
        return scalar::source64(wave, inst, inst.src[0]);
    } else {
        return scalar::source32(wave, inst, inst.src[0]);
    }
}

template <class Word>
void store(Wave& wave, const Inst& inst, Word value) {
    if constexpr (sizeof(Word) == 8) {
        wave.write_scalar64(inst.dst, value);
    } else {
        wave.write_scalar(inst.dst, value);
    }
}

/// D = fn(S0); SCC = D is not zero.
template <class A, auto kFn>
void with_scc(ExecContext&, Wave& wave, const Inst& inst) {
    const auto value = kFn(fetch<A>(wave, inst));
    wave.scc = value != 0;
    store(wave, inst, value);
}

/// D = fn(S0); SCC stays.
template <class A, auto kFn>
void without_scc(ExecContext&, Wave& wave, const Inst& inst) {
    store(wave, inst, kFn(fetch<A>(wave, inst)));
}

/// D = EXEC; EXEC = fn(S0, EXEC); SCC = EXEC is not zero.
template <auto kFn>
void save_exec(ExecContext&, Wave& wave, const Inst& inst) {
    const U64 source = fetch<U64>(wave, inst);
    const U64 old = wave.exec;
    store(wave, inst, old);
    wave.exec = kFn(source, old);
    wave.scc = wave.exec != 0;
}

/// EXEC = D = fn(S0, EXEC); SCC = EXEC is not zero.
template <auto kFn>
void write_exec(ExecContext&, Wave& wave, const Inst& inst) {
    const U64 result = kFn(fetch<U64>(wave, inst), wave.exec);
    store(wave, inst, result);
    wave.exec = result;
    wave.scc = result != 0;
}

template <class Word>
Word reverse(Word value) {
    Word result = 0;
    for (unsigned i = 0; i < sizeof(Word) * 8; ++i, value >>= 1) result = (result << 1) | (value & 1);
    return result;
}

/// All four bits of a quad when one of them is set.
template <class Word>
Word whole_quads(Word value) {
    value |= value >> 1;
    value |= value >> 2;
    return (value & static_cast<Word>(0x1111111111111111)) * 15;
}

template <class Word>
Word quad_mask(Word value) {
    Word result = 0;
    for (unsigned i = 0; i < sizeof(Word) * 2; ++i) result |= Word{((value >> (4 * i)) & 15) != 0} << i;
    return result;
}

/// Index of the lowest set bit, -1 without one.
template <class Word>
U32 first_one(Word value) {
    return value ? static_cast<U32>(std::countr_zero(value)) : ~U32{0};
}

/// Zeros before the highest set bit, -1 without one.
template <class Word>
U32 leading_zeros(Word value) {
    return value ? static_cast<U32>(std::countl_zero(value)) : ~U32{0};
}

/// Bits at the top equal to the sign bit, -1 when all bits are.
template <class Word>
U32 leading_sign(Word value) {
    const bool negative = value >> (sizeof(Word) * 8 - 1);
    return leading_zeros<Word>(negative ? ~value : value);
}

U64 replicate(U32 value) {
    U64 result = 0;
    for (unsigned i = 0; i < 32; ++i) result |= U64{((value >> i) & 1) * 3} << (2 * i);
    return result;
}

/// Relative addressing sees the wave's physical SGPRs, VCC and its neighbours at the top among them.
unsigned relative_index(const Wave& wave, unsigned base) { return base + (wave.m0 & 0xffff); }

U32 read_relative(const Wave& wave, unsigned index) {
    if (index < wave.sgpr_count) return wave.sgpr[index];
    return index >= kTtmp0 && index < kTtmp0 + 16 ? wave.ttmp[index - kTtmp0] : wave.sgpr[0];
}

void write_relative(Wave& wave, unsigned index, U32 value) {
    if (index < wave.sgpr_count) {
        wave.sgpr[index] = value;
    } else if (index >= kTtmp0 && index < kTtmp0 + 16 && wave.priv()) {
        wave.ttmp[index - kTtmp0] = value;
    }
}

namespace row {

void s_cmov_b32(ExecContext&, Wave& wave, const Inst& inst) {
    if (wave.scc) store(wave, inst, fetch<U32>(wave, inst));
}
void s_cmov_b64(ExecContext&, Wave& wave, const Inst& inst) {
    if (wave.scc) store(wave, inst, fetch<U64>(wave, inst));
}
void s_bitset0_b32(ExecContext&, Wave& wave, const Inst& inst) {
    store(wave, inst, wave.read_scalar(inst.dst) & ~(U32{1} << (fetch<U32>(wave, inst) & 31)));
}
void s_bitset1_b32(ExecContext&, Wave& wave, const Inst& inst) {
    store(wave, inst, wave.read_scalar(inst.dst) | (U32{1} << (fetch<U32>(wave, inst) & 31)));
}
void s_bitset0_b64(ExecContext&, Wave& wave, const Inst& inst) {
    store(wave, inst, wave.read_scalar64(inst.dst) & ~(U64{1} << (fetch<U32>(wave, inst) & 63)));
}
void s_bitset1_b64(ExecContext&, Wave& wave, const Inst& inst) {
    store(wave, inst, wave.read_scalar64(inst.dst) | (U64{1} << (fetch<U32>(wave, inst) & 63)));
}
void s_getpc_b64(ExecContext&, Wave& wave, const Inst& inst) { store(wave, inst, wave.pc); }
void s_setpc_b64(ExecContext&, Wave& wave, const Inst& inst) { wave.pc = flow::code_address(fetch<U64>(wave, inst)); }
void s_swappc_b64(ExecContext&, Wave& wave, const Inst& inst) {
    const U64 target = fetch<U64>(wave, inst);
    store(wave, inst, wave.pc);
    wave.pc = flow::code_address(target);
}
void s_rfe_b64(ExecContext& ctx, Wave& wave, const Inst& inst) {
    wave.pc = flow::code_address(fetch<U64>(wave, inst));
    ctx.ask(Request::TrapReturn);
}
void s_movrels_b32(ExecContext&, Wave& wave, const Inst& inst) {
    store(wave, inst, read_relative(wave, relative_index(wave, inst.src[0])));
}
void s_movrels_b64(ExecContext&, Wave& wave, const Inst& inst) {
    const unsigned index = relative_index(wave, inst.src[0]);
    store(wave, inst, make64(read_relative(wave, index), read_relative(wave, index + 1)));
}
void s_movreld_b32(ExecContext&, Wave& wave, const Inst& inst) {
    write_relative(wave, relative_index(wave, inst.dst), fetch<U32>(wave, inst));
}
void s_movreld_b64(ExecContext&, Wave& wave, const Inst& inst) {
    const U64 value = fetch<U64>(wave, inst);
    const unsigned index = relative_index(wave, inst.dst);
    write_relative(wave, index, lo32(value));
    write_relative(wave, index + 1, hi32(value));
}
/// Back where the pushed branches meet: run the next pending side, or go on when none is left.
void s_cbranch_join(ExecContext&, Wave& wave, const Inst& inst) {
    const U32 depth = ModeBits::CspBits::get(wave.mode);
    if (depth == fetch<U32>(wave, inst)) return;
    const U32 entry = (depth - 1) & 7;
    wave.mode = ModeBits::CspBits::set(wave.mode, entry);
    wave.exec = wave.read_scalar64(entry * 4);
    wave.pc = flow::code_address(wave.read_scalar64(entry * 4 + 2));
}
void s_set_gpr_idx_idx(ExecContext&, Wave& wave, const Inst& inst) {
    wave.m0 = (wave.m0 & ~U32{0xff}) | (fetch<U32>(wave, inst) & 0xff);
}
void s_flbit_i32_i64(ExecContext&, Wave& wave, const Inst& inst) {
    store(wave, inst, leading_sign<U64>(scalar::source64_signed(wave, inst, inst.src[0])));
}
void s_abs_i32(ExecContext&, Wave& wave, const Inst& inst) {
    const U32 value = fetch<U32>(wave, inst);
    const U32 result = value >> 31 ? 0 - value : value;
    wave.scc = result != 0;
    store(wave, inst, result);
}

#define WITH_SCC(name, A, expression) constexpr WaveFn name = with_scc<A, [](A a) { return expression; }>;
#define WITHOUT_SCC(name, A, expression) constexpr WaveFn name = without_scc<A, [](A a) { return expression; }>;
#define SAVE_EXEC(name, expression) constexpr WaveFn name = save_exec<[](U64 s, U64 e) { return expression; }>;
#define WRITE_EXEC(name, expression) constexpr WaveFn name = write_exec<[](U64 s, U64 e) { return expression; }>;

WITHOUT_SCC(s_mov_b32, U32, a)
WITHOUT_SCC(s_mov_b64, U64, a)
WITH_SCC(s_not_b32, U32, ~a)
WITH_SCC(s_not_b64, U64, ~a)
WITH_SCC(s_wqm_b32, U32, whole_quads(a))
WITH_SCC(s_wqm_b64, U64, whole_quads(a))
WITHOUT_SCC(s_brev_b32, U32, reverse(a))
WITHOUT_SCC(s_brev_b64, U64, reverse(a))
WITH_SCC(s_bcnt0_i32_b32, U32, static_cast<U32>(32 - std::popcount(a)))
WITH_SCC(s_bcnt0_i32_b64, U64, static_cast<U32>(64 - std::popcount(a)))
WITH_SCC(s_bcnt1_i32_b32, U32, static_cast<U32>(std::popcount(a)))
WITH_SCC(s_bcnt1_i32_b64, U64, static_cast<U32>(std::popcount(a)))
WITHOUT_SCC(s_ff0_i32_b32, U32, first_one(~a))
WITHOUT_SCC(s_ff0_i32_b64, U64, first_one(~a))
WITHOUT_SCC(s_ff1_i32_b32, U32, first_one(a))
WITHOUT_SCC(s_ff1_i32_b64, U64, first_one(a))
WITHOUT_SCC(s_flbit_i32_b32, U32, leading_zeros(a))
WITHOUT_SCC(s_flbit_i32_b64, U64, leading_zeros(a))
WITHOUT_SCC(s_flbit_i32, U32, leading_sign(a))
WITHOUT_SCC(s_sext_i32_i8, U32, static_cast<U32>(sign_extend(a, 8)))
WITHOUT_SCC(s_sext_i32_i16, U32, static_cast<U32>(sign_extend(a, 16)))
SAVE_EXEC(s_and_saveexec_b64, s& e)
SAVE_EXEC(s_or_saveexec_b64, s | e)
SAVE_EXEC(s_xor_saveexec_b64, s ^ e)
SAVE_EXEC(s_andn2_saveexec_b64, s & ~e)
SAVE_EXEC(s_orn2_saveexec_b64, s | ~e)
SAVE_EXEC(s_nand_saveexec_b64, ~(s& e))
SAVE_EXEC(s_nor_saveexec_b64, ~(s | e))
SAVE_EXEC(s_xnor_saveexec_b64, ~(s ^ e))
SAVE_EXEC(s_andn1_saveexec_b64, ~s& e)
SAVE_EXEC(s_orn1_saveexec_b64, ~s | e)
WRITE_EXEC(s_andn1_wrexec_b64, ~s& e)
WRITE_EXEC(s_andn2_wrexec_b64, s & ~e)
WITH_SCC(s_quadmask_b32, U32, quad_mask(a))
WITH_SCC(s_quadmask_b64, U64, quad_mask(a))
WITHOUT_SCC(s_bitreplicate_b64_b32, U32, replicate(a))

#undef WITH_SCC
#undef WITHOUT_SCC
#undef SAVE_EXEC
#undef WRITE_EXEC

}  // namespace row
}  // namespace

void register_sop1(ExecTable& table) {
#define SOP1(opcode, name, profile, flags, ...) enter<row::name>(table, Op::name, Format::SOP1);
#include "gcn-interp/isa/sop1.def"
#undef SOP1
}

}  // namespace lyra::gcn
