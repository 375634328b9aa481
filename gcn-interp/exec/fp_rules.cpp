// SPDX-License-Identifier: MIT
// Which exceptions each floating-point operation raises, one lane at a time; step 6 of the data flow.
// @source AMD Vega ISA document, "Vector ALU instructions"; IEEE 754-2008 chapter 7; docs/design/exceptions.md for the rest
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "gcn-interp/exec/fp_exceptions.h"
#include "gcn-interp/isa/op.h"
#include "gcn-interp/wave/fp.h"

namespace lyra::gcn {
namespace {

using exact::Number;

constexpr unsigned H = 16, F = 32, D = 64;  // f16, f32, f64

Round direction(const FpLane& l, unsigned bits) { return bits == F ? l.mode.round32 : l.mode.round16_64; }
bool keeps_denormals(const FpLane& l, unsigned bits) { return bits == F ? l.mode.denorm_out32 : l.mode.denorm_out16_64; }
template <unsigned kBits>
Number source(const FpLane& l, unsigned n) {
    return exact::decode(exact::layout(kBits), l.source[n]);
}
/// @param flush  the operation flushes a denormal result whatever MODE says
template <unsigned kBits>
Number round(FpLane& l, const Number& x, bool flush = false) {
    const exact::Rounding how{exact::layout(kBits), direction(l, kBits), keeps_denormals(l, kBits) && !flush,
                              kBits == H && l.mode.fp16_ovfl};
    return exact::rounded(how, x, l.raised);
}
template <unsigned kBits>
Number flushed_source(const FpLane& l, unsigned n) {
    const exact::Layout& layout = exact::layout(kBits);
    return exact::decode(layout, layout.flushed(l.source[n]));
}
void note_signaling(FpLane& l, const Number& x) {
    if (x.signaling) l.raised |= excp::kInvalid;
}

// Arithmetic

template <unsigned kBits>
void add(FpLane& l) {
    round<kBits>(l, exact::sum(source<kBits>(l, 0), source<kBits>(l, 1), l.raised));
}
template <unsigned kBits, unsigned kFrom, unsigned kTaken>
void sub(FpLane& l) {
    round<kBits>(l, exact::sum(source<kBits>(l, kFrom), exact::minus(source<kBits>(l, kTaken)), l.raised));
}
template <unsigned kBits>
void mul(FpLane& l) {
    round<kBits>(l, exact::product(source<kBits>(l, 0), source<kBits>(l, 1), l.raised));
}
/// Zero times anything is zero.
void mul_legacy(FpLane& l) {
    if (!source<F>(l, 0).zero() && !source<F>(l, 1).zero()) mul<F>(l);
}
template <unsigned kBits>
Number fma_result(FpLane& l) {
    return round<kBits>(l, exact::fused(source<kBits>(l, 0), source<kBits>(l, 1), source<kBits>(l, 2), l.raised));
}
template <unsigned kBits>
void fma(FpLane& l) {
    fma_result<kBits>(l);
}
/// Rounded twice; flushes everywhere. The legacy form: zero times anything is zero.
template <unsigned kBits, bool kLegacy = false>
Number mad_result(FpLane& l) {
    const Number a = flushed_source<kBits>(l, 0), b = flushed_source<kBits>(l, 1);
    Number p;
    if (!kLegacy || !(a.zero() || b.zero())) p = round<kBits>(l, exact::product(a, b, l.raised), true);
    return round<kBits>(l, exact::sum(p, flushed_source<kBits>(l, 2), l.raised), true);
}
template <unsigned kBits, bool kLegacy = false>
void mad(FpLane& l) {
    mad_result<kBits, kLegacy>(l);
}
/// Two products of f16, added one after the other.
void dot2(FpLane& l) {
    Number total = flushed_source<F>(l, 2);
    for (unsigned shift = 0; shift < 32; shift += 16) {
        const Number a = exact::decode(exact::kHalf, (l.source[0] >> shift) & 0xffff);
        const Number b = exact::decode(exact::kHalf, (l.source[1] >> shift) & 0xffff);
        total = round<F>(l, exact::sum(total, exact::product(a, b, l.raised), l.raised), true);
    }
}

// What only signaling NaNs disturb: minimum, maximum, median, whole numbers, mantissas, compares

template <unsigned kBits, unsigned kCount>
void signaling(FpLane& l) {
    for (unsigned n = 0; n < kCount; ++n) note_signaling(l, source<kBits>(l, n));
}
template <unsigned kBits>
void compare(FpLane& l) {
    signaling<kBits, 2>(l);
    if (l.signals && (source<kBits>(l, 0).nan() || source<kBits>(l, 1).nan())) l.raised |= excp::kInvalid;
}
template <unsigned kBits>
void fract(FpLane& l) {
    const Number x = source<kBits>(l, 0);
    round<kBits>(l, exact::sum(x, exact::minus(exact::whole(x, Round::Down, l.raised)), l.raised));
}
template <unsigned kBits>
void ldexp(FpLane& l) {
    const Number x = source<kBits>(l, 0);
    note_signaling(l, x);
    const int32_t power = kBits == H ? static_cast<int16_t>(l.source[1]) : static_cast<int32_t>(l.source[1]);
    round<kBits>(l, exact::times_power(x, power > 10000 ? 10000 : power < -10000 ? -10000 : power));
}
/// Twice the coordinate that is largest in magnitude; z before y before x.
void cubema(FpLane& l) {
    Number size[3];
    for (unsigned n = 0; n < 3; ++n) size[n] = source<F>(l, n), size[n].negative = false;
    const auto covers = [&](unsigned a, unsigned b) {
        const int order = exact::compare(size[a], size[b]);
        return order == 0 || order == 1;
    };
    const unsigned axis = covers(2, 0) && covers(2, 1) ? 2 : covers(1, 0) ? 1 : 0;
    note_signaling(l, size[axis]);
    round<F>(l, exact::times_power(size[axis], 1), false);
}

// Conversions

template <unsigned kFrom, unsigned kTo>
void convert(FpLane& l) {
    const Number x = source<kFrom>(l, 0);
    note_signaling(l, x);
    round<kTo>(l, x);
}
template <class From, unsigned kTo>
void from_integer(FpLane& l) {
    round<kTo>(l, exact::integer(static_cast<From>(l.source[0])));
}
template <unsigned kFrom, class To>
void to_integer(FpLane& l) {
    exact::truncate(source<kFrom>(l, 0), std::numeric_limits<To>::min(), std::numeric_limits<To>::max(), l.raised);
}
void to_i32_floor(FpLane& l) {
    const Number x = exact::whole(source<F>(l, 0), Round::Down, l.raised);
    exact::truncate(x, INT32_MIN, INT32_MAX, l.raised);
}
void to_i32_nearest_up(FpLane& l) {
    const Number x = exact::sum(source<F>(l, 0), exact::times_power(exact::one(), -1), l.raised);
    exact::truncate(exact::whole(x, Round::Down, l.raised), INT32_MIN, INT32_MAX, l.raised);
}
/// v_cvt_pkrtz: signaling NaNs become quiet without a word.
void to_halves_truncated(FpLane& l) {
    const exact::Rounding how{exact::kHalf, Round::Zero, l.mode.denorm_out16_64, l.mode.fp16_ovfl};
    for (unsigned n = 0; n < 2; ++n) exact::rounded(how, source<F>(l, n), l.raised);
}

// Division

struct DivLimits {
    int far, tiny, power, vanishing;
};
template <unsigned kBits>
constexpr DivLimits kLimits = kBits == D ? DivLimits{768, 53, 128, -1075} : DivLimits{96, 23, 64, -150};

/// Below the smallest normal number when it is rounded.
template <unsigned kBits>
bool quotient_is_tiny(const FpLane& l, const Number& a, const Number& b) {
    uint32_t none = 0;
    const Number q = exact::rounded({exact::layout(kBits), direction(l, kBits), true}, exact::quotient(a, b, none), none);
    return q.finite() && (q.zero() || q.exponent < exact::layout(kBits).least);
}
/// Raises what scaling the operand does; the rules are those of the lane function, wave/fp_division.h.
template <unsigned kBits>
void div_scale(FpLane& l) {
    constexpr DivLimits k = kLimits<kBits>;
    const exact::Layout& layout = exact::layout(kBits);
    const Number s0 = source<kBits>(l, 0), s1 = source<kBits>(l, 1), s2 = source<kBits>(l, 2);
    if (s1.zero() || s2.zero()) return;
    const auto scale = [&](int power) {
        exact::rounded({layout, direction(l, kBits), true}, exact::times_power(s0, power), l.raised);
    };
    const bool is_denominator = exact::compare(s0, s1) == 0, is_numerator = exact::compare(s0, s2) == 0;
    const int e1 = static_cast<int>(layout.field(l.source[1])), e2 = static_cast<int>(layout.field(l.source[2]));
    if (e2 - e1 >= k.far) {
        if (is_denominator) scale(k.power);
    } else if (e1 == 0) {
        scale(k.power);
    } else {
        const bool reciprocal = quotient_is_tiny<kBits>(l, exact::one(), s1), quotient = quotient_is_tiny<kBits>(l, s2, s1);
        if (reciprocal && quotient) {
            if (is_denominator) scale(-k.power);
        } else if (reciprocal) {
            scale(-k.power);
        } else if (quotient ? is_numerator : e2 <= k.tiny) {
            scale(k.power);
        }
    }
}
template <unsigned kBits>
void div_fmas(FpLane& l) {
    Number r = exact::fused(source<kBits>(l, 0), source<kBits>(l, 1), source<kBits>(l, 2), l.raised);
    const Number addend = source<kBits>(l, 2);
    const bool large = addend.infinite() || (addend.finite() && !addend.zero() && addend.exponent >= 1);
    if (l.scales) r = exact::times_power(r, large ? kLimits<kBits>.power : -kLimits<kBits>.power);
    round<kBits>(l, r);
}
template <unsigned kBits>
void div_fixup(FpLane& l) {
    const exact::Layout& layout = exact::layout(kBits);
    const Number s1 = source<kBits>(l, 1), s2 = source<kBits>(l, 2);
    note_signaling(l, s1);
    note_signaling(l, s2);
    if (s1.nan() || s2.nan()) return;
    if ((s1.zero() && s2.zero()) || (s1.infinite() && s2.infinite())) {
        l.raised |= excp::kInvalid;
    } else if (s1.zero()) {
        if (!s2.infinite()) l.raised |= excp::kDivideByZero;
    } else if (kBits != H && s1.finite() && s2.finite() && !s2.zero()) {
        const int apart = static_cast<int>(layout.field(l.source[2])) - static_cast<int>(layout.field(l.source[1]));
        if (apart < kLimits<kBits>.vanishing) l.raised |= excp::kUnderflow | excp::kInexact;
    }
}

// Reciprocals and roots; the f32 forms flush denormals on both sides

template <unsigned kBits>
Number own_source(const FpLane& l) {
    return kBits == F ? flushed_source<kBits>(l, 0) : source<kBits>(l, 0);
}
template <unsigned kBits>
void rcp(FpLane& l) {
    round<kBits>(l, exact::quotient(exact::one(), own_source<kBits>(l), l.raised), kBits == F);
}
/// For the division of integers, whose exception is the only one it raises.
void rcp_iflag(FpLane& l) {
    if (own_source<F>(l).zero()) l.raised |= excp::kIntDivideByZero;
}
template <unsigned kBits>
void sqrt(FpLane& l) {
    round<kBits>(l, exact::square_root(own_source<kBits>(l), l.raised), kBits == F);
}
/// Rounded twice, as it is computed.
void rsq_f64(FpLane& l) {
    const exact::Rounding how{exact::kDouble, direction(l, D), true};
    const Number root = exact::rounded(how, exact::square_root(source<D>(l, 0), l.raised), l.raised);
    round<D>(l, exact::quotient(exact::one(), root, l.raised));
}

// Transcendental functions. Their results are irrational but for the arguments that each rule names; how large such a result is
// decides the rest.

/// A result of this magnitude that is not exact.
Number inexact(double magnitude) {
    uint32_t none = 0;
    Number x = exact::decode(exact::kDouble, fp::as<uint64_t>(magnitude));
    return exact::sum(x, exact::scaled_integer(1, x.exponent - 100), none);
}
bool is_whole(const Number& x) {
    uint32_t none = 0;
    return exact::compare(exact::whole(x, Round::Zero, none), x) == 0;
}
/// To 53 digits at most, so exact.
double value_of(unsigned bits, uint64_t v) {
    return bits == H ? fp::half_to_float(static_cast<uint32_t>(v)) : fp::as<float>(static_cast<uint32_t>(v));
}
/// NaNs pass. @return true when there is nothing else to see
template <unsigned kBits>
bool passes(FpLane& l, const Number& x) {
    note_signaling(l, x);
    return x.nan();
}

/// Of whole numbers exact.
template <unsigned kBits>
void exp2(FpLane& l) {
    const Number x = own_source<kBits>(l);
    if (passes<kBits>(l, x) || x.infinite()) return;
    const double argument = x.zero() ? 0.0 : std::floor(value_of(kBits, l.source[0]));
    const int power = argument > 5000 ? 5000 : argument < -5000 ? -5000 : static_cast<int>(argument);
    const Number size = x.zero() || is_whole(x) ? exact::one() : inexact(1.25);
    round<kBits>(l, exact::times_power(size, power), kBits == F);
}
/// Of powers of two exact.
template <unsigned kBits>
void log2(FpLane& l) {
    const Number x = own_source<kBits>(l);
    if (passes<kBits>(l, x)) return;
    if (x.zero()) {
        l.raised |= excp::kDivideByZero;
    } else if (x.negative) {
        l.raised |= excp::kInvalid;
    } else if (x.finite() && x.significand != exact::one().significand) {
        l.raised |= excp::kInexact;
    }
}
/// Of powers of four exact.
template <unsigned kBits>
void rsq(FpLane& l) {
    const Number x = own_source<kBits>(l);
    if (passes<kBits>(l, x)) return;
    if (x.zero()) {
        l.raised |= excp::kDivideByZero;
    } else if (x.negative) {
        l.raised |= excp::kInvalid;
    } else if (x.finite() && (x.significand != exact::one().significand || (x.exponent & 1) != 0)) {
        l.raised |= excp::kInexact;
    }
}
/// Turns: of quarters exact; past 256 constant. Only the sine of a tiny number is tiny, and it is nearly 2 pi times as large.
template <unsigned kBits, bool kCosine>
void turns(FpLane& l) {
    const Number x = source<kBits>(l, 0);
    if (passes<kBits>(l, x)) return;
    if (x.infinite()) {
        l.raised |= excp::kInvalid;
        return;
    }
    Number size = x;
    size.negative = false;
    if (exact::compare(size, exact::integer(256)) == 1 || x.zero() || is_whole(exact::times_power(x, 2))) return;
    const double turn = value_of(kBits, l.source[0]);
    const bool small = !kCosine && std::fabs(turn) < 0x1p-12;
    round<kBits>(l, inexact(small ? std::fabs(turn) * 6.283185307179586 : 0.75));
}
/// 53 digits of 2/pi, scaled: see fp::trig_preop(). Exact unless the result is tiny.
void trig_preop(FpLane& l) {
    int power = 0;
    const uint64_t digits = fp::two_over_pi_digits(fp::as<double>(l.source[0]), static_cast<uint32_t>(l.source[1]), power);
    round<D>(l, exact::scaled_integer(digits, power));
}

struct Entry {
    Op op;
    FpRule rule;
};
// clang-format off
constexpr Entry kEntries[] = {
    {Op::v_add_f16, add<H>}, {Op::v_add_f32, add<F>}, {Op::v_add_f64, add<D>}, {Op::v_pk_add_f16, add<H>},
    {Op::v_sub_f16, sub<H, 0, 1>}, {Op::v_sub_f32, sub<F, 0, 1>},
    {Op::v_subrev_f16, sub<H, 1, 0>}, {Op::v_subrev_f32, sub<F, 1, 0>},
    {Op::v_mul_f16, mul<H>}, {Op::v_mul_f32, mul<F>}, {Op::v_mul_f64, mul<D>}, {Op::v_pk_mul_f16, mul<H>},
    {Op::v_mul_legacy_f32, mul_legacy}, {Op::v_mul_legacy_f32_vop3, mul_legacy},
    {Op::v_fma_f16, fma<H>}, {Op::v_fma_legacy_f16, fma<H>}, {Op::v_fma_f32, fma<F>}, {Op::v_fmac_f32, fma<F>},
    {Op::v_fmamk_f32, fma<F>}, {Op::v_fmaak_f32, fma<F>},
    {Op::v_fma_f64, fma<D>}, {Op::v_fmac_f64, fma<D>}, {Op::v_pk_fma_f16, fma<H>}, {Op::v_pk_fmac_f16, fma<H>},
    {Op::v_pk_add_f32, add<F>}, {Op::v_pk_mul_f32, mul<F>}, {Op::v_pk_fma_f32, fma<F>},
    {Op::v_mad_f16, mad<H>}, {Op::v_mad_legacy_f16, mad<H>}, {Op::v_mac_f16, mad<H>}, {Op::v_madmk_f16, mad<H>},
    {Op::v_madak_f16, mad<H>}, {Op::v_mad_f32, mad<F>}, {Op::v_mac_f32, mad<F>}, {Op::v_madmk_f32, mad<F>},
    {Op::v_madak_f32, mad<F>}, {Op::v_mad_legacy_f32, mad<F, true>}, {Op::v_dot2_f32_f16, dot2},
    {Op::v_dot2c_f32_f16, dot2},
    {Op::v_min_f16, signaling<H, 2>}, {Op::v_max_f16, signaling<H, 2>}, {Op::v_min_f32, signaling<F, 2>},
    {Op::v_max_f32, signaling<F, 2>}, {Op::v_min_f64, signaling<D, 2>}, {Op::v_max_f64, signaling<D, 2>},
    {Op::v_pk_min_f16, signaling<H, 2>}, {Op::v_pk_max_f16, signaling<H, 2>},
    {Op::v_min3_f16, signaling<H, 3>}, {Op::v_max3_f16, signaling<H, 3>}, {Op::v_med3_f16, signaling<H, 3>},
    {Op::v_min3_f32, signaling<F, 3>}, {Op::v_max3_f32, signaling<F, 3>}, {Op::v_med3_f32, signaling<F, 3>},
    {Op::v_trunc_f16, signaling<H, 1>}, {Op::v_trunc_f32, signaling<F, 1>}, {Op::v_trunc_f64, signaling<D, 1>},
    {Op::v_ceil_f16, signaling<H, 1>}, {Op::v_ceil_f32, signaling<F, 1>}, {Op::v_ceil_f64, signaling<D, 1>},
    {Op::v_floor_f16, signaling<H, 1>}, {Op::v_floor_f32, signaling<F, 1>}, {Op::v_floor_f64, signaling<D, 1>},
    {Op::v_rndne_f16, signaling<H, 1>}, {Op::v_rndne_f32, signaling<F, 1>}, {Op::v_rndne_f64, signaling<D, 1>},
    {Op::v_frexp_mant_f16, signaling<H, 1>}, {Op::v_frexp_mant_f32, signaling<F, 1>}, {Op::v_frexp_mant_f64, signaling<D, 1>},
    {Op::v_fract_f16, fract<H>}, {Op::v_fract_f32, fract<F>}, {Op::v_fract_f64, fract<D>},
    {Op::v_ldexp_f16, ldexp<H>}, {Op::v_ldexp_f32, ldexp<F>}, {Op::v_ldexp_f64, ldexp<D>}, {Op::v_cubema_f32, cubema},
    {Op::v_cvt_f16_f32, convert<F, H>}, {Op::v_cvt_f32_f16, convert<H, F>}, {Op::v_cvt_f32_f64, convert<D, F>},
    {Op::v_cvt_f64_f32, convert<F, D>},
    {Op::v_cvt_f32_i32, from_integer<int32_t, F>}, {Op::v_cvt_f32_u32, from_integer<uint32_t, F>},
    {Op::v_cvt_f16_i16, from_integer<int16_t, H>}, {Op::v_cvt_f16_u16, from_integer<uint16_t, H>},
    {Op::v_cvt_i32_f32, to_integer<F, int32_t>}, {Op::v_cvt_u32_f32, to_integer<F, uint32_t>},
    {Op::v_cvt_i32_f64, to_integer<D, int32_t>}, {Op::v_cvt_u32_f64, to_integer<D, uint32_t>},
    {Op::v_cvt_i16_f16, to_integer<H, int16_t>}, {Op::v_cvt_u16_f16, to_integer<H, uint16_t>},
    {Op::v_cvt_pk_u8_f32, to_integer<F, uint8_t>}, {Op::v_cvt_pkaccum_u8_f32, to_integer<F, uint8_t>},
    {Op::v_cvt_flr_i32_f32, to_i32_floor}, {Op::v_cvt_rpi_i32_f32, to_i32_nearest_up},
    {Op::v_cvt_pkrtz_f16_f32, to_halves_truncated},
    {Op::v_div_scale_f32, div_scale<F>}, {Op::v_div_scale_f64, div_scale<D>},
    {Op::v_div_fmas_f32, div_fmas<F>}, {Op::v_div_fmas_f64, div_fmas<D>},
    {Op::v_div_fixup_f16, div_fixup<H>}, {Op::v_div_fixup_legacy_f16, div_fixup<H>},
    {Op::v_div_fixup_f32, div_fixup<F>}, {Op::v_div_fixup_f64, div_fixup<D>},
    {Op::v_rcp_f16, rcp<H>}, {Op::v_rcp_f32, rcp<F>}, {Op::v_rcp_f64, rcp<D>}, {Op::v_rcp_iflag_f32, rcp_iflag},
    {Op::v_sqrt_f16, sqrt<H>}, {Op::v_sqrt_f32, sqrt<F>}, {Op::v_sqrt_f64, sqrt<D>},
    {Op::v_rsq_f16, rsq<H>}, {Op::v_rsq_f32, rsq<F>}, {Op::v_rsq_f64, rsq_f64},
    {Op::v_exp_f16, exp2<H>}, {Op::v_exp_f32, exp2<F>}, {Op::v_exp_legacy_f32, exp2<F>},
    {Op::v_log_f16, log2<H>}, {Op::v_log_f32, log2<F>}, {Op::v_log_legacy_f32, log2<F>},
    {Op::v_sin_f16, turns<H, false>}, {Op::v_sin_f32, turns<F, false>},
    {Op::v_cos_f16, turns<H, true>}, {Op::v_cos_f32, turns<F, true>},
    {Op::v_trig_preop_f64, trig_preop},
};
// clang-format on

FpRule compare_rule(Op op) {
    const std::string_view name = info(op).name;
    const bool is_class = name.find("_class_") != name.npos;
    if (info(op).format != Format::VOPC || is_class) return nullptr;
    return name.ends_with("_f16")   ? compare<H>
           : name.ends_with("_f32") ? compare<F>
           : name.ends_with("_f64") ? compare<D>
                                    : nullptr;
}

}  // namespace

FpRule fp_rule(Op op) {
    static const auto table = [] {
        std::array<FpRule, kOpCount> t{};
        for (const Entry& entry : kEntries) t[op_index(entry.op)] = entry.rule;
        for (size_t n = 1; n < kOpCount; ++n)
            if (t[n] == nullptr) t[n] = compare_rule(static_cast<Op>(n));
        return t;
    }();
    return table[op_index(op)];
}

void fp_mix(FpLane& l, bool fused, bool to_half) {
    const Number r = fused ? fma_result<F>(l) : mad_result<F>(l);
    if (to_half) round<H>(l, r);
}

void fp_omod(FpLane& l, unsigned bits, uint64_t value, uint8_t omod) {
    constexpr int kPower[] = {0, 1, 2, -1};
    const exact::Layout& layout = exact::layout(bits);
    const exact::Rounding how{layout, direction(l, bits), true, bits == H && l.mode.fp16_ovfl};
    exact::rounded(how, exact::times_power(exact::decode(layout, layout.flushed(value)), kPower[omod & 3]), l.raised);
}

}  // namespace lyra::gcn
