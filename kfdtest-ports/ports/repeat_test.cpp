// SPDX-License-Identifier: MIT
// The same calls give the same interrupts at the same times: what the pumps driven by the test promise. Not upstream.
#include "kfdtest-ports/ports/iteration.h"

namespace lyra::kfd {
namespace {

class Repeat : public KfdTest {
protected:
    void SetUp() override {}
    struct Record {
        uint64_t interrupts, time_ns, instructions, trace_hash;
    };
    /// More queues than slots, waves that are saved, copies.
    void scenario(Record& record) {
        open({});
        std::vector<UserQueue> queues(30);
        for (UserQueue& queue : queues) ASSERT_SUCCESS(queue.create(process()));
        UserQueue copies;
        ASSERT_SUCCESS(copies.create(process(), QueueType::Sdma));
        std::vector<std::unique_ptr<Iteration>> grids;
        for (UserQueue& queue : queues) {
            grids.push_back(std::make_unique<Iteration>(process(), program("iterate"), 8));
            ASSERT_TRUE(grids.back()->submit(queue));
        }
        const GpuBuffer from = buffer(64 << 10), to = buffer(64 << 10);
        ASSERT_TRUE(copies.place_and_submit(sdma::copy_linear(to.va, from.va, from.bytes)));
        gpu().delay_us(30);
        for (unsigned i = 0; i < 3; ++i) {
            ASSERT_SUCCESS(queues[i].update(0, Priority::Normal, false));
            ASSERT_SUCCESS(queues[i].update(100, Priority::Normal, false));
        }
        for (const auto& grid : grids) grid->stop();
        for (const auto& grid : grids) grid->finish(kTimeoutMs);
        EXPECT_GT(stat("waves_saved"), 0u);
        grids.clear();
        for (UserQueue& queue : queues) EXPECT_SUCCESS(queue.destroy());
        EXPECT_SUCCESS(copies.destroy());
        record = {driver().interrupts().digest(), gpu().now_ns(), stat("instructions"), stat("trace_hash")};
    }
};

TEST_F(Repeat, TheSameCallsGiveTheSameInterruptsAtTheSameTimes) {
    if (chosen_pump() == Pump::Thread) GTEST_SKIP() << "the host's clock";
    Record first, second;
    scenario(first);
    ASSERT_FALSE(HasFatalFailure());
    scenario(second);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(first.interrupts, second.interrupts);
    EXPECT_EQ(first.time_ns, second.time_ns);
    EXPECT_EQ(first.instructions, second.instructions);
    EXPECT_EQ(first.trace_hash, second.trace_hash);
    EXPECT_EQ(first.trace_hash != 0, chosen_pump() == Pump::Virtual);
}

}  // namespace
}  // namespace lyra::kfd
