// SPDX-License-Identifier: MIT
// Scheduler packets by opcode, SET_RESOURCES and QUERY_STATUS; step 4 of the data flow.
#include "cp-firmware-model/hws/scheduler.h"

#include <fmt/format.h>

namespace lyra {

namespace {

constexpr uint64_t kUnmapLatencyUnitNs = 100'000'000;  ///< 100 ms. @source Linux 6.12 kfd_packet_manager_v9.c
constexpr uint32_t kQueueTypeHiq = 1;
constexpr uint8_t kQueryStatusInterrupt = 199;  ///< @source Linux 6.12 ivsrcid_gfx_9_0.h

}  // namespace

HwScheduler::HwScheduler(Env& env, CpBus& bus, Mec& mec, SdmaEngine& sdma0, SdmaEngine& sdma1)
    : env_(env), bus_(bus), mec_(mec), sdma_{&sdma0, &sdma1} {
    mec_.pm4().set_scheduler(this);
}

void HwScheduler::reset() {
    resources_ = {};
    list_ = {};
    deferred_.reset();
    processes_.clear();
    sdma_queues_.clear();
}

PacketResult HwScheduler::scheduler_packet(Hqd& ring, const pm4::Packet& packet) {
    // The HIQ is in a slot of each XCC of the partition, and one of them acts for all.
    if (partition_.follows() && ring.kind == QueueKind::Hiq) return PacketResult::Done;
    if (ring.pm4.packet_progress == 0) env_.clock.owe(env_.timing.scheduler_packet_ns);
    switch (static_cast<pm4::Opcode>(packet.opcode)) {
        case pm4::Opcode::SET_RESOURCES: return set_resources(ring, packet);
        case pm4::Opcode::MAP_QUEUES: return map_queues(ring, packet);
        case pm4::Opcode::UNMAP_QUEUES: return unmap_queues(ring, packet);
        case pm4::Opcode::QUERY_STATUS: return query_status(ring, packet);
        case pm4::Opcode::RUN_LIST: return run_list(ring, packet);
        default: break;
    }
    // MAP_PROCESS belongs into a run list; drivers never put it into the ring itself.
    report(env_, Fault::TodoPacket, fmt::format("{} in a ring", pm4::info(packet.opcode)->name));
    return PacketResult::Done;
}

/// Mapped queues are not disturbed. The KIQ sends one too, about its kernel queues, which it maps itself.
PacketResult HwScheduler::set_resources(Hqd&, const pm4::Packet& packet) {
    using namespace pm4::SET_RESOURCES;
    if (queue_type(packet) != kQueueTypeHiq) return PacketResult::Done;
    resources_.vmid_mask = vmid_mask(packet) & ~1u;  // VMID 0 is the kernel's
    resources_.unmap_latency_ns = unmap_latency(packet) * kUnmapLatencyUnitNs;
    resources_.queue_mask = queue_mask(packet);
    resources_.gws_mask = gws_mask(packet);
    return PacketResult::Done;
}

/// Command: 0 interrupt, 1 and 2 fence, 3 fence and interrupt.
/// A ring executes in order and UNMAP_QUEUES holds it, so everything before has taken effect here.
PacketResult HwScheduler::query_status(Hqd& ring, const pm4::Packet& packet) {
    const uint32_t command = pm4::QUERY_STATUS::command(packet);
    if (command != 0) {
        const uint64_t data = pm4::QUERY_STATUS::data(packet);
        bus_.gfxhub().write(0, pm4::QUERY_STATUS::addr(packet) & ~uint64_t{7}, &data, sizeof data);
    }
    if (command == 0 || command == 3) {
        Interrupt vector;
        vector.client = ih_client::kGrbmCp;
        vector.source = kQueryStatusInterrupt;
        vector.ring_id = static_cast<uint8_t>(ring.pipe | ring.me << 2 | ring.queue << 4);
        vector.data[0] = pm4::QUERY_STATUS::context_id(packet);
        bus_.interrupt(vector);
    }
    return PacketResult::Done;
}

void HwScheduler::Resources::visit(StateVisitor& v) {
    v("vmid_mask", vmid_mask);
    v("queue_mask", queue_mask);
    v("gws_mask", gws_mask);
    v("unmap_latency_ns", unmap_latency_ns);
}

void HwScheduler::Process::visit(StateVisitor& v) {
    v("vmid", vmid, kVmids - 1);
    v("debug_vmid", debug_vmid, kVmids - 1);
    v("pasid", binding.pasid);
    v("page_table_base", binding.page_table_base);
    v("sh_mem_bases", binding.sh_mem_bases);
    v("sh_mem_config", binding.sh_mem_config);
    v("tba", binding.tba);
    v("tma", binding.tma);
    v("quantum_ms", quantum_ms);
    v("gws_count", gws_count);
}

void HwScheduler::SdmaQueue::visit(StateVisitor& v) {
    v("engine", engine, 1);
    v("slot", slot, most_of_all_chips(&ChipFacts::sdma_queues) - 1);
    v("mqd", mqd);
    v("doorbell_bytes", doorbell_bytes);
    v("vmid", vmid, kVmids - 1);
    v("pasid", pasid);
    v("leaving", leaving);
}

void HwScheduler::RunList::visit(StateVisitor& v) {
    v("phase", phase, Phase::Rotating);
    v("base", base);
    v("size_dw", size_dw);
    v("process_count", process_count);
    v("cursor_dw", cursor_dw, size_dw);
    v("round_start_dw", round_start_dw, size_dw);
    v("wrapped", wrapped);
    v("has_process", has_process);
    v("mapped_any", mapped_any);
    v("process", process);
    v("idle_rounds", idle_rounds);
    v("sharing", sharing);
    v("starving_since_ns", starving_since_ns);
    v("restored", restored);
    v("mapped_at_ns", mapped_at_ns);
    v("quantum_ns", quantum_ns);
    v("deadline_ns", deadline_ns);
}

void HwScheduler::visit(StateVisitor& v) {
    v("resources", resources_);
    v("list", list_);
    bool defers = deferred_.has_value();
    v("defers", defers);
    if (v.loads()) deferred_ = defers ? std::optional(RunList{}) : std::nullopt;
    if (defers) v("deferred", *deferred_);
    v.list("processes", processes_, kVmids);
    v.list("sdma_queues", sdma_queues_, kMaxSdmaQueues);
}

}  // namespace lyra
