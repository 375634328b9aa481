// SPDX-License-Identifier: MIT
// What a guest has to do for `lyra measure`: the clients of tools/measure/client.hip and the driver's settings, as a script.
#pragma once

#include <string>
#include <vector>

#include "scheduler/sim/experiment.h"

namespace lyra::cli {

inline constexpr uint64_t kWarmUp = 5;    ///< kernels of each client before an experiment
/// The GPU of an experiment. The guest's has [guest] cus of them, with as much of the bandwidth and of the context.
inline constexpr unsigned kExperimentCus = 64;

/// @throws UserError  what the simulator can and clients in the guest cannot
void check_measurable(const sim::Experiment& experiment);

/// Whether both can run in one guest one after the other: equal hardware, equal processes and queues.
bool same_guest(const sim::Experiment& a, const sim::Experiment& b);

struct MeasureJob {
    std::string run;                                          ///< needs `client` beside it
    std::vector<std::pair<std::string, std::string>> files;   ///< further ones, name and content
};

/// Runs experiments that all are same_guest(). Its output is the clients' lines of JSON, and "stuck N" for an experiment in
/// which nothing went on any more and which was ended; its errors have "measured N" when an experiment is over.
MeasureJob measure_job(const std::vector<const sim::Experiment*>& experiments);

}  // namespace lyra::cli
