// SPDX-License-Identifier: MIT
// Data formats of buffers: memory elements to registers and back; step 6 of the data flow.
#include "gcn-interp/exec/buffer_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "common/bits.h"

namespace lyra::gcn {
namespace {

constexpr BufferFormat kFormats[16] = {
    {},
    {1, {8, 0, 0, 0}, 0},
    {1, {16, 0, 0, 0}, 0},
    {2, {8, 8, 0, 0}, 0},
    {1, {32, 0, 0, 0}, 0},
    {2, {16, 16, 0, 0}, 0},
    {3, {11, 11, 10, 0}, 0},
    {3, {10, 11, 11, 0}, 0},
    {4, {2, 10, 10, 10}, 0},
    {4, {10, 10, 10, 2}, 0},
    {4, {8, 8, 8, 8}, 0},
    {2, {32, 32, 0, 0}, 0},
    {4, {16, 16, 16, 16}, 0},
    {3, {32, 32, 32, 0}, 0},
    {4, {32, 32, 32, 32}, 0},
    {},
};

/// A component of two bits has no room for an exponent: what hardware makes of it as a float is not public, here it is 0.
constexpr unsigned kSmallestFloat = 6;

/// Small unsigned floats of 10 and 11 bits: 5 bits of exponent, the rest mantissa, no sign.
float small_float(uint32_t value, unsigned width) {
    const unsigned mantissa = width - 5;
    return from_half(static_cast<uint16_t>(value << (10 - mantissa)));
}

/// Rounded once, to nearest even; negative numbers become zero.
uint32_t to_small_float(uint32_t in, unsigned width) {
    const unsigned mantissa = width - 5;
    const double value = std::bit_cast<float>(in);
    const uint32_t infinity = 31u << mantissa;
    if (std::isnan(value)) return infinity | 1u << (mantissa - 1) | (in & 0x7fffff) >> (23 - mantissa);
    if (!(value > 0)) return 0;
    const int exponent = std::isinf(value) ? 31 : std::max(std::ilogb(value), -14);
    if (exponent > 15) return infinity;
    // Counts of the last place, which carry into the exponent by themselves.
    const auto places = static_cast<uint32_t>(std::nearbyint(std::ldexp(value, static_cast<int>(mantissa) - exponent)));
    return std::min(places + (static_cast<uint32_t>(exponent + 14) << mantissa), infinity);
}

uint32_t as_bits(double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }

uint32_t unpack_component(const BufferFormat& format, uint32_t raw, unsigned width) {
    const double top = std::ldexp(1.0, static_cast<int>(width));
    const double number = raw, with_sign = static_cast<double>(sign_extend(raw, width));
    switch (format.num_format) {
        case 0: return as_bits(number / (top - 1));
        case 1: return as_bits(std::max(with_sign / (top / 2 - 1), -1.0));
        case 2: return as_bits(number);
        case 3: return as_bits(with_sign);
        case 5: return static_cast<uint32_t>(sign_extend(raw, width));
        case 7:
            if (width == 16) return std::bit_cast<uint32_t>(from_half(static_cast<uint16_t>(raw)));
            if (width < kSmallestFloat) return 0;
            if (width < 16) return std::bit_cast<uint32_t>(small_float(raw, width));
            return raw;
        default: return raw;
    }
}

/// Nearest integer in [low, high]; NaN gives 0.
uint32_t clamped(double value, double low, double high) {
    if (std::isnan(value)) return 0;
    return static_cast<uint32_t>(static_cast<int64_t>(std::nearbyint(std::clamp(value, low, high))));
}

uint32_t pack_component(const BufferFormat& format, uint32_t in, unsigned width) {
    const double top = std::ldexp(1.0, static_cast<int>(width));
    const double value = std::bit_cast<float>(in);
    switch (format.num_format) {
        case 0: return clamped(value * (top - 1), 0, top - 1);
        case 1: return clamped(value * (top / 2 - 1), -(top / 2 - 1), top / 2 - 1);
        case 2: return clamped(std::trunc(value), 0, top - 1);
        case 3: return clamped(std::trunc(value), -top / 2, top / 2 - 1);
        case 7:
            if (width == 16) return to_half(std::bit_cast<float>(in));
            if (width < kSmallestFloat) return 0;
            if (width < 16) return to_small_float(in, width);
            return in;
        default: return in;
    }
}

}  // namespace

BufferFormat buffer_format(unsigned data_format, unsigned num_format) {
    BufferFormat format = kFormats[data_format & 15];
    format.num_format = static_cast<uint8_t>(num_format & 7);
    return format;
}

void unpack_element(const BufferFormat& format, const uint8_t* element, uint32_t out[4]) {
    uint64_t words[2] = {};
    std::memcpy(words, element, format.bytes());
    unsigned at = 0;
    for (unsigned c = 0; c < 4; ++c) {
        const uint32_t one = format.integer() ? 1 : 0x3f800000;
        out[c] = c == 3 ? one : 0;
        if (c >= format.components) continue;
        const uint32_t raw = bits(words[at / 64], at % 64, format.bits[c]);
        out[c] = unpack_component(format, raw, format.bits[c]);
        at += format.bits[c];
    }
}

void pack_element(const BufferFormat& format, const uint32_t in[4], uint8_t* element) {
    uint64_t words[2] = {};
    unsigned at = 0;
    for (unsigned c = 0; c < format.components; ++c) {
        const uint64_t mask = (uint64_t{1} << format.bits[c]) - 1;
        words[at / 64] |= (pack_component(format, in[c], format.bits[c]) & mask) << (at % 64);
        at += format.bits[c];
    }
    std::memcpy(element, words, format.bytes());
}

uint32_t selected_component(uint32_t select, const BufferFormat& format, const uint32_t element[4]) {
    if (select >= 4) return element[select - 4];
    if (select == 1) return format.integer() ? 1 : 0x3f800000;
    return 0;
}

uint32_t narrow_component(const BufferFormat& format, uint32_t value) {
    return format.integer() ? value & 0xffff : to_half(std::bit_cast<float>(value));
}
uint32_t widen_component(const BufferFormat& format, uint32_t half) {
    if (format.num_format == 5) return static_cast<uint32_t>(sign_extend(half, 16));
    return format.integer() ? half : std::bit_cast<uint32_t>(from_half(static_cast<uint16_t>(half)));
}

float from_half(uint16_t value) {
    const uint32_t sign = uint32_t{value} >> 15 << 31, exponent = value >> 10 & 31, mantissa = value & 0x3ff;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
    const float magnitude = exponent ? std::ldexp(static_cast<float>(mantissa | 0x400), static_cast<int>(exponent) - 25)
                                     : std::ldexp(static_cast<float>(mantissa), -24);
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

uint16_t to_half(float value) {
    const uint32_t raw = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint16_t>(raw >> 16 & 0x8000);
    const float magnitude = std::fabs(value);
    if (std::isnan(value)) return sign | 0x7e00 | static_cast<uint16_t>(raw >> 13 & 0x1ff);
    if (magnitude >= 65520.0f) return sign | 0x7c00;
    if (magnitude < 6.103515625e-05f) {  // below the smallest normal: multiples of 2^-24
        return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24)));
    }
    const uint32_t bits32 = raw & 0x7fffffff;
    const uint32_t rounded = bits32 + 0xfff + (bits32 >> 13 & 1);
    return sign | static_cast<uint16_t>((rounded >> 13) - ((127 - 15) << 10));
}

}  // namespace lyra::gcn
