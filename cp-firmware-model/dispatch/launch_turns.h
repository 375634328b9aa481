// SPDX-License-Identifier: MIT
// Which queue's work-group is launched next: priorities, quanta, and the weights of pipes; step 5 of the data flow.
#pragma once

#include <array>
#include <cstdint>

#include "common/env.h"
#include "common/snapshot.h"
#include "cp-firmware-model/dispatch/launch_queue.h"
#include "cp-firmware-model/queue/pipe_hold.h"

namespace lyra {

/// On each pipe the queue of the highest priority, equals in turn by their quantum; of the pipes the one that is owed most.
class LaunchTurns {
public:
    void set_weights(const PipeWeights& weights) { weights_ = weights; }

    /// A pass begins. Queues that find no room in it are left out from then on.
    void begin(const LaunchQueues& queues, Env& env);
    /// @return nullptr: no queue waits for room that has not been refused it
    LaunchQueue* next(LaunchQueues& queues);
    /// A queue has launched: each pipe that waits gains its weight, this one pays for all.
    void took(const LaunchQueues& queues, const LaunchQueue& q, Env& env);
    /// A queue of the same pipe comes before it, as this pass began.
    bool outranked(const LaunchQueue& q) const { return q.rank() < pipes_[q.pipe()].top; }

    void reset() { *this = {}; }
    void visit(StateVisitor& v);

private:
    struct Pipe {
        PipeHold hold;
        bool over = false;          ///< the holder's quantum, when this pass began
        unsigned top = 0;           ///< highest rank that waits, when this pass began
        int64_t credit = 0;         ///< turns it is owed, times the weight of all
        uint32_t best = kQueueIds;  ///< its queue that launches next; kQueueIds: none. Within a pass
        unsigned weight = 0;        ///< of that queue
        void visit(StateVisitor& v);
    };
    std::array<Pipe, kQueueIds / kQueuesPerPipe + 1> pipes_{};
    PipeWeights weights_;
};

}  // namespace lyra
