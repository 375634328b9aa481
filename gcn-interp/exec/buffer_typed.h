// SPDX-License-Identifier: MIT
// Buffer access that converts formats, shared by MUBUF (format of the descriptor) and MTBUF (format of the instruction).
#pragma once

#include "gcn-interp/exec/buffer_address.h"
#include "gcn-interp/exec/buffer_format.h"
#include "gcn-interp/exec/exec.h"
#include "gcn-interp/isa/memory_shape.h"

namespace lyra::gcn {

/// Registers of a typed access.
struct TypedShape {
    unsigned components;  ///< 1..4
    bool d16;             ///< two 16-bit components per register
    bool hi;              ///< the one component is in the high half; the other half stays
};

constexpr TypedShape typed(const MemoryShape& move) { return {move.count, move.d16, move.hi}; }

void load_typed(ExecContext& ctx, Wave& wave, const Inst& inst, const BufferAccess& buffer, const BufferFormat& format,
                TypedShape shape);
void store_typed(ExecContext& ctx, Wave& wave, const Inst& inst, const BufferAccess& buffer, const BufferFormat& format,
                 TypedShape shape);

}  // namespace lyra::gcn
