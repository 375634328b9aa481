// SPDX-License-Identifier: MIT
// Scratch scoreboard of one queue: which slots of each shader engine hold a wave; step 5 of the data flow.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "common/snapshot.h"

namespace lyra {

/// Slots are shared by all dispatches of a queue. @source docs/spec/front-end.md 4.3
class ScratchSlots {
public:
    static constexpr unsigned kMaxSlots = 4096;  ///< COMPUTE_TMPRING_SIZE.WAVES has 12 bits

    explicit ScratchSlots(unsigned shader_engines) : engines_(shader_engines) {}

    /// Free slots of an engine among the first limit ones.
    unsigned available(unsigned engine, unsigned limit) const {
        const Map& map = engines_[engine];
        unsigned used = 0;
        for (unsigned w = 0; w * 64 < limit; ++w) used += std::popcount(map[w] & mask_of(w, limit));
        return limit - used;
    }

    /// The lowest free slot below limit, or -1.
    int take(unsigned engine, unsigned limit) {
        Map& map = engines_[engine];
        for (unsigned w = 0; w * 64 < limit; ++w) {
            const uint64_t free = ~map[w] & mask_of(w, limit);
            if (free == 0) continue;
            const unsigned b = std::countr_zero(free);
            map[w] |= uint64_t{1} << b;
            return static_cast<int>(w * 64 + b);
        }
        return -1;
    }

    bool is_free(unsigned engine, int slot) const {
        if (slot < 0 || static_cast<unsigned>(slot) >= kMaxSlots) return false;
        return !(engines_[engine][static_cast<unsigned>(slot) / 64] >> (slot % 64) & 1);
    }
    /// A slot that is_free().
    void take_slot(unsigned engine, int slot) {
        engines_[engine][static_cast<unsigned>(slot) / 64] |= uint64_t{1} << (slot % 64);
    }

    void visit(StateVisitor& v) { v.fixed("engines", engines_); }

    void give_back(unsigned engine, int slot) {
        if (slot < 0 || static_cast<unsigned>(slot) >= kMaxSlots) return;
        engines_[engine][slot / 64] &= ~(uint64_t{1} << (slot % 64));
    }

private:
    using Map = std::array<uint64_t, kMaxSlots / 64>;
    static uint64_t mask_of(unsigned word, unsigned limit) {
        const unsigned n = limit - word * 64;
        return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
    }
    std::vector<Map> engines_;
};

}  // namespace lyra
