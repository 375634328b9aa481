// SPDX-License-Identifier: MIT
// AQL queues: fetch, check and execute packets, complete and retire them in order; step 4 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "common/env.h"
#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/dispatch/dispatcher.h"
#include "cp-firmware-model/mec/ib_runner.h"
#include "cp-firmware-model/packets/aql.h"
#include "cp-firmware-model/queue/hqd.h"
#include "cp-firmware-model/signal/signal.h"

namespace lyra {

/// Packets of AQL queues; their state is in Hqd::aql. Nothing here blocks: a packet that has to wait is looked at again by the
/// next step().
class AqlProcessor {
public:
    AqlProcessor(Env& env, CpBus& bus, Dispatcher& dispatcher, IbRunner& ib_runner);

    /// A doorbell of a mapped AQL queue. @param value index of the last packet that may be looked at
    void doorbell(Hqd& hqd, uint64_t value);

    static constexpr unsigned kPacketsPerStep = 16;

    /// Complete, retire, and start what can be started: max_packets at most.
    /// While hqd.state is Draining no new packet starts; while Stopped only running ones complete.
    /// @return Busy: something was started or completed, call again soon; Polling: a packet waits for memory that somebody else
    /// writes; Idle: nothing to do
    ///         until a doorbell comes or a dispatch ends
    RunState step(Hqd& hqd, unsigned max_packets = kPacketsPerStep);

    /// The queue gets its slot: hqd.regs and hqd.compute hold the MQD image. Takes the read index from the image
    /// (cp_mqd_readindex) and the write index from memory at the poll address.
    void load(Hqd& hqd);
    /// The queue loses its slot: leaves the read index in hqd.regs and hqd.compute, for the MQD. Only when drained(),
    /// or after Dispatcher::kill_queue(); packets still in flight are then forgotten and run again after load().
    void save(Hqd& hqd);

    /// Nothing of the queue is running: no packet in flight, no indirect buffer half way (a waiting one is given up: it
    /// goes on from the same packet after load()).
    bool drained(const Hqd& hqd) const;

    /// No indirect buffer is half way and none has left grids running: what is in flight are packets.
    bool savable(const Hqd& hqd) const;
    /// Packets in flight, to hqd.save.flight, for a context save; load() takes them back.
    void save_flight(Hqd& hqd);
    /// Grid of the packet in a slot of the ring; 0 = none.
    uint64_t dispatch_of(const Hqd& hqd, uint32_t slot) const;

private:
    /// What happens to the packet at the head of a queue.
    enum class Step : uint8_t { Next, Wait, Poll, Stop };

    // aql.cpp: the ring
    bool poll_completions(Hqd& hqd);
    void retire(Hqd& hqd);
    bool still_halted(Hqd& hqd);
    Step step_head(Hqd& hqd);
    Step fetch(Hqd& hqd);
    Step execute(Hqd& hqd);
    Step advance(Hqd& hqd, const AqlInFlight& packet);
    Step finish_head(Hqd& hqd);
    void complete(Hqd& hqd, const AqlInFlight& packet);
    static bool releases_to_system(const AqlPacket& p);
    uint64_t release_ns(const AqlPacket& p) const;
    void acquire(const AqlPacket& p);
    void release_scratch_once(Hqd& hqd);
    Step fail(Hqd& hqd, Fault fault, std::string_view detail);
    Step memory_error(Hqd& hqd, uint32_t hqd_error_bit, std::string_view detail);
    /// A signal that could not be reached: an invalid packet, or a memory error.
    Step signal_error(Hqd& hqd, Fault fault, std::string_view detail);
    Fault read_queue(const Hqd& hqd, AmdQueue& queue);
    SignalOwner owner(const Hqd& hqd);
    void resume_ib(Hqd& hqd);
    bool resume_flight(Hqd& hqd);
    bool resume_packet(Hqd& hqd, AqlInFlight& packet, const LaunchPosition* position);

    // aql_dispatch.cpp
    Step kernel_dispatch(Hqd& hqd);
    Step insufficient_scratch(Hqd& hqd, const AmdQueue& queue);
    DispatchRequest make_request(const Hqd& hqd, const AqlPacket& packet, uint64_t index, const AmdQueue& queue,
                                 const KernelDescriptor& descriptor) const;
    static void take_resources(DispatchRequest& request, const Hqd& hqd, uint64_t index);

    // aql_sync.cpp
    Step barrier(Hqd& hqd, bool all);
    Step barrier_value(Hqd& hqd);
    Step pm4_ib(Hqd& hqd);

    Env& env_;
    CpBus& bus_;
    Dispatcher& dispatcher_;
    IbRunner& ib_runner_;
    Signals signals_;
};

}  // namespace lyra
