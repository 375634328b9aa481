// SPDX-License-Identifier: MIT
// Builds kfdtest, runs its cases in guests and judges what they print.
#include "tools/lyra/kfdtest.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <sstream>

#include "tools/lyra/artefact.h"
#include "tools/lyra/kernel_log.h"

namespace lyra::cli {

namespace fs = std::filesystem;

namespace {

/// Guests for one run; more of them dying means that nothing will work.
constexpr unsigned kMaxGuests = 8;
/// kfdtest's own patience with the device, in ms. Its default of 60 s is for hardware.
constexpr unsigned kDeviceTimeoutMs = 120000;
/// Shortest time limit of a slow case, in seconds.
constexpr unsigned kSlowWatchdogS = 3000;

// Each case prints "@@ STATUS BYTES KERNEL", then its output and what the kernel said meanwhile. SignalEventExt waits for one
// whole time-out on purpose, KFDHWSTest for a bit more than one. A case that had to be killed may leave a wedged GPU: the guest
// ends.
constexpr const char* kScript =
    "export HSA_DEBUG=1\n"
    "chmod +x kfdtest\n"
    "seen=$(dmesg | wc -l)\n"
    "while read -r limit name; do\n"
    "    case $name in\n"
    "    KFDEventTest.SignalEventExt) patience=3000 ;;\n"
    "    KFDHWSTest.*) patience=30000 ;;\n"
    "    *) patience=DEVICE_TIMEOUT ;;\n"
    "    esac\n"
    "    timeout -s KILL \"$limit\" ./kfdtest --gtest_filter=\"$name\" --timeout=$patience >out.txt 2>&1 </dev/null\n"
    "    status=$?\n"
    "    tail -c 100000 out.txt >end.txt\n"
    "    dmesg | tail -n +$((seen + 1)) >kernel.txt\n"
    "    seen=$((seen + $(wc -l <kernel.txt)))\n"
    "    truncate -s '<30000' kernel.txt\n"
    "    echo \"@@ $status $(stat -c %s end.txt) $(stat -c %s kernel.txt)\"\n"
    "    cat end.txt kernel.txt\n"
    "    [ $status = 137 ] && exit\n"
    "done <cases\n";

std::string with(std::string text, const std::string& word, unsigned value) {
    text.replace(text.find(word), word.size(), std::to_string(value));
    return text;
}

KfdtestOutcome judge(int status, const std::string& output) {
    if (status != 0 || output.find("[  PASSED  ] 1 test") == std::string::npos) return KfdtestOutcome::Failed;
    return is_vacuous(output) ? KfdtestOutcome::Vacuous : KfdtestOutcome::Passed;
}

/// Reads the guest's stream and reports each case once it is complete.
class Reader {
public:
    Reader(const std::vector<KfdtestCase>& cases, size_t first, const std::function<void(const KfdtestResult&)>& done)
        : cases_(cases), next_(first), done_(done) {}

    void feed(const char* data, size_t bytes) {
        buffer_.append(data, bytes);
        while (next_ < cases_.size()) {
            const size_t line = buffer_.find('\n');
            int status = 0;
            size_t length = 0, kernel_length = 0;
            if (line == std::string::npos) return;
            if (std::sscanf(buffer_.c_str(), "@@ %d %zu %zu", &status, &length, &kernel_length) != 3) return;
            if (buffer_.size() < line + 1 + length + kernel_length) return;
            const std::string output = buffer_.substr(line + 1, length);
            const std::string kernel = buffer_.substr(line + 1 + length, kernel_length);
            buffer_.erase(0, line + 1 + length + kernel_length);
            KfdtestOutcome outcome = judge(status, output);
            // Some return early without a word.
            if (outcome == KfdtestOutcome::Passed && cases_[next_].expectation == "vacuous") outcome = KfdtestOutcome::Vacuous;
            std::string text = output + (status == 137 ? "\nkilled by the watchdog\n" : "");
            if (!kernel_complaint(cases_[next_].name, kernel).empty()) outcome = KfdtestOutcome::Failed;
            if (outcome == KfdtestOutcome::Failed && !kernel.empty()) text += "--- the kernel ---\n" + kernel;
            finish(outcome, text);
        }
    }
    void finish(KfdtestOutcome outcome, const std::string& output) {
        const auto now = std::chrono::steady_clock::now();
        KfdtestResult result{cases_[next_++], outcome, std::chrono::duration<double>(now - last_).count(), output};
        last_ = now;
        failed_ = failed_ || outcome == KfdtestOutcome::Failed;
        done_(result);
    }
    size_t next() const { return next_; }
    bool failed() const { return failed_; }

private:
    bool failed_ = false;
    const std::vector<KfdtestCase>& cases_;
    size_t next_;
    const std::function<void(const KfdtestResult&)>& done_;
    std::string buffer_;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

std::vector<KfdtestCase> read_kfdtest_cases(const std::string& kernel) {
    const fs::path file = source_dir() / "kfdtest-ports/expectations" / fmt::format("gfx900-{}.tsv", kernel);
    if (!fs::exists(file)) throw UserError(fmt::format("there is no table of kfdtest cases for kernel {}", kernel));
    std::vector<KfdtestCase> cases;
    std::istringstream lines(read_text(file));
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] == '#') continue;
        std::istringstream columns(line);
        KfdtestCase row;
        std::getline(columns, row.name, '\t');
        std::getline(columns, row.step, '\t');
        std::getline(columns, row.expectation, '\t');
        std::string pace;
        std::getline(columns, pace, '\t');
        row.slow = pace == "slow";
        std::getline(columns, row.guest, '\t');
        if (row.guest == "-") row.guest.clear();
        std::getline(columns, row.reason, '\t');
        cases.push_back(row);
    }
    return cases;
}

namespace {

bool matches_pattern(const char* name, const char* pattern) {
    if (*pattern == '\0') return *name == '\0';
    if (*pattern == '*') return matches_pattern(name, pattern + 1) || (*name && matches_pattern(name + 1, pattern));
    return *name && (*pattern == '?' || *pattern == *name) && matches_pattern(name + 1, pattern + 1);
}

bool matches_any(const std::string& name, const std::string& patterns) {
    std::istringstream list(patterns);
    for (std::string pattern; std::getline(list, pattern, ':');) {
        if (matches_pattern(name.c_str(), pattern.c_str())) return true;
    }
    return false;
}

}  // namespace

bool matches_filter(const std::string& name, const std::string& filter) {
    const size_t dash = filter.find('-');
    const std::string wanted = filter.substr(0, dash), unwanted = dash == std::string::npos ? "" : filter.substr(dash + 1);
    return (wanted.empty() || matches_any(name, wanted)) && !matches_any(name, unwanted);
}

bool is_vacuous(const std::string& output) {
    constexpr const char* kSigns[] = {"Skipping test",      "Skip test",
                                      "skipping the test",  "Test is skipped",
                                      "not supported",      "isn't supported in KFD",
                                      "not present in KFD", "Not testing local memory",
                                      "Not dGPU path",      "Not enough system memory"};
    for (const char* sign : kSigns) {
        if (output.find(sign) != std::string::npos) return true;
    }
    return false;
}

namespace {

GuestOptions guest_for(GuestOptions options, const std::string& needs) {
    std::istringstream list(needs);
    for (std::string need; std::getline(list, need, ',');) {
        const size_t equals = need.find('=');
        const std::string key = need.substr(0, equals), value = equals == std::string::npos ? "" : need.substr(equals + 1);
        if (key == "mem")
            options.mem = value;
        else if (key == "vram")
            options.vram = value;
        else if (key == "cus")
            options.cus = static_cast<unsigned>(std::stoul(value));
        else if (key == "noretry")
            options.kernel_words.push_back("amdgpu." + need);
        else
            throw UserError(fmt::format("table of kfdtest cases: a guest with {}", need));
    }
    return options;
}

void run_in_one_kind(const GuestOptions& options, const fs::path& program, const std::vector<KfdtestCase>& cases,
                     unsigned watchdog_s, const std::function<void(const KfdtestResult&)>& done, const std::string& before) {
    GuestMachine guest(options);
    guest.prepare();
    size_t next = 0;
    for (unsigned guests = 0; next < cases.size(); ++guests) {
        Reader reader(cases, next, done);
        if (guests == kMaxGuests) {
            while (reader.next() < cases.size())
                reader.finish(KfdtestOutcome::Failed, "not reached: too many guests ended early\n");
            return;
        }
        WorkDir work;
        std::string names;
        for (size_t i = next; i < cases.size(); ++i) {
            names += fmt::format("{} {}\n", cases[i].slow ? std::max(watchdog_s, kSlowWatchdogS) : watchdog_s, cases[i].name);
        }
        write_text(work.path() / "cases", names);
        GuestJob job{{{"kfdtest", program}, {"cases", work.path() / "cases"}},
                     "#!/bin/bash\n" + before + with(kScript, "DEVICE_TIMEOUT", kDeviceTimeoutMs)};
        const GuestResult result =
            guest.run(job, [&](const char* data, size_t bytes) { reader.feed(data, bytes); }, [](const char*, size_t) {});
        if (result.end == GuestResult::End::Interrupted) throw Interrupted();
        report_trace(result);
        const bool on_purpose = result.end == GuestResult::End::Finished && reader.next() > next;
        if (reader.next() < cases.size() && !on_purpose) {
            const char* why = result.end == GuestResult::End::TimedOut ? "the guest took too long" : "the guest ended here";
            reader.finish(KfdtestOutcome::Failed, fmt::format("{}; boot log: {}\n{}", why, result.log.string(), result.splat));
        } else if (!result.splat.empty() && !reader.failed()) {
            // Before the first case, or when the job had ended.
            done({{"KernelLog.HasNoSplat", "-", "pass", false, "", ""}, KfdtestOutcome::Failed, 0, result.splat});
        }
        next = reader.next();
    }
}

}  // namespace

void run_kfdtest(const GuestOptions& options, const std::vector<KfdtestCase>& cases, unsigned watchdog_s,
                 const std::function<void(const KfdtestResult&)>& done, const std::string& before) {
    const fs::path program = build_artefact("kfdtest-ports/guest/build_kfdtest.sh", {"--release", options.release}) / "kfdtest";
    std::map<std::string, std::vector<KfdtestCase>> kinds;
    for (const KfdtestCase& test : cases) kinds[test.guest].push_back(test);
    for (const auto& [needs, group] : kinds)
        run_in_one_kind(guest_for(options, needs), program, group, watchdog_s, done, before);
}

}  // namespace lyra::cli
