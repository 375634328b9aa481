// SPDX-License-Identifier: MIT
// lyra sim: experiments with queues of several priorities on the simulator.
#include <algorithm>
#include <optional>

#include "qemu-hw/include/lyra.h"
#include "scheduler/sim/metrics.h"
#include "scheduler/sim/spec.h"
#include "tools/lyra/cli.h"
#include "tools/lyra/results.h"
#include "tools/lyra/sweep_jobs.h"
#include "tools/lyra/work_dir.h"

namespace lyra::cli {

namespace {

struct Options {
    std::string spec, results, job;
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
        for (const uint64_t at :
             {s.t0_doorbell, s.t2_detected, s.t3_requested, s.t4_dequeue, s.t5_saved, s.t6_fence, s.t8_first_wave, s.t9_done})
            mix(at);
    }
    return hash;
}

results::Configuration run(const sim::Configuration& configuration) {
    const sim::Result result = sim::simulate(configuration.experiment);
    std::vector<uint64_t> latency, displacing, ready;
    results::StageSums stages;
    for (const sim::Sample& s : result.samples) {
        latency.push_back(s.t8_first_wave - s.t0_doorbell);
        ready.push_back(s.t8_first_wave - s.ready);
        if (!s.displaced) continue;
        displacing.push_back(latency.back());
        // The simulator's doorbell costs the client nothing: t1 is t0.
        stages.add({s.t0_doorbell, s.t0_doorbell, s.t2_detected, s.t3_requested, s.t4_dequeue, s.t5_saved, s.t6_fence,
                    s.t7_mapped, s.t8_first_wave});
    }
    std::sort(latency.begin(), latency.end());
    std::sort(displacing.begin(), displacing.end());
    std::sort(ready.begin(), ready.end());
    results::Configuration out;
    out.swept = configuration.swept;
    out.seed = configuration.experiment.seed;
    out.samples = latency.size();
    out.preemptions = displacing.size();
    out.latency = results::describe(latency);
    out.preemption_latency = results::describe(displacing);
    out.stages = stages.means();
    out.best_effort_retained = result.best_effort_retained();
    out.simulated_ms = us(result.duration_ns) / 1000;
    out.bytes_saved = result.bytes_saved;
    out.waits = {results::describe(ready), result.displacements, result.wasted, result.rotations};
    out.deadlocked = result.deadlocked;
    for (const sim::ClientResult& client : result.clients)
        out.clients.push_back({client.name, client.kernels, us(client.longest_off_ns)});
    out.trace_hash = fmt::format("{:016x}", trace_hash(result));
    return out;
}

results::Manifest manifest(const Options& options, const std::string& text, const sim::Experiment& experiment) {
    results::Manifest out{
        lyra_version(),  "sim", std::filesystem::path(options.spec).stem().string(), text, results::hash_text(text),
        experiment.seed, {}};
    if (options.seed != 0) out.seed = options.seed;
#define TIMING(name, ...) out.timing.emplace_back(#name, experiment.timing.name);
#include "common/timing.def"
#undef TIMING
    return out;
}

void print(const results::Configuration& row) {
    std::string name;
    for (const auto& [path, value] : row.swept) name += fmt::format("{}{}={}", name.empty() ? "" : " ", path, value);
    if (*row.deadlocked) name += fmt::format("{}deadlocked", name.empty() ? "" : "  ");
    if (row.waits->wasted != 0) name += fmt::format("{}{} pre-emptions wasted", name.empty() ? "" : "  ", row.waits->wasted);
    const results::Latency& latency = row.preemption_latency;
    fmt::print("{:>9} {:>10.1f} {:>10.1f} {:>10.1f} {:>8.3f}  {}\n", row.preemptions, latency.p50.value, latency.p99.value,
               latency.max, row.best_effort_retained, name);
}

/// Leaves the configuration of a sweep's job, with the job's seed.
void choose_job(const Options& options, const std::string& text, std::vector<sim::Configuration>& configurations) {
    for (sim::Configuration& each : configurations) {
        if (sweep::job_id(lyra_version(), "sim", results::hash_text(text), each.swept) != options.job) continue;
        each.experiment.seed = sweep::job_seed(options.job);
        sim::Configuration chosen = std::move(each);
        configurations.clear();
        configurations.push_back(std::move(chosen));
        return;
    }
    throw UserError(fmt::format("no configuration of '{}' is job {}: the file, or lyra, is not what the sweep was planned with",
                                options.spec, options.job));
}

int sim_main(const Options& options) {
    const std::string text = read_input(options.spec);
    std::vector<sim::Configuration> configurations;
    std::optional<results::AtomicFile> out;
    const bool to_stdout = options.results == "-", table = !options.json && !to_stdout;
    const auto write = [&](const std::string& line) {
        if (out) out->write(line);
        if (to_stdout) fmt::print("{}", line);
    };
    try {
        configurations = sim::read_spec(text, options.spec);
        if (!options.results.empty() && !to_stdout) {
            catch_signals();  // the unfinished file is removed
            out.emplace(options.results);
        }
        if (!options.results.empty()) write(results::to_line(manifest(options, text, configurations.front().experiment)));
        if (!options.job.empty()) choose_job(options, text, configurations);
        if (table) fmt::print("{:>9} {:>10} {:>10} {:>10} {:>8}\n", "preempted", "p50 us", "p99 us", "max us", "retained");
        for (sim::Configuration& configuration : configurations) {
            if (options.samples != 0) configuration.experiment.samples = options.samples;
            if (options.seed != 0) configuration.experiment.seed = options.seed;
            const results::Configuration row = run(configuration);
            if (options.json) fmt::print("{}", results::to_line(row, false));
            if (table) print(row);
            if (!options.results.empty()) write(results::to_line(row));
            if (interrupted) throw Interrupted();
        }
        if (out) out->commit();
    } catch (const sim::SpecError& error) {
        throw UserError(error.what());
    } catch (const results::Error& error) {
        throw UserError(error.what());
    } catch (const std::invalid_argument& error) {
        throw UserError(fmt::format("{}: {}", options.spec, error.what()));
    }
    return kOk;
}

}  // namespace

std::function<int()> set_up_sim(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("SPEC", options->spec, "experiment, a TOML file as in examples/measure")->required()->type_name("FILE.toml");
    app.add_option("--samples", options->samples,
                   "kernels of latency-critical clients in each configuration, in place of the file's")
        ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}));
    app.add_option("--seed", options->seed, "seed of everything random, in place of the file's")->check(CLI::PositiveNumber);
    app.add_flag("--json", options->json, "one JSON object a line for each configuration");
    app.add_option("--results", options->results,
                   "write results there, for lyra report (docs/user/results.md); - is standard output")
        ->type_name("FILE.jsonl");
    app.add_option("--job", options->job, "only the configuration that is this job of lyra sweep plan, with the job's seed")
        ->type_name("ID")
        ->excludes("--seed")
        ->excludes("--samples");
    app.footer(
        "Times are modelled: those of the hardware by docs/design/timing.md, those of the driver by [driver], which no guest "
        "has measured "
        "yet.");
    return [options] { return sim_main(*options); };
}

}  // namespace lyra::cli
