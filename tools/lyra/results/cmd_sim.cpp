// SPDX-License-Identifier: MIT
// lyra sim: experiments with queues of several priorities on the simulator.
#include <algorithm>
#include <optional>

#include "qemu-hw/include/lyra.h"
#include "scheduler/sim/spec.h"
#include "tools/lyra/cli/cli.h"
#include "tools/lyra/cli/work_dir.h"
#include "tools/lyra/results/results.h"
#include "tools/lyra/results/summary.h"
#include "tools/lyra/results/sweep_jobs.h"
#include "tools/lyra/results/validation.h"

namespace lyra::cli {

namespace {

struct Options {
    std::string spec, results, job, against, fit;
    uint64_t samples = 0, seed = 0;
    unsigned seeds = 0;
    bool json = false, sensitivity = false;
};

double us(uint64_t ns) { return static_cast<double>(ns) / 1000; }

/// FNV-1a of every time stamp: equal for equal runs.
class TraceHash {
public:
    void mix(const sim::Result& result) {
        for (const sim::Sample& s : result.samples) {
            for (const uint64_t at : {s.t0_doorbell, s.t2_detected, s.t3_requested, s.t4_dequeue, s.t5_saved, s.t6_fence,
                                      s.t8_first_wave, s.t9_done})
                for (unsigned n = 0; n < 8; ++n) hash_ = (hash_ ^ (at >> 8 * n & 0xff)) * 0x100000001b3;
        }
    }
    std::string text() const { return fmt::format("{:016x}", hash_); }

private:
    uint64_t hash_ = 0xcbf29ce484222325;
};

/// Throughputs are in kernels' time for time.
results::SeedRun describe(const sim::Experiment& experiment, const sim::Result& result) {
    results::SeedRun out;
    out.samples = result.samples;
    out.duration_ns = result.duration_ns;
    const auto part = [](uint64_t what, uint64_t of) {
        return of == 0 ? 0 : static_cast<double>(what) / static_cast<double>(of);
    };
    for (unsigned n = 0; n < result.clients.size(); ++n) {
        const sim::ClientResult& client = result.clients[n];
        sim::Progress progress;
        progress.queues = experiment.clients[n].count;
        progress.throughput = part(client.work_ns, result.duration_ns);
        progress.turnaround_ns = part(client.turnaround_ns, client.kernels);
        if (const std::optional<sim::Result> alone = sim::simulate_alone(experiment, n, result.duration_ns)) {
            progress.alone_throughput = part(alone->clients[0].work_ns, alone->duration_ns);
            progress.alone_turnaround_ns = part(alone->clients[0].turnaround_ns, alone->clients[0].kernels);
        }
        out.clients.push_back({client.name, client.latency_critical, client.kernels, progress, us(client.longest_off_ns)});
    }
    return out;
}

results::Configuration run(const sim::Configuration& configuration, bool sensitivity) {
    std::vector<results::SeedRun> runs;
    std::vector<std::vector<uint64_t>> ready;
    TraceHash hash;
    results::Waits waits;
    uint64_t bytes_saved = 0;
    bool deadlocked = false;
    for (unsigned n = 0; n < configuration.experiment.seeds; ++n) {
        sim::Experiment experiment = configuration.experiment;
        experiment.seed += n;
        const sim::Result result = sim::simulate(experiment);
        ready.emplace_back();
        for (const sim::Sample& s : result.samples) ready.back().push_back(s.t8_first_wave - s.ready);
        hash.mix(result);
        bytes_saved += result.bytes_saved;
        waits.displacements += result.displacements;
        waits.wasted += result.wasted;
        waits.rotations += result.rotations;
        deadlocked = deadlocked || result.deadlocked;
        runs.push_back(describe(experiment, result));
        if (interrupted) throw Interrupted();
    }
    results::Configuration out = results::summarise(runs);
    out.swept = configuration.swept;
    out.seed = configuration.experiment.seed;
    out.bytes_saved = bytes_saved;
    waits.ready_latency = results::describe(std::move(ready));
    out.waits = waits;
    out.deadlocked = deadlocked;
    out.trace_hash = hash.text();
    if (sensitivity) out.band = results::band_of(configuration.experiment);
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
    fmt::print("{}  {}\n", results::result_columns(row), name);
}

void print(const results::Band& band) {
    const auto p99 = [](const results::Quantiles& q) { return q.p99 ? fmt::format("{:.1f}", *q.p99) : "-"; };
    fmt::print("    arrival p50 {:.1f} us, with all uncertain times at their ends {:.1f} to {:.1f}; p99 {}, {} to {}\n",
               band.nominal.p50, band.least.p50, band.most.p50, p99(band.nominal), p99(band.least), p99(band.most));
    for (const results::SensitivityRow& row : band.rows)
        fmt::print("    {:<24} {:>8} to {:<8} p50 {:>9.1f} to {:<9.1f} p99 {:>9} to {}\n", row.name, row.low, row.high,
                   row.at_low.p50, row.at_high.p50, p99(row.at_low), p99(row.at_high));
}

/// The measurement with which the simulation is compared. @throws results::Error
results::RunResults measurement(const std::string& path) {
    std::vector<results::RunResults> runs = results::read(read_input(path), path);
    if (runs.size() != 1 || runs.front().manifest.source != "measure")
        throw UserError(fmt::format("{} has to be the results of one run of lyra measure", path));
    return std::move(runs.front());
}

std::string per_cent(std::optional<double> part) { return part ? fmt::format("{:+.1f} %", *part * 100) : "-"; }

/// How far the simulation is from the measurement. @return how many configurations keep the bounds
unsigned print_differences(const std::vector<results::Difference>& all) {
    const results::Bounds bounds;
    unsigned kept = 0;
    fmt::print("{:>9} {:>9} {:>8}  {:>9} {:>9} {:>8}  {:<16} {}\n", "p50 guest", "p50 sim", "off", "p99 guest", "p99 sim",
               "off", "worst part", "configuration");
    const auto time = [](std::optional<double> us) { return us ? fmt::format("{:.1f}", *us) : "-"; };
    for (const results::Difference& d : all) {
        const auto part = d.part_off();
        const bool keeps = bounds.keeps(d);
        kept += keeps;
        fmt::print("{:>9.1f} {:>9.1f} {:>8}  {:>9} {:>9} {:>8}  {:<16} {}{}\n", d.measured_p50, d.p50, per_cent(d.p50_off()),
                   time(d.measured_p99), time(d.p99), per_cent(d.p99_off()),
                   part ? fmt::format("{} {}", results::kParts[part->first], per_cent(part->second)) : "-", d.name,
                   keeps ? "" : "  beyond");
    }
    fmt::print("{} of {} configurations: p50 within {:.0f} %, p99 within {:.0f} %, every part within {:.0f} % of p50\n", kept,
               all.size(), bounds.p50 * 100, bounds.p99 * 100, bounds.part * 100);
    return kept;
}

int compare(const std::vector<sim::Configuration>& configurations, const results::RunResults& measured) {
    std::vector<results::Difference> all;
    for (const sim::Configuration& each : configurations) {
        if (auto d = results::difference(results::simulated(each), measured)) all.push_back(std::move(*d));
    }
    if (all.empty()) throw UserError("no configuration with pre-emptions is in both");
    return print_differences(all) == configurations.size() ? kOk : kFailed;
}

int print_fit(std::vector<sim::Configuration>& configurations, const results::RunResults& measured) {
    const double sum = results::fit(configurations, measured);
    fmt::print("# sum of the squares of the differences, in units of their bounds: {:.1f}\n", sum);
    sim::Experiment& fitted = configurations.front().experiment;
    for (const results::GuestTime& time : results::guest_times(fitted)) fmt::print("{} = {}\n", time.key, us(time.of(fitted)));
    return kOk;
}

void set_runs(const Options& options, std::vector<sim::Configuration>& configurations) {
    for (sim::Configuration& configuration : configurations) {
        if (options.samples != 0) configuration.experiment.samples = options.samples;
        if (options.seed != 0) configuration.experiment.seed = options.seed;
        if (options.seeds != 0) configuration.experiment.seeds = options.seeds;
    }
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
        if (!options.job.empty()) {
            sweep::leave_job(configurations, options.job, options.spec, [&](const sim::Configuration& each) {
                return sweep::job_id(lyra_version(), "sim", results::hash_text(text), each.swept);
            });
            configurations.front().experiment.seed = sweep::job_seed(options.job);
        }
        if (!options.against.empty() || !options.fit.empty()) {
            set_runs(options, configurations);
            return options.fit.empty() ? compare(configurations, measurement(options.against))
                                       : print_fit(configurations, measurement(options.fit));
        }
        if (table) fmt::print("{}\n", results::result_heads());
        set_runs(options, configurations);
        for (const sim::Configuration& configuration : configurations) {
            const results::Configuration row = run(configuration, options.sensitivity);
            if (options.json) fmt::print("{}", results::to_line(row, false));
            if (table) print(row);
            if (table && row.band) print(*row.band);
            if (!options.results.empty()) write(results::to_line(row));
            if (interrupted) throw Interrupted();
        }
        if (out) out->commit();
    } catch (const sim::SpecError& error) {
        throw UserError(error.what());
    } catch (const results::Error& error) {
        throw UserError(error.what());
    } catch (const sweep::Error& error) {
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
    app.add_option("--seeds", options->seeds, "runs of each configuration, with this seed and the following ones")
        ->check(CLI::Range(1, 1000));
    app.add_flag("--json", options->json, "one JSON object a line for each configuration");
    app.add_flag("--sensitivity", options->sensitivity,
                 "also vary each uncertain time over the range where it may lie (docs/design/timing.md)");
    app.add_option("--results", options->results,
                   "write results there, for lyra report (docs/user/results.md); - is standard output")
        ->type_name("FILE.jsonl");
    app.add_option("--job", options->job, "only the configuration that is this job of lyra sweep plan, with the job's seed")
        ->type_name("ID")
        ->excludes("--seed")
        ->excludes("--samples");
    app.add_option("--against", options->against,
                   "compare with what lyra measure gave for the same file; exit status 1 when p50 is off by more than 5 %, p99 "
                   "by more than 10 %, or one of its parts by more than 5 % of p50")
        ->type_name("FILE.jsonl");
    app.add_option("--fit", options->fit,
                   "find the times of [driver] and the clients' turnaround that come closest to what lyra measure gave")
        ->type_name("FILE.jsonl")
        ->excludes("--against");
    app.footer(
        "Times are modelled: those of the hardware by docs/design/timing.md, those of the driver by [driver], which --fit "
        "takes from a guest.");
    return [options] { return sim_main(*options); };
}

}  // namespace lyra::cli
