// SPDX-License-Identifier: MIT
// Which vector instructions have an emitter with AVX2; step 6 of the data flow.
#include "gcn-interp/translator/avx2_exponents.h"
#include "gcn-interp/translator/avx2_lanes.h"
#include "gcn-interp/translator/emit_packed.h"
#include "gcn-interp/translator/emitter.h"
#include "gcn-interp/wave/operand.h"

namespace lyra::gcn {
namespace {

using namespace avx2;

EmitterRows make_rows() {
    EmitterRows rows{};
#define LYRA_ROW(name, ...) rows[op_index(Op::name)] = {emit<__VA_ARGS__>, false};
#define LYRA_FLOAT(name, ...) rows[op_index(Op::name)] = {emit<__VA_ARGS__>, true};
    LYRA_ROW(v_mov_b32, unary<LYRA_INSN1(vmovaps)>)
    LYRA_ROW(v_not_b32, unary<[](E& e, const Ymm& t, const Ymm& a) { e.vpxor(t, a, e.constant(~0u)); }>)
    LYRA_FLOAT(v_cvt_f32_i32, float1<LYRA_INSN1(vcvtdq2ps)>)
    LYRA_FLOAT(v_cvt_f32_u32, cvt_f32_u32)
    LYRA_ROW(v_cvt_i32_f32, cvt_i32_f32)
    LYRA_ROW(v_cvt_u32_f32, cvt_u32_f32)
    LYRA_FLOAT(v_cvt_f64_i32, cvt_f64_i32)
    LYRA_FLOAT(v_cvt_f64_u32, cvt_f64_u32)
    LYRA_FLOAT(v_cvt_f64_f32, cvt_f64_f32)
    LYRA_FLOAT(v_cvt_f32_f64, cvt_f32_f64)
    LYRA_FLOAT(v_cvt_f32_ubyte0, cvt_f32_ubyte<0>)
    LYRA_FLOAT(v_cvt_f32_ubyte1, cvt_f32_ubyte<1>)
    LYRA_FLOAT(v_cvt_f32_ubyte2, cvt_f32_ubyte<2>)
    LYRA_FLOAT(v_cvt_f32_ubyte3, cvt_f32_ubyte<3>)
    LYRA_FLOAT(v_rndne_f32, float1<LYRA_ROUND(8)>)
    LYRA_FLOAT(v_floor_f32, float1<LYRA_ROUND(9)>)
    LYRA_FLOAT(v_ceil_f32, float1<LYRA_ROUND(10)>)
    LYRA_FLOAT(v_trunc_f32, float1<LYRA_ROUND(11)>)
    LYRA_FLOAT(v_rcp_f32, rcp_f32)
    LYRA_FLOAT(v_rcp_iflag_f32, rcp_f32)
    LYRA_FLOAT(v_sqrt_f32, sqrt_f32)
    LYRA_FLOAT(v_frexp_mant_f32, frexp_mant_f32)
    LYRA_ROW(v_frexp_exp_i32_f32, frexp_exp_i32_f32)
    LYRA_ROW(v_ffbh_u32, ffbh_u32)
    LYRA_ROW(v_ffbh_i32, ffbh_i32)
    LYRA_ROW(v_ffbl_b32, ffbl_b32)

    LYRA_FLOAT(v_add_f32, float2<LYRA_INSN(vaddps)>)
    LYRA_FLOAT(v_sub_f32, float2<LYRA_INSN(vsubps)>)
    LYRA_FLOAT(v_subrev_f32, float2<LYRA_INSN(vsubps), 1, 0>)
    LYRA_FLOAT(v_mul_f32, float2<LYRA_INSN(vmulps)>)
    LYRA_FLOAT(v_min_f32, minmax_f32<false>)
    LYRA_FLOAT(v_max_f32, minmax_f32<true>)
    LYRA_FLOAT(v_fma_f32, fma_f32)
    LYRA_FLOAT(v_fmac_f32, fma_f32)
    LYRA_FLOAT(v_add_f64, double2<LYRA_INSN(vaddpd)>)
    LYRA_FLOAT(v_mul_f64, double2<LYRA_INSN(vmulpd)>)
    LYRA_FLOAT(v_fma_f64, fma_f64)
    LYRA_FLOAT(v_ldexp_f32, ldexp_f32)
    LYRA_FLOAT(v_ldexp_f64, ldexp_f64)
    LYRA_FLOAT(v_fmac_f64, fma_f64)
    LYRA_FLOAT(v_pk_add_f32, packed::two<LYRA_INSN(vaddps), E>)
    LYRA_FLOAT(v_pk_mul_f32, packed::two<LYRA_INSN(vmulps), E>)
    LYRA_FLOAT(v_pk_fma_f32, packed::fma<E>)
    LYRA_ROW(v_pk_mov_b32, packed::mov<E>)
    LYRA_ROW(v_mov_b64, packed::mov_b64<E>)
    LYRA_ROW(v_lshl_add_u64, lshl_add_u64)

    LYRA_ROW(v_add_u32, integer2<kAdd>)
    LYRA_ROW(v_add_i32, integer2<kAdd>)
    LYRA_ROW(v_sub_u32, integer2<kSub>)
    LYRA_ROW(v_sub_i32, integer2<kSub>)
    LYRA_ROW(v_subrev_u32, integer2<kSub, 1, 0>)
    LYRA_ROW(v_and_b32, integer2<kAnd>)
    LYRA_ROW(v_or_b32, integer2<kOr>)
    LYRA_ROW(v_xor_b32, integer2<kXor>)
    LYRA_ROW(v_min_i32, integer2<kMinI>)
    LYRA_ROW(v_max_i32, integer2<kMaxI>)
    LYRA_ROW(v_min_u32, integer2<kMinU>)
    LYRA_ROW(v_max_u32, integer2<kMaxU>)
    LYRA_ROW(v_mul_lo_u32, integer2<LYRA_INSN(vpmulld)>)
    LYRA_ROW(v_mul_hi_u32, mul_hi<false>)
    LYRA_ROW(v_mul_hi_i32, mul_hi<true>)
    LYRA_ROW(v_mul_u32_u24, mad24<false, false>)
    LYRA_ROW(v_mul_i32_i24, mad24<true, false>)
    LYRA_ROW(v_mad_u32_u24, mad24<false, true>)
    LYRA_ROW(v_mad_i32_i24, mad24<true, true>)
    LYRA_ROW(v_mad_u64_u32, mad_u64_u32)
    LYRA_ROW(v_lshlrev_b32, shift_reversed<Shift::Left>)
    LYRA_ROW(v_lshrrev_b32, shift_reversed<Shift::Right>)
    LYRA_ROW(v_ashrrev_i32, shift_reversed<Shift::Arithmetic>)
    LYRA_ROW(v_lshlrev_b64, shift64_reversed<Shift::Left>)
    LYRA_ROW(v_lshrrev_b64, shift64_reversed<Shift::Right>)
    LYRA_ROW(v_ashrrev_i64, shift64_reversed<Shift::Arithmetic>)
    LYRA_ROW(v_cndmask_b32, cndmask)
    LYRA_ROW(v_cmp_class_f32, cmp_class_f32)
    LYRA_ROW(v_cmpx_class_f32, cmp_class_f32)
    LYRA_ROW(v_add_co_u32, carry<Sum::Add, false>)
    LYRA_ROW(v_addc_co_u32, carry<Sum::Add, true>)
    LYRA_ROW(v_sub_co_u32, carry<Sum::Sub, false>)
    LYRA_ROW(v_subb_co_u32, carry<Sum::Sub, true>)
    LYRA_ROW(v_subrev_co_u32, carry<Sum::SubReversed, false>)
    LYRA_ROW(v_subbrev_co_u32, carry<Sum::SubReversed, true>)

    LYRA_ROW(v_alignbit_b32, alignbit)
    LYRA_ROW(v_bfe_u32, bfe_u32)
    LYRA_ROW(v_bfe_i32, bfe_i32)
    LYRA_ROW(v_bfi_b32, bfi_b32)
    LYRA_ROW(v_add3_u32, integer3<kAdd, kAdd>)
    LYRA_ROW(v_lshl_add_u32, integer3<kShl, kAdd>)
    LYRA_ROW(v_add_lshl_u32, integer3<kAdd, kShl>)
    LYRA_ROW(v_lshl_or_b32, integer3<kShl, kOr>)
    LYRA_ROW(v_and_or_b32, integer3<kAnd, kOr>)
    LYRA_ROW(v_or3_b32, integer3<kOr, kOr>)
    LYRA_ROW(v_xad_u32, integer3<kXor, kAdd>)
    LYRA_ROW(v_min3_i32, integer3<kMinI, kMinI>)
    LYRA_ROW(v_max3_i32, integer3<kMaxI, kMaxI>)
    LYRA_ROW(v_min3_u32, integer3<kMinU, kMinU>)
    LYRA_ROW(v_max3_u32, integer3<kMaxU, kMaxU>)
    LYRA_ROW(v_med3_i32, med3<kMinI, kMaxI>)
    LYRA_ROW(v_med3_u32, med3<kMinU, kMaxU>)

#define LYRA_COMPARE(op, type, KIND, how)                          \
    LYRA_ROW(v_cmp_##op##_##type, compare<CompareKind::KIND, how>) \
    LYRA_ROW(v_cmpx_##op##_##type, compare<CompareKind::KIND, how>)
#include "gcn-interp/translator/compares.inc"
#undef LYRA_COMPARE
#undef LYRA_ROW
#undef LYRA_FLOAT
    return rows;
}

}  // namespace

VectorOp avx2_vector_op(const Inst& inst, const CodeConfig& config) {
    static const EmitterRows kRows = make_rows();
    // There is no arithmetic shift of 64 bits by register.
    if (inst.op == Op::v_ashrrev_i64 && !constant_of(inst, inst.src[0], 1, false).is_constant) return {};
    return vector_op(inst, config, kRows, false);
}

}  // namespace lyra::gcn
