// SPDX-License-Identifier: MIT
// Counts base operations by the tables, and by the records that tests leave.
#include "tools/lyra/device/isa_coverage.h"

#include <algorithm>
#include <fstream>
#include <map>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/isa/base_name.h"
#include "gcn-interp/isa/op.h"

namespace lyra::cli {

namespace {

using gcn::Format;
using gcn::InstInfo;
using gcn::Op;

// true: executed by the model
std::map<std::string, bool> base_operations(Chip chip) {
    std::map<std::string, bool> names;
    for (size_t i = 1; i < gcn::kOpCount; ++i) {
        const Op op = static_cast<Op>(i);
        const InstInfo& info = gcn::info(op);
        if (!info.on(chip) || info.format == Format::MIMG || info.format == Format::EXP) continue;
        constexpr uint64_t kSegments[] = {gcn::flag::SegFlat, gcn::flag::SegScratch, gcn::flag::SegGlobal};
        for (unsigned seg = 0; seg < std::size(kSegments); ++seg) {
            if (info.format == Format::FLAT ? info.has(kSegments[seg]) : seg == 0)
                names[gcn::base_name(op, seg)] |= gcn::exec_function(op, info.format) != nullptr;
        }
    }
    for (const gcn::WithoutRow& row : gcn::kWithoutRow)
        if (row.chip == chip) names[row.name];
    return names;
}

}  // namespace

IsaCoverage isa_coverage(Chip chip, const std::set<std::string>& executed) {
    IsaCoverage coverage;
    for (const auto& [name, exists] : base_operations(chip)) {
        ++coverage.total;
        if (!exists)
            coverage.missing.push_back(name);
        else if (!executed.count(name))
            coverage.untested.push_back(name);
    }
    coverage.rowless = static_cast<size_t>(std::count_if(std::begin(gcn::kWithoutRow), std::end(gcn::kWithoutRow),
                                                         [=](const gcn::WithoutRow& row) { return row.chip == chip; }));
    return coverage;
}

std::set<std::string> executed_operations(const std::filesystem::path& folder, std::error_code& error) {
    std::set<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
        std::ifstream in(file.path());
        for (std::string line; std::getline(in, line);) names.insert(line);
    }
    return names;
}

}  // namespace lyra::cli
