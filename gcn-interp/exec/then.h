// SPDX-License-Identifier: MIT
// What follows an instruction in the program, as far as its encoding tells; step 6 of the data flow.
#pragma once

#include <cstdint>

#include "gcn-interp/isa/inst.h"

namespace lyra::gcn {

/// What the step loop has to do after an instruction.
enum class Then : uint8_t {
    Next,   ///< the following entry is next: the instruction can not fault or ask for anything, and does not see its PC
    Check,  ///< it may have faulted or asked for something; otherwise the following entry is next
    Jump,   ///< it may have set the PC or MODE, or no entry follows: look where the wave is now
    End,    ///< s_endpgm, which nobody looks at: the wave can be ended without its handler
};

Then then_of(const Inst& inst);

}  // namespace lyra::gcn
