// SPDX-License-Identifier: MIT
// Reference model: conversions between formats and to packed formats.
// @source AMD Vega ISA document, "Vector ALU instructions"; docs/spec/isa.md 3.4
#include "gcn-interp/golden/lane.h"

namespace lyra::golden {
namespace {

constexpr __int128 kOne = 1;

template <FloatFormat From, FloatFormat To>
uint64_t convert(Lane& l) {
    const Real x = l.real<From>(0);
    if (x.signaling) l.flags |= excp::kInvalid;
    return l.round<To>(x);
}

template <unsigned kBits, bool kSigned>
__int128 integer_source(const Lane& l) {
    const uint64_t raw = l.source[0] & ((uint64_t{1} << kBits) - 1);
    return kSigned && ((raw >> (kBits - 1)) & 1) != 0 ? static_cast<__int128>(raw) - (kOne << kBits)
                                                      : static_cast<__int128>(raw);
}
template <unsigned kBits, bool kSigned, FloatFormat To>
uint64_t from_integer(Lane& l) {
    return l.round<To>(real_of_integer(integer_source<kBits, kSigned>(l)));
}
template <unsigned kByte>
uint64_t from_byte(Lane& l) {
    return l.round<kF32>(real_of_integer((l.source[0] >> (8 * kByte)) & 0xff));
}
/// A signed nibble in sixteenths.
uint64_t offset_from_nibble(Lane& l) { return l.round<kF32>(times_power(real_of_integer(integer_source<4, true>(l)), -4)); }

template <unsigned kBits, bool kSigned>
uint64_t limited(Lane& l, const Real& x) {
    const __int128 low = kSigned ? -(kOne << (kBits - 1)) : 0, high = (kOne << (kSigned ? kBits - 1 : kBits)) - 1;
    return static_cast<uint64_t>(to_integer(x, low, high, l.flags)) & ((uint64_t{1} << kBits) - 1);
}
template <FloatFormat From, unsigned kBits, bool kSigned>
uint64_t truncated(Lane& l) {
    return limited<kBits, kSigned>(l, l.real<From>(0));
}
/// floor(x), floor(x + 1/2).
uint64_t floor_to_integer(Lane& l) { return limited<32, true>(l, whole(l.real<kF32>(0), Rounding::Down, l.flags)); }
uint64_t nearest_up_to_integer(Lane& l) {
    const Real half = times_power(real_of_integer(1), -1);
    const Real moved = sum(l.real<kF32>(0), half, Rounding::NearestEven, l.flags);
    return limited<32, true>(l, whole(moved, Rounding::Down, l.flags));
}

/// [-1, 1] or [0, 1] to fixed point of 16 bits, to nearest even.
template <FloatFormat From, bool kSigned>
uint64_t fixed_point(Lane& l, unsigned n) {
    const Real x = l.real<From>(n);
    if (x.nan()) return 0;
    const int low = kSigned ? -1 : 0, scale = kSigned ? 32767 : 65535;
    Real bounded = x;
    if (compare(x, real_of_integer(1)) == 1) bounded = real_of_integer(1);
    if (compare(x, real_of_integer(low)) == -1) bounded = real_of_integer(low);
    const Real scaled = whole(product(bounded, real_of_integer(scale), l.flags), Rounding::NearestEven, l.flags);
    return static_cast<uint64_t>(to_integer(scaled, -32768, 65535, l.flags)) & 0xffff;
}
template <FloatFormat From, bool kSigned>
uint64_t normalised_one(Lane& l) {
    return fixed_point<From, kSigned>(l, 0);
}
template <FloatFormat From, bool kSigned>
uint64_t normalised_pair(Lane& l) {
    return fixed_point<From, kSigned>(l, 0) | (fixed_point<From, kSigned>(l, 1) << 16);
}
uint64_t pack_truncated_halves(Lane& l) {
    Target to = l.target<kF16>();
    to.direction = Rounding::Zero;
    return round_to(to, l.real<kF32>(0), l.flags) | (round_to(to, l.real<kF32>(1), l.flags) << 16);
}
uint64_t pack_halves(Lane& l) { return (l.source[0] & 0xffff) | ((l.source[1] & 0xffff) << 16); }

template <bool kSigned>
uint64_t pack_limited(Lane& l) {
    const auto limit = [](int64_t v) {
        const int64_t low = kSigned ? -32768 : 0, high = kSigned ? 32767 : 65535;
        return static_cast<uint64_t>(v < low ? low : v > high ? high : v) & 0xffff;
    };
    const auto value = [&](unsigned n) { return kSigned ? int64_t{l.i32(n)} : int64_t{l.u32(n)}; };
    return limit(value(0)) | (limit(value(1)) << 16);
}
/// One byte of source 2 (or of the old destination) replaced by x, truncated and limited to 0..255.
uint64_t insert_byte(Lane& l) {
    const auto byte = static_cast<uint64_t>(to_integer(l.real<kF32>(0), 0, 255, l.flags));
    const unsigned place = 8 * (l.u32(1) % 4);
    return (l.u32(2) & ~(uint64_t{0xff} << place)) | (byte << place);
}
uint64_t saturate_bytes(Lane& l) {
    uint64_t r = 0;
    for (unsigned n = 0; n < 2; ++n) {
        const int v = static_cast<int16_t>(l.source[0] >> (16 * n));
        r |= static_cast<uint64_t>(v < 0 ? 0 : v > 255 ? 255 : v) << (8 * n);
    }
    return r;
}

/// FP8 and BF8: no infinities; what would be a negative zero is no number.
struct Small {
    int fraction, bias;
};
constexpr Small kSmall[] = {{3, 8}, {2, 16}};
constexpr uint64_t kSmallNan = 0x80, kSmallCount = 128;

/// The n'th number from zero on; the one behind the last is what it would be.
Real small_number(const Small& f, uint64_t n) {
    const auto field = static_cast<int>(n >> f.fraction), digits = static_cast<int>(n % (uint64_t{1} << f.fraction));
    const int whole = field == 0 ? digits : digits + (1 << f.fraction);
    return times_power(real_of_integer(whole), (field == 0 ? 1 : field) - f.bias - f.fraction);
}
uint64_t widened(const Small& f, uint64_t byte) {
    if (byte == kSmallNan) return 0x7fc00000;
    const Real magnitude = small_number(f, byte % kSmallCount);
    uint32_t none = 0;
    return round_to({kF32}, byte >= kSmallCount ? negated(magnitude) : magnitude, none);
}
template <unsigned kKind>
uint64_t from_small(Lane& l) {
    return widened(kSmall[kKind], l.source[0] & 0xff);
}
template <unsigned kKind>
uint64_t from_small_pair(Lane& l) {
    return widened(kSmall[kKind], l.source[0] & 0xff) | widened(kSmall[kKind], l.source[0] >> 8 & 0xff) << 32;
}
/// To the nearest, of two the even one; or, where there is a random number, up when it and the rest make a whole step.
uint64_t to_small(const Small& f, Lane& l, unsigned n, const uint32_t* random) {
    const Real x = l.real<kF32>(n);
    if (x.nan() || x.infinite()) return kSmallNan;
    const Real magnitude = x.negative ? negated(x) : x;
    uint64_t number = 0;
    while (number < kSmallCount && compare(small_number(f, number + 1), magnitude) != 1) ++number;
    uint32_t none = 0;
    const Real lower = small_number(f, number);
    const Real rest = sum(magnitude, negated(lower), Rounding::NearestEven, none);
    const Real step = sum(small_number(f, number + 1), negated(lower), Rounding::NearestEven, none);
    if (random == nullptr) {
        const int middle = compare(times_power(rest, 1), step);
        number += middle == 1 || (middle == 0 && number % 2 == 1) ? 1 : 0;
    } else {
        const int places = 23 - f.fraction, field = static_cast<int>(number >> f.fraction);
        const Real steps = times_power(rest, places - ((field == 0 ? 1 : field) - f.bias - f.fraction));
        const __int128 parts = to_integer(whole(steps, Rounding::Down, none), 0, kOne << places, none);
        number += parts + (*random >> (32 - places)) >= kOne << places ? 1 : 0;
    }
    if (number >= kSmallCount) {
        if (!l.mode.fp16_overflow()) return kSmallNan;
        number = kSmallCount - 1;
    }
    return x.negative && number != 0 ? number | kSmallNan : number;
}
template <unsigned kKind>
uint64_t to_small_pair(Lane& l) {
    return to_small(kSmall[kKind], l, 0, nullptr) | to_small(kSmall[kKind], l, 1, nullptr) << 8;
}
template <unsigned kKind>
uint64_t to_small_at_random(Lane& l) {
    const uint32_t random = l.u32(1);
    return to_small(kSmall[kKind], l, 0, &random);
}

using gcn::Op;
constexpr Entry kEntries[] = {
    {Op::v_cvt_f32_fp8, from_small<0>},
    {Op::v_cvt_f32_bf8, from_small<1>},
    {Op::v_cvt_pk_f32_fp8, from_small_pair<0>},
    {Op::v_cvt_pk_f32_bf8, from_small_pair<1>},
    {Op::v_cvt_pk_fp8_f32, to_small_pair<0>},
    {Op::v_cvt_pk_bf8_f32, to_small_pair<1>},
    {Op::v_cvt_sr_fp8_f32, to_small_at_random<0>},
    {Op::v_cvt_sr_bf8_f32, to_small_at_random<1>},
    {Op::v_cvt_f16_f32, convert<kF32, kF16>},
    {Op::v_cvt_f32_f16, convert<kF16, kF32>},
    {Op::v_cvt_f32_f64, convert<kF64, kF32>},
    {Op::v_cvt_f64_f32, convert<kF32, kF64>},
    {Op::v_cvt_f32_i32, from_integer<32, true, kF32>},
    {Op::v_cvt_f32_u32, from_integer<32, false, kF32>},
    {Op::v_cvt_f64_i32, from_integer<32, true, kF64>},
    {Op::v_cvt_f64_u32, from_integer<32, false, kF64>},
    {Op::v_cvt_f16_i16, from_integer<16, true, kF16>},
    {Op::v_cvt_f16_u16, from_integer<16, false, kF16>},
    {Op::v_cvt_f32_ubyte0, from_byte<0>},
    {Op::v_cvt_f32_ubyte1, from_byte<1>},
    {Op::v_cvt_f32_ubyte2, from_byte<2>},
    {Op::v_cvt_f32_ubyte3, from_byte<3>},
    {Op::v_cvt_off_f32_i4, offset_from_nibble},
    {Op::v_cvt_i32_f32, truncated<kF32, 32, true>},
    {Op::v_cvt_u32_f32, truncated<kF32, 32, false>},
    {Op::v_cvt_i32_f64, truncated<kF64, 32, true>},
    {Op::v_cvt_u32_f64, truncated<kF64, 32, false>},
    {Op::v_cvt_i16_f16, truncated<kF16, 16, true>},
    {Op::v_cvt_u16_f16, truncated<kF16, 16, false>},
    {Op::v_cvt_flr_i32_f32, floor_to_integer},
    {Op::v_cvt_rpi_i32_f32, nearest_up_to_integer},
    {Op::v_cvt_norm_i16_f16, normalised_one<kF16, true>},
    {Op::v_cvt_norm_u16_f16, normalised_one<kF16, false>},
    {Op::v_cvt_pknorm_i16_f16, normalised_pair<kF16, true>},
    {Op::v_cvt_pknorm_u16_f16, normalised_pair<kF16, false>},
    {Op::v_cvt_pknorm_i16_f32, normalised_pair<kF32, true>},
    {Op::v_cvt_pknorm_u16_f32, normalised_pair<kF32, false>},
    {Op::v_cvt_pkrtz_f16_f32, pack_truncated_halves},
    {Op::v_cvt_pk_u16_u32, pack_limited<false>},
    {Op::v_cvt_pk_i16_i32, pack_limited<true>},
    {Op::v_cvt_pk_u8_f32, insert_byte},
    {Op::v_cvt_pkaccum_u8_f32, insert_byte},
    {Op::v_pack_b32_f16, pack_halves},
    {Op::v_sat_pk_u8_i16, saturate_bytes},
};

}  // namespace

std::span<const Entry> conversion_entries() { return kEntries; }

}  // namespace lyra::golden
