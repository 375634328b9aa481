// SPDX-License-Identifier: MIT
// One lane of a vector instruction as the reference model's functions see it, and where they are looked up.
#pragma once

#include <cstdint>
#include <span>

#include "gcn-interp/golden/soft_float.h"
#include "gcn-interp/isa/op.h"

namespace lyra::golden {

/// MODE, read bit by bit. @source AMD Vega ISA document, "Mode register"
struct MathMode {
    uint32_t bits = 0;
    Rounding direction(const FloatFormat& f) const { return static_cast<Rounding>((bits >> (f == kF32 ? 0 : 2)) & 3); }
    bool input_denormals(const FloatFormat& f) const { return ((bits >> (f == kF32 ? 4 : 6)) & 1) != 0; }
    bool output_denormals(const FloatFormat& f) const { return ((bits >> (f == kF32 ? 5 : 7)) & 1) != 0; }
    bool dx10_clamp() const { return ((bits >> 8) & 1) != 0; }
    bool ieee() const { return ((bits >> 9) & 1) != 0; }
    bool fp16_overflow() const { return ((bits >> 23) & 1) != 0; }
    bool gpr_index() const { return ((bits >> 27) & 1) != 0; }
};

/// Sources are bits with modifiers applied, and with denormals flushed where MODE says so; what a function returns is the
/// destination's bits, before omod, clamp of floats and flush of the result.
struct Lane {
    uint64_t source[3] = {};
    uint64_t source2_high = 0;  ///< bits 64 and up of a 128-bit source 2
    uint32_t old = 0;           ///< destination before
    bool mask = false;          ///< this lane's bit of the mask source, or of VCC
    bool clamp = false;         ///< for integers; floats are clamped outside
    unsigned number = 0;
    int nudge = 0;  ///< transcendentals: -1, 1 for the result one unit in the last place away
    MathMode mode;

    uint64_t high = 0;      ///< result: bits 64 and up
    bool carry = false;     ///< result: this lane's bit of the mask destination
    uint32_t flags = 0;     ///< result: excp

    template <FloatFormat F>
    Real real(unsigned n) const {
        return real_of(F, source[n]);
    }
    template <FloatFormat F>
    Target target() const {
        return {F, mode.direction(F), mode.output_denormals(F), F == kF16 && mode.fp16_overflow()};
    }
    template <FloatFormat F>
    uint64_t round(const Real& x) {
        return round_to(target<F>(), x, flags);
    }
    uint32_t u32(unsigned n) const { return static_cast<uint32_t>(source[n]); }
    int32_t i32(unsigned n) const { return static_cast<int32_t>(source[n]); }
    uint32_t u16(unsigned n) const { return static_cast<uint16_t>(source[n]); }
    int32_t i16(unsigned n) const { return static_cast<int16_t>(source[n]); }
};

using LaneFunction = uint64_t (*)(Lane&);
struct Entry {
    gcn::Op op;
    LaneFunction function;
};
std::span<const Entry> float_entries();
std::span<const Entry> division_entries();
std::span<const Entry> transcendental_entries();
std::span<const Entry> conversion_entries();
std::span<const Entry> integer_entries();
std::span<const Entry> byte_entries();
/// Of one half of a packed operation, or of a whole dot product.
std::span<const Entry> packed_entries();
/// Compares are found by the parts of their names: v_cmp(x)_<relation>_<type>.
LaneFunction compare_function(gcn::Op op);

/// nullptr when the reference model has none.
LaneFunction lane_function(gcn::Op op);

/// Results of integer operations: wrapped, or limited to the type when clamp is set.
inline uint64_t wrap_or_limit(const Lane& l, __int128 value, unsigned bits, bool is_signed) {
    const __int128 one = 1;
    const __int128 low = is_signed ? -(one << (bits - 1)) : 0;
    const __int128 high = is_signed ? (one << (bits - 1)) - 1 : (one << bits) - 1;
    if (l.clamp) value = value < low ? low : value > high ? high : value;
    return static_cast<uint64_t>(value & ((one << bits) - 1));
}

}  // namespace lyra::golden
