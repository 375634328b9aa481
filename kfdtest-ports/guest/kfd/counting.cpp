// SPDX-License-Identifier: MIT
// Runs count.s and checks its results.
#include "kfdtest-ports/guest/kfd/counting.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kfdtest-ports/guest/kfd/code.h"

namespace lyra::guest {

namespace {

/// Progress begins as a signal does, so that a packet can wait for it.
constexpr size_t kSignalValue = 8;

}  // namespace

Counting::Counting(Gpu& gpu, uint32_t groups, uint32_t steps, uint32_t rounds, uint32_t seed)
    : arguments_(gpu.allocate(sizeof(CountArguments))), results_(gpu.allocate(groups * kCountGroup * sizeof(uint32_t))),
      progress_(gpu.allocate(kSignalValue + groups * sizeof(uint32_t))), groups_(groups) {
    *arguments_.as<CountArguments>() = {results_.address(), progress_.address(kSignalValue), steps, rounds, seed, kFactor};
}

uint32_t Counting::progress() const {
    const auto* steps = progress_.as<volatile uint32_t>(kSignalValue);
    uint32_t least = ~0u;
    for (uint32_t n = 0; n < groups_; ++n) least = std::min(least, uint32_t{steps[n]});
    return least;
}

bool Counting::right() const {
    const CountArguments& a = arguments();
    for (uint32_t n = 0; n < groups_ * kCountGroup; ++n) {
        const uint32_t steps = progress_.as<uint32_t>(kSignalValue)[n / kCountGroup];
        if (steps < std::max(a.steps, 1u) ||
            results_.as<uint32_t>()[n] != counted(a.seed + n, a.seed, uint64_t{steps} * a.rounds)) {
            return false;
        }
    }
    return true;
}

void Counting::clear() {
    std::memset(results_.at, 0, results_.bytes);
    std::memset(progress_.at, 0, progress_.bytes);
}

bool new_process_counts() {
    const pid_t child = fork_child();
    if (child == 0) {
        Gpu gpu;
        const Memory code = gpu.load(code_count());
        AqlQueue queue(gpu);
        Counting grid(gpu, 16, 20, 100, 5);
        grid.start(queue, code);
        if (!wait_for(60, [&] { return grid.done(queue); })) fail("the new process's kernel does not end");
        std::_Exit(grid.right() ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace lyra::guest
