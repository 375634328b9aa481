// SPDX-License-Identifier: MIT
// The simulator against a measurement: differences and bounds, and a fit that finds the times which made the measurement.
#include "tools/lyra/results/validation.h"

#include <gtest/gtest.h>

namespace lyra::results {
namespace {

constexpr const char* kSpec = R"(
samples = 5000
seed = 3
[detection]
period_us = 200
idle_period_us = 200
[action]
unmap = "queue"
grace_us = 1
retry_us = 1
[policy]
name = "fixed"
[driver]
round_us = 10
[[client]]
name = "critical"
priority = 15
kernel_us = 50
arrival = "poisson"
rate_hz = 487
latency_critical = true
turnaround_us = 10
[[client]]
name = "effort"
priority = 0
kernel_us = 2000
context_bytes = 8624000
arrival = "closed"
turnaround_us = 10
[sweep]
"detection.kind" = ["notify", "adaptive", "poll"]
)";

/// As if a guest had these times.
RunResults measured_with(uint64_t notify_ns, uint64_t round_ns, uint64_t turnaround_ns) {
    RunResults out;
    for (sim::Configuration each : sim::read_spec(kSpec, "spec.toml")) {
        each.experiment.seed += 100;
        each.experiment.driver.notify_ns = notify_ns;
        each.experiment.driver.round_ns = round_ns;
        for (sim::ClientClass& c : each.experiment.clients) c.turnaround_ns = turnaround_ns;
        out.configurations.push_back(simulated(each));
    }
    return out;
}

Difference off_by(double p50, double p99, double part) {
    Difference d;
    d.measured_p50 = 100;
    d.measured_p99 = 200;
    d.p50 = 100 * (1 + p50);
    d.p99 = 200 * (1 + p99);
    d.measured_parts = PartMeans{30, 60, 10};
    d.parts = d.measured_parts;
    (*d.parts)[2] += 100 * part;
    return d;
}

TEST(Validation, BoundsAreOfMedianTailAndParts) {
    const Bounds bounds;
    EXPECT_TRUE(bounds.keeps(off_by(0.049, -0.099, 0.049)));
    EXPECT_FALSE(bounds.keeps(off_by(0.051, 0, 0)));
    EXPECT_FALSE(bounds.keeps(off_by(0, -0.101, 0)));
    EXPECT_FALSE(bounds.keeps(off_by(0, 0, -0.051)));
    EXPECT_EQ(off_by(0, 0, -0.2).part_off()->first, 2u);
    EXPECT_NEAR(off_by(0, 0, -0.2).part_off()->second, -0.2, 1e-9);
}

TEST(Validation, PartsAreWhatAGuestsTraceTellsApart) {
    EXPECT_EQ(parts_of({1, 2, 4, 8, 16, 32, 64, 128}), (PartMeans{7, 24, 224}));
}

TEST(Validation, WhatIsNotKnownKeepsNoBound) {
    Difference d = off_by(0, 0, 0);
    d.measured_p99.reset();
    EXPECT_FALSE(Bounds{}.keeps(d));
    d = off_by(0, 0, 0);
    d.parts.reset();
    EXPECT_FALSE(Bounds{}.keeps(d));
}

TEST(Validation, ConfigurationsAreFoundByWhatIsSwept) {
    const RunResults measured = measured_with(6'000, 10'000, 10'000);
    for (const sim::Configuration& each : sim::read_spec(kSpec, "spec.toml")) {
        const auto d = difference(simulated(each), measured);
        ASSERT_TRUE(d);
        EXPECT_EQ(d->name, "detection.kind=" + each.swept.at(0).second);
        EXPECT_TRUE(Bounds{}.keeps(*d)) << d->name << ' ' << d->p50_off();
    }
    sim::Configuration other = sim::read_spec(kSpec, "spec.toml")[0];
    other.swept[0].second = "never";
    EXPECT_FALSE(difference(simulated(other), measured));
}

TEST(Validation, AFitFindsTheGuestsTimes) {
    const RunResults measured = measured_with(20'000, 30'000, 50'000);
    std::vector<sim::Configuration> configurations = sim::read_spec(kSpec, "spec.toml");
    EXPECT_FALSE(Bounds{}.keeps(*difference(simulated(configurations[0]), measured)));
    fit(configurations, measured);
    for (const sim::Configuration& each : configurations) {
        const auto d = difference(simulated(each), measured);
        EXPECT_TRUE(Bounds{}.keeps(*d)) << d->name << ' ' << d->p50_off() << ' ' << d->p99_off().value_or(-1);
    }
}

TEST(Validation, OnlyClientsWithATurnaroundHaveOneToFit) {
    sim::Experiment experiment = sim::read_spec(kSpec, "spec.toml")[0].experiment;
    EXPECT_EQ(guest_times(experiment).size(), 9u);
    experiment.clients[1].turnaround_ns = 0;
    const std::vector<GuestTime> times = guest_times(experiment);
    ASSERT_EQ(times.size(), 8u);
    EXPECT_EQ(times.back().key, "client.critical.turnaround_us");
    times.back().of(experiment) = 5;
    EXPECT_EQ(experiment.clients[0].turnaround_ns, 5u);
}

}  // namespace
}  // namespace lyra::results
