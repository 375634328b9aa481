// SPDX-License-Identifier: MIT
// Debian's own libraries in the guest: the test programs of rocRAND as they are in librocrand1-tests, and rocBLAS.
#pragma once

#include "tools/lyra/guest/machine.h"
#include "tools/lyra/test/report.h"

namespace lyra::cli {

/// all: every program that is known to end within minutes; otherwise those that take seconds.
void test_libraries(const GuestOptions& options, bool all, Report& report);

}  // namespace lyra::cli
