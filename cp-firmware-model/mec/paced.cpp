// SPDX-License-Identifier: MIT
// Queues in virtual time: a pipe is busy with a packet, a queue that waits looks again; steps 3 and 4 of the data flow.
#include <algorithm>

#include "cp-firmware-model/mec/mec.h"

namespace lyra {

namespace {

/// A turn that costs nothing still takes time, so that time goes on.
constexpr uint64_t kShortestTurnNs = 20;

}  // namespace

/// A queue with something in flight is looked at whenever anything has happened.
bool Mec::due(const Hqd& hqd) const {
    if (!env_.clock.on()) return true;
    if (hqd.dequeue != Dequeue::None) return true;
    const uint64_t now = env_.clock.ns();
    if (const_cast<Mec*>(this)->pipe_free_ns(hqd) > now) return false;
    const bool in_flight =
        !hqd.aql.in_flight.empty() || !hqd.pm4.dispatches.empty() || !hqd.pm4.end_of_pipe.empty() || hqd.save.restoring;
    return hqd.pace.turn_ns <= now || (hqd.pace.turn_ns == kNever && in_flight);
}

void Mec::took_turn(Hqd& hqd) {
    if (!env_.clock.on()) return;
    const uint64_t now = env_.clock.ns();
    const uint64_t cost = env_.clock.collect();
    if (cost != 0) pipe_free_ns(hqd) = now + cost;
    switch (hqd.last) {
        case RunState::Busy: hqd.pace.turn_ns = now + std::max(cost, kShortestTurnNs); break;
        case RunState::Polling: hqd.pace.turn_ns = now + std::max(cost, env_.timing.poll_ns); break;
        case RunState::Idle: hqd.pace.turn_ns = kNever; break;
    }
}

uint64_t Mec::next_turn_ns() const {
    uint64_t next = kNever;
    const uint64_t now = env_.clock.ns();
    const auto look = [&](const Hqd& hqd) {
        if (!hqd.active() || (halted_[hqd.me] && hqd.dequeue == Dequeue::None)) return;
        uint64_t turn = std::max(hqd.pace.turn_ns, const_cast<Mec*>(this)->pipe_free_ns(hqd));
        // A write-back that is being waited for.
        if (!hqd.pm4.end_of_pipe.empty() && hqd.pm4.end_of_pipe.front().due_ns > now)
            turn = std::min(turn, hqd.pm4.end_of_pipe.front().due_ns);
        if (hqd.dequeue != Dequeue::None) {
            turn = std::max(hqd.pace.dequeue_look_ns, now + 1);
            if (hqd.save.after_ns > now) turn = std::min(turn, hqd.save.after_ns);
        }
        next = std::min(next, turn);
    };
    look(gfx_);
    for (const Hqd& hqd : slots_) look(hqd);
    return next;
}

void Mec::wake() {
    const uint64_t now = env_.clock.ns();
    const auto look = [&](Hqd& hqd) {
        if (hqd.active() && hqd.pace.turn_ns == kNever) hqd.pace.turn_ns = now;
    };
    look(gfx_);
    for (Hqd& hqd : slots_) look(hqd);
}

/// A doorbell needs its time only when the queue is not being looked at anyway.
void Mec::rang(Hqd& hqd) {
    if (env_.clock.on() && hqd.pace.turn_ns == kNever) hqd.pace.turn_ns = env_.clock.ns() + env_.timing.doorbell_ns;
}

}  // namespace lyra
