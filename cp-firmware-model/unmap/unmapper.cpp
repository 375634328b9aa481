// SPDX-License-Identifier: MIT
// The states of a queue that leaves its slot; step 3 of the data flow.
//
//                +---request(Drain)---> Drain ---+
//                |                       ^ |     |  look(): nothing of the queue
//                |                       | v     |  runs any more, or it is dead
//      map()     |                       | |     |
//      ---> None +---request(Save)----> Save ----+---> leave(): MQD written, slot free
//                |                               |
//                +---request(Reset)---> Reset ---+
//
//      state   request(Drain)   request(Save)   request(Reset)   cancel()   look() has the queue leave when it finds
//      None    Drain            Save [1]        Reset [2]        None
//      Drain   Drain            Save [1]        Reset [2]        None       Drained, Dead
//      Save    Drain [3]        Save [1]        Reset [2]        None [3]   Drained, Saved, Dead
//      Reset   Reset            Reset           Reset            refused    Dead, always
//
// [1] Drain when its waves cannot be saved. [2] Its waves are killed at once. [3] Refused once waves have been asked to save
// themselves. The state is Hqd::dequeue; within Save there are those of SaveCoordinator. UNMAP_QUEUES (hws/unmap.cpp) gives up
// on queues that do not leave in time: they keep their state, and leave when they can.
#include "cp-firmware-model/unmap/unmapper.h"

#include <algorithm>

#include <fmt/format.h>

#include "cp-firmware-model/mqd/mqd.h"
#include "facts/registers.h"

namespace lyra {

namespace {

/// Packets of a queue that leaves its slot: only those of a buffer that has begun.
constexpr unsigned kPacketsOfLeaving = 16;
namespace wait_time = field::CP_IQ_WAIT_TIME2;

}  // namespace

void Unmapper::request(Hqd& hqd, Dequeue kind) {
    if (!hqd.active() || kind == Dequeue::None) return;
    if (kind == Dequeue::Save && !saves_.can_save(hqd)) {
        if (hqd.dequeue == Dequeue::None && dispatcher_.waves_live(hqd.id()) > 0) {
            report(env_, Fault::NotSaveable, fmt::format("queue {}", hqd.id()));
        }
        kind = Dequeue::Drain;
    }
    if (hqd.save.committed() && kind != Dequeue::Reset) return;
    if (hqd.dequeue == Dequeue::None) begin_wait(hqd, kind);
    // A reset may follow a drain that hangs, not the other way round.
    if (hqd.dequeue != Dequeue::Reset) {
        hqd.dequeue = kind;
        if (kind == Dequeue::Save)
            saves_.begin(hqd);
        else
            saves_.cancel(hqd);
    }
    if (hqd.state == HqdState::Active) hqd.state = HqdState::Draining;
    if (kind == Dequeue::Reset) kill_waves(hqd);
}

bool Unmapper::cancel(Hqd& hqd) {
    if (hqd.dequeue == Dequeue::None) return true;
    if (hqd.dequeue == Dequeue::Reset || hqd.save.committed()) return false;
    hqd.dequeue = Dequeue::None;
    saves_.cancel(hqd);
    if (hqd.save.after_ns != 0) dispatcher_.stall_queue(hqd.id(), false);
    hqd.save.after_ns = 0;
    if (hqd.state == HqdState::Draining) hqd.state = HqdState::Active;
    return true;
}

bool Unmapper::look(Hqd& hqd) {
    if (!hqd.active()) return true;
    if (hqd.dequeue == Dequeue::None) return false;
    hqd.save.flight = {};
    switch (advance(hqd)) {
        case Found::Runs: return seen(hqd, false);
        case Found::Drained:
            if (!seen(hqd, true)) return false;
            // Waves that were restored and ended since the queue's last turn: what was saved of them must not come back.
            if (hqd.save.restoring) saves_.watch_restore(hqd);
            break;
        case Found::Saved:
            if (!seen(hqd, true)) return false;
            saves_.finish(hqd);
            break;
        case Found::Dead: break;
    }
    leave(hqd);
    return true;
}

/// What has begun goes on: packets of a buffer, waves, their save.
Unmapper::Found Unmapper::advance(Hqd& hqd) {
    if (hqd.dequeue == Dequeue::Reset) return Found::Dead;
    const unsigned packets = env_.clock.on() ? 1 : kPacketsOfLeaving;
    if (hqd.is_aql())
        aql_.step(hqd, packets);
    else
        pm4_.step(hqd, packets);
    if (drained(hqd) && !hqd.save.committed()) return Found::Drained;
    if (hqd.dequeue == Dequeue::Save) {
        const SaveResult result = saves_.step(hqd);
        return result == SaveResult::Waiting ? Found::Runs : result == SaveResult::Saved ? Found::Saved : Found::Dead;
    }
    if (!dispatcher_.only_halted_waves(hqd.id())) return Found::Runs;
    saves_.lose(hqd);
    return Found::Dead;
}

void Unmapper::leave(Hqd& hqd) {
    save_positions(hqd);
    // What waves have stored, their save area above all, is looked at by processors and by other engines from now on. And when
    // the process is gone, who gets its memory next must not find in the L2 what it has left there.
    bus_.queue_left();
    env_.clock.owe(env_.timing.descriptor_ns + env_.timing.l2_writeback_ns);
    give_back_gws(hqd);
    if (hqd.mqd_address() != 0 && mqd::store(bus_.gfxhub(), hqd, hqd.mqd_address()) != Fault::None) {
        report(env_, Fault::MqdUnreadable, fmt::format("queue {}: write back to {:#x}", hqd.id(), hqd.mqd_address()));
    }
    drop(hqd);
}

void Unmapper::kill_waves(Hqd& hqd) {
    dispatcher_.kill_queue(hqd.id());
    pm4_.forget(hqd);
}

void Unmapper::drop(Hqd& hqd) {
    kill_waves(hqd);
    give_back_gws(hqd);
    hqd.gws_size = 0;
    hqd.state = HqdState::Idle;
    hqd.dequeue = Dequeue::None;
    saves_.cancel(hqd);
    hqd.regs[hqd_reg::CP_HQD_DEQUEUE_REQUEST] = 0;
    hqd.pm4.ib_stack.clear();
    env_.stats.add(Stat::queues_unmapped);
    if (env_.tracer.on()) emit<event::queue_unmapped>(env_.tracer, env_.now_ns(), hqd.id());
}

void Unmapper::save_positions(Hqd& hqd) {
    if (hqd.is_aql()) {
        aql_.save(hqd);
        return;
    }
    hqd.regs[hqd_reg::CP_HQD_PQ_RPTR] = static_cast<uint32_t>(hqd.rptr_dw & (hqd.ring_dwords() - 1));
    hqd.regs[hqd_reg::CP_HQD_PQ_WPTR_LO] = lo32(hqd.wptr_dw);
    hqd.regs[hqd_reg::CP_HQD_PQ_WPTR_HI] = hi32(hqd.wptr_dw);
}

void Unmapper::give_back_gws(Hqd& hqd) {
    if (hqd.gws_size == 0) return;
    bus_.write_register(regs::GC::GDS_GWS_VMID + hqd.vmid(), 0);
    dispatcher_.store_gws({hqd.gws_base, hqd.gws_size}, hqd.gws);
}

void Unmapper::set_wait_times(uint32_t value) { sch_wave_ = wait_time::SCH_WAVE::get(value); }

/// Waves may end by themselves for SCH_WAVE, nothing new is launched, then they are saved. 0 is without end, as the driver says
/// of the firmware. Free-running, the reset value gives no time, so that unmapping costs nothing where nobody asked for it.
/// @source docs/spec/front-end.md 2.1; Linux 6.12 kgd_gfx_v9_build_grace_period_packet_info()
void Unmapper::begin_wait(Hqd& hqd, Dequeue kind) {
    const uint64_t now = env_.now_ns();
    hqd.pace.dequeue_look_ns = now;
    hqd.save.after_ns = 0;
    if (kind != Dequeue::Save || (!env_.clock.on() && sch_wave_ == kSchWaveReset)) return;
    hqd.save.after_ns = sch_wave_ ? now + sch_wave_ * env_.timing.iq_wait_unit_ns : kNever;
    dispatcher_.stall_queue(hqd.id(), true);
}

/// Whether the conditions of a dequeue are met is looked at once every QUE_SLEEP.
/// @source Linux commit 8a7820c07224, pm_config_dequeue_wait_counts()
bool Unmapper::seen(Hqd& hqd, bool met) {
    if (!env_.clock.on()) return met;
    const uint64_t now = env_.clock.ns();
    if (now < hqd.pace.dequeue_look_ns) return false;
    if (met) return true;
    const uint64_t sleep =
        std::max(1u, wait_time::QUE_SLEEP::get(bus_.read_register(regs::GC::CP_IQ_WAIT_TIME2))) * env_.timing.iq_wait_unit_ns;
    hqd.pace.dequeue_look_ns += ((now - hqd.pace.dequeue_look_ns) / sleep + 1) * sleep;
    return false;
}

}  // namespace lyra
