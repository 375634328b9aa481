// SPDX-License-Identifier: MIT
// Floats of few digits: what matrix instructions multiply, and the conversions to and from 8 bits.
// FP8 and BF8 have neither infinities nor a zero with a sign; the bits of the latter are their NaN ("FNUZ").
// @source AMD CDNA3 ISA document, "Data formats"; ROCm/composable_kernel, float8.hpp
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "gcn-interp/wave/fp.h"

namespace lyra::gcn {

struct SmallFloat {
    unsigned fraction;  ///< bits behind the point; the exponent is above them, the sign on top
    unsigned width;
    int bias;
    bool finite;  ///< no infinities, one NaN
    constexpr uint32_t sign_bit() const { return 1u << (width - 1); }
    constexpr uint32_t exponent_mask() const { return (1u << (width - 1 - fraction)) - 1; }
    constexpr int least_exponent() const { return 1 - bias; }
    /// The largest number, of those that are finite.
    constexpr uint32_t largest() const { return sign_bit() - 1; }
};
inline constexpr SmallFloat kFp8{3, 8, 8, true}, kBf8{2, 8, 16, true}, kHalfFormat{10, 16, 15, false},
    kBrain{7, 16, 127, false}, kXf32{10, 19, 127, false};  ///< the upper 19 bits of f32

/// digits * 2^(exponent - fraction bits of the format). Denormals have the least exponent and fewer digits.
/// Infinities and NaNs have the exponent kSpecial, and 1, -1 or 0 for digits.
struct Digits {
    static constexpr int kSpecial = 0x1000;
    int32_t digits, exponent;
};

template <SmallFloat kFormat>
[[gnu::always_inline]] inline Digits digits_of(uint32_t bits) {
    constexpr uint32_t kMask = kFormat.exponent_mask();
    const uint32_t field = bits >> kFormat.fraction & kMask, low = bits & ((1u << kFormat.fraction) - 1);
    const bool negative = (bits & kFormat.sign_bit()) != 0;
    const auto magnitude = static_cast<int32_t>(low | fp::pick(field == 0, 0u, 1u << kFormat.fraction));
    const int32_t exponent = static_cast<int32_t>(fp::pick(field == 0, 1u, field)) - kFormat.bias;
    const bool special = kFormat.finite ? bits == kFormat.sign_bit() : field == kMask;
    const int32_t sign = kFormat.finite || low != 0 ? 0 : 1;
    const int32_t digits = fp::pick(special, sign, magnitude);
    return {fp::pick(negative, -digits, digits), fp::pick(special, int32_t{Digits::kSpecial}, exponent)};
}

/// 8 bits to f32, exact. @return for a NaN the quiet one without other bits
template <SmallFloat kFormat>
[[gnu::always_inline]] inline float widened(uint32_t bits) {
    const Digits number = digits_of<kFormat>(bits & 0xff);
    const float power = std::bit_cast<float>(static_cast<uint32_t>(number.exponent - static_cast<int>(kFormat.fraction) + 127)
                                             << 23);  // of NaNs anything
    return fp::pick(number.exponent == Digits::kSpecial, std::bit_cast<float>(0x7fc00000u),
                    static_cast<float>(number.digits) * power);
}

/// f32 to 8 bits.
/// @param more      added to the magnitude's bits below the last digit that is kept, before they are cut off; rounding to the
///                  nearest adds what that takes when this is nullptr
/// @param saturate  too large a number becomes the largest (MODE.FP16_OVFL), not NaN
template <SmallFloat kFormat>
inline uint32_t narrowed(float value, const uint32_t* more, bool saturate) {
    constexpr unsigned kDropped = 23 - kFormat.fraction;
    constexpr uint32_t kNan = kFormat.sign_bit();
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude >= 0x7f800000) return kNan;
    int exponent = static_cast<int>(magnitude >> 23) - 127;
    uint32_t digits = magnitude & 0x7fffff;
    if (exponent == -127)
        exponent = -126;
    else
        digits |= 1u << 23;
    bool below = false;  // something was cut off that counts when it is in the middle
    if (exponent < kFormat.least_exponent()) {
        const int shift = std::min(kFormat.least_exponent() - exponent, 31);
        below = (digits & ((1u << shift) - 1)) != 0;
        digits >>= shift;
        exponent = kFormat.least_exponent();
    }
    if (more != nullptr) {
        digits += *more & ((1u << kDropped) - 1);
    } else {
        const uint32_t half = 1u << (kDropped - 1), rest = digits & (2 * half - 1);
        const bool odd = (digits >> kDropped & 1) != 0;
        digits += rest > half || (rest == half && (below || odd)) ? half : 0;
    }
    digits >>= kDropped;
    if (digits >> (kFormat.fraction + 1) != 0) {
        digits >>= 1;
        ++exponent;
    }
    const bool denormal = digits >> kFormat.fraction == 0;
    const uint32_t field = denormal ? 0 : static_cast<uint32_t>(exponent + kFormat.bias);
    if (field > kFormat.exponent_mask()) return saturate ? (bits >> 31) * kFormat.sign_bit() | kFormat.largest() : kNan;
    const uint32_t result = field << kFormat.fraction | (digits & ((1u << kFormat.fraction) - 1));
    return result == 0 ? 0 : (bits >> 31) * kFormat.sign_bit() | result;
}

}  // namespace lyra::gcn
