// SPDX-License-Identifier: MIT
// The reference model of a whole vector instruction: operands, modifiers, lane selection, masks, one lane after the other.
#pragma once

#include <cstdint>

#include "gcn-interp/isa/inst.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::golden {

/// What the model says beside the new state of the wave.
struct Notes {
    uint32_t flags = 0;  ///< excp bits of all active lanes
};

/// True when the reference model has the operation: a lane function, or a rule of its own for a whole wave.
bool models(gcn::Op op);

/// Execute one vector ALU instruction on a wave (its vgpr rows included).
/// @param nudge  -1, 0, 1: see Lane::nudge
Notes execute(gcn::Wave& wave, const gcn::Inst& inst, int nudge = 0);

}  // namespace lyra::golden
