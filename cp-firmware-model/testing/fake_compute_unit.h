// SPDX-License-Identifier: MIT
// Doubles of compute units, whose waves only count down: for tests and fuzzers of everything above the waves.
#pragma once

#include <functional>
#include <vector>

#include "gcn-interp/cu/port.h"

namespace lyra::testing {

/// What every wave of a work-group does.
struct WavePlan {
    uint64_t instructions = 1;  ///< executed before it ends
    bool halts = false;         ///< then it halts and never ends
    bool forever = false;       ///< it never ends
    bool interrupts = false;    ///< sends MSG_INTERRUPT with its user SGPR 0 first
};

struct FakeLaunch {
    unsigned cu = 0;
    gcn::WorkgroupLaunch launch;
};

/// What the waves of a bench do.
enum class Waves { Real, Fake };

/// All doubles of a device: what they shall do, and what they were asked. They refer to it, so it outlives them.
struct FakeCus {
    FakeCus() = default;
    FakeCus(const FakeCus&) = delete;
    FakeCus& operator=(const FakeCus&) = delete;
    gcn::MakeCu maker();

    std::function<WavePlan(const gcn::WorkgroupLaunch&)> plan = [](const gcn::WorkgroupLaunch&) { return WavePlan{}; };
    std::vector<FakeLaunch> launches;
    unsigned invalidations = 0;
    /// Waves of every kind wait while this is set.
    bool paused = false;
};

}  // namespace lyra::testing
