// SPDX-License-Identifier: MIT
// Global wave sync resources by themselves: counting, order of release, leaving, keeping.
#include "cp-firmware-model/dispatch/gws.h"

#include <gtest/gtest.h>

namespace lyra {
namespace {

using gcn::GwsOp;

struct GwsTest : ::testing::Test {
    bool run(GwsOp op, unsigned slot = 0, uint32_t value = 0, unsigned resource = 3) {
        released.clear();
        return gws.execute(op, resource, value, {0, slot}, released);
    }
    std::vector<unsigned> slots() const {
        std::vector<unsigned> found;
        for (const Gws::Waiter& waiter : released) found.push_back(waiter.slot);
        return found;
    }
    using Slots = std::vector<unsigned>;
    Gws gws;
    Gws::Waiters released;
};

TEST_F(GwsTest, ASemaphoreLetsInAsManyAsItsCounterInTheirOrder) {
    EXPECT_TRUE(run(GwsOp::Init, 0, 2));
    EXPECT_TRUE(run(GwsOp::SemaP, 1));
    EXPECT_TRUE(run(GwsOp::SemaP, 2));
    EXPECT_FALSE(run(GwsOp::SemaP, 3));
    EXPECT_FALSE(run(GwsOp::SemaP, 4));
    EXPECT_EQ(gws.waiting(3), 2u);
    EXPECT_TRUE(run(GwsOp::SemaV, 1));
    EXPECT_EQ(slots(), Slots{3});
    EXPECT_TRUE(run(GwsOp::SemaV, 2));
    EXPECT_EQ(slots(), Slots{4});
    EXPECT_TRUE(run(GwsOp::SemaV, 3));
    EXPECT_EQ(slots(), Slots{});
    EXPECT_EQ(gws.state(3), 1u << 1 | 1u << 13);
    EXPECT_EQ(gws.state(2), 0u);
}

TEST_F(GwsTest, BroadcastReleasesItsCountNowOrLater) {
    for (unsigned slot = 0; slot < 3; ++slot) EXPECT_FALSE(run(GwsOp::SemaP, slot));
    EXPECT_TRUE(run(GwsOp::SemaBr, 9, 4));
    EXPECT_EQ(slots(), (Slots{0, 1, 2}));
    EXPECT_TRUE(run(GwsOp::SemaP, 5));
    EXPECT_FALSE(run(GwsOp::SemaP, 6));
}

TEST_F(GwsTest, ReleaseAllTakesEverybodyAndCountsNothing) {
    for (unsigned slot = 0; slot < 3; ++slot) run(GwsOp::SemaP, slot);
    EXPECT_TRUE(run(GwsOp::SemaReleaseAll, 9));
    EXPECT_EQ(slots(), (Slots{0, 1, 2}));
    EXPECT_FALSE(run(GwsOp::SemaP, 3));
    EXPECT_TRUE(run(GwsOp::Init, 0, 7, 4));
    EXPECT_TRUE(run(GwsOp::SemaReleaseAll, 9, 0, 4));
    EXPECT_EQ(gws.state(4), 7u << 1 | 1u << 13) << "no effect when nobody waits";
}

TEST_F(GwsTest, ABarrierOpensForTheLastOneAndCloses) {
    run(GwsOp::Init, 0, 2);  // three waves: one less than come
    for (unsigned round = 0; round < 3; ++round) {
        EXPECT_FALSE(run(GwsOp::Barrier, 0, 2));
        EXPECT_FALSE(run(GwsOp::Barrier, 1, 2));
        EXPECT_TRUE(run(GwsOp::Barrier, 2, 2));
        EXPECT_EQ(slots(), (Slots{0, 1})) << round;
    }
    EXPECT_FALSE(run(GwsOp::Barrier, 0, 2));
    EXPECT_FALSE(run(GwsOp::Barrier, 1, 2));
    EXPECT_TRUE(run(GwsOp::Barrier, 2, 0)) << "the next barrier is of one wave";
    EXPECT_TRUE(run(GwsOp::Barrier, 0, 2));
}

TEST_F(GwsTest, WhoLeavesABarrierHasNotArrived) {
    run(GwsOp::Init, 0, 2);
    EXPECT_FALSE(run(GwsOp::Barrier, 0, 2));
    EXPECT_FALSE(run(GwsOp::Barrier, 1, 2));
    gws.leave(0, 0);
    gws.leave(1, 1);  // of another compute unit: nobody
    EXPECT_FALSE(run(GwsOp::Barrier, 2, 2)) << "the third arrived when only one was there";
    EXPECT_TRUE(run(GwsOp::Barrier, 0, 2));
    EXPECT_EQ(slots(), (Slots{1, 2}));
}

TEST_F(GwsTest, ResourcesAreKeptByRange) {
    const GwsRange range{60, 8};  // wraps
    run(GwsOp::Init, 0, 0x123, 61);
    run(GwsOp::SemaV, 0, 0, 2);
    EXPECT_FALSE(run(GwsOp::SemaP, 5, 0, 63));
    EXPECT_FALSE(run(GwsOp::Barrier, 6, 0, 61));
    EXPECT_EQ(gws.evict(range).size(), 2u);
    GwsWords words;
    gws.store(range, words);
    gws.reset();
    gws.load({0, 8}, words);
    EXPECT_EQ(gws.state(1), 0x123u << 1);
    EXPECT_EQ(gws.state(6), 1u << 1 | 1u << 13);
    EXPECT_EQ(gws.waiting(1) + gws.waiting(3), 0u);
}

TEST_F(GwsTest, CountersStayInTheirField) {
    run(GwsOp::Init, 0, ~0u);
    run(GwsOp::SemaBr, 0, ~0u);
    run(GwsOp::SemaV);
    EXPECT_EQ(gws.state(3), 0xfffu << 1 | 1u << 13);
}

TEST_F(GwsTest, TheRegisterNamesTheRange) {
    EXPECT_EQ((GwsRange{5, 64}.reg()), 5u | 64u << 16);
    EXPECT_EQ(GwsRange::of(0x00400005).size, 64u);
    EXPECT_EQ(GwsRange::of(~0u).size, 64u);
    EXPECT_EQ(GwsRange::of(~0u).base, 63u);
}

}  // namespace
}  // namespace lyra
