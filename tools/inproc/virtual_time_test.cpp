// SPDX-License-Identifier: MIT
// Virtual time of the whole device in process: equal runs, times as the table says, and parameters by text.
#include <gtest/gtest.h>

#include <numeric>

#include "tools/inproc/kernel_runner.h"

namespace lyra::inproc {
namespace {

InProcessOptions timed(const std::string& timing = "", uint32_t compute_units = 8) {
    InProcessOptions options;
    options.virtual_time = true;
    options.timing = timing;
    options.compute_units = compute_units;
    return options;
}

struct Outcome {
    uint64_t hash = 0, events = 0, ns = 0;
    bool operator==(const Outcome&) const = default;
};

/// Two queues with kernels of several kinds, at the same time.
Outcome two_queues(const std::string& timing, int n = 5000) {
    KernelRunner runner(LYRA_TEST_KERNELS, timed(timing));
    EXPECT_EQ(runner.error(), "");
    AqlQueueOptions second_options;
    second_options.pipe = 1;
    second_options.doorbell_slot = 1;
    AqlQueue second(runner.device(), second_options);
    std::vector<float> a(n), b(n, 0.5f);
    std::iota(a.begin(), a.end(), 0.0f);
    const GpuBuffer x = runner.buffer(a), y = runner.buffer(b, Domain::System), z = runner.buffer(std::vector<float>(n, -1.0f));
    const GpuBuffer lock = runner.buffer(std::vector<int>(16, 0)), counter = runner.buffer(std::vector<int>(16, 0));
    const AqlDispatch add =
        runner.packet("add", shape((n + 255) / 256, 256), {argument(x.va), argument(y.va), argument(z.va), argument(n)});
    const AqlDispatch locked = runner.packet("locked", shape(40, 64), {argument(lock.va), argument(counter.va)});
    for (unsigned i = 0; i < 4; ++i) runner.queue().write_packet(&add);
    runner.queue().signal(add.completion_signal)->value = 4;
    runner.queue().ring(3);
    second.submit(&locked);
    EXPECT_EQ(runner.queue().wait(add.completion_signal), RunOutcome::Done);
    EXPECT_EQ(runner.queue().wait(locked.completion_signal), RunOutcome::Done);
    EXPECT_EQ(KernelRunner::content<int>(counter)[0], 40);
    for (int i = 0; i < n; ++i) EXPECT_EQ(KernelRunner::content<float>(z)[i], static_cast<float>(i) + 0.5f);
    const InProcessDevice& device = runner.device();
    return {device.stat("trace_hash"), device.stat("trace_events"), device.stat("virtual_ns")};
}

TEST(VirtualTime, EqualRunsHaveEqualHashes) {
    const Outcome once = two_queues("");
    EXPECT_EQ(two_queues(""), once);
    EXPECT_GT(once.events, 100u);
    EXPECT_NE(once.hash, 0u);
    EXPECT_NE(two_queues("packet_ns=201").hash, once.hash);
    EXPECT_NE(two_queues("", 6000).hash, once.hash);
}

TEST(VirtualTime, FreeRunningDeviceHasNone) {
    KernelRunner runner(LYRA_TEST_KERNELS);
    ASSERT_EQ(runner.error(), "");
    const GpuBuffer x = runner.buffer(std::vector<int>(16, 0));
    ASSERT_EQ(runner.run(runner.packet("store", shape(1, 1), {argument(x.va), argument(uint64_t{0}), argument(5)})),
              RunOutcome::Done);
    EXPECT_EQ(runner.device().stat("trace_hash"), 0u);
    EXPECT_EQ(runner.device().stat("virtual_ns"), 0u);
    EXPECT_EQ(lyra_run_until(runner.device().handle(), 1000), UINT64_MAX);
}

TEST(VirtualTime, RefusesParametersThatDoNotExist) {
    std::string error;
    EXPECT_EQ(InProcessDevice::create(timed("speed=3"), error), nullptr);
    EXPECT_EQ(error, "there is no timing parameter 'speed'");
    EXPECT_EQ(InProcessDevice::create(timed("valu_clk=0"), error), nullptr);
    EXPECT_EQ(error, "timing parameter valu_clk: '0' is no number from 1 to 1000");
}

/// Device time from the doorbell until the signal is 0, as the packet's own timestamps have it, in ns.
uint64_t dispatch_ns(KernelRunner& runner, const AqlDispatch& packet) {
    EXPECT_EQ(runner.run(packet), RunOutcome::Done);
    const volatile AmdSignal* signal = runner.queue().signal(packet.completion_signal);
    return (signal->end_ts - signal->start_ts) * 10;
}

TEST(VirtualTime, EmptyKernelTakesTheTimesOfItsSteps) {
    KernelRunner runner(LYRA_TEST_KERNELS, timed());
    ASSERT_EQ(runner.error(), "");
    const GpuBuffer x = runner.buffer(std::vector<int>(16, 0));
    const uint64_t taken =
        dispatch_ns(runner, runner.packet("store", shape(1, 1), {argument(x.va), argument(uint64_t{0}), argument(5)}));
    // Set-up, two or three dependent memory accesses, end of pipe.
    EXPECT_GT(taken, 1300u + 400 + 1000);
    EXPECT_LT(taken, 1300u + 400 + 1000 + 1000);
}

TEST(VirtualTime, CopiesGoAsFastAsTheMemory) {
    const int n = 1 << 20;
    KernelRunner runner(LYRA_TEST_KERNELS, timed("vram_mb_per_s=50000,vram_efficiency_percent=100"));
    ASSERT_EQ(runner.error(), "");
    const GpuBuffer x = runner.buffer(std::vector<float>(n, 1)), y = runner.buffer(std::vector<float>(n, 2)),
                    z = runner.buffer(std::vector<float>(n, 0));
    const uint64_t taken = dispatch_ns(
        runner, runner.packet("add", shape(n / 256, 256), {argument(x.va), argument(y.va), argument(z.va), argument(n)}));
    const double ideal = 3.0 * n * 4 / 50;
    EXPECT_NEAR(static_cast<double>(taken), ideal, 0.05 * ideal);
}

TEST(VirtualTime, SystemMemoryIsSlower) {
    const int n = 1 << 18;
    KernelRunner runner(LYRA_TEST_KERNELS, timed());
    ASSERT_EQ(runner.error(), "");
    const GpuBuffer x = runner.buffer(std::vector<float>(n, 1)), y = runner.buffer(std::vector<float>(n, 2)),
                    z = runner.buffer(std::vector<float>(n, 0), Domain::System);
    const uint64_t taken = dispatch_ns(
        runner, runner.packet("add", shape(n / 256, 256), {argument(x.va), argument(y.va), argument(z.va), argument(n)}));
    const double ideal = n * 4 / 12.0;
    EXPECT_NEAR(static_cast<double>(taken), ideal, 0.07 * ideal);
}

TEST(VirtualTime, SaysWhenToComeBack) {
    KernelRunner runner(LYRA_TEST_KERNELS, timed());
    ASSERT_EQ(runner.error(), "");
    lyra_device* device = runner.device().handle();
    EXPECT_EQ(lyra_run_until(device, 1'000'000), UINT64_MAX);
    EXPECT_EQ(runner.device().stat("virtual_ns"), 1'000'000u);
    const GpuBuffer x = runner.buffer(std::vector<int>(16, 0));
    const AqlDispatch packet = runner.packet("store", shape(1, 1), {argument(x.va), argument(uint64_t{0}), argument(5)});
    runner.queue().submit(&packet);
    uint64_t now = 1'000'000, calls = 0;
    for (uint64_t next = lyra_run_until(device, now); next != UINT64_MAX; next = lyra_run_until(device, now)) {
        ASSERT_GT(next, now);
        ASSERT_LT(++calls, 20u);
        now = next;
    }
    EXPECT_EQ(KernelRunner::content<int>(x)[0], 5);
    EXPECT_EQ(runner.queue().signal(packet.completion_signal)->value, 0);
    EXPECT_LT(now, 1'010'000u);
}

}  // namespace
}  // namespace lyra::inproc
