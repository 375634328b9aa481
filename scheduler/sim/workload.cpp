// SPDX-License-Identifier: MIT
// The simulator's clients: when their kernels come, and for what these wait.
#include <algorithm>
#include <cmath>

#include "scheduler/sim/simulation.h"

namespace lyra::sim {

void Simulation::next_arrival(unsigned queue, bool first) {
    Queue& q = queues_[queue];
    const ClientClass& c = client(q);
    const double interval = c.rate_hz > 0 ? 1e9 / c.rate_hz : 0;
    switch (c.arrival) {
        case Arrival::Closed:
            if (first) post(0, Kind::Arrive, queue);
            break;
        case Arrival::Uniform:
            post(first ? random_below(static_cast<uint64_t>(interval)) : now_ + static_cast<uint64_t>(interval), Kind::Arrive,
                 queue);
            break;
        case Arrival::Poisson: post(now_ + random_interval(interval), Kind::Arrive, queue); break;
        case Arrival::Bursty: post(next_in_bursts(q), Kind::Arrive, queue); break;
        case Arrival::Trace:
            if (q.next_trace < c.trace_ns.size()) post(std::max(now_, c.trace_ns[q.next_trace++]), Kind::Arrive, queue);
            break;
        case Arrival::Dependent: break;
    }
}

/// What is left of an interval when the rate changes is as long on average as a new one: it is drawn again.
uint64_t Simulation::next_in_bursts(Queue& q) {
    const ClientClass& c = client(q);
    uint64_t at = now_;
    for (;;) {
        if (at >= q.phase_until_ns) {
            q.in_burst = q.phase_until_ns != 0 && !q.in_burst;  // the first phase is calm
            q.phase_until_ns = at + 1 + random_interval(static_cast<double>(q.in_burst ? c.burst_ns : c.calm_ns));
        }
        const double rate = q.in_burst ? c.burst_hz : c.rate_hz;
        const uint64_t next = rate > 0 ? at + random_interval(1e9 / rate) : QSCHED_NEVER;
        if (next < q.phase_until_ns) return next;
        at = q.phase_until_ns;
    }
}

void Simulation::arrive(unsigned queue) {
    Queue& q = queues_[queue];
    if (client(q).turnaround_ns != 0 && (q.rings || wants(q))) {
        q.backlog.push_back(now_);
    } else if (const uint64_t free = client_free_ns(q); now_ < free) {
        q.rings = true;
        q.backlog.push_back(now_);
        post(free, Kind::Ring, queue);
    } else {
        submit(q, now_);
    }
    next_arrival(queue, false);
    try_begin();
}

uint64_t Simulation::client_free_ns(const Queue& q) const {
    return client(q).turnaround_ns == 0 ? 0 : std::max(q.free_ns, round_until_ns_);
}

void Simulation::ring(unsigned queue) {
    if (now_ < round_until_ns_) return post(round_until_ns_, Kind::Ring, queue);
    Queue& q = queues_[queue];
    q.rings = false;
    uint64_t arrival = now_;  // a closed client's comes when it is ready for it
    if (!q.backlog.empty()) {
        arrival = q.backlog.front();
        q.backlog.pop_front();
    }
    submit(q, arrival);
    try_begin();
}

/// What its client does then.
void Simulation::kernel_done(unsigned queue) {
    Queue& q = queues_[queue];
    const ClientClass& c = client(q);
    const bool closed = c.arrival == Arrival::Closed;
    if (c.turnaround_ns == 0) {
        if (closed) submit(q, now_);
        return;
    }
    q.free_ns = now_ + e_.timing.end_of_pipe_ns + c.turnaround_ns;
    if (!closed && q.backlog.empty()) return;
    q.rings = true;
    post(q.free_ns, Kind::Ring, queue);
}

/// A kernel's packets and its doorbell.
void Simulation::submit(Queue& q, uint64_t arrival_ns) {
    if (!wants(q) && !q.on_hardware) q.off_since_ns = now_;
    Pending kernel{arrival_ns, now_, 0, now_};
    if (q.other >= 0) {
        kernel.waits_for = queues_[static_cast<unsigned>(q.other)].done + 1;
        kernel.ready_ns = 0;
    }
    q.waiting.push_back(kernel);
    if (e_.detection == Detection::Notify && !q.known_wants) plan_look(now_ + e_.driver.notify_ns);
}

/// A latency-critical client has work or will have some.
bool Simulation::more_samples() const {
    bool any = false;
    for (const Queue& q : queues_) {
        const ClientClass& c = client(q);
        any = any || c.latency_critical;
        if (c.latency_critical && (c.arrival != Arrival::Trace || q.done < c.trace_ns.size())) return true;
    }
    return !any;
}

}  // namespace lyra::sim
