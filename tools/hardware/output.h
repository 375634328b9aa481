// SPDX-License-Identifier: MIT
// What is asked of preempt_timing, and the records that it prints.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace timing {

struct Options {
    unsigned repeat = 1000, seed = 1, hold_us = 300;
    int node = -1;
    bool quick = false, samples = false;
};

inline std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (c >= 0x20) out += c;
    }
    return out + '"';
}

inline std::string line_of(const std::string& path) {
    std::string line;
    std::getline(std::ifstream(path) >> std::ws, line);
    return line;
}

/// One thing, as often as it was seen, in the unit that the name ends with.
struct Series {
    const char* name;
    std::vector<double> values = {};
    void add_us(double ns) { values.push_back(ns / 1000); }
    double at(double share) const {
        return values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
    }
    void print(bool samples) {
        if (samples) {
            std::printf(",\"%s_samples\":[", name);
            for (size_t n = 0; n < values.size(); ++n) std::printf("%s%.2f", n ? "," : "", values[n]);
            std::printf("]");
        }
        std::sort(values.begin(), values.end());
        if (values.empty()) return void(std::printf(",\"%s\":null", name));
        std::printf(",\"%s\":{\"n\":%zu,\"min\":%.2f,\"p50\":%.2f,\"p90\":%.2f,\"p99\":%.2f,\"max\":%.2f}", name, values.size(),
                    values.front(), at(0.5), at(0.9), at(0.99), values.back());
    }
};

}  // namespace timing
