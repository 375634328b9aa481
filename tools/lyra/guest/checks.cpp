// SPDX-License-Identifier: MIT
// Runs checks in a guest and judges what they print.
#include "tools/lyra/guest/checks.h"

#include <string_view>

#include "tools/lyra/guest/hip_program.h"

namespace lyra::cli {

namespace {

/// What the job of a guest prints for each check: a line "@@ STATUS BYTES", then the output of the check. One that takes too
/// long also has where each process, and each thread of the kernel that sleeps uninterruptibly, was in the kernel just before.
constexpr const char* kRunChecks =
    "#!/bin/bash\n"
    "mkfifo never\n"
    // HIP compiles the same kernels of its own in each process, which takes ten of twelve seconds of a short program.
    "mkdir -m 1777 comgr_cache\n"
    "export LYRA_COMGR_CACHE=$PWD/comgr_cache LD_PRELOAD=/usr/lib/lyra/comgr_cache.so\n"
    "stacks() {\n"
    "    for thread in /proc/[0-9]*/task/*; do\n"
    "        words=$(tr '\\0' ' ' <\"$thread/cmdline\")\n"
    "        [ -n \"$words\" ] || grep -q '^State:.D' \"$thread/status\" || continue\n"
    "        echo \"$thread: $(cat \"$thread/comm\") $words\"\n"
    "        cat \"$thread/stack\"\n"
    "    done 2>/dev/null\n"
    "}\n"
    "for n in $(seq 1 COUNT); do\n"
    "    limit=$(cat check$n.limit)\n"
    "    rm -f stacks.txt\n"
    "    { read -r -t \"$limit\" <>never; stacks >stacks.txt; } &\n"
    "    watcher=$!\n"
    "    timeout -k 5 $((limit + 2)) bash ./check$n >out.txt 2>&1 </dev/null\n"
    "    status=$?\n"
    "    { kill $watcher; wait $watcher; } 2>/dev/null\n"
    "    case $status in 124 | 137) [ ! -f stacks.txt ] || cat stacks.txt >>out.txt ;; esac\n"
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
    CheckReader(const char* group, const std::vector<GuestCheck>& checks, Report& report)
        : group_(group), checks_(checks), report_(report) {}
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
            report_.add(group_, checks_[next_].name, why.empty() ? Verdict::Passed : Verdict::Failed, why);
            all_ += out;
            buffer_.erase(0, line + 1 + length);
            ++next_;
        }
    }
    void finish(const std::string& why) {
        for (bool first = true; next_ < checks_.size(); ++next_, first = false) {
            report_.add(group_, checks_[next_].name, Verdict::Failed, first ? why : "not reached");
        }
    }
    /// What all checks have printed.
    const std::string& output() const { return all_; }

private:
    const char* group_;
    const std::vector<GuestCheck>& checks_;
    Report& report_;
    std::string buffer_, all_;
    size_t next_ = 0;
};

/// QEMU without the memory of the guest and of the GPU: its code, what it has translated, the device.
void check_memory(const GuestResult& result, unsigned smp, const char* group, const std::string& name, Report& report) {
    constexpr uint64_t kMegabyte = 1'000'000;
    // Each processor has a TLB of its own. Programs of libraries fill the caches of code: those of the interpreter, and the
    // translator's, 64 MiB (Translator::Options::code_bytes), with what that was generated from.
    const uint64_t of_processors = smp > 2 ? 25 * (smp - 2) : 0, of_code = std::string_view(group) == "libraries" ? 240 : 0;
    const uint64_t allowance = (280 + of_processors + of_code) * kMegabyte;
    const std::string row = fmt::format("memory of QEMU beside the guest's and the GPU's: {}", name);
    if (result.host_bytes == 0)
        return report.add(group, row, Verdict::Failed, "it is not known: no mapping has the size of one of them");
    const std::string amount = fmt::format("{} MB of {} MB", result.host_bytes / kMegabyte, allowance / kMegabyte);
    report.add(group, row + ", " + amount, result.host_bytes <= allowance ? Verdict::Passed : Verdict::Failed);
}

}  // namespace

std::string run_checks(const GuestOptions& options, const char* group, const std::string& name,
                       const std::vector<GuestCheck>& checks, GuestJob job, Report& report) {
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
    CheckReader reader(group, checks, report);
    const auto out = [&](const char* data, size_t bytes) { reader.feed(data, bytes); };
    const GuestResult result = guest.run(job, out, [](const char* data, size_t n) { std::fwrite(data, 1, n, stderr); });
    if (result.end == GuestResult::End::Interrupted) throw Interrupted();
    const bool good = result.end == GuestResult::End::Finished && result.errors.empty() && result.splat.empty();
    std::string why = good ? "" : fmt::format("boot log: {}\n{}", result.log.string(), result.splat);
    for (const std::string& error : result.errors) why = fmt::format("guest: {}\n{}", error, why);
    reader.finish(result.end == GuestResult::End::TimedOut ? "the guest took too long\n" + why
                                                           : "the guest ended before\n" + why);
    report.add(group, name, good ? Verdict::Passed : Verdict::Failed, why);
    // How much QEMU has is not looked at while a guest runs in virtual time.
    if (!guest_options.deterministic) check_memory(result, guest_options.smp, group, name, report);
    return reader.output();
}

void compile_for_guest(GuestJob& job, const WorkDir& work, const char* source, const char* file,
                       const std::vector<std::string>& options, const GuestOptions& guest) {
    Progress progress;
    progress.show(fmt::format("compiling {} ...", source));
    compile_hip(source_dir() / source, work.path() / file, options, guest);
    job.files.emplace_back(file, work.path() / file);
}

void add_driver_programs(GuestJob& job) {
    for (const auto& entry : std::filesystem::directory_iterator(build_artefact("kfdtest-ports/guest/build_programs.sh", {}))) {
        job.files.emplace_back(entry.path().filename().string(), entry.path());
    }
}

void add_timing_program(GuestJob& job) {
    job.files.emplace_back("preempt_timing", build_artefact("kfdtest-ports/guest/build_kfdtest.sh", {}) / "preempt_timing");
}

}  // namespace lyra::cli
