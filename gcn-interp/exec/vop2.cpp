// SPDX-License-Identifier: MIT
// Lane functions of VOP2, one per row of vop2.def; step 6 of the data flow.
// @source AMD Vega ISA document, chapter "VOP2 instructions"; docs/spec/isa.md 3
#include "gcn-interp/exec/dot.h"
#include "gcn-interp/exec/valu_lanes.h"
#include "gcn-interp/exec/valu_special.h"

namespace lyra::gcn {

namespace lane {

inline uint32_t v_cndmask_b32_bits(uint32_t a, uint32_t b, uint32_t mask) { return (a & ~mask) | (b & mask); }
Raw32 v_cndmask_b32(Raw32 s0, Raw32 s1, LaneMask select) { return {v_cndmask_b32_bits(s0.bits, s1.bits, select.bits)}; }

// f32
float v_add_f32(float s0, float s1) { return fp::add(s0, s1); }
float v_sub_f32(float s0, float s1) { return fp::sub(s0, s1); }
float v_subrev_f32(float s0, float s1) { return fp::sub(s1, s0); }
float v_mul_f32(float s0, float s1) { return fp::mul(s0, s1); }
float v_mul_legacy_f32(float s0, float s1) { return (s0 == 0) | (s1 == 0) ? 0.0f : fp::mul(s0, s1); }
float v_min_f32(const ModeView& mode, float s0, float s1) { return fp::minimum(mode, s0, s1); }
float v_max_f32(const ModeView& mode, float s0, float s1) { return fp::maximum(mode, s0, s1); }
float v_mac_f32(float s0, float s1, float d) { return mad_f32(s0, s1, d); }
float v_fmac_f32(float s0, float s1, float d) { return fma_f32(s0, s1, d); }
double v_fmac_f64(double s0, double s1, double d) { return fp::fma(s0, s1, d); }
float v_madmk_f32(float s0, Literal<float> k, float s1) { return mad_f32(s0, k.value, s1); }
float v_madak_f32(float s0, float s1, Literal<float> k) { return mad_f32(s0, s1, k.value); }
/// Unlike a source, the literal comes as it is.
float read(const ModeView& mode, Literal<float> k) { return mode.denorm_in32 ? k.value : fp::flush(k.value); }
float v_fmamk_f32(const ModeView& mode, float s0, Literal<float> k, float s1) { return fma_f32(s0, read(mode, k), s1); }
float v_fmaak_f32(const ModeView& mode, float s0, float s1, Literal<float> k) { return fma_f32(s0, s1, read(mode, k)); }

// 24-bit products
inline int64_t product_i24(int32_t a, int32_t b) {
    return static_cast<int64_t>(static_cast<int32_t>(static_cast<uint32_t>(a) << 8) >> 8) *
           static_cast<int64_t>(static_cast<int32_t>(static_cast<uint32_t>(b) << 8) >> 8);
}
inline uint64_t product_u24(uint32_t a, uint32_t b) { return uint64_t{a & 0xffffff} * uint64_t{b & 0xffffff}; }
int32_t mul_i32_i24(int32_t s0, int32_t s1) { return static_cast<int32_t>(product_i24(s0, s1)); }
int32_t mul_i32_i24_clamped(int32_t s0, int32_t s1) { return saturate<int32_t>(product_i24(s0, s1)); }
uint32_t mul_u32_u24(uint32_t s0, uint32_t s1) { return static_cast<uint32_t>(product_u24(s0, s1)); }
uint32_t mul_u32_u24_clamped(uint32_t s0, uint32_t s1) { return saturate<uint32_t>(product_u24(s0, s1)); }
constexpr Saturating<&mul_i32_i24, &mul_i32_i24_clamped> v_mul_i32_i24;
constexpr Saturating<&mul_u32_u24, &mul_u32_u24_clamped> v_mul_u32_u24;
int32_t v_mul_hi_i32_i24(int32_t s0, int32_t s1) { return static_cast<int32_t>(product_i24(s0, s1) >> 32); }
uint32_t v_mul_hi_u32_u24(uint32_t s0, uint32_t s1) { return static_cast<uint32_t>(product_u24(s0, s1) >> 32); }

// 32-bit integers
int32_t v_min_i32(int32_t s0, int32_t s1) { return s0 < s1 ? s0 : s1; }
int32_t v_max_i32(int32_t s0, int32_t s1) { return s0 > s1 ? s0 : s1; }
uint32_t v_min_u32(uint32_t s0, uint32_t s1) { return s0 < s1 ? s0 : s1; }
uint32_t v_max_u32(uint32_t s0, uint32_t s1) { return s0 > s1 ? s0 : s1; }
uint32_t v_lshrrev_b32(uint32_t s0, uint32_t s1) { return s1 >> (s0 & 31); }
int32_t v_ashrrev_i32(uint32_t s0, int32_t s1) { return s1 >> (s0 & 31); }
uint32_t v_lshlrev_b32(uint32_t s0, uint32_t s1) { return s1 << (s0 & 31); }
uint32_t v_and_b32(uint32_t s0, uint32_t s1) { return s0 & s1; }
uint32_t v_or_b32(uint32_t s0, uint32_t s1) { return s0 | s1; }
uint32_t v_xor_b32(uint32_t s0, uint32_t s1) { return s0 ^ s1; }
uint32_t v_xnor_b32(uint32_t s0, uint32_t s1) { return ~(s0 ^ s1); }

uint32_t add_u32(uint32_t s0, uint32_t s1) { return s0 + s1; }
uint32_t add_u32_clamped(uint32_t s0, uint32_t s1) { return s0 + s1 < s0 ? ~0u : s0 + s1; }
uint32_t sub_u32(uint32_t s0, uint32_t s1) { return s0 - s1; }
uint32_t sub_u32_clamped(uint32_t s0, uint32_t s1) { return s0 < s1 ? 0u : s0 - s1; }
uint32_t subrev_u32(uint32_t s0, uint32_t s1) { return s1 - s0; }
uint32_t subrev_u32_clamped(uint32_t s0, uint32_t s1) { return sub_u32_clamped(s1, s0); }
constexpr Saturating<&add_u32, &add_u32_clamped> v_add_u32;
constexpr Saturating<&sub_u32, &sub_u32_clamped> v_sub_u32;
constexpr Saturating<&subrev_u32, &subrev_u32_clamped> v_subrev_u32;

// With carry: the mask is ~0 in lanes that carry or borrow.
using Carried = WithCarry<uint32_t>;
inline uint32_t lane_mask(bool set) { return set ? ~0u : 0u; }
inline Carried add_carry(uint32_t a, uint32_t b, uint32_t in) {
    const uint32_t partial = a + b, sum = partial + in;
    return {sum, lane_mask((partial < a) | (sum < partial))};
}
inline Carried sub_borrow(uint32_t a, uint32_t b, uint32_t in) {
    const uint32_t partial = a - b;
    return {partial - in, lane_mask((a < b) | (partial < in))};
}
inline Carried clamp_sum(Carried r) { return {r.value | r.carry, r.carry}; }
inline Carried clamp_difference(Carried r) { return {r.value & ~r.carry, r.carry}; }

Carried add_co(uint32_t s0, uint32_t s1) { return add_carry(s0, s1, 0); }
Carried add_co_clamped(uint32_t s0, uint32_t s1) { return clamp_sum(add_carry(s0, s1, 0)); }
Carried sub_co(uint32_t s0, uint32_t s1) { return sub_borrow(s0, s1, 0); }
Carried sub_co_clamped(uint32_t s0, uint32_t s1) { return clamp_difference(sub_borrow(s0, s1, 0)); }
Carried subrev_co(uint32_t s0, uint32_t s1) { return sub_borrow(s1, s0, 0); }
Carried subrev_co_clamped(uint32_t s0, uint32_t s1) { return clamp_difference(sub_borrow(s1, s0, 0)); }
Carried addc_co(uint32_t s0, uint32_t s1, LaneMask in) { return add_carry(s0, s1, in.bits & 1); }
Carried addc_co_clamped(uint32_t s0, uint32_t s1, LaneMask in) { return clamp_sum(add_carry(s0, s1, in.bits & 1)); }
Carried subb_co(uint32_t s0, uint32_t s1, LaneMask in) { return sub_borrow(s0, s1, in.bits & 1); }
Carried subb_co_clamped(uint32_t s0, uint32_t s1, LaneMask in) { return clamp_difference(sub_borrow(s0, s1, in.bits & 1)); }
Carried subbrev_co(uint32_t s0, uint32_t s1, LaneMask in) { return sub_borrow(s1, s0, in.bits & 1); }
Carried subbrev_co_clamped(uint32_t s0, uint32_t s1, LaneMask in) { return clamp_difference(sub_borrow(s1, s0, in.bits & 1)); }
constexpr Saturating<&add_co, &add_co_clamped> v_add_co_u32;
constexpr Saturating<&sub_co, &sub_co_clamped> v_sub_co_u32;
constexpr Saturating<&subrev_co, &subrev_co_clamped> v_subrev_co_u32;
constexpr Saturating<&addc_co, &addc_co_clamped> v_addc_co_u32;
constexpr Saturating<&subb_co, &subb_co_clamped> v_subb_co_u32;
constexpr Saturating<&subbrev_co, &subbrev_co_clamped> v_subbrev_co_u32;

// f16
constexpr auto v_add_f16 = &add_f16;
constexpr auto v_sub_f16 = &sub_f16;
HalfFloat v_subrev_f16(HalfFloat s0, HalfFloat s1) { return {fp::sub(s1.value, s0.value)}; }
constexpr auto v_mul_f16 = &mul_f16;
constexpr auto v_min_f16 = &min_f16;
constexpr auto v_max_f16 = &max_f16;
HalfFloat v_mac_f16(const ModeView& mode, HalfFloat s0, HalfFloat s1, HalfFloat d) { return mad_f16(mode, s0, s1, d); }
HalfFloat v_madmk_f16(const ModeView& mode, HalfFloat s0, Literal<HalfFloat> k, HalfFloat s1) {
    return mad_f16(mode, s0, k.value, s1);
}
HalfFloat v_madak_f16(const ModeView& mode, HalfFloat s0, HalfFloat s1, Literal<HalfFloat> k) {
    return mad_f16(mode, s0, s1, k.value);
}
HalfFloat v_ldexp_f16(HalfFloat s0, int16_t s1) {
    const int32_t e = s1 < -64 ? -64 : (s1 > 64 ? 64 : s1);
    return {s0.value * fp::power2<float>(e)};  // exact in f32
}

constexpr CustomLanes<&exec_v_pk_fmac_f16<Backend::Portable>, &exec_v_pk_fmac_f16<Backend::Avx2>, &exec_v_pk_fmac_f16<kWidest>>
    v_pk_fmac_f16;

// Dot products
float v_dot2c_f32_f16(const ModeView& mode, HalfPairSource s0, HalfPairSource s1, float d) {
    return dot2_f32_f16(input_halves(mode, s0.bits), input_halves(mode, s1.bits), d);
}
constexpr Saturating<&dot_signed<16>, &dot_signed_clamped<16>> v_dot2c_i32_i16;
constexpr Saturating<&dot_signed<8>, &dot_signed_clamped<8>> v_dot4c_i32_i8;
constexpr Saturating<&dot_signed<4>, &dot_signed_clamped<4>> v_dot8c_i32_i4;

// 16-bit integers
uint16_t subrev_u16(uint16_t s0, uint16_t s1) { return sub_u16(s1, s0); }
uint16_t subrev_u16_clamped(uint16_t s0, uint16_t s1) { return sub_u16_clamped(s1, s0); }
constexpr Saturating<&add_u16, &add_u16_clamped> v_add_u16;
constexpr Saturating<&sub_u16, &sub_u16_clamped> v_sub_u16;
constexpr Saturating<&subrev_u16, &subrev_u16_clamped> v_subrev_u16;
constexpr auto v_mul_lo_u16 = &mul_lo_u16;
constexpr auto v_lshlrev_b16 = &lshlrev_b16;
constexpr auto v_lshrrev_b16 = &lshrrev_b16;
constexpr auto v_ashrrev_i16 = &ashrrev_i16;
constexpr auto v_max_u16 = &max_u16;
constexpr auto v_max_i16 = &max_i16;
constexpr auto v_min_u16 = &min_u16;
constexpr auto v_min_i16 = &min_i16;

}  // namespace lane

void register_vop2(ExecTable& table) {
#define VOP2(opcode, name, profile, flags, ...) add<Op::name, lane::name>(table);
#include "gcn-interp/isa/vop2.def"
#undef VOP2
}

}  // namespace lyra::gcn
