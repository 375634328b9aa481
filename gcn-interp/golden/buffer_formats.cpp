// SPDX-License-Identifier: MIT
// Reference model of buffer data formats, by exact numbers that are rounded once.
// @source AMD Vega ISA document, "Data formats"; Mesa's gfx9 format tables for the order of components
#include "gcn-interp/golden/buffer_formats.h"

#include "gcn-interp/golden/soft_float.h"

namespace lyra::golden {
namespace {

/// BUF_DATA_FORMAT names its components from the highest bits down: these are from the lowest up.
const std::vector<unsigned> kWidths[16] = {
    {},
    {8},
    {16},
    {8, 8},
    {32},
    {16, 16},
    {11, 11, 10},
    {10, 11, 11},
    {2, 10, 10, 10},
    {10, 10, 10, 2},
    {8, 8, 8, 8},
    {32, 32},
    {16, 16, 16, 16},
    {32, 32, 32},
    {32, 32, 32, 32},
    {},
};

enum Number : unsigned { kUnorm, kSnorm, kUscaled, kSscaled, kUint, kSint, kReserved, kFloat };

/// Unsigned floats of 10 and 11 bits: five bits of exponent, no sign. As f16 they have more digits.
constexpr FloatFormat small_float(unsigned width) { return {width + 1, width - 5}; }

__int128 integer(uint64_t bits, unsigned width, bool is_signed) {
    const __int128 value = bits & ((uint64_t{1} << width) - 1);
    return is_signed && (bits >> (width - 1) & 1) != 0 ? value - (__int128{1} << width) : value;
}
__int128 largest(unsigned width, bool is_signed) { return (__int128{1} << (width - (is_signed ? 1 : 0))) - 1; }

uint32_t f32(const Real& x) {
    uint32_t flags = 0;
    return static_cast<uint32_t>(round_to({kF32}, x, flags));
}

/// Moves the bits of a NaN as they are; anything else is a number of both formats.
uint32_t f32_of(const FloatFormat& from, uint64_t bits) {
    if (!is_nan(from, bits)) return f32(real_of(from, bits));
    return static_cast<uint32_t>((is_negative(from, bits) ? kF32.sign_bit() : 0) | kF32.infinity() |
                                 (bits & from.fraction_mask()) << (kF32.fraction - from.fraction));
}

uint32_t load_component(const TypedFormat& format, uint64_t bits, unsigned width) {
    uint32_t flags = 0;
    const bool is_signed = format.number == kSnorm || format.number == kSscaled || format.number == kSint;
    const __int128 value = integer(bits, width, is_signed);
    switch (format.number) {
        case kUnorm:
        case kSnorm: {
            const __int128 top = largest(width, is_signed);
            return f32(quotient(real_of_integer(value < -top ? -top : value), real_of_integer(top), flags));
        }
        case kUscaled:
        case kSscaled: return f32(real_of_integer(value));
        case kFloat: return width == 32 ? static_cast<uint32_t>(bits) : f32_of(width == 16 ? kF16 : small_float(width), bits);
        default: return static_cast<uint32_t>(value);
    }
}

uint64_t store_component(const TypedFormat& format, uint32_t component, unsigned width) {
    uint32_t flags = 0;
    const bool is_signed = format.number == kSnorm || format.number == kSscaled;
    const __int128 top = largest(width, is_signed);
    switch (format.number) {
        case kUnorm:
        case kSnorm: {
            const Real scaled = product(real_of(kF32, component), real_of_integer(top), flags);
            if (scaled.nan()) return 0;
            return static_cast<uint64_t>(to_integer(scaled.infinite() ? scaled : whole(scaled, Rounding::NearestEven, flags),
                                                    is_signed ? -top : 0, top, flags));
        }
        case kUscaled:
        case kSscaled: return static_cast<uint64_t>(to_integer(real_of(kF32, component), is_signed ? -top - 1 : 0, top, flags));
        case kFloat: {
            if (width == 32) return component;
            if (width == 16) return round_to({kF16}, real_of(kF32, component), flags);
            const FloatFormat small = small_float(width);
            if (is_negative(kF32, component) && !is_nan(kF32, component)) return 0;
            return round_to({small}, real_of(kF32, component), flags) & ~small.sign_bit();
        }
        default: return component;
    }
}

}  // namespace

unsigned TypedFormat::bytes() const {
    unsigned bits = 0;
    for (const unsigned width : widths) bits += width;
    return bits / 8;
}

TypedFormat typed_format(unsigned data_format, unsigned number_format) {
    return {kWidths[data_format & 15], number_format & 7};
}

std::array<uint32_t, 4> components_of(const TypedFormat& format, const Bytes& element) {
    std::array<uint32_t, 4> result{0, 0, 0, format.integers() ? 1u : 0x3f800000u};
    unsigned at = 0;
    for (size_t c = 0; c < format.widths.size(); ++c) {
        uint64_t bits = 0;
        for (unsigned b = 0; b < format.widths[c]; ++b, ++at) bits |= uint64_t{element[at / 8] >> (at % 8) & 1u} << b;
        result[c] = load_component(format, bits, format.widths[c]);
    }
    return result;
}

Bytes element_of(const TypedFormat& format, const std::array<uint32_t, 4>& components) {
    Bytes element(format.bytes());
    unsigned at = 0;
    for (size_t c = 0; c < format.widths.size(); ++c) {
        const uint64_t bits = store_component(format, components[c], format.widths[c]);
        for (unsigned b = 0; b < format.widths[c]; ++b, ++at)
            element[at / 8] = static_cast<uint8_t>(element[at / 8] | (bits >> b & 1) << (at % 8));
    }
    return element;
}

uint32_t narrow(const TypedFormat& format, uint32_t component) {
    uint32_t flags = 0;
    if (format.integers()) return component & 0xffff;
    return static_cast<uint32_t>(round_to({kF16}, real_of(kF32, component), flags));
}
uint32_t widen(const TypedFormat& format, uint32_t half) {
    if (format.integers()) return static_cast<uint32_t>(integer(half, 16, format.number == kSint));
    return f32_of(kF16, half);
}

}  // namespace lyra::golden
