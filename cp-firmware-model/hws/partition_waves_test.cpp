// SPDX-License-Identifier: MIT
// A compute partition of two XCCs: how groups are dealt, a save area and a descriptor for each, and the one that follows.
#include "cp-firmware-model/queue/hqd_reset.h"
#include "cp-firmware-model/testing/waves_bench.h"
#include "facts/registers.h"

namespace lyra {
namespace {

using testing::TestRing;
using testing::Words;

constexpr uint32_t kStride = 0x4000;  ///< from one copy of a descriptor to the next
constexpr unsigned kEngines = 2, kGroups = 6;

GpuShape two_xccs() {
    GpuShape shape = testing::test_shape(kEngines, 2);
    shape.xccs = 2;
    return shape;
}

/// Waves that end when their data is not 0.
constexpr const char* kWait = R"(
wait:
  s_load_dword s8, s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_dcache_inv
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 wait
  s_endpgm
)";

struct TwoXccs : testing::WavesBench {
    TwoXccs() : WavesBench(two_xccs()) {
        Partition partition;
        partition.xccs = 2;
        cp.set_partition(partition);
        rsrc2_more = 1 << 7;  // TGID_X_EN
    }
    uint64_t copy_of(const TestRing& ring, unsigned xcc) { return ring.mqd + xcc * kStride; }
    uint32_t mqd(const TestRing& ring, unsigned xcc, unsigned dword) { return word(copy_of(ring, xcc) + 4 * dword); }
    /// A queue with a copy of its descriptor for each XCC, as the driver makes it. @param first  the XCC that gets group 0
    TestRing two_copies(bool dealt, unsigned first) {
        TestRing ring = save_ring(0);
        bus.memory.map(ring.mqd, 2 * kStride);
        const uint64_t area = kArea + 0x1000000;
        bus.memory.map(area, sizes.total());
        Words words(512);
        for (unsigned n = 0; n < words.size(); ++n) words[n] = word(ring.mqd + 4 * n);
        words[226] = kStride;
        words[225] = dealt ? 0 : first;
        words[41] = dealt;
        words[39] = dealt ? first : 0;  // of two
        put_words(ring.mqd, words);
        words[39] = dealt ? 1 - first : 0;
        words[171] = lo32(area);
        words[172] = hi32(area);
        put_words(ring.mqd + kStride, words);
        return ring;
    }
    void start(TestRing& ring) {
        ASSERT_TRUE(program(0, kWait));
        run_list({process(0x8001), map_queue(ring)});
        settle(20);
        submit_grid(ring, 0, kGroups, 0);
        for (unsigned n = 0; n < 200 && cp.dispatcher().waves_live_total() != kGroups; ++n) cp.run(500);
        ASSERT_EQ(cp.dispatcher().waves_live_total(), kGroups);
    }
    /// Groups by the XCC that they are on.
    std::array<std::set<uint32_t>, 2> groups() {
        std::array<std::set<uint32_t>, 2> found;
        for (unsigned cu = 0; cu < cp.dispatcher().shape().cus(); ++cu) {
            for (unsigned slot = 0; slot < gcn::kWaveSlots; ++slot) {
                const gcn::Wave& wave = cp.dispatcher().cu(cu).wave(slot);
                if (wave.state == gcn::WaveState::Free || wave.state == gcn::WaveState::Ended) continue;
                EXPECT_EQ(wave.xcc, cu / (kEngines * 2));
                EXPECT_LT(wave.hw_id >> 13 & 3, kEngines);  // SE_ID counts within the XCC
                found[wave.xcc].insert(wave.sgpr[4]);  // its work-group, behind four user SGPRs
            }
        }
        return found;
    }
    void end(TestRing& ring) {
        bus.memory.put<uint32_t>(kData, 1);
        finish(ring);
    }
};

TEST_F(TwoXccs, GroupsAreDealtInTurn) {
    ASSERT_READY();
    TestRing ring = two_copies(true, 0);
    start(ring);
    EXPECT_EQ(groups()[0], (std::set<uint32_t>{0, 2, 4}));
    EXPECT_EQ(groups()[1], (std::set<uint32_t>{1, 3, 5}));
    end(ring);
}

/// In virtual time a group waits for the engine whose turn it is, so none may be passed over.
TEST_F(TwoXccs, EachXccTakesItsEnginesInTurn) {
    ASSERT_READY();
    TestRing ring = two_copies(true, 0);
    ASSERT_TRUE(program(0, kWait));
    env.clock.start(env.timing);
    const auto run_us = [&](uint64_t us) { cp.run_until(env.clock.ns() + us * 1000); };
    run_list({process(0x8001), map_queue(ring)});
    run_us(100);
    submit_grid(ring, 0, 2 * kEngines, 0);
    run_us(100);
    for (unsigned engine = 0; engine < 2 * kEngines; ++engine) EXPECT_EQ(cp.dispatcher().waves_on_engine(engine), 1u) << engine;
}

TEST_F(TwoXccs, TheDescriptorSaysWhichXccIsFirst) {
    ASSERT_READY();
    TestRing ring = two_copies(true, 1);
    start(ring);
    EXPECT_EQ(groups()[1], (std::set<uint32_t>{0, 2, 4}));
    end(ring);
}

TEST_F(TwoXccs, APm4QueueHasOneXcc) {
    ASSERT_READY();
    TestRing ring = two_copies(false, 1);
    start(ring);
    EXPECT_EQ(groups()[0].size(), 0u);
    EXPECT_EQ(groups()[1].size(), kGroups);
    end(ring);
}

TEST_F(TwoXccs, TheCuMaskOfEachXccIsInItsCopy) {
    ASSERT_READY();
    TestRing ring = two_copies(true, 0);
    for (const unsigned dword : {23, 24}) bus.memory.put<uint32_t>(copy_of(ring, 1) + 4 * dword, 2);
    start(ring);
    for (unsigned cu = 0; cu < cp.dispatcher().shape().cus(); ++cu) {
        if (cu < kEngines * 2 || cu % 2 == 1) continue;
        EXPECT_EQ(cp.dispatcher().cu(cu).waves_live(), 0u) << cu;
    }
    end(ring);
}

TEST_F(TwoXccs, EachXccSavesIntoItsOwnArea) {
    ASSERT_READY();
    TestRing ring = two_copies(true, 0);
    start(ring);
    const auto before = groups();
    unmap();
    EXPECT_EQ(env.stats.get(Stat::waves_saved), kGroups);
    for (unsigned xcc = 0; xcc < 2; ++xcc) {
        EXPECT_LT(mqd(ring, xcc, 174), mqd(ring, xcc, 175)) << xcc;  // CNTL_STACK_OFFSET
        EXPECT_GT(mqd(ring, xcc, 176), mqd(ring, xcc, 175)) << xcc;  // WG_STATE_OFFSET
    }
    run_list({process(0x8001), map_queue(ring)});
    for (unsigned n = 0; n < 200 && env.stats.get(Stat::waves_restored) != kGroups; ++n) cp.run(500);
    for (unsigned n = 0; n < 2000 && cp.dispatcher().restoring(); ++n) cp.run(500);
    expect_all_restored();
    EXPECT_EQ(groups(), before);
    EXPECT_EQ(mqd(ring, 1, 174), mqd(ring, 1, 175));
    end(ring);
    EXPECT_EQ(cp.dispatcher().waves_live_total(), 0u);
}

const Hqd& slot_of(const CommandProcessor& cp, const TestRing& ring) {
    for (unsigned n = 0; n < kMecs * kPipesPerMec * kQueuesPerPipe; ++n) {
        const Hqd& hqd =
            cp.slot(1 + n / (kPipesPerMec * kQueuesPerPipe), n / kQueuesPerPipe % kPipesPerMec, n % kQueuesPerPipe);
        if (hqd.active() && hqd.doorbell_bytes() == ring.doorbell) return hqd;
    }
    throw std::runtime_error("no slot has the queue");
}

/// The second XCC of the partition, of which only registers are looked at.
struct Follower : testing::FlatBus {
    explicit Follower(TwoXccs& first)
        : leads(first.cp), cp(first.env, *this, testing::test_shape(kEngines, 2), first.sdma0, first.sdma1) {
        Partition partition;
        partition.xcc = 1;
        partition.xccs = 2;
        cp.set_partition(partition);
    }
    CommandProcessor* leader() override { return &leads; }
    static uint32_t read(CommandProcessor& of, const Hqd& at, uint32_t dw) {
        uint32_t value = 0;
        EXPECT_TRUE(of.read_register(dw, {.me = at.me, .pipe = at.pipe, .queue = at.queue}, value));
        return value;
    }
    CommandProcessor& leads;
    CommandProcessor cp;
};

TEST_F(TwoXccs, EachShowsTheQueueAndTheWavesThatItRuns) {
    ASSERT_READY();
    TestRing ring = two_copies(true, 0);
    bus.memory.put<uint32_t>(kData, 0);
    ASSERT_TRUE(program(0, kWait));
    run_list({process(0x8001), map_queue(ring)});
    settle(20);
    submit_grid(ring, 0, 5, 0);
    for (unsigned n = 0; n < 200 && cp.dispatcher().waves_live_total() != 5; ++n) cp.run(500);
    Follower second(*this);
    const Hqd& queue = slot_of(cp, ring);
    const uint32_t mqd_base = kHqdFirstRegister + hqd_reg::CP_MQD_BASE_ADDR;
    const uint32_t active = kHqdFirstRegister + hqd_reg::CP_HQD_ACTIVE;
    const uint32_t count = regs::GC::SPI_CSQ_WF_ACTIVE_COUNT_0 + queue.queue;
    const uint32_t doorbell = kHqdFirstRegister + hqd_reg::CP_HQD_PQ_DOORBELL_CONTROL;
    EXPECT_EQ(Follower::read(cp, queue, count), 3u);
    EXPECT_EQ(Follower::read(second.cp, queue, count), 2u);
    EXPECT_EQ(Follower::read(second.cp, queue, active), 1u);
    EXPECT_EQ(Follower::read(second.cp, queue, doorbell), Follower::read(cp, queue, doorbell));
    EXPECT_EQ(Follower::read(second.cp, queue, mqd_base), lo32(copy_of(ring, 1)));
    end(ring);
    EXPECT_EQ(Follower::read(second.cp, queue, count), 0u);
    unmap();
    EXPECT_EQ(Follower::read(second.cp, queue, active), 0u);
}

/// The driver resets a queue on each XCC on which it is active. @source Linux 6.12 reset_hung_queues()
TEST_F(TwoXccs, AQueueIsResetOnEach) {
    ASSERT_READY();
    TestRing ring = two_copies(true, 0);
    start(ring);
    Follower second(*this);
    const Hqd& queue = slot_of(cp, ring);
    const GrbmSelect select{.me = queue.me, .pipe = queue.pipe, .queue = queue.queue};
    const uint32_t active = kHqdFirstRegister + hqd_reg::CP_HQD_ACTIVE;
    EXPECT_TRUE(cp.write_register(regs::GC::SPI_COMPUTE_QUEUE_RESET, select, 1));
    EXPECT_EQ(Follower::read(cp, queue, active), 0u);
    EXPECT_EQ(Follower::read(second.cp, queue, active), 1u);
    EXPECT_EQ(cp.dispatcher().waves_live_total(), kGroups);
    EXPECT_TRUE(second.cp.write_register(regs::GC::SPI_COMPUTE_QUEUE_RESET, select, 1));
    EXPECT_EQ(cp.dispatcher().waves_live_total(), 0u);
    unmap();
    EXPECT_EQ(Follower::read(second.cp, queue, active), 0u);
}

TEST_F(TwoXccs, ADamagedCopyIsRefused) {
    ASSERT_READY();
    TestRing ring = two_copies(true, 0);
    start(ring);
    unmap();
    bus.memory.put<uint32_t>(copy_of(ring, 1) + 4 * 174, 0xffffffff);
    run_list({process(0x8001), map_queue(ring)});
    settle(50);
    EXPECT_EQ(faults(Fault::SavedImage), 1u);
    EXPECT_EQ(cp.dispatcher().waves_live_total(), 0u);
}

TEST_F(TwoXccs, CopiesThatCannotBeReadKeepTheQueueOut) {
    ASSERT_READY();
    TestRing ring = two_copies(true, 0);
    bus.memory.put<uint32_t>(ring.mqd + 4 * 226, 0x7f000000);
    run_list({process(0x8001), map_queue(ring)});
    settle(20);
    EXPECT_EQ(faults(Fault::MqdUnreadable), 1u);
}

TEST_F(TwoXccs, WhoFollowsTakesPacketsOfTheHiqAndDoesNothing) {
    ASSERT_READY();
    Partition second;
    second.xcc = 1;
    second.xccs = 2;
    cp.set_partition(second);
    TestRing ring = two_copies(true, 0);
    run_list({process(0x8001), map_queue(ring)});
    submit(hiq, query_status(kDone, 100));
    settle(50);
    EXPECT_EQ(qword(kDone), 0u);
    EXPECT_EQ(env.stats.get(Stat::processes_mapped) + bus.bound.size(), 0u);
    EXPECT_EQ(word(hiq.rptr), hiq.wptr);  // it has read them, and its own report is not masked here
}

TEST_F(TwoXccs, OneXccOfAPartitionOfItsOwnUsesItsEnginesOnly) {
    ASSERT_READY();
    cp.set_partition({});
    TestRing ring = two_copies(true, 0);
    start(ring);
    EXPECT_EQ(groups()[0].size(), kGroups);
    end(ring);
}

/// More groups than there is room for are launched in rounds.
TEST_F(TwoXccs, OneXccOfAPartitionOfItsOwnFillsItsEnginesOnly) {
    ASSERT_READY();
    cp.set_partition({});
    TestRing ring = two_copies(true, 0);
    ASSERT_TRUE(program(0, kWait));
    run_list({process(0x8001), map_queue(ring)});
    settle(20);
    submit_grid(ring, 0, 2000, 0);
    for (unsigned n = 0; n < 200; ++n) cp.run(5000);
    for (unsigned cu = 0; cu < cp.dispatcher().shape().cus(); ++cu)
        EXPECT_EQ(cp.dispatcher().cu(cu).waves_live() != 0, cu < kEngines * 2) << cu;
    end(ring);
}

}  // namespace
}  // namespace lyra
