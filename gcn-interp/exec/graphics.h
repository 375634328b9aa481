// SPDX-License-Identifier: MIT
// Operations of graphics shaders that any wave may execute; step 6 of the data flow.
#pragma once

#include "gcn-interp/exec/exec.h"

namespace lyra::gcn {

/// Interpolation in its VINTRP and VOP3 encodings, and the screen partition.
void register_graphics(ExecTable& table);

}  // namespace lyra::gcn
