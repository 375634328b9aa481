// SPDX-License-Identifier: MIT
// Compiled kernels on the whole device in process: right results, and the effect of everything that may be wrong in a packet.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <numeric>

#include "tools/inproc/kernel_runner.h"

namespace lyra::inproc {
namespace {

class Kernel : public testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(runner_.error(), ""); }
    /// With as many threads for the waves as the environment says.
    static InProcessOptions options() {
        InProcessOptions made;
        if (const char* threads = std::getenv("LYRA_TEST_THREADS")) made.threads = static_cast<uint32_t>(std::atoi(threads));
        return made;
    }
    KernelRunner runner_{LYRA_TEST_KERNELS, options()};
};

TEST_F(Kernel, AddsVectorsWithPartialLastGroup) {
    const int n = 1000;
    std::vector<float> a(n), b(n, 0.5f);
    std::iota(a.begin(), a.end(), 0.0f);
    const GpuBuffer x = runner_.buffer(a), y = runner_.buffer(b, Domain::System),
                    z = runner_.buffer(std::vector<float>(n, -1.0f));
    LaunchShape launch = shape(4, 256);
    launch.grid[0] = n;
    const AqlDispatch packet = runner_.packet("add", launch, {argument(x.va), argument(y.va), argument(z.va), argument(n)});
    ASSERT_EQ(runner_.run(packet), RunOutcome::Done);
    for (int i = 0; i < n; ++i) ASSERT_EQ(KernelRunner::content<float>(z)[i], i + 0.5f);
    EXPECT_EQ(runner_.device().stat("dispatches"), 1u);
    EXPECT_EQ(runner_.device().stat("waves"), 16u);
    EXPECT_EQ(runner_.queue().record()->read_dispatch_id, 1u);
}

TEST_F(Kernel, ReversesThroughLdsAndBarrier) {
    const uint32_t n = 1024;
    std::vector<int> values(n);
    std::iota(values.begin(), values.end(), 0);
    const GpuBuffer x = runner_.buffer(values);
    LaunchShape launch = shape(1, n);
    launch.dynamic_group_bytes = n * 4;
    const AqlDispatch packet = runner_.packet("reverse", launch, {argument(x.va), argument(uint32_t{0})});
    ASSERT_EQ(packet.group_bytes, n * 4);
    // The kernel was compiled for groups of 256 at most, but it does not depend on that.
    ASSERT_EQ(runner_.run(packet), RunOutcome::Done);
    for (uint32_t i = 0; i < n; ++i) ASSERT_EQ(KernelRunner::content<int>(x)[i], static_cast<int>(n - 1 - i));
}

TEST_F(Kernel, ScratchIsEachLanesOwn) {
    const uint32_t n = 64 * 64;
    std::vector<int> values(n);
    std::iota(values.begin(), values.end(), 7);
    const GpuBuffer x = runner_.buffer(values);
    ASSERT_EQ(runner_.run(runner_.packet("through_scratch", shape(64, 64), {argument(x.va), argument(1000)})),
              RunOutcome::Done);
    for (uint32_t i = 0; i < n; ++i) {
        ASSERT_EQ(KernelRunner::content<int>(x)[i], static_cast<int>((i + 7) % 32 * 1000 + i));
    }
}

TEST_F(Kernel, RelocatedPointersAreFollowed) {
    const GpuBuffer x = runner_.buffer(std::vector<int>{0, 1, 2, 3});
    ASSERT_EQ(runner_.run(runner_.packet("through_pointer", shape(1, 4), {argument(x.va)})), RunOutcome::Done);
    EXPECT_EQ(KernelRunner::content<int>(x), (std::vector<int>{3, 7, 3, 7}));
}

TEST_F(Kernel, SpinLockBetweenGroupsMakesProgress) {
    const GpuBuffer lock = runner_.buffer(std::vector<int>(16, 0)), counter = runner_.buffer(std::vector<int>(16, 0));
    ASSERT_EQ(runner_.run(runner_.packet("locked", shape(300, 64), {argument(lock.va), argument(counter.va)})),
              RunOutcome::Done);
    EXPECT_EQ(KernelRunner::content<int>(counter)[0], 300);
}

TEST_F(Kernel, HostCanReleaseASpinningKernel) {
    const GpuBuffer x = runner_.buffer(std::vector<int>(16, 0), Domain::System);
    const AqlDispatch packet = runner_.packet("spin", shape(1, 1), {argument(x.va)});
    RunLimits limits;
    limits.instructions = 100000;
    ASSERT_EQ(runner_.run(packet, limits), RunOutcome::OutOfBudget);
    constexpr uint32_t kGrbmStatus = 0x8010, kGuiActive = 1u << 31;
    EXPECT_TRUE(runner_.device().read_register(kGrbmStatus) & kGuiActive);
    *reinterpret_cast<volatile int*>(x.host) = 1;
    EXPECT_EQ(runner_.queue().wait(packet.completion_signal), RunOutcome::Done);
    EXPECT_EQ(runner_.device().read_register(kGrbmStatus), 0u);
}

TEST_F(Kernel, ManyPacketsWrapTheRing) {
    const GpuBuffer x = runner_.buffer(std::vector<int>(16, 0));
    AqlDispatch packet = runner_.packet("store", shape(1, 1), {argument(x.va), argument(uint64_t{0}), argument(5)});
    for (int round = 0; round < 1000; ++round) {
        runner_.queue().signal(packet.completion_signal)->value = 1;
        ASSERT_EQ(runner_.run(packet), RunOutcome::Done) << round;
    }
    EXPECT_EQ(runner_.queue().record()->read_dispatch_id, 1000u);
    EXPECT_EQ(KernelRunner::content<int>(x)[0], 5);
}

TEST_F(Kernel, BarrierPacketWaitsForItsSignals) {
    AqlQueue& queue = runner_.queue();
    AqlBarrier barrier;
    barrier.dependency[0] = queue.make_signal(1);
    barrier.dependency[4] = queue.make_signal(0);
    barrier.completion_signal = queue.make_signal(1);
    queue.submit(&barrier);
    RunLimits limits;
    limits.stall_seconds = 0.05;
    ASSERT_EQ(queue.wait(barrier.completion_signal, limits), RunOutcome::Stuck);
    queue.signal(barrier.dependency[0])->value = 0;
    EXPECT_EQ(queue.wait(barrier.completion_signal, limits), RunOutcome::Done);
}

TEST_F(Kernel, OrBarrierWaitsForOneSignal) {
    AqlQueue& queue = runner_.queue();
    AqlBarrier barrier;
    barrier.header = aql::kBarrierOr | aql::kFences;
    barrier.dependency[0] = queue.make_signal(1);
    barrier.dependency[1] = queue.make_signal(1);
    barrier.completion_signal = queue.make_signal(1);
    queue.submit(&barrier);
    RunLimits limits;
    limits.stall_seconds = 0.05;
    ASSERT_EQ(queue.wait(barrier.completion_signal, limits), RunOutcome::Stuck);
    queue.signal(barrier.dependency[1])->value = 0;
    EXPECT_EQ(queue.wait(barrier.completion_signal, limits), RunOutcome::Done);
}

TEST_F(Kernel, StoreOutsideMemoryFaultsAndTheDeviceLives) {
    const GpuBuffer x = runner_.buffer(std::vector<int>(16, 0));
    const uint64_t far = uint64_t{1} << 40;
    RunLimits limits;
    limits.stall_seconds = 0.2;
    ASSERT_EQ(runner_.run(runner_.packet("store", shape(1, 1), {argument(x.va), argument(far), argument(1)}), limits),
              RunOutcome::Stuck);
    VmFault fault;
    ASSERT_TRUE(runner_.device().vm_fault(fault));
    EXPECT_EQ(fault.va, (x.va + far) / kPageBytes * kPageBytes);
    EXPECT_EQ(fault.vmid, kUserVmid);
    EXPECT_TRUE(fault.write);
    EXPECT_FALSE(fault.permission);
    EXPECT_EQ(runner_.device().stat("fault-PageNotPresent"), 1u);
}

TEST_F(Kernel, StoreToReadOnlyPageFaults) {
    const GpuBuffer x = runner_.device().allocate(4096, Domain::Vram, pte::kRead);
    RunLimits limits;
    limits.stall_seconds = 0.2;
    ASSERT_EQ(runner_.run(runner_.packet("store", shape(1, 1), {argument(x.va), argument(uint64_t{0}), argument(1)}), limits),
              RunOutcome::Stuck);
    VmFault fault;
    ASSERT_TRUE(runner_.device().vm_fault(fault));
    EXPECT_TRUE(fault.permission);
    EXPECT_EQ(x.host[0], 0);
}

/// Code in a page without the right to be executed, as KFD maps memory without ALLOC_MEM_FLAGS_EXECUTABLE.
TEST_F(Kernel, CodeInADataPageFaults) {
    constexpr uint32_t kEntryOffset = 256, kEndProgram = 0xbf810000;
    for (const bool executable : {true, false}) {
        const GpuBuffer code = runner_.device().allocate(4096, Domain::Vram, executable ? pte::kAll : pte::kRead | pte::kWrite);
        std::memset(code.host, 0, 4096);
        std::memcpy(code.host + 16, &kEntryOffset, sizeof kEntryOffset);
        std::memcpy(code.host + kEntryOffset, &kEndProgram, sizeof kEndProgram);
        AqlDispatch packet = runner_.packet("store", shape(1, 1), {argument(code.va), argument(uint64_t{0}), argument(1)});
        packet.kernel_object = code.va;
        RunLimits limits;
        limits.stall_seconds = 0.2;
        ASSERT_EQ(runner_.run(packet, limits), executable ? RunOutcome::Done : RunOutcome::Stuck);
        VmFault fault;
        ASSERT_EQ(runner_.device().vm_fault(fault), !executable);
        EXPECT_EQ(runner_.device().stat("fault-InstructionFetch"), executable ? 0u : 1u);
        if (executable) continue;
        EXPECT_TRUE(fault.permission);
        EXPECT_EQ(fault.va, code.va);
    }
}

/// XNACK: nothing fails, and nothing is lost.
TEST_F(Kernel, WithRetryAStoreWaitsUntilItsPageAllowsIt) {
    const GpuBuffer x = runner_.device().allocate(4096, Domain::Vram, pte::kRead);
    runner_.device().enable_retry();
    const AqlDispatch packet = runner_.packet("store", shape(4, 64), {argument(x.va), argument(uint64_t{0}), argument(0x1234)});
    RunLimits limits;
    limits.seconds = 0.2;
    ASSERT_EQ(runner_.run(packet, limits), RunOutcome::OutOfTime);
    VmFault fault;
    ASSERT_TRUE(runner_.device().vm_fault(fault)) << "the hub keeps what it asked for";
    EXPECT_TRUE(fault.permission);
    EXPECT_GT(runner_.device().stat("retry_faults"), 10u);  // once a millisecond
    EXPECT_LT(runner_.device().stat("retry_faults"), 1000u);
    EXPECT_EQ(runner_.device().stat("fault-MemoryViolation"), 0u);
    ASSERT_TRUE(runner_.device().set_access(x, pte::kAll));
    EXPECT_EQ(runner_.queue().wait(packet.completion_signal), RunOutcome::Done);
    EXPECT_EQ(KernelRunner::content<int>(x)[0], 0x1234);
}

TEST_F(Kernel, IllegalInstructionIsCountedAndEndsNothingElse) {
    const GpuBuffer x = runner_.buffer(std::vector<int>(16, 0));
    RunLimits limits;
    limits.stall_seconds = 0.2;
    ASSERT_EQ(runner_.run(runner_.packet("illegal", shape(1, 1), {argument(x.va)}), limits), RunOutcome::Stuck);
    EXPECT_EQ(runner_.device().stat("fault-IllegalInstruction"), 1u);
    EXPECT_EQ(KernelRunner::content<int>(x)[0], 0);
    // Another queue still works.
    AqlQueueOptions options;
    options.queue = 3;
    options.doorbell_slot = 1;
    AqlQueue second(runner_.device(), options);
    AqlBarrier barrier;
    barrier.completion_signal = second.make_signal(1);
    second.submit(&barrier);
    EXPECT_EQ(second.wait(barrier.completion_signal), RunOutcome::Done);
}

// The command processor's own read faults: the page is reported and the queue stands still.
TEST_F(Kernel, DescriptorOutsideMemoryIsAVmFault) {
    const GpuBuffer x = runner_.buffer(std::vector<int>(16, 0));
    AqlDispatch packet = runner_.packet("store", shape(1, 1), {argument(x.va), argument(uint64_t{0}), argument(1)});
    packet.kernel_object = uint64_t{1} << 46;
    RunLimits limits;
    limits.stall_seconds = 0.2;
    ASSERT_EQ(runner_.run(packet, limits), RunOutcome::Stuck);
    VmFault fault;
    ASSERT_TRUE(runner_.device().vm_fault(fault));
    EXPECT_EQ(fault.va, packet.kernel_object);
    EXPECT_EQ(runner_.device().stat("waves"), 0u);
}

/// A packet made wrong in one place, and the error code that the queue reports.
struct BadPacket {
    const char* name;
    uint64_t code;
    void (*spoil)(AqlDispatch&);
};

class BadDispatch : public Kernel, public testing::WithParamInterface<BadPacket> {};

TEST_P(BadDispatch, StopsTheQueueWithItsCode) {
    const GpuBuffer x = runner_.buffer(std::vector<int>(16, 0));
    AqlDispatch packet = runner_.packet("store", shape(1, 1), {argument(x.va), argument(uint64_t{0}), argument(1)});
    GetParam().spoil(packet);
    RunLimits limits;
    limits.stall_seconds = 0.2;
    ASSERT_EQ(runner_.run(packet, limits), RunOutcome::QueueError);
    EXPECT_EQ(runner_.queue().error_code(), GetParam().code);
    EXPECT_EQ(runner_.device().stat("waves"), 0u);
    EXPECT_EQ(KernelRunner::content<int>(x)[0], 0);
}

constexpr BadPacket kBadPackets[] = {
    {"NoDimensions", 0x2, [](AqlDispatch& p) { p.setup = 0; }},
    {"ZeroGroup", 0x2, [](AqlDispatch& p) { p.workgroup[1] = 0; }},
    {"ZeroGrid", 0x2, [](AqlDispatch& p) { p.grid[0] = 0; }},
    {"TooMuchLds", 0x4, [](AqlDispatch& p) { p.group_bytes = 65537; }},
    {"NoKernel", 0x8, [](AqlDispatch& p) { p.kernel_object = 0; }},
    {"AgentDispatch", 0x20, [](AqlDispatch& p) { p.header = aql::kAgentDispatch | aql::kFences; }},
    {"UnknownType", 0x20, [](AqlDispatch& p) { p.header = 0x77 | aql::kFences; }},
    {"GroupTooLarge", 0x40, [](AqlDispatch& p) { p.workgroup[0] = 1025, p.grid[0] = 1025; }},
    {"VendorPacket", 0x100, [](AqlDispatch& p) { p.header = aql::kVendor | aql::kFences, p.setup = 0x77; }},
};
INSTANTIATE_TEST_SUITE_P(Aql, BadDispatch, testing::ValuesIn(kBadPackets),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(Device, PoisonIsWhatUninitializedMemoryHolds) {
    for (const bool poison : {false, true}) {
        InProcessOptions options;
        options.poison = poison;
        KernelRunner runner(LYRA_TEST_KERNELS, options);
        ASSERT_EQ(runner.error(), "");
        const uint32_t n = 64;
        const GpuBuffer found = runner.buffer(std::vector<uint32_t>(n, 1));
        LaunchShape launch = shape(1, n);
        launch.dynamic_group_bytes = n * 4;
        ASSERT_EQ(runner.run(runner.packet("uninitialized", launch, {argument(found.va), argument(uint32_t{0})})),
                  RunOutcome::Done);
        for (uint32_t i = 0; i < n; ++i) ASSERT_EQ(KernelRunner::content<uint32_t>(found)[i], poison ? 0x7fb5a5a5u : 0u) << i;
    }
}

TEST(Device, EachCountsItsOwnInstructions) {
    InProcessOptions options;
    options.histogram = true;
    KernelRunner one(LYRA_TEST_KERNELS, options), other(LYRA_TEST_KERNELS, options);
    ASSERT_EQ(one.error() + other.error(), "");
    for (KernelRunner* runner : {&one, &other, &other}) {
        const GpuBuffer data = runner->buffer(std::vector<uint32_t>(64, 1));
        LaunchShape launch = shape(1, 64);
        launch.dynamic_group_bytes = 256;
        ASSERT_EQ(runner->run(runner->packet("uninitialized", launch, {argument(data.va), argument(uint32_t{0})})),
                  RunOutcome::Done);
    }
    const auto counted = [](KernelRunner& runner) {
        uint64_t sum = 0;
        const auto add = [](void* opaque, const char*, const char*, uint64_t count) {
            *static_cast<uint64_t*>(opaque) += count;
        };
        lyra_histogram(runner.device().handle(), add, &sum);
        EXPECT_EQ(sum, runner.device().stat("instructions"));
        return sum;
    };
    const uint64_t once = counted(one);
    EXPECT_NE(once, 0u);
    EXPECT_EQ(counted(other), 2 * once);
}

/// What the driver reads of SmuMetrics_t for gpu_busy_percent and hwmon.
struct Metrics {
    uint16_t activity, temperature, milliwatts;
};

Metrics metrics(KernelRunner& runner, const GpuBuffer& table) {
    InProcessDevice& device = runner.device();
    const uint64_t at = device.mc_address(static_cast<uint64_t>(table.host - device.memory().vram()));
    const auto send = [&](uint32_t message, uint32_t argument) {
        device.write_register(reg::kSmuResponse, 0);
        device.write_register(reg::kSmuArgument, argument);
        device.write_register(reg::kSmuMessage, message);
        EXPECT_EQ(device.read_register(reg::kSmuResponse), 1u);
    };
    send(0xd, static_cast<uint32_t>(at >> 32));
    send(0xe, static_cast<uint32_t>(at));
    send(0xf, 7);
    const auto field = [&](size_t byte) {
        uint16_t value;
        std::memcpy(&value, table.host + byte, sizeof value);
        return value;
    };
    return {field(12), field(80), field(86)};
}

/// The device's time is what the test says it is, so that shares of it are exact.
TEST(Device, MetricsFollowItsWaves) {
    constexpr uint64_t kWindow = 10'000'000;
    uint64_t now = 5 * kWindow;
    InProcessOptions options;
    options.now_ns = [&] { return now; };
    KernelRunner runner(LYRA_TEST_KERNELS, options);
    ASSERT_EQ(runner.error(), "");
    const GpuBuffer x = runner.buffer(std::vector<int>(16, 0), Domain::System), table = runner.buffer(std::vector<int>(64, -1));
    const Metrics idle = metrics(runner, table);
    EXPECT_EQ(idle.activity, 0u);
    EXPECT_EQ(idle.milliwatts, 5000u);
    EXPECT_EQ(idle.temperature, 3500u);

    const AqlDispatch packet = runner.packet("spin", shape(1, 1), {argument(x.va)});
    RunLimits limits;
    limits.instructions = 10000;
    now += kWindow * 3 / 4;
    ASSERT_EQ(runner.run(packet, limits), RunOutcome::OutOfBudget);
    EXPECT_EQ(metrics(runner, table).activity, 0u) << "the window is not over";
    now += kWindow / 2;
    EXPECT_EQ(metrics(runner, table).activity, 2500u);
    now += 3 * kWindow;
    const Metrics busy = metrics(runner, table);
    EXPECT_EQ(busy.activity, 10000u);
    EXPECT_EQ(busy.milliwatts, 5900u) << "one compute unit of eight";
    EXPECT_EQ(busy.temperature, 3567u);

    *reinterpret_cast<volatile int*>(x.host) = 1;
    ASSERT_EQ(runner.queue().wait(packet.completion_signal), RunOutcome::Done);
    now += 2 * kWindow;
    const Metrics after = metrics(runner, table);
    EXPECT_EQ(after.activity, 0u);
    EXPECT_EQ(after.milliwatts, idle.milliwatts);
}

TEST(Device, MetricsAreOfItsOwnTime) {
    constexpr uint64_t kWindow = 10'000'000;
    InProcessOptions options;
    options.virtual_time = true;
    KernelRunner runner(LYRA_TEST_KERNELS, options);
    ASSERT_EQ(runner.error(), "");
    const GpuBuffer x = runner.buffer(std::vector<int>(16, 0), Domain::System), table = runner.buffer(std::vector<int>(64, -1));
    const AqlDispatch packet = runner.packet("spin", shape(1, 1), {argument(x.va)});
    lyra_device* device = runner.device().handle();
    lyra_run_until(device, kWindow * 3 / 4);
    runner.queue().submit(&packet);
    lyra_run_until(device, kWindow);
    // The kernel begins some microseconds after its doorbell.
    const uint16_t activity = metrics(runner, table).activity;
    EXPECT_GT(activity, 2490u);
    EXPECT_LT(activity, 2500u);
    lyra_run_until(device, 2 * kWindow);
    EXPECT_EQ(metrics(runner, table).activity, 10000u);
    EXPECT_EQ(metrics(runner, table).milliwatts, 5900u);
    *reinterpret_cast<volatile int*>(x.host) = 1;
    lyra_run_until(device, 4 * kWindow);
    EXPECT_EQ(runner.queue().signal(packet.completion_signal)->value, 0);
    EXPECT_EQ(metrics(runner, table).activity, 0u);
}

TEST(Device, RefusesImpossibleConfigurations) {
    std::string error;
    InProcessOptions options;
    options.compute_units = 65;
    EXPECT_EQ(InProcessDevice::create(options, error), nullptr);
    EXPECT_NE(error, "");
    options = {};
    options.chip = "no-such-chip";
    error.clear();
    EXPECT_EQ(InProcessDevice::create(options, error), nullptr);
    EXPECT_NE(error, "");
}

}  // namespace
}  // namespace lyra::inproc
