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

}  // namespace

const Routines kAvx512 = kRoutines;

}  // namespace lyra::gcn::transcendental
#endif
