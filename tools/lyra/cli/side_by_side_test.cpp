// SPDX-License-Identifier: MIT
#include "tools/lyra/cli/side_by_side.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace lyra::cli {
namespace {

TEST(SideBySide, TasksWaitForEachOther) {
    std::barrier both(2);
    std::atomic<unsigned> ended{0};
    const auto task = [&] {
        both.arrive_and_wait();  // one after the other would never get past it
        ++ended;
    };
    side_by_side({task, task});
    EXPECT_EQ(ended, 2U);
}

TEST(SideBySide, WhatATaskThrowsArrivesWhenTheOthersHaveEnded) {
    std::barrier both(2);
    bool ended = false;
    const auto fails = [&] {
        both.arrive_and_drop();
        throw std::runtime_error("failed");
    };
    const auto goes_on = [&] {
        both.arrive_and_wait();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ended = true;
    };
    try {
        side_by_side({fails, goes_on});
        FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), std::string("failed"));
    }
    EXPECT_TRUE(ended);
}

TEST(SideBySide, OfSeveralThatThrowOneArrives) {
    const auto fails = [] { throw std::runtime_error("failed"); };
    EXPECT_THROW(side_by_side({fails, fails, fails}), std::runtime_error);
}

}  // namespace
}  // namespace lyra::cli
