// SPDX-License-Identifier: MIT
// Order and text of instruction histograms.
#include "tools/lyra/device/histogram.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lyra::cli {

namespace {

using Row = Histogram::value_type;

std::vector<const Row*> sorted(const Histogram& histogram) {
    std::vector<const Row*> rows;
    for (const Row& row : histogram) rows.push_back(&row);
    std::stable_sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) { return a->second > b->second; });
    return rows;
}

uint64_t total(const Histogram& histogram) {
    uint64_t sum = 0;
    for (const Row& row : histogram) sum += row.second;
    return sum;
}

}  // namespace

Histogram histogram_of(lyra_device* device) {
    Histogram found;
    lyra_histogram(
        device,
        [](void* to, const char* name, const char* format, uint64_t count) {
            (*static_cast<Histogram*>(to))[{name, format}] = count;
        },
        &found);
    return found;
}

void print_histogram(std::FILE* to, const Histogram& histogram) {
    const uint64_t sum = total(histogram);
    for (const Row* row : sorted(histogram)) {
        const double percent = 100.0 * static_cast<double>(row->second) / static_cast<double>(sum);
        fmt::print(to, "{:>14} {:>6.2f} %  {:<10} {}\n", row->second, percent, row->first.second, row->first.first);
    }
    fmt::print(to, "{:>14}           {} kinds\n", sum, histogram.size());
}

nlohmann::json histogram_json(const Histogram& histogram) {
    nlohmann::json result{{"total", total(histogram)}, {"instructions", nlohmann::json::array()}};
    for (const Row* row : sorted(histogram)) {
        result["instructions"].push_back({{"name", row->first.first}, {"format", row->first.second}, {"count", row->second}});
    }
    return result;
}

}  // namespace lyra::cli
