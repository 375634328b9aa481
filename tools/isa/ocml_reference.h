// SPDX-License-Identifier: MIT
// References of lyra_isa_ocml in MPFR, where one call is not enough, and errors in units in the last place.
#pragma once

#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace lyra::isa {

inline constexpr mpfr_rnd_t kNear = MPFR_RNDN;
inline constexpr mpfr_prec_t kPrecision = 240;

/// A floating-point format. min_exponent, max_exponent: as in std::numeric_limits.
struct Format {
    const char* name;
    int digits, min_exponent, max_exponent;
    double normal() const { return std::ldexp(1.0, min_exponent - 1); }
};
inline constexpr Format kF16{"f16", 11, -13, 16}, kF32{"f32", 24, -125, 128}, kF64{"f64", 53, -1021, 1024};

/// An MPFR number; its value starts as 0.
class Number {
public:
    Number() { mpfr_init2(value_, kPrecision), mpfr_set_zero(value_, 1); }
    ~Number() { mpfr_clear(value_); }
    Number(const Number&) = delete;
    operator mpfr_ptr() { return value_; }

private:
    mpfr_t value_;
};

inline void reference_lgamma(mpfr_ptr r, mpfr_ptr x) {
    int sign = 0;
    mpfr_lgamma(r, &sign, x, kNear);
}
// Far out MPFR takes very long for what is 0 or infinite in every format.
// The f32 algorithm takes negative numbers to |x| + 3, which it rounds, and multiplies by the power of that with itself: less
// and less exact, and 0 below -31, where the result (1e-34 and less) is still a number. So they do not count.
inline void reference_tgamma(mpfr_ptr r, mpfr_ptr x, const Format& format, bool& counts) {
    counts = !(format.digits == kF32.digits && mpfr_number_p(x) && mpfr_sgn(x) < 0);
    if (mpfr_number_p(x) && !mpfr_integer_p(x) && mpfr_cmp_d(x, -2000) < 0)
        mpfr_set_zero(r, 1);
    else if (mpfr_number_p(x) && mpfr_cmp_d(x, 2000) > 0)
        mpfr_set_inf(r, 1);
    else
        mpfr_gamma(r, x, kNear);
}
inline void reference_rootn(mpfr_ptr r, mpfr_ptr x, long n) {
    if (n == 0)
        mpfr_set_nan(r);
    else
        mpfr_rootn_si(r, x, n, kNear);
}
inline void reference_rsqrt(mpfr_ptr r, mpfr_ptr x) {
    mpfr_sqrt(r, x, kNear);
    mpfr_ui_div(r, 1, r, kNear);
}
/// @param larger  positive: x is chosen, negative: y
template <typename Choose>
void reference_magnitude(mpfr_ptr r, mpfr_ptr x, mpfr_ptr y, int larger, Choose choose) {
    if (mpfr_nan_p(x) || mpfr_nan_p(y) || larger == 0)
        choose(r, x, y, kNear);
    else
        mpfr_set(r, larger > 0 ? x : y, kNear);
}
// MPFR keeps no sign of a NaN.
inline void reference_copysign(mpfr_ptr r, mpfr_ptr x, mpfr_ptr y, bool& counts) {
    counts = !mpfr_nan_p(y);
    mpfr_copysign(r, x, y, kNear);
}
inline void reference_quotient(mpfr_ptr r, mpfr_ptr x, mpfr_ptr y) {
    long q = 0;
    mpfr_remquo(r, &q, x, y, kNear);
    if (mpfr_nan_p(r)) q = 0;
    mpfr_set_si(r, q < 0 ? -(-q & 7) : q & 7, kNear);
}
/// Never 1, but the largest number below.
inline void reference_fract(mpfr_ptr r, mpfr_ptr x, const Format& format) {
    if (mpfr_inf_p(x)) return mpfr_set_zero(r, 1);
    Number most;
    mpfr_set_d(most, 1 - std::ldexp(1.0, -format.digits), kNear);
    mpfr_floor(r, x);
    mpfr_sub(r, x, r, kNear);
    if (!mpfr_nan_p(r)) mpfr_min(r, r, most, kNear);
}
inline void reference_frexp(mpfr_ptr r, mpfr_ptr x) {
    mpfr_set(r, x, kNear);
    if (mpfr_regular_p(x)) mpfr_set_exp(r, 0);
}
inline void reference_frexp_exponent(mpfr_ptr r, mpfr_ptr x) { mpfr_set_si(r, mpfr_regular_p(x) ? mpfr_get_exp(x) : 0, kNear); }
inline void reference_ilogb(mpfr_ptr r, mpfr_ptr x) { mpfr_set_si(r, mpfr_regular_p(x) ? mpfr_get_exp(x) - 1 : 77, kNear); }
inline void reference_logb(mpfr_ptr r, mpfr_ptr x) {
    if (mpfr_regular_p(x))
        mpfr_set_si(r, mpfr_get_exp(x) - 1, kNear);
    else if (mpfr_nan_p(x))
        mpfr_set_nan(r);
    else
        mpfr_set_inf(r, mpfr_inf_p(x) ? 1 : -1);
}
/// The next number of the format, upwards.
inline void reference_next(mpfr_ptr r, mpfr_ptr x, const Format& format) {
    const double v = mpfr_get_d(x, kNear);
    const double largest = std::ldexp(1 - std::ldexp(1.0, -format.digits), format.max_exponent);
    mpfr_set(r, x, kNear);
    if (mpfr_inf_p(x) && v < 0) mpfr_set_d(r, -largest, kNear);
    if (!mpfr_number_p(x)) return;
    if (v == largest) return mpfr_set_inf(r, 1);
    int exponent = format.min_exponent;
    if (v != 0) std::frexp(v, &exponent);
    if (v < 0 && std::frexp(v, &exponent) == -0.5) --exponent;  // downwards in magnitude from a power of two
    Number step;
    mpfr_set_ui_2exp(step, 1, std::max(exponent, format.min_exponent) - format.digits, kNear);
    mpfr_add(r, r, step, kNear);
}
/// Only for |x| up to the limit.
template <typename F>
void reference_within(mpfr_ptr r, mpfr_ptr x, unsigned long limit, bool& counts, F function) {
    counts = mpfr_number_p(x) && mpfr_cmpabs_ui(x, limit) <= 0;
    if (counts) function(r, x, kNear);
}

/// Distance of got from want in units in the last place of want, as OpenCL counts; infinity is the first power of two past the
/// largest number, so that a result just at the edge of overflow may round either way. Zeros are alike whatever their sign; a
/// wrong NaN is infinitely wrong.
/// @param smallest  the smallest magnitude whose unit counts
inline double error_in_ulp(double got, mpfr_ptr want, const Format& format, double smallest) {
    if (std::isnan(got) || mpfr_nan_p(want))
        return std::isnan(got) && mpfr_nan_p(want) ? 0 : std::numeric_limits<double>::infinity();
    Number g, w, limit;
    mpfr_set_ui_2exp(limit, 1, format.max_exponent, kNear);
    const auto bound = [&](mpfr_ptr v) {
        if (mpfr_cmpabs(v, limit) > 0) mpfr_copysign(v, limit, v, kNear);
    };
    mpfr_set_d(g, got, kNear);
    mpfr_set(w, want, kNear);
    bound(g);
    bound(w);
    int exponent = format.min_exponent;
    if (mpfr_regular_p(static_cast<mpfr_ptr>(w)))
        exponent = static_cast<int>(std::max<mpfr_exp_t>(mpfr_get_exp(static_cast<mpfr_ptr>(w)), exponent));
    if (smallest > 0) exponent = std::max(exponent, std::ilogb(smallest) + 1);
    mpfr_sub(g, g, w, kNear);
    mpfr_mul_2si(g, g, format.digits - exponent, kNear);
    return std::fabs(mpfr_get_d(g, kNear));
}

inline double half_value(uint16_t h) {
    const int e = h >> 10 & 31, m = h & 0x3ff;
    const double v = e == 31  ? (m ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
                     : e == 0 ? std::ldexp(m, -24)
                              : std::ldexp(1024 + m, e - 25);
    return h & 0x8000 ? -v : v;
}

}  // namespace lyra::isa
