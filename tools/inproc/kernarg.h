// SPDX-License-Identifier: MIT
// Lays out the kernarg segment of a dispatch: the program's own arguments and the hidden ones that compilers expect.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/inproc/code_object.h"

namespace lyra::inproc {

/// Shape of a dispatch.
struct LaunchShape {
    uint32_t grid[3] = {1, 1, 1};        ///< work-items
    uint32_t block[3] = {1, 1, 1};       ///< work-items of a work-group
    uint32_t dimensions = 3;
    uint32_t dynamic_group_bytes = 0;    ///< LDS beyond what the kernel itself asks for
};

/// The bytes of one argument of the program.
using ArgumentBytes = std::vector<uint8_t>;

/// @param values     one entry per argument that is not hidden, of exactly its size
/// @param queue_va   address of the amd_queue_t
/// @param unfilled   receives the names of hidden arguments that stay 0 although a kernel may need them (printf, heap)
/// @return the segment's bytes; empty, and why in error, when values do not fit
std::vector<uint8_t> build_kernarg(const KernelInfo& kernel, const LaunchShape& shape, const std::vector<ArgumentBytes>& values,
                                   uint64_t queue_va, std::vector<std::string>& unfilled, std::string& error);

}  // namespace lyra::inproc
