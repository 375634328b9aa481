// SPDX-License-Identifier: MIT
// The kernel of count.s: its arguments, and what it computes, without its loop.
#pragma once

#include <cstdint>

#include "kfdtest-ports/guest/kfd/gpu.h"

namespace lyra::guest {

inline constexpr uint32_t kFactor = 1664525, kCountGroup = 64;

struct CountArguments {
    uint64_t results, progress;
    uint32_t steps, rounds, seed, factor;
};

/// x -> x * kFactor + seed, as often as rounds says.
constexpr uint32_t counted(uint32_t x, uint32_t seed, uint64_t rounds) {
    uint32_t factor = kFactor, term = seed;
    for (; rounds != 0; rounds /= 2) {
        if (rounds % 2) x = x * factor + term;
        term = term * factor + term;
        factor *= factor;
    }
    return x;
}

/// One grid of count.s.
class Counting {
public:
    Counting(Gpu& gpu, uint32_t groups, uint32_t steps, uint32_t rounds, uint32_t seed);

    void start(AqlQueue& queue, const Memory& code) { signal_ = queue.dispatch(code, groups_, kCountGroup, arguments_); }
    bool done(const AqlQueue& queue) const { return queue.done(signal_); }
    /// Address of the signal that its end completes.
    uint64_t signal(const AqlQueue& queue) const { return queue.signal_address(signal_); }
    /// Address of a signal whose value is the number of steps that the only work-group has done.
    uint64_t progress_signal() const { return progress_.address(); }
    /// Steps that the slowest work-group has done.
    uint32_t progress() const;
    /// Every work-group ends after the step that it is in.
    void stop() { arguments_.as<volatile CountArguments>()->steps = 0; }
    /// Every work-group has done all steps that are asked for, and every result is what its steps make.
    bool right() const;
    /// Forget results and progress, before the grid is started again.
    void clear();

    const CountArguments& arguments() const { return *arguments_.as<CountArguments>(); }
    uint32_t groups() const { return groups_; }

private:
    Memory arguments_, results_, progress_;
    uint32_t groups_;
    unsigned signal_ = 0;
};

/// A process of its own runs a grid with a queue of its own. @return its results are right
bool new_process_counts();

}  // namespace lyra::guest
