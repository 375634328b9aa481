// SPDX-License-Identifier: MIT
// SDWA: bytes and words of sources and destination on 64-lane rows; step 6 of the data flow. Inlined into functions of a back
// end.
#pragma once

#include "gcn-interp/isa/inst.h"
#include "gcn-interp/wave/lanes.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

namespace sdwa {

/// A selection of Inst::dst_sel and src_sel: 0..3 bytes, 4 and 5 words, 6 the dword.
struct Field {
    uint8_t low, width;
};
inline constexpr Field kFields[8] = {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {0, 16}, {16, 16}, {0, 32}, {0, 32}};

inline constexpr uint8_t kDword = 6;
enum Unused : uint8_t { kPad = 0, kSignExtend = 1, kPreserve = 2 };

}  // namespace sdwa

/// Byte or word of a source; sel as in Inst. in and out are apart.
inline void sdwa_source(uint8_t sel, bool sign_extended, const uint32_t* in, uint32_t* out) {
    const sdwa::Field field = sdwa::kFields[sel & 7];
    const unsigned up = 32u - field.low - field.width, down = 32u - field.width;
    if (sign_extended) {
        LYRA_INDEPENDENT_LANES
        for (unsigned l = 0; l < kLanes; ++l) out[l] = static_cast<uint32_t>(static_cast<int32_t>(in[l] << up) >> down);
    } else {
        LYRA_INDEPENDENT_LANES
        for (unsigned l = 0; l < kLanes; ++l) out[l] = (in[l] << up) >> down;
    }
}

/// Put a result into the selected byte or word of the old destination. out may be value.
inline void sdwa_destination(const Inst& inst, const uint32_t* value, const uint32_t* old, uint32_t* out) {
    const sdwa::Field field = sdwa::kFields[inst.dst_sel & 7];
    const unsigned down = 32u - field.width;
    const uint32_t keep = inst.dst_unused == sdwa::kPreserve ? ~((0xffffffffu >> down) << field.low) : 0;
    const uint32_t above = inst.dst_unused == sdwa::kSignExtend ? 0xffffffffu : 0;
    LYRA_INDEPENDENT_LANES
    for (unsigned l = 0; l < kLanes; ++l) {
        const uint32_t extended = static_cast<uint32_t>(static_cast<int32_t>(value[l] << down) >> down);
        const uint32_t narrow = (value[l] << down) >> down;
        const uint32_t placed = (above != 0 ? extended : narrow) << field.low;
        out[l] = placed | (old[l] & keep);
    }
}

}  // namespace lyra::gcn
