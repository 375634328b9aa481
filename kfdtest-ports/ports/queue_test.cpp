// SPDX-License-Identifier: MIT
// KFDQMTest: life of queues, packets through one and through all of them. What each means upstream: README.md.
#include "kfdtest-ports/ports/queue_test.h"

namespace lyra::kfd {
namespace {

TEST_F(KFDQMTest, CreateDestroyCpQueue) {
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    EXPECT_TRUE(gpu().wait([&] { return stat("queues_mapped") == 3; }, kTimeoutMs));  // KIQ and HIQ are the first
    EXPECT_SUCCESS(queue.destroy());
    EXPECT_EQ(stat("queues_unmapped"), 1u);
}

TEST_F(KFDQMTest, SubmitNopCpQueue) {
    const uint32_t event = queue_event();
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    queue.place_and_submit({pm4::kOneDwordNop});
    EXPECT_SUCCESS(queue.wait_event(event, kTimeoutMs));
    EXPECT_TRUE(queue.wait_consumed(kTimeoutMs));
    EXPECT_SUCCESS(process().events().destroy(event));
    EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, SubmitPacketCpQueue) {
    const GpuBuffer to = buffer(kPage, 0xffffffff);
    const uint32_t event = queue_event();
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    queue.place_and_submit(write_pair(to, 0, 0));
    EXPECT_SUCCESS(queue.wait_event(event, kTimeoutMs));
    EXPECT_EQ(words(to)[0], 0u);
    EXPECT_EQ(words(to)[1], 0u);
    EXPECT_EQ(words(to)[2], 0xffffffff);
    EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, AllCpQueues) {
    const GpuBuffer to = buffer(kPage, 0xffffffff);
    std::vector<UserQueue> queues(QueueManager::kCpQueues);
    for (UserQueue& queue : queues) ASSERT_SUCCESS(queue.create(process()));
    EXPECT_FALSE(driver().queues().oversubscribed());
    for (uint32_t i = 0; i < queues.size(); ++i) {
        queues[i].place_and_submit(write_pair(to, i, i));
        queues[i].place_and_submit(pm4::release_mem(0, 0, pm4::Interrupt::None));
        EXPECT_TRUE(queues[i].wait_consumed(kTimeoutMs)) << i;
        EXPECT_TRUE(wait_value(words(to) + 2 * i, i)) << i;
    }
    for (UserQueue& queue : queues) EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, CreateDestroySdmaQueue) {
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process(), QueueType::Sdma));
    EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, SubmitNopSdmaQueue) {
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process(), QueueType::Sdma));
    queue.place_and_submit(sdma::nop());
    EXPECT_TRUE(queue.wait_consumed(kTimeoutMs));
    EXPECT_EQ(queue.rptr(), 1u);
    EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, SubmitPacketSdmaQueue) {
    const GpuBuffer to = buffer(kPage, 0xffffffff);
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process(), QueueType::Sdma));
    queue.place_and_submit(sdma::write_linear(to.va, {kDone}));
    EXPECT_TRUE(queue.wait_consumed(kTimeoutMs));
    EXPECT_TRUE(wait_value(words(to), kDone));
    EXPECT_EQ(words(to)[1], 0xffffffff);
    EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, AllSdmaQueues) {
    std::vector<UserQueue> queues(kAllSdmaQueues);
    for (UserQueue& queue : queues) ASSERT_SUCCESS(queue.create(process(), QueueType::Sdma));
    UserQueue one_more;
    EXPECT_EQ(one_more.create(process(), QueueType::Sdma), Status::NoMemory);
    for (uint32_t i = 0; i < queues.size(); ++i) copy_and_write(queues[i], i + 0xa0);
    for (UserQueue& queue : queues) EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, AllQueues) {
    const GpuBuffer cp = buffer(kPage, 0xffffffff);
    std::vector<UserQueue> compute(QueueManager::kCpQueues), copies(kAllSdmaQueues);
    for (UserQueue& queue : compute) ASSERT_SUCCESS(queue.create(process()));
    for (UserQueue& queue : copies) ASSERT_SUCCESS(queue.create(process(), QueueType::Sdma));
    for (uint32_t i = 0; i < compute.size(); ++i) {
        compute[i].place_and_submit(write_pair(cp, i, i));
        EXPECT_TRUE(compute[i].wait_consumed(kTimeoutMs)) << i;
        EXPECT_TRUE(wait_value(words(cp) + 2 * i, i)) << i;
    }
    for (uint32_t i = 0; i < copies.size(); ++i) copy_and_write(copies[i], i + 0xa0);
    for (UserQueue& queue : compute) EXPECT_SUCCESS(queue.destroy());
    for (UserQueue& queue : copies) EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, EmptyDispatch) {
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    Dispatch dispatch(process(), program("nothing"));
    ASSERT_TRUE(dispatch.submit(queue));
    EXPECT_SUCCESS(dispatch.sync(kTimeoutMs));
    EXPECT_EQ(stat("waves"), 1u);
    EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, SimpleWriteDispatch) {
    const GpuBuffer from = buffer(kPage, 0x01010101), to = buffer();
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    Dispatch dispatch(process(), program("copy_dword"));
    ASSERT_TRUE(dispatch.args(from.va, to.va).submit(queue));
    EXPECT_SUCCESS(dispatch.sync(kTimeoutMs));
    EXPECT_EQ(words(to)[0], 0x01010101u);
    EXPECT_EQ(words(to)[1], 0u);
    EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, DisableCpQueueByUpdateWithNullAddress) { stop_and_start(QueueType::Pm4, 100, true); }
TEST_F(KFDQMTest, DisableSdmaQueueByUpdateWithNullAddress) { stop_and_start(QueueType::Sdma, 100, true); }
TEST_F(KFDQMTest, DisableCpQueueByUpdateWithZeroPercentage) { stop_and_start(QueueType::Pm4, 0, false); }

TEST_F(KFDQMTest, CreateAqlCpQueue) {
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process(), QueueType::Aql));
    gpu().delay_us(1000);
    EXPECT_SUCCESS(queue.destroy());
}

}  // namespace
}  // namespace lyra::kfd
