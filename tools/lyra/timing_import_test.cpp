// SPDX-License-Identifier: MIT
// The timing table out of preempt_timing's output.
#include "tools/lyra/timing_import.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "tools/lyra/results.h"

namespace lyra::results {
namespace {

/// @param r2  of the line through update_0_us
std::string output(double r2 = 0.999) {
    std::string out =
        R"({"record":"machine","gpu":"Vega 10 \"XT\"","chip":"gfx900","cus":64,"shader_engines":4,"max_mhz":1600,)"
        R"("kernel":"6.12.1","amdgpu_module":"AB"})"
        "\n"
        R"({"record":"idle_queue","update_0_us":{"n":9,"p50":12.5},"update_100_us":{"n":9,"p50":4.5}})"
        "\n";
    for (const unsigned waves : {4u, 8u, 16u, 32u}) {
        // 16 units of an engine: 5 clocks of 1,600 MHz a wave
        const double back = 30 + waves, all = back + waves * 16 * 5 / 1600.0;
        out += fmt::format(
            "{{\"record\":\"preempt\",\"waves_per_cu\":{},\"first_wave_back_us\":{{\"p50\":{}}},\"last_wave_back_us\":{{"
            "\"p50\":{}}}}}\n",
            waves, back, all);
    }
    out += fmt::format(
        "{{\"record\":\"fit\",\"of\":\"update_0_us\",\"points\":12,\"fixed_us\":9,\"mb_per_s\":11000,\"r2\":{}}}\n", r2);
    out += R"({"record":"fit","of":"last_wave_stopped_us","points":12,"fixed_us":9,"mb_per_s":99,"r2":1})"
           "\n"
           R"({"record":"dispatch","first_wave_us":{"p50":4.4},"first_store_seen_us":{"p50":6},"signal_seen_us":{"p50":9.5}})"
           "\n";
    return out;
}

uint64_t value(const ImportedTiming& timing, const std::string& name) {
    const auto it = std::find_if(timing.rows.begin(), timing.rows.end(), [&](const ImportedRow& r) { return r.name == name; });
    return it == timing.rows.end() ? 0 : it->value;
}

TEST(TimingImport, RowsAreMadeOfTheFiguresThatTheDocumentNames) {
    const ImportedTiming t = import_timing(output(), "card.jsonl", SaveAreaIn::System);
    EXPECT_EQ(value(t, "shader_clock_mhz"), 1600u);
    EXPECT_EQ(value(t, "system_mb_per_s"), 11000u);
    EXPECT_EQ(value(t, "vram_efficiency_percent"), 0u);
    EXPECT_EQ(value(t, "scheduler_packet_ns"), 4000u);
    EXPECT_EQ(value(t, "doorbell_ns"), 1400u);
    EXPECT_EQ(value(t, "packet_ns"), 400u);
    EXPECT_EQ(value(t, "dispatch_ns"), 2600u);
    EXPECT_EQ(value(t, "end_of_pipe_ns"), 3500u);
    EXPECT_EQ(value(t, "wave_launch_clk"), 5u);
    EXPECT_TRUE(t.notes.empty()) << t.notes.front();
    EXPECT_EQ(t.machine, "Vega 10 \"XT\" (gfx900), kernel 6.12.1, module AB");
}

TEST(TimingImport, WhereTheAreaIsDecidesWhoseSpeedItIs) {
    const ImportedTiming t = import_timing(output(), "card.jsonl", SaveAreaIn::Vram);
    EXPECT_EQ(value(t, "system_mb_per_s"), 0u);
    EXPECT_EQ(value(t, "vram_efficiency_percent"), 2u);  // 11,000 of 484,000
}

TEST(TimingImport, WhatIsNoLineGivesNoRow) {
    const ImportedTiming t = import_timing(output(0.5), "card.jsonl", SaveAreaIn::System);
    EXPECT_EQ(value(t, "system_mb_per_s"), 0u);
    ASSERT_EQ(t.notes.size(), 1u);
    EXPECT_NE(t.notes[0].find("speed of a save"), std::string::npos);
    EXPECT_NE(to_toml(t).find("# not there: "), std::string::npos);
}

TEST(TimingImport, AValueThatARowCannotHaveIsSaid) {
    std::string text = output();
    text.replace(text.find("\"p50\":12.5"), 10, "\"p50\":1.5 ");
    const ImportedTiming t = import_timing(text, "card.jsonl", SaveAreaIn::System);
    EXPECT_EQ(value(t, "scheduler_packet_ns"), 0u);
    ASSERT_EQ(t.notes.size(), 1u);
    EXPECT_NE(t.notes[0].find("scheduler_packet_ns"), std::string::npos);
}

TEST(TimingImport, OtherFilesAreRefusedWithTheirLine) {
    const auto error_of = [](const std::string& text) -> std::string {
        try {
            import_timing(text, "card.jsonl", SaveAreaIn::System);
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(error_of(output() + "hello\n"), "card.jsonl:10: no record of preempt_timing");
    EXPECT_EQ(error_of(""), "card.jsonl: has to be the output of one run of preempt_timing");
    EXPECT_EQ(error_of(output() + output()), "card.jsonl: has to be the output of one run of preempt_timing");
}

TEST(TimingImport, TheTableIsOneForExperiments) {
    const std::string toml = to_toml(import_timing(output(), "card.jsonl", SaveAreaIn::System));
    EXPECT_EQ(toml.substr(0, toml.find('\n')),
              "# Measured by preempt_timing on Vega 10 \"XT\" (gfx900), kernel 6.12.1, module AB.");
    EXPECT_NE(toml.find("\n[timing]\n"), std::string::npos);
    EXPECT_NE(toml.find("\nsystem_mb_per_s = 11000  # fit of update_0_us"), std::string::npos);
}

}  // namespace
}  // namespace lyra::results
