// SPDX-License-Identifier: MIT
// What `lyra test` has found out: one line for each test, totals, JSON, and how long it took.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lyra::cli {

enum class Verdict { Passed, Failed, Skipped };

struct Outcome {
    std::string group, name;
    Verdict verdict;
    std::string detail;   ///< why it failed or was skipped
    double seconds = 0;   ///< of the host
};

/// Collects and prints outcomes as they come.
class Report {
public:
    /// @param times  each line says how long the test took
    Report(bool quiet, bool times) : quiet_(quiet), times_(times) {}
    /// @param seconds  what it took, if that is not the time since the outcome before: what many tests need is made with the
    ///                 first of them
    void add(const std::string& group, const std::string& name, Verdict verdict, const std::string& detail = "",
             std::optional<double> seconds = {}) {
        const double since_last = last_.lap();
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
        last_.lap();
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
    bool quiet_, times_;
    unsigned counts_[3] = {};
    std::vector<Outcome> outcomes_;
    std::vector<std::pair<std::string, double>> groups_;
    Clock last_, group_;
};

}  // namespace lyra::cli
