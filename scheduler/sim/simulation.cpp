// SPDX-License-Identifier: MIT
// The simulator: events of clients, of the scheduler's thread and of the hardware in the order of their times.
//
// The GPU is shared equally by the kernels that are on it: each gets 1/n of its speed. A kernel cannot begin while waves of another
// queue fill the GPU; that one ends, or is saved.
#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <random>
#include <stdexcept>

#include "scheduler/sim/experiment.h"

namespace lyra::sim {

namespace {

class Simulation {
public:
    explicit Simulation(const Experiment& e) : e_(e), random_(e.seed) {}
    Result run();

private:
    enum class Kind : uint8_t { Arrive, Begin, Look, Stop, Free, Saved, Mapped, End };
    struct Event {
        uint64_t at_ns, number;
        Kind kind;
        unsigned queue;      ///< Arrive, Begin
        uint64_t version;    ///< Look, End: an older one is void
        bool operator>(const Event& other) const { return at_ns != other.at_ns ? at_ns > other.at_ns : number > other.number; }
    };
    struct Queue {
        unsigned client = 0;
        uint16_t id = 0;            ///< in the policy core
        std::deque<uint64_t> waiting;  ///< arrivals not begun
        size_t next_trace = 0;
        bool on_hardware = true, leaves = false, resident = false, begins = false, known_wants = false;
        double left_ns = 0;         ///< of the kernel that has begun, alone
        uint64_t off_since_ns = 0;
        Sample sample;
    };
    struct Action {
        bool busy = false;
        std::vector<unsigned> take, give;
        uint64_t bytes = 0;
    };

    const ClientClass& client(const Queue& q) const { return e_.clients[q.client]; }
    bool wants(const Queue& q) const { return q.resident || !q.waiting.empty(); }
    void post(uint64_t at, Kind kind, unsigned queue = 0, uint64_t version = 0) {
        events_.push({at, ++number_, kind, queue, version});
    }
    uint64_t random_below(uint64_t n) { return n == 0 ? 0 : random_() % n; }

    void check() const;
    void set_up();
    void pass(uint64_t to);
    void plan_end();
    void next_arrival(unsigned queue, bool first);
    void arrive(unsigned queue);
    void try_begin();
    void begin(unsigned queue);
    void end();
    uint64_t look_period() const;
    void plan_look(uint64_t at);
    void look();
    void act();
    void stop();
    void free();
    void saved();
    void mapped();
    uint64_t transfer_ns(uint64_t bytes) const { return bytes * 1000 / std::max<uint64_t>(e_.timing.vram_speed(), 1); }

    const Experiment& e_;
    std::mt19937_64 random_;
    qsched sched_{};
    std::vector<Queue> queues_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    uint64_t number_ = 0, now_ = 0, end_version_ = 0, look_version_ = 0;
    uint64_t planned_look_ns_ = QSCHED_NEVER;  ///< QSCHED_NEVER: none
    Action action_;
    Result result_;
};

void Simulation::check() const {
    if (e_.clients.empty()) throw std::invalid_argument("no clients");
    unsigned queues = 0;
    for (const ClientClass& c : e_.clients) {
        queues += c.count;
        if (c.kernel_ns == 0) throw std::invalid_argument(c.name + ": a kernel takes longer than nothing");
        const bool rate = c.arrival == Arrival::Uniform || c.arrival == Arrival::Poisson;
        if (rate && !(c.rate_hz > 0)) throw std::invalid_argument(c.name + ": needs a rate");
        if (!std::is_sorted(c.trace_ns.begin(), c.trace_ns.end())) throw std::invalid_argument(c.name + ": the trace is not in order");
    }
    if (queues == 0 || queues > QSCHED_MAX_QUEUES) throw std::invalid_argument("between 1 and 256 queues");
    if (e_.period_ns == 0 || e_.idle_period_ns == 0) throw std::invalid_argument("the scheduler needs a period");
}

void Simulation::set_up() {
    qsched_init(&sched_, &e_.policy, 0);
    for (unsigned c = 0; c < e_.clients.size(); ++c) {
        result_.clients.push_back({e_.clients[c].name, e_.clients[c].latency_critical, 0, 0, 0});
        for (unsigned n = 0; n < e_.clients[c].count; ++n) {
            Queue q;
            q.client = c;
            q.id = qsched_add(&sched_, &e_.clients[c].queue);
            queues_.push_back(std::move(q));
            next_arrival(static_cast<unsigned>(queues_.size() - 1), true);
        }
    }
    plan_look(random_below(e_.period_ns));
}

/// Kernels on the GPU go on.
void Simulation::pass(uint64_t to) {
    const auto active = std::count_if(queues_.begin(), queues_.end(), [](const Queue& q) { return q.resident && q.on_hardware; });
    if (active != 0) {
        const double share = static_cast<double>(to - now_) / static_cast<double>(active);
        for (Queue& q : queues_) {
            if (q.resident && q.on_hardware) q.left_ns -= share;
        }
    }
    now_ = to;
}

void Simulation::plan_end() {
    double least = -1;
    unsigned active = 0;
    for (const Queue& q : queues_) {
        if (!q.resident || !q.on_hardware) continue;
        ++active;
        if (least < 0 || q.left_ns < least) least = q.left_ns;
    }
    ++end_version_;
    if (active != 0) post(now_ + static_cast<uint64_t>(std::ceil(std::max(least, 0.0) * active)), Kind::End, 0, end_version_);
}

void Simulation::next_arrival(unsigned queue, bool first) {
    Queue& q = queues_[queue];
    const ClientClass& c = client(q);
    const double interval = c.rate_hz > 0 ? 1e9 / c.rate_hz : 0;
    switch (c.arrival) {
    case Arrival::Closed:
        if (first) post(0, Kind::Arrive, queue);
        break;
    case Arrival::Uniform:
        post(first ? random_below(static_cast<uint64_t>(interval)) : now_ + static_cast<uint64_t>(interval), Kind::Arrive, queue);
        break;
    case Arrival::Poisson: {
        const double u = std::generate_canonical<double, 53>(random_);
        post(now_ + static_cast<uint64_t>(-std::log1p(-u) * interval), Kind::Arrive, queue);
        break;
    }
    case Arrival::Trace:
        if (q.next_trace < c.trace_ns.size()) post(std::max(now_, c.trace_ns[q.next_trace++]), Kind::Arrive, queue);
        break;
    }
}

void Simulation::arrive(unsigned queue) {
    Queue& q = queues_[queue];
    if (!wants(q) && !q.on_hardware) q.off_since_ns = now_;
    q.waiting.push_back(now_);
    if (client(q).arrival != Arrival::Closed) next_arrival(queue, false);
    if (e_.detection == Detection::Notify && !q.known_wants) plan_look(now_ + e_.driver.notify_ns);
    try_begin();
}

/// The first packets of queues on the hardware, where waves of others leave room.
void Simulation::try_begin() {
    for (unsigned n = 0; n < queues_.size(); ++n) {
        Queue& q = queues_[n];
        if (q.resident || q.begins || q.waiting.empty() || !q.on_hardware) continue;
        const bool full = std::any_of(queues_.begin(), queues_.end(), [&](const Queue& other) {
            return &other != &q && other.resident && (other.on_hardware || other.leaves) && client(other).fills;
        });
        if (full) continue;
        q.begins = true;
        post(now_ + e_.timing.doorbell_ns + e_.timing.packet_ns + e_.timing.dispatch_ns, Kind::Begin, n);
    }
}

void Simulation::begin(unsigned queue) {
    Queue& q = queues_[queue];
    q.begins = false;
    if (!q.on_hardware || q.waiting.empty()) return;
    q.resident = true;
    q.left_ns = static_cast<double>(client(q).kernel_ns);
    q.sample.t0_doorbell = q.waiting.front();
    q.sample.t8_first_wave = now_;
    q.waiting.pop_front();
    plan_end();
}

void Simulation::end() {
    for (unsigned n = 0; n < queues_.size(); ++n) {
        Queue& q = queues_[n];
        if (!q.resident || !q.on_hardware || q.left_ns > 0.5) continue;
        q.resident = false;
        ClientResult& r = result_.clients[q.client];
        ++r.kernels;
        r.work_ns += client(q).kernel_ns;
        if (client(q).latency_critical) {
            q.sample.t9_done = now_ + e_.timing.end_of_pipe_ns;
            result_.samples.push_back(q.sample);
        }
        q.sample = {};
        if (client(q).arrival == Arrival::Closed) q.waiting.push_back(now_);
    }
    try_begin();
    plan_end();
}

uint64_t Simulation::look_period() const {
    if (e_.detection != Detection::Adaptive) return e_.period_ns;
    // Short while a queue is on the GPU that another one may displace.
    uint8_t highest = 0;
    for (const Queue& q : queues_) highest = std::max(highest, client(q).queue.priority);
    const bool may_go = std::any_of(queues_.begin(), queues_.end(), [&](const Queue& q) {
        return wants(q) && client(q).queue.priority < highest;
    });
    return may_go ? e_.period_ns : e_.idle_period_ns;
}

void Simulation::plan_look(uint64_t at) {
    if (planned_look_ns_ <= at) return;
    planned_look_ns_ = at;
    post(at, Kind::Look, 0, ++look_version_);
}

/// The scheduler's thread looks at all queues and tells the policy core what has changed.
void Simulation::look() {
    planned_look_ns_ = QSCHED_NEVER;
    if (action_.busy) return;  // it looks again when that is done
    const uint64_t seen = now_ + e_.driver.look_ns;
    uint64_t timer = QSCHED_NEVER;
    for (Queue& q : queues_) {
        if (wants(q) == q.known_wants) continue;
        q.known_wants = wants(q);
        const qsched_event event{q.known_wants ? QSCHED_WANTS : QSCHED_IDLE, q.id, QSCHED_NO_QUEUE, seen};
        timer = qsched_handle(&sched_, &event).timer_ns;
        if (q.known_wants) q.sample.t2_detected = seen;
    }
    const qsched_event tick{QSCHED_TIMER, QSCHED_NO_QUEUE, QSCHED_NO_QUEUE, seen};
    timer = qsched_handle(&sched_, &tick).timer_ns;
    for (unsigned n = 0; n < queues_.size(); ++n) {
        const bool allowed = qsched_allowed(&sched_, queues_[n].id);
        if (allowed != queues_[n].on_hardware) (allowed ? action_.give : action_.take).push_back(n);
    }
    if (!action_.take.empty() || !action_.give.empty()) return act();
    plan_look(std::min(std::max(timer, now_ + 1), now_ + look_period()));
}

void Simulation::act() {
    ++result_.actions;
    action_.busy = true;
    action_.bytes = 0;
    ++look_version_;
    planned_look_ns_ = QSCHED_NEVER;
    const uint64_t requested = now_ + e_.driver.look_ns + e_.driver.submit_ns;
    const uint64_t dequeue = requested + e_.timing.scheduler_packet_ns + e_.grace_ns;
    for (Queue& q : queues_) {
        if (wants(q) && !q.resident && q.on_hardware && qsched_allowed(&sched_, q.id)) {
            q.sample.t3_requested = requested;
            q.sample.t4_dequeue = dequeue;
            q.sample.displaced = !action_.take.empty();
        }
    }
    if (action_.take.empty() && e_.unmap == Unmap::Queue) {
        post(requested, Kind::Saved);  // nothing to save: only the run list
    } else {
        post(dequeue, Kind::Stop);
    }
}

/// Waves stop and are saved: of all queues, or of those that have to go.
void Simulation::stop() {
    std::vector<unsigned> stopped = action_.take;
    if (e_.unmap == Unmap::All) {
        stopped.clear();
        for (unsigned n = 0; n < queues_.size(); ++n) {
            if (queues_[n].on_hardware) stopped.push_back(n);
        }
    }
    action_.take = stopped;
    for (const unsigned n : stopped) {
        Queue& q = queues_[n];
        q.on_hardware = false;
        q.leaves = true;
        q.off_since_ns = now_;
        ++result_.queues_saved;
        if (q.resident) action_.bytes += client(q).context_bytes;
    }
    result_.bytes_saved += action_.bytes;
    plan_end();
    const uint64_t saved = now_ + e_.save_fixed_ns + stopped.size() * e_.timing.descriptor_ns + transfer_ns(action_.bytes);
    for (Queue& q : queues_) {
        if (q.sample.displaced && q.sample.t5_saved == 0) q.sample.t5_saved = saved;
    }
    post(saved, Kind::Free);
    post(saved + random_below(e_.retry_ns) + e_.driver.fence_ns, Kind::Saved);
}

/// The last wave has been saved: there is room, before anybody has been told.
void Simulation::free() {
    for (Queue& q : queues_) q.leaves = false;
    try_begin();
}

/// The fence has been seen: the new run list.
void Simulation::saved() {
    for (Queue& q : queues_) {
        if (q.sample.displaced && q.sample.t6_fence == 0) q.sample.t6_fence = now_;
    }
    if (e_.unmap == Unmap::All) {
        action_.give.clear();
        for (unsigned n = 0; n < queues_.size(); ++n) {
            if (qsched_allowed(&sched_, queues_[n].id)) action_.give.push_back(n);
        }
    }
    uint64_t bytes = 0;
    for (const unsigned n : action_.give) {
        if (queues_[n].resident) bytes += client(queues_[n]).context_bytes;
    }
    const uint64_t packets = e_.timing.scheduler_packet_ns + queues_.size() * e_.timing.list_packet_ns;
    const uint64_t restore = action_.give.empty() ? 0 : e_.save_fixed_ns + transfer_ns(bytes) + action_.give.size() * e_.timing.descriptor_ns;
    post(now_ + e_.driver.submit_ns + packets + restore, Kind::Mapped);
}

void Simulation::mapped() {
    for (const unsigned n : action_.give) {
        Queue& q = queues_[n];
        if (!q.on_hardware && wants(q)) {
            ClientResult& r = result_.clients[q.client];
            r.longest_off_ns = std::max(r.longest_off_ns, now_ - q.off_since_ns);
        }
        q.on_hardware = true;
    }
    action_ = {};
    try_begin();
    plan_end();
    plan_look(now_ + (e_.detection == Detection::Notify ? 1 : look_period()));
}

Result Simulation::run() {
    check();
    set_up();
    while (!events_.empty() && result_.samples.size() < e_.samples) {
        const Event event = events_.top();
        if (event.at_ns > e_.most_ns) break;
        events_.pop();
        if ((event.kind == Kind::End && event.version != end_version_) || (event.kind == Kind::Look && event.version != look_version_)) continue;
        pass(event.at_ns);
        switch (event.kind) {
        case Kind::Arrive: arrive(event.queue); break;
        case Kind::Begin: begin(event.queue); break;
        case Kind::Look: look(); break;
        case Kind::Stop: stop(); break;
        case Kind::Free: free(); break;
        case Kind::Saved: saved(); break;
        case Kind::Mapped: mapped(); break;
        case Kind::End: end(); break;
        }
    }
    result_.duration_ns = now_;
    for (const Queue& q : queues_) {
        if (q.resident) result_.clients[q.client].work_ns += client(q).kernel_ns - static_cast<uint64_t>(std::max(q.left_ns, 0.0));
    }
    return std::move(result_);
}

}  // namespace

double Result::best_effort_retained() const {
    uint64_t critical = 0, rest = 0;
    for (const ClientResult& client : clients) (client.latency_critical ? critical : rest) += client.work_ns;
    return duration_ns > critical ? static_cast<double>(rest) / static_cast<double>(duration_ns - critical) : 0;
}

Result simulate(const Experiment& experiment) { return Simulation(experiment).run(); }

}  // namespace lyra::sim
