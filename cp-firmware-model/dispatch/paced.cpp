// SPDX-License-Identifier: MIT
// The dispatcher in virtual time: when grids, work-groups and compute units have their turn; step 5 of the data flow.
#include <algorithm>

#include "cp-firmware-model/dispatch/dispatcher.h"

namespace lyra {

uint64_t Dispatcher::next_event_clk() {
    uint64_t next = kNever;
    for (auto& cu : cus_) next = std::min(next, cu->next_clk());
    for (const auto& [id, visible_ns] : ended_) next = std::min(next, env_.clock.to_clk(visible_ns));
    const uint64_t now = env_.clock.ns();
    for (const auto& q : queues_) {
        if (!q->waits_for_room()) continue;
        const uint64_t ready = q->saved.empty() ? grids_.find(q->pending.front())->ready_ns : 0;
        // What was tried and found no room waits for a wave to end.
        const bool worth_trying = room_changed_ || placement_.rate().limited() || ready >= last_launch_ns_;
        if (ready > now || worth_trying) next = std::min(next, env_.clock.to_clk(std::max(ready, now)));
    }
    return next;
}

/// All compute units run to the end of the quantum, one after the other, each quantum beginning with another one. Room that
/// becomes free on the way is filled at once.
void Dispatcher::run_quantum(uint64_t end_clk) {
    const uint64_t begin = env_.clock.clk();
    const unsigned n = static_cast<unsigned>(cus_.size());
    placement_.rate().begin_quantum(end_clk);
    std::erase_if(ended_, [now = env_.clock.ns()](const auto& entry) { return entry.second <= now; });
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
