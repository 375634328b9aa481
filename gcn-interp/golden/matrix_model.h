// SPDX-License-Identifier: MIT
// The reference model of matrix multiply-adds: element by element, each found by the formulas of AMD's calculator; the shape is
// read from the mnemonic.
#pragma once

#include "gcn-interp/isa/inst.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::golden {

/// Execute one v_mfma_*.
void execute_matrix(gcn::Wave& wave, const gcn::Inst& inst);

}  // namespace lyra::golden
