// SPDX-License-Identifier: MIT
// lyra sim: experiments with queues of several priorities on the simulator.
#include <algorithm>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "scheduler/sim/metrics.h"
#include "scheduler/sim/spec.h"
#include "tools/lyra/cli.h"

namespace lyra::cli {

namespace {

using nlohmann::ordered_json;

struct Options {
    std::string spec;
    uint64_t samples = 0, seed = 0;
    bool json = false;
};

double us(uint64_t ns) { return static_cast<double>(ns) / 1000; }

/// FNV-1a of every time stamp: equal for equal runs.
uint64_t trace_hash(const sim::Result& result) {
    uint64_t hash = 0xcbf29ce484222325;
    const auto mix = [&](uint64_t value) {
        for (unsigned n = 0; n < 8; ++n) hash = (hash ^ (value >> 8 * n & 0xff)) * 0x100000001b3;
    };
    for (const sim::Sample& s : result.samples) {
        for (const uint64_t at : {s.t0_doorbell, s.t2_detected, s.t3_requested, s.t4_dequeue, s.t5_saved, s.t6_fence, s.t8_first_wave, s.t9_done})
            mix(at);
    }
    return hash;
}

struct Row {
    std::vector<uint64_t> latency, displacing;  ///< doorbell to first wave: of all samples, of those that somebody had to go for; sorted
    std::vector<uint64_t> ready;                ///< from when what a kernel waits for was done, to its first wave; sorted
    sim::Result result;
};

Row run(const sim::Experiment& experiment) {
    Row row;
    row.result = sim::simulate(experiment);
    for (const sim::Sample& s : row.result.samples) {
        const uint64_t latency = s.t8_first_wave - s.t0_doorbell;
        row.latency.push_back(latency);
        if (s.displaced) row.displacing.push_back(latency);
        row.ready.push_back(s.t8_first_wave - s.ready);
    }
    std::sort(row.ready.begin(), row.ready.end());
    std::sort(row.latency.begin(), row.latency.end());
    std::sort(row.displacing.begin(), row.displacing.end());
    return row;
}

ordered_json latencies(const std::vector<uint64_t>& sorted) {
    ordered_json out;
    for (const auto& [name, percent] : {std::pair{"p50", 50.0}, {"p95", 95.0}, {"p99", 99.0}, {"p99.9", 99.9}, {"max", 100.0}}) {
        const sim::Percentile p = sim::percentile(sorted, percent);
        out[name] = us(p.value);
        if (percent < 100) out[std::string(name) + "_95"] = {us(p.low), us(p.high)};
    }
    return out;
}

ordered_json report(const sim::Configuration& configuration, const Row& row) {
    ordered_json out;
    out["configuration"] = ordered_json::object();
    for (const auto& [path, value] : configuration.swept) out["configuration"][path] = value;
    out["samples"] = row.latency.size();
    out["latency_us"] = latencies(row.latency);
    out["preemptions"] = row.displacing.size();
    out["preemption_latency_us"] = latencies(row.displacing);
    out["ready_latency_us"] = latencies(row.ready);
    out["displacements"] = row.result.displacements;
    out["wasted"] = row.result.wasted;
    out["rotations"] = row.result.rotations;
    out["deadlocked"] = row.result.deadlocked;
    out["best_effort_retained"] = row.result.best_effort_retained();
    out["simulated_ms"] = us(row.result.duration_ns) / 1000;
    out["bytes_saved"] = row.result.bytes_saved;
    for (const sim::ClientResult& client : row.result.clients) {
        out["clients"].push_back({{"name", client.name}, {"kernels", client.kernels}, {"longest_off_us", us(client.longest_off_ns)}});
    }
    out["trace_hash"] = fmt::format("{:016x}", trace_hash(row.result));
    return out;
}

void print(const sim::Configuration& configuration, const Row& row) {
    std::string name;
    for (const auto& [path, value] : configuration.swept) name += fmt::format("{}{}={}", name.empty() ? "" : " ", path, value);
    if (row.result.deadlocked) name += fmt::format("{}deadlocked", name.empty() ? "" : "  ");
    if (row.result.wasted != 0) name += fmt::format("{}{} pre-emptions wasted", name.empty() ? "" : "  ", row.result.wasted);
    const auto at = [&](double percent) { return us(sim::percentile(row.displacing, percent).value); };
    fmt::print("{:>9} {:>10.1f} {:>10.1f} {:>10.1f} {:>8.3f}  {}\n", row.displacing.size(), at(50), at(99), at(100),
               row.result.best_effort_retained(), name);
}

int sim_main(const Options& options) {
    std::ifstream file(options.spec, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (!file) throw UserError(fmt::format("cannot read '{}'", options.spec));
    std::vector<sim::Configuration> configurations;
    try {
        configurations = sim::read_spec(text, options.spec);
    } catch (const sim::SpecError& error) {
        throw UserError(error.what());
    }
    if (!options.json) fmt::print("{:>9} {:>10} {:>10} {:>10} {:>8}\n", "preempted", "p50 us", "p99 us", "max us", "retained");
    for (sim::Configuration& configuration : configurations) {
        if (options.samples != 0) configuration.experiment.samples = options.samples;
        if (options.seed != 0) configuration.experiment.seed = options.seed;
        Row row;
        try {
            row = run(configuration.experiment);
        } catch (const std::invalid_argument& error) {
            throw UserError(fmt::format("{}: {}", options.spec, error.what()));
        }
        if (options.json) {
            fmt::print("{}\n", report(configuration, row).dump());
        } else {
            print(configuration, row);
        }
        if (interrupted) throw Interrupted();
    }
    return kOk;
}

}  // namespace

std::function<int()> set_up_sim(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("SPEC", options->spec, "experiment, a TOML file as in examples/measure")->required();
    app.add_option("--samples", options->samples, "kernels of latency-critical clients in each configuration, in place of the file's")
        ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}));
    app.add_option("--seed", options->seed, "seed of everything random, in place of the file's")->check(CLI::PositiveNumber);
    app.add_flag("--json", options->json, "one JSON object a line for each configuration");
    app.footer("Times are modelled: those of the hardware by docs/design/timing.md, those of the driver by [driver], which no guest has measured yet.");
    return [options] { return sim_main(*options); };
}

}  // namespace lyra::cli
