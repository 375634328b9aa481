// SPDX-License-Identifier: MIT
// Instructions by what they cost in virtual time.
#pragma once

#include <cstdint>

#include "gcn-interp/isa/inst.h"

namespace lyra::gcn {

/// Instructions that cost alike.
enum class Pace : uint8_t {
    Scalar,
    Branch,
    Wait,
    End,
    Nop,
    Vector,
    VectorQuarter,
    VectorF64,
    Lds,
    ScalarMemory,
    VectorMemory,
    FlatMemory,
};

Pace pace_of(const Inst& inst);

}  // namespace lyra::gcn
