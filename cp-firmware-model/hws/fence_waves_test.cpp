// SPDX-License-Identifier: MIT
// The fence behind an UNMAP_QUEUES says that everything of the queues is in memory: records, control stack, descriptor, and
// what the waves stored themselves. The driver reads and frees all of it when it sees the fence.
#include "cp-firmware-model/testing/waves_bench.h"

namespace lyra {
namespace {

using testing::TestRing;
using testing::WavesBench;

/// Every write in its order: no page is handed out for writing.
class WriteLog : public MemoryPort {
public:
    struct Write {
        uint32_t vmid;
        uint64_t va, size;
    };
    explicit WriteLog(testing::FlatMemory& memory) : memory_(memory) {}
    uint8_t* page(uint32_t vmid, uint64_t va, Access access) override {
        const bool writes = access == Access::Write || access == Access::Atomic;
        return writes ? nullptr : memory_.page(vmid, va, access);
    }
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) override { return memory_.read(vmid, va, data, size); }
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) override {
        writes.push_back({vmid, va, size});
        return memory_.write(vmid, va, data, size);
    }
    std::vector<Write> writes;

private:
    testing::FlatMemory& memory_;
};

/// Stores what it counts, for ever, in a word of its own.
constexpr const char* kCountForever = R"(
  s_lshl_b32 s2, s2, 8
  v_lshlrev_b32 v1, 2, v0
  v_add_u32 v1, s2, v1
  v_mov_b32 v2, 0
again:
  v_add_u32 v2, 1, v2
  global_store_dword v1, v2, s[0:1]
  s_branch again
)";

struct Fence : WavesBench {
    Fence() {
        ready = ready && program(0, kCountForever);
        bus.hub.set(log);
    }
    struct Counts {
        unsigned data = 0, area = 0, stack = 0, mqd = 0;
        unsigned all() const { return data + area + stack + mqd; }
    };
    /// Writes from one place of the log to another, by where they go.
    Counts count(size_t from, size_t to, const TestRing& ring, unsigned number) const {
        Counts counts;
        const uint64_t area = kArea + number * 0x2000000;
        const auto hits = [&](const WriteLog::Write& w, uint64_t first, uint64_t bytes) {
            return w.va < first + bytes && w.va + w.size > first;
        };
        for (size_t n = from; n < to; ++n) {
            const WriteLog::Write& write = log.writes[n];
            counts.data += hits(write, kData, 0x10000);
            counts.area += hits(write, area, sizes.total());
            counts.mqd += hits(write, ring.mqd, 0x800);
            counts.stack += hits(write, ring.mqd + 0x1000, sizes.control_stack);
        }
        return counts;
    }
    size_t fence_write() const {
        size_t at = log.writes.size();
        while (at != 0 && log.writes[at - 1].va != kDone) --at;
        return at;
    }
    WriteLog log{bus.memory};
};

TEST_F(Fence, ComesAfterEveryWriteOfTheQueuesAndTheirWaves) {
    ASSERT_READY();
    TestRing rings[2] = {save_ring(0), save_ring(1)};
    run_list({process(0x8001), map_queue(rings[0]), map_queue(rings[1])});
    for (unsigned n = 0; n < 2; ++n) submit_grid(rings[n], 0, 12, 0, kData + n * 0x4000);
    std::mt19937 random(1);
    for (unsigned turn = 0; turn < 40; ++turn) {
        for (unsigned n = 1 + random() % 8; n != 0; --n) cp.run(500 + random() % 3000);
        ASSERT_EQ(cp.dispatcher().waves_live_total(), 24u) << turn;
        bus.memory.put<uint64_t>(kDone, 0);
        log.writes.clear();
        submit(hiq, CpBench::unmap(3));
        submit(hiq, query_status(kDone, 100));
        for (unsigned n = 0; n < 20'000 && qword(kDone) != 100; ++n) cp.run(1 + random() % 700);
        ASSERT_EQ(qword(kDone), 100u) << turn;
        // What is still on its way shows now.
        for (unsigned n = 0; n < 50; ++n) cp.run(2000);
        const size_t fence = fence_write();
        ASSERT_NE(fence, 0u);
        for (unsigned n = 0; n < 2; ++n) {
            const Counts before = count(0, fence - 1, rings[n], n), after = count(fence, log.writes.size(), rings[n], n);
            EXPECT_GT(before.area, 12 * 20u) << "records of twelve waves";
            EXPECT_GT(before.stack, 0u);
            EXPECT_GT(before.mqd, 0u);
            EXPECT_EQ(after.all(), 0u) << "turn " << turn << ": data " << after.data << ", area " << after.area << ", stack "
                                       << after.stack << ", descriptor " << after.mqd;
        }
        ASSERT_FALSE(HasFailure());
        run_list({process(0x8001), map_queue(rings[0]), map_queue(rings[1])});
        for (unsigned n = 0; n < 2000 && env.stats.get(Stat::waves_restored) < env.stats.get(Stat::waves_saved); ++n)
            cp.run(500);
    }
    EXPECT_EQ(env.stats.get(Stat::waves_saved), 40 * 24u);
    expect_all_restored();
}

}  // namespace
}  // namespace lyra
