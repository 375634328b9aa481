// SPDX-License-Identifier: MIT
// Grids that have not ended, by their dispatch ids; step 5 of the data flow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "common/snapshot.h"
#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/dispatch/grid_deal.h"
#include "cp-firmware-model/dispatch/grid_walk.h"
#include "cp-firmware-model/dispatch/request.h"
#include "facts/register_fields.h"
#include "gcn-interp/cu/group.h"

namespace lyra {

inline constexpr uint32_t kTmpringUnitBytes = 1024;  ///< of COMPUTE_TMPRING_SIZE.WAVESIZE

/// Scratch of one grid: slots per shader engine and bytes per wave. No slots: waves run without scratch.
struct ScratchShare {
    unsigned slots_per_engine = 0;
    uint32_t wave_bytes = 0;
    bool used() const { return slots_per_engine != 0; }
};

inline ScratchShare scratch_share(const DispatchRequest& request, const GpuShape& shape) {
    if (!field::COMPUTE_PGM_RSRC2::SCRATCH_EN::get(request.rsrc2)) return {};
    const uint32_t wave_bytes = field::COMPUTE_TMPRING_SIZE::WAVESIZE::get(request.tmpring_size) * kTmpringUnitBytes;
    const unsigned slots = field::COMPUTE_TMPRING_SIZE::WAVES::get(request.tmpring_size) / shape.shader_engines;
    if (wave_bytes == 0 || slots == 0) return {};
    return {slots, wave_bytes};
}

/// Where a grid goes on with launching.
struct LaunchPosition {
    std::array<uint32_t, 3> group{};  ///< the lowest that has not been launched
    GridDeal deal;  ///< those behind it that have been
};

struct Grid {
    uint64_t id = 0;
    DispatchRequest request;
    GridWalk walk;  ///< at the lowest group that has not been launched
    GridDeal deal;  ///< while others behind that have been launched
    gcn::WorkgroupLaunch launch;  ///< filled except for what differs by group
    ScratchShare scratch;
    unsigned waves_per_group = 0;
    uint64_t groups_running = 0;
    uint64_t groups_saved = 0;  ///< in the save area
    uint64_t ready_ns = 0;      ///< virtual time: no work-group before
    bool resuming = false;      ///< what it consists of is not known yet
    uint64_t waves_live = 0;
    std::vector<uint32_t> no_room;  ///< by CU: Placement::epoch() at which a group did not fit

    void visit(StateVisitor& v, const GpuShape& shape);
    /// Groups that may be launched next, one behind the other: at most so many.
    uint64_t next_groups(uint64_t most) const {
        if (!deal.dealt()) return walk.left(most);
        const unsigned part = deal.lowest();
        return std::min(most, deal.run(part, deal.launched[part]));
    }
    /// That many have been launched.
    void walk_on(uint64_t count) {
        if (!deal.dealt()) return walk.skip(count);
        deal.launched[deal.lowest()] += count;
        walk_to(deal);
    }
    void walk_to(const GridDeal& dealt);
    void stop() {
        deal = {};
        walk.stop();
    }
    bool ended() const { return walk.done() && groups_running == 0 && groups_saved == 0 && !resuming; }
};

/// Ids grow from grid to grid, so the order of launch is that of the ids, and the oldest grids end first mostly.
class GridTable {
public:
    /// With an id that none has had before.
    Grid& add();
    Grid* find(uint64_t id) {
        const auto at = lower_bound(id);
        return at != grids_.end() && (*at)->id == id ? at->get() : nullptr;
    }
    const Grid* find(uint64_t id) const { return const_cast<GridTable*>(this)->find(id); }
    void erase(uint64_t id);
    template <class Match>
    void erase_if(Match match) {
        std::erase_if(grids_, [&](const auto& grid) { return match(*grid); });
    }
    void clear() { grids_.clear(); }
    void visit(StateVisitor& v, const GpuShape& shape);

    /// Of pointers, oldest first.
    auto begin() const { return grids_.begin(); }
    auto end() const { return grids_.end(); }

private:
    std::deque<std::unique_ptr<Grid>>::iterator lower_bound(uint64_t id) {
        return std::lower_bound(grids_.begin(), grids_.end(), id, [](const auto& grid, uint64_t n) { return grid->id < n; });
    }

    std::deque<std::unique_ptr<Grid>> grids_;
    uint64_t next_id_ = 1;
};

}  // namespace lyra
