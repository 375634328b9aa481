// SPDX-License-Identifier: MIT
// What the generator knows of a block of code for waves of which all lanes are on. For emit_whole*.cpp and emitter.cpp only.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "gcn-interp/translator/emitter.h"

namespace lyra::gcn {

struct Emitter::WholeBlock {
    Xbyak::Label code;
    std::optional<Registers> begins_with;  ///< decided by the first one who jumps to it
    bool any_lanes = false;  ///< mostly long calculations: there is only the code for waves of any lanes
    bool begins_loop = false;
    std::set<int32_t> loop;  ///< blocks of the loop that it begins
    std::vector<unsigned> keeps;  ///< VGPRs that the loop keeps in registers
};

}  // namespace lyra::gcn
