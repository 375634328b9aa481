// SPDX-License-Identifier: MIT
// What the back ends of transcendental.h share.
#pragma once

#include <bit>
#include <cstddef>
#include <type_traits>

#include "gcn-interp/exec/transcendental.h"
#include "gcn-interp/wave/fp.h"
#include "gcn-interp/wave/lanes.h"

namespace lyra::gcn {

namespace lane {
float v_exp_f32(float s0);
float v_log_f32(float s0);
}  // namespace lane

namespace transcendental {

using LaneFn = float (*)(float);

/// Lanes that no vector decided. Not inlined, because a call in the loop over vectors would push its constants out of
/// registers.
template <LaneFn kLane>
[[gnu::noinline, gnu::cold]] void each_lane(uint32_t* dst, const uint32_t* src, uint64_t lanes) {
    for (; lanes != 0; lanes &= lanes - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(lanes));
        dst[l] = std::bit_cast<uint32_t>(kLane(std::bit_cast<float>(src[l])));
    }
}

}  // namespace transcendental
}  // namespace lyra::gcn
