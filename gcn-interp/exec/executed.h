// SPDX-License-Identifier: MIT
// Which operations this process has executed. Off unless the environment names a folder for the records: the tests' does, and
// `lyra isa --coverage` counts what they left there.
#pragma once

#include <string>

#include "gcn-interp/isa/inst.h"

namespace lyra::gcn {

/// Environment variable with the folder; every process adds one file to it when it ends, named after its command line.
inline constexpr const char* kExecutedVariable = "LYRA_ISA_EXECUTED";

/// Asked once, at the first call.
bool records_executed();
/// The instruction has been executed and raised no exception.
void note_executed(const Inst& inst);

/// Name of a base operation as the opcode list has it: a FLAT row has one for each of its segments (Inst::seg).
std::string base_name(Op op, unsigned seg);

}  // namespace lyra::gcn
