// SPDX-License-Identifier: MIT
// Percentiles, means and their intervals; metrics of several clients.
#include "scheduler/sim/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace lyra::sim {

namespace {

constexpr double kRounding = 1e-6;  ///< of a rank, such as 0.999 * 10,000

/// Of all runs' values one, and whose it is.
struct Tagged {
    uint64_t value;
    uint32_t run;
};

/// Value at rank ceil(percent / 100 * n) when each run counts as often as its weight says.
void weighted_percentiles(const std::vector<Tagged>& sorted, const std::vector<unsigned>& weights, uint64_t n,
                          const std::vector<double>& percents, std::vector<std::vector<uint64_t>>& out) {
    size_t next = 0;
    uint64_t seen = 0;
    const auto rank = [&] {
        return std::clamp<uint64_t>(static_cast<uint64_t>(std::ceil(percents[next] / 100 * static_cast<double>(n) - kRounding)),
                                    1, n);
    };
    for (const Tagged& each : sorted) {
        seen += weights[each.run];
        while (next < percents.size() && seen >= rank()) out[next++].push_back(each.value);
        if (next == percents.size()) return;
    }
}

}  // namespace

bool enough_for(uint64_t count, double percent) {
    return count > 0 && (percent <= 95 || percent >= 100 || static_cast<double>(count) * (100 - percent) >= 1000 - 1e-6);
}

Percentile percentile(const std::vector<uint64_t>& sorted, double percent) {
    if (sorted.empty()) return {};
    const auto n = static_cast<double>(sorted.size());
    const double p = percent / 100, spread = 1.96 * std::sqrt(n * p * (1 - p));
    const auto at = [&](double rank) {
        return sorted[static_cast<size_t>(std::clamp(std::ceil(rank - kRounding), 1.0, n)) - 1];
    };
    return {at(n * p), at(n * p - spread), at(n * p + spread)};
}

std::vector<Percentile> percentiles(const std::vector<std::vector<uint64_t>>& runs, const std::vector<double>& percents) {
    constexpr unsigned kDraws = 1000;
    std::vector<const std::vector<uint64_t>*> some;
    for (const std::vector<uint64_t>& run : runs) {
        if (!run.empty()) some.push_back(&run);
    }
    std::vector<Percentile> out;
    if (some.size() < 2) {
        for (const double percent : percents) out.push_back(some.empty() ? Percentile{} : percentile(*some.front(), percent));
        return out;
    }
    std::vector<Tagged> all;
    for (uint32_t run = 0; run < some.size(); ++run) {
        for (const uint64_t value : *some[run]) all.push_back({value, run});
    }
    std::sort(all.begin(), all.end(), [](const Tagged& a, const Tagged& b) { return a.value < b.value; });
    std::vector<std::vector<uint64_t>> pooled(percents.size()), drawn(percents.size());
    weighted_percentiles(all, std::vector<unsigned>(some.size(), 1), all.size(), percents, pooled);
    std::mt19937_64 random(1);  // equal files have equal intervals
    std::vector<unsigned> weights(some.size());
    for (unsigned draw = 0; draw < kDraws; ++draw) {
        std::fill(weights.begin(), weights.end(), 0);
        uint64_t n = 0;
        for (size_t k = 0; k < some.size(); ++k) {
            const size_t run = random() % some.size();
            ++weights[run];
            n += some[run]->size();
        }
        weighted_percentiles(all, weights, n, percents, drawn);
    }
    for (size_t k = 0; k < percents.size(); ++k) {
        std::sort(drawn[k].begin(), drawn[k].end());
        const uint64_t value = pooled[k].front();
        out.push_back(
            {value, std::min(value, drawn[k][kDraws * 25 / 1000]), std::max(value, drawn[k][kDraws * 975 / 1000 - 1])});
    }
    return out;
}

Mean mean_of(const std::vector<double>& runs) {
    // 97.5 % of Student's t for 1 to 30 degrees of freedom.
    constexpr std::array<double, 30> kT = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                           2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                           2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
    if (runs.empty()) return {};
    const auto n = static_cast<double>(runs.size());
    double sum = 0, squares = 0;
    for (const double each : runs) sum += each;
    const double mean = sum / n;
    if (runs.size() == 1) return {mean, mean, mean};
    for (const double each : runs) squares += (each - mean) * (each - mean);
    const double t = runs.size() - 2 < kT.size() ? kT[runs.size() - 2] : 1.96;
    const double half = t * std::sqrt(squares / (n - 1) / n);
    return {mean, std::max(0.0, mean - half), mean + half};
}

std::optional<double> system_throughput(const std::vector<Progress>& clients) {
    double sum = 0;
    for (const Progress& c : clients) {
        if (!(c.alone_throughput > 0)) return std::nullopt;
        sum += c.throughput / c.alone_throughput;
    }
    return sum;
}

std::optional<double> normalized_turnaround(const std::vector<Progress>& clients) {
    double sum = 0;
    uint64_t queues = 0;
    for (const Progress& c : clients) {
        if (!(c.alone_turnaround_ns > 0) || !(c.turnaround_ns > 0)) return std::nullopt;
        sum += static_cast<double>(c.queues) * c.turnaround_ns / c.alone_turnaround_ns;
        queues += c.queues;
    }
    if (queues == 0) return std::nullopt;
    return sum / static_cast<double>(queues);
}

}  // namespace lyra::sim
