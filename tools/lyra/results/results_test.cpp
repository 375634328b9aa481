// SPDX-License-Identifier: MIT
// Lines of results: what is written is read again, and what is wrong with a file is said.
#include "tools/lyra/results/results.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/lyra/results/summary.h"

namespace lyra::results {
namespace {

RunResults example() {
    RunResults run;
    run.manifest = {"0.1.0 (abc)",
                    "sim",
                    "two",
                    "samples = 2\n# <&>\n",
                    hash_text("samples = 2\n# <&>\n"),
                    7,
                    {{"doorbell_ns", 700}, {"packet_ns", 200}}};
    Configuration c;
    c.swept = {{"client.be.kernel_us", "10"}, {"detection.kind", "poll"}};
    c.seed = 9;
    c.samples = 1000;
    c.preemptions = 400;
    std::vector<uint64_t> all(1000), some(400);
    std::iota(all.begin(), all.end(), 1);
    std::iota(some.begin(), some.end(), 600);
    c.latency = c.arrival_latency = c.resident_latency = c.completion = describe({all});
    c.preemption_latency = describe({some});
    c.slowdown = describe({{all.begin(), all.begin() + 500}, {all.begin() + 500, all.end()}});
    c.stages = StageMeans{0, 0.25, 0.1, 0, 0.3, 0, 0, 0.15};
    c.best_effort_retained = Percentile{0.987, 0.98, 0.99};
    c.stp = Percentile{1.2, 1.2, 1.2};
    c.seeds = 10;
    c.simulated_ms = 12.5;
    c.bytes_saved = 1u << 30;
    c.clients = {{"be", 12, 99.5}};
    c.trace_hash = "0123456789abcdef";
    run.configurations = {c, c};
    run.configurations[1].swept[0].second = "20";
    run.configurations[1].lost_work = 3;
    run.configurations[1].band =
        Band{{49, 60.5}, {20, 30}, {180, 300}, {{"vram_efficiency_percent", 40, 90, {70, 90}, {30, std::nullopt}}}};
    return run;
}

std::string text_of(const RunResults& run) {
    std::string text = to_line(run.manifest);
    for (const Configuration& c : run.configurations) text += to_line(c);
    return text;
}

std::string error_of(const std::string& text) {
    try {
        read(text, "r.jsonl");
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

/// The example with one thing of its line n replaced.
std::string changed(size_t line, const std::string& key, const nlohmann::ordered_json& value) {
    const RunResults run = example();
    std::vector<nlohmann::ordered_json> lines;
    for (const std::string& each : {to_line(run.manifest), to_line(run.configurations[0]), to_line(run.configurations[1])})
        lines.push_back(nlohmann::ordered_json::parse(each));
    lines[line - 1][nlohmann::ordered_json::json_pointer(key)] = value;
    std::string text;
    for (const auto& each : lines) text += each.dump() + "\n";
    return text;
}

TEST(Results, AreReadAsWritten) {
    const RunResults run = example();
    const std::vector<RunResults> all = read(text_of(run) + text_of(run), "r");
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].manifest, run.manifest);
    for (const RunResults& each : all) EXPECT_EQ(text_of(each), text_of(run));
    const Configuration& c = all[1].configurations[1];
    EXPECT_EQ(c.swept, run.configurations[1].swept);
    EXPECT_EQ(c.lost_work, 3u);
    EXPECT_FALSE(all[1].configurations[0].lost_work);
    EXPECT_EQ(c.latency.cdf.size(), 201u);
    EXPECT_EQ((*c.stages)[1], 0.25);
    EXPECT_EQ(c.clients[0].longest_off_us, 99.5);
}

TEST(Results, DistributionHasEqualSteps) {
    std::vector<uint64_t> values(400);
    std::iota(values.begin(), values.end(), 1);
    const Latency latency = describe({values});
    ASSERT_EQ(latency.cdf.size(), 201u);
    EXPECT_DOUBLE_EQ(latency.cdf[0], 0.001);
    for (size_t n = 1; n <= 200; ++n) EXPECT_DOUBLE_EQ(latency.cdf[n], 0.002 * static_cast<double>(n));
    EXPECT_DOUBLE_EQ(latency.p95.value().value, latency.cdf[190]);
    EXPECT_DOUBLE_EQ(latency.max, latency.cdf[200]);
    EXPECT_EQ(describe({{5}}).cdf, std::vector<double>(201, 0.005));
    EXPECT_TRUE(describe({}).cdf.empty());
    EXPECT_TRUE(describe({{}, {}}).cdf.empty());
}

TEST(Results, PercentilesNeedTenValuesAboveThem) {
    std::vector<uint64_t> values(9999);
    std::iota(values.begin(), values.end(), 1);
    const Latency many = describe({values});
    EXPECT_TRUE(many.p99);
    EXPECT_FALSE(many.p999);
    const Latency few = describe({{values.begin(), values.begin() + 999}});
    EXPECT_TRUE(few.p50 && few.p95);
    EXPECT_FALSE(few.p99);
    values.push_back(10000);
    EXPECT_EQ(describe({values}).p999.value().value, 9.99);
    EXPECT_EQ(
        describe({{values.begin(), values.begin() + 400}, {values.begin() + 400, values.begin() + 1000}}).p99.value().value,
        0.99)
        << "what all seeds have together counts";
}

TEST(Results, StagesAddUpToTheLatency) {
    StageSums sums;
    EXPECT_FALSE(sums.means());
    //        t0     t1     t2     t3     t4     t5     t6     t7     t8
    sums.add({1000, 1000, 4000, 5000, 6000, 16000, 18000, 21000, 23000});
    // The wave began before the fence was seen, and nothing was mapped for it.
    sums.add({1000, 1000, 2000, 3000, 4000, 8000, 12000, 0, 10000});
    const StageMeans means = sums.means().value();
    const StageMeans expected{0, 2, 1, 1, 7, 1, 1.5, 2};
    for (size_t n = 0; n < means.size(); ++n) EXPECT_DOUBLE_EQ(means[n], expected[n]) << kStages[n];
    EXPECT_DOUBLE_EQ(std::accumulate(means.begin(), means.end(), 0.0), (22.0 + 9.0) / 2);
    // Nonsense from a guest stays within bounds.
    StageSums odd;
    odd.add({5000, ~uint64_t{0}, 0, 0, 0, 0, 0, 0, 1000});
    const StageMeans none = odd.means().value();
    for (const double mean : none) EXPECT_EQ(mean, 0);
}

TEST(Results, SayWhatIsWrongAndWhere) {
    const auto lacks = [](const std::string& message, const char* part) { return message.find(part) == std::string::npos; };
    const std::string good = text_of(example());
    ASSERT_EQ(error_of(good), "");
    struct {
        std::string text;
        const char* says;
    } const cases[] = {
        {"", "r.jsonl: empty"},
        {"\n\n", "r.jsonl: empty"},
        {"{}\n", "r.jsonl:1: not a file of results"},
        {"[1]\n", "r.jsonl:1: not a JSON object"},
        {"hello\n", "r.jsonl:1: not JSON at byte 1"},
        {good.substr(0, good.size() - 20), "r.jsonl:3: not JSON at byte"},
        {good.substr(0, good.find('\n') + 1), "the run has no configuration"},
        {good + good.substr(0, good.find('\n') + 1), "the run has no configuration"},
        {good.substr(good.find('\n') + 1), "r.jsonl:1: not a file of results"},
        {changed(1, "/lyra_results", 1), "format 1 of results, this program knows format 2"},
        {changed(1, "/spec", "samples = 3\n"), "spec_hash is not that of spec"},
        {changed(1, "/source", "oracle"), "source has to be"},
        {changed(1, "/timing/packet_ns", -1), "timing.packet_ns has to be a whole number"},
        {changed(2, "/samples", "many"), "r.jsonl:2: samples has to be a whole number"},
        {changed(3, "/preemptions", 1001), "r.jsonl:3: more preemptions than samples"},
        {changed(2, "/latency_us/p50", 1e300), "latency_us.p50 has to be a number from 0 to 1e+15"},
        {changed(2, "/latency_us/p50", 0.9995), "latency_us.p50 does not lie in its interval"},
        {changed(2, "/latency_us/max", 0.5), "percentiles do not ascend"},
        {changed(2, "/latency_us/p99_95", {1}), "latency_us.p99_95 has to be two numbers"},
        {changed(2, "/latency_cdf_us/7", 100), "latency_cdf_us does not ascend"},
        {changed(2, "/latency_cdf_us", {1}), "needs two points"},
        {changed(2, "/latency_cdf_us", 3), "has to be a list"},
        {changed(2, "/stages_us/save", -3), "stages_us.save has to be a number"},
        {changed(2, "/best_effort_retained", -1), "best_effort_retained has to be a number"},
        {changed(2, "/best_effort_retained", 1.5), "best_effort_retained does not lie in its interval"},
        {changed(2, "/seeds", -1), "seeds has to be a whole number"},
        {changed(2, "/arrival_latency_us/p50", nullptr), ""},
        {changed(2, "/latency_us/p50", nullptr), "samples have no percentile"},
        {changed(2, "/configuration/\033[2J", 1), "configuration.?[2J has to be a string"},
        {changed(2, "/clients/0/name", nullptr), "clients.name has to be a string"},
        {changed(3, "/band/most/p50", "much"), "band.most.p50 has to be a number"},
        {changed(3, "/sensitivity/0/low", -1), "sensitivity.low has to be a whole number"},
        {changed(3, "/sensitivity", 1), "sensitivity has to be a list"},
    };
    for (const auto& each : cases)
        EXPECT_FALSE(lacks(error_of(each.text), each.says)) << error_of(each.text) << "\nexpected: " << each.says;
    std::string huge = good;
    huge.replace(huge.find("12.5"), 4, "1e999");
    EXPECT_FALSE(lacks(error_of(huge), "r.jsonl:2: not JSON that can be used")) << error_of(huge);
}

constexpr const char* kMeasured = R"(
samples = 20
seed = 5
seeds = 3
[policy]
name = "fixed"
[[client]]
name = "critical"
priority = 15
kernel_us = 50
arrival = "poisson"
rate_hz = 200
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
"policy.name" = ["none", "fixed"]
)";

/// As a guest might have given them, different for each seed.
std::vector<MeasuredRun> some_runs(unsigned seeds) {
    std::vector<MeasuredRun> out;
    for (unsigned seed = 0; seed < seeds; ++seed) {
        SeedRun run;
        run.duration_ns = 123'456'789 + seed;
        run.clients = {{"critical", true, 20, {1.0 / 3e6 + seed * 1e-9, 1.0 / 2.9e6, 61'000.5, 50'000.0 / 3, 1}, 0.1 + seed},
                       {"effort", false, 7, {1.0 / 2.3e6, 1.0 / 2.1e6, 2'300'000, 2'100'000.25, 1}, 321.125}};
        for (uint64_t n = 0; n < 20; ++n) {
            sim::Sample s;
            s.arrival = 1'000'000 * (n + 1);
            s.t0_doorbell = s.arrival + 500 + n * 7 % 5;
            s.t8_first_wave = s.t0_doorbell + 40'000 + (n * 7919 + seed * 104'729) % 9'973;
            s.displaced = n % 3 != 0;
            if (s.displaced) {
                s.t2_detected = s.t3_requested = s.t4_dequeue = s.t0_doorbell + 9'000 + n;
                s.t5_saved = s.t6_fence = s.t0_doorbell + 20'000 + n;
            }
            s.resident = s.t8_first_wave + 11;
            s.t9_done = s.t8_first_wave + 50'000;
            run.samples.push_back(s);
        }
        out.push_back({std::move(run), seed, seed == 2, fmt::format("{:016x}", 100 + seed)});
    }
    return out;
}

/// What the job of one seed writes.
std::string output_of_job(sim::Configuration configuration, unsigned seed, const MeasuredRun& run) {
    configuration.experiment.seed += seed;
    configuration.experiment.seeds = 1;
    const Manifest manifest{
        "v1", "measure", "m", kMeasured, hash_text(kMeasured), configuration.experiment.seed, {{"doorbell_ns", 700}}};
    return to_line(manifest) + to_line(measured(configuration, {run})) +
           to_line(RawRun{configuration.experiment.samples, run.run});
}

TEST(Results, TheChipIsNamedWhenItIsNotTheFirst) {
    const std::string first = output_of_job(sim::read_spec(kMeasured, "m.toml")[0], 0, some_runs(1)[0]);
    EXPECT_EQ(first.find("\"chip\""), std::string::npos);
    EXPECT_EQ(read(first, "job")[0].manifest.chip, "gfx900");
    Manifest manifest = read(first, "job")[0].manifest;
    manifest.chip = "gfx90a";
    const std::string rest = first.substr(first.find('\n') + 1);
    EXPECT_EQ(read(to_line(manifest) + rest, "job")[0].manifest, manifest);
    manifest.chip = "gfx9";
    EXPECT_THROW(read(to_line(manifest) + rest, "job"), std::runtime_error);
}

TEST(Results, SeedsOfJobsGiveWhatTheyGiveTogether) {
    const sim::Configuration configuration = sim::read_spec(kMeasured, "m.toml")[1];
    const std::vector<MeasuredRun> runs = some_runs(3);
    std::vector<MeasuredRun> again;
    for (unsigned seed = 0; seed < 3; ++seed) {
        std::vector<RunResults> all = read(output_of_job(configuration, seed, runs[seed]), "job");
        ASSERT_EQ(all.size(), 1u);
        ASSERT_EQ(all[0].configurations.size(), 1u);
        Configuration& one = all[0].configurations[0];
        ASSERT_TRUE(one.raw);
        EXPECT_EQ(one.raw->asked, 20u);
        EXPECT_EQ(to_line(*one.raw), to_line(RawRun{20, runs[seed].run}));
        again.push_back({one.raw->run, one.lost_work.value(), one.deadlocked.value(), one.trace_hash});
    }
    const Configuration whole = measured(configuration, runs);
    EXPECT_EQ(to_line(measured(configuration, again)), to_line(whole));
    // ... which is what the runs themselves say, with intervals over seeds.
    const Configuration direct = summarise({runs[0].run, runs[1].run, runs[2].run});
    EXPECT_EQ(whole.samples, 60u);
    EXPECT_EQ(whole.preemptions, 39u);
    EXPECT_EQ(whole.seeds, 3u);
    EXPECT_EQ(whole.seed, 5u);
    EXPECT_EQ(whole.swept, configuration.swept);
    EXPECT_EQ(whole.arrival_latency.p95.value().high, direct.arrival_latency.p95.value().high);
    EXPECT_EQ(whole.arrival_latency.cdf, direct.arrival_latency.cdf);
    EXPECT_EQ(whole.stages, direct.stages);
    EXPECT_EQ(whole.stp.value().low, direct.stp.value().low);
    EXPECT_LT(whole.stp.value().low, whole.stp.value().high);
    EXPECT_EQ(whole.lost_work, 3u);
    EXPECT_EQ(whole.deadlocked, true);
    EXPECT_EQ(whole.clients[0].kernels, 60u);
    EXPECT_EQ(whole.clients[0].longest_off_us, 2.1);
    EXPECT_TRUE(whole.band);
    EXPECT_NE(whole.trace_hash, measured(configuration, {runs[1], runs[0], runs[2]}).trace_hash) << "each guest counts";
    again[1].trace_hash = again[2].trace_hash = again[0].trace_hash;
    EXPECT_EQ(measured(configuration, again).trace_hash, runs[0].trace_hash) << "one guest made all";
}

TEST(Results, RawRunsAreChecked) {
    const std::string good = output_of_job(sim::read_spec(kMeasured, "m.toml")[0], 0, some_runs(1)[0]);
    ASSERT_EQ(error_of(good), "");
    std::vector<std::string> lines;
    for (size_t at = 0, end = 0; (end = good.find('\n', at)) != std::string::npos; at = end + 1)
        lines.push_back(good.substr(at, end + 1 - at));
    ASSERT_EQ(lines.size(), 3u);
    const auto with = [&](size_t line, const char* key, const nlohmann::ordered_json& value) {
        auto json = nlohmann::ordered_json::parse(lines[line]);
        json[nlohmann::ordered_json::json_pointer(key)] = value;
        std::string text;
        for (size_t n = 0; n < lines.size(); ++n) text += n == line ? json.dump() + "\n" : lines[n];
        return text;
    };
    const nlohmann::ordered_json sample = nlohmann::ordered_json::parse(lines[2])["run"]["samples"][0];
    nlohmann::ordered_json shorter = sample;
    shorter.erase(0);
    struct {
        std::string text;
        const char* says;
    } const cases[] = {
        {lines[0] + lines[2], "r.jsonl:2: a run has to follow its configuration"},
        {lines[2], "r.jsonl:1: not a file of results"},
        {good + lines[2], "r.jsonl:4: a run has to follow its configuration"},
        {with(1, "/seeds", 2), "has to have one seed"},
        {with(1, "/samples", 21), "run.samples are 20 with 13 preemptions, and the configuration says 21 with 13"},
        {with(1, "/preemptions", 12), "run.samples are 20 with 13 preemptions"},
        {with(1, "/clients/1", nullptr), "clients has to be an object"},
        {with(2, "/run", 1), "r.jsonl:3: run has to be an object"},
        {with(2, "/run/asked", -1), "run.asked has to be a whole number"},
        {with(2, "/run/duration_ns", 1e30), "run.duration_ns has to be a whole number"},
        {with(2, "/run/duration_ns", ~uint64_t{0}), "run.duration_ns is above"},
        {with(2, "/run/clients", nullptr), "run.clients has to be a list"},
        {with(2, "/run/clients", {1}), "run.clients are not as many"},
        {with(2, "/run/clients/0", 1), "run.clients has to be an object"},
        {with(2, "/run/clients/0/latency_critical", 1), "has to be true or false"},
        {with(2, "/run/clients/0/latency_critical", false), "of a client that is not latency-critical"},
        {with(2, "/run/clients/0/alone_turnaround_ns", 1e-300), "alone_turnaround_ns has to be 0, or from 1 to 1e+15"},
        {with(2, "/run/clients/0/alone_rate", 1e-300), "alone_rate has to be 0, or from 1e-15 to 1"},
        {with(2, "/run/clients/1/rate", 2), "rate has to be a number from 0 to 1"},
        {with(2, "/run/samples", 1), "run.samples has to be a list"},
        {with(2, "/run/samples", nlohmann::ordered_json::array()), "run.samples are 0"},
        {with(2, "/run/samples/3", shorter), "run.samples: each has to be 13 numbers"},
        {with(2, "/run/samples/3", nlohmann::ordered_json::object()), "run.samples: each has to be 13 numbers"},
        {with(2, "/run/samples/3/0", 1), "of a client that is not latency-critical"},
        {with(2, "/run/samples/3/0", uint64_t{1} << 32), "of a client that is not latency-critical"},
        {with(2, "/run/samples/3/1", 2), "has to be 0 or 1"},
        {with(2, "/run/samples/3/4", 0.5), "run.samples has to be a whole number"},
        {with(2, "/run/samples/3/12", ~uint64_t{0}), "run.samples has a number above"},
    };
    for (const auto& each : cases)
        EXPECT_NE(error_of(each.text).find(each.says), std::string::npos) << error_of(each.text) << "\nexpected: " << each.says;
    nlohmann::ordered_json second = nlohmann::ordered_json::parse(lines[1]);
    second.erase("deadlocked");
    EXPECT_NE(error_of(lines[0] + second.dump() + "\n" + lines[2]).find("needs lost_work and deadlocked"), std::string::npos);
    // Cut anywhere in the run it is no run, and with any byte changed it is refused or still something that can be summed up.
    const size_t start = good.size() - lines[2].size();
    for (size_t length = start + 1; length + 1 < good.size(); ++length)
        ASSERT_NE(error_of(good.substr(0, length)).find("r.jsonl:3: not JSON"), std::string::npos) << length;
    size_t refused = 0;
    for (size_t at = start; at < good.size(); at += 3) {
        for (const char c : {'9', '-', 'e', '"', '[', '}', '\0', '\xff'}) {
            std::string text = good;
            text[at] = c;
            if (!error_of(text).empty()) {
                ++refused;
                continue;
            }
            const Configuration one = read(text, "r.jsonl")[0].configurations[0];
            ASSERT_TRUE(one.raw) << at << c;
            ASSERT_EQ(summarise({one.raw->run}).samples, 20u);
        }
    }
    EXPECT_GT(refused, lines[2].size());
}

TEST(Results, FilesAreThereWhenComplete) {
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "lyra_results_test";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    const auto files = [&] { return std::distance(std::filesystem::directory_iterator(folder), {}); };
    {
        AtomicFile file(folder / "a.jsonl");
        file.write("half");
        EXPECT_FALSE(std::filesystem::exists(folder / "a.jsonl"));
    }
    EXPECT_EQ(files(), 0);
    AtomicFile file(folder / "a.jsonl");
    file.write("all ");
    file.write("of it");
    file.commit();
    EXPECT_EQ(files(), 1);
    std::ifstream in(folder / "a.jsonl");
    EXPECT_EQ(std::string((std::istreambuf_iterator<char>(in)), {}), "all of it");
    EXPECT_THROW(AtomicFile(folder / "no" / "such"), Error);
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace lyra::results
