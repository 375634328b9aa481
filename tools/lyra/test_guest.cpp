// SPDX-License-Identifier: MIT
// Runs the checks of test_checks.cpp in guests and judges what they print.
#include "tools/lyra/test_guest.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "common/trace_read.h"
#include "tools/lyra/hip_program.h"
#include "tools/lyra/test_checks.h"

namespace lyra::cli {

namespace {

namespace fs = std::filesystem;

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

/// Reads the guest's stream while it comes and reports each check once it is complete.
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
            const std::string out = buffer_.substr(line + 1, length);
            const std::string why = judge(checks_[next_], status, out);
            report_.add("guest", checks_[next_].name, why.empty() ? Verdict::Passed : Verdict::Failed, why);
            all_ += out;
            buffer_.erase(0, line + 1 + length);
            ++next_;
        }
    }
    void finish(const std::string& why) {
        for (bool first = true; next_ < checks_.size(); ++next_, first = false) {
            report_.add("guest", checks_[next_].name, Verdict::Failed, first ? why : "not reached");
        }
    }
    /// What all checks have printed.
    const std::string& output() const { return all_; }

private:
    const std::vector<GuestCheck>& checks_;
    Report& report_;
    std::string buffer_, all_;
    size_t next_ = 0;
};

/// One guest for all checks. @return what they have printed
std::string run_checks(const GuestOptions& options, const std::string& name, const std::vector<GuestCheck>& checks, GuestJob job,
                       Report& report) {
    WorkDir work;
    double limit = 120;
    for (size_t i = 0; i < checks.size(); ++i) {
        const std::string file = fmt::format("check{}", i + 1);
        write_text(work.path() / file, checks[i].script + std::string("\n"));
        write_text(work.path() / (file + ".limit"), std::to_string(checks[i].timeout_s));
        for (const std::string& each : {file, file + ".limit"}) job.files.emplace_back(each, work.path() / each);
        limit += checks[i].timeout_s;
    }
    job.run = kRunChecks;
    job.run.replace(job.run.find("COUNT"), 5, std::to_string(checks.size()));

    GuestOptions guest_options = options;
    if (guest_options.timeout_s == 0) guest_options.timeout_s = limit;
    GuestMachine guest(guest_options);
    Progress progress;
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
    report.add("guest", name, good ? Verdict::Passed : Verdict::Failed, why);
    return reader.output();
}

/// Compiled beside the checks, so that they can be named in them.
void compile_for_guest(GuestJob& job, const WorkDir& work, const char* source, const char* file, const std::vector<std::string>& options) {
    Progress progress;
    progress.show(fmt::format("compiling {} ...", source));
    compile_hip(source_dir() / source, work.path() / file, options);
    job.files.emplace_back(file, work.path() / file);
}

void test_programs(const GuestOptions& options, Report& report) {
    WorkDir work;
    GuestJob job;
    std::vector<GuestCheck> checks = checks_after_boot();
    std::vector<std::string> scripts;  // checks keep pointers into them
    scripts.reserve(guest_programs().size());
    for (const GuestProgram& program : guest_programs()) {
        compile_for_guest(job, work, program.source, program.file, program.options);
        scripts.push_back(fmt::format("chmod +x {0}; ./{0} {1}", program.file, program.arguments));
        checks.push_back({program.name, scripts.back().c_str(), 0, {"PASSED"}, {"FAILED"}});
    }
    checks.insert(checks.end(), checks_at_the_end().begin(), checks_at_the_end().end());
    GuestOptions guest = options;
    guest.stock_driver = true;  // what the checks say of the driver has to be true of Debian's own file
    run_checks(guest, "boots and loads the driver", checks, job, report);
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
        why += fmt::format("no wave was saved with pc {:#x} exec {:#x} sgprs {:#x} vgprs {:#x}\n", wave[0], wave[1], wave[2], wave[3]);
    }
    return why;
}

void test_driver(const GuestOptions& options, Report& report) {
    WorkDir work;
    GuestJob job;
    std::vector<GuestCheck> checks;
    for (const GuestCheck& check : checks_of_the_driver()) {
        if (!check.kernel || options.kernel == check.kernel) checks.push_back(check);
    }
    compile_for_guest(job, work, "examples/vector_add.hip", "vector_add", {});
    compile_for_guest(job, work, "tools/lyra/testdata/faults.hip", "faults", {});
    compile_for_guest(job, work, "kfdtest-ports/guest/kfd/debug_target.hip", "debug_target", {"-O2"});
    const Captured built = capture({(source_dir() / "kfdtest-ports/guest/build_programs.sh").string(), "--cache", cache_dir().string()}, false);
    if (interrupted) throw Interrupted();
    if (built.status != 0) throw EnvironmentError("kfdtest-ports/guest/build_programs.sh failed");
    const std::string folder = built.out.substr(0, built.out.find_last_not_of('\n') + 1);
    for (const auto& entry : fs::directory_iterator(folder.substr(folder.rfind('\n') + 1))) {
        job.files.emplace_back(entry.path().filename().string(), entry.path());
    }
    GuestOptions guest = options;
    guest.trace = (work.path() / "trace.pftrace").string();
    const std::string output = run_checks(guest, "boots for the driver's own calls", checks, job, report);
    if (options.kernel != "6.12") return;  // the debugger needs it
    const std::vector<Digest> dumped = dumped_waves(output);
    std::string why = dumped.empty() ? "the debugger has listed no waves" : compare_with_trace(dumped, guest.trace);
    report.add("guest", "a debugger's registers are what the interpreter held", why.empty() ? Verdict::Passed : Verdict::Failed, why);
}

}  // namespace

void test_guest(const GuestOptions& options, Report& report) {
    test_programs(options, report);
    test_driver(options, report);
}

}  // namespace lyra::cli
