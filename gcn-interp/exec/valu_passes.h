// SPDX-License-Identifier: MIT
// Passes over rows of operands and results, for the paths that take any modifier and MODE; step 6 of the data flow.
// Everything here is inlined into functions of a back end (wave/backend.h).
#pragma once

#include <cfenv>
#include <cstring>

#include "gcn-interp/exec/valu_operand.h"
#include "gcn-interp/wave/fp.h"
#include "gcn-interp/wave/sdwa.h"

namespace lyra::gcn::passes {

inline void flip_signs(uint32_t* out, const uint32_t* in, uint32_t keep, uint32_t flip) {
    for (unsigned l = 0; l < kLanes; ++l) out[l] = (in[l] & keep) ^ flip;
}

inline int host_rounding(Round round) {
    switch (round) {
        case Round::Up: return FE_UPWARD;
        case Round::Down: return FE_DOWNWARD;
        case Round::Zero: return FE_TOWARDZERO;
        default: return FE_TONEAREST;
    }
}

/// Denormals become zeros of the same sign; rows of 16-, 32- or 64-bit floats.
inline void flush_rows(unsigned bits, uint32_t* low, uint32_t* high, unsigned lanes) {
    for (unsigned l = 0; l < lanes; ++l) {
        if (bits == 64) {
            if ((high[l] & 0x7ff00000) == 0) {
                low[l] = 0;
                high[l] &= 0x80000000;
            }
        } else if (bits == 32) {
            low[l] &= (low[l] & 0x7f800000) == 0 ? 0x80000000 : ~0u;
        } else if ((low[l] & 0x7c00) == 0) {
            low[l] &= 0xffff8000;
        }
    }
}

template <class F>
inline F omod_and_clamp(F v, uint8_t omod, bool clamp, bool nan_to_zero) {
    if (omod != 0) {
        v *= omod == 1 ? F(2) : (omod == 2 ? F(4) : F(0.5));
        if (v == 0) v = 0;  // -0 becomes +0
    }
    if (clamp) {
        if (fp::is_nan(v)) return nan_to_zero ? F(0) : fp::quiet(v);
        v = v > 0 ? (v < 1 ? v : F(1)) : F(0);
    }
    return v;
}

inline void finish_half(const ModeView& mode, const Rows& rows) {
    uint32_t* row = rows.dst_low;
    if (mode.round16_64 == Round::NearestEven) {
        for (unsigned l = 0; l < kLanes; ++l) {
            row[l] = fp::float_to_half<Round::NearestEven>(std::bit_cast<float>(row[l]));
        }
    } else {
        for (unsigned l = 0; l < kLanes; ++l) row[l] = fp::float_to_half(std::bit_cast<float>(row[l]), mode.round16_64);
    }
}

/// FP16_OVFL: a finite result that rounds to infinity becomes the largest finite number.
inline void limit_half_overflow(uint32_t* row) {
    for (unsigned l = 0; l < kLanes; ++l) {
        const float v = std::bit_cast<float>(row[l]);
        if (!fp::is_nan(v) && !fp::is_inf(v) && (v > 65504.0f || v < -65504.0f)) {
            row[l] = std::bit_cast<uint32_t>(v > 0 ? 65504.0f : -65504.0f);
        }
    }
}

inline void modify_result(const Elem& dst, const Rows& rows, uint8_t omod, bool clamp, bool nan_to_zero) {
    for (unsigned l = 0; l < kLanes; ++l) {
        if (dst.bits == 64) {
            const double v =
                omod_and_clamp(std::bit_cast<double>(make64(rows.dst_low[l], rows.dst_high[l])), omod, clamp, nan_to_zero);
            rows.dst_low[l] = lo32(std::bit_cast<uint64_t>(v));
            rows.dst_high[l] = hi32(std::bit_cast<uint64_t>(v));
        } else {
            rows.dst_low[l] =
                std::bit_cast<uint32_t>(omod_and_clamp(std::bit_cast<float>(rows.dst_low[l]), omod, clamp, nan_to_zero));
        }
    }
}

inline void flush_pair(const Rows& rows) {
    for (unsigned l = 0; l < rows.lanes; ++l) {
        uint32_t& v = rows.dst_low[l];
        if ((v & 0x7c00) == 0) v &= 0xffff8000;
        if ((v & 0x7c000000) == 0) v &= 0x8000ffff;
    }
}

inline void finish_float(const Inst& inst, const Elem& dst, const ModeView& mode, const Rows& rows);

/// Two halves in one register, each finished as a result of its own.
inline void finish_pair(const Inst& inst, const ModeView& mode, const Rows& rows) {
    VgprRow half[2];
    const Elem single{16, true, true, false, true};
    for (unsigned h = 0; h < 2; ++h) {
        for (unsigned l = 0; l < kLanes; ++l)
            half[h].lane[l] = std::bit_cast<uint32_t>(fp::half_to_float(rows.dst_low[l] >> (16 * h)));
        Rows one = rows;
        one.dst_low = half[h].lane;
        finish_float(inst, single, mode, one);
    }
    for (unsigned l = 0; l < kLanes; ++l) rows.dst_low[l] = half[0].lane[l] | half[1].lane[l] << 16;
}

/// Round a row of floats to f16.
inline void round_halves(const ModeView& mode, const Rows& rows) {
    if (mode.fp16_ovfl) limit_half_overflow(rows.dst_low);
    finish_half(mode, rows);
}

/// omod scales the finished result: what compilers make of it is a multiplication of its own. @source LLVM SIFoldOperands.cpp
inline void scale_result(const Elem& dst, const ModeView& mode, const Rows& rows, uint8_t omod) {
    if (dst.half_float) {
        round_halves(mode, rows);
        flush_rows(16, rows.dst_low, nullptr, rows.lanes);
        for (unsigned l = 0; l < kLanes; ++l) rows.dst_low[l] = std::bit_cast<uint32_t>(fp::half_to_float(rows.dst_low[l]));
    } else {
        flush_rows(dst.bits, rows.dst_low, rows.dst_high, rows.lanes);
    }
    std::fesetround(host_rounding(dst.bits == 32 ? mode.round32 : mode.round16_64));
    modify_result(dst, rows, omod, false, false);
    std::fesetround(FE_TONEAREST);
}

inline void finish_float(const Inst& inst, const Elem& dst, const ModeView& mode, const Rows& rows) {
    const bool denormals = dst.bits == 32 ? mode.denorm_out32 : mode.denorm_out16_64;
    if (inst.omod != 0 && !denormals && !mode.ieee) scale_result(dst, mode, rows, inst.omod);
    if (inst.clamp) modify_result(dst, rows, 0, true, mode.dx10_clamp);
    if (dst.half_float) round_halves(mode, rows);
    if (!denormals) flush_rows(dst.bits, rows.dst_low, rows.dst_high, rows.lanes);
}

/// abs, then neg, on the float sources that ask for it.
inline void apply_signs(const Inst& inst, const OpDesc& desc, Scratch& scratch, Rows& rows) {
    for (unsigned n = 0; n < desc.sources; ++n) {
        const bool neg = (inst.neg >> n) & 1, abs = (inst.abs >> n) & 1;
        const Elem& elem = desc.src[n];
        if (!elem.is_float || !(neg || abs)) continue;
        const uint32_t sign = elem.half_pair ? 0x80008000u : elem.bits == 16 ? 0x8000u : 0x80000000u;
        const uint32_t keep = abs ? ~sign : ~0u, flip = neg ? sign : 0u;
        const unsigned half = elem.bits == 64 ? 1 : 0;
        const uint32_t*& row = half != 0 ? rows.high[n] : rows.low[n];
        flip_signs(scratch.src[n][half].lane, row, keep, flip);
        row = scratch.src[n][half].lane;
    }
}

/// Round, scale (omod), clamp and flush a value computed into rows.dst_*; afterwards the rows hold register bits.
inline void finish_value(const Inst& inst, const OpDesc& desc, const ModeView& mode, const Rows& rows) {
    if (desc.dst.half_pair) {
        if (inst.omod != 0 || inst.clamp) finish_pair(inst, mode, rows);
        if (!mode.denorm_out16_64) flush_pair(rows);
    } else if (desc.dst.arithmetic) {
        finish_float(inst, desc.dst, mode, rows);
    }
}

/// Run desc.compute with the host rounding as MODE asks.
inline void compute_rounded(const Inst& inst, const OpDesc& desc, const ModeView& mode, const Rows& rows) {
    const ComputeFn compute = inst.clamp && desc.compute_saturating != nullptr ? desc.compute_saturating : desc.compute;
    const bool single = desc.dst.bits == 32;
    const Round round = single ? mode.round32 : mode.round16_64;
    if (round == Round::NearestEven || !desc.dst.arithmetic) {
        compute(rows);
        return;
    }
    std::fesetround(host_rounding(round));
    compute(rows);
    std::fesetround(FE_TONEAREST);
}

}  // namespace lyra::gcn::passes
