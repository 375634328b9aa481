// SPDX-License-Identifier: MIT
// A queue as a program holds it: ring, pointers and doorbell; what the thunk allocates around the driver's queue.
#pragma once

#include <cstdint>
#include <vector>

#include "cwsr/image.h"
#include "kfdtest-ports/shim/packets.h"
#include "kfdtest-ports/shim/process.h"
#include "kfdtest-ports/shim/queue_manager.h"

namespace lyra::kfd {

/// HSA_QUEUE_PRIORITY, by the numbers that the thunk gives the driver. @source thunk queues.c priority_map
enum class Priority : uint32_t { Low = 3, Normal = 7, High = 11 };

class UserQueue {
public:
    static constexpr uint32_t kDefaultBytes = 4096;

    UserQueue() = default;
    ~UserQueue() { destroy(); }
    UserQueue(const UserQueue&) = delete;
    UserQueue& operator=(const UserQueue&) = delete;

    /// @param bytes of the ring, power of two
    Status create(Process& process, QueueType type = QueueType::Pm4, uint32_t bytes = kDefaultBytes);
    Status destroy();
    bool exists() const { return queue_ != nullptr; }
    Queue& kernel_queue() { return *queue_; }
    Process& process() { return *process_; }
    bool sdma() const { return queue_->sdma(); }

    /// @param null_address as if the ring had gone: the queue stops
    Status update(uint32_t percent, Priority priority, bool null_address);
    Status set_cu_mask(const std::vector<uint32_t>& mask) { return manager().set_cu_mask(*queue_, mask); }
    Status set_gws(uint32_t number) { return manager().set_gws(*queue_, number); }

    /// Put a packet behind the last one; filled up with NOPs where it would cross the end of the ring.
    /// @return false: the ring is full
    bool place(const Words& packet);
    /// Write pointer to memory, then the doorbell.
    void submit();
    bool place_and_submit(const Words& packet) {
        const bool placed = place(packet);
        submit();
        return placed;
    }
    /// Everything submitted has been read. @return false: not in this time
    bool wait_consumed(uint64_t timeout_ms);
    /// The same, with an event at the end of the pipe (PM4) or of the copies (SDMA).
    Status wait_event(uint32_t event_id, uint64_t timeout_ms);

    uint32_t rptr() const;  ///< dwords in the ring
    uint32_t wptr() const;
    bool consumed() const { return rptr() == wptr(); }
    uint32_t ring_dwords() const { return ring_dwords_; }
    uint64_t pending_wptr() const;    ///< as submit() would write it
    uint64_t wptr_va() const { return pointers_.va + 8; }
    uint32_t doorbell_bytes() const { return process_->doorbell_bytes(queue_->doorbell_id); }

    /// The save area of a queue that is not mapped, read as a debugger does.
    cwsr::Image image() const;

private:
    QueueManager& manager() const { return process_->driver().queues(); }
    bool allocate(QueueProperties& properties, uint32_t bytes);

    Process* process_ = nullptr;
    Queue* queue_ = nullptr;
    GpuBuffer ring_, pointers_, eop_, save_area_;  ///< pointers: rptr, wptr at 8
    uint32_t ring_dwords_ = 0;
    uint64_t pending_ = 0;  ///< dwords
};

/// hsaKmtCreateEvent() for a signal.
Status create_queue_event(Process& process, bool auto_reset, uint32_t& event_id);
/// The packet that signals it.
Words signal_event(Process& process, uint32_t event_id);

}  // namespace lyra::kfd
