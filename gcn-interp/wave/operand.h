// SPDX-License-Identifier: MIT
// Selection of lanes (DPP) on 64-lane rows; step 6 of the data flow.
#pragma once

#include <cstdint>

#include "gcn-interp/isa/inst.h"

namespace lyra::gcn {

/// Source 0 as lanes see it through DPP. Lanes without a source read 0.
/// @return lanes that may be written: row and bank masks, and without BOUND_CTRL only lanes that have a source
uint64_t dpp_select(const Inst& inst, uint64_t exec, const uint32_t* in, uint32_t* out);

}  // namespace lyra::gcn
