// SPDX-License-Identifier: MIT
// 64-lane rows: EXEC expanded to a row of masks, masks packed to bits, masked stores; step 6 of the data flow.
#pragma once

#include <cstdint>
#include <cstring>

#include "common/bits.h"
#include "gcn-interp/wave/backend.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

/// Before a loop over lanes: no lane's store is another lane's load, so the compiler may vectorise without overlap checks.
#if defined(__clang__)
#define LYRA_INDEPENDENT_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define LYRA_INDEPENDENT_LANES _Pragma("GCC ivdep")
#endif

inline constexpr uint64_t kAllLanes = ~uint64_t{0};

/// Explicit vectors, for what the compiler does not vectorise by itself: eight dwords, four qwords. Functions that take or give
/// them are always inlined, for how they are passed depends on the instruction set.
using Dwords [[gnu::vector_size(32)]] = uint32_t;
using Qwords [[gnu::vector_size(32)]] = uint64_t;
inline constexpr unsigned kDwords = 8, kQwords = 4;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"  // the warning is about calls
template <class Vector>
[[gnu::always_inline]] inline Vector load_vector(const void* from) {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
#pragma GCC diagnostic pop
template <class Vector>
[[gnu::always_inline]] inline void store_vector(void* to, const Vector& v) {
    std::memcpy(to, &v, sizeof v);
}
/// Bits that are set in any element.
[[gnu::always_inline]] inline uint64_t any_bits(const Qwords& v) { return v[0] | v[1] | v[2] | v[3]; }
[[gnu::always_inline]] inline uint64_t any_bits(const Dwords& v) { return any_bits(load_vector<Qwords>(&v)); }

/// row.lane[l] = bit l of mask ? ~0 : 0
inline void expand_mask(uint64_t mask, VgprRow& row) {
    const uint32_t half[2] = {lo32(mask), hi32(mask)};
    for (unsigned h = 0; h < 2; ++h) {
        const uint32_t word = half[h];
        uint32_t* out = row.lane + 32 * h;
        for (unsigned l = 0; l < 32; ++l) out[l] = 0u - ((word >> l) & 1u);
    }
}

#if LYRA_HAS_X86_BACKENDS
[[LYRA_AVX512]] inline uint64_t pack_mask_avx512(const uint32_t* row) {
    uint64_t mask = 0;
    for (unsigned i = 0; i < 4; ++i) mask |= uint64_t{_mm512_movepi32_mask(_mm512_load_si512(row + 16 * i))} << (16 * i);
    return mask;
}
[[LYRA_AVX2]] inline uint64_t pack_mask_avx2(const uint32_t* row) {
    uint64_t mask = 0;
    for (unsigned i = 0; i < 8; ++i) {
        const __m256i v = _mm256_load_si256(reinterpret_cast<const __m256i*>(row + 8 * i));
        mask |= static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(v)))) << (8 * i);
    }
    return mask;
}
#endif
/// Bit l = row.lane[l] != 0. Lanes must be 0 or ~0.
template <Backend kBackend>
inline uint64_t pack_mask(const uint32_t* row) {
#if LYRA_HAS_X86_BACKENDS
    if constexpr (kBackend == Backend::Avx512) return pack_mask_avx512(row);
    if constexpr (kBackend == Backend::Avx2) return pack_mask_avx2(row);
#endif
    uint64_t mask = 0;
    for (unsigned l = 0; l < kLanes; ++l) mask |= static_cast<uint64_t>(row[l] & 1) << l;
    return mask;
}

/// EXEC as a row of lane masks, kept in the wave until EXEC changes.
inline const uint32_t* exec_rows(Wave& wave) {
    if (wave.mask_of != wave.exec) {
        expand_mask(wave.exec, wave.mask);
        wave.mask_of = wave.exec;
    }
    return wave.mask.lane;
}

inline void fill_row(uint32_t* row, uint32_t value) {
    for (unsigned l = 0; l < kLanes; ++l) row[l] = value;
}

/// dst = src where mask is ~0. dst and src may be the same row.
inline void store_masked(uint32_t* dst, const uint32_t* src, const uint32_t* mask, unsigned lanes = kLanes) {
    LYRA_INDEPENDENT_LANES
    for (unsigned l = 0; l < lanes; ++l) dst[l] = (src[l] & mask[l]) | (dst[l] & ~mask[l]);
}

/// Row of VGPR n for reading. Numbers past the allocation read v0. @source docs/spec/isa.md 4.3
inline const uint32_t* vgpr_read_row(const Wave& wave, unsigned n) { return wave.vgpr[n < wave.vgpr_count ? n : 0].lane; }

/// Row of VGPR n for writing, or the dump row when n is past the allocation: such writes are dropped.
inline uint32_t* vgpr_write_row(Wave& wave, unsigned n, VgprRow& dump) {
    return n < wave.vgpr_count ? wave.vgpr[n].lane : dump.lane;
}

}  // namespace lyra::gcn
