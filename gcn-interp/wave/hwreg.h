// SPDX-License-Identifier: MIT
// Wave hardware registers as s_getreg and s_setreg see them.
#pragma once

#include <cstdint>

#include "gcn-interp/wave/wave.h"

namespace lyra::gcn::hwreg {

/// Ids of hwreg_access.def.
enum class Id : uint8_t {
#define HWREG(id, name, user, priv) name = id,
#include "gcn-interp/wave/hwreg_access.def"
#undef HWREG
};

/// A whole register; unknown ids read 0.
uint32_t read(const Wave& wave, Id id);
/// Write the bits of mask that the wave's privilege allows; the others stay.
void write(Wave& wave, Id id, uint32_t value, uint32_t mask);

/// s_getreg and s_setreg. @param simm16  id 5:0, first bit 10:6, width - 1 15:11
uint32_t read_field(const Wave& wave, uint32_t simm16);
void write_field(Wave& wave, uint32_t simm16, uint32_t value);

}  // namespace lyra::gcn::hwreg
