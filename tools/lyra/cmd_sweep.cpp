// SPDX-License-Identifier: MIT
// lyra sweep: an experiment's configurations as jobs for anybody's job engine.
#include <cstdlib>
#include <optional>

#include "qemu-hw/include/lyra.h"
#include "scheduler/sim/spec.h"
#include "tools/lyra/cli.h"
#include "tools/lyra/process.h"
#include "tools/lyra/results.h"
#include "tools/lyra/sweep_jobs.h"
#include "tools/lyra/work_dir.h"

namespace lyra::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kList = "jobs.tsv";  ///< its copy in the folder of outputs

struct Options {
    std::string spec, out = "out", jobs, folder;
    int64_t index = -1;
};

int plan(const Options& options) try {
    const std::string text = read_input(options.spec), hash = results::hash_text(text);
    std::string list = sweep::header();
    for (const sim::Configuration& each : sim::read_spec(text, options.spec)) {
        const std::string id = sweep::job_id(lyra_version(), "sim", hash, each.swept),
                          output = (fs::path(options.out) / (id + ".jsonl")).string();
        list += sweep::to_line(
            {id, fmt::format("lyra sim {} --job {} --results {}", sweep::quoted(options.spec), id, sweep::quoted(output)),
             output});
    }
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

int collect(const Options& options) {
    const fs::path folder = options.folder, list = options.jobs.empty() ? folder / kList : fs::path(options.jobs);
    if (!fs::is_directory(folder)) throw UserError(fmt::format("'{}' is not a folder", folder.string()));
    if (!fs::exists(list))
        throw UserError(fmt::format("there is no '{}', so nothing tells which jobs there should be: name the list with --jobs",
                                    list.string()));
    size_t missing = 0, failed = 0, done = 0, index = 0;
    std::optional<results::Manifest> last;
    for (sweep::Job& job : sweep::read_jobs(read_input(list), list.string())) {
        // The folder may have been brought here from another machine.
        job.output = fs::path(job.output).filename().string();
        std::string why;
        const sweep::State state = sweep::state_of(job, folder.string(), why);
        if (state == sweep::State::Done) {
            const auto runs = results::read(read_text(folder / job.output), job.output);
            const results::RunResults& one = runs.front();
            if (last != one.manifest) fmt::print("{}", results::to_line(one.manifest));
            last = one.manifest;
            fmt::print("{}", results::to_line(one.configurations.front()));
            ++done;
        } else {
            complain(
                fmt::format("job {} ({}) {}", index, job.id, state == sweep::State::Missing ? "is missing" : "failed: " + why));
            ++(state == sweep::State::Missing ? missing : failed);
        }
        ++index;
    }
    if (std::fflush(stdout) != 0) throw EnvironmentError("cannot write to standard output");
    const std::string counts = fmt::format("{} jobs: {} done, {} missing, {} failed", index, done, missing, failed);
    if (done == index)
        talk(counts);
    else
        complain(counts);
    return done == index ? kOk : kFailed;
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
    CLI::App* planning = verb("plan", "print the list of jobs, one for each configuration", plan);
    planning->add_option("SPEC", options->spec, "experiment, a TOML file as in examples/measure")
        ->required()
        ->type_name("FILE.toml");
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
