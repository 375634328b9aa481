// SPDX-License-Identifier: MIT
// A queue of high priority waits for a value that only a queue of low priority can give, and one between them never rests. The
// driver's scheduler, with policy fixed, keeps the low one away until `inherit` lets it have the rank of the one that waits.
// usage: awaited known      the value is the completion signal of the low queue's kernel
//                unknown    it is stored by the kernel: nothing in a packet tells whose it is
#include <cstdio>
#include <fstream>

#include "kfdtest-ports/guest/kfd/code.h"
#include "kfdtest-ports/guest/kfd/counting.h"
#include "kfdtest-ports/guest/kfd/driver_view.h"

using namespace lyra::guest;

namespace {

constexpr double kPatience = 60, kStandsStill = 3;
constexpr unsigned kLow = 2, kMiddle = 9, kHigh = 15;
constexpr uint32_t kGroups = 6, kRounds = 2000, kEndless = ~0u;

void set_inherit(bool on) {
    const std::string file = find_below("/sys/class/drm/", "device/kfd_sched/inherit");
    require(!file.empty() && std::ofstream(file) << on << std::flush, "kfd_sched/inherit");
}

/// A grid that counts on a queue.
struct Work {
    Work(Gpu& gpu, const Memory& code, unsigned priority, uint32_t groups, uint32_t steps)
        : queue(gpu, 64, priority), grid(gpu, groups, steps, kRounds, priority), code(code) {}

    void start() { grid.start(queue, code); }
    bool done() const { return grid.done(queue); }
    bool moves(double seconds) const {
        const uint32_t before = grid.progress();
        return wait_for(seconds, [&] { return grid.progress() != before; });
    }
    void finish(const char* name) {
        grid.stop();
        if (!wait_for(kPatience, [&] { return done(); }) || !grid.right()) fail(std::string(name) + ": wrong results");
    }

    AqlQueue queue;
    Counting grid;
    const Memory& code;
};

}  // namespace

int main(int count, char** arguments) {
    const std::string mode = count == 2 ? arguments[1] : "";
    if (mode != "known" && mode != "unknown") fail("usage: awaited known|unknown");
    const bool known = mode == "known";
    set_inherit(false);
    Gpu gpu;
    const Memory code = gpu.load(code_count());
    // A work-group stores how many steps it has done, 32 bits, at the place that is waited for.
    Work low(gpu, code, kLow, 1, kEndless), middle(gpu, code, kMiddle, kGroups, kEndless), high(gpu, code, kHigh, kGroups, 2);
    low.start();
    if (!low.moves(kPatience)) fail("the low queue does not run");
    middle.start();
    if (!middle.moves(kPatience)) fail("the middle queue does not run");
    if (!wait_for(kPatience, [&] { return !low.moves(0.5); })) fail("the low queue is not parked");

    if (known)
        high.queue.wait_until(low.grid.signal(low.queue), Condition::Equal, 0);
    else
        high.queue.wait_until(low.grid.progress_signal(), Condition::GreaterOrEqual, low.grid.progress() + 1);
    high.start();
    if (low.moves(kStandsStill)) fail("the low queue runs without inheritance");
    if (high.done()) fail("the high queue has not waited");
    set_inherit(true);
    if (!low.moves(kPatience)) fail("the low queue does not inherit");
    if (known) low.finish("low");
    if (!wait_for(kPatience, [&] { return high.done(); }) || !high.grid.right()) fail("the high queue does not get on");
    if (!middle.moves(kPatience)) fail("the middle queue does not come back");
    middle.finish("middle");
    if (!known) low.finish("low");
    std::printf("awaited %s: PASSED\n", mode.c_str());
    return 0;
}
