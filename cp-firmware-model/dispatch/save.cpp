// SPDX-License-Identifier: MIT
// Context save and restore of a queue's waves, as the dispatcher sees it: ask, give records, place again; step 5.
// @source docs/spec/front-end.md 6.1, 6.3, 6.6
#include <algorithm>

#include "cp-firmware-model/dispatch/grid.h"
#include "cwsr/area.h"

namespace lyra {

namespace {
/// Passes that a saved group may find no room before a CU is kept free for it.
constexpr unsigned kPatience = 256;
}  // namespace

template <class Visit>
void Dispatcher::for_grids_of(uint32_t queue_id, Visit visit) {
    for (const auto& [id, grid] : grids_) {
        if (grid->request.queue_id == queue_id) visit(*grid);
    }
}

void Dispatcher::ask_to_save(uint32_t queue_id) {
    stall_queue(queue_id, true);
    for_grids_of(queue_id, [&](const Grid& grid) {
        if (grid.waves_live == 0) return;
        for (unsigned cu = 0; cu < cus_.size(); ++cu) {
            current_cu_ = cu;
            cus_[cu]->request_save(grid.id);
        }
    });
}

bool Dispatcher::all_wait_for_records(uint32_t queue_id) const {
    const auto it = queues_.find(queue_id);
    return it == queues_.end() || it->second->waves_ready == it->second->waves_live;
}

void Dispatcher::grant_record(unsigned cu, unsigned slot, uint64_t record, bool first) {
    const gcn::Wave& wave = cus_[cu]->wave(slot);
    const Grid* const grid = find(wave.dispatch);
    if (grid != nullptr && wave.save == gcn::SaveStep::Ready) --queue(grid->request.queue_id).waves_ready;
    cus_[cu]->grant_save(slot, record, first);
}

void Dispatcher::forget_queue(uint32_t queue_id) {
    std::erase_if(grids_, [=](const auto& entry) { return entry.second->request.queue_id == queue_id; });
    const auto it = queues_.find(queue_id);
    if (it == queues_.end()) return;
    Queue& q = *it->second;
    q.pending.clear();
    q.saved.clear();
    q.waves_ready = 0;
    q.stalled = false;
}

bool Dispatcher::next_group(uint64_t dispatch, std::array<uint32_t, 3>& group) const {
    const Grid* grid = find(dispatch);
    if (grid == nullptr || grid->walk.done()) return false;
    group = grid->walk.group();
    return true;
}

const DispatchRequest* Dispatcher::request(uint64_t dispatch) const {
    const Grid* grid = find(dispatch);
    return grid == nullptr ? nullptr : &grid->request;
}

uint64_t Dispatcher::resume(const DispatchRequest& request, const std::array<uint32_t, 3>* next_group) {
    auto grid = std::make_unique<Grid>();
    grid->id = next_id_++;
    grid->request = request;
    grid->resuming = true;
    grid->no_room.assign(cus_.size(), 0);
    if (next_group != nullptr && check(request) == Fault::None) {
        grid->walk = GridWalk(request.grid, request.group_size, request.group_start);
        if (!grid->walk.go_to(*next_group)) grid->walk.stop();
        grid->launch = make_launch(request);
        grid->launch.dispatch = grid->id;
        grid->scratch = scratch_share(request, shape_);
        grid->waves_per_group = gcn::wave_count(grid->launch);
    }
    Grid& g = *grid;
    grids_.emplace(g.id, std::move(grid));
    if (!g.walk.done()) queue(request.queue_id).pending.push_back(&g);
    return g.id;
}

Fault Dispatcher::restore(uint32_t queue_id, const cwsr::SavedGroup& image, uint64_t area_base, uint64_t dispatch) {
    Grid* grid = find(dispatch);
    if (grid == nullptr || grid->request.queue_id != queue_id || image.engine >= shape_.shader_engines)
        return Fault::SavedImage;
    const VmidState vm = bus_.vmid_state(grid->request.vmid);
    Queue::Saved saved;
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
    group.vgprs = image.vgprs;
    group.sgprs = image.sgprs;
    group.lds_bytes = image.lds_bytes;
    group.waves = static_cast<unsigned>(image.waves.size());
    if (!gcn::ComputeUnit::can_ever_fit(group)) return Fault::SavedImage;
    for (unsigned n = 0; n < group.waves; ++n) {
        group.record[n] = area_base + image.waves[n].record;
        group.scratch_slot[n] = image.waves[n].scratch_en ? static_cast<int32_t>(image.waves[n].scratch_slot) : -1;
    }
    ++grid->groups_saved;
    queue(queue_id).saved.push_back(std::move(saved));
    return Fault::None;
}

void Dispatcher::end_resume(uint32_t queue_id) {
    std::vector<uint64_t> ids;
    for_grids_of(queue_id, [&](Grid& grid) {
        grid.resuming = false;
        ids.push_back(grid.id);
    });
    for (const uint64_t id : ids) finish_if_done(*find(id));
    invalidate_code();
    room_changed_ = true;
}

size_t Dispatcher::groups_to_restore(uint32_t queue_id) const {
    const auto it = queues_.find(queue_id);
    return it == queues_.end() ? 0 : it->second->saved.size();
}

void Dispatcher::append_groups_to_restore(uint32_t queue_id, std::vector<cwsr::SavedGroup>& groups) const {
    const auto it = queues_.find(queue_id);
    if (it == queues_.end()) return;
    for (const Queue::Saved& saved : it->second->saved) groups.push_back(saved.image);
}

bool Dispatcher::starving(uint32_t queue_id) const {
    const auto it = queues_.find(queue_id);
    if (it == queues_.end()) return false;
    const Queue& q = *it->second;
    return !q.stalled && q.waves_live == 0 && !(q.pending.empty() && q.saved.empty());
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

/// The control stack names 512 waves per engine at most.
bool Dispatcher::engine_has_room(unsigned engine, unsigned waves) const {
    if (shape_.cus_per_engine * gcn::kWaveSlots <= cwsr::kMaxWavesPerEngine) return true;
    unsigned live = waves;
    for (unsigned c = 0; c < shape_.cus_per_engine; ++c) live += cus_[engine * shape_.cus_per_engine + c]->waves_live();
    return live <= cwsr::kMaxWavesPerEngine;
}

/// Scratch addresses are in the waves' registers: each needs the very slot that it had.
bool Dispatcher::scratch_free(const Queue& q, const gcn::WorkgroupRestore& group, unsigned engine) const {
    for (unsigned n = 0; n < group.waves; ++n) {
        if (group.scratch_slot[n] >= 0 && !q.scratch.is_free(engine, group.scratch_slot[n])) return false;
    }
    return true;
}

/// The least loaded CU of the engine with room; one that the queue may use now, unless it may use none of this engine.
int Dispatcher::choose_restore_cu(const Queue& q, const Grid& grid, const gcn::WorkgroupRestore& group, unsigned engine) const {
    if (!scratch_free(q, group, engine)) return -1;
    const uint32_t mask = grid.request.cu_mask[engine % grid.request.cu_mask.size()];
    const uint32_t here = shape_.cus_per_engine >= 32 ? ~0u : (1u << shape_.cus_per_engine) - 1;
    int best = -1;
    for (unsigned c = 0; c < shape_.cus_per_engine; ++c) {
        const unsigned cu = engine * shape_.cus_per_engine + c;
        if ((mask & here) != 0 && c < 32 && !bit(mask, c)) continue;
        if (static_cast<int>(cu) == reserved_cu_ && reserved_for_ != q.id) continue;
        if (best >= 0 && cus_[cu]->waves_live() >= cus_[best]->waves_live()) continue;
        if (cus_[cu]->fits(group)) best = static_cast<int>(cu);
    }
    return best;
}

bool Dispatcher::restore_next(Queue& q) {
    Queue::Saved& saved = q.saved.front();
    Grid* grid = find(saved.group.dispatch);
    if (grid == nullptr) {
        q.saved.pop_front();
        return true;
    }
    if (debug_.stalls(grid->request.vmid)) return false;
    const unsigned engine = saved.image.engine;
    if (!engine_can_start(engine)) return false;
    const int cu = choose_restore_cu(q, *grid, saved.group, engine);
    if (cu < 0) {
        if (++q.failed_passes >= kPatience) {
            q.failed_passes = 0;
            const bool holder = reserved_cu_ >= 0 && reserved_for_ == q.id;
            if (holder || reserved_cu_ < 0) {
                reserved_cu_ = static_cast<int>(engine * shape_.cus_per_engine + q.next_reserved++ % shape_.cus_per_engine);
                reserved_for_ = q.id;
            }
        }
        return false;
    }
    q.failed_passes = 0;
    if (reserved_cu_ >= 0 && reserved_for_ == q.id) reserved_cu_ = -1;
    restore_on(q, *grid, saved.group, static_cast<unsigned>(cu));
    q.saved.pop_front();
    return true;
}

void Dispatcher::restore_on(Queue& q, Grid& grid, gcn::WorkgroupRestore& group, unsigned cu) {
    group.shader_engine = engine_of(cu);
    group.cu_in_engine = cu % shape_.cus_per_engine;
    group.rsrc1 = grid.request.rsrc1;
    for (unsigned n = 0; n < group.waves; ++n) {
        if (group.scratch_slot[n] < 0) continue;
        // A damaged image may name a slot twice; only one wave gives it back.
        if (!q.scratch.is_free(group.shader_engine, group.scratch_slot[n])) {
            group.scratch_slot[n] = -1;
            continue;
        }
        q.scratch.take_slot(group.shader_engine, group.scratch_slot[n]);
        ++cu_scratch_waves_[cu];
    }
    current_cu_ = cu;
    const uint64_t now_clk = env_.clock.clk();
    begin_launch(group.shader_engine, group.waves);
    cus_[cu]->restore(group);
    env_.clock.set_clk(now_clk);
    --grid.groups_saved;
    ++grid.groups_running;
    ++q.groups_on_cu[cu];
    grid.waves_live += group.waves;
    q.waves_live += group.waves;
    q.waves_on_engine[group.shader_engine] += group.waves;
    env_.stats.add(Stat::waves_restored, group.waves);
}

void Dispatcher::wave_save_ready(const gcn::Wave& wave) {
    const Grid* grid = find(wave.dispatch);
    if (grid != nullptr) ++queue(grid->request.queue_id).waves_ready;
}

void Dispatcher::workgroup_saved(uint64_t dispatch) {
    ++cu_epoch_[current_cu_];
    room_changed_ = true;
    Grid* grid = find(dispatch);
    if (grid == nullptr || grid->groups_running == 0) return;
    --queue(grid->request.queue_id).groups_on_cu[current_cu_];
    --grid->groups_running;
    ++grid->groups_saved;
}

}  // namespace lyra
