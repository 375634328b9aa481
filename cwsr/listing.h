// SPDX-License-Identifier: MIT
// A save area as a file or as a debugger's copy of memory: its waves with their registers, and a listing of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cwsr/image.h"

namespace lyra::cwsr {

/// Read a save area as it lies in memory: the header that the driver writes there, the control stack, the records.
/// @param ring_bytes of the AQL ring, 0 when it is not known or of another kind
Image read_save_area(const ReadArea& read, uint32_t ring_bytes);

/// All that a wave's record holds.
struct WaveRegisters {
    std::vector<uint32_t> sgprs;                     ///< VCC, XNACK_MASK and FLAT_SCRATCH are the last six that are allocated
    std::vector<std::array<uint32_t, 64>> vgprs;     ///< by lane
    std::vector<uint32_t> lds;                       ///< of the work-group, in its first wave
    std::array<uint32_t, 16> ttmps{};                ///< those that the trap handler keeps: 4 to 11, 13
    bool operator==(const WaveRegisters&) const = default;
};

/// @return false: the save area is not readable there
bool read_registers(const WaveImage& wave, const ReadArea& read, WaveRegisters& registers);

/// Where registers lie in the save area, for those who want to change them. Bytes from its start.
uint64_t sgpr_offset(const WaveImage& wave, unsigned sgpr);
uint64_t vgpr_offset(const WaveImage& wave, unsigned vgpr, unsigned lane);
uint64_t pc_offset(const WaveImage& wave);

/// What the device's trace says of a wave that is interrupted (event wave_saved), from its record.
struct WaveDigest {
    uint64_t pc = 0, exec = 0, sgprs = 0, vgprs = 0;  ///< the last two are hashes
    auto operator<=>(const WaveDigest&) const = default;
};
WaveDigest digest(const WaveImage& wave, const WaveRegisters& registers);

struct ListingOptions {
    bool registers = true;  ///< SGPRs and VGPRs, not only a line for each wave
    bool lds = false;
};
/// A line for each wave, and its registers below; equal lanes of a VGPR are counted instead of repeated.
std::string listing(const Image& image, const ReadArea& read, const ListingOptions& options);

}  // namespace lyra::cwsr
