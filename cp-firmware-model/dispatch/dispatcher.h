// SPDX-License-Identifier: MIT
// Grids to work-groups to compute units; step 5 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "common/activity.h"
#include "common/env.h"
#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/dispatch/debug.h"
#include "cp-firmware-model/dispatch/global_memory.h"
#include "cp-firmware-model/dispatch/launch_turns.h"
#include "cp-firmware-model/dispatch/placement.h"
#include "cp-firmware-model/dispatch/request.h"
#include "cp-firmware-model/dispatch/sq_interrupt.h"
#include "cwsr/control_stack.h"
#include "gcn-interp/cu/port.h"

namespace lyra {

namespace gcn {
class Translator;
}

/// Charged against the budget of Dispatcher::run(): for a CU that has waves but executed nothing (all asleep), and per
/// work-group, so that empty kernels use it up too.
inline constexpr uint64_t kVisitCost = 64, kLaunchCost = 16;

/// Owns the compute units, hands them work-groups, runs waves, and knows which grids are complete. LaunchTurns says which queue
/// is next, Placement where its work-group goes.
class Dispatcher : public gcn::CuServices {
public:
    /// @param make_cu  empty: compute units that execute
    Dispatcher(Env& env, CpBus& bus, const GpuShape& shape, const gcn::MakeCu& make_cu = {});
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

    /// Which queue's groups are launched first: registers of the queue, and the weights of pipes.
    void set_priority(uint32_t queue_id, const QueuePriority& priority);
    /// How many XCCs it has the engines of now.
    void set_xccs(unsigned xccs) { placement_.set_xccs(xccs); }
    void set_pipe_weights(const PipeWeights& weights) { turns_.set_weights(weights); }

    /// Do not launch more work-groups of a queue (its waves go on), or launch again.
    void stall_queue(uint32_t queue_id, bool stalled);
    unsigned waves_live(uint32_t queue_id) const;
    unsigned waves_live(uint32_t queue_id, unsigned xcc) const;
    /// Waves that can never end by themselves: halted without a trap handler or parked by it, or at a barrier behind one.
    bool only_halted_waves(uint32_t queue_id) const;
    void kill_queue(uint32_t queue_id);

    /// What a context save needs (unmap/save_coordinator.h). Launch nothing more of the queue and ask all its waves to save
    /// themselves.
    void ask_to_save(uint32_t queue_id);
    /// Every wave of the queue waits for its record; also when it has none.
    bool all_wait_for_records(uint32_t queue_id) const;
    /// To the wave of a slot that waits. @param first  it saves the LDS of its work-group
    void grant_record(unsigned cu, unsigned slot, uint64_t record, bool first);
    /// The queue's grids are kept elsewhere (its descriptor): forget them, nothing ends.
    void forget_queue(uint32_t queue_id);

    /// Of a queue that is stalled. @return false: all groups have been launched
    bool next_group(uint64_t dispatch, LaunchPosition& position) const;
    const DispatchRequest* request(uint64_t dispatch) const;
    /// A grid that was forgotten goes on. @param position nullptr: all its groups have been launched
    /// @return dispatch id. It does not end before end_resume().
    uint64_t resume(const DispatchRequest& request, const LaunchPosition* position);
    /// A saved group of a resumed grid: waits for its place, before anything else of the queue is launched.
    /// @return SavedImage: no compute unit could ever hold it, or there is no such grid
    Fault restore(uint32_t queue_id, const cwsr::SavedGroup& group, uint64_t area_base, uint64_t dispatch);
    void end_resume(uint32_t queue_id);
    size_t groups_to_restore(uint32_t queue_id) const;
    void append_groups_to_restore(uint32_t queue_id, std::vector<cwsr::SavedGroup>& groups) const;
    /// The queue has work-groups to place, none of it runs, and there is no room.
    bool starving(uint32_t queue_id) const;
    /// Waves of any queue are still in the trap handler's restore entry.
    bool restoring() const;

    /// Global wave sync resources of a queue that gets a slot, or loses it. Waves of others that wait there ask again.
    void load_gws(GwsRange range, const GwsWords& words);
    void store_gws(GwsRange range, GwsWords& words);
    const Gws& gws() const { return global_memory_.gws(); }

    void kill_vmid(uint32_t vmid);
    /// SQ_CMD.
    void command_waves(gcn::WaveCommand command, uint32_t data, const WaveSelection& selection);
    const DebugControls& debug() const { return debug_; }
    /// For waves launched from now on, and memory accesses of all waves.
    void set_debug(const DebugControls& controls);
    void reset();
    /// Between two calls of run(). The registers that say what VMIDs are have been loaded before.
    void visit(StateVisitor& v);
    void invalidate_code();

    /// Launch what fits, then run waves for about instruction_budget instructions over all CUs.
    RunState run(uint64_t budget);

    /// Virtual time: run waves up to a time. @param end_clk after the clock, which then stands there
    void run_quantum(uint64_t end_clk);
    /// Virtual time: the first clock at which something happens here, kNever when nothing will.
    uint64_t next_event_clk();

    /// SPI_CSQ_WF_ACTIVE_COUNT-like view for KFD's cu_occupancy.
    unsigned waves_live_total() const;
    unsigned waves_on_engine(unsigned engine) const;  ///< 0 of an engine that the chip does not have
    const gcn::CuPort& cu(unsigned index) const;
    const GpuShape& shape() const { return shape_; }

    /// Of compute units, which are in use while they have waves.
    Activity activity() { return meter_.last(env_.now_ns()); }
    /// Waves may have come or gone since the last time. Not within a quantum, in which the clock goes back.
    void note_activity();

    // gcn::CuServices
    void wave_interrupt(const gcn::Wave& wave, uint32_t data) override;
    void wave_error(const gcn::Wave& wave, unsigned error) override;
    void wave_ended(const gcn::Wave& wave) override;
    void workgroup_ended(uint64_t dispatch) override;
    void wave_save_ready(const gcn::Wave& wave) override;
    void workgroup_saved(uint64_t dispatch) override;
    gcn::GwsAnswer gws(const gcn::Wave& wave, gcn::GwsOp op, uint32_t resource, uint32_t value) override;
    void gws_left(const gcn::Wave& wave) override;
    uint64_t shader_clock() override;
    uint64_t reference_clock() override;
    gcn::GdsWindow gds(uint32_t vmid) override;

private:
    class Rounds;

    void check_loaded(StateVisitor& v);
    LaunchQueue& queue_of(const Grid& grid) { return queues_.at(grid.request.queue_id); }
    WavePlace place_of(const gcn::Wave& wave) const;
    void interrupt(SqEncoding encoding, const gcn::Wave& wave, uint32_t data);
    gcn::WorkgroupLaunch make_launch(const DispatchRequest& request) const;
    void ended(uint64_t dispatch, uint64_t waves, uint64_t groups);
    void finish_if_done(Grid& grid);
    void kill_grid(Grid& grid);
    template <class Match>
    void kill_if(Match match);
    RunState state_after(uint64_t used) const;
    /// Somebody looks at compute units or at what they hold, or something else wants room.
    void fill_places() const;
    // launch.cpp
    unsigned launch_groups();
    bool may_launch(uint64_t ready_ns);
    bool launch_next(LaunchQueue& q);
    /// Where it is, as its waves learn it.
    template <class Launch>
    void place_launch(Launch& launch, unsigned cu) const {
        const unsigned engine = shape_.engine_of(cu);
        launch.xcc = shape_.xcc_of_engine(engine);
        launch.shader_engine = engine % shape_.shader_engines;
        launch.cu_in_engine = cu % shape_.cus_per_engine;
    }
    void launch_on(LaunchQueue& q, Grid& grid, unsigned cu);
    void walk_on(LaunchQueue& q, Grid& grid, unsigned groups, const GridDeal* dealt = nullptr);
    bool restore_next(LaunchQueue& q);
    void restore_on(LaunchQueue& q, Grid& grid, gcn::WorkgroupRestore& group, unsigned cu);
    static void count_launch(LaunchQueue& q, Grid& grid, unsigned groups, unsigned waves);
    void count_place(LaunchQueue& q, unsigned cu, unsigned groups, unsigned waves) const;

    Env& env_;
    CpBus& bus_;
    GpuShape shape_;
    std::shared_ptr<gcn::Translator> translator_;  ///< nullptr: waves are interpreted
    ComputeUnits cus_;
    GridTable grids_;
    LaunchQueues queues_;
    LaunchTurns turns_;
    Placement placement_;
    GlobalMemory global_memory_;
    DebugControls debug_;
    ActivityMeter meter_;  ///< of compute units
    unsigned next_cu_ = 0;
    unsigned current_cu_ = 0;  ///< whose services are being called
    bool room_changed_ = false;
    // virtual time
    uint64_t last_launch_ns_ = 0;  ///< grids that were ready before have been tried
    std::map<uint64_t, uint64_t> ended_;  ///< grids whose end is not visible yet: id, time in ns at which it is
    std::unique_ptr<Rounds> rounds_;  ///< last, so that its threads end first
};

}  // namespace lyra
