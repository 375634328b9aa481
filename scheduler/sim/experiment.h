// SPDX-License-Identifier: MIT
// What an experiment with queues of several priorities consists of: clients, detection, action, policy, and the time that
// things take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/timing.h"
extern "C" {
#include "scheduler/core/qsched.h"
}

namespace lyra::sim {

enum class Arrival : uint8_t {
    Closed,     ///< the next kernel when the one before is done
    Uniform,    ///< at a fixed rate, the first at a random phase
    Poisson,
    Bursty,     ///< Poisson at two rates, in bursts and between them (a Markov-modulated Poisson process of two states)
    Trace,      ///< at given times
    Dependent,  ///< when a kernel of another client is done
};

/// What the waves of a kernel do, in a guest.
enum class Work : uint8_t {
    Sleep,   ///< one wave of a work-group sleeps, the others wait for it at a barrier
    Stream,  ///< all load from VRAM, which is busy with that
    Lds,     ///< all read and write LDS, which is busy with that
};

/// Clients that are alike: each one queue. Queue n of a class that refers to another class means queue n (modulo its count) of
/// that.
struct ClientClass {
    std::string name;
    unsigned count = 1;
    std::string process;  ///< all queues of classes that name the same one are in one process; empty: each has its own
    qsched_queue_params queue{};
    uint64_t kernel_ns = 1'000'000;  ///< alone on the GPU
    uint64_t context_bytes = 0;  ///< what has to be saved while its kernel runs
    /// In a guest: a latency-critical kernel has as many work-groups as others of its context, instead of one.
    bool full_gpu = false;
    Work work = Work::Sleep;
    uint64_t cu_mask = 0;  ///< in a guest: the compute units that its queue may use, as KFD counts them; 0: all
    double room = 1;  ///< part of the GPU that its waves occupy; no kernel can begin when nothing is left, 0 to 1
    Arrival arrival = Arrival::Closed;
    double rate_hz = 0;  ///< Uniform, Poisson; Bursty: between bursts
    double burst_hz = 0;  ///< Bursty: in bursts
    uint64_t burst_ns = 0, calm_ns = 0;  ///< Bursty: mean length of a burst, and of the time between two
    std::vector<uint64_t> trace_ns;  ///< Trace: ascending; over when the last one is done
    std::string after;  ///< Dependent: the client whose kernels bring one each
    /// A class for whose queue's present or next kernel, as it is when a kernel of this class arrives, that one waits: it
    /// begins with a barrier packet on the other's completion signal.
    std::string waits_for;
    /// In a guest: the client whose queues it takes off the GPU by KFD's interface for debuggers before each of its kernels,
    /// and gives back after it.
    std::string suspends;
    /// Not 0: it has one kernel at a time, as the clients of `lyra measure`, and rings for the next one so long after the end
    /// of the one before at the earliest. 0: kernels that have come wait in the queue.
    uint64_t turnaround_ns = 0;
    /// Not 0: so long after a kernel's doorbell it rings for another packet, as HIP does for the event behind a kernel.
    uint64_t marker_ns = 0;
    bool latency_critical = false;  ///< its kernels are the samples
};

enum class Detection : uint8_t {
    Poll,  ///< the scheduler looks at all queues every period_ns
    Adaptive,  ///< every period_ns while a queue runs that may have to go and for idle_period_ns after that, else every
               ///< idle_period_ns
    Notify,  ///< the device tells of the doorbell; ends are found by period_ns
};

/// How queues are taken from the hardware.
enum class Unmap : uint8_t {
    All,  ///< every queue of the device is saved, then the new run list brings back those that may run
    Process,  ///< every queue of the processes of which one has to go
    Queue,  ///< those that have to go
    Static,  ///< queues of static_priority are mapped as static ones and stay: one packet takes all others
};

/// Where KFD puts the area that waves are saved to.
enum class SaveArea : uint8_t {
    Vram,
    System,  ///< across PCI Express: where the kernel has no device-private pages
};

/// The packet processors' slots and who shares them.
struct Hardware {
    unsigned hqds = 24;  ///< compute queues that are mapped at a time
    unsigned processes = 8;  ///< processes of which queues are mapped at a time: VMIDs
    uint64_t quantum_ns = 10'000'000;  ///< of the hardware scheduler, when not all of the run list can be mapped
};

/// What the driver's part takes: its instructions, each 1 ns, as an earlier driver had them, which did less in a look. What the
/// one of today takes in a guest with one processor is in examples/measure/fit.toml. The sums are measured (from a doorbell to
/// the request, and from the save to the new run list), their parts are not.
struct DriverTimes {
    uint64_t look_ns = 3'000;  ///< look at the queues and decide
    uint64_t submit_ns = 1'000;  ///< write packets and ring the HIQ's doorbell
    uint64_t query_ns = 1'000;  ///< asks for the fence behind the packets, until it waits: its first look
    uint64_t wake_ns = 1'200;  ///< a short sleep ends, until the thread runs: between two looks at the fence
    uint64_t fence_ns = 6'300;  ///< the driver has seen the fence, until it writes the new run list
    uint64_t irq_ns = 4'400;  ///< the processor handles the device's interrupt
    uint64_t notify_ns = 6'200;  ///< the device's interrupt, until the scheduler's thread runs
    uint64_t timer_ns = 2'000;  ///< the timer, until it runs
    /// For so long each look keeps the guest's only processor: clients with a turnaround do not ring meanwhile. 0: they have
    /// processors of their own.
    uint64_t round_ns = 0;
};

struct Experiment {
    std::vector<ClientClass> clients;
    qsched_params policy{};
    Detection detection = Detection::Poll;
    uint64_t period_ns = 5'000'000, idle_period_ns = 5'000'000;
    bool runnable_test = true;  ///< the scheduler looks at the head packet: a queue that waits for another one has no claim
    bool owner_known = true;  ///< ... and finds out which one
    Unmap unmap = Unmap::All;
    uint8_t static_priority = 11;  ///< Static: and above
    uint64_t grace_ns = 64'000;  ///< SCH_WAVE: before waves are saved; the reset value, as QUE_SLEEP's
    uint64_t retry_ns = 64'000;  ///< QUE_SLEEP: the packet processor looks so often whether a dequeue is complete
    SaveArea save_area = SaveArea::Vram;  ///< in a guest the kernel decides
    uint64_t save_fixed_ns = 3'000;  ///< save or restore beside the bytes: entering the trap handler
    Hardware hardware;
    DriverTimes driver;
    bool stock_driver = false;  ///< in a guest: Debian's driver, which has no scheduler
    /// In a guest: what the hardware scheduler's firmware is assumed to do, NAME=CHOICE of common/firmware.def.
    std::vector<std::string> firmware;
    Timing timing;
    unsigned cus = 8;  ///< compute units of the guest's GPU; the simulator goes by context_bytes
    uint64_t samples = 10'000;  ///< kernels of latency-critical clients until the end
    uint64_t most_ns = 3'600'000'000'000;
    uint64_t seed = 1;
    uint64_t alone_ns = 200'000'000;  ///< in a guest: for how long, about, each client runs alone before the samples
    unsigned seeds = 1;  ///< runs, with this seed and the following ones; simulate() is one of them
};

/// Times of one kernel of a latency-critical client, as far as they happened; ns. The numbers are those of the usual time line.
struct Sample {
    /// When the kernel was meant to come. Its client may ring later, as it has one kernel at a time.
    uint64_t arrival = 0;
    uint64_t t0_doorbell = 0, t2_detected = 0, t3_requested = 0, t4_dequeue = 0, t5_saved = 0, t6_fence = 0, t7_mapped = 0,
             t8_first_wave = 0, t9_done = 0;
    uint64_t resident = 0;  ///< the last work-group is on a compute unit; in the simulator with the first wave
    /// When nothing but the hardware kept it any more: it had come, and what it waits for and the queue's kernel before it were
    /// done.
    uint64_t ready = 0;
    bool displaced = false;  ///< a queue was taken off the hardware for it
    unsigned client = 0;  ///< its class
};

struct ClientResult {
    std::string name;
    bool latency_critical = false;
    uint64_t kernels = 0;  ///< done
    uint64_t work_ns = 0;  ///< of kernels, as if each had been alone, with best-effort clients' turnaround; of one that is not
                           ///< done what it has done
    uint64_t turnaround_ns = 0;  ///< sum over its kernels that are done: from their arrival to their end
    uint64_t longest_off_ns = 0;  ///< wanted, and was not on the hardware
};

struct Result {
    std::vector<Sample> samples;
    std::vector<ClientResult> clients;  ///< by class
    uint64_t duration_ns = 0, actions = 0, queues_saved = 0, bytes_saved = 0;
    uint64_t displacements = 0;  ///< actions that took queues for others
    uint64_t wasted = 0;  ///< of these: when the waves were saved none of the others could begin
    uint64_t rotations = 0;  ///< of the hardware scheduler, as not all of the run list could be mapped
    /// A queue waits for one that the scheduler keeps away, and nothing that is still to come would change that.
    bool deadlocked = false;
};

/// @throws std::invalid_argument  what is wrong with the experiment
Result simulate(const Experiment& experiment);

/// One queue of a class of clients with nobody beside it, for as long as the experiment took.
/// @param longest_ns  the experiment's duration
/// @return nothing for a client that waits for another one, or comes after it
std::optional<Result> simulate_alone(const Experiment& experiment, unsigned client, uint64_t longest_ns);

}  // namespace lyra::sim
