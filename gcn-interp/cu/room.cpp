// SPDX-License-Identifier: MIT
// Places for waves and work-groups are taken and given back; step 6 of the data flow.
// @source docs/spec/front-end.md 4.1, 4.4
#include "gcn-interp/cu/room.h"

#include <algorithm>
#include <bit>

namespace lyra::gcn {

namespace {

/// Slots of SIMD 0: every fourth.
constexpr uint64_t kSlotsOfFirst = 0x1111111111111111 & granule_mask(0, kWaveSlots);
static_assert(kSimdsPerCu == 4);

/// Byte n, which is waves * 4 + n of SIMD n, that is the least.
uint32_t least(uint32_t ranks) {
    const uint32_t first = std::min(ranks & 0xff, ranks >> 8 & 0xff), second = std::min(ranks >> 16 & 0xff, ranks >> 24);
    return std::min(first, second);
}

unsigned lowest(uint64_t map) { return static_cast<unsigned>(std::countr_zero(map)); }
unsigned lowest(LdsMap map) {
    const auto low = static_cast<uint64_t>(map);
    return low != 0 ? lowest(low) : 64 + lowest(static_cast<uint64_t>(map >> 64));
}

/// Bit n: a run of `count` of the bits begins there.
template <class Word>
Word runs_of(Word free, unsigned count) {
    for (unsigned length = 1; length < count && free != 0;) {
        const unsigned more = std::min(length, count - length);
        free &= free >> more;
        length += more;
    }
    return free;
}

}  // namespace

/// The SIMD with the fewest waves first: work-groups spread evenly.
bool ComputeUnit::Taken::take_wave(const WaveRegisters& needs, WavePlace& place) {
    static_assert(kWaveSlots < 64, "ranks are bytes");
    uint32_t ranks = waves * kSimdsPerCu | 0x03020100;
    for (unsigned tries = 0; tries < kSimdsPerCu; ++tries) {
        const unsigned n = least(ranks) % kSimdsPerCu;
        ranks |= 0xfcu << (8 * n);
        const uint64_t free = ~slots & there & kSlotsOfFirst << n;
        if (free == 0 || simds[n].sgprs + needs.sgprs_taken > kSgprsPerSimd) continue;
        const uint64_t runs = runs_of(~simds[n].vgprs, needs.vgprs >> granule_log2);
        if (runs == 0) continue;
        place = {static_cast<uint8_t>(lowest(free)), static_cast<uint16_t>(lowest(runs) << granule_log2)};
        add_wave(place, needs.vgprs, needs.sgprs_taken);
        return true;
    }
    return false;
}

void ComputeUnit::Taken::add_wave(const WavePlace& place, unsigned vgprs, unsigned sgprs_taken) {
    Simd& simd = simds[place.simd()];
    slots |= uint64_t{1} << place.slot;
    simd.vgprs |= granule_mask(place.first_vgpr >> granule_log2, vgprs >> granule_log2);
    simd.sgprs += sgprs_taken;
    waves += 1u << (8 * place.simd());
}

void ComputeUnit::Taken::give_back_wave(const WavePlace& place, unsigned vgprs, unsigned sgprs_taken) {
    Simd& simd = simds[place.simd()];
    slots &= ~(uint64_t{1} << place.slot);
    simd.vgprs &= ~granule_mask(place.first_vgpr >> granule_log2, vgprs >> granule_log2);
    simd.sgprs -= sgprs_taken;
    waves -= 1u << (8 * place.simd());
}

bool ComputeUnit::Taken::take_group(uint8_t& group) {
    const unsigned first = lowest(~groups);
    if (first >= kMaxWorkgroupsPerCu) return false;
    group = static_cast<uint8_t>(first);
    groups |= uint64_t{1} << first;
    return true;
}

bool ComputeUnit::Taken::take_lds(unsigned granules, uint32_t& base) {
    base = 0;
    if (granules == 0) return true;
    if (granules > kLdsGranules) return false;
    const LdsMap runs = runs_of<LdsMap>(~lds & granule_mask<LdsMap>(0, kLdsGranules), granules);
    if (runs == 0) return false;
    base = lowest(runs) * kLdsGranule;
    lds |= granule_mask<LdsMap>(base / kLdsGranule, granules);
    return true;
}

void ComputeUnit::Taken::give_back_group(uint8_t group, uint32_t lds_base, uint32_t lds_bytes, bool barrier) {
    groups &= ~(uint64_t{1} << group);
    lds &= ~granule_mask<LdsMap>(lds_base / kLdsGranule, lds_bytes / kLdsGranule);
    barriers -= barrier;
}

}  // namespace lyra::gcn
