// SPDX-License-Identifier: MIT
// Base operations of a chip: which of them the model has, and which of those tests have executed.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "facts/chips.h"

namespace lyra::cli {

/// Base operations, whatever their encodings, without those that exist only in MIMG and EXP.
struct IsaCoverage {
    size_t total = 0;
    std::vector<std::string> missing;   ///< not implemented
    size_t rowless = 0;                 ///< of these, what the tables have no row for
    std::vector<std::string> untested;  ///< implemented, but in no record
    size_t implemented() const { return total - missing.size(); }
    size_t executed() const { return implemented() - untested.size(); }
};
IsaCoverage isa_coverage(Chip chip, const std::set<std::string>& executed);

/// Names in all records of a folder. @source gcn-interp/testing/executed.h
std::set<std::string> executed_operations(const std::filesystem::path& folder, std::error_code& error);

}  // namespace lyra::cli
