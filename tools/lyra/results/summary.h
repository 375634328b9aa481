// SPDX-License-Identifier: MIT
// The metrics of a configuration (docs/user/results.md) out of its runs, simulated or measured, one for each seed.
#pragma once

#include "scheduler/sim/spec.h"
#include "tools/lyra/results/results.h"

namespace lyra::results {

/// Fills what is the same for `lyra sim` and `lyra measure`: all but the swept values, the first seed, hash and what only one
/// of them knows.
/// @param runs  of the same clients in the same order
Configuration summarise(const std::vector<SeedRun>& runs);

/// What a guest gave with one seed.
struct MeasuredRun {
    SeedRun run;
    uint64_t lost_work = 0;
    bool stuck = false;
    std::string trace_hash;  ///< of the guest
};
/// Everything that `lyra measure` says of a configuration.
/// @param runs  with the configuration's seed and the following ones, as many as it has seeds
Configuration measured(const sim::Configuration& configuration, std::vector<MeasuredRun> runs);

/// How much an experiment's latency hangs on uncertain times, by the simulator.
/// @throws std::invalid_argument  what is wrong with the experiment
Band band_of(const sim::Experiment& experiment);

/// A line of the table that both print, and its heads. A dash is a percentile that so few samples cannot tell.
std::string result_heads();
std::string result_columns(const Configuration& row);

}  // namespace lyra::results
