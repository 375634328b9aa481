// SPDX-License-Identifier: MIT
#include "tools/lyra/guest/slot_trace.h"

#include <algorithm>
#include <map>

#include "common/trace_text.h"

namespace lyra::cli {

SlotTrace::SlotTrace(std::istream& trace) {
    std::map<uint64_t, uint64_t> slots;  // queue id: address of the descriptor in it
    size_t line = 0;
    read_text_trace(trace, [&](const TraceRecord& e) {
        switch (e.id) {
            case EventId::queue_mapped: slots[e.args[0]] = e.args[3]; break;
            case EventId::queue_unmapped: unmaps_.push_back({line, slots[e.args[0]]}); break;
            case EventId::dispatch_begin: launches_.push_back({line, e.args[2], slots[e.args[1]]}); break;
            default: break;
        }
        ++line;
    });
}

long SlotTrace::unmapped(uint64_t who, uint64_t window, size_t first, uint64_t during) const {
    const auto is_during = [&](const Launch& launch) { return launch.groups == during; };
    const auto begin = std::find_if(launches_.begin(), launches_.end(), is_during);
    const auto end = std::find_if(launches_.rbegin(), launches_.rend(), is_during).base();
    std::vector<size_t> lines;
    uint64_t descriptor = 0;
    for (auto launch = launches_.begin(); launch < end; ++launch) {
        if (launch->groups == window && launch >= begin) lines.push_back(launch->line);
        if (launch->groups == who) descriptor = launch->descriptor;
    }
    if (descriptor == 0 || lines.size() <= first) return -1;
    return std::count_if(unmaps_.begin(), unmaps_.end(), [&](const Unmap& unmap) {
        return unmap.descriptor == descriptor && unmap.line > lines[first] && unmap.line < lines.back();
    });
}

}  // namespace lyra::cli
