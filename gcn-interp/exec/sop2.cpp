// SPDX-License-Identifier: MIT
// Scalar operations with two sources; step 6 of the data flow.
// @source AMD Vega ISA document, "SOP2 instructions"
#include <algorithm>
#include <bit>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/exec/formats.h"
#include "gcn-interp/exec/scalar.h"
#include "gcn-interp/isa/op.h"

namespace lyra::gcn {
namespace {

/// Result and carry, overflow or non-zero flag of a scalar operation.
template <class Word>
struct Value {
    Word result;
    bool scc;
};

template <class Word>
Value<Word> nonzero(Word result) {
    return {result, result != 0};
}

template <class Word>
Word fetch(const Wave& wave, const Inst& inst, unsigned n) {
    if constexpr (sizeof(Word) == 8) {
        return scalar::source64(wave, inst, inst.src[n]);
    } else {
        return scalar::source32(wave, inst, inst.src[n]);
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

/// D, SCC = fn(S0, S1).
template <class A, class B, auto kFn>
void with_scc(ExecContext&, Wave& wave, const Inst& inst) {
    const auto value = kFn(fetch<A>(wave, inst, 0), fetch<B>(wave, inst, 1));
    wave.scc = value.scc;
    store(wave, inst, value.result);
}

/// D = fn(S0, S1); SCC stays.
template <class A, class B, auto kFn>
void without_scc(ExecContext&, Wave& wave, const Inst& inst) {
    store(wave, inst, kFn(fetch<A>(wave, inst, 0), fetch<B>(wave, inst, 1)));
}

using U32 = uint32_t;
using U64 = uint64_t;

int32_t as_signed(U32 v) { return static_cast<int32_t>(v); }

Value<U32> add_signed(U32 a, U32 b) {
    const U32 r = a + b;
    return {r, ((~(a ^ b) & (a ^ r)) >> 31) != 0};
}
Value<U32> sub_signed(U32 a, U32 b) {
    const U32 r = a - b;
    return {r, (((a ^ b) & (a ^ r)) >> 31) != 0};
}

/// The sign of the 32-bit difference decides. @source AMD Vega ISA document, S_ABSDIFF_I32: its examples with 0x80000000
U32 absolute_difference(U32 a, U32 b) { return as_signed(a - b) < 0 ? b - a : a - b; }

template <unsigned kShift>
Value<U32> shift_add(U32 a, U32 b) {
    const U64 r = (U64{a} << kShift) + b;
    return {lo32(r), hi32(r) != 0};
}

/// Bit field: offset in S1[5:0] (32-bit: S1[4:0]), width in S1[22:16].
template <class Word>
Word field(Word value, U32 spec, bool is_signed) {
    constexpr unsigned kBits = sizeof(Word) * 8;
    const unsigned offset = spec & (kBits - 1);
    const unsigned width = bits(spec, 16, 7);
    if (width == 0) return 0;
    if (is_signed) {
        const int64_t whole = sizeof(Word) == 8 ? static_cast<int64_t>(value) : sign_extend(value, 32);
        const int64_t moved = whole >> offset;
        return static_cast<Word>(width >= kBits ? moved : sign_extend(static_cast<U64>(moved), width));
    }
    const Word moved = value >> offset;
    return width >= kBits ? moved : static_cast<Word>(moved & ((Word{1} << width) - 1));
}

namespace row {

void s_addc_u32(ExecContext&, Wave& wave, const Inst& inst) {
    const U64 r = U64{fetch<U32>(wave, inst, 0)} + fetch<U32>(wave, inst, 1) + wave.scc;
    wave.scc = hi32(r) != 0;
    store(wave, inst, lo32(r));
}
void s_subb_u32(ExecContext&, Wave& wave, const Inst& inst) {
    const U64 r = U64{fetch<U32>(wave, inst, 0)} - fetch<U32>(wave, inst, 1) - wave.scc;
    wave.scc = hi32(r) != 0;
    store(wave, inst, lo32(r));
}
void s_cselect_b32(ExecContext&, Wave& wave, const Inst& inst) { store(wave, inst, fetch<U32>(wave, inst, wave.scc ? 0 : 1)); }
void s_cselect_b64(ExecContext&, Wave& wave, const Inst& inst) { store(wave, inst, fetch<U64>(wave, inst, wave.scc ? 0 : 1)); }
void s_ashr_i64(ExecContext&, Wave& wave, const Inst& inst) {
    const auto value = static_cast<int64_t>(scalar::source64_signed(wave, inst, inst.src[0]));
    const U64 r = static_cast<U64>(value >> (fetch<U32>(wave, inst, 1) & 63));
    wave.scc = r != 0;
    store(wave, inst, r);
}
void s_bfe_i64(ExecContext&, Wave& wave, const Inst& inst) {
    const U64 value = scalar::source64_signed(wave, inst, inst.src[0]);
    const U64 r = field<U64>(value, fetch<U32>(wave, inst, 1), true);
    wave.scc = r != 0;
    store(wave, inst, r);
}
void s_cbranch_g_fork(ExecContext&, Wave& wave, const Inst& inst) {
    const U64 mask = fetch<U64>(wave, inst, 0);
    flow::fork(wave, mask, fetch<U64>(wave, inst, 1));
}
void s_rfe_restore_b64(ExecContext& ctx, Wave& wave, const Inst& inst) {
    wave.pc = flow::code_address(fetch<U64>(wave, inst, 0));
    ctx.ask(Request::TrapReturn);
}

#define WITH_SCC(name, A, B, expression) constexpr WaveFn name = with_scc<A, B, [](A a, B b) { return expression; }>;
#define WITHOUT_SCC(name, A, B, expression) constexpr WaveFn name = without_scc<A, B, [](A a, B b) { return expression; }>;

WITH_SCC(s_add_u32, U32, U32, (Value<U32>{a + b, a + b < a}))
WITH_SCC(s_sub_u32, U32, U32, (Value<U32>{a - b, b > a}))
WITH_SCC(s_add_i32, U32, U32, add_signed(a, b))
WITH_SCC(s_sub_i32, U32, U32, sub_signed(a, b))
WITH_SCC(s_min_i32, U32, U32, (as_signed(a) < as_signed(b) ? Value<U32>{a, true} : Value<U32>{b, false}))
WITH_SCC(s_min_u32, U32, U32, (a < b ? Value<U32>{a, true} : Value<U32>{b, false}))
WITH_SCC(s_max_i32, U32, U32, (as_signed(a) >= as_signed(b) ? Value<U32>{a, true} : Value<U32>{b, false}))
WITH_SCC(s_max_u32, U32, U32, (a >= b ? Value<U32>{a, true} : Value<U32>{b, false}))
WITH_SCC(s_and_b32, U32, U32, nonzero(a& b))
WITH_SCC(s_and_b64, U64, U64, nonzero(a& b))
WITH_SCC(s_or_b32, U32, U32, nonzero(a | b))
WITH_SCC(s_or_b64, U64, U64, nonzero(a | b))
WITH_SCC(s_xor_b32, U32, U32, nonzero(a ^ b))
WITH_SCC(s_xor_b64, U64, U64, nonzero(a ^ b))
WITH_SCC(s_andn2_b32, U32, U32, nonzero(a & ~b))
WITH_SCC(s_andn2_b64, U64, U64, nonzero(a & ~b))
WITH_SCC(s_orn2_b32, U32, U32, nonzero(a | ~b))
WITH_SCC(s_orn2_b64, U64, U64, nonzero(a | ~b))
WITH_SCC(s_nand_b32, U32, U32, nonzero(~(a& b)))
WITH_SCC(s_nand_b64, U64, U64, nonzero(~(a& b)))
WITH_SCC(s_nor_b32, U32, U32, nonzero(~(a | b)))
WITH_SCC(s_nor_b64, U64, U64, nonzero(~(a | b)))
WITH_SCC(s_xnor_b32, U32, U32, nonzero(~(a ^ b)))
WITH_SCC(s_xnor_b64, U64, U64, nonzero(~(a ^ b)))
WITH_SCC(s_lshl_b32, U32, U32, nonzero(a << (b & 31)))
WITH_SCC(s_lshl_b64, U64, U32, nonzero(a << (b & 63)))
WITH_SCC(s_lshr_b32, U32, U32, nonzero(a >> (b & 31)))
WITH_SCC(s_lshr_b64, U64, U32, nonzero(a >> (b & 63)))
WITH_SCC(s_ashr_i32, U32, U32, nonzero(static_cast<U32>(as_signed(a) >> (b & 31))))
WITHOUT_SCC(s_bfm_b32, U32, U32, ((U32{1} << (a & 31)) - 1) << (b & 31))
WITHOUT_SCC(s_bfm_b64, U32, U32, ((U64{1} << (a & 63)) - 1) << (b & 63))
WITHOUT_SCC(s_mul_i32, U32, U32, a* b)
WITH_SCC(s_bfe_u32, U32, U32, nonzero(field<U32>(a, b, false)))
WITH_SCC(s_bfe_i32, U32, U32, nonzero(field<U32>(a, b, true)))
WITH_SCC(s_bfe_u64, U64, U32, nonzero(field<U64>(a, b, false)))
WITH_SCC(s_absdiff_i32, U32, U32, nonzero(absolute_difference(a, b)))
WITHOUT_SCC(s_mul_hi_u32, U32, U32, hi32(U64{a} * b))
WITHOUT_SCC(s_mul_hi_i32, U32, U32, hi32(static_cast<U64>(int64_t{as_signed(a)} * as_signed(b))))
WITH_SCC(s_lshl1_add_u32, U32, U32, shift_add<1>(a, b))
WITH_SCC(s_lshl2_add_u32, U32, U32, shift_add<2>(a, b))
WITH_SCC(s_lshl3_add_u32, U32, U32, shift_add<3>(a, b))
WITH_SCC(s_lshl4_add_u32, U32, U32, shift_add<4>(a, b))
WITHOUT_SCC(s_pack_ll_b32_b16, U32, U32, (a & 0xffff) | (b << 16))
WITHOUT_SCC(s_pack_lh_b32_b16, U32, U32, (a & 0xffff) | (b & 0xffff0000))
WITHOUT_SCC(s_pack_hh_b32_b16, U32, U32, (a >> 16) | (b & 0xffff0000))

#undef WITH_SCC
#undef WITHOUT_SCC

}  // namespace row
}  // namespace

void register_sop2(ExecTable& table) {
#define SOP2(opcode, name, profile, flags, ...) enter<row::name>(table, Op::name, Format::SOP2);
#include "gcn-interp/isa/sop2.def"
#undef SOP2
}

}  // namespace lyra::gcn
