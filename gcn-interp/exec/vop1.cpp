// SPDX-License-Identifier: MIT
// Lane functions of VOP1, one per row of vop1.def; step 6 of the data flow.
// @source AMD Vega ISA document, chapter "VOP1 instructions"; docs/spec/isa.md 3
#include <bit>

#include "gcn-interp/exec/small_float.h"
#include "gcn-interp/exec/valu_lanes.h"
#include "gcn-interp/exec/valu_special.h"

namespace lyra::gcn {

namespace lane {

constexpr Custom<&exec_nop> v_nop;
constexpr Custom<&exec_v_clrexcp> v_clrexcp;
constexpr Custom<&exec_v_readfirstlane_b32> v_readfirstlane_b32;
constexpr Custom<&exec_v_swap_b32> v_swap_b32;
constexpr Custom<&exec_acc_move> v_accvgpr_mov_b32;
constexpr Todo v_screen_partition_4se_b32;  // entered by graphics.cpp

uint32_t v_mov_b32(uint32_t s0) { return s0; }
uint64_t v_mov_b64(uint64_t s0) { return s0; }
uint32_t v_not_b32(uint32_t s0) { return ~s0; }
uint32_t v_bfrev_b32(uint32_t s0) {
    uint32_t v = ((s0 >> 1) & 0x55555555) | ((s0 & 0x55555555) << 1);
    v = ((v >> 2) & 0x33333333) | ((v & 0x33333333) << 2);
    v = ((v >> 4) & 0x0f0f0f0f) | ((v & 0x0f0f0f0f) << 4);
    return __builtin_bswap32(v);
}
uint32_t v_ffbh_u32(uint32_t s0) { return s0 == 0 ? ~0u : static_cast<uint32_t>(std::countl_zero(s0)); }
uint32_t v_ffbl_b32(uint32_t s0) { return s0 == 0 ? ~0u : static_cast<uint32_t>(std::countr_zero(s0)); }
int32_t v_ffbh_i32(int32_t s0) {
    const uint32_t differs = static_cast<uint32_t>(s0 ^ (s0 >> 31));
    return differs == 0 ? -1 : std::countl_zero(differs);
}

// Conversions
int32_t v_cvt_i32_f64(double s0) { return fp::to_i32(s0); }
uint32_t v_cvt_u32_f64(double s0) { return fp::to_u32(s0); }
int32_t v_cvt_i32_f32(float s0) { return fp::to_i32(s0); }
uint32_t v_cvt_u32_f32(float s0) { return fp::to_u32(s0); }
double v_cvt_f64_i32(int32_t s0) { return s0; }
double v_cvt_f64_u32(uint32_t s0) { return s0; }
float v_cvt_f32_i32(int32_t s0) { return static_cast<float>(s0); }
float v_cvt_f32_u32(uint32_t s0) { return static_cast<float>(s0); }
float v_cvt_f32_f64(double s0) { return static_cast<float>(s0); }
double v_cvt_f64_f32(float s0) { return s0; }
HalfFloat v_cvt_f16_f32(float s0) { return {s0}; }
float v_cvt_f32_f16(HalfFloat s0) { return fp::pick(fp::is_nan(s0.value), fp::quiet(s0.value), s0.value); }
int32_t v_cvt_rpi_i32_f32(float s0) { return fp::to_i32(__builtin_floor(static_cast<double>(s0) + 0.5)); }
int32_t v_cvt_flr_i32_f32(float s0) { return fp::to_i32(__builtin_floorf(s0)); }
float v_cvt_off_f32_i4(int32_t s0) {
    return static_cast<float>(static_cast<int32_t>(static_cast<uint32_t>(s0) << 28) >> 28) * 0.0625f;
}
float v_cvt_f32_ubyte0(uint32_t s0) { return static_cast<float>(static_cast<int32_t>(s0 & 0xff)); }
float v_cvt_f32_ubyte1(uint32_t s0) { return static_cast<float>(static_cast<int32_t>((s0 >> 8) & 0xff)); }
float v_cvt_f32_ubyte2(uint32_t s0) { return static_cast<float>(static_cast<int32_t>((s0 >> 16) & 0xff)); }
float v_cvt_f32_ubyte3(uint32_t s0) { return static_cast<float>(static_cast<int32_t>(s0 >> 24)); }
float v_cvt_f32_fp8(uint32_t s0) { return widened<kFp8>(s0); }
float v_cvt_f32_bf8(uint32_t s0) { return widened<kBf8>(s0); }
template <SmallFloat kFormat>
uint64_t widened_pair(uint32_t s0) {
    return make64(fp::as<uint32_t>(widened<kFormat>(s0)), fp::as<uint32_t>(widened<kFormat>(s0 >> 8)));
}
constexpr auto v_cvt_pk_f32_fp8 = &widened_pair<kFp8>;
constexpr auto v_cvt_pk_f32_bf8 = &widened_pair<kBf8>;
HalfFloat v_cvt_f16_u16(uint16_t s0) { return {static_cast<float>(s0)}; }
HalfFloat v_cvt_f16_i16(int16_t s0) { return {static_cast<float>(s0)}; }
uint16_t v_cvt_u16_f16(HalfFloat s0) { return saturate<uint16_t>(fp::to_i32(s0.value)); }
int16_t v_cvt_i16_f16(HalfFloat s0) { return saturate<int16_t>(fp::to_i32(s0.value)); }
int16_t v_cvt_norm_i16_f16(HalfFloat s0) { return static_cast<int16_t>(fixed_point(s0.value, -1.0f, 32767.0)); }
uint16_t v_cvt_norm_u16_f16(HalfFloat s0) { return static_cast<uint16_t>(fixed_point(s0.value, 0.0f, 65535.0)); }
uint16_t v_sat_pk_u8_i16(uint32_t s0) {
    const uint32_t low = saturate<uint8_t>(static_cast<int32_t>(static_cast<int16_t>(s0)));
    const uint32_t high = saturate<uint8_t>(static_cast<int32_t>(s0) >> 16);
    return static_cast<uint16_t>(low | (high << 8));
}

// Rounding to whole numbers
double v_trunc_f64(double s0) { return __builtin_trunc(s0); }
double v_ceil_f64(double s0) { return __builtin_ceil(s0); }
double v_rndne_f64(double s0) { return fp::nearest_even(s0); }
double v_floor_f64(double s0) { return __builtin_floor(s0); }
float v_trunc_f32(float s0) { return __builtin_truncf(s0); }
float v_ceil_f32(float s0) { return __builtin_ceilf(s0); }
float v_rndne_f32(float s0) { return fp::nearest_even(s0); }
float v_floor_f32(float s0) { return __builtin_floorf(s0); }
HalfFloat v_trunc_f16(HalfFloat s0) { return {__builtin_truncf(s0.value)}; }
HalfFloat v_ceil_f16(HalfFloat s0) { return {__builtin_ceilf(s0.value)}; }
HalfFloat v_rndne_f16(HalfFloat s0) { return {fp::nearest_even(s0.value)}; }
HalfFloat v_floor_f16(HalfFloat s0) { return {__builtin_floorf(s0.value)}; }
/// x - floor(x), kept below 1. @source LLVM AMDGPU constant folding of llvm.amdgcn.fract
template <class F>
inline F fract(F x, F below_one) {
    const F r = x - std::floor(x);
    return r > below_one ? below_one : r;
}
float v_fract_f32(float s0) { return fract(s0, 0x1.fffffep-1f); }
double v_fract_f64(double s0) { return fract(s0, 0x1.fffffffffffffp-1); }
HalfFloat v_fract_f16(HalfFloat s0) { return {fract(s0.value, 0x1.ffcp-1f)}; }

// Mantissa and exponent
int32_t v_frexp_exp_i32_f64(double s0) { return fp::frexp_exponent(s0); }
double v_frexp_mant_f64(double s0) { return fp::frexp_mantissa(s0); }
int32_t v_frexp_exp_i32_f32(float s0) { return fp::frexp_exponent(s0); }
float v_frexp_mant_f32(float s0) { return fp::frexp_mantissa(s0); }
int16_t v_frexp_exp_i16_f16(HalfFloat s0) { return static_cast<int16_t>(fp::frexp_exponent(s0.value)); }
HalfFloat v_frexp_mant_f16(HalfFloat s0) { return {fp::frexp_mantissa(s0.value)}; }

// Transcendental. The f32 forms flush denormals on both sides. @source AMD Vega ISA document: "denormals are flushed"
float v_exp_f32(float s0) { return fp::flush(fp::exp2(fp::flush(s0))); }
float v_log_f32(float s0) { return fp::log2(fp::flush(s0)); }
float v_rcp_f32(float s0) { return fp::flush(1.0f / fp::flush(s0)); }
float v_rsq_f32(float s0) { return fp::rsqrt(fp::flush(s0)); }
float v_sqrt_f32(float s0) { return __builtin_sqrtf(fp::flush(s0)); }
float v_sin_f32(float s0) { return fp::sine(s0); }
float v_cos_f32(float s0) { return fp::cosine(s0); }
constexpr auto v_rcp_iflag_f32 = &v_rcp_f32;
constexpr auto v_exp_legacy_f32 = &v_exp_f32;
constexpr auto v_log_legacy_f32 = &v_log_f32;
double v_rcp_f64(double s0) { return 1.0 / s0; }
double v_rsq_f64(double s0) { return 1.0 / __builtin_sqrt(s0); }
double v_sqrt_f64(double s0) { return __builtin_sqrt(s0); }
HalfFloat v_rcp_f16(HalfFloat s0) { return {1.0f / s0.value}; }
HalfFloat v_sqrt_f16(HalfFloat s0) { return {__builtin_sqrtf(s0.value)}; }
HalfFloat v_rsq_f16(HalfFloat s0) { return {fp::rsqrt(s0.value)}; }
HalfFloat v_log_f16(HalfFloat s0) { return {fp::log2(s0.value)}; }
/// Bounded so that what overflows f16 does not overflow f32: FP16_OVFL tells that from infinity.
HalfFloat v_exp_f16(HalfFloat s0) {
    return {fp::exp2(fp::pick((s0.value > 120.0f) & !fp::is_inf(s0.value), 120.0f, s0.value))};
}
HalfFloat v_sin_f16(HalfFloat s0) { return {fp::sine(s0.value)}; }
HalfFloat v_cos_f16(HalfFloat s0) { return {fp::cosine(s0.value)}; }

}  // namespace lane

template <>
inline constexpr bool kCostly<&lane::v_exp_f32> = true;
template <>
inline constexpr bool kCostly<&lane::v_log_f32> = true;
template <>
inline constexpr bool kCostly<&lane::v_rcp_f32> = true;
template <>
inline constexpr bool kCostly<&lane::v_rsq_f32> = true;
template <>
inline constexpr bool kCostly<&lane::v_sqrt_f32> = true;
template <>
inline constexpr bool kCostly<&lane::v_sin_f32> = true;
template <>
inline constexpr bool kCostly<&lane::v_cos_f32> = true;

#define LYRA_ROUTINE(name) \
    template <>            \
    inline constexpr auto kRoutine<&lane::v_##name##_f32> = &transcendental::Routines::name;
LYRA_ROUTINE(rcp)
LYRA_ROUTINE(sqrt)
LYRA_ROUTINE(rsq)
LYRA_ROUTINE(exp)
LYRA_ROUTINE(log)
#undef LYRA_ROUTINE

void register_vop1(ExecTable& table) {
#define VOP1(opcode, name, profile, flags, ...) add<Op::name, lane::name>(table);
#include "gcn-interp/isa/vop1.def"
#undef VOP1
}

}  // namespace lyra::gcn
