// SPDX-License-Identifier: MIT
// Flat addresses told apart: LDS and scratch apertures, and global memory; step 6 of the data flow.
#pragma once

#include "gcn-interp/exec/lane_memory.h"

namespace lyra::gcn {

/// The lanes of one flat instruction by the memory they reach.
struct FlatSplit {
    lane_memory::LdsAddresses lds;
    lane_memory::SwizzledAddresses scratch;
    bool outside = false;  ///< a lane is in an aperture's upper, unused part
};

/// True when a lane of a is in one of the wave's apertures. An aperture with base 0 does not exist.
inline bool touches_aperture(const Wave& wave, const lane_memory::LaneAddresses& a) {
    const uint64_t shared = wave.shared_base >> 48, priv = wave.private_base >> 48;
    if (!shared && !priv) return false;
    const uint64_t shared_top = shared ? shared : ~uint64_t{0};
    const uint64_t private_top = priv ? priv : ~uint64_t{0};
    uint64_t hits = 0;
    if (a.active == kAllLanes) {
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            const uint64_t top = a.va[lane] >> 48;
            hits |= uint64_t{top == shared_top} | uint64_t{top == private_top};
        }
    } else {
        lane_memory::for_lanes(a.active, [&](unsigned lane) {
            const uint64_t top = a.va[lane] >> 48;
            hits |= uint64_t{top == shared_top} | uint64_t{top == private_top};
        });
    }
    return hits != 0;
}

/// Move lanes that are in an aperture from a to the split.
FlatSplit split_flat(const Wave& wave, lane_memory::LaneAddresses& a);

/// Start of each lane's private memory: dwords of the 64 lanes lie side by side from FLAT_SCRATCH on.
/// @source LLVM AMDGPUUsage "Flat scratch", gfx9
void scratch_bases(const Wave& wave, lane_memory::SwizzledAddresses& out);

}  // namespace lyra::gcn
