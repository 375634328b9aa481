// SPDX-License-Identifier: MIT
// Trace events of the guest's kernel (ftrace), recorded in the clock of the device's events.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/trace_perfetto.h"

namespace lyra::cli {

/// @param events  as in tracefs: SYSTEM:EVENT, or SYSTEM for all of one
/// @param command  of the shell; it leaves the variable `status`
/// @return a shell script that runs command while the kernel records events, then writes them to port, and exits with its
///         status; 70 when there is no such event
std::string kernel_events_script(const std::vector<std::string>& events, const std::string& command, const std::string& port);

struct KernelEvents {
    std::vector<KernelEvent> events;
    uint64_t lost = 0;  ///< that did not fit into the kernel's buffer
};

/// @param text  the file `trace` of tracefs, with the clock x86-tsc: in virtual time one tick of it is 1 ns of the device's
/// clock
///              (QEMU's instruction counting makes both from one counter)
/// @throws std::runtime_error  a line that is not an event
KernelEvents read_kernel_events(std::string_view text);

}  // namespace lyra::cli
