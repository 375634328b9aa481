// SPDX-License-Identifier: MIT
// The time line of pre-emptions out of the device's own events (--trace FILE.tsv): what an experiment in the guest measures.
#pragma once

#include <istream>
#include <optional>

#include "scheduler/sim/experiment.h"

namespace lyra::cli {

/// A client's queue. Clients are told apart by the order in which they begin.
struct TimelineQueue {
    bool critical = false;  ///< its kernels are samples
    uint64_t warm_up = 0;   ///< kernels before that, with no other client's beside them
};

/// Of one queue of a client.
struct QueueTimes {
    double turnaround_ns = 0, alone_turnaround_ns = 0;  ///< mean from doorbell to end: during the samples, in the warm-up
    double alone_rate = 0;  ///< kernels a ns in the warm-up; 0: not known
    /// The same during the samples; nothing when that was too short a time to know.
    std::optional<double> rate;
    uint64_t longest_off_ns = 0;  ///< for how long it had work and no slot of the hardware, at most
};

struct Timeline {
    /// Of latency-critical queues, after their warm-up, in the order of their beginning. t2_detected is t3_requested: the
    /// device does not see when the driver notices. Times that did not happen are 0; arrival is not known here. Sample::client
    /// is the queue.
    std::vector<sim::Sample> samples;
    std::vector<QueueTimes> queues;  ///< of the clients, in their order
    uint64_t saved_queues = 0;  ///< queues that were unmapped during the samples, with a kernel of theirs
    uint64_t duration_ns = 0;  ///< of the experiment, its warm-up included
};

/// Work-groups of a grid that a client runs before the experiment and after it.
constexpr uint64_t kMarkGroups = 4099;
/// Of one that each client runs before its warm-up: its queue is that client's. Runtimes have queues of their own.
constexpr uint64_t kClientGroups = 4098;

/// @param in lines as common/trace_text.h says
/// @param queues  of the experiment, which is between two marks; a trace without any is all of it
/// @throws std::runtime_error  a line that is not one; one mark, or more than two
Timeline read_timeline(std::istream& in, const std::vector<TimelineQueue>& queues);

}  // namespace lyra::cli
