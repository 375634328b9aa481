// SPDX-License-Identifier: MIT
#include "tools/lyra/device/bench_text.h"

#include <string>

#include <fmt/format.h>

namespace lyra::cli {

using nlohmann::json;

namespace {

std::string text(const json& value, int digits, double scale = 1) {
    return value.is_null() ? std::string("-") : fmt::format("{:.{}f}", value.get<double>() * scale, digits);
}

void print_times(const json& rows) {
    fmt::print("{:<18}{:>12}{:>12}{:>12}{:>12}{:>16}{:>14}{:>14}\n", "kernel", "lyra ms", "PoCL ms", "native ms", "PoCL/lyra",
               "M wave-instr/s", "two threads", "two devices");
    for (const json& row : rows) {
        if (row["kind"] != "kernel") continue;
        fmt::print("{:<18}{:>12}{:>12}{:>12}{:>12}{:>16}{:>14}{:>14}\n", row["name"].get<std::string>(),
                   text(row["lyra_ms"], 3), text(row["pocl_ms"], 3), text(row["native_ms"], 3), text(row["vs_pocl_1t"], 2),
                   text(row["wave_instructions_per_s"], 1, 1e-6), text(row["scaling_2_cores"], 2),
                   text(row["scaling_2_devices"], 2));
        if (row.contains("error")) fmt::print("    WRONG: {}\n", row["error"].get<std::string>());
    }
    fmt::print("\n");
}

void print_engines(const json& rows) {
    fmt::print("{:<18}{:>12}{:>14}{:>12}{:>16}{:>12}{:>12}\n", "kernel", "engine", "translated %", "blocks", "translating ms",
               "lyra GB/s", "PoCL GB/s");
    for (const json& row : rows) {
        if (row["kind"] != "kernel") continue;
        fmt::print("{:<18}{:>12}{:>14}{:>12}{:>16}{:>12}{:>12}\n", row["name"].get<std::string>(),
                   row["engine"].get<std::string>(), text(row["translated_share"], 1, 100), text(row["translated_blocks"], 0),
                   text(row["translate_ms"], 3), text(row["lyra_gb_per_s"], 2), text(row["pocl_gb_per_s"], 2));
    }
    fmt::print("\n");
}

/// With as many digits as a small value needs.
std::string value_text(double value) { return fmt::format("{:.{}f}", value, value > 1e4 ? 0 : value > 100 ? 1 : 4); }

void print_comparison(const json& comparison) {
    fmt::print("\n{:<18}{:>16}{:>16}{:>10}  {}\n", "compared", "before", "now", "ratio", "unit");
    for (const json& row : comparison["rows"]) {
        fmt::print("{:<18}{:>16}{:>16}{:>10}  {}\n", row["name"].get<std::string>(), value_text(row["before"].get<double>()),
                   value_text(row["now"].get<double>()), text(row["ratio"], 3), row["unit"].get<std::string>());
    }
    for (const auto& [kind, mean] : comparison["geomean_ratio_by_kind"].items())
        fmt::print("geometric mean of the ratios of kind {}: {}\n", kind, text(mean, 3));
    fmt::print("geometric mean of the ratios: {}\n", text(comparison["geomean_ratio"], 3));
    for (const json& name : comparison["unmatched"]) fmt::print("not in both: {}\n", name.get<std::string>());
    for (const json& line : comparison["differences"]) fmt::print("DIFFERENT {}\n", line.get<std::string>());
}

}  // namespace

void print_bench(const json& result) {
    const json& rows = result["rows"];
    bool kernels = false;
    for (const json& row : rows) kernels |= row["kind"] == "kernel";
    if (kernels) {
        print_times(rows);
        print_engines(rows);
    }
    for (const json& row : rows) {
        if (row["kind"] == "kernel") continue;
        const bool big = row["value"].is_number() && row["value"].get<double>() > 1e4;
        fmt::print("{:<18}{:>12}  {}\n", row["name"].get<std::string>(), text(row["value"], big ? 0 : 2),
                   row["unit"].get<std::string>());
    }
    const auto line = [&](const char* name, const char* key, double scale) {
        fmt::print("{}: {}\n", name, text(result[key], 2, scale));
    };
    line("geometric mean against PoCL on one thread, the first eleven kernels", "geomean_vs_pocl_1t", 1);
    line("geometric mean against PoCL on one thread, all kernels", "geomean_vs_pocl_1t_all", 1);
    line("VALU lane operations per second, G", "valu_lane_ops_per_s", 1e-9);
    line("two threads against one, real time, the first eleven kernels", "scaling_2_cores", 1);
    line("two devices that share nothing, one thread each, the same", "scaling_2_devices", 1);
    for (const json& ns : result["line_round_trip_ns"])
        fmt::print("a cache line from one of the two threads to the other and back: {} ns\n", text(ns, 0));
    if (result.contains("comparison")) print_comparison(result["comparison"]);
}

}  // namespace lyra::cli
