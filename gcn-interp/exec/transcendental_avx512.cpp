// SPDX-License-Identifier: MIT
// The transcendental instructions on AVX-512; step 6 of the data flow.
#include "gcn-interp/exec/transcendental_lanes.h"

#if LYRA_HAS_X86_BACKENDS
namespace lyra::gcn::transcendental {
namespace {

#define LYRA_TARGET LYRA_AVX512
#define LYRA_INLINE [[gnu::always_inline, LYRA_TARGET]] inline
constexpr unsigned kWidth = 16;
constexpr uint32_t kAllOfWidth = 0xffff;
using Floats = __m512;
using Doubles = __m512d;
using Ints [[gnu::vector_size(64)]] = uint32_t;
using Longs [[gnu::vector_size(64)]] = uint64_t;

LYRA_INLINE Floats all(float v) { return _mm512_set1_ps(v); }
LYRA_INLINE Doubles all(double v) { return _mm512_set1_pd(v); }
LYRA_INLINE Floats fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
LYRA_INLINE Doubles fma(Doubles a, Doubles b, Doubles c) { return _mm512_fmadd_pd(a, b, c); }
LYRA_INLINE Floats root(Floats x) { return _mm512_sqrt_ps(x); }
LYRA_INLINE Doubles root(Doubles x) { return _mm512_sqrt_pd(x); }
LYRA_INLINE Floats root_estimate(Floats x) { return _mm512_rsqrt14_ps(x); }
LYRA_INLINE Doubles lower(Floats x) { return _mm512_cvtps_pd(_mm512_castps512_ps256(x)); }
LYRA_INLINE Doubles upper(Floats x) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)); }
LYRA_INLINE Doubles lower_of_ints(Ints x) { return _mm512_cvtepi32_pd(_mm512_castsi512_si256((__m512i)x)); }
LYRA_INLINE Doubles upper_of_ints(Ints x) { return _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64((__m512i)x, 1)); }
LYRA_INLINE Floats narrow(Doubles lower, Doubles upper) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(lower)), _mm512_cvtpd_ps(upper), 1);
}
LYRA_INLINE Ints arithmetic_shift(Ints x, unsigned by) { return (Ints)_mm512_srai_epi32((__m512i)x, by); }
LYRA_INLINE bool same(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ) == kAllOfWidth; }
LYRA_INLINE bool all_below(Ints x, uint32_t limit) {
    return _mm512_cmplt_epu32_mask((__m512i)x, _mm512_set1_epi32(static_cast<int>(limit))) == kAllOfWidth;
}
/// An element that has none of the bits.
LYRA_INLINE bool any_without(Longs a, Longs b, uint64_t bits) {
    const __m512i mask = _mm512_set1_epi64(static_cast<long long>(bits));
    return (_mm512_testn_epi64_mask((__m512i)a, mask) | _mm512_testn_epi64_mask((__m512i)b, mask)) != 0;
}
LYRA_INLINE Floats clamp(Floats x, float low, float high) { return _mm512_min_ps(_mm512_max_ps(x, all(low)), all(high)); }
LYRA_INLINE Floats to_whole(Floats x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
LYRA_INLINE Ints to_ints(Floats x) { return (Ints)_mm512_cvtps_epi32(x); }
LYRA_INLINE void store(uint32_t* row, Floats x, uint32_t lanes) {
    _mm512_mask_storeu_ps(row, static_cast<__mmask16>(lanes), x);
}

#include "gcn-interp/exec/transcendental.inc"

// exp and log in floats, sixteen lanes at a time. A number is the sum of two floats where one is not enough, and a table of 32
// points makes the argument small. Results are off by some 2^-11 of their last bit, so that about one vector in a hundred is
// not decided: those are computed in doubles. LYRA_EXHAUSTIVE=1 compares all inputs with the lane function
// (transcendental_test.cpp).

constexpr unsigned kPoints = 32;
struct Table {
    alignas(64) float of[kPoints];
};

LYRA_INLINE Floats look_up(const Table& table, Ints index) {  // modulo 32
    return _mm512_permutex2var_ps(_mm512_load_ps(table.of), (__m512i)index, _mm512_load_ps(table.of + kWidth));
}
LYRA_INLINE Floats to_floats(Ints x) { return _mm512_cvtepi32_ps((__m512i)x); }

/// r = high + low. @return those of the lanes `certain` that have one result for all sums that are off by slack at most
LYRA_INLINE __mmask16 decided(Floats high, Floats low, Floats slack, __mmask16 certain, Floats& r) {
    r = high + (low + slack);
    return _mm512_mask_cmp_ps_mask(certain, r, high + (low - slack), _CMP_EQ_OQ);
}

/// 2^(n/32) is high * (1 + low).
struct Powers {
    Table high{}, low{};
    constexpr Powers() {
        for (unsigned n = 0; n < kPoints; ++n) {
            const double x = n * 0x1.62e42fefa39efp-1 / kPoints;
            double power = 1;
            for (unsigned term = 20; term > 0; --term) power = 1 + power * x / term;
            high.of[n] = static_cast<float>(power);
            low.of[n] = static_cast<float>(power / high.of[n] - 1);
        }
    }
};
constexpr Powers kPowers;

/// x = n/32 + t; 2^x = 2^(n/32) * e^(t ln 2).
LYRA_INLINE __mmask16 exp_in_floats(Floats x, Floats& r) {
    constexpr float kLn2 = 0x1.62e43p-1f, kLn2Low = -0x1.05c61p-29f, kSlack = 0x1p-35f;
    constexpr float kToWhole = 0x1.8p23f;  // what is added to it is rounded to a whole number, in the low bits
    const Floats shifted = fma(x, all(32.0f), all(kToWhole));
    const Ints n = (Ints)shifted;
    const Floats t = fma(shifted - kToWhole, all(-1.0f / 32), x);  // exact
    const Floats power = look_up(kPowers.high, n), power_low = look_up(kPowers.low, n);
    const Floats y = t * kLn2, y_low = fma(t, all(kLn2Low), fma(t, all(kLn2), -y));
    // (e^y - 1 - y) / y^2; the coefficients make up for y^3 / 120 where |y| <= ln 2 / 64.
    const Floats rest = fma(fma(y, all(1.0f / 24), all(0x1.5555b8p-3f)), y, all(0.5f));
    const Floats low = fma(rest, y * y, y_low) + fma(y, power_low, power_low);
    const Floats high = fma(power, y, power), lost = fma(power, y, power - high);
    const __mmask16 usual = _mm512_cmp_ps_mask(_mm512_abs_ps(x), all(126.0f), _CMP_LT_OQ);
    const __mmask16 one = decided(high, fma(power, low, lost), all(kSlack), usual, r);
    r = (Floats)((Ints)r + (n >> 5 << 23));
    return one;
}

constexpr uint32_t kRootHalf = 0x3f3504f3;  ///< bits of the least mantissa
constexpr unsigned kPointBits = 23 - 5;

/// For mantissas from the point kRootHalf + (n << kPointBits) to the next: a factor that brings them near 1, and minus its
/// logarithm, which is almost a float. Around 1 both are exact.
struct Factors {
    Table factor{}, logarithm{}, slack{};
    constexpr Factors() {
        for (unsigned n = 0; n < kPoints; ++n) {
            const double least = std::bit_cast<float>(kRootHalf + (n << kPointBits));
            const double most = std::bit_cast<float>(kRootHalf + ((n + 1) << kPointBits));
            factor.of[n] = 1;
            if (least > 1 || most < 1) choose(n, static_cast<float>(2 / (least + most)));
        }
    }

private:
    static constexpr double kLog2E = 0x1.71547652b82fep+0;
    static constexpr double distance(double a, double b) { return a < b ? b - a : a - b; }

    /// Of 8193 factors the one whose logarithm is nearest to a float: within 2^-37.
    constexpr void choose(unsigned n, float middle) {
        const double s = (middle - 1.0) / (middle + 1.0);
        double series = 0;
        for (int odd = 39; odd > 0; odd -= 2) series = series * s * s + 1.0 / odd;
        double nearest = 1;
        for (unsigned bits = std::bit_cast<uint32_t>(middle) - 4096, tries = 0; tries <= 8192; ++tries) {
            const float c = std::bit_cast<float>(bits + tries);
            const double e = (static_cast<double>(c) - middle) / middle;
            const double log = -kLog2E * (2 * s * series + e * (1 - e * (1.0 / 2 - e * (1.0 / 3 - e / 4))));
            const double off = distance(log, static_cast<float>(log));
            if (off >= nearest) continue;
            nearest = off;
            factor.of[n] = c;
            logarithm.of[n] = static_cast<float>(log);
        }
        slack.of[n] = 0x1p-36f;
    }
};
constexpr Factors kFactors;

/// x = 2^e * m; log2 x = e - log2 c + log2(1 + f), where 1 + f = m c.
LYRA_INLINE __mmask16 log_in_floats(Floats x, Floats& r) {
    constexpr float kLog2E = 0x1.715476p+0f, kLog2ELow = 0x1.4ae0cp-26f;
    const Ints bits = (Ints)x, from_least = bits - kRootHalf, exponent = arithmetic_shift(from_least, 23);
    const Floats m = (Floats)(bits - (exponent << 23)), e = to_floats(exponent);
    const Ints n = from_least >> kPointBits;
    const Floats c = look_up(kFactors.factor, n), point = look_up(kFactors.logarithm, n);
    const Floats product = m * c, f = product - 1.0f, inexact = fma(m, c, -product), f_low = fma(-inexact, f, inexact);
    const Floats y = f * kLog2E, y_low = fma(f_low, all(kLog2E), fma(f, all(kLog2ELow), fma(f, all(kLog2E), -y)));
    // (log2(1 + f) - y) / f^2: log2(e) / n with alternating signs, n from 2 to 6
    Floats rest = fma(f, all(-0x1.ec709ep-3f), all(0x1.2776c6p-2f));
    rest = fma(rest, f, all(-0x1.715476p-2f));
    rest = fma(rest, f, all(0x1.ec709ep-2f));
    rest = fma(rest, f, all(-0x1.715476p-1f));
    const Floats square = f * f, low = fma(rest, square, y_low);
    const Floats whole = e + point, lost = point - (whole - e), high = whole + y, lost_too = y - (high - whole);
    const Floats slack = fma(square, all(0x1.8p-23f), look_up(kFactors.slack, n));
    const auto past_least = (__m512i)(bits - 0x00800000);
    const __mmask16 usual = _mm512_cmplt_epu32_mask(past_least, _mm512_set1_epi32(0x7f000000));  // positive, normal and finite
    return decided(high, low + (lost + lost_too), slack, usual, r);
}

/// Not inlined: registers of the loop in floats are full of constants.
template <bool (*kInDoubles)(Floats, Floats&), auto kLane>
[[gnu::noinline, gnu::cold]] void undecided_lanes(uint32_t* dst, const uint32_t* src, uint64_t lanes) {
    row<kInDoubles, kLane>(dst, src, lanes);
}
template <__mmask16 (*kInFloats)(Floats, Floats&), Routine kUndecided>
[[gnu::flatten, LYRA_TARGET]] void row_in_floats(uint32_t* dst, const uint32_t* src, uint64_t exec) {
    uint64_t undecided = 0;
    for (unsigned base = 0; base < kLanes && exec >> base != 0; base += kWidth) {
        const auto lanes = static_cast<uint32_t>(exec >> base) & kAllOfWidth;
        Floats r;
        const uint32_t decided = kInFloats(load_vector<Floats>(src + base), r) & lanes;
        store(dst + base, r, decided);
        undecided |= uint64_t{lanes ^ decided} << base;
    }
    if (undecided != 0) [[unlikely]]
        kUndecided(dst, src, undecided);
}

}  // namespace

const Routines kAvx512 = {&row<rcp>, &row<sqrt>, &row<rsq>,
                          &row_in_floats<exp_in_floats, undecided_lanes<exp, lane::v_exp_f32>>,
                          &row_in_floats<log_in_floats, undecided_lanes<log, lane::v_log_f32>>};

}  // namespace lyra::gcn::transcendental
#endif
