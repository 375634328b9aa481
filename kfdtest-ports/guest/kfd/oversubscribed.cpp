// SPDX-License-Identifier: MIT
// Twelve processes with four queues each: more queues than the GPU has slots (24), more processes than it has VMIDs (8). Their
// long kernels make progress together until each has done STEPS steps on average, and every result is right.
// usage: oversubscribed [STEPS]
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
    std::atomic<bool> go, stop;
    std::atomic<uint32_t> progress[kProcesses * kQueues];
};

int run(Shared& shared, unsigned process) {
    Gpu gpu;
    const Memory code = gpu.load(code_count());
    std::vector<std::unique_ptr<AqlQueue>> queues;
    std::vector<Counting> grids;
    for (unsigned n = 0; n < kQueues; ++n) {
        queues.push_back(std::make_unique<AqlQueue>(gpu));
        grids.emplace_back(gpu, kGroups, ~0u, kRounds, process * kQueues + n);
    }
    ++shared.ready;
    wait_for(kPatience, [&] { return shared.go.load(); });
    for (unsigned n = 0; n < kQueues; ++n) grids[n].start(*queues[n], code);
    const bool stopped = wait_for(kPatience, [&] {
        for (unsigned n = 0; n < kQueues; ++n) shared.progress[process * kQueues + n] = grids[n].progress();
        return shared.stop.load();
    });
    for (Counting& grid : grids) grid.stop();
    const bool done = wait_for(kPatience, [&] {
        return std::all_of(grids.begin(), grids.end(),
                           [&](const Counting& grid) { return grid.done(*queues[&grid - grids.data()]); });
    });
    return stopped && done && std::all_of(grids.begin(), grids.end(), [](const Counting& grid) { return grid.right(); }) ? 0
                                                                                                                         : 1;
}

std::vector<uint32_t> progress_of_all(const Shared& shared) { return {std::begin(shared.progress), std::end(shared.progress)}; }

}  // namespace

int main(int count, char** arguments) {
    const uint32_t steps = count > 1 ? static_cast<uint32_t>(std::atoi(arguments[1])) : 200;
    auto* shared =
        static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    require(shared != MAP_FAILED, "mmap");
    std::vector<pid_t> children;
    for (unsigned n = 0; n < kProcesses; ++n) {
        children.push_back(fork_child());
        if (children.back() == 0) std::_Exit(run(*shared, n));
    }
    if (!wait_for(kPatience, [&] { return shared->ready == kProcesses; })) fail("the processes do not come up");
    const double began = now_s();
    shared->go = true;
    // The processes start one after the other, and the first ones have the GPU for themselves: shares count from when all have
    // begun.
    std::vector<uint32_t> before;
    const bool all_begun = wait_for(kPatience, [&] {
        before = progress_of_all(*shared);
        return std::find(before.begin(), before.end(), 0) == before.end();
    });
    const double begun = now_s();
    std::vector<uint32_t> done;
    unsigned most_slots = 0;
    size_t most_vmids = 0;
    const bool enough = all_begun && wait_for(kPatience, [&] {
                            uint64_t sum = 0;
                            done = progress_of_all(*shared);
                            for (unsigned n = 0; n < done.size(); ++n) sum += done[n] -= before[n];
                            unsigned active = 0;
                            std::set<uint32_t> vmids;
                            for (const SlotView& slot : slots()) {
                                if (!slot.active) continue;
                                ++active;
                                vmids.insert(slot.vmid);
                            }
                            most_slots = std::max(most_slots, active);
                            most_vmids = std::max(most_vmids, vmids.size());
                            return sum >= uint64_t{steps} * done.size();
                        });
    const double ended = now_s();
    shared->stop = true;
    unsigned right = 0;
    for (const pid_t child : children) {
        int status = 1;
        waitpid(child, &status, 0);
        right += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    std::printf("all have begun after %.1f s, all are done after %.1f s, %u processes have right results\n", begun - began,
                now_s() - began, right);
    if (right != kProcesses) fail("wrong or missing results");
    if (!enough) fail("not enough steps in time");
    const auto [least, most] = std::minmax_element(done.begin(), done.end());
    std::printf("in %.1f s the queues do %u steps on average, the slowest %u, the fastest %u; %u slots and %zu VMIDs at most\n",
                ended - begun, steps, *least, *most, most_slots, most_vmids);
    if (*least < steps / 4) fail("the queues do not share the GPU");
    if (most_slots > kSlots || most_vmids > kVmids) fail("more slots or VMIDs than there are");
    std::printf("oversubscribed: PASSED\n");
    return 0;
}
