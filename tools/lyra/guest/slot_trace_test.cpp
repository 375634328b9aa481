// SPDX-License-Identifier: MIT
#include "tools/lyra/guest/slot_trace.h"

#include <sstream>

#include <gtest/gtest.h>

namespace lyra::cli {
namespace {

TEST(SlotTrace, CountsWhoLostItsSlotWhile) {
    std::istringstream in(
        "10\tqueue_mapped\t1\t8\t256\t700\n"
        "11\tqueue_mapped\t2\t9\t512\t800\n"
        "20\tdispatch_begin\t1\t1\t17\t4096\n"
        "21\tqueue_unmapped\t1\n"
        "22\tdispatch_begin\t2\t2\t3\t4096\n"
        "23\tqueue_mapped\t1\t8\t256\t700\n"
        "24\tqueue_unmapped\t1\n"
        "25\tdispatch_begin\t3\t2\t3\t4096\n"
        "26\tqueue_unmapped\t2\n"
        "27\tqueue_mapped\t5\t8\t256\t700\n"
        "28\tqueue_unmapped\t5\n"
        "29\tqueue_mapped\t5\t9\t512\t800\n"
        "30\tdispatch_begin\t4\t5\t3\t4096\n"
        "31\tqueue_mapped\t6\t9\t256\t700\n"
        "32\tdispatch_begin\t5\t6\t17\t4096\n"
        // Another program, whose queue has the descriptor that was queue 1's.
        "40\tqueue_unmapped\t6\n"
        "41\tdispatch_begin\t6\t5\t3\t4096\n");
    const SlotTrace trace(in);
    EXPECT_EQ(trace.unmapped(17, 3, 0, 17), 2) << "in two slots";
    EXPECT_EQ(trace.unmapped(17, 3, 1, 17), 1);
    EXPECT_EQ(trace.unmapped(3, 3, 0, 17), 1);
    EXPECT_EQ(trace.unmapped(3, 3, 2, 17), 0) << "not after the last one";
    EXPECT_EQ(trace.unmapped(17, 3, 3, 17), -1) << "there are three";
    EXPECT_EQ(trace.unmapped(18, 3, 0, 17), -1) << "nobody";
    EXPECT_EQ(trace.unmapped(3, 3, 0, 18), -1) << "during nothing";
}

}  // namespace
}  // namespace lyra::cli
