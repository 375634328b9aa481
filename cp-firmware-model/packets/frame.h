// SPDX-License-Identifier: MIT
// Where a packet of a ring or buffer ends and which row it has, for whoever executes, prints, restores or makes packets. Only
// this decodes headers. AQL packets need none: all have 64 bytes.
#pragma once

#include <cstdint>

#include "common/fault.h"

namespace lyra {

/// A packet as its header has it. Row: pm4::PacketInfo or sdma::Packet.
template <class Row>
struct Frame {
    const Row* row = nullptr;  ///< nullptr: there is none for this header
    uint64_t dwords = 1;       ///< with the header
    /// The first that holds: PacketType, UnknownOpcode (or not for this sender) or SdmaOpcode, ShortPacket.
    Fault fault = Fault::None;

    constexpr bool whole() const { return fault == Fault::None; }
    /// The packet ends behind the dwords that are there.
    constexpr Frame& within(uint64_t available) {
        if (fault == Fault::None && dwords > available) fault = Fault::ShortPacket;
        return *this;
    }
};

}  // namespace lyra
