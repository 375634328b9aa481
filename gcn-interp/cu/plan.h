// SPDX-License-Identifier: MIT
// Where the waves, registers and LDS of a work-group go.
#pragma once

#include "gcn-interp/cu/storage.h"

namespace lyra::gcn {

struct WavePlace {
    uint8_t slot = 0;
    uint16_t first_vgpr = 0;  ///< in the SIMD's register file
};

struct ComputeUnit::Needs {
    unsigned waves = 0;
    WaveRegisters registers{};
    unsigned lds_granules = 0;

    static Needs of(const WorkgroupLaunch& launch);
    static Needs of(const WorkgroupRestore& group);
    /// An empty CU could hold it.
    bool possible() const;
};

struct ComputeUnit::Plan {
    unsigned waves = 0;
    uint8_t group = 0;
    unsigned lds_granules = 0;
    uint32_t lds_base = 0;  ///< bytes
    std::array<WavePlace, kMaxWavesPerWorkgroup> place{};
};

inline constexpr uint64_t kRestoreEntry = 4;  ///< bytes behind the trap handler's first entry

/// Event wave_trap: what made a wave enter its handler, beside TrapIDs.
inline constexpr uint32_t kCauseException = 0x100;  ///< + bit of TRAPSTS
inline constexpr uint32_t kHostTrap = 0x100;        ///< with the TrapID: HT of TTMP1
inline constexpr uint32_t kCauseHost = 0x200, kCauseStep = 0x300;

/// What the handler finds in EXEC: the address of the wave's record, and in bit 58 whether the LDS belongs to it.
/// @source cwsr_trap_handler_gfx9.asm S_SAVE_SPI_INIT_FIRST_WAVE_MASK
constexpr uint64_t record_answer(uint64_t record, bool first) {
    return (record & ((uint64_t{1} << 48) - 1)) | uint64_t{first} << 58;
}

constexpr uint64_t granule_mask(unsigned first, unsigned count) {
    return (count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << first;
}

/// Take a slot and registers for one more wave. @return false when no SIMD has them
bool place_wave(const WaveRegisters& needs, uint64_t& slots_taken, RegisterMaps& taken, WavePlace& place);

}  // namespace lyra::gcn
