// SPDX-License-Identifier: MIT
// Queue life: descriptor, doorbell, update, eviction. @source Linux 6.12 kfd_device_queue_manager.c (the cpsch functions)
#include "kfdtest-ports/shim/queue_manager.h"

#include <algorithm>

#include "kfdtest-ports/shim/process.h"
#include "qemu-hw/include/lyra.h"

namespace lyra::kfd {

namespace {

// 64-bit doorbells of an engine's queues; odd ones lie in the mirror. @source allocate_doorbell(), amdgpu_doorbell.h
constexpr uint32_t kSdmaDoorbell = 0xf0, kSdmaDoorbellStep = 2, kMirror = 512;
constexpr uint32_t kShaderEngines = LYRA_SHADER_ENGINES, kCusPerEngine = LYRA_CUS_MAX / LYRA_SHADER_ENGINES;
constexpr uint32_t kMinRingBytes = 1024;
constexpr uint32_t kMaxQueues = 4096;

}  // namespace

/// While the queues are being changed, interrupts wait, as their work does for the driver's lock.
class QueueManager::Busy {
public:
    explicit Busy(QueueManager& manager) : manager_(manager), outer_(!manager.busy_) { manager.busy_ = true; }
    ~Busy() {
        if (!outer_) return;
        manager_.busy_ = false;
        manager_.driver_.handle_interrupts();
    }

private:
    QueueManager& manager_;
    bool outer_;
};

QueueManager::ProcessQueues& QueueManager::of(Process& process) {
    for (ProcessQueues& entry : processes_) {
        if (entry.process == &process) return entry;
    }
    // The newest comes first, among processes and among queues.
    ProcessQueues& entry = processes_.emplace_front();
    entry.process = &process;
    return entry;
}

Status QueueManager::allocate_sdma(Queue& queue) {
    const auto free = std::find(sdma_used_.begin(), sdma_used_.end(), false);
    if (free == sdma_used_.end()) return Status::NoMemory;
    *free = true;
    queue.sdma_id = static_cast<uint32_t>(free - sdma_used_.begin());
    queue.properties.sdma_engine_id = queue.sdma_id % kSdmaEngines;
    queue.properties.sdma_queue_id = queue.sdma_id / kSdmaEngines;
    return Status::Success;
}

/// Doorbell and descriptor.
bool QueueManager::place(Process& process, Queue& queue) {
    QueueProperties& q = queue.properties;
    if (queue.sdma()) {
        queue.doorbell_id =
            kSdmaDoorbell + kSdmaDoorbellStep * q.sdma_engine_id + (q.sdma_queue_id & 1) * kMirror + (q.sdma_queue_id >> 1);
    } else {
        queue.doorbell_id = process.take_doorbell();
        if (queue.doorbell_id == Process::kDoorbells) return false;
    }
    q.doorbell_off = process.doorbell_bytes(queue.doorbell_id) / 4;
    q.tba_addr = process.tba();
    queue.mqd = driver_.gart().allocate(inproc::kPageBytes + (queue.sdma() ? 0 : q.ctl_stack_size));
    if (!queue.mqd) return false;
    if (queue.sdma()) {
        init_mqd_sdma(queue.mqd.words(), q);
    } else {
        init_mqd(queue.mqd.words(), queue.mqd.address, q);
    }
    return true;
}

void QueueManager::release(Queue& queue) {
    if (queue.sdma()) {
        sdma_used_[queue.sdma_id] = false;
    } else {
        queue.process->give_back_doorbell(queue.doorbell_id);
    }
    driver_.gart().release(queue.mqd);
}

Status QueueManager::create(Process& process, const QueueProperties& properties, Queue*& made) {
    Busy busy(*this);
    auto queue = std::make_unique<Queue>();
    queue->process = &process;
    queue->properties = properties;
    queue->id = next_id_++;
    size_t total = 0;
    for (const ProcessQueues& entry : processes_) total += entry.queues.size();
    if (total >= kMaxQueues) return Status::Error;
    if (queue->sdma() && allocate_sdma(*queue) != Status::Success) return Status::NoMemory;
    ProcessQueues& entry = of(process);
    queue->properties.is_evicted = entry.evicted != 0;
    if (!place(process, *queue)) {
        release(*queue);
        return Status::NoMemory;
    }
    refresh(*queue);
    made = entry.queues.emplace_front(std::move(queue)).get();
    return made->properties.is_active ? execute() : Status::Success;
}

Status QueueManager::destroy(Queue* queue) {
    Busy busy(*this);
    ProcessQueues& entry = of(*queue->process);
    Status status = Status::Success;
    if (queue->properties.is_active) {
        queue->properties.is_active = false;
        status = execute();
    }
    release(*queue);
    entry.queues.remove_if([&](const std::unique_ptr<Queue>& mine) { return mine.get() == queue; });
    if (entry.queues.empty() && entry.evicted == 0)
        processes_.remove_if([&](const ProcessQueues& mine) { return &mine == &entry; });
    return status;
}

void QueueManager::refresh(Queue& queue) { queue.properties.is_active = queue.properties.should_run(); }

Status QueueManager::update(Queue& queue, uint32_t percent, uint32_t priority, uint64_t address, uint32_t size) {
    Busy busy(*this);
    if (percent > 100 || priority > 15) return Status::InvalidParameter;
    QueueProperties& q = queue.properties;
    q.queue_address = address;
    q.queue_size = std::max(size, kMinRingBytes);
    q.queue_percent = percent;
    q.priority = priority;
    if (const Status status = unmap(); status != Status::Success) return status;
    if (queue.sdma()) {
        update_mqd_sdma(queue.mqd.words(), q);
    } else {
        update_mqd(queue.mqd.words(), q);
    }
    refresh(queue);
    return map();
}

/// Bits go round the shader engines. @source Linux 6.12 kfd_mqd_manager.c mqd_symmetrically_map_cu_mask()
Status QueueManager::set_cu_mask(Queue& queue, const std::vector<uint32_t>& mask) {
    Busy busy(*this);
    const uint32_t per_engine = (driver_.gpu().options().compute_units + kShaderEngines - 1) / kShaderEngines;
    uint32_t engines[kShaderEngines] = {};
    uint32_t bit = 0;
    for (uint32_t cu = 0; cu < kCusPerEngine; ++cu) {
        for (uint32_t se = 0; se < kShaderEngines; ++se) {
            if (cu >= per_engine || bit / 32 >= mask.size()) continue;
            engines[se] |= (mask[bit / 32] >> bit % 32 & 1) << cu;
            ++bit;
        }
    }
    if (const Status status = unmap(); status != Status::Success) return status;
    update_mqd(queue.mqd.words(), queue.properties);
    update_cu_mask(queue.mqd.words(), engines);
    refresh(queue);
    return map();
}

Status QueueManager::set_gws(Queue& queue, uint32_t num_gws) {
    Busy busy(*this);
    ProcessQueues& entry = of(*queue.process);
    if (num_gws && entry.num_gws) return Status::Error;
    if (const Status status = unmap(); status != Status::Success) return status;
    entry.num_gws = num_gws;
    entry.mapped_gws_queue = queue.properties.is_gws = num_gws != 0;
    return map();
}

Status QueueManager::evict(Process& process) {
    Busy busy(*this);
    ProcessQueues& entry = of(process);
    if (entry.evicted++ > 0) return Status::Success;
    for (const auto& queue : entry.queues) {
        queue->properties.is_evicted = true;
        refresh(*queue);
    }
    return execute();
}

Status QueueManager::restore(Process& process) {
    Busy busy(*this);
    ProcessQueues& entry = of(process);
    if (entry.evicted == 0) return Status::Error;
    if (--entry.evicted > 0) return Status::Success;
    for (const auto& queue : entry.queues) {
        queue->properties.is_evicted = false;
        refresh(*queue);
    }
    return execute();
}

Status QueueManager::suspend(const std::vector<Queue*>& queues) {
    Busy busy(*this);
    for (Queue* queue : queues) {
        queue->properties.is_suspended = true;
        refresh(*queue);
    }
    return execute();
}

Status QueueManager::resume(const std::vector<Queue*>& queues) {
    Busy busy(*this);
    for (Queue* queue : queues) {
        queue->properties.is_suspended = false;
        refresh(*queue);
    }
    return execute();
}

/// @source Linux 6.12 kfd_mqd_manager_v9.c get_wave_state()
WaveState QueueManager::wave_state(const Queue& queue) const {
    using namespace v9_mqd;
    const uint32_t* mqd = queue.mqd.words();
    WaveState state;
    state.control_stack_offset = mqd[kCntlStackOffset];
    state.control_stack_size = mqd[kCntlStackSize] - mqd[kCntlStackOffset];
    state.wave_state_offset = mqd[kWgStateOffset];
    state.wave_state_size = mqd[kWgStateOffset] - mqd[kCntlStackSize];
    return state;
}

Status QueueManager::remove_process(Process& process) {
    Busy busy(*this);
    ProcessQueues& entry = of(process);
    for (const auto& queue : entry.queues) queue->properties.is_active = false;
    const Status status = execute();
    for (const auto& queue : entry.queues) release(*queue);
    processes_.remove_if([&](const ProcessQueues& mine) { return &mine == &entry; });
    return status;
}

}  // namespace lyra::kfd
