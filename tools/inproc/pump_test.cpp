// SPDX-License-Identifier: MIT
// The device's own threads beside those of its host: waves run while processors read registers, ring doorbells and use VRAM.
// What the test is for is mostly seen under ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tools/inproc/kernel_runner.h"

namespace lyra::inproc {
namespace {

constexpr uint32_t kGrbmStatus = 0x8010;
constexpr unsigned kThreads = 3, kProcessors = 2;

class Pump : public testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(runner_.error(), ""); }
    static InProcessOptions options() {
        InProcessOptions made;
        made.threads = kThreads;
        return made;
    }
    lyra_device* device() { return runner_.device().handle(); }
    /// As a processor of the guest waits: by looking at memory.
    bool completes(const AqlDispatch& packet) {
        auto* const value = const_cast<int64_t*>(&runner_.queue().signal(packet.completion_signal)->value);
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);
        while (__atomic_load_n(value, __ATOMIC_ACQUIRE) != 0) {
            if (std::chrono::steady_clock::now() > until) return false;
            std::this_thread::yield();
        }
        return true;
    }
    KernelRunner runner_{LYRA_TEST_KERNELS, options()};
};

TEST_F(Pump, ProcessorsUseTheDeviceWhileWavesRun) {
    constexpr int kRounds = 4, kMostRounds = 10'000;
    constexpr uint64_t kEnough = 20;
    constexpr uint32_t kGroups = 300;
    const GpuBuffer lock = runner_.buffer(std::vector<int>(16, 0)), counter = runner_.buffer(std::vector<int>(16, 0));
    const AqlDispatch packet = runner_.packet("locked", shape(kGroups, 64), {argument(lock.va), argument(counter.va)});
    ASSERT_EQ(runner_.error(), "");
    ASSERT_TRUE(lyra_start(device()));
    std::atomic<bool> over{false};
    std::atomic<uint64_t> served{0};
    std::vector<std::thread> processors;
    for (unsigned n = 0; n < kProcessors; ++n) {
        processors.emplace_back([&, n] {
            const uint64_t elsewhere = runner_.device().options().vram_bytes - 4096 * (n + 1);
            while (!over) {
                lyra_mmio_read(device(), kGrbmStatus, 4);
                lyra_doorbell_write(device(), runner_.queue().doorbell_offset() + 8 * (n + 1), 1, 8);
                lyra_vram_write(device(), elsewhere, served, 8);
                lyra_vram_read(device(), elsewhere, 8);
                lyra_stat(device(), "instructions");
                ++served;
                std::this_thread::sleep_for(std::chrono::microseconds(200));
            }
        });
    }
    int round = 0;
    while (round < kRounds || (served < kEnough && round < kMostRounds)) {
        ++round;
        runner_.queue().signal(packet.completion_signal)->value = 1;
        runner_.queue().submit(&packet);
        if (round == kRounds) {  // as a host whose machine stands still for a moment
            lyra_stop(device());
            EXPECT_TRUE(lyra_start(device()));
        }
        const bool done = completes(packet);
        EXPECT_TRUE(done) << round;
        if (!done) break;
        EXPECT_EQ(KernelRunner::content<int>(counter)[0], static_cast<int>(round * kGroups));
    }
    over = true;
    for (std::thread& each : processors) each.join();
    lyra_stop(device());
    EXPECT_GE(served, kEnough);
    EXPECT_EQ(runner_.device().stat("dispatches"), static_cast<uint64_t>(round));
}

}  // namespace
}  // namespace lyra::inproc
