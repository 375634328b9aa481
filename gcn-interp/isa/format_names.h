// SPDX-License-Identifier: MIT
// The encodings' names, by Format.
#pragma once

#include "gcn-interp/isa/inst.h"

namespace lyra::gcn {

inline constexpr const char* kFormatNames[] = {
    "SOP2",     "SOPK",     "SOP1", "SOPC",  "SOPP",   "SMEM", "VOP1", "VOP2",  "VOPC",  "VOP1_SDWA", "VOP2_SDWA", "VOPC_SDWA",
    "VOP1_DPP", "VOP2_DPP", "VOP3", "VOP3P", "VINTRP", "DS",   "FLAT", "MUBUF", "MTBUF", "MIMG",      "EXP",
};
static_assert(sizeof kFormatNames / sizeof *kFormatNames == static_cast<std::size_t>(Format::Invalid));

constexpr const char* name_of(Format format) { return kFormatNames[static_cast<std::size_t>(format)]; }

}  // namespace lyra::gcn
