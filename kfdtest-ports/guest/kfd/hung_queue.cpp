// SPDX-License-Identifier: MIT
// A queue whose waves stay in the trap handler cannot be saved: its pre-emption fails, and the driver resets it. The process is
// told; its other queue and other processes go on. Kernels that cannot reset one queue (6.1) reset the whole GPU.
// usage: hung_queue queue|gpu      what has to be reset
//        hung_queue parked         a queue, because the driver's scheduler wants to take it away for one of higher priority
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "kfdtest-ports/guest/kfd/code.h"
#include "kfdtest-ports/guest/kfd/counting.h"
#include "kfdtest-ports/guest/kfd/driver_view.h"

using namespace lyra::guest;

namespace {

/// The driver waits 9 s for a pre-emption; a reset of the GPU under emulation takes some more.
constexpr double kPatience = 60;
/// Work-groups of one wave: some of them wait for room, so that the scheduler sees work, also that of the other queue.
constexpr unsigned kMoreThanTheGpu = 64 * 40 + 1;
constexpr const char *kQueueReset = "is reset", *kGpuReset = "GPU reset(";

void set_trap_handler(Gpu& gpu, const Memory& code) {
    kfd_ioctl_set_trap_handler_args set{};
    set.tba_addr = code.address();
    set.gpu_id = gpu.id();
    require(gpu.call(AMDKFD_IOC_SET_TRAP_HANDLER, &set) == 0, "SET_TRAP_HANDLER");
}

/// Runs grid after grid until it is told to stop. Its status says whether all results were right.
pid_t start_neighbour(int& stop) {
    int ends[2];
    require(pipe(ends) == 0, "pipe");
    const pid_t child = fork_child();
    stop = ends[1];
    if (child != 0) {
        close(ends[0]);
        return child;
    }
    close(ends[1]);
    require(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0, "pipe");
    Gpu gpu;
    const Memory code = gpu.load(code_count());
    AqlQueue queue(gpu);
    Counting grid(gpu, 8, 100, 1000, 3);
    unsigned grids = 0;
    for (bool last = false; !last; ++grids) {
        char byte;
        grid.start(queue, code);
        if (!wait_for(kPatience, [&] { return grid.done(queue); })) fail("the neighbour's kernel does not end");
        if (!grid.right()) fail("the neighbour has wrong results");
        grid.clear();
        last = read(ends[0], &byte, 1) == 0;  // the parent has closed its end
    }
    std::printf("the neighbour has run %u grids, all right\n", grids);
    std::fflush(stdout);
    std::_Exit(0);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) fail("usage: hung_queue queue|gpu|parked");
    const bool parked = std::strcmp(arguments[1], "parked") == 0;
    const bool whole_gpu = std::strcmp(arguments[1], "gpu") == 0;
    const unsigned queue_resets = log_lines(kQueueReset), gpu_resets = log_lines(kGpuReset);
    int stop = -1;
    const pid_t neighbour = whole_gpu || parked ? -1 : start_neighbour(stop);

    const pid_t hostile = fork_child();
    if (hostile == 0) {
        if (stop >= 0) close(stop);
        Gpu gpu;
        Event reset(gpu, KFD_IOC_EVENT_HW_EXCEPTION);
        const Memory handler = gpu.load(code_spin()), trap = gpu.load(code_trap()), code = gpu.load(code_count());
        set_trap_handler(gpu, handler);
        const Memory words = gpu.allocate(16), flag = gpu.allocate(4);
        *words.as<uint64_t>() = flag.address();
        AqlQueue hung(gpu, 64, 0);
        std::unique_ptr<AqlQueue> other;
        if (parked) other = std::make_unique<AqlQueue>(gpu);
        const unsigned signal = hung.dispatch(trap, parked ? kMoreThanTheGpu : 4, 64, words);
        if (!wait_for(30, [&] { return *flag.as<volatile uint32_t>() != 0; })) fail("the hostile kernel does not run");
        sleep_ms(50);  // all waves are in the trap handler

        kfd_event_data data;
        const double began = now_s();
        Counting grid(gpu, 8, 20, 100, 9);
        if (whole_gpu) {
            if (hung.update(50) != ETIME) fail("pre-emption of the hung queue does not time out");
        } else if (parked) {
            grid.start(*other, code);
        } else {
            other = std::make_unique<AqlQueue>(gpu);  // pre-empts every queue
        }
        if (!reset.wait(kPatience, data)) fail("no event tells of a reset");
        std::printf("told of a reset after %.1f s: cause %u, memory lost %u\n", now_s() - began,
                    data.hw_exception_data.reset_cause, data.hw_exception_data.memory_lost);
        if (data.hw_exception_data.reset_cause != KFD_HW_EXCEPTION_GPU_HANG) fail("wrong cause");
        if (hung.done(signal)) fail("the hostile kernel has ended");
        if (other) {
            if (!parked) grid.start(*other, code);
            if (!wait_for(kPatience, [&] { return grid.done(*other); })) fail("the other queue of the process does not work");
            if (!grid.right()) fail("the other queue of the process has wrong results");
            std::printf("the other queue of the process works\n");
        }
        std::fflush(stdout);
        std::_Exit(0);
    }
    int status = 1;
    waitpid(hostile, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("the hostile process has failed");
    if (neighbour >= 0) {
        close(stop);
        waitpid(neighbour, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("the neighbour has failed");
    }
    // Processes are told when the reset begins.
    if (whole_gpu && !wait_for(kPatience, [&] { return log_lines(kGpuReset) > gpu_resets; })) fail("the reset does not end");
    const unsigned new_gpu_resets = log_lines(kGpuReset) - gpu_resets, new_queue_resets = log_lines(kQueueReset) - queue_resets;
    std::printf("the kernel's log tells of %u queues and %u GPUs that were reset\n", new_queue_resets, new_gpu_resets);
    // The driver resets a queue on each XCC.
    if (whole_gpu ? new_gpu_resets == 0 : new_gpu_resets != 0 || new_queue_resets != first_gpu_xccs())
        fail("not what has to be reset");
    if (!new_process_counts()) fail("a new process does not work");
    if (!wait_for(20, [] { return processes() == 0 && active_slots() == 0; })) fail("the queue slots are not free");
    std::printf("hung_queue: PASSED\n");
    return 0;
}
