// SPDX-License-Identifier: MIT
// Reads events back from a trace file, for comparison with another observer's.
#pragma once

#include <string>
#include <vector>

#include "common/trace.h"

namespace lyra {

/// All events of one kind, in the order in which they were recorded. Events that are drawn as slices are not found.
/// @return false: the file is not there or is not a trace; error says why
bool read_trace_events(const std::string& path, EventId id, std::vector<TraceRecord>& records, std::string& error);

}  // namespace lyra
