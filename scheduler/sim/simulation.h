// SPDX-License-Identifier: MIT
// The state of a simulation: events of clients (workload.cpp), of the GPU (device.cpp) and of the scheduler's thread
// (thread.cpp), in the order of their times (simulation.cpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <random>
#include <vector>

#include "scheduler/sim/experiment.h"

namespace lyra::sim {

class Simulation {
public:
    explicit Simulation(const Experiment& e) : e_(e), random_(e.seed) {}
    Result run();

private:
    enum class Kind : uint8_t { Arrive, Ring, Begin, Wake, Look, Stop, Free, Saved, Mapped, End, Restored, Rotate, Rotated };
    struct Event {
        uint64_t at_ns, number;
        Kind kind;
        unsigned queue;      ///< Arrive, Ring, Begin, Wake
        uint64_t version;    ///< Look, End, Rotate: an older one is void
        bool operator>(const Event& other) const { return at_ns != other.at_ns ? at_ns > other.at_ns : number > other.number; }
    };
    /// A kernel that has not begun.
    struct Pending {
        uint64_t arrival_ns = 0;  ///< when it was meant to come
        uint64_t arrived_ns = 0;  ///< its doorbell
        uint64_t waits_for = 0;  ///< so many kernels of the other queue have to be done
        uint64_t ready_ns = 0;   ///< when they were; 0: they are not yet
    };
    struct Queue {
        unsigned client = 0, process = 0;
        uint16_t id = 0;  ///< in the policy core
        int other = -1;   ///< for whose kernels its own wait
        std::vector<unsigned> waiters, dependents;  ///< queues whose kernels wait for this one's, or come after them
        std::deque<Pending> waiting;
        uint64_t done = 0, ended_ns = 0;  ///< kernels; when the last one did
        size_t next_trace = 0;
        bool in_burst = false;
        uint64_t phase_until_ns = 0;  ///< Bursty
        std::deque<uint64_t> backlog;  ///< arrivals of kernels for which the client has not rung yet
        uint64_t free_ns = 0;   ///< when it is
        bool rings = false;     ///< it will
        /// On the run list; has a slot; its waves still leave; its kernel has waves, here or saved; its first packet is being
        /// executed; its first packet has waited, and the packet processor has not looked yet.
        bool listed = true, on_hardware = true, leaves = false, resident = false, begins = false, wakes = false;
        bool known_wants = false, known_blocked = false;  ///< what the policy core has been told
        uint64_t known_read = 0, known_written = 0;
        bool served = false;  ///< a kernel has begun since it was the reason of an action
        double left_ns = 0;  ///< of the kernel that has begun, alone
        uint64_t arrival_ns = 0;  ///< of the kernel that has begun
        uint64_t taken_ns = 0;  ///< when the packet processor began with its first packet, which has not begun to run
        uint64_t off_since_ns = 0;
        uint64_t restored_ns = 0;  ///< when its saved waves go on
        Sample sample;
    };
    struct Action {
        bool busy = false, displaces = false;
        std::vector<unsigned> take, give, whom;  ///< whom: for whose sake
        uint64_t bytes = 0;
        uint64_t requested_ns = 0;  ///< the packets have been written
    };

    const ClientClass& client(const Queue& q) const { return e_.clients[q.client]; }
    bool wants(const Queue& q) const { return q.resident || !q.waiting.empty(); }
    /// Its first packet waits for another queue's kernel.
    bool blocked(const Queue& q) const {
        return !q.resident && !q.waiting.empty() && q.other >= 0 &&
               queues_[static_cast<unsigned>(q.other)].done < q.waiting.front().waits_for;
    }
    /// Its waves make progress.
    bool runs(const Queue& q) const { return q.resident && q.on_hardware && q.restored_ns <= now_; }
    bool is_static(const Queue& q) const { return e_.unmap == Unmap::Static && client(q).queue.priority >= e_.static_priority; }
    void post(uint64_t at, Kind kind, unsigned queue = 0, uint64_t version = 0) {
        events_.push({at, ++number_, kind, queue, version});
    }
    uint64_t random_below(uint64_t n) { return n == 0 ? 0 : random_() % n; }
    uint64_t random_interval(double mean_ns) {
        return static_cast<uint64_t>(-std::log1p(-std::generate_canonical<double, 53>(random_)) * mean_ns);
    }
    uint64_t transfer_ns(uint64_t bytes) const {
        const uint64_t speed = e_.save_area == SaveArea::Vram ? e_.timing.vram_speed() : e_.timing.system_mb_per_s;
        return bytes * 1000 / std::max<uint64_t>(speed, 1);
    }

    // simulation.cpp
    void check() const;
    unsigned class_named(const std::string& name, const std::string& whose) const;
    void set_up();
    void relate();
    void handle(const Event& event);
    bool stuck() const;

    // workload.cpp
    void next_arrival(unsigned queue, bool first);
    uint64_t next_in_bursts(Queue& q);
    void arrive(unsigned queue);
    uint64_t client_free_ns(const Queue& q) const;
    void ring(unsigned queue);
    void kernel_done(unsigned queue);
    void submit(Queue& q, uint64_t arrival_ns);
    bool more_samples() const;

    // device.cpp
    void pass(uint64_t to);
    void plan_end();
    void try_begin();
    void begin(unsigned queue);
    void end();
    void wake_waiters(const Queue& of);
    std::vector<unsigned> next_round();
    uint64_t restore_ns(const std::vector<unsigned>& round) const;
    void park(const std::vector<unsigned>& queues, uint64_t& bytes);
    void map(const std::vector<unsigned>& round, uint64_t restore_ns);
    void rotate();
    void rotated();

    // thread.cpp
    uint64_t look_period();
    uint64_t next_look_ns();
    void plan_look(uint64_t at);
    void look();
    uint64_t tell_core(uint64_t seen);
    void tell_progress(Queue& q, uint64_t seen);
    void tell(qsched_event_type type, const Queue& q, uint64_t seen);
    void act();
    std::vector<unsigned> to_stop() const;
    uint64_t unmap_packets() const;
    uint64_t fence_looked_ns(uint64_t written) const;
    uint64_t marker_ns() const;
    uint64_t seen_saved(uint64_t begun, uint64_t saved) const;
    void stop();
    void free();
    void saved();
    void mapped();

    const Experiment& e_;
    std::mt19937_64 random_;
    qsched sched_{};
    std::vector<Queue> queues_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    uint64_t number_ = 0, now_ = 0, end_version_ = 0, look_version_ = 0, rotate_version_ = 0;
    uint64_t planned_look_ns_ = QSCHED_NEVER;  ///< QSCHED_NEVER: none
    uint64_t round_until_ns_ = 0;  ///< the scheduler's thread keeps the processor
    uint64_t busy_until_ns_ = 0;  ///< until then adaptive polling has its short period
    uint64_t core_timer_ns_ = QSCHED_NEVER;
    unsigned cursor_ = 0;  ///< first queue of the next round of the run list
    std::vector<unsigned> round_;  ///< Rotated: who comes
    uint64_t rotating_until_ns_ = 0;
    uint64_t restoring_until_ns_ = 0;  ///< a dequeue begins when all waves are back
    bool over_ = false;
    Action action_;
    Result result_;
};

}  // namespace lyra::sim
