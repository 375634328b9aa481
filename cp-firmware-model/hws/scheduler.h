// SPDX-License-Identifier: MIT
// The hardware scheduler: packets of KIQ and HIQ that map, unmap and time-share queues; steps 3 and 4 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/env.h"
#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/mec/mec.h"
#include "cp-firmware-model/sdma/engine.h"

namespace lyra {

class HwScheduler : public SchedulerPackets {
public:
    HwScheduler(Env& env, CpBus& bus, Mec& mec, SdmaEngine& sdma0, SdmaEngine& sdma1);

    /// One scheduler packet of the KIQ or the HIQ. Retry: an unmap waits for queues to drain, ask again.
    PacketResult scheduler_packet(Hqd& ring, const pm4::Packet& packet) override;

    /// Walk the run list, and time-share it when it does not fit.
    /// @return Busy: walking; Polling: a quantum runs or queues drain; Idle: nothing to do until a packet comes
    RunState run();
    void set_partition(const Partition& partition) { partition_ = partition; }
    void reset();
    void visit(StateVisitor& v);

private:
    friend struct HwsPackets;

    /// SET_RESOURCES of the HIQ.
    struct Resources {
        uint32_t vmid_mask = 0;
        uint64_t queue_mask = 0;  ///< bit = (me - 1) * 32 + pipe * 8 + queue
        uint64_t gws_mask = 0;    ///< global wave sync resources
        uint64_t unmap_latency_ns = 0;
        void visit(StateVisitor& v);
    };
    struct Process {
        uint32_t vmid = 0;
        uint32_t debug_vmid = 0;  ///< that it has to have, as a debugger set up the registers of that VMID; 0: any
        ProcessBinding binding;
        uint32_t quantum_ms = 0;
        uint32_t gws_count = 0;  ///< global wave sync resources that its queue gets
        void visit(StateVisitor& v);
    };
    struct SdmaQueue {
        unsigned engine = 0, slot = 0;
        uint64_t mqd = 0;
        uint32_t doorbell_bytes = 0, vmid = 0;
        uint16_t pasid = 0;
        bool leaving = false;
        void visit(StateVisitor& v);
    };
    enum class Phase : uint8_t {
        None,      ///< no run list
        Walking,   ///< reading the list and mapping
        Settled,   ///< all of it is mapped
        Quantum,   ///< a part is mapped until the quantum ends
        Rotating,  ///< that part is leaving
    };
    struct RunList {
        Phase phase = Phase::None;
        uint64_t base = 0;
        uint32_t size_dw = 0, process_count = 0;
        uint32_t cursor_dw = 0;       ///< next packet to read
        uint32_t round_start_dw = 0;  ///< where this round began
        bool wrapped = false;         ///< this round went past the end of the list
        bool has_process = false;     ///< process is that of the packets at the cursor
        bool mapped_any = false;      ///< a queue got its slot in this round
        Process process;
        bool idle_rounds = false;  ///< chained_runlist_idle_disable: a round without work has its quantum
        bool sharing = false;   ///< all of the list has slots, but not all has room on the compute units
        uint64_t starving_since_ns = 0;  ///< 0 = nobody

        /// Where the packets are that RUN_LIST names.
        void point_to(const pm4::Packet& packet);
        bool restored = false;  ///< saved waves of this round run their programs again
        uint64_t mapped_at_ns = 0, quantum_ns = 0, deadline_ns = 0;
        void visit(StateVisitor& v);
    };
    /// Result of one packet of the list.
    enum class Walk : uint8_t { Next, Full, End };

    // map.cpp
    PacketResult map_queues(Hqd& ring, const pm4::Packet& packet);
    bool take_process(const pm4::Packet& packet, Process& process);
    Walk bind(Process& process);
    Walk map_queue_of_list(const pm4::Packet& packet);
    Walk map_compute(const pm4::Packet& packet);
    Walk map_sdma(const pm4::Packet& packet, unsigned engine);
    void give_gws(QueueMapping& mapping);
    Hqd* free_slot();
    Hqd* find_mqd(uint64_t mqd);
    void release_idle_processes();
    bool process_has_queues(const Process& process);

    // runlist.cpp
    PacketResult run_list(Hqd& ring, const pm4::Packet& packet);
    bool list_is_live() const;
    void begin_list(const RunList& list);
    void begin_rotation();
    RunState walk();
    Walk walk_packet();
    /// @param packet  the RUN_LIST that the list goes on in, nullptr: it does not
    void end_of_list(const pm4::Packet* packet);
    void start_quantum();
    RunState rotate();
    uint64_t share_patience_ns();
    RunState share();
    void walk_again();

    // unmap.cpp
    struct Selection {
        uint32_t select = 0;
        uint16_t pasid = 0;
        std::array<uint32_t, 4> doorbells{};
        uint32_t doorbell_count = 0;
        bool selects(const Hqd& hqd) const;
        bool selects(const SdmaQueue& queue) const;
        bool listed(uint32_t doorbell_bytes) const;
    };
    PacketResult unmap_queues(Hqd& ring, const pm4::Packet& packet);
    bool unmap_all_first(Hqd& ring);
    bool unmap(Hqd& ring, const Selection& selection, Dequeue kind);
    PacketResult preempt_gfx(const pm4::Packet& packet);
    void begin_unmap(Hqd& ring, const Selection& selection, Dequeue kind);
    bool finish_unmap(const Selection& selection, Dequeue kind);
    void give_up(Hqd& ring, const Selection& selection);
    bool unmap_sdma(SdmaQueue& queue, Dequeue kind);

    PacketResult set_resources(Hqd& ring, const pm4::Packet& packet);
    PacketResult query_status(Hqd& ring, const pm4::Packet& packet);

    Env& env_;
    CpBus& bus_;
    Mec& mec_;
    std::array<SdmaEngine*, 2> sdma_;
    Partition partition_;
    Resources resources_;
    RunList list_;
    std::optional<RunList> deferred_;     ///< begins when the quantum of list_ ends
    std::vector<Process> processes_;      ///< those with a VMID
    std::vector<SdmaQueue> sdma_queues_;  ///< at most kMaxSdmaQueues
    static constexpr size_t kMaxSdmaQueues = 2 * most_of_all_chips(&ChipFacts::sdma_queues);  ///< engines, user queues of each
};

}  // namespace lyra
