// SPDX-License-Identifier: MIT
// Finds the code object for one chip in a file: a bare ELF, an offload bundle, or a host program with a fat binary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lyra::inproc {

using Bytes = std::vector<uint8_t>;

/// @param file   contents of the file
/// @param chip   such as "gfx900"
/// @param error  receives what is wrong, with the chips found when none fits
/// @return the ELF of the code object; empty on error
Bytes extract_code_object(const Bytes& file, const std::string& chip, std::string& error);

}  // namespace lyra::inproc
