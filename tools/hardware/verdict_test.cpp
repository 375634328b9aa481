// SPDX-License-Identifier: MIT
#include "tools/hardware/verdict.h"

#include <gtest/gtest.h>

namespace timing {
namespace {

TEST(Verdict, EachChoiceForAListOverALiveOneLooksDifferent) {
    EXPECT_EQ(runlist_over_live({20, 20}, {0, 20}, {0, 0}), Choices{"keep"});
    EXPECT_EQ(runlist_over_live({20, 20}, {20, 20}, {0, 20}), Choices{"preempt"});
    EXPECT_EQ(runlist_over_live({20, 20}, {20, 20}, {20, 20}), Choices{"defer"});
    EXPECT_EQ(runlist_over_live({0, 3}, {0, 0}, {0, 0}), Choices{"reject"});
}

TEST(Verdict, ATenthMayBeOtherwise) {
    EXPECT_EQ(runlist_over_live({18, 20}, {2, 18}, {0, 2}), Choices());  // 2 of 18 are more
    EXPECT_EQ(runlist_over_live({18, 20}, {1, 18}, {0, 1}), Choices{"keep"});
    EXPECT_EQ(runlist_over_live({20, 20}, {18, 20}, {1, 18}), Choices{"preempt"});
}

TEST(Verdict, WhatIsNeitherWayIsNoChoice) {
    EXPECT_EQ(runlist_over_live({10, 20}, {0, 10}, {0, 0}), Choices());
    EXPECT_EQ(runlist_over_live({20, 20}, {10, 20}, {0, 10}), Choices());
    EXPECT_EQ(runlist_over_live({20, 20}, {20, 20}, {10, 20}), Choices());
    EXPECT_EQ(runlist_over_live({0, 0}, {0, 0}, {0, 0}), Choices());
}

TEST(Verdict, AnUnmapByDoorbellTakesOneQueueOrNone) {
    const Choices either{"keep", "stop"};
    EXPECT_EQ(unmap_by_doorbell({20, 20}, {0, 20}, {"keep"}), either);
    EXPECT_EQ(unmap_by_doorbell({20, 20}, {0, 20}, {"reject"}), either);
    EXPECT_EQ(unmap_by_doorbell({0, 3}, {0, 3}, {}), Choices{"reject"});
    EXPECT_EQ(unmap_by_doorbell({10, 20}, {0, 20}, {"keep"}), Choices());
}

TEST(Verdict, WhatTheRunListDoesIsNotTheUnmapsDoing) {
    const Choices either{"keep", "stop"};
    EXPECT_EQ(unmap_by_doorbell({20, 20}, {20, 20}, {"preempt"}), either);
    EXPECT_EQ(unmap_by_doorbell({20, 20}, {20, 20}, {"defer"}), either);
    EXPECT_EQ(unmap_by_doorbell({20, 20}, {20, 20}, {"keep"}), Choices());
    EXPECT_EQ(unmap_by_doorbell({20, 20}, {20, 20}, {}), Choices());
}

}  // namespace
}  // namespace timing
