// SPDX-License-Identifier: MIT
// The invariants of invariants.def: states that must not last too long, and changes that must not happen.
#include "scheduler/sim/invariants.h"

#include <algorithm>

namespace lyra::sim {

const char* invariant_name(Invariant invariant) {
    switch (invariant) {
#define INVARIANT(id, name, text) \
    case Invariant::id: return name;
#include "scheduler/sim/invariants.def"
#undef INVARIANT
        case Invariant::None: break;
    }
    return "none";
}

void Watch::broken(Invariant invariant, uint64_t now, size_t queue) {
    if (violation_.invariant == Invariant::None) violation_ = {invariant, now, static_cast<unsigned>(queue)};
}

/// Something that may be so for bound_ns at a time.
void Watch::lasts(Invariant invariant, size_t queue, uint64_t now, bool so, uint64_t bound_ns) {
    Duration& d = queues_[queue].durations[static_cast<size_t>(invariant)];
    if (!so) {
        d.since = kNot;
    } else if (d.since == kNot) {
        d = {now, bound_ns};
    }
}

void Watch::until(uint64_t now) {
    for (size_t n = 0; n < queues_.size(); ++n) {
        for (size_t i = 0; i < std::size(queues_[n].durations); ++i) {
            const Duration& d = queues_[n].durations[i];
            if (d.since != kNot && now - d.since > d.bound) broken(static_cast<Invariant>(i), d.since + d.bound, n);
        }
    }
}

/// Priorities, with those of the queues that wait for each.
std::vector<unsigned> Watch::effective(const std::vector<Observed>& queues) const {
    std::vector<unsigned> out;
    for (const Observed& q : queues) out.push_back(q.priority);
    for (size_t round = 0; params_.inherit && round < queues.size(); ++round) {
        for (size_t n = 0; n < queues.size(); ++n) {
            const Observed& q = queues[n];
            if (!q.used || !q.wants || !q.blocked || q.other < 0 || !queues[static_cast<size_t>(q.other)].used) continue;
            unsigned& other = out[static_cast<size_t>(q.other)];
            other = std::max(other, out[n]);
        }
    }
    return out;
}

void Watch::idle(uint64_t now, const Observed& q) {
    if (params_.hysteresis_ns == 0 || !q.runnable() || !q.allowed) return;
    if (held_until_ns_ > now && held_priority_ > q.priority) return;
    held_priority_ = q.priority;
    held_until_ns_ = now + params_.hysteresis_ns;
}

void Watch::timer(uint64_t now, uint64_t timer_ns) {
    if (timer_ns <= now) broken(Invariant::Timer, now, 0);
}

/// The core has changed its mind about a queue.
void Watch::decision(uint64_t now, size_t n, const Observed& q, unsigned effective) {
    Queue& before = queues_[n];
    if (before.allowed == q.allowed) return;
    before.allowed = q.allowed;
    if (!q.allowed) {
        before.taken_ns = now;
        if (q.runnable() && now - before.returned_ns < params_.min_run_ns) broken(Invariant::MinRun, now, n);
        return;
    }
    before.returned_ns = now;
    const bool turn = turns() && now - std::max(before.taken_ns, before.arrived_ns) >= params_.starvation_ns;
    if (params_.policy == QSCHED_FIXED && q.runnable() && !turn && effective == q.priority && now < held_until_ns_ &&
        q.priority < held_priority_)
        broken(Invariant::Hysteresis, now, n);
}

void Watch::state(uint64_t now, const std::vector<Observed>& queues) {
    queues_.resize(queues.size());
    const std::vector<unsigned> ranks = effective(queues);
    bool work = false, served = false;
    unsigned top = 0;
    for (size_t n = 0; n < queues.size(); ++n) {
        const Observed& q = queues[n];
        if (!queues_[n].known) queues_[n].returned_ns = queues_[n].taken_ns = now;
        queues_[n].known = true;
        if (q.wants && !queues_[n].wanted) queues_[n].arrived_ns = now;
        queues_[n].wanted = q.wants;
        if (q.used) decision(now, n, q, ranks[n]);
        work = work || (q.used && q.wants);
        served = served || (q.runnable() && q.mapped);
        if (q.runnable()) top = std::max(top, ranks[n]);
    }
    const uint64_t turn = turns() ? params_.turn_ns : 0, count = queues.size();
    const bool fixed = params_.policy == QSCHED_FIXED;
    for (size_t n = 0; n < queues.size(); ++n) {
        const Observed& q = queues[n];
        const bool away = q.runnable() && !q.mapped;
        lasts(Invariant::Conservation, n, now, away && !served, params_.hysteresis_ns + switch_ns_);
        lasts(Invariant::Rank, n, now, fixed && away && ranks[n] == top,
              params_.hysteresis_ns + count * (turn + params_.min_run_ns) + switch_ns_);
        lasts(Invariant::Exclusive, n, now, fixed && q.runnable() && q.mapped && ranks[n] < top,
              (params_.inherit ? 2 : 1) * turn + params_.min_run_ns + switch_ns_);
        lasts(Invariant::Starvation, n, now, turns() && away, count * (params_.starvation_ns + turn) + switch_ns_);
        lasts(Invariant::ComesBack, n, now, q.used && !work && !q.mapped, params_.hysteresis_ns + switch_ns_);
        if (q.used && q.settled && q.executed_ns != q.kept_ns) broken(Invariant::WorkOnce, now, n);
    }
}

}  // namespace lyra::sim
