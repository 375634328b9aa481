// SPDX-License-Identifier: MIT
// Work-groups go to compute units: new ones, and saved ones that come back; step 5 of the data flow.
#include "cp-firmware-model/dispatch/rounds.h"

namespace lyra {

/// Launch until no queue finds room. @return work-groups launched; bounded by what the CUs hold
unsigned Dispatcher::launch_groups() {
    room_changed_ = false;
    unsigned launched = 0;
    for (const auto& q : queues_) {
        if (!q->waits_for_room()) placement_.release(*q);
    }
    if (!env_.clock.on() && rounds_->launches()) return 0;
    turns_.begin(queues_, env_);
    while (LaunchQueue* const q = turns_.next(queues_)) {
        q->no_room = !launch_next(*q);
        if (q->no_room) continue;
        turns_.took(queues_, *q, env_);
        ++launched;
    }
    return launched;
}

/// Virtual time: the set-up of the grid is over, and a shader engine can start a wave in this quantum.
bool Dispatcher::may_launch(uint64_t ready_ns) {
    return !env_.clock.on() || (env_.clock.ns() >= ready_ns && placement_.rate().any_can_start());
}

bool Dispatcher::launch_next(LaunchQueue& q) {
    if (!q.saved.empty()) return may_launch(0) && restore_next(q);
    Grid& grid = *grids_.find(q.pending.front());
    if (!may_launch(grid.ready_ns) || debug_.stalls(grid.request.vmid)) return false;
    const int cu = placement_.place(q, grid, turns_.outranked(q));
    if (cu == Placement::kNowhere) return false;
    launch_on(q, grid, static_cast<unsigned>(cu));
    walk_on(q, grid, 1);
    return true;
}

/// The next groups of the queue's first grid have been launched. @param dealt  nullptr: so many; otherwise those
void Dispatcher::walk_on(LaunchQueue& q, Grid& grid, unsigned groups, const GridDeal* dealt) {
    if (grid.walk.at_start() && !grid.deal.dealt()) emit<event::dispatch_started>(env_.tracer, env_.now_ns(), grid.id, q.id);
    dealt != nullptr ? grid.walk_to(*dealt) : grid.walk_on(groups);
    if (!grid.walk.done()) return;
    emit<event::dispatch_resident>(env_.tracer, env_.now_ns(), grid.id, q.id);
    q.pending.pop_front();
}

void Dispatcher::launch_on(LaunchQueue& q, Grid& grid, unsigned cu) {
    gcn::WorkgroupLaunch& launch = grid.launch;
    place_launch(launch, cu);
    placement_.take_scratch(q, grid, cu, launch);
    debug_.apply(grid.request, launch);
    const unsigned before = cus_[cu]->waves_live();
    current_cu_ = cu;
    const uint64_t now_clk = env_.clock.clk();
    placement_.rate().start(shape_.engine_of(cu), grid.waves_per_group);
    cus_[cu]->launch(launch);
    env_.clock.set_clk(now_clk);
    const unsigned waves = cus_[cu]->waves_live() - before;
    count_launch(q, grid, 1, waves);
    count_place(q, cu, 1, waves);
    env_.stats.add(Stat::workgroups);
    if (grid.scratch.used() && waves < grid.waves_per_group) placement_.reclaim_unused_scratch(q, grid, cu, launch);
}

bool Dispatcher::restore_next(LaunchQueue& q) {
    LaunchQueue::Saved& saved = q.saved.front();
    Grid* const grid = grids_.find(saved.group.dispatch);
    if (grid == nullptr) {
        q.saved.pop_front();
        return true;
    }
    if (debug_.stalls(grid->request.vmid) || !placement_.rate().can_start(saved.image.engine)) return false;
    const int cu = placement_.place_saved(q, *grid, saved.group, saved.image.engine);
    if (cu == Placement::kNowhere) return false;
    restore_on(q, *grid, saved.group, static_cast<unsigned>(cu));
    q.saved.pop_front();
    return true;
}

void Dispatcher::restore_on(LaunchQueue& q, Grid& grid, gcn::WorkgroupRestore& group, unsigned cu) {
    place_launch(group, cu);
    group.rsrc1 = grid.request.rsrc1;
    placement_.take_saved_scratch(q, group, cu);
    current_cu_ = cu;
    const uint64_t now_clk = env_.clock.clk();
    placement_.rate().start(shape_.engine_of(cu), group.waves);
    cus_[cu]->restore(group);
    env_.clock.set_clk(now_clk);
    --grid.groups_saved;
    count_launch(q, grid, 1, group.waves);
    count_place(q, cu, 1, group.waves);
    env_.stats.add(Stat::waves_restored, group.waves);
}

void Dispatcher::count_launch(LaunchQueue& q, Grid& grid, unsigned groups, unsigned waves) {
    grid.groups_running += groups;
    grid.waves_live += waves;
    q.waves_live += waves;
}

void Dispatcher::count_place(LaunchQueue& q, unsigned cu, unsigned groups, unsigned waves) const {
    q.groups_on_cu[cu] += groups;
    q.waves_on_engine[shape_.engine_of(cu)] += waves;
}

}  // namespace lyra
