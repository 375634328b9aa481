// SPDX-License-Identifier: MIT
// Packets in words, by the rows of their tables: for logs and for readers of recordings.
#pragma once

#include <string>

#include "cp-firmware-model/packets/aql.h"
#include "cp-firmware-model/packets/pm4.h"
#include "cp-firmware-model/packets/sdma.h"

namespace lyra {

/// "MAP_QUEUES queue_type=1 doorbell_offset=0x400 mqd_addr=0x8000": the fields that are not 0. Packets without rows: their
/// first dwords.
std::string packet_text(const pm4::Packet& packet, pm4::Sender sender);
/// "KernelDispatch grid_size_x=256 ...".
std::string packet_text(const AqlPacket& packet);
/// "COPY_LINEAR count=63 src_addr=0x1000 ...": likewise.
std::string packet_text(const sdma::Packet& row, const sdma::Words& words);

}  // namespace lyra
