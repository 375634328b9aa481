// SPDX-License-Identifier: MIT
#include "tools/lyra/guest/kfdtest_case.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

#include "common/stats.h"

namespace lyra::cli {

namespace {

/// By number, from 1 on. @source Linux 6.12 kfd_ioctl.h AMDKFD_IOC_*
constexpr const char* kIoctls[] = {"get_version",
                                   "create_queue",
                                   "destroy_queue",
                                   "set_memory_policy",
                                   "get_clock_counters",
                                   "get_process_apertures",
                                   "update_queue",
                                   "create_event",
                                   "destroy_event",
                                   "set_event",
                                   "reset_event",
                                   "wait_events",
                                   "dbg_register",
                                   "dbg_unregister",
                                   "dbg_address_watch",
                                   "dbg_wave_control",
                                   "set_scratch_backing_va",
                                   "get_tile_config",
                                   "set_trap_handler",
                                   "get_process_apertures_new",
                                   "acquire_vm",
                                   "alloc_memory_of_gpu",
                                   "free_memory_of_gpu",
                                   "map_memory_to_gpu",
                                   "unmap_memory_from_gpu",
                                   "set_cu_mask",
                                   "get_queue_wave_state",
                                   "get_dmabuf_info",
                                   "import_dmabuf",
                                   "alloc_queue_gws",
                                   "smi_events",
                                   "svm",
                                   "set_xnack_mode",
                                   "criu_op",
                                   "available_memory",
                                   "export_dmabuf",
                                   "runtime_enable",
                                   "dbg_trap"};

std::vector<std::string> split(const std::string& text, char mark) {
    std::vector<std::string> parts;
    std::istringstream list(text);
    for (std::string part; std::getline(list, part, mark);) parts.push_back(part);
    return parts;
}

bool can_be_seen(const std::string& what) {
    const auto among = [&](const auto& names) {
        return std::find(std::begin(names), std::end(names), what) != std::end(names);
    };
    return among(kStatNames) || among(kIoctls);
}

// @return what is wrong with a row
std::string objection(const KfdtestCase& row) {
    const bool expected = row.expectation == "pass" || row.expectation == "vacuous" || row.expectation == "exclude";
    if (!expected) return fmt::format("expectation '{}'", row.expectation);
    if (row.expectation != "pass" && row.reason.empty()) return "no reason";
    if (row.has_to_pass() && row.evidence.empty() && row.reason.empty()) return "no evidence, and no reason for that";
    if (row.evidence == std::vector<std::string>{kInChild}) return "no evidence of the child";
    for (const std::string& what : row.evidence) {
        if (what != kInChild && !can_be_seen(what))
            return fmt::format("evidence '{}' is neither a counter nor an ioctl of KFD", what);
    }
    return "";
}

}  // namespace

std::vector<KfdtestCase> parse_kfdtest_cases(const std::string& table) {
    constexpr size_t kColumns = 7;
    std::vector<KfdtestCase> cases;
    size_t number = 0;
    for (const std::string& line : split(table, '\n')) {
        ++number;
        if (line.empty() || line[0] == '#') continue;
        const std::vector<std::string> columns = split(line, '\t');
        if (columns.size() != kColumns) throw std::runtime_error(fmt::format("line {}: {} columns", number, columns.size()));
        const auto text = [&](size_t column) { return columns[column] == "-" ? std::string() : columns[column]; };
        KfdtestCase row{columns[0], columns[1], columns[2], columns[3] == "slow", text(4), {}, text(6)};
        if (columns[5] != "none") row.evidence = split(text(5), ',');
        std::string wrong = objection(row);
        if (row.has_to_pass() && row.evidence.empty() && columns[5] != "none") wrong = "no evidence; it has to say 'none'";
        if (!wrong.empty()) throw std::runtime_error(fmt::format("line {}: {}: {}", number, row.name, wrong));
        cases.push_back(row);
    }
    return cases;
}

namespace {

bool matches_pattern(const char* name, const char* pattern) {
    if (*pattern == '\0') return *name == '\0';
    if (*pattern == '*') return matches_pattern(name, pattern + 1) || (*name && matches_pattern(name + 1, pattern));
    return *name && (*pattern == '?' || *pattern == *name) && matches_pattern(name + 1, pattern + 1);
}

bool matches_any(const std::string& name, const std::string& patterns) {
    const std::vector<std::string> list = split(patterns, ':');
    return std::any_of(list.begin(), list.end(),
                       [&](const std::string& p) { return matches_pattern(name.c_str(), p.c_str()); });
}

std::vector<uint32_t> numbers_of(std::istringstream& line) {
    return {std::istream_iterator<uint32_t>(line), std::istream_iterator<uint32_t>()};
}

}  // namespace

bool matches_filter(const std::string& name, const std::string& filter) {
    const size_t dash = filter.find('-');
    const std::string wanted = filter.substr(0, dash), unwanted = dash == std::string::npos ? "" : filter.substr(dash + 1);
    return (wanted.empty() || matches_any(name, wanted)) && !matches_any(name, unwanted);
}

KfdtestEvidence read_evidence(const std::string& text) {
    KfdtestEvidence seen;
    std::vector<uint32_t> before, after;
    for (const std::string& each : split(text, '\n')) {
        std::istringstream line(each);
        std::string word;
        line >> word;
        if (word == "before") before = numbers_of(line);
        if (word == "after") after = numbers_of(line);
        if (word == kBodyEnd) seen[word] = 1;
        size_t number = 0;
        uint64_t count = 0;
        if (word == "ioctl" && line >> number >> count && number >= 1 && number <= std::size(kIoctls))
            seen[kIoctls[number - 1]] += count;
    }
    for (size_t i = 0; i < kStatCount && i < before.size() && i < after.size(); ++i) {
        if (const uint32_t more = after[i] - before[i]; more != 0) seen[kStatNames[i]] = more;
    }
    return seen;
}

std::vector<std::string> missing_evidence(const KfdtestCase& test, const KfdtestEvidence& seen,
                                          const KfdtestEvidence& control) {
    const auto count = [](const KfdtestEvidence& from, const std::string& what) {
        const auto found = from.find(what);
        return found == from.end() ? 0 : found->second;
    };
    const bool in_child = std::find(test.evidence.begin(), test.evidence.end(), kInChild) != test.evidence.end();
    std::vector<std::string> missing;
    if (!in_child && count(seen, kBodyEnd) == 0) missing.push_back(kBodyEnd);
    for (const std::string& what : test.evidence) {
        if (what != kInChild && count(seen, what) <= count(control, what)) missing.push_back(what);
    }
    return missing;
}

bool says_skipped(const std::string& output) {
    constexpr const char* kSigns[] = {"Skipping test",      "Skip test",
                                      "skipping the test",  "Test is skipped",
                                      "not supported",      "isn't supported in KFD",
                                      "not present in KFD", "Not testing local memory",
                                      "Not dGPU path",      "Not enough system memory"};
    return std::any_of(std::begin(kSigns), std::end(kSigns),
                       [&](const char* sign) { return output.find(sign) != std::string::npos; });
}

KfdtestOutcome judge_kfdtest(const KfdtestCase& test, int status, const std::string& output,
                             const std::vector<std::string>& missing) {
    if (status != 0 || output.find("[  PASSED  ] 1 test") == std::string::npos) return KfdtestOutcome::Failed;
    const bool vacuous = test.expectation == "vacuous" || says_skipped(output) || !missing.empty();
    return vacuous ? KfdtestOutcome::Vacuous : KfdtestOutcome::Passed;
}

}  // namespace lyra::cli
