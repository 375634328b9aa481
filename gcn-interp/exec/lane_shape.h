// SPDX-License-Identifier: MIT
// What one lane of a memory instruction moves; step 6 of the data flow.
#pragma once

#include <cstdint>

#include "gcn-interp/isa/memory_shape.h"

namespace lyra::gcn::lane_memory {

/// What one lane moves.
struct Shape {
    uint8_t bytes;        ///< 1, 2, 4, 8, 12, 16
    bool sign = false;    ///< sign-extend 8 or 16 bits
    bool d16 = false;     ///< the value goes to one half of the register, the other half stays
    bool hi = false;      ///< that half is the high one; of a store: the value comes from the high half
    constexpr unsigned words() const { return (bytes + 3u) / 4; }
    bool operator==(const Shape&) const = default;
};

/// One element of what an instruction moves.
constexpr Shape element(const MemoryShape& move) { return {move.bytes, move.sign, move.d16, move.hi}; }

}  // namespace lyra::gcn::lane_memory
