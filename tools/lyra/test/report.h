// SPDX-License-Identifier: MIT
// What `lyra test` has found out: one line for each test, totals, JSON.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lyra::cli {

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
    std::string totals() const { return fmt::format("{} passed, {} failed, {} skipped", counts_[0], counts_[1], counts_[2]); }
    nlohmann::json json() const {
        nlohmann::json result{{"passed", counts_[0]}, {"failed", counts_[1]}, {"skipped", counts_[2]}};
        for (const Outcome& each : outcomes_) {
            result["tests"].push_back(
                {{"group", each.group}, {"name", each.name}, {"result", word(each.verdict)}, {"detail", each.detail}});
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

}  // namespace lyra::cli
