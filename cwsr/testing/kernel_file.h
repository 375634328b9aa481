// SPDX-License-Identifier: MIT
// A test kernel of cwsr/kernels: assembly text, and what a launch of it needs.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "facts/chips.h"

namespace lyra::cwsr::testing {

struct KernelFile {
    std::string name;
    std::string text;  ///< with common.inc before it
    std::array<uint32_t, 3> group{64, 1, 1};  ///< work-items
    std::array<uint32_t, 3> valid = group;    ///< of them exist, in a group at the grid's edge
    uint32_t lds_bytes = 0;
    unsigned vgprs = 32, sgprs = 112;
    unsigned acc_first = 0;  ///< of the VGPRs the first AccVGPR; 0: it has none
    bool scratch = false;
    bool trap = false;    ///< needs the second-level handler
    bool repair = false;  ///< and that it lets waves go on after exceptions
    bool ok = false;      ///< the file could be read and its first line makes sense

    unsigned items() const { return group[0] * group[1] * group[2]; }
    unsigned waves() const { return (items() + 63) / 64; }
    bool runs_on(Chip chip) const { return acc_first == 0 || facts_of(chip).acc_vgprs; }
    /// COMPUTE_PGM_RSRC1: register counts, denormals on, DX10_CLAMP, IEEE
    uint32_t rsrc1(Chip chip = Chip::gfx900) const {
        const unsigned granule = facts_of(chip).vgpr_granule;
        return ((vgprs + granule - 1) / granule - 1) | (sgprs / 16 - 1) * 2 << 6 | 0xf0u << 12 | 1u << 21 | 1u << 23;
    }
    /// COMPUTE_PGM_RSRC3 of a chip with AccVGPRs: ACCUM_OFFSET. A kernel without them has none behind its VGPRs but by
    /// rounding.
    uint32_t rsrc3() const { return (acc_first != 0 ? acc_first : vgprs) / 4 - 1; }
};

inline std::string text_of(const std::filesystem::path& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

/// Assembly for a chip: where cache bits are scopes, vector memory instructions have them under other names.
inline std::string text_for(Chip chip, const std::string& text) {
    if (!facts_of(chip).cache_scopes) return text;
    std::istringstream lines(text);
    std::string result;
    for (std::string line; std::getline(lines, line); result += line + '\n') {
        const size_t begin = line.find_first_not_of(' ');
        const auto is = [&](const char* format) {
            return begin != std::string::npos && line.compare(begin, std::strlen(format), format) == 0;
        };
        if (!is("buffer_") && !is("tbuffer_") && !is("flat_") && !is("global_") && !is("scratch_")) continue;
        const auto replace = [&](const std::string& old, const char* now) {
            if (const size_t at = line.find(old); at != std::string::npos) line.replace(at, old.size(), now);
        };
        replace(" glc slc", "");
        replace(" glc", " sc0");
    }
    return result;
}

/// Another first-level handler than that of cwsr/handler, raw code: LYRA_CWSR_HANDLER=file for gfx900, for others
/// LYRA_CWSR_HANDLER_GFX90A=file and so on. @return nullptr: none is named
inline const char* other_handler(Chip chip) {
    std::string variable = "LYRA_CWSR_HANDLER";
    if (chip != Chip::gfx900) variable += std::string("_") + facts_of(chip).name;
    std::transform(variable.begin(), variable.end(), variable.begin(), ::toupper);
    return std::getenv(variable.c_str());
}

/// @param folder cwsr/kernels
inline KernelFile read_kernel(const std::filesystem::path& folder, const std::string& name) {
    KernelFile kernel;
    kernel.name = name;
    const std::string own = text_of(folder / (name + ".s"));
    kernel.text = text_of(folder / "common.inc") + own;
    std::istringstream line(own.substr(0, own.find('\n')));
    std::string word;
    line >> word;
    kernel.ok = word == "//!";
    const auto three = [&](std::array<uint32_t, 3>& sizes) {
        sizes = {1, 1, 1};
        for (uint32_t n = 0, size = 0; n < 3 && line >> size; ++n) sizes[n] = size;
        line.clear();
    };
    bool partial = false;
    while (line >> word) {
        if (word == "group")
            three(kernel.group);
        else if (word == "valid")
            three(kernel.valid), partial = true;
        else if (word == "lds")
            line >> kernel.lds_bytes;
        else if (word == "vgprs")
            line >> kernel.vgprs;
        else if (word == "acc")
            line >> kernel.acc_first;
        else if (word == "sgprs")
            line >> kernel.sgprs;
        else if (word == "scratch")
            kernel.scratch = true;
        else if (word == "trap")
            kernel.trap = true;
        else if (word == "repair")
            kernel.repair = true;
        else
            kernel.ok = false;
    }
    if (!partial) kernel.valid = kernel.group;
    return kernel;
}

/// Names of all kernels that run on the chip, sorted.
inline std::vector<std::string> kernel_names(const std::filesystem::path& folder, Chip chip = Chip::gfx900) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".s") continue;
        const std::string name = entry.path().stem();
        if (read_kernel(folder, name).runs_on(chip)) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace lyra::cwsr::testing
