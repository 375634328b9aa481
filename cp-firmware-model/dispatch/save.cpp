// SPDX-License-Identifier: MIT
// Context save and restore of a queue's waves, as the dispatcher sees it: ask, give records, place again; step 5.
// @source docs/spec/front-end.md 6.1, 6.3, 6.6
#include <algorithm>

#include "cp-firmware-model/dispatch/dispatcher.h"

namespace lyra {

void Dispatcher::ask_to_save(uint32_t queue_id) {
    stall_queue(queue_id, true);
    for (const auto& grid : grids_) {
        if (grid->request.queue_id != queue_id || grid->waves_live == 0) continue;
        for (unsigned cu = 0; cu < cus_.size(); ++cu) {
            current_cu_ = cu;
            cus_[cu]->request_save(grid->id);
        }
    }
}

bool Dispatcher::all_wait_for_records(uint32_t queue_id) const {
    const LaunchQueue* const q = queues_.find(queue_id);
    return q == nullptr || q->waves_ready == q->waves_live;
}

void Dispatcher::grant_record(unsigned cu, unsigned slot, uint64_t record, bool first) {
    const gcn::Wave& wave = cus_[cu]->wave(slot);
    const Grid* const grid = grids_.find(wave.dispatch);
    if (grid != nullptr && wave.save == gcn::SaveStep::Ready) --queue_of(*grid).waves_ready;
    cus_[cu]->grant_save(slot, record, first);
}

void Dispatcher::forget_queue(uint32_t queue_id) {
    grids_.erase_if([=](const Grid& grid) { return grid.request.queue_id == queue_id; });
    LaunchQueue* const q = queues_.find(queue_id);
    if (q == nullptr) return;
    q->pending.clear();
    q->saved.clear();
    q->waves_ready = 0;
    q->stalled = false;
}

bool Dispatcher::next_group(uint64_t dispatch, LaunchPosition& position) const {
    const Grid* grid = grids_.find(dispatch);
    if (grid == nullptr || grid->walk.done()) return false;
    position = {grid->walk.group(), grid->deal};
    return true;
}

const DispatchRequest* Dispatcher::request(uint64_t dispatch) const {
    const Grid* grid = grids_.find(dispatch);
    return grid == nullptr ? nullptr : &grid->request;
}

uint64_t Dispatcher::resume(const DispatchRequest& request, const LaunchPosition* position) {
    fill_places();
    Grid& grid = grids_.add();
    grid.request = request;
    grid.resuming = true;
    grid.no_room.assign(cus_.size(), 0);
    if (position != nullptr && check(request) == Fault::None) {
        grid.walk = GridWalk(request.grid, request.group_size, request.group_start);
        GridDeal deal = position->deal;
        deal.groups = grid.walk.total();
        if (deal.dealt() && deal.sound())
            grid.walk_to(deal);
        else if (!grid.walk.go_to(position->group))
            grid.stop();
        grid.launch = make_launch(request);
        grid.launch.dispatch = grid.id;
        grid.scratch = scratch_share(request, shape_);
        grid.waves_per_group = gcn::wave_count(grid.launch);
    }
    if (!grid.walk.done()) queue_of(grid).pending.push_back(grid.id);
    return grid.id;
}

Fault Dispatcher::restore(uint32_t queue_id, const cwsr::SavedGroup& image, uint64_t area_base, uint64_t dispatch) {
    Grid* grid = grids_.find(dispatch);
    if (grid == nullptr || grid->request.queue_id != queue_id || image.engine >= placement_.engines()) return Fault::SavedImage;
    const VmidState vm = bus_.vmid_state(grid->request.vmid);
    LaunchQueue::Saved saved;
    saved.image = image;
    gcn::WorkgroupRestore& group = saved.group;
    group.dispatch = dispatch;
    group.vmid = grid->request.vmid;
    group.tba = vm.tba;
    group.tma = vm.tma;
    group.private_base = vm.private_base();
    group.shared_base = vm.shared_base();
    group.retry = vm.retry();
    group.doorbell_id = grid->request.doorbell_id;
    group.chip = shape_.chip;
    group.vgprs = image.vgprs;
    group.acc_first = image.acc_first;
    group.sgprs = image.sgprs;
    group.lds_bytes = image.lds_bytes;
    group.waves = static_cast<unsigned>(image.waves.size());
    if (!gcn::can_ever_fit(group)) return Fault::SavedImage;
    for (unsigned n = 0; n < group.waves; ++n) {
        group.record[n] = area_base + image.waves[n].record;
        group.scratch_slot[n] = image.waves[n].scratch_en ? static_cast<int32_t>(image.waves[n].scratch_slot) : -1;
    }
    ++grid->groups_saved;
    queues_.at(queue_id).saved.push_back(std::move(saved));
    return Fault::None;
}

void Dispatcher::end_resume(uint32_t queue_id) {
    std::vector<uint64_t> ids;
    for (const auto& grid : grids_) {
        if (grid->request.queue_id != queue_id) continue;
        grid->resuming = false;
        ids.push_back(grid->id);
    }
    for (const uint64_t id : ids) finish_if_done(*grids_.find(id));
    invalidate_code();
    room_changed_ = true;
}

size_t Dispatcher::groups_to_restore(uint32_t queue_id) const {
    const LaunchQueue* const q = queues_.find(queue_id);
    return q == nullptr ? 0 : q->saved.size();
}

void Dispatcher::append_groups_to_restore(uint32_t queue_id, std::vector<cwsr::SavedGroup>& groups) const {
    const LaunchQueue* const q = queues_.find(queue_id);
    if (q == nullptr) return;
    for (const LaunchQueue::Saved& saved : q->saved) groups.push_back(saved.image);
}

bool Dispatcher::starving(uint32_t queue_id) const {
    fill_places();
    const LaunchQueue* const q = queues_.find(queue_id);
    return q != nullptr && q->waits_for_room() && q->waves_live == 0;
}

bool Dispatcher::restoring() const {
    for (const auto& cu : cus_) {
        for (unsigned slot = 0; slot < gcn::kWaveSlots; ++slot) {
            const gcn::Wave& wave = cu->wave(slot);
            const bool lives = wave.state != gcn::WaveState::Free && wave.state != gcn::WaveState::Halted;
            if (lives && wave.restoring) return true;
        }
    }
    return false;
}

void Dispatcher::wave_save_ready(const gcn::Wave& wave) {
    const Grid* grid = grids_.find(wave.dispatch);
    if (grid != nullptr) ++queue_of(*grid).waves_ready;
}

void Dispatcher::workgroup_saved(uint64_t dispatch) {
    placement_.changed(current_cu_);
    room_changed_ = true;
    Grid* grid = grids_.find(dispatch);
    if (grid == nullptr || grid->groups_running == 0) return;
    --queue_of(*grid).groups_on_cu[current_cu_];
    --grid->groups_running;
    ++grid->groups_saved;
}

}  // namespace lyra
