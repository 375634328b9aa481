// SPDX-License-Identifier: MIT
// Jobs of sweeps: ids, seeds, the list, and what state_of() makes of files.
#include "tools/lyra/results/sweep_jobs.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "tools/lyra/results/results.h"

namespace lyra::sweep {
namespace {

std::string error_of(const std::string& text) {
    try {
        read_jobs(text, "jobs.tsv");
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(Sweep, IdsAreOfEverythingThatMatters) {
    const Swept swept{{"a", "1"}, {"b", "2"}};
    const std::string id = job_id("v1", "sim", "00", swept);
    EXPECT_EQ(id, job_id("v1", "sim", "00", swept));
    const std::set<std::string> all{id,
                                    job_id("v2", "sim", "00", swept),
                                    job_id("v1", "measure", "00", swept),
                                    job_id("v1", "sim", "01", swept),
                                    job_id("v1", "sim", "00", {{"a", "1"}, {"b", "3"}}),
                                    job_id("v1", "sim", "00", {{"a", "1;1:b"}, {"", "2"}}),
                                    job_id("v1", "sim", "00", {{"a", "12"}, {"b", ""}}),
                                    job_id("v1", "sim", "00", {})};
    EXPECT_EQ(all.size(), 8u);
    std::set<uint64_t> seeds;
    for (const std::string& each : all) seeds.insert(job_seed(each));
    EXPECT_EQ(seeds.size(), 8u);
    EXPECT_LT(*seeds.rbegin(), uint64_t{1} << 53);
    EXPECT_GT(*seeds.begin(), 0u);
}

TEST(Sweep, IdsOfMeasurementsAreOfTheRunToo) {
    const Swept swept{{"a", "1"}};
    const auto id = [&](const Swept& of, uint64_t seed, uint64_t samples) {
        return job_id("v1", "measure", "00", of, RunKey{seed, samples});
    };
    EXPECT_EQ(id(swept, 1, 40), id(swept, 1, 40));
    const std::set<std::string> all{id(swept, 1, 40),
                                    id(swept, 2, 40),
                                    id(swept, 1, 41),
                                    id(swept, 14, 0),
                                    id({}, 1, 40),
                                    job_id("v1", "measure", "00", swept),
                                    job_id("v1", "sim", "00", swept, RunKey{1, 40}),
                                    job_id("v2", "measure", "00", swept, RunKey{1, 40}),
                                    job_id("v1", "measure", "01", swept, RunKey{1, 40}),
                                    job_id("v1", "measure", "00", swept, RunKey{1, 40, "gfx90a"})};
    EXPECT_EQ(all.size(), 10u);
}

TEST(Sweep, SeedsOfAConfigurationAreFoundByTheirIds) {
    const results::Manifest manifest{"v1", "measure", "name", "spec", results::hash_text("spec"), 1, {}};
    results::Configuration configuration;
    configuration.swept = {{"a", "1"}};
    configuration.raw.emplace().asked = 40;
    const auto id = [&](const char* value, uint64_t seed, uint64_t samples) {
        return job_id("v1", "measure", manifest.spec_hash, {{"a", value}}, RunKey{seed, samples});
    };
    std::set<std::string> ids{id("1", 0, 40), id("1", 1, 40), id("1", 2, 40),           id("1", 4, 40),
                              id("1", 3, 41), id("2", 3, 40), id("1", ~uint64_t{0}, 40)};
    const std::vector<std::string> first{id("1", 0, 40), id("1", 1, 40), id("1", 2, 40)};
    for (configuration.seed = 0; configuration.seed < 3; ++configuration.seed)
        EXPECT_EQ(seeds_of(ids, manifest, configuration), first) << configuration.seed;
    configuration.seed = 4;
    EXPECT_EQ(seeds_of(ids, manifest, configuration), std::vector<std::string>{id("1", 4, 40)});
    // Those of another chip are others.
    results::Manifest other = manifest;
    other.chip = "gfx90a";
    EXPECT_TRUE(seeds_of(ids, other, configuration).empty());
    const std::string its = job_id("v1", "measure", manifest.spec_hash, {{"a", "1"}}, RunKey{4, 40, "gfx90a"});
    ids.insert(its);
    EXPECT_EQ(seeds_of(ids, other, configuration), std::vector<std::string>{its});
}

TEST(Sweep, AJobIsOneOfTheConfigurations) {
    std::vector<sim::Configuration> all(3);
    for (size_t n = 0; n < all.size(); ++n) all[n].swept = {{"a", std::to_string(n)}};
    const auto id_of = [](const sim::Configuration& each) { return job_id("v1", "sim", "00", each.swept); };
    std::vector<sim::Configuration> left = all;
    leave_job(left, id_of(all[1]), "spec.toml", id_of);
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].swept, all[1].swept);
    EXPECT_THROW(leave_job(left, id_of(all[0]), "spec.toml", id_of), Error);
}

TEST(Sweep, ListsAreReadAsWritten) {
    const std::string text = header() + to_line({"0123456789abcdef", "lyra sim 'a b.toml'", "out/a.jsonl"}) +
                             to_line({"0123456789abcdee", "x", "y"});
    const std::vector<Job> jobs = read_jobs(text, "jobs.tsv");
    ASSERT_EQ(jobs.size(), 2u);
    EXPECT_EQ(jobs[0].id, "0123456789abcdef");
    EXPECT_EQ(jobs[0].command, "lyra sim 'a b.toml'");
    EXPECT_EQ(jobs[0].output, "out/a.jsonl");
    const auto has = [](const std::string& message, const char* part) { return message.find(part) != std::string::npos; };
    EXPECT_TRUE(has(error_of("0123456789abcdef\tx\ty\n"), "jobs.tsv:1: not a list of jobs"));
    EXPECT_TRUE(has(error_of(header()), "no jobs in it"));
    EXPECT_TRUE(has(error_of(header() + "\n0123456789abcdef\tx\n"), "jobs.tsv:3: needs an id"));
    EXPECT_TRUE(has(error_of(header() + "0123456789abcdef\tx\ty\tz\n"), "jobs.tsv:2: needs an id"));
    EXPECT_TRUE(has(error_of(header() + "0123456789abcdeg\tx\ty\n"), "16 hexadecimal"));
    EXPECT_TRUE(has(error_of(header() + "../../etc/passwd\tx\ty\n"), "16 hexadecimal"));
    EXPECT_TRUE(has(error_of(header() + "0123456789abcdef\tx\t\n"), "no name"));
    EXPECT_TRUE(has(error_of(text + to_line({"0123456789abcdef", "x", "y"})), "was there before"));
}

TEST(Sweep, CommandsAreWordsAndNoShell) {
    const std::vector<std::string> words{"lyra", "sim", "a b's.toml", "", "$(x);|&", "été.toml"};
    std::string command;
    for (const std::string& word : words) command += (command.empty() ? "" : " ") + quoted(word);
    EXPECT_EQ(words_of(command), words);
    EXPECT_EQ(quoted("examples/measure/a.toml"), "examples/measure/a.toml");
    for (const char* bad : {"lyra sim a; rm b", "lyra $(x)", "lyra `x`", "lyra a | b", "lyra a > b", "lyra \"a\"", "lyra 'a",
                            "lyra a\\b", "lyra a\nb", "lyra ~", "lyra *"})
        EXPECT_THROW(words_of(bad), Error) << bad;
}

TEST(Sweep, StateIsWhatLiesThere) {
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "lyra_sweep_jobs_test";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    results::Manifest manifest{"v1", "sim", "name", "spec", results::hash_text("spec"), 1, {}};
    results::Configuration configuration;
    configuration.swept = {{"a", "1"}};
    const Job job{job_id("v1", "sim", manifest.spec_hash, configuration.swept), "lyra", "a.jsonl"};
    configuration.seed = job_seed(job.id);
    const auto write = [&](const char* name, const std::string& text) { std::ofstream(folder / name) << text; };
    const auto line = [&] { return results::to_line(manifest) + results::to_line(configuration); };
    std::string why;
    EXPECT_EQ(state_of(job, folder, why), State::Missing);
    write("a.jsonl.failed", "some words\nexit status 2\n");
    EXPECT_EQ(state_of(job, folder, why), State::Failed);
    EXPECT_EQ(why, "exit status 2");
    write("a.jsonl", line());
    EXPECT_EQ(state_of(job, folder, why), State::Done) << why;
    write("a.jsonl", line().substr(0, line().size() / 2));
    EXPECT_EQ(state_of(job, folder, why), State::Failed);
    configuration.swept[0].second = "2";
    write("a.jsonl", line());
    EXPECT_EQ(state_of(job, folder, why), State::Failed);
    EXPECT_NE(why.find("not what this job makes"), std::string::npos) << why;
    configuration.swept[0].second = "1";
    ++configuration.seed;
    write("a.jsonl", line());
    EXPECT_EQ(state_of(job, folder, why), State::Failed);
    // A measurement's: of its seed and samples, and with the run itself.
    manifest.source = "measure";
    configuration.lost_work = 0;
    configuration.deadlocked = false;
    configuration.seed = 7;
    const Job run{job_id("v1", "measure", manifest.spec_hash, configuration.swept, RunKey{7, 40}), "lyra", "a.jsonl"};
    results::RawRun raw{40, {}};
    const auto made = [&] { return line() + results::to_line(raw); };
    write("a.jsonl", made());
    EXPECT_EQ(state_of(run, folder, why), State::Done) << why;
    write("a.jsonl", line());
    EXPECT_EQ(state_of(run, folder, why), State::Failed) << "without the run";
    raw.asked = 41;
    write("a.jsonl", made());
    EXPECT_EQ(state_of(run, folder, why), State::Failed) << "other samples";
    raw.asked = 40;
    configuration.seed = 8;
    write("a.jsonl", made());
    EXPECT_EQ(state_of(run, folder, why), State::Failed) << "another seed";
    EXPECT_NE(why.find("not what this job makes"), std::string::npos) << why;
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace lyra::sweep
