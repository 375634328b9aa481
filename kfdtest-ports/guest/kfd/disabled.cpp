// SPDX-License-Identifier: MIT
// A queue is disabled and enabled again with time for whoever looks at queues now and then, and works after that. usage:
// disabled [TIMES]
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "kfdtest-ports/guest/kfd/code.h"
#include "kfdtest-ports/guest/kfd/counting.h"

using namespace lyra::guest;

int main(int count, char** arguments) {
    const unsigned times = count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 5;
    constexpr unsigned kGroups = 2, kSteps = 10, kRounds = 100, kPauseUs = 200'000;
    Gpu gpu;
    const Memory code = gpu.load(code_count());
    AqlQueue queue(gpu);
    for (unsigned n = 0; n < times; ++n) {
        Counting grid(gpu, kGroups, kSteps, kRounds, n);
        grid.start(queue, code);
        if (!wait_for(60, [&] { return grid.done(queue); })) fail("the queue does not run, time " + std::to_string(n));
        if (!grid.right()) fail("wrong results, time " + std::to_string(n));
        require(queue.update(0) == 0, "disable");
        usleep(kPauseUs);
        require(queue.update(100) == 0, "enable");
        usleep(kPauseUs);
    }
    std::puts("disabled: PASSED");
    return 0;
}
