// SPDX-License-Identifier: MIT
// Arithmetic of AQL rings, shared by the files of the AQL processor.
#pragma once

#include "cp-firmware-model/packets/aql.h"
#include "cp-firmware-model/queue/hqd.h"

namespace lyra::aql {

inline constexpr uint64_t kPacketDwords = kAqlPacketBytes / 4;

/// What stopped a queue, as bits of CP_HQD_ERROR.
namespace hqd_error {
namespace error = field::CP_HQD_ERROR;
inline constexpr uint32_t kAql = error::AQL_ERROR::kMask, kRing = error::PQ_UTCL1_ERROR::kMask,
                          kReadPointer = error::RRPT_UTCL1_ERROR::kMask, kWritePointer = error::WPP_UTCL1_ERROR::kMask,
                          kSignal = error::SEM_UTCL1_ERROR::kMask, kDescriptor = error::TC_UTCL1_ERROR::kMask;
}  // namespace hqd_error

/// A power of two, or 0 when the ring cannot hold one packet.
inline uint64_t ring_packets(const Hqd& hqd) { return hqd.ring_dwords() / kPacketDwords; }

inline uint64_t slot(const Hqd& hqd, uint64_t index) { return index & (ring_packets(hqd) - 1); }

inline uint64_t packet_address(const Hqd& hqd, uint64_t index) { return hqd.ring_base() + slot(hqd, index) * kAqlPacketBytes; }

/// Index of the oldest packet whose slot the CP still owns; what read_dispatch_id shows.
inline uint64_t retire_index(const Hqd& hqd) {
    return hqd.aql.in_flight.empty() ? hqd.aql.fetch_index : hqd.aql.in_flight.front().index;
}

}  // namespace lyra::aql
