// SPDX-License-Identifier: MIT
// A grid started by a PM4 indirect buffer, with an event at its end.
#pragma once

#include <array>
#include <cstdint>

#include "kfdtest-ports/shim/user_queue.h"

namespace lyra::kfd {

class Dispatch {
public:
    /// @param code_va  entry point, 256-byte aligned
    /// @param auto_reset of the event at the end
    Dispatch(Process& process, uint64_t code_va, bool auto_reset = false);
    ~Dispatch();
    Dispatch(const Dispatch&) = delete;
    Dispatch& operator=(const Dispatch&) = delete;

    Dispatch& args(uint64_t first, uint64_t second = 0);  ///< s[0:1], s[2:3]
    Dispatch& dim(uint32_t x, uint32_t y = 1, uint32_t z = 1);  ///< work-groups
    Dispatch& group_size(uint32_t items);                 ///< work-items in one; 1 at first
    Dispatch& scratch(uint32_t waves, uint32_t wave_kib, uint64_t base);  ///< base also to s[4:5]
    uint32_t event() const { return event_; }

    /// @return false: no room in the ring
    bool submit(UserQueue& queue);
    Status sync(uint64_t timeout_ms) { return process_.wait_on_event(event_, timeout_ms); }

private:
    Words indirect_buffer() const;

    Process& process_;
    uint64_t code_va_;
    GpuBuffer ib_;
    uint32_t event_ = 0;
    std::array<uint64_t, 2> args_{};
    std::array<uint32_t, 3> dim_{1, 1, 1};
    uint32_t group_size_ = 1;
    uint32_t tmpring_ = 0;
    uint64_t scratch_base_ = 0;
};

}  // namespace lyra::kfd
