// SPDX-License-Identifier: MIT
// KFDLocalMemoryTest, KFDMemoryTest and KFDEvictTest, as far as they use the GPU. What each means upstream: README.md.
#include "kfdtest-ports/ports/kfd_test.h"

namespace lyra::kfd {
namespace {

class MemoryTest : public KfdTest {
protected:
    /// Copy a dword on the GPU and wait.
    void copy(UserQueue& queue, uint64_t from, uint64_t to) {
        Dispatch dispatch(process(), program("copy_dword"));
        ASSERT_TRUE(dispatch.args(from, to).submit(queue));
        ASSERT_SUCCESS(dispatch.sync(kTimeoutMs));
    }
};

using KFDLocalMemoryTest = MemoryTest;

TEST_F(KFDLocalMemoryTest, AccessLocalMem) {
    const GpuBuffer local = buffer(kPage, 0xffffffff, Domain::Vram);
    uint32_t event = 0;
    ASSERT_SUCCESS(create_queue_event(process(), false, event));
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    queue.place_and_submit(pm4::write_data(local.va, {0, 0}));
    EXPECT_SUCCESS(queue.wait_event(event, kTimeoutMs));
    EXPECT_EQ(words(local)[0], 0u);
    EXPECT_EQ(words(local)[2], 0xffffffff);
    EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDLocalMemoryTest, BasicTest) {
    const GpuBuffer from = buffer(kPage, 0x01010101), to = buffer(),
                    local[2] = {buffer(kPage, 0, Domain::Vram), buffer(kPage, 0, Domain::Vram)};
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    copy(queue, from.va, local[0].va);
    copy(queue, local[0].va, local[1].va);
    copy(queue, local[1].va, to.va);
    EXPECT_EQ(words(to)[0], 0x01010101u);
    EXPECT_EQ(words(to)[1], 0u);
    EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDLocalMemoryTest, VerifyContentsAfterUnmapAndMap) {
    const GpuBuffer from = buffer(kPage, 0x01010101), to = buffer(), local = buffer(kPage, 0, Domain::Vram);
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    copy(queue, from.va, local.va);
    EXPECT_SUCCESS(process().unmap(local));
    EXPECT_SUCCESS(process().map(local));
    copy(queue, local.va, to.va);
    EXPECT_EQ(words(to)[0], 0x01010101u);
    EXPECT_SUCCESS(queue.destroy());
}

/// Blocks of growing size in an address space full of holes: both ends of each are reached.
TEST_F(KFDLocalMemoryTest, Fragmentation) {
    constexpr uint32_t kOrders = 6;
    const GpuBuffer system = buffer();
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    std::vector<GpuBuffer> kept;
    uint32_t value = 0;
    for (uint32_t order = 0; order < kOrders; ++order) {
        const uint64_t bytes = uint64_t{kPage} << order;
        for (uint32_t n = 0; n < 1u << (kOrders - order); ++n) {
            GpuBuffer block = process().allocate(bytes, Domain::Vram);
            ASSERT_TRUE(block);
            words(system)[0] = ++value;
            const uint64_t end = block.va + bytes - 4;
            copy(queue, system.va, block.va);
            copy(queue, block.va, end);
            copy(queue, end, system.va + 4);
            ASSERT_EQ(words(system)[1], value) << order << " " << n;
            if (n % 2) {
                process().release(block);
            } else {
                kept.push_back(block);
            }
        }
    }
    EXPECT_SUCCESS(queue.destroy());
}

using KFDMemoryTest = MemoryTest;

TEST_F(KFDMemoryTest, FlatScratchAccess) {
    constexpr uint32_t kWaves = 4, kWaveKib = 1;
    const GpuBuffer from = buffer(kPage, 0x01010101), to = buffer(), scratch = buffer(64 << 10, 0, Domain::Vram);
    // Parts of it come and go first.
    EXPECT_SUCCESS(process().unmap(scratch));
    EXPECT_SUCCESS(process().map(scratch));
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    const uint64_t pairs[2][2] = {{from.va, inproc::kPrivateBase}, {inproc::kPrivateBase, to.va}};
    for (const auto& [source, target] : pairs) {
        Dispatch dispatch(process(), program("scratch_copy"));
        ASSERT_TRUE(dispatch.args(source, target).scratch(kWaves, kWaveKib, scratch.va).submit(queue));
        ASSERT_SUCCESS(dispatch.sync(kTimeoutMs));
    }
    EXPECT_EQ(words(to)[0], 0x01010101u);
    EXPECT_EQ(words(to)[1], 0u);
    bool in_scratch = false;
    for (uint64_t i = 0; i < scratch.bytes / 4; ++i) in_scratch |= words(scratch)[i] == 0x01010101;
    EXPECT_TRUE(in_scratch);
    EXPECT_SUCCESS(queue.destroy());
}

/// Buffers of all sizes are mapped and unmapped while both SDMA engines write.
TEST_F(KFDMemoryTest, MMBench) {
    struct Size {
        uint64_t bytes;
        uint32_t buffers;
    };
    UserQueue queues[2];
    for (UserQueue& queue : queues) ASSERT_SUCCESS(queue.create(process(), QueueType::Sdma, 8 * kPage));
    const GpuBuffer target = buffer();
    uint32_t turn = 0;
    for (const Size size : {Size{kPage, 40}, Size{kPage << 4, 20}, Size{kPage << 9, 4}}) {
        for (const Domain domain : {Domain::System, Domain::Vram}) {
            std::vector<GpuBuffer> buffers(size.buffers);
            const auto interleave = [&](const GpuBuffer& mapped) {
                ++turn;
                ASSERT_TRUE(queues[0].place_and_submit(sdma::write_linear(target.va, {turn})));
                if (!mapped) return;
                ASSERT_TRUE(queues[1].place_and_submit(sdma::write_linear(mapped.va + size.bytes - 4, {turn})));
            };
            const auto idle = [&] {
                for (UserQueue& queue : queues) ASSERT_TRUE(queue.wait_consumed(kTimeoutMs));
                EXPECT_TRUE(wait_value(words(target), turn));
            };
            for (GpuBuffer& mine : buffers) {
                mine = process().allocate(size.bytes, domain);
                ASSERT_TRUE(mine);
                interleave(mine);
            }
            idle();
            for (const GpuBuffer& mine : buffers) {
                EXPECT_NE(words(mine)[size.bytes / 4 - 1], 0u);
                EXPECT_SUCCESS(process().unmap(mine));
                interleave({});
            }
            idle();
            for (GpuBuffer& mine : buffers) {
                EXPECT_SUCCESS(process().map(mine));
                interleave(mine);
            }
            idle();
            for (GpuBuffer& mine : buffers) process().release(mine);
            ASSERT_FALSE(HasFailure());
        }
    }
    for (UserQueue& queue : queues) EXPECT_SUCCESS(queue.destroy());
}

/// A shader polls VRAM that the host writes through the BAR; the flush register of the remapped page lies between.
TEST_F(KFDMemoryTest, HostHdpFlush) {
    const GpuBuffer shared = buffer(kPage, 0, Domain::Vram);
    words(shared)[0] = 0xdead;
    words(shared)[1] = 0xfeeb;
    words(shared)[2] = 0xfeed;
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    Dispatch dispatch(process(), program("copy_on_signal"));
    ASSERT_TRUE(dispatch.args(shared.va).submit(queue));
    ASSERT_TRUE(gpu().wait([&] { return stat("waves") == 1; }, kTimeoutMs));
    gpu().delay_us(1000);
    EXPECT_EQ(words(shared)[2], 0xfeedu);
    words(shared)[1] = 0xbeef;
    gpu().write_register(inproc::reg::kHdpMemFlush, 1);
    words(shared)[0] = 0xcafe;
    EXPECT_SUCCESS(dispatch.sync(kTimeoutMs));
    gpu().write_register(inproc::reg::kHdpMemFlush, 1);
    EXPECT_EQ(words(shared)[2], 0xbeefu);
    EXPECT_SUCCESS(queue.destroy());
}

/// Pages that the process has got a new copy of: queues are evicted, the tables changed, and the queues restored.
TEST_F(KFDMemoryTest, MemoryRegister) {
    const GpuBuffer global = buffer(kPage, 0xdeadbeef), stack = buffer(), copies[2] = {buffer(), buffer()};
    UserQueue compute, sdma_queue;
    ASSERT_SUCCESS(compute.create(process()));
    ASSERT_SUCCESS(sdma_queue.create(process(), QueueType::Sdma));
    copy(compute, global.va, stack.va);
    ASSERT_TRUE(sdma_queue.place_and_submit(sdma::write_linear(stack.va + 64, {0x12345678})));
    EXPECT_TRUE(sdma_queue.wait_consumed(kTimeoutMs));
    EXPECT_TRUE(wait_value(words(stack) + 16, 0x12345678));

    EXPECT_SUCCESS(driver().queues().evict(process()));
    words(copies[0])[0] = 0xd00bed00;
    for (int i = 0; i < 2; ++i) {
        GpuBuffer moved = copies[i];
        moved.va = (i ? stack : global).va;
        EXPECT_SUCCESS(process().map(moved));
    }
    ASSERT_TRUE(sdma_queue.place_and_submit(sdma::write_linear(stack.va + 64, {0xd0bed0be})));
    gpu().delay_us(2000);
    EXPECT_EQ(words(copies[1])[16], 0u) << "a queue ran although its process is evicted";
    EXPECT_SUCCESS(driver().queues().restore(process()));

    copy(compute, global.va, stack.va);
    EXPECT_TRUE(sdma_queue.wait_consumed(kTimeoutMs));
    EXPECT_TRUE(wait_value(words(copies[1]) + 16, 0xd0bed0be));
    EXPECT_EQ(words(copies[1])[0], 0xd00bed00u);
    EXPECT_EQ(words(stack)[0], 0xdeadbeefu) << "the old page";
    EXPECT_SUCCESS(compute.destroy());
    EXPECT_SUCCESS(sdma_queue.destroy());
}

using KFDEvictTest = MemoryTest;

/// Waves read a buffer of VRAM while it goes to system memory and back, with the queues evicted for each move.
TEST_F(KFDEvictTest, QueueTest) {
    constexpr uint32_t kGroups = 512, kPages = 16, kMoves = 10, kRight = 0x5678;
    const GpuBuffer system = buffer(uint64_t{kPages} * kPage), vram = buffer(uint64_t{kPages} * kPage, 0, Domain::Vram);
    const uint64_t va = process().space().reserve(vram.bytes);
    const auto move_to = [&](const GpuBuffer& to, const GpuBuffer& from) {
        std::memcpy(to.host, from.host, to.bytes);
        fill(from, 0xffffffff);
        GpuBuffer moved = to;
        moved.va = va;
        ASSERT_SUCCESS(process().map(moved));
    };
    for (uint32_t page = 0; page < kPages; ++page) words(system)[page * kPage / 4] = page;
    move_to(vram, system);
    const GpuBuffer control = buffer(), results = buffer(kGroups * 4);
    words(control)[1] = kPages;
    words(control)[2] = lo32(va);
    words(control)[3] = hi32(va);
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process()));
    Dispatch dispatch(process(), program("read_pages"));
    ASSERT_TRUE(dispatch.args(control.va, results.va).dim(kGroups).submit(queue));
    ASSERT_TRUE(gpu().wait([&] { return stat("waves") > 0; }, kTimeoutMs));
    for (uint32_t move = 0; move < kMoves; ++move) {
        let_run(1500);
        ASSERT_SUCCESS(driver().queues().evict(process()));
        if (move % 2) {
            move_to(vram, system);
        } else {
            move_to(system, vram);
        }
        ASSERT_SUCCESS(driver().queues().restore(process()));
    }
    EXPECT_GT(stat("waves_saved"), 0u);
    words(control)[0] = kRight;
    EXPECT_SUCCESS(dispatch.sync(kTimeoutMs * 5));
    for (uint32_t i = 0; i < kGroups; ++i) ASSERT_EQ(words(results)[i], kRight) << i;
    EXPECT_SUCCESS(queue.destroy());
}

}  // namespace
}  // namespace lyra::kfd
