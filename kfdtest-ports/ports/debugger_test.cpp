// SPDX-License-Identifier: MIT
// KFDDBGTest, without the debugger's interface to the kernel: what it reads of queues that stand. Upstream: README.md.
#include "kfdtest-ports/ports/iteration.h"

namespace lyra::kfd {
namespace {

using KFDDBGTest = KfdTest;

constexpr uint32_t kHalt = 1u << 13, kMemViol = 1u << 8;  // SQ_WAVE_STATUS.HALT, SQ_WAVE_TRAPSTS.EXCP memory violation

TEST_F(KFDDBGTest, SuspendQueues) {
    constexpr uint32_t kGroups = 64;
    UserQueue standing, running;
    ASSERT_SUCCESS(standing.create(process()));
    ASSERT_SUCCESS(running.create(process()));
    const uint64_t code = program("iterate");
    Iteration one(process(), code, kGroups), other(process(), code, kGroups);
    ASSERT_TRUE(one.submit(standing));
    ASSERT_TRUE(other.submit(running));
    ASSERT_TRUE(gpu().wait([&] { return stat("waves") == 2 * kGroups; }, kTimeoutMs));

    ASSERT_SUCCESS(driver().queues().suspend({&standing.kernel_queue()}));
    const cwsr::Image image = standing.image();
    EXPECT_EQ(image.error, "");
    EXPECT_EQ(image.waves.size(), kGroups);
    std::set<uint32_t> groups;
    for (const cwsr::WaveImage& wave : image.waves) {
        EXPECT_GE(wave.pc, code);
        EXPECT_LT(wave.pc, code + 0x100);
        EXPECT_EQ(wave.exec, 1u);
        groups.insert(wave.group_id[0]);
    }
    EXPECT_EQ(groups.size(), kGroups);
    // The other queue goes on and ends; the one that stands does not.
    one.stop();
    other.finish(kTimeoutMs);
    EXPECT_EQ(process().wait_on_event(one.event(), 5), Status::WaitTimeout);
    ASSERT_SUCCESS(driver().queues().resume({&standing.kernel_queue()}));
    one.finish(kTimeoutMs);
    EXPECT_SUCCESS(standing.destroy());
    EXPECT_SUCCESS(running.destroy());
}

TEST_F(KFDDBGTest, HitMemoryViolation) {
    expect_faults({"PageNotPresent", "MemoryViolation"});
    uint32_t event = 0;
    ASSERT_SUCCESS(process().events().create(EventType::Memory, true, event));
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    const uint64_t code = program("copy_dword");
    Dispatch dispatch(process(), code);
    ASSERT_TRUE(dispatch.submit(queue));
    ASSERT_SUCCESS(process().wait_on_event(event, kTimeoutMs));
    EXPECT_EQ(process().events().memory_exception(event).va, 0u);
    // The driver has taken the queue off; its wave stands where it failed.
    const cwsr::Image image = queue.image();
    EXPECT_EQ(image.error, "");
    ASSERT_EQ(image.waves.size(), 1u);
    EXPECT_TRUE(image.waves[0].trapsts & kMemViol) << std::hex << image.waves[0].trapsts;
    EXPECT_TRUE(image.waves[0].status & kHalt) << std::hex << image.waves[0].status;
    EXPECT_GT(image.waves[0].pc, code);
    EXPECT_LT(image.waves[0].pc, code + 0x100);
    EXPECT_SUCCESS(queue.destroy());
}

}  // namespace
}  // namespace lyra::kfd
