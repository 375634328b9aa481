// SPDX-License-Identifier: MIT
// What `lyra test` has found out: one line for each test, totals, JSON, and how long it took.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/lyra/cli/side_by_side.h"

namespace lyra::cli {

enum class Verdict { Passed, Failed, Skipped };

struct Outcome {
    std::string group, name;
    Verdict verdict;
    std::string detail;   ///< why it failed or was skipped
    double seconds = 0;   ///< of the host
};

/// Of what a program has printed.
inline std::string last_line(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text.substr(text.rfind('\n') + 1);
}

/// Collects and prints outcomes as they come, from any thread.
class Report {
public:
    /// @param times         each line says how long the test took
    /// @param one_at_a_time  guests that would write the same file, for one
    Report(bool quiet, bool times, bool one_at_a_time) : quiet_(quiet), times_(times), one_at_a_time_(one_at_a_time) {
        last().lap();
    }
    /// @param seconds  what it took, if that is not the time since the outcome before: what many tests need is made with the
    ///                 first of them
    void add(const std::string& group, const std::string& name, Verdict verdict, const std::string& detail = "",
             std::optional<double> seconds = {}) {
        const double since_last = last().lap();
        const std::lock_guard guard(lock_);
        outcomes_.push_back({group, name, verdict, detail, seconds.value_or(since_last)});
        ++counts_[static_cast<size_t>(verdict)];
        if (quiet_) return;
        const std::string time = times_ ? fmt::format(" ({:.1f} s)", outcomes_.back().seconds) : "";
        fmt::print("{:<8} {}: {}{}\n", word(verdict), group, name, time);
        if (verdict != Verdict::Passed && !detail.empty()) fmt::print("{}\n", indented(detail));
        std::fflush(stdout);
    }
    /// A group of tests has ended, which began with the program or when the one before ended.
    void end_group(const std::string& name) {
        groups_.emplace_back(name, group_.lap());
        last().lap();
    }
    unsigned guests_at_a_time() const { return one_at_a_time_ ? 1 : 2; }
    /// Two tests of which neither disturbs the other, at the same time.
    void side_by_side(const std::function<void()>& one, const std::function<void()>& other) {
        const auto timed = [](const std::function<void()>& test) {
            return [&test] {
                last().lap();
                test();
            };
        };
        if (one_at_a_time_) {
            one();
            other();
        } else {
            cli::side_by_side({timed(one), timed(other)});
        }
        last().lap();
    }
    /// What each group took, as lines.
    std::string group_times() const {
        std::string text;
        for (const auto& [name, seconds] : groups_) text += fmt::format("{:9.1f} s  {}\n", seconds, name);
        return text;
    }
    unsigned count(Verdict verdict) const { return counts_[static_cast<size_t>(verdict)]; }
    std::string totals() const { return fmt::format("{} passed, {} failed, {} skipped", counts_[0], counts_[1], counts_[2]); }
    nlohmann::json json() const {
        nlohmann::json result{{"passed", counts_[0]}, {"failed", counts_[1]}, {"skipped", counts_[2]}};
        for (const Outcome& each : outcomes_) {
            result["tests"].push_back({{"group", each.group},
                                       {"name", each.name},
                                       {"result", word(each.verdict)},
                                       {"detail", each.detail},
                                       {"seconds", each.seconds}});
        }
        for (const auto& [name, seconds] : groups_) result["groups"].push_back({{"name", name}, {"seconds", seconds}});
        return result;
    }

private:
    class Clock {
    public:
        /// Seconds since the last call, or since it was made.
        double lap() {
            const auto now = std::chrono::steady_clock::now();
            return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
        }

    private:
        std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    };
    /// When this thread's last outcome was there.
    static Clock& last() {
        static thread_local Clock clock;
        return clock;
    }
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
    bool quiet_, times_, one_at_a_time_;
    unsigned counts_[3] = {};
    std::vector<Outcome> outcomes_;
    std::vector<std::pair<std::string, double>> groups_;
    Clock group_;
    std::mutex lock_;
};

}  // namespace lyra::cli
