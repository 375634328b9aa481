// SPDX-License-Identifier: MIT
// The dispatcher in virtual time: when grids, work-groups and compute units have their turn; step 5 of the data flow.
#include <algorithm>

#include "cp-firmware-model/dispatch/grid.h"

namespace lyra {

/// Virtual time: the set-up of the grid is over, and a shader engine can start a wave in this quantum.
bool Dispatcher::may_launch(uint64_t ready_ns) {
    if (!env_.clock.on()) return true;
    if (env_.clock.ns() < ready_ns) return false;
    const bool any =
        std::any_of(engine_free_clk_.begin(), engine_free_clk_.end(), [&](uint64_t clk) { return clk < quantum_end_clk_; });
    rate_limited_ |= !any;
    return any;
}

bool Dispatcher::engine_can_start(unsigned engine) {
    if (!env_.clock.on() || engine_free_clk_[engine] < quantum_end_clk_) return true;
    rate_limited_ = true;
    return false;
}

/// An engine starts one wave after the other. The clock stands at the first of these until the caller puts it back.
void Dispatcher::begin_launch(unsigned engine, unsigned waves) {
    if (!env_.clock.on()) return;
    const uint64_t start = std::max(engine_free_clk_[engine], env_.clock.clk());
    engine_free_clk_[engine] = start + waves * env_.timing.wave_launch_clk;
    env_.clock.set_clk(start);
}

uint64_t Dispatcher::next_event_clk() {
    uint64_t next = kNever;
    for (auto& cu : cus_) next = std::min(next, cu->next_clk());
    for (const auto& [id, visible_ns] : ended_) next = std::min(next, env_.clock.to_clk(visible_ns));
    const uint64_t now = env_.clock.ns();
    for (const auto& [id, q] : queues_) {
        if (q->stalled || (q->pending.empty() && q->saved.empty())) continue;
        const uint64_t ready = q->saved.empty() ? q->pending.front()->ready_ns : 0;
        // What was tried and found no room waits for a wave to end.
        const bool worth_trying = room_changed_ || rate_limited_ || ready >= last_launch_ns_;
        if (ready > now || worth_trying) next = std::min(next, env_.clock.to_clk(std::max(ready, now)));
    }
    return next;
}

/// All compute units run to the end of the quantum, one after the other, each quantum beginning with another one. Room that
/// becomes free on the way is filled at once.
void Dispatcher::run_quantum(uint64_t end_clk) {
    const uint64_t begin = env_.clock.clk();
    const unsigned n = static_cast<unsigned>(cus_.size());
    quantum_end_clk_ = end_clk;
    std::erase_if(ended_, [now = env_.clock.ns()](const auto& entry) { return entry.second <= now; });
    rate_limited_ = false;
    last_launch_ns_ = env_.clock.ns() + 1;
    launch_groups();
    note_activity();
    for (unsigned i = 0; i < n; ++i) {
        current_cu_ = (next_cu_ + i) % n;
        env_.clock.set_clk(begin);
        while (true) {
            const unsigned cu = current_cu_;
            const uint64_t reached = cus_[cu]->run_until(end_clk);
            if (reached >= end_clk) break;
            if (room_changed_) {
                env_.clock.set_clk(reached);
                launch_groups();
            }
            current_cu_ = cu;
            env_.clock.set_clk(reached);
        }
    }
    next_cu_ = (next_cu_ + 1) % n;
    env_.clock.set_clk(end_clk);
}

}  // namespace lyra
