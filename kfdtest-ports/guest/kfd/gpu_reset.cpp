// SPDX-License-Identifier: MIT
// Makes the driver reset the whole GPU while a process has running waves: the process is told, and afterwards new ones work.
// usage: gpu_reset recover|hang      by debugfs: amdgpu_gpu_recover, or a scheduler that does not answer any more (hang_hws)
#include <fcntl.h>
#include <signal.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "kfdtest-ports/guest/kfd/code.h"
#include "kfdtest-ports/guest/kfd/counting.h"
#include "kfdtest-ports/guest/kfd/driver_view.h"

using namespace lyra::guest;

namespace {

constexpr double kPatience = 120;
constexpr const char *kSucceeded = "succeeded!", *kFailed = "GPU reset end with ret";

/// The 6.1 kernel wakes those who wait for this event, and copies nothing about it.
bool kernel_copies_data() {
    utsname name{};
    require(uname(&name) == 0, "uname");
    return std::strncmp(name.release, "6.1.", 4) != 0;
}

/// Has running waves until it is told of a reset.
[[noreturn]] void victim(int tell) {
    Gpu gpu;
    Event reset(gpu, KFD_IOC_EVENT_HW_EXCEPTION);
    const Memory code = gpu.load(code_count());
    AqlQueue queue(gpu);
    Counting grid(gpu, 100, ~0u, 1000, 1);
    grid.start(queue, code);
    if (!wait_for(60, [&] { return grid.progress() != 0; })) fail("the kernel does not run");
    require(write(tell, "x", 1) == 1, "pipe");
    kfd_event_data data;
    if (!reset.wait(kPatience, data)) fail("no event tells of a reset");
    std::printf("the process is told of a reset: cause %u, memory lost %u\n", data.hw_exception_data.reset_cause,
                data.hw_exception_data.memory_lost);
    std::fflush(stdout);
    if (kernel_copies_data() && data.hw_exception_data.memory_lost != 1) fail("the memory is said to be there");
    std::_Exit(0);
}

void recover() { std::printf("gpu_recover says %s", read_file(debugfs_file("amdgpu_gpu_recover")).c_str()); }

void hang() {
    const int file = open("/sys/kernel/debug/kfd/hang_hws", O_WRONLY);
    require(file >= 0, "hang_hws");
    const std::string id = std::to_string(first_gpu_id());
    require(write(file, id.data(), id.size()) == static_cast<ssize_t>(id.size()), "hang_hws");
    close(file);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) fail("usage: gpu_reset recover|hang");
    slots();  // mounts debugfs
    const unsigned before = log_lines(kSucceeded), failed = log_lines(kFailed);
    int ends[2];
    require(pipe(ends) == 0, "pipe");
    const pid_t child = fork_child();
    if (child == 0) victim(ends[1]);
    close(ends[1]);
    char byte;
    if (read(ends[0], &byte, 1) != 1) fail("the process with running waves ended by itself");
    const double began = now_s();
    if (std::strcmp(arguments[1], "hang") == 0)
        hang();
    else
        recover();
    if (!wait_for(kPatience, [&] { return log_lines(kSucceeded) > before || log_lines(kFailed) > failed; })) fail("no reset");
    if (log_lines(kFailed) > failed) fail("the reset failed");
    std::printf("reset after %.1f s\n", now_s() - began);
    int status = 1;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("the process with running waves has failed");
    if (!new_process_counts()) fail("a new process does not work");
    if (!wait_for(20, [] { return processes() == 0 && active_slots() == 0; })) fail("the queue slots are not free");
    std::printf("gpu_reset: PASSED\n");
    return 0;
}
