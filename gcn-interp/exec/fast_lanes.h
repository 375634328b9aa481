// SPDX-License-Identifier: MIT
// Questions about the addresses of a wave and moves of its lanes, for the fast memory functions; step 6 of the data flow.
#pragma once

#include <algorithm>

#include "gcn-interp/exec/lane_memory.h"

namespace lyra::gcn::fast {

using lane_memory::Destination;
using lane_memory::for_lanes;
using lane_memory::Shape;
using lane_memory::Source;

/// Memory that lanes may reach: lane l at host + o, with o = low[l] - first modulo 2^32, which must not be above last.
struct Window {
    uint8_t* host;
    uint32_t first;
    uint32_t last;
};

/// What plain C++ makes of it.
struct PlainLanes {
    /// All active lanes have o <= last.
    static bool inside(const uint32_t* low, const Window& w, uint64_t exec) {
        uint32_t highest = 0;
        if (exec == kAllLanes) {
            for (unsigned l = 0; l < kLanes; ++l) highest = std::max(highest, low[l] - w.first);
        } else {
            VgprRow on;
            expand_mask(exec, on);
            for (unsigned l = 0; l < kLanes; ++l) highest = std::max(highest, (low[l] - w.first) & on.lane[l]);
        }
        return highest <= w.last;
    }
    /// All active lanes have row[l] == start + l * step.
    static bool on_line(const uint32_t* row, uint32_t start, uint32_t step, uint64_t exec) {
        uint32_t different = 0;
        if (exec == kAllLanes) {
            for (unsigned l = 0; l < kLanes; ++l) different |= row[l] ^ (start + l * step);
        } else {
            VgprRow on;
            expand_mask(exec, on);
            for (unsigned l = 0; l < kLanes; ++l) different |= (row[l] ^ (start + l * step)) & on.lane[l];
        }
        return different == 0;
    }
    /// Elements side by side. @param line  where lane 0 would be
    template <Shape kShape>
    static void load_line(Destination<kShape>& to, const uint8_t* line, uint64_t exec) {
        if constexpr (kShape.bytes == 16) {
            static constexpr uint32_t kSideBySide[] = {0, 16, 32, 48};
            for (unsigned l = 0; exec == kAllLanes && l < kLanes; l += 4)
                lane_memory::gather_quad<4>(line + l * 16, kSideBySide, to.rows(), l);
            if (exec == kAllLanes) return;
        }
        if (exec == kAllLanes) return lane_memory::load_block<kShape>(line, to);
        for_lanes(exec, [&](unsigned l) { to.put(l, line + l * kShape.bytes); });
    }
    template <Shape kShape>
    static void store_line(const Source<kShape>& from, uint8_t* line, uint64_t exec) {
        if constexpr (kShape.bytes == 16) {
            static constexpr uint32_t kSideBySide[] = {0, 16, 32, 48};
            for (unsigned l = 0; exec == kAllLanes && l < kLanes; l += 4)
                scatter_quad<4>(line + l * 16, kSideBySide, from.rows(), l);
            if (exec == kAllLanes) return;
        }
        if (exec == kAllLanes) return lane_memory::store_block<kShape>(from, line);
        for_lanes(exec, [&](unsigned l) { from.get(l, line + l * kShape.bytes); });
    }
    /// One element for all.
    template <Shape kShape>
    static void load_same(Destination<kShape>& to, const uint8_t* host, uint64_t exec) {
        if (exec == kAllLanes) return lane_memory::load_one<kShape>(host, to);
        uint8_t once[kShape.bytes];
        std::memcpy(once, host, kShape.bytes);
        for_lanes(exec, [&](unsigned l) { to.put(l, once); });
    }
    template <Shape kShape>
    static void load_lanes(Destination<kShape>& to, const uint32_t* low, const Window& w, uint64_t exec) {
        alignas(64) uint32_t at[kLanes];
        for (unsigned l = 0; l < kLanes; ++l) at[l] = low[l] - w.first;
        for (unsigned first = 0; first < kLanes; first += lane_memory::kPartLanes) {
            const uint64_t on = exec >> first & lane_memory::kPartMask;
            if (on == lane_memory::kPartMask)
                lane_memory::load_part<kShape>(w.host, at + first, first, to);
            else
                for_lanes(on << first, [&](unsigned l) { to.put(l, w.host + at[l]); });
        }
    }
    template <Shape kShape>
    static void store_lanes(const Source<kShape>& from, const uint32_t* low, const Window& w, uint64_t exec) {
        if constexpr (kShape.bytes == 8 || kShape.bytes == 16) {
            if (exec == kAllLanes) {
                alignas(64) uint32_t at[kLanes];
                for (unsigned l = 0; l < kLanes; ++l) at[l] = low[l] - w.first;
                for (unsigned l = 0; l < kLanes; l += 4) scatter_quad<kShape.words()>(w.host, at + l, from.rows(), l);
                return;
            }
        }
        for_lanes(exec, [&](unsigned l) { from.get(l, w.host + (low[l] - w.first)); });
    }

private:
    /// Four lanes of rows to where each has its element, the highest lane last.
    template <unsigned kWords>
    static void scatter_quad(uint8_t* base, const uint32_t* at, const uint32_t* const* rows, unsigned lane) {
        using lane_memory::Quad;
        const auto row = [&](unsigned w) { return load_vector<Quad>(rows[w] + lane); };
        const Quad a = row(0), b = row(1);
        const Quad low = __builtin_shufflevector(a, b, 0, 4, 1, 5), high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
        if constexpr (kWords == 2) {
            for (unsigned l = 0; l < 4; ++l)
                std::memcpy(base + at[l], reinterpret_cast<const uint8_t*>(l < 2 ? &low : &high) + l % 2 * 8, 8);
        } else {
            const Quad c = row(2), d = row(3);
            const Quad low2 = __builtin_shufflevector(c, d, 0, 4, 1, 5), high2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
            store_vector(base + at[0], __builtin_shufflevector(low, low2, 0, 1, 4, 5));
            store_vector(base + at[1], __builtin_shufflevector(low, low2, 2, 3, 6, 7));
            store_vector(base + at[2], __builtin_shufflevector(high, high2, 0, 1, 4, 5));
            store_vector(base + at[3], __builtin_shufflevector(high, high2, 2, 3, 6, 7));
        }
    }
};

template <Backend kBackend>
struct Lanes : PlainLanes {};

#if LYRA_HAS_X86_BACKENDS

/// With masks: lanes that are off need no look of their own. Conversions and shifts have one, too: GCC takes the others'
/// undefined operand for an uninitialized variable.
template <>
struct Lanes<Backend::Avx512> : PlainLanes {
    [[LYRA_AVX512]] static bool inside(const uint32_t* low, const Window& w, uint64_t exec) {
        const __m512i first = _mm512_set1_epi32(static_cast<int>(w.first)), last = _mm512_set1_epi32(static_cast<int>(w.last));
        unsigned outside = 0;
        for (unsigned p = 0; p < kLanes; p += kPart)
            outside |= _mm512_mask_cmpgt_epu32_mask(part(exec, p), _mm512_sub_epi32(_mm512_load_si512(low + p), first), last);
        return outside == 0;
    }
    [[LYRA_AVX512]] static bool on_line(const uint32_t* row, uint32_t start, uint32_t step, uint64_t exec) {
        const __m512i number = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        const __m512i more = _mm512_set1_epi32(static_cast<int>(step * kPart));
        __m512i line = _mm512_add_epi32(_mm512_mullo_epi32(number, _mm512_set1_epi32(static_cast<int>(step))),
                                        _mm512_set1_epi32(static_cast<int>(start)));
        constexpr int kOrDifferent = 0xf6;  // a | (b ^ c)
        __m512i different = _mm512_setzero_si512();
        if (exec == kAllLanes) {
            for (unsigned p = 0; p < kLanes; p += kPart, line = _mm512_add_epi32(line, more))
                different = _mm512_ternarylogic_epi32(different, _mm512_load_si512(row + p), line, kOrDifferent);
        } else {
            for (unsigned p = 0; p < kLanes; p += kPart, line = _mm512_add_epi32(line, more))
                different =
                    _mm512_mask_ternarylogic_epi32(different, part(exec, p), _mm512_load_si512(row + p), line, kOrDifferent);
        }
        return _mm512_test_epi32_mask(different, different) == 0;
    }

    template <Shape kShape>
    [[LYRA_AVX512]] static void load_line(Destination<kShape>& to, const uint8_t* line, uint64_t exec) {
        if constexpr (kShape.bytes > 4) {
            PlainLanes::load_line<kShape>(to, line, exec);
        } else if (kShape.bytes == 4 && exec == kAllLanes) {
            for (unsigned p = 0; p < kLanes; p += kPart) _mm512_store_si512(to.rows()[0] + p, _mm512_loadu_si512(line + p * 4));
        } else {
            for (unsigned p = 0; p < kLanes; p += kPart) {
                const __mmask16 on = part(exec, p);
                const uint8_t* from = line + p * kShape.bytes;
                __m512i value;
                if constexpr (kShape.bytes == 4) {
                    value = _mm512_maskz_loadu_epi32(on, from);
                } else if constexpr (kShape.bytes == 2) {
                    const __m256i narrow = _mm256_maskz_loadu_epi16(on, from);
                    value = kShape.sign ? _mm512_maskz_cvtepi16_epi32(on, narrow) : _mm512_maskz_cvtepu16_epi32(on, narrow);
                } else {
                    const __m128i narrow = _mm_maskz_loadu_epi8(on, from);
                    value = kShape.sign ? _mm512_maskz_cvtepi8_epi32(on, narrow) : _mm512_maskz_cvtepu8_epi32(on, narrow);
                }
                put_part<kShape>(to.rows()[0] + p, on, value);
            }
        }
    }
    template <Shape kShape>
    [[LYRA_AVX512]] static void store_line(const Source<kShape>& from, uint8_t* line, uint64_t exec) {
        if constexpr (kShape.bytes > 4) {
            PlainLanes::store_line<kShape>(from, line, exec);
        } else if (kShape.bytes == 4 && exec == kAllLanes) {
            for (unsigned p = 0; p < kLanes; p += kPart)
                _mm512_storeu_si512(line + p * 4, _mm512_load_si512(from.rows()[0] + p));
        } else {
            for (unsigned p = 0; p < kLanes; p += kPart) {
                const __mmask16 on = part(exec, p);
                uint8_t* to = line + p * kShape.bytes;
                __m512i value = _mm512_load_si512(from.rows()[0] + p);
                if constexpr (kShape.hi) value = _mm512_maskz_srli_epi32(on, value, 16);
                if constexpr (kShape.bytes == 4)
                    _mm512_mask_storeu_epi32(to, on, value);
                else if constexpr (kShape.bytes == 2)
                    _mm256_mask_storeu_epi16(to, on, _mm512_maskz_cvtepi32_epi16(on, value));
                else
                    _mm_mask_storeu_epi8(to, on, _mm512_maskz_cvtepi32_epi8(on, value));
            }
        }
    }
    template <Shape kShape>
    [[LYRA_AVX512]] static void load_same(Destination<kShape>& to, const uint8_t* host, uint64_t exec) {
        uint32_t words[4] = {};
        std::memcpy(words, host, kShape.bytes);
        if constexpr (kShape.sign) words[0] = static_cast<uint32_t>(sign_extend(words[0], kShape.bytes * 8));
        for (unsigned w = 0; w < kShape.words(); ++w) {
            const __m512i value = _mm512_set1_epi32(static_cast<int>(words[w]));
            for (unsigned p = 0; p < kLanes; p += kPart) put_part<kShape>(to.rows()[w] + p, part(exec, p), value);
        }
    }

private:
    static constexpr unsigned kPart = 16;
    static __mmask16 part(uint64_t exec, unsigned lane) { return static_cast<__mmask16>(exec >> lane); }

    /// As Destination::put().
    template <Shape kShape>
    [[LYRA_AVX512, gnu::always_inline]] static inline void put_part(uint32_t* row, __mmask16 on, __m512i value) {
        if constexpr (kShape.d16) {
            const __m512i half = _mm512_set1_epi32(kShape.hi ? static_cast<int>(0xffff0000) : 0xffff);
            if constexpr (kShape.hi) value = _mm512_maskz_slli_epi32(on, value, 16);
            // half ? value : what is there
            value = _mm512_ternarylogic_epi32(half, value, _mm512_load_si512(row), 0xca);
        }
        _mm512_mask_store_epi32(row, on, value);
    }
};

#endif

}  // namespace lyra::gcn::fast
