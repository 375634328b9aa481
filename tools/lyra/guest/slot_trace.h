// SPDX-License-Identifier: MIT
// Which queue kept its hardware slot over which time, from the text trace (.tsv) of a guest.
#pragma once

#include <cstdint>
#include <istream>
#include <vector>

namespace lyra::cli {

/// Queues are named by the number of work-groups of a grid that only they launch.
class SlotTrace {
public:
    /// @throws std::runtime_error  a line that is not an event
    explicit SlotTrace(std::istream& trace);

    /// How often the queue that launches grids of who work-groups lost its slot between two grids of window work-groups: the
    /// one with number first, counted from 0, and the last one. Other programs may have such grids, too, and their queues the
    /// same descriptors, so grids of window work-groups count between the first and the last one of during work-groups only.
    /// @return -1 when there are no such grids
    long unmapped(uint64_t who, uint64_t window, size_t first, uint64_t during) const;

private:
    struct Launch {
        size_t line;
        uint64_t groups, descriptor;
    };
    struct Unmap {
        size_t line;
        uint64_t descriptor;
    };
    std::vector<Launch> launches_;
    std::vector<Unmap> unmaps_;
};

}  // namespace lyra::cli
