// SPDX-License-Identifier: MIT
// Twelve processes with four queues each: more queues than the GPU has slots (24), more processes than it has VMIDs (8). Their
// long kernels make progress together, and every result is right. usage: oversubscribed [STEPS]
#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>

#include "kfdtest-ports/guest/kfd/code.h"
#include "kfdtest-ports/guest/kfd/counting.h"
#include "kfdtest-ports/guest/kfd/driver_view.h"

using namespace lyra::guest;

namespace {

constexpr unsigned kProcesses = 12, kQueues = 4, kSlots = 24, kVmids = 8;
constexpr uint32_t kGroups = 2, kRounds = 2000;
constexpr double kPatience = 300;

/// What the processes tell each other.
struct Shared {
    std::atomic<unsigned> ready;
    std::atomic<bool> go;
    std::atomic<uint32_t> progress[kProcesses * kQueues];
};

int run(Shared& shared, unsigned process, uint32_t steps) {
    Gpu gpu;
    const Memory code = gpu.load(code_count());
    std::vector<std::unique_ptr<AqlQueue>> queues;
    std::vector<Counting> grids;
    for (unsigned n = 0; n < kQueues; ++n) {
        queues.push_back(std::make_unique<AqlQueue>(gpu));
        grids.emplace_back(gpu, kGroups, steps, kRounds, process * kQueues + n);
    }
    ++shared.ready;
    wait_for(kPatience, [&] { return shared.go.load(); });
    for (unsigned n = 0; n < kQueues; ++n) grids[n].start(*queues[n], code);
    const bool done = wait_for(kPatience, [&] {
        unsigned ended = 0;
        for (unsigned n = 0; n < kQueues; ++n) {
            shared.progress[process * kQueues + n] = grids[n].progress();
            ended += grids[n].done(*queues[n]);
        }
        return ended == kQueues;
    });
    return done && std::all_of(grids.begin(), grids.end(), [](const Counting& grid) { return grid.right(); }) ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
    const uint32_t steps = count > 1 ? static_cast<uint32_t>(std::atoi(arguments[1])) : 400;
    auto* shared = static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    require(shared != MAP_FAILED, "mmap");
    std::vector<pid_t> children;
    for (unsigned n = 0; n < kProcesses; ++n) {
        children.push_back(fork_child());
        if (children.back() == 0) std::_Exit(run(*shared, n, steps));
    }
    if (!wait_for(kPatience, [&] { return shared->ready == kProcesses; })) fail("the processes do not come up");
    const double began = now_s();
    shared->go = true;
    uint32_t least = 0, most = 0;
    unsigned most_slots = 0;
    size_t most_vmids = 0;
    wait_for(kPatience, [&] {
        least = steps;
        for (const auto& progress : shared->progress) {
            least = std::min<uint32_t>(least, progress);
            most = std::max<uint32_t>(most, progress);
        }
        if (least == 0) return false;  // looking at the slots takes time
        unsigned active = 0;
        std::set<uint32_t> vmids;
        for (const SlotView& slot : slots()) {
            if (!slot.active) continue;
            ++active;
            vmids.insert(slot.vmid);
        }
        most_slots = std::max(most_slots, active);
        most_vmids = std::max(most_vmids, vmids.size());
        return most == steps;
    });
    std::printf("after %.1f s the first queue is done, the last one has done %u of %u steps; %u slots and %zu VMIDs at most\n",
                now_s() - began, least, steps, most_slots, most_vmids);
    unsigned right = 0;
    for (const pid_t child : children) {
        int status = 1;
        waitpid(child, &status, 0);
        right += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    std::printf("after %.1f s all are done, %u processes have right results\n", now_s() - began, right);
    if (right != kProcesses) fail("wrong or missing results");
    if (least < steps / 4) fail("the queues do not share the GPU");
    if (most_slots > kSlots || most_vmids > kVmids) fail("more slots or VMIDs than there are");
    std::printf("oversubscribed: PASSED\n");
    return 0;
}
