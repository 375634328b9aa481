// SPDX-License-Identifier: MIT
// A case of kfdtest: what the table expects of it, what was seen of it in the guest, and what follows from both.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lyra::cli {

/// One row of kfdtest-ports/expectations/<chip>-<kernel>.tsv.
struct KfdtestCase {
    std::string name;         ///< Suite.Case
    std::string step;         ///< S0..S16, or "-"
    std::string expectation;  ///< pass, vacuous, exclude
    bool slow = false;        ///< takes minutes: only `lyra kfdtest --all` runs it
    std::string guest{};      ///< what the guest needs that others have not: mem=SIZE, virtual, ..., divided by commas
    std::vector<std::string> evidence{};  ///< what has to be seen of its body: counters of stats.def, ioctls of KFD
    std::string reason{};     ///< why it is vacuous, excluded or slow, or why nothing is seen of its body

    bool has_to_pass() const { return expectation == "pass"; }
};

/// @throws std::runtime_error  naming the line: a row that is none; a case that has to pass and asks for no evidence, for one
/// that cannot be seen, or for none without a reason
std::vector<KfdtestCase> parse_kfdtest_cases(const std::string& table);

/// gtest's filter: patterns with * and ?, separated by ':', after '-' those that are left out.
bool matches_filter(const std::string& name, const std::string& filter);

/// How often something was seen while a case ran: counters of stats.def, ioctls of KFD (kfd_ioctl.h, in lower case) that
/// succeeded, and "body_end".
using KfdtestEvidence = std::map<std::string, uint64_t>;

/// The end of the body, which an early return and an exception do not reach.
inline constexpr const char* kBodyEnd = "body_end";
/// In the table: a child runs the body and has its own way out, so that its end is not asked for.
inline constexpr const char* kInChild = "in_child";
/// Does nothing but what kfdtest does before and after each body. It runs first in a guest: what it causes is no evidence.
inline constexpr const char* kControlCase = "KFDTopologyTest.GetNodePropertiesInvalidParams";

/// @param text  lines "before COUNTER...", "after COUNTER..." in the order of stats.def and modulo 2^32, "ioctl NUMBER COUNT",
/// "body_end"; other lines are ignored
KfdtestEvidence read_evidence(const std::string& text);

/// What the row asks for, and the end of the body unless it is in a child. @return what was not seen more often than in the
/// control case
std::vector<std::string> missing_evidence(const KfdtestCase& test, const KfdtestEvidence& seen, const KfdtestEvidence& control);

/// NotRun: a slow case, without --all.
enum class KfdtestOutcome { Passed, Failed, Vacuous, Excluded, NotRun };

/// What gtest calls a pass is one only when the body ran to its end with what the row asks for.
/// @param status   exit status of kfdtest
/// @param missing  of missing_evidence()
KfdtestOutcome judge_kfdtest(const KfdtestCase& test, int status, const std::string& output,
                             const std::vector<std::string>& missing);

/// Words of kfdtest for a body or a part of it that it skips.
bool says_skipped(const std::string& output);

}  // namespace lyra::cli
