// SPDX-License-Identifier: MIT
// Names of operations as lists of them have it.
#pragma once

#include <string>

#include "gcn-interp/isa/inst.h"

namespace lyra::gcn {

/// Name of a base operation: a FLAT row has one for each of its segments (Inst::seg).
std::string base_name(Op op, unsigned seg);

}  // namespace lyra::gcn
