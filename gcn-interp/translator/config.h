// SPDX-License-Identifier: MIT
// What generated code takes for granted of the wave that enters it; step 6 of the data flow.
#pragma once

#include <cstdint>

#include "gcn-interp/wave/mode.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

/// Bits of MODE that generated code wants at their defaults: those of arithmetic, single steps, skipped vector instructions.
inline constexpr uint32_t kTranslatedModeMask =
    kModeMask | static_cast<uint32_t>(ModeBits::DebugEn::kMask | ModeBits::Vskip::kMask);

/// Sizes of the wave's registers: numbers beyond them mean something else, and where VCC and AccVGPRs lie follows from them.
struct CodeConfig {
    uint16_t sgprs = 0;
    uint16_t vgprs = 0;  ///< AccVGPRs among them
    uint16_t acc_first = 0;  ///< row of a0; 0: the chip has no AccVGPRs
    bool operator==(const CodeConfig&) const = default;
    /// The SGPR that FLAT_SCRATCH, XNACK_MASK or VCC is: they have two names. Other operands are what they are.
    unsigned physical(unsigned operand) const {
        const unsigned base = (sgprs < 108 ? sgprs : 108u) - 6;  // Wave::special_base()
        return operand >= kFlatScratchLo && operand < kTtmp0 ? base + (operand - kFlatScratchLo) : operand;
    }
    static CodeConfig of(const Wave& wave) { return {wave.sgpr_count, wave.vgpr_count, wave.acc_first}; }
};

/// Generated code may run the wave now.
inline bool may_run_translated(const Wave& wave) {
    return ((wave.mode ^ kModeDefault) & kTranslatedModeMask) == 0 && !wave.priv();
}

}  // namespace lyra::gcn
