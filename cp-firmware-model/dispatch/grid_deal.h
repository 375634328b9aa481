// SPDX-License-Identifier: MIT
// The work-groups of a grid dealt to parts of the chip, so that each finds again what it had in its caches; step 5 of the data
// flow.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "common/snapshot.h"

namespace lyra {

/// In the order of the grid's walk the groups are dealt to parts in turn, so many at a time. A part launches its own in order,
/// so how many it has launched tells which. Which part has a group depends on nothing but its number: a kernel that is
/// dispatched again finds its memory where it was.
struct GridDeal {
    static constexpr unsigned kMostParts = 16;
    static constexpr uint64_t kMostGroups = uint64_t{1} << 62;

    unsigned parts = 0;   ///< 0: not dealt
    uint32_t stride = 1;  ///< groups at a time
    uint64_t groups = 0;
    std::array<uint64_t, kMostParts> launched{};  ///< of each part

    bool dealt() const { return parts != 0; }
    uint64_t cycle() const { return uint64_t{parts} * stride; }
    /// Groups of a part of which the number is less than so much.
    uint64_t below(unsigned part, uint64_t number) const {
        const uint64_t rest = number % cycle(), before = uint64_t{part} * stride;
        return number / cycle() * stride + (rest <= before ? 0 : std::min<uint64_t>(rest - before, stride));
    }
    uint64_t size(unsigned part) const { return below(part, groups); }
    /// Number of the nth group of a part.
    uint64_t number(unsigned part, uint64_t nth) const {
        return nth / stride * cycle() + uint64_t{part} * stride + nth % stride;
    }
    /// Groups of a part that follow one another, from its nth on.
    uint64_t run(unsigned part, uint64_t nth) const {
        return nth < size(part) ? std::min(stride - nth % stride, size(part) - nth) : 0;
    }
    /// The part with the lowest group that has not been launched; parts: all have been launched.
    unsigned lowest() const {
        unsigned part = parts;
        for (unsigned n = 0; n < parts; ++n)
            if (launched[n] < size(n) && (part == parts || number(n, launched[n]) < number(part, launched[part]))) part = n;
        return part;
    }
    /// All groups below a number have been launched, and no other.
    bool in_order_until(uint64_t number) const {
        for (unsigned n = 0; n < parts; ++n)
            if (launched[n] != below(n, number)) return false;
        return true;
    }
    void visit(StateVisitor& v) {
        v("parts", parts, kMostParts);
        v("stride", stride);
        v("groups", groups, kMostGroups);
        v("launched", launched);
        if (!dealt() || sound()) return;
        v.refuse("a grid is dealt as none can be");
        *this = {};
    }
    /// What a stream or an MQD has may be anything.
    bool sound() const {
        if (parts < 2 || parts > kMostParts || stride == 0 || groups > kMostGroups) return false;
        for (unsigned n = 0; n < parts; ++n)
            if (launched[n] > size(n)) return false;
        return lowest() != parts;
    }
};

}  // namespace lyra
