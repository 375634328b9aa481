// SPDX-License-Identifier: MIT
// A process with endless waves all over the GPU is killed, again and again: each time its queue slots and memory are free
// again. In the end all wave slots, all LDS and all VMIDs can be had. usage: killed [TIMES]
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>

#include "kfdtest-ports/guest/kfd/code.h"
#include "kfdtest-ports/guest/kfd/counting.h"
#include "kfdtest-ports/guest/kfd/driver_view.h"

using namespace lyra::guest;

namespace {

constexpr unsigned kQueues = 4, kProcesses = 8;
constexpr uint32_t kGroups = 60;  ///< of each queue: together not more waves than the GPU has slots
constexpr uint32_t kLdsBytes = 65536;

/// Never returns. Writes a byte to tell when all of its queues have running waves.
[[noreturn]] void run_endless(int tell, unsigned queue_count, uint32_t groups) {
    Gpu gpu;
    gpu.allocate(64 << 20, Where::Vram);
    const Memory code = gpu.load(code_count());
    std::vector<std::unique_ptr<AqlQueue>> queues;
    std::vector<Counting> grids;
    for (unsigned n = 0; n < queue_count; ++n) {
        queues.push_back(std::make_unique<AqlQueue>(gpu));
        grids.emplace_back(gpu, groups, ~0u, 1000, n);
        grids.back().start(*queues.back(), code);
    }
    for (const Counting& grid : grids) {
        if (!wait_for(60, [&] { return grid.progress() != 0; })) fail("a queue does not run");
    }
    require(write(tell, "x", 1) == 1, "pipe");
    while (true) pause();
}

pid_t start(unsigned queue_count, uint32_t groups) {
    int ends[2];
    require(pipe(ends) == 0, "pipe");
    const pid_t child = fork_child();
    if (child == 0) {
        close(ends[0]);
        run_endless(ends[1], queue_count, groups);
    }
    close(ends[1]);
    char byte;
    if (read(ends[0], &byte, 1) != 1) fail("the process ended by itself");
    close(ends[0]);
    return child;
}

void end(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

/// The driver gives things back in the background.
void check_all_free(const MemoryView& before, unsigned round) {
    const bool free = wait_for(20, [&] {
        const MemoryView now = memory_in_use();
        return processes() == 0 && active_slots() == 0 && now.vram_bytes <= before.vram_bytes &&
               now.gtt_bytes <= before.gtt_bytes;
    });
    if (free) return;
    const MemoryView now = memory_in_use();
    fail("round " + std::to_string(round) + ": " + std::to_string(processes()) + " processes, " +
         std::to_string(active_slots()) + " slots, VRAM " + std::to_string(before.vram_bytes) + " -> " +
         std::to_string(now.vram_bytes) + ", GTT " + std::to_string(before.gtt_bytes) + " -> " + std::to_string(now.gtt_bytes));
}

/// A grid whose waves wait for each other.
void gather(Gpu& gpu, const char* what, uint32_t groups, uint32_t lds_bytes) {
    struct Arguments {
        uint64_t counter;
        uint32_t waves;
    };
    const Memory arguments = gpu.allocate(sizeof(Arguments)), counter = gpu.allocate(sizeof(uint32_t));
    *arguments.as<Arguments>() = {counter.address(), groups};
    const Memory code = gpu.load(code_gather());
    AqlQueue queue(gpu);
    const unsigned signal = queue.dispatch(code, groups, 64, arguments, lds_bytes);
    if (!wait_for(60, [&] { return queue.done(signal); })) {
        fail(std::string(what) + ": only " + std::to_string(*counter.as<uint32_t>()) + " of " + std::to_string(groups) +
             " waves at a time");
    }
    std::printf("%s: %u waves at a time\n", what, groups);
}

void check_vmids() {
    std::vector<pid_t> children;
    for (unsigned n = 0; n < kProcesses; ++n) children.push_back(start(1, 1));
    std::set<uint32_t> vmids;
    for (const SlotView& slot : slots()) {
        if (slot.active) vmids.insert(slot.vmid);
    }
    for (const pid_t child : children) end(child);
    if (vmids.size() != kProcesses)
        fail(std::to_string(vmids.size()) + " VMIDs for " + std::to_string(kProcesses) + " processes");
    std::printf("%zu processes at a time have VMIDs\n", vmids.size());
}

}  // namespace

int main(int count, char** arguments) {
    const unsigned rounds = count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 50;
    // What the driver allocates once, at the first process, is not to be counted.
    end(start(1, 1));
    wait_for(20, [] { return processes() == 0 && active_slots() == 0; });
    sleep_ms(100);
    const MemoryView before = memory_in_use();
    for (unsigned round = 1; round <= rounds; ++round) {
        const pid_t child = start(kQueues, kGroups);
        if (active_slots() != kQueues) fail(std::to_string(active_slots()) + " slots while the process runs");
        if (memory_in_use().vram_bytes < before.vram_bytes + (64 << 20)) fail("no VRAM in use while the process runs");
        end(child);
        check_all_free(before, round);
    }
    std::printf("killed %u times, each time everything was freed\n", rounds);
    check_vmids();
    {
        Gpu gpu;
        gather(gpu, "wave slots", gpu.compute_units() * lyra::facts_of(gpu.chip()).waves_per_cu(), 0);
        gather(gpu, "LDS", gpu.compute_units(), kLdsBytes);
    }
    std::printf("killed: PASSED\n");
    return 0;
}
