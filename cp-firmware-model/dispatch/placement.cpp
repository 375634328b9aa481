// SPDX-License-Identifier: MIT
// Which work-group goes to which compute unit, and with which scratch slots; step 5 of the data flow.
#include "cp-firmware-model/dispatch/placement.h"

#include <algorithm>

#include "cwsr/area.h"

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

Placement::Placement(Env& env, const GpuShape& shape, const ComputeUnits& units)
    : env_(env), shape_(shape), units_(units), xccs_(shape.xccs), rate_(env, shape.engines()), epoch_(shape.cus(), 1),
      scratch_waves_(shape.cus(), 0) {}

int Placement::place(LaunchQueue& q, Grid& grid, bool outranked) {
    const int cu = choose(q, grid);
    if (cu != kNowhere) {
        q.failed_passes = 0;
        release(q);
        return cu;
    }
    if (outranked || ++q.failed_passes < kPatience) return kNowhere;
    q.failed_passes = 0;
    // The CU did not become free: waves there may wait for this very group or for the ones kept out. Try another later.
    if (reserved_for(q))
        reserved_cu_ = kNowhere;
    else if (!reserves())
        reserve(q, grid);
    return kNowhere;
}

/// Shader engines in turn. In virtual time a group waits for the engine whose turn it is, as on hardware, where each engine
/// gets as many groups as the others however few of its CUs the queue may use. Free running passes over one that cannot take
/// it.
int Placement::choose(LaunchQueue& q, Grid& grid) {
    grid.launch.group_id = grid.walk.group();
    grid.launch.group_valid = grid.walk.valid();
    // A partial group may fit where a full one did not.
    if (grid.launch.group_valid != grid.request.group_size) std::fill(grid.no_room.begin(), grid.no_room.end(), 0);
    const unsigned xcc = xcc_in_turn(grid), first = xcc * shape_.shader_engines, turn = engine_in_turn(q, grid) - first,
                   engines = in_turn_only() ? 1 : shape_.shader_engines;
    for (unsigned i = 0; i < engines; ++i) {
        const unsigned engine = first + (turn + i) % shape_.shader_engines;
        if (!rate_.can_start(engine)) continue;
        const int cu = best_of_engine(q, grid, engine);
        if (cu == kNowhere) continue;
        q.next_engine[xcc] = (engine + 1 - first) % shape_.shader_engines;
        return cu;
    }
    return kNowhere;
}

unsigned Placement::xcc_in_turn(const Grid& grid) const { return grid.request.xcc_of(grid.walk.index()) % xccs_; }

/// The next engine, of the XCC whose turn it is, of which the mask has a CU; any when there is none.
unsigned Placement::engine_in_turn(const LaunchQueue& q, const Grid& grid) const {
    const auto enabled = [&](unsigned engine) {
        for (unsigned c = 0; c < shape_.cus_per_engine; ++c) {
            if (cu_enabled(grid.request, engine, c)) return true;
        }
        return false;
    };
    const unsigned xcc = xcc_in_turn(grid), first = xcc * shape_.shader_engines;
    unsigned engine = q.next_engine[xcc];
    for (unsigned i = 1; i < shape_.shader_engines && !enabled(first + engine); ++i)
        engine = (engine + 1) % shape_.shader_engines;
    return first + engine;
}

bool Placement::engine_allows(const LaunchQueue& q, const Grid& grid, unsigned engine) const {
    if (engine >= engines()) return false;
    const unsigned max_waves = field::COMPUTE_RESOURCE_LIMITS::WAVES_PER_SH::get(grid.request.resource_limits);
    const unsigned waves = grid.waves_per_group;
    // A group larger than the limit runs alone: a limit must not stop a queue forever.
    if (max_waves != 0 && q.waves_on_engine[engine] != 0 && q.waves_on_engine[engine] + waves > max_waves) return false;
    if (!engine_has_room(engine, waves)) return false;
    return !grid.scratch.used() || q.scratch.available(engine, grid.scratch.slots_per_engine) >= waves;
}

/// The control stack names 512 waves per engine at most.
bool Placement::engine_has_room(unsigned engine, unsigned waves) const {
    if (shape_.cus_per_engine * facts_of(shape_.chip).waves_per_cu() <= cwsr::kMaxWavesPerEngine) return true;
    unsigned live = waves;
    for (unsigned c = 0; c < shape_.cus_per_engine; ++c) live += units_[engine * shape_.cus_per_engine + c]->waves_live();
    return live <= cwsr::kMaxWavesPerEngine;
}

bool Placement::cu_allows(const LaunchQueue& q, const Grid& grid, unsigned cu) const {
    if (!cu_enabled(grid.request, shape_.engine_of(cu), cu % shape_.cus_per_engine)) return false;
    const unsigned max_groups = field::COMPUTE_RESOURCE_LIMITS::TG_PER_CU::get(grid.request.resource_limits);
    if (max_groups != 0 && q.groups_on_cu[cu] >= max_groups) return false;
    return !grid.scratch.used() || scratch_waves_[cu] + grid.waves_per_group <= shape_.max_scratch_slots_per_cu;
}

/// The least loaded CU with room.
int Placement::best_of_engine(const LaunchQueue& q, Grid& grid, unsigned engine) {
    if (!engine_allows(q, grid, engine)) return kNowhere;
    for (;;) {
        int best = kNowhere;
        for (unsigned c = 0; c < shape_.cus_per_engine; ++c) {
            const unsigned cu = engine * shape_.cus_per_engine + c;
            if (grid.no_room[cu] == epoch_[cu] || !cu_allows(q, grid, cu)) continue;
            if (reserved_for_other(q, cu)) continue;
            if (best < 0 || units_[cu]->waves_live() < units_[best]->waves_live()) best = static_cast<int>(cu);
        }
        // To ask a CU is dear, so only the best candidate is asked; one that refuses is out until something changes there.
        if (best < 0 || units_[best]->fits(grid.launch)) return best;
        grid.no_room[best] = epoch_[best];
    }
}

/// Only where nothing but room is missing, and where the group may go.
void Placement::reserve(LaunchQueue& q, const Grid& grid) {
    const unsigned turn = engine_in_turn(q, grid);
    for (unsigned i = 0; i < shape_.cus(); ++i) {
        const unsigned cu = (q.next_reserved + i) % shape_.cus();
        if (in_turn_only() && shape_.engine_of(cu) != turn) continue;
        if (shape_.xcc_of_engine(shape_.engine_of(cu)) != shape_.xcc_of_engine(turn)) continue;
        if (!engine_allows(q, grid, shape_.engine_of(cu)) || !cu_allows(q, grid, cu)) continue;
        q.next_reserved = cu + 1;
        return reserve(q, cu);
    }
}

void Placement::reserve(LaunchQueue& q, unsigned cu) {
    reserved_cu_ = static_cast<int>(cu);
    reserved_for_ = q.id;
}

int Placement::place_saved(LaunchQueue& q, const Grid& grid, const gcn::WorkgroupRestore& group, unsigned engine) {
    const int cu = best_for_saved(q, grid, group, engine);
    if (cu != kNowhere) {
        q.failed_passes = 0;
        release(q);
        return cu;
    }
    if (++q.failed_passes < kPatience) return kNowhere;
    q.failed_passes = 0;
    // Another CU of its engine when the one before did not become free.
    if (reserved_for(q) || !reserves()) reserve(q, engine * shape_.cus_per_engine + q.next_reserved++ % shape_.cus_per_engine);
    return kNowhere;
}

/// The least loaded CU of the engine with room; one that the queue may use now, unless it may use none of this engine.
int Placement::best_for_saved(const LaunchQueue& q, const Grid& grid, const gcn::WorkgroupRestore& group,
                              unsigned engine) const {
    // Scratch addresses are in the waves' registers: each needs the very slot that it had.
    for (unsigned n = 0; n < group.waves; ++n) {
        if (group.scratch_slot[n] >= 0 && !q.scratch.is_free(engine, group.scratch_slot[n])) return kNowhere;
    }
    const uint32_t mask = grid.request.cu_mask[engine % grid.request.cu_mask.size()];
    const uint32_t here = shape_.cus_per_engine >= 32 ? ~0u : (1u << shape_.cus_per_engine) - 1;
    int best = kNowhere;
    for (unsigned c = 0; c < shape_.cus_per_engine; ++c) {
        const unsigned cu = engine * shape_.cus_per_engine + c;
        if ((mask & here) != 0 && c < 32 && !bit(mask, c)) continue;
        if (reserved_for_other(q, cu)) continue;
        if (best >= 0 && units_[cu]->waves_live() >= units_[best]->waves_live()) continue;
        if (units_[cu]->fits(group)) best = static_cast<int>(cu);
    }
    return best;
}

void Placement::take_scratch(LaunchQueue& q, const Grid& grid, unsigned cu, gcn::WorkgroupLaunch& launch) {
    if (!grid.scratch.used()) return;
    const unsigned engine = shape_.engine_of(cu);
    const uint64_t first = uint64_t{grid.scratch.slots_per_engine} * engine;
    for (unsigned w = 0; w < grid.waves_per_group; ++w) {
        const int slot = q.scratch.take(engine, grid.scratch.slots_per_engine);
        launch.scratch_slot[w] = slot;
        launch.scratch_offset[w] =
            static_cast<uint32_t>((first + static_cast<uint64_t>(std::max(slot, 0))) * grid.scratch.wave_bytes);
    }
    scratch_waves_[cu] += grid.waves_per_group;
}

void Placement::reclaim_unused_scratch(LaunchQueue& q, const Grid& grid, unsigned cu, const gcn::WorkgroupLaunch& launch) {
    for (unsigned w = 0; w < grid.waves_per_group; ++w) {
        const int slot = launch.scratch_slot[w];
        bool held = false;
        for (unsigned s = 0; s < gcn::kWaveSlots && !held; ++s) {
            const gcn::Wave& wave = units_[cu]->wave(s);
            held = wave.state != gcn::WaveState::Free && wave.state != gcn::WaveState::Ended && wave.dispatch == grid.id &&
                   wave.scratch_slot == slot;
        }
        if (!held) give_back_scratch(q, cu, slot);
    }
}

void Placement::take_saved_scratch(LaunchQueue& q, gcn::WorkgroupRestore& group, unsigned cu) {
    for (unsigned n = 0; n < group.waves; ++n) {
        if (group.scratch_slot[n] < 0) continue;
        // A damaged image may name a slot twice; only one wave gives it back.
        if (!q.scratch.is_free(shape_.engine_of(cu), group.scratch_slot[n])) {
            group.scratch_slot[n] = -1;
            continue;
        }
        q.scratch.take_slot(shape_.engine_of(cu), group.scratch_slot[n]);
        ++scratch_waves_[cu];
    }
}

void Placement::give_back_scratch(LaunchQueue& q, unsigned cu, int slot) {
    q.scratch.give_back(shape_.engine_of(cu), slot);
    --scratch_waves_[cu];
}

void Placement::reset() {
    for (uint32_t& epoch : epoch_) ++epoch;
    std::fill(scratch_waves_.begin(), scratch_waves_.end(), 0);
    reserved_cu_ = kNowhere;
}

void Placement::visit(StateVisitor& v) {
    v.fixed("scratch_waves", scratch_waves_);
    v("reserved_cu", reserved_cu_);
    v("reserved_for", reserved_for_);
    v("rate", rate_);
    if (!v.loads()) return;
    v.require(reserved_cu_ >= kNowhere && reserved_cu_ < static_cast<int>(units_.size()),
              "a compute unit is kept that is not there");
    for (uint32_t& epoch : epoch_) ++epoch;
}

}  // namespace lyra
