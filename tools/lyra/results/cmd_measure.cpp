// SPDX-License-Identifier: MIT
// lyra measure: experiments with queues of several priorities in the guest, under virtual time, through the patched driver.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/trace_perfetto.h"
#include "common/trace_text.h"
#include "qemu-hw/include/lyra.h"
#include "scheduler/sim/spec.h"
#include "tools/lyra/cli/cli.h"
#include "tools/lyra/guest/hip_program.h"
#include "tools/lyra/guest/machine.h"
#include "tools/lyra/results/measure_job.h"
#include "tools/lyra/results/results.h"
#include "tools/lyra/results/summary.h"
#include "tools/lyra/results/sweep_jobs.h"
#include "tools/lyra/results/timeline.h"

namespace lyra::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct Options {
    GuestOptions guest;
    std::string spec, keep, trace, results, job;
    uint64_t samples = 0;
    std::optional<uint64_t> seed;  // 0 is one, too
    unsigned seeds = 0, parallel = 0;
    bool json = false;
};

double us(uint64_t ns) { return static_cast<double>(ns) / 1000; }

/// Of one configuration with one seed.
struct Measured {
    Timeline timeline;
    uint64_t lost_work = 0, hash = 0;
    bool stuck = false;
    struct Client {
        std::string name;
        uint64_t kernels = 0;         ///< done
        std::vector<double> late_us;  ///< of each sample: from its intended arrival until it was launched
    };
    std::map<uint64_t, Client> clients;  ///< by id: the order in which they warm up
};

void read_clients_lines(const std::string& out, Measured& m) {
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
        const auto wrong = [&] { return EnvironmentError("a client said something else than its results: " + line); };
        if (line == "stuck") {
            m.stuck = true;
            continue;
        }
        const ordered_json client = ordered_json::parse(line, nullptr, false);
        const auto number = [&](const char* key) { return client.contains(key) && client[key].is_number_unsigned(); };
        if (!client.is_object() || !number("lost_work") || !number("kernels") || !number("id") || !client.contains("client") ||
            !client["client"].is_string() || !client.contains("late_us") || !client["late_us"].is_array())
            throw wrong();
        std::vector<double> late;
        for (const ordered_json& each : client["late_us"]) {
            if (!each.is_number()) throw wrong();
            late.push_back(each.get<double>());
        }
        m.lost_work += client["lost_work"].get<uint64_t>();
        m.clients[client["id"].get<uint64_t>()] = {client["client"].get<std::string>(), client["kernels"].get<uint64_t>(),
                                                   std::move(late)};
    }
}

/// How far it is, on a terminal.
class Progress {
public:
    Progress(size_t of, bool wanted) : of_(of), wanted_(wanted && isatty(STDERR_FILENO) != 0) {}
    void tell() {
        const std::lock_guard lock(lock_);
        if (wanted_) print();
    }
    void done_with_one() {
        const std::lock_guard lock(lock_);
        ++done_;
        if (wanted_) print();
    }

private:
    void print() const {
        const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
        fmt::print(stderr, "\r{} of {} configurations, {:.0f} s", done_, of_, s);
        if (done_ > 0)
            fmt::print(stderr, ", about {:.0f} s left", s / static_cast<double>(done_) * static_cast<double>(of_ - done_));
        fmt::print(stderr, "   ");
        if (done_ == of_) fmt::print(stderr, "\n");
        std::fflush(stderr);
    }

    std::mutex lock_;
    size_t of_, done_ = 0;
    bool wanted_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// What the device has recorded as text, and the driver's events.
void write_perfetto(const std::string& from, const std::vector<KernelEvent>& events, const std::string& to) {
    std::string error;
    {
        const std::unique_ptr<TraceSink> sink = open_perfetto_trace(to, error);
        if (!sink) throw UserError(error);
        std::ifstream file(from);
        read_text_trace(file, [&](const TraceRecord& record) { sink->record(record); });
    }
    if (!append_kernel_events(to, events, error)) throw UserError(error);
}

/// A client's clock and the device's have no common zero: an arrival is as long before the doorbell as the client says that it
/// was late. What passes from the doorbell until the launch returns, a few hundred instructions, is counted as lateness, too.
void place_arrivals(Measured& m) {
    std::map<unsigned, size_t> next;
    for (sim::Sample& s : m.timeline.samples) {
        const auto client = m.clients.find(s.client);
        const size_t n = next[s.client]++;
        if (client == m.clients.end() || n >= client->second.late_us.size())
            throw EnvironmentError("the device saw kernels that no client has told of");
        const double late_ns = std::max(0.0, client->second.late_us[n] * 1000);
        s.arrival = s.t0_doorbell - std::min(s.t0_doorbell, static_cast<uint64_t>(late_ns));
    }
}

/// GuestOptions::kfd of a run: with the scheduler, unless something else is asked for.
std::string driver_for(const GuestOptions& guest, const sim::Experiment& experiment) {
    if (!guest.kfd.empty() || !guest.kernel_tree.empty() || experiment.stock_driver) return guest.kfd;
    return "lyra";
}

/// @param number  of the run, from 0
/// @param last    of all runs: the one whose traces are kept
Measured measure(const Options& options, const sim::Experiment& experiment, size_t number, bool last, const fs::path& client) {
    WorkDir work;
    GuestOptions guest_options = options.guest;
    guest_options.deterministic = true;
    guest_options.kfd = driver_for(options.guest, experiment);
    if (!experiment.firmware.empty())
        guest_options.device_options.push_back(fmt::format("firmware={}", fmt::join(experiment.firmware, ",,")));
    guest_options.cus = experiment.cus;
    if (!options.trace.empty()) guest_options.kernel_events = {"amdkfd"};
    const Timing defaults;
    Timing timing = experiment.timing;
    timing.vram_mb_per_s = std::max<uint64_t>(1, timing.vram_mb_per_s * experiment.cus / kExperimentCus);
    timing.system_mb_per_s = std::max<uint64_t>(1, timing.system_mb_per_s * experiment.cus / kExperimentCus);
#define TIMING(name, ...) \
    if (timing.name != defaults.name) guest_options.timing.push_back(fmt::format(#name "={}", timing.name));
#include "common/timing.def"
#undef TIMING
    const MeasureJob wanted = measure_job(experiment, find_chip(guest_options.chip)->chip);
    GuestJob base, job;
    base.files.emplace_back("client", client);
    base.run = wanted.base;
    job.base = &base;
    for (const auto& [name, content] : wanted.files) {
        std::ofstream(work.path() / name) << content;
        job.files.emplace_back(name, work.path() / name);
    }
    job.run = wanted.run;
    const std::string trace = (work.path() / "trace.tsv").string();
    std::string record = options.guest.record;
    if (!record.empty() && number != 0) record += fmt::format(".{}", number + 1);
    GuestMachine unseeded(guest_options);
    unseeded.prepare();
    GuestMachine guest = unseeded.fork(experiment.seed, trace, record);
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
    read_clients_lines(out, measured);
    if (last && !options.trace.empty()) write_perfetto(trace, result.kernel_events, options.trace);
    if (last && !options.keep.empty()) fs::copy_file(trace, options.keep, fs::copy_options::overwrite_existing);
    std::ifstream events(trace);
    try {
        std::vector<TimelineQueue> expected;
        for (const Place& place : places_of(experiment))
            expected.push_back({experiment.clients[place.client].latency_critical, place.warm_up});
        measured.timeline = read_timeline(events, expected);
        measured.hash = result.trace->hash;
        place_arrivals(measured);
    } catch (const std::runtime_error& error) {
        throw EnvironmentError(error.what());
    }
    return measured;
}

/// Runs experiments side by side, each in a guest of its own. They are over in any order and taken in theirs.
class Runs {
public:
    using Run = std::function<Measured(size_t)>;
    Runs(size_t count, unsigned at_a_time, Run run) : run_(std::move(run)), measured_(count) {
        for (size_t n = 0; n < std::min<size_t>(count, at_a_time); ++n) threads_.emplace_back([this] { work(); });
    }
    ~Runs() {
        next_ = measured_.size();
        for (std::thread& thread : threads_) thread.join();
    }
    Runs(const Runs&) = delete;
    Runs& operator=(const Runs&) = delete;

    /// Waits for that run. @throws what a run has thrown
    Measured take(size_t number) {
        std::unique_lock lock(lock_);
        changed_.wait(lock, [&] { return measured_[number] || error_; });
        std::optional<Measured> out = std::exchange(measured_[number], std::nullopt);
        if (!out) std::rethrow_exception(error_);
        return std::move(*out);
    }

private:
    void work() {
        for (size_t n; (n = next_++) < measured_.size();) {
            try {
                Measured done = run_(n);
                const std::lock_guard lock(lock_);
                measured_[n] = std::move(done);
            } catch (...) {
                const std::lock_guard lock(lock_);
                if (!error_) error_ = std::current_exception();
                next_ = measured_.size();
            }
            changed_.notify_all();
        }
    }

    Run run_;
    std::mutex lock_;
    std::condition_variable changed_;
    std::vector<std::optional<Measured>> measured_;
    std::exception_ptr error_;
    std::atomic<size_t> next_{0};
    std::vector<std::thread> threads_;
};

/// Throughput of an open-loop client: the kernels that came, over the time in which they were done, and in which they would be
/// alone.
void add_open_loop(const std::vector<sim::Sample>& samples, unsigned client, sim::Progress& progress) {
    uint64_t first = ~uint64_t{0}, last_arrival = 0, last_done = 0, count = 0;
    for (const sim::Sample& s : samples) {
        if (s.client != client) continue;
        first = std::min(first, s.arrival);
        last_arrival = std::max(last_arrival, s.arrival);
        last_done = std::max(last_done, s.t9_done);
        ++count;
    }
    if (count == 0 || last_done <= first || !(progress.alone_turnaround_ns > 0)) return;
    progress.throughput = static_cast<double>(count) / static_cast<double>(last_done - first);
    progress.alone_throughput =
        static_cast<double>(count) / (static_cast<double>(last_arrival - first) + progress.alone_turnaround_ns);
}

results::MeasuredRun describe(const sim::Experiment& experiment, const Measured& m) {
    results::SeedRun out;
    out.samples = m.timeline.samples;
    out.duration_ns = m.timeline.duration_ns;
    const std::vector<Place> places = places_of(experiment);
    // The device has seen the clients' queues in the order of their warm-up, unless it saw others as well.
    const bool all = m.timeline.queues.size() == places.size() && m.clients.size() == places.size();
    if (!all || m.clients.rbegin()->first >= places.size())
        throw EnvironmentError(fmt::format("the device saw kernels of {} queues, {} clients ended, and there should be {}",
                                           m.timeline.queues.size(), m.clients.size(), places.size()));
    std::map<unsigned, std::pair<uint64_t, uint64_t>> turnaround;  // of samples: sum, count
    for (const sim::Sample& s : out.samples) {
        turnaround[s.client].first += s.t9_done - s.arrival;
        ++turnaround[s.client].second;
    }
    for (const auto& [id, client] : m.clients) {
        const QueueTimes& queue = m.timeline.queues[id];
        const sim::ClientClass& is = experiment.clients[places[id].client];
        sim::Progress progress{queue.rate.value_or(0), queue.rate ? queue.alone_rate : 0, queue.turnaround_ns,
                               queue.alone_turnaround_ns, 1};
        if (is.latency_critical) {
            const auto& [sum, count] = turnaround[static_cast<unsigned>(id)];
            progress.turnaround_ns = count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
            if (is.arrival != sim::Arrival::Closed) add_open_loop(out.samples, static_cast<unsigned>(id), progress);
        }
        out.clients.push_back({client.name, is.latency_critical, client.kernels, progress, us(queue.longest_off_ns)});
    }
    return {std::move(out), m.lost_work, m.stuck, fmt::format("{:016x}", m.hash)};
}

results::Manifest manifest(const Options& options, const std::string& text, const sim::Experiment& experiment) {
    results::Manifest out{lyra_version(),
                          "measure",
                          fs::path(options.spec).stem().string(),
                          text,
                          results::hash_text(text),
                          experiment.seed,
                          {},
                          options.guest.chip};
    out.seed = options.seed.value_or(out.seed);
#define TIMING(name, ...) out.timing.emplace_back(#name, experiment.timing.name);
#include "common/timing.def"
#undef TIMING
    return out;
}

void print(const results::Configuration& row) {
    std::string name;
    for (const auto& [path, value] : row.swept) name += fmt::format("{}{}={}", name.empty() ? "" : " ", path, value);
    if (row.deadlocked.value_or(false)) name += fmt::format("{}deadlocked", name.empty() ? "" : "  ");
    fmt::print("{} {:>5}  {}\n", results::result_columns(row), row.lost_work.value_or(0), name);
}

/// Leaves the run that is a sweep's job: one configuration with one seed.
void choose_job(const Options& options, const results::Manifest& head, std::vector<sim::Configuration>& configurations) try {
    sweep::leave_job(configurations, options.job, options.spec, [&](const sim::Configuration& each) {
        return sweep::job_id(head.lyra, head.source, head.spec_hash, each.swept,
                             sweep::RunKey{each.experiment.seed, each.experiment.samples, head.chip});
    });
    configurations.front().experiment.seeds = 1;
} catch (const sweep::Error& error) {
    throw UserError(error.what());
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
    const results::Manifest head = manifest(options, text, configurations.front().experiment);
    for (sim::Configuration& configuration : configurations) {
        check_measurable(configuration.experiment);
        if (options.samples != 0) configuration.experiment.samples = options.samples;
        configuration.experiment.seed = options.seed.value_or(configuration.experiment.seed);
        if (options.seeds != 0) configuration.experiment.seeds = options.seeds;
    }
    if (!options.job.empty()) choose_job(options, head, configurations);
    WorkDir work;
    compile_hip(source_dir() / "tools/measure/client.hip", work.path() / "client", {"-O2"}, options.guest);
    std::optional<results::AtomicFile> file_of_results;
    bool lost = false;
    try {
        if (!options.results.empty()) {
            file_of_results.emplace(options.results);
            file_of_results->write(results::to_line(head));
        }
        if (!options.json) fmt::print("{} {:>5}\n", results::result_heads(), "lost");
        std::vector<sim::Experiment> runs;  // of each configuration one for each seed
        std::vector<size_t> last;           // of each configuration the end of its runs
        for (const sim::Configuration& configuration : configurations) {
            for (unsigned n = 0; n < configuration.experiment.seeds; ++n) {
                runs.push_back(configuration.experiment);
                runs.back().seed += n;
            }
            last.push_back(runs.size());
        }
        Progress progress(runs.size(), !options.json);
        const unsigned at_a_time = options.parallel != 0 ? options.parallel : std::max(1u, std::thread::hardware_concurrency());
        Runs all(runs.size(), at_a_time, [&](size_t n) {
            Measured done = measure(options, runs[n], n, n + 1 == runs.size(), work.path() / "client");
            progress.done_with_one();
            return done;
        });
        progress.tell();
        for (size_t done = 0, n = 0; done < configurations.size(); ++done) {
            const sim::Configuration& configuration = configurations[done];
            std::vector<results::MeasuredRun> seeds;
            for (; n < last[done]; ++n) seeds.push_back(describe(configuration.experiment, all.take(n)));
            const std::string raw = options.job.empty()
                                        ? std::string()
                                        : results::to_line(results::RawRun{configuration.experiment.samples, seeds[0].run});
            const results::Configuration row = results::measured(configuration, std::move(seeds));
            lost |= row.lost_work.value_or(0) != 0;
            if (options.json)
                fmt::print("{}", results::to_line(row, false));
            else
                print(row);
            if (file_of_results) file_of_results->write(results::to_line(row) + raw);
            std::fflush(stdout);
        }
        if (file_of_results) file_of_results->commit();
    } catch (const results::Error& error) {
        throw UserError(error.what());
    }
    // Lost work is a result of the job, which the sweep collects.
    return lost && options.job.empty() ? kFailed : kOk;
}

}  // namespace

std::function<int()> set_up_measure(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("SPEC", options->spec, "experiment, a TOML file as in examples/measure")->required()->type_name("FILE.toml");
    app.add_option("--samples", options->samples, "kernels of each latency-critical client, in place of the file's")
        ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}));
    CLI::Option* seed = app.add_option("--seed", options->seed, "seed of everything random, in place of the file's")
                            ->check(CLI::NonNegativeNumber);
    CLI::Option* seeds =
        app.add_option("--seeds", options->seeds, "runs of each configuration, with this seed and the following ones")
            ->check(CLI::Range(1, 1000));
    add_kernel_options(app, options->guest);
    app.get_option("--kfd")->description("the driver: lyra (default), a kernel tree with changes of your own, or a .ko file");
    app.add_option("--timeout", options->guest.timeout_s, "give up a configuration after S seconds")
        ->check(CLI::NonNegativeNumber)
        ->type_name("S");
    app.add_option("--log", options->guest.log, "write the boot log there")->type_name("FILE");
    app.add_option("--keep-trace", options->keep, "keep the device's events of the last configuration")->type_name("FILE.tsv");
    app.add_option("--trace", options->trace,
                   "write a Perfetto trace of the last guest, with the driver's events; these take time of their own")
        ->type_name("FILE.pftrace");
    app.add_option("--record", options->guest.record, "write a recording of everything that reaches the GPU, for lyra replay")
        ->type_name("FILE");
    app.add_option("--parallel", options->parallel, "guests at a time (default: as many as the host has processors)")
        ->check(CLI::Range(1, 256))
        ->type_name("N");
    add_snapshot_option(app, options->guest);
    app.add_flag("--json", options->json, "one JSON object a line for each configuration");
    app.add_option("--results", options->results, "write results there, for lyra report (docs/user/results.md)")
        ->type_name("FILE.jsonl");
    CLI::Option* job = app.add_option("--job", options->job,
                                      "only the configuration that is this job of lyra sweep plan --measure, with raw samples "
                                      "in its results")
                           ->type_name("ID")
                           ->needs(seed)
                           ->excludes(seeds);
    // A job's id tells nothing of these.
    for (const char* name : {"--kernel", "--kernel-tree", "--debug", "--kfd", "--trace"}) job->excludes(name);
    app.footer(
        "Times are modelled: those of the GPU by docs/design/timing.md, those of the driver by its instructions, each 1 ns.");
    return [options] { return measure_main(*options); };
}

}  // namespace lyra::cli
