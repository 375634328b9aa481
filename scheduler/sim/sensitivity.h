// SPDX-License-Identifier: MIT
// How much a result depends on what nobody has measured: each uncertain time at both ends of where it may lie.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scheduler/sim/experiment.h"

namespace lyra::sim {

/// From the intended arrival to the first wave; ns. p99 is there when so many samples can tell it.
struct Quantiles {
    uint64_t p50 = 0;
    std::optional<uint64_t> p99;
};

struct SensitivityRow {
    /// Of common/timing.def, or `driver`: all of the driver's own times at once, as of a slower or faster processor, in per
    /// cent; `save_fixed_ns` is that of the experiment.
    std::string name;
    uint64_t low = 0, high = 0;  ///< values of it
    Quantiles at_low, at_high;
};

struct Sensitivity {
    Quantiles nominal;
    std::vector<SensitivityRow> rows;  ///< those that make a difference, the largest first
    /// All rows at once at the end that makes p50 least, and at the one that makes it largest.
    Quantiles least, most;
};

/// Every run has the same seeds. A row that the experiment sets to another value than the table's has its range around that, in
/// the same proportion.
/// @throws std::invalid_argument  what is wrong with the experiment
Sensitivity sensitivity(const Experiment& experiment);

}  // namespace lyra::sim
