// SPDX-License-Identifier: MIT
// Percentiles and their intervals.
#include "scheduler/sim/metrics.h"

#include <algorithm>
#include <cmath>

namespace lyra::sim {

Percentile percentile(const std::vector<uint64_t>& sorted, double percent) {
    if (sorted.empty()) return {};
    const auto n = static_cast<double>(sorted.size());
    const double p = percent / 100, spread = 1.96 * std::sqrt(n * p * (1 - p));
    const auto at = [&](double rank) { return sorted[static_cast<size_t>(std::clamp(std::ceil(rank), 1.0, n)) - 1]; };
    return {at(n * p), at(n * p - spread), at(n * p + spread)};
}

}  // namespace lyra::sim
