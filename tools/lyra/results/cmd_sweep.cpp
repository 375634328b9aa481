// SPDX-License-Identifier: MIT
// lyra sweep: an experiment's configurations as jobs for anybody's job engine.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "qemu-hw/include/lyra.h"
#include "scheduler/sim/spec.h"
#include "tools/lyra/cli/cli.h"
#include "tools/lyra/cli/process.h"
#include "tools/lyra/cli/work_dir.h"
#include "tools/lyra/guest/options.h"
#include "tools/lyra/results/measure_job.h"
#include "tools/lyra/results/results.h"
#include "tools/lyra/results/summary.h"
#include "tools/lyra/results/sweep_jobs.h"

namespace lyra::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kList = "jobs.tsv";  ///< its copy in the folder of outputs

struct Options {
    std::string spec, out = "out", jobs, folder;
    std::string chip = kChips[0].name;
    int64_t index = -1;
    bool measure = false;
    uint64_t samples = 0;
    unsigned seeds = 0;
};

/// @param words  options that the job has beside its id, each with a space before it
std::string line_of(const Options& options, const char* verb, const std::string& id, const std::string& words) {
    const std::string output = (fs::path(options.out) / (id + ".jsonl")).string();
    return sweep::to_line(
        {id,
         fmt::format("lyra {} {} --job {}{} --results {}", verb, sweep::quoted(options.spec), id, words, sweep::quoted(output)),
         output});
}

/// A job for each seed, so that the jobs of one configuration need not wait for each other.
std::string lines_of_runs(const Options& options, const std::string& hash, sim::Experiment experiment,
                          const sweep::Swept& swept) {
    check_measurable(experiment);
    if (options.samples != 0) experiment.samples = options.samples;
    if (options.seeds != 0) experiment.seeds = options.seeds;
    uint64_t clients = 0;
    for (const sim::ClientClass& c : experiment.clients) clients += c.latency_critical ? c.count : 0;
    if (experiment.samples > results::kMostSamples / clients)
        throw UserError(fmt::format("{} samples of each of {} clients: a job may have {} in all", experiment.samples, clients,
                                    results::kMostSamples));
    std::string out;
    for (unsigned n = 0; n < experiment.seeds; ++n) {
        const sweep::RunKey run{experiment.seed + n, experiment.samples, options.chip};
        std::string words = fmt::format(" --seed {}", run.seed);
        if (options.samples != 0) words += fmt::format(" --samples {}", run.samples);
        if (options.chip != kChips[0].name) words += fmt::format(" --chip {}", options.chip);
        out += line_of(options, "measure", sweep::job_id(lyra_version(), "measure", hash, swept, run), words);
    }
    return out;
}

int plan(const Options& options) try {
    const std::string text = read_input(options.spec), hash = results::hash_text(text);
    std::string list = sweep::header();
    for (const sim::Configuration& each : sim::read_spec(text, options.spec))
        list += options.measure ? lines_of_runs(options, hash, each.experiment, each.swept)
                                : line_of(options, "sim", sweep::job_id(lyra_version(), "sim", hash, each.swept), "");
    sweep::read_jobs(list, options.spec);  // refuses names with tabs, and a configuration that is there twice
    fmt::print("{}", list);
    return kOk;
} catch (const sim::SpecError& error) {
    throw UserError(error.what());
}

/// --index, else what job engines set.
size_t index_of(const Options& options, size_t jobs) {
    int64_t index = options.index;
    std::string from = "--index";
    // GNU parallel counts from 1.
    const std::pair<const char*, int> variables[] = {
        {"SLURM_ARRAY_TASK_ID", 0}, {"JOB_COMPLETION_INDEX", 0}, {"PARALLEL_SEQ", 1}};
    for (const auto& [name, first] : variables) {
        const char* value = std::getenv(name);
        if (index >= 0 || value == nullptr) continue;
        char* end = nullptr;
        index = std::strtoll(value, &end, 10) - first;
        from = name;
        if (end == value || *end != '\0' || index < 0)
            throw UserError(fmt::format("{}='{}' is no number of a job", name, value));
    }
    if (index < 0)
        throw UserError(
            "which job? --index N, or a variable of a job engine (SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, PARALLEL_SEQ)");
    if (static_cast<uint64_t>(index) >= jobs)
        throw UserError(fmt::format("{} {}: the jobs are 0 to {}", from, index, jobs - 1));
    return static_cast<size_t>(index);
}

/// What `collect` needs to know what is missing.
void keep_list(fs::path folder, const std::string& text) {
    if (folder.empty()) folder = ".";
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw UserError(fmt::format("cannot make '{}': {}", folder.string(), error.message()));
    if (read_text(folder / kList) == text) return;
    results::AtomicFile file(folder / kList);
    file.write(text);
    file.commit();
}

int run(const Options& options) {
    const std::string text = read_input(options.jobs);
    const std::vector<sweep::Job> jobs = sweep::read_jobs(text, options.jobs);
    const size_t index = index_of(options, jobs.size());
    const sweep::Job& job = jobs[index];
    std::vector<std::string> words = sweep::words_of(job.command);
    if (words.empty() || words[0] != "lyra")
        throw UserError(fmt::format("{}: the command of job {} is not one of lyra's", options.jobs, index));
    words[0] = own_program().string();
    std::string why;
    if (sweep::state_of(job, "", why) == sweep::State::Done) {
        talk(fmt::format("job {} ({}) is done already", index, job.id));
        return kOk;
    }
    catch_signals();
    keep_list(fs::path(job.output).parent_path(), text);
    const Captured result = capture(words, true);
    if (interrupted) return kInterrupted;
    const bool done = result.status == 0 && sweep::state_of(job, "", why) == sweep::State::Done;
    std::error_code ignored;
    if (done) {
        fs::remove(sweep::failure_note(job.output), ignored);
        talk(fmt::format("job {} ({}) is done", index, job.id));
        return kOk;
    }
    const std::string note = result.status == 0 ? why + "\n" : fmt::format("{}exit status {}\n", result.err, result.status);
    fs::remove(job.output, ignored);
    results::AtomicFile file(sweep::failure_note(job.output));
    file.write(note);
    file.commit();
    complain(fmt::format("job {} ({}) failed: {}", index, job.id, note.substr(0, note.find_last_not_of('\n') + 1)));
    return kFailed;
}

/// The list, and what of it lies in the folder.
struct Outputs {
    std::vector<sweep::Job> jobs;
    std::map<std::string, size_t> done;  ///< places in jobs, by id
    std::set<std::string> ids;           ///< of all jobs
    fs::path folder;

    results::RunResults read(const sweep::Job& job) const {
        return std::move(results::read(read_text(folder / job.output), job.output).front());
    }
};

/// The experiment that was measured. The file itself may have changed since, or not be here.
sim::Configuration configuration_of(const sweep::Job& job, const results::RunResults& one) {
    // Files that it names are beside it.
    const std::vector<std::string> words = sweep::words_of(job.command);
    const results::Configuration& made = one.configurations.front();
    for (sim::Configuration& each : sim::read_spec(one.manifest.spec, words.size() > 2 ? words[2] : job.output)) {
        if (each.swept == made.swept) return std::move(each);
    }
    throw UserError(fmt::format("{}: its experiment has no such configuration", job.output));
}

/// Makes of a configuration's seeds what `lyra measure` makes of them.
/// @param ids  the jobs, by ascending seed, all done
results::RunResults merge(const Outputs& outputs, const std::vector<std::string>& ids) {
    results::RunResults out;
    std::vector<results::MeasuredRun> runs;
    sim::Configuration configuration;
    for (const std::string& id : ids) {
        const sweep::Job& job = outputs.jobs[outputs.done.at(id)];
        results::RunResults one = outputs.read(job);
        results::Configuration& made = one.configurations.front();
        if (runs.empty()) {
            if (one.manifest.lyra != lyra_version())
                throw UserError(
                    fmt::format("{} is of lyra {}, and this one is {}: seeds have to be put together by the one that "
                                "has measured them",
                                job.output, one.manifest.lyra, lyra_version()));
            configuration = configuration_of(job, one);
            configuration.experiment.seed = made.seed;
            configuration.experiment.samples = made.raw->asked;
            configuration.experiment.seeds = static_cast<unsigned>(ids.size());
            out.manifest = one.manifest;
        }
        runs.push_back({std::move(made.raw->run), made.lost_work.value(), made.deadlocked.value(), made.trace_hash});
    }
    out.configurations.push_back(results::measured(configuration, std::move(runs)));
    return out;
}

int collect(const Options& options) try {
    Outputs outputs;
    outputs.folder = options.folder;
    const fs::path list = options.jobs.empty() ? outputs.folder / kList : fs::path(options.jobs);
    if (!fs::is_directory(outputs.folder)) throw UserError(fmt::format("'{}' is not a folder", outputs.folder.string()));
    if (!fs::exists(list))
        throw UserError(fmt::format("there is no '{}', so nothing tells which jobs there should be: name the list with --jobs",
                                    list.string()));
    outputs.jobs = sweep::read_jobs(read_input(list), list.string());
    size_t missing = 0, failed = 0, index = 0;
    for (sweep::Job& job : outputs.jobs) {
        // The folder may have been brought here from another machine.
        job.output = fs::path(job.output).filename().string();
        std::string why;
        const sweep::State state = sweep::state_of(job, outputs.folder.string(), why);
        outputs.ids.insert(job.id);
        if (state == sweep::State::Done) {
            outputs.done[job.id] = index;
        } else {
            complain(
                fmt::format("job {} ({}) {}", index, job.id, state == sweep::State::Missing ? "is missing" : "failed: " + why));
            ++(state == sweep::State::Missing ? missing : failed);
        }
        ++index;
    }
    std::set<std::string> handled;
    std::optional<results::Manifest> last;
    bool lost = false;
    for (const sweep::Job& job : outputs.jobs) {
        if (!outputs.done.contains(job.id) || handled.contains(job.id)) continue;
        results::RunResults one = outputs.read(job);
        if (one.configurations.front().raw) {
            const std::vector<std::string> seeds = sweep::seeds_of(outputs.ids, one.manifest, one.configurations.front());
            handled.insert(seeds.begin(), seeds.end());
            const auto absent =
                std::count_if(seeds.begin(), seeds.end(), [&](const auto& id) { return !outputs.done.contains(id); });
            if (absent != 0) {
                complain(fmt::format("the configuration of job {} ({}) is left out: {} of its {} seeds are not there",
                                     outputs.done[job.id], job.id, absent, seeds.size()));
                continue;
            }
            one = merge(outputs, seeds);
            if (last) one.manifest.seed = last->seed;  // that of the first configuration, as in one run of lyra measure
            lost |= one.configurations.front().lost_work != 0;
        }
        if (last != one.manifest) fmt::print("{}", results::to_line(one.manifest));
        last = one.manifest;
        fmt::print("{}", results::to_line(one.configurations.front()));
    }
    if (std::fflush(stdout) != 0) throw EnvironmentError("cannot write to standard output");
    const std::string counts =
        fmt::format("{} jobs: {} done, {} missing, {} failed", index, outputs.done.size(), missing, failed);
    const bool complete = outputs.done.size() == index;
    if (complete)
        talk(counts);
    else
        complain(counts);
    if (lost) complain("there is lost work");
    return complete && !lost ? kOk : kFailed;
} catch (const sim::SpecError& error) {
    throw UserError(error.what());
}

/// Errors of lists and files are the user's.
std::function<int()> guarded(int (*action)(const Options&), const std::shared_ptr<Options>& options) {
    return [action, options] {
        try {
            return action(*options);
        } catch (const sweep::Error& error) {
            throw UserError(error.what());
        } catch (const results::Error& error) {
            throw UserError(error.what());
        }
    };
}

}  // namespace

std::function<int()> set_up_sweep(CLI::App& app) {
    auto options = std::make_shared<Options>();
    auto chosen = std::make_shared<std::function<int()>>();
    const auto verb = [&](const char* name, const char* summary, int (*action)(const Options&)) {
        CLI::App* sub = app.add_subcommand(name, summary);
        sub->fallthrough();
        sub->callback([=] { *chosen = guarded(action, options); });
        return sub;
    };
    CLI::App* planning = verb("plan", "print the list of jobs", plan);
    planning->add_option("SPEC", options->spec, "experiment, a TOML file as in examples/measure")
        ->required()
        ->type_name("FILE.toml");
    CLI::Option* measure =
        planning->add_flag("--measure", options->measure, "jobs of lyra measure, one for each configuration and seed");
    planning->add_option("--seeds", options->seeds, "runs of each configuration, in place of the file's")
        ->check(CLI::Range(1, 1000))
        ->needs(measure);
    planning->add_option("--samples", options->samples, "kernels of each latency-critical client, in place of the file's")
        ->check(CLI::Range(uint64_t{1}, uint64_t{results::kMostSamples}))
        ->needs(measure);
    add_guest_chip_option(*planning, options->chip)->needs(measure);
    planning->add_option("--out", options->out, "folder of the outputs")->type_name("DIR")->capture_default_str();
    CLI::App* running = verb("run", "run one job, unless it is done", run);
    running->add_option("JOBS", options->jobs, "the list")->required()->type_name("FILE");
    running
        ->add_option("--index", options->index,
                     "number of the job, from 0; by default SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, or PARALLEL_SEQ - 1")
        ->check(CLI::NonNegativeNumber)
        ->type_name("N");
    CLI::App* collecting = verb("collect", "print the results of all jobs; exit status 1 when some are not there", collect);
    collecting->add_option("DIR", options->folder, "folder of the outputs")->required()->type_name("");
    collecting->add_option("--jobs", options->jobs, "the list, by default the copy in the folder")->type_name("FILE");
    app.require_subcommand(1);
    app.footer("docs/user/sweep.md shows GNU parallel and Slurm.");
    return [chosen] { return (*chosen)(); };
}

}  // namespace lyra::cli
