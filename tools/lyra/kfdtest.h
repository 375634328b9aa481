// SPDX-License-Identifier: MIT
// AMD's kfdtest in the guest: what each case is expected to do, and what it did.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/lyra/guest_machine.h"

namespace lyra::cli {

/// One row of kfdtest-ports/expectations/<chip>-<kernel>.tsv.
struct KfdtestCase {
    std::string name;         ///< Suite.Case
    std::string step;         ///< S0..S16, or "-"
    std::string expectation;  ///< pass, vacuous, exclude
    bool slow = false;        ///< takes minutes: only `lyra kfdtest --all` runs it
    std::string guest;        ///< what the guest needs that others have not: mem=SIZE, vram=SIZE, separated by commas
    std::string reason;       ///< why it is vacuous, excluded or slow

    bool has_to_pass() const { return expectation == "pass"; }
};

/// NotRun: a slow case, without --all.
enum class KfdtestOutcome { Passed, Failed, Vacuous, Excluded, NotRun };

struct KfdtestResult {
    KfdtestCase test;
    KfdtestOutcome outcome = KfdtestOutcome::Excluded;
    double seconds = 0;       ///< host time
    std::string output;       ///< what the test printed, for failures
    /// Passed as expected, or left out as expected.
    bool good() const {
        if (outcome == KfdtestOutcome::Passed || outcome == KfdtestOutcome::NotRun) return true;
        return outcome != KfdtestOutcome::Failed && !test.has_to_pass();
    }
};

/// Throws UserError when there is no table for the kernel.
std::vector<KfdtestCase> read_kfdtest_cases(const std::string& kernel);

/// gtest's filter: patterns with * and ?, separated by ':', after '-' those that are left out.
bool matches_filter(const std::string& name, const std::string& filter);

/// A gtest case passes also when it skips its body. Its output tells: @return true when it did.
bool is_vacuous(const std::string& output);

/// Run the cases, one process each under a watchdog, in as few guests as possible (one per kind of guest): a guest that dies or
/// hangs fails the case it was at, and another guest goes on with the rest; also after a case that the watchdog had to end.
/// done is called for each case as it ends. Each guest begins with the shell text before.
void run_kfdtest(const GuestOptions& options, const std::vector<KfdtestCase>& cases, unsigned watchdog_s,
                 const std::function<void(const KfdtestResult&)>& done, const std::string& before = "");

}  // namespace lyra::cli
