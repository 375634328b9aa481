// SPDX-License-Identifier: MIT
// What an instruction asks of the compute unit that steps its wave (end, barrier, trap, exception ...); step 6 of the data
// flow.
#pragma once

#include <bit>
#include <cstdint>

#include "common/bits.h"
#include "gcn-interp/isa/inst.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

/// Work left over for the step loop after an instruction. The loop leaves the wave's slice unless the kind is None.
enum class Request : uint8_t {
    None,
    End,          ///< s_endpgm
    Barrier,      ///< s_barrier
    Sleep,        ///< s_sleep; arg: 64 clocks each, 0..127
    Wakeup,       ///< s_wakeup
    Trap,         ///< s_trap; arg: TrapID
    Interrupt,    ///< s_sendmsg(MSG_INTERRUPT); arg: M0[23:0]
    Doorbell,     ///< s_sendmsg(MSG_GET_DOORBELL)
    SaveWave,     ///< s_sendmsg(MSG_SAVEWAVE)
    Halt,         ///< STATUS.HALT may have changed
    DropCode,     ///< s_icache_inv
    TrapReturn,   ///< s_rfe
    Exception,  ///< TRAPSTS has a new bit that MODE.EXCP_EN may have enabled; arg: 0 address watch, else exec/fp_exceptions.h
    Step,  ///< MODE.DEBUG_EN or EXCP_EN may have changed
};

namespace flow {

/// MODE.VSKIP makes vector instructions do nothing.
inline bool skipped(const Wave& wave, const Inst& inst) {
    return ModeBits::Vskip::get(wave.mode) && !wave.priv() && inst.format >= Format::VOP1 && inst.format != Format::Invalid;
}

/// Address that hardware makes of a 64-bit program counter: 48 bits, sign-extended; instructions are dword aligned.
inline uint64_t code_address(uint64_t pc) { return static_cast<uint64_t>(sign_extend(pc & ~uint64_t{3}, 48)); }

/// The later side of a divergent branch waits in SGPRs, four per MODE.CSP entry: mask and PC.
inline void push_branch(Wave& wave, uint64_t mask, uint64_t pc) {
    const unsigned depth = ModeBits::CspBits::get(wave.mode);
    wave.write_scalar64(depth * 4, mask);
    wave.write_scalar64(depth * 4 + 2, pc);
    wave.mode = ModeBits::CspBits::set(wave.mode, depth + 1);
}

/// Conditional branch on a lane mask to target: the smaller side runs first, the other one is pushed.
/// @source AMD Vega ISA document, S_CBRANCH_G_FORK
inline void fork(Wave& wave, uint64_t mask, uint64_t target) {
    const uint64_t pass = mask & wave.exec;
    const uint64_t fail = ~mask & wave.exec;
    if (pass == wave.exec) {
        wave.pc = code_address(target);
    } else if (fail != wave.exec) {
        if (std::popcount(fail) < std::popcount(pass)) {
            push_branch(wave, pass, target);
            wave.exec = fail;
        } else {
            push_branch(wave, fail, wave.pc);
            wave.exec = pass;
            wave.pc = code_address(target);
        }
    }
}

}  // namespace flow
}  // namespace lyra::gcn
