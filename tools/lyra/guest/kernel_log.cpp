// SPDX-License-Identifier: MIT
#include "tools/lyra/guest/kernel_log.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

namespace lyra::cli {

std::string kernel_complaint(const std::string& test, const std::string& dmesg) {
    constexpr const char* kSigns[] = {"qcm fence wait loop timeout",
                                      "timed out",
                                      "timeout",
                                      "GPU reset",
                                      "failed to suspend",
                                      "failed to remove",
                                      "BUG:",
                                      "WARNING:",
                                      "Oops",
                                      "page fault",
                                      "Failed to evict",
                                      "Failed to restore",
                                      "Failed to resume",
                                      "refcount_t",
                                      "hung task",
                                      "blocked for more than"};
    // These make the GPU fault on purpose.
    const bool faults = test.rfind("KFDExceptionTest.", 0) == 0 || test == "KFDDBGTest.HitMemoryViolation" ||
                        test.rfind("KFDSVMRangeTest.ReadOnlyRangeTest/", 0) == 0;
    std::istringstream lines(dmesg);
    for (std::string line; std::getline(lines, line);) {
        for (const char* sign : kSigns) {
            if (line.find(sign) != std::string::npos && !(faults && std::string(sign) == "page fault")) return line;
        }
    }
    return "";
}

std::string kernel_splat(const std::string& log) {
    constexpr const char* kSigns[] = {
        "WARNING:",
        "BUG:",
        "kernel BUG at",
        "Oops",
        "Kernel panic",
        "UBSAN:",
        "general protection fault",
        "refcount_t:",
        "ODEBUG:",
        "list_add corruption",
        "list_del corruption",
        "INFO: trying to register non-static key",
        "INFO: task ",
        "INFO: rcu",
        "suspicious RCU usage",
        "new suspected memory leaks",
    };
    constexpr unsigned kMostLines = 100, kLinesWithoutEnd = 40;
    std::istringstream lines(log);
    std::string splat;
    unsigned taken = 0;
    bool traced = false;
    for (std::string line; taken < kMostLines && std::getline(lines, line);) {
        if (taken == 0 && std::none_of(std::begin(kSigns), std::end(kSigns),
                                       [&](const char* sign) { return line.find(sign) != std::string::npos; }))
            continue;
        splat += line + "\n";
        ++taken;
        // A splat ends after its call trace, if it has one.
        traced = traced || line.find("</TASK>") != std::string::npos;
        if (line.find("---[ end ") != std::string::npos || (traced && line.find("=====") != std::string::npos)) break;
        if (taken >= kLinesWithoutEnd && (traced || splat.find("Call Trace:") == std::string::npos)) break;
    }
    return splat;
}

std::string kernel_lacks(const std::vector<std::string>& parts, const std::string& log) {
    // kcov says nothing.
    constexpr std::pair<const char*, const char*> kWords[] = {{"kasan", "KernelAddressSanitizer initialized"},
                                                              {"kcsan", "kcsan: enabled early"},
                                                              {"kmemleak", "Kernel memory leak detector initialized"},
                                                              {"lockdep", "Lock dependency validator:"}};
    for (const std::string& part : parts) {
        for (const auto& [name, words] : kWords) {
            if (part == name && log.find(words) == std::string::npos) return part;
        }
    }
    return "";
}

}  // namespace lyra::cli
