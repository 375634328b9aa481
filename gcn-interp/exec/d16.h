// SPDX-License-Identifier: MIT
// D16 loads where they do not keep the other half of their register; step 6 of the data flow.
#pragma once

#include "gcn-interp/exec/formats.h"

namespace lyra::gcn {

/// On gfx90a and later, with AccVGPRs in the file of the VGPRs, the half that a D16 load does not write becomes 0.
/// @source LLVM D112635 (the half is not kept, also without SRAM ECC); that it is 0 from kernels of rocBLAS, which add the
/// halves up [inferred]
template <bool kHi>
void clear_other_half(ExecContext& ctx, const Inst& inst) {
    Wave& wave = ctx.wave;
    if (!facts_of(wave.chip).acc_vgprs || ctx.fault != Fault::None || inst.dst >= wave.vgpr_count) return;
    uint32_t* const row = wave.vgpr[inst.dst].lane;
    for (unsigned lane = 0; lane < kLanes; ++lane)
        if (bit(wave.exec, lane)) row[lane] &= kHi ? 0xffff0000 : 0x0000ffff;
}

/// Quick, and what a D16 load does to the other half.
template <template <lane_memory::Shape, Direction, WaveFn> class Quick>
struct WithD16 {
    template <lane_memory::Shape kShape, Direction kDirection, WaveFn kFn>
    struct Of {
        template <Backend kBackend>
        static void run(ExecContext& ctx, const Inst& inst) {
            Quick<kShape, kDirection, kFn>::template run<kBackend>(ctx, inst);
            if constexpr (kShape.d16 && kDirection == Direction::Load) clear_other_half<kShape.hi>(ctx, inst);
        }
    };
};

}  // namespace lyra::gcn
