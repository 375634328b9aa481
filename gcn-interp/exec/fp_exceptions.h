// SPDX-License-Identifier: MIT
// Floating-point exceptions of vector instructions: TRAPSTS.EXCP and the traps that MODE.EXCP_EN asks for; step 6 of the data
// flow. Found beside the instruction, not by it: the lane loops know nothing of it, and the decoded code of waves whose
// exceptions nobody observes does not either. @source docs/design/exceptions.md
#pragma once

#include <cstdint>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/exec/fp_exact.h"

namespace lyra::gcn {

/// One lane's operands: bits with modifiers applied, denormals flushed where MODE says so.
struct FpLane {
    const ModeView& mode;
    uint64_t source[3] = {};
    bool scales = false;   ///< v_div_fmas: the lane's bit of VCC
    bool signals = false;  ///< compares with the clamp bit: quiet NaNs are invalid too
    uint32_t raised = 0;   ///< excp
};
using FpRule = void (*)(FpLane&);

/// What an operation raises beside the exception of denormal sources. nullptr: nothing. Packed operations: of a half.
FpRule fp_rule(Op op);

/// The f32 multiply-add of the mix family; with a half as destination its result is rounded twice.
void fp_mix(FpLane& lane, bool fused, bool to_half);
/// The result modifier: a multiplication of its own. @param value  the result without it
void fp_omod(FpLane& lane, unsigned bits, uint64_t value, uint8_t omod);

/// True when an instruction can raise a floating-point exception: float operands or results, compares, but no classes.
bool raises_exceptions(const Inst& inst);

/// What an instruction raises in the lanes that execute it. Before it is executed.
uint32_t fp_exceptions(const Wave& wave, const Inst& inst);

/// Handler in place of that of an instruction that raises exceptions: executes it, notes them in TRAPSTS, and asks for the
/// trap.
void execute_tracked(ExecContext& ctx, const Inst& inst);
/// The same for decoded code, as exec_function() is for others.
ExecFn tracked_function(bool observed);

/// Request::Exception of execute_tracked(): what was raised, and how far the PC is past the instruction.
using RaisedBits = Bits<0, 7>;
using RaisedRewind = Bits<8, 4>;  ///< dwords

}  // namespace lyra::gcn
