// SPDX-License-Identifier: MIT
// What the dispatcher has to remember: grids, queues, and what waits for room; step 5 of the data flow.
#include <algorithm>

#include "cp-firmware-model/dispatch/rounds.h"

namespace lyra {

namespace {

constexpr size_t kMaxGrids = size_t{1} << 20, kMaxSaved = size_t{1} << 16;

/// Where the walk stands follows from its request and its group.
void visit_walk(StateVisitor& v, GridWalk& walk, const DispatchRequest& request) {
    bool done = walk.done();
    std::array<uint32_t, 3> group = walk.group();
    v("walked", done);
    v("group", group);
    if (!v.loads()) return;
    walk = GridWalk(request.grid, request.group_size, request.group_start);
    if (done)
        walk.stop();
    else
        v.require(walk.go_to(group), "a work-group that the grid does not have");
}

}  // namespace

void DispatchRequest::visit(StateVisitor& v) {
    v("queue_id", queue_id, kQueueIds - 1);
    v("vmid", vmid, kVmids - 1);
    v("entry", entry);
    v("rsrc1", rsrc1);
    v("rsrc2", rsrc2);
    v("user_sgprs", user_sgprs);
    v("user_sgpr_count", user_sgpr_count, user_sgprs.size());
    v("grid", grid);
    v("group_size", group_size);
    v("group_start", group_start);
    v("lds_bytes", lds_bytes);
    v("tmpring_size", tmpring_size);
    v("cu_mask", cu_mask);
    v("resource_limits", resource_limits);
    v("packet_index", packet_index);
    v("doorbell_id", doorbell_id);
    v("release_ns", release_ns);
}

void QueuePriority::visit(StateVisitor& v) {
    v("pipe", pipe, 3);
    v("queue", queue, 15);
    v("quantum_ns", quantum_ns);
}

void PipeHold::visit(StateVisitor& v) {
    v("queue", queue, kQueueIds);
    v("since_ns", since_ns);
}

void PipeWeights::visit(StateVisitor& v) {
    v("first", first);
    v("second", second);
    v("third", third);
}

void Dispatcher::PipeTurn::visit(StateVisitor& v) {
    v("hold", hold);
    v("over", over);
    v("top", top);
    v("credit", credit);
    if (v.loads()) best = nullptr;
}

/// What a launch is made of now may differ from what it was made of; so it is kept, and what it takes is checked.
void Dispatcher::Grid::visit(StateVisitor& v, const GpuShape& shape) {
    v("request", request);
    v.begin("walk");
    visit_walk(v, walk, request);
    v.end();
    v("launch", launch);
    v("groups_running", groups_running);
    v("groups_saved", groups_saved);
    v("ready_ns", ready_ns);
    v("resuming", resuming);
    v("waves_live", waves_live);
    if (!v.loads()) return;
    no_room.assign(shape.cus(), 0);
    scratch = scratch_share(request, shape);
    waves_per_group = gcn::wave_count(launch);
    if (walk.done()) return;
    const auto& slots = launch.scratch_slot;
    v.require(scratch.used() || std::all_of(slots.begin(), slots.end(), [](int32_t slot) { return slot == -1; }),
              "a grid without scratch has some");
    v.require(launch.dispatch == id && launch.vmid == request.vmid && launch.group_size == request.group_size &&
                  launch.user_sgpr_count <= launch.user_sgprs.size() && gcn::ComputeUnit::can_ever_fit(launch) &&
                  (!scratch.used() || waves_per_group <= std::min(scratch.slots_per_engine, shape.max_scratch_slots_per_cu)),
              "a grid that no compute unit can run");
}

void Dispatcher::Queue::Saved::visit(StateVisitor& v) {
    v("group", group);
    v("image", image);
    if (!v.loads()) return;
    v.require(gcn::ComputeUnit::can_ever_fit(group) && group.waves == image.waves.size(), "saved waves that no unit can run");
}

void Dispatcher::Queue::visit(StateVisitor& v, Dispatcher& dispatcher) {
    std::vector<uint64_t> ids(pending.size());
    std::transform(pending.begin(), pending.end(), ids.begin(), [](const Grid* grid) { return grid->id; });
    v.list("pending", ids, kMaxGrids);
    v("scratch", scratch);
    v.fixed("waves_on_engine", waves_on_engine);
    v.fixed("groups_on_cu", groups_on_cu);
    v("waves_live", waves_live);
    v("next_engine", next_engine, dispatcher.shape_.shader_engines - 1);
    v("failed_passes", failed_passes);
    v("next_reserved", next_reserved);
    v("stalled", stalled);
    v("priority", priority);
    v("no_room", no_room);
    v("waves_ready", waves_ready);
    v.list("saved", saved, kMaxSaved);
    if (!v.loads()) return;
    pending.clear();
    for (const uint64_t grid_id : ids) {
        Grid* const grid = dispatcher.find(grid_id);
        const bool right = grid != nullptr && !grid->walk.done() && grid->request.queue_id == id &&
                           std::find(pending.begin(), pending.end(), grid) == pending.end();
        v.require(right, "a grid waits that is not there");
        if (right) pending.push_back(grid);
    }
    for (const Saved& group : saved)
        v.require(group.image.engine < dispatcher.shape_.shader_engines, "saved waves of no shader engine");
}

/// Numbers that follow from the waves have to be those.
void Dispatcher::check_loaded(StateVisitor& v) {
    struct Counts {
        unsigned waves = 0, ready = 0;
        std::vector<unsigned> on_engine, on_cu;
    };
    std::map<uint32_t, Counts> queues;
    std::map<uint64_t, std::array<uint64_t, 3>> grids;  // waves, groups that run, groups in the save area
    for (auto& [id, q] : queues_) queues[id] = {0, 0, std::vector(shape_.shader_engines, 0u), std::vector(shape_.cus(), 0u)};
    const auto counts_of = [&](uint64_t dispatch) -> Counts* {
        const Grid* grid = find(dispatch);
        const auto found = grid == nullptr ? queues.end() : queues.find(grid->request.queue_id);
        v.require(found != queues.end(), "waves of a grid that is not there");
        return found == queues.end() ? nullptr : &found->second;
    };
    for (unsigned cu = 0; cu < cus_.size(); ++cu) {
        unsigned scratch = 0;
        for (unsigned slot = 0; slot < gcn::kWaveSlots; ++slot) {
            const gcn::Wave& wave = cus_[cu]->wave(slot);
            Counts* const counts = wave.state == gcn::WaveState::Free ? nullptr : counts_of(wave.dispatch);
            if (counts == nullptr) continue;
            ++counts->waves;
            ++counts->on_engine[engine_of(cu)];
            counts->ready += wave.save == gcn::SaveStep::Ready ? 1 : 0;
            scratch += wave.scratch_slot >= 0 ? 1 : 0;
            ++grids[wave.dispatch][0];
        }
        for (unsigned n = 0; n < gcn::kMaxWorkgroupsPerCu; ++n) {
            const gcn::Workgroup& group = cus_[cu]->workgroup(n);
            Counts* const counts = group.used ? counts_of(group.dispatch) : nullptr;
            if (counts == nullptr) continue;
            ++counts->on_cu[cu];
            ++grids[group.dispatch][1];
        }
        v.require(cu_scratch_waves_[cu] == scratch, "waves have other scratch");
    }
    for (auto& [id, q] : queues_) {
        for (const Queue::Saved& saved : q->saved) ++grids[saved.group.dispatch][2];
        const Counts& counts = queues[id];
        v.require(q->waves_live == counts.waves && q->waves_on_engine == counts.on_engine && q->groups_on_cu == counts.on_cu &&
                      q->waves_ready == counts.ready,
                  "a queue has other waves");
    }
    for (auto& [id, grid] : grids_) {
        const auto& [waves, running, saved] = grids[id];
        v.require(grid->waves_live == waves && grid->groups_running == running && grid->groups_saved >= saved,
                  "a grid has other waves");
        const auto found = queues_.find(grid->request.queue_id);
        const bool waits =
            found != queues_.end() && std::count(found->second->pending.begin(), found->second->pending.end(), grid.get()) == 1;
        v.require(grid->walk.done() || waits, "a grid waits for nobody");
    }
}

void Dispatcher::visit(StateVisitor& v) {
    v("next_id", next_id_);
    std::vector<uint64_t> ids(grids_.size());
    std::transform(grids_.begin(), grids_.end(), ids.begin(), [](const auto& entry) { return entry.first; });
    v.list("grid_ids", ids, kMaxGrids);
    if (v.loads()) {
        grids_.clear();
        queues_.clear();
    }
    for (const uint64_t id : ids) {
        v.begin("grid", id);
        std::unique_ptr<Grid>& grid = grids_[id];
        if (!grid) grid = std::make_unique<Grid>();
        grid->id = id;
        v.require(id != 0 && id < next_id_, "a grid has a number that none was given");
        grid->visit(v, shape_);
        v.end();
    }
    std::vector<uint32_t> queue_ids(queues_.size());
    std::transform(queues_.begin(), queues_.end(), queue_ids.begin(), [](const auto& entry) { return entry.first; });
    v.list("queue_ids", queue_ids, kQueueIds);
    for (const uint32_t id : queue_ids) {
        v.begin("queue", id);
        v.require(id < kQueueIds, "there is no such queue");
        if (v.ok()) queue(id).visit(v, *this);
        v.end();
    }
    for (size_t cu = 0; cu < cus_.size(); ++cu) {
        v.begin("cu", cu);
        cus_[cu]->visit(v);
        v.end();
    }
    v.fixed("cu_scratch_waves", cu_scratch_waves_);
    v.begin("global_memory");
    global_memory_.visit(v, shape_.cus());
    v.end();
    v("activity", meter_);
    v("weights", weights_);
    v("pipes", pipes_);
    v("next_cu", next_cu_, shape_.cus() - 1);
    v("room_changed", room_changed_);
    v("debug", debug_);
    v("reserved_cu", reserved_cu_);
    v("reserved_for", reserved_for_);
    v.fixed("engine_free_clk", engine_free_clk_);
    v("quantum_end_clk", quantum_end_clk_);
    v("last_launch_ns", last_launch_ns_);
    v("rate_limited", rate_limited_);
    v.map("ended", ended_, kMaxGrids);
    if (!v.loads()) return;
    v.require(reserved_cu_ >= -1 && reserved_cu_ < static_cast<int>(cus_.size()), "a compute unit is kept that is not there");
    const bool changed = room_changed_;
    set_debug(debug_);
    room_changed_ = changed;
    for (uint32_t& epoch : cu_epoch_) ++epoch;
    if (v.ok()) check_loaded(v);
}

}  // namespace lyra
