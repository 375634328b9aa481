// SPDX-License-Identifier: MIT
// Context save as a wave meets it: SAVECTX, the message to the owner, and the answer in EXEC; steps 5 and 6 of the data flow.
// @source docs/spec/front-end.md 6.1, 6.4
#include "common/hash.h"
#include "gcn-interp/cu/plan.h"
#include "gcn-interp/cu/wave_event.h"
#include "gcn-interp/exec/flow.h"
#include "gcn-interp/isa/op.h"

namespace lyra::gcn {

namespace {
constexpr unsigned kSavectxBit = 10;  ///< TRAPSTS

/// What the wave holds at this moment, for comparison with its record: see cwsr::digest(). It has just entered the trap
/// handler.
void trace_saved(Env& env, unsigned cu, const Wave& wave) {
    if (!env.tracer.on()) return;
    WordHash sgprs, vgprs;
    sgprs.add(wave.sgpr.data(), wave.sgpr_count);
    for (unsigned n = 0; n < wave.vgpr_count; ++n) vgprs.add(wave.vgpr[n].lane, kLanes);
    const uint64_t pc = make64(wave.ttmp[0], wave.ttmp[1] & 0xffff);
    emit_of_wave<event::wave_saved>(env, cu, wave, pc, wave.exec, sgprs.value(), vgprs.value());
}
}  // namespace

void ComputeUnit::request_save(uint64_t dispatch) {
    write_registers();
    for (Wave& wave : waves_) {
        if (wave.state == WaveState::Free || wave.state == WaveState::Ended || wave.dispatch != dispatch) continue;
        ask_for_save(wave);
    }
}

void ComputeUnit::ask_for_save(Wave& wave) {
    if (wave.tba == 0 || wave.save != SaveStep::None) return;
    wave.save = SaveStep::Asked;
    wave.trapsts = TrapstsBits::Savectx::set(wave.trapsts, 1);
    take_savectx(wave);
}

/// Into the trap handler when SAVECTX waits and nothing is in the way. A wave that is about to end just ends.
bool ComputeUnit::take_savectx(Wave& wave) {
    if (!TrapstsBits::Savectx::get(wave.trapsts) || wave.save != SaveStep::Asked || wave.priv()) return false;
    if (at_end_of_program(wave)) return false;
    if (!interrupt_wave(wave, 0, kCauseException + kSavectxBit)) return false;
    if (env_.tracer.on()) trace_saved(env_, index_, wave);
    return true;
}

/// Hardware sees the s_endpgm in its instruction buffer. One that is halted there stays, and is saved.
bool ComputeUnit::at_end_of_program(const Wave& wave) {
    if (wave.state != WaveState::Running && wave.state != WaveState::Sleeping) return false;
    if (StatusBits::Halt::get(wave.status) || ModeBits::DebugEn::get(wave.mode)) return false;
    CodePage* page = storage_->code.page(wave.vmid, wave.pc);
    const CodeEntry* entry = page ? page->at(memory_, wave.pc) : nullptr;
    return entry != nullptr && entry->inst.op == Op::s_endpgm && entry->fn != nullptr;
}

/// Only in answer to SAVECTX, and only from the handler: otherwise nobody listens.
bool ComputeUnit::wait_for_grant(Wave& wave) {
    if (!wave.priv() || wave.save != SaveStep::Asked) {
        report(env_, Fault::SaveMessage, {});
        return !halt_if_asked(wave);
    }
    wave.save = SaveStep::Ready;
    set_state(wave, WaveState::Saving);
    services_.wave_save_ready(wave);
    return false;
}

void ComputeUnit::grant_save(unsigned slot, uint64_t record, bool first) {
    if (slot >= kWaveSlots || waves_[slot].save != SaveStep::Ready) return;
    Wave& wave = waves_[slot];
    wave.save = SaveStep::Granted;
    wave.exec = record_answer(record, first);
    set_state(wave, WaveState::Running);
}

}  // namespace lyra::gcn
