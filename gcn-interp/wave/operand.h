// SPDX-License-Identifier: MIT
// Selection of lanes (DPP) on 64-lane rows; step 6 of the data flow.
#pragma once

#include <array>
#include <cstdint>

#include "gcn-interp/isa/inst.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

/// What a DPP_CTRL makes lanes read.
struct DppPattern {
    std::array<uint8_t, kLanes> from;  ///< 0 for lanes without a source
    uint64_t has_source = 0;
};
const DppPattern& dpp_pattern(const Inst& inst);
/// Lanes that the row and bank masks let be written.
uint64_t dpp_enabled_lanes(const Inst& inst);

/// Source 0 as lanes see it through DPP. Lanes without a source read 0.
/// @return lanes that may be written: row and bank masks, and without BOUND_CTRL only lanes that have a source
uint64_t dpp_select(const Inst& inst, uint64_t exec, const uint32_t* in, uint32_t* out);

}  // namespace lyra::gcn
