// SPDX-License-Identifier: MIT
// Scalar operand fetch and results, shared by the scalar formats and by the memory formats; step 6 of the data flow.
#pragma once

#include <cstdint>

#include "common/bits.h"
#include "gcn-interp/isa/inst.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::gcn::scalar {

namespace detail {

/// Inline floats 240..248 as f32 and f64. @source AMD Vega ISA document, "SALU source operands"
inline constexpr uint32_t kFloat32[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                        0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
inline constexpr uint64_t kFloat64[] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                        0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                        0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};

/// Apertures of 4 GiB, named by their high half.
inline uint64_t aperture(const Wave& wave, unsigned operand) {
    switch (operand) {
        case 235: return wave.shared_base;
        case 236: return wave.shared_base | 0xffffffffu;
        case 237: return wave.private_base;
        case 238: return wave.private_base | 0xffffffffu;
        default: return 0;  // POPS_EXITING_WAVE_ID: no pixel shaders here
    }
}

inline uint32_t special32(const Wave& wave, const Inst& inst, unsigned operand) {
    if (operand >= 128 && operand <= 192) return operand - 128;
    if (operand >= 193 && operand <= 208) return static_cast<uint32_t>(192 - static_cast<int>(operand));
    if (operand >= 240 && operand <= 248) return kFloat32[operand - 240];
    switch (operand) {
        case 251: return wave.vcc() == 0;
        case 252: return wave.exec == 0;
        case 253: return wave.scc;
        case kSrcLiteral: return inst.literal;
        default: return hi32(aperture(wave, operand));
    }
}

inline uint64_t special64(const Wave& wave, const Inst& inst, unsigned operand) {
    if (operand >= 193 && operand <= 208) return static_cast<uint64_t>(192 - static_cast<int64_t>(operand));
    if (operand >= 240 && operand <= 248) return kFloat64[operand - 240];
    if (operand >= 235 && operand <= 239) return aperture(wave, operand);
    return special32(wave, inst, operand);
}

}  // namespace detail

/// Any scalar source as 32 bits. A 32-bit read of an aperture operand gives its high half, the part that varies.
inline uint32_t source32(const Wave& wave, const Inst& inst, unsigned operand) {
    return operand < 128 ? wave.read_scalar(operand) : detail::special32(wave, inst, operand);
}

/// Any scalar source as 64 bits: inline integers are sign-extended, a literal is zero-extended.
inline uint64_t source64(const Wave& wave, const Inst& inst, unsigned operand) {
    return operand < 128 ? wave.read_scalar64(operand) : detail::special64(wave, inst, operand);
}

/// As source64(), for signed operations: a literal is sign-extended.
inline uint64_t source64_signed(const Wave& wave, const Inst& inst, unsigned operand) {
    if (operand == kSrcLiteral) return static_cast<uint64_t>(sign_extend(inst.literal, 32));
    return source64(wave, inst, operand);
}

}  // namespace lyra::gcn::scalar
