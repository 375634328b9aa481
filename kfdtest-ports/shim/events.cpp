// SPDX-License-Identifier: MIT
// Events as amdkfd keeps them. @source Linux 6.12 kfd_events.c
#include "kfdtest-ports/shim/events.h"

#include <algorithm>

namespace lyra::kfd {

namespace {
constexpr uint32_t kFirstOtherId = EventTable::kSignalLimit + 1;
}

void EventTable::set_page(const inproc::GpuBuffer& page) {
    page_ = page;
    for (uint32_t id = 0; id < kSignalLimit; ++id) slot(id) = kUnsignaled;
}

Status EventTable::create(EventType type, bool auto_reset, uint32_t& id) {
    id = type == EventType::Signal ? lowest_free_ : kFirstOtherId;
    while (events_.contains(id)) ++id;
    if (type == EventType::Signal) {
        lowest_free_ = id;
        if (id >= kSignalLimit) return Status::OutOfResources;
        slot(id) = kUnsignaled;
    }
    Event event;
    event.type = type;
    event.auto_reset = auto_reset;
    events_.emplace(id, std::move(event));
    return Status::Success;
}

Status EventTable::destroy(uint32_t id) {
    const auto found = events_.find(id);
    if (found == events_.end()) return Status::InvalidParameter;
    for (WaitItem* waiter : found->second.waiters) waiter->destroyed = true;
    lowest_free_ = std::min(lowest_free_, id);
    events_.erase(found);
    return Status::Success;
}

void EventTable::set_event(Event& event) {
    event.signaled = !event.auto_reset || event.waiters.empty();
    ++event.age;
    for (WaitItem* waiter : event.waiters) waiter->activated = true;
}

Status EventTable::set(uint32_t id) {
    const auto found = events_.find(id);
    if (found == events_.end() || found->second.type != EventType::Signal) return Status::InvalidParameter;
    set_event(found->second);
    return Status::Success;
}

Status EventTable::reset(uint32_t id) {
    const auto found = events_.find(id);
    if (found == events_.end() || found->second.type != EventType::Signal) return Status::InvalidParameter;
    found->second.signaled = false;
    return Status::Success;
}

bool EventTable::signal_slot(uint32_t id) {
    if (slot(id) == kUnsignaled) return false;
    const auto found = events_.find(id);
    if (found == events_.end() || found->second.type != EventType::Signal) return false;
    slot(id) = kUnsignaled;
    set_event(found->second);
    return true;
}

void EventTable::signal_from_interrupt(uint32_t partial_id, unsigned bits) {
    if (partial_id < kSignalLimit) {
        const uint64_t step = bits > 31 || (1u << bits) >= kSignalLimit ? kSignalLimit : 1u << bits;
        for (uint64_t id = partial_id; id < kSignalLimit; id += step) {
            if (signal_slot(static_cast<uint32_t>(id))) return;
        }
    }
    // The id says nothing: every slot that is not empty has been signaled.
    ++exhaustive_searches_;
    for (uint32_t id = 1; id < kSignalLimit; ++id) signal_slot(id);
}

void EventTable::signal_memory_exception(const MemoryException& exception) {
    for (auto& [id, event] : events_) {
        if (event.type != EventType::Memory) continue;
        event.memory = exception;
        set_event(event);
    }
}

Status EventTable::enter(std::span<WaitItem> items) {
    for (WaitItem& item : items) {
        const auto found = events_.find(item.event_id);
        if (found == events_.end()) {
            leave(items);
            return Status::InvalidParameter;
        }
        Event& event = found->second;
        item.activated = event.signaled;
        event.signaled = event.signaled && !event.auto_reset;
        if (event.type == EventType::Signal && item.age != 0 && item.age != event.age) item.activated = true;
        if (!item.activated) event.waiters.push_back(&item);
    }
    return Status::Success;
}

void EventTable::leave(std::span<WaitItem> items, bool complete) {
    for (WaitItem& item : items) {
        const auto found = events_.find(item.event_id);
        if (found == events_.end()) continue;
        std::erase(found->second.waiters, &item);
        if (complete && item.activated && item.age != 0) item.age = found->second.age;
    }
}

}  // namespace lyra::kfd
