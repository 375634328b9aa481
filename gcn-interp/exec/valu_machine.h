// SPDX-License-Identifier: MIT
// For the tests of the vector ALU: one wave with registers of its own, instructions built field by field, reference f16
// rounding.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <random>
#include <vector>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/isa/op.h"
#include "gcn-interp/testing/executed.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::gcn::test {

inline constexpr uint32_t kDefaultModeBits = 0x3f0;
inline constexpr uint16_t v(unsigned n) { return static_cast<uint16_t>(kSrcVgpr0 + n); }

inline const ExecTable& vector_table() {
    static const ExecTable table = [] {
        ExecTable t(host_backend());
        register_vector_alu(t);
        return t;
    }();
    return table;
}

inline Inst make(Op op, Format format, uint16_t dst, std::initializer_list<uint16_t> sources) {
    Inst inst;
    inst.op = op;
    inst.format = format;
    inst.size_bytes = 8;
    inst.dst = dst;
    unsigned n = 0;
    for (const uint16_t s : sources) inst.src[n++] = s;
    if (info(op).has(flag::CarryOut) || info(op).format == Format::VOPC) inst.sdst = kVccLo;
    if (info(op).has(flag::CarryIn) && inst.src[2] == kNoOperand) inst.src[2] = kVccLo;
    return inst;
}

/// One wave of 64 VGPRs; a guard row behind them must never change.
struct Machine {
    static constexpr unsigned kRows = 64;
    std::unique_ptr<VgprRow[]> rows = std::make_unique<VgprRow[]>(kRows + 1);
    Wave wave;
    std::mt19937_64 random{12345};

    Machine() {
        wave.vgpr = rows.get();
        wave.vgpr_count = kRows;
        wave.sgpr_count = 112;
        wave.mode = kDefaultModeBits;
        wave.exec = ~uint64_t{0};
        for (unsigned l = 0; l < kLanes; ++l) rows[kRows].lane[l] = 0x5a5a5a5a;
    }
    bool guard_intact() const {
        return std::all_of(std::begin(rows[kRows].lane), std::end(rows[kRows].lane),
                           [](uint32_t x) { return x == 0x5a5a5a5a; });
    }
    /// @return false when there is no handler
    bool run(const Inst& inst) {
        const ExecFn fn = vector_table().get(inst.op, inst.format);
        if (fn == nullptr) return false;
        ExecContext ctx{wave};
        fn(ctx, inst);
        if (ctx.fault == Fault::None) note_executed(inst);
        return ctx.fault == Fault::None;
    }
    uint32_t& u(unsigned reg, unsigned lane) { return rows[reg].lane[lane]; }
    float f(unsigned reg, unsigned lane) { return std::bit_cast<float>(u(reg, lane)); }
    uint64_t u64(unsigned reg, unsigned lane) { return u(reg, lane) | (uint64_t{u(reg + 1, lane)} << 32); }
    double d(unsigned reg, unsigned lane) { return std::bit_cast<double>(u64(reg, lane)); }
    void set(unsigned reg, unsigned lane, uint32_t value) { u(reg, lane) = value; }
    void set(unsigned reg, unsigned lane, float value) { u(reg, lane) = std::bit_cast<uint32_t>(value); }
    void set64(unsigned reg, unsigned lane, uint64_t value) {
        u(reg, lane) = static_cast<uint32_t>(value);
        u(reg + 1, lane) = static_cast<uint32_t>(value >> 32);
    }
    void set(unsigned reg, unsigned lane, double value) { set64(reg, lane, std::bit_cast<uint64_t>(value)); }

    /// Bits that often form zeros, denormals, infinities and NaNs.
    uint32_t odd_f32() {
        const uint64_t r = random();
        const uint32_t bits = static_cast<uint32_t>(r >> 32);
        switch (r & 15) {
            case 0: return bits & 0x80000000;
            case 1: return bits & 0x807fffff;
            case 2: return (bits & 0x80000000) | 0x7f800000;
            case 3: return bits | 0x7f800000;
            case 4: return (bits & 0x80000003) | 0x3f800000;
            case 5: return (bits & 0x80ffffff) | 0x7e000000;
            default: return bits;
        }
    }
    uint64_t odd_f64() {
        const uint64_t r = random(), bits = random();
        switch (r & 15) {
            case 0: return bits & 0x8000000000000000;
            case 1: return bits & 0x800fffffffffffff;
            case 2: return (bits & 0x8000000000000000) | 0x7ff0000000000000;
            case 3: return bits | 0x7ff0000000000000;
            case 4: return (bits & 0x8000000000000003) | 0x3ff0000000000000;
            default: return bits;
        }
    }
    uint32_t odd_f16() {
        const uint64_t r = random();
        const uint32_t bits = static_cast<uint32_t>(r >> 32) & 0xffff;
        switch (r & 15) {
            case 0: return bits & 0x8000;
            case 1: return bits & 0x83ff;
            case 2: return (bits & 0x8000) | 0x7c00;
            case 3: return bits | 0x7c00;
            default: return bits;
        }
    }
};

template <class F>
bool is_nan_bits(uint64_t bits) {
    return sizeof(F) == 4 ? (bits & 0x7fffffff) > 0x7f800000 : (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
}
/// Equal bits, or both NaN.
template <class F>
bool same(uint64_t a, uint64_t b) {
    return a == b || (is_nan_bits<F>(a) && is_nan_bits<F>(b));
}
inline bool same32(uint32_t a, uint32_t b) { return same<float>(a, b); }
inline bool same64(uint64_t a, uint64_t b) { return same<double>(a, b); }
inline bool same16(uint32_t a, uint32_t b) { return a == b || ((a & 0x7fff) > 0x7c00 && (b & 0x7fff) > 0x7c00); }

// f16 from its definition, without bit tricks: the reference for everything that rounds to f16.

inline double half_value(uint32_t bits) {
    const unsigned e = (bits >> 10) & 31, m = bits & 1023;
    const double sign = (bits & 0x8000) ? -1.0 : 1.0;
    if (e == 31) return m != 0 ? NAN : sign * INFINITY;
    return e == 0 ? sign * std::ldexp(m, -24) : sign * std::ldexp(1024 + m, static_cast<int>(e) - 25);
}

using Wide = __float128;

/// The f16 nearest to an exact value (ties to even), or next above, below, towards zero; by search in the ordered list of all
/// f16.
inline uint32_t reference_half(Wide x, bool negative_zero, unsigned round = 0) {
    if (x != x) return 0x7e00;
    const bool negative = x < 0 || (x == 0 && negative_zero);
    const Wide magnitude = x < 0 ? -x : x;
    const uint32_t sign = negative ? 0x8000 : 0;
    uint32_t low = 0, high = 0x7c00;  // half_value(low) <= magnitude < half_value(high); 0x7c00 stands for 65536 here
    const auto value = [](uint32_t h) { return h == 0x7c00 ? Wide(65536.0) : Wide(half_value(h)); };
    if (magnitude >= Wide(65536.0)) {
        const bool to_max = round == 3 || (round == 1 && negative) || (round == 2 && !negative);
        return sign | (to_max ? 0x7bff : 0x7c00);
    }
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        (value(middle) <= magnitude ? low : high) = middle;
    }
    const Wide below = magnitude - value(low), above = value(high) - magnitude;
    if (below == 0) return sign | low;
    switch (round) {
        case 1: return sign | (negative ? low : high);
        case 2: return sign | (negative ? high : low);
        case 3: return sign | low;
        default: return sign | (below < above || (below == above && (low & 1) == 0) ? low : high);
    }
}

}  // namespace lyra::gcn::test
