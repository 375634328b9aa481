// SPDX-License-Identifier: MIT
// Controls of the compute unit double in fake_compute_unit.cpp, which is linked instead of gcn-interp's.
#pragma once

#include <functional>
#include <vector>

#include "gcn-interp/cu/compute_unit.h"

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

struct FakeCus {
    std::function<WavePlan(const gcn::WorkgroupLaunch&)> plan = [](const gcn::WorkgroupLaunch&) { return WavePlan{}; };
    std::vector<FakeLaunch> launches;
    unsigned invalidations = 0;
    /// Waves of every kind wait while this is set.
    bool paused = false;
};

inline FakeCus& fake_cus() {
    static FakeCus state;
    return state;
}

}  // namespace lyra::testing
