// SPDX-License-Identifier: MIT
// Run lists and their end: packets of the HIQ. @source Linux 6.12 kfd_packet_manager.c, kfd_packet_manager_v9.c
#include <algorithm>

#include "kfdtest-ports/shim/process.h"
#include "kfdtest-ports/shim/queue_manager.h"

namespace lyra::kfd {

namespace {

constexpr uint32_t kVmidMask = 0xff00, kQueueMask = 0xfcfcfcfc;
constexpr uint32_t kUnmapLatency = 40;       // 100 ms
constexpr uint32_t kProcessQuantum = 10;
constexpr uint64_t kPreemptionMs = 9000;     // queue_preemption_timeout_ms
constexpr uint64_t kFenceInit = 10, kFenceCompleted = 100;
constexpr size_t kRunListDwords = 4;

// Bases of the flat address space's windows and what goes with them. @source kfd_flat_memory.c, kfd_device_queue_manager_v9.c
constexpr uint32_t kShMemBases = inproc::kSharedBase >> 48 << 16 | inproc::kPrivateBase >> 48;
constexpr uint32_t kShMemConfig = 3u << 3 | 1u << 12;

}  // namespace

Status QueueManager::start() {
    fence_ = driver_.gart().allocate(inproc::kPageBytes);
    const bool sent =
        fence_ && driver_.hiq().submit(pm4::packet(
                      pm4::kSetResources, {kVmidMask | kUnmapLatency << 16 | 1u << 29, kQueueMask, 0, ~0u, ~0u, 0, 0}));
    if (!sent) return Status::Error;
    return driver_.gpu().wait([&] { return driver_.hiq().drained(); }, kPreemptionMs) ? Status::Success : Status::Error;
}

Words QueueManager::map_process(const ProcessQueues& entry) const {
    Process& process = *entry.process;
    Words body(15);
    body[0] = process.pasid() | kProcessQuantum << 25;
    const uint64_t table = process.space().root_table_offset() | inproc::pte::kValid;
    body[1] = lo32(table);
    body[2] = hi32(table);
    body[3] = kShMemBases;
    body[4] = kShMemConfig;
    if (process.tba()) {
        body[5] = lo32(process.tba() >> 8);
        body[6] = hi32(process.tba() >> 8) | 1u << 31;
        body[7] = lo32(process.tma() >> 8);
        body[8] = hi32(process.tma() >> 8);
    }
    const uint32_t num_gws = entry.mapped_gws_queue ? entry.num_gws : 0;
    body[12] = num_gws | 1u << 7 | static_cast<uint32_t>(entry.queues.size()) << 22;
    return pm4::packet(pm4::kMapProcess, body);
}

Words QueueManager::map_queue(const Queue& queue) const {
    const QueueProperties& q = queue.properties;
    const uint32_t engine = queue.sdma() ? 2 + q.sdma_engine_id : 0;
    return pm4::packet(pm4::kMapQueues,
                       {1u << 4 | uint32_t{q.is_gws} << 12 | engine << 26 | 1u << 29, q.doorbell_off << 2,
                        lo32(queue.mqd.address), hi32(queue.mqd.address), lo32(q.write_ptr), hi32(q.write_ptr)});
}

Words QueueManager::run_list(uint64_t address, size_t dwords, size_t processes, bool chain) const {
    const uint32_t at_once = static_cast<uint32_t>(std::min<size_t>(processes, kVmids));
    return pm4::packet(pm4::kRunList, {lo32(address), hi32(address),
                                       static_cast<uint32_t>(dwords) | uint32_t{chain} << 20 | uint32_t{chain} << 22 |
                                           1u << 23 | at_once << 24});
}

Status QueueManager::map() {
    Words list;
    size_t processes = 0, active = 0, compute = 0, gws = 0;
    const auto add = [&](const Words& packet) { list.insert(list.end(), packet.begin(), packet.end()); };
    for (const ProcessQueues& entry : processes_) {
        if (entry.queues.empty()) continue;
        ++processes;
        add(map_process(entry));
        for (const auto& queue : entry.queues) {
            if (!queue->properties.is_active) continue;
            add(map_queue(*queue));
            ++active;
            compute += !queue->sdma();
            gws += queue->properties.is_gws;
        }
    }
    if (active == 0 || active_run_list_) return Status::Success;
    oversubscribed_ = processes > kVmids || compute > kCpQueues || gws > 1;
    list_ = driver_.gart().allocate((list.size() + kRunListDwords) * 4);
    if (!list_) return Status::NoMemory;
    const size_t dwords = list.size() + (oversubscribed_ ? kRunListDwords : 0);
    if (oversubscribed_) add(run_list(list_.address, dwords, processes, true));
    std::copy(list.begin(), list.end(), list_.words());
    if (!driver_.hiq().submit(run_list(list_.address, dwords, processes, false))) return Status::Error;
    active_run_list_ = true;
    ++run_lists_;
    return Status::Success;
}

/// Everything leaves the GPU; the fence says that it has.
Status QueueManager::unmap() {
    if (!active_run_list_) return Status::Success;
    constexpr uint32_t kAllNonStatic = 3, kFenceAfterWrites = 2;
    fence_.qword() = kFenceInit;
    driver_.hiq().submit(pm4::packet(pm4::kUnmapQueues, {kAllNonStatic << 4, 0, 0, 0, 0}));
    driver_.hiq().submit(pm4::packet(pm4::kQueryStatus, {kFenceAfterWrites << 30, 0, lo32(fence_.address), hi32(fence_.address),
                                                         lo32(kFenceCompleted), hi32(kFenceCompleted)}));
    const bool done = driver_.gpu().wait([&] { return fence_.qword() == kFenceCompleted; }, kPreemptionMs);
    if (!done || preemption_failed()) {
        hws_hang_ = true;
        return Status::Error;
    }
    active_run_list_ = false;
    driver_.gart().release(list_);
    return Status::Success;
}

/// @source Linux 6.12 kfd_mqd_manager_v9.c check_preemption_failed()
bool QueueManager::preemption_failed() {
    uint32_t& doorbell = driver_.hiq().mqd().words()[v9_mqd::kQueueDoorbellId0];
    const bool failed = doorbell != 0;
    doorbell = 0;
    return failed;
}

Status QueueManager::execute() {
    const Status status = unmap();
    return status == Status::Success ? map() : status;
}

}  // namespace lyra::kfd
