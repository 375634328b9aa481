// SPDX-License-Identifier: MIT
// v_div_scale, v_div_fmas and v_div_fixup: the three helper instructions of the compilers' float division.
// The printed pseudo-code has errors; with the corrections marked
// below the sequence gives the IEEE quotient for every rcp within 1 ulp.
#pragma once

#include <cstdint>

#include "gcn-interp/wave/fp.h"

namespace lyra::gcn::fp {

template <class F>
struct DivLimits;
template <>
struct DivLimits<float> {
    static constexpr int kFar = 96, kTiny = 23, kScale = 64, kUnderflow = -150;
    static constexpr float kMinNormal = 0x1p-126f;
};
template <>
struct DivLimits<double> {
    static constexpr int kFar = 768, kTiny = 53, kScale = 128, kUnderflow = -1075;
    static constexpr double kMinNormal = 0x1p-1022;
};

template <class F>
struct Scaled {
    F value;
    uint32_t flag;  ///< ~0 or 0, goes to VCC: v_div_fmas must scale back
};

/// v_div_scale: s0 is the operand to scale (denominator s1 or numerator s2).
template <class F>
inline Scaled<F> div_scale(F s0, F s1, F s2) {
    using L = DivLimits<F>;
    const F up = s0 * power2<F>(L::kScale), down = s0 * power2<F>(-L::kScale);
    const bool is_denominator = s0 == s1, is_numerator = s0 == s2;
    const F reciprocal = F(1) / s1, quotient = s2 / s1;
    const auto magnitude = [](F v) { return as<F>(static_cast<BitsOf<F>>(as<BitsOf<F>>(v) & ~kSign<F>)); };
    // Correction: "== DENORM" of the pseudo-code means a magnitude below the smallest normal number.
    const bool reciprocal_tiny = magnitude(reciprocal) < L::kMinNormal;
    const bool quotient_tiny = magnitude(quotient) < L::kMinNormal;
    const bool denormal_denominator = exponent(s1) == 0;
    // The rules from the last to the first: an earlier one overrides.
    F value = pick(exponent(s2) <= L::kTiny, up, s0);
    value = pick(quotient_tiny, pick(is_numerator, up, s0), value);
    value = pick(reciprocal_tiny, down, value);
    // Correction: printed as scaling up.
    value = pick(reciprocal_tiny & quotient_tiny, pick(is_denominator, down, s0), value);
    value = pick(denormal_denominator, up, value);
    const bool far_apart = exponent(s2) - exponent(s1) >= L::kFar;
    value = pick(far_apart, pick(is_denominator, up, s0), value);
    const bool zero = (s1 == 0) | (s2 == 0);
    return {pick(zero, default_nan<F>(), value),
            0u - static_cast<uint32_t>((!zero) & (far_apart | (quotient_tiny & !denormal_denominator)))};
}

/// v_div_fixup: s0 quotient, s1 denominator, s2 numerator.
template <class F>
inline F div_fixup(F s0, F s1, F s2) {
    using L = DivLimits<F>;
    const BitsOf<F> negative = (as<BitsOf<F>>(s1) ^ as<BitsOf<F>>(s2)) & kSign<F>;
    const BitsOf<F> infinite = negative | kInfBits<F>;
    BitsOf<F> r = (as<BitsOf<F>>(s0) & ~kSign<F>) | negative;
    r = pick(is_nan(s0), infinite, r);  // Correction: NaN here stands for an overflow
    r = pick(exponent(s1) == exponent(infinity<F>()), infinite, r);
    r = pick(exponent(s2) - exponent(s1) < L::kUnderflow, negative, r);
    r = pick(is_inf(s1) | (s2 == 0), negative, r);
    r = pick((s1 == 0) | is_inf(s2), infinite, r);
    r = pick((is_inf(s1) & is_inf(s2)) | ((s1 == 0) & (s2 == 0)), as<BitsOf<F>>(default_nan<F>()), r);
    r = pick(is_nan(s1), as<BitsOf<F>>(quiet(s1)), r);
    return as<F>(pick(is_nan(s2), as<BitsOf<F>>(quiet(s2)), r));
}

/// sum is inexact and error is what was lost: move an even last bit towards the lost part, so that rounding sum once more to
/// fewer bits gives what rounding the exact value would.
inline double round_to_odd(double sum, double error) {
    const uint64_t u = as<uint64_t>(sum);
    const uint64_t step = pick((error > 0) == (sum > 0), uint64_t{1}, ~uint64_t{0});
    const double bounded = sum - sum;  // 0, or NaN when sum is not finite
    const bool inexact = (error != 0) & (bounded == 0) & (error == error);
    const uint64_t even = (u & 1) - 1;  // ~0 when the last bit is 0
    return as<double>(u + (step & even & pick(inexact, ~uint64_t{0}, uint64_t{0})));
}
/// What a + b loses to rounding.
inline double sum_error(double a, double b, double sum) {
    const double b_part = sum - a;
    return (a - (sum - b_part)) + (b - b_part);
}

/// v_div_fmas: fma(s0, s1, s2); when scaled, times 2^64 if |s2| >= 2 and 2^-64 if not, with one rounding.
/// (The printed pseudo-code says 2^32 whatever s2 is.)
inline float div_fmas(float s0, float s1, float s2, bool scaled) {
    const double product = static_cast<double>(s0) * static_cast<double>(s1);
    const double addend = static_cast<double>(s2);
    const double sum = product + addend;
    const double odd = round_to_odd(sum, sum_error(product, addend, sum));
    const bool large = (s2 >= 2.0f) | (s2 <= -2.0f);
    const float scaled_result = static_cast<float>(odd * static_cast<double>(pick(large, 0x1p64f, 0x1p-64f)));
    return first_nan(pick(scaled, scaled_result, __builtin_fmaf(s0, s1, s2)), s0, s1, s2);
}
/// As for f32 with 2^128. When the scaled result is denormal, rounding the fused sum again errs only where the sum lies exactly
/// between two denormals though the exact value does not: then what the sum lost decides.
inline double div_fmas(double s0, double s1, double s2, bool scaled) {
    const double fused = __builtin_fma(s0, s1, s2);
    const double product = s0 * s1, product_error = __builtin_fma(s0, s1, -product);
    const double sum = product + s2;
    const double lost = (sum - fused) + (sum_error(product, s2, sum) + product_error);
    const bool large = (s2 >= 2.0) | (s2 <= -2.0);
    const double result = fused * pick(large, 0x1p128, 0x1p-128);
    const double rest = fused - result * 0x1p128;
    const bool denormal =
        !large & (result <= 0x1p-1022) & (result >= -0x1p-1022);  // the smallest normal number may have been rounded to
    const bool between = (rest == 0x1p-947) | (rest == -0x1p-947);
    const bool away = (lost != 0) & ((lost > 0) == (rest > 0));
    // What overflows before it is scaled down: scaled first. An addend that vanishes then still tells on which side of a tie
    // the exact value lies; any other one that is as small does so, too.
    const double tiny = pick(s2 > 0, 0x1p-600, -0x1p-600);
    const double addend = pick((s2 != 0) & (s2 < 0x1p-400) & (s2 > -0x1p-400), tiny, s2 * 0x1p-128);
    const double low = __builtin_fma(s0 * 0x1p-128, s1, addend);
    const bool huge = (!large) & (s1 - s1 == 0) & ((fused >= 0x1p1023) | (fused <= -0x1p1023));
    const double moved = result + pick(rest > 0, 0x1p-1074, -0x1p-1074);
    return first_nan(pick(scaled, pick(huge, low, pick(denormal & between & away, moved, result)), fused), s0, s1, s2);
}

}  // namespace lyra::gcn::fp
