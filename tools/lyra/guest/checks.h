// SPDX-License-Identifier: MIT
// Checks that are shell text in a booted guest, judged by their exit status and output.
#pragma once

#include "tools/lyra/guest/machine.h"
#include "tools/lyra/test/checks.h"
#include "tools/lyra/test/report.h"

namespace lyra::cli {

/// One guest for all checks, each of which becomes a row of the report, and the guest itself one with that name.
/// @return what they have printed
std::string run_checks(const GuestOptions& options, const char* group, const std::string& name,
                       const std::vector<GuestCheck>& checks, GuestJob job, Report& report);

/// Compiled beside the checks, so that they can be named in them.
void compile_for_guest(GuestJob& job, const WorkDir& work, const char* source, const char* file,
                       const std::vector<std::string>& options, const GuestOptions& guest);

/// The programs of kfdtest-ports/guest/kfd, built when they are not yet.
void add_driver_programs(GuestJob& job);

/// tools/hardware/preempt_timing, built when it is not yet.
void add_timing_program(GuestJob& job);

}  // namespace lyra::cli
