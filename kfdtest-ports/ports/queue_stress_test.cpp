// SPDX-License-Identifier: MIT
// KFDQMTest: many queues, many times, ring ends, latency, interrupts. What each means upstream: README.md.
#include <thread>

#include "kfdtest-ports/ports/queue_test.h"

namespace lyra::kfd {
namespace {

TEST_F(KFDQMTest, SdmaConcurrentCopies) {
    constexpr uint32_t kBytes = 64 << 10;
    const uint32_t rounds = scaled(400, 100'000);
    const GpuBuffer from = buffer(kBytes, 0x5a5a5a5a), to = buffer(kBytes, 0, Domain::Vram);
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process(), QueueType::Sdma));
    for (uint32_t i = 0; i < rounds; ++i) {
        ASSERT_TRUE(queue.place_and_submit(sdma::copy_linear(to.va, from.va, kBytes)));
        // How far the engine gets before the next packet comes varies.
        if (i % 3) gpu().work(gpu().now_ns() + i % 7 * 1000);
        if (i % 8 == 0) {
            ASSERT_TRUE(queue.wait_consumed(kTimeoutMs)) << i;
        }
    }
    ASSERT_TRUE(queue.place_and_submit(sdma::write_linear(from.va, {kDone})));
    EXPECT_TRUE(queue.wait_consumed(kTimeoutMs));
    EXPECT_TRUE(wait_value(words(from), kDone));
    EXPECT_EQ(words(to)[0], 0x5a5a5a5au);
    EXPECT_EQ(words(to)[kBytes / 4 - 1], 0x5a5a5a5au);
    EXPECT_EQ(stat("sdma_bytes"), uint64_t{kBytes} * rounds + 4);
    EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, CreateQueueStressSingleThreaded) {
    // Every order of creating and destroying one of each.
    for (unsigned turn = 0; turn < scaled(40, 2000); ++turn) {
        UserQueue queues[2];
        const QueueType types[2] = {QueueType::Pm4, QueueType::Sdma};
        const unsigned first = turn % 2, gone = turn % 4 > 1;
        ASSERT_SUCCESS(queues[first].create(process(), types[first]));
        ASSERT_SUCCESS(queues[1 - first].create(process(), types[1 - first]));
        EXPECT_SUCCESS(queues[gone].destroy());
        EXPECT_SUCCESS(queues[1 - gone].destroy());
    }
    gpu().delay_us(1000);
    EXPECT_EQ(stat("queues_mapped") - 2, stat("queues_unmapped"));  // KIQ and HIQ stay
}

TEST_F(KFDQMTest, OverSubscribeCpQueues) {
    constexpr uint32_t kQueues = 65, kPackets = 100;
    const GpuBuffer to = buffer(kPage, 0xffffffff);
    std::vector<UserQueue> queues(kQueues);
    for (UserQueue& queue : queues) ASSERT_SUCCESS(queue.create(process()));
    EXPECT_TRUE(driver().queues().oversubscribed());
    for (uint32_t q = 0; q < kQueues; ++q) {
        for (uint32_t i = 0; i < kPackets; ++i) ASSERT_TRUE(queues[q].place(write_pair(to, q, q + i)));
    }
    for (UserQueue& queue : queues) queue.submit();
    const auto all_consumed = [&] {
        for (const UserQueue& queue : queues) {
            if (!queue.consumed()) return false;
        }
        return true;
    };
    EXPECT_TRUE(gpu().wait(all_consumed, 5000));
    for (uint32_t q = 0; q < kQueues; ++q) EXPECT_EQ(words(to)[2 * q], q + kPackets - 1) << q;
    for (UserQueue& queue : queues) EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, MultipleCpQueuesStressDispatch) {
    constexpr uint32_t kQueues = 16;
    const uint32_t turns = scaled(12, 1000);
    const GpuBuffer from = buffer(), to = buffer(kPage, 0xff);
    std::vector<UserQueue> queues(kQueues);
    for (UserQueue& queue : queues) ASSERT_SUCCESS(queue.create(process()));
    for (uint32_t turn = 0; turn < turns; ++turn) {
        std::vector<std::unique_ptr<Dispatch>> grids;
        for (uint32_t q = 0; q < kQueues; ++q) {
            words(from)[q] = turn * kQueues + q;
            words(to)[q] = 0xff;
            grids.push_back(std::make_unique<Dispatch>(process(), program("copy_dword")));
            ASSERT_TRUE(grids[q]->args(from.va + 4 * q, to.va + 4 * q).submit(queues[q]));
        }
        for (uint32_t q = 0; q < kQueues; ++q) {
            ASSERT_SUCCESS(grids[q]->sync(kTimeoutMs)) << turn << " " << q;
            EXPECT_EQ(words(to)[q], turn * kQueues + q);
        }
    }
    for (UserQueue& queue : queues) EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, CpuWriteCoherence) {
    const GpuBuffer to = buffer();
    const uint32_t event = queue_event();
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    queue.place_and_submit({pm4::kOneDwordNop});
    EXPECT_TRUE(queue.wait_consumed(kTimeoutMs));
    EXPECT_EQ(queue.rptr(), 1u);
    // Up to the end of the ring, so that the device has read every dword of it once.
    do {
        ASSERT_TRUE(queue.place_and_submit({pm4::kOneDwordNop}));
    } while (queue.wptr() != 0);
    EXPECT_TRUE(queue.wait_consumed(kTimeoutMs));
    EXPECT_EQ(queue.rptr(), 0u);
    queue.place_and_submit(pm4::write_data(to.va, {0x42, 0x42}));
    EXPECT_SUCCESS(queue.wait_event(event, kTimeoutMs));
    EXPECT_EQ(words(to)[0], 0x42u);
    EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, CpQueueWraparound) {
    const GpuBuffer to = buffer();
    const uint32_t event = queue_event();
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    const uint32_t packets = 2 * queue.ring_dwords() / static_cast<uint32_t>(write_pair(to, 0, 0).size());
    for (uint32_t i = 0; i <= packets; ++i) {
        ASSERT_TRUE(queue.place_and_submit(write_pair(to, 0, i)));
        ASSERT_SUCCESS(queue.wait_event(event, kTimeoutMs)) << i;
        ASSERT_EQ(words(to)[1], i);
        EXPECT_SUCCESS(process().events().reset(event));
    }
    EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, SdmaQueueWraparound) {
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process(), QueueType::Sdma));
    for (uint32_t i = 0; i <= queue.ring_dwords() / 7; ++i) {
        copy_and_write(queue, i);
        ASSERT_FALSE(HasFailure()) << i;
    }
    const GpuBuffer to = buffer();
    for (uint32_t i = 0; i <= queue.ring_dwords() / 5; ++i) {
        ASSERT_TRUE(queue.place_and_submit(sdma::write_linear(to.va, {i})));
        ASSERT_TRUE(queue.wait_consumed(kTimeoutMs));
        ASSERT_TRUE(wait_value(words(to), i));
    }
    EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, QueueLatency) {
    constexpr uint32_t kRingBytes = 8192;
    const uint32_t packet = static_cast<uint32_t>(pm4::release_mem(8, 0, pm4::Interrupt::None).size() * 4);
    const uint32_t slots = (kRingBytes - 3 * packet) / packet;
    const GpuBuffer stamps = buffer(kPage * 4);
    const auto* stamp = reinterpret_cast<volatile uint64_t*>(stamps.host);
    const auto take = [&](uint32_t i) {
        return pm4::release_mem(stamps.va + 8 * i, 0, pm4::Interrupt::None, pm4::Data::GpuClock);
    };
    const uint32_t event = queue_event();
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process(), QueueType::Pm4, kRingBytes));
    for (uint32_t i = 0; i < slots; ++i) {
        ASSERT_TRUE(queue.place(take(i)));
        const uint64_t before = gpu_clock();
        queue.submit();
        ASSERT_SUCCESS(queue.wait_event(event, kTimeoutMs));
        EXPECT_SUCCESS(process().events().reset(event));
        EXPECT_GE(stamp[i], before) << i;
        EXPECT_LE(stamp[i], gpu_clock()) << i;
    }
    for (uint32_t i = 0; i < slots; ++i) ASSERT_TRUE(queue.place(take(i)));
    queue.submit();
    ASSERT_SUCCESS(queue.wait_event(event, kTimeoutMs));
    for (uint32_t i = 1; i < slots; ++i) EXPECT_GE(stamp[i], stamp[i - 1]) << i;
    EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, Atomics) {
    constexpr uint32_t kGroups = 256;
    const GpuBuffer to = buffer();
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    Dispatch dispatch(process(), program("atomic_add"));
    dispatch.args(to.va).dim(kGroups);
    std::atomic<uint32_t> added{0};
    std::atomic<bool> stop{false};
    std::thread cpu([&] {
        while (!stop) {
            __atomic_fetch_add(reinterpret_cast<uint32_t*>(to.host), 1, __ATOMIC_SEQ_CST);
            ++added;
        }
    });
    while (added < 1000) std::this_thread::yield();
    const bool placed = dispatch.submit(queue);
    const Status synced = dispatch.sync(kTimeoutMs);
    stop = true;
    cpu.join();
    EXPECT_TRUE(placed);
    EXPECT_SUCCESS(synced);
    EXPECT_EQ(words(to)[0], kGroups + added);
    EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, PM4EventInterrupt) {
    constexpr uint32_t kQueues = 4, kPackets = 1024, kRingBytes = 32768;
    GpuBuffer to[kQueues];
    for (GpuBuffer& mine : to) mine = buffer(kPackets * 4);
    for (uint32_t turn = 0; turn < scaled(8, 1024); ++turn) {
        UserQueue queues[kQueues];
        uint32_t events[kQueues];
        for (uint32_t q = 0; q < kQueues; ++q) {
            ASSERT_SUCCESS(queues[q].create(process(), QueueType::Pm4, kRingBytes));
            events[q] = queue_event();
            for (uint32_t i = 0; i < kPackets; ++i)
                ASSERT_TRUE(queues[q].place(pm4::write_data(to[q].va + 4 * i, {0xdeadbeaf})));
            ASSERT_TRUE(queues[q].place(signal_event(process(), events[q])));
        }
        for (UserQueue& queue : queues) queue.submit();
        for (uint32_t q = 0; q < kQueues; ++q) {
            ASSERT_SUCCESS(process().wait_on_event(events[q], kTimeoutMs)) << turn << " " << q;
            EXPECT_EQ(words(to[q])[0], 0xdeadbeafu);
            EXPECT_EQ(words(to[q])[kPackets - 1], 0xdeadbeafu);
            fill(to[q], 0);
        }
        for (uint32_t q = 0; q < kQueues; ++q) {
            EXPECT_SUCCESS(queues[q].destroy());
            EXPECT_SUCCESS(process().events().destroy(events[q]));
        }
    }
}

TEST_F(KFDQMTest, SdmaEventInterrupt) {
    constexpr uint32_t kQueues = 3, kBytes = 256 << 10, kStampStride = 32, kStamps = 4;
    const GpuBuffer from = buffer(kBytes), stamps = buffer(kPage);
    GpuBuffer to[kQueues];
    for (GpuBuffer& mine : to) mine = buffer(kBytes);
    const auto stamp_va = [&](uint32_t q, uint32_t n) { return stamps.va + (q * kStamps + n) * kStampStride; };
    const auto stamp = [&](uint32_t q, uint32_t n) {
        return *reinterpret_cast<volatile uint64_t*>(stamps.host + (q * kStamps + n) * kStampStride);
    };
    for (uint32_t used = 1; used <= kQueues; ++used) {
        for (uint32_t turn = 0; turn < scaled(8, 2048); ++turn) {
            UserQueue queues[kQueues];
            uint32_t events[kQueues];
            fill(from, used << 16 | turn);
            for (uint32_t q = 0; q < used; ++q) {
                ASSERT_SUCCESS(queues[q].create(process(), QueueType::Sdma));
                events[q] = queue_event();
                for (const Words& packet :
                     {sdma::timestamp(stamp_va(q, 0)), sdma::copy_linear(to[q].va, from.va, kBytes),
                      sdma::timestamp(stamp_va(q, 1)), sdma::fence(process().events().slot_va(events[q]), events[q]),
                      sdma::timestamp(stamp_va(q, 2)), sdma::trap(events[q]), sdma::timestamp(stamp_va(q, 3))}) {
                    ASSERT_TRUE(queues[q].place(packet));
                }
            }
            for (uint32_t q = 0; q < used; ++q) queues[q].submit();
            for (uint32_t q = 0; q < used; ++q) {
                ASSERT_SUCCESS(process().wait_on_event(events[q], kTimeoutMs)) << used << " " << turn << " " << q;
                EXPECT_EQ(std::memcmp(to[q].host, from.host, kBytes), 0);
                EXPECT_TRUE(queues[q].wait_consumed(kTimeoutMs));
                for (uint32_t n = 1; n < kStamps; ++n) EXPECT_GE(stamp(q, n), stamp(q, n - 1));
                EXPECT_SUCCESS(queues[q].destroy());
                EXPECT_SUCCESS(process().events().destroy(events[q]));
            }
        }
    }
}

TEST_F(KFDQMTest, GPUDoorbellWrite) {
    const GpuBuffer to = buffer();
    UserQueue compute, copies;
    ASSERT_SUCCESS(compute.create(process()));
    ASSERT_SUCCESS(copies.create(process(), QueueType::Sdma));
    ASSERT_TRUE(compute.place(pm4::write_data(to.va, {0x12345678, 0x87654321})));
    const uint64_t wptr = compute.pending_wptr();
    const uint64_t doorbell = process().map_doorbells() + compute.doorbell_bytes() - process().doorbell_bytes(0);
    ASSERT_TRUE(copies.place(sdma::write_linear(compute.wptr_va(), {lo32(wptr), hi32(wptr)})));
    ASSERT_TRUE(copies.place(sdma::write_linear(doorbell, {lo32(wptr), hi32(wptr)})));
    copies.submit();
    EXPECT_TRUE(wait_value(words(to), 0x12345678));
    EXPECT_TRUE(wait_value(words(to) + 1, 0x87654321));
    EXPECT_SUCCESS(compute.destroy());
    EXPECT_SUCCESS(copies.destroy());
}

}  // namespace
}  // namespace lyra::kfd
