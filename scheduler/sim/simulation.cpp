// SPDX-License-Identifier: MIT
// The simulator: events of clients, of the scheduler's thread and of the hardware in the order of their times.
#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "common/firmware.h"
#include "scheduler/sim/simulation.h"

namespace lyra::sim {

unsigned Simulation::class_named(const std::string& name, const std::string& whose) const {
    for (unsigned n = 0; n < e_.clients.size(); ++n) {
        if (e_.clients[n].name == name) return n;
    }
    throw std::invalid_argument(whose + ": there is no client named '" + name + "'");
}

void Simulation::check() const {
    if (e_.clients.empty()) throw std::invalid_argument("no clients");
    unsigned queues = 0;
    for (const ClientClass& c : e_.clients) {
        queues += c.count;
        if (c.kernel_ns == 0) throw std::invalid_argument(c.name + ": a kernel takes longer than nothing");
        if (!c.suspends.empty()) throw std::invalid_argument(c.name + ".suspends: only lyra measure can do that");
        if (c.cu_mask != 0) throw std::invalid_argument(c.name + ".cu_mask: only lyra measure can do that");
        if (!(c.room >= 0 && c.room <= 1)) throw std::invalid_argument(c.name + ": room is between 0 and 1");
        const bool rate = c.arrival == Arrival::Uniform || c.arrival == Arrival::Poisson;
        if (rate && !(c.rate_hz > 0)) throw std::invalid_argument(c.name + ": needs a rate");
        if (c.arrival == Arrival::Bursty && (!(c.burst_hz > 0) || !(c.rate_hz >= 0) || c.burst_ns == 0 || c.calm_ns == 0))
            throw std::invalid_argument(c.name + ": bursts need a rate, a length and a distance");
        if (!std::is_sorted(c.trace_ns.begin(), c.trace_ns.end()))
            throw std::invalid_argument(c.name + ": the trace is not in order");
        if (c.arrival == Arrival::Dependent && c.after.empty()) throw std::invalid_argument(c.name + ": after whose kernels?");
        if (c.arrival != Arrival::Dependent && !c.after.empty())
            throw std::invalid_argument(c.name + ": only dependent arrivals are after others");
    }
    // The simulated firmware is the one of virtual time.
    const std::string usual = Firmware::defaults(true).text();
    for (const std::string& choice : e_.firmware) {
        Firmware firmware = Firmware::defaults(true);
        firmware.set(choice);
        if (firmware.text() != usual) throw std::invalid_argument("firmware " + choice + ": only lyra measure can do that");
    }
    if (queues == 0 || queues > QSCHED_MAX_QUEUES) throw std::invalid_argument("between 1 and 256 queues");
    if (e_.period_ns == 0 || e_.idle_period_ns == 0) throw std::invalid_argument("the scheduler needs a period");
    if (e_.hardware.hqds == 0 || e_.hardware.processes == 0 || e_.hardware.quantum_ns == 0)
        throw std::invalid_argument("the hardware needs a queue slot, a process and a quantum");
    // A circle of clients that wait for each other would be their own fault.
    for (unsigned n = 0; n < e_.clients.size(); ++n) {
        unsigned at = n, steps = 0;
        while (!e_.clients[at].waits_for.empty() || !e_.clients[at].after.empty()) {
            const ClientClass& c = e_.clients[at];
            at = class_named(c.waits_for.empty() ? c.after : c.waits_for, c.name);
            if (++steps > e_.clients.size())
                throw std::invalid_argument(e_.clients[n].name + ": clients wait for each other in a circle");
        }
        if (!e_.clients[n].after.empty()) class_named(e_.clients[n].after, e_.clients[n].name);
    }
}

void Simulation::set_up() {
    qsched_init(&sched_, &e_.policy, 0);
    std::map<std::string, unsigned> processes;
    for (unsigned c = 0; c < e_.clients.size(); ++c) {
        result_.clients.push_back({e_.clients[c].name, e_.clients[c].latency_critical});
        for (unsigned n = 0; n < e_.clients[c].count; ++n) {
            Queue q;
            q.client = c;
            // One of its own has the number of its queue, so that it differs from those with names.
            q.process = static_cast<unsigned>(queues_.size());
            if (!e_.clients[c].process.empty()) q.process = processes.emplace(e_.clients[c].process, q.process).first->second;
            q.id = qsched_add(&sched_, &e_.clients[c].queue);
            q.on_hardware = false;
            queues_.push_back(std::move(q));
        }
    }
    relate();
    map(next_round(), 0);
    for (unsigned n = 0; n < queues_.size(); ++n) next_arrival(n, true);
    plan_look(random_below(e_.period_ns));
}

/// Which queue waits for which.
void Simulation::relate() {
    std::vector<unsigned> first;
    unsigned at = 0;
    for (const ClientClass& c : e_.clients) {
        first.push_back(at);
        at += c.count;
    }
    for (unsigned n = 0; n < queues_.size(); ++n) {
        const ClientClass& c = client(queues_[n]);
        const unsigned nth = n - first[queues_[n].client];
        if (!c.waits_for.empty()) {
            const unsigned other = class_named(c.waits_for, c.name), queue = first[other] + nth % e_.clients[other].count;
            queues_[n].other = static_cast<int>(queue);
            queues_[queue].waiters.push_back(n);
        }
        if (!c.after.empty()) {
            const unsigned other = class_named(c.after, c.name);
            queues_[first[other] + nth % e_.clients[other].count].dependents.push_back(n);
        }
    }
}

/// Nothing runs or will run by itself, and a queue waits for one that is kept away.
bool Simulation::stuck() const {
    bool kept = false;
    for (const Queue& q : queues_) {
        if ((q.resident && q.on_hardware) || q.begins || q.wakes || q.rings) return false;
        if (!wants(q)) continue;
        if (q.listed && !blocked(q)) return false;
        if (!blocked(q)) continue;
        const Queue& other = queues_[static_cast<unsigned>(q.other)];
        kept = kept || (wants(other) && !other.listed);
    }
    return kept;
}

void Simulation::handle(const Event& event) {
    switch (event.kind) {
        case Kind::Arrive: return arrive(event.queue);
        case Kind::Ring: return ring(event.queue);
        case Kind::Begin: return begin(event.queue);
        case Kind::Wake: queues_[event.queue].wakes = false; return try_begin();
        case Kind::Look: return look();
        case Kind::Stop: return stop();
        case Kind::Free: return free();
        case Kind::Saved: return saved();
        case Kind::Mapped: return mapped();
        case Kind::End: return end();
        case Kind::Restored: return plan_end();
        case Kind::Rotate: return rotate();
        case Kind::Rotated: return rotated();
    }
}

Result Simulation::run() {
    check();
    set_up();
    while (!events_.empty() && !over_ && result_.samples.size() < e_.samples) {
        const Event event = events_.top();
        if (event.at_ns > e_.most_ns) {
            // Whoever still waits for a queue that is kept away has not been helped in all this time.
            result_.deadlocked =
                core_timer_ns_ == QSCHED_NEVER && std::any_of(queues_.begin(), queues_.end(), [&](const Queue& q) {
                    return blocked(q) && !queues_[static_cast<unsigned>(q.other)].listed &&
                           wants(queues_[static_cast<unsigned>(q.other)]);
                });
            break;
        }
        events_.pop();
        if ((event.kind == Kind::End && event.version != end_version_) ||
            (event.kind == Kind::Look && event.version != look_version_) ||
            (event.kind == Kind::Rotate && event.version != rotate_version_))
            continue;
        pass(event.at_ns);
        handle(event);
    }
    result_.duration_ns = now_;
    for (const Queue& q : queues_) {
        if (wants(q) && !q.on_hardware) {
            uint64_t& longest = result_.clients[q.client].longest_off_ns;
            longest = std::max(longest, now_ - q.off_since_ns);
        }
        if (q.resident)
            result_.clients[q.client].work_ns += client(q).kernel_ns - static_cast<uint64_t>(std::max(q.left_ns, 0.0));
    }
    return std::move(result_);
}

Result simulate(const Experiment& experiment) { return Simulation(experiment).run(); }

std::optional<Result> simulate_alone(const Experiment& experiment, unsigned client, uint64_t longest_ns) {
    constexpr uint64_t kKernels = 2'000;  // of a closed client all are alike; of others enough to know the mean
    Experiment alone = experiment;
    alone.clients = {experiment.clients[client]};
    ClientClass& c = alone.clients.front();
    if (!c.waits_for.empty() || !c.after.empty()) return std::nullopt;
    c.count = 1;
    const uint64_t each = c.kernel_ns + c.turnaround_ns;
    alone.samples = std::min(alone.samples, kKernels);
    alone.most_ns = std::max(c.arrival == Arrival::Closed ? std::min(longest_ns, kKernels * each) : longest_ns, 10 * each);
    alone.policy.policy = QSCHED_NONE;
    return simulate(alone);
}

}  // namespace lyra::sim
