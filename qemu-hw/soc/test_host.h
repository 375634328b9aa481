// SPDX-License-Identifier: MIT
// A Host for tests: time stands still unless moved, interrupts and log lines are kept.
#pragma once

#include <string>
#include <vector>

#include "common/env.h"

namespace lyra {

class TestHost : public Host {
public:
    uint64_t now_ns() override { return now; }
    void raise_msi() override { ++msis; }
    void log(LogLevel, std::string_view text) override { lines.emplace_back(text); }
    bool logged(std::string_view part) const {
        for (const std::string& line : lines)
            if (line.find(part) != std::string::npos) return true;
        return false;
    }
    uint64_t now = 1'000'000;
    unsigned msis = 0;
    std::vector<std::string> lines;
};

}  // namespace lyra
