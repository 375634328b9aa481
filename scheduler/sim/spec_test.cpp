// SPDX-License-Identifier: MIT
// Experiments from TOML, and percentiles.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <numeric>
#include <set>

#include "scheduler/sim/metrics.h"
#include "scheduler/sim/spec.h"

namespace lyra::sim {
namespace {

constexpr const char* kSpec = R"(
about = "two clients"
samples = 50
seed = 7
[detection]
kind = "adaptive"
period_us = 100
[action]
unmap = "queue"
[policy]
name = "fixed"
hysteresis_us = 2.5
inherit = true
[timing]
vram_mb_per_s = 1024000
[[client]]
name = "lc"
priority = 15
arrival = "uniform"
rate_hz = 100
latency_critical = true
[[client]]
name = "be"
kernel_us = 1000
context_bytes = 1048576
)";

std::string error_of(const std::string& text) {
    try {
        read_spec(text, "f.toml");
    } catch (const SpecError& error) {
        return error.what();
    }
    return "";
}

TEST(Spec, IsRead) {
    const std::vector<Configuration> all = read_spec(kSpec, "f.toml");
    ASSERT_EQ(all.size(), 1u);
    const Experiment& e = all[0].experiment;
    EXPECT_EQ(e.samples, 50u);
    EXPECT_EQ(e.seed, 7u);
    EXPECT_EQ(e.detection, Detection::Adaptive);
    EXPECT_EQ(e.period_ns, 100'000u);
    EXPECT_EQ(e.idle_period_ns, 5'000'000u);
    EXPECT_EQ(e.unmap, Unmap::Queue);
    EXPECT_EQ(e.policy.policy, QSCHED_FIXED);
    EXPECT_EQ(e.policy.hysteresis_ns, 2'500u);
    EXPECT_TRUE(e.policy.inherit);
    EXPECT_EQ(e.timing.vram_mb_per_s, 1'024'000u);
    ASSERT_EQ(e.clients.size(), 2u);
    EXPECT_EQ(e.clients[0].queue.priority, 15);
    EXPECT_EQ(e.clients[0].arrival, Arrival::Uniform);
    EXPECT_EQ(e.clients[1].kernel_ns, 1'000'000u);
    EXPECT_EQ(e.clients[1].context_bytes, 1u << 20);
    EXPECT_EQ(simulate(e).samples.size(), 50u);
}

TEST(Spec, ClientsThatReferToOthersAndHardware) {
    const std::string text = R"(
most_us = 1e6
[detection]
runnable_test = false
owner_known = false
[action]
unmap = "static"
static_priority = 7
[hardware]
hqds = 8
processes = 2
quantum_us = 500
[[client]]
name = "a"
arrival = "bursty"
rate_hz = 10
burst_hz = 1000
burst_us = 20
calm_us = 300
room = 0.25
process = "p"
waits_for = "b"
[[client]]
name = "b"
fills = false
arrival = "dependent"
after = "c"
[[client]]
name = "c"
)";
    const Experiment e = read_spec(text, "f").at(0).experiment;
    EXPECT_EQ(e.most_ns, 1'000'000'000u);
    EXPECT_FALSE(e.runnable_test);
    EXPECT_FALSE(e.owner_known);
    EXPECT_EQ(e.unmap, Unmap::Static);
    EXPECT_EQ(e.static_priority, 7);
    EXPECT_EQ(e.hardware.hqds, 8u);
    EXPECT_EQ(e.hardware.processes, 2u);
    EXPECT_EQ(e.hardware.quantum_ns, 500'000u);
    EXPECT_EQ(e.clients[0].arrival, Arrival::Bursty);
    EXPECT_EQ(e.clients[0].burst_hz, 1000);
    EXPECT_EQ(e.clients[0].burst_ns, 20'000u);
    EXPECT_EQ(e.clients[0].calm_ns, 300'000u);
    EXPECT_EQ(e.clients[0].room, 0.25);
    EXPECT_EQ(e.clients[0].process, "p");
    EXPECT_EQ(e.clients[0].waits_for, "b");
    EXPECT_EQ(e.clients[1].room, 0);
    EXPECT_EQ(e.clients[1].arrival, Arrival::Dependent);
    EXPECT_EQ(e.clients[1].after, "c");
    EXPECT_EQ(e.clients[2].room, 1);
    EXPECT_EQ(read_spec(std::string(kSpec) + "[sweep]\n\"action.unmap\" = [\"all\", \"process\", \"queue\", \"static\"]\n", "f")
                  .size(),
              4u);
}

TEST(Spec, ArrivalsFromAFileBesideIt) {
    const std::string folder = testing::TempDir(), spec = "[[client]]\narrival = \"trace\"\ntrace_file = \"arrivals.txt\"\n";
    const auto with = [&](const char* text) {
        std::ofstream(folder + "/arrivals.txt") << text;
        return read_spec(spec, folder + "/f.toml").at(0).experiment.clients.at(0).trace_ns;
    };
    EXPECT_EQ(with("# us\n1.5\n\n20 # twenty\n"), (std::vector<uint64_t>{1500, 20'000}));
    for (const char* bad : {"1\nx\n", "1\n-3\n", "1\n2 3\n", "1\n4us\n"}) {
        try {
            with(bad);
            ADD_FAILURE() << bad;
        } catch (const SpecError& error) {
            EXPECT_NE(std::string(error.what()).find("arrivals.txt:2: not a time"), std::string::npos) << error.what();
        }
    }
    EXPECT_NE(error_of("[[client]]\ntrace_file = \"no-such\"\n").find("cannot read 'no-such'"), std::string::npos);
}

TEST(Spec, SweepsAreCombined) {
    const std::vector<Configuration> all = read_spec(
        std::string(kSpec) + "[sweep]\n\"client.be.kernel_us\" = [10, 20, 30]\n\"detection.kind\" = [\"poll\", \"notify\"]\n",
        "f");
    ASSERT_EQ(all.size(), 6u);
    std::set<std::pair<uint64_t, int>> seen;
    for (const Configuration& c : all) {
        ASSERT_EQ(c.swept.size(), 2u);
        seen.emplace(c.experiment.clients[1].kernel_ns, static_cast<int>(c.experiment.detection));
        for (const auto& [path, value] : c.swept) {
            if (path != "client.be.kernel_us") continue;
            EXPECT_EQ(c.experiment.clients[1].kernel_ns, std::stoul(value) * 1000);
        }
    }
    EXPECT_EQ(seen.size(), 6u);
}

TEST(Spec, DifferentValuesHaveDifferentTexts) {
    const std::vector<Configuration> all =
        read_spec(std::string(kSpec) +
                      "[sweep]\n\"client.lc.rate_hz\" = [100.00001, 100.00002]\n"
                      "\"client.be.trace_us\" = [[1, 2], [1, 3]]\n\"policy.inherit\" = [true, false]\n",
                  "f");
    std::set<std::vector<std::pair<std::string, std::string>>> texts;
    for (const Configuration& c : all) texts.insert(c.swept);
    EXPECT_EQ(all.size(), 8u);
    EXPECT_EQ(texts.size(), 8u);
    const std::map<std::string, std::string> first(all[0].swept.begin(), all[0].swept.end());
    EXPECT_EQ(first.at("policy.inherit"), "true");
    EXPECT_EQ(std::stod(first.at("client.lc.rate_hz")), 100.00001);
    EXPECT_EQ(first.at("client.be.trace_us"), "[ 1, 2 ]");
}

TEST(Spec, SaysWhatIsWrongAndWhere) {
    const std::string good = kSpec;
    EXPECT_NE(error_of("samples = 0\n").find("f.toml: line 1: samples has to be a number from 1"), std::string::npos)
        << error_of("samples = 0\n");
    EXPECT_NE(error_of(good + "[driver]\nlok_us = 1\n").find("unknown key 'driver.lok_us'"), std::string::npos);
    EXPECT_NE(error_of(good + "colour = 1\n").find("unknown key"), std::string::npos);
    EXPECT_NE(error_of("samples = 1.5\n").find("whole number"), std::string::npos);
    EXPECT_NE(error_of("[policy]\nname = \"fast\"\n").find("none, fixed, ageing"), std::string::npos);
    EXPECT_NE(error_of("[timing]\nwarp_ns = 1\n").find("warp_ns"), std::string::npos);
    EXPECT_NE(error_of("x = \n").find("f.toml:1"), std::string::npos) << error_of("x = \n");
    EXPECT_NE(error_of("").find("no [[client]]"), std::string::npos);
    EXPECT_NE(error_of(good + "[sweep]\n\"client.ghost.kernel_us\" = [1]\n").find("ghost"), std::string::npos);
    EXPECT_NE(error_of(good + "[sweep]\nsamples = 3\n").find("list"), std::string::npos);
    EXPECT_NE(error_of(good + "[sweep]\n\"a.b.c.d\" = [3]\n").find("names nothing"), std::string::npos);
}

TEST(Metrics, PercentilesAndTheirIntervals) {
    std::vector<uint64_t> values(10'000);
    std::iota(values.begin(), values.end(), 1);
    EXPECT_EQ(percentile(values, 50).value, 5000u);
    EXPECT_EQ(percentile(values, 99).value, 9900u);
    EXPECT_EQ(percentile(values, 100).value, 10'000u);
    EXPECT_EQ(percentile(values, 50).low, 4902u);
    EXPECT_EQ(percentile(values, 50).high, 5098u);
    EXPECT_EQ(percentile({}, 50).value, 0u);
    EXPECT_EQ(percentile({7}, 99.9).high, 7u);
}

}  // namespace
}  // namespace lyra::sim
