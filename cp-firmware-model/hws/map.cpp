// SPDX-License-Identifier: MIT
// MAP_PROCESS and MAP_QUEUES: VMIDs, slots, SDMA queues; step 3 of the data flow.
#include <algorithm>

#include <fmt/format.h>

#include "cp-firmware-model/hws/scheduler.h"

namespace lyra {

namespace {

constexpr uint32_t kEngineCompute = 0, kEngineHiq = 1, kEngineSdma0 = 2, kEngineGfx = 4;
constexpr uint32_t kDynamicQueueType = 0;  ///< 1: debug interface queue; 2 and 3: static queues

/// TBA and TMA are given as address >> 8; the driver may set a bit of later chips above the field.
uint64_t shader_base(uint64_t words) { return static_cast<uint64_t>(sign_extend(words << 8, 48)); }

uint32_t doorbell_bytes(const pm4::Packet& packet) { return pm4::MAP_QUEUES::doorbell_offset(packet) * 4; }

}  // namespace

/// MAP_PROCESS of both sizes: the fields of the short one lie alike. single_memops, the long one's wish for precise memory
/// faults, changes nothing: accesses end in order anyway. @source kfd_pm4_headers_ai.h, kfd_pm4_headers_aldebaran.h
bool HwScheduler::take_process(const pm4::Packet& packet, Process& process) {
    using namespace pm4::MAP_PROCESS;
    if (packet.body.size() < 13) return false;
    process = {};
    process.binding.pasid = static_cast<uint16_t>(pasid(packet));
    if (new_debug(packet)) process.debug_vmid = debug_vmid(packet);
    process.quantum_ms = process_quantum(packet);
    process.binding.page_table_base =
        make64(vm_context_page_table_base_addr_lo32(packet), vm_context_page_table_base_addr_hi32(packet));
    process.binding.sh_mem_bases = sh_mem_bases(packet);
    process.binding.sh_mem_config = sh_mem_config(packet);
    process.binding.tba = shader_base(sq_shader_tba(packet));
    process.binding.tma = shader_base(sq_shader_tma(packet));
    process.gws_count = num_gws(packet);
    constexpr size_t kLongBody = 20;
    if (packet.body.size() < kLongBody) return true;
    process.binding.debug = spi_gdbg_per_vmid_cntl(packet);
    process.binding.watch = {tcp_watch_cntl0(packet), tcp_watch_cntl1(packet), tcp_watch_cntl2(packet),
                             tcp_watch_cntl3(packet)};
    return true;
}

/// Give a process its VMID: the one it has, the one for debugging, or the lowest free one.
HwScheduler::Walk HwScheduler::bind(Process& process) {
    for (Process& known : processes_) {
        if (known.binding.pasid != process.binding.pasid) continue;
        process.vmid = known.vmid;
        if (known.binding != process.binding) bus_.bind_process(known.vmid, process.binding);
        known = process;
        return Walk::Next;
    }
    // The driver has taken the VMID for debugging out of the mask. @source kfd_device_queue_manager.c reserve_debug_trap_vmid()
    uint32_t free = process.debug_vmid != 0 ? 1u << process.debug_vmid : resources_.vmid_mask;
    for (const Process& known : processes_) free &= ~(1u << known.vmid);
    const bool too_many = list_.process_count != 0 && processes_.size() >= list_.process_count;
    if (free == 0 || too_many) {
        if (!processes_.empty()) return Walk::Full;
        report(env_, Fault::NoVmid, fmt::format("PASID {:#x}", process.binding.pasid));
        process.vmid = 0;
        return Walk::Next;
    }
    process.vmid = static_cast<uint32_t>(__builtin_ctz(free));
    bus_.bind_process(process.vmid, process.binding);
    processes_.push_back(process);
    return Walk::Next;
}

Hqd* HwScheduler::find_mqd(uint64_t mqd) {
    for (Hqd& hqd : mec_.slots()) {
        if (hqd.active() && hqd.mapped_by_hws && hqd.mqd_address() == mqd) return &hqd;
    }
    return nullptr;
}

/// Pipes first, so that queues share a pipe as late as possible.
Hqd* HwScheduler::free_slot() {
    for (unsigned me = 1; me <= kMecs; ++me) {
        for (unsigned queue = 0; queue < kQueuesPerPipe; ++queue) {
            for (unsigned pipe = 0; pipe < kPipesPerMec; ++pipe) {
                const unsigned index = (me - 1) * 32 + pipe * 8 + queue;
                Hqd& hqd = mec_.slot(me, pipe, queue);
                if (bit(resources_.queue_mask, index) && !hqd.active()) return &hqd;
            }
        }
    }
    return nullptr;
}

/// The global wave sync resources of a process go with the one queue that controls them.
void HwScheduler::give_gws(QueueMapping& mapping) {
    const unsigned count = std::min<unsigned>(list_.process.gws_count, kGwsResources);
    const uint64_t run = count >= kGwsResources ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
    unsigned base = 0;
    while (base + count <= kGwsResources && (resources_.gws_mask >> base & run) != run) ++base;
    if (count == 0 || base + count > kGwsResources) {
        report(env_, Fault::NoGws, fmt::format("PASID {:#x}, {} resources", mapping.pasid, count));
        return;
    }
    mapping.gws_base = static_cast<uint8_t>(base);
    mapping.gws_size = static_cast<uint8_t>(count);
}

HwScheduler::Walk HwScheduler::map_compute(const pm4::Packet& packet) {
    QueueMapping mapping;
    mapping.mqd = pm4::MAP_QUEUES::mqd_addr(packet);
    if (Hqd* mapped = find_mqd(mapping.mqd)) {
        // One whose waves are being saved leaves first.
        return mec_.unmap().cancel(*mapped) ? Walk::Next : Walk::Full;
    }
    mapping.wptr_address = pm4::MAP_QUEUES::wptr_addr(packet);
    mapping.doorbell_bytes = doorbell_bytes(packet);
    mapping.vmid = list_.process.vmid;
    mapping.pasid = list_.process.binding.pasid;
    mapping.by_hws = true;
    mapping.is_static = pm4::MAP_QUEUES::queue_type(packet) != kDynamicQueueType;
    Hqd* slot = free_slot();
    if (!slot) {
        const bool any =
            std::any_of(mec_.slots().begin(), mec_.slots().end(), [](const Hqd& h) { return h.mapped_by_hws && h.active(); });
        if (any) return Walk::Full;
        report(env_, Fault::NoHqd, fmt::format("queue mask {:#x}", resources_.queue_mask));
        return Walk::Next;
    }
    if (pm4::MAP_QUEUES::gws_control_queue(packet)) {
        const auto owns = [](const Hqd& h) { return h.active() && h.gws_size != 0; };
        if (std::any_of(mec_.slots().begin(), mec_.slots().end(), owns)) {
            if (list_.mapped_any) return Walk::Full;
            // An owner that outlasts the round, as static queues do, keeps this queue out, but not the ones after it.
            report(env_, Fault::NoGws, fmt::format("PASID {:#x}: another queue keeps them", mapping.pasid));
            return Walk::Next;
        }
        give_gws(mapping);
    }
    mec_.map(*slot, mapping);
    list_.mapped_any = true;
    return Walk::Next;
}

HwScheduler::Walk HwScheduler::map_sdma(const pm4::Packet& packet, unsigned engine) {
    SdmaQueue queue;
    queue.engine = engine;
    queue.mqd = pm4::MAP_QUEUES::mqd_addr(packet);
    queue.doorbell_bytes = doorbell_bytes(packet);
    queue.vmid = list_.process.vmid;
    queue.pasid = list_.process.binding.pasid;
    for (const SdmaQueue& mapped : sdma_queues_) {
        if (mapped.mqd == queue.mqd) return Walk::Next;
    }
    const int slot =
        sdma_[engine]->map_queue(queue.mqd, pm4::MAP_QUEUES::wptr_addr(packet), queue.doorbell_bytes, queue.vmid, queue.pasid);
    if (slot < 0) {
        report(env_, Fault::NoHqd, fmt::format("SDMA{} has no free queue", engine));
        return Walk::Next;
    }
    queue.slot = static_cast<unsigned>(slot);
    sdma_queues_.push_back(queue);
    return Walk::Next;
}

HwScheduler::Walk HwScheduler::map_queue_of_list(const pm4::Packet& packet) {
    if (!list_.has_process) {
        report(env_, Fault::PacketField, "MAP_QUEUES before any MAP_PROCESS");
        return Walk::Next;
    }
    if (list_.process.vmid == 0) return Walk::Next;  // no VMID: its queues cannot run
    const uint32_t engine = pm4::MAP_QUEUES::engine_sel(packet);
    const auto is_sdma = [&](uint32_t number) { return number < partition_.sdma_engines; };
    if (pm4::MAP_QUEUES::extended_engine_sel(packet) == 1 && is_sdma(engine))
        return map_sdma(packet, partition_.first_sdma + engine);
    if (pm4::MAP_QUEUES::extended_engine_sel(packet) == 0) {
        if (engine == kEngineCompute) return map_compute(packet);
        if (engine >= kEngineSdma0 && is_sdma(engine - kEngineSdma0))
            return map_sdma(packet, partition_.first_sdma + engine - kEngineSdma0);
    }
    report(env_, Fault::PacketField, fmt::format("MAP_QUEUES of engine {}", engine));
    return Walk::Next;
}

/// MAP_QUEUES in a ring: the KIQ maps kernel queues and the HIQ, each to a named slot.
/// @source Linux 6.12 gfx_v9_0_kiq_map_queues()
PacketResult HwScheduler::map_queues(Hqd& ring, const pm4::Packet& packet) {
    namespace slot_of = pm4::MAP_QUEUES_KIQ;
    const uint32_t engine = pm4::MAP_QUEUES::engine_sel(packet);
    if (ring.kind != QueueKind::Kiq || pm4::MAP_QUEUES::queue_sel(packet) != 0 || slot_of::me(packet) > 1) {
        report(env_, Fault::PacketField, fmt::format("MAP_QUEUES {:#010x} in a ring", packet[0]));
        return PacketResult::Done;
    }
    if (engine != kEngineCompute && engine != kEngineHiq) {
        report(env_, engine == kEngineGfx ? Fault::TodoPacket : Fault::PacketField,
               fmt::format("MAP_QUEUES of engine {}", engine));
        return PacketResult::Done;
    }
    QueueMapping mapping;
    mapping.kind = engine == kEngineHiq ? QueueKind::Hiq : QueueKind::Kernel;
    mapping.mqd = pm4::MAP_QUEUES::mqd_addr(packet);
    mapping.wptr_address = pm4::MAP_QUEUES::wptr_addr(packet);
    mapping.doorbell_bytes = doorbell_bytes(packet);
    mapping.vmid = slot_of::vmid(packet);
    Hqd& slot = mec_.slot(slot_of::me(packet) + 1, slot_of::pipe(packet), slot_of::queue(packet));
    if (&slot == &ring) {
        report(env_, Fault::NoHqd, "MAP_QUEUES to the slot of the KIQ itself");
        return PacketResult::Done;
    }
    if (slot.active()) mec_.unmap().drop(slot);  // the driver names the slot: what it held is gone
    mec_.map(slot, mapping);
    return PacketResult::Done;
}

bool HwScheduler::process_has_queues(const Process& process) {
    const auto owns = [&](const auto& queue) { return queue.pasid == process.binding.pasid; };
    if (std::any_of(sdma_queues_.begin(), sdma_queues_.end(), owns)) return true;
    return std::any_of(mec_.slots().begin(), mec_.slots().end(),
                       [&](const Hqd& hqd) { return hqd.active() && hqd.mapped_by_hws && owns(hqd); });
}

void HwScheduler::release_idle_processes() {
    std::erase_if(processes_, [&](const Process& process) {
        if (process_has_queues(process)) return false;
        bus_.release_vmid(process.vmid);
        return true;
    });
}

}  // namespace lyra
