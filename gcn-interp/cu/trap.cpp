// SPDX-License-Identifier: MIT
// Traps and exceptions of waves, and what waves ask of the compute unit; step 6 of the data flow.
// @source docs/spec/front-end.md 5.1, 5.2
#include <bit>

#include <fmt/format.h>

#include "gcn-interp/cu/plan.h"
#include "gcn-interp/cu/wave_event.h"
#include "gcn-interp/exec/fp_exceptions.h"
#include "gcn-interp/isa/op.h"

namespace lyra::gcn {
namespace {

/// TTMP1: dwords by which the PC is past the instruction that raised an exception.
/// @source Linux 6.1 cwsr_trap_handler_gfx8.asm: {3'h0, pc_rewind[3:0], HT[0], trapID[7:0], PC[47:0]}
using PcRewind = Bits<25, 4>;

constexpr uint64_t kBarrierBytes = 4;                    // s_barrier
constexpr unsigned kAddrWatchBit = 7;                    // of TRAPSTS.EXCP and MODE.EXCP_EN
constexpr unsigned kErrorIllegal = 1, kErrorMemory = 2;  // CuServices::wave_error

/// TRAPSTS bits that tell the trap handler what happened.
uint32_t trapsts_bits(Fault fault) {
    switch (fault) {
        case Fault::IllegalInstruction:
        case Fault::TodoInstruction: return TrapstsBits::IllegalInst::set(0u, 1);
        case Fault::MemoryViolation: return TrapstsBits::XnackError::set(TrapstsBits::MemViol::set(0u, 1), 1);
        default: return TrapstsBits::MemViol::set(0u, 1);
    }
}

bool is_illegal(Fault fault) { return fault == Fault::IllegalInstruction || fault == Fault::TodoInstruction; }

}  // namespace

bool ComputeUnit::after(ExecContext& ctx, uint64_t pc) {
    if (ctx.fault != Fault::None) {
        const Fault fault = ctx.fault;
        ctx.fault = Fault::None;
        ctx.request = Request::None;
        ctx.yield = false;
        if (fault == Fault::PageRetry) return wait_for_page(ctx.wave, pc);
        return raise_exception(ctx.wave, fault, pc);
    }
    ctx.yield = false;
    return serve(ctx, pc);
}

bool ComputeUnit::serve(ExecContext& ctx, uint64_t pc) {
    Wave& wave = ctx.wave;
    const Request request = ctx.request;
    ctx.request = Request::None;
    switch (request) {
        case Request::None: return false;
        case Request::End: end_wave(wave); return false;
        case Request::Barrier: return arrive_at_barrier(wave);
        case Request::Sleep:
            set_state(wave, WaveState::Sleeping);
            wave.sleep_until_round = round_ + 1 + ctx.request_arg / 16;
            return false;
        case Request::Wakeup:
            for (Wave& other : waves_) {
                const bool wakes = other.state == WaveState::Sleeping && other.workgroup == wave.workgroup;
                if (wakes) set_state(other, WaveState::Running);
            }
            return true;
        case Request::Trap: enter_trap(wave, ctx.request_arg, pc, ctx.request_arg); return true;
        case Request::TrapReturn: return return_from_trap(ctx, pc);
        case Request::Interrupt:
            halt_if_asked(wave);
            services_.wave_interrupt(wave, ctx.request_arg);
            return false;
        case Request::Doorbell: wave.exec = make64(wave.doorbell_id & 0x3ff, hi32(wave.exec)); return !halt_if_asked(wave);
        case Request::SaveWave: return wait_for_grant(wave);
        case Request::Halt: return !halt_if_asked(wave);
        case Request::Exception: return take_exception(wave, ctx.request_arg);
        case Request::Step: return false;
        case Request::DropCode: invalidate_code(); return false;
    }
    return false;
}

/// The handler gets the PC of the instruction, and runs with PRIV. Everything else stays as it is.
bool ComputeUnit::enter_trap(Wave& wave, uint32_t trap_id, uint64_t pc, uint32_t cause) {
    if (wave.priv() || !StatusBits::TrapEn::get(wave.status) || wave.tba == 0) return false;
    env_.stats.add(Stat::wave_traps);
    if (env_.tracer.on()) emit_of_wave<event::wave_trap>(env_, index_, wave, cause, pc);
    wave.ttmp[0] = lo32(pc);
    wave.ttmp[1] = (hi32(pc) & 0xffff) | (trap_id & 0x1ff) << 16;
    wave.status = StatusBits::Priv::set(wave.status, 1);
    // Vector instructions of the handler must not be indexed by what the interrupted code had in M0.
    wave.user_gpr_idx = ModeBits::GprIdxEn::get(wave.mode);
    wave.mode = ModeBits::GprIdxEn::set(wave.mode, 0);
    wave.pc = flow::code_address(wave.tba);
    wave.stepped = false;
    return true;
}

/// A trap that no instruction of the wave asked for: it is taken wherever the wave is, and also when it is halted, asleep or at
/// a barrier. The PC is that of an instruction that has not had its effect: a wave at a barrier comes to it again.
bool ComputeUnit::interrupt_wave(Wave& wave, uint32_t trap_id, uint32_t cause) {
    if (wave.priv() || StatusBits::FatalHalt::get(wave.status)) return false;
    const bool at_barrier = wave.state == WaveState::AtBarrier;
    if (!enter_trap(wave, trap_id, at_barrier ? wave.pc - kBarrierBytes : wave.pc, cause)) return false;
    if (at_barrier) {
        --workgroups_[wave.workgroup].waves_at_barrier;
        wave.status = StatusBits::InBarrier::set(wave.status, 0);
    }
    if (wave.state == WaveState::AtGws) services_.gws_left(wave);
    set_state(wave, WaveState::Running);
    return true;
}

/// After an instruction that set a bit of TRAPSTS. One bit of EXCP_EN stands for all four watches.
/// @param raised  by floating point: RaisedBits, RaisedRewind; 0 for a watched address
bool ComputeUnit::take_exception(Wave& wave, uint32_t raised) {
    if (const uint32_t taken = RaisedBits::get(raised) & ModeBits::ExcpEn::get(wave.mode); taken != 0) {
        const auto first = static_cast<uint32_t>(std::countr_zero(taken));
        if (enter_trap(wave, 0, wave.pc, kCauseException + first))
            wave.ttmp[1] = PcRewind::set(wave.ttmp[1], RaisedRewind::get(raised));
        return true;
    }
    const uint32_t watched = TrapstsBits::AddrWatch0::get(wave.trapsts) | TrapstsBits::AddrWatchHigh::get(wave.trapsts);
    const uint32_t enabled = ModeBits::ExcpEn::get(wave.mode);
    if (watched == 0 || !bit(enabled, kAddrWatchBit)) return true;
    enter_trap(wave, 0, wave.pc, kCauseException + kAddrWatchBit);
    return true;
}

bool ComputeUnit::return_from_trap(ExecContext& ctx, uint64_t pc) {
    Wave& wave = ctx.wave;
    if (!wave.priv()) return raise_exception(wave, Fault::IllegalInstruction, pc);
    wave.status = StatusBits::Priv::set(wave.status, 0);
    if (wave.user_gpr_idx) wave.mode = ModeBits::GprIdxEn::set(wave.mode, 1);
    wave.user_gpr_idx = false;
    wave.restoring = false;
    if (take_savectx(wave)) return true;
    // A halted wave still fetches: code that cannot be fetched traps again, and the handler then waits for the wave's save.
    if (StatusBits::Halt::get(wave.status) && storage_->code.page(wave.vmid, wave.pc) == nullptr) {
        return fetch_failed(wave, wave.pc);
    }
    return !halt_if_asked(wave);
}

/// STATUS.HALT takes effect outside the trap handler only.
bool ComputeUnit::halt_if_asked(Wave& wave) {
    if (wave.priv() || !StatusBits::Halt::get(wave.status)) return false;
    set_state(wave, WaveState::Halted);
    return true;
}

bool ComputeUnit::raise_exception(Wave& wave, Fault fault, uint64_t pc, std::string_view detail) {
    const uint32_t flags = trapsts_bits(fault);
    wave.trapsts |= flags;
    report(env_, fault, fmt::format("CU {} wave {} VMID {} at {:#x} {}", index_, wave.slot, wave.vmid, pc, detail));
    // Memory faults come after the fact: the PC has moved on. An instruction that cannot execute is still pending.
    if (is_illegal(fault) || fault == Fault::InstructionFetch) wave.pc = pc;
    const unsigned number = is_illegal(fault) ? 11 : 8;
    if (enter_trap(wave, 0, wave.pc, kCauseException + number)) return true;
    wave.status = StatusBits::Halt::set(wave.status, 1);
    set_state(wave, WaveState::Halted);
    report(env_, Fault::WaveHalted, fmt::format("CU {} wave {} at {:#x}", index_, wave.slot, wave.pc));
    services_.wave_error(wave, is_illegal(fault) ? kErrorIllegal : kErrorMemory);
    return false;
}

}  // namespace lyra::gcn
