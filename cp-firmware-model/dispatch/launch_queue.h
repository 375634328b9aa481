// SPDX-License-Identifier: MIT
// What the dispatcher knows of each hardware queue: grids that wait, waves that run, saved groups; step 5 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "common/snapshot.h"
#include "cp-firmware-model/dispatch/grid.h"
#include "cp-firmware-model/dispatch/scratch_slots.h"
#include "cp-firmware-model/queue/pipe_hold.h"
#include "cwsr/control_stack.h"
#include "gcn-interp/cu/group.h"

namespace lyra {

struct LaunchQueue {
    LaunchQueue(uint32_t queue_id, const GpuShape& shape)
        : id(queue_id), scratch(shape.engines()), waves_on_engine(shape.engines()), groups_on_cu(shape.cus()) {}

    uint32_t id;
    std::deque<uint64_t> pending;  ///< ids of grids with work-groups left to launch, in order
    ScratchSlots scratch;
    std::vector<unsigned> waves_on_engine;
    std::vector<unsigned> groups_on_cu;
    unsigned waves_live = 0;
    std::array<unsigned, kMaxXccs> next_engine{};  ///< of each XCC, among its own
    unsigned failed_passes = 0;  ///< since a group of it last found room
    unsigned next_reserved = 0;  ///< CU to keep free when it comes to that
    bool stalled = false;
    QueuePriority priority;
    bool no_room = false;      ///< in this pass of Dispatcher::launch_groups()
    unsigned waves_ready = 0;  ///< have sent MSG_SAVEWAVE and wait for their records
    struct Saved {
        gcn::WorkgroupRestore group;
        cwsr::SavedGroup image;
        void visit(StateVisitor& v);
    };
    std::deque<Saved> saved;  ///< groups in the save area, in the order of their restore

    /// After the grids.
    void visit(StateVisitor& v, const GridTable& grids, const GpuShape& shape);
    bool waits_for_room() const { return !stalled && !(pending.empty() && saved.empty()); }
    /// What was there before comes back before anything new is launched.
    unsigned rank() const { return (saved.empty() ? 0u : 16u) + priority.queue; }
    unsigned pipe() const { return id / kQueuesPerPipe; }
};

/// The queues that have been used since the last reset.
class LaunchQueues {
public:
    explicit LaunchQueues(const GpuShape& shape) : shape_(shape) { place_.fill(kNone); }

    /// @param id  Hqd::id()
    LaunchQueue& at(uint32_t id);
    LaunchQueue* find(uint32_t id) { return id < kQueueIds && place_[id] != kNone ? queues_[place_[id]].get() : nullptr; }
    const LaunchQueue* find(uint32_t id) const { return const_cast<LaunchQueues*>(this)->find(id); }
    void clear();
    void visit(StateVisitor& v, const GridTable& grids);

    /// Of pointers, by id.
    auto begin() const { return queues_.begin(); }
    auto end() const { return queues_.end(); }

private:
    static constexpr uint8_t kNone = 0xff;
    static_assert(kQueueIds < kNone);
    GpuShape shape_;
    std::vector<std::unique_ptr<LaunchQueue>> queues_;
    std::array<uint8_t, kQueueIds> place_;  ///< by id: in queues_
};

}  // namespace lyra
