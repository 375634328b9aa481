// SPDX-License-Identifier: MIT
// Trace sink that writes one line of text an event, for programs that measure.
#pragma once

#include <functional>
#include <istream>
#include <memory>
#include <string>

#include "common/trace.h"

namespace lyra {

/// An event of a single wave: block sq.
bool of_wave(EventId id);

/// Lines of "time_ns<TAB>event<TAB>arguments in decimal...", in the order of events.def.
/// @param waves  false: without the events of single waves
/// @return nullptr when the file cannot be written; error then says why
std::unique_ptr<TraceSink> open_text_trace(const std::string& path, bool waves, std::string& error);

/// Calls each for the events of such a file.
/// @throws std::runtime_error  a line that is not one
void read_text_trace(std::istream& in, const std::function<void(const TraceRecord&)>& each);

/// The sink for a file by its name: text for .tsv, Perfetto's format, which has the waves, for all others.
std::unique_ptr<TraceSink> open_trace(const std::string& path, bool waves_in_text, std::string& error);

}  // namespace lyra
