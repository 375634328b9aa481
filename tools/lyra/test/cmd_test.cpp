// SPDX-License-Identifier: MIT
// lyra test: in-process tests under sanitizers, this program's own conventions, and the guest; then one line of totals.
#include <unistd.h>

#include <chrono>
#include <sstream>

#include <nlohmann/json.hpp>

#include "tools/lyra/cli/cli.h"
#include "tools/lyra/device/isa_coverage.h"
#include "tools/lyra/guest/hip_program.h"
#include "tools/lyra/guest/kfdtest.h"
#include "tools/lyra/guest/machine.h"
#include "tools/lyra/test/checks.h"
#include "tools/lyra/test/guest.h"
#include "tools/lyra/test/isa.h"
#include "tools/lyra/test/libraries.h"
#include "tools/lyra/test/memory.h"
#include "tools/lyra/test/report.h"
#include "tools/lyra/test/scheduler.h"

namespace lyra::cli {

namespace {

namespace fs = std::filesystem;

struct Options {
    GuestOptions guest;
    std::vector<std::string> groups;
    bool json = false;
    bool times = false;
    uint64_t soak = 0;         ///< pre-emptions; 0: other tests
    bool isa = false;          ///< the long proofs of the instruction set, and nothing else
    bool libraries = false;    ///< all programs of Debian's libraries, and nothing else
    unsigned threads = 1;      ///< of the soak
    bool seed_given = false;   ///< guest.seed is the user's choice
    unsigned jobs = std::max(1l, sysconf(_SC_NPROCESSORS_ONLN));
};

// The value of NAME="..." in a tag of XML, with the five entities and ends of lines put back.
std::string attribute(const std::string& tag, const std::string& name) {
    const size_t at = tag.find(" " + name + "=\"");
    if (at == std::string::npos) return "";
    const size_t from = at + name.size() + 3;
    std::string value = tag.substr(from, tag.find('"', from) - from);
    const std::pair<const char*, const char*> entities[] = {{"&lt;", "<"},   {"&gt;", ">"},    {"&quot;", "\""},
                                                            {"&apos;", "'"}, {"&#x0A;", "\n"}, {"&amp;", "&"}};
    for (const auto& [entity, character] : entities) {
        for (size_t i = 0; (i = value.find(entity, i)) != std::string::npos; ++i)
            value.replace(i, std::string(entity).size(), character);
    }
    return value;
}

/// A <testcase> of CTest's or GoogleTest's file.
struct TestCase {
    std::string tag, body;
};
std::vector<TestCase> test_cases(const std::string& xml) {
    std::vector<TestCase> cases;
    for (size_t at = 0; (at = xml.find("<testcase ", at)) != std::string::npos;) {
        const size_t next = std::min(xml.find("<testcase ", at + 1), xml.size()), close = std::min(xml.find('>', at), next);
        cases.push_back({xml.substr(at, close - at), xml.substr(close, next - close)});
        at = next;
    }
    return cases;
}

/// A row for each test of the file that a GoogleTest program has written. @param prefix  of their names
/// @return tests; 0: there is no such file, or no test was chosen
size_t read_gtest(const fs::path& file, const std::string& prefix, const char* group, Report& report) {
    const std::vector<TestCase> cases = test_cases(read_text(file));
    for (const TestCase& test : cases) {
        std::string name = fmt::format("{}{}.{}", prefix, attribute(test.tag, "classname"), attribute(test.tag, "name"));
        const std::string value = attribute(test.tag, "value_param");
        const bool bytes = value.find("-byte object") != std::string::npos;
        if (!value.empty() && !bytes) name = name.substr(0, name.rfind('/') + 1) + value;
        std::string why;
        for (size_t at = 0; (at = test.body.find("<failure ", at)) != std::string::npos; ++at)
            why += attribute(test.body.substr(at, test.body.find('>', at) - at), "message") + "\n";
        const bool completed = attribute(test.tag, "result") == "completed";
        const Verdict verdict = !why.empty() ? Verdict::Failed : completed ? Verdict::Passed : Verdict::Skipped;
        const size_t skipped = test.body.find("<skipped ");
        if (skipped != std::string::npos) why = attribute(test.body.substr(skipped), "message");
        report.add(group, name, verdict, why, std::strtod(attribute(test.tag, "time").c_str(), nullptr));
    }
    return cases.size();
}

/// A row for each test that `ctest --output-junit` names; for a GoogleTest program, for each of its tests.
size_t read_junit(const std::string& xml, const fs::path& results, const char* group, Report& report) {
    size_t found = 0;
    for (const auto& [tag, body] : test_cases(xml)) {
        const std::string status = attribute(tag, "status"), name = attribute(tag, "name");
        const size_t failed_before = report.count(Verdict::Failed);
        const fs::path file = results / (name + ".xml");
        const size_t tests = read_gtest(file, name.substr(0, name.find('.') + 1), group, report);
        found += tests;
        // Its own row says what those of its tests do not: that it ended in another way, or ran none.
        if (tests != 0 && (status == "run" || report.count(Verdict::Failed) != failed_before)) continue;
        ++found;
        const size_t out = body.find("<system-out>");
        const std::string detail = out == std::string::npos ? "" : body.substr(out + 12, body.find("</system-out>") - out - 12);
        // "notrun" is also said of a test whose program is missing: that is a failure.
        const bool skipped = status == "disabled" || body.find("<skipped message=\"SKIP_") != std::string::npos;
        const bool passed = status == "run" && !fs::exists(file);
        const Verdict verdict = passed ? Verdict::Passed : skipped ? Verdict::Skipped : Verdict::Failed;
        report.add(group, name, verdict,
                   passed               ? ""
                   : status == "notrun" ? "not run"
                   : status == "run"    ? "it ran no test"
                                        : detail,
                   std::strtod(attribute(tag, "time").c_str(), nullptr));
    }
    return found;
}

fs::path sanitizer_build() {
    return cache_dir() / (own_program().parent_path().parent_path().filename().string() + "-sanitize");
}

// Build with AddressSanitizer and UndefinedBehaviorSanitizer. @return why it failed
std::string build_with_sanitizers(const Options& options, Progress& progress) {
    const fs::path build = sanitizer_build(), source = build / "src";
    // A link, so that the compiler's cache serves every checkout.
    fs::create_directories(build);
    if (!fs::is_symlink(source)) fs::create_directory_symlink(source_dir(), source);
    progress.show("building with sanitizers ...");
    const std::vector<std::vector<std::string>> steps = {
        {"cmake", "-S", source.string(), "-B", build.string(), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
         "-DLYRA_SANITIZE=ON", "-DLYRA_TESTS=ON", "-DLYRA_PROGRAM=" + own_program().string()},
        {"ninja", "-C", build.string(), "-j", std::to_string(options.jobs)},
    };
    for (const auto& step : steps) {
        const Captured result = capture(step, true);
        if (interrupted) throw Interrupted();
        if (result.status != 0) return result.out + result.err;
    }
    return "";
}

// Run CTest over the tests that match (empty: all), with more variables in the environment.
void run_ctest(const Options& options, Report& report, const char* group, const std::vector<std::string>& variables,
               const std::string& tests) {
    Progress progress;
    const std::string failed = build_with_sanitizers(options, progress);
    if (!failed.empty()) {
        progress.clear();
        return report.add(group, "build with sanitizers", Verdict::Failed, failed);
    }
    WorkDir work;
    const fs::path junit = work.path() / "junit.xml", results = sanitizer_build() / "test-results";
    fs::remove_all(results);
    std::vector<std::string> argv{"env"};
    argv.insert(argv.end(), variables.begin(), variables.end());
    const std::vector<std::string> ctest{
        "ctest",     "--test-dir", sanitizer_build().string(), "-j",          std::to_string(options.jobs),
        "--timeout", "900",        "--output-junit",           junit.string()};
    argv.insert(argv.end(), ctest.begin(), ctest.end());
    if (!tests.empty()) argv.insert(argv.end(), {"-R", tests});
    progress.show(fmt::format("{} tests ...", group));
    const Captured result = capture(argv, true);
    if (interrupted) throw Interrupted();
    progress.clear();
    if (read_junit(read_text(junit), results, group, report) == 0)
        report.add(group, "run CTest", Verdict::Failed, result.out + result.err);
}

// Each base operation has to be in a record of the tests that have just run: gcn-interp/testing/executed.h.
void test_coverage(const fs::path& records, Report& report) {
    std::error_code error;
    const std::set<std::string> executed = executed_operations(records, error);
    for (const ChipFacts& chip : kChips) {
        const IsaCoverage coverage = isa_coverage(chip.chip, executed);
        const bool all = coverage.total != 0 && coverage.untested.empty() && coverage.missing.size() == coverage.rowless;
        report.add(
            "in process",
            fmt::format("every base operation of {}{} was executed", chip.name, coverage.rowless ? " that has a row" : ""),
            all ? Verdict::Passed : Verdict::Failed,
            all ? ""
                : fmt::format("{} of {}; not implemented: {}; not executed: {}\n", coverage.executed(), coverage.total,
                              fmt::join(coverage.missing, " "), fmt::join(coverage.untested, " ")));
    }
}

void test_in_process(const Options& options, Report& report) {
    // Tests that are no more must not count.
    const fs::path records = sanitizer_build() / "isa-executed";
    fs::remove_all(records);
    run_ctest(options, report, "in process", {}, "");
    test_coverage(records, report);
}

// The tests whose waves execute a trap handler, with the one that the guest's driver installs.
void test_trap_handler(const Options& options, Report& report) {
    std::vector<std::string> variables;
    for (const auto& [variable, chip] :
         {std::pair{"LYRA_CWSR_HANDLER=", Chip::gfx900}, std::pair{"LYRA_CWSR_HANDLER_GFX90A=", Chip::gfx90a},
          std::pair{"LYRA_CWSR_HANDLER_GFX942=", Chip::gfx942}}) {
        Progress progress;
        progress.show("taking the trap handler out of the driver ...");
        const Captured made = capture({(source_dir() / "tools/guest/trap_handler.sh").string(), "--cache", cache_dir().string(),
                                       "--kernel", options.guest.kernel, "--chip", facts_of(chip).name},
                                      true);
        if (interrupted) throw Interrupted();
        progress.clear();
        if (made.status != 0) return report.add("trap handler", "take it out of the driver", Verdict::Failed, made.err);
        variables.push_back(variable + made.out.substr(0, made.out.find('\n')));
    }
    run_ctest(options, report, "trap handler", variables,
              "cwsr_(injection|wave_states|trap_levels)_test|cp_preempt_waves_test|^soak");
}

// Pre-emptions at random moments, by a program without sanitizers.
int soak(const Options& options) {
    const fs::path build = own_program().parent_path().parent_path();
    const Captured built = capture({"ninja", "-C", build.string(), "-j", std::to_string(options.jobs), "lyra_soak"}, true);
    if (interrupted) return kInterrupted;
    if (built.status != 0) throw EnvironmentError("could not build lyra_soak:\n" + built.out + built.err);
    const auto clock = std::chrono::steady_clock::now().time_since_epoch().count();
    const uint64_t seed = options.seed_given ? options.guest.seed : static_cast<uint64_t>(clock) % 1'000'000'000 + 1;
    Command command;
    command.argv = {(build / "tools/lyra_soak").string(), std::to_string(options.soak), std::to_string(seed),
                    std::to_string(options.threads), options.guest.chip};
    Child child(command);
    if (!child.wait()) return kInterrupted;
    return child.status() == 0 ? kOk : kFailed;
}

void test_commands(const Options& options, Report& report) {
    // What is made once does not count in anybody's time: guest, GPU and the compiler's root.
    GuestMachine(options.guest).prepare();
    build_artefact("tools/guest/build_root.sh", root_arguments(options.guest));
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
        if (check.out && result.out != check.out)
            why += fmt::format("standard output is \"{}\", expected \"{}\"\n", result.out, check.out);
        if (check.err_contains && result.err.find(check.err_contains) == std::string::npos) {
            why += fmt::format("standard error lacks \"{}\"\n", check.err_contains);
        }
        if (!why.empty()) why += "standard error: " + result.err;
        report.add("command", check.name, why.empty() ? Verdict::Passed : Verdict::Failed, why);
    }
    test_memory(report);
}

/// A program in a deterministic guest. @return what the GPU did; why says what went wrong
std::optional<GuestResult::Trace> deterministic_run(const GuestOptions& options, const std::filesystem::path& program,
                                                    std::string& why) {
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
    compile_hip(source_dir() / "examples/vector_add.hip", work.path() / "program", {}, options.guest);
    GuestOptions guest = options.guest;
    guest.deterministic = true;
    if (guest.timeout_s == 0) guest.timeout_s = 900;
    const std::string recording = (work.path() / "recording").string();
    struct Run {
        uint64_t seed;
        bool saved;
        std::string record;
        std::string line{}, why{};
        double seconds = 0;
    };
    std::vector<Run> runs{{1, false, ""}, {1, false, recording}, {1, true, ""}, {1, true, ""}, {2, true, ""}};
    const auto run = [&](size_t first, size_t end) {
        for (size_t n = first; n < end; ++n) {
            GuestOptions one = guest;
            one.seed = runs[n].seed;
            one.snapshot = runs[n].saved;
            one.record = runs[n].record;
            const auto start = std::chrono::steady_clock::now();
            const auto trace = deterministic_run(one, work.path() / "program", runs[n].why);
            runs[n].seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            if (trace) runs[n].line = trace_summary(trace->hash, trace->events, trace->virtual_ns);
        }
    };
    constexpr size_t kBooted = 2;
    report.side_by_side([&] { run(0, kBooted); }, [&] { run(kBooted, runs.size()); });
    std::vector<std::string> lines;
    std::string all;
    bool ran = true;
    for (const Run& each : runs) {
        lines.push_back(each.line);
        ran = ran && !each.line.empty() && each.why.empty();
        all += each.why + each.line + "\n";
    }
    const auto check = [&](const char* name, bool good, double seconds) {
        report.add("deterministic", name, ran && good ? Verdict::Passed : Verdict::Failed, ran && good ? "" : all, seconds);
    };
    check("equal runs have equal traces, one of them recorded", ran && lines[0] == lines[1], runs[0].seconds + runs[1].seconds);
    check("equal runs from a saved machine have equal traces", ran && lines[2] == lines[3], runs[2].seconds + runs[3].seconds);
    check("another seed has another trace", ran && lines[2] != lines[4], runs[4].seconds);
    // What stops the machine for its host to save it is a device that any program reaches.
    guest.snapshot = true;
    guest.record.clear();
    guest.timeout_s = std::min(guest.timeout_s, 120.0);
    write_text(work.path() / "stops", "#!/bin/sh\n/usr/lib/lyra/host stop\necho PASSED\n");
    std::string stopped;
    deterministic_run(guest, work.path() / "stops", stopped);
    report.add("deterministic", "a program cannot stop a machine that goes on",
               stopped.empty() ? Verdict::Passed : Verdict::Failed, stopped);
    const Captured replay = capture({own_program().string(), "replay", "--check", "--json", recording}, true);
    const auto replayed = nlohmann::json::parse(replay.out, nullptr, false);
    const bool same = ran && replay.status == 0 && !replayed.is_discarded() &&
                      lines[1] == trace_summary(std::stoull(replayed["trace_hash"].get<std::string>(), nullptr, 16),
                                                replayed["trace_events"], replayed["virtual_ns"]);
    report.add("deterministic", "a recording is replayed without the guest, to the same trace",
               same ? Verdict::Passed : Verdict::Failed, same ? "" : all + "\n" + replay.out + replay.err);
}

// One that skips its body has failed.
void run_kfdtest_cases(GuestOptions guest, const char* group, const std::vector<KfdtestCase>& cases, const char* how,
                       Report& report, const std::string& before = "") {
    constexpr unsigned kWatchdogSeconds = 300;
    const auto done = [&](const KfdtestResult& result) {
        const bool vacuous = result.outcome == KfdtestOutcome::Vacuous;
        report.add(group, result.test.name + how, result.outcome == KfdtestOutcome::Passed ? Verdict::Passed : Verdict::Failed,
                   (vacuous ? fmt::format("the body did not run ({})\n", result.reason()) : "") + result.output,
                   result.seconds);
    };
    // To save a machine takes longer than a boot: one that a single guest would go on from is not.
    const bool saved = guest.snapshot;
    for (const bool usual : {true, false}) {
        std::vector<KfdtestCase> some;
        std::copy_if(cases.begin(), cases.end(), std::back_inserter(some),
                     [&](const KfdtestCase& test) { return test.guest.empty() == usual; });
        guest.snapshot = saved && usual;
        run_kfdtest(guest, some, kWatchdogSeconds, done, before, report.guests_at_a_time());
    }
}

// The cases that are expected to pass.
void test_kfdtest_with(const GuestOptions& guest, const char* group, Report& report) {
    std::vector<KfdtestCase> cases;
    for (const KfdtestCase& test : read_kfdtest_cases(guest.kernel, guest.chip)) {
        if (test.has_to_pass() && !test.slow) cases.push_back(test);
    }
    run_kfdtest_cases(guest, group, cases, "", report);
}

/// Of each subject some that could differ by chip. `lyra kfdtest --chip gfx90a` runs all.
constexpr const char* kCasesOfGfx90a =
    "KFDTopologyTest.BasicTest:KFDEventTest.SignalEvent:KFDQMTest.SimpleWriteDispatch:KFDQMTest.AllQueues:"
    "KFDQMTest.OverSubscribeCpQueues:KFDLocalMemoryTest.VerifyContentsAfterUnmapAndMap:KFDMemoryTest.FlatScratchAccess:"
    "KFDMemoryTest.MMapLarge:KFDCWSRTest.BasicTest/0:KFDCWSRTest.InterruptRestore:KFDGWSTest.Semaphore:"
    "KFDExceptionTest.AddressFault:KFDDBGTest.Hit*:KFDDBGTest.SuspendQueues";

void test_kfdtest(const Options& options, Report& report) {
    GuestOptions guest = options.guest;
    guest.device_options.insert(guest.device_options.begin(), kStrict);
    test_kfdtest_with(guest, "kfdtest", report);
    guest.chip = facts_of(Chip::gfx90a).name;
    if (!has_kfdtest_table(guest.kernel, guest.chip)) return;
    std::vector<KfdtestCase> cases;
    for (const KfdtestCase& test : read_kfdtest_cases(guest.kernel, guest.chip)) {
        if (test.has_to_pass() && matches_filter(test.name, kCasesOfGfx90a)) cases.push_back(test);
    }
    run_kfdtest_cases(guest, "kfdtest", cases, " on gfx90a", report);
}

void test_patched_driver(const Options& options, Report& report) {
    test_scheduler(options.guest, report);
    test_bad_times(options.guest, report);
    test_kunit(report);
    test_facts(report);
    report.side_by_side([&] { test_kernel_events(options.guest, report); },
                        [&] { test_firmware_probe(options.guest, report); });
    test_measure(options.guest, report);
    if (options.guest.chip == kChips[0].name)
        report.side_by_side([&] { test_measure_on(Chip::gfx90a, options.guest, report); },
                            [&] { test_measure_on(Chip::gfx942, options.guest, report); });
    test_session(report);
    GuestOptions guest = options.guest;
    if (guest.kernel_tree.empty()) guest.kfd = "lyra";
    test_kfdtest_with(guest, "scheduler", report);
    // Whatever changes, suspends or destroys a queue has to take it from the hardware, although it is static.
    std::vector<KfdtestCase> cases;
    for (const KfdtestCase& test : read_kfdtest_cases(guest.kernel, guest.chip)) {
        if (matches_filter(
                test.name,
                "KFDQMTest.AllQueues:KFDQMTest.DisableCp*:KFDQMTest.OverSubscribeCpQueues:KFDCWSRTest.InterruptRestore:"
                "KFDDBGTest.SuspendQueues"))
            cases.push_back(test);
    }
    run_kfdtest_cases(
        guest, "scheduler", cases, " with static queues", report,
        "dir=$(echo /sys/class/drm/card*/device/kfd_sched); echo static >$dir/unmap; echo 0 >$dir/static_priority\n"
        "echo 2000 >$dir/period_us; echo fixed >$dir/policy\n");
}

void test_kernel_tree(const Options&, Report& report) {
    const Captured result = capture(
        {"python3", (source_dir() / "tools/checks/kernel_tree.py").string(), own_program().string(), source_dir().string()},
        true);
    if (interrupted) throw Interrupted();
    std::istringstream lines(result.out);
    bool failed = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind("passed: ", 0) == 0) report.add("kernel-tree", line.substr(8), Verdict::Passed, "");
        failed = failed || line.rfind("FAILED: ", 0) == 0;
    }
    if (result.status != 0 || failed)
        report.add("kernel-tree", "all of docs/user/kernel_tree.md", Verdict::Failed, result.out + result.err);
}

void test_in_guests(const Options& options, Report& report) { test_guest(options.guest, report); }

void test_packages_in_guest(const Options& options, Report& report) { test_packages(options.guest, report); }

void test_tidy(const Options& options, Report& report) {
    Progress progress;
    // What the build generates is included.
    const std::string failed = build_with_sanitizers(options, progress);
    if (!failed.empty()) {
        progress.clear();
        return report.add("tidy", "build with sanitizers", Verdict::Failed, failed);
    }
    progress.show("clang-tidy ...");
    const Captured result =
        capture({(source_dir() / "tools/checks/tidy.py").string(), source_dir().string(), sanitizer_build().string()}, true);
    if (interrupted) throw Interrupted();
    progress.clear();
    const Verdict verdict = result.status == 0          ? Verdict::Passed
                            : result.status == kSkipped ? Verdict::Skipped
                                                        : Verdict::Failed;
    report.add("tidy", fmt::format("clang-tidy: {}", last_line(result.out)), verdict,
               result.status == 0 ? "" : result.out + result.err);
}

void test_libraries_in_guest(const Options& options, Report& report) {
    test_libraries(options.guest, options.libraries, report);
}

/// The groups of tests, in the order in which they run: groups that go on from the same saved machine are neighbours, before
/// others push it out of the cache.
struct Group {
    const char* name;
    const char* meaning;
    void (*run)(const Options&, Report&);
    bool by_default = true;   ///< when no group is named
};
constexpr Group kGroups[] = {
    {"in-process", "unit, packet and kernel tests under AddressSanitizer and UBSan", test_in_process},
    {"trap-handler", "saves and restores by the trap handler of the guest's driver", test_trap_handler},
    {"command", "exit codes and output of this program", test_commands},
    {"guest", "HIP programs, and what the driver offers beyond them, in guests", test_in_guests},
    {"deterministic", "a HIP program in virtual time: the same trace of the GPU in every run", test_deterministic},
    {"packages", "programs with hipCUB, rocThrust, OpenMP and OpenCL, in a guest that has these packages",
     test_packages_in_guest},
    {"libraries", "Debian's rocBLAS and test programs of its rocRAND, in a guest; only when named", test_libraries_in_guest,
     false},
    {"scheduler", "the patched driver of kfd-patches/: its scheduler at work, and kfdtest as with Debian's driver",
     test_patched_driver},
    {"kernel-tree", "a kernel tree of the user's own, with lockdep, KASAN, gdb, vmcore and git bisect; only when named",
     test_kernel_tree, false},
    {"tidy", "clang-tidy over the files that differ from main; only when named", test_tidy, false},
    {"kfdtest", "the cases of kfdtest that are expected to pass", test_kfdtest},
};

constexpr Group kLibraries = {"libraries", "all of Debian's libraries", test_libraries_in_guest};
constexpr Group kIsa = {"isa", "long proofs of the instruction set",
                        [](const Options& options, Report& report) { test_isa(options.jobs, report); }};

std::vector<Group> chosen_groups(const Options& options) {
    if (options.isa) return {kIsa};
    if (options.libraries) return {kLibraries};
    std::vector<Group> chosen;
    for (const Group& group : kGroups) {
        const bool named = std::find(options.groups.begin(), options.groups.end(), group.name) != options.groups.end();
        if (named || (options.groups.empty() && group.by_default)) chosen.push_back(group);
    }
    return chosen;
}

int run(const Options& options) {
    catch_signals();
    if (!fs::exists(source_dir() / "CMakeLists.txt"))
        throw UserError("the tests are in Lyra's source tree, not in the package: ./lyra test");
    if (options.soak != 0) return soak(options);
    const GuestOptions& guest = options.guest;
    const bool one_at_a_time = !guest.trace.empty() || !guest.log.empty() || !guest.record.empty() || guest.gdb;
    Report report(options.json, options.times, one_at_a_time);
    bool cut_short = false;
    for (const Group& group : chosen_groups(options)) {
        try {
            group.run(options, report);
        } catch (const Interrupted&) {
            cut_short = true;
            break;
        } catch (const std::exception& error) {
            report.add(group.name, "run", Verdict::Failed, error.what());
        }
        report.end_group(group.name);
    }
    if (options.json)
        fmt::print("{}\n", report.json().dump(2));
    else
        fmt::print("{}{}\n", options.times ? report.group_times() : "", report.totals());
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
    app.add_option("--group", options->groups, "run only this group")
        ->check(CLI::IsMember(names))
        ->allow_extra_args(false)
        ->type_name("GROUP");
    app.add_option("-j,--jobs", options->jobs, "processes at a time for building and in-process tests")
        ->check(CLI::Range(1, 1024))
        ->type_name("N");
    app.add_flag("--json", options->json, "print the results as JSON");
    app.add_flag("--times", options->times, "say how long each test and each group took");
    app.add_option("--soak", options->soak, "pre-empt running queues so often, in process, and nothing else")
        ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000'000}))
        ->type_name("COUNT")
        ->excludes("--group")
        ->excludes("--json");
    app.add_flag("--isa", options->isa, "the long proofs of the instruction set, and nothing else")
        ->excludes("--group")
        ->excludes("--soak");
    app.add_flag("--libraries", options->libraries, "all programs of Debian's libraries, which takes hours, and nothing else")
        ->excludes("--group")
        ->excludes("--soak")
        ->excludes("--isa");
    app.add_option("--threads", options->threads, "with --soak: threads that run the waves")
        ->check(CLI::Range(1, 64))
        ->needs("--soak")
        ->type_name("N");
    add_guest_options(app, options->guest);
    add_snapshot_option(app, options->guest);
    CLI::Option* seed = app.get_option("--seed");  // also of --soak, which has another one each time when none is given
    seed->remove_needs(app.get_option("--deterministic"));
    app.footer(footer);
    return [options, seed] {
        options->seed_given = seed->count() != 0;
        // Whole groups that work on others, too.
        const bool of_any_chip =
            options->soak != 0 || options->libraries ||
            (options->groups.size() == 1 && (options->groups[0] == "scheduler" || options->groups[0] == "libraries"));
        if (options->guest.chip != kChips[0].name && !of_any_chip)
            throw UserError(
                fmt::format("lyra test is of {}; what it asks of other chips it starts by itself. --soak, --libraries and "
                            "the groups scheduler and libraries can be asked of one",
                            kChips[0].name));
        // In front of the user's, so that these have the last word.
        options->guest.device_options.insert(options->guest.device_options.begin(), "poison=on");
        return run(*options);
    };
}

}  // namespace lyra::cli
