// SPDX-License-Identifier: MIT
// Compute MQD v9, read and written; steps 3 and 4 of the data flow.
#pragma once

#include <array>
#include <cstdint>

#include "common/memory_port.h"
#include "cp-firmware-model/queue/hqd.h"
#include "facts/mqd.h"

namespace lyra::mqd {

using Image = std::array<uint32_t, kDwords>;

/// Copy the MQD at a GART address into the queue's registers and COMPUTE state; CP_HQD_VMID stays. Buffers that an earlier
/// unmap left half-executed in it are taken over. @return MqdUnreadable: the queue is unchanged
Fault load(MemoryPort& memory, Hqd& hqd, uint64_t address);

/// Everything but the registers, for a queue whose registers the driver writes itself.
Fault load_private(MemoryPort& memory, Hqd& hqd, uint64_t address);

/// Write the queue's state back with ACTIVE = 0, and VMID 0 when the scheduler had chosen it.
Fault store(MemoryPort& memory, const Hqd& hqd, uint64_t address);

/// Monotonic read position from the 32-bit wrapped one and the 64-bit write pointer of the same moment: the newest
/// position not past the write pointer. @source Linux 6.12 kgd_gfx_v9_hqd_load(), the same guess the other way round
uint64_t unwrap_rptr(uint32_t rptr, uint64_t wptr, uint64_t ring_dwords);

}  // namespace lyra::mqd
