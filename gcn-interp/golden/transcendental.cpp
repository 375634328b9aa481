// SPDX-License-Identifier: MIT
// Reference model: exponential, logarithm, sine, cosine, reciprocal square root by MPFR, and the bits of 2/pi. Hardware's last
// bit is not public: the lane functions may differ by one unit in the last place, which Lane::nudge lets a comparison try.
// @source AMD Vega ISA document, "VOP1 instructions", V_TRIG_PREOP_F64; docs/design/decisions.md
#include <mpfr.h>

#include <vector>

#include "gcn-interp/golden/lane.h"

namespace lyra::golden {
namespace {

constexpr mpfr_prec_t kPrecision = 320;
constexpr int kDigits = 128;  // of a result, before rounding

class Mpfr {
public:
    Mpfr() { mpfr_init2(v_, kPrecision); }
    ~Mpfr() { mpfr_clear(v_); }
    Mpfr(const Mpfr&) = delete;
    Mpfr& operator=(const Mpfr&) = delete;
    operator mpfr_ptr() { return v_; }

    /// A finite source of at most 64 digits.
    void set(const Real& x) {
        mpfr_set_ui_2exp(v_, x.digits.word[0], x.exponent, MPFR_RNDN);
        if (x.negative) mpfr_neg(v_, v_, MPFR_RNDN);
    }
    /// kDigits digits; all that is given is taken as inexact unless exact says otherwise.
    Real get(bool exact) {
        Real r;
        r.negative = mpfr_signbit(v_) != 0;
        if (mpfr_inf_p(v_)) return infinite(r.negative);
        if (mpfr_zero_p(v_)) return r;
        r.exponent = static_cast<int>(mpfr_get_exp(v_)) - kDigits;
        mpfr_abs(v_, v_, MPFR_RNDN);
        mpfr_mul_2si(v_, v_, -r.exponent, MPFR_RNDN);
        Mpfr high;
        mpfr_div_2ui(high, v_, 64, MPFR_RNDN);
        mpfr_trunc(high, high);
        r.digits.word[1] = mpfr_get_ui(high, MPFR_RNDZ);
        mpfr_mul_2ui(high, high, 64, MPFR_RNDN);
        mpfr_sub(v_, v_, high, MPFR_RNDN);
        r.digits.word[0] = mpfr_get_ui(v_, MPFR_RNDZ);
        r.rest = !exact;
        return r;
    }

private:
    mpfr_t v_;
};

/// One unit in the last place up or down, of finite results.
template <FloatFormat F>
uint64_t nudged(const Lane& l, uint64_t bits) {
    if (l.nudge == 0 || is_nan(F, bits) || is_infinite(F, bits)) return bits;
    if (is_zero(F, bits)) return l.nudge > 0 ? bits : bits ^ F.sign_bit();  // the sign of an exact zero is open
    return bits + static_cast<uint64_t>(static_cast<int64_t>(l.nudge));
}
/// The f32 forms of some flush denormal sources whatever MODE says.
template <FloatFormat F, bool kFlush>
Real own_source(Lane& l) {
    return real_of(F, kFlush ? flushed(F, l.source[0]) : l.source[0]);
}
template <FloatFormat F, bool kFlush>
uint64_t own_result(Lane& l, const Real& x) {
    Target to = l.target<F>();
    if (kFlush) to.denormals = false;
    return nudged<F>(l, round_to(to, x, l.flags));
}
/// NaNs pass through; true when there was one.
bool passed(Lane& l, const Real& x) {
    if (x.signaling) l.flags |= excp::kInvalid;
    return x.nan();
}

template <FloatFormat F>
uint64_t exponential(Lane& l) {
    constexpr bool kFlush = F == kF32;
    const Real x = own_source<F, kFlush>(l);
    if (passed(l, x)) return l.round<F>(x);
    if (x.infinite()) return x.negative ? 0 : F.infinity();
    // Past these the result is the same for every format.
    const int far = compare(x, real_of_integer(5000)) == 1 ? 5000 : compare(x, real_of_integer(-5000)) == -1 ? -5000 : 0;
    Mpfr v;
    v.set(far != 0 ? real_of_integer(far) : x);
    const bool exact = mpfr_exp2(v, v, MPFR_RNDZ) == 0;
    return own_result<F, kFlush>(l, v.get(exact));
}
template <FloatFormat F>
uint64_t logarithm(Lane& l) {
    const Real x = own_source < F, F == kF32 > (l);
    if (passed(l, x)) return l.round<F>(x);
    if (x.zero()) {
        l.flags |= excp::kDivideByZero;
        return F.sign_bit() | F.infinity();
    }
    if (x.negative) return l.round<F>(invalid(l.flags));
    if (x.infinite()) return F.infinity();
    Mpfr v;
    v.set(x);
    const bool exact = mpfr_log2(v, v, MPFR_RNDZ) == 0;
    return own_result<F, false>(l, v.get(exact));
}
/// sin(2 pi x), or cos; past +-256 turns 0, or 1.
template <FloatFormat F, bool kCosine>
uint64_t wave_of_turns(Lane& l) {
    const Real x = own_source<F, false>(l);
    if (passed(l, x)) return l.round<F>(x);
    if (x.infinite()) return l.round<F>(invalid(l.flags));
    Real size = x;
    size.negative = false;
    if (compare(size, real_of_integer(256)) == 1) return kCosine ? l.round<F>(real_of_integer(1)) : 0;
    if (x.zero() && !kCosine) return l.source[0];
    Mpfr turns, pi;
    turns.set(x);
    mpfr_frac(turns, turns, MPFR_RNDN);
    Mpfr quarters;
    mpfr_mul_2ui(quarters, turns, 2, MPFR_RNDN);
    if (mpfr_integer_p(quarters)) {
        const long quarter = (mpfr_get_si(quarters, MPFR_RNDN) + (kCosine ? 1 : 0)) & 3;
        return own_result<F, false>(l, real_of_integer(quarter == 1 ? 1 : quarter == 3 ? -1 : 0));
    }
    mpfr_const_pi(pi, MPFR_RNDN);
    mpfr_mul(turns, turns, pi, MPFR_RNDN);
    mpfr_mul_2ui(turns, turns, 1, MPFR_RNDN);
    if (kCosine)
        mpfr_cos(turns, turns, MPFR_RNDZ);
    else
        mpfr_sin(turns, turns, MPFR_RNDZ);
    return own_result<F, false>(l, turns.get(false));
}
template <FloatFormat F>
uint64_t reciprocal_root(Lane& l) {
    const Real x = own_source < F, F == kF32 > (l);
    if (passed(l, x)) return l.round<F>(x);
    if (x.zero()) {
        l.flags |= excp::kDivideByZero;
        return (x.negative ? F.sign_bit() : 0) | F.infinity();
    }
    if (x.negative) return l.round<F>(invalid(l.flags));
    if (x.infinite()) return 0;
    Mpfr v;
    v.set(x);
    const bool exact = mpfr_rec_sqrt(v, v, MPFR_RNDZ) == 0;
    return own_result<F, false>(l, v.get(exact));
}

/// The first 1201 digits of 2/pi after the point.
const std::vector<bool>& two_over_pi() {
    static const std::vector<bool> digits = [] {
        constexpr size_t kCount = 1201;
        mpfr_t v;
        mpfr_init2(v, 1400);
        mpfr_const_pi(v, MPFR_RNDN);
        mpfr_ui_div(v, 2, v, MPFR_RNDN);
        std::vector<bool> d;
        for (size_t n = 0; n < kCount; ++n) {
            mpfr_mul_2ui(v, v, 1, MPFR_RNDN);
            const bool one = mpfr_cmp_ui(v, 1) >= 0;
            if (one) mpfr_sub_ui(v, v, 1, MPFR_RNDN);
            d.push_back(one);
        }
        mpfr_clear(v);
        return d;
    }();
    return digits;
}
/// 53 digits of 2/pi from where the exponent and the segment say; digits past the last known one are 0.
uint64_t trig_preop(Lane& l) {
    const int exponent = static_cast<int>(exponent_field(kF64, l.source[0]));
    int shift = static_cast<int>(l.u32(1) % 32) * 53;
    if (exponent > 1077) shift += exponent - 1077;
    uint64_t digits = 0;
    for (int n = shift; n < shift + 53; ++n) {
        const bool known = static_cast<size_t>(n) < two_over_pi().size();
        digits = (digits << 1) | (known && two_over_pi()[static_cast<size_t>(n)] ? 1u : 0u);
    }
    int scale = -53 - shift;
    if (exponent >= 1968) scale += 128;
    return l.round<kF64>(times_power(real_of_integer(static_cast<__int128>(digits)), scale));
}

using gcn::Op;
constexpr Entry kEntries[] = {
    {Op::v_exp_f16, exponential<kF16>},
    {Op::v_exp_f32, exponential<kF32>},
    {Op::v_exp_legacy_f32, exponential<kF32>},
    {Op::v_log_f16, logarithm<kF16>},
    {Op::v_log_f32, logarithm<kF32>},
    {Op::v_log_legacy_f32, logarithm<kF32>},
    {Op::v_sin_f16, wave_of_turns<kF16, false>},
    {Op::v_sin_f32, wave_of_turns<kF32, false>},
    {Op::v_cos_f16, wave_of_turns<kF16, true>},
    {Op::v_cos_f32, wave_of_turns<kF32, true>},
    {Op::v_rsq_f16, reciprocal_root<kF16>},
    {Op::v_rsq_f32, reciprocal_root<kF32>},
    {Op::v_trig_preop_f64, trig_preop},
};

}  // namespace

std::span<const Entry> transcendental_entries() { return kEntries; }

}  // namespace lyra::golden
