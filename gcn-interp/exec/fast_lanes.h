// SPDX-License-Identifier: MIT
// Questions about the addresses of a wave and moves of its lanes, for the fast memory functions; step 6 of the data flow.
#pragma once

#include <algorithm>

#include "gcn-interp/exec/lane_memory.h"

namespace lyra::gcn::fast {

using lane_memory::Destination;
using lane_memory::for_lanes;
using lane_memory::Shape;
using lane_memory::Source;

/// Memory that lanes may reach: lane l at host + o, with o = low[l] - first modulo 2^32, which must not be above last.
struct Window {
    uint8_t* host;
    uint32_t first;
    uint32_t last;
};

/// What plain C++ makes of it.
template <Backend kBackend>
struct Lanes {
    /// All active lanes have o <= last.
    static bool inside(const uint32_t* low, const Window& w, uint64_t exec) {
        if (exec == kAllLanes) {
            uint32_t highest = 0;
            for (unsigned l = 0; l < kLanes; ++l) highest = std::max(highest, low[l] - w.first);
            return highest <= w.last;
        }
        uint32_t highest = 0;
        for_lanes(exec, [&](unsigned l) { highest = std::max(highest, low[l] - w.first); });
        return highest <= w.last;
    }
    /// All active lanes have row[l] == start + l * step.
    static bool on_line(const uint32_t* row, uint32_t start, uint32_t step, uint64_t exec) {
        uint32_t different = 0;
        if (exec == kAllLanes)
            for (unsigned l = 0; l < kLanes; ++l) different |= row[l] ^ (start + l * step);
        else
            for_lanes(exec, [&](unsigned l) { different |= row[l] ^ (start + l * step); });
        return different == 0;
    }
    /// Elements side by side. @param line  where lane 0 would be
    template <Shape kShape>
    static void load_line(Destination<kShape>& to, const uint8_t* line, uint64_t exec) {
        if (exec == kAllLanes) return lane_memory::load_block<kShape>(line, to);
        for_lanes(exec, [&](unsigned l) { to.put(l, line + l * kShape.bytes); });
    }
    template <Shape kShape>
    static void store_line(const Source<kShape>& from, uint8_t* line, uint64_t exec) {
        if (exec == kAllLanes) return lane_memory::store_block<kShape>(from, line);
        for_lanes(exec, [&](unsigned l) { from.get(l, line + l * kShape.bytes); });
    }
    /// One element for all.
    template <Shape kShape>
    static void load_same(Destination<kShape>& to, const uint8_t* host, uint64_t exec) {
        if (exec == kAllLanes) return lane_memory::load_one<kShape>(host, to);
        uint8_t once[kShape.bytes];
        std::memcpy(once, host, kShape.bytes);
        for_lanes(exec, [&](unsigned l) { to.put(l, once); });
    }
    template <Shape kShape>
    static void load_lanes(Destination<kShape>& to, const uint32_t* low, const Window& w, uint64_t exec) {
        for_lanes(exec, [&](unsigned l) { to.put(l, w.host + (low[l] - w.first)); });
    }
    template <Shape kShape>
    static void store_lanes(const Source<kShape>& from, const uint32_t* low, const Window& w, uint64_t exec) {
        for_lanes(exec, [&](unsigned l) { from.get(l, w.host + (low[l] - w.first)); });
    }
};

}  // namespace lyra::gcn::fast
