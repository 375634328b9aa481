// SPDX-License-Identifier: MIT
// Waves on several host threads: every group runs once, what waves tell the chip arrives once.
#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "cp-firmware-model/mqd/mqd.h"
#include "cp-firmware-model/queue/flight.h"
#include "cp-firmware-model/testing/waves_bench.h"

namespace lyra {
namespace {

using testing::TestRing;
using testing::WavesBench;

constexpr unsigned kThreads = 3;

/// Before the chip is made.
template <unsigned kCount>
struct Threads {
    Threads() {
        if (const char* before = std::getenv(kName)) before_ = before;
        setenv(kName, std::to_string(kCount).c_str(), 1);
    }
    ~Threads() { before_.empty() ? unsetenv(kName) : setenv(kName, before_.c_str(), 1); }
    static constexpr const char* kName = "LYRA_TEST_THREADS";
    std::string before_;
};

struct OneThread : Threads<1>, WavesBench {};

template <unsigned kHostThreads>
struct RoundsOn : Threads<kHostThreads>, WavesBench {
    TestRing start() {
        TestRing ring = save_ring(0);
        run_list({process(0x8001), map_queue(ring)});
        settle();
        return ring;
    }
};
using Rounds = RoundsOn<kThreads>;
using TwoThreads = RoundsOn<2>;

/// Word 0 counts waves; each marks the byte of its number.
constexpr const char* kMark = R"(
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  s_mov_b64 exec, 1
  global_atomic_add v3, v1, v2, s[0:1] glc
  s_waitcnt vmcnt(0)
  global_load_ubyte v4, v3, s[0:1] offset:64 glc
  s_waitcnt vmcnt(0)
  v_add_u32 v4, 1, v4
  global_store_byte v3, v4, s[0:1] offset:64
  s_endpgm
)";

/// MSG_INTERRUPT with the wave's number.
constexpr const char* kInterrupt = R"(
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  s_mov_b64 exec, 1
  global_atomic_add v3, v1, v2, s[0:1] glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_mov_b32 m0, s8
  s_sendmsg sendmsg(MSG_INTERRUPT)
  s_endpgm
)";

constexpr const char* kInterruptForEver = R"(
again:
  s_mov_b32 m0, 1
  s_sendmsg sendmsg(MSG_INTERRUPT)
  s_branch again
)";

/// Word 0 is how many such waves there are, word 2 the most others that one has met. It takes several turns.
constexpr const char* kCountsItself = R"(
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  s_mov_b64 exec, 1
  global_atomic_add v3, v1, v2, s[0:1] glc
  s_waitcnt vmcnt(0)
  global_atomic_umax v1, v3, s[0:1] offset:8
  s_mov_b32 s8, 3000
again:
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 again
  global_atomic_sub v1, v2, s[0:1]
  s_endpgm
)";

/// The wave of group s4 waits until word 0 is its number, and adds one.
constexpr const char* kOneAfterTheOther = R"(
  v_mov_b32 v1, 0
  s_add_u32 s6, s4, 1
  v_mov_b32 v2, s6
  s_mov_b64 exec, 1
again:
  global_load_dword v3, v1, s[0:1] glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s5, v3
  s_cmp_eq_u32 s5, s4
  s_cbranch_scc0 again
  global_store_dword v1, v2, s[0:1]
  s_endpgm
)";

constexpr const char* kForEver = R"(
again:
  s_add_u32 s8, s8, 1
  s_branch again
)";

TEST_F(Rounds, EveryGroupRunsOnce) {
    ASSERT_READY();
    ASSERT_TRUE(program(0, kMark));
    TestRing ring = start();
    constexpr unsigned kGroups = 20'000;
    submit_grid(ring, 0, kGroups, 0);
    finish(ring);
    EXPECT_EQ(word(kData), kGroups);
    unsigned once = 0;
    for (unsigned n = 0; n < kGroups; ++n) once += bus.memory.get<uint8_t>(kData + 64 + n) == 1;
    EXPECT_EQ(once, kGroups);
    EXPECT_EQ(env.stats.get(Stat::workgroups), kGroups);
    EXPECT_EQ(cp.dispatcher().waves_live_total(), 0u);
}

/// Groups may wait for those below them, wherever these are dealt to: on hardware they were launched before. Here all run on
/// the one compute unit that their mask allows. They are more than a part has one behind the other.
TEST_F(Rounds, GroupsThatWaitForLowerOnesEnd) {
    ASSERT_READY();
    ASSERT_TRUE(program(0, kOneAfterTheOther));
    TestRing ring = start();
    constexpr unsigned kGroups = 7000;
    rsrc2_more = 1 << 7;             // TGID_X_EN
    emit(ring, sh(0x216, {1, 0}));  // COMPUTE_STATIC_THREAD_MGMT_SE0, SE1
    submit_grid(ring, 0, kGroups, 0);
    for (unsigned n = 0; n < 5'000 && !done(ring); ++n) cp.run(100'000);
    EXPECT_EQ(word(kData), kGroups);
    EXPECT_TRUE(done(ring));
}

TEST_F(Rounds, EveryInterruptArrivesOnce) {
    ASSERT_READY();
    ASSERT_TRUE(program(0, kInterrupt));
    TestRing ring = start();
    constexpr unsigned kGroups = 3000;
    submit_grid(ring, 0, kGroups, 0);
    finish(ring);
    std::multiset<uint32_t> seen;
    for (const Interrupt& i : bus.interrupts) {
        if (i.source == ih_source::kSqMessage) seen.insert((i.data[0] & 0xfff) | (i.data[0] >> 28) << 12);
    }
    EXPECT_EQ(seen.size(), kGroups);
    EXPECT_EQ(std::set<uint32_t>(seen.begin(), seen.end()).size(), kGroups);
}

TEST_F(Rounds, WavesRunOnMoreThanOneThread) {
    ASSERT_READY();
    ASSERT_TRUE(program(0, kInterruptForEver));
    TestRing ring = start();
    std::set<std::thread::id> threads;
    bus.on_interrupt = [&](const Interrupt&) { threads.insert(std::this_thread::get_id()); };
    submit_grid(ring, 0, 64, 0);
    // The host may be busy with other things; then helpers come late.
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (threads.size() < 2 && std::chrono::steady_clock::now() < until) cp.run(50'000);
    EXPECT_GE(threads.size(), 2u);
}

TEST_F(Rounds, ACallStaysWithinItsBudget) {
    ASSERT_READY();
    ASSERT_TRUE(program(0, kForEver));
    TestRing ring = start();
    submit_grid(ring, 0, 160, 0);
    for (unsigned n = 0; n < 3; ++n) cp.run(50'000);
    for (const uint64_t budget : {100u, 1000u, 12'000u, 100'000u}) {
        const uint64_t before = env.stats.get(Stat::instructions);
        cp.run(budget);
        const uint64_t did = env.stats.get(Stat::instructions) - before;
        EXPECT_GT(did, budget / kThreads / 2);
        EXPECT_LE(did, 2 * budget + kThreads * 512);
    }
}

/// More groups than all compute units hold, so that rounds launch them: between rounds every place is taken, however few
/// instructions there were for it.
TEST_F(Rounds, AGridThatIsLargerThanTheChipFillsIt) {
    ASSERT_READY();
    ASSERT_TRUE(program(0, kForEver));
    TestRing ring = start();
    submit_grid(ring, 0, 1000, 0);
    unsigned held = 0;
    for (unsigned n = 0; n < 8 && held == 0; ++n) {
        cp.run(1);
        held = cp.dispatcher().waves_live_total();
    }
    for (unsigned cu = 0; cu < 4; ++cu) {
        const unsigned live = cp.dispatcher().cu(cu).waves_live();
        EXPECT_EQ(live, held / 4) << cu;
        EXPECT_GE(live, 28u) << cu;
    }
    cp.run(100'000);
    EXPECT_EQ(cp.dispatcher().waves_live_total(), held);
}

TEST_F(Rounds, LimitsOfAGridHoldForEachOfItsGroups) {
    ASSERT_READY();
    ASSERT_TRUE(program(0, kCountsItself));
    TestRing ring = start();
    constexpr uint32_t kGroupsPerUnit = 2, kGroups = 400;
    emit(ring, sh(0x215, {kGroupsPerUnit << 12}));  // COMPUTE_RESOURCE_LIMITS.TG_PER_CU
    submit_grid(ring, 0, kGroups, 0);
    finish(ring);
    EXPECT_EQ(env.stats.get(Stat::workgroups), kGroups);
    EXPECT_EQ(word(kData), 0u);
    EXPECT_LT(word(kData + 8), 4 * kGroupsPerUnit) << "others that were there when one came";
}

TEST_F(Rounds, AGridThatFindsNoRoomLeavesTheDeviceIdle) {
    ASSERT_READY();
    ASSERT_TRUE(program(0, "s_sethalt 1"));
    TestRing ring = start();
    submit_grid(ring, 0, 1000, 0);
    RunState state = RunState::Busy;
    for (unsigned n = 0; n < 1000 && state != RunState::Idle; ++n) state = cp.run(10'000);
    EXPECT_EQ(state, RunState::Idle);
    EXPECT_LT(cp.dispatcher().waves_live_total(), 1000u);
    EXPECT_GE(cp.dispatcher().waves_live_total(), 4u * 28);
}

/// Groups of one grid after another are claimed in the same round.
TEST_F(Rounds, GridsThatFollowOneAnotherAreCountedEach) {
    ASSERT_READY();
    ASSERT_TRUE(program(0, kMark));
    TestRing ring = start();
    constexpr unsigned kGrids = 6, kGroups = 3000;
    for (unsigned n = 0; n < kGrids; ++n) submit_grid(ring, 0, kGroups, 0);
    finish(ring);
    EXPECT_EQ(word(kData), kGrids * kGroups);
    unsigned once = 0;
    for (unsigned n = 0; n < kGrids * kGroups; ++n) once += bus.memory.get<uint8_t>(kData + 64 + n) == 1;
    EXPECT_EQ(once, kGrids * kGroups);
    EXPECT_EQ(env.stats.get(Stat::workgroups), kGrids * kGroups);
    EXPECT_EQ(env.stats.get(Stat::waves), kGrids * kGroups);
    EXPECT_EQ(cp.dispatcher().waves_live_total(), 0u);
    for (unsigned engine = 0; engine < 4; ++engine) EXPECT_EQ(cp.dispatcher().waves_on_engine(engine), 0u) << engine;
}

/// Instructions of the waves that each compute unit has: least and most.
std::pair<uint64_t, uint64_t> least_and_most(const Dispatcher& dispatcher, unsigned cus = 4) {
    uint64_t least = ~uint64_t{0}, most = 0;
    for (unsigned cu = 0; cu < cus; ++cu) {
        uint64_t sum = 0;
        for (unsigned slot = 0; slot < gcn::kWaveSlots; ++slot) sum += dispatcher.cu(cu).wave(slot).instructions;
        least = std::min(least, sum);
        most = std::max(most, sum);
    }
    return {least, most};
}

TEST_F(Rounds, EndlessWavesAreFair) {
    ASSERT_READY();
    ASSERT_TRUE(program(0, kForEver));
    TestRing ring = start();
    submit_grid(ring, 0, 64, 0);
    for (unsigned n = 0; n < 300; ++n) cp.run(12'000);
    const auto [least, most] = least_and_most(cp.dispatcher());
    EXPECT_GT(least, most / 2);
}

/// Of three compute units on two threads one is the last one, and one of the others goes on meanwhile.
TEST_F(TwoThreads, AComputeUnitThatGoesAheadGetsNoMoreThanOthers) {
    ASSERT_READY();
    ASSERT_TRUE(program(0, kForEver));
    TestRing ring = start();
    emit(ring, sh(0x216, {3, 1}));  // COMPUTE_STATIC_THREAD_MGMT_SE0, SE1
    submit_grid(ring, 0, 48, 0);
    constexpr uint64_t kShare = 20'000;
    for (unsigned n = 0; n < 300; ++n) cp.run(3 * kShare);
    const auto [least, most] = least_and_most(cp.dispatcher(), 3);
    EXPECT_GT(least, 250 * kShare);
    // One may be ahead by half a share, and another one's last turn may have been cut short.
    EXPECT_LE(most - least, kShare * 3 / 2);
}

/// A call does less than one turn for each compute unit.
TEST_F(Rounds, EveryComputeUnitHasItsTurnHoweverLittleACallDoes) {
    ASSERT_READY();
    ASSERT_TRUE(program(0, kForEver));
    TestRing ring = start();
    submit_grid(ring, 0, 64, 0);
    for (unsigned n = 0; n < 4; ++n) cp.run(12'000);
    for (unsigned n = 0; n < 3000; ++n) cp.run(300);
    const auto [least, most] = least_and_most(cp.dispatcher());
    EXPECT_GT(least, most / 2);
}

/// The last turn of a call is cut short, which must not meet the same compute units each time. Budgets are a little more than
/// one share of the interpreter and of the translator.
TEST_F(OneThread, EveryComputeUnitHasItsTurnWhereverACallEnds) {
    ASSERT_READY();
    ASSERT_TRUE(program(0, kForEver));
    TestRing ring = save_ring(0);
    run_list({process(0x8001), map_queue(ring)});
    settle();
    submit_grid(ring, 0, 64, 0);
    for (const uint64_t budget : {4'500u, 70'000u}) {
        for (unsigned n = 0; n < 100; ++n) cp.run(budget);
        const auto [least, most] = least_and_most(cp.dispatcher());
        EXPECT_GT(least, most * 3 / 4) << budget;
    }
}

TEST_F(Rounds, AQueueIsSavedWhileItsWavesRunOnSeveralThreads) {
    ASSERT_READY();
    ASSERT_TRUE(program(0, kMark));
    TestRing ring = save_ring(0);
    std::mt19937 random(1);
    constexpr unsigned kGroups = 20'000;
    submit_grid(ring, 0, kGroups, 0);
    unsigned dealt = 0;
    for (unsigned n = 0; n < 3000 && !done(ring); ++n) {
        run_list({process(0x8001), map_queue(ring)});
        for (unsigned k = random() % 8; k != 0; --k) cp.run(1 + random() % 20'000);
        unmap();
        ASSERT_FALSE(HasFailure());
        dealt += word(ring.mqd + 4 * (mqd::lyra_flight + unsigned{flight::kDeal})) != 0;
    }
    EXPECT_GT(dealt, 5u) << "saved with groups launched behind some that had not been";
    ASSERT_TRUE(done(ring));
    EXPECT_EQ(word(kData), kGroups);
    EXPECT_GT(env.stats.get(Stat::waves_saved), 50u);
    expect_all_restored();
}

}  // namespace
}  // namespace lyra
