// SPDX-License-Identifier: MIT
// Checks saved waves of count.s: what their registers hold has to fit together.
#pragma once

#include "cwsr/save_area.h"
#include "kfdtest-ports/guest/kfd/counting.h"

namespace lyra::guest {

/// Bytes of a save area that this process can read.
cwsr::ReadArea reader_of(const void* area, size_t bytes);

/// @param code address of the kernel descriptor  @return what is wrong, nothing when all is right
std::string check_saved_count(const cwsr::WaveImage& wave, const cwsr::ReadArea& read, const CountArguments& arguments,
                              uint64_t code, size_t code_bytes);

}  // namespace lyra::guest
