// SPDX-License-Identifier: MIT
// Percentiles of several runs, and metrics of several clients, against values by hand.
#include "scheduler/sim/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace lyra::sim {
namespace {

std::vector<uint64_t> from(uint64_t first, size_t count) {
    std::vector<uint64_t> out(count);
    std::iota(out.begin(), out.end(), first);
    return out;
}

TEST(Metrics, SeedsArePooled) {
    const std::vector<Percentile> p = percentiles({from(1, 400), from(401, 600)}, {50, 99});
    EXPECT_EQ(p[0].value, 500u);
    EXPECT_EQ(p[1].value, 990u);
}

/// Values of a run depend on each other: runs that differ make the interval wide, however many values each has.
TEST(Metrics, IntervalsAreThoseOfRuns) {
    std::vector<std::vector<uint64_t>> differ, alike;
    for (unsigned n = 0; n < 10; ++n) {
        differ.push_back(std::vector<uint64_t>(5000, 100 + 10 * n));
        alike.push_back(from(100, 5000));
    }
    const Percentile wide = percentiles(differ, {50})[0], narrow = percentiles(alike, {50})[0];
    EXPECT_LE(wide.low, 120u);
    EXPECT_GE(wide.high, 160u);
    EXPECT_EQ(narrow.low, narrow.high);
    const Percentile one = percentiles({differ[0]}, {50})[0];
    EXPECT_EQ(one.low, one.high) << "a run alone does not know how others differ";
    EXPECT_EQ(percentiles(differ, {50})[0].low, wide.low) << "equal runs, equal intervals";
    EXPECT_EQ(percentiles({{}, {}}, {50})[0].value, 0u);
    EXPECT_EQ(percentiles({{}, {7}}, {50})[0].value, 7u);
}

TEST(Metrics, EnoughValues) {
    EXPECT_TRUE(enough_for(1, 50));
    EXPECT_FALSE(enough_for(0, 50));
    EXPECT_FALSE(enough_for(999, 99));
    EXPECT_TRUE(enough_for(1000, 99));
    EXPECT_FALSE(enough_for(9999, 99.9));
    EXPECT_TRUE(enough_for(10000, 99.9));
}

TEST(Metrics, MeansOfRuns) {
    const Mean mean = mean_of({1, 2, 3});
    EXPECT_DOUBLE_EQ(mean.value, 2);
    EXPECT_NEAR(mean.high - mean.value, 4.303 / std::sqrt(3.0), 1e-9);
    EXPECT_DOUBLE_EQ(mean_of({5}).low, 5);
    EXPECT_DOUBLE_EQ(mean_of({}).value, 0);
}

TEST(Metrics, ThroughputAndTurnaroundOfSeveralClients) {
    // One at half of its speed, four queues of another which do a quarter each of what one does alone.
    const Progress half{0.5, 1, 200, 100, 1}, four{2, 2, 4000, 1000, 4};
    EXPECT_DOUBLE_EQ(system_throughput({half, four}).value(), 1.5);
    EXPECT_DOUBLE_EQ(normalized_turnaround({half, four}).value(), (2 + 4 * 4) / 5.0);
    Progress unknown = half;
    unknown.alone_throughput = 0;
    EXPECT_FALSE(system_throughput({half, unknown}));
    unknown = half;
    unknown.turnaround_ns = 0;
    EXPECT_FALSE(normalized_turnaround({half, unknown})) << "nothing was finished";
    EXPECT_FALSE(normalized_turnaround({}));
}

}  // namespace
}  // namespace lyra::sim
