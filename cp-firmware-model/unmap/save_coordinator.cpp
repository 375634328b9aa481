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

namespace {

cwsr::Area area_in(const std::array<uint32_t, kHqdRegisters>& regs) {
    cwsr::Area area;
    area.base = make64(field::CP_HQD_CTX_SAVE_BASE_ADDR_LO::ADDR::in_place(regs[hqd_reg::CP_HQD_CTX_SAVE_BASE_ADDR_LO]),
                       field::CP_HQD_CTX_SAVE_BASE_ADDR_HI::ADDR_HI::get(regs[hqd_reg::CP_HQD_CTX_SAVE_BASE_ADDR_HI]));
    area.base = static_cast<uint64_t>(sign_extend(area.base, 48));
    area.size = field::CP_HQD_CTX_SAVE_SIZE::SIZE::in_place(regs[hqd_reg::CP_HQD_CTX_SAVE_SIZE]);
    area.stack_size = field::CP_HQD_CNTL_STACK_SIZE::SIZE::in_place(regs[hqd_reg::CP_HQD_CNTL_STACK_SIZE]);
    area.stack_offset = field::CP_HQD_CNTL_STACK_OFFSET::OFFSET::in_place(regs[hqd_reg::CP_HQD_CNTL_STACK_OFFSET]);
    area.wave_end = field::CP_HQD_WG_STATE_OFFSET::OFFSET::in_place(regs[hqd_reg::CP_HQD_WG_STATE_OFFSET]);
    return area;
}

}  // namespace

/// The first XCC's is in the registers, those of the others in their descriptors.
cwsr::Area SaveCoordinator::area_of(const Hqd& hqd, unsigned xcc) {
    if (xcc == 0) return area_in(hqd.regs);
    std::array<uint32_t, kHqdRegisters> regs{};
    const uint64_t address = hqd.mqd_address(xcc) + mqd::cp_mqd_base_addr_lo * sizeof(uint32_t);
    if (bus_.gfxhub().read(0, address, regs.data(), sizeof regs) != Fault::None) return {};
    return area_in(regs);
}

/// @return false: the descriptor cannot be written
bool SaveCoordinator::describe(Hqd& hqd, unsigned xcc, uint32_t stack_offset, uint32_t wave_end) {
    if (xcc == 0) {
        hqd.regs[hqd_reg::CP_HQD_CNTL_STACK_OFFSET] = stack_offset;
        hqd.regs[hqd_reg::CP_HQD_WG_STATE_OFFSET] = wave_end;
        return true;
    }
    const auto put = [&](unsigned reg, uint32_t value) {
        const uint64_t address = hqd.mqd_address(xcc) + (mqd::cp_mqd_base_addr_lo + reg) * sizeof(uint32_t);
        return bus_.gfxhub().write(0, address, &value, sizeof value) == Fault::None;
    };
    return put(hqd_reg::CP_HQD_CNTL_STACK_OFFSET, stack_offset) && put(hqd_reg::CP_HQD_WG_STATE_OFFSET, wave_end);
}

bool SaveCoordinator::can_save(const Hqd& hqd) {
    if (!persistent::QSWITCH_MODE::get(hqd.regs[hqd_reg::CP_HQD_PERSISTENT_STATE]) || hqd.mqd_address() == 0 ||
        bus_.vmid_state(hqd.vmid()).tba == 0)
        return false;
    for (unsigned xcc = 0; xcc < hqd.xccs.count; ++xcc)
        if (!area_of(hqd, xcc).usable()) return false;
    return true;
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
    for (unsigned xcc = 0; xcc < hqd.xccs.count; ++xcc) hqd.save.parts[xcc].area = area_of(hqd, xcc);
    stamp(hqd, mqd::cp_mqd_save_start_time_lo);
    dispatcher_.ask_to_save(hqd.id());
}

/// A record for each wave, when the areas have room for all.
Fault SaveCoordinator::grant(Hqd& hqd) {
    const std::vector<CollectedGroup> collected = collect(dispatcher_, hqd.id());
    // What an interrupted restore has not brought back yet stays where it is.
    std::vector<cwsr::SavedGroup> to_restore;
    dispatcher_.append_groups_to_restore(hqd.id(), to_restore);
    const GpuShape& shape = dispatcher_.shape();
    std::array<std::vector<cwsr::SavedGroup>, kMaxXccs> groups;
    const auto add = [&](cwsr::SavedGroup group) {
        std::vector<cwsr::SavedGroup>& of_xcc = groups[shape.xcc_of_engine(group.engine)];
        group.engine %= shape.shader_engines;
        of_xcc.push_back(std::move(group));
    };
    for (const CollectedGroup& group : collected) add(group.image);
    for (const cwsr::SavedGroup& group : to_restore) add(group);
    for (unsigned xcc = 0; xcc < hqd.xccs.count; ++xcc) {
        QueueSave::Part& part = hqd.save.parts[xcc];
        if (const Fault fault = cwsr::lay_out(groups[xcc], part.area, part.stack_words, shape.chip); fault != Fault::None)
            return fault;
    }
    std::array<size_t, kMaxXccs> next{};
    for (const CollectedGroup& group : collected) {
        const unsigned xcc = shape.xcc_of_engine(group.image.engine);
        const cwsr::SavedGroup& image = groups[xcc][next[xcc]++];
        for (size_t w = 0; w < group.slots.size(); ++w)
            dispatcher_.grant_record(group.cu, group.slots[w], hqd.save.parts[xcc].area.base + image.waves[w].record, w == 0);
    }
    return Fault::None;
}

void SaveCoordinator::finish(Hqd& hqd) {
    const bool restoring = dispatcher_.groups_to_restore(hqd.id()) != 0;
    if (hqd.is_aql())
        aql_.save_flight(hqd);
    else
        pm4_.save_flight(hqd);
    dispatcher_.forget_queue(hqd.id());
    bool empty = true;
    for (unsigned xcc = 0; xcc < hqd.xccs.count; ++xcc) {
        const auto& [area, words] = hqd.save.parts[xcc];
        const uint64_t stack = hqd.mqd_address(xcc) + cwsr::kStackFromMqd + area.stack_offset;
        const bool written =
            words.empty() || bus_.gfxhub().write(0, stack, words.data(), words.size() * sizeof(uint32_t)) == Fault::None;
        if (!written || !describe(hqd, xcc, area.stack_offset, area.wave_end)) {
            report(env_, Fault::MqdUnreadable, fmt::format("queue {}: control stack at {:#x}", hqd.id(), stack));
            lose(hqd);
            return;
        }
        empty &= area.empty();
    }
    uint32_t& state = hqd.regs[hqd_reg::CP_HQD_PERSISTENT_STATE];
    state = persistent::DISP_ACTIVE::set(state, hqd.save.flight[flight::kMagic] != 0);
    state = persistent::RELAUNCH_WAVES::set(state, !empty);
    state = persistent::RESTORE_ACTIVE::set(state, restoring);
    for (unsigned d = 0; d < 3; ++d) hqd.compute[mqd::compute_restart_x + d] = hqd.save.flight[flight::kNextGroup + d];
    const cwsr::Area& first = hqd.save.parts[0].area;
    hqd.compute[mqd::compute_wave_restore_addr_lo] = lo32(first.base + first.wave_end);
    hqd.compute[mqd::compute_wave_restore_addr_hi] = hi32(first.base + first.wave_end);
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
