// SPDX-License-Identifier: MIT
// Lane functions of the operations that exist only as VOP3, one per row of vop3.def; step 6 of the data flow.
// @source AMD Vega ISA document, chapter "VOP3 instructions"; LLVM; docs/spec/isa.md 2 for division
#include <bit>

#include "gcn-interp/exec/small_float.h"
#include "gcn-interp/exec/valu_lanes.h"
#include "gcn-interp/exec/valu_special.h"
#include "gcn-interp/wave/fp_division.h"

namespace lyra::gcn {

namespace lane {

// f32 -------------------------------------------------------------------------------------------------------------------------

float v_mad_f32(float s0, float s1, float s2) { return mad_f32(s0, s1, s2); }
float v_mad_legacy_f32(float s0, float s1, float s2) {
    const float a = fp::flush(s0), b = fp::flush(s1);
    const float product = (a == 0) | (b == 0) ? 0.0f : fp::flush(fp::mul(a, b));
    return fp::flush(fp::accumulate(product, fp::flush(s2)));
}
float v_fma_f32(float s0, float s1, float s2) { return fma_f32(s0, s1, s2); }
float v_min3_f32(const ModeView& mode, float s0, float s1, float s2) {
    return fp::minimum(mode, fp::minimum(mode, s0, s1), s2);
}
float v_max3_f32(const ModeView& mode, float s0, float s1, float s2) {
    return fp::maximum(mode, fp::maximum(mode, s0, s1), s2);
}
float v_med3_f32(const ModeView& mode, float s0, float s1, float s2) { return fp::median(mode, s0, s1, s2); }
float v_ldexp_f32(float s0, int32_t s1) { return fp::scale(s0, s1); }

WithCarry<float> v_div_scale_f32(float s0, float s1, float s2) {
    const fp::Scaled<float> r = fp::div_scale(s0, s1, s2);
    return {r.value, r.flag};
}
float v_div_fixup_f32(float s0, float s1, float s2) { return fp::div_fixup(s0, s1, s2); }
float v_div_fmas_f32(float s0, float s1, float s2, VccMask scaled) { return fp::div_fmas(s0, s1, s2, scaled.bits != 0); }

/// Face of a cube map: which coordinate has the largest magnitude, ties to z, then y.
enum class Axis { X, Y, Z };
inline Axis major_axis(float x, float y, float z) {
    const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
    return az >= ax && az >= ay ? Axis::Z : (ay >= ax ? Axis::Y : Axis::X);
}
float v_cubeid_f32(float x, float y, float z) {
    const Axis axis = major_axis(x, y, z);
    return axis == Axis::Z ? (z < 0 ? 5.0f : 4.0f) : axis == Axis::Y ? (y < 0 ? 3.0f : 2.0f) : (x < 0 ? 1.0f : 0.0f);
}
float v_cubesc_f32(float x, float y, float z) {
    const Axis axis = major_axis(x, y, z);
    return axis == Axis::Z ? (z < 0 ? -x : x) : axis == Axis::Y ? x : (x < 0 ? z : -z);
}
float v_cubetc_f32(float x, float y, float z) { return major_axis(x, y, z) == Axis::Y ? (y < 0 ? -z : z) : -y; }
float v_cubema_f32(float x, float y, float z) {
    const Axis axis = major_axis(x, y, z);
    return 2.0f * (axis == Axis::Z ? z : axis == Axis::Y ? y : x);
}

// f64 -------------------------------------------------------------------------------------------------------------------------

double v_fma_f64(double s0, double s1, double s2) { return fp::fma(s0, s1, s2); }
double v_add_f64(double s0, double s1) { return fp::add(s0, s1); }
double v_mul_f64(double s0, double s1) { return fp::mul(s0, s1); }
double v_min_f64(const ModeView& mode, double s0, double s1) { return fp::minimum(mode, s0, s1); }
double v_max_f64(const ModeView& mode, double s0, double s1) { return fp::maximum(mode, s0, s1); }
double v_ldexp_f64(double s0, int32_t s1) { return fp::scale(s0, s1); }
double v_trig_preop_f64(double s0, uint32_t s1) { return fp::trig_preop(s0, s1); }
WithCarry<double> v_div_scale_f64(double s0, double s1, double s2) {
    const fp::Scaled<double> r = fp::div_scale(s0, s1, s2);
    return {r.value, r.flag};
}
double v_div_fixup_f64(double s0, double s1, double s2) { return fp::div_fixup(s0, s1, s2); }
double v_div_fmas_f64(double s0, double s1, double s2, VccMask scaled) { return fp::div_fmas(s0, s1, s2, scaled.bits != 0); }

// f16 -------------------------------------------------------------------------------------------------------------------------

constexpr auto v_fma_f16 = &fma_f16;
constexpr auto v_fma_legacy_f16 = &fma_f16;
constexpr auto v_mad_f16 = &mad_f16;
constexpr auto v_mad_legacy_f16 = &mad_f16;
HalfFloat v_min3_f16(const ModeView& mode, HalfFloat s0, HalfFloat s1, HalfFloat s2) {
    return min_f16(mode, min_f16(mode, s0, s1), s2);
}
HalfFloat v_max3_f16(const ModeView& mode, HalfFloat s0, HalfFloat s1, HalfFloat s2) {
    return max_f16(mode, max_f16(mode, s0, s1), s2);
}
HalfFloat v_med3_f16(const ModeView& mode, HalfFloat s0, HalfFloat s1, HalfFloat s2) {
    return {fp::median(mode, s0.value, s1.value, s2.value)};
}
/// The f32 rules hold: every f16 is exact in f32, so their exponent limits never apply.
HalfFloat v_div_fixup_f16(HalfFloat s0, HalfFloat s1, HalfFloat s2) { return {fp::div_fixup(s0.value, s1.value, s2.value)}; }
constexpr auto v_div_fixup_legacy_f16 = &v_div_fixup_f16;
HalfPair v_pack_b32_f16(Half s0, Half s1) { return {s0.bits | (s1.bits << 16)}; }

// 32-bit integers -------------------------------------------------------------------------------------------------------------

inline int64_t extend_i24(int32_t v) { return static_cast<int32_t>(static_cast<uint32_t>(v) << 8) >> 8; }
inline int64_t sum_i24(int32_t a, int32_t b, int32_t c) { return extend_i24(a) * extend_i24(b) + c; }
inline uint64_t sum_u24(uint32_t a, uint32_t b, uint32_t c) { return uint64_t{a & 0xffffff} * uint64_t{b & 0xffffff} + c; }
int32_t mad_i32_i24(int32_t s0, int32_t s1, int32_t s2) { return static_cast<int32_t>(sum_i24(s0, s1, s2)); }
int32_t mad_i32_i24_clamped(int32_t s0, int32_t s1, int32_t s2) { return saturate<int32_t>(sum_i24(s0, s1, s2)); }
uint32_t mad_u32_u24(uint32_t s0, uint32_t s1, uint32_t s2) { return static_cast<uint32_t>(sum_u24(s0, s1, s2)); }
uint32_t mad_u32_u24_clamped(uint32_t s0, uint32_t s1, uint32_t s2) { return saturate<uint32_t>(sum_u24(s0, s1, s2)); }
constexpr Saturating<&mad_i32_i24, &mad_i32_i24_clamped> v_mad_i32_i24;
constexpr Saturating<&mad_u32_u24, &mad_u32_u24_clamped> v_mad_u32_u24;

uint32_t mad_u32_u16(uint16_t s0, uint16_t s1, uint32_t s2) { return uint32_t{s0} * uint32_t{s1} + s2; }
uint32_t mad_u32_u16_clamped(uint16_t s0, uint16_t s1, uint32_t s2) { return saturate<uint32_t>(uint64_t{s0} * s1 + s2); }
int32_t mad_i32_i16(int16_t s0, int16_t s1, int32_t s2) {
    return static_cast<int32_t>(static_cast<uint32_t>(int32_t{s0} * s1) + static_cast<uint32_t>(s2));
}
int32_t mad_i32_i16_clamped(int16_t s0, int16_t s1, int32_t s2) { return saturate<int32_t>(int64_t{s0} * s1 + s2); }
constexpr Saturating<&mad_u32_u16, &mad_u32_u16_clamped> v_mad_u32_u16;
constexpr Saturating<&mad_i32_i16, &mad_i32_i16_clamped> v_mad_i32_i16;

int32_t add_i32(int32_t s0, int32_t s1) { return static_cast<int32_t>(static_cast<uint32_t>(s0) + static_cast<uint32_t>(s1)); }
int32_t add_i32_clamped(int32_t s0, int32_t s1) { return saturate<int32_t>(int64_t{s0} + s1); }
int32_t sub_i32(int32_t s0, int32_t s1) { return static_cast<int32_t>(static_cast<uint32_t>(s0) - static_cast<uint32_t>(s1)); }
int32_t sub_i32_clamped(int32_t s0, int32_t s1) { return saturate<int32_t>(int64_t{s0} - s1); }
constexpr Saturating<&add_i32, &add_i32_clamped> v_add_i32;
constexpr Saturating<&sub_i32, &sub_i32_clamped> v_sub_i32;

uint32_t v_mul_lo_u32(uint32_t s0, uint32_t s1) { return s0 * s1; }
uint32_t v_mul_hi_u32(uint32_t s0, uint32_t s1) { return static_cast<uint32_t>((uint64_t{s0} * s1) >> 32); }
int32_t v_mul_hi_i32(int32_t s0, int32_t s1) { return static_cast<int32_t>((int64_t{s0} * s1) >> 32); }

uint32_t v_bfe_u32(uint32_t s0, uint32_t s1, uint32_t s2) { return (s0 >> (s1 & 31)) & ((1u << (s2 & 31)) - 1); }
int32_t v_bfe_i32(int32_t s0, uint32_t s1, uint32_t s2) {
    const uint32_t width = s2 & 31;
    const uint32_t field = static_cast<uint32_t>(s0 >> (s1 & 31)) << ((32 - width) & 31);
    return width == 0 ? 0 : static_cast<int32_t>(field) >> (32 - width);
}
uint32_t v_bfi_b32(uint32_t s0, uint32_t s1, uint32_t s2) { return (s0 & s1) | (~s0 & s2); }
uint32_t v_bfm_b32(uint32_t s0, uint32_t s1) { return ((1u << (s0 & 31)) - 1) << (s1 & 31); }
uint32_t v_alignbit_b32(uint32_t s0, uint32_t s1, uint32_t s2) {
    return static_cast<uint32_t>(((uint64_t{s0} << 32) | s1) >> (s2 & 31));
}
uint32_t v_alignbyte_b32(uint32_t s0, uint32_t s1, uint32_t s2) {
    return static_cast<uint32_t>(((uint64_t{s0} << 32) | s1) >> (8 * (s2 & 3)));
}
uint32_t v_lshl_add_u32(uint32_t s0, uint32_t s1, uint32_t s2) { return (s0 << (s1 & 31)) + s2; }
uint32_t v_add_lshl_u32(uint32_t s0, uint32_t s1, uint32_t s2) { return (s0 + s1) << (s2 & 31); }
uint32_t v_add3_u32(uint32_t s0, uint32_t s1, uint32_t s2) { return s0 + s1 + s2; }
uint32_t v_lshl_or_b32(uint32_t s0, uint32_t s1, uint32_t s2) { return (s0 << (s1 & 31)) | s2; }
uint32_t v_and_or_b32(uint32_t s0, uint32_t s1, uint32_t s2) { return (s0 & s1) | s2; }
uint32_t v_or3_b32(uint32_t s0, uint32_t s1, uint32_t s2) { return s0 | s1 | s2; }
uint32_t v_xad_u32(uint32_t s0, uint32_t s1, uint32_t s2) { return (s0 ^ s1) + s2; }

template <class T>
T min3(T a, T b, T c) {
    const T m = a < b ? a : b;
    return m < c ? m : c;
}
template <class T>
T max3(T a, T b, T c) {
    const T m = a > b ? a : b;
    return m > c ? m : c;
}
template <class T>
T med3(T a, T b, T c) {
    const T low = a < b ? a : b, high = a < b ? b : a;
    const T m = high < c ? high : c;
    return low > m ? low : m;
}
constexpr auto v_min3_i32 = &min3<int32_t>;
constexpr auto v_max3_i32 = &max3<int32_t>;
constexpr auto v_med3_i32 = &med3<int32_t>;
constexpr auto v_min3_u32 = &min3<uint32_t>;
constexpr auto v_max3_u32 = &max3<uint32_t>;
constexpr auto v_med3_u32 = &med3<uint32_t>;
constexpr auto v_min3_i16 = &min3<int16_t>;
constexpr auto v_max3_i16 = &max3<int16_t>;
constexpr auto v_med3_i16 = &med3<int16_t>;
constexpr auto v_min3_u16 = &min3<uint16_t>;
constexpr auto v_max3_u16 = &max3<uint16_t>;
constexpr auto v_med3_u16 = &med3<uint16_t>;

// 16-bit integers -------------------------------------------------------------------------------------------------------------

constexpr Saturating<&mad_u16, &mad_u16_clamped> v_mad_u16;
constexpr Saturating<&mad_u16, &mad_u16_clamped> v_mad_legacy_u16;
constexpr Saturating<&mad_i16, &mad_i16_clamped> v_mad_i16;
constexpr Saturating<&mad_i16, &mad_i16_clamped> v_mad_legacy_i16;
constexpr Saturating<&add_i16, &add_i16_clamped> v_add_i16;
constexpr Saturating<&sub_i16, &sub_i16_clamped> v_sub_i16;

// 64-bit integers -------------------------------------------------------------------------------------------------------------

uint64_t v_lshlrev_b64(Low32 s0, uint64_t s1) { return s1 << (s0.bits & 63); }
uint64_t v_lshrrev_b64(Low32 s0, uint64_t s1) { return s1 >> (s0.bits & 63); }
int64_t v_ashrrev_i64(Low32 s0, int64_t s1) { return s1 >> (s0.bits & 63); }
uint64_t v_lshl_add_u64(uint64_t s0, Low32 s1, uint64_t s2) { return (s0 << (s1.bits & 7)) + s2; }
WithCarry<uint64_t> mad_u64_u32(uint32_t s0, uint32_t s1, uint64_t s2) {
    const uint64_t r = uint64_t{s0} * s1 + s2;
    return {r, r < s2 ? ~0u : 0u};
}
WithCarry<uint64_t> mad_u64_u32_clamped(uint32_t s0, uint32_t s1, uint64_t s2) {
    const WithCarry<uint64_t> r = mad_u64_u32(s0, s1, s2);
    return {r.carry != 0 ? ~uint64_t{0} : r.value, r.carry};
}
/// The carry is bit 64 of the exact sum.
WithCarry<int64_t> mad_i64_i32(int32_t s0, int32_t s1, int64_t s2) {
    const int64_t product = int64_t{s0} * s1;
    const int64_t r = static_cast<int64_t>(static_cast<uint64_t>(product) + static_cast<uint64_t>(s2));
    const bool overflow = ((product ^ r) & (s2 ^ r)) < 0;
    return {r, (r < 0) != overflow ? ~0u : 0u};
}
WithCarry<int64_t> mad_i64_i32_clamped(int32_t s0, int32_t s1, int64_t s2) {
    const WithCarry<int64_t> r = mad_i64_i32(s0, s1, s2);
    const bool negative = r.carry != 0;
    const bool overflow = negative != (r.value < 0);
    return {overflow ? (negative ? INT64_MIN : INT64_MAX) : r.value, r.carry};
}
constexpr Saturating<&mad_u64_u32, &mad_u64_u32_clamped> v_mad_u64_u32;
constexpr Saturating<&mad_i64_i32, &mad_i64_i32_clamped> v_mad_i64_i32;

// Bytes -----------------------------------------------------------------------------------------------------------------------

uint32_t v_lerp_u8(uint32_t s0, uint32_t s1, uint32_t s2) {
    uint32_t r = 0;
    for (unsigned i = 0; i < 32; i += 8) {
        r |= ((((s0 >> i) & 0xff) + ((s1 >> i) & 0xff) + ((s2 >> i) & 1)) >> 1) << i;
    }
    return r;
}
/// Byte `sel` of s0:s1; 8..11 sign of a 16-bit part, 12 zero, above 0xff. @source AMD Vega ISA document, V_PERM_B32
inline uint32_t permuted_byte(uint64_t in, uint32_t sel) {
    if (sel >= 13) return 0xff;
    if (sel == 12) return 0;
    if (sel >= 8) return (in >> (16 * (sel - 8) + 15)) & 1 ? 0xffu : 0u;
    return static_cast<uint32_t>(in >> (8 * sel)) & 0xff;
}
uint32_t v_perm_b32(uint32_t s0, uint32_t s1, uint32_t s2) {
    const uint64_t in = (uint64_t{s0} << 32) | s1;
    uint32_t r = 0;
    for (unsigned i = 0; i < 32; i += 8) r |= permuted_byte(in, (s2 >> i) & 0xff) << i;
    return r;
}

inline uint32_t distance(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }
inline uint32_t distance_u16(uint32_t a, uint32_t b) { return distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16); }
/// A sum of differences added to s2, wrapping or saturating.
template <uint32_t (*kSum)(uint32_t, uint32_t), unsigned kShift>
uint32_t accumulate(uint32_t s0, uint32_t s1, uint32_t s2) {
    return (kSum(s0, s1) << kShift) + s2;
}
template <uint32_t (*kSum)(uint32_t, uint32_t), unsigned kShift>
uint32_t accumulate_clamped(uint32_t s0, uint32_t s1, uint32_t s2) {
    return saturate<uint32_t>((uint64_t{kSum(s0, s1)} << kShift) + s2);
}
inline uint32_t distance_u8(uint32_t a, uint32_t b) { return sum_of_differences(a, b, false); }
inline uint32_t masked_distance_u8(uint32_t a, uint32_t b) { return sum_of_differences(a, b, true); }
constexpr Saturating<&accumulate<distance_u8, 0>, &accumulate_clamped<distance_u8, 0>> v_sad_u8;
constexpr Saturating<&accumulate<distance_u8, 16>, &accumulate_clamped<distance_u8, 16>> v_sad_hi_u8;
constexpr Saturating<&accumulate<distance_u16, 0>, &accumulate_clamped<distance_u16, 0>> v_sad_u16;
constexpr Saturating<&accumulate<distance, 0>, &accumulate_clamped<distance, 0>> v_sad_u32;
constexpr Saturating<&accumulate<masked_distance_u8, 0>, &accumulate_clamped<masked_distance_u8, 0>> v_msad_u8;
/// Four sums, of the 4 bytes of s0 that begin at byte 0, 1, 2, 3, each added to a 16-bit part of s2.
template <bool kMaskedBytes, bool kClamped>
uint64_t quad_sad(uint64_t s0, uint32_t s1, uint64_t s2) {
    uint64_t r = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const uint32_t sum = sum_of_differences(static_cast<uint32_t>(s0 >> (8 * i)), s1, kMaskedBytes) +
                             static_cast<uint32_t>((s2 >> (16 * i)) & 0xffff);
        r |= uint64_t{kClamped && sum > 0xffff ? 0xffff : sum & 0xffff} << (16 * i);
    }
    return r;
}
constexpr Saturating<&quad_sad<false, false>, &quad_sad<false, true>> v_qsad_pk_u16_u8;
constexpr Saturating<&quad_sad<true, false>, &quad_sad<true, true>> v_mqsad_pk_u16_u8;
constexpr Custom<&exec_v_mqsad_u32_u8> v_mqsad_u32_u8;

/// Truncated and saturated to 0..255.
inline uint32_t to_u8(float v) { return std::min<uint32_t>(fp::to_u32(v), 255); }
inline uint32_t insert_u8(float v, uint32_t position, uint32_t into) {
    const uint32_t shift = 8 * (position & 3);
    return (into & ~(0xffu << shift)) | (to_u8(v) << shift);
}
uint32_t v_cvt_pk_u8_f32(float s0, uint32_t s1, uint32_t s2) { return insert_u8(s0, s1, s2); }
uint32_t v_cvt_pkaccum_u8_f32(float s0, uint32_t s1, uint32_t d) { return insert_u8(s0, s1, d); }

// Packing conversions ---------------------------------------------------------------------------------------------------------

inline uint32_t pack(uint32_t low, uint32_t high) { return (low & 0xffff) | (high << 16); }
inline uint32_t snorm16(float v) { return static_cast<uint32_t>(fixed_point(v, -1.0f, 32767.0)); }
inline uint32_t unorm16(float v) { return static_cast<uint32_t>(fixed_point(v, 0.0f, 65535.0)); }
uint32_t v_cvt_pknorm_i16_f32(float s0, float s1) { return pack(snorm16(s0), snorm16(s1)); }
uint32_t v_cvt_pknorm_u16_f32(float s0, float s1) { return pack(unorm16(s0), unorm16(s1)); }
uint32_t v_cvt_pknorm_i16_f16(HalfFloat s0, HalfFloat s1) { return pack(snorm16(s0.value), snorm16(s1.value)); }
uint32_t v_cvt_pknorm_u16_f16(HalfFloat s0, HalfFloat s1) { return pack(unorm16(s0.value), unorm16(s1.value)); }
HalfPair v_cvt_pkrtz_f16_f32(float s0, float s1) {
    return {pack(fp::float_to_half<Round::Zero>(s0), fp::float_to_half<Round::Zero>(s1))};
}
uint32_t v_cvt_pk_u16_u32(uint32_t s0, uint32_t s1) { return pack(std::min(s0, 0xffffu), std::min(s1, 0xffffu)); }
uint32_t v_cvt_pk_i16_i32(int32_t s0, int32_t s1) {
    return pack(static_cast<uint16_t>(saturate<int16_t>(s0)), static_cast<uint16_t>(saturate<int16_t>(s1)));
}

template <SmallFloat kFormat>
uint16_t narrowed_pair(const ModeView& mode, float s0, float s1) {
    return static_cast<uint16_t>(narrowed<kFormat>(s0, nullptr, mode.fp16_ovfl) | narrowed<kFormat>(s1, nullptr, mode.fp16_ovfl)
                                                                                      << 8);
}
constexpr auto v_cvt_pk_fp8_f32 = &narrowed_pair<kFp8>;
constexpr auto v_cvt_pk_bf8_f32 = &narrowed_pair<kBf8>;
constexpr Custom<&exec_v_cvt_sr_fp8_f32> v_cvt_sr_fp8_f32;
constexpr Custom<&exec_v_cvt_sr_bf8_f32> v_cvt_sr_bf8_f32;

// Lanes -----------------------------------------------------------------------------------------------------------------------

inline uint32_t count_bits(uint32_t v) {
    v = v - ((v >> 1) & 0x55555555);
    v = (v & 0x33333333) + ((v >> 2) & 0x33333333);
    return (((v + (v >> 4)) & 0x0f0f0f0f) * 0x01010101) >> 24;
}
uint32_t v_bcnt_u32_b32(uint32_t s0, uint32_t s1) { return count_bits(s0) + s1; }
/// Bits of the mask that belong to lanes below this one, in the low or the high half of the wave.
uint32_t v_mbcnt_lo_u32_b32(uint32_t s0, uint32_t s1, LaneIndex lane) {
    const uint32_t below = lane.value >= 32 ? ~0u : (1u << (lane.value & 31)) - 1;
    return count_bits(s0 & below) + s1;
}
uint32_t v_mbcnt_hi_u32_b32(uint32_t s0, uint32_t s1, LaneIndex lane) {
    const uint32_t below = lane.value >= 32 ? (1u << (lane.value & 31)) - 1 : 0;
    return count_bits(s0 & below) + s1;
}
constexpr Custom<&exec_v_readlane_b32> v_readlane_b32;
constexpr Custom<&exec_v_writelane_b32> v_writelane_b32;

// gfx90a and later, in the place of the VOP2 form
float v_mul_legacy_f32_vop3(float s0, float s1) { return (s0 == 0) | (s1 == 0) ? 0.0f : fp::mul(s0, s1); }

// Interpolation: entered by graphics.cpp.
constexpr Todo v_interp_p1ll_f16;
constexpr Todo v_interp_p1lv_f16;
constexpr Todo v_interp_p2_legacy_f16;
constexpr Todo v_interp_p2_f16;

}  // namespace lane

void register_vop3(ExecTable& table) {
#define VOP3(opcode, name, profile, flags, ...) add<Op::name, lane::name>(table);
#include "gcn-interp/isa/vop3.def"
#undef VOP3
}

}  // namespace lyra::gcn
