// SPDX-License-Identifier: MIT
// The simulator's scheduler thread: when it looks at the queues, what it tells the policy core, and how queues are taken from
// the hardware and come back.
#include <algorithm>
#include <cmath>

#include "scheduler/sim/simulation.h"

namespace lyra::sim {

uint64_t Simulation::look_period() {
    if (e_.detection != Detection::Adaptive) return e_.period_ns;
    // Short while a queue is on the GPU that another one may displace, and for a long one after that: between two kernels a
    // queue looks idle.
    uint8_t highest = 0;
    for (const Queue& q : queues_) highest = std::max(highest, client(q).queue.priority);
    const bool may_go = std::any_of(queues_.begin(), queues_.end(),
                                    [&](const Queue& q) { return wants(q) && client(q).queue.priority < highest; });
    if (may_go) busy_until_ns_ = now_ + e_.idle_period_ns;
    return now_ < busy_until_ns_ ? e_.period_ns : e_.idle_period_ns;
}

/// With no policy the driver has no thread, and no queue is kept away.
void Simulation::plan_look(uint64_t at) {
    if (e_.policy.policy == QSCHED_NONE) return;
    if (planned_look_ns_ <= at) return;
    planned_look_ns_ = at;
    post(at, Kind::Look, 0, ++look_version_);
}

/// The scheduler's thread looks at all queues and tells the policy core what has changed.
void Simulation::look() {
    planned_look_ns_ = QSCHED_NEVER;
    if (action_.busy) return;  // it looks again when that is done
    round_until_ns_ = now_ + e_.driver.round_ns;
    core_timer_ns_ = tell_core(now_ + e_.driver.look_ns);
    for (unsigned n = 0; n < queues_.size(); ++n) {
        const bool allowed = qsched_allowed(&sched_, queues_[n].id);
        if (allowed != queues_[n].listed) (allowed ? action_.give : action_.take).push_back(n);
    }
    if (!action_.take.empty() || !action_.give.empty()) return act();
    if (core_timer_ns_ == QSCHED_NEVER && stuck()) {
        result_.deadlocked = true;
        over_ = true;
    }
    plan_look(std::min(std::max(core_timer_ns_, now_ + 1), next_look_ns()));
}

/// The period begins at the end of a look, and the thread wakes a while after it.
uint64_t Simulation::next_look_ns() {
    return std::max(now_ + e_.driver.look_ns, round_until_ns_) + look_period() + e_.driver.timer_ns;
}

void Simulation::tell(qsched_event_type type, const Queue& q, uint64_t seen) {
    const bool owner = type == QSCHED_BLOCKED && e_.owner_known;
    const uint16_t other = owner ? queues_[static_cast<unsigned>(q.other)].id : uint16_t{QSCHED_NO_QUEUE};
    const qsched_event event{type, q.id, other, seen, 0, 0};
    qsched_handle(&sched_, &event);
}

/// Kernels that have been rung for, and those that the hardware has taken.
void Simulation::tell_progress(Queue& q, uint64_t seen) {
    const uint64_t read = q.done + q.resident, written = read + q.waiting.size();
    if (read == q.known_read && written == q.known_written) return;
    const qsched_event event{QSCHED_PROGRESS, q.id, QSCHED_NO_QUEUE, seen, read, written};
    qsched_handle(&sched_, &event);
    q.known_read = read;
    q.known_written = written;
}

/// What has become runnable is told before what is not runnable any more: otherwise lower queues would come back for no time at
/// all, and have their min_run_ns. @return when the core wants to be asked again
uint64_t Simulation::tell_core(uint64_t seen) {
    const auto waits = [&](const Queue& q) { return e_.runnable_test && blocked(q); };
    for (Queue& q : queues_) {
        tell_progress(q, seen);
        if (!wants(q) || (q.known_wants && (!q.known_blocked || waits(q)))) continue;
        if (waits(q)) tell(QSCHED_BLOCKED, q, seen);
        tell(q.known_wants ? QSCHED_UNBLOCKED : QSCHED_WANTS, q, seen);
        q.known_wants = true;
        q.known_blocked = waits(q);
        q.sample.t2_detected = seen;
    }
    for (Queue& q : queues_) {
        if (!q.known_wants) continue;
        if (!wants(q)) {
            tell(QSCHED_IDLE, q, seen);
            q.known_wants = q.known_blocked = false;
        } else if (!q.known_blocked && waits(q)) {
            tell(QSCHED_BLOCKED, q, seen);
            q.known_blocked = true;
        }
    }
    const qsched_event tick{QSCHED_TIMER, QSCHED_NO_QUEUE, QSCHED_NO_QUEUE, seen, 0, 0};
    return qsched_handle(&sched_, &tick).timer_ns;
}

void Simulation::act() {
    ++result_.actions;
    action_.busy = true;
    action_.displaces = std::any_of(action_.take.begin(), action_.take.end(), [&](unsigned n) { return wants(queues_[n]); });
    ++look_version_;
    planned_look_ns_ = QSCHED_NEVER;
    const uint64_t requested = now_ + e_.driver.look_ns + e_.driver.submit_ns;
    action_.requested_ns = requested;
    for (unsigned n = 0; n < queues_.size(); ++n) {
        Queue& q = queues_[n];
        if (!wants(q) || q.known_blocked || q.resident || !qsched_allowed(&sched_, q.id)) continue;
        action_.whom.push_back(n);
        q.served = false;
        q.sample.t3_requested = requested;
        q.sample.displaced = action_.displaces;
        q.sample.t4_dequeue = q.sample.t5_saved = q.sample.t6_fence = q.sample.t7_mapped = 0;
    }
    if (action_.take.empty() && e_.unmap != Unmap::All) {
        post(requested, Kind::Saved);  // nothing to save: only the run list
    } else {
        const uint64_t packets = e_.timing.doorbell_ns + (unmap_packets() - 1) * e_.timing.scheduler_packet_ns;
        post(requested + packets + e_.grace_ns, Kind::Stop);
    }
}

/// Queues that an action takes from the hardware: those that have to go, and others that its packets do not tell from them.
std::vector<unsigned> Simulation::to_stop() const {
    std::vector<bool> stop(queues_.size()), process(queues_.size());
    for (const unsigned n : action_.take) {
        stop[n] = true;
        process[queues_[n].process] = true;
    }
    std::vector<unsigned> out;
    for (unsigned n = 0; n < queues_.size(); ++n) {
        const Queue& q = queues_[n];
        const bool with_them = e_.unmap == Unmap::All || (e_.unmap == Unmap::Static && !is_static(q)) ||
                               (e_.unmap == Unmap::Process && process[q.process]);
        if (q.on_hardware && (stop[n] || with_them)) out.push_back(n);
    }
    return out;
}

/// UNMAP_QUEUES names four doorbells, or one process, or all, or all that are not static.
uint64_t Simulation::unmap_packets() const {
    const auto taken_of = [&](auto which) { return std::count_if(action_.take.begin(), action_.take.end(), which); };
    switch (e_.unmap) {
        case Unmap::All: return 1;
        case Unmap::Queue: return (action_.take.size() + 3) / 4;
        case Unmap::Static: {
            const auto statics = static_cast<uint64_t>(taken_of([&](unsigned n) { return is_static(queues_[n]); }));
            return (statics < action_.take.size() ? 1 : 0) + (statics + 3) / 4;
        }
        case Unmap::Process: break;
    }
    std::vector<unsigned> processes;
    processes.reserve(action_.take.size());
    for (const unsigned n : action_.take) processes.push_back(queues_[n].process);
    std::sort(processes.begin(), processes.end());
    return static_cast<uint64_t>(std::unique(processes.begin(), processes.end()) - processes.begin());
}

/// Waves stop and are saved.
void Simulation::stop() {
    const uint64_t until = std::max(rotating_until_ns_, restoring_until_ns_);
    if (now_ < until) return post(until, Kind::Stop);
    const std::vector<unsigned> stopped = to_stop();
    for (const unsigned n : action_.take) queues_[n].listed = false;
    park(stopped, action_.bytes);
    const uint64_t saved = now_ + e_.save_fixed_ns + transfer_ns(action_.bytes);
    for (const unsigned n : action_.whom) {
        Sample& sample = queues_[n].sample;
        if (sample.t8_first_wave != 0) continue;  // the others' waves ended in the grace period
        sample.t4_dequeue = now_;
        if (action_.displaces) sample.t5_saved = saved;
    }
    post(saved, Kind::Free);
    post(fence_looked_ns(seen_saved(now_ - e_.grace_ns, saved)) + e_.driver.fence_ns, Kind::Saved);
}

/// The packet processor looks whether a dequeue is complete when it begins with it, and then every QUE_SLEEP.
uint64_t Simulation::seen_saved(uint64_t begun, uint64_t saved) const {
    const uint64_t sleep = std::max<uint64_t>(e_.retry_ns, 1);
    return begun + (saved - begun + sleep - 1) / sleep * sleep;
}

/// The driver sleeps between two looks at the fence, for an eighth of the time that has passed: usleep_range() with a slack of
/// an eighth, of which it takes all when no other timer ends before.
/// @source amdkfd_fence_wait_timeout() as kfd-patches/ has it
uint64_t Simulation::fence_looked_ns(uint64_t written) const {
    constexpr uint64_t kUs = 1'000, kLeastUs = 2, kMostUs = 100;
    const uint64_t marker = marker_ns();
    const uint64_t begun = action_.requested_ns + e_.driver.query_ns;
    uint64_t look = begun;
    while (look < written) {
        const uint64_t passed = look - begun;
        const uint64_t sleep_us = std::clamp(passed / kUs / 8, kLeastUs, kMostUs);
        const uint64_t next = look + (sleep_us + sleep_us / 8) * kUs + e_.driver.wake_ns;
        look = next + (marker > look && marker <= next ? e_.driver.irq_ns : 0);
    }
    return look;
}

/// When the client for which queues are taken rings again, for the packet behind its kernel: with its queue unmapped as well,
/// that interrupts the guest's only processor once more. @return QSCHED_NEVER: not at all
uint64_t Simulation::marker_ns() const {
    if (e_.detection != Detection::Notify || e_.unmap != Unmap::All || action_.whom.empty()) return QSCHED_NEVER;
    const Queue& q = queues_[action_.whom.front()];
    if (client(q).marker_ns == 0 || q.waiting.empty()) return QSCHED_NEVER;
    return q.waiting.front().arrived_ns + client(q).marker_ns;
}

/// The last wave has been saved: there is room, before anybody has been told.
void Simulation::free() {
    for (Queue& q : queues_) q.leaves = false;
    try_begin();
    if (!action_.displaces) return;
    ++result_.displacements;
    const bool none = std::none_of(action_.whom.begin(), action_.whom.end(), [&](unsigned n) {
        return queues_[n].served || (wants(queues_[n]) && !blocked(queues_[n]));
    });
    if (none && !action_.whom.empty()) ++result_.wasted;
}

/// The fence has been seen: the new run list.
void Simulation::saved() {
    if (now_ < rotating_until_ns_) return post(rotating_until_ns_, Kind::Saved);
    uint64_t lines = 0;
    std::vector<bool> process(queues_.size());
    for (const unsigned n : action_.whom) {
        if (queues_[n].sample.t5_saved != 0) queues_[n].sample.t6_fence = now_;
    }
    for (const unsigned n : action_.give) queues_[n].listed = true;
    for (const Queue& q : queues_) {
        if (!q.listed) continue;
        lines += process[q.process] ? 1 : 2;
        process[q.process] = true;
    }
    round_ = next_round();
    const uint64_t packets = e_.timing.doorbell_ns + lines * e_.timing.list_packet_ns;
    post(now_ + e_.driver.submit_ns + packets, Kind::Mapped);
}

void Simulation::mapped() {
    action_ = {};
    map(round_, restore_ns(round_));
    plan_look(e_.detection == Detection::Notify ? now_ + 1 : next_look_ns());
}

}  // namespace lyra::sim
