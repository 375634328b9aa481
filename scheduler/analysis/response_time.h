// SPDX-License-Identifier: MIT
// N. Audsley, A. Burns, M. Richardson, K. Tindell, A. Wellings: Applying New Scheduling Theory to Static Priority Pre-emptive
// Scheduling (Software Engineering Journal 8(5), 1993), with the cost of switches as in A. Burns, K. Tindell, A. Wellings:
// Effective Analysis for Engineering Real-Time Fixed Priority Schedulers (IEEE TSE 21(5), 1995).
#pragma once

#include <optional>

#include "scheduler/sim/experiment.h"

namespace lyra::sim {

/// Bound of the time from the doorbell of a client's kernel to its completion, in ns, for policy `fixed` without turns, min_run
/// and hysteresis: clients of different priorities with one queue each, that arrive at fixed rates; the lowest may be a closed
/// loop.
/// @return nothing when no bound below the client's period is found
/// @throws std::invalid_argument  the experiment is outside of the model
std::optional<uint64_t> response_bound_ns(const Experiment& experiment, size_t client);

}  // namespace lyra::sim
