// SPDX-License-Identifier: MIT
// KFDGWSTest: global wave sync. What each means upstream: README.md.
#include <algorithm>

#include "kfdtest-ports/ports/kfd_test.h"

namespace lyra::kfd {
namespace {

class KFDGWSTest : public KfdTest {
protected:
    static constexpr uint32_t kResources = 64;
    static constexpr uint64_t kEndMs = 120'000;
    static constexpr uint32_t kMostGrids = 50, kMostGroups = 1 << 18;

    /// Work-groups add one to a word, which is only safe as a semaphore lets one in at a time.
    void count(uint32_t groups, bool preempt) {
        UserQueue queue;
        ASSERT_SUCCESS(queue.create(process()));
        ASSERT_SUCCESS(queue.set_gws(kResources));
        const GpuBuffer word = buffer(kPage, 1);  // how many may be in
        volatile uint32_t& value = *words(word);
        Dispatch init(process(), program("gws_init"));
        init.args(word.va);
        ASSERT_TRUE(init.submit(queue));
        ASSERT_SUCCESS(init.sync(kTimeoutMs));

        // How far a grid comes between two looks of this thread is the machine's affair: with threads a starved one may see few
        // moments of a grid, so grids go on, and grow, until enough was taken away.
        unsigned switches = 0;
        uint32_t grids = 0, counted = 0;
        const auto enough = [&] { return !preempt || (switches >= 3 && stat("waves_saved") > 100); };
        do {
            Dispatch increment(process(), program("gws_increment"));
            increment.args(word.va).dim(groups);
            ASSERT_TRUE(increment.submit(queue));
            const uint32_t half = counted + groups / 2;
            while (preempt && value < half) {
                const uint32_t before = value;
                ASSERT_TRUE(gpu().wait([&] { return value > before + 4; }, kTimeoutMs)) << switches;
                ASSERT_SUCCESS(driver().queues().evict(process()));
                ASSERT_SUCCESS(driver().queues().restore(process()));
                ++switches;
            }
            ASSERT_SUCCESS(increment.sync(kEndMs));
            ++grids;
            counted += groups;
            EXPECT_EQ(value, counted + 1);
            groups = std::min(2 * groups, kMostGroups);
            EXPECT_EQ(stat("waves_saved"), stat("waves_restored"));
        } while (!enough() && grids < kMostGrids);
        EXPECT_TRUE(enough()) << switches << " times taken away, " << stat("waves_saved") << " waves saved";
        EXPECT_SUCCESS(queue.destroy());
    }
};

TEST_F(KFDGWSTest, Allocate) {
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    EXPECT_SUCCESS(queue.set_gws(kResources));
    EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDGWSTest, Semaphore) { count(scaled(2048, 1024 * 16 * 16), false); }

/// Not upstream: waves that hold the semaphore or wait for it are taken away and come back.
TEST_F(KFDGWSTest, SemaphorePreempted) { count(2048, true); }

}  // namespace
}  // namespace lyra::kfd
