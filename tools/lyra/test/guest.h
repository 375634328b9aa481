// SPDX-License-Identifier: MIT
// The group "guest" of `lyra test`: HIP programs in one guest, programs that talk to the kernel driver itself in another.
#pragma once

#include "tools/lyra/guest/machine.h"
#include "tools/lyra/test/report.h"

namespace lyra::cli {

/// The property with which guests run that have no virtual time: a driver or a program that forgets a flush fails.
inline constexpr const char* kStrict = "strict=tlb,,hdp,,l2";

void test_guest(const GuestOptions& options, Report& report);

/// The group "packages": programs that use more of Debian's packages, in a guest that has them.
void test_packages(const GuestOptions& options, Report& report);

}  // namespace lyra::cli
