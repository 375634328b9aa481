// SPDX-License-Identifier: MIT
// Bit fields of registers and packet words, and small integer helpers.
#pragma once

#include <cstdint>
#include <type_traits>

namespace lyra {

/// Bits [low, low + width) of a word. Works on 32- and 64-bit words.
template <unsigned Low, unsigned Width>
struct Bits {
    static_assert(Width >= 1 && Low + Width <= 64);
    static constexpr uint64_t kMask = (Width == 64 ? ~uint64_t{0} : (uint64_t{1} << Width) - 1) << Low;
    static constexpr uint64_t get64(uint64_t word) { return (word & kMask) >> Low; }
    static constexpr uint32_t get(uint64_t word) { return static_cast<uint32_t>(get64(word)); }
    template <class Word>
    static constexpr Word set(Word word, uint64_t value) {
        return static_cast<Word>((word & ~kMask) | ((value << Low) & kMask));
    }
};

/// Bits [low, low + width) of word, chosen at run time. width 1..32.
constexpr uint32_t bits(uint64_t word, unsigned low, unsigned width) {
    return static_cast<uint32_t>((word >> low) & ((uint64_t{1} << width) - 1));
}

constexpr bool bit(uint64_t word, unsigned index) { return (word >> index) & 1; }

/// The low width bits of value as a signed number. width 1..64.
constexpr int64_t sign_extend(uint64_t value, unsigned width) {
    const unsigned shift = 64 - width;
    return static_cast<int64_t>(value << shift) >> shift;
}

constexpr uint64_t make64(uint32_t low, uint32_t high) { return (uint64_t{high} << 32) | low; }
constexpr uint32_t lo32(uint64_t v) { return static_cast<uint32_t>(v); }
constexpr uint32_t hi32(uint64_t v) { return static_cast<uint32_t>(v >> 32); }

constexpr uint64_t align_up(uint64_t v, uint64_t alignment) { return (v + alignment - 1) / alignment * alignment; }
constexpr uint64_t align_down(uint64_t v, uint64_t alignment) { return v / alignment * alignment; }

}  // namespace lyra
