// SPDX-License-Identifier: MIT
// KFDQMTest: which compute units a queue may use, and queue priorities. What each means upstream: README.md.
#include "kfdtest-ports/ports/queue_test.h"

namespace lyra::kfd {
namespace {

constexpr uint32_t kShaderEngines = 4;

/// What the driver makes of a mask, by shader engine * 16 + number in it: bits go round the engines.
std::set<uint32_t> units_of(uint32_t mask) {
    std::set<uint32_t> units;
    for (uint32_t bit = 0; bit < 32; ++bit) {
        if (mask >> bit & 1) units.insert(bit % kShaderEngines * 16 + bit / kShaderEngines);
    }
    return units;
}

TEST_F(KFDQMTest, BasicCuMaskingLinear) {
    const uint32_t units = gpu().options().compute_units;
    for (uint32_t n = 1; n <= units; ++n) {
        const uint32_t mask = (1u << n) - 1;
        EXPECT_EQ(units_used({mask}), units_of(mask)) << n;
    }
}

TEST_F(KFDQMTest, BasicCuMaskingEven) {
    const uint32_t units = gpu().options().compute_units;
    for (uint32_t n = kShaderEngines; n <= units; n += kShaderEngines) {
        const uint32_t mask = (1u << n) - 1;
        EXPECT_EQ(units_used({mask}), units_of(mask)) << n;
    }
    // Not upstream: one unit in the middle.
    EXPECT_EQ(units_used({1u << 6}), units_of(1u << 6));
}

/// The slot of a queue, as its registers show it.
class Slot {
public:
    Slot(Gpu& gpu, UserQueue& queue) : gpu_(gpu), doorbell_(queue.doorbell_bytes()) {}
    /// Among those of MEC 1, by its doorbell. @return false: it has none
    bool find() {
        for (uint32_t slot = 0; slot < 32; ++slot) {
            const bool active = read(slot, inproc::reg::kHqdActive) & 1;
            if (!active || (read(slot, inproc::reg::kHqdPqDoorbellControl) & 0x0ffffffc) != doorbell_) continue;
            pipe = slot / 8;
            pipe_priority = read(slot, kPipePriority);
            queue_priority = read(slot, kPipePriority + 4);
            return true;
        }
        return false;
    }
    uint32_t pipe = 0, pipe_priority = 0, queue_priority = 0;

private:
    static constexpr uint32_t kPipePriority = 0xc928;  // CP_HQD_PIPE_PRIORITY; CP_HQD_QUEUE_PRIORITY follows
    uint32_t read(uint32_t slot, uint32_t byte_offset) {
        gpu_.select(1, slot / 8, slot % 8, 0);
        const uint32_t value = gpu_.read_register(byte_offset);
        gpu_.select(0, 0, 0, 0);
        return value;
    }
    Gpu& gpu_;
    uint32_t doorbell_;
};

}  // namespace

void KFDQMTest::two_priorities(bool same_pipe) {
    constexpr uint32_t kGroups = 256;
    // Twelve queues later it is the turn of the same pipe again.
    std::vector<UserQueue> queues(same_pipe ? 13 : 2);
    UserQueue* const tasks[2] = {&queues.front(), &queues.back()};
    const Priority priorities[2] = {Priority::Low, Priority::High};
    for (UserQueue& queue : queues) ASSERT_SUCCESS(queue.create(process()));
    for (int i = 0; i < 2; ++i) ASSERT_SUCCESS(tasks[i]->update(100, priorities[i], false));
    uint32_t pipes[2] = {};
    for (int i = 0; i < 2; ++i) {
        Slot slot(gpu(), *tasks[i]);
        ASSERT_TRUE(gpu().wait([&] { return slot.find(); }, kTimeoutMs));
        pipes[i] = slot.pipe;
        EXPECT_EQ(slot.queue_priority, static_cast<uint32_t>(priorities[i]));
        EXPECT_EQ(slot.pipe_priority, i == 0 ? 0u : 2u);
    }
    EXPECT_EQ(pipes[0] == pipes[1], same_pipe);
    const GpuBuffer counts[2] = {buffer(), buffer()};
    std::unique_ptr<Dispatch> grids[2];
    for (int i = 0; i < 2; ++i) {
        grids[i] = std::make_unique<Dispatch>(process(), program("work"), true);
        ASSERT_TRUE(grids[i]->args(counts[i].va).dim(kGroups).submit(*tasks[i]));
    }
    WaitItem items[2] = {{grids[0]->event()}, {grids[1]->event()}};
    EXPECT_SUCCESS(process().wait_on_events(items, true, kTimeoutMs));
    for (const GpuBuffer& count : counts) EXPECT_EQ(words(count)[0], kGroups);
    for (UserQueue& queue : queues) EXPECT_SUCCESS(queue.destroy());
}

TEST_F(KFDQMTest, QueuePriorityOnDifferentPipe) { two_priorities(false); }
TEST_F(KFDQMTest, QueuePriorityOnSamePipe) { two_priorities(true); }

std::set<uint32_t> KFDQMTest::units_used(const std::vector<uint32_t>& mask) {
    constexpr uint32_t kGroups = 128;
    const GpuBuffer count = buffer(), places = buffer(4 * kGroups);
    std::set<uint32_t> used;
    UserQueue queue;
    EXPECT_SUCCESS(queue.create(process()));
    EXPECT_SUCCESS(queue.set_cu_mask(mask));
    Dispatch dispatch(process(), program("where"));
    EXPECT_TRUE(dispatch.args(count.va, places.va).dim(kGroups).submit(queue));
    EXPECT_SUCCESS(dispatch.sync(kTimeoutMs));
    EXPECT_EQ(words(count)[0], kGroups);
    for (uint32_t i = 0; i < kGroups; ++i) {
        const uint32_t hw_id = words(places)[i];  // SQ_WAVE_HW_ID: CU 11:8, SE 14:13
        used.insert((hw_id >> 13 & 3) * 16 + (hw_id >> 8 & 15));
    }
    EXPECT_SUCCESS(queue.destroy());
    return used;
}

}  // namespace lyra::kfd
