// SPDX-License-Identifier: MIT
// What the tests of snapshots and recordings let a device do.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "tools/inproc/kernel_runner.h"

namespace lyra::inproc {

inline InProcessOptions small(bool virtual_time) {
    InProcessOptions options;
    options.virtual_time = virtual_time;
    options.vram_bytes = uint64_t{256} << 20;
    options.system_bytes = uint64_t{16} << 20;
    return options;
}

/// Vectors are added in one queue; in the other waves wait for one another, and LDS has no room for all groups at once.
struct TwoQueues {
    static constexpr int kItems = 3000;
    static constexpr unsigned kReversals = 12, kBusyItems = 40 * 256;
    explicit TwoQueues(const InProcessOptions& options)
        : runner(LYRA_TEST_KERNELS, options), second(runner.device(), other_queue()) {
        std::vector<float> a(kItems), b(kItems, 0.5f);
        std::iota(a.begin(), a.end(), 0.0f);
        x = runner.buffer(a), y = runner.buffer(b, Domain::System), z = runner.buffer(std::vector<float>(kItems, -1.0f));
        lock = runner.buffer(std::vector<int>(16, 0)), counter = runner.buffer(std::vector<int>(16, 0));
        const AqlDispatch add = runner.packet("add", shape((kItems + 255) / 256, 256),
                                              {argument(x.va), argument(y.va), argument(z.va), argument(int{kItems})});
        const AqlDispatch locked = runner.packet("locked", shape(20, 64), {argument(lock.va), argument(counter.va)});
        std::vector<int> numbers(256);
        std::iota(numbers.begin(), numbers.end(), 0);
        LaunchShape staged = shape(1, 256);
        staged.dynamic_group_bytes = 48 << 10;
        for (unsigned i = 0; i < 3; ++i) runner.queue().write_packet(&add);
        runner.queue().signal(add.completion_signal)->value = 3;
        runner.queue().ring(2);
        second.write_packet(&locked);
        for (unsigned i = 0; i < kReversals; ++i) {
            reversed.push_back(runner.buffer(numbers));
            const AqlDispatch reverse = runner.packet("reverse", staged, {argument(reversed.back().va), argument(uint32_t{0})});
            second.write_packet(&reverse);
        }
        staged.grid[0] = kBusyItems;
        staged.dynamic_group_bytes = 1024;
        memory = runner.buffer(std::vector<int>(kBusyItems * 16, 0));
        const GpuBuffer table = runner.buffer(std::vector<int>(16, 1));
        const AqlDispatch busy =
            runner.packet("busy", staged, {argument(memory.va), argument(table.va), argument(uint32_t{0}), argument(int{8})});
        second.write_packet(&busy);
        second.ring(kReversals + 1);
    }
    static AqlQueueOptions other_queue() {
        AqlQueueOptions options;
        options.pipe = 1;
        options.doorbell_slot = 1;
        return options;
    }
    /// What the buffers hold in some device.
    void check(InProcessDevice& device) const {
        const auto at = [&](const GpuBuffer& buffer) {
            GpuMemory& own = const_cast<KernelRunner&>(runner).device().memory();
            const bool vram = buffer.domain == Domain::Vram;
            return (vram ? device.memory().vram() : device.memory().system()) +
                   (buffer.host - (vram ? own.vram() : own.system()));
        };
        int count = 0;
        std::memcpy(&count, at(counter), sizeof count);
        EXPECT_EQ(count, 20);
        int first_sum = 0;
        std::memcpy(&first_sum, at(memory), sizeof first_sum);
        EXPECT_NE(first_sum, 0);
        for (const GpuBuffer& buffer : reversed) {
            int first = 0;
            std::memcpy(&first, at(buffer), sizeof first);
            EXPECT_EQ(first, 255);
        }
        std::vector<float> sums(kItems);
        std::memcpy(sums.data(), at(z), kItems * sizeof(float));
        for (int i = 0; i < kItems; ++i) ASSERT_EQ(sums[i], static_cast<float>(i) + 0.5f) << i;
    }
    KernelRunner runner;
    AqlQueue second;
    GpuBuffer x, y, z, lock, counter, memory;
    std::vector<GpuBuffer> reversed;
};

/// @return calls until nothing is left to do
inline unsigned run_out(InProcessDevice& device) {
    unsigned calls = 0;
    while (device.run(100) != LYRA_IDLE && calls < 1'000'000) ++calls;
    return calls;
}

}  // namespace lyra::inproc
