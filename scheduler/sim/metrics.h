// SPDX-License-Identifier: MIT
// Percentiles of a set of latencies, with their confidence intervals.
#pragma once

#include <cstdint>
#include <vector>

namespace lyra::sim {

/// A percentile, and the interval that it lies in with 95 % confidence; same unit as the values.
struct Percentile {
    uint64_t value = 0, low = 0, high = 0;
};

/// Value at rank ceil(percent / 100 * n). The interval is that of the order statistics (binomial, normal approximation), which
/// asks nothing of the distribution. @param sorted ascending  @param percent above 0, at most 100  @return zeros without values
Percentile percentile(const std::vector<uint64_t>& sorted, double percent);

}  // namespace lyra::sim
