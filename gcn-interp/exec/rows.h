// SPDX-License-Identifier: MIT
// Operands and results of a vector instruction as rows of 64 lanes; step 6 of the data flow.
#pragma once

#include <cstdint>

#include "gcn-interp/wave/mode.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

/// Waves with so few active lanes, the lowest ones, are worth a shorter loop.
inline constexpr unsigned kFewLanes = 8;
inline unsigned lanes_in_use(uint64_t exec) { return exec >> kFewLanes == 0 ? kFewLanes : kLanes; }

/// Where a lane function's loop finds its operands. Slots 0..2 are the sources, slot 3 the extra row.
struct Rows {
    const uint32_t* low[4];
    const uint32_t* high[4];
    uint32_t* dst_low;
    uint32_t* dst_high;
    uint32_t* carry;
    const uint32_t* mask;
    const ModeView* mode;
    unsigned lanes;  ///< kLanes, or kFewLanes: those beyond are not active and need not be looked at
    Rows() {}  // NOLINT: no zeroing, each use sets what it reads
};

using ComputeFn = void (*)(const Rows&);

/// Room for operands that are not register rows. Left uninitialised: each use fills what it reads.
struct Scratch {
    VgprRow src[4][2];
    VgprRow result[2];
    VgprRow carry;
    VgprRow dump;
    Scratch() {}  // NOLINT: no zeroing
};

}  // namespace lyra::gcn
