// SPDX-License-Identifier: MIT
// Machine code for tests, made by LLVM's assembler when the machine has one.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace lyra::testing {

/// Code bytes of assembly text; nothing when no assembler is installed or the text does not assemble.
inline std::optional<std::vector<uint8_t>> assemble(const std::string& text, const std::string& chip = "gfx900") {
    static unsigned number = 0;
    const std::string name = "lyra_asm_" + std::to_string(getpid()) + "_" + std::to_string(number++);
    const std::string base = (std::filesystem::temp_directory_path() / name).string();
    std::ofstream(base + ".s") << text;
    const auto run = [](const std::string& tool, const std::string& arguments) {
        for (const char* suffix : {"-19", ""}) {
            if (std::system(fmt::format("{}{} {} 2>/dev/null", tool, suffix, arguments).c_str()) == 0) return true;
        }
        return false;
    };
    const bool ok =
        run("llvm-mc", "-triple=amdgcn-amd-amdhsa -mcpu=" + chip + " -filetype=obj " + base + ".s -o " + base + ".o") &&
        run("llvm-objcopy", "-O binary --only-section=.text " + base + ".o " + base + ".bin");
    std::optional<std::vector<uint8_t>> code;
    if (ok) {
        std::ifstream file(base + ".bin", std::ios::binary);
        code.emplace(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    for (const char* suffix : {".s", ".o", ".bin"}) std::remove((base + suffix).c_str());
    return code;
}

}  // namespace lyra::testing
