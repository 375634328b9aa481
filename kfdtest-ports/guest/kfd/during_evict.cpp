// SPDX-License-Identifier: MIT
// Processes that have page tables only in VRAM are killed while it is evicted again and again, at the moment when they have
// just been restored and the next eviction waits for a while: each is gone soon after, with its memory.
// usage: during_evict TIMES
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "kfdtest-ports/guest/kfd/code.h"
#include "kfdtest-ports/guest/kfd/counting.h"
#include "kfdtest-ports/guest/kfd/driver_view.h"

using namespace lyra::guest;

namespace {

constexpr double kPatience = 60;
/// A driver that waits for an eviction which nobody ends gives up after 15 seconds.
constexpr double kSoon = 10;
constexpr double kEvicted = 0.03;  ///< s without progress; the driver restores after 100 ms
constexpr unsigned kSpreadMs = 4;

/// Ends itself some milliseconds after it was restored. @param killed  receives when
[[noreturn]] void run_until_restored(unsigned later_ms, std::atomic<double>& killed) {
    Gpu gpu;
    const Memory code = gpu.load(code_count());
    AqlQueue queue(gpu, 64, AqlQueue::kNormalPriority, Where::System);
    Counting grid(gpu, 2, ~0u, 100, 1);
    grid.start(queue, code);
    if (!wait_for(kPatience, [&] { return grid.progress() != 0; })) fail("the queue does not run");
    uint32_t before = grid.progress();
    double since = now_s();
    for (const double end = since + kPatience; now_s() < end;) {
        const uint32_t now = grid.progress();
        if (now == before) continue;
        if (now_s() - since > kEvicted) {
            for (const double then = now_s() + later_ms * 1e-3; now_s() < then;) {}
            killed = now_s();
            kill(getpid(), SIGKILL);
        }
        before = now;
        since = now_s();
    }
    fail("the program is not evicted");
}

}  // namespace

int main(int count, char** arguments) {
    const int times = count == 2 ? std::atoi(arguments[1]) : 0;
    if (times <= 0) fail("usage: during_evict TIMES");
    slots();  // mounts debugfs
    const std::string evict = debugfs_file("amdgpu_evict_vram");
    const pid_t evictor = fork_child();
    while (evictor == 0) read_file(evict);
    auto& killed = shared_with_children<std::atomic<double>>();
    // What the driver says when memory of a process is left over.
    const unsigned left_over = log_lines("still active bo");
    double longest = 0;
    for (int n = 0; n < times; ++n) {
        killed = 0;
        const pid_t child = fork_child();
        if (child == 0) run_until_restored(static_cast<unsigned>(n) % kSpreadMs, killed);
        int status = 0;
        if (!wait_for(2 * kPatience, [&] { return waitpid(child, &status, WNOHANG) == child; }) ||
            !wait_for(2 * kPatience, [] { return processes() == 0; }))
            fail("round " + std::to_string(n) + ": the process does not end");
        if (killed == 0) fail("round " + std::to_string(n) + ": the process has not ended itself");
        longest = std::max(longest, now_s() - killed);
        if (longest > kSoon)
            fail("round " + std::to_string(n) + ": the process ended only " + std::to_string(longest) +
                 " s after it was killed");
    }
    kill(evictor, SIGKILL);
    waitpid(evictor, nullptr, 0);
    if (log_lines("still active bo") != left_over) fail("memory of a process was not freed");
    std::printf("longest end of a process %.1f s\nduring_evict: PASSED\n", longest);
    return 0;
}
