// SPDX-License-Identifier: MIT
// Calls of a recording, and what the device did meanwhile, in words.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "common/recording.h"
#include "common/trace.h"

namespace lyra::cli {

/// "CP_MEC_CNTL", "MMHUB.VM_CONTEXT_CNTL[8]", "0x1234" for one that no table has. @param offset  in BAR5, in bytes
std::string register_text(uint64_t offset);

/// "write CP_MEC_CNTL = 0x50000000 (MEC_ME2_HALT, MEC_ME1_HALT)", without time and memory.
std::string call_text(const RecordedCall& call);

/// "VRAM 0x1000: 64 bytes at 0x20, 8 bytes at 0x800" and "VRAM 0x2000: 5 pages", one each, of the pages that a call found
/// changed.
std::vector<std::string> pages_text(const std::vector<PageChange>& pages);

/// "packet queue=1 kind=0 ...", without time.
std::string event_text(const TraceRecord& record);

/// The events of a text trace (common/trace_text.h) one after the other.
class EventList {
public:
    explicit EventList(const std::string& path) : file_(path) {}
    /// The next one that happened at that time or before. @throws std::runtime_error  a line that is not an event
    std::optional<TraceRecord> next(uint64_t until_ns);

private:
    std::ifstream file_;
    std::optional<TraceRecord> ahead_;
};

}  // namespace lyra::cli
