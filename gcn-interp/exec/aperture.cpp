// SPDX-License-Identifier: MIT
// Flat addresses told apart: LDS and scratch apertures, and global memory; step 6 of the data flow.
// @source AMD Vega ISA document, "Flat memory instructions"; Linux 6.12 amdkfd/kfd_flat_memory.c for the apertures' place
#include "gcn-interp/exec/aperture.h"

namespace lyra::gcn {

using namespace lane_memory;

void scratch_bases(const Wave& wave, SwizzledAddresses& out) {
    const uint64_t base = static_cast<uint64_t>(sign_extend(wave.flat_scratch(), 48));
    for (unsigned lane = 0; lane < kLanes; ++lane) out.base[lane] = base + lane * 4;
    out.dword_stride = kLanes * 4;
}

FlatSplit split_flat(const Wave& wave, LaneAddresses& a) {
    FlatSplit split;
    scratch_bases(wave, split.scratch);
    const uint64_t shared = wave.shared_base >> 48, priv = wave.private_base >> 48;
    for_lanes(a.active, [&](unsigned lane) {
        const uint64_t va = a.va[lane], top = va >> 48;
        const bool in_lds = shared && top == shared;
        if (!in_lds && !(priv && top == priv)) return;
        a.active &= ~(uint64_t{1} << lane);
        if (bits(va, 32, 16) != 0) {
            split.outside = true;
        } else if (in_lds) {
            split.lds.at[lane] = lo32(va);
            split.lds.active |= uint64_t{1} << lane;
        } else {
            split.scratch.offset[lane] = lo32(va);
            split.scratch.active |= uint64_t{1} << lane;
        }
    });
    return split;
}

}  // namespace lyra::gcn
