// SPDX-License-Identifier: MIT
#include "qemu-hw/soc/config.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "facts/chips.h"
#include "gcn-interp/cu/shadow.h"

namespace lyra {

namespace {

constexpr uint32_t kShaderEngines = LYRA_SHADER_ENGINES, kMaxComputeUnits = LYRA_CUS_MAX, kMaxThreads = LYRA_THREADS_MAX;
static_assert(kShaderEngines == same_for_all_chips(&ChipFacts::engines));
static_assert(kMaxComputeUnits == kShaderEngines * same_for_all_chips(&ChipFacts::cus_per_engine));

/// Of a configuration whose chip is known.
unsigned xccs_of(const lyra_config& config) { return config.xccs != 0 ? config.xccs : find_chip(config.chip)->xccs; }

unsigned threads_of(const lyra_config& config) {
    if (config.virtual_time || config.repeatable || config.commit_log_path || config.histogram || gcn::Shadow::wanted())
        return 1;
    if (config.threads != 0) return config.threads;
    return std::clamp(std::thread::hardware_concurrency(), 1u, unsigned{LYRA_THREADS_MAX});
}

}  // namespace

std::optional<FpExceptions> fp_exceptions_of(const lyra_config& config) {
    const std::string_view text = config.fp_exceptions ? config.fp_exceptions : "auto";
    if (text == "always") return FpExceptions::Always;
    return text == "auto" ? std::optional(FpExceptions::Auto) : std::nullopt;
}

GpuShape shape_of(const lyra_config& config) {
    GpuShape shape;
    const ChipFacts& chip = *find_chip(config.chip);
    shape.chip = chip.chip;
    shape.max_scratch_slots_per_cu = chip.scratch_slots_per_cu;
    shape.xccs = xccs_of(config);
    const unsigned cus_per_xcc = config.compute_units / shape.xccs;
    shape.shader_engines = std::min(kShaderEngines, cus_per_xcc);
    shape.cus_per_engine = cus_per_xcc / shape.shader_engines;
    shape.threads = std::min(threads_of(config), shape.cus());
    return shape;
}

std::string check_config(const lyra_config& config) {
    if (config.abi_version != LYRA_ABI_VERSION)
        return fmt::format("interface version {} is asked for, this library has {}", config.abi_version, LYRA_ABI_VERSION);
    if (!config.chip || !find_chip(config.chip))
        return fmt::format("unknown chip '{}'; known: {}", config.chip ? config.chip : "", fmt::join(kChipNames, ", "));
    if (config.vram_bytes < LYRA_VRAM_MIN || config.vram_bytes > LYRA_VRAM_MAX || !std::has_single_bit(config.vram_bytes))
        return fmt::format("VRAM of {} bytes: must be a power of two from {}M to {}G", config.vram_bytes, LYRA_VRAM_MIN >> 20,
                           LYRA_VRAM_MAX >> 30);
    const ChipFacts& chip = *find_chip(config.chip);
    const unsigned xccs = xccs_of(config), cus_per_xcc = config.compute_units / xccs;
    if (xccs < chip.xccs || xccs > chip.most_xccs || !std::has_single_bit(xccs))
        return chip.most_xccs == 1
                   ? fmt::format("{} XCCs: {} has one", xccs, chip.name)
                   : fmt::format("{} XCCs: {} has {}, or a power of two up to {}", xccs, chip.name, chip.xccs, chip.most_xccs);
    if (config.compute_units % xccs != 0)
        return fmt::format("{} compute units: the {} XCCs have as many each", config.compute_units, xccs);
    if (cus_per_xcc < 1 || config.compute_units > kMaxComputeUnits ||
        (cus_per_xcc > kShaderEngines && cus_per_xcc % kShaderEngines != 0))
        return fmt::format("{} compute units: must be {} to {}, or a multiple of {} up to {}", config.compute_units, xccs,
                           xccs * kShaderEngines, xccs * kShaderEngines, kMaxComputeUnits);
    if (config.threads > kMaxThreads)
        return fmt::format("{} threads: must be 1 to {}, or 0 for as many as there are processors", config.threads,
                           kMaxThreads);
    if (!fp_exceptions_of(config))
        return fmt::format("floating-point exceptions '{}': must be auto or always", config.fp_exceptions);
    if (Timing timing; config.timing)
        if (std::string wrong = timing.set(config.timing); !wrong.empty()) return wrong;
    if (Firmware firmware; config.firmware)
        if (std::string wrong = firmware.set(config.firmware); !wrong.empty()) return wrong;
    Strict strict;
    if (config.strict)
        if (std::string wrong = strict.set(config.strict); !wrong.empty()) return wrong;
    if (config.record_path && !config.virtual_time && !config.repeatable)
        return "a recording needs virtual time or a repeatable device";
    // Memory is told from VRAM by host addresses, which copies do not have.
    if (strict.l2 && config.virtual_time) return "strict 'l2' has no virtual time";
    return strict.l2 && config.repeatable ? "strict 'l2' is not repeatable" : std::string();
}

/// Timing and assumptions in full: defaults change.
RecordingHeader recording_header(const lyra_config& config, Env& env, const char* version, bool has_clock) {
    std::string timing;
    for (const TimingInfo& row : kTimings)
        timing += fmt::format("{}{}={}", timing.empty() ? "" : ",", row.name, env.timing.get(row.name));
    const auto text = [](const char* value) { return std::string(value ? value : ""); };
    return {{"lyra", version},
            {"chip", config.chip},
            {"vram_bytes", fmt::to_string(config.vram_bytes)},
            {"compute_units", fmt::to_string(config.compute_units)},
            {"xccs", fmt::to_string(xccs_of(config))},
            {"timing", timing},
            {"firmware", env.firmware.text()},
            {"fp_exceptions", text(config.fp_exceptions)},
            {"poison", config.poison ? "1" : "0"},
            {"ih_overflow", config.ih_overflow ? "1" : "0"},
            {"strict", text(config.strict)},
            {"host_clock", has_clock ? "1" : "0"},
            {"time", config.virtual_time ? "virtual" : "host"},
            {"start_ns", fmt::to_string(env.now_ns())}};
}

}  // namespace lyra
