// SPDX-License-Identifier: MIT
// What a guest has to do for `lyra measure`: the clients of tools/measure/client.hip and the driver's settings, as a script.
#pragma once

#include <string>
#include <vector>

#include "scheduler/sim/experiment.h"

namespace lyra::cli {

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

/// The clients' queues in the order in which they begin: those of latency-critical ones first.
struct Place {
    unsigned id = 0;      ///< of all
    size_t client = 0;    ///< class
    unsigned number = 0;  ///< in the class
    uint64_t warm_up = 0;  ///< kernels before the samples, while nobody else runs: enough to know how fast it is alone
};
std::vector<Place> places_of(const sim::Experiment& experiment);

/// Runs experiments that all are same_guest(). Its output is the clients' lines of JSON, and "stuck N" for an experiment in
/// which nothing went on any more and which was ended; its errors have "measured N" when an experiment is over.
MeasureJob measure_job(const std::vector<const sim::Experiment*>& experiments);

}  // namespace lyra::cli
