// SPDX-License-Identifier: MIT
// The timing table out of preempt_timing's output.
#include "tools/lyra/results/timing_import.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "tools/lyra/results/results.h"

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
    out +=
        R"({"record":"fit","of":"last_wave_stopped_us","points":12,"fixed_us":9,"mb_per_s":99,"r2":1})"
        "\n"
        R"({"record":"dispatch","first_wave_us":{"p50":4.4},"first_store_seen_us":{"p50":6},"signal_seen_us":{"p50":9.5}})"
        "\n"
        R"({"record":"mmio","run":64,"without":[],"register_read_ns":{"n":9,"p50":912.5},"doorbell_write_ns":{"n":9,"p50":81.4},)"
        R"("vram_read_ns":{"n":9,"p50":640},"vram_write_ns":null})"
        "\n";
    return out;
}

/// What says something of the firmware, and of no row.
const std::string kProbes =
    R"({"record":"fence_order","waves_seen":1280,"late_waves":0,"clock_error_us":1.5,"latest_us":-3.25})"
    "\n"
    R"({"record":"bystander","samples":20,"gaps_at_0":20,"bystander_gap_us":{"n":20,"p50":180}})"
    "\n"
    R"({"record":"selective_unmap","probed":false,"reason":"the driver has no kfd_sched"})"
    "\n"
    R"({"record":"runlist_over_live","probed":true,"samples":20,"returned":20,"consistent_with":["keep"]})"
    "\n";

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    return text.replace(text.find(what), what.size(), by);
}

std::string error_of(const std::string& text) {
    try {
        import_timing(text, "card.jsonl", SaveAreaIn::System);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
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
    EXPECT_EQ(value(t, "mmio_read_ns"), 913u);
    EXPECT_EQ(value(t, "mmio_write_ns"), 81u);
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
    const std::string text = replaced(output(), "\"p50\":12.5", "\"p50\":1.5");
    const ImportedTiming t = import_timing(text, "card.jsonl", SaveAreaIn::System);
    EXPECT_EQ(value(t, "scheduler_packet_ns"), 0u);
    ASSERT_EQ(t.notes.size(), 1u);
    EXPECT_NE(t.notes[0].find("scheduler_packet_ns"), std::string::npos);
}

TEST(TimingImport, OtherFilesAreRefusedWithTheirLine) {
    EXPECT_EQ(error_of(output() + "hello\n"), "card.jsonl:11: no record of preempt_timing");
    EXPECT_EQ(error_of(""), "card.jsonl: has to be the output of one run of preempt_timing");
    EXPECT_EQ(error_of(output() + output()), "card.jsonl: has to be the output of one run of preempt_timing");
}

TEST(TimingImport, AReadOfVramStandsInForARegisterThatTheDriverDoesNotRead) {
    const std::string text = replaced(output(), R"("register_read_ns":{"n":9,"p50":912.5})", R"("register_read_ns":null)");
    const ImportedTiming t = import_timing(text, "card.jsonl", SaveAreaIn::System);
    EXPECT_EQ(value(t, "mmio_read_ns"), 640u);
    EXPECT_NE(to_toml(t).find("without the way to a register"), std::string::npos);

    const std::string neither = replaced(text, R"("vram_read_ns":{"n":9,"p50":640})", R"("vram_read_ns":null)");
    const ImportedTiming none = import_timing(neither, "card.jsonl", SaveAreaIn::System);
    EXPECT_EQ(value(none, "mmio_read_ns"), 0u);
    EXPECT_EQ(value(none, "mmio_write_ns"), 81u);
    EXPECT_EQ(none.notes, std::vector<std::string>{"mmio_read_ns: neither register_read_ns nor vram_read_ns"});
}

TEST(TimingImport, OutputOfOlderProgramsLacksTheProcessorsAccesses) {
    const std::string text = output();
    const ImportedTiming t = import_timing(text.substr(0, text.find(R"({"record":"mmio")")), "card.jsonl", SaveAreaIn::System);
    EXPECT_EQ(t.notes, std::vector<std::string>{"mmio_read_ns, mmio_write_ns: no mmio"});
}

TEST(TimingImport, WhatIsNoTimeIsSaid) {
    const ImportedTiming t = import_timing(output() + kProbes, "card.jsonl", SaveAreaIn::System);
    EXPECT_EQ(t.rows.size(), import_timing(output(), "card.jsonl", SaveAreaIn::System).rows.size());
    const std::string choice = "a choice of the firmware and not a time (docs/design/firmware.md)";
    EXPECT_EQ(t.notes, (std::vector<std::string>{"fence_order: an order and not a time",
                                                 "bystander: the sum of times for which there are rows",
                                                 "selective_unmap: " + choice, "runlist_over_live: " + choice}));
    const std::string late = replaced(kProbes, "\"late_waves\":0", "\"late_waves\":3");
    EXPECT_EQ(import_timing(output() + late, "card.jsonl", SaveAreaIn::System).notes.front(),
              "fence_order: 3 waves ran when update_0_us was over, so what is made of it is too short");
}

TEST(TimingImport, MalformedRecordsAreRefused) {
    const auto with = [](const std::string& what, const std::string& by) {
        return error_of(replaced(output() + kProbes, what, by));
    };
    EXPECT_EQ(with(R"({"n":9,"p50":81.4})", "81.4"), "card.jsonl:10: doorbell_write_ns of \"mmio\" has no median");
    EXPECT_EQ(with(R"({"n":9,"p50":912.5})", R"({"n":9})"), "card.jsonl:10: register_read_ns of \"mmio\" has no median");
    EXPECT_EQ(with(R"({"n":9,"p50":12.5})", R"({"p50":"12.5"})"), "card.jsonl:2: update_0_us of \"idle_queue\" has no median");
    EXPECT_EQ(with(R"("max_mhz":1600)", R"("max_mhz":null)"), "card.jsonl:1: max_mhz of \"machine\" is no number");
    EXPECT_EQ(with(R"("late_waves":0)", R"("late_waves":"no")"), "card.jsonl:11: late_waves of \"fence_order\" is no number");
    EXPECT_EQ(with(R"("record":"bystander")", R"("record":"passer-by")"),
              "card.jsonl:12: no record of preempt_timing is called \"passer-by\"");
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
