// SPDX-License-Identifier: MIT
// Replays traces: tells the policy core what the trace says and saves and restores queues as it answers, with a mistake or
// without.
#include <algorithm>

#include "scheduler/sim/invariants.h"

namespace lyra::sim {

namespace {

constexpr uint64_t kSaveNs = 80'000, kRestoreNs = 60'000;
constexpr uint64_t kStopNs = 20'000;  ///< of the save: so long waves run on
constexpr uint64_t kCoarseNs = 1'000'000;
constexpr uint64_t kSwitchNs = 2 * (kSaveNs + kRestoreNs);

class Harness {
public:
    Harness(const Trace& trace, Fault fault) : trace_(trace), fault_(fault), watch_(trace.params, kSwitchNs + 1) {
        qsched_params params = trace.params;
        switch (fault) {
            case Fault::MinRunIgnored: params.min_run_ns = 0; break;
            case Fault::HysteresisIgnored: params.hysteresis_ns = 0; break;
            case Fault::StarvationLost: params.starvation_ns = 0; break;
            case Fault::TurnEndless: params.turn_ns = QSCHED_NEVER; break;
            case Fault::InheritanceOff: params.inherit = false; break;
            default: break;
        }
        qsched_init(&core_, &params, 0);
    }
    Violation run();

private:
    enum class State : uint8_t { Mapped, Saving, Parked, Restoring };
    struct Queue {
        Observed seen;
        uint16_t id = QSCHED_NO_QUEUE;  ///< in the core
        State state = State::Mapped;
        bool answered = true, asked = true;  ///< the core's last answer, and whether the hardware is to have it mapped
        bool torn = false;              ///< saved while it was being restored
        uint64_t until_ns = 0, stop_ns = 0;
        uint64_t checkpoint_ns = 0, early_ns = 0;
    };

    bool is(Fault fault) const { return fault_ == fault; }
    bool every(unsigned nth) { return ++lost_ % nth == 0; }
    uint64_t next_change() const;
    void pass(uint64_t to);
    void tell(qsched_event_type type, Queue& q);
    void send(qsched_event_type type, const Queue* q, int other = -1);
    void take(const Step& step);
    void remove(Queue& q);
    void drive(Queue& q);
    void finish(Queue& q);
    void show();

    const Trace& trace_;
    const Fault fault_;
    qsched core_{};
    Watch watch_;
    std::vector<Queue> queues_;
    uint64_t now_ = 0, timer_ns_ = QSCHED_NEVER;
    unsigned lost_ = 0;
};

/// When a queue's save or restore has its next step.
uint64_t Harness::next_change() const {
    uint64_t next = QSCHED_NEVER;
    for (const Queue& q : queues_) {
        if (q.state == State::Saving && q.stop_ns > now_) next = std::min(next, q.stop_ns);
        if (q.state == State::Saving || q.state == State::Restoring) next = std::min(next, q.until_ns);
    }
    return next;
}

void Harness::pass(uint64_t to) {
    for (Queue& q : queues_) {
        const bool runs = q.state == State::Mapped || (q.state == State::Saving && q.stop_ns >= to);
        if (!runs || !q.seen.runnable()) continue;
        q.seen.executed_ns += to - now_;
        q.seen.kept_ns += to - now_;
    }
    now_ = to;
}

void Harness::send(qsched_event_type type, const Queue* q, int other) {
    const uint16_t owner = other < 0 ? uint16_t{QSCHED_NO_QUEUE} : queues_[static_cast<size_t>(other)].id;
    const qsched_event event{type, q != nullptr ? q->id : uint16_t{QSCHED_NO_QUEUE}, owner, now_, 0, 0};
    timer_ns_ = qsched_handle(&core_, &event).timer_ns;
    if (is(Fault::TimerEarly) && timer_ns_ != QSCHED_NEVER) timer_ns_ -= timer_ns_ % 1'000'000;
    watch_.timer(now_, timer_ns_);
}

/// What the driver has seen of a queue, or thinks it has.
void Harness::tell(qsched_event_type type, Queue& q) {
    int other = q.seen.other;
    if (is(Fault::WantsLost) && type == QSCHED_WANTS && every(3)) return;
    if (is(Fault::IdleLost) && type == QSCHED_IDLE && every(3)) return;
    if (is(Fault::UnblockedLost) && type == QSCHED_UNBLOCKED && every(2)) return;
    if (is(Fault::HeadTestMissing) && (type == QSCHED_BLOCKED || type == QSCHED_UNBLOCKED)) return;
    if (is(Fault::HeadTestInverted)) {
        if (type == QSCHED_WANTS && !q.seen.blocked) send(QSCHED_BLOCKED, &q);
        if (type == QSCHED_BLOCKED) return send(QSCHED_UNBLOCKED, &q);
        if (type == QSCHED_UNBLOCKED) return send(QSCHED_BLOCKED, &q);
    }
    if (is(Fault::InheritanceCut) && type == QSCHED_BLOCKED && other >= 0) {
        const auto self = static_cast<int>(&q - queues_.data());
        const bool middle = std::any_of(queues_.begin(), queues_.end(),
                                        [&](const Queue& each) { return each.seen.blocked && each.seen.other == self; });
        if (middle || queues_[static_cast<size_t>(other)].seen.blocked) other = -1;
    }
    send(type, &q, type == QSCHED_BLOCKED ? other : -1);
}

/// Steps that change nothing are left out: so a trace stays one when steps are taken from it.
void Harness::take(const Step& step) {
    if (adds(step.kind)) {
        qsched_queue_params params = step.params;
        const uint8_t most = step.kind == StepKind::Ask ? kUnprivilegedPriority : uint8_t{QSCHED_MAX_PRIORITY};
        const uint8_t granted = std::min(params.priority, most);
        if (!is(Fault::CapIgnored)) params.priority = granted;
        if (is(Fault::PriorityBackwards)) params.priority = static_cast<uint8_t>(QSCHED_MAX_PRIORITY - params.priority);
        send(QSCHED_TIMER, nullptr);
        Queue q;
        q.seen.used = true;
        q.seen.priority = granted;
        q.id = qsched_add(&core_, &params);
        queues_.push_back(q);
        return send(QSCHED_TIMER, nullptr);
    }
    if (step.kind == StepKind::End) return;
    Queue& q = queues_[step.queue];
    Observed& seen = q.seen;
    if (!seen.used) return;
    switch (step.kind) {
        case StepKind::Wants:
            if (seen.wants) return;
            seen.wants = true;
            return tell(QSCHED_WANTS, q);
        case StepKind::Idle:
            if (!seen.wants) return;
            watch_.idle(now_, seen);
            seen.wants = seen.blocked = false;
            seen.other = -1;
            return tell(QSCHED_IDLE, q);
        case StepKind::Blocked:
            if (!seen.wants || seen.blocked) return;
            seen.blocked = true;
            seen.other = step.other >= 0 && queues_[static_cast<size_t>(step.other)].seen.used ? step.other : -1;
            return tell(QSCHED_BLOCKED, q);
        case StepKind::Unblocked:
            if (!seen.blocked) return;
            seen.blocked = false;
            seen.other = -1;
            return tell(QSCHED_UNBLOCKED, q);
        case StepKind::Remove: return remove(q);
        default: return;
    }
}

void Harness::remove(Queue& q) {
    q.seen.used = q.seen.wants = q.seen.blocked = false;
    q.state = State::Parked;
    if (!is(Fault::RemoveUntold)) qsched_remove(&core_, q.id);
    const auto self = static_cast<int>(&q - queues_.data());
    for (Queue& each : queues_) {
        if (each.seen.other != self) continue;
        each.seen.other = -1;
        if (is(Fault::RemovedWaitedFor)) send(QSCHED_BLOCKED, &each, self);
    }
    send(QSCHED_TIMER, nullptr);
}

/// The driver and the packet processor do what the core has decided; a switch that has begun is finished first.
void Harness::drive(Queue& q) {
    if (!q.seen.used) return;
    q.seen.allowed = qsched_allowed(&core_, q.id);
    if (q.seen.allowed != q.answered) {
        q.answered = q.asked = q.seen.allowed;
        if (is(Fault::UnmapLost) && !q.asked && every(2)) q.asked = true;
        if (is(Fault::ReturnLost) && q.asked && every(2)) q.asked = false;
        if (is(Fault::IdleReturnLost) && q.asked && !q.seen.wants) q.asked = false;
    }
    if (q.asked && q.state == State::Parked) {
        q.state = State::Restoring;
        q.until_ns = now_ + kRestoreNs;
    } else if (!q.asked && (q.state == State::Mapped || (is(Fault::UnmapWhileRestoring) && q.state == State::Restoring))) {
        q.torn = q.state == State::Restoring;
        q.state = State::Saving;
        q.early_ns = q.seen.kept_ns;
        q.stop_ns = now_ + (q.torn ? 0 : kStopNs);
        q.until_ns = now_ + kSaveNs + (is(Fault::AnswerLate) ? kCoarseNs : 0);
    } else if (q.asked && q.state == State::Saving && is(Fault::MapWhileSaving)) {
        q.state = State::Mapped;
        q.seen.kept_ns = q.checkpoint_ns;
    }
}

void Harness::finish(Queue& q) {
    if (q.until_ns != now_) return;
    if (q.state == State::Saving) {
        q.state = State::Parked;
        q.checkpoint_ns = is(Fault::CheckpointEarly) ? q.early_ns : q.torn ? q.seen.kept_ns / 2 : q.seen.kept_ns;
        q.seen.kept_ns = q.checkpoint_ns;
    } else if (q.state == State::Restoring) {
        q.state = State::Mapped;
    }
}

void Harness::show() {
    std::vector<Observed> seen;
    for (Queue& q : queues_) {
        q.seen.mapped = q.state == State::Mapped;
        q.seen.settled = q.state == State::Mapped || q.state == State::Parked;
        seen.push_back(q.seen);
    }
    watch_.state(now_, seen);
}

Violation Harness::run() {
    size_t at = 0;
    while (at < trace_.steps.size() && watch_.violation().invariant == Invariant::None) {
        const uint64_t timer = is(Fault::TimerLost) ? QSCHED_NEVER : timer_ns_, change = next_change();
        const uint64_t next = std::max(now_, std::min({trace_.steps[at].at_ns, timer, change}));
        pass(next);
        watch_.until(now_);
        for (Queue& q : queues_) finish(q);
        if (now_ == trace_.steps[at].at_ns && change != now_) {
            take(trace_.steps[at++]);
        } else if (now_ == timer) {
            send(QSCHED_TIMER, nullptr);
        }
        for (Queue& q : queues_) drive(q);
        show();
    }
    return watch_.violation();
}

}  // namespace

Violation replay(const Trace& trace, Fault fault) { return Harness(trace, fault).run(); }

}  // namespace lyra::sim
