// SPDX-License-Identifier: MIT
// The memories of one compute unit and what is taken of them; step 6 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

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
    Storage(const Env& env, MemoryPort& memory, Chip of)
        : chip(of), vgprs_per_simd(facts_of(of).vgprs_per_simd), vgprs(size_t{kSimdsPerCu} * vgprs_per_simd), taken(of),
          code(env, memory, of, false), tracked_code(env, memory, of, true), pages(memory) {}

    const Chip chip;
    const unsigned vgprs_per_simd;
    std::vector<VgprRow> vgprs;  ///< the files of all SIMDs, one after the other
    VgprRow* file(unsigned simd) { return vgprs.data() + size_t{simd} * vgprs_per_simd; }
    const VgprRow* file(unsigned simd) const { return vgprs.data() + size_t{simd} * vgprs_per_simd; }
    std::array<uint8_t, kLdsBytes> lds{};
    Taken taken;
    const BeginFn begin = begin_function();
    const BeginRowsFn begin_rows = begin_rows_function();
    const SomeRowsFn some_rows = some_rows_function();
    WavePlace place_of(const Wave& wave) const {
        return {wave.slot, static_cast<uint16_t>(wave.vgpr - file(wave.slot % kSimdsPerCu))};
    }

    /// Launched since the compute unit ran, by slot and by number of the work-group: their VGPRs and their LDS are written when
    /// it runs, or when somebody looks.
    uint64_t unwritten_waves = 0, unwritten_groups = 0;
    std::array<uint8_t, kWaveSlots> position{};  ///< of such a wave in its work-group

    CodeCache code;
    CodeCache tracked_code;  ///< as waves execute it whose floating-point exceptions are tracked
    PageCache pages;
    /// Loops may lie across the end of a page.
    static constexpr size_t kLastCodes = 4;
    std::array<LastCode, kLastCodes> last_codes;
    LastCode& last_code(uint64_t va) { return last_codes[va / kPageBytes % kLastCodes]; }
};

}  // namespace lyra::gcn
