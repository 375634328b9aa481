// SPDX-License-Identifier: MIT
// The dispatcher's own records of grids and queues; step 5 of the data flow.
#pragma once

#include <deque>
#include <vector>

#include "cp-firmware-model/dispatch/dispatcher.h"
#include "cp-firmware-model/dispatch/grid_walk.h"
#include "cp-firmware-model/dispatch/scratch_slots.h"

namespace lyra {

/// Charged against the budget of Dispatcher::run(): for a CU that has waves but executed nothing (all asleep), and per
/// work-group, so that empty kernels use it up too.
inline constexpr uint64_t kVisitCost = 64, kLaunchCost = 16;

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

struct Dispatcher::Grid {
    uint64_t id = 0;
    DispatchRequest request;
    GridWalk walk;
    gcn::WorkgroupLaunch launch;  ///< filled except for what differs by group
    ScratchShare scratch;
    unsigned waves_per_group = 0;
    uint64_t groups_running = 0;
    uint64_t groups_saved = 0;  ///< in the save area
    uint64_t ready_ns = 0;      ///< virtual time: no work-group before
    bool resuming = false;      ///< what it consists of is not known yet
    uint64_t waves_live = 0;
    std::vector<uint32_t> no_room;  ///< by CU: cu_epoch_ at which a group did not fit
    void visit(StateVisitor& v, const GpuShape& shape);
};

struct Dispatcher::Queue {
    Queue(uint32_t queue_id, const GpuShape& shape)
        : id(queue_id), scratch(shape.shader_engines), waves_on_engine(shape.shader_engines), groups_on_cu(shape.cus()) {}

    uint32_t id;
    std::deque<Grid*> pending;  ///< grids with work-groups left to launch, in order
    ScratchSlots scratch;
    std::vector<unsigned> waves_on_engine;
    std::vector<unsigned> groups_on_cu;
    unsigned waves_live = 0;
    unsigned next_engine = 0;
    unsigned failed_passes = 0;  ///< since a group of it last found room
    unsigned next_reserved = 0;  ///< CU to keep free when it comes to that
    bool stalled = false;
    QueuePriority priority;
    bool no_room = false;  ///< in this pass of launch_groups()

    unsigned waves_ready = 0;  ///< have sent MSG_SAVEWAVE and wait for their records
    struct Saved {
        gcn::WorkgroupRestore group;
        cwsr::SavedGroup image;
        void visit(StateVisitor& v);
    };
    std::deque<Saved> saved;  ///< groups in the save area, in the order of their restore

    /// After the grids.
    void visit(StateVisitor& v, Dispatcher& dispatcher);
    bool waits_for_room() const { return !stalled && !(pending.empty() && saved.empty()); }
    /// What was there before comes back before anything new is launched.
    unsigned rank() const { return (saved.empty() ? 0u : 16u) + priority.queue; }
    unsigned pipe() const { return id / kQueuesPerPipe; }
};

}  // namespace lyra
