// SPDX-License-Identifier: MIT
// Percentiles and means of what several runs with different seeds gave, with their confidence intervals.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lyra::sim {

/// A statistic, and the interval that it lies in with 95 % confidence; same unit as the values.
struct Percentile {
    uint64_t value = 0, low = 0, high = 0;
};
struct Mean {
    double value = 0, low = 0, high = 0;
};

/// Whether so many values can tell a percentile: at least ten of them lie above it, where it is above the 95th. So p99 needs
/// 1,000 and p99.9 10,000.
bool enough_for(uint64_t count, double percent);

/// Value at rank ceil(percent / 100 * n). The interval is that of the order statistics (binomial, normal approximation), which
/// asks nothing of the distribution, but takes the values as independent.
/// @param sorted ascending  @param percent above 0, at most 100  @return zeros without values
Percentile percentile(const std::vector<uint64_t>& sorted, double percent);

/// The same over the values of several runs. With more than one run that has values the intervals are a bootstrap's, which
/// draws runs and not values: those of one run depend on each other.
/// @param runs of each the values, ascending  @param percents ascending
std::vector<Percentile> percentiles(const std::vector<std::vector<uint64_t>>& runs, const std::vector<double>& percents);

/// Mean over runs, and its interval by Student's t. @return without an interval (low = high = value) for one run
Mean mean_of(const std::vector<double>& runs);

/// A client of an experiment beside the others, and alone.
struct Progress {
    double throughput = 0, alone_throughput = 0;        ///< of work, in equal units
    double turnaround_ns = 0, alone_turnaround_ns = 0;  ///< mean, from a kernel's arrival to its end
    uint64_t queues = 1;                                ///< alone is one of them
};

/// System throughput: the sum of the clients' throughputs, each as part of what a queue of it does alone.
/// Average normalized turnaround time: the mean over clients of their kernels' turnaround, each as multiple of that alone.
/// Both by S. Eyerman and L. Eeckhout, System-Level Performance Metrics for Multiprogram Workloads, IEEE Micro 28(3), 2008.
/// @return nothing when it is not known how a client does alone, or when one has finished nothing
std::optional<double> system_throughput(const std::vector<Progress>& clients);
std::optional<double> normalized_turnaround(const std::vector<Progress>& clients);

}  // namespace lyra::sim
