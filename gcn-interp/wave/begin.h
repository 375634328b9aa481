// SPDX-License-Identifier: MIT
// What the registers of a wave are when it begins; step 6 of the data flow.
#pragma once

#include <cstdint>
#include <span>

#include "gcn-interp/wave/backend.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

/// v0, and v1 and v2 where the kernel wants them: work-item ids.
struct WorkItemIds {
    unsigned rows = 0;  ///< 0: registers hold none
    uint32_t first = 0;  ///< v0 counts from here on and the others are zero
    const VgprRow* made = nullptr;  ///< unless they are these
};

/// The wave becomes what the image is, with its VGPRs at `rows`: ids first, the value of `others` in all others. SGPRs that are
/// not allocated are zero in both, and the expanded EXEC says whose it is, so that most of the wave need not be written.
/// @param others  every lane has the same; nullptr: the others have it already
using BeginFn = void (*)(Wave& wave, const Wave& image, VgprRow* rows, const WorkItemIds& ids, const VgprRow* others);
BeginFn begin_function(Backend backend = host_backend());

/// The same VGPRs later, `count` of them, of a wave that began without ids and without others.
using BeginRowsFn = void (*)(VgprRow* rows, unsigned count, const WorkItemIds& ids, const VgprRow* others);
BeginRowsFn begin_rows_function(Backend backend = host_backend());

/// Only some VGPRs, of a wave that began without others. @param value  of all of them, in every lane
using SomeRowsFn = void (*)(VgprRow* rows, std::span<const uint16_t> some, const VgprRow& value);
SomeRowsFn some_rows_function(Backend backend = host_backend());

}  // namespace lyra::gcn
