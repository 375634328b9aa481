// SPDX-License-Identifier: MIT
// Checks of `lyra test`: how much memory `lyra exec` takes.
#pragma once

#include "tools/lyra/test/report.h"

namespace lyra::cli {

/// A run may take the size of its VRAM and 300 MB: with a large program, and with buffers that fill VRAM.
void test_memory(Report& report);

}  // namespace lyra::cli
