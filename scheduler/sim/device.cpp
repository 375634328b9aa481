// SPDX-License-Identifier: MIT
// The simulator's GPU: kernels that share it, queues that have slots, and the hardware scheduler that shares out too few slots.
//
// Each of n kernels gets 1/n of the speed. A kernel cannot begin while waves of other queues fill the GPU; those end, or are
// saved. A queue whose first packet waits for another one's kernel has its slot, but no waves.
#include <algorithm>
#include <cmath>

#include "scheduler/sim/simulation.h"

namespace lyra::sim {

/// Kernels on the GPU go on.
void Simulation::pass(uint64_t to) {
    const auto active = std::count_if(queues_.begin(), queues_.end(), [&](const Queue& q) { return runs(q); });
    if (active != 0) {
        const double share = static_cast<double>(to - now_) / static_cast<double>(active);
        for (Queue& q : queues_) {
            if (runs(q)) q.left_ns -= share;
        }
    }
    now_ = to;
}

void Simulation::plan_end() {
    double least = -1;
    unsigned active = 0;
    for (const Queue& q : queues_) {
        if (!runs(q)) continue;
        ++active;
        if (least < 0 || q.left_ns < least) least = q.left_ns;
    }
    ++end_version_;
    if (active != 0) post(now_ + static_cast<uint64_t>(std::ceil(std::max(least, 0.0) * active)), Kind::End, 0, end_version_);
}

/// The first packets of queues on the hardware, where waves of others leave room.
void Simulation::try_begin() {
    constexpr double kAlmostAll = 1 - 1e-9;  // 23 times a 23rd
    double room = 0;
    for (const Queue& q : queues_) {
        if (q.begins || (q.resident && (q.on_hardware || q.leaves))) room += client(q).room;
    }
    for (unsigned n = 0; n < queues_.size(); ++n) {
        Queue& q = queues_[n];
        if (q.resident || q.begins || q.wakes || q.waiting.empty() || !q.on_hardware || blocked(q)) continue;
        // The packet is taken whether there is room or not; unmapping the queue does not undo that.
        if (q.taken_ns == 0) q.taken_ns = now_;
        if (room >= kAlmostAll) continue;
        q.begins = true;
        room += client(q).room;
        post(std::max(now_, q.taken_ns + e_.timing.doorbell_ns + e_.timing.packet_ns + e_.timing.dispatch_ns), Kind::Begin, n);
    }
}

void Simulation::begin(unsigned queue) {
    Queue& q = queues_[queue];
    q.begins = false;
    if (!q.on_hardware || q.waiting.empty()) return try_begin();
    q.resident = q.served = true;
    q.taken_ns = 0;
    q.left_ns = static_cast<double>(client(q).kernel_ns);
    q.arrival_ns = q.sample.arrival = q.waiting.front().arrival_ns;
    q.sample.client = q.client;
    q.sample.t0_doorbell = q.waiting.front().arrived_ns;
    q.sample.ready = std::max(q.waiting.front().ready_ns, q.ended_ns);
    q.sample.t8_first_wave = q.sample.resident = now_;
    q.waiting.pop_front();
    plan_end();
}

void Simulation::end() {
    std::vector<unsigned> ended;
    for (unsigned n = 0; n < queues_.size(); ++n) {
        Queue& q = queues_[n];
        if (!runs(q) || q.left_ns > 0.5) continue;
        ended.push_back(n);
        q.resident = false;
        ++q.done;
        q.ended_ns = now_;
        ClientResult& r = result_.clients[q.client];
        ++r.kernels;
        r.work_ns += client(q).kernel_ns;
        if (!client(q).latency_critical) r.work_ns += client(q).turnaround_ns;
        r.turnaround_ns += now_ + e_.timing.end_of_pipe_ns - q.arrival_ns;
        if (client(q).latency_critical) {
            q.sample.t9_done = now_ + e_.timing.end_of_pipe_ns;
            result_.samples.push_back(q.sample);
        }
        q.sample = {};
    }
    for (const unsigned n : ended) {
        wake_waiters(queues_[n]);
        for (const unsigned each : queues_[n].dependents) post(now_ + e_.timing.end_of_pipe_ns, Kind::Arrive, each);
        kernel_done(n);
    }
    // The interrupt at the end of a kernel wakes the scheduler when somebody waits to come back; plain polling does not use it.
    const bool any_parked = std::any_of(queues_.begin(), queues_.end(), [](const Queue& q) { return !q.listed; });
    if (e_.detection != Detection::Poll && any_parked && !ended.empty())
        plan_look(now_ + e_.timing.end_of_pipe_ns + e_.driver.notify_ns);
    try_begin();
    plan_end();
    over_ = over_ || !more_samples();
}

/// Packets that wait for this kernel's signal: the packet processor looks every poll_ns, the driver gets the signal's
/// interrupt.
void Simulation::wake_waiters(const Queue& of) {
    for (const unsigned n : of.waiters) {
        Queue& q = queues_[n];
        const bool waited = !q.waiting.empty() && q.waiting.front().ready_ns == 0;
        for (Pending& kernel : q.waiting) {
            if (kernel.ready_ns == 0 && kernel.waits_for <= of.done) kernel.ready_ns = now_;
        }
        if (!waited || q.waiting.front().ready_ns == 0) continue;
        q.wakes = q.on_hardware && !q.resident;
        if (q.wakes) post(now_ + e_.timing.end_of_pipe_ns + random_below(e_.timing.poll_ns), Kind::Wake, n);
        if (e_.detection == Detection::Notify) plan_look(now_ + e_.timing.end_of_pipe_ns + e_.driver.notify_ns);
    }
}

/// Who of the run list gets a slot next: from the cursor on, as many queues and processes as there is room for beside those
/// that stay.
std::vector<unsigned> Simulation::next_round() {
    std::vector<unsigned> round;
    std::vector<bool> process(queues_.size());
    unsigned slots = 0, processes = 0;
    const auto use = [&](const Queue& q) {
        ++slots;
        processes += !process[q.process];
        process[q.process] = true;
    };
    for (const Queue& q : queues_) {
        if (q.on_hardware) use(q);
    }
    // A static queue does not wait for its round.
    for (const bool statics : {true, false}) {
        for (unsigned n = 0; n < queues_.size(); ++n) {
            const unsigned at = statics ? n : static_cast<unsigned>((cursor_ + n) % queues_.size());
            const Queue& q = queues_[at];
            if (!q.listed || q.on_hardware || is_static(q) != statics) continue;
            if (slots >= e_.hardware.hqds || (!process[q.process] && processes >= e_.hardware.processes)) {
                cursor_ = at;
                return round;
            }
            use(q);
            round.push_back(at);
        }
    }
    return round;
}

uint64_t Simulation::restore_ns(const std::vector<unsigned>& round) const {
    uint64_t bytes = 0;
    for (const unsigned n : round) {
        if (queues_[n].resident) bytes += client(queues_[n]).context_bytes;
    }
    return bytes == 0 ? 0 : e_.save_fixed_ns + transfer_ns(bytes);
}

/// Waves stop. @param bytes  that have to be saved are added
void Simulation::park(const std::vector<unsigned>& queues, uint64_t& bytes) {
    for (const unsigned n : queues) {
        Queue& q = queues_[n];
        q.on_hardware = false;
        q.leaves = true;
        q.off_since_ns = now_;
        ++result_.queues_saved;
        if (q.resident) bytes += client(q).context_bytes;
    }
    result_.bytes_saved += bytes;
    plan_end();
}

void Simulation::map(const std::vector<unsigned>& round, uint64_t restore_ns) {
    if (restore_ns != 0) {
        restoring_until_ns_ = now_ + restore_ns;
        post(restoring_until_ns_, Kind::Restored);
    }
    for (const unsigned n : round) {
        Queue& q = queues_[n];
        if (!q.on_hardware && wants(q)) {
            ClientResult& r = result_.clients[q.client];
            r.longest_off_ns = std::max(r.longest_off_ns, now_ - q.off_since_ns);
        }
        if (!q.on_hardware && q.sample.displaced && q.sample.t7_mapped == 0) q.sample.t7_mapped = now_;
        q.on_hardware = true;
        q.restored_ns = now_ + (q.resident ? restore_ns : 0);
    }
    ++rotate_version_;
    const bool all = std::all_of(queues_.begin(), queues_.end(), [](const Queue& q) { return !q.listed || q.on_hardware; });
    if (!all) post(now_ + e_.hardware.quantum_ns, Kind::Rotate, 0, rotate_version_);
    try_begin();
    plan_end();
}

/// The end of a quantum, while not all of the run list has slots: all leave, the next ones come. The scheduler's thread has no
/// part in it.
void Simulation::rotate() {
    if (action_.busy) return;  // the new run list decides
    std::vector<unsigned> leave;
    for (unsigned n = 0; n < queues_.size(); ++n) {
        if (queues_[n].on_hardware && !is_static(queues_[n])) leave.push_back(n);
    }
    uint64_t bytes = 0;
    park(leave, bytes);
    ++result_.rotations;
    round_ = next_round();
    const uint64_t saved = e_.grace_ns + e_.save_fixed_ns + transfer_ns(bytes);
    rotating_until_ns_ = seen_saved(now_, now_ + saved) + round_.size() * e_.timing.list_packet_ns + restore_ns(round_);
    post(rotating_until_ns_, Kind::Rotated);
}

void Simulation::rotated() {
    for (Queue& q : queues_) q.leaves = false;
    map(round_, 0);
}

}  // namespace lyra::sim
