// SPDX-License-Identifier: MIT
// Trace sink that writes a Perfetto file (.pftrace).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/trace.h"

namespace lyra {

/// @return nullptr when the file cannot be written; error then says why
std::unique_ptr<TraceSink> open_perfetto_trace(const std::string& path, std::string& error);

/// What the guest's kernel has recorded (tools/lyra/guest/kernel_events.h), in the clock of the device's events.
struct KernelEvent {
    uint64_t time_ns = 0;
    std::string task, name;                                   ///< who was running; the trace event
    std::vector<std::pair<std::string, std::string>> fields;  ///< as the kernel prints them
};

/// Adds them to a complete trace file: a track for each task.
/// @return false: the file cannot be written; error says why
bool append_kernel_events(const std::string& path, const std::vector<KernelEvent>& events, std::string& error);

}  // namespace lyra
