// SPDX-License-Identifier: MIT
// A user-mode AQL queue on an in-process device: ring, signals, scratch, and waiting for completion.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tools/inproc/aql_packets.h"
#include "tools/inproc/in_process_device.h"

namespace lyra::inproc {

struct AqlQueueOptions {
    uint32_t packets = 256;             ///< ring size, power of two, 64 at least
    Domain domain = Domain::System;     ///< where ring, queue record and signals live
    uint32_t pipe = 0, queue = 2;       ///< slot on MEC 1; queues 0 and 1 of a pipe belong to the kernel on a real system
    uint32_t doorbell_slot = 0;         ///< 8-byte slot after 0x4000 in the doorbell BAR; one per queue, below 0xf0
};

/// How long wait() may take.
struct RunLimits {
    uint64_t instructions = ~uint64_t{0};   ///< wave instructions of the whole device
    double seconds = 60;                    ///< wall clock
    double stall_seconds = 2;               ///< wall clock without any instruction while the device only polls
    const volatile bool* stop = nullptr;    ///< set from outside, such as by a signal handler: give up
};

enum class RunOutcome : uint8_t {
    Done,            ///< the signal became 0
    QueueError,      ///< the command processor stored an error code in the queue's inactive signal
    Stuck,           ///< nothing runs any more, but the signal is not 0: a wave halted or a packet is waited for
    OutOfBudget,     ///< limits.instructions reached
    OutOfTime,       ///< limits.seconds reached
    Stopped,         ///< *limits.stop
};

class AqlQueue {
public:
    static constexpr uint32_t kSignals = 256;

    AqlQueue(InProcessDevice& device, const AqlQueueOptions& options = {});
    ~AqlQueue();
    AqlQueue(const AqlQueue&) = delete;
    AqlQueue& operator=(const AqlQueue&) = delete;

    /// false: no memory for the queue, nothing else may be called
    bool ok() const { return record_.host != nullptr; }

    /// Set up scratch for kernels that use up to bytes_per_lane. Call before the dispatch that needs it.
    /// @return false: VRAM has no room
    bool set_scratch(uint32_t bytes_per_lane);

    /// A signal with this value. Its address goes into packets. 0: all kSignals are in use.
    uint64_t make_signal(int64_t value);
    volatile AmdSignal* signal(uint64_t address) const;

    /// Write a packet and ring the doorbell. @return its index
    uint64_t submit(const void* packet64);
    /// Write a packet only. The header is written last.
    uint64_t write_packet(const void* packet64);
    void ring(uint64_t index);

    /// Run the device until the signal is 0.
    RunOutcome wait(uint64_t signal_address, const RunLimits& limits = {});

    /// The code that the command processor left in the inactive signal, 0: none.
    uint64_t error_code() const;
    /// Words for a code of error_code().
    static std::string error_text(uint64_t code);

    volatile AmdQueue* record() const { return reinterpret_cast<volatile AmdQueue*>(record_.host); }
    uint64_t record_va() const { return record_.va; }        ///< what kernels get as queue pointer
    const GpuBuffer& ring_buffer() const { return ring_; }
    uint32_t doorbell_offset() const { return doorbell_; }   ///< bytes in BAR2

private:
    void write_record();
    void load_hqd();

    InProcessDevice& device_;
    AqlQueueOptions options_;
    GpuBuffer ring_, record_, signals_, mqd_, eop_, scratch_;
    uint32_t doorbell_ = 0;
    uint32_t used_signals_ = 0;
    uint64_t inactive_signal_ = 0;
};

}  // namespace lyra::inproc
