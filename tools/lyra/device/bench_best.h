// SPDX-License-Identifier: MIT
// What `lyra bench` keeps of the measurements of Google's benchmark library.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/lyra/cli/cli.h"

namespace lyra::cli {

/// What a benchmark says when it gives up, else nothing. Version 1.8 of the library has other names for it.
template <typename Run>
std::string failure_of(const Run& run) {
    if constexpr (requires { run.error_occurred; })
        return run.error_occurred ? run.error_message : "";
    else
        return run.skipped ? run.skip_message : "";
}

/// Keeps the best repetition of each benchmark: what disturbs a run only makes it slower.
class Best : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            if (run.run_type != Run::RT_Iteration) continue;
            const std::string name = run.run_name.function_name;
            progress_.show(name);
            if (const std::string why = failure_of(run); !why.empty()) {
                errors_[name] = why;
                continue;
            }
            keep(seconds_, name, run.cpu_accumulated_time / static_cast<double>(run.iterations));
            keep(real_seconds_, name, run.real_accumulated_time / static_cast<double>(run.iterations));
        }
    }
    void Finalize() override { progress_.clear(); }
    /// Processor seconds of one iteration; empty when it was not run or failed.
    std::optional<double> seconds(const std::string& name) const { return look_up(seconds_, name); }
    /// The same by the clock on the wall.
    std::optional<double> real_seconds(const std::string& name) const { return look_up(real_seconds_, name); }
    const std::map<std::string, std::string>& errors() const { return errors_; }

private:
    using Times = std::map<std::string, double>;
    static void keep(Times& times, const std::string& name, double seconds) {
        const auto [at, is_new] = times.try_emplace(name, seconds);
        if (!is_new) at->second = std::min(at->second, seconds);
    }
    static std::optional<double> look_up(const Times& times, const std::string& name) {
        const auto at = times.find(name);
        return at == times.end() ? std::nullopt : std::optional(at->second);
    }

    Times seconds_, real_seconds_;
    std::map<std::string, std::string> errors_;
    Progress progress_;
};

}  // namespace lyra::cli
