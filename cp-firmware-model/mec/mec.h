// SPDX-License-Identifier: MIT
// The micro engines: queue slots, doorbells, mapping and unmapping, and the round robin over the slots; steps 3 and 4.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/env.h"
#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/dispatch/dispatcher.h"
#include "cp-firmware-model/mec/aql.h"
#include "cp-firmware-model/mec/pm4.h"
#include "cp-firmware-model/queue/hqd.h"
#include "cp-firmware-model/queue/pipe_hold.h"
#include "cp-firmware-model/unmap/unmapper.h"

namespace lyra {

/// What a MAP_QUEUES packet says about one compute queue.
struct QueueMapping {
    uint64_t mqd = 0;             ///< GART address
    uint64_t wptr_address = 0;    ///< in the queue's address space
    uint32_t doorbell_bytes = 0;  ///< from the start of BAR2
    uint32_t vmid = 0;
    uint16_t pasid = 0;
    QueueKind kind = QueueKind::User;
    bool by_hws = false;
    bool is_static = false;
    uint8_t gws_base = 0, gws_size = 0;  ///< global wave sync resources that come with the queue
};

class Mec {
public:
    Mec(Env& env, CpBus& bus, Dispatcher& dispatcher);

    void set_partition(const Partition& partition) { partition_ = partition; }
    const Partition& partition() const { return partition_; }
    Pm4Processor& pm4() { return pm4_; }
    Hqd& slot(unsigned me, unsigned pipe, unsigned queue);  ///< me 1 or 2, pipe 0..3, queue 0..7; other bits are dropped
    std::span<Hqd> slots() { return slots_; }
    Hqd& gfx() { return gfx_; }

    /// @return true when an active queue with its doorbell enabled has this offset
    bool doorbell(uint32_t byte_offset, uint64_t value);
    /// An active queue with this offset is not a user's.
    bool kernel_doorbell(uint32_t byte_offset) const;

    /// Load an MQD into a free slot and start the queue. @return MqdUnreadable: the slot stays free
    Fault map(Hqd& hqd, const QueueMapping& mapping);
    /// CP_HQD_ACTIVE = 1: the registers already hold the queue.
    void activate(Hqd& hqd, QueueKind kind);
    /// New write pointer of a PM4 queue, monotonic dwords. One that cannot be true is reported and ignored.
    void set_wptr(Hqd& hqd, uint64_t value);
    /// The gfx ring starts again at its first dword.
    void restart_gfx();
    /// Read the write pointer from memory at the poll address.
    void poll_wptr(Hqd& hqd);

    /// What takes queues out of their slots.
    Unmapper& unmap() { return unmap_; }
    bool starving(const Hqd& hqd) const { return dispatcher_.starving(hqd.id()); }
    bool has_waves(const Hqd& hqd) const { return dispatcher_.waves_live(hqd.id()) != 0; }
    /// Saved waves of a mapped queue have not yet come back to their programs.
    bool restoring() const;
    /// An event for each queue that has a slot, as if it got it now.
    void trace_queues(Tracer& tracer);

    /// The priority registers of an active queue have changed.
    void priority_changed(const Hqd& hqd);
    /// CP_MEn_PIPE_PRIORITY_CNTS and CP_MEn_PIPEn_PRIORITY. @param me 1 or 2
    void set_pipe_weights(unsigned me, const PipeWeights& weights);
    void set_pipe_level(unsigned me, unsigned pipe, unsigned level) { pipes_[pipe_number(me, pipe)].level = level & 3; }
    /// Turns at launching that its pipe gets while the queue has it.
    unsigned launch_weight(const Hqd& hqd) const { return weights_[0].of_queue_level(priority_of(hqd).pipe); }
    /// The queue has its pipe now, and its quantum counts.
    bool quantum_runs(const Hqd& hqd) const;

    /// The queue has packets to execute, or work of its packets has not ended.
    bool busy(const Hqd& hqd) const;
    /// Bit per pipe, those of the second micro engine from kPipesPerMec on: one of its queues is busy.
    uint32_t busy_pipes() const;

    void halt(unsigned me, bool halted) { halted_[me & 3] = halted; }  ///< me 0: the gfx ring
    bool halted(unsigned me) const { return halted_[me & 3]; }

    /// A few packets of every queue. In virtual time: of those whose time has come.
    RunState step();
    /// Virtual time: when the next queue has its turn, kNever when all wait to be woken.
    uint64_t next_turn_ns() const;
    /// Virtual time: something from outside may have changed what queues wait for.
    void wake();
    void reset();
    void visit(StateVisitor& v);

private:
    static unsigned pipe_number(unsigned me, unsigned pipe) { return (me >= 2 ? 1 : 0) * kPipesPerMec + (pipe & 3); }
    struct PipeOrder {
        std::array<Hqd*, kQueuesPerPipe> queue{};
        unsigned count = 0;
    };
    PipeOrder order_of(unsigned pipe);
    RunState step_pipe(unsigned pipe);
    RunState step_queue(Hqd& hqd, unsigned max_packets);
    void take_gws(Hqd& hqd, const QueueMapping& mapping);
    Fault take_xccs(Hqd& hqd);
    void take_positions(Hqd& hqd);
    void forget(Hqd& hqd);
    // paced.cpp
    bool due(const Hqd& hqd) const;
    void took_turn(Hqd& hqd);
    uint64_t& pipe_free_ns(const Hqd& hqd) {
        return pipe_free_ns_[hqd.me == 0 ? 0 : 1 + (hqd.me - 1u) * kPipesPerMec + hqd.pipe];
    }
    void rang(Hqd& hqd);

    Env& env_;
    CpBus& bus_;
    Dispatcher& dispatcher_;
    Partition partition_;
    Pm4Processor pm4_;
    AqlProcessor aql_;
    Unmapper unmap_;
    std::array<Hqd, kGfxQueueId> slots_;
    Hqd gfx_;
    std::array<bool, 4> halted_{};
    struct Pipe {
        PipeHold hold;
        unsigned level = kDefaultPipeLevel;
    };
    static constexpr unsigned kDefaultPipeLevel = 2;
    std::array<Pipe, kMecs * kPipesPerMec> pipes_;
    std::array<PipeWeights, kMecs> weights_;
    unsigned first_ = 0;  ///< pipe that the next step begins with
    std::array<uint64_t, 1 + kMecs * kPipesPerMec> pipe_free_ns_{};  ///< virtual time; the first is the gfx ring's
};

}  // namespace lyra
