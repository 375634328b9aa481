// SPDX-License-Identifier: MIT
// Shares of windows of time: of part of a window, of several units, of windows in which nothing was told.
#include <gtest/gtest.h>

#include "common/activity.h"

namespace lyra {
namespace {

constexpr uint64_t kWindow = ActivityMeter::kWindowNs;

TEST(Activity, IsThatOfTheLastWindowThatIsOver) {
    ActivityMeter meter;
    meter.update(100 * kWindow + kWindow / 4, 2);
    EXPECT_EQ(meter.last(101 * kWindow - 1).busy, 0u);
    EXPECT_EQ(meter.last(101 * kWindow).busy, 7500u);
    EXPECT_EQ(meter.last(101 * kWindow).units, 1500u);
    meter.update(101 * kWindow + kWindow / 2, 0);
    EXPECT_EQ(meter.units(), 0u);
    EXPECT_EQ(meter.last(102 * kWindow).busy, 5000u);
    EXPECT_EQ(meter.last(103 * kWindow).busy, 0u);
}

TEST(Activity, AStateLastsUntilTheNextIsTold) {
    ActivityMeter meter;
    meter.update(kWindow - 1, 8);
    const Activity activity = meter.last(50 * kWindow + 7);
    EXPECT_EQ(activity.busy, 10000u);
    EXPECT_EQ(activity.units, 8000u);
}

TEST(Activity, SumsUpShortUses) {
    ActivityMeter meter;
    for (uint64_t n = 0; n < 1000; ++n) {
        meter.update(n * (kWindow / 1000), 1);
        meter.update(n * (kWindow / 1000) + kWindow / 4000, 0);
    }
    EXPECT_EQ(meter.last(kWindow).busy, 2500u);
    EXPECT_EQ(meter.last(kWindow).units, 250u);
}

TEST(Activity, TimeDoesNotGoBack) {
    ActivityMeter meter;
    meter.update(2 * kWindow, 1);
    meter.update(kWindow, 0);
    EXPECT_EQ(meter.last(3 * kWindow).busy, 0u);
    meter.update(3 * kWindow, 1);
    EXPECT_EQ(meter.last(4 * kWindow).busy, 10000u);
}

}  // namespace
}  // namespace lyra
