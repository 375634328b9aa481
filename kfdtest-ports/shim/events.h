// SPDX-License-Identifier: MIT
// Events of one process: the signal page that the GPU writes, and who wakes when an interrupt comes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "kfdtest-ports/shim/status.h"
#include "tools/inproc/address_space.h"

namespace lyra::kfd {

/// Of kfd_hsa_memory_exception_data.
struct MemoryException {
    uint64_t va = 0;  ///< start of the page
    bool not_present = false, read_only = false;
};

enum class EventType : uint8_t { Signal, Memory };

struct WaitItem {
    uint32_t event_id = 0;
    uint64_t age = 0;           ///< in: last age seen, 0: none; out: the present one
    bool activated = false;
    bool destroyed = false;
};

/// @source Linux 6.12 kfd_events.c
class EventTable {
public:
    static constexpr uint32_t kSignalLimit = 4096;  ///< slots of the page; slot 0 is never given out
    static constexpr uint64_t kUnsignaled = ~uint64_t{0};

    /// @param page kSignalLimit slots that the GPU may write
    void set_page(const inproc::GpuBuffer& page);

    Status create(EventType type, bool auto_reset, uint32_t& id);
    Status destroy(uint32_t id);
    Status set(uint32_t id);    ///< from the CPU
    Status reset(uint32_t id);
    /// Where the GPU writes to signal; what the thunk calls HWData2.
    uint64_t slot_va(uint32_t id) const { return page_.va + 8 * uint64_t{id}; }
    const MemoryException& memory_exception(uint32_t id) { return events_.at(id).memory; }

    /// @param bits of the id that the interrupt carries
    void signal_from_interrupt(uint32_t partial_id, unsigned bits);
    void signal_memory_exception(const MemoryException& exception);

    /// Enter as a waiter: takes what is signaled already. leave() must follow.
    Status enter(std::span<WaitItem> items);
    /// @param complete the wait succeeded: ages are handed out
    void leave(std::span<WaitItem> items, bool complete = false);

    uint64_t exhaustive_searches() const { return exhaustive_searches_; }  ///< interrupts whose id led to no signaled event

private:
    struct Event {
        EventType type = EventType::Signal;
        bool auto_reset = false, signaled = false;
        uint64_t age = 1;
        MemoryException memory;
        std::vector<WaitItem*> waiters;
    };
    volatile uint64_t& slot(uint32_t id) const { return reinterpret_cast<volatile uint64_t*>(page_.host)[id]; }
    void set_event(Event& event);
    bool signal_slot(uint32_t id);

    inproc::GpuBuffer page_;
    std::map<uint32_t, Event> events_;
    uint32_t lowest_free_ = 1;  ///< no signal event below it can be made
    uint64_t exhaustive_searches_ = 0;
};

}  // namespace lyra::kfd
