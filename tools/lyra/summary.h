// SPDX-License-Identifier: MIT
// The metrics of a configuration (docs/user/results.md) out of its runs, simulated or measured, one for each seed.
#pragma once

#include "scheduler/sim/experiment.h"
#include "scheduler/sim/metrics.h"
#include "tools/lyra/results.h"

namespace lyra::results {

/// What one run gave.
struct SeedRun {
    struct Client {
        std::string name;
        bool latency_critical = false;
        uint64_t kernels = 0;              ///< done
        sim::Progress progress;            ///< 0 where it is not known
        std::optional<double> longest_off_us;
    };
    std::vector<Client> clients;
    std::vector<sim::Sample> samples;  ///< Sample::client is a place in clients
    uint64_t duration_ns = 0;
};

/// Fills what is the same for `lyra sim` and `lyra measure`: all but the swept values, the first seed, hash and what only one
/// of them knows.
/// @param runs  of the same clients in the same order
Configuration summarise(const std::vector<SeedRun>& runs);

/// How much an experiment's latency hangs on uncertain times, by the simulator.
/// @throws std::invalid_argument  what is wrong with the experiment
Band band_of(const sim::Experiment& experiment);

/// A line of the table that both print, and its heads. A dash is a percentile that so few samples cannot tell.
std::string result_heads();
std::string result_columns(const Configuration& row);

}  // namespace lyra::results
