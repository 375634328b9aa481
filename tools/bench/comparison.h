// SPDX-License-Identifier: MIT
// Two results of `lyra bench --json` side by side.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace lyra::bench {

/// What a result calls itself. The number grows when a row or a value of it gets another meaning.
inline constexpr const char* kResultFormat = "lyra bench";
inline constexpr unsigned kResultVersion = 1;

/// @param text  of a file
/// @return a result that compare() takes
/// @throws std::runtime_error  one line that says why it is none
nlohmann::json read_result(const std::string& text);

struct ComparedRow {
    std::string name, kind, unit;
    double before = 0, now = 0;  ///< in the unit; above 0
    double ratio = 0;  ///< how many times as fast it is now: of times before / now, of rates now / before
};

struct Comparison {
    /// Of machine and options, a line each: ratios may come from these.
    std::vector<std::string> differences;
    std::vector<ComparedRow> rows;      ///< measured in both
    std::vector<std::string> unmatched; ///< names of rows that only one of them has measured
    std::map<std::string, double> geomean_by_kind;
    std::optional<double> geomean;  ///< of all ratios; empty without rows
};

/// @param before, now  results as read_result() takes them
Comparison compare(const nlohmann::json& before, const nlohmann::json& now);

nlohmann::json to_json(const Comparison& comparison);

}  // namespace lyra::bench
