// SPDX-License-Identifier: MIT
// Where a partial grid goes on, as words of the MQD; step 3 of the data flow.
#include "cp-firmware-model/queue/flight.h"

#include <algorithm>

#include "common/bits.h"

namespace lyra::flight {

/// No part is further ahead of another than rounds allow, which is less than 16 bits hold.
void put_position(const LaunchPosition& position, std::array<uint32_t, kFlightWords>& words) {
    const GridDeal& deal = position.deal;
    std::copy(position.group.begin(), position.group.end(), &words[kNextGroup]);
    if (!deal.dealt()) return;
    const uint64_t base = *std::min_element(deal.launched.begin(), deal.launched.begin() + deal.parts);
    words[kDeal] = deal.parts | deal.stride << 16;
    words[kDealBase] = lo32(base);
    words[kDealBase + 1] = hi32(base);
    for (unsigned n = 0; n < deal.parts; ++n)
        words[kDealMore + n / 2] |= static_cast<uint32_t>(std::min<uint64_t>(deal.launched[n] - base, 0xffff)) << n % 2 * 16;
}

LaunchPosition get_position(const std::array<uint32_t, kFlightWords>& words) {
    LaunchPosition position;
    GridDeal& deal = position.deal;
    std::copy_n(&words[kNextGroup], position.group.size(), position.group.begin());
    deal.parts = words[kDeal] & 0xffff;
    deal.stride = words[kDeal] >> 16;
    for (unsigned n = 0; n < std::min(deal.parts, GridDeal::kMostParts); ++n)
        deal.launched[n] = make64(words[kDealBase], words[kDealBase + 1]) + (words[kDealMore + n / 2] >> n % 2 * 16 & 0xffff);
    return position;
}

}  // namespace lyra::flight
