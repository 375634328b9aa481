// SPDX-License-Identifier: MIT
// The memories of one compute unit and the maps of what is taken of them; step 6 of the data flow.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>

#include "gcn-interp/cu/code_cache.h"
#include "gcn-interp/cu/compute_unit.h"
#include "gcn-interp/exec/page_cache.h"

namespace lyra::gcn {

inline constexpr unsigned kTtmps = 16;  ///< trap registers, which a wave with a trap handler takes of the SGPRs
inline constexpr uint32_t kLdsGranule = same_for_all_chips(&ChipFacts::lds_granule);
inline constexpr unsigned kLdsGranules = kLdsBytes / kLdsGranule;
static_assert(kVgprsPerSimd / kVgprGranule == 64, "one SIMD's VGPR map is one word");

using LdsMap = std::bitset<kLdsGranules>;

/// What of a CU's registers is taken.
struct RegisterMaps {
    std::array<uint64_t, kSimdsPerCu> vgprs{};  ///< bit per granule
    std::array<unsigned, kSimdsPerCu> sgprs{};  ///< taken, TTMPs among them
};

/// What poisoned registers and LDS hold: no canonical address, a signalling NaN as f32 and f64, no small integer.
inline constexpr uint32_t kPoison = 0x7fb5a5a5;

struct ComputeUnit::Storage {
    Storage(MemoryPort& memory, Chip chip) : code(memory, chip, false), tracked_code(memory, chip, true), pages(memory) {}

    std::array<std::array<VgprRow, kVgprsPerSimd>, kSimdsPerCu> vgprs{};
    std::array<uint8_t, kLdsBytes> lds{};
    RegisterMaps taken;
    LdsMap lds_taken;
    unsigned barriers_taken = 0;
    CodeCache code;
    CodeCache tracked_code;  ///< as waves execute it whose floating-point exceptions are tracked
    PageCache pages;
};

/// Registers that one wave of the launch takes.
struct WaveRegisters {
    unsigned vgprs;        ///< multiple of kVgprGranule
    unsigned sgprs;        ///< multiple of kSgprGranule, without TTMPs
    unsigned sgprs_taken;  ///< with TTMPs
};
WaveRegisters wave_registers(const WorkgroupLaunch& launch);

/// The launch's waves have a trap handler and TTMPs.
inline bool traps_enabled(const WorkgroupLaunch& launch) { return bit(launch.rsrc2, 6) && launch.tba != 0; }

/// Lanes of wave `number` that have a work-item.
uint64_t valid_lanes(const WorkgroupLaunch& launch, unsigned number);

/// First run of `count` free granules. @return its position, -1 without one
int find_free(uint64_t taken, unsigned count);

}  // namespace lyra::gcn
