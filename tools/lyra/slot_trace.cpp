// SPDX-License-Identifier: MIT
#include "tools/lyra/slot_trace.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>

namespace lyra::cli {

SlotTrace::SlotTrace(std::istream& trace) {
    std::map<uint64_t, uint64_t> slots;  // queue id: address of the descriptor in it
    std::string text;
    for (size_t line = 0; std::getline(trace, text); ++line) {
        std::istringstream words(text);
        uint64_t ns = 0, arguments[4] = {};
        std::string event;
        words >> ns >> event;
        if (event != "queue_mapped" && event != "queue_unmapped" && event != "dispatch_begin") continue;
        for (uint64_t& argument : arguments) words >> argument;
        if (event == "queue_mapped") {
            slots[arguments[0]] = arguments[3];
        } else if (event == "queue_unmapped") {
            unmaps_.push_back({line, slots[arguments[0]]});
        } else {
            launches_.push_back({line, arguments[2], slots[arguments[1]]});
        }
    }
}

long SlotTrace::unmapped(uint64_t who, uint64_t window, size_t first) const {
    std::vector<size_t> lines;
    uint64_t descriptor = 0;
    for (const Launch& launch : launches_) {
        if (launch.groups == window) lines.push_back(launch.line);
        if (launch.groups == who) descriptor = launch.descriptor;
    }
    if (descriptor == 0 || lines.size() <= first) return -1;
    return std::count_if(unmaps_.begin(), unmaps_.end(), [&](const Unmap& unmap) {
        return unmap.descriptor == descriptor && unmap.line > lines[first] && unmap.line < lines.back();
    });
}

}  // namespace lyra::cli
