// SPDX-License-Identifier: MIT
// The states of a context save: waves are asked, their groups laid out, records granted, the descriptor written; steps 3 and 5.
#include "cp-firmware-model/unmap/save_coordinator.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "cp-firmware-model/mqd/mqd.h"
#include "cp-firmware-model/queue/flight.h"
#include "cwsr/layout.h"

namespace lyra {

namespace {

namespace persistent = field::CP_HQD_PERSISTENT_STATE;

/// A queue with lost waves does not start again.
constexpr uint32_t kErrorLostWaves = field::CP_HQD_ERROR::AQL_ERROR::kMask | field::CP_HQD_ERROR::SR_UTCL1_ERROR::kMask;

/// A work-group whose waves all wait for their records.
struct CollectedGroup {
    uint64_t dispatch = 0;
    unsigned cu = 0;
    std::vector<unsigned> slots;  ///< wave slots, first wave first
    cwsr::SavedGroup image;
};

/// The groups of one compute unit by their numbers there.
std::map<uint8_t, CollectedGroup> groups_of_cu(const Dispatcher& dispatcher, unsigned cu, uint32_t queue_id) {
    std::map<uint8_t, CollectedGroup> groups;
    const gcn::CuPort& unit = dispatcher.cu(cu);
    std::array<unsigned, gcn::kWaveSlots> slots{};
    for (unsigned slot = 0; slot < slots.size(); ++slot) slots[slot] = slot;
    std::sort(slots.begin(), slots.end(),
              [&](unsigned a, unsigned b) { return unit.wave(a).wave_in_group < unit.wave(b).wave_in_group; });
    for (const unsigned slot : slots) {
        const gcn::Wave& wave = unit.wave(slot);
        if (wave.state != gcn::WaveState::Saving) continue;
        const DispatchRequest* const request = dispatcher.request(wave.dispatch);
        if (request == nullptr || request->queue_id != queue_id) continue;
        CollectedGroup& group = groups[wave.workgroup];
        group.dispatch = wave.dispatch;
        group.cu = cu;
        group.slots.push_back(slot);
        group.image.vgprs = wave.vgpr_count;
        group.image.acc_first = wave.acc_first;
        group.image.sgprs = wave.sgpr_count;
        group.image.lds_bytes = wave.lds_bytes;
        group.image.engine = dispatcher.shape().engine_of(cu);
        const bool scratch = wave.scratch_slot >= 0;
        group.image.waves.push_back({0, scratch ? static_cast<uint32_t>(wave.scratch_slot) : 0u, scratch});
    }
    return groups;
}

/// In the order of their restore: older grids come back first.
std::vector<CollectedGroup> collect(const Dispatcher& dispatcher, uint32_t queue_id) {
    std::vector<CollectedGroup> groups;
    for (unsigned cu = 0; cu < dispatcher.shape().cus(); ++cu) {
        for (auto& [number, group] : groups_of_cu(dispatcher, cu, queue_id)) groups.push_back(std::move(group));
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const CollectedGroup& a, const CollectedGroup& b) { return a.dispatch < b.dispatch; });
    return groups;
}

}  // namespace

cwsr::Area save_area_of(const Hqd& hqd) {
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

bool SaveCoordinator::can_save(const Hqd& hqd) {
    return persistent::QSWITCH_MODE::get(hqd.regs[hqd_reg::CP_HQD_PERSISTENT_STATE]) && hqd.mqd_address() != 0 &&
           save_area_of(hqd).usable() && bus_.vmid_state(hqd.vmid()).tba != 0;
}

/// Each state goes on into the next one when what it waits for is there.
SaveResult SaveCoordinator::step(Hqd& hqd) {
    SaveState& state = hqd.save.state;
    if (state == SaveState::Grace && grace_is_over(hqd)) {
        ask(hqd);
        state = SaveState::Collecting;
    }
    if (state == SaveState::Collecting && dispatcher_.all_wait_for_records(hqd.id())) {
        if (grant(hqd) != Fault::None) {
            report(env_, Fault::SaveAreaFull, fmt::format("queue {}", hqd.id()));
            lose(hqd);
            return SaveResult::Lost;
        }
        state = SaveState::Storing;
    }
    if (state == SaveState::Storing && dispatcher_.waves_live(hqd.id()) == 0) return SaveResult::Saved;
    if (state == SaveState::Grace) return SaveResult::Waiting;
    // Waves that faulted in the trap handler, or have none, never come to their save.
    if (!dispatcher_.only_halted_waves(hqd.id())) return SaveResult::Waiting;
    lose(hqd);
    return SaveResult::Lost;
}

bool SaveCoordinator::grace_is_over(const Hqd& hqd) const {
    if (env_.now_ns() < hqd.save.after_ns && dispatcher_.waves_live(hqd.id()) != 0) return false;
    // An indirect buffer of an AQL packet comes to its end first, and the grids that it started.
    return !hqd.is_aql() || aql_.savable(hqd);
}

/// From now on it cannot be taken back.
void SaveCoordinator::ask(Hqd& hqd) {
    hqd.save.area = save_area_of(hqd);
    stamp(hqd, mqd::cp_mqd_save_start_time_lo);
    dispatcher_.ask_to_save(hqd.id());
}

/// A record for each wave, when the area has room for all.
Fault SaveCoordinator::grant(Hqd& hqd) {
    const std::vector<CollectedGroup> collected = collect(dispatcher_, hqd.id());
    std::vector<cwsr::SavedGroup> groups;
    groups.reserve(collected.size());
    for (const CollectedGroup& group : collected) groups.push_back(group.image);
    // What an interrupted restore has not brought back yet stays where it is.
    dispatcher_.append_groups_to_restore(hqd.id(), groups);
    cwsr::Area& area = hqd.save.area;
    const Fault fault = cwsr::lay_out(groups, area, hqd.save.stack_words, dispatcher_.shape().chip);
    if (fault != Fault::None) return fault;
    for (size_t n = 0; n < collected.size(); ++n) {
        for (size_t w = 0; w < collected[n].slots.size(); ++w)
            dispatcher_.grant_record(collected[n].cu, collected[n].slots[w], area.base + groups[n].waves[w].record, w == 0);
    }
    return Fault::None;
}

void SaveCoordinator::finish(Hqd& hqd) {
    const cwsr::Area& area = hqd.save.area;
    const bool restoring = dispatcher_.groups_to_restore(hqd.id()) != 0;
    if (hqd.is_aql())
        aql_.save_flight(hqd);
    else
        pm4_.save_flight(hqd);
    dispatcher_.forget_queue(hqd.id());
    const uint64_t stack = hqd.mqd_address() + cwsr::kStackFromMqd + area.stack_offset;
    const std::vector<uint32_t>& words = hqd.save.stack_words;
    if (!words.empty() && bus_.gfxhub().write(0, stack, words.data(), words.size() * sizeof(uint32_t)) != Fault::None) {
        report(env_, Fault::MqdUnreadable, fmt::format("queue {}: control stack at {:#x}", hqd.id(), stack));
        lose(hqd);
        return;
    }
    hqd.regs[hqd_reg::CP_HQD_CNTL_STACK_OFFSET] = area.stack_offset;
    hqd.regs[hqd_reg::CP_HQD_WG_STATE_OFFSET] = area.wave_end;
    uint32_t& state = hqd.regs[hqd_reg::CP_HQD_PERSISTENT_STATE];
    state = persistent::DISP_ACTIVE::set(state, hqd.save.flight[flight::kMagic] != 0);
    state = persistent::RELAUNCH_WAVES::set(state, !area.empty());
    state = persistent::RESTORE_ACTIVE::set(state, restoring);
    for (unsigned d = 0; d < 3; ++d) hqd.compute[mqd::compute_restart_x + d] = hqd.save.flight[flight::kNextGroup + d];
    hqd.compute[mqd::compute_wave_restore_addr_lo] = lo32(area.base + area.wave_end);
    hqd.compute[mqd::compute_wave_restore_addr_hi] = hi32(area.base + area.wave_end);
    stamp(hqd, mqd::cp_mqd_save_end_time_lo);
    hqd.save.state = SaveState::Idle;
}

void SaveCoordinator::lose(Hqd& hqd) {
    kill(hqd);
    hqd.regs[hqd_reg::CP_HQD_ERROR] |= kErrorLostWaves;
    hqd.save.state = SaveState::Idle;
}

void SaveCoordinator::kill(Hqd& hqd) {
    dispatcher_.kill_queue(hqd.id());
    pm4_.forget(hqd);
}

/// @param first  MQD dword of a time
void SaveCoordinator::stamp(Hqd& hqd, unsigned first) {
    const uint64_t now = gpu_clock(env_);
    hqd.compute[first] = lo32(now);
    hqd.compute[first + 1] = hi32(now);
}

}  // namespace lyra
