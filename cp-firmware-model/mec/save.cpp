// SPDX-License-Identifier: MIT
// A queue leaves its slot with its running waves saved, and comes back with them; steps 3 and 5 of the data flow.
// @source docs/spec/front-end.md 6.1, 6.5, 6.6
#include <fmt/format.h>

#include "cp-firmware-model/mec/aql_ring.h"
#include "cp-firmware-model/mec/mec.h"
#include "cp-firmware-model/mqd/mqd.h"
#include "cp-firmware-model/queue/flight.h"
#include "cwsr/layout.h"

namespace lyra {

namespace {

/// A queue with lost waves does not start again.
constexpr uint32_t kErrorLostWaves = field::CP_HQD_ERROR::AQL_ERROR::kMask | field::CP_HQD_ERROR::SR_UTCL1_ERROR::kMask;

namespace persistent = field::CP_HQD_PERSISTENT_STATE;

/// The save area as the queue's registers have it, within the widths of their fields.
cwsr::Area area_of(const Hqd& hqd) {
    cwsr::Area area;
    area.base = make64(field::CP_HQD_CTX_SAVE_BASE_ADDR_LO::ADDR::in_place(hqd.regs[hqd_reg::CP_HQD_CTX_SAVE_BASE_ADDR_LO]),
                       field::CP_HQD_CTX_SAVE_BASE_ADDR_HI::ADDR_HI::get(hqd.regs[hqd_reg::CP_HQD_CTX_SAVE_BASE_ADDR_HI]));
    area.base = static_cast<uint64_t>(sign_extend(area.base, 48));
    area.size = field::CP_HQD_CTX_SAVE_SIZE::SIZE::in_place(hqd.regs[hqd_reg::CP_HQD_CTX_SAVE_SIZE]);
    area.stack_size = field::CP_HQD_CNTL_STACK_SIZE::SIZE::in_place(hqd.regs[hqd_reg::CP_HQD_CNTL_STACK_SIZE]);
    area.stack_offset = field::CP_HQD_CNTL_STACK_OFFSET::OFFSET::in_place(hqd.regs[hqd_reg::CP_HQD_CNTL_STACK_OFFSET]);
    area.wave_end = field::CP_HQD_WG_STATE_OFFSET::OFFSET::in_place(hqd.regs[hqd_reg::CP_HQD_WG_STATE_OFFSET]);
    return area;
}

}  // namespace

bool Mec::can_save(const Hqd& hqd) {
    return persistent::QSWITCH_MODE::get(hqd.regs[hqd_reg::CP_HQD_PERSISTENT_STATE]) && hqd.mqd_address() != 0 &&
           area_of(hqd).usable() && bus_.vmid_state(hqd.vmid()).tba != 0;
}

/// @return true when the queue's state is in its MQD, control stack and save area, and no wave of it is left
bool Mec::step_save(Hqd& hqd) {
    if (!hqd.saving) {
        if (env_.now_ns() < hqd.save_after_ns && dispatcher_.waves_live(hqd.id()) != 0) return dequeue_seen(hqd, false);
        // An indirect buffer of an AQL packet comes to its end first, and the grids that it started.
        if (hqd.aql() && !aql_.savable(hqd)) return dequeue_seen(hqd, false);
        hqd.saving = true;
        hqd.area = area_of(hqd);
        hqd.compute[mqd::cp_mqd_save_start_time_lo] = lo32(gpu_clock(env_));
        hqd.compute[mqd::cp_mqd_save_start_time_hi] = hi32(gpu_clock(env_));
        dispatcher_.begin_save(hqd.id());
    }
    switch (dispatcher_.advance_save(hqd.id(), hqd.area, hqd.stack_words)) {
        case SaveProgress::Done:
            if (!dequeue_seen(hqd, true)) return false;
            store_saved(hqd);
            return true;
        case SaveProgress::Failed:
            report(env_, Fault::SaveAreaFull, fmt::format("queue {}", hqd.id()));
            lose_waves(hqd);
            return true;
        case SaveProgress::Waiting: break;
    }
    // Waves that faulted in the trap handler, or have none, never come to their save.
    if (!dispatcher_.only_halted_waves(hqd.id())) return dequeue_seen(hqd, false);
    lose_waves(hqd);
    return true;
}

/// The queue is dead: it keeps the error until it is destroyed.
void Mec::lose_waves(Hqd& hqd) {
    kill_waves(hqd);
    hqd.regs[hqd_reg::CP_HQD_ERROR] |= kErrorLostWaves;
    hqd.saving = false;
}

void Mec::store_saved(Hqd& hqd) {
    const cwsr::Area& area = hqd.area;
    const bool restoring = dispatcher_.groups_to_restore(hqd.id()) != 0;
    if (hqd.aql())
        aql_.save_flight(hqd);
    else
        pm4_.save_flight(hqd);
    dispatcher_.forget_queue(hqd.id());
    const uint64_t stack = hqd.mqd_address() + cwsr::kStackFromMqd + area.stack_offset;
    const std::vector<uint32_t>& words = hqd.stack_words;
    if (!words.empty() && bus_.gfxhub().write(0, stack, words.data(), words.size() * sizeof(uint32_t)) != Fault::None) {
        report(env_, Fault::MqdUnreadable, fmt::format("queue {}: control stack at {:#x}", hqd.id(), stack));
        lose_waves(hqd);
        return;
    }
    hqd.regs[hqd_reg::CP_HQD_CNTL_STACK_OFFSET] = area.stack_offset;
    hqd.regs[hqd_reg::CP_HQD_WG_STATE_OFFSET] = area.wave_end;
    uint32_t& state = hqd.regs[hqd_reg::CP_HQD_PERSISTENT_STATE];
    state = persistent::DISP_ACTIVE::set(state, hqd.flight[flight::kMagic] != 0);
    state = persistent::RELAUNCH_WAVES::set(state, !area.empty());
    state = persistent::RESTORE_ACTIVE::set(state, restoring);
    for (unsigned d = 0; d < 3; ++d) hqd.compute[mqd::compute_restart_x + d] = hqd.flight[flight::kNextGroup + d];
    hqd.compute[mqd::compute_wave_restore_addr_lo] = lo32(area.base + area.wave_end);
    hqd.compute[mqd::compute_wave_restore_addr_hi] = hi32(area.base + area.wave_end);
    hqd.compute[mqd::cp_mqd_save_end_time_lo] = lo32(gpu_clock(env_));
    hqd.compute[mqd::cp_mqd_save_end_time_hi] = hi32(gpu_clock(env_));
    hqd.saving = false;
}

/// A queue that has just been mapped: its grids, and the groups that are to be restored.
void Mec::resume_saved(Hqd& hqd) {
    uint32_t& state = hqd.regs[hqd_reg::CP_HQD_PERSISTENT_STATE];
    const cwsr::Area area = area_of(hqd);
    const bool stack = persistent::QSWITCH_MODE::get(state) && area.usable() && !area.empty();
    if (hqd.flight[flight::kMagic] == 0 && !stack) return;
    const bool ok = (hqd.aql() ? !hqd.flight_lost : pm4_.resume_flight(hqd)) && (!stack || resume_groups(hqd));
    if (!ok) {
        report(env_, Fault::SavedImage, fmt::format("queue {}, MQD {:#x}", hqd.id(), hqd.mqd_address()));
        kill_waves(hqd);
        hqd.in_flight.clear();
        hqd.regs[hqd_reg::CP_HQD_ERROR] |= kErrorLostWaves;
        hqd.state = HqdState::Stopped;
    }
    dispatcher_.end_resume(hqd.id());
    state = persistent::DISP_ACTIVE::set(persistent::RELAUNCH_WAVES::set(persistent::RESTORE_ACTIVE::set(state, 0), 0), 0);
    hqd.flight = {};
    hqd.restoring = true;
    hqd.compute[mqd::cp_mqd_restore_start_time_lo] = lo32(gpu_clock(env_));
    hqd.compute[mqd::cp_mqd_restore_start_time_hi] = hi32(gpu_clock(env_));
    watch_restore(hqd);
}

/// Read the control stack; which grid a group belongs to is in the TTMP6 of its first wave.
bool Mec::resume_groups(Hqd& hqd) {
    const cwsr::Area area = area_of(hqd);
    if (area.stack_offset > area.stack_size) return false;
    std::vector<uint32_t> words((area.stack_size - area.stack_offset) / sizeof(uint32_t));
    const uint64_t stack = hqd.mqd_address() + cwsr::kStackFromMqd + area.stack_offset;
    if (bus_.gfxhub().read(0, stack, words.data(), words.size() * sizeof(uint32_t)) != Fault::None) return false;
    std::vector<cwsr::SavedGroup> groups;
    if (cwsr::parse(words, area, groups) != Fault::None) return false;
    for (const cwsr::SavedGroup& group : groups) {
        const uint64_t address = area.base + group.waves[0].record + group.hwreg_offset() + cwsr::kTtmp6;
        uint32_t ttmp6 = 0;
        if (bus_.gfxhub().read(hqd.vmid(), address, &ttmp6, sizeof ttmp6) != Fault::None) return false;
        const uint32_t number = ttmp6 & 0x1ffffff;
        const uint64_t dispatch = hqd.aql() ? aql_.dispatch_of(hqd, number) : pm4_.dispatch_of(hqd, number);
        if (dispatch == 0 || dispatcher_.restore(hqd.id(), group, area.base, dispatch) != Fault::None) return false;
    }
    return true;
}

bool Mec::restoring() const {
    for (const Hqd& hqd : slots_) {
        if (hqd.active() && hqd.restoring && dispatcher_.waves_live(hqd.id()) != 0) return true;
    }
    return dispatcher_.restoring();
}

/// The registers tell the truth: an empty stack when all groups have their place.
void Mec::watch_restore(Hqd& hqd) {
    if (dispatcher_.groups_to_restore(hqd.id()) != 0) return;
    hqd.restoring = false;
    const cwsr::Area area = area_of(hqd);
    hqd.regs[hqd_reg::CP_HQD_CNTL_STACK_OFFSET] = hqd.regs[hqd_reg::CP_HQD_WG_STATE_OFFSET] = area.stack_size;
    hqd.compute[mqd::cp_mqd_restore_end_time_lo] = lo32(gpu_clock(env_));
    hqd.compute[mqd::cp_mqd_restore_end_time_hi] = hi32(gpu_clock(env_));
}

}  // namespace lyra
