// SPDX-License-Identifier: MIT
// Floating point rules that C++ has no word for: f16, denormal flush, NaN classes, and the transcendental instructions.
// Everything inline is branchless where it can be, so that the 64-lane loops vectorise.
//
// No public source describes the last bit of v_exp, v_log, v_sin, v_cos, v_rcp, v_rsq and v_sqrt (LLVM grants 1 ulp). Here they
// are evaluated in double and rounded once to the result type, so they are correctly rounded but for rare ties; the f64 v_rcp,
// v_rsq and v_sqrt are the host's division and square root.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "gcn-interp/wave/backend.h"
#include "gcn-interp/wave/mode.h"

#if defined(__clang__)
// & and | of bools keep lane functions free of branches.
#pragma clang diagnostic ignored "-Wbitwise-instead-of-logical"
#pragma clang diagnostic ignored "-Wbitwise-conditional-parentheses"
#endif

namespace lyra::gcn::fp {

template <class To, class From>
constexpr To as(From v) {
    return std::bit_cast<To>(v);
}

/// condition ? a : b without a branch: chains of ?: on related conditions become branches again, and those are not vectorised.
template <class F>
inline F pick(bool condition, F a, F b) {
    if constexpr (sizeof(F) == 8) {
        const uint64_t mask = 0 - static_cast<uint64_t>(condition);
        return as<F>((as<uint64_t>(a) & mask) | (as<uint64_t>(b) & ~mask));
    } else {
        const uint32_t mask = 0 - static_cast<uint32_t>(condition);
        return as<F>((as<uint32_t>(a) & mask) | (as<uint32_t>(b) & ~mask));
    }
}

// f32 and f64 as bits -----------------------------------------------------------------------------------------------------

template <class F>
struct Layout;
template <>
struct Layout<float> {
    using Bits = uint32_t;
    static constexpr unsigned kMantissa = 23;
    static constexpr int kBias = 127;
};
template <>
struct Layout<double> {
    using Bits = uint64_t;
    static constexpr unsigned kMantissa = 52;
    static constexpr int kBias = 1023;
};

template <class F>
using BitsOf = typename Layout<F>::Bits;
template <class F>
inline constexpr BitsOf<F> kSign = BitsOf<F>{1} << (sizeof(F) * 8 - 1);
template <class F>
inline constexpr BitsOf<F> kQuiet = BitsOf<F>{1} << (Layout<F>::kMantissa - 1);
template <class F>
inline constexpr BitsOf<F> kInfBits = (~BitsOf<F>{0} >> 1) & ~((BitsOf<F>{1} << Layout<F>::kMantissa) - 1);

template <class F>
inline bool is_nan(F x) {
    return (as<BitsOf<F>>(x) & ~kSign<F>) > kInfBits<F>;
}
template <class F>
inline bool is_signaling(F x) {
    return is_nan(x) & ((as<BitsOf<F>>(x) & kQuiet<F>) == 0);
}
template <class F>
inline bool is_inf(F x) {
    return (as<BitsOf<F>>(x) & ~kSign<F>) == kInfBits<F>;
}
template <class F>
inline F quiet(F x) {
    return as<F>(static_cast<BitsOf<F>>(as<BitsOf<F>>(x) | kQuiet<F>));
}
/// Biased exponent field.
template <class F>
inline int exponent(F x) {
    return static_cast<int>((as<BitsOf<F>>(x) & ~kSign<F>) >> Layout<F>::kMantissa);
}
/// Denormals become zero of the same sign.
template <class F>
inline F flush(F x) {
    const BitsOf<F> u = as<BitsOf<F>>(x);
    const BitsOf<F> keep = BitsOf<F>{0} - static_cast<BitsOf<F>>((u & kInfBits<F>) != 0);
    return as<F>(static_cast<BitsOf<F>>(u & (keep | kSign<F>)));
}
template <class F>
inline F with_sign(F magnitude, bool negative) {
    const BitsOf<F> u = as<BitsOf<F>>(magnitude) & ~kSign<F>;
    return as<F>(static_cast<BitsOf<F>>(u | (negative ? kSign<F> : 0)));
}
template <class F>
inline bool sign(F x) {
    return (as<BitsOf<F>>(x) & kSign<F>) != 0;
}
/// Nearest whole number, ties to even, whatever the host's rounding direction. (The built-in for it is not vectorised by
/// GCC 12.)
template <class F>
inline F nearest_even(F x) {
    const F low = std::floor(x), rest = x - low;
    const bool odd = std::floor(low * F(0.5)) != low * F(0.5);
    const F r = low + pick((rest > F(0.5)) | ((rest == F(0.5)) & odd), F(1), F(0));
    return as<F>(static_cast<BitsOf<F>>((as<BitsOf<F>>(r) & ~kSign<F>) | (as<BitsOf<F>>(x) & kSign<F>)));
}
/// 2^e for e within the normal range.
template <class F>
inline F power2(int e) {
    return as<F>(static_cast<BitsOf<F>>(e + Layout<F>::kBias) << Layout<F>::kMantissa);
}
template <class F>
inline F infinity() {
    return as<F>(kInfBits<F>);
}
/// The NaN of invalid operations. @source AMD Vega ISA document, V_DIV_FIXUP_F32
template <class F>
inline F default_nan() {
    return as<F>(static_cast<BitsOf<F>>(kSign<F> | kInfBits<F> | kQuiet<F>));
}

// Arithmetic --------------------------------------------------------------------------------------------------------------

/// THE rule of NaN results: the first operand that is a NaN, made quiet; r, the NaN of invalid operations, when none is.
/// @source none public for payloads: docs/spec/isa.md 3.7
template <class F, class... Rest>
inline F first_nan(F r, F a, Rest... rest) {
    if constexpr (sizeof...(Rest) != 0) r = first_nan(r, rest...);
    return pick(is_nan(a), quiet(a), r);
}
/// The rule for what one instruction of the host gave. x86 returns the only NaN operand, made quiet, and prefers both factors
/// of a multiply-add to its addend in each of its forms (Intel SDM 1, 14.5.2; AMD's agree). So only a has to be put before b,
/// whose order in a sum or a product is the compiler's choice.
template <class F, class... Rest>
inline F settle(F r, F a, [[maybe_unused]] Rest... rest) {
#if !LYRA_HAS_X86_BACKENDS
    return first_nan(pick(is_nan(r), default_nan<F>(), r), a, rest...);
#else
    return pick(a != a, quiet(a), r);  // NOLINT(misc-redundant-expression): a NaN
#endif
}
template <class F>
inline F add(F a, F b) {
    return settle(a + b, a, b);
}
template <class F>
inline F sub(F a, F b) {
    return settle(a - b, a, b);
}
template <class F>
inline F mul(F a, F b) {
    return settle(a * b, a, b);
}
/// product + addend, where a NaN product is quiet already.
template <class F>
inline F accumulate(F product, F addend) {
#if !LYRA_HAS_X86_BACKENDS
    return add(product, addend);
#else
    return product != product ? product : product + addend;  // NOLINT(misc-redundant-expression): a NaN
#endif
}
/// a * b + c, rounded once.
inline float fma(float a, float b, float c) { return settle(__builtin_fmaf(a, b, c), a, b, c); }
inline double fma(double a, double b, double c) { return settle(__builtin_fma(a, b, c), a, b, c); }

// f16 ---------------------------------------------------------------------------------------------------------------------

/// f16 to f32, exact; signaling NaNs stay signaling.
inline float half_to_float(uint32_t half) {
    const uint32_t magnitude = half & 0x7fff;
    const float scaled = as<float>(magnitude << 13) * 0x1p112f;  // right for denormals too
    const uint32_t finite = as<uint32_t>(scaled);
    const uint32_t special = (magnitude << 13) | 0x7f800000u;
    return as<float>(pick(magnitude >= 0x7c00, special, finite) | ((half & 0x8000) << 16));
}

/// f32 to f16 with one rounding in direction R.
template <Round R>
inline uint32_t float_to_half(float value) {
    const uint32_t u = as<uint32_t>(value);
    const uint32_t negative = u >> 31;
    const uint32_t magnitude = u & 0x7fffffff;
    const uint32_t rounds_away = R == Round::Up ? 1 - negative : R == Round::Down ? negative : 0;

    const uint32_t shifted = magnitude - (112u << 23);  // f16 exponent bias
    const uint32_t base = shifted >> 13, rest = shifted & 0x1fff;
    uint32_t up = pick(rest != 0, rounds_away, 0u);
    if constexpr (R == Round::NearestEven) up = (rest + 0xfff + (base & 1)) >> 13;
    const uint32_t normal = base + up;

    const float scaled =
        as<float>(pick(magnitude < 0x38800000, magnitude, 0u)) * 0x1p24f;  // f16 denormals count units of 2^-24
    const float whole = R == Round::NearestEven ? __builtin_rintf(scaled) : __builtin_truncf(scaled);
    const uint32_t denormal = static_cast<uint32_t>(static_cast<int32_t>(whole)) + pick(whole != scaled, rounds_away, 0u);

    const uint32_t overflow = R == Round::NearestEven ? 0x7c00 : 0x7bff + rounds_away;
    const uint32_t finite = pick(magnitude < 0x38800000, denormal, pick(magnitude >= 0x47800000, overflow, normal));
    const uint32_t nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
    const uint32_t result = pick(magnitude > 0x7f800000, nan, pick(magnitude == 0x7f800000, 0x7c00u, finite));
    return result | (negative << 15);
}

/// f32 to f16 in a direction chosen at run time.
inline uint32_t float_to_half(float value, Round round) {
    switch (round) {
        case Round::Up: return float_to_half<Round::Up>(value);
        case Round::Down: return float_to_half<Round::Down>(value);
        case Round::Zero: return float_to_half<Round::Zero>(value);
        default: return float_to_half<Round::NearestEven>(value);
    }
}

/// A double as a float that keeps every bit needed to round again to f16: the last bit is sticky (round to odd). For values
/// that are zero or within the float's normal range.
inline float to_odd_float(double value) {
    const uint64_t u = as<uint64_t>(value);
    const uint64_t sticky = ((u & 0x1fffffff) + 0x1fffffff) & (uint64_t{1} << 29);
    return static_cast<float>(as<double>((u & ~uint64_t{0x1fffffff}) | sticky));
}

inline bool half_is_nan(uint32_t h) { return (h & 0x7fff) > 0x7c00; }
inline bool half_is_signaling(uint32_t h) { return half_is_nan(h) & ((h & 0x200) == 0); }

// Minimum and maximum -----------------------------------------------------------------------------------------------------

/// @source AMD Vega ISA document, V_MIN_F32: a signaling NaN wins (IEEE mode), a quiet one loses, -0 < +0
template <class F>
inline F minimum(const ModeView& mode, F a, F b) {
    F r = pick((a < b) | ((a == b) & sign(a)), a, b);
    r = pick(is_nan(b), a, r);
    r = pick(is_nan(a), b, r);
    r = pick(is_signaling(b) & mode.ieee, quiet(b), r);
    return pick(is_signaling(a) & mode.ieee, quiet(a), r);
}
template <class F>
inline F maximum(const ModeView& mode, F a, F b) {
    F r = pick((a > b) | ((a == b) & !sign(a)), a, b);
    r = pick(is_nan(b), a, r);
    r = pick(is_nan(a), b, r);
    r = pick(is_signaling(b) & mode.ieee, quiet(b), r);
    return pick(is_signaling(a) & mode.ieee, quiet(a), r);
}
/// @source AMD Vega ISA document, V_MED3_F32
template <class F>
inline F median(const ModeView& mode, F a, F b, F c) {
    const F low = minimum(mode, minimum(mode, a, b), c);
    const F high = maximum(mode, maximum(mode, a, b), c);
    const F ab = maximum(mode, a, b), ac = maximum(mode, a, c), bc = maximum(mode, b, c);
    const F middle = pick(high == a, bc, pick(high == b, ac, ab));
    return pick(is_nan(a) | is_nan(b) | is_nan(c), low, middle);
}

// Classes -----------------------------------------------------------------------------------------------------------------

/// Bit of v_cmp_class: 0 signaling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7 +denormal, 8 +normal, 9
/// +inf.
template <unsigned kMantissaBits, class Bits>
inline uint32_t class_bit(Bits u) {
    constexpr unsigned kWidth = sizeof(Bits) * 8;
    constexpr Bits kSignBit = static_cast<Bits>(Bits{1} << (kWidth - 1));
    constexpr Bits kMantissaMask = static_cast<Bits>((Bits{1} << kMantissaBits) - 1);
    constexpr Bits kInf = static_cast<Bits>((kSignBit - 1) & ~kMantissaMask);
    const Bits m = static_cast<Bits>(u & ~kSignBit);
    const uint32_t negative = (u & kSignBit) != 0 ? 1 : 0;
    uint32_t r = pick(negative != 0, 1u << 3, 1u << 8);
    r = pick(m <= kMantissaMask, pick(negative != 0, 1u << 4, 1u << 7), r);
    r = pick(m == 0, pick(negative != 0, 1u << 5, 1u << 6), r);
    r = pick(m == kInf, pick(negative != 0, 1u << 2, 1u << 9), r);
    return pick(m > kInf, pick((m & (Bits{1} << (kMantissaBits - 1))) != 0, 1u << 1, 1u << 0), r);
}

// Conversions to integers: truncate, saturate, NaN gives 0 ----------------------------------------------------------------

template <class F>
inline int32_t to_i32(F x) {
    const bool inside = (x >= F(-2147483648.0)) & (x < F(2147483648.0));
    const int32_t value = static_cast<int32_t>(inside ? x : F(0));
    return x >= F(2147483648.0) ? INT32_MAX : (x < F(-2147483648.0) ? INT32_MIN : value);
}
template <class F>
inline uint32_t to_u32(F x) {
    const bool high = x >= F(2147483648.0);
    const F low_part = high ? x - F(2147483648.0) : x;
    const bool inside = (low_part > F(-1.0)) & (low_part < F(2147483648.0));
    const uint32_t value = static_cast<uint32_t>(static_cast<int32_t>(inside ? low_part : F(0))) + (high ? 0x80000000u : 0u);
    return x >= F(4294967296.0) ? UINT32_MAX : (x > F(0) ? value : 0u);
}

// Scaling -----------------------------------------------------------------------------------------------------------------

/// x * 2^e, rounded once.
inline float scale(float x, int32_t e) {
    const int32_t bounded = e < -400 ? -400 : (e > 400 ? 400 : e);
    return static_cast<float>(static_cast<double>(x) * power2<double>(bounded));
}
/// In three steps of which only the last can round: the others keep the number normal unless the result is 0 or infinite
/// anyway.
inline double scale(double x, int32_t e) {
    const auto bound = [](int32_t v, int32_t limit) { return v < -limit ? -limit : (v > limit ? limit : v); };
    const int32_t all = bound(e, 2200);
    const int32_t last = bound(all, 1000), second = bound(all - last, 1000), first = all - last - second;
    return x * power2<double>(first) * power2<double>(second) * power2<double>(last);
}
/// Mantissa in [0.5, 1); zero and infinity as they are, NaN quieted. @source LLVM constant folding of llvm.amdgcn.frexp.mant
inline float frexp_mantissa(float x) {
    const uint64_t u = as<uint64_t>(static_cast<double>(x));  // f32 denormals are normal doubles
    const float m = static_cast<float>(as<double>((u & 0x800fffffffffffffull) | 0x3fe0000000000000ull));
    return pick(is_nan(x), quiet(x), pick((x == 0) | is_inf(x), x, m));
}
inline int32_t frexp_exponent(float x) {
    const int32_t e = exponent(static_cast<double>(x)) - 1022;
    return pick((x == 0) | is_nan(x) | is_inf(x), 0, e);
}
inline double normalized(double x) { return exponent(x) == 0 ? x * 0x1p64 : x; }
inline double frexp_mantissa(double x) {
    const uint64_t u = as<uint64_t>(normalized(x));
    const double m = as<double>((u & 0x800fffffffffffffull) | 0x3fe0000000000000ull);
    return pick(is_nan(x), quiet(x), pick((x == 0) | is_inf(x), x, m));
}
inline int32_t frexp_exponent(double x) {
    const int32_t e = exponent(normalized(x)) - 1022 - (exponent(x) == 0 ? 64 : 0);
    return pick((x == 0) | is_nan(x) | is_inf(x), 0, e);
}

// Transcendental functions, in double -------------------------------------------------------------------------------------

/// Adding this to a double of small magnitude rounds it to a whole number, which then stands in the low bits.
inline constexpr double kWholeMagic = 0x1.8p52;

/// 2^x for |x| <= 1020; relative error below 2^-50.
inline double exp2_core(double x) {
    const double shifted = x + kWholeMagic;
    const double t = (x - (shifted - kWholeMagic)) * 0.693147180559945309417232121458;
    // Taylor series of e^t to t^14 / 14!, |t| <= 0.3466; in pairs, so that no product has to wait for all others.
    const double t2 = t * t, t4 = t2 * t2, t8 = t4 * t4;
    const double a = (1.0 + t) + t2 * (0.5 + t * (1.0 / 6.0));
    const double b = (1.0 / 24.0 + t * (1.0 / 120.0)) + t2 * (1.0 / 720.0 + t * (1.0 / 5040.0));
    const double c = (1.0 / 40320.0 + t * (1.0 / 362880.0)) + t2 * (1.0 / 3628800.0 + t * (1.0 / 39916800.0));
    const double d = (1.0 / 479001600.0 + t * (1.0 / 6227020800.0)) + t2 * (1.0 / 87178291200.0);
    const double p = (a + t4 * b) + t8 * (c + t4 * d);
    return p * as<double>((as<uint64_t>(shifted) + 1023) << 52);
}
inline float exp2(float x) {
    const float bounded = pick(x > 200.0f, 200.0f, pick(x < -200.0f, -200.0f, x));
    const float safe = pick(is_nan(x), 0.0f, bounded);
    float r = static_cast<float>(exp2_core(static_cast<double>(safe)));
    r = pick(is_inf(x), pick(x > 0, x, 0.0f), r);  // exact, in every rounding direction
    return pick(is_nan(x), quiet(x), r);
}
/// log2 of a positive finite double that is normal.
inline double log2_core(double x) {
    const uint64_t u = as<uint64_t>(x);
    const uint64_t biased = u - 0x3fe6a09e667f3bcdull + (uint64_t{1023} << 52);  // x / sqrt(1/2) has the exponent looked for
    const double e = as<double>((biased >> 52) | 0x4330000000000000ull) - (0x1p52 + 1023);
    const double m = as<double>((biased & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
    const double s = (m - 1.0) / (m + 1.0);  // |s| <= 0.1716
    const double z = s * s;
    const double z2 = z * z, z4 = z2 * z2;
    const double a = (1.0 + z * (1.0 / 3.0)) + z2 * (1.0 / 5.0 + z * (1.0 / 7.0));
    const double b = (1.0 / 9.0 + z * (1.0 / 11.0)) + z2 * (1.0 / 13.0 + z * (1.0 / 15.0));
    const double c = (1.0 / 17.0 + z * (1.0 / 19.0)) + z2 * (1.0 / 21.0 + z * (1.0 / 23.0));
    const double p = a + z4 * (b + z4 * c);
    return e + s * p * 2.88539008177792681471984936200;  // 2 / ln 2
}
inline float log2(float x) {
    const bool ordinary = (x > 0) & !is_inf(x);
    float r = static_cast<float>(log2_core(static_cast<double>(pick(ordinary, x, 1.0f))));
    r = pick(is_inf(x), x, r);
    r = pick(x < 0, default_nan<float>(), r);
    r = pick(x == 0, -infinity<float>(), r);
    return pick(is_nan(x), quiet(x), r);
}

/// sin(2 pi x) when quadrant is 0, cos(2 pi x) when it is 1.
inline double sine_turns(double x, uint64_t quadrant) {
    const double whole = std::floor(x * 4.0 + 0.5);  // to nearest, in every rounding direction
    const double shifted = whole + kWholeMagic;
    const double t = (x - whole * 0.25) * 6.28318530717958647692528676656;  // |t| <= pi / 4
    const double z = t * t;
    double s = 1.0 / 355687428096000.0;
    s = s * z - 1.0 / 1307674368000.0;
    s = s * z + 1.0 / 6227020800.0;
    s = s * z - 1.0 / 39916800.0;
    s = s * z + 1.0 / 362880.0;
    s = s * z - 1.0 / 5040.0;
    s = s * z + 1.0 / 120.0;
    s = s * z - 1.0 / 6.0;
    s = t + t * (s * z);
    double c = 1.0 / 20922789888000.0;
    c = c * z - 1.0 / 87178291200.0;
    c = c * z + 1.0 / 479001600.0;
    c = c * z - 1.0 / 3628800.0;
    c = c * z + 1.0 / 40320.0;
    c = c * z - 1.0 / 720.0;
    c = c * z + 1.0 / 24.0;
    c = c * z - 0.5;
    c = 1.0 + c * z;
    const uint64_t q = as<uint64_t>(shifted) + quadrant;
    const uint64_t odd = 0 - (q & 1);
    const uint64_t r = (as<uint64_t>(c) & odd) | (as<uint64_t>(s) & ~odd);
    return as<double>(r ^ ((q & 2) << 62));
}
/// Input in turns; past +-256 turns the sine is 0 and the cosine 1. @source AMD Vega ISA document, V_SIN_F32
inline float sine(float x) {
    const bool inside = (x >= -256.0f) & (x <= 256.0f);
    const float r = static_cast<float>(sine_turns(static_cast<double>(pick(inside, x, 0.0f)), 0));
    const float special = pick(is_nan(x), quiet(x), pick(is_inf(x), default_nan<float>(), 0.0f));
    return pick(inside, pick(x == 0, x, r), special);
}
inline float cosine(float x) {
    const bool inside = (x >= -256.0f) & (x <= 256.0f);
    const float r = static_cast<float>(sine_turns(static_cast<double>(pick(inside, x, 0.0f)), 1));
    const float special = pick(is_nan(x), quiet(x), pick(is_inf(x), default_nan<float>(), 1.0f));
    return pick(inside, r, special);
}
inline float rsqrt(float x) { return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x))); }

/// 53 bits of 2/pi from bit 53 * segment on (further for large x), scaled to their place. @source AMD Vega ISA document,
/// V_TRIG_PREOP_F64
double trig_preop(double x, uint32_t segment);
/// The same before its one rounding: digits * 2^power.
uint64_t two_over_pi_digits(double x, uint32_t segment, int& power);

}  // namespace lyra::gcn::fp
