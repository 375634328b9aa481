// SPDX-License-Identifier: MIT
// lyra measure: experiments with queues of several priorities in the guest, under virtual time, through the patched driver.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>

#include <nlohmann/json.hpp>

#include "qemu-hw/include/lyra.h"
#include "scheduler/sim/spec.h"
#include "tools/lyra/cli.h"
#include "tools/lyra/guest_machine.h"
#include "tools/lyra/hip_program.h"
#include "tools/lyra/results.h"
#include "tools/lyra/timeline.h"

namespace lyra::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr uint64_t kWarmUp = 5;  ///< kernels of each client before the experiment
/// What a wave of tools/measure/client.hip has to save: 24 VGPRs, its SGPRs and hardware registers.
constexpr uint64_t kWaveBytes = 24 * 256 + 512 + 128;
constexpr unsigned kMostWaves = 40;       ///< of a compute unit
/// The GPU of an experiment. The guest's has [guest] cus of them, with as much of the bandwidth and of the context.
constexpr unsigned kCus = 64;
constexpr unsigned kMostGroupWaves = 16;  ///< of a work-group
constexpr unsigned kHighPriority = 11, kLowPriority = 6;  ///< KFD's, as ROCr maps HIP's three priorities to them

struct Options {
    GuestOptions guest;
    std::string spec, keep, results;
    uint64_t samples = 0, seed = 0;
    bool json = false;
};

double us(uint64_t ns) { return static_cast<double>(ns) / 1000; }

/// What the simulator can and clients in the guest cannot yet.
void check(const sim::Experiment& e) {
    const auto refuse = [](const std::string& what) { throw UserError(what + ": only lyra sim can do that so far"); };
    if (e.unmap != sim::Unmap::All && e.unmap != sim::Unmap::Queue) refuse("action.unmap = \"process\" and \"static\"");
    for (const sim::ClientClass& c : e.clients) {
        if (c.arrival != sim::Arrival::Closed && c.arrival != sim::Arrival::Uniform && c.arrival != sim::Arrival::Poisson)
            refuse(fmt::format("client.{}.arrival other than closed, uniform and poisson", c.name));
        if (!c.waits_for.empty()) refuse(fmt::format("client.{}.waits_for", c.name));
        if (!c.process.empty()) refuse(fmt::format("client.{}.process", c.name));
        if (c.room != 1) refuse(fmt::format("client.{}.room", c.name));
    }
    if (std::none_of(e.clients.begin(), e.clients.end(), [](const sim::ClientClass& c) { return c.latency_critical; }))
        throw UserError("no client is latency_critical: there would be no samples");
}

/// A driver's setting, as a line of the job.
std::string setting(const char* name, const std::string& value) { return fmt::format("echo {} >$dir/{}\n", value, name); }
std::string setting_us(const char* name, uint64_t ns) { return setting(name, std::to_string(ns / 1000)); }

std::string settings(const sim::Experiment& e) {
    std::string out;
    switch (e.detection) {
        case sim::Detection::Poll: out += setting("detection", "poll"); break;
        case sim::Detection::Adaptive: out += setting("detection", "adaptive"); break;
        case sim::Detection::Notify: out += setting("detection", "notify"); break;
    }
    out += setting("unmap", e.unmap == sim::Unmap::All ? "all" : "queue");
    out += setting_us("period_us", e.period_ns) + setting_us("idle_period_us", e.idle_period_ns);
    if (e.policy.quantum_ns != 0) out += setting_us("quantum_us", e.policy.quantum_ns);
    out += setting_us("min_run_us", e.policy.min_run_ns) + setting_us("hysteresis_us", e.policy.hysteresis_ns);
    out += setting_us("starvation_us", e.policy.starvation_ns) + setting_us("turn_us", e.policy.turn_ns);
    out += setting_us("ageing_us", e.policy.ageing_ns) + setting("inherit", e.policy.inherit ? "1" : "0");
    out += setting("runnable_test", e.runnable_test ? "1" : "0");
    return out;
}

const char* priority_word(unsigned priority) {
    return priority >= kHighPriority ? "high" : priority <= kLowPriority ? "low" : "normal";
}

/// The shape of a client's grid: work-groups and waves in each.
struct Shape {
    unsigned groups = 1, waves = 1;
};
Shape shape_of(const sim::ClientClass& client, unsigned cus) {
    if (client.latency_critical) return {};
    const double wanted = client.context_bytes == 0 ? kMostWaves : static_cast<double>(client.context_bytes) / kCus / kWaveBytes;
    const unsigned per_cu = static_cast<unsigned>(std::clamp(std::round(wanted), 1.0, static_cast<double>(kMostWaves)));
    const unsigned groups = (per_cu + kMostGroupWaves - 1) / kMostGroupWaves;
    return {groups * cus, per_cu / groups};
}

std::string client_line(const sim::Experiment& e, const sim::ClientClass& client, unsigned number) {
    const char* arrival = client.arrival == sim::Arrival::Closed ? "closed" : client.arrival == sim::Arrival::Uniform ? "uniform" : "poisson";
    const Shape shape = shape_of(client, e.cus);
    std::string line = fmt::format("./client name={} priority={} arrival={} rate_hz={} kernel_us={} clock_mhz={} groups={} waves={} warm_up={} seed={} "
                                   "ready=ready.{} start=start stop=stop",
                                   shell_quote(client.name), priority_word(client.queue.priority), arrival,
                                   client.rate_hz, us(client.kernel_ns), e.timing.shader_clock_mhz, shape.groups, shape.waves, kWarmUp, e.seed + number, number);
    if (client.latency_critical) line += fmt::format(" whole_lds=1 samples={}", e.samples);
    return line + fmt::format(" >out.{0} 2>err.{0}", number);
}

/// Latency-critical clients warm up first, so that the others' kernels before the experiment are undisturbed.
std::string job_script(const sim::Experiment& e) {
    std::string script = "#!/bin/bash\ndir=$(echo /sys/class/drm/card*/device/kfd_sched)\n"
                         "if ! [ -d \"$dir\" ]; then echo 'the driver has no scheduler' >&2; exit 70; fi\n"
                         "wait_for() { while ! [ -e $1 ]; do kill -0 $2 2>/dev/null || exit 71; sleep 0.01; done; }\n";
    unsigned number = 0;
    std::string waits;
    for (const bool critical : {true, false}) {
        for (const sim::ClientClass& client : e.clients) {
            if (client.latency_critical != critical) continue;
            for (unsigned n = 0; n < client.count; ++n, ++number) {
                script += client_line(e, client, number) + fmt::format(" &\npids=\"$pids $!\"\nwait_for ready.{} $!\n", number);
            }
        }
    }
    script += settings(e) + setting("policy", qsched_policy_name(e.policy.policy));
    script += "touch start\nstatus=0\nfor pid in $pids; do wait $pid || status=$?; done\n";
    script += "echo none >$dir/policy\ncat err.* >&2\ncat out.*\nmount -t debugfs debugfs /sys/kernel/debug\n"
              "sed 's/^/sched: /' /sys/kernel/debug/kfd/sched >&2\nexit $status\n";
    return script;
}

struct Measured {
    Timeline timeline;
    uint64_t lost_work = 0, hash = 0, virtual_ns = 0;
    std::vector<std::pair<std::string, uint64_t>> clients;  ///< kernels done
};

void read_client_lines(const std::string& out, Measured& measured) {
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
        const ordered_json client = ordered_json::parse(line, nullptr, false);
        if (client.is_discarded() || !client.contains("lost_work")) throw EnvironmentError("a client said something else than its results: " + line);
        measured.lost_work += client["lost_work"].get<uint64_t>();
        measured.clients.emplace_back(client["client"].get<std::string>(), client["kernels"].get<uint64_t>());
    }
}

Measured measure(const Options& options, const sim::Experiment& e, const fs::path& client) {
    WorkDir work;
    GuestOptions guest_options = options.guest;
    guest_options.deterministic = true;
    if (guest_options.kfd.empty()) guest_options.kfd = "lyra";
    guest_options.seed = e.seed;
    guest_options.cus = e.cus;
    guest_options.trace = (options.keep.empty() ? work.path() / "trace.tsv" : fs::path(options.keep)).string();
    const Timing defaults;
    Timing timing = e.timing;
    timing.vram_mb_per_s = std::max<uint64_t>(1, timing.vram_mb_per_s * e.cus / kCus);
    timing.system_mb_per_s = std::max<uint64_t>(1, timing.system_mb_per_s * e.cus / kCus);
#define TIMING(name, ...) \
    if (timing.name != defaults.name) guest_options.timing.push_back(fmt::format(#name "={}", timing.name));
#include "common/timing.def"
#undef TIMING
    GuestMachine guest(guest_options);
    guest.prepare();
    GuestJob job;
    job.files.emplace_back("client", client);
    job.run = job_script(e);
    std::string out, err;
    const auto keep_in = [](std::string& text) { return [&text](const char* data, size_t n) { text.append(data, n); }; };
    const GuestResult result = guest.run(job, keep_in(out), keep_in(err));
    if (result.end != GuestResult::End::Finished || result.status > 1 || !result.trace) {
        fmt::print(stderr, "{}", err);
        const int code = report(result, guest_options);
        if (code == kInterrupted) throw Interrupted();
        throw EnvironmentError(fmt::format("the experiment did not end well (status {})", result.status));
    }
    Measured measured;
    measured.hash = result.trace->hash;
    measured.virtual_ns = result.trace->virtual_ns;
    read_client_lines(out, measured);
    std::ifstream trace(guest_options.trace);
    try {
        measured.timeline = read_timeline(trace, {kWarmUp});
    } catch (const std::runtime_error& error) {
        throw EnvironmentError(error.what());
    }
    return measured;
}

results::Configuration describe(const sim::Configuration& configuration, const Measured& m) {
    std::vector<uint64_t> latency, displacing;
    results::StageSums stages;
    for (const sim::Sample& s : m.timeline.samples) {
        latency.push_back(s.t8_first_wave - s.t0_doorbell);
        if (!s.displaced) continue;
        displacing.push_back(latency.back());
        stages.add({s.t0_doorbell, s.t0_doorbell, s.t2_detected, s.t3_requested, s.t4_dequeue, s.t5_saved, s.t6_fence, 0, s.t8_first_wave});
    }
    std::sort(latency.begin(), latency.end());
    std::sort(displacing.begin(), displacing.end());
    results::Configuration out;
    out.swept = configuration.swept;
    out.seed = configuration.experiment.seed;
    out.samples = latency.size();
    out.preemptions = displacing.size();
    out.latency = results::describe(latency);
    out.preemption_latency = results::describe(displacing);
    out.stages = stages.means();
    out.best_effort_retained = std::min(m.timeline.retained(), 1.0);
    out.simulated_ms = us(m.virtual_ns) / 1000;
    out.lost_work = m.lost_work;
    for (const auto& [name, kernels] : m.clients) out.clients.push_back({name, kernels, {}});
    out.trace_hash = fmt::format("{:016x}", m.hash);
    return out;
}

results::Manifest manifest(const Options& options, const std::string& text, const sim::Experiment& experiment) {
    results::Manifest out{lyra_version(), "measure", fs::path(options.spec).stem().string(), text, results::hash_text(text), experiment.seed, {}};
    if (options.seed != 0) out.seed = options.seed;
#define TIMING(name, ...) out.timing.emplace_back(#name, experiment.timing.name);
#include "common/timing.def"
#undef TIMING
    return out;
}

void print(const results::Configuration& row) {
    std::string name;
    for (const auto& [path, value] : row.swept) name += fmt::format("{}{}={}", name.empty() ? "" : " ", path, value);
    const results::Latency& latency = row.preemption_latency;
    fmt::print("{:>9} {:>10.1f} {:>10.1f} {:>10.1f} {:>8.3f} {:>5}  {}\n", row.preemptions, latency.p50.value, latency.p99.value, latency.max,
               row.best_effort_retained, *row.lost_work, name);
}

int measure_main(Options& options) {
    catch_signals();
    std::ifstream file(options.spec, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (!file) throw UserError(fmt::format("cannot read '{}'", options.spec));
    std::vector<sim::Configuration> configurations;
    try {
        configurations = sim::read_spec(text, options.spec);
    } catch (const sim::SpecError& error) {
        throw UserError(error.what());
    }
    for (const sim::Configuration& configuration : configurations) check(configuration.experiment);
    WorkDir work;
    compile_hip(source_dir() / "tools/measure/client.hip", work.path() / "client", {"-O2"});
    std::optional<results::AtomicFile> file_of_results;
    bool lost = false;
    try {
        if (!options.results.empty()) {
            file_of_results.emplace(options.results);
            file_of_results->write(results::to_line(manifest(options, text, configurations.front().experiment)));
        }
        if (!options.json) fmt::print("{:>9} {:>10} {:>10} {:>10} {:>8} {:>5}\n", "preempted", "p50 us", "p99 us", "max us", "retained", "lost");
        for (sim::Configuration& configuration : configurations) {
            sim::Experiment& e = configuration.experiment;
            if (options.samples != 0) e.samples = options.samples;
            if (options.seed != 0) e.seed = options.seed;
            const results::Configuration row = describe(configuration, measure(options, e, work.path() / "client"));
            lost |= *row.lost_work != 0;
            if (options.json) fmt::print("{}", results::to_line(row, false));
            else print(row);
            if (file_of_results) file_of_results->write(results::to_line(row));
            std::fflush(stdout);
            if (interrupted) throw Interrupted();
        }
        if (file_of_results) file_of_results->commit();
    } catch (const results::Error& error) {
        throw UserError(error.what());
    }
    return lost ? kFailed : kOk;
}

}  // namespace

std::function<int()> set_up_measure(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("SPEC", options->spec, "experiment, a TOML file as in examples/measure")->required();
    app.add_option("--samples", options->samples, "kernels of each latency-critical client, in place of the file's")
        ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}));
    app.add_option("--seed", options->seed, "seed of everything random, in place of the file's")->check(CLI::PositiveNumber);
    app.add_option("--kfd", options->guest.kfd, "the driver: lyra (default), a kernel tree with changes of your own, or a .ko file")->type_name("lyra|DIR|FILE.ko");
    app.add_option("--timeout", options->guest.timeout_s, "give a configuration up after so many seconds")->check(CLI::NonNegativeNumber)->type_name("S");
    app.add_option("--log", options->guest.log, "write the boot log there")->type_name("FILE");
    app.add_option("--keep-trace", options->keep, "keep the device's events of the last configuration")->type_name("FILE.tsv");
    app.add_flag("--json", options->json, "one JSON object a line for each configuration");
    app.add_option("--results", options->results, "write results there, for lyra report (docs/user/results.md)")->type_name("FILE.jsonl");
    app.footer("Times are modelled: those of the GPU by docs/design/timing.md, those of the driver by its instructions, each 1 ns.");
    return [options] { return measure_main(*options); };
}

}  // namespace lyra::cli
