// SPDX-License-Identifier: MIT
// Queues that are not what the driver's scheduler usually meets, while its policy is on. usage:
// displaced suspended    one of high priority that a debugger has suspended: others run meanwhile, and do not when it is back
//           unreadable   one of low priority whose pointers its process has unmapped: it is parked like any other
//           userfault    one of low priority whose process would never answer a fault at its pointers or its ring: nobody waits
//                        for that, it is parked like any other, and its end is noticed
//           crowd        a process with more queues than its share: none of them keeps one of high priority waiting
#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>

#include "kfdtest-ports/guest/kfd/code.h"
#include "kfdtest-ports/guest/kfd/counting.h"
#include "kfdtest-ports/guest/kfd/debug_session.h"

using namespace lyra::guest;

namespace {

constexpr double kPatience = 60;
constexpr unsigned kLow = 2, kHigh = 15;
constexpr uint32_t kGroups = 6, kRounds = 2000, kEndless = ~0u;
constexpr const char* kStop = "displaced.stop";

/// What parent and child tell each other.
struct Shared {
    std::atomic<uint32_t> progress;
    std::atomic<bool> stop, stopped;
};

/// The program that is debugged: a queue of high priority with work that does not end.
int debugged() {
    Gpu gpu;
    kfd_ioctl_runtime_enable_args runtime{};
    runtime.mode_mask = KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK;
    require(gpu.call(AMDKFD_IOC_RUNTIME_ENABLE, &runtime) == 0, "RUNTIME_ENABLE");
    const Memory code = gpu.load(code_count());
    AqlQueue queue(gpu, 64, kHigh);
    Counting grid(gpu, kGroups, kEndless, kRounds, 1);
    grid.start(queue, code);
    while (access(kStop, F_OK) != 0) sleep_ms(20);
    grid.stop();
    return wait_for(kPatience, [&] { return grid.done(queue); }) && grid.right() ? 0 : 1;
}

/// @return whether a grid makes progress within some seconds of serving the debugged program
bool moves(const Counting& grid, DebugSession& session, double seconds) {
    const uint32_t before = grid.progress();
    for (const double end = now_s() + seconds; now_s() < end;) {
        if (!session.serve(20)) fail("the debugged program has ended");
        if (grid.progress() != before) return true;
    }
    return false;
}

int suspended(char* program) {
    unlink(kStop);
    char mode[] = "debugged";
    char* arguments[] = {program, mode, nullptr};
    DebugSession session(arguments);
    std::vector<uint32_t> ids;
    for (const double end = now_s() + kPatience; ids.empty() && now_s() < end;) {
        session.serve(20);
        for (const kfd_queue_snapshot_entry& entry : session.queues()) ids.push_back(entry.queue_id);
    }
    if (ids.size() != 1) fail("the debugged program has no queue");
    session.serve(500);
    if (session.suspend(ids) != 1) fail("the queue is not suspended");

    Gpu gpu;
    const Memory code = gpu.load(code_count());
    AqlQueue queue(gpu, 64, kLow);
    Counting grid(gpu, kGroups, kEndless, kRounds, 2);
    grid.start(queue, code);
    if (!moves(grid, session, kPatience)) fail("a suspended queue keeps others from the GPU");
    session.serve(500);
    if (session.resume(ids) != 1) fail("the queue is not resumed");
    session.serve(1000);  // until it is parked
    if (moves(grid, session, 2)) fail("the queue that is back does not displace the other");
    close(creat(kStop, 0600));
    if (session.finish() != 0) fail("the debugged program has wrong results");
    grid.stop();
    if (!wait_for(kPatience, [&] { return grid.done(queue); }) || !grid.right()) fail("wrong results after being parked");
    return 0;
}

/// The pointers are no memory of the process any more. The driver has their buffers.
void unmap_pointers(const QueueMemory& memory) {
    for (const Memory& pointer : memory.pointers) require(munmap(pointer.at, pointer.bytes) == 0, "munmap of a pointer");
}

/// Whoever touches pointers or ring from now on by way of the process waits for an answer that never comes.
void hide_behind_faults(const QueueMemory& memory) {
    const auto faults = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC));
    require(faults >= 0, "userfaultfd");
    uffdio_api api{};
    api.api = UFFD_API;
    require(ioctl(faults, UFFDIO_API, &api) == 0, "UFFDIO_API");
    for (const Memory& each : {memory.ring, memory.pointers[0], memory.pointers[1]}) {
        void* at = mmap(each.at, each.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        require(at == each.at, "mmap over memory of the queue");
        uffdio_register area{};
        area.range = {each.address(), each.bytes};
        area.mode = UFFDIO_REGISTER_MODE_MISSING;
        require(ioctl(faults, UFFDIO_REGISTER, &area) == 0, "UFFDIO_REGISTER");
    }
}

/// A low queue that works in a process of its own, which then does something to the queue's memory.
pid_t start_low(Shared& shared, void (*hide)(const QueueMemory&)) {
    const pid_t child = fork_child();
    if (child != 0) return child;
    Gpu gpu;
    const Memory code = gpu.load(code_count());
    AqlQueue queue(gpu, 64, kLow);
    Counting grid(gpu, kGroups, kEndless, kRounds, 3);
    grid.start(queue, code);
    if (!wait_for(kPatience, [&] { return grid.progress() != 0; })) fail("the low queue does not run");
    hide(queue.memory());
    while (!shared.stop) {
        shared.progress = grid.progress();
        sleep_ms(5);
    }
    grid.stop();
    if (!wait_for(kPatience, [&] { return grid.done(queue); }) || !grid.right()) std::_Exit(1);
    shared.stopped = true;
    while (shared.stop) sleep_ms(5);
    std::_Exit(0);  // nothing touches that memory any more
}

struct Row {
    unsigned wants, allowed;
};

/// The queue of low priority in the scheduler's table.
std::optional<Row> low_in_table() {
    std::istringstream table(read_file("/sys/kernel/debug/kfd/sched"));
    for (std::string line; std::getline(table, line);) {
        unsigned pasid, queue, priority, wants, blocked, allowed;
        std::istringstream row(line);
        if (row >> pasid >> queue >> priority >> wants >> blocked >> allowed && priority == kLow) return Row{wants, allowed};
    }
    return {};
}

bool low_is_parked() {
    const std::optional<Row> row = low_in_table();
    return row && row->allowed == 0;
}

bool low_is_idle() {
    const std::optional<Row> row = low_in_table();
    return row && row->wants == 0;
}

int hidden(void (*hide)(const QueueMemory&)) {
    Shared& shared = shared_with_children<Shared>();
    const pid_t child = start_low(shared, hide);
    const auto moved = [&](double seconds) {
        const uint32_t before = shared.progress;
        return wait_for(seconds, [&] { return shared.progress != before; });
    };
    if (!moved(kPatience)) fail("the low queue does not go on without its pointers");
    Gpu gpu;
    const Memory code = gpu.load(code_count());
    AqlQueue queue(gpu, 64, kHigh);
    Counting grid(gpu, kGroups, kEndless, kRounds, 4);
    grid.start(queue, code);
    if (!wait_for(kPatience, [&] { return grid.progress() != 0; })) fail("the high queue does not run");
    if (!wait_for(kPatience, low_is_parked)) fail("the low queue is not parked");
    grid.stop();
    if (!wait_for(kPatience, [&] { return grid.done(queue); }) || !grid.right()) fail("the high queue has wrong results");
    if (!moved(kPatience)) fail("the low queue does not come back");
    shared.stop = true;
    if (!wait_for(kPatience, [&] { return shared.stopped.load(); })) fail("the low queue does not end");
    if (!wait_for(kPatience, low_is_idle)) fail("the low queue's end is not noticed");
    shared.stop = false;
    int status = 1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int crowd() {
    constexpr unsigned kQueues = 40;
    Shared& shared = shared_with_children<Shared>();
    const pid_t child = fork_child();
    if (child == 0) {
        if (!wait_for(kPatience, [&] { return shared.progress != 0; })) std::_Exit(1);
        Gpu own;
        const Memory own_code = own.load(code_count());
        AqlQueue queue(own, 64, kHigh);
        Counting grid(own, kGroups, kEndless, kRounds, 5);
        grid.start(queue, own_code);
        while (access(kStop, F_OK) != 0) sleep_ms(20);
        grid.stop();
        std::_Exit(wait_for(kPatience, [&] { return grid.done(queue); }) && grid.right() ? 0 : 1);
    }
    Gpu gpu;
    const Memory code = gpu.load(code_count());
    std::vector<std::unique_ptr<AqlQueue>> queues;
    std::vector<std::unique_ptr<Counting>> grids;
    for (unsigned n = 0; n < kQueues; ++n) {
        queues.push_back(std::make_unique<AqlQueue>(gpu, 64, kLow));
        grids.push_back(std::make_unique<Counting>(gpu, kGroups, kEndless, kRounds, n));
        grids.back()->start(*queues.back(), code);
    }
    const auto progress = [&] {
        uint64_t sum = 0;
        for (const auto& grid : grids) sum += grid->progress();
        return sum;
    };
    if (!wait_for(kPatience, [&] { return progress() != 0; })) fail("the crowd does not run");
    shared.progress = 1;
    // Parked in the end: all of them.
    if (!wait_for(kPatience, [&] {
            const uint64_t before = progress();
            sleep_ms(1000);
            return progress() == before;
        }))
        fail("some of the crowd are not parked");
    std::printf("untracked %s\n",
                read_file("/sys/kernel/debug/kfd/sched").find("untracked 8") != std::string::npos ? "8" : "?");
    close(creat(kStop, 0600));
    int status = 1;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("the queue of high priority has failed");
    for (unsigned n = 0; n < kQueues; ++n) grids[n]->stop();
    for (unsigned n = 0; n < kQueues; ++n)
        if (!wait_for(kPatience, [&] { return grids[n]->done(*queues[n]); }) || !grids[n]->right())
            fail("wrong results of the crowd");
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    const std::string mode = count == 2 ? arguments[1] : "";
    if (mode == "debugged") return debugged();
    unlink(kStop);
    int status = 1;
    if (mode == "suspended")
        status = suspended(arguments[0]);
    else if (mode == "unreadable")
        status = hidden(unmap_pointers);
    else if (mode == "userfault")
        status = hidden(hide_behind_faults);
    else if (mode == "crowd")
        status = crowd();
    else
        fail("usage: displaced suspended|unreadable|userfault|crowd");
    if (status != 0) fail("failed");
    std::printf("displaced %s: PASSED\n", mode.c_str());
    return 0;
}
