// SPDX-License-Identifier: MIT
// Passes over rows of operands and results, for the paths that take any modifier and MODE; step 6 of the data flow.
// Everything here is inlined into functions of a back end (wave/backend.h).
#pragma once

#include <cfenv>
#include <cstring>

#include "gcn-interp/exec/valu_operand.h"
#include "gcn-interp/wave/fp.h"

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

template <class F>
inline F omod_and_clamp(F v, uint8_t omod, bool clamp, bool nan_to_zero) {
    if (omod != 0) {
        v *= omod == 1 ? F(2) : (omod == 2 ? F(4) : F(0.5));
        if (v == 0) v = 0;  // -0 becomes +0
    }
    if (clamp) {
        if (fp::is_nan(v)) return nan_to_zero ? F(0) : v;
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

inline void modify_result(const OpDesc& desc, const Rows& rows, uint8_t omod, bool clamp, bool nan_to_zero) {
    for (unsigned l = 0; l < kLanes; ++l) {
        if (desc.dst.bits == 64) {
            const double v =
                omod_and_clamp(std::bit_cast<double>(make64(rows.dst_low[l], rows.dst_high[l])), omod, clamp, nan_to_zero);
            rows.dst_low[l] = lo32(std::bit_cast<uint64_t>(v));
            rows.dst_high[l] = hi32(std::bit_cast<uint64_t>(v));
        } else if (desc.dst.bits == 32 || desc.dst.half_float) {
            rows.dst_low[l] =
                std::bit_cast<uint32_t>(omod_and_clamp(std::bit_cast<float>(rows.dst_low[l]), omod, clamp, nan_to_zero));
        } else {
            const float v = omod_and_clamp(fp::half_to_float(rows.dst_low[l]), omod, clamp, nan_to_zero);
            rows.dst_low[l] = fp::float_to_half<Round::NearestEven>(v);
        }
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

/// abs, then neg, on the float sources that ask for it.
inline void apply_signs(const Inst& inst, const OpDesc& desc, Scratch& scratch, Rows& rows) {
    for (unsigned n = 0; n < desc.sources; ++n) {
        const bool neg = (inst.neg >> n) & 1, abs = (inst.abs >> n) & 1;
        const Elem& elem = desc.src[n];
        if (!elem.is_float || !(neg || abs)) continue;
        const uint32_t sign = elem.bits == 16 ? 0x8000u : 0x80000000u;
        const uint32_t keep = abs ? ~sign : ~0u, flip = neg ? sign : 0u;
        const unsigned half = elem.bits == 64 ? 1 : 0;
        const uint32_t*& row = half != 0 ? rows.high[n] : rows.low[n];
        flip_signs(scratch.src[n][half].lane, row, keep, flip);
        row = scratch.src[n][half].lane;
    }
}

/// Round, scale (omod), clamp and flush a value computed into rows.dst_*; afterwards the rows hold register bits.
inline void finish_value(const Inst& inst, const OpDesc& desc, const ModeView& mode, const Rows& rows) {
    const Elem& dst = desc.dst;
    if (!dst.arithmetic) return;
    const bool single = dst.bits == 32;
    const bool denormals = single ? mode.denorm_out32 : mode.denorm_out16_64;
    const uint8_t omod = denormals || mode.ieee ? uint8_t{0} : inst.omod;
    if (omod != 0 || inst.clamp) modify_result(desc, rows, omod, inst.clamp, mode.dx10_clamp);
    if (dst.half_float) {
        if (mode.fp16_ovfl) limit_half_overflow(rows.dst_low);
        finish_half(mode, rows);
    }
    if (!denormals) flush_rows(dst.bits, rows.dst_low, rows.dst_high, rows.lanes);
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
