// SPDX-License-Identifier: MIT
// The transcendental instructions on AVX2; step 6 of the data flow.
#include "gcn-interp/exec/transcendental_lanes.h"

#if LYRA_HAS_X86_BACKENDS
namespace lyra::gcn::transcendental {
namespace {

#define LYRA_TARGET LYRA_AVX2
#define LYRA_INLINE [[gnu::always_inline, LYRA_TARGET]] inline
constexpr unsigned kWidth = 8;
constexpr uint32_t kAllOfWidth = 0xff;
using Floats = __m256;
using Doubles = __m256d;
using Ints [[gnu::vector_size(32)]] = uint32_t;
using Longs [[gnu::vector_size(32)]] = uint64_t;

LYRA_INLINE Floats all(float v) { return _mm256_set1_ps(v); }
LYRA_INLINE Doubles all(double v) { return _mm256_set1_pd(v); }
LYRA_INLINE Floats fma(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
LYRA_INLINE Doubles fma(Doubles a, Doubles b, Doubles c) { return _mm256_fmadd_pd(a, b, c); }
LYRA_INLINE Floats root(Floats x) { return _mm256_sqrt_ps(x); }
LYRA_INLINE Doubles root(Doubles x) { return _mm256_sqrt_pd(x); }
LYRA_INLINE Floats root_estimate(Floats x) { return _mm256_rsqrt_ps(x); }
LYRA_INLINE Doubles lower(Floats x) { return _mm256_cvtps_pd(_mm256_castps256_ps128(x)); }
LYRA_INLINE Doubles upper(Floats x) { return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)); }
LYRA_INLINE Doubles lower_of_ints(Ints x) { return _mm256_cvtepi32_pd(_mm256_castsi256_si128((__m256i)x)); }
LYRA_INLINE Doubles upper_of_ints(Ints x) { return _mm256_cvtepi32_pd(_mm256_extracti128_si256((__m256i)x, 1)); }
LYRA_INLINE Floats narrow(Doubles lower, Doubles upper) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(lower)), _mm256_cvtpd_ps(upper), 1);
}
LYRA_INLINE Ints arithmetic_shift(Ints x, int by) { return (Ints)_mm256_srai_epi32((__m256i)x, by); }
LYRA_INLINE bool same(Floats a, Floats b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)) == kAllOfWidth; }
LYRA_INLINE bool all_below(Ints x, uint32_t limit) { return _mm256_movemask_ps((__m256)(x < limit)) == kAllOfWidth; }
/// An element that has none of the bits.
LYRA_INLINE bool any_without(Longs a, Longs b, uint64_t bits) {
    const Longs without = (Longs)((a & bits) == 0) | (Longs)((b & bits) == 0);
    return _mm256_testz_si256((__m256i)without, (__m256i)without) == 0;
}
LYRA_INLINE Floats clamp(Floats x, float low, float high) { return _mm256_min_ps(_mm256_max_ps(x, all(low)), all(high)); }
LYRA_INLINE Floats to_whole(Floats x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
LYRA_INLINE Ints to_ints(Floats x) { return (Ints)_mm256_cvtps_epi32(x); }
LYRA_INLINE void store(uint32_t* row, Floats x, uint32_t lanes) {
    if (lanes != kAllOfWidth) {
        const Ints bit{1, 2, 4, 8, 16, 32, 64, 128};
        x = (bit & lanes) != 0 ? x : load_vector<Floats>(row);
    }
    store_vector(row, x);
}

#include "gcn-interp/exec/transcendental.inc"

}  // namespace

const Routines kAvx2 = {&row<rcp>, &row<sqrt>, &row<rsq>, &row<exp, lane::v_exp_f32>, &row<log, lane::v_log_f32>};

}  // namespace lyra::gcn::transcendental
#endif
