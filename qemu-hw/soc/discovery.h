// SPDX-License-Identifier: MIT
// The IP-discovery table: how the driver learns which hardware blocks this chip has.
#pragma once

#include <cstdint>
#include <vector>

#include "cp-firmware-model/cp_bus.h"

namespace lyra {

/// Distance of the table from the end of VRAM, in bytes. @source Linux 6.12 amdgpu_discovery.h DISCOVERY_TMR_OFFSET
inline constexpr uint64_t kDiscoveryOffset = 64 * 1024;

/// The table as it lies in VRAM; below 4096 bytes, the most that the 6.1 driver reads.
std::vector<uint8_t> discovery_table(const GpuShape& shape);

}  // namespace lyra
