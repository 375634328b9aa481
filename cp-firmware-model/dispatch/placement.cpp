// SPDX-License-Identifier: MIT
// Which work-group goes to which compute unit, and with which scratch slots; step 5 of the data flow.
#include <algorithm>
#include <tuple>

#include "cp-firmware-model/dispatch/grid.h"

namespace lyra {

namespace {

/// Passes a queue's group may find no room, while others find some, before a CU is kept free for it.
constexpr unsigned kPatience = 256;

/// STATIC_THREAD_MGMT bit of a CU: 16 per shader array; one array per engine.
bool cu_enabled(const DispatchRequest& request, unsigned engine, unsigned cu_in_engine) {
    if (engine >= request.cu_mask.size() || cu_in_engine >= 32) return true;
    return bit(request.cu_mask[engine], cu_in_engine);
}

}  // namespace

/// Launch until no queue finds room. @return work-groups launched; bounded by what the CUs hold
unsigned Dispatcher::launch_groups() {
    room_changed_ = false;
    unsigned launched = 0;
    begin_turns();
    while (Queue* q = next_to_launch()) {
        q->no_room = !launch_next(*q);
        if (q->no_room) continue;
        take_turn(*q);
        ++launched;
    }
    return launched;
}

void Dispatcher::begin_turns() {
    std::array<bool, std::tuple_size_v<decltype(pipes_)>> waits{};
    for (PipeTurn& pipe : pipes_) pipe.top = 0;
    for (auto& [id, q] : queues_) {
        q->no_room = false;
        if (!q->waits_for_room()) {
            if (reserved_cu_ >= 0 && reserved_for_ == id) reserved_cu_ = -1;
            continue;
        }
        waits[q->pipe()] = true;
        pipes_[q->pipe()].top = std::max(pipes_[q->pipe()].top, q->rank());
    }
    for (unsigned n = 0; n < pipes_.size(); ++n) {
        PipeTurn& pipe = pipes_[n];
        if (!waits[n]) pipe.credit = 0;
        const auto holder = queues_.find(pipe.hold.queue);
        const uint64_t quantum = waits[n] && holder != queues_.end() ? holder->second->priority.quantum_ns : 0;
        pipe.over = quantum != 0 && env_.now_ns() - pipe.hold.since_ns >= quantum;
    }
}

/// On each pipe the queue of the highest priority, equals in turn by their quantum; of the pipes the one that is owed most.
/// Who finds no room lets the others have what he cannot use.
Dispatcher::Queue* Dispatcher::next_to_launch() {
    for (PipeTurn& pipe : pipes_) pipe.best = nullptr;
    for (auto& [id, q] : queues_) {
        if (q->no_room || !q->waits_for_room()) continue;
        PipeTurn& pipe = pipes_[q->pipe()];
        const auto place = [&](const Queue& of) { return pipe.hold.place(of.id, pipe.over); };
        const Queue* best = pipe.best;
        if (best == nullptr || q->rank() > best->rank() || (q->rank() == best->rank() && place(*q) < place(*best))) {
            pipe.best = q.get();
        }
    }
    PipeTurn* most = nullptr;
    int64_t most_owed = 0;
    for (PipeTurn& pipe : pipes_) {
        if (pipe.best == nullptr) continue;
        const int64_t owed = pipe.credit + weights_.of_queue_level(pipe.best->priority.pipe);
        if (most != nullptr && owed <= most_owed) continue;
        most = &pipe;
        most_owed = owed;
    }
    return most == nullptr ? nullptr : most->best;
}

/// A queue has launched: each pipe that waits gains its weight, this one pays for all.
void Dispatcher::take_turn(Queue& q) {
    PipeTurn& turn = pipes_[q.pipe()];
    for (PipeTurn& pipe : pipes_) {
        if (pipe.best == nullptr) continue;
        const unsigned weight = weights_.of_queue_level(pipe.best->priority.pipe);
        pipe.credit += weight;
        turn.credit -= weight;
    }
    const auto holder = queues_.find(turn.hold.queue);
    const bool stays = holder != queues_.end() && holder->second->waits_for_room() && holder->second->rank() >= q.rank();
    if (stays && !turn.over) return;
    turn.hold = {q.id, env_.now_ns()};
    turn.over = false;
}

bool Dispatcher::launch_next(Queue& q) {
    if (!may_launch(q.saved.empty() ? q.pending.front()->ready_ns : 0)) return false;
    if (!q.saved.empty()) return restore_next(q);
    Grid& grid = *q.pending.front();
    if (debug_.stalls(grid.request.vmid)) return false;
    const int cu = choose_cu(q, grid);
    update_reservation(q, grid, cu >= 0);
    if (cu < 0) return false;
    launch_on(q, grid, static_cast<unsigned>(cu));
    if (grid.walk.at_start()) emit<event::dispatch_started>(env_.tracer, env_.now_ns(), grid.id, q.id);
    grid.walk.next();
    if (!grid.walk.done()) return true;
    emit<event::dispatch_resident>(env_.tracer, env_.now_ns(), grid.id, q.id);
    q.pending.pop_front();
    return true;
}

/// Shader engines in turn. In virtual time a group waits for the engine whose turn it is, as on hardware, where each engine
/// gets as many groups as the others however few of its CUs the queue may use. Free running passes over one that cannot take
/// it.
int Dispatcher::choose_cu(Queue& q, Grid& grid) {
    grid.launch.group_id = grid.walk.group();
    grid.launch.group_valid = grid.walk.valid();
    // A partial group may fit where a full one did not.
    if (grid.launch.group_valid != grid.request.group_size) std::fill(grid.no_room.begin(), grid.no_room.end(), 0);
    const unsigned turn = engine_in_turn(q, grid.request), engines = waits_for_engine() ? 1 : shape_.shader_engines;
    for (unsigned i = 0; i < engines; ++i) {
        const unsigned engine = (turn + i) % shape_.shader_engines;
        if (!engine_can_start(engine)) continue;
        const int cu = best_cu_of_engine(q, grid, engine);
        if (cu < 0) continue;
        q.next_engine = (engine + 1) % shape_.shader_engines;
        return cu;
    }
    return -1;
}

/// The next engine of which the mask has a CU; any when there is none.
unsigned Dispatcher::engine_in_turn(const Queue& q, const DispatchRequest& request) const {
    const auto enabled = [&](unsigned engine) {
        for (unsigned c = 0; c < shape_.cus_per_engine; ++c) {
            if (cu_enabled(request, engine, c)) return true;
        }
        return false;
    };
    unsigned engine = q.next_engine;
    for (unsigned i = 1; i < shape_.shader_engines && !enabled(engine); ++i) engine = (engine + 1) % shape_.shader_engines;
    return engine;
}

/// The queue's own limits and scratch slots let one more group onto the engine.
bool Dispatcher::engine_allows(const Queue& q, const Grid& grid, unsigned engine) const {
    const unsigned max_waves = field::COMPUTE_RESOURCE_LIMITS::WAVES_PER_SH::get(grid.request.resource_limits);
    const unsigned waves = grid.waves_per_group;
    // A group larger than the limit runs alone: a limit must not stop a queue forever.
    if (max_waves != 0 && q.waves_on_engine[engine] != 0 && q.waves_on_engine[engine] + waves > max_waves) return false;
    if (!engine_has_room(engine, waves)) return false;
    return !grid.scratch.used() || q.scratch.available(engine, grid.scratch.slots_per_engine) >= waves;
}

bool Dispatcher::cu_allows(const Queue& q, const Grid& grid, unsigned cu) const {
    if (!cu_enabled(grid.request, engine_of(cu), cu % shape_.cus_per_engine)) return false;
    const unsigned max_groups = field::COMPUTE_RESOURCE_LIMITS::TG_PER_CU::get(grid.request.resource_limits);
    if (max_groups != 0 && q.groups_on_cu[cu] >= max_groups) return false;
    return !grid.scratch.used() || cu_scratch_waves_[cu] + grid.waves_per_group <= shape_.max_scratch_slots_per_cu;
}

/// The least loaded CU with room, or -1.
int Dispatcher::best_cu_of_engine(const Queue& q, Grid& grid, unsigned engine) {
    if (!engine_allows(q, grid, engine)) return -1;
    for (;;) {
        int best = -1;
        for (unsigned c = 0; c < shape_.cus_per_engine; ++c) {
            const unsigned cu = engine * shape_.cus_per_engine + c;
            if (grid.no_room[cu] == cu_epoch_[cu] || !cu_allows(q, grid, cu)) continue;
            if (static_cast<int>(cu) == reserved_cu_ && reserved_for_ != q.id) continue;
            if (best < 0 || cus_[cu]->waves_live() < cus_[best]->waves_live()) best = static_cast<int>(cu);
        }
        // To ask a CU is dear, so only the best candidate is asked; one that refuses is out until something changes there.
        if (best < 0 || cus_[best]->fits(grid.launch)) return best;
        grid.no_room[best] = cu_epoch_[best];
    }
}

/// Small groups of other queues must not keep a large one out forever: after some time one CU takes no other group.
void Dispatcher::update_reservation(Queue& q, const Grid& grid, bool placed) {
    const bool holder = reserved_cu_ >= 0 && reserved_for_ == q.id;
    if (placed) {
        q.failed_passes = 0;
        if (holder) reserved_cu_ = -1;
        return;
    }
    // A queue that comes after another one of its pipe has no claim against it.
    if (q.rank() < pipes_[q.pipe()].top || ++q.failed_passes < kPatience) return;
    q.failed_passes = 0;
    // The CU did not become free: waves there may wait for this very group or for the ones kept out. Try another later.
    if (holder)
        reserved_cu_ = -1;
    else if (reserved_cu_ < 0)
        reserve(q, grid);
}

/// Only where nothing but room is missing, and where the group may go.
void Dispatcher::reserve(Queue& q, const Grid& grid) {
    const unsigned turn = engine_in_turn(q, grid.request);
    for (unsigned i = 0; i < shape_.cus(); ++i) {
        const unsigned cu = (q.next_reserved + i) % shape_.cus();
        if (waits_for_engine() && engine_of(cu) != turn) continue;
        if (!engine_allows(q, grid, engine_of(cu)) || !cu_allows(q, grid, cu)) continue;
        reserved_cu_ = static_cast<int>(cu);
        reserved_for_ = q.id;
        q.next_reserved = cu + 1;
        return;
    }
}

void Dispatcher::launch_on(Queue& q, Grid& grid, unsigned cu) {
    gcn::WorkgroupLaunch& launch = grid.launch;
    launch.shader_engine = engine_of(cu);
    launch.cu_in_engine = cu % shape_.cus_per_engine;
    take_scratch(q, grid, cu, launch);
    debug_.apply(grid.request, launch);
    const unsigned before = cus_[cu]->waves_live();
    current_cu_ = cu;
    const uint64_t now_clk = env_.clock.clk();
    begin_launch(launch.shader_engine, grid.waves_per_group);
    cus_[cu]->launch(launch);
    env_.clock.set_clk(now_clk);
    const unsigned waves = cus_[cu]->waves_live() - before;
    count_launch(q, grid, cu, waves);
    if (grid.scratch.used() && waves < grid.waves_per_group) reclaim_unused_scratch(q, grid, cu, launch);
}

void Dispatcher::count_launch(Queue& q, Grid& grid, unsigned cu, unsigned waves) {
    ++grid.groups_running;
    ++q.groups_on_cu[cu];
    grid.waves_live += waves;
    q.waves_live += waves;
    q.waves_on_engine[engine_of(cu)] += waves;
    env_.stats.add(Stat::workgroups);
}

void Dispatcher::take_scratch(Queue& q, Grid& grid, unsigned cu, gcn::WorkgroupLaunch& launch) {
    if (!grid.scratch.used()) return;
    const unsigned engine = engine_of(cu);
    const uint64_t first = uint64_t{grid.scratch.slots_per_engine} * engine;
    for (unsigned w = 0; w < grid.waves_per_group; ++w) {
        const int slot = q.scratch.take(engine, grid.scratch.slots_per_engine);
        launch.scratch_slot[w] = slot;
        launch.scratch_offset[w] =
            static_cast<uint32_t>((first + static_cast<uint64_t>(std::max(slot, 0))) * grid.scratch.wave_bytes);
    }
    cu_scratch_waves_[cu] += grid.waves_per_group;
}

/// Partial groups launch fewer waves than slots were taken for.
void Dispatcher::reclaim_unused_scratch(Queue& q, const Grid& grid, unsigned cu, const gcn::WorkgroupLaunch& launch) {
    for (unsigned w = 0; w < grid.waves_per_group; ++w) {
        const int slot = launch.scratch_slot[w];
        bool held = false;
        for (unsigned s = 0; s < gcn::kWaveSlots && !held; ++s) {
            const gcn::Wave& wave = cus_[cu]->wave(s);
            held = wave.state != gcn::WaveState::Free && wave.state != gcn::WaveState::Ended && wave.dispatch == grid.id &&
                   wave.scratch_slot == slot;
        }
        if (held) continue;
        q.scratch.give_back(engine_of(cu), slot);
        --cu_scratch_waves_[cu];
    }
}

}  // namespace lyra
