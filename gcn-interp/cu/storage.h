// SPDX-License-Identifier: MIT
// The memories of one compute unit and what is taken of them; step 6 of the data flow.
#pragma once

#include <array>
#include <cstdint>

#include "gcn-interp/cu/code_cache.h"
#include "gcn-interp/cu/room.h"
#include "gcn-interp/exec/page_cache.h"
#include "gcn-interp/wave/begin.h"

namespace lyra::gcn {

/// What poisoned registers and LDS hold: no canonical address, a signalling NaN as f32 and f64, no small integer.
inline constexpr uint32_t kPoison = 0x7fb5a5a5;

/// What ComputeUnit::execute() looked up last for a page.
struct LastCode {
    CodePage* page = nullptr;
    PageCode* generated = nullptr;  ///< nullptr: look again
    std::shared_ptr<TranslatedPage> owner;  ///< of generated
};

struct ComputeUnit::Storage {
    Storage(const Env& env, MemoryPort& memory, Chip chip)
        : code(env, memory, chip, false), tracked_code(env, memory, chip, true), pages(memory) {}

    std::array<std::array<VgprRow, kVgprsPerSimd>, kSimdsPerCu> vgprs{};
    std::array<uint8_t, kLdsBytes> lds{};
    Taken taken;
    const BeginFn begin = begin_function();
    WavePlace place_of(const Wave& wave) const {
        const VgprRow* const file = vgprs[wave.slot % kSimdsPerCu].data();
        return {wave.slot, static_cast<uint16_t>(wave.vgpr - file)};
    }

    CodeCache code;
    CodeCache tracked_code;  ///< as waves execute it whose floating-point exceptions are tracked
    PageCache pages;
    /// Loops may lie across the end of a page.
    static constexpr size_t kLastCodes = 4;
    std::array<LastCode, kLastCodes> last_codes;
    LastCode& last_code(uint64_t va) { return last_codes[va / kPageBytes % kLastCodes]; }
};

}  // namespace lyra::gcn
