// SPDX-License-Identifier: MIT
// PM4 packets of every ring and indirect buffer: fetch, check, execute, never block; step 4 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/env.h"
#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/dispatch/dispatcher.h"
#include "cp-firmware-model/mec/ib_runner.h"
#include "cp-firmware-model/packets/pm4.h"
#include "cp-firmware-model/queue/hqd.h"

namespace lyra {

/// What became of one packet.
enum class PacketResult : uint8_t {
    Done,
    Retry,  ///< it waits: executed again from its start by a later step
    More,   ///< it has done part of its work and goes on with the next step
    Stop,   ///< it stopped the queue
};

/// Packets of KIQ and HIQ that map and unmap queues. Implemented by hws/ and mec/.
class SchedulerPackets {
public:
    virtual ~SchedulerPackets() = default;
    virtual PacketResult scheduler_packet(Hqd& ring, const pm4::Packet& packet) = 0;
};

/// What of a grid is its queue's: address space, CU masks, limits.
void take_resources(DispatchRequest& request, const Hqd& hqd);

/// The PM4 interpreter. State of a queue lives in its Hqd, so one processor serves them all.
class Pm4Processor : public IbRunner {
public:
    Pm4Processor(Env& env, CpBus& bus, Dispatcher& dispatcher);
    void set_scheduler(SchedulerPackets* scheduler) { scheduler_ = scheduler; }

    /// Execute up to max_packets packets of the ring or of the buffers it called. While hqd.state is Draining no packet
    /// starts; finished dispatches still get their end-of-pipe actions.
    /// @return Busy: progress was made or more packets are ready; Polling: the packet at the head waits for memory, a
    ///         register or a dispatch; Idle: nothing to do until a doorbell, a register write or the end of a dispatch
    RunState step(Hqd& hqd, unsigned max_packets);

    /// Only the indirect buffers on hqd.pm4.ib_stack. Idle: the stack is empty and every dispatch of the buffers has ended.
    RunState step_ib(Hqd& hqd) override;

    /// Drop ended dispatches and run the end-of-pipe actions that have become due. @return an action was run
    bool retire_dispatches(Hqd& hqd);
    /// No dispatch of the queue runs and no end-of-pipe action is due or pending.
    bool drained(const Hqd& hqd) const { return hqd.pm4.dispatches.empty() && hqd.pm4.end_of_pipe.empty(); }
    /// What is in flight, to hqd.save.flight; and back, as grids of the dispatcher. For a context save.
    void save_flight(Hqd& hqd);
    /// @return false: the words make no sense
    bool resume_flight(Hqd& hqd);
    /// Grid by the number in TTMP6 of its waves; 0 = none.
    uint64_t dispatch_of(const Hqd& hqd, uint32_t number) const;
    /// Forget what a killed queue had in flight: no end-of-pipe action of it happens any more.
    void forget(Hqd& hqd);

    /// Stop a queue: report, CP_BAD_OPCODE interrupt, HQD_ERROR. The interrupt of a user queue has an exception code.
    /// @source docs/spec/front-end.md 3.1
    PacketResult stop(Hqd& hqd, Fault fault, std::string_view detail);

private:
    friend struct Pm4Handlers;

    struct Source {
        bool ring = true;
        uint64_t base = 0;
        uint64_t size_dw = 0;  ///< ring: power of two, positions wrap
        uint64_t next_dw = 0;
        uint64_t available_dw = 0;  ///< from next_dw on
        uint32_t vmid = 0;
    };
    enum class Fetch : uint8_t { Ready, Empty, Incomplete, Stopped };

    Source source(const Hqd& hqd) const;
    bool read_words(const Source& source, uint64_t position, uint32_t* words, uint32_t count);
    Fetch fetch(Hqd& hqd, const Source& source, pm4::Packet& packet);
    Fetch fetch_incomplete(Hqd& hqd, const Source& source, uint64_t need_dw);
    Fetch unreadable(Hqd& hqd, const Source& source, uint64_t position);
    PacketResult execute(Hqd& hqd, const pm4::Packet& packet);
    void advance(Hqd& hqd, uint64_t dwords);
    void skip(Hqd& hqd, uint32_t dwords);
    RunState step_packets(Hqd& hqd, unsigned max_packets, bool ring_too);
    void report_rptr(Hqd& hqd);

    // context of the packet being executed
    uint32_t vmid(const Hqd& hqd) const;
    bool privileged(const Hqd& hqd) const;
    PacketResult privilege_fault(Hqd& hqd, const pm4::Packet& packet, uint32_t reg);
    PacketResult bad_field(Hqd& hqd, const pm4::Packet& packet, std::string_view what);
    PacketResult todo(Hqd& hqd, const pm4::Packet& packet, std::string_view what);
    void interrupt(const Hqd& hqd, uint8_t source, uint32_t vmid, uint32_t context_id);

    void end_of_pipe(Hqd& hqd, const EndOfPipe& action);
    bool writes_back(EndOfPipe& action);
    PacketResult start_dispatch(Hqd& hqd, const pm4::Packet& packet, std::array<uint32_t, 3> size, uint32_t initiator);
    PacketResult set_registers(Hqd& hqd, const pm4::Packet& packet, uint32_t base_dw);

    Env& env_;
    CpBus& bus_;
    MemoryPort& memory_;
    Dispatcher& dispatcher_;
    SchedulerPackets* scheduler_ = nullptr;
    std::vector<uint32_t> body_;  ///< of the packet being executed; at most 16384 dwords
};

}  // namespace lyra
