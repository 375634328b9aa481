// SPDX-License-Identifier: MIT
// Arithmetic of AQL rings, shared by the files of the AQL processor.
#pragma once

#include "cp-firmware-model/packets/aql.h"
#include "cp-firmware-model/queue/hqd.h"

namespace lyra::aql {

inline constexpr uint64_t kPacketDwords = kAqlPacketBytes / 4;

/// CP_HQD_ERROR bits. @source Linux 6.12 gc_9_0_sh_mask.h
namespace hqd_error {
inline constexpr uint32_t kAql = 1u << 5, kRing = 1u << 8, kReadPointer = 1u << 11, kWritePointer = 1u << 12,
                          kSignal = 1u << 14, kDescriptor = 1u << 19;
}

/// MQD dwords of the 64-bit read index that survives unmapping (cp_mqd_readindex). @source Linux 6.12 v9_structs.h
inline constexpr unsigned kMqdReadIndexLo = 96, kMqdReadIndexHi = 97;

/// A power of two, or 0 when the ring cannot hold one packet.
inline uint64_t ring_packets(const Hqd& hqd) { return hqd.ring_dwords() / kPacketDwords; }

inline uint64_t slot(const Hqd& hqd, uint64_t index) { return index & (ring_packets(hqd) - 1); }

inline uint64_t packet_address(const Hqd& hqd, uint64_t index) { return hqd.ring_base() + slot(hqd, index) * kAqlPacketBytes; }

/// Index of the oldest packet whose slot the CP still owns; what read_dispatch_id shows.
inline uint64_t retire_index(const Hqd& hqd) { return hqd.in_flight.empty() ? hqd.fetch_index : hqd.in_flight.front().index; }

}  // namespace lyra::aql
