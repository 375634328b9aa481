// SPDX-License-Identifier: MIT
// Virtual time: a shader engine starts one wave after the other; step 5 of the data flow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/env.h"

namespace lyra {

/// Free-running, an engine can always start a wave.
class EngineRate {
public:
    EngineRate(Env& env, unsigned engines) : env_(env), free_clk_(engines, 0) {}

    void begin_quantum(uint64_t end_clk) {
        end_clk_ = end_clk;
        limited_ = false;
    }
    /// Some engine can start a wave in this quantum.
    bool any_can_start() {
        if (!env_.clock.on()) return true;
        const bool any = std::any_of(free_clk_.begin(), free_clk_.end(), [&](uint64_t clk) { return clk < end_clk_; });
        limited_ |= !any;
        return any;
    }
    bool can_start(unsigned engine) {
        if (!env_.clock.on() || free_clk_[engine] < end_clk_) return true;
        limited_ = true;
        return false;
    }
    /// The clock stands at the first of these waves until the caller puts it back.
    void start(unsigned engine, unsigned waves) {
        if (!env_.clock.on()) return;
        const uint64_t begin = std::max(free_clk_[engine], env_.clock.clk());
        free_clk_[engine] = begin + waves * env_.timing.wave_launch_clk;
        env_.clock.set_clk(begin);
    }
    /// In this quantum a group has had to wait for its engine, not for room.
    bool limited() const { return limited_; }
    void visit(StateVisitor& v) {
        v.fixed("free_clk", free_clk_);
        v("end_clk", end_clk_);
        v("limited", limited_);
    }

private:
    Env& env_;
    std::vector<uint64_t> free_clk_;  ///< by shader engine: when it can start the next wave
    uint64_t end_clk_ = 0;            ///< of this quantum
    bool limited_ = false;
};

}  // namespace lyra
