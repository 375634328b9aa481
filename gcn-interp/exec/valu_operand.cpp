// SPDX-License-Identifier: MIT
// Fetch of operands that are no VGPR, and source and result modifiers; step 6 of the data flow.
#include "gcn-interp/exec/valu_operand.h"

#include <cfenv>

#include "gcn-interp/exec/scalar.h"
#include "gcn-interp/wave/fp.h"

namespace lyra::gcn {

namespace {

/// Inline floats 240..248 in f16. 16-bit integers get the f32 instead. @source LLVM AMDGPUBaseInfo.cpp,
/// getInlineEncodingV216(): "the actual HW behavior"
constexpr uint16_t kInlineHalf[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};

bool is_inline_float(uint16_t operand) { return operand >= 240 && operand <= 248; }

uint64_t uniform64(const Wave& wave, const Inst& inst, uint16_t operand, const Elem& elem) {
    if (operand == kSrcLiteral && elem.is_float) return uint64_t{inst.literal} << 32;
    return elem.is_signed ? scalar::source64_signed(wave, inst, operand) : scalar::source64(wave, inst, operand);
}

uint32_t uniform32(const Wave& wave, const Inst& inst, uint16_t operand, const Elem& elem) {
    if (elem.bits == 16 && elem.is_float && is_inline_float(operand)) return kInlineHalf[operand - 240];
    return scalar::source32(wave, inst, operand);
}

void flip_signs(uint32_t* out, const uint32_t* in, uint32_t keep, uint32_t flip) {
    for (unsigned l = 0; l < kLanes; ++l) out[l] = (in[l] & keep) ^ flip;
}

int host_rounding(Round round) {
    switch (round) {
        case Round::Up: return FE_UPWARD;
        case Round::Down: return FE_DOWNWARD;
        case Round::Zero: return FE_TOWARDZERO;
        default: return FE_TONEAREST;
    }
}

template <class F>
F omod_and_clamp(F v, uint8_t omod, bool clamp, bool nan_to_zero) {
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

void finish_half(const ModeView& mode, const Rows& rows) {
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
void limit_half_overflow(uint32_t* row) {
    for (unsigned l = 0; l < kLanes; ++l) {
        const float v = std::bit_cast<float>(row[l]);
        if (!fp::is_nan(v) && !fp::is_inf(v) && (v > 65504.0f || v < -65504.0f)) {
            row[l] = std::bit_cast<uint32_t>(v > 0 ? 65504.0f : -65504.0f);
        }
    }
}

void modify_result(const Elem& dst, const Rows& rows, uint8_t omod, bool clamp, bool nan_to_zero) {
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

void flush_pair(const Rows& rows) {
    for (unsigned l = 0; l < rows.lanes; ++l) {
        uint32_t& v = rows.dst_low[l];
        if ((v & 0x7c00) == 0) v &= 0xffff8000;
        if ((v & 0x7c000000) == 0) v &= 0x8000ffff;
    }
}

void finish_float(const Inst& inst, const Elem& dst, const ModeView& mode, const Rows& rows);

/// Two halves in one register, each finished as a result of its own.
void finish_pair(const Inst& inst, const ModeView& mode, const Rows& rows) {
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
void round_halves(const ModeView& mode, const Rows& rows) {
    if (mode.fp16_ovfl) limit_half_overflow(rows.dst_low);
    finish_half(mode, rows);
}

/// omod scales the finished result: what compilers make of it is a multiplication of its own. @source LLVM SIFoldOperands.cpp
void scale_result(const Elem& dst, const ModeView& mode, const Rows& rows, uint8_t omod) {
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

void finish_float(const Inst& inst, const Elem& dst, const ModeView& mode, const Rows& rows) {
    const bool denormals = dst.bits == 32 ? mode.denorm_out32 : mode.denorm_out16_64;
    if (inst.omod != 0 && !denormals && !mode.ieee) scale_result(dst, mode, rows, inst.omod);
    if (inst.clamp) modify_result(dst, rows, 0, true, mode.dx10_clamp);
    if (dst.half_float) round_halves(mode, rows);
    if (!denormals) flush_rows(dst.bits, rows.dst_low, rows.dst_high, rows.lanes);
}

}  // namespace

void flush_rows(unsigned bits, uint32_t* low, uint32_t* high, unsigned lanes) {
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

void fetch_uniform(const Wave& wave, const Inst& inst, uint16_t operand, const Elem& elem, unsigned slot, Scratch& scratch,
                   Rows& rows) {
    uint32_t* low = scratch.src[slot][0].lane;
    rows.low[slot] = low;
    if (elem.bits != 64) {
        fill_row(low, uniform32(wave, inst, operand, elem));
        return;
    }
    const uint64_t value = uniform64(wave, inst, operand, elem);
    uint32_t* high = scratch.src[slot][1].lane;
    fill_row(low, lo32(value));
    fill_row(high, hi32(value));
    rows.high[slot] = high;
}

void fetch_extra(const Wave& wave, const Inst& inst, Extra extra, Scratch& scratch, Rows& rows) {
    VgprRow& row = scratch.src[3][0];
    rows.low[3] = row.lane;
    if (extra == Extra::Literal) {
        fill_row(row.lane, inst.literal);
    } else if (extra == Extra::Vcc || inst.src[2] == kNoOperand || inst.src[2] == kVccLo) {
        expand_mask(wave.vcc(), row);
    } else {
        expand_mask(scalar::source64(wave, inst, inst.src[2]), row);
    }
}

void apply_signs(const Inst& inst, const OpDesc& desc, Scratch& scratch, Rows& rows) {
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

void finish_value(const Inst& inst, const OpDesc& desc, const ModeView& mode, const Rows& rows) {
    if (desc.dst.half_pair) {
        if (inst.omod != 0 || inst.clamp) finish_pair(inst, mode, rows);
        if (!mode.denorm_out16_64) flush_pair(rows);
    } else if (desc.dst.arithmetic) {
        finish_float(inst, desc.dst, mode, rows);
    }
}

void compute_rounded(const Inst& inst, const OpDesc& desc, const ModeView& mode, const Rows& rows) {
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

Inst with_gpr_index(const Wave& wave, const Inst& inst) {
    Inst out = inst;
    const unsigned index = wave.m0 & 0xff, enable = (wave.m0 >> 12) & 0xf;
    for (unsigned n = 0; n < 3; ++n) {
        if (((enable >> n) & 1) && inst.src[n] != kNoOperand && inst.src[n] >= kSrcVgpr0) {
            out.src[n] = static_cast<uint16_t>(inst.src[n] + index);
        }
    }
    if (((enable >> 3) & 1) && inst.dst != kNoOperand) out.dst = static_cast<uint16_t>(inst.dst + index);
    return out;
}

}  // namespace lyra::gcn
