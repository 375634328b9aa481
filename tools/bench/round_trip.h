// SPDX-License-Identifier: MIT
// How far apart two of the host's processors are.
#pragma once

namespace lyra::bench {

/// Nanoseconds that a cache line takes from one thread to another and back. The longer it is, the less two threads gain,
/// because what one has written comes to the other as slowly.
double line_round_trip_ns();

}  // namespace lyra::bench
