// SPDX-License-Identifier: MIT
// A save area as it lies in memory, or as a file of its bytes: its waves with all that their records hold.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cwsr/image.h"

namespace lyra::cwsr {

/// Read a save area from the header on that the driver writes there for debuggers.
/// @param ring_bytes of the AQL ring, 0 when it is not known or of another kind
Image read_save_area(const ReadArea& read, uint32_t ring_bytes, Chip chip = Chip::gfx900);

/// The areas of a queue's XCCs, which follow one another. Records are counted from the first one's start, groups in the order
/// of the areas. @param area_bytes of each. @source Linux 6.12 kfd_mqd_manager_v9.c get_wave_state_v9_4_3()
Image read_save_areas(const ReadArea& read, unsigned xccs, uint64_t area_bytes, uint32_t ring_bytes, Chip chip);

/// What the trap handler has written of a wave.
struct WaveRegisters {
    std::vector<uint32_t> sgprs;  ///< all that are allocated; the top six that are usable have other names
    std::vector<std::array<uint32_t, 64>> vgprs;  ///< by lane; behind the VGPRs the AccVGPRs
    std::vector<uint32_t> lds;  ///< of the work-group, in its first wave
};

/// @return false: the save area is not readable there
bool read_registers(const WaveImage& wave, const ReadArea& read, WaveRegisters& registers);

/// What the device's trace says of a wave that is interrupted (event wave_saved), from its record.
struct WaveDigest {
    uint64_t pc = 0, exec = 0, sgprs = 0, vgprs = 0;  ///< the last two are hashes
    auto operator<=>(const WaveDigest&) const = default;
};
WaveDigest digest(const WaveImage& wave, const WaveRegisters& registers);

}  // namespace lyra::cwsr
