// SPDX-License-Identifier: MIT
// lyra test: in-process tests under sanitizers, this program's own conventions, and the guest; then one line of totals.
#include <unistd.h>

#include <chrono>
#include <fstream>

#include <nlohmann/json.hpp>

#include "tools/lyra/cli.h"
#include "tools/lyra/guest_machine.h"
#include "tools/lyra/hip_program.h"
#include "tools/lyra/kfdtest.h"
#include "tools/lyra/test_checks.h"

namespace lyra::cli {

namespace {

namespace fs = std::filesystem;

struct Options {
    GuestOptions guest;
    std::vector<std::string> groups;
    bool json = false;
    unsigned jobs = std::max(1l, sysconf(_SC_NPROCESSORS_ONLN));
};

enum class Verdict { Passed, Failed, Skipped };

struct Outcome {
    std::string group, name;
    Verdict verdict;
    std::string detail;   ///< why it failed or was skipped
};

/// Collects and prints outcomes as they come.
class Report {
public:
    explicit Report(bool quiet) : quiet_(quiet) {}
    void add(const std::string& group, const std::string& name, Verdict verdict, const std::string& detail = "") {
        outcomes_.push_back({group, name, verdict, detail});
        ++counts_[static_cast<size_t>(verdict)];
        if (quiet_) return;
        fmt::print("{:<8} {}: {}\n", word(verdict), group, name);
        if (verdict != Verdict::Passed && !detail.empty()) fmt::print("{}\n", indented(detail));
        std::fflush(stdout);
    }
    unsigned count(Verdict verdict) const { return counts_[static_cast<size_t>(verdict)]; }
    std::string totals() const {
        return fmt::format("{} passed, {} failed, {} skipped", counts_[0], counts_[1], counts_[2]);
    }
    nlohmann::json json() const {
        nlohmann::json result{{"passed", counts_[0]}, {"failed", counts_[1]}, {"skipped", counts_[2]}};
        for (const Outcome& each : outcomes_) {
            result["tests"].push_back({{"group", each.group}, {"name", each.name}, {"result", word(each.verdict)}, {"detail", each.detail}});
        }
        return result;
    }

private:
    static const char* word(Verdict verdict) {
        constexpr const char* kWords[] = {"passed", "FAILED", "skipped"};
        return kWords[static_cast<size_t>(verdict)];
    }
    static std::string indented(const std::string& text) {
        constexpr size_t kMost = 4000;  // the end of a long log tells more than its beginning
        std::string shown = text, result = "    ";
        if (shown.size() > kMost) shown.replace(0, shown.size() - kMost, "...");
        while (!shown.empty() && shown.back() == '\n') shown.pop_back();
        for (const char c : shown) result += c == '\n' ? std::string("\n    ") : std::string(1, c);
        return result;
    }
    bool quiet_;
    unsigned counts_[3] = {};
    std::vector<Outcome> outcomes_;
};

// The value of NAME="..." in a tag of XML, with the five entities put back.
std::string attribute(const std::string& tag, const std::string& name) {
    const size_t at = tag.find(" " + name + "=\"");
    if (at == std::string::npos) return "";
    const size_t from = at + name.size() + 3;
    std::string value = tag.substr(from, tag.find('"', from) - from);
    const std::pair<const char*, const char*> entities[] = {{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}, {"&amp;", "&"}};
    for (const auto& [entity, character] : entities) {
        for (size_t i = 0; (i = value.find(entity, i)) != std::string::npos; ++i) value.replace(i, std::string(entity).size(), character);
    }
    return value;
}

// One row per <testcase> of the file that `ctest --output-junit` writes.
size_t read_junit(const std::string& xml, Report& report) {
    size_t found = 0;
    for (size_t at = 0; (at = xml.find("<testcase ", at)) != std::string::npos; ++found) {
        const size_t next = std::min(xml.find("<testcase ", at + 1), xml.size());
        const std::string text = xml.substr(at, next - at), tag = text.substr(0, text.find('>'));
        const std::string status = attribute(tag, "status");
        const size_t out = text.find("<system-out>");
        const std::string detail = out == std::string::npos ? "" : text.substr(out + 12, text.find("</system-out>") - out - 12);
        // "notrun" is also said of a test whose program is missing: that is a failure.
        const bool skipped = status == "disabled" || text.find("<skipped message=\"SKIP_") != std::string::npos;
        const Verdict verdict = status == "run" ? Verdict::Passed : skipped ? Verdict::Skipped : Verdict::Failed;
        report.add("in process", attribute(tag, "name"), verdict,
                   verdict == Verdict::Passed ? "" : status == "notrun" ? "not run" : detail);
        at = next;
    }
    return found;
}

// Build with AddressSanitizer and UndefinedBehaviorSanitizer, then run CTest.
void test_in_process(const Options& options, Report& report) {
    const fs::path own_build = own_program().parent_path().parent_path();
    const fs::path build = cache_dir() / (own_build.filename().string() + "-sanitize"), source = build / "src";
    // A link, so that the compiler's cache serves every checkout.
    fs::create_directories(build);
    if (!fs::is_symlink(source)) fs::create_directory_symlink(source_dir(), source);
    WorkDir work;
    const fs::path junit = work.path() / "junit.xml";
    Progress progress;
    progress.show("building with sanitizers ...");
    const std::vector<std::vector<std::string>> steps = {
        {"cmake", "-S", source.string(), "-B", build.string(), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
         "-DLYRA_SANITIZE=ON", "-DLYRA_TESTS=ON", "-DLYRA_PROGRAM=" + own_program().string()},
        {"ninja", "-C", build.string(), "-j", std::to_string(options.jobs)},
    };
    for (const auto& step : steps) {
        const Captured result = capture(step, true);
        if (interrupted) throw Interrupted();
        if (result.status == 0) continue;
        progress.clear();
        report.add("in process", "build with sanitizers", Verdict::Failed, result.out + result.err);
        return;
    }
    progress.show("in-process tests ...");
    const Captured result = capture({"ctest", "--test-dir", build.string(), "-j", std::to_string(options.jobs), "--timeout", "300",
                                     "--output-junit", junit.string()}, true);
    if (interrupted) throw Interrupted();
    progress.clear();
    if (read_junit(read_text(junit), report) == 0) {
        report.add("in process", "run CTest", Verdict::Failed, result.out + result.err);
    }
}

void test_commands(const Options&, Report& report) {
    for (const CommandCheck& check : command_checks()) {
        std::vector<std::string> argv{own_program().string()};
        argv.insert(argv.end(), check.arguments.begin(), check.arguments.end());
        // Paths in the table are relative to the source tree.
        std::string line = fmt::format("cd {} && exec", shell_quote(source_dir().string()));
        for (const std::string& word : argv) line += fmt::format(" {}", shell_quote(word));
        const Captured result = capture({"sh", "-c", line}, true, check.timeout_s);
        if (interrupted) throw Interrupted();
        std::string why;
        if (result.timed_out) why += fmt::format("not finished after {} s\n", check.timeout_s);
        if (result.status != check.status) why += fmt::format("exit status {}, expected {}\n", result.status, check.status);
        if (check.out && result.out != check.out) why += fmt::format("standard output is \"{}\", expected \"{}\"\n", result.out, check.out);
        if (check.err_contains && result.err.find(check.err_contains) == std::string::npos) {
            why += fmt::format("standard error lacks \"{}\"\n", check.err_contains);
        }
        if (!why.empty()) why += "standard error: " + result.err;
        report.add("command", check.name, why.empty() ? Verdict::Passed : Verdict::Failed, why);
    }
}

/// What the job of a guest prints for each check: a line "@@ STATUS BYTES", then the output of the check.
constexpr const char* kRunChecks =
    "#!/bin/bash\n"
    "for n in $(seq 1 COUNT); do\n"
    "    timeout -k 5 \"$(cat check$n.limit)\" bash ./check$n >out.txt 2>&1 </dev/null\n"
    "    status=$?\n"
    "    echo \"@@ $status $(stat -c %s out.txt)\"\n"
    "    cat out.txt\n"
    "done\n";

// A check is judged by its exit status and by texts that its output has to contain or to lack.
std::string judge(const GuestCheck& check, int status, const std::string& out) {
    std::string why;
    if (status != check.status) why += fmt::format("exit status {}, expected {}\n", status, check.status);
    for (const char* text : check.contains) {
        if (out.find(text) == std::string::npos) why += fmt::format("the output lacks \"{}\"\n", text);
    }
    for (const char* text : check.lacks) {
        if (out.find(text) != std::string::npos) why += fmt::format("the output has \"{}\"\n", text);
    }
    return why.empty() ? why : why + out;
}

// Reads the guest's stream while it comes and reports each check once it is complete.
class CheckReader {
public:
    CheckReader(const std::vector<GuestCheck>& checks, Report& report) : checks_(checks), report_(report) {}
    void feed(const char* data, size_t bytes) {
        buffer_.append(data, bytes);
        while (next_ < checks_.size()) {
            const size_t line = buffer_.find('\n');
            int status = 0;
            size_t length = 0;
            if (line == std::string::npos || std::sscanf(buffer_.c_str(), "@@ %d %zu", &status, &length) != 2) return;
            if (buffer_.size() < line + 1 + length) return;
            const std::string why = judge(checks_[next_], status, buffer_.substr(line + 1, length));
            report_.add("guest", checks_[next_].name, why.empty() ? Verdict::Passed : Verdict::Failed, why);
            buffer_.erase(0, line + 1 + length);
            ++next_;
        }
    }
    void finish(const std::string& why) {
        for (bool first = true; next_ < checks_.size(); ++next_, first = false) {
            report_.add("guest", checks_[next_].name, Verdict::Failed, first ? why : "not reached");
        }
    }

private:
    const std::vector<GuestCheck>& checks_;
    Report& report_;
    std::string buffer_;
    size_t next_ = 0;
};

void test_guest(const Options& options, Report& report) {
    WorkDir work;
    Progress progress;
    GuestJob job;
    std::vector<GuestCheck> checks = checks_after_boot();
    std::vector<std::string> scripts;  // checks keep pointers into them
    scripts.reserve(guest_programs().size());
    for (const GuestProgram& program : guest_programs()) {
        progress.show(fmt::format("compiling {} ...", program.source));
        compile_hip(source_dir() / program.source, work.path() / program.file, program.options);
        job.files.emplace_back(program.file, work.path() / program.file);
        scripts.push_back(fmt::format("chmod +x {0}; ./{0} {1}", program.file, program.arguments));
        checks.push_back({program.name, scripts.back().c_str(), 0, {"PASSED"}, {"FAILED"}});
    }
    checks.insert(checks.end(), checks_at_the_end().begin(), checks_at_the_end().end());
    double limit = 120;
    for (size_t i = 0; i < checks.size(); ++i) {
        const std::string name = fmt::format("check{}", i + 1);
        write_text(work.path() / name, checks[i].script + std::string("\n"));
        write_text(work.path() / (name + ".limit"), std::to_string(checks[i].timeout_s));
        for (const std::string& file : {name, name + ".limit"}) job.files.emplace_back(file, work.path() / file);
        limit += checks[i].timeout_s;
    }
    job.run = kRunChecks;
    job.run.replace(job.run.find("COUNT"), 5, std::to_string(checks.size()));

    GuestOptions guest_options = options.guest;
    guest_options.stock_driver = true;  // what the checks say of the driver has to be true of Debian's own file
    if (guest_options.timeout_s == 0) guest_options.timeout_s = limit;
    GuestMachine guest(guest_options);
    progress.show("making the guest ...");
    guest.prepare();
    progress.clear();
    CheckReader reader(checks, report);
    const auto out = [&](const char* data, size_t bytes) { reader.feed(data, bytes); };
    const GuestResult result = guest.run(job, out, [](const char* data, size_t n) { std::fwrite(data, 1, n, stderr); });
    if (result.end == GuestResult::End::Interrupted) throw Interrupted();
    const bool good = result.end == GuestResult::End::Finished && result.errors.empty();
    std::string why = good ? "" : fmt::format("boot log: {}", result.log.string());
    for (const std::string& error : result.errors) why = "guest: " + error + "\n" + why;
    reader.finish(result.end == GuestResult::End::TimedOut ? "the guest took too long\n" + why : "the guest ended before\n" + why);
    report.add("guest", "boots and loads the driver", good ? Verdict::Passed : Verdict::Failed, why);
}

/// A program in a deterministic guest. @return what the GPU did; why says what went wrong
std::optional<GuestResult::Trace> deterministic_run(const GuestOptions& options, const std::filesystem::path& program, std::string& why) {
    GuestMachine guest(options);
    guest.prepare();
    GuestJob job;
    job.files.emplace_back("program", program);
    job.run = "#!/bin/sh\nchmod +x program\nexec ./program\n";
    std::string out;
    const auto keep = [&](const char* data, size_t bytes) { out.append(data, bytes); };
    const GuestResult result = guest.run(job, keep, keep);
    if (result.end == GuestResult::End::Interrupted) throw Interrupted();
    const bool good = result.end == GuestResult::End::Finished && result.status == 0 && result.errors.empty();
    if (!good || out.find("PASSED") == std::string::npos) why += fmt::format("boot log: {}\n{}", result.log.string(), out);
    if (!result.trace || result.trace->events == 0) why += "no trace\n";
    return result.trace;
}

void test_deterministic(const Options& options, Report& report) {
    WorkDir work;
    compile_hip(source_dir() / "examples/vector_add.hip", work.path() / "program", {});
    GuestOptions guest = options.guest;
    guest.deterministic = true;
    if (guest.timeout_s == 0) guest.timeout_s = 900;
    std::vector<std::string> lines;
    std::string why;
    for (const uint64_t seed : {1, 1, 2}) {
        guest.seed = seed;
        const auto trace = deterministic_run(guest, work.path() / "program", why);
        if (trace) lines.push_back(trace_summary(trace->hash, trace->events, trace->virtual_ns));
    }
    const bool ran = lines.size() == 3 && why.empty();
    const std::string all = fmt::format("{}{}", why, fmt::join(lines, "\n"));
    const auto check = [&](const char* name, bool good) {
        report.add("deterministic", name, ran && good ? Verdict::Passed : Verdict::Failed, ran && good ? "" : all);
    };
    check("equal runs have equal traces", ran && lines[0] == lines[1]);
    check("another seed has another trace", ran && lines[0] != lines[2]);
}

// The cases that are expected to pass; one that skips its body has failed.
void test_kfdtest(const Options& options, Report& report) {
    std::vector<KfdtestCase> cases;
    for (const KfdtestCase& test : read_kfdtest_cases(options.guest.kernel)) {
        if (test.has_to_pass() && !test.slow) cases.push_back(test);
    }
    constexpr unsigned kWatchdogSeconds = 300;
    run_kfdtest(options.guest, cases, kWatchdogSeconds, [&](const KfdtestResult& result) {
        const bool vacuous = result.outcome == KfdtestOutcome::Vacuous;
        report.add("kfdtest", result.test.name, result.outcome == KfdtestOutcome::Passed ? Verdict::Passed : Verdict::Failed,
                   (vacuous ? "the body did not run\n" : "") + result.output);
    });
}

/// The groups of tests, in the order in which they run.
struct Group {
    const char* name;
    const char* meaning;
    void (*run)(const Options&, Report&);
};
constexpr Group kGroups[] = {
    {"in-process", "unit, packet and kernel tests under AddressSanitizer and UBSan", test_in_process},
    {"command", "exit codes and output of this program", test_commands},
    {"guest", "HIP programs and driver checks in a guest", test_guest},
    {"deterministic", "a HIP program in virtual time: the same trace of the GPU in every run", test_deterministic},
    {"kfdtest", "the cases of kfdtest that are expected to pass", test_kfdtest},
};

int run(const Options& options) {
    catch_signals();
    Report report(options.json);
    bool cut_short = false;
    for (const Group& group : kGroups) {
        const bool chosen = options.groups.empty() || std::find(options.groups.begin(), options.groups.end(), group.name) != options.groups.end();
        if (!chosen) continue;
        try {
            group.run(options, report);
        } catch (const Interrupted&) {
            cut_short = true;
            break;
        } catch (const std::exception& error) {
            report.add(group.name, "run", Verdict::Failed, error.what());
        }
    }
    if (options.json) fmt::print("{}\n", report.json().dump(2));
    else fmt::print("{}\n", report.totals());
    if (cut_short) {
        complain("interrupted");
        return kInterrupted;
    }
    return report.count(Verdict::Failed) || report.count(Verdict::Passed) == 0 ? kFailed : kOk;
}

}  // namespace

std::function<int()> set_up_test(CLI::App& app) {
    auto options = std::make_shared<Options>();
    std::vector<std::string> names;
    std::string footer = "Groups:\n";
    for (const Group& group : kGroups) {
        names.push_back(group.name);
        footer += fmt::format("  {:<14}{}\n", group.name, group.meaning);
    }
    app.add_option("--group", options->groups, "run only this group")->check(CLI::IsMember(names))->allow_extra_args(false)->type_name("GROUP");
    app.add_option("-j,--jobs", options->jobs, "processes at a time for building and in-process tests")->check(CLI::Range(1, 1024))->type_name("N");
    app.add_flag("--json", options->json, "print the results as JSON");
    add_guest_options(app, options->guest);
    app.footer(footer);
    return [options] { return run(*options); };
}

}  // namespace lyra::cli
