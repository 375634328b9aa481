// SPDX-License-Identifier: MIT
// Context save as a wave meets it: SAVECTX, the message to the owner, and the answer in EXEC; steps 5 and 6 of the data flow.
// @source front-end.md 6.3, 6.6.2
#include "gcn-interp/cu/plan.h"
#include "gcn-interp/exec/flow.h"

namespace lyra::gcn {

namespace {
constexpr unsigned kSavectxBit = 10;         ///< TRAPSTS
constexpr uint32_t kCauseException = 0x100;  ///< event wave_trap: + bit of TRAPSTS
constexpr uint64_t kBarrierBytes = 4;        ///< s_barrier
}  // namespace

void ComputeUnit::request_save(uint64_t dispatch) {
    for (Wave& wave : waves_) {
        if (wave.state == WaveState::Free || wave.state == WaveState::Ended || wave.dispatch != dispatch) continue;
        if (wave.tba == 0 || wave.save != SaveStep::None) continue;
        wave.save = SaveStep::Asked;
        wave.trapsts = TrapstsBits::Savectx::set(wave.trapsts, 1);
        take_savectx(wave);
    }
}

/// Into the trap handler when SAVECTX waits and nothing is in the way. The PC is that of an instruction that has not had its
/// effect: a wave that waits at a barrier comes to it again.
bool ComputeUnit::take_savectx(Wave& wave) {
    if (!TrapstsBits::Savectx::get(wave.trapsts) || wave.save != SaveStep::Asked || wave.priv()) return false;
    const bool at_barrier = wave.state == WaveState::AtBarrier;
    if (!enter_trap(wave, 0, at_barrier ? wave.pc - kBarrierBytes : wave.pc, kCauseException + kSavectxBit)) return false;
    if (at_barrier) {
        --workgroups_[wave.workgroup].waves_at_barrier;
        wave.status = StatusBits::InBarrier::set(wave.status, 0);
    }
    if (wave.state == WaveState::AtGws) services_.gws_left(wave);
    wave.state = WaveState::Running;
    return true;
}

/// Only in answer to SAVECTX, and only from the handler: otherwise nobody listens.
bool ComputeUnit::wait_for_grant(Wave& wave) {
    if (!wave.priv() || wave.save != SaveStep::Asked) {
        report(env_, Fault::SaveMessage, {});
        return !halt_if_asked(wave);
    }
    wave.save = SaveStep::Ready;
    wave.state = WaveState::Saving;
    services_.wave_save_ready(wave);
    return false;
}

void ComputeUnit::grant_save(unsigned slot, uint64_t record, bool first) {
    if (slot >= kWaveSlots || waves_[slot].save != SaveStep::Ready) return;
    Wave& wave = waves_[slot];
    wave.save = SaveStep::Granted;
    wave.exec = record_answer(record, first);
    wave.state = WaveState::Running;
}

}  // namespace lyra::gcn
