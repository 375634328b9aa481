// SPDX-License-Identifier: MIT
// Reference model: the helper instructions of division, reciprocal, square root.
// The printed pseudo-code with its errata applied. @source AMD Vega ISA document; docs/spec/isa.md 2
#include "gcn-interp/golden/lane.h"

namespace lyra::golden {
namespace {

/// Numbers of the pseudo-code: exponents that are far apart, too small to divide; powers to scale by; where quotients vanish.
struct Limits {
    int far, tiny, power, vanishing;
};
template <FloatFormat F>
constexpr Limits limits() {
    return F == kF64 ? Limits{768, 53, 128, -1075} : Limits{96, 23, 64, -150};
}

template <FloatFormat F>
uint64_t divided(Lane& l, const Real& a, const Real& b) {
    uint32_t ignored = 0;
    return round_to({F, l.mode.direction(F)}, quotient(a, b, ignored), ignored);
}
/// "== DENORM" of the pseudo-code: below the smallest normal number.
template <FloatFormat F>
bool below_normal(uint64_t bits) {
    return exponent_field(F, bits) == 0;
}

template <FloatFormat F>
uint64_t div_scale(Lane& l) {
    constexpr Limits k = limits<F>();
    const uint64_t s0 = l.source[0], s1 = l.source[1], s2 = l.source[2];
    const Real x0 = l.real<F>(0), denominator = l.real<F>(1), numerator = l.real<F>(2);
    const auto scaled = [&](int power) { return round_to({F, l.mode.direction(F)}, times_power(x0, power), l.flags); };
    const bool is_denominator = compare(x0, denominator) == 0, is_numerator = compare(x0, numerator) == 0;
    const int e1 = static_cast<int>(exponent_field(F, s1)), e2 = static_cast<int>(exponent_field(F, s2));

    if (is_zero(F, s1) || is_zero(F, s2)) return F.invalid_nan();
    if (e2 - e1 >= k.far) {
        l.carry = true;
        return is_denominator ? scaled(k.power) : s0;
    }
    if (is_denormal(F, s1)) return scaled(k.power);
    const bool reciprocal_tiny = below_normal<F>(divided<F>(l, real_of_integer(1), denominator));
    const bool quotient_tiny = below_normal<F>(divided<F>(l, numerator, denominator));
    if (quotient_tiny) l.carry = true;
    if (reciprocal_tiny && quotient_tiny) return is_denominator ? scaled(-k.power) : s0;
    if (reciprocal_tiny) return scaled(-k.power);
    if (quotient_tiny) return is_numerator ? scaled(k.power) : s0;
    return e2 <= k.tiny ? scaled(k.power) : s0;
}

template <FloatFormat F>
uint64_t div_fmas(Lane& l) {
    Real r = fused(l.real<F>(0), l.real<F>(1), l.real<F>(2), l.mode.direction(F), l.flags);
    if (l.mask) {
        const bool large = !is_nan(F, l.source[2]) && exponent_field(F, l.source[2]) > static_cast<unsigned>(F.bias());
        r = times_power(r, large ? limits<F>().power : -limits<F>().power);
    }
    return l.round<F>(r);
}

template <FloatFormat F>
uint64_t div_fixup(Lane& l) {
    const uint64_t s0 = l.source[0], s1 = l.source[1], s2 = l.source[2];
    const uint64_t sign = (s1 ^ s2) & F.sign_bit();
    if (is_signaling(F, s1) || is_signaling(F, s2)) l.flags |= excp::kInvalid;
    if (is_nan(F, s2)) return s2 | F.quiet_bit();
    if (is_nan(F, s1)) return s1 | F.quiet_bit();
    if ((is_zero(F, s1) && is_zero(F, s2)) || (is_infinite(F, s1) && is_infinite(F, s2))) {
        l.flags |= excp::kInvalid;
        return F.invalid_nan();
    }
    if (is_zero(F, s1) && !is_infinite(F, s2)) l.flags |= excp::kDivideByZero;
    if (is_zero(F, s1) || is_infinite(F, s2)) return sign | F.infinity();
    if (is_infinite(F, s1) || is_zero(F, s2)) return sign;
    if (!(F == kF16)) {
        const int e1 = static_cast<int>(exponent_field(F, s1)), e2 = static_cast<int>(exponent_field(F, s2));
        if (e2 - e1 < limits<F>().vanishing) {
            l.flags |= excp::kUnderflow | excp::kInexact;
            return sign;
        }
    }
    if (is_nan(F, s0)) return sign | F.infinity();
    return sign | magnitude(F, s0);
}

// Reciprocal and roots: the f32 forms flush denormals on both sides, the others follow MODE.

template <FloatFormat F>
Real own_source(Lane& l) {
    return real_of(F, F == kF32 ? flushed(F, l.source[0]) : l.source[0]);
}
template <FloatFormat F>
uint64_t own_result(Lane& l, const Real& x) {
    Target to = l.target<F>();
    if (F == kF32) to.denormals = false;
    return round_to(to, x, l.flags);
}
template <FloatFormat F>
uint64_t reciprocal(Lane& l) {
    return own_result<F>(l, quotient(real_of_integer(1), own_source<F>(l), l.flags));
}
/// For integer division: the only exception is division by zero, as that of integers.
uint64_t reciprocal_iflag(Lane& l) {
    const uint64_t r = reciprocal<kF32>(l);
    l.flags = (l.flags & excp::kDivideByZero) != 0 ? uint32_t{excp::kIntDivideByZero} : 0u;
    return r;
}
template <FloatFormat F>
uint64_t root(Lane& l) {
    return own_result<F>(l, square_root(own_source<F>(l), l.flags));
}
/// Two roundings, as decided: docs/design/decisions.md.
uint64_t reciprocal_root_f64(Lane& l) {
    uint32_t root_flags = 0;
    const Target to{kF64, l.mode.direction(kF64)};
    const Real x = l.real<kF64>(0);
    const uint64_t root_bits = round_to(to, square_root(x, root_flags), root_flags);
    const uint64_t r = l.round<kF64>(quotient(real_of_integer(1), real_of(kF64, root_bits), l.flags));
    l.flags |= root_flags;
    return r;
}

using gcn::Op;
constexpr Entry kEntries[] = {
    {Op::v_div_scale_f32, div_scale<kF32>}, {Op::v_div_scale_f64, div_scale<kF64>},
    {Op::v_div_fmas_f32, div_fmas<kF32>},   {Op::v_div_fmas_f64, div_fmas<kF64>},
    {Op::v_div_fixup_f16, div_fixup<kF16>}, {Op::v_div_fixup_legacy_f16, div_fixup<kF16>},
    {Op::v_div_fixup_f32, div_fixup<kF32>}, {Op::v_div_fixup_f64, div_fixup<kF64>},
    {Op::v_rcp_f16, reciprocal<kF16>},      {Op::v_rcp_f32, reciprocal<kF32>},
    {Op::v_rcp_f64, reciprocal<kF64>},      {Op::v_rcp_iflag_f32, reciprocal_iflag},
    {Op::v_sqrt_f16, root<kF16>},           {Op::v_sqrt_f32, root<kF32>},
    {Op::v_sqrt_f64, root<kF64>},           {Op::v_rsq_f64, reciprocal_root_f64},
};

}  // namespace

std::span<const Entry> division_entries() { return kEntries; }

}  // namespace lyra::golden
