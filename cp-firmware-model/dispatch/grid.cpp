// SPDX-License-Identifier: MIT
// Grids come, go, and are kept in a stream; step 5 of the data flow.
#include "cp-firmware-model/dispatch/grid.h"

#include "cp-firmware-model/queue/hqd.h"

namespace lyra {

namespace {

constexpr size_t kMaxGrids = size_t{1} << 20;

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

void Grid::walk_to(const GridDeal& dealt) {
    deal = dealt;
    const unsigned part = deal.lowest();
    const uint64_t number = part == deal.parts ? deal.groups : deal.number(part, deal.launched[part]);
    walk.go_to_index(number);
    if (deal.in_order_until(number)) deal = {};
}

Grid& GridTable::add() {
    Grid& grid = *grids_.emplace_back(std::make_unique<Grid>());
    grid.id = next_id_++;
    return grid;
}

void GridTable::erase(uint64_t id) {
    const auto at = lower_bound(id);
    if (at != grids_.end() && (*at)->id == id) grids_.erase(at);
}

void DispatchRequest::visit(StateVisitor& v) {
    v("queue_id", queue_id, kQueueIds - 1);
    v("vmid", vmid, kVmids - 1);
    v("entry", entry);
    v("rsrc1", rsrc1);
    v("rsrc2", rsrc2);
    v("rsrc3", rsrc3);
    v("user_sgprs", user_sgprs);
    v("user_sgpr_count", user_sgpr_count, user_sgprs.size());
    v("grid", grid);
    v("group_size", group_size);
    v("group_start", group_start);
    v("lds_bytes", lds_bytes);
    v("scratch_base", scratch_base);
    v("tmpring_size", tmpring_size);
    v("cu_mask", cu_mask);
    v("resource_limits", resource_limits);
    v("packet_index", packet_index);
    v("doorbell_id", doorbell_id);
    v("xccs", xccs, kMaxXccs);
    v("first_xcc", first_xcc, kMaxXccs - 1);
    v.require(xccs != 0, "a grid of no XCC");
    v("release_ns", release_ns);
}

/// What a launch is made of now may differ from what it was made of; so it is kept, and what it takes is checked.
void Grid::visit(StateVisitor& v, const GpuShape& shape) {
    v("request", request);
    v.begin("walk");
    visit_walk(v, walk, request);
    v.end();
    v("deal", deal);
    v("launch", launch);
    launch.chip = shape.chip;
    v("groups_running", groups_running);
    v("groups_saved", groups_saved);
    v("ready_ns", ready_ns);
    v("resuming", resuming);
    v("waves_live", waves_live);
    if (!v.loads()) return;
    no_room.assign(shape.cus(), 0);
    scratch = scratch_share(request, shape);
    waves_per_group = gcn::wave_count(launch);
    v.require(!deal.dealt() || (!walk.done() && deal.groups == walk.total() &&
                                walk.index() == deal.number(deal.lowest(), deal.launched[deal.lowest()])),
              "a grid is dealt as none can be");
    if (walk.done()) return;
    const auto& slots = launch.scratch_slot;
    v.require(scratch.used() || std::all_of(slots.begin(), slots.end(), [](int32_t slot) { return slot == -1; }),
              "a grid without scratch has some");
    v.require(launch.dispatch == id && launch.vmid == request.vmid && launch.group_size == request.group_size &&
                  launch.user_sgpr_count <= launch.user_sgprs.size() && gcn::can_ever_fit(launch) &&
                  (!scratch.used() || waves_per_group <= std::min(scratch.slots_per_engine, shape.max_scratch_slots_per_cu)),
              "a grid that no compute unit can run");
}

void GridTable::visit(StateVisitor& v, const GpuShape& shape) {
    v("next_id", next_id_);
    std::vector<uint64_t> ids(grids_.size());
    std::transform(grids_.begin(), grids_.end(), ids.begin(), [](const auto& grid) { return grid->id; });
    v.list("grid_ids", ids, kMaxGrids);
    if (v.loads()) {
        grids_.clear();
        for (const uint64_t id : ids) {
            v.require(id < next_id_ && id > (grids_.empty() ? 0 : grids_.back()->id),
                      "a grid has a number that none was given");
            if (!v.ok()) break;
            grids_.emplace_back(std::make_unique<Grid>())->id = id;
        }
    }
    for (const auto& grid : grids_) {
        v.begin("grid", grid->id);
        grid->visit(v, shape);
        v.end();
    }
}

}  // namespace lyra
