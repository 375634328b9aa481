// SPDX-License-Identifier: MIT
// What a queue had in flight when its waves were saved: words in the reserved part of its MQD, from dword 288 on; step 3.
// Nothing but the MQD, the control stack, the save area and the ring is needed to go on, so a checkpoint of these is enough.
#pragma once

#include <cstdint>

#include "cp-firmware-model/dispatch/grid.h"
#include "cp-firmware-model/queue/hqd.h"

namespace lyra::flight {

inline constexpr uint32_t kMagicAql = 0x4c595243, kMagicPm4 = 0x4c595244;

/// Words of QueueSave::flight.
enum Word : unsigned {
    kMagic = 0,
    kCount = 1,      ///< packets between retirement and fetch, or PM4 dispatches
    kPartial = 2,    ///< 1 + number in the list of the one whose groups are not all launched; 0 = none
    kNextGroup = 3,  ///< its next group: x, y, z
    kActions = 6,    ///< end-of-pipe actions that wait
    kOnce = 7,       ///< 1 + number of the packet that gives its scratch back when it is done; 0 = none
    kRsrc3 = 8,      ///< PM4: of the partial dispatch, beside its request
    kDeal = 9,       ///< of the partial one: parts in bits 15:0, stride in bits 31:16; 0: its groups are launched in order
    kDealBase = 10,  ///< and what each part has launched at least, 64 bits
    kRequest = 12,   ///< PM4: the partial dispatch, kRequestWords
    kList = 44,      ///< AQL: bit per packet, 1 = done. PM4: numbers of the dispatches as the TTMPs have them, oldest first
    kAction = 76,    ///< kActionWords each
    kDealMore = 188,  ///< 16 bits for each part, what it has launched beyond
};
inline constexpr unsigned kRequestWords = 32, kListWords = 32, kActionWords = 7, kMaxActions = 16;
inline constexpr unsigned kMaxPackets = kListWords * 32, kMaxDispatches = kListWords;
static_assert(kRequest + kRequestWords <= kList && kList + kListWords <= kAction);
static_assert(kAction + kMaxActions * kActionWords <= kDealMore && kDealMore + GridDeal::kMostParts / 2 == kFlightWords);

/// Where a grid goes on, of the partial one.
void put_position(const LaunchPosition& position, std::array<uint32_t, kFlightWords>& words);
LaunchPosition get_position(const std::array<uint32_t, kFlightWords>& words);

}  // namespace lyra::flight
