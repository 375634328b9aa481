// SPDX-License-Identifier: MIT
// Which compute unit gets a work-group, and what of scratch and launch rate goes with it; step 5 of the data flow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/env.h"
#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/dispatch/engine_rate.h"
#include "cp-firmware-model/dispatch/launch_queue.h"
#include "gcn-interp/cu/port.h"

namespace lyra {

using ComputeUnits = std::vector<std::unique_ptr<gcn::CuPort>>;

/// Chooses, and keeps the account of what is taken; the dispatcher launches.
class Placement {
public:
    static constexpr int kNowhere = -1;

    Placement(Env& env, const GpuShape& shape, const ComputeUnits& units);

    /// Of how many XCCs it has the engines now.
    void set_xccs(unsigned xccs) { xccs_ = std::min(xccs, shape_.xccs); }
    unsigned xccs() const { return xccs_; }
    unsigned engines() const { return xccs_ * shape_.shader_engines; }

    EngineRate& rate() { return rate_; }
    const EngineRate& rate() const { return rate_; }

    /// For the next group of a grid, which is put into grid.launch. Small groups of other queues must not keep a large one out
    /// forever: after some time one CU takes no other group.
    /// @param outranked  the queue comes after another one of its pipe, against which it has no claim
    /// @return compute unit, or kNowhere
    int place(LaunchQueue& q, Grid& grid, bool outranked);
    /// For a saved group: on its shader engine, with the scratch slots that it had.
    int place_saved(LaunchQueue& q, const Grid& grid, const gcn::WorkgroupRestore& group, unsigned engine);

    /// The queue's own limits and scratch slots let one more group onto the engine, onto the CU.
    bool engine_allows(const LaunchQueue& q, const Grid& grid, unsigned engine) const;
    bool cu_allows(const LaunchQueue& q, const Grid& grid, unsigned cu) const;

    /// Whether these have to be asked for each group anew. Otherwise what they say of one holds for any number.
    static bool limits_groups(const Grid& grid) {
        return grid.scratch.used() || field::COMPUTE_RESOURCE_LIMITS::WAVES_PER_SH::get(grid.request.resource_limits) != 0 ||
               field::COMPUTE_RESOURCE_LIMITS::TG_PER_CU::get(grid.request.resource_limits) != 0;
    }

    /// Scratch slots for a group, into launch.
    void take_scratch(LaunchQueue& q, const Grid& grid, unsigned cu, gcn::WorkgroupLaunch& launch);
    /// Partial groups launch fewer waves than slots were taken for.
    void reclaim_unused_scratch(LaunchQueue& q, const Grid& grid, unsigned cu, const gcn::WorkgroupLaunch& launch);
    void take_saved_scratch(LaunchQueue& q, gcn::WorkgroupRestore& group, unsigned cu);
    void give_back_scratch(LaunchQueue& q, unsigned cu, int slot);

    /// Something of a CU has become free, or may have.
    void changed(unsigned cu) { ++epoch_[cu]; }
    /// A CU is kept free for some queue.
    bool reserves() const { return reserved_cu_ != kNowhere; }
    /// The queue does not wait for room any more.
    void release(const LaunchQueue& q) {
        if (reserved_for(q)) reserved_cu_ = kNowhere;
    }
    /// All CUs are empty, and no queue has anything.
    void reset();
    void visit(StateVisitor& v);
    /// While loading: the scratch that waves of a CU have is what is taken there.
    void check_scratch(StateVisitor& v, unsigned cu, unsigned waves) const {
        v.require(scratch_waves_[cu] == waves, "waves have other scratch");
    }

private:
    bool in_turn_only() const { return env_.clock.on(); }
    bool reserved_for(const LaunchQueue& q) const { return reserves() && reserved_for_ == q.id; }
    bool reserved_for_other(const LaunchQueue& q, unsigned cu) const {
        return static_cast<int>(cu) == reserved_cu_ && reserved_for_ != q.id;
    }
    int choose(LaunchQueue& q, Grid& grid);
    int best_of_engine(const LaunchQueue& q, Grid& grid, unsigned engine);
    int best_for_saved(const LaunchQueue& q, const Grid& grid, const gcn::WorkgroupRestore& group, unsigned engine) const;
    unsigned xcc_in_turn(const Grid& grid) const;
    unsigned engine_in_turn(const LaunchQueue& q, const Grid& grid) const;
    bool engine_has_room(unsigned engine, unsigned waves) const;
    void reserve(LaunchQueue& q, const Grid& grid);
    void reserve(LaunchQueue& q, unsigned cu);

    Env& env_;
    const GpuShape shape_;
    const ComputeUnits& units_;
    unsigned xccs_ = 1;
    EngineRate rate_;
    std::vector<uint32_t> epoch_;  ///< changes when a CU's resources change; see Grid::no_room
    std::vector<unsigned> scratch_waves_;  ///< by CU
    int reserved_cu_ = kNowhere;  ///< kept empty for a group that found no room for long
    uint32_t reserved_for_ = 0;  ///< queue id
};

}  // namespace lyra
