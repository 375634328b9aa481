// SPDX-License-Identifier: MIT
// The option ROM: an ATOM BIOS image of our own with the few tables that the driver reads.
#pragma once

#include <cstdint>
#include <vector>

#include "cp-firmware-model/cp_bus.h"

namespace lyra {

inline constexpr uint32_t kEngineClock10kHz = 150000, kMemoryClock10kHz = 100000, kReferenceClock10kHz = 10000;

/// 8 KiB image: PCI ROM header, ATOM master tables, firmwareinfo, smu_info, gfx_info, an empty asic_init.
/// @param shape  of the GPU, which the driver of some chips takes from here
std::vector<uint8_t> vbios_image(const GpuShape& shape);

}  // namespace lyra
