// SPDX-License-Identifier: MIT
// Host threads that help the device's own thread through a round of work.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace lyra {

/// Between two rounds nobody but the owner does anything. A helper that the host does not run in time misses the round and
/// delays nobody, so more threads than free processors do no harm.
class WorkerPool {
public:
    /// @param work  called by the owner, as thread 0, and by each helper, at the same time: takes pieces until there are none
    WorkerPool(unsigned helpers, std::function<void(unsigned thread)> work);
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    /// A round is near: helpers that sleep wait for it awake.
    void call();
    /// One round. When it returns all that the helpers did is seen by the caller, and none of them is at work.
    void round();

private:
    /// Low bits: helpers at work; then whether more may come in; above, the number of the round.
    static constexpr uint32_t kInside = 0xff, kOpen = 0x100, kRound = 0x200;

    void help(unsigned thread);
    template <class Done>
    uint32_t wait(Done done);

    std::function<void(unsigned)> work_;
    std::atomic<uint32_t> gate_{0};
    std::atomic<bool> stop_{false};
    std::vector<std::thread> helpers_;
};

}  // namespace lyra
