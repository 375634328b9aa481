// SPDX-License-Identifier: MIT
// Sizes of a queue's save area, as the driver and the runtime compute them.
#pragma once

#include <cstdint>

#include "facts/chips.h"

namespace lyra::cwsr {

struct AreaSizes {
    uint32_t control_stack = 0;  ///< bytes, with the header of the area
    uint32_t wave_data = 0;
    uint32_t debugger = 0;
    uint32_t total() const { return control_stack + wave_data; }  ///< what the driver calls cwsr_size
};

/// @source Linux 6.12 kfd_queue.c kfd_queue_ctx_save_restore_size()
AreaSizes area_sizes(uint32_t compute_units, uint32_t shader_engines, Chip chip = Chip::gfx900);

/// Waves that a control stack of the driver's size has room for, and that may therefore be resident on one shader engine.
inline constexpr uint32_t kMaxWavesPerEngine = 512;

}  // namespace lyra::cwsr
