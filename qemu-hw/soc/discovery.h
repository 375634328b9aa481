// SPDX-License-Identifier: MIT
// The IP-discovery table: how the driver learns which hardware blocks this chip has.
#pragma once

#include <cstdint>
#include <vector>

#include "cp-firmware-model/cp_bus.h"

namespace lyra {

/// Distance of the table from the end of VRAM, in bytes. @source Linux 6.12 amdgpu_discovery.h DISCOVERY_TMR_OFFSET
inline constexpr uint64_t kDiscoveryOffset = 64 * 1024;

/// The shape of the GPU, as IP discovery and the VBIOS tell it: both have to say the same. What compute does not need is that
/// of a Vega10.
struct GcInfo {
    uint32_t engines = 0, cus_per_array = 0, arrays_per_engine = 1, backends_per_engine = 4, texture_caches = 16;
    uint32_t vgprs = 0;  ///< of a SIMD
    uint32_t gs_threads = 32, gs_table = 32, primitive_buffer = 1792, parameter_cache = 2048, double_offchip_lds = 1;
    /// Of chips with several XCCs, for KFD's list of caches. @source AMD CDNA3 white paper
    uint32_t l1_per_array = 0, l1_kib = 32, sdp_interfaces = 16, cus_per_sqc = 2, instruction_kib = 64, scalar_kib = 16,
             l2_kib = 4096;
    uint32_t wave_size = 64, waves_per_simd = 0, scratch_slots_per_cu = 0, lds_kib = 0;
};
GcInfo gc_info(const GpuShape& shape);

/// The table as it lies in VRAM; below 4096 bytes, the most that the 6.1 driver reads.
std::vector<uint8_t> discovery_table(const GpuShape& shape);

}  // namespace lyra
