// SPDX-License-Identifier: MIT
// What is asked of the driver while the GPU is reset. usage:
// during_reset enter    the runtime of a debugged program appears, so that the driver sets up debugging
//              leave    a debugger leaves
//              resume   a debugger resumes a queue, which its program is waiting for to destroy it
//              evict    buffers are moved out of VRAM
// Afterwards the next program is debugged, or its buffers are evicted and have to be as they were. Linux 6.12 ends with an
// oops in the first two; in the third, the program waits until another queue is resumed. After the last it copies no buffer
// ever again: each is lost when it is evicted.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kfdtest-ports/guest/kfd/debug_session.h"
#include "kfdtest-ports/guest/kfd/driver_view.h"
#include "kfdtest-ports/guest/kfd/gpu.h"

using namespace lyra::guest;

namespace {

constexpr double kPatience = 60;
constexpr int kResets = 8;
constexpr size_t kBuffers = 4, kBufferWords = size_t{2} << 20;
constexpr const char* kGo = "during_reset.go";

bool reset_is_under_way() {
    const int file = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    if (file >= 0) close(file);
    return file < 0 && errno == EINVAL;
}

/// Start a reset. @return the process that waits for its end; the GPU is stopped now, and will be for some tenths of a second
pid_t begin_reset() {
    const std::string file = debugfs_file("amdgpu_gpu_recover");
    const pid_t child = fork_child();
    if (child == 0) {
        read_file(file);
        std::_Exit(0);
    }
    if (!wait_for(kPatience, reset_is_under_way)) fail("the GPU is not reset");
    sleep_ms(100);  // what was running has to be stopped first
    if (!reset_is_under_way()) fail("the reset was over too soon");
    return child;
}

void end_reset(pid_t child) {
    int status = 1;
    require(waitpid(child, &status, 0) == child, "waitpid");
    if (reset_is_under_way()) fail("the reset does not end");
}

/// The program that is debugged. With "enter" it resets the GPU itself, before its runtime tells of itself; with "resume" it
/// destroys its queue when it may.
int debugged(const std::string& mode) {
    Gpu gpu;
    const pid_t resetting = mode == "enter" ? begin_reset() : 0;
    kfd_ioctl_runtime_enable_args runtime{};
    runtime.mode_mask = KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK;
    const bool enabled = gpu.call(AMDKFD_IOC_RUNTIME_ENABLE, &runtime) == 0;
    if (resetting != 0) {
        end_reset(resetting);
        std::printf("enter: the driver says %s\n", enabled ? "yes" : "no");
        return 0;
    }
    require(enabled, "RUNTIME_ENABLE");
    AqlQueue queue(gpu);
    if (!wait_for(kPatience, [] { return access(kGo, F_OK) == 0; })) fail("nobody tells the program to go on");
    const int error = queue.destroy();
    if (mode == "resume") std::printf("resume: destroying the queue gives %d\n", error);
    return 0;
}

std::vector<uint32_t> queue_ids(DebugSession& session) {
    std::vector<uint32_t> ids;
    for (const double end = now_s() + kPatience; ids.empty() && now_s() < end; session.serve(20)) {
        for (const kfd_queue_snapshot_entry& entry : session.queues()) ids.push_back(entry.queue_id);
    }
    if (ids.empty()) fail("the debugged program has no queue");
    return ids;
}

void let_go() { close(creat(kGo, 0600)); }

/// A program is debugged from its start to its end. @param mode what happens in between; "": nothing
void debug(char* program, std::string mode) {
    unlink(kGo);
    char word[] = "debugged";
    char* arguments[] = {program, word, mode.data(), nullptr};
    DebugSession session(arguments);
    if (mode == "enter") {
        if (session.finish() != 0) fail("the debugged program has failed");
        return;
    }
    const std::vector<uint32_t> ids = queue_ids(session);
    pid_t resetting = 0;
    if (mode == "resume") {
        if (session.suspend(ids) != ids.size()) fail("the queue is not suspended");
        let_go();
        session.serve(500);
    }
    if (!mode.empty()) resetting = begin_reset();
    if (mode == "resume") {
        session.resume(ids);
        for (const double end = now_s() + kPatience; session.serve(20);) {
            if (now_s() > end) fail("the program does not hear that its queue is resumed");
        }
    } else {
        let_go();
        if (session.finish() != 0) fail("the debugged program has failed");
    }
    if (resetting != 0) end_reset(resetting);
}

pid_t begin_eviction() {
    const std::string file = debugfs_file("amdgpu_evict_vram");
    const pid_t child = fork_child();
    if (child != 0) return child;
    for (;;) {
        read_file(file);
        sleep_ms(1);
    }
}

/// The read of the file ends when VRAM is empty, which may be when nobody has buffers any more: the driver brings them back.
void end_eviction(pid_t child) {
    kill(child, SIGKILL);
    require(waitpid(child, nullptr, 0) == child, "waitpid");
}

/// A process of its own fills buffers in VRAM, and looks at them until they are not as they were.
/// @return false: they are not
bool keep_buffers(double seconds) {
    const pid_t child = fork_child();
    if (child == 0) {
        Gpu gpu;
        std::vector<uint32_t*> buffers;
        const auto value = [&](size_t n, size_t at) { return static_cast<uint32_t>((n + 1) << 28 | at); };
        for (size_t n = 0; n < kBuffers; ++n) {
            buffers.push_back(gpu.allocate(kBufferWords * sizeof(uint32_t), Where::Vram).as<uint32_t>());
            for (size_t at = 0; at < kBufferWords; ++at) buffers[n][at] = value(n, at);
        }
        size_t lost = 0;
        for (const double end = now_s() + seconds; lost == 0 && now_s() < end; sleep_ms(50)) {
            for (size_t n = 0; n < kBuffers; ++n) {
                for (size_t at = 0; at < kBufferWords; ++at) lost += buffers[n][at] != value(n, at);
            }
        }
        std::_Exit(lost == 0 ? 0 : 1);
    }
    int status = 1;
    require(waitpid(child, &status, 0) == child, "waitpid");
    return status == 0;
}

/// What is in VRAM when the GPU is reset is lost, but not what comes there later.
void evict_during_resets() {
    const pid_t evicting = begin_eviction();
    const pid_t owner = fork_child();
    while (owner == 0) keep_buffers(kPatience);
    for (int n = 0; n < kResets; ++n) {
        sleep_ms(500);
        read_file(debugfs_file("amdgpu_gpu_recover"));  // comes back after the reset
    }
    kill(owner, SIGKILL);
    require(waitpid(owner, nullptr, 0) == owner, "waitpid");
    end_eviction(evicting);
}

void evict() {
    const pid_t evicting = begin_eviction();
    const bool kept = keep_buffers(3);
    end_eviction(evicting);
    if (!kept) fail("an evicted buffer is not what it was");
}

}  // namespace

int main(int count, char** arguments) {
    const std::string mode = count >= 2 ? arguments[1] : "";
    if (count == 3 && mode == "debugged") return debugged(arguments[2]);
    if (count != 2 || (mode != "enter" && mode != "leave" && mode != "resume" && mode != "evict"))
        fail("usage: during_reset enter|leave|resume|evict");
    slots();  // mounts debugfs
    if (mode == "evict") {
        evict_during_resets();
        evict();
    } else {
        debug(arguments[0], mode);
        debug(arguments[0], "");
    }
    std::printf("during_reset %s: PASSED\n", mode.c_str());
    return 0;
}
