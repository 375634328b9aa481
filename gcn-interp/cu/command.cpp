// SPDX-License-Identifier: MIT
// SQ_CMD as waves meet it: halt, save, kill, trap, single step; step 6 of the data flow.
// @source Linux 6.12 gc_9_0_sh_mask.h SQ_CMD; docs/spec/front-end.md 5.3
#include "gcn-interp/cu/plan.h"

namespace lyra::gcn {
namespace {

bool runs(const Wave& wave) {
    return wave.state == WaveState::Running || wave.state == WaveState::Sleeping || wave.state == WaveState::AtPage;
}

}  // namespace

void ComputeUnit::command(WaveCommand command, uint32_t data, const WaveMatch& match) {
    if (command == WaveCommand::Kill) return kill(match);
    write_registers();
    for (Wave& wave : waves_) {
        if (wave.state == WaveState::Free || wave.state == WaveState::Ended || !match(wave)) continue;
        switch (command) {
            case WaveCommand::SetHalt: set_halt(wave, data & 1); break;
            case WaveCommand::SetFatalHalt: set_fatal_halt(wave, data & 1); break;
            case WaveCommand::SaveContext: ask_for_save(wave); break;
            case WaveCommand::Debug: wave.mode = ModeBits::DebugEn::set(wave.mode, 1); break;
            case WaveCommand::Trap: interrupt_wave(wave, kHostTrap | (data & 0xf), kCauseHost + (data & 0xf)); break;
            case WaveCommand::SetPriority:
                wave.status = StatusBits::SpiPrio::set(wave.status, data & 3);
                set_state(wave, wave.state);
                break;
            case WaveCommand::Null:
            case WaveCommand::Kill: break;
        }
    }
}

/// One at a barrier stays there; it halts when the barrier opens.
void ComputeUnit::set_halt(Wave& wave, bool on) {
    wave.status = StatusBits::Halt::set(wave.status, on);
    if (runs(wave)) halt_if_asked(wave);
    const bool halts = on || StatusBits::FatalHalt::get(wave.status);
    if (wave.state == WaveState::Halted && !halts) set_state(wave, WaveState::Running);
}

void ComputeUnit::set_fatal_halt(Wave& wave, bool on) {
    wave.status = StatusBits::FatalHalt::set(wave.status, on);
    if (runs(wave)) {
        if (on) set_state(wave, WaveState::Halted);
    } else if (wave.state == WaveState::Halted && !on && (wave.priv() || !StatusBits::Halt::get(wave.status))) {
        set_state(wave, WaveState::Running);
    }
    if (!on) take_savectx(wave);  // asked for while nothing ran
}

/// A wave has what it waited for. It halts when somebody has asked for that meanwhile.
void ComputeUnit::go_on(Wave& wave) {
    set_state(wave, StatusBits::FatalHalt::get(wave.status) ? WaveState::Halted : WaveState::Running);
    halt_if_asked(wave);
}

}  // namespace lyra::gcn
