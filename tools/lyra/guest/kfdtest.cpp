// SPDX-License-Identifier: MIT
// Builds kfdtest, runs its cases in guests and judges what they print.
#include "tools/lyra/guest/kfdtest.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "tools/lyra/cli/artefact.h"
#include "tools/lyra/cli/side_by_side.h"
#include "tools/lyra/guest/kernel_log.h"

namespace lyra::cli {

namespace fs = std::filesystem;

namespace {

/// Guests for one run; more of them dying means that nothing will work.
constexpr unsigned kMaxGuests = 8;
/// kfdtest's own patience with the device, in ms. Its default of 60 s is for hardware.
constexpr unsigned kDeviceTimeoutMs = 120000;
/// Shortest time limit of a slow case, in seconds.
constexpr unsigned kSlowWatchdogS = 3000;

// Each case prints "@@ STATUS BYTES KERNEL EVIDENCE", then its output, what the kernel said meanwhile, and what was seen of it:
// the device's counters before and after (CounterWindow), and what evidence.cpp counted. SignalEventExt waits for one whole
// time-out on purpose, KFDHWSTest for a bit more than one. A case that had to be killed may leave a wedged GPU: the guest ends.
constexpr const char* kScript =
    "export HSA_DEBUG=1 LYRA_EVIDENCE=$PWD/evidence.txt\n"
    "chmod +x kfdtest\n"
    "mount -t debugfs none /sys/kernel/debug 2>/dev/null\n"
    "regs=$(echo /sys/kernel/debug/dri/*/amdgpu_regs | cut -d' ' -f1)\n"
    "counters() { dd if=$regs bs=256 skip=$((0x7fe00 / 256)) count=1 2>/dev/null | od -A n -v -t u4 | tr -s '\\n ' ' '; }\n"
    "seen=$(dmesg | wc -l)\n"
    "while read -r limit name; do\n"
    "    case $name in\n"
    "    KFDEventTest.SignalEventExt) patience=3000 ;;\n"
    "    KFDHWSTest.*) patience=30000 ;;\n"
    "    *) patience=DEVICE_TIMEOUT ;;\n"
    "    esac\n"
    "    echo \"before $(counters)\" >evidence.txt\n"
    "    timeout -s KILL \"$limit\" ./kfdtest --gtest_filter=\"$name\" --timeout=$patience >out.txt 2>&1 </dev/null\n"
    "    status=$?\n"
    "    echo \"after $(counters)\" >>evidence.txt\n"
    "    tail -c 100000 out.txt >end.txt\n"
    "    dmesg | tail -n +$((seen + 1)) >kernel.txt\n"
    "    seen=$((seen + $(wc -l <kernel.txt)))\n"
    "    truncate -s '<30000' kernel.txt\n"
    "    echo \"@@ $status $(stat -c %s end.txt) $(stat -c %s kernel.txt) $(stat -c %s evidence.txt)\"\n"
    "    cat end.txt kernel.txt evidence.txt\n"
    "    [ $status = 137 ] && exit\n"
    "done <cases\n";

std::string with(std::string text, const std::string& word, unsigned value) {
    text.replace(text.find(word), word.size(), std::to_string(value));
    return text;
}

/// Reads the guest's stream, in which the control case is the first, and reports each other case once it is complete.
class Reader {
public:
    Reader(const std::vector<KfdtestCase>& cases, size_t first, const std::function<void(const KfdtestResult&)>& done)
        : cases_(cases), next_(first), done_(done) {}

    void feed(const char* data, size_t bytes) {
        buffer_.append(data, bytes);
        while (next_ < cases_.size()) {
            const size_t line = buffer_.find('\n');
            int status = 0;
            std::array<size_t, 3> length{};
            if (line == std::string::npos) return;
            if (std::sscanf(buffer_.c_str(), "@@ %d %zu %zu %zu", &status, &length[0], &length[1], &length[2]) != 4) return;
            if (buffer_.size() < line + 1 + length[0] + length[1] + length[2]) return;
            std::array<std::string, 3> parts;
            size_t at = line + 1;
            for (size_t i = 0; i < parts.size(); at += length[i++]) parts[i] = buffer_.substr(at, length[i]);
            buffer_.erase(0, at);
            take(status, parts[0], parts[1], read_evidence(parts[2]));
        }
    }
    void finish(KfdtestOutcome outcome, const std::string& output, const KfdtestEvidence& evidence = {},
                const std::vector<std::string>& missing = {}) {
        const auto now = std::chrono::steady_clock::now();
        const double seconds = std::chrono::duration<double>(now - last_).count();
        KfdtestResult result{cases_[next_++], outcome, seconds, output, evidence, missing};
        last_ = now;
        failed_ = failed_ || outcome == KfdtestOutcome::Failed;
        done_(result);
    }
    size_t next() const { return next_; }
    bool failed() const { return failed_; }

private:
    void take(int status, const std::string& output, const std::string& kernel, const KfdtestEvidence& seen) {
        if (!control_) {
            control_ = seen;
            last_ = std::chrono::steady_clock::now();
            failed_ = judge_kfdtest({kControlCase, "-", "pass"}, status, output, {}) != KfdtestOutcome::Passed;
            if (failed_)
                done_({{kControlCase, "-", "pass"}, KfdtestOutcome::Failed, 0, output + "--- the kernel ---\n" + kernel});
            return;
        }
        const KfdtestCase& test = cases_[next_];
        const std::vector<std::string> missing = missing_evidence(test, seen, *control_);
        KfdtestOutcome outcome = judge_kfdtest(test, status, output, missing);
        std::string text = output + (status == 137 ? "\nkilled by the watchdog\n" : "");
        if (!kernel_complaint(test.name, kernel).empty()) outcome = KfdtestOutcome::Failed;
        if (outcome == KfdtestOutcome::Failed && !kernel.empty()) text += "--- the kernel ---\n" + kernel;
        finish(outcome, text, seen, missing);
    }

    bool failed_ = false;
    const std::vector<KfdtestCase>& cases_;
    size_t next_;
    const std::function<void(const KfdtestResult&)>& done_;
    std::string buffer_;
    std::optional<KfdtestEvidence> control_;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

namespace {
fs::path kfdtest_table(const std::string& kernel, const std::string& chip) {
    return source_dir() / "kfdtest-ports/expectations" / fmt::format("{}-{}.tsv", chip, kernel);
}
}  // namespace

bool has_kfdtest_table(const std::string& kernel, const std::string& chip) { return fs::exists(kfdtest_table(kernel, chip)); }

std::vector<KfdtestCase> read_kfdtest_cases(const std::string& kernel, const std::string& chip) {
    const fs::path file = kfdtest_table(kernel, chip);
    if (!fs::exists(file))
        throw UserError(fmt::format("there is no table of kfdtest cases for {} and kernel {}", chip, kernel));
    try {
        return parse_kfdtest_cases(read_text(file));
    } catch (const std::runtime_error& error) {
        throw UserError(fmt::format("{}: {}", file.string(), error.what()));
    }
}

std::string KfdtestResult::reason() const {
    if (outcome == KfdtestOutcome::Vacuous && test.has_to_pass())
        return missing.empty() ? "kfdtest says that it skips" : fmt::format("not seen: {}", fmt::join(missing, ", "));
    return test.reason;
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
        else if (key == "virtual")
            options.deterministic = true, options.smp = 1;
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
        std::string names = fmt::format("{} {}\n", watchdog_s, kControlCase);
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
            done({{"KernelLog.HasNoSplat", "-", "pass"}, KfdtestOutcome::Failed, 0, result.splat});
        }
        next = reader.next();
    }
}

/// The same in several guests at a time, the cases dealt out among them.
void run_shares(const GuestOptions& options, const fs::path& program, const std::vector<KfdtestCase>& cases,
                unsigned watchdog_s, unsigned guests, const std::function<void(const KfdtestResult&)>& done,
                const std::string& before) {
    std::vector<std::vector<KfdtestCase>> shares(std::min<size_t>(guests, cases.size()));
    for (size_t n = 0; n < cases.size(); ++n) shares[n % shares.size()].push_back(cases[n]);
    std::mutex lock;
    const auto one_at_a_time = [&](const KfdtestResult& result) {
        const std::lock_guard guard(lock);
        done(result);
    };
    std::vector<std::function<void()>> tasks;
    tasks.reserve(shares.size());
    for (const std::vector<KfdtestCase>& share : shares)
        tasks.emplace_back([&] { run_in_one_kind(options, program, share, watchdog_s, one_at_a_time, before); });
    side_by_side(tasks);
}

}  // namespace

void run_kfdtest(const GuestOptions& options, const std::vector<KfdtestCase>& cases, unsigned watchdog_s,
                 const std::function<void(const KfdtestResult&)>& done, const std::string& before, unsigned parallel) {
    const fs::path program = build_artefact("kfdtest-ports/guest/build_kfdtest.sh", {"--release", options.release}) / "kfdtest";
    std::map<std::string, std::vector<KfdtestCase>> kinds;
    for (const KfdtestCase& test : cases) kinds[test.guest].push_back(test);
    for (const auto& [needs, group] : kinds)
        run_shares(guest_for(options, needs), program, group, watchdog_s, parallel, done, before);
}

}  // namespace lyra::cli
