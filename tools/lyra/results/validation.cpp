// SPDX-License-Identifier: MIT
#include "tools/lyra/results/validation.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "tools/lyra/results/summary.h"

namespace lyra::results {

namespace {

double square(double x) { return x * x; }

/// In units of what a validation allows.
double badness(const Difference& d) {
    const Bounds bounds;
    double sum = square(d.p50_off() / bounds.p50);
    if (const auto p99 = d.p99_off()) sum += square(*p99 / bounds.p99);
    if (d.parts && d.measured_parts) {
        for (size_t n = 0; n < kParts.size(); ++n)
            sum += square(((*d.parts)[n] - (*d.measured_parts)[n]) / d.measured_p50 / bounds.part);
    }
    return sum;
}

double badness(const std::vector<sim::Configuration>& configurations, const RunResults& measured) {
    double sum = 0;
    for (const sim::Configuration& each : configurations) {
        if (const auto d = difference(simulated(each), measured)) sum += badness(*d);
    }
    return sum;
}

}  // namespace

PartMeans parts_of(const StageMeans& stages) {
    constexpr size_t kWait = 3, kSave = 4;
    static_assert(std::string_view(kStages[kWait]) == "wait" && std::string_view(kStages[kSave]) == "save");
    PartMeans out{};
    for (size_t n = 0; n < kStages.size(); ++n) out[n < kWait ? 0 : n <= kSave ? 1 : 2] += stages[n];
    return out;
}

std::optional<double> Difference::p99_off() const {
    if (!p99 || !measured_p99) return std::nullopt;
    return *p99 / *measured_p99 - 1;
}

std::optional<std::pair<size_t, double>> Difference::part_off() const {
    if (!parts || !measured_parts) return std::nullopt;
    std::pair<size_t, double> most{0, 0};
    for (size_t n = 0; n < kParts.size(); ++n) {
        const double share = ((*parts)[n] - (*measured_parts)[n]) / measured_p50;
        if (std::abs(share) > std::abs(most.second)) most = {n, share};
    }
    return most;
}

bool Bounds::keeps(const Difference& d) const {
    const auto p99_off = d.p99_off();
    const auto part_off = d.part_off();
    return std::abs(d.p50_off()) <= p50 && p99_off && std::abs(*p99_off) <= p99 && part_off &&
           std::abs(part_off->second) <= part;
}

std::optional<Difference> difference(const Configuration& simulated, const RunResults& measured) {
    const auto found = std::find_if(measured.configurations.begin(), measured.configurations.end(),
                                    [&](const Configuration& other) { return other.swept == simulated.swept; });
    if (found == measured.configurations.end()) return std::nullopt;
    const Latency &a = found->preemption_latency, &b = simulated.preemption_latency;
    if (!a.p50 || !b.p50 || !(a.p50->value > 0)) return std::nullopt;
    Difference out;
    for (const auto& [path, value] : simulated.swept) out.name += (out.name.empty() ? "" : " ") + path + "=" + value;
    out.measured_p50 = a.p50->value;
    out.p50 = b.p50->value;
    if (a.p99) out.measured_p99 = a.p99->value;
    if (b.p99) out.p99 = b.p99->value;
    if (found->stages) out.measured_parts = parts_of(*found->stages);
    if (simulated.stages) out.parts = parts_of(*simulated.stages);
    return out;
}

Configuration simulated(const sim::Configuration& configuration) {
    std::vector<SeedRun> runs;
    sim::Experiment experiment = configuration.experiment;
    for (unsigned n = 0; n < configuration.experiment.seeds; ++n, ++experiment.seed) {
        SeedRun run;
        for (const sim::ClientClass& c : experiment.clients) run.clients.push_back({c.name, c.latency_critical, 0, {}, {}});
        run.samples = sim::simulate(experiment).samples;
        runs.push_back(std::move(run));
    }
    Configuration out = summarise(runs);
    out.swept = configuration.swept;
    return out;
}

std::vector<GuestTime> guest_times(const sim::Experiment& experiment) {
    using Driver = sim::DriverTimes;
    std::vector<GuestTime> out;
    for (const auto& [key, member] :
         {std::pair("driver.look_us", &Driver::look_ns), std::pair("driver.submit_us", &Driver::submit_ns),
          std::pair("driver.query_us", &Driver::query_ns), std::pair("driver.fence_us", &Driver::fence_ns),
          std::pair("driver.notify_us", &Driver::notify_ns), std::pair("driver.timer_us", &Driver::timer_ns),
          std::pair("driver.round_us", &Driver::round_ns)})
        out.push_back({key, [member](sim::Experiment& e) -> uint64_t& { return e.driver.*member; }});
    for (size_t n = 0; n < experiment.clients.size(); ++n) {
        if (experiment.clients[n].turnaround_ns == 0) continue;
        out.push_back({"client." + experiment.clients[n].name + ".turnaround_us",
                       [n](sim::Experiment& e) -> uint64_t& { return e.clients[n].turnaround_ns; }});
    }
    return out;
}

double fit(std::vector<sim::Configuration>& configurations, const RunResults& measured) {
    constexpr uint64_t kFirstStep = 8'000, kLastStep = 250;  // ns
    const std::vector<GuestTime> times = guest_times(configurations.front().experiment);
    double best = badness(configurations, measured);
    const auto set = [&](const GuestTime& time, uint64_t ns) {
        for (sim::Configuration& each : configurations) time.of(each.experiment) = ns;
    };
    for (uint64_t step = kFirstStep; step >= kLastStep; step /= 2) {
        for (const GuestTime& time : times) {
            for (const int direction : {1, -1}) {
                for (;;) {
                    const uint64_t before = time.of(configurations.front().experiment);
                    if (direction < 0 && before < step) break;
                    set(time, direction > 0 ? before + step : before - step);
                    const double now = badness(configurations, measured);
                    if (now < best) {
                        best = now;
                        continue;
                    }
                    set(time, before);
                    break;
                }
            }
        }
    }
    return best;
}

}  // namespace lyra::results
