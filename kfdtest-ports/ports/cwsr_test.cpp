// SPDX-License-Identifier: MIT
// KFDCWSRTest: queues leave and come back while their waves run. What each means upstream: README.md.
#include <tuple>

#include "kfdtest-ports/ports/iteration.h"

namespace lyra::kfd {
namespace {

/// Work-groups, and how often they are saved: here, and upstream.
class KFDCWSRTest : public KfdTest, public ::testing::WithParamInterface<std::tuple<uint32_t, uint32_t, uint32_t>> {
protected:
    static constexpr uint64_t kEndMs = 180'000;
    static constexpr uint32_t kSwitchesElsewhere = 10;
    /// Waves that began anew.
    uint64_t launched() { return stat("waves") - stat("waves_restored"); }
};

TEST_P(KFDCWSRTest, BasicTest) {
    const auto [groups, ours, upstream] = GetParam();
    const uint32_t switches = scaled(ours, upstream, kSwitchesElsewhere);
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    Iteration work(process(), program("iterate"), groups);
    ASSERT_TRUE(work.submit(queue));
    ASSERT_TRUE(gpu().wait([&] { return stat("waves") > 0; }, kTimeoutMs));
    let_run(500);
    uint64_t images = 0;
    for (uint32_t n = 0; n < switches; ++n) {
        ASSERT_SUCCESS(queue.update(0, Priority::Normal, false)) << n;
        const cwsr::Image image = queue.image();
        ASSERT_EQ(image.error, "") << n;
        ASSERT_FALSE(image.waves.empty()) << n;
        images += image.waves.size();
        gpu().delay_us(100);
        ASSERT_SUCCESS(queue.update(100, Priority::Normal, false)) << n;
        ASSERT_TRUE(gpu().wait([&] { return stat("waves_restored") == images; }, kTimeoutMs)) << n;
        let_run(200 + n % 13 * 77);
        work.expect_marks();
        ASSERT_EQ(process().wait_on_event(work.event(), 0), Status::WaitTimeout) << n;
        ASSERT_FALSE(HasFailure()) << n;
    }
    EXPECT_EQ(stat("waves_saved"), images);
    work.finish(kEndMs);
    EXPECT_EQ(launched(), groups);
    EXPECT_SUCCESS(queue.destroy());
}

INSTANTIATE_TEST_SUITE_P(, KFDCWSRTest,
                         ::testing::Values(std::make_tuple(1, 10, 10), std::make_tuple(256, 50, 50),
                                           std::make_tuple(512, 100, 100), std::make_tuple(1024, 100, 1000)));

/// Queues come and go while the waves of others are on their way back.
TEST_F(KFDCWSRTest, InterruptRestore) {
    constexpr uint32_t kMostTurns = 50;
    const uint32_t groups = scaled(1024, 1024, 400), turns = scaled(8, 8, 3);
    UserQueue first, second;
    ASSERT_SUCCESS(first.create(process()));
    Iteration one(process(), program("iterate"), groups), two(process(), program("iterate"), groups);
    ASSERT_TRUE(one.submit(first));
    ASSERT_SUCCESS(second.create(process()));
    ASSERT_TRUE(two.submit(second));
    ASSERT_TRUE(gpu().wait([&] { return stat("waves") > 0; }, kTimeoutMs));
    // In virtual time nobody makes room for the waves of the other queue: all that can come back may be back already.
    const uint64_t restore_ms = chosen_pump() == Pump::Virtual ? 5 : kTimeoutMs;
    unsigned in_restore = 0;
    // With threads, a starved test may find all of them back each time: then more turns.
    for (uint32_t turn = 0; turn < turns || (in_restore == 0 && turn < kMostTurns); ++turn) {
        UserQueue third;
        ASSERT_SUCCESS(third.create(process())) << turn;
        // Some waves are back, most are not.
        const uint64_t saved = stat("waves_saved"), before = stat("waves_restored");
        gpu().wait([&] { return stat("waves_restored") > before; }, restore_ms);
        in_restore += stat("waves_restored") < saved;
        ASSERT_SUCCESS(third.destroy()) << turn;
    }
    EXPECT_GT(in_restore, 0u);
    for (UserQueue* queue : {&first, &second}) {
        ASSERT_SUCCESS(queue->update(0, Priority::Normal, false));
        EXPECT_EQ(queue->image().error, "");
        ASSERT_SUCCESS(queue->update(100, Priority::Normal, false));
    }
    // Either may need the room that the other one has.
    one.stop();
    two.stop();
    one.finish(kEndMs);
    two.finish(kEndMs);
    EXPECT_EQ(launched(), 2 * groups);
    EXPECT_SUCCESS(first.destroy());
    EXPECT_SUCCESS(second.destroy());
}

}  // namespace
}  // namespace lyra::kfd
