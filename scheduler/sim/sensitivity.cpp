// SPDX-License-Identifier: MIT
#include "scheduler/sim/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "scheduler/sim/metrics.h"

namespace lyra::sim {

namespace {

/// One thing that is uncertain: how to set it, and from where to where.
struct Uncertain {
    std::string name;
    uint64_t low, high;
    std::function<void(Experiment&, uint64_t)> set;
};

Quantiles quantiles(Experiment e) {
    std::vector<std::vector<uint64_t>> runs;
    uint64_t samples = 0;
    for (unsigned n = 0; n < e.seeds; ++n, ++e.seed) {
        runs.emplace_back();
        for (const Sample& s : simulate(e).samples)
            runs.back().push_back(s.t8_first_wave - std::min(s.arrival, s.t8_first_wave));
        std::sort(runs.back().begin(), runs.back().end());
        samples += runs.back().size();
    }
    // One run of all samples: no interval is asked for.
    std::vector<uint64_t> all;
    for (const std::vector<uint64_t>& run : runs) all.insert(all.end(), run.begin(), run.end());
    std::sort(all.begin(), all.end());
    Quantiles out{percentile(all, 50).value, {}};
    if (enough_for(samples, 99)) out.p99 = percentile(all, 99).value;
    return out;
}

void scale(uint64_t& ns, uint64_t percent) { ns = ns * percent / 100; }

std::vector<Uncertain> uncertain(const Experiment& e) {
    std::vector<Uncertain> out;
    const auto add_row = [&](const TimingInfo& info, uint64_t Timing::* member) {
        if (info.low == info.high) return;
        const double factor = static_cast<double>(e.timing.*member) / static_cast<double>(info.value);
        const auto at = [&](uint64_t value) {
            return std::clamp(static_cast<uint64_t>(std::llround(static_cast<double>(value) * factor)), info.smallest,
                              info.largest);
        };
        out.push_back(
            {info.name, at(info.low), at(info.high), [member](Experiment& x, uint64_t value) { x.timing.*member = value; }});
    };
    size_t n = 0;
#define TIMING(name, ...) add_row(kTimings[n++], &Timing::name);
#include "common/timing.def"
#undef TIMING
    // A processor of 0.3 to 3 ns an instruction, where the guest's has 1.
    out.push_back({"driver", 30, 300, [](Experiment& x, uint64_t percent) {
                       for (uint64_t* ns :
                            {&x.driver.look_ns, &x.driver.submit_ns, &x.driver.query_ns, &x.driver.wake_ns, &x.driver.fence_ns,
                             &x.driver.irq_ns, &x.driver.notify_ns, &x.driver.timer_ns, &x.driver.round_ns})
                           scale(*ns, percent);
                   }});
    out.push_back({"save_fixed_ns", e.save_fixed_ns / 3, e.save_fixed_ns * 3,
                   [](Experiment& x, uint64_t value) { x.save_fixed_ns = value; }});
    return out;
}

}  // namespace

Sensitivity sensitivity(const Experiment& experiment) {
    Sensitivity out;
    out.nominal = quantiles(experiment);
    Experiment least = experiment, most = experiment;
    for (const Uncertain& each : uncertain(experiment)) {
        SensitivityRow row{each.name, each.low, each.high, {}, {}};
        for (const auto& [value, at] : {std::pair(each.low, &row.at_low), std::pair(each.high, &row.at_high)}) {
            Experiment changed = experiment;
            each.set(changed, value);
            *at = quantiles(changed);
        }
        if (row.at_low.p50 == out.nominal.p50 && row.at_high.p50 == out.nominal.p50 && row.at_low.p99 == out.nominal.p99 &&
            row.at_high.p99 == out.nominal.p99)
            continue;
        const bool rises = row.at_low.p50 != row.at_high.p50 ? row.at_low.p50 < row.at_high.p50
                                                             : row.at_low.p99.value_or(0) < row.at_high.p99.value_or(0);
        each.set(least, rises ? each.low : each.high);
        each.set(most, rises ? each.high : each.low);
        out.rows.push_back(std::move(row));
    }
    const auto width = [](const SensitivityRow& row) {
        return std::max(row.at_low.p50, row.at_high.p50) - std::min(row.at_low.p50, row.at_high.p50);
    };
    std::stable_sort(out.rows.begin(), out.rows.end(),
                     [&](const SensitivityRow& a, const SensitivityRow& b) { return width(a) > width(b); });
    out.least = quantiles(least);
    out.most = quantiles(most);
    return out;
}

}  // namespace lyra::sim
