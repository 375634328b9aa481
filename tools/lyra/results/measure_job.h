// SPDX-License-Identifier: MIT
// What a guest has to do for `lyra measure`: the clients of tools/measure/client.hip and the driver's settings, as a script.
#pragma once

#include <string>
#include <vector>

#include "facts/chips.h"
#include "scheduler/sim/experiment.h"

namespace lyra::cli {

/// The GPU of an experiment. The guest's has [guest] cus of them, with as much of the bandwidth and of the context.
inline constexpr unsigned kExperimentCus = 64;

/// @throws UserError  what the simulator can and clients in the guest cannot
void check_measurable(const sim::Experiment& experiment);

struct MeasureJob {
    std::string base;  ///< script that starts the clients; it needs `client` beside it. Equal ones have equal clients.
    std::string run;   ///< script that base sources when the machine goes on: one experiment
    std::vector<std::pair<std::string, std::string>> files;  ///< beside run, name and content
};

/// The clients' queues in the order in which they begin: those of latency-critical ones first.
struct Place {
    unsigned id = 0;      ///< of all
    size_t client = 0;    ///< class
    unsigned number = 0;  ///< in the class
    uint64_t warm_up = 0;  ///< kernels before the samples, while nobody else runs: enough to know how fast it is alone
};
std::vector<Place> places_of(const sim::Experiment& experiment);

/// Its output is the clients' lines of JSON, and "stuck" when nothing went on any more and the experiment was ended.
/// @param chip  the guest's GPU
MeasureJob measure_job(const sim::Experiment& experiment, Chip chip);

}  // namespace lyra::cli
