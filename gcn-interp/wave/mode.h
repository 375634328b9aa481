// SPDX-License-Identifier: MIT
// The MODE register as vector arithmetic sees it: rounding, denormals, IEEE and clamp rules.
#pragma once

#include <cstdint>

#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

/// Rounding directions as MODE encodes them.
enum class Round : uint8_t { NearestEven = 0, Up = 1, Down = 2, Zero = 3 };

/// The bits of MODE that change what a vector instruction computes, and the value nearly every kernel runs with: round to
/// nearest even, all denormals, DX10_CLAMP, IEEE. @source docs/spec/isa.md 1: the mode of every kernel descriptor seen
inline constexpr uint32_t kModeMask = static_cast<uint32_t>(
    ModeBits::RoundF32::kMask | ModeBits::RoundF16F64::kMask | ModeBits::DenormF32::kMask | ModeBits::DenormF16F64::kMask |
    ModeBits::Dx10Clamp::kMask | ModeBits::Ieee::kMask | ModeBits::Fp16Ovfl::kMask | ModeBits::GprIdxEn::kMask);
inline constexpr uint32_t kModeDefault = static_cast<uint32_t>(ModeBits::DenormF32::kMask | ModeBits::DenormF16F64::kMask |
                                                               ModeBits::Dx10Clamp::kMask | ModeBits::Ieee::kMask);

/// MODE taken apart.
struct ModeView {
    bool ieee = true;
    bool dx10_clamp = true;
    bool fp16_ovfl = false;
    Round round32 = Round::NearestEven;
    Round round16_64 = Round::NearestEven;
    bool denorm_in32 = true, denorm_out32 = true;
    bool denorm_in16_64 = true, denorm_out16_64 = true;

    constexpr ModeView() = default;
    constexpr explicit ModeView(uint32_t mode)
        : ieee(ModeBits::Ieee::get(mode)), dx10_clamp(ModeBits::Dx10Clamp::get(mode)), fp16_ovfl(ModeBits::Fp16Ovfl::get(mode)),
          round32(static_cast<Round>(ModeBits::RoundF32::get(mode))),
          round16_64(static_cast<Round>(ModeBits::RoundF16F64::get(mode))), denorm_in32(ModeBits::DenormF32::get(mode) & 1),
          denorm_out32(ModeBits::DenormF32::get(mode) & 2), denorm_in16_64(ModeBits::DenormF16F64::get(mode) & 1),
          denorm_out16_64(ModeBits::DenormF16F64::get(mode) & 2) {}
};

inline constexpr ModeView kDefaultMode{};

}  // namespace lyra::gcn
