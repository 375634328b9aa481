// SPDX-License-Identifier: MIT
// The simulator against a guest: how far apart they are, and the guest's own times by which they are least so.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/sim/spec.h"
#include "tools/lyra/results/results.h"

namespace lyra::results {

/// The stages that a guest's trace tells apart, each several of kStages: until the driver asks, until all waves are saved, from
/// then to the first wave. It has no stamp of the end of the grace period.
inline constexpr std::array<const char*, 3> kParts = {"ask", "save", "start"};
using PartMeans = std::array<double, kParts.size()>;  ///< us
PartMeans parts_of(const StageMeans& stages);

/// Of one configuration, the simulation from the measurement. Latencies are those of samples that pre-empted a queue.
struct Difference {
    std::string name;  ///< what is swept
    double p50 = 0, measured_p50 = 0;  ///< us
    std::optional<double> p99, measured_p99;  ///< us; absent where either has too few samples
    std::optional<PartMeans> parts, measured_parts;

    double p50_off() const { return p50 / measured_p50 - 1; }
    std::optional<double> p99_off() const;
    /// The part that differs most, as a share of the measured median. @return its place in kParts, and the share
    std::optional<std::pair<size_t, double>> part_off() const;
};

/// What a validation has to keep: by how much p50, p99 and any part may differ.
struct Bounds {
    double p50 = 0.05, p99 = 0.10, part = 0.05;
    bool keeps(const Difference& difference) const;
};

/// Nothing when either has no pre-emptions, or the measurement has not that configuration.
std::optional<Difference> difference(const Configuration& simulated, const RunResults& measured);

/// A time of the guest's own software that an experiment sets: its key, and where it is.
struct GuestTime {
    std::string key;  ///< as in the experiment's file
    std::function<uint64_t&(sim::Experiment&)> of;  ///< ns
};
/// Those that are fitted: times of the driver, and of the clients that have a turnaround. irq_us and marker_us are read off a
/// trace, and wake_us off the steps of the latency in examples/measure/looks.toml: a few configurations cannot tell them.
std::vector<GuestTime> guest_times(const sim::Experiment& experiment);

/// By the simulator: latencies and stages only. @throws std::invalid_argument  what is wrong with the experiment
Configuration simulated(const sim::Configuration& configuration);

/// Sets these times, alike in all configurations, so that the squares of p50's and p99's differences and of those of the parts
/// have the least sum: one after the other by smaller and smaller steps.
/// @return the sum, of configurations that both have
double fit(std::vector<sim::Configuration>& configurations, const RunResults& measured);

}  // namespace lyra::results
