// SPDX-License-Identifier: MIT
// Debuggers come and go while the program that they debug makes queues, of which the driver tells them.
// usage: debug_events SECONDS
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "kfdtest-ports/guest/kfd/gpu.h"

using namespace lyra::guest;

namespace {

constexpr double kPatience = 60;
constexpr unsigned kThreads = 3;

struct Shared {
    std::atomic<bool> stop;
    std::atomic<uint64_t> queues;
};

[[noreturn]] void make_queues(Shared& shared) {
    Gpu gpu;
    std::vector<std::thread> threads;
    for (unsigned n = 0; n < kThreads; ++n) {
        threads.emplace_back([&] {
            AqlQueue queue(gpu);
            while (!shared.stop) {
                require(queue.destroy() == 0, "DESTROY_QUEUE");
                queue.create();
                ++shared.queues;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    std::_Exit(0);
}

}  // namespace

int main(int count, char** arguments) {
    const double seconds = count == 2 ? std::atof(arguments[1]) : 0;
    if (seconds <= 0) fail("usage: debug_events SECONDS");
    Shared& shared = shared_with_children<Shared>();
    const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC), events = open("/dev/null", O_WRONLY | O_CLOEXEC);
    require(kfd >= 0 && events >= 0, "/dev/kfd or /dev/null");
    const pid_t child = fork_child();
    if (child == 0) {
        close(kfd);  // of another process
        make_queues(shared);
    }
    require(ptrace(PTRACE_SEIZE, child, nullptr, PTRACE_O_EXITKILL) == 0, "PTRACE_SEIZE");
    if (!wait_for(kPatience, [&] { return shared.queues != 0; })) fail("no queue is made");

    uint64_t sessions = 0;
    for (const double end = now_s() + seconds; now_s() < end; ++sessions) {
        kfd_runtime_info runtime{};
        kfd_ioctl_dbg_trap_args enable{}, disable{};
        enable.pid = disable.pid = static_cast<uint32_t>(child);
        enable.op = KFD_IOC_DBG_TRAP_ENABLE;
        enable.enable.exception_mask = KFD_EC_MASK(EC_QUEUE_NEW);
        enable.enable.rinfo_ptr = reinterpret_cast<uint64_t>(&runtime);
        enable.enable.rinfo_size = sizeof runtime;
        enable.enable.dbg_fd = static_cast<uint32_t>(events);
        disable.op = KFD_IOC_DBG_TRAP_DISABLE;
        require(ioctl(kfd, AMDKFD_IOC_DBG_TRAP, &enable) == 0, "DBG_TRAP_ENABLE");
        require(ioctl(kfd, AMDKFD_IOC_DBG_TRAP, &disable) == 0, "DBG_TRAP_DISABLE");
    }
    const uint64_t queues = shared.queues;
    if (!wait_for(kPatience, [&] { return shared.queues != queues; })) fail("no queue is made any more");
    shared.stop = true;
    int status = 1;
    if (!wait_for(kPatience, [&] { return waitpid(child, &status, WNOHANG | __WALL) == child && !WIFSTOPPED(status); }))
        fail("the debugged program does not end");
    std::printf("sessions %llu queues %llu\n", static_cast<unsigned long long>(sessions),
                static_cast<unsigned long long>(shared.queues.load()));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("the debugged program has failed");
    std::printf("debug_events: PASSED\n");
    return 0;
}
