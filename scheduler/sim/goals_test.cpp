// SPDX-License-Identifier: MIT
// What a scheduler is expected to reach, by the experiments of examples/measure with fewer samples: latencies in modelled time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "scheduler/sim/metrics.h"
#include "scheduler/sim/spec.h"

namespace lyra::sim {
namespace {

struct Row {
    std::vector<std::pair<std::string, std::string>> swept;
    Experiment experiment;
    Result result;
    std::vector<uint64_t> displaced,
        ready;  ///< doorbell to first wave of those that pre-empted a queue; from readiness; ascending

    std::string of(const std::string& path) const {
        for (const auto& [name, value] : swept) {
            if (name == path) return value;
        }
        return "";
    }
    double us(double percent) const { return static_cast<double>(percentile(displaced, percent).value) / 1000; }
};

std::vector<Row> run(const std::string& name, uint64_t samples) {
    std::ifstream in(std::string(LYRA_SIM_EXAMPLES) + "/" + name);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    std::vector<Row> rows;
    for (Configuration& c : read_spec(text, name)) {
        c.experiment.samples = samples;
        Row row{c.swept, c.experiment, simulate(c.experiment), {}, {}};
        for (const Sample& s : row.result.samples) {
            if (s.displaced) row.displaced.push_back(s.t8_first_wave - s.t0_doorbell);
            row.ready.push_back(s.t8_first_wave - s.ready);
        }
        std::sort(row.displaced.begin(), row.displaced.end());
        std::sort(row.ready.begin(), row.ready.end());
        rows.push_back(std::move(row));
    }
    return rows;
}

TEST(Goals, PollingEvery5Ms) {
    const Row row = run("poll-5ms.toml", 6000).at(0);
    EXPECT_GE(row.us(50), 2500.0);
    EXPECT_LE(row.us(50), 2700.0);
    EXPECT_LE(row.us(99), 5300.0);
    EXPECT_GE(row.us(99), 4900.0);
}

TEST(Goals, AdaptivePolling) {
    const Row row = run("adaptive-100us.toml", 1000).at(0);
    EXPECT_LE(row.us(50), 150.0);
    EXPECT_LE(row.us(99), 300.0);
}

TEST(Goals, NotificationAndSelectiveUnmap) {
    const Row row = run("notify.toml", 4000).at(0);
    EXPECT_LE(row.us(50), 80.0);
    EXPECT_LE(row.us(99), 150.0);
    // 100 pre-emptions a second; the floor is 100 times save and restore.
    const auto part = [](const Result& r, unsigned client) {
        return static_cast<double>(r.clients[client].work_ns) / static_cast<double>(r.duration_ns);
    };
    const std::optional<Result> alone = simulate_alone(row.experiment, 1, row.result.duration_ns);
    ASSERT_TRUE(alone);
    const double retained = part(row.result, 1) / part(*alone, 0);
    EXPECT_GE(retained, 0.97);
    EXPECT_LE(retained, 0.995);
}

/// Kernels shorter than a switch end before they are saved: then it is faster.
TEST(Goals, FlatInTheKernelsLength) {
    double least = 1e9, most = 0;
    unsigned longer = 0;
    for (const Row& row : run("kernel-length.toml", 200)) {
        most = std::max(most, row.us(99));
        if (std::stod(row.of("client.effort.kernel_us")) < 100) continue;
        ASSERT_GT(row.displaced.size(), 170u) << row.of("client.effort.kernel_us");
        least = std::min(least, row.us(99));
        ++longer;
    }
    EXPECT_GE(longer, 5u);
    EXPECT_LE(most, 1.05 * least);
}

TEST(Goals, LinearInTheContextsBytes) {
    std::vector<std::pair<double, double>> points;
    for (const Row& row : run("context-bytes.toml", 500))
        points.emplace_back(std::stod(row.of("client.effort.context_bytes")), row.us(50));
    ASSERT_GE(points.size(), 5u);
    double mx = 0, my = 0, xx = 0, xy = 0, yy = 0;
    const auto n = static_cast<double>(points.size());
    for (const auto& [x, y] : points) mx += x / n, my += y / n;
    for (const auto& [x, y] : points) xx += (x - mx) * (x - mx), xy += (x - mx) * (y - my), yy += (y - my) * (y - my);
    EXPECT_GE(xy * xy / (xx * yy), 0.99);
    // The slope is the memory's: us for a byte.
    EXPECT_NEAR(xy / xx, 1.0 / static_cast<double>(Timing{}.vram_speed()), 0.02 / static_cast<double>(Timing{}.vram_speed()));
}

/// 24 and 48 queues beside the critical one, against a single one.
TEST(Goals, ManyQueues) {
    const double one = run("notify.toml", 1000).at(0).us(99);
    double p99[49] = {};
    for (const Row& row : run("load.toml", 1000)) {
        if (row.of("action.unmap") == "static") p99[std::stoul(row.of("client.effort.count"))] = row.us(99);
    }
    EXPECT_GE(p99[24], one) << "descriptors are stored while waves are saved";
    EXPECT_LE(p99[24], 1.5 * one);
    EXPECT_GE(p99[48], one);
    EXPECT_LE(p99[48], 2.0 * one);
}

TEST(Goals, NobodyStarvesBeyondTheBound) {
    unsigned bounded = 0;
    for (const Row& row : run("starvation.toml", 8000)) {
        const uint64_t bound = row.experiment.policy.starvation_ns;
        const ClientResult& effort = row.result.clients.at(1);
        if (bound == 0 || row.result.duration_ns < 2 * bound) continue;
        ++bounded;
        EXPECT_GT(effort.kernels, 0u);
        EXPECT_GE(effort.longest_off_ns, bound);
        EXPECT_LE(effort.longest_off_ns, bound + 1'000'000) << "a look, a save and a restore";
    }
    EXPECT_GE(bounded, 2u);
}

TEST(Goals, InversionNeitherDeadlocksNorThrashes) {
    std::vector<uint64_t> alone;
    for (const Row& row : run("notify.toml", 500)) alone = row.displaced;
    for (const Row& row : run("inversion.toml", 500)) {
        const bool test = row.of("detection.runnable_test") == "true", inherit = row.of("policy.inherit") == "true";
        const bool turns = row.of("policy.starvation_us") != "0";
        EXPECT_EQ(row.result.deadlocked, !test && !turns);
        if (!test) {
            EXPECT_GT(row.result.wasted, turns ? row.result.samples.size() : 0u) << "it thrashes";
            continue;
        }
        EXPECT_EQ(row.result.samples.size(), 500u);
        EXPECT_EQ(row.result.wasted, 0u);
        if (!inherit) continue;
        // From when it can run: its own switch, and one that is under way, of a context of 21.6 MB at the speed of a gfx900.
        const double one_switch =
            21'560'000.0 / static_cast<double>(Timing{}.vram_speed()) * 1000 + static_cast<double>(alone.front());
        EXPECT_LE(static_cast<double>(row.ready.back()), 2 * one_switch);
    }
}

}  // namespace
}  // namespace lyra::sim
