// SPDX-License-Identifier: MIT
// Where the waves, registers and LDS of a work-group go.
#pragma once

#include "gcn-interp/cu/storage.h"

namespace lyra::gcn {

struct WavePlace {
    uint8_t slot = 0;
    uint16_t first_vgpr = 0;  ///< in the SIMD's register file
};

struct ComputeUnit::Plan {
    unsigned waves = 0;
    uint8_t group = 0;
    unsigned lds_granules = 0;
    uint32_t lds_base = 0;  ///< bytes
    std::array<WavePlace, kMaxWavesPerWorkgroup> place{};
};

constexpr uint64_t granule_mask(unsigned first, unsigned count) {
    return (count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << first;
}

/// Take a slot and registers for one more wave. @return false when no SIMD has them
bool place_wave(const WaveRegisters& needs, uint64_t& slots_taken, RegisterMaps& taken, WavePlace& place);

}  // namespace lyra::gcn
