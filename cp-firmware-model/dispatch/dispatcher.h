// SPDX-License-Identifier: MIT
// Grids to work-groups to compute units; step 5 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "common/env.h"
#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/dispatch/sq_interrupt.h"
#include "gcn-interp/cu/compute_unit.h"

namespace lyra {

/// One grid, as PM4 DISPATCH_* or an AQL packet describes it.
struct DispatchRequest {
    uint32_t queue_id = 0;  ///< Hqd::id()
    uint32_t vmid = 0;
    uint64_t entry = 0;  ///< byte address of the first instruction
    uint32_t rsrc1 = 0, rsrc2 = 0;
    std::array<uint32_t, 16> user_sgprs{};
    unsigned user_sgpr_count = 0;
    std::array<uint32_t, 3> grid{1, 1, 1};         ///< work-items, counted from group 0; 0 in a dimension: empty grid
    std::array<uint32_t, 3> group_size{1, 1, 1};   ///< work-items
    std::array<uint32_t, 3> group_start{0, 0, 0};  ///< COMPUTE_START_X/Y/Z: groups below it are not launched
    uint32_t lds_bytes = 0;
    uint32_t tmpring_size = 0;                                                ///< WAVES 11:0, WAVESIZE 24:12 in KiB
    std::array<uint32_t, 8> cu_mask{~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u};  ///< STATIC_THREAD_MGMT_SE0..7
    uint32_t resource_limits = 0;  ///< COMPUTE_RESOURCE_LIMITS: WAVES_PER_SH 9:0, TG_PER_CU 15:12; 0 = no limit
    uint32_t packet_index = 0;     ///< AQL ring slot, for TTMP6
    uint32_t doorbell_id = 0;      ///< (doorbell byte offset / 8) & 0x3ff, for MSG_GET_DOORBELL
};

/// Owns the compute units, places work-groups, runs waves, and knows which grids are complete.
class Dispatcher : public gcn::CuServices {
public:
    Dispatcher(Env& env, CpBus& bus, const GpuShape& shape);
    ~Dispatcher() override;

    /// Why a request cannot run on this chip (AqlWorkgroupSize, AqlGroupMemory, AqlRegisters, AqlScratch), or None.
    /// An empty grid is no fault: it completes at once.
    Fault check(const DispatchRequest& request) const;

    /// Queue a grid for launch, in order within its hardware queue. Only after check() said None.
    /// @return dispatch id, never 0
    uint64_t start(const DispatchRequest& request);
    /// All work-groups have been handed to CUs.
    bool launched(uint64_t dispatch) const;
    /// No work-group is left to launch and none is running. Ids that were killed or are unknown are complete.
    bool complete(uint64_t dispatch) const;

    /// Do not launch more work-groups of a queue (its waves go on), or launch again.
    void stall_queue(uint32_t queue_id, bool stalled);
    unsigned waves_live(uint32_t queue_id) const;
    /// Waves that can never end by themselves: halted without a trap handler or parked by it, or at a barrier behind one.
    bool only_halted_waves(uint32_t queue_id) const;
    void kill_queue(uint32_t queue_id);
    void kill_vmid(uint32_t vmid);
    void reset();
    void invalidate_code();

    /// Launch what fits, then run waves for about instruction_budget instructions over all CUs.
    RunState run(uint64_t instruction_budget);

    /// SPI_CSQ_WF_ACTIVE_COUNT-like view for KFD's cu_occupancy.
    unsigned waves_live_total() const;
    const gcn::ComputeUnit& cu(unsigned index) const { return *cus_[index]; }

    // gcn::CuServices
    void wave_interrupt(const gcn::Wave& wave, uint32_t data) override;
    void wave_error(const gcn::Wave& wave, unsigned error) override;
    void wave_ended(const gcn::Wave& wave) override;
    void workgroup_ended(uint64_t dispatch) override;
    uint64_t shader_clock() override;
    uint64_t reference_clock() override;

private:
    struct Grid;
    struct Queue;

    Queue& queue(uint32_t queue_id);
    Grid* find(uint64_t dispatch);
    const Grid* find(uint64_t dispatch) const;
    unsigned engine_of(unsigned cu) const { return cu / shape_.cus_per_engine; }
    WavePlace place_of(const gcn::Wave& wave) const;

    gcn::WorkgroupLaunch make_launch(const DispatchRequest& request) const;
    unsigned launch_groups();
    bool launch_next(Queue& queue);
    int choose_cu(Queue& queue, Grid& grid);
    int best_cu_of_engine(const Queue& queue, Grid& grid, unsigned engine);
    void launch_on(Queue& queue, Grid& grid, unsigned cu);
    void take_scratch(Queue& queue, Grid& grid, unsigned cu, gcn::WorkgroupLaunch& launch);
    void reclaim_unused_scratch(Queue& queue, const Grid& grid, unsigned cu, const gcn::WorkgroupLaunch& launch);
    bool engine_allows(const Queue& queue, const Grid& grid, unsigned engine) const;
    bool cu_allows(const Queue& queue, const Grid& grid, unsigned cu) const;
    void reserve(Queue& queue, const Grid& grid);
    void update_reservation(Queue& queue, const Grid& grid, bool placed);
    void finish_if_done(Grid& grid);
    void kill_grid(Grid& grid);
    template <class Match>
    void kill_if(Match match);
    uint64_t run_cu(unsigned cu, uint64_t budget);

    Env& env_;
    CpBus& bus_;
    GpuShape shape_;
    std::vector<std::unique_ptr<gcn::ComputeUnit>> cus_;
    std::vector<uint32_t> cu_epoch_;  ///< changes when a CU's resources change; see Grid::no_room
    std::vector<unsigned> cu_scratch_waves_;
    std::map<uint64_t, std::unique_ptr<Grid>> grids_;  ///< by dispatch id: launch order
    std::map<uint32_t, std::unique_ptr<Queue>> queues_;
    uint64_t next_id_ = 1;
    uint32_t last_queue_ = 0;  ///< queue that launched last, for fair turns
    unsigned next_cu_ = 0;
    unsigned current_cu_ = 0;  ///< whose services are being called
    bool room_changed_ = false;
    int reserved_cu_ = -1;       ///< kept empty for a group that found no room for long
    uint32_t reserved_for_ = 0;  ///< queue id
};

}  // namespace lyra
