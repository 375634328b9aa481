// SPDX-License-Identifier: MIT
// Fetch of operands that are no VGPR; step 6 of the data flow.
#include "gcn-interp/exec/valu_operand.h"

#include "gcn-interp/exec/scalar.h"

namespace lyra::gcn {

namespace {

/// Inline floats 240..248 in f16. 16-bit integers get the f32 instead. @source LLVM AMDGPUBaseInfo.cpp,
/// getInlineEncodingV216(): "the actual HW behavior"
constexpr uint16_t kInlineHalf[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};

constexpr ConstantRows make_constant_rows() {
    ConstantRows t{};
    const auto fill = [](VgprRow& row, uint32_t value) {
        for (uint32_t& lane : row.lane) lane = value;
    };
    for (unsigned i = 0; i < kInlineIntegers; ++i) fill(t.integer[i], i <= 64 ? i : 64 - i);
    for (unsigned i = 0; i < kInlineFloats; ++i) {
        fill(t.half[i], kInlineHalf[i]);
        fill(t.single[i], scalar::detail::kFloat32[i]);
        fill(t.double_high[i], hi32(scalar::detail::kFloat64[i]));
        fill(t.double_low[i], lo32(scalar::detail::kFloat64[i]));
    }
    return t;
}

}  // namespace

constinit const ConstantRows kConstantRows = make_constant_rows();

uint64_t scalar_operand(const Wave& wave, const Inst& inst, uint16_t operand, const Elem& elem) {
    if (elem.bits != 64) {
        const bool inline_half = elem.bits == 16 && elem.is_float && operand >= 240 && operand <= 248;
        return inline_half ? kInlineHalf[operand - 240] : scalar::source32(wave, inst, operand);
    }
    if (operand == kSrcLiteral && elem.is_float) return uint64_t{inst.literal} << 32;
    return elem.is_signed ? scalar::source64_signed(wave, inst, operand) : scalar::source64(wave, inst, operand);
}

uint64_t mask_operand(const Wave& wave, const Inst& inst, Extra extra) {
    if (extra == Extra::Vcc || inst.src[2] == kNoOperand || inst.src[2] == kVccLo) return wave.vcc();
    return scalar::source64(wave, inst, inst.src[2]);
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
