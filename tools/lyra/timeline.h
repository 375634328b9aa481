// SPDX-License-Identifier: MIT
// The time line of pre-emptions out of the device's own events (--trace FILE.tsv): what an experiment in the guest measures.
#pragma once

#include <istream>

#include "scheduler/sim/experiment.h"

namespace lyra::cli {

/// How to tell the clients' kernels apart.
struct TimelineOptions {
    uint64_t warm_up = 2;  ///< kernels of each latency-critical queue that are no samples
};

struct Timeline {
    /// Of kernels of one work-group, which are those of latency-critical clients, after their warm-up. t2_detected is
    /// t3_requested: the device does not see when the driver notices. Times that did not happen are 0.
    std::vector<sim::Sample> samples;
    uint64_t alone_ns = 0;        ///< from one kernel of a best-effort client to its next before the first sample: shortest
    uint64_t best_effort = 0;     ///< kernels of more work-groups done during the samples
    uint64_t best_effort_ns = 0;  ///< from the first of them to the last
    uint64_t critical_ns = 0;     ///< of that time, when kernels of one work-group were running
    uint64_t saved_queues = 0;    ///< queues that were unmapped during the samples, with a kernel of theirs
    uint64_t duration_ns = 0;     ///< of the experiment, its warm-up included
    /// Of each queue, in the order of their first kernels: for how long it had work and no slot of the hardware, at most.
    std::vector<uint64_t> longest_off_ns;

    /// Part of the time which latency-critical kernels left over that became best-effort work; 0 when it cannot be known.
    double retained() const;
};

/// Work-groups of a grid that a client runs before each experiment and after the last one.
constexpr uint64_t kMarkGroups = 4099;

/// @param in lines as common/trace_text.h says
/// @return one for each experiment; without any mark, one for all of the trace
/// @throws std::runtime_error  a line that is not one
std::vector<Timeline> read_timelines(std::istream& in, const TimelineOptions& options);

}  // namespace lyra::cli
