// SPDX-License-Identifier: MIT
// The fixture of the queue suites.
#pragma once

#include "kfdtest-ports/ports/kfd_test.h"

namespace lyra::kfd {

class KFDQMTest : public KfdTest {
protected:
    static constexpr uint32_t kAllSdmaQueues = QueueManager::kSdmaEngines * QueueManager::kSdmaQueuesPerEngine;
    static constexpr uint32_t kDone = 0x02020202;

    /// A page by copy, then a word behind it by write, through one SDMA queue.
    void copy_and_write(UserQueue& queue, uint32_t value) {
        if (!copy_to_) copy_to_ = buffer(2 * kPage);
        if (!copy_from_) copy_from_ = buffer(kPage);
        fill(copy_to_, 0);
        fill(copy_from_, value);
        ASSERT_TRUE(queue.place_and_submit(sdma::copy_linear(copy_to_.va, copy_from_.va, kPage)));
        ASSERT_TRUE(queue.place_and_submit(sdma::write_linear(copy_to_.va + kPage, {kDone})));
        EXPECT_TRUE(queue.wait_consumed(kTimeoutMs));
        EXPECT_TRUE(wait_value(words(copy_to_) + kPage / 4, kDone));
        EXPECT_EQ(std::memcmp(copy_to_.host, copy_from_.host, kPage), 0) << std::hex << value;
        EXPECT_EQ(words(copy_to_)[kPage / 4 + 1], 0u);
    }
    /// Two words to element n of the buffer; PM4.
    static Words write_pair(const GpuBuffer& to, uint32_t n, uint32_t value) {
        return pm4::write_data(to.va + 8 * n, {value, value});
    }
    /// A queue that update() has stopped keeps its packets until it is started again.
    void stop_and_start(QueueType type, uint32_t percent, bool null_address) {
        const GpuBuffer to = buffer(kPage, 0xffffffff);
        const uint32_t event = queue_event();
        UserQueue queue;
        ASSERT_SUCCESS(queue.create(process(), type));
        const auto write = [&](uint32_t value) {
            return type == QueueType::Sdma ? sdma::write_linear(to.va, {value}) : write_pair(to, 0, value);
        };
        queue.place_and_submit(write(0));
        EXPECT_SUCCESS(queue.wait_event(event, kTimeoutMs));
        EXPECT_EQ(words(to)[0], 0u);
        fill(to, 0xffffffff);

        EXPECT_SUCCESS(queue.update(percent, Priority::Normal, null_address));
        queue.place_and_submit(write(1));
        gpu().delay_us(20'000);
        EXPECT_EQ(words(to)[0], 0xffffffff) << "a packet of a queue that is off";
        EXPECT_FALSE(queue.consumed());

        EXPECT_SUCCESS(process().events().reset(event));
        EXPECT_SUCCESS(queue.update(100, Priority::Normal, false));
        EXPECT_SUCCESS(queue.wait_event(event, kTimeoutMs));
        EXPECT_EQ(words(to)[0], 1u);
        EXPECT_SUCCESS(queue.destroy());
    }
    /// Compute units that a grid of a queue with this mask uses, by shader engine * 16 + number in it.
    std::set<uint32_t> units_used(const std::vector<uint32_t>& mask);
    /// A grid in a queue of low and one in a queue of high priority: both end, and the slots show what the driver asked for.
    void two_priorities(bool same_pipe);
    uint32_t queue_event() {
        uint32_t event = 0;
        EXPECT_SUCCESS(create_queue_event(process(), false, event));
        return event;
    }

private:
    GpuBuffer copy_to_, copy_from_;
};

}  // namespace lyra::kfd
