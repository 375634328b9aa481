// SPDX-License-Identifier: MIT
// Lane functions that several formats share: multiply-add, and the 16-bit operations that VOP3P runs twice.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "gcn-interp/exec/frame.h"

namespace lyra::gcn::lane {

// Saturation ------------------------------------------------------------------------------------------------------------------

template <class To, class Wide>
constexpr To saturate(Wide v) {
    constexpr Wide kLow = static_cast<Wide>(std::numeric_limits<To>::min()),
                   kHigh = static_cast<Wide>(std::numeric_limits<To>::max());
    return static_cast<To>(v < kLow ? kLow : (v > kHigh ? kHigh : v));
}

/// Fixed point in [low, 1], rounded to nearest even once: the product is exact in double. NaN gives 0.
inline int32_t fixed_point(float v, float low, double limit) {
    const float bounded = v > 1.0f ? 1.0f : (v > low ? v : (fp::is_nan(v) ? 0.0f : low));
    return static_cast<int32_t>(__builtin_rint(static_cast<double>(bounded) * limit));
}

// f32 multiply-add ------------------------------------------------------------------------------------------------------------

/// v_mad_f32 and its kin: two roundings, denormals are always flushed. @source docs/spec/isa.md 3.1
inline float mad_f32(float a, float b, float c) {
    return fp::flush(fp::accumulate(fp::flush(fp::mul(fp::flush(a), fp::flush(b))), fp::flush(c)));
}
inline float fma_f32(float a, float b, float c) { return fp::fma(a, b, c); }

// f16 -------------------------------------------------------------------------------------------------------------------------

inline HalfFloat add_f16(HalfFloat a, HalfFloat b) { return {fp::add(a.value, b.value)}; }
inline HalfFloat sub_f16(HalfFloat a, HalfFloat b) { return {fp::sub(a.value, b.value)}; }
inline HalfFloat mul_f16(HalfFloat a, HalfFloat b) { return {fp::mul(a.value, b.value)}; }
inline HalfFloat min_f16(const ModeView& mode, HalfFloat a, HalfFloat b) { return {fp::minimum(mode, a.value, b.value)}; }
inline HalfFloat max_f16(const ModeView& mode, HalfFloat a, HalfFloat b) { return {fp::maximum(mode, a.value, b.value)}; }
/// The product is exact in f32; the sum is rounded to double, then to odd, so that the rounding to f16 is the only one that
/// counts.
inline HalfFloat fma_f16(HalfFloat a, HalfFloat b, HalfFloat c) {
    const double product = static_cast<double>(a.value) * static_cast<double>(b.value), addend = static_cast<double>(c.value);
    const double sum = product + addend;
    return {fp::first_nan(fp::to_odd_float(sum), a.value, b.value, c.value)};
}
inline float flush_half(float v) {
    return fp::pick((v < 0x1p-14f) & (v > -0x1p-14f), fp::as<float>(fp::as<uint32_t>(v) & 0x80000000u), v);
}
/// v_mad_f16 and its kin: two roundings, f16 denormals are flushed.
inline HalfFloat mad_f16(const ModeView& mode, HalfFloat a, HalfFloat b, HalfFloat c) {
    const float product = fp::mul(flush_half(a.value), flush_half(b.value));
    const float limit = mode.fp16_ovfl & !fp::is_inf(product) ? 65504.0f : fp::infinity<float>();  // NaNs fail both comparisons
    const float bounded = product > limit ? limit : (product < -limit ? -limit : product);
    const float rounded = fp::half_to_float(fp::float_to_half(bounded, mode.round16_64));
    const float sum = fp::add(flush_half(rounded), flush_half(c.value));
    return {flush_half(sum)};
}

// 16-bit integers -------------------------------------------------------------------------------------------------------------

inline uint16_t add_u16(uint16_t a, uint16_t b) { return static_cast<uint16_t>(a + b); }
inline uint16_t sub_u16(uint16_t a, uint16_t b) { return static_cast<uint16_t>(a - b); }
inline uint16_t add_u16_clamped(uint16_t a, uint16_t b) { return saturate<uint16_t>(int32_t{a} + int32_t{b}); }
inline uint16_t sub_u16_clamped(uint16_t a, uint16_t b) { return saturate<uint16_t>(int32_t{a} - int32_t{b}); }
inline int16_t add_i16(int16_t a, int16_t b) { return static_cast<int16_t>(a + b); }
inline int16_t sub_i16(int16_t a, int16_t b) { return static_cast<int16_t>(a - b); }
inline int16_t add_i16_clamped(int16_t a, int16_t b) { return saturate<int16_t>(int32_t{a} + int32_t{b}); }
inline int16_t sub_i16_clamped(int16_t a, int16_t b) { return saturate<int16_t>(int32_t{a} - int32_t{b}); }
inline uint16_t mul_lo_u16(uint16_t a, uint16_t b) { return static_cast<uint16_t>(uint32_t{a} * uint32_t{b}); }
inline uint16_t mad_u16(uint16_t a, uint16_t b, uint16_t c) { return static_cast<uint16_t>(uint32_t{a} * uint32_t{b} + c); }
inline uint16_t mad_u16_clamped(uint16_t a, uint16_t b, uint16_t c) {
    return static_cast<uint16_t>(std::min<uint64_t>(uint64_t{a} * b + c, 0xffff));
}
inline int16_t mad_i16(int16_t a, int16_t b, int16_t c) { return static_cast<int16_t>(int32_t{a} * int32_t{b} + c); }
inline int16_t mad_i16_clamped(int16_t a, int16_t b, int16_t c) { return saturate<int16_t>(int64_t{a} * b + c); }
inline uint16_t lshlrev_b16(uint16_t a, uint16_t b) { return static_cast<uint16_t>(uint32_t{b} << (a & 15)); }
inline uint16_t lshrrev_b16(uint16_t a, uint16_t b) { return static_cast<uint16_t>(b >> (a & 15)); }
inline int16_t ashrrev_i16(uint16_t a, int16_t b) { return static_cast<int16_t>(b >> (a & 15)); }
inline uint16_t min_u16(uint16_t a, uint16_t b) { return a < b ? a : b; }
inline uint16_t max_u16(uint16_t a, uint16_t b) { return a > b ? a : b; }
inline int16_t min_i16(int16_t a, int16_t b) { return a < b ? a : b; }
inline int16_t max_i16(int16_t a, int16_t b) { return a > b ? a : b; }

}  // namespace lyra::gcn::lane
