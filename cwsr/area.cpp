// SPDX-License-Identifier: MIT
// Sizes of a queue's save area, as the driver and the runtime compute them.
#include "cwsr/area.h"

#include <algorithm>

#include "common/bits.h"
#include "cwsr/layout.h"
#include "facts/chips.h"

namespace lyra::cwsr {

namespace {
constexpr uint32_t kPage = 4096;
// The driver takes these numbers for all GFX9 chips, also where a compute unit has less.
constexpr uint32_t kWavesPerCu = 40;
constexpr uint32_t kSgprsPerCu = 0x4000, kLdsPerCu = same_for_all_chips(&ChipFacts::lds_bytes), kHwregsPerCu = 0x1000;
constexpr uint32_t kStackBytesPerWave = 8, kDebuggerBytesPerWave = 32;
}  // namespace

AreaSizes area_sizes(uint32_t compute_units, uint32_t shader_engines, Chip chip) {
    const uint32_t vgprs_per_cu = kSimdsPerCu * facts_of(chip).vgprs_per_simd * kVgprBytes;
    const uint32_t waves = std::min(compute_units * kWavesPerCu, shader_engines * kMaxWavesPerEngine);
    AreaSizes sizes;
    sizes.control_stack =
        static_cast<uint32_t>(align_up(kAreaHeaderBytes + waves * kStackBytesPerWave + kHeaderWords * sizeof(uint32_t), kPage));
    sizes.wave_data =
        static_cast<uint32_t>(align_up(compute_units * (vgprs_per_cu + kSgprsPerCu + kLdsPerCu + kHwregsPerCu), kPage));
    sizes.debugger = static_cast<uint32_t>(align_up(waves * kDebuggerBytesPerWave, 64));
    return sizes;
}

}  // namespace lyra::cwsr
