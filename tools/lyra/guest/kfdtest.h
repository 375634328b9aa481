// SPDX-License-Identifier: MIT
// AMD's kfdtest in the guest: what each case is expected to do, and what it did.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/lyra/guest/kfdtest_case.h"
#include "tools/lyra/guest/machine.h"

namespace lyra::cli {

struct KfdtestResult {
    KfdtestCase test;
    KfdtestOutcome outcome = KfdtestOutcome::Excluded;
    double seconds = 0;                     ///< host time
    std::string output{};                   ///< what the test printed, for failures
    KfdtestEvidence evidence{};             ///< what was seen of it
    std::vector<std::string> missing{};     ///< evidence that should have been seen
    /// Passed as expected, or left out as expected.
    bool good() const {
        if (outcome == KfdtestOutcome::Passed || outcome == KfdtestOutcome::NotRun) return true;
        return outcome != KfdtestOutcome::Failed && !test.has_to_pass();
    }
    /// Why it is vacuous or was not run.
    std::string reason() const;
};

bool has_kfdtest_table(const std::string& kernel, const std::string& chip);
/// Throws UserError when there is no table for chip and kernel.
std::vector<KfdtestCase> read_kfdtest_cases(const std::string& kernel, const std::string& chip);

/// Run the cases, one process each under a watchdog, in as few guests as possible (one per kind of guest): a guest that dies or
/// hangs fails the case it was at, and another guest goes on with the rest; also after a case that the watchdog had to end.
/// done is called for each case as it ends, by one thread at a time. Each guest begins with the shell text before.
/// @param parallel  guests at a time, each with a share of the cases
void run_kfdtest(const GuestOptions& options, const std::vector<KfdtestCase>& cases, unsigned watchdog_s,
                 const std::function<void(const KfdtestResult&)>& done, const std::string& before = "", unsigned parallel = 1);

}  // namespace lyra::cli
