// SPDX-License-Identifier: MIT
// What must hold of a scheduler, whatever happens (invariants.def), judged by what is seen from outside: what queues really
// want, what the core allows, and what is on the hardware. It knows nothing of the core's state.
#pragma once

#include <vector>

#include "scheduler/sim/replay.h"

namespace lyra::sim {

/// A queue as it is, which need not be what the core has been told.
struct Observed {
    bool used = false, wants = false, blocked = false;
    int other = -1;        ///< blocked: for whom, -1: unknown
    uint8_t priority = 0;
    bool allowed = true;   ///< the core's answer
    bool mapped = true;    ///< on the hardware
    bool settled = true;   ///< neither being saved nor being restored
    uint64_t executed_ns = 0, kept_ns = 0;  ///< what its waves have done, and what their state says they have done

    bool runnable() const { return used && wants && !blocked; }
};

class Watch {
public:
    /// @param switch_ns  a queue is taken from the hardware and another one comes
    Watch(const qsched_params& params, uint64_t switch_ns) : params_(params), switch_ns_(switch_ns) {}

    /// The state since the call before has lasted until now.
    void until(uint64_t now);
    /// The state from now on.
    void state(uint64_t now, const std::vector<Observed>& queues);
    /// A queue's work has ended now; before state().
    void idle(uint64_t now, const Observed& queue);
    void timer(uint64_t now, uint64_t timer_ns);

    const Violation& violation() const { return violation_; }

private:
    static constexpr uint64_t kNot = ~uint64_t{0};
    void broken(Invariant invariant, uint64_t now, size_t queue);
    std::vector<unsigned> effective(const std::vector<Observed>& queues) const;
    void decision(uint64_t now, size_t n, const Observed& q, unsigned effective);
    void lasts(Invariant invariant, size_t queue, uint64_t now, bool so, uint64_t bound_ns);
    bool turns() const { return params_.starvation_ns != 0 && params_.turn_ns != 0; }

    struct Duration {
        uint64_t since = kNot, bound = 0;
    };
    struct Queue {
        Duration durations[16];
        bool known = false, allowed = true, wanted = false;
        uint64_t returned_ns = 0, taken_ns = 0, arrived_ns = 0;
    };

    qsched_params params_;
    uint64_t switch_ns_;
    std::vector<Queue> queues_;
    uint8_t held_priority_ = 0;
    uint64_t held_until_ns_ = 0;
    Violation violation_;
};

}  // namespace lyra::sim
