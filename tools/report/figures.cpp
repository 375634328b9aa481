// SPDX-License-Identifier: MIT
// Pictures of one run: distribution, stages, parameters, throughput.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tools/report/report.h"
#include "tools/report/svg.h"

namespace lyra::report {

using results::Configuration;
using results::Latency;
using results::RunResults;

namespace {

constexpr size_t kMostCurves = 8, kMostBars = 40;

bool ends_with(const std::string& text, std::string_view end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// At most so many of n things, evenly, the first and the last among them.
std::vector<size_t> chosen(size_t n, size_t most) {
    std::vector<size_t> out;
    for (size_t k = 0; k < std::min(n, most); ++k) out.push_back(n <= most ? k : k * (n - 1) / (most - 1));
    return out;
}

std::string left_out(size_t shown, size_t all, const char* what) {
    return shown == all ? "" : fmt::format(" {} of {} {} are drawn; the tables have all.", shown, all, what);
}

/// Swept parameters whose values are numbers, and differ.
std::vector<std::string> numeric_parameters(const RunResults& run) {
    std::map<std::string, std::set<double>> values;
    std::set<std::string> others;
    for (const Configuration& c : run.configurations) {
        for (const auto& [path, text] : c.swept) {
            double value = 0;
            if (as_number(text, value))
                values[path].insert(value);
            else
                others.insert(path);
        }
    }
    std::vector<std::string> out;
    for (const auto& [path, all] : values) {
        if (all.size() > 1 && !others.contains(path) && path != "seed") out.push_back(path);
    }
    return out;
}

std::function<std::string(double)> axis_text(const std::string& path) {
    if (ends_with(path, "_us")) return time_text;
    if (ends_with(path, "_bytes")) return bytes_text;
    return number_text;
}

struct Member {
    double x;
    const Configuration* configuration;
};
/// Configurations that differ in this parameter only, by the values of the others.
std::map<std::string, std::vector<Member>> groups_of(const RunResults& run, const std::string& parameter, const Shown& what) {
    std::map<std::string, std::vector<Member>> groups;
    for (const Configuration& c : run.configurations) {
        Configuration rest;
        double x = 0;
        bool has = false;
        for (const auto& each : c.swept) {
            if (each.first == parameter)
                has = as_number(each.second, x);
            else
                rest.swept.push_back(each);
        }
        if (has && what.has(c)) groups[rest.swept.empty() ? "" : label_of(run, rest)].push_back({x, &c});
    }
    for (auto& [name, members] : groups) {
        std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.x < b.x; });
    }
    return groups;
}

Series series_of(const std::string& name, unsigned colour, const std::vector<Member>& members, const Shown& what,
                 std::optional<results::Percentile> Latency::* percentile) {
    Series out{name, fmt::format("c{}", colour), {}, false, true, true};
    for (const Member& m : members) {
        const std::optional<results::Percentile>& p = what.of(*m.configuration).*percentile;
        if (p) out.points.push_back({m.x, p->value, p->low, p->high});
    }
    return out;
}

std::vector<double> all_values(const std::vector<Series>& series, bool x) {
    std::vector<double> out;
    for (const Series& each : series) {
        for (const Point& p : each.points) {
            if (x) {
                out.push_back(p.x);
                continue;
            }
            out.push_back(p.y);
            if (p.high > p.low) out.insert(out.end(), {p.low, p.high});
        }
    }
    return out;
}

std::string fit_text(const Fit& fit) {
    const double us_per_mib = fit.slope * 1024 * 1024;
    const std::string speed = fit.slope > 0 ? fmt::format(" ({:.3g} GB/s)", 1e-3 / fit.slope) : "";
    return fmt::format("{} + {} per MiB{}, R² = {:.4f}", time_text(fit.intercept), time_text(us_per_mib), speed, fit.r2);
}

/// Lines of least squares instead of lines from point to point.
std::string context_figure(const std::string& parameter, const std::string& id, std::vector<Series> series, const Shown& what) {
    std::vector<Series> lines;
    std::string says =
        fmt::format("What is saved takes its time: {} against {}, with the line of least squares.", what.name(), parameter);
    for (Series& each : series) {
        std::vector<std::pair<double, double>> points;
        for (const Point& p : each.points) points.emplace_back(p.x, p.y);
        each.line = false;
        const Fit fit = least_squares(points);
        if (fit.points == 0) continue;
        Series line{fmt::format("{}: {}", each.name, fit_text(fit)), each.colour, {}, false, false, true};
        for (const double x : {each.points.front().x, each.points.back().x})
            line.points.push_back({x, std::max(fit.intercept + fit.slope * x, 0.0)});
        lines.push_back(std::move(line));
    }
    std::vector<Series> all = lines;
    all.insert(all.end(), series.begin(), series.end());
    const Axis x = linear_axis("bytes that have to be saved", all_values(all, true), bytes_text,
                               bytes_unit(all_values(all, true))),
               y = linear_axis(what.name(), all_values(all, false), time_text);
    std::vector<Series> named = lines;
    for (Series& each : named) each.markers = true;
    return figure("Latency against context bytes", says, line_chart({id, "Latency against context bytes", says}, x, y, all),
                  legend(named));
}

std::string parameter_figure(const RunResults& run, const std::string& parameter, const std::string& id) {
    const Shown what = shown(run);
    const auto groups = groups_of(run, parameter, what);
    if (groups.empty()) return "";
    std::vector<Series> series;
    std::string more;
    const bool context = ends_with(parameter, ".context_bytes");
    if (groups.size() == 1) {
        const auto& members = groups.begin()->second;
        series.push_back(series_of("p50", 1, members, what, &Latency::p50));
        series.push_back(series_of("p99", 8, members, what, &Latency::p99));
    } else {
        const std::vector<size_t> numbers = chosen(groups.size(), kMostCurves);
        size_t at = 0, next = 0;
        for (const auto& [name, members] : groups) {
            if (next < numbers.size() && numbers[next] == at++)
                series.push_back(series_of(name, static_cast<unsigned>(++next), members, what, &Latency::p99));
        }
        more = left_out(numbers.size(), groups.size(), "combinations");
    }
    std::erase_if(series, [](const Series& each) { return each.points.empty(); });
    if (series.empty()) return "";
    const bool only_p99 = groups.size() > 1;
    std::string out;
    if (context) out = context_figure(parameter, id + "-fit", series, what);
    const std::string short_name = short_names({parameter}).front();
    const std::string heading = fmt::format("{} against {}", only_p99 ? "p99" : "p50 and p99", short_name);
    const std::string says =
        fmt::format("{} of the {}, by {}; whiskers are 95 % intervals.{}",
                    only_p99 ? "99th percentile" : "Median and 99th percentile", what.name(), parameter, more);
    const std::vector<double> places = all_values(series, true);
    const Axis x = fitting_axis(parameter, places, axis_text(parameter),
                                ends_with(parameter, "_bytes") ? bytes_unit(places) : 1),
               y = fitting_axis(what.name(), all_values(series, false), time_text);
    return out + figure(heading, says, line_chart({id, heading, says}, x, y, series), legend(series));
}

}  // namespace

std::string cdf_figure(const RunResults& run, const std::string& id) {
    const Shown what = shown(run);
    std::vector<const Configuration*> with;
    for (const Configuration& c : run.configurations) {
        if (what.has(c)) with.push_back(&c);
    }
    if (with.empty()) return "";
    // One number that is swept: a row of one hue, from little to much.
    const bool ordered = with.front()->swept.size() == 1 && numeric_parameters(run).size() == 1;
    const std::vector<size_t> numbers = chosen(with.size(), kMostCurves);
    std::vector<Series> series;
    std::vector<double> values;
    for (size_t k = 0; k < numbers.size(); ++k) {
        const Configuration& c = *with[numbers[k]];
        const size_t step = numbers.size() == 1 ? 4 : k * 7 / (numbers.size() - 1);
        Series each{label_of(run, c),
                    ordered && numbers.size() > 1 ? fmt::format("r{}", step + 1) : fmt::format("c{}", k + 1),
                    {},
                    false,
                    false,
                    true};
        const std::vector<double>& cdf = what.of(c).cdf;
        for (size_t n = 0; n < cdf.size(); ++n)
            each.points.push_back({cdf[n], static_cast<double>(n) / static_cast<double>(cdf.size() - 1)});
        values.insert(values.end(), {cdf.front(), cdf.back()});
        series.push_back(std::move(each));
    }
    const std::string says =
        fmt::format("What part of the {} took no longer than the time on the axis.{}",
                    what.preemptions ? "pre-emptions" : "samples", left_out(numbers.size(), with.size(), "configurations"));
    const Axis x = log_axis(std::string(what.name()) + ", from doorbell to first wave", values, time_text),
               y{"part of all", false, 0, 1, percent_text};
    const std::string heading = fmt::format("Distribution of the {}", what.name());
    return figure(heading, says, line_chart({id, heading, says}, x, y, series),
                  series.size() > 1 || !with.front()->swept.empty() ? legend(series) : "");
}

std::string stages_figure(const RunResults& run, const std::string& id) {
    std::vector<const Configuration*> with;
    for (const Configuration& c : run.configurations) {
        if (c.stages) with.push_back(&c);
    }
    if (with.empty()) return "";
    const std::vector<size_t> numbers = chosen(with.size(), kMostBars);
    std::vector<Bar> bars;
    std::vector<double> sums;
    std::vector<BarPart> used;
    for (size_t stage = 0; stage < results::kStages.size(); ++stage) {
        const bool any = std::any_of(with.begin(), with.end(), [&](const Configuration* c) { return (*c->stages)[stage] > 0; });
        if (any) used.push_back({0, fmt::format("c{}", stage + 1), results::kStages[stage]});
    }
    for (const size_t n : numbers) {
        Bar bar{label_of(run, *with[n]), {}, ""};
        double sum = 0;
        for (size_t stage = 0; stage < results::kStages.size(); ++stage) {
            const double mean = (*with[n]->stages)[stage];
            bar.parts.push_back({mean, fmt::format("c{}", stage + 1), results::kStages[stage]});
            sum += mean;
        }
        bar.text = time_text(sum);
        sums.push_back(sum);
        bars.push_back(std::move(bar));
    }
    const std::string says =
        "Mean stages from doorbell to first wave, of samples that pre-empted a queue. Steps that did not delay the wave, such "
        "as a "
        "fence that the driver sees when the wave already runs, are not included." +
        left_out(numbers.size(), with.size(), "configurations");
    return figure("Where the time goes", says,
                  bar_chart({id, "Where the time goes", says},
                            linear_axis("mean time from doorbell to first wave", sums, time_text), bars),
                  legend(used));
}

std::string parameter_figures(const RunResults& run, const std::string& id) {
    std::string out;
    unsigned number = 0;
    for (const std::string& parameter : numeric_parameters(run))
        out += parameter_figure(run, parameter, fmt::format("{}-{}", id, ++number));
    return out;
}

std::string sensitivity_figures(const RunResults& run, const std::string& id) {
    constexpr size_t kMostRows = 12, kMostFigures = 8;
    std::string out;
    unsigned number = 0;
    for (const Configuration& c : run.configurations) {
        if (!c.band || c.band->rows.empty() || number == kMostFigures) continue;
        const double nominal = c.band->nominal.p50;
        std::vector<Bar> bars;
        std::vector<double> ends = {c.band->least.p50, c.band->most.p50};
        const auto add = [&](const std::string& name, double low, double high, const std::string& text) {
            const double least = std::min({low, high, nominal}), most = std::max({low, high, nominal});
            bars.push_back({name, {{least, "none", name}, {nominal - least, "c1", name}, {most - nominal, "c8", name}}, text});
        };
        add("all at once", c.band->least.p50, c.band->most.p50,
            fmt::format("{} to {}", time_text(c.band->least.p50), time_text(c.band->most.p50)));
        for (const results::SensitivityRow& row : c.band->rows) {
            if (bars.size() > kMostRows) break;
            add(row.name, row.at_low.p50, row.at_high.p50, fmt::format("{} to {}", row.low, row.high));
            ends.insert(ends.end(), {row.at_low.p50, row.at_high.p50});
        }
        const std::string heading = "What the latency hangs on" + (c.swept.empty() ? "" : ": " + label_of(run, c));
        const std::string says = fmt::format(
            "Median from the intended arrival to the first wave, {} with the table's values, when each uncertain time has the "
            "least and the largest of its plausible values, which stand beside the bar. By the simulator.",
            time_text(nominal));
        const std::string figure_id = fmt::format("{}-{}", id, ++number);
        out +=
            figure(heading, says,
                   bar_chart({figure_id, heading, says}, linear_axis("median of the arrival latency", ends, time_text), bars),
                   legend(std::vector<BarPart>{{0, "c1", "sooner"}, {0, "c8", "later"}}));
    }
    return out;
}

std::string retained_figure(const RunResults& run, const std::string& id) {
    std::vector<const Configuration*> with;
    for (const Configuration& c : run.configurations) {
        if (c.best_effort_retained) with.push_back(&c);
    }
    if (with.empty()) return "";
    const std::vector<size_t> numbers = chosen(with.size(), kMostBars);
    std::vector<Bar> bars;
    double most = 1;
    for (const size_t n : numbers) {
        const double retained = with[n]->best_effort_retained->value;
        most = std::max(most, retained);
        bars.push_back(
            {label_of(run, *with[n]), {{retained, "c1", label_of(run, *with[n])}}, fmt::format("{:.2f} %", retained * 100)});
    }
    const std::string says = "Throughput of the best-effort clients, each as part of what one queue of it does alone." +
                             left_out(numbers.size(), with.size(), "configurations");
    const Axis x{"throughput retained", false, 0, most, percent_text};
    return figure("Throughput retained", says, bar_chart({id, "Throughput retained", says}, x, bars), "");
}

std::string figure(const std::string& heading, const std::string& says, const std::string& svg, const std::string& legend) {
    return fmt::format("<figure>\n<h3>{}</h3>\n<figcaption>{}</figcaption>\n{}<div class=\"wide\">\n{}</div>\n</figure>\n",
                       escape(heading), escape(says), legend, svg);
}

}  // namespace lyra::report
