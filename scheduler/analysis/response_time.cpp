// SPDX-License-Identifier: MIT
// R = S + C + sum over higher j of ceil((R + J_j) / T_j) * (C_j + O_j), iterated from S + C: each kernel above comes with the
// look at its arrival and at its end and the actions that follow, and may have come a little before the window that it delays.
#include "scheduler/analysis/response_time.h"

#include <algorithm>
#include <stdexcept>

namespace lyra::sim {

namespace {

void check(const Experiment& e, size_t client) {
    const auto outside = [](const std::string& what) { throw std::invalid_argument("no response-time bound: " + what); };
    const qsched_params& p = e.policy;
    if (client >= e.clients.size()) outside("there is no such client");
    if (p.policy != QSCHED_FIXED || p.min_run_ns != 0 || p.hysteresis_ns != 0 || p.starvation_ns != 0)
        outside("only fixed priority by itself");
    if (e.clients.size() > e.hardware.hqds || e.clients.size() > e.hardware.processes) outside("not all queues have slots");
    if (e.clients[client].arrival != Arrival::Uniform) outside("the client has to arrive at a fixed rate");
    for (const ClientClass& c : e.clients) {
        if (c.count != 1) outside("one queue for each client");
        if (!c.waits_for.empty()) outside("clients that wait for others");
        const auto same = std::count_if(e.clients.begin(), e.clients.end(),
                                        [&](const ClientClass& other) { return other.queue.priority == c.queue.priority; });
        if (same != 1) outside("two clients of one priority");
        if (c.arrival != Arrival::Uniform && c.queue.priority > e.clients[client].queue.priority)
            outside("arrivals above are not at a fixed rate");
    }
}

/// From the scheduler's look until everything it has decided is done, at worst.
uint64_t action_ns(const Experiment& e) {
    const uint64_t queues = e.clients.size();
    uint64_t bytes = 0;
    for (const ClientClass& c : e.clients) bytes = std::max(bytes, c.context_bytes);
    const uint64_t transfer = bytes * 1000 / std::max<uint64_t>(e.timing.vram_speed(), 1) + 1;
    const uint64_t waves = e.save_fixed_ns + queues * e.timing.descriptor_ns + transfer;
    const uint64_t unmap =
        e.driver.submit_ns + queues * e.timing.scheduler_packet_ns + e.grace_ns + waves + e.retry_ns + e.driver.fence_ns;
    const uint64_t map = e.driver.submit_ns + e.timing.scheduler_packet_ns + 2 * queues * e.timing.list_packet_ns + waves;
    return e.driver.look_ns + unmap + map;
}

/// Until the scheduler looks: at a doorbell, and at the end of a queue's work.
uint64_t look_ns(const Experiment& e) {
    return e.detection == Detection::Adaptive ? std::max(e.period_ns, e.idle_period_ns) : e.period_ns;
}

}  // namespace

std::optional<uint64_t> response_bound_ns(const Experiment& e, size_t client) {
    check(e, client);
    const ClientClass& own = e.clients[client];
    const uint64_t action = action_ns(e), noticed = e.detection == Detection::Notify ? e.driver.notify_ns + 1 : look_ns(e);
    const uint64_t begin = e.timing.doorbell_ns + e.timing.packet_ns + e.timing.dispatch_ns;
    // An action that is under way, and its own.
    const uint64_t start = 2 * (noticed + action) + begin;
    // It may run at half speed beside one that has just come back, until the next action is done.
    const uint64_t fixed = start + own.kernel_ns + e.timing.end_of_pipe_ns;
    const auto period = [](const ClientClass& c) { return static_cast<uint64_t>(1e9 / c.rate_hz); };
    uint64_t bound = fixed;
    for (;;) {
        uint64_t next = fixed;
        for (const ClientClass& c : e.clients) {
            if (c.queue.priority <= own.queue.priority) continue;
            const uint64_t jobs = (bound + start + period(c) - 1) / period(c);
            next += jobs * (c.kernel_ns + start + look_ns(e) + 2 * action);
        }
        if (next > period(own)) return std::nullopt;
        if (next == bound) return bound;
        bound = next;
    }
}

}  // namespace lyra::sim
