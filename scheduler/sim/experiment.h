// SPDX-License-Identifier: MIT
// What an experiment with queues of several priorities consists of: clients, detection, action, policy, and the time that things take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/timing.h"
#include "scheduler/core/qsched.h"

namespace lyra::sim {

enum class Arrival : uint8_t {
    Closed,   ///< the next kernel when the one before is done
    Uniform,  ///< at a fixed rate, the first at a random phase
    Poisson,
    Trace,    ///< at given times
};

/// Clients that are alike: each a process with one queue.
struct ClientClass {
    std::string name;
    unsigned count = 1;
    qsched_queue_params queue{};
    uint64_t kernel_ns = 1'000'000;   ///< alone on the GPU
    uint64_t context_bytes = 0;       ///< what has to be saved while its kernel runs
    bool fills = true;                ///< its waves leave no room for others'
    Arrival arrival = Arrival::Closed;
    double rate_hz = 0;               ///< Uniform, Poisson
    std::vector<uint64_t> trace_ns;   ///< Trace: ascending; over when the last one is done
    bool latency_critical = false;    ///< its kernels are the samples
};

enum class Detection : uint8_t {
    Poll,      ///< the scheduler looks at all queues every period_ns
    Adaptive,  ///< every period_ns while a queue runs that may have to go, else every idle_period_ns
    Notify,    ///< the device tells of the doorbell; ends are found by period_ns
};

/// How queues are taken from the hardware.
enum class Unmap : uint8_t {
    All,     ///< every queue of the device is saved, then the new run list brings back those that may run
    Queue,   ///< those that have to go
};

/// What the driver's part takes: to be replaced by what a guest measures.
struct DriverTimes {
    uint64_t look_ns = 2'000;        ///< look at the queues and decide
    uint64_t submit_ns = 3'000;      ///< write packets and ring the HIQ's doorbell
    uint64_t fence_ns = 5'000;       ///< until the driver sees that the fence has been written
    uint64_t notify_ns = 8'000;      ///< interrupt, until the scheduler's thread runs
};

struct Experiment {
    std::vector<ClientClass> clients;
    qsched_params policy{};
    Detection detection = Detection::Poll;
    uint64_t period_ns = 5'000'000, idle_period_ns = 5'000'000;
    Unmap unmap = Unmap::All;
    uint64_t grace_ns = 0;           ///< SCH_WAVE: before waves are saved
    uint64_t retry_ns = 64'000;      ///< QUE_SLEEP: the packet processor looks so often whether a dequeue is complete
    uint64_t save_fixed_ns = 6'000;  ///< save or restore of a queue without waves
    DriverTimes driver;
    Timing timing;
    unsigned cus = 8;                ///< compute units of the guest's GPU; the simulator goes by context_bytes
    uint64_t samples = 10'000;       ///< kernels of latency-critical clients until the end
    uint64_t most_ns = 3'600'000'000'000;
    uint64_t seed = 1;
};

/// Times of one kernel of a latency-critical client, as far as they happened; ns. The numbers are those of the usual time line.
struct Sample {
    uint64_t t0_doorbell = 0, t2_detected = 0, t3_requested = 0, t4_dequeue = 0, t5_saved = 0, t6_fence = 0, t8_first_wave = 0,
             t9_done = 0;
    bool displaced = false;  ///< somebody was taken from the hardware for it
};

struct ClientResult {
    std::string name;
    bool latency_critical = false;
    uint64_t kernels = 0;        ///< done
    uint64_t work_ns = 0;        ///< of kernels, as if each had been alone; of one that is not done what it has done
    uint64_t longest_off_ns = 0; ///< wanted, and was not on the hardware
};

struct Result {
    std::vector<Sample> samples;
    std::vector<ClientResult> clients;  ///< by class
    uint64_t duration_ns = 0, actions = 0, queues_saved = 0, bytes_saved = 0;

    /// Part of the time that latency-critical kernels left over which became work of the others, 0 to 1.
    double best_effort_retained() const;
};

/// @throws std::invalid_argument  what is wrong with the experiment
Result simulate(const Experiment& experiment);

}  // namespace lyra::sim
