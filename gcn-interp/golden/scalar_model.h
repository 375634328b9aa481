// SPDX-License-Identifier: MIT
// The reference model of scalar operations that compute: SOP1, SOP2, SOPK, SOPC without flow, hardware registers and relative
// addressing.
#pragma once

#include "gcn-interp/isa/inst.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::golden {

bool models_scalar(gcn::Op op);
/// Execute one instruction that models_scalar() has.
void execute_scalar(gcn::Wave& wave, const gcn::Inst& inst);

}  // namespace lyra::golden
