// SPDX-License-Identifier: MIT
// The group "guest": what is run in which guest, and what is looked at beside the output.
#include "tools/lyra/test/guest.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <sstream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "common/trace_read.h"
#include "gcn-interp/translator/translator.h"
#include "tools/lyra/cli/side_by_side.h"
#include "tools/lyra/guest/checks.h"
#include "tools/lyra/guest/hip_program.h"

namespace lyra::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kGroup = "guest";

/// Compile the programs, two at a time, and add a check for each. The checks keep pointers into scripts.
void add_programs(const std::vector<GuestProgram>& programs, const GuestOptions& options, const WorkDir& work, GuestJob& job,
                  std::vector<GuestCheck>& checks, std::deque<std::string>& scripts) {
    const auto compile = [&](size_t first) {
        for (size_t n = first; n < programs.size(); n += 2)
            compile_hip(source_dir() / programs[n].source, work.path() / programs[n].file, programs[n].options, options);
    };
    {
        Progress progress;
        progress.show(fmt::format("compiling {} programs ...", programs.size()));
        side_by_side({[&] { compile(0); }, [&] { compile(1); }});
    }
    for (const GuestProgram& program : programs) {
        job.files.emplace_back(program.file, work.path() / program.file);
        scripts.push_back(fmt::format("chmod +x {0}; ./{0} {1}", program.file, program.arguments));
        checks.push_back({program.name, scripts.back().c_str(), 0, {"PASSED"}, {"FAILED"}});
    }
}

void test_programs(const GuestOptions& options, Report& report) {
    WorkDir work;
    GuestJob job;
    std::vector<GuestCheck> checks = checks_after_boot();
    std::deque<std::string> scripts;
    add_programs(guest_programs(), options, work, job, checks, scripts);
    checks.insert(checks.end(), checks_at_the_end().begin(), checks_at_the_end().end());
    GuestOptions guest = options;
    guest.device_options.insert(guest.device_options.begin(), kStrict);
    guest.stock_driver = true;  // what the checks say of the driver has to be true of Debian's own file
    guest.snapshot = false;     // and of a boot
    run_checks(guest, kGroup, "boots and loads the driver", checks, job, report);
}

using Digest = std::array<uint64_t, 4>;  ///< PC, EXEC, hashes of SGPRs and VGPRs

/// The lines "wave_saved ..." of the debugger.
std::vector<Digest> dumped_waves(const std::string& output) {
    std::vector<Digest> waves;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        unsigned long pc, exec, sgprs, vgprs;
        if (std::sscanf(line.c_str(), "wave_saved pc %lx exec %lx sgprs %lx vgprs %lx", &pc, &exec, &sgprs, &vgprs) == 4) {
            waves.push_back({pc, exec, sgprs, vgprs});
        }
    }
    return waves;
}

/// What the debugger read in the guest has to be what the interpreter held when it was interrupted, wave for wave.
std::string compare_with_trace(const std::vector<Digest>& dumped, const fs::path& trace) {
    std::vector<TraceRecord> records;
    std::string error;
    if (!read_trace_events(trace.string(), EventId::wave_saved, records, error)) return error;
    std::map<Digest, unsigned> saved;
    for (const TraceRecord& record : records) ++saved[{record.args[2], record.args[3], record.args[4], record.args[5]}];
    std::string why;
    for (const Digest& wave : dumped) {
        auto found = saved.find(wave);
        if (found != saved.end() && found->second-- != 0) continue;
        why += fmt::format("no wave was saved with pc {:#x} exec {:#x} sgprs {:#x} vgprs {:#x}\n", wave[0], wave[1], wave[2],
                           wave[3]);
    }
    return why;
}

/// @param output  of the debugger
void report_registers(const std::string& name, const std::string& output, const fs::path& trace, Report& report) {
    const std::vector<Digest> dumped = dumped_waves(output);
    const std::string why = dumped.empty() ? "the debugger has listed no waves" : compare_with_trace(dumped, trace);
    report.add(kGroup, name, why.empty() ? Verdict::Passed : Verdict::Failed, why);
}

/// Those that the guest's kernel has something for.
std::vector<GuestCheck> checks_of_kernel(const std::vector<GuestCheck>& checks, const std::string& kernel) {
    std::vector<GuestCheck> found;
    for (const GuestCheck& check : checks) {
        const bool too_old = check.since && older_kernel(kernel, check.since);
        const bool too_new = check.before && !older_kernel(kernel, check.before);
        if (!too_old && !too_new) found.push_back(check);
    }
    return found;
}

void test_driver(const GuestOptions& options, Report& report) {
    WorkDir work;
    GuestJob job;
    const std::vector<GuestCheck> checks = checks_of_kernel(checks_of_the_driver(), options.kernel);
    compile_for_guest(job, work, "examples/vector_add.hip", "vector_add", {}, options);
    compile_for_guest(job, work, "tools/lyra/test/testdata/faults.hip", "faults", {}, options);
    compile_for_guest(job, work, "kfdtest-ports/guest/kfd/debug_target.hip", "debug_target", {"-O2"}, options);
    add_driver_programs(job);
    add_timing_program(job);
    GuestOptions guest = options;
    guest.device_options.insert(guest.device_options.begin(), kStrict);
    guest.trace = (work.path() / "trace.pftrace").string();
    const std::string output = run_checks(guest, kGroup, "boots for the driver's own calls", checks, job, report);
    if (older_kernel(options.kernel, "6.12")) return;  // the debugger needs it
    report_registers("a debugger's registers are what the interpreter held", output, guest.trace, report);
}

/// Another chip on the stock driver, without a parameter; what it lacks is in docs/design/chips.md.
GuestOptions guest_with(Chip chip, const GuestOptions& options) {
    GuestOptions guest = options;
    guest.chip = facts_of(chip).name;
    guest.stock_driver = true;
    guest.snapshot = false;
    return guest;
}

/// @param more  puts further files into the job
void test_chip(Chip chip, const std::vector<GuestCheck>& checks, const GuestOptions& options, Report& report,
               const std::function<void(GuestJob&, WorkDir&, const GuestOptions&)>& more = {}) {
    if (older_kernel(options.kernel, "6.12")) return;
    GuestOptions guest = guest_with(chip, options);
    WorkDir work;
    GuestJob job;
    compile_for_guest(job, work, "examples/vector_add.hip", "vector_add", {}, guest);
    compile_for_guest(job, work, "examples/mfma_gemm.hip", "mfma_gemm", {}, guest);
    compile_for_guest(job, work, "kfdtest-ports/guest/kfd/debug_target.hip", "debug_target", {"-O2"}, guest);
    add_driver_programs(job);
    if (more) more(job, work, guest);
    guest.trace = (work.path() / "trace.pftrace").string();
    const std::string output =
        run_checks(guest, kGroup, "boots with " + guest.chip, checks_of_kernel(checks, guest.kernel), job, report);
    report_registers(guest.chip + ": a debugger's registers are what the interpreter held", output, guest.trace, report);
}

void test_gfx90a(const GuestOptions& options, Report& report) { test_chip(Chip::gfx90a, checks_of_gfx90a(), options, report); }

void test_gfx942(const GuestOptions& options, Report& report) {
    test_chip(Chip::gfx942, checks_of_gfx942(), options, report, [](GuestJob& job, WorkDir& work, const GuestOptions& guest) {
        compile_for_guest(job, work, "tools/lyra/test/testdata/xccs.hip", "xccs", {}, guest);
        if (!older_kernel(guest.kernel, "7.2"))
            compile_for_guest(job, work, "examples/page_faults.hip", "page_faults", {}, guest);
        job.files.emplace_back("kfdtest", build_artefact("kfdtest-ports/guest/build_kfdtest.sh", {}) / "kfdtest");
    });
}

void test_eight_xccs(const GuestOptions& options, Report& report) {
    if (older_kernel(options.kernel, "6.12")) return;
    GuestOptions guest = guest_with(Chip::gfx942, options);
    guest.xccs = 8;
    guest.cus = 16;
    WorkDir work;
    GuestJob job;
    compile_for_guest(job, work, "examples/vector_add.hip", "vector_add", {}, guest);
    compile_for_guest(job, work, "tools/lyra/test/testdata/xccs.hip", "xccs", {}, guest);
    add_driver_programs(job);
    run_checks(guest, kGroup, "boots with eight XCCs", checks_of_kernel(checks_of_eight_xccs(), guest.kernel), job, report);
}

/// In virtual time the host makes no gaps of its own. The stock driver unmaps all queues with each update of one.
void test_timing_program(const GuestOptions& options, Report& report) {
    if (older_kernel(options.kernel, "6.12")) return;
    GuestOptions guest = options;
    guest.deterministic = true;
    guest.smp = 1;
    GuestJob job;
    add_timing_program(job);
    const std::vector<GuestCheck> checks = {
        {"in virtual time the timing program finds each gap, no late wave, and the costs of the timing table",
         "chmod +x preempt_timing; ./preempt_timing --quick >timing.jsonl; status=$?; cat timing.jsonl\n"
         // A tick of the guest's clock may fall into one of 20 samples.
         "about() { grep -Eq \"\\\"$1\\\":\\{\\\"n\\\":20,\\\"min\\\":[^,]*,\\\"p50\\\":$2[.,}]\" timing.jsonl || echo \"$1 is "
         "not $2\"; }\n"
         "about register_read_ns '1[0-9]{3}'; about doorbell_write_ns '10[0-9]'; about hdp_flush_write_ns '10[0-9]'\n"
         "about write_then_read_ns '1[0-9]{2}'\n"
         "[ $status = 0 ] && ! grep -q '\"incomplete\":[1-9]' timing.jsonl",
         0,
         {"\"last_wave_stopped_us\":{\"n\":20", "\"late_waves\":0,", "\"latest_us\":-", "\"without\":[]",
          "\"vram_read_ns\":{\"n\":20", "\"vram_write_ns\":{\"n\":20",
          "\"gaps_at_0\":20,\"gaps_at_100\":20,\"gaps_without_call\":0",
          "\"selective_unmap\",\"probed\":false,\"reason\":\"the driver has no kfd_sched",
          "\"runlist_over_live\",\"probed\":false,\"reason\":\"the driver has no kfd_sched"},
         {" is not "},
         600}};
    run_checks(guest, kGroup, "runs in virtual time", checks, job, report);
}

/// A guest is saved in the middle of its work, goes on, and is taken back.
void test_savevm(const GuestOptions& options, Report& report) {
    const Captured result = capture({"python3", (source_dir() / "tools/checks/guest_savevm.py").string(),
                                     own_program().string(), "--kernel", options.kernel},
                                    true);
    report.add(kGroup, "a guest goes back to what was saved while waves ran",
               result.status == 0 ? Verdict::Passed : Verdict::Failed, result.status == 0 ? "" : result.out + result.err);
}

/// Waves of a HIP program on both tiers, beside a guest's processors. A difference ends QEMU, and so the guest.
void test_shadow(const GuestOptions& options, Report& report) {
    constexpr std::string_view kTold = "lyra: shadow mode compared ";
    const std::string name = "reduction in shadow mode: generated code does what the interpreter does";
    if (!gcn::Translator::supported())
        return report.add(kGroup, name, Verdict::Skipped, "not run: this host cannot run generated code");
    WorkDir work;
    const fs::path log = work.path() / "log";
    const Captured result = capture({"env", "LYRA_SHADOW=guest", "LYRA_JIT=eager", own_program().string(), "run", "--kernel",
                                     options.kernel, "--log", log.string(), (source_dir() / "examples/reduction.hip").string()},
                                    true);
    const std::string text = read_text(log);
    const size_t told = text.find(kTold);
    const bool compared = told != std::string::npos && std::strtoull(text.c_str() + told + kTold.size(), nullptr, 10) != 0;
    const bool good = result.status == 0 && result.out.find("PASSED") != std::string::npos && compared;
    report.add(kGroup, name, good ? Verdict::Passed : Verdict::Failed,
               good ? "" : result.out + result.err + (compared ? "" : "no generated code was compared\n") + text);
}

/// One row for each test that pytest names at the end. What it says about those that fail is with the first of them.
void report_tests(const Captured& result, Report& report) {
    std::istringstream lines(result.out);
    bool any_failed = false;
    for (std::string line; std::getline(lines, line);) {
        const bool passed = line.starts_with("PASSED "), failed = line.starts_with("FAILED ") || line.starts_with("ERROR ");
        if (!passed && !failed) continue;
        const size_t begin = line.find(' ') + 1, end = line.find(" - ");
        report.add(kGroup, "device: " + line.substr(begin, end - begin), passed ? Verdict::Passed : Verdict::Failed,
                   passed       ? ""
                   : any_failed ? line
                                : result.out + result.err);
        any_failed |= failed;
    }
    if (result.status != 0 && !any_failed) report.add(kGroup, "tests of the device", Verdict::Failed, result.out + result.err);
}

/// The device in a QEMU without a processor.
void test_interface(Report& report) {
    const fs::path qemu = build_artefact("tools/guest/build_qemu.sh", {}) / "bin/qemu-system-x86_64";
    const Captured result =
        capture({"python3", (source_dir() / "tools/interface/run.py").string(), "--library",
                 (library_dir() / "liblyra.so.1").string(), "--qemu", qemu.string(), "test_device.py", "test_machine.py"},
                true);
    if (result.status == kSkipped) return report.add(kGroup, "tests of the device", Verdict::Skipped, result.out);
    report_tests(result, report);
}

/// The second of two runs goes on from what the first one has saved, and is like one that boots.
void test_saved_machine(const GuestOptions& options, Report& report) {
    const std::vector<std::string> run{own_program().string(), "run", "--times", "--kernel", options.kernel};
    const auto output = [&](std::vector<std::string> more) {
        std::vector<std::string> argv = run;
        argv.insert(argv.end(), more.begin(), more.end());
        return capture(argv, true);
    };
    const std::string program = (source_dir() / "tools/lyra/test/testdata/standard_streams.hip").string();
    std::string why;
    for (const char* word : {"seven", "abort", "a b'c"}) {
        const Captured booted = output({"--no-snapshot", program, word}), went_on = output({program, word});
        if (booted.err.find("kernel boot") == std::string::npos) why += "--no-snapshot did not boot\n";
        if (went_on.err.find("saved machine") == std::string::npos)
            why += "it did not go on from a saved machine\n" + went_on.err;
        if (booted.out != went_on.out || booted.status != went_on.status)
            why += fmt::format("{}: exit status {} and {}\n{}---\n{}", word, booted.status, went_on.status, booted.out,
                               went_on.out);
    }
    report.add(kGroup, "a program in a saved machine does what it does after a boot",
               why.empty() ? Verdict::Passed : Verdict::Failed, why);
    const Captured forks = output({(source_dir() / "examples/multiprocess.hip").string()});
    report.add(kGroup, "a program that forks has a process of its own in a saved machine",
               forks.status == 0 && forks.err.find("saved machine") != std::string::npos ? Verdict::Passed : Verdict::Failed,
               forks.out + forks.err);
}

/// Guests in the host's time, with a process and with several: what the device did is done again without them.
void test_recording(const GuestOptions& options, Report& report) {
    WorkDir work;
    for (const char* name : {"vector_add", "multiprocess"}) {
        const std::string file = (work.path() / name).string();
        const Captured recorded = capture({own_program().string(), "run", "--kernel", options.kernel, "--record", file,
                                           (source_dir() / "examples" / (std::string(name) + ".hip")).string()},
                                          true);
        const Captured replayed = capture({own_program().string(), "replay", "--check", "--json", file}, true);
        const auto again = nlohmann::json::parse(replayed.out, nullptr, false);
        std::string why = recorded.status != 0 || recorded.out.find("PASSED") == std::string::npos ? "not recorded\n" : "";
        if (replayed.status != 0 || again.is_discarded())
            why += "not replayed\n";
        else if (again["device"]["time"] != "host" || again["instructions"] == 0 ||
                 recorded.err.find("trace hash " + again["trace_hash"].get<std::string>()) == std::string::npos)
            why += "another trace\n";
        report.add(kGroup, fmt::format("{} in the host's time is recorded, and replayed to the same trace", name),
                   why.empty() ? Verdict::Passed : Verdict::Failed,
                   why.empty() ? why : why + recorded.out + recorded.err + replayed.out + replayed.err);
    }
}

}  // namespace

void test_packages(const GuestOptions& options, Report& report) {
    GuestOptions guest = options;
    guest.release = kPackagesRelease;
    guest.packages = example_packages();
    guest.snapshot = false;  // no other guest would go on from it
    WorkDir work;
    GuestJob job;
    std::vector<GuestCheck> checks = {
        {"clinfo lists the device", "clinfo", 0, {"AMD Accelerated Parallel Processing", "gfx900"}, {}},
    };
    std::deque<std::string> scripts;
    add_programs(package_programs(), guest, work, job, checks, scripts);
    run_checks(guest, "packages", "boots with the packages", checks, job, report);
}

void test_guest(const GuestOptions& options, Report& report) {
    test_interface(report);
    test_programs(options, report);
    test_driver(options, report);
    test_gfx90a(options, report);
    test_gfx942(options, report);
    test_eight_xccs(options, report);
    // Virtual time does not depend on what the host does besides.
    report.side_by_side(
        [&] {
            test_timing_program(options, report);
            test_savevm(options, report);
            test_shadow(options, report);
        },
        [&] {
            test_saved_machine(options, report);
            test_recording(options, report);
        });
}

}  // namespace lyra::cli
