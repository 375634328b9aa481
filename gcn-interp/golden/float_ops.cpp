// SPDX-License-Identifier: MIT
// Reference model: floating-point arithmetic, minimum and maximum, parts of numbers, cube maps.
// @source AMD Vega ISA document, "Vector ALU instructions"; docs/spec/isa.md 3
#include "gcn-interp/golden/lane.h"

namespace lyra::golden {
namespace {

/// As hardware subtracts: the sign of a NaN stays.
Real minus(const Real& x) { return x.nan() ? x : negated(x); }

template <FloatFormat F>
uint64_t quieted(uint64_t bits) {
    return bits | F.quiet_bit();
}

template <FloatFormat F, unsigned kA, unsigned kB>
uint64_t subtract(Lane& l) {
    return l.round<F>(sum(l.real<F>(kA), minus(l.real<F>(kB)), l.mode.direction(F), l.flags));
}
template <FloatFormat F>
uint64_t add(Lane& l) {
    return l.round<F>(sum(l.real<F>(0), l.real<F>(1), l.mode.direction(F), l.flags));
}
template <FloatFormat F>
uint64_t multiply(Lane& l) {
    return l.round<F>(product(l.real<F>(0), l.real<F>(1), l.flags));
}
/// Zero times anything is zero.
uint64_t multiply_legacy(Lane& l) {
    if (is_zero(kF32, l.source[0]) || is_zero(kF32, l.source[1])) return 0;
    return multiply<kF32>(l);
}
template <FloatFormat F>
uint64_t fused_multiply_add(Lane& l) {
    return l.round<F>(fused(l.real<F>(0), l.real<F>(1), l.real<F>(2), l.mode.direction(F), l.flags));
}
/// Two roundings; denormals are flushed wherever they come up, whatever MODE says.
template <FloatFormat F, bool kLegacy = false>
uint64_t multiply_add(Lane& l) {
    Target to = l.target<F>();
    to.denormals = false;
    const uint64_t a = flushed(F, l.source[0]), b = flushed(F, l.source[1]), c = flushed(F, l.source[2]);
    uint64_t product_bits = 0;
    if (!kLegacy || (!is_zero(F, a) && !is_zero(F, b)))
        product_bits = round_to(to, product(real_of(F, a), real_of(F, b), l.flags), l.flags);
    return round_to(to, sum(real_of(F, product_bits), real_of(F, c), to.direction, l.flags), l.flags);
}

// Minimum and maximum

template <FloatFormat F>
uint64_t extreme(Lane& l, uint64_t a, uint64_t b, bool want_larger) {
    if (is_signaling(F, a) || is_signaling(F, b)) l.flags |= excp::kInvalid;
    if (l.mode.ieee() && is_signaling(F, a)) return quieted<F>(a);
    if (l.mode.ieee() && is_signaling(F, b)) return quieted<F>(b);
    if (is_nan(F, a)) return b;
    if (is_nan(F, b)) return a;
    const int order = compare(real_of(F, a), real_of(F, b));
    if (order == 0) return is_negative(F, a) == want_larger ? b : a;  // equal: only zeros can differ
    return (order > 0) == want_larger ? a : b;
}
/// f16 results are always quiet. Others of which all operands are NaNs stay as they are without IEEE.
template <FloatFormat F>
uint64_t chosen(uint64_t bits) {
    return F == kF16 && is_nan(F, bits) ? quieted<F>(bits) : bits;
}
template <FloatFormat F, bool kLarger>
uint64_t extreme2(Lane& l) {
    return chosen<F>(extreme<F>(l, l.source[0], l.source[1], kLarger));
}
template <FloatFormat F, bool kLarger>
uint64_t extreme3(Lane& l) {
    return chosen<F>(extreme<F>(l, extreme<F>(l, l.source[0], l.source[1], kLarger), l.source[2], kLarger));
}
template <FloatFormat F>
uint64_t median(Lane& l) {
    for (const uint64_t s : l.source)
        if (is_nan(F, s)) return extreme3<F, false>(l);
    const Real top = real_of(F, extreme3<F, true>(l));
    if (compare(top, l.real<F>(0)) == 0) return extreme<F>(l, l.source[1], l.source[2], true);
    if (compare(top, l.real<F>(1)) == 0) return extreme<F>(l, l.source[0], l.source[2], true);
    return extreme<F>(l, l.source[0], l.source[1], true);
}

// Whole numbers, fractions, exponents

template <FloatFormat F, Rounding kDirection>
uint64_t to_whole(Lane& l) {
    return l.round<F>(whole(l.real<F>(0), kDirection, l.flags));
}
/// x - floor(x), below 1.
template <FloatFormat F>
uint64_t fraction(Lane& l) {
    const Real x = l.real<F>(0);
    const uint64_t r = l.round<F>(sum(x, minus(whole(x, Rounding::Down, l.flags)), l.mode.direction(F), l.flags));
    const uint64_t below_one = (uint64_t(F.bias()) << F.fraction) - 1;
    return !is_nan(F, r) && r > below_one && !is_negative(F, r) ? below_one : r;
}
template <FloatFormat F>
bool has_exponent(Lane& l) {
    const Real x = l.real<F>(0);
    return !x.nan() && !x.infinite() && !x.zero();
}
/// Mantissa in [0.5, 1).
template <FloatFormat F>
uint64_t frexp_mantissa(Lane& l) {
    Real x = l.real<F>(0);
    if (has_exponent<F>(l)) x.exponent = -1 - x.digits.highest();
    if (x.signaling) l.flags |= excp::kInvalid;
    return l.round<F>(x);
}
template <FloatFormat F>
uint64_t frexp_exponent(Lane& l) {
    const Real x = l.real<F>(0);
    const int e = has_exponent<F>(l) ? x.exponent + x.digits.highest() + 1 : 0;
    return static_cast<uint64_t>(e) & (F == kF16 ? 0xffffu : 0xffffffffu);
}
template <FloatFormat F, bool kShortExponent>
uint64_t scale_by_power(Lane& l) {
    const int power = kShortExponent ? l.i16(1) : l.i32(1);
    const int bounded = power > 10000 ? 10000 : power < -10000 ? -10000 : power;
    const Real x = l.real<F>(0);
    if (x.signaling) l.flags |= excp::kInvalid;
    return l.round<F>(times_power(x, bounded));
}

// Cube maps: which coordinate is largest in magnitude; ties go to z, then y

unsigned major_axis(const Lane& l) {
    const auto covers = [&](unsigned a, unsigned b) {
        Real x = l.real<kF32>(a), y = l.real<kF32>(b);
        x.negative = y.negative = false;
        const int order = compare(x, y);
        return order == 0 || order == 1;
    };
    if (covers(2, 0) && covers(2, 1)) return 2;
    return covers(1, 0) ? 1 : 0;
}
bool below_zero(const Lane& l, unsigned n) { return compare(l.real<kF32>(n), Real{}) == -1; }
uint64_t with_sign_flipped(uint64_t bits) { return bits ^ kF32.sign_bit(); }

uint64_t cube_face(Lane& l) {
    const unsigned axis = major_axis(l);
    return l.round<kF32>(real_of_integer(2 * static_cast<int>(axis) + (below_zero(l, axis) ? 1 : 0)));
}
uint64_t cube_s(Lane& l) {
    switch (major_axis(l)) {
        case 2: return below_zero(l, 2) ? with_sign_flipped(l.source[0]) : l.source[0];
        case 1: return l.source[0];
        default: return below_zero(l, 0) ? l.source[2] : with_sign_flipped(l.source[2]);
    }
}
uint64_t cube_t(Lane& l) {
    if (major_axis(l) != 1) return with_sign_flipped(l.source[1]);
    return below_zero(l, 1) ? with_sign_flipped(l.source[2]) : l.source[2];
}
uint64_t cube_major(Lane& l) {
    const Real x = l.real<kF32>(major_axis(l));
    if (x.signaling) l.flags |= excp::kInvalid;
    return l.round<kF32>(times_power(x, 1));
}

using gcn::Op;
constexpr Entry kEntries[] = {
    {Op::v_add_f16, add<kF16>},
    {Op::v_add_f32, add<kF32>},
    {Op::v_add_f64, add<kF64>},
    {Op::v_sub_f16, subtract<kF16, 0, 1>},
    {Op::v_sub_f32, subtract<kF32, 0, 1>},
    {Op::v_subrev_f16, subtract<kF16, 1, 0>},
    {Op::v_subrev_f32, subtract<kF32, 1, 0>},
    {Op::v_mul_f16, multiply<kF16>},
    {Op::v_mul_f32, multiply<kF32>},
    {Op::v_mul_f64, multiply<kF64>},
    {Op::v_mul_legacy_f32, multiply_legacy},
    {Op::v_fma_f16, fused_multiply_add<kF16>},
    {Op::v_fma_legacy_f16, fused_multiply_add<kF16>},
    {Op::v_fma_f32, fused_multiply_add<kF32>},
    {Op::v_fmac_f32, fused_multiply_add<kF32>},
    {Op::v_fma_f64, fused_multiply_add<kF64>},
    {Op::v_mad_f16, multiply_add<kF16>},
    {Op::v_mad_legacy_f16, multiply_add<kF16>},
    {Op::v_mac_f16, multiply_add<kF16>},
    {Op::v_madmk_f16, multiply_add<kF16>},
    {Op::v_madak_f16, multiply_add<kF16>},
    {Op::v_mad_f32, multiply_add<kF32>},
    {Op::v_mac_f32, multiply_add<kF32>},
    {Op::v_madmk_f32, multiply_add<kF32>},
    {Op::v_madak_f32, multiply_add<kF32>},
    {Op::v_mad_legacy_f32, multiply_add<kF32, true>},
    {Op::v_min_f16, extreme2<kF16, false>},
    {Op::v_max_f16, extreme2<kF16, true>},
    {Op::v_min_f32, extreme2<kF32, false>},
    {Op::v_max_f32, extreme2<kF32, true>},
    {Op::v_min_f64, extreme2<kF64, false>},
    {Op::v_max_f64, extreme2<kF64, true>},
    {Op::v_min3_f16, extreme3<kF16, false>},
    {Op::v_max3_f16, extreme3<kF16, true>},
    {Op::v_min3_f32, extreme3<kF32, false>},
    {Op::v_max3_f32, extreme3<kF32, true>},
    {Op::v_med3_f16, median<kF16>},
    {Op::v_med3_f32, median<kF32>},
    {Op::v_trunc_f16, to_whole<kF16, Rounding::Zero>},
    {Op::v_trunc_f32, to_whole<kF32, Rounding::Zero>},
    {Op::v_trunc_f64, to_whole<kF64, Rounding::Zero>},
    {Op::v_ceil_f16, to_whole<kF16, Rounding::Up>},
    {Op::v_ceil_f32, to_whole<kF32, Rounding::Up>},
    {Op::v_ceil_f64, to_whole<kF64, Rounding::Up>},
    {Op::v_floor_f16, to_whole<kF16, Rounding::Down>},
    {Op::v_floor_f32, to_whole<kF32, Rounding::Down>},
    {Op::v_floor_f64, to_whole<kF64, Rounding::Down>},
    {Op::v_rndne_f16, to_whole<kF16, Rounding::NearestEven>},
    {Op::v_rndne_f32, to_whole<kF32, Rounding::NearestEven>},
    {Op::v_rndne_f64, to_whole<kF64, Rounding::NearestEven>},
    {Op::v_fract_f16, fraction<kF16>},
    {Op::v_fract_f32, fraction<kF32>},
    {Op::v_fract_f64, fraction<kF64>},
    {Op::v_frexp_mant_f16, frexp_mantissa<kF16>},
    {Op::v_frexp_mant_f32, frexp_mantissa<kF32>},
    {Op::v_frexp_mant_f64, frexp_mantissa<kF64>},
    {Op::v_frexp_exp_i16_f16, frexp_exponent<kF16>},
    {Op::v_frexp_exp_i32_f32, frexp_exponent<kF32>},
    {Op::v_frexp_exp_i32_f64, frexp_exponent<kF64>},
    {Op::v_ldexp_f16, scale_by_power<kF16, true>},
    {Op::v_ldexp_f32, scale_by_power<kF32, false>},
    {Op::v_ldexp_f64, scale_by_power<kF64, false>},
    {Op::v_cubeid_f32, cube_face},
    {Op::v_cubesc_f32, cube_s},
    {Op::v_cubetc_f32, cube_t},
    {Op::v_cubema_f32, cube_major},
};

}  // namespace

std::span<const Entry> float_entries() { return kEntries; }

}  // namespace lyra::golden
