// SPDX-License-Identifier: MIT
// KFDEventTest: signals from the end of the pipe to the waiter. What each means upstream: README.md.
#include <numeric>

#include "kfdtest-ports/ports/kfd_test.h"

namespace lyra::kfd {
namespace {

class KFDEventTest : public KfdTest {
protected:
    uint32_t event(bool auto_reset = true) {
        uint32_t id = 0;
        EXPECT_SUCCESS(create_queue_event(process(), auto_reset, id));
        return id;
    }
    void signal(uint32_t id) { ASSERT_TRUE(queue.place_and_submit(signal_event(process(), id))); }
    EventTable& events() { return process().events(); }
    UserQueue queue;
    void TearDown() override {
        EXPECT_SUCCESS(queue.destroy());
        KfdTest::TearDown();
    }
};

TEST_F(KFDEventTest, CreateDestroyEvent) {
    const uint32_t id = event();
    EXPECT_NE(id, 0u);
    EXPECT_NE(events().slot_va(id), 0u);
    EXPECT_SUCCESS(events().destroy(id));
    EXPECT_EQ(events().destroy(id), Status::InvalidParameter);
}

TEST_F(KFDEventTest, CreateMaxEvents) {
    std::vector<uint32_t> ids(256);
    for (uint32_t& id : ids) id = event();
    EXPECT_EQ(std::set<uint32_t>(ids.begin(), ids.end()).size(), ids.size());
    for (const uint32_t id : ids) EXPECT_SUCCESS(events().destroy(id));
    // And all that the signal page has room for.
    ids.resize(EventTable::kSignalLimit - 1);
    for (uint32_t& id : ids) id = event();
    uint32_t one_more = 0;
    EXPECT_EQ(create_queue_event(process(), true, one_more), Status::OutOfResources);
}

TEST_F(KFDEventTest, SignalEvent) {
    event();  // so that the other one is not the first
    const uint32_t id = event();
    ASSERT_SUCCESS(queue.create(process()));
    signal(id);
    EXPECT_TRUE(queue.wait_consumed(kTimeoutMs));
    EXPECT_SUCCESS(process().wait_on_event(id, kTimeoutMs));
    EXPECT_EQ(process().wait_on_event(id, 1), Status::WaitTimeout) << "one signal was enough for two waits";
    EXPECT_EQ(driver().interrupts().vectors(), 1u);
    EXPECT_EQ(events().exhaustive_searches(), 0u);
}

TEST_F(KFDEventTest, SignalEventExt) {
    event();
    const uint32_t id = event();
    ASSERT_SUCCESS(queue.create(process()));
    uint64_t age = 1;
    const auto wait = [&](uint64_t timeout_ms) {
        WaitItem item{id, age};
        const Status status = process().wait_on_events({&item, 1}, true, timeout_ms);
        age = item.age;
        return status;
    };
    // The age grows with each signal.
    for (uint64_t expected = 2; expected <= 3; ++expected) {
        signal(id);
        EXPECT_SUCCESS(wait(kTimeoutMs));
        ASSERT_EQ(age, expected);
    }
    // A signal that came before the wait is seen by its age.
    signal(id);
    gpu().delay_us(10'000);
    EXPECT_SUCCESS(wait(kTimeoutMs));
    ASSERT_EQ(age, 4u);
    // From the CPU.
    EXPECT_SUCCESS(events().set(id));
    EXPECT_SUCCESS(wait(kTimeoutMs));
    ASSERT_EQ(age, 5u);
    // Age 0: no ages; what was signaled before has been taken.
    age = 0;
    ASSERT_EQ(wait(10), Status::WaitTimeout);
    signal(id);
    EXPECT_SUCCESS(wait(kTimeoutMs));
    ASSERT_EQ(age, 0u);
}

TEST_F(KFDEventTest, SignalMaxEvents) {
    constexpr uint32_t kEvents = EventTable::kSignalLimit - 1, kRingBytes = 256 << 10;
    std::vector<uint32_t> ids(kEvents);
    for (uint32_t& id : ids) id = event();
    ASSERT_SUCCESS(queue.create(process(), QueueType::Pm4, kRingBytes));
    for (const uint32_t id : ids) ASSERT_TRUE(queue.place(signal_event(process(), id)));
    queue.submit();
    for (const uint32_t id : ids) ASSERT_SUCCESS(process().wait_on_event(id, kTimeoutMs)) << id;
    EXPECT_EQ(driver().interrupts().vectors(), kEvents);
    EXPECT_EQ(events().exhaustive_searches(), 0u);
}

TEST_F(KFDEventTest, SignalMultipleEventsWaitForAll) {
    constexpr uint32_t kEvents = 64;  // most that one call of the thunk takes
    std::vector<WaitItem> items(kEvents);
    for (WaitItem& item : items) item.event_id = event();
    ASSERT_SUCCESS(queue.create(process()));
    for (uint32_t i = 0; i < kEvents; ++i) {
        signal(items[i].event_id);
        EXPECT_TRUE(queue.wait_consumed(kTimeoutMs));
        gpu().delay_us(1000);
        // Too early for all of them.
        if (i == kEvents / 2) {
            std::vector<WaitItem> last{{items[kEvents - 1].event_id}};
            EXPECT_EQ(process().wait_on_events(last, true, 1), Status::WaitTimeout);
        }
    }
    EXPECT_SUCCESS(process().wait_on_events(items, true, kTimeoutMs));
    for (const WaitItem& item : items) EXPECT_TRUE(item.activated);
}

/// An interrupt without an event id is no signal, and costs no search through the page.
TEST_F(KFDEventTest, SignalInvalidEvent) {
    constexpr uint32_t kOthers = EventTable::kSignalLimit - 2;
    const uint32_t turns = scaled(200, 2000);
    for (uint32_t i = 0; i < kOthers; ++i) event();
    const uint32_t id = event();
    ASSERT_SUCCESS(queue.create(process()));
    for (uint32_t turn = 0; turn < turns; ++turn) {
        ASSERT_TRUE(queue.place(pm4::release_mem(0, 0, pm4::Interrupt::After)));
        signal(id);
        ASSERT_SUCCESS(process().wait_on_event(id, kTimeoutMs)) << turn;
    }
    EXPECT_EQ(driver().interrupts().vectors(), 2 * turns);
    EXPECT_EQ(events().exhaustive_searches(), 0u);
}

}  // namespace
}  // namespace lyra::kfd
