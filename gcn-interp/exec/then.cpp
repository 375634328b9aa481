// SPDX-License-Identifier: MIT
// What follows an instruction; step 6 of the data flow.
#include "gcn-interp/exec/then.h"

#include "gcn-interp/isa/op.h"

namespace lyra::gcn {
namespace {

/// Scalar instructions that see or set the PC, or change what other instructions mean.
bool steers(Op op) {
    switch (op) {
        case Op::s_getpc_b64:
        case Op::s_setpc_b64:
        case Op::s_swappc_b64:
        case Op::s_rfe_b64:
        case Op::s_rfe_restore_b64:
        case Op::s_cbranch_join:
        case Op::s_cbranch_g_fork:
        case Op::s_cbranch_i_fork:
        case Op::s_call_b64:
        case Op::s_getreg_b32:
        case Op::s_setreg_b32:
        case Op::s_setreg_imm32_b32:
        case Op::s_setvskip: return true;
        default: return false;
    }
}

}  // namespace

Then then_of(const Inst& inst) {
    switch (inst.format) {
        case Format::SOP2:
        case Format::SOPK:
        case Format::SOP1:
        case Format::SOPC: return steers(inst.op) ? Then::Jump : Then::Next;
        case Format::SOPP: return inst.op == Op::s_waitcnt || inst.op == Op::s_nop ? Then::Next : Then::Jump;
        case Format::VOP1:
        case Format::VOP2:
        case Format::VOPC:
        case Format::VOP1_SDWA:
        case Format::VOP2_SDWA:
        case Format::VOPC_SDWA:
        case Format::VOP1_DPP:
        case Format::VOP2_DPP:
        case Format::VOP3:
        case Format::VOP3P: return Then::Next;
        case Format::SMEM:
        case Format::DS:
        case Format::FLAT:
        case Format::MUBUF:
        case Format::MTBUF:
        case Format::MIMG: return Then::Check;
        default: return Then::Jump;
    }
}

}  // namespace lyra::gcn
