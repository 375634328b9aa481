// SPDX-License-Identifier: MIT
// What compute units report to the dispatcher: messages, errors, ends; and the clocks they read; step 5 of the data flow.
#include <algorithm>

#include "cp-firmware-model/dispatch/rounds.h"

namespace lyra {

WavePlace Dispatcher::place_of(const gcn::Wave& wave) const {
    WavePlace place;
    place.shader_engine = shape_.engine_of(current_cu_) % shape_.shader_engines;
    place.cu = current_cu_ % shape_.cus_per_engine;
    place.simd = wave.slot % gcn::kSimdsPerCu;
    place.wave = wave.slot / gcn::kSimdsPerCu;
    place.priv = wave.priv();
    return place;
}

/// Of the sequencer of the compute unit that is current.
void Dispatcher::interrupt(SqEncoding encoding, const gcn::Wave& wave, uint32_t data) {
    const uint16_t pasid = bus_.vmid_state(wave.vmid).pasid;
    Interrupt vector = sq_interrupt(encoding, place_of(wave), data, wave.vmid, pasid);
    vector.xcc = static_cast<uint8_t>(shape_.xcc_of_cu(current_cu_));
    bus_.interrupt(vector);
}

void Dispatcher::wave_interrupt(const gcn::Wave& wave, uint32_t data) { interrupt(SqEncoding::Wave, wave, data); }

void Dispatcher::wave_error(const gcn::Wave& wave, unsigned error) {
    interrupt(SqEncoding::Error, wave, (error & 0xf) << kSqErrorTypeShift);
}

void Dispatcher::wave_ended(const gcn::Wave& wave) {
    if (const Grid* const grid = grids_.find(wave.dispatch)) {
        LaunchQueue& q = queue_of(*grid);
        if (wave.saved()) env_.stats.add(Stat::waves_saved);
        if (wave.save == gcn::SaveStep::Ready && q.waves_ready != 0) --q.waves_ready;
        if (wave.scratch_slot >= 0) placement_.give_back_scratch(q, current_cu_, wave.scratch_slot);
    }
    ended(wave.dispatch, 1, 0);
}

void Dispatcher::workgroup_ended(uint64_t dispatch) { ended(dispatch, 0, 1); }

/// On the current compute unit; the waves of a group not after it.
void Dispatcher::ended(uint64_t dispatch, uint64_t waves, uint64_t groups) {
    placement_.changed(current_cu_);
    room_changed_ = true;
    Grid* const grid = grids_.find(dispatch);
    if (grid == nullptr) return;
    LaunchQueue& q = queue_of(*grid);
    waves = std::min(waves, grid->waves_live);
    grid->waves_live -= waves;
    q.waves_live -= static_cast<unsigned>(waves);
    q.waves_on_engine[shape_.engine_of(current_cu_)] -= static_cast<unsigned>(waves);
    groups = std::min(groups, grid->groups_running);
    if (groups == 0) return;
    grid->groups_running -= groups;
    q.groups_on_cu[current_cu_] -= static_cast<unsigned>(groups);
    finish_if_done(*grid);
}

uint64_t Dispatcher::shader_clock() {
    return env_.clock.on() ? env_.clock.clk() : env_.now_ns() * env_.timing.shader_clock_mhz / 1000;
}

gcn::GwsAnswer Dispatcher::gws(const gcn::Wave& wave, gcn::GwsOp op, uint32_t resource, uint32_t value) {
    Gws::Waiters released;
    const gcn::GwsAnswer answer = global_memory_.execute(wave, current_cu_, op, resource, value, released);
    for (const Gws::Waiter& waiter : released) {
        if (!rounds_->later(waiter)) cus_[waiter.cu]->gws_done(waiter.slot);
    }
    return answer;
}

gcn::GdsWindow Dispatcher::gds(uint32_t vmid) { return global_memory_.window(vmid); }

void Dispatcher::gws_left(const gcn::Wave& wave) { global_memory_.gws().leave(current_cu_, wave.slot); }

void Dispatcher::load_gws(GwsRange range, const GwsWords& words) {
    for (const Gws::Waiter& waiter : global_memory_.gws().evict(range)) cus_[waiter.cu]->gws_again(waiter.slot);
    global_memory_.gws().load(range, words);
}

void Dispatcher::store_gws(GwsRange range, GwsWords& words) {
    for (const Gws::Waiter& waiter : global_memory_.gws().evict(range)) cus_[waiter.cu]->gws_again(waiter.slot);
    global_memory_.gws().store(range, words);
}

uint64_t Dispatcher::reference_clock() { return gpu_clock(env_); }

}  // namespace lyra
