// SPDX-License-Identifier: MIT
// Sensitivity: rows that an experiment depends on are found, with the right sign, and others are not.
#include "scheduler/sim/sensitivity.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lyra::sim {
namespace {

/// A critical client, and one whose context takes its time to save.
Experiment experiment() {
    Experiment e;
    e.clients.resize(2);
    e.clients[0].name = "critical";
    e.clients[0].queue.priority = 15;
    e.clients[0].kernel_ns = 50'000;
    e.clients[0].arrival = Arrival::Poisson;
    e.clients[0].rate_hz = 100;
    e.clients[0].latency_critical = true;
    e.clients[1].name = "effort";
    e.clients[1].kernel_ns = 100'000'000;
    e.clients[1].context_bytes = 20'000'000;
    e.policy.policy = QSCHED_FIXED;
    e.detection = Detection::Notify;
    e.unmap = Unmap::Queue;
    e.grace_ns = e.retry_ns = 1000;
    e.samples = 300;
    return e;
}

const SensitivityRow* row_of(const Sensitivity& s, const std::string& name) {
    const auto it = std::find_if(s.rows.begin(), s.rows.end(), [&](const SensitivityRow& row) { return row.name == name; });
    return it == s.rows.end() ? nullptr : &*it;
}

TEST(Sensitivity, TheSpeedOfTheSaveAreaCountsMost) {
    const Sensitivity s = sensitivity(experiment());
    ASSERT_FALSE(s.rows.empty());
    EXPECT_EQ(s.rows[0].name, "vram_efficiency_percent");
    EXPECT_GT(s.rows[0].at_low.p50, s.nominal.p50) << "a slow memory is late";
    EXPECT_LT(s.rows[0].at_high.p50, s.nominal.p50);
    EXPECT_EQ(row_of(s, "system_mb_per_s"), nullptr) << "nothing crosses PCI Express";
    EXPECT_EQ(row_of(s, "valu_clk"), nullptr) << "a fact";
    EXPECT_FALSE(s.nominal.p99) << "of 300 samples";
    const SensitivityRow* driver = row_of(s, "driver");
    ASSERT_NE(driver, nullptr);
    EXPECT_LT(driver->at_low.p50, driver->at_high.p50);
    for (const SensitivityRow& row : s.rows) {
        EXPECT_LE(s.least.p50, std::min(row.at_low.p50, row.at_high.p50)) << row.name;
        EXPECT_GE(s.most.p50, std::max(row.at_low.p50, row.at_high.p50)) << row.name;
    }
}

TEST(Sensitivity, SystemMemoryCountsWhereTheSaveAreaIsThere) {
    Experiment e = experiment();
    e.save_area = SaveArea::System;
    e.samples = 1000;
    const Sensitivity s = sensitivity(e);
    EXPECT_EQ(s.rows.at(0).name, "system_mb_per_s");
    EXPECT_EQ(row_of(s, "vram_efficiency_percent"), nullptr);
    ASSERT_TRUE(s.nominal.p99 && s.least.p99 && s.most.p99);
    EXPECT_LE(*s.least.p99, *s.nominal.p99);
    EXPECT_GE(*s.most.p99, *s.nominal.p99);
}

TEST(Sensitivity, ARowThatTheExperimentSetsHasItsRangeAroundThat) {
    Experiment e = experiment();
    e.timing.doorbell_ns *= 2;
    const Sensitivity s = sensitivity(e);
    const SensitivityRow* doorbell = row_of(s, "doorbell_ns");
    ASSERT_NE(doorbell, nullptr);
    EXPECT_EQ(doorbell->low, 600u);
    EXPECT_EQ(doorbell->high, 4000u);
}

}  // namespace
}  // namespace lyra::sim
