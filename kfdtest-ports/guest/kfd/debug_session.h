// SPDX-License-Identifier: MIT
// A debugger's side of the kernel driver: a program is started under ptrace and /dev/kfd's debug interface, its queues are
// listed, suspended and resumed, and its memory is read and written.
#pragma once

#include <linux/kfd_ioctl.h>
#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "cwsr/save_area.h"

namespace lyra::guest {

class DebugSession {
public:
    /// Start a program. It runs until the runtime has told the driver that it is there.
    explicit DebugSession(char** arguments);
    ~DebugSession();
    DebugSession(const DebugSession&) = delete;
    DebugSession& operator=(const DebugSession&) = delete;

    /// Serve events of the program and of the driver for a while. @return false: the program has ended
    bool serve(unsigned milliseconds);
    /// Its compute queues; new ones become known to the driver as seen.
    std::vector<kfd_queue_snapshot_entry> queues();
    /// @return how many were suspended or resumed
    unsigned suspend(std::vector<uint32_t> ids);
    unsigned resume(std::vector<uint32_t> ids);
    /// No debugging any more; the program runs on. @return its exit status, 128 + signal
    int finish();

    bool runtime_is_there() const { return runtime_.runtime_state == DEBUG_RUNTIME_STATE_ENABLED; }
    bool ttmps_are_set_up() const { return runtime_.ttmp_setup != 0; }

    bool read(uint64_t address, void* data, size_t size) const;
    bool write(uint64_t address, const void* data, size_t size) const;
    /// Bytes of a queue's save area, read from the program's memory.
    cwsr::ReadArea reader_of(const kfd_queue_snapshot_entry& queue) const;

private:
    int call(uint32_t operation, kfd_ioctl_dbg_trap_args& arguments) const;
    void take_events();
    bool handle_stop();

    int kfd_ = -1, memory_ = -1, events_ = -1, notify_ = -1;
    pid_t pid_ = -1;
    int status_ = -1;  ///< of the program when it has ended
    kfd_runtime_info runtime_{};
};

}  // namespace lyra::guest
