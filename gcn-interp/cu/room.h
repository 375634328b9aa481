// SPDX-License-Identifier: MIT
// What of a compute unit is taken, and where a work-group goes; steps 5 and 6 of the data flow.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>

#include "gcn-interp/cu/compute_unit.h"

namespace lyra::gcn {

inline constexpr unsigned kTtmps = 16;  ///< trap registers, which a wave with a trap handler takes of the SGPRs
inline constexpr uint32_t kLdsGranule = same_for_all_chips(&ChipFacts::lds_granule);
inline constexpr unsigned kLdsGranules = kLdsBytes / kLdsGranule;
static_assert(std::all_of(std::begin(kChips), std::end(kChips),
                          [](const ChipFacts& chip) { return chip.vgprs_per_simd / chip.vgpr_granule == 64; }),
              "one SIMD's VGPR map is one word");
static_assert(kMaxWorkgroupsPerCu <= 64 && kWaveSlots <= 64, "so are those of work-groups and of wave slots");

__extension__ using LdsMap = unsigned __int128;  ///< bit per granule
static_assert(kLdsGranules <= 8 * sizeof(LdsMap));

/// A run of bits. @param first, count  within the word
template <class Word = uint64_t>
constexpr Word granule_mask(unsigned first, unsigned count) {
    return (count >= 8 * sizeof(Word) ? ~Word{0} : (Word{1} << count) - 1) << first;
}

/// Registers that one wave of the launch takes.
struct WaveRegisters {
    unsigned vgprs;        ///< multiple of the chip's granule, AccVGPRs among them
    unsigned acc_first;    ///< of these the first AccVGPR; 0: the chip has none
    unsigned sgprs;        ///< multiple of kSgprGranule, without TTMPs
    unsigned sgprs_taken;  ///< with TTMPs
};

inline unsigned sgprs_taken(const Wave& wave) { return wave.sgpr_count + (wave.tba ? kTtmps : 0); }

struct WavePlace {
    uint8_t slot = 0;
    uint16_t first_vgpr = 0;  ///< in the SIMD's register file
    unsigned simd() const { return slot % kSimdsPerCu; }
};

struct ComputeUnit::Taken {
    explicit Taken(Chip chip)
        : there(granule_mask(0, facts_of(chip).waves_per_cu())),
          granule_log2(static_cast<unsigned>(std::countr_zero(facts_of(chip).vgpr_granule))) {}

    uint64_t there;         ///< bit per wave slot that the chip has
    unsigned granule_log2;  ///< of VGPRs
    uint64_t slots = 0;   ///< bit per wave slot
    uint64_t groups = 0;  ///< bit per entry of the work-group table
    LdsMap lds = 0;
    struct Simd {
        uint64_t vgprs = 0;  ///< bit per granule
        unsigned sgprs = 0;  ///< TTMPs among them
    };
    std::array<Simd, kSimdsPerCu> simds{};
    uint32_t waves = 0;  ///< byte per SIMD
    unsigned barriers = 0;

    /// A slot and registers for one more wave. @return false: no SIMD has them
    bool take_wave(const WaveRegisters& needs, WavePlace& place);
    /// The first free entry of the table. @return false: there is none
    bool take_group(uint8_t& group);
    /// @param base  in bytes  @return false: so many granules are free nowhere
    bool take_lds(unsigned granules, uint32_t& base);

    void add_wave(const WavePlace& place, unsigned vgprs, unsigned sgprs_taken);
    void give_back_wave(const WavePlace& place, unsigned vgprs, unsigned sgprs_taken);
    void give_back_group(uint8_t group, uint32_t lds_base, uint32_t lds_bytes, bool barrier);
};

}  // namespace lyra::gcn
