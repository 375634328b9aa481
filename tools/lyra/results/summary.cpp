// SPDX-License-Identifier: MIT
#include "tools/lyra/results/summary.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "scheduler/sim/sensitivity.h"

namespace lyra::results {

namespace {

constexpr uint64_t kSimulated = 1000;  ///< samples of each seed for a band: some sixty runs take seconds then

/// Nothing happened before what is counted from.
uint64_t since(uint64_t from, uint64_t to) { return to > from ? to - from : 0; }

std::optional<Percentile> statistic(const std::vector<double>& runs, size_t of) {
    if (runs.empty() || runs.size() != of) return std::nullopt;  // one run that does not know it would be left out silently
    const sim::Mean mean = sim::mean_of(runs);
    return Percentile{mean.value, mean.low, mean.high};
}

void describe_latencies(const std::vector<SeedRun>& runs, Configuration& out) {
    constexpr double kThousandths = 1000;  // describe() divides by it
    std::vector<std::vector<uint64_t>> latency, displacing, arrival, resident, completion, slowdown;
    StageSums stages;
    for (const SeedRun& run : runs) {
        for (auto* each : {&latency, &displacing, &arrival, &resident, &completion, &slowdown}) each->emplace_back();
        for (const sim::Sample& s : run.samples) {
            latency.back().push_back(since(s.t0_doorbell, s.t8_first_wave));
            arrival.back().push_back(since(s.arrival, s.t8_first_wave));
            resident.back().push_back(since(s.arrival, std::max(s.resident, s.t8_first_wave)));
            completion.back().push_back(since(s.arrival, s.t9_done));
            const double alone = run.clients.at(s.client).progress.alone_turnaround_ns;
            if (alone > 0)
                slowdown.back().push_back(
                    static_cast<uint64_t>(static_cast<double>(completion.back().back()) / alone * kThousandths));
            if (!s.displaced) continue;
            displacing.back().push_back(latency.back().back());
            // The simulator's doorbell costs the client nothing, and a guest's trace has no earlier stamp: t1 is t0.
            stages.add({s.t0_doorbell, s.t0_doorbell, s.t2_detected, s.t3_requested, s.t4_dequeue, s.t5_saved, s.t6_fence,
                        s.t7_mapped, s.t8_first_wave});
            ++out.preemptions;
        }
        out.samples += run.samples.size();
    }
    out.latency = describe(std::move(latency));
    out.preemption_latency = describe(std::move(displacing));
    out.arrival_latency = describe(std::move(arrival));
    out.resident_latency = describe(std::move(resident));
    out.completion = describe(std::move(completion));
    out.slowdown = describe(std::move(slowdown));
    out.stages = stages.means();
}

}  // namespace

Configuration summarise(const std::vector<SeedRun>& runs) {
    Configuration out;
    out.seeds = runs.size();
    describe_latencies(runs, out);
    std::vector<double> retained, stp, antt;
    for (const SeedRun& run : runs) {
        std::vector<sim::Progress> all, best_effort;
        for (const SeedRun::Client& client : run.clients) {
            all.push_back(client.progress);
            if (!client.latency_critical) best_effort.push_back(client.progress);
        }
        const auto add = [](std::vector<double>& to, const std::optional<double>& value) {
            if (value) to.push_back(*value);
        };
        if (!best_effort.empty()) add(retained, sim::system_throughput(best_effort));
        add(stp, sim::system_throughput(all));
        add(antt, sim::normalized_turnaround(all));
        out.simulated_ms += static_cast<double>(run.duration_ns) / 1e6;
        for (size_t n = 0; n < run.clients.size(); ++n) {
            if (n == out.clients.size()) out.clients.push_back({run.clients[n].name, 0, {}});
            Client& client = out.clients[n];
            client.kernels += run.clients[n].kernels;
            if (const std::optional<double>& off = run.clients[n].longest_off_us)
                client.longest_off_us = std::max(client.longest_off_us.value_or(0), *off);
        }
    }
    out.best_effort_retained = statistic(retained, runs.size());
    out.stp = statistic(stp, runs.size());
    out.antt = statistic(antt, runs.size());
    return out;
}

Configuration measured(const sim::Configuration& configuration, std::vector<MeasuredRun> runs) {
    std::vector<SeedRun> seeds;
    uint64_t lost = 0;
    bool stuck = false, one_guest = true;
    std::string hashes;
    for (MeasuredRun& each : runs) {
        seeds.push_back(std::move(each.run));
        lost += each.lost_work;
        stuck = stuck || each.stuck;
        one_guest = one_guest && each.trace_hash == runs.front().trace_hash;
        hashes += each.trace_hash;
    }
    Configuration out = summarise(seeds);
    out.swept = configuration.swept;
    out.seed = configuration.experiment.seed;
    out.lost_work = lost;
    out.deadlocked = stuck;
    out.trace_hash = one_guest ? runs.front().trace_hash : hash_text(hashes);
    try {
        sim::Experiment simulated = configuration.experiment;
        simulated.samples = std::min<uint64_t>(simulated.samples, kSimulated);
        out.band = band_of(simulated);
    } catch (const std::invalid_argument&) {
        // What only a guest can do has no band.
    }
    return out;
}

Band band_of(const sim::Experiment& experiment) {
    const auto in_us = [](const sim::Quantiles& q) {
        Quantiles out{static_cast<double>(q.p50) / 1000, {}};
        if (q.p99) out.p99 = static_cast<double>(*q.p99) / 1000;
        return out;
    };
    const sim::Sensitivity s = sim::sensitivity(experiment);
    Band out{in_us(s.nominal), in_us(s.least), in_us(s.most), {}};
    for (const sim::SensitivityRow& row : s.rows)
        out.rows.push_back({row.name, row.low, row.high, in_us(row.at_low), in_us(row.at_high)});
    return out;
}

std::string result_heads() {
    return fmt::format("{:>8} {:>9} {:>10} {:>10} {:>12} {:>12} {:>8} {:>7} {:>7}", "samples", "preempted", "p50 us", "p99 us",
                       "arrival p50", "arrival p99", "retained", "STP", "ANTT");
}

std::string result_columns(const Configuration& row) {
    const auto text = [](const std::optional<Percentile>& p, unsigned digits) {
        return p ? fmt::format("{:.{}f}", p->value, digits) : "-";
    };
    const Latency &doorbell = row.preemption_latency, &arrival = row.arrival_latency;
    return fmt::format("{:>8} {:>9} {:>10} {:>10} {:>12} {:>12} {:>8} {:>7} {:>7}", row.samples, row.preemptions,
                       text(doorbell.p50, 1), text(doorbell.p99, 1), text(arrival.p50, 1), text(arrival.p99, 1),
                       text(row.best_effort_retained, 3), text(row.stp, 3), text(row.antt, 2));
}

}  // namespace lyra::results
