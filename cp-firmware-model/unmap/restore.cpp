// SPDX-License-Identifier: MIT
// A queue comes back to a slot: its grids go on, and its saved work-groups wait for their places; steps 3 and 5.
// @source docs/spec/front-end.md 6.5, 6.6
#include <fmt/format.h>

#include "cp-firmware-model/mqd/mqd.h"
#include "cp-firmware-model/queue/flight.h"
#include "cp-firmware-model/unmap/save_coordinator.h"
#include "cwsr/layout.h"

namespace lyra {

namespace {
namespace persistent = field::CP_HQD_PERSISTENT_STATE;
}  // namespace

void SaveCoordinator::resume(Hqd& hqd) {
    uint32_t& state = hqd.regs[hqd_reg::CP_HQD_PERSISTENT_STATE];
    const bool stack = persistent::QSWITCH_MODE::get(state) && has_saved_waves(hqd);
    if (hqd.save.flight[flight::kMagic] == 0 && !stack) return;
    bool ok = hqd.is_aql() ? !hqd.save.flight_lost : pm4_.resume_flight(hqd);
    for (unsigned xcc = 0; ok && stack && xcc < hqd.xccs.count; ++xcc) ok = resume_groups(hqd, xcc);
    if (!ok) {
        report(env_, Fault::SavedImage, fmt::format("queue {}, MQD {:#x}", hqd.id(), hqd.mqd_address()));
        lose(hqd);
        hqd.aql.in_flight.clear();
        hqd.state = HqdState::Stopped;
    }
    dispatcher_.end_resume(hqd.id());
    state = persistent::DISP_ACTIVE::set(persistent::RELAUNCH_WAVES::set(persistent::RESTORE_ACTIVE::set(state, 0), 0), 0);
    hqd.save.flight = {};
    hqd.save.restoring = true;
    stamp(hqd, mqd::cp_mqd_restore_start_time_lo);
    watch_restore(hqd);
}

bool SaveCoordinator::has_saved_waves(const Hqd& hqd) {
    for (unsigned xcc = 0; xcc < hqd.xccs.count; ++xcc)
        if (const cwsr::Area area = area_of(hqd, xcc); area.usable() && !area.empty()) return true;
    return false;
}

/// Read the control stack; which grid a group belongs to is in TTMP6 or TTMP11 of its first wave.
bool SaveCoordinator::resume_groups(Hqd& hqd, unsigned xcc) {
    const cwsr::Area area = area_of(hqd, xcc);
    if (area.empty()) return true;
    if (!area.usable() || area.stack_offset > area.stack_size) return false;
    std::vector<uint32_t> words((area.stack_size - area.stack_offset) / sizeof(uint32_t));
    const uint64_t stack = hqd.mqd_address(xcc) + cwsr::kStackFromMqd + area.stack_offset;
    if (bus_.gfxhub().read(0, stack, words.data(), words.size() * sizeof(uint32_t)) != Fault::None) return false;
    std::vector<cwsr::SavedGroup> groups;
    if (cwsr::parse(words, area, groups, dispatcher_.shape().chip) != Fault::None) return false;
    for (cwsr::SavedGroup& group : groups) {
        group.engine += xcc * dispatcher_.shape().shader_engines;
        const bool in_ttmp11 = facts_of(dispatcher_.shape().chip).packet_in_ttmp11;
        const uint64_t address =
            area.base + group.waves[0].record + group.hwreg_offset() + (in_ttmp11 ? cwsr::kTtmp11 : cwsr::kTtmp6);
        uint32_t ttmp = 0;
        if (bus_.gfxhub().read(hqd.vmid(), address, &ttmp, sizeof ttmp) != Fault::None) return false;
        const uint32_t number = bits(ttmp, in_ttmp11 ? 6 : 0, 25);
        const uint64_t dispatch = hqd.is_aql() ? aql_.dispatch_of(hqd, number) : pm4_.dispatch_of(hqd, number);
        if (dispatch == 0 || dispatcher_.restore(hqd.id(), group, area.base, dispatch) != Fault::None) return false;
    }
    return true;
}

void SaveCoordinator::watch_restore(Hqd& hqd) {
    if (dispatcher_.groups_to_restore(hqd.id()) != 0) return;
    hqd.save.restoring = false;
    for (unsigned xcc = 0; xcc < hqd.xccs.count; ++xcc) {
        const uint32_t end = area_of(hqd, xcc).stack_size;
        describe(hqd, xcc, end, end);
    }
    stamp(hqd, mqd::cp_mqd_restore_end_time_lo);
}

}  // namespace lyra
