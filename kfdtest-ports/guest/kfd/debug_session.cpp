// SPDX-License-Identifier: MIT
// The order of calls is that of ROCdbgapi. @source Linux 6.12 include/uapi/linux/kfd_ioctl.h (KFD_IOC_DBG_TRAP_*), kfd_debug.c
#include "kfdtest-ports/guest/kfd/debug_session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "kfdtest-ports/guest/kfd/gpu.h"

namespace lyra::guest {

namespace {

constexpr uint64_t kExceptions = KFD_EC_MASK(EC_PROCESS_RUNTIME) | KFD_EC_MASK(EC_QUEUE_NEW) | KFD_EC_MASK(EC_QUEUE_WAVE_TRAP) |
                                 KFD_EC_MASK(EC_QUEUE_WAVE_MEMORY_VIOLATION);
constexpr double kPatience = 120;

int exit_status(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

DebugSession::DebugSession(char** arguments) {
    int go[2], events[2];
    require(pipe(go) == 0 && pipe2(events, O_CLOEXEC) == 0, "pipe");
    pid_ = fork();
    require(pid_ >= 0, "fork");
    if (pid_ == 0) {
        close(go[1]);
        char byte;
        if (::read(go[0], &byte, 1) != 1) _exit(127);
        close(go[0]);
        execv(arguments[0], arguments);
        _exit(127);
    }
    events_ = events[0];
    notify_ = events[1];
    require(ptrace(PTRACE_SEIZE, pid_, nullptr, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) == 0, "PTRACE_SEIZE");
    close(go[0]);
    require(::write(go[1], "x", 1) == 1, "pipe");
    close(go[1]);
    // Only from here on it has the memory that it keeps.
    int status = 0;
    require(waitpid(pid_, &status, 0) == pid_, "waitpid");
    if (status >> 8 != (SIGTRAP | PTRACE_EVENT_EXEC << 8)) fail(std::string("cannot start ") + arguments[0]);
    memory_ = open(("/proc/" + std::to_string(pid_) + "/mem").c_str(), O_RDWR | O_CLOEXEC);
    require(memory_ >= 0, "the program's memory");

    kfd_ = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    require(kfd_ >= 0, "/dev/kfd");
    kfd_ioctl_dbg_trap_args enable{};
    enable.enable.exception_mask = KFD_EC_MASK(EC_PROCESS_RUNTIME);
    enable.enable.rinfo_ptr = reinterpret_cast<uint64_t>(&runtime_);
    enable.enable.rinfo_size = sizeof runtime_;
    enable.enable.dbg_fd = static_cast<uint32_t>(notify_);
    require(call(KFD_IOC_DBG_TRAP_ENABLE, enable) == 0, "DBG_TRAP_ENABLE");
    kfd_ioctl_dbg_trap_args set{};
    set.set_exceptions_enabled.exception_mask = kExceptions;
    require(call(KFD_IOC_DBG_TRAP_SET_EXCEPTIONS_ENABLED, set) == 0, "DBG_TRAP_SET_EXCEPTIONS_ENABLED");
    require(ptrace(PTRACE_CONT, pid_, nullptr, nullptr) == 0, "PTRACE_CONT");
    for (const double end = now_s() + kPatience; !runtime_is_there();) {
        if (!serve(20)) fail("the program ended before it used the GPU");
        if (now_s() > end) fail("the program's runtime does not tell the driver of itself");
    }
}

DebugSession::~DebugSession() {
    for (const int file : {kfd_, memory_, events_, notify_}) close(file);
}

int DebugSession::call(uint32_t operation, kfd_ioctl_dbg_trap_args& arguments) const {
    arguments.pid = static_cast<uint32_t>(pid_);
    arguments.op = operation;
    return ioctl(kfd_, AMDKFD_IOC_DBG_TRAP, &arguments);
}

/// The runtime waits in its own call until it hears of its exception again.
void DebugSession::take_events() {
    while (true) {
        kfd_ioctl_dbg_trap_args query{};
        if (call(KFD_IOC_DBG_TRAP_QUERY_DEBUG_EVENT, query) != 0) return;
        if (!(query.query_debug_event.exception_mask & KFD_EC_MASK(EC_PROCESS_RUNTIME))) return;
        kfd_ioctl_dbg_trap_args info{};
        info.query_exception_info.info_ptr = reinterpret_cast<uint64_t>(&runtime_);
        info.query_exception_info.info_size = sizeof runtime_;
        info.query_exception_info.exception_code = EC_PROCESS_RUNTIME;
        info.query_exception_info.clear_exception = 1;
        require(call(KFD_IOC_DBG_TRAP_QUERY_EXCEPTION_INFO, info) == 0, "DBG_TRAP_QUERY_EXCEPTION_INFO");
        kfd_ioctl_dbg_trap_args send{};
        send.send_runtime_event.exception_mask = KFD_EC_MASK(EC_PROCESS_RUNTIME);
        require(call(KFD_IOC_DBG_TRAP_SEND_RUNTIME_EVENT, send) == 0, "DBG_TRAP_SEND_RUNTIME_EVENT");
    }
}

/// @return false: the program has ended
bool DebugSession::handle_stop() {
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG | __WALL) == pid_) {
        if (!WIFSTOPPED(status)) {
            status_ = exit_status(status);
            return false;
        }
        // Only signals are passed on, not the stops of ptrace itself.
        const long signal = status >> 16 == 0 ? WSTOPSIG(status) : 0;
        ptrace(PTRACE_CONT, pid_, nullptr, signal);
    }
    return true;
}

bool DebugSession::serve(unsigned milliseconds) {
    for (const double end = now_s() + milliseconds * 1e-3; now_s() < end;) {
        if (!handle_stop()) return false;
        pollfd wait{events_, POLLIN, 0};
        if (poll(&wait, 1, 5) == 1) {
            char bytes[64];
            if (::read(events_, bytes, sizeof bytes) > 0) take_events();
        }
    }
    return true;
}

std::vector<kfd_queue_snapshot_entry> DebugSession::queues() {
    std::vector<kfd_queue_snapshot_entry> entries(64);
    kfd_ioctl_dbg_trap_args snapshot{};
    snapshot.queue_snapshot.exception_mask = KFD_EC_MASK(EC_QUEUE_NEW);
    snapshot.queue_snapshot.snapshot_buf_ptr = reinterpret_cast<uint64_t>(entries.data());
    snapshot.queue_snapshot.num_queues = static_cast<uint32_t>(entries.size());
    snapshot.queue_snapshot.entry_size = sizeof(kfd_queue_snapshot_entry);
    require(call(KFD_IOC_DBG_TRAP_GET_QUEUE_SNAPSHOT, snapshot) == 0, "DBG_TRAP_GET_QUEUE_SNAPSHOT");
    entries.resize(std::min<size_t>(entries.size(), snapshot.queue_snapshot.num_queues));
    std::erase_if(entries,
                  [](const kfd_queue_snapshot_entry& entry) { return entry.queue_type != KFD_IOC_QUEUE_TYPE_COMPUTE_AQL; });
    return entries;
}

// kfd_ioctl_create_queue() tells of a queue after it has let go of its lock, so that a queue which is known may be new once
// more. New ones cannot be suspended; to list them makes them known.
unsigned DebugSession::suspend(std::vector<uint32_t> ids) {
    constexpr uint32_t kBad = KFD_DBG_QUEUE_ERROR_MASK | KFD_DBG_QUEUE_INVALID_MASK;
    for (unsigned tries = 0; tries < 3; ++tries) {
        std::vector<uint32_t> asked = ids;
        kfd_ioctl_dbg_trap_args suspend{};
        suspend.suspend_queues.queue_array_ptr = reinterpret_cast<uint64_t>(asked.data());
        suspend.suspend_queues.num_queues = static_cast<uint32_t>(asked.size());
        const int count = call(KFD_IOC_DBG_TRAP_SUSPEND_QUEUES, suspend);
        require(count >= 0, "DBG_TRAP_SUSPEND_QUEUES");
        if (std::none_of(asked.begin(), asked.end(), [](uint32_t id) { return (id & kBad) != 0; }))
            return static_cast<unsigned>(count);
        queues();
    }
    fail("a queue cannot be suspended");
}

unsigned DebugSession::resume(std::vector<uint32_t> ids) {
    kfd_ioctl_dbg_trap_args resume{};
    resume.resume_queues.queue_array_ptr = reinterpret_cast<uint64_t>(ids.data());
    resume.resume_queues.num_queues = static_cast<uint32_t>(ids.size());
    const int count = call(KFD_IOC_DBG_TRAP_RESUME_QUEUES, resume);
    require(count >= 0, "DBG_TRAP_RESUME_QUEUES");
    return static_cast<unsigned>(count);
}

int DebugSession::finish() {
    kfd_ioctl_dbg_trap_args disable{};
    require(call(KFD_IOC_DBG_TRAP_DISABLE, disable) == 0, "DBG_TRAP_DISABLE");
    for (const double end = now_s() + kPatience; serve(20);) {
        if (now_s() > end) fail("the program does not end");
    }
    return status_;
}

bool DebugSession::read(uint64_t address, void* data, size_t size) const {
    return pread(memory_, data, size, static_cast<off_t>(address)) == static_cast<ssize_t>(size);
}

bool DebugSession::write(uint64_t address, const void* data, size_t size) const {
    return pwrite(memory_, data, size, static_cast<off_t>(address)) == static_cast<ssize_t>(size);
}

cwsr::ReadArea DebugSession::reader_of(const kfd_queue_snapshot_entry& queue) const {
    return [this, queue](uint64_t offset, void* data, size_t size) {
        const uint64_t bytes = uint64_t{queue.ctx_save_restore_area_size} * first_gpu_xccs();
        return offset <= bytes && size <= bytes - offset && read(queue.ctx_save_restore_address + offset, data, size);
    };
}

}  // namespace lyra::guest
