// SPDX-License-Identifier: MIT
// The long proofs of the instruction set: lyra test --isa.
#pragma once

#include "tools/lyra/test/report.h"

namespace lyra::cli {

/// Without sanitizers. One line each: the last one that its program prints.
/// @param jobs  so many programs at a time
void test_isa(unsigned jobs, Report& report);

}  // namespace lyra::cli
