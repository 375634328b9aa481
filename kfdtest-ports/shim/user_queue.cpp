// SPDX-License-Identifier: MIT
// Makes and fills user queues. @source ROCT-Thunk-Interface queues.c
#include "kfdtest-ports/shim/user_queue.h"

#include <atomic>
#include <cstring>

#include "cwsr/area.h"
#include "qemu-hw/include/lyra.h"

namespace lyra::kfd {

namespace {
constexpr uint32_t kEopBytes = 4096;
}  // namespace

bool UserQueue::allocate(QueueProperties& q, uint32_t bytes) {
    ring_ = process_->allocate(bytes);
    pointers_ = process_->allocate(inproc::kPageBytes);
    if (!ring_ || !pointers_) return false;
    q.queue_address = ring_.va;
    q.queue_size = bytes;
    q.read_ptr = pointers_.va;
    q.write_ptr = pointers_.va + 8;
    if (q.type == QueueType::Sdma) return true;
    eop_ = process_->allocate(kEopBytes, Domain::Vram);
    q.eop_address = eop_.va;
    q.eop_size = kEopBytes;
    if (!eop_) return false;
    if (!process_->tba()) return true;
    const cwsr::AreaSizes sizes = cwsr::area_sizes(process_->gpu().options().compute_units, LYRA_SHADER_ENGINES);
    save_area_ = process_->allocate(sizes.total() + sizes.debugger);
    q.ctx_save_address = save_area_.va;
    q.ctx_save_size = sizes.total();
    q.ctl_stack_size = sizes.control_stack;
    return save_area_.host != nullptr;
}

Status UserQueue::create(Process& process, QueueType type, uint32_t bytes) {
    destroy();
    process_ = &process;
    QueueProperties properties;
    properties.type = type;
    properties.priority = static_cast<uint32_t>(Priority::Normal);
    Status status = Status::NoMemory;
    if (allocate(properties, bytes)) status = manager().create(process, properties, queue_);
    ring_dwords_ = bytes / 4;
    pending_ = 0;
    if (!queue_) {
        for (GpuBuffer* buffer : {&ring_, &pointers_, &eop_, &save_area_}) process.release(*buffer);
    }
    return status;
}

Status UserQueue::destroy() {
    if (!queue_) return Status::Success;
    const Status status = manager().destroy(queue_);
    queue_ = nullptr;
    for (GpuBuffer* buffer : {&ring_, &pointers_, &eop_, &save_area_}) process_->release(*buffer);
    return status;
}

Status UserQueue::update(uint32_t percent, Priority priority, bool null_address) {
    return manager().update(*queue_, percent, static_cast<uint32_t>(priority), null_address ? 0 : ring_.va,
                            null_address ? 0 : static_cast<uint32_t>(ring_.bytes));
}

uint32_t UserQueue::rptr() const {
    const auto* pointer = reinterpret_cast<const std::atomic<uint32_t>*>(pointers_.host);
    const uint32_t value = pointer->load(std::memory_order_acquire);
    return (queue_->sdma() ? value / 4 : value) & (ring_dwords_ - 1);
}

uint32_t UserQueue::wptr() const {
    uint64_t value;
    std::memcpy(&value, pointers_.host + 8, sizeof value);
    return static_cast<uint32_t>((queue_->sdma() ? value / 4 : value) & (ring_dwords_ - 1));
}

uint64_t UserQueue::pending_wptr() const { return queue_->sdma() ? pending_ * 4 : pending_; }

bool UserQueue::place(const Words& packet) {
    const uint32_t need = static_cast<uint32_t>(packet.size());
    const uint32_t at = static_cast<uint32_t>(pending_ & (ring_dwords_ - 1)), left = ring_dwords_ - at;
    const uint32_t pad = need > left ? left : 0;
    if (((rptr() - 1 - at) & (ring_dwords_ - 1)) < need + pad) return false;
    auto* ring = reinterpret_cast<uint32_t*>(ring_.host);
    for (uint32_t i = 0; i < pad; ++i) ring[pending_++ & (ring_dwords_ - 1)] = queue_->sdma() ? 0 : pm4::kOneDwordNop;
    for (const uint32_t word : packet) ring[pending_++ & (ring_dwords_ - 1)] = word;
    return true;
}

void UserQueue::submit() {
    auto* pointer = reinterpret_cast<std::atomic<uint64_t>*>(pointers_.host + 8);
    pointer->store(pending_wptr(), std::memory_order_release);
    process_->gpu().doorbell(doorbell_bytes(), pending_wptr());
}

bool UserQueue::wait_consumed(uint64_t timeout_ms) {
    return process_->gpu().wait([this] { return consumed(); }, timeout_ms);
}

Status UserQueue::wait_event(uint32_t event_id, uint64_t timeout_ms) {
    bool placed;
    if (queue_->sdma()) {
        placed = place(sdma::fence(process_->events().slot_va(event_id), event_id)) && place(sdma::trap(event_id));
    } else {
        placed = place(signal_event(*process_, event_id));
    }
    submit();
    return placed ? process_->wait_on_event(event_id, timeout_ms) : Status::Error;
}

cwsr::Image UserQueue::image() const {
    const WaveState state = manager().wave_state(*queue_);
    const cwsr::ImageHeader header{state.control_stack_offset, state.control_stack_size, state.wave_state_offset,
                                   state.wave_state_size};
    std::vector<uint32_t> stack(state.control_stack_size / 4);
    std::memcpy(stack.data(), queue_->mqd.host + inproc::kPageBytes + state.control_stack_offset, stack.size() * 4);
    const auto read = [this](uint64_t offset, void* data, size_t size) {
        if (offset > save_area_.bytes || size > save_area_.bytes - offset) return false;
        std::memcpy(data, save_area_.host + offset, size);
        return true;
    };
    cwsr::ImageQueue queue;
    if (queue_->properties.type == QueueType::Aql) queue.ring_bytes = static_cast<uint32_t>(ring_.bytes);
    return cwsr::read_image(header, stack, read, queue);
}

Status create_queue_event(Process& process, bool auto_reset, uint32_t& event_id) {
    return process.events().create(EventType::Signal, auto_reset, event_id);
}

Words signal_event(Process& process, uint32_t event_id) {
    return pm4::release_mem(process.events().slot_va(event_id), event_id, pm4::Interrupt::After, pm4::Data::Low32);
}

}  // namespace lyra::kfd
