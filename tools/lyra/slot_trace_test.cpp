// SPDX-License-Identifier: MIT
#include "tools/lyra/slot_trace.h"

#include <sstream>

#include <gtest/gtest.h>

namespace lyra::cli {
namespace {

TEST(SlotTrace, CountsWhoLostItsSlotWhile) {
    std::istringstream in("10 queue_mapped 1 8 256 700\n"
                          "11 queue_mapped 2 9 512 800\n"
                          "20 dispatch_begin 1 1 17 4096\n"
                          "21 queue_unmapped 1\n"
                          "22 dispatch_begin 2 2 3 4096\n"
                          "23 queue_mapped 1 8 256 700\n"
                          "24 queue_unmapped 1\n"
                          "25 dispatch_begin 3 2 3 4096\n"
                          "26 queue_unmapped 2\n"
                          "27 queue_mapped 5 8 256 700\n"
                          "28 queue_unmapped 5\n"
                          "29 queue_mapped 5 9 512 800\n"
                          "30 dispatch_begin 4 5 3 4096\n"
                          "31 queue_unmapped 5\n");
    const SlotTrace trace(in);
    EXPECT_EQ(trace.unmapped(17, 3, 0), 2) << "in two slots";
    EXPECT_EQ(trace.unmapped(17, 3, 1), 1);
    EXPECT_EQ(trace.unmapped(3, 3, 0), 1);
    EXPECT_EQ(trace.unmapped(3, 3, 2), 0) << "not after the last one";
    EXPECT_EQ(trace.unmapped(17, 3, 3), -1) << "there are three";
    EXPECT_EQ(trace.unmapped(18, 3, 0), -1) << "nobody";
}

}  // namespace
}  // namespace lyra::cli
