// SPDX-License-Identifier: MIT
// The numbers of a run, and runs beside each other.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tools/report/report.h"
#include "tools/report/svg.h"

namespace lyra::report {

using results::Configuration;
using results::Latency;
using results::Percentile;
using results::RunResults;

namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr size_t kMostRows = 2'000;
constexpr size_t kMostOverlaid = 4;
constexpr size_t kMostTogether = 8;  ///< curves of several runs

std::string us_text(double us) { return fmt::format("{:.1f}", us); }

std::string with_interval(const std::optional<Percentile>& p) {
    return p ? fmt::format("{} <small>{}–{}</small>", us_text(p->value), us_text(p->low), us_text(p->high)) : "–";
}

std::string part_text(const std::optional<Percentile>& p) { return p ? fmt::format("{:.2f} %", p->value * 100) : "–"; }
std::string ratio_text(const std::optional<Percentile>& p) { return p ? fmt::format("{:.3f}", p->value) : "–"; }

std::string band_text(const std::optional<results::Band>& band, bool p99) {
    if (!band || (p99 && !(band->least.p99 && band->most.p99))) return "–";
    const auto text = [&](const results::Quantiles& q) { return us_text(p99 ? *q.p99 : q.p50); };
    return text(band->least) + "–" + text(band->most);
}

/// Heads and cells that tell which configuration a row is about.
std::vector<std::string> swept_heads(const RunResults& run) {
    std::vector<std::string> out;
    for (const auto& [path, value] : run.configurations.front().swept) out.push_back(escape(path));
    if (out.empty()) out.emplace_back("experiment");
    return out;
}
std::vector<std::string> swept_cells(const RunResults& run, const Configuration& c, size_t count) {
    std::vector<std::string> out;
    for (const auto& [path, value] : c.swept) out.push_back(escape(value));
    if (out.empty()) out.push_back(escape(run.manifest.name));
    out.resize(count);  // a file may lie about its sweep
    return out;
}

std::string latency_table(const RunResults& run, const char* caption, const Latency Configuration::* which,
                          const uint64_t Configuration::* count) {
    Rows rows{swept_heads(run)};
    const size_t text = rows[0].size();
    rows[0].insert(rows[0].end(), {"n", "p50", "p95", "p99", "p99.9", "max"});
    for (const Configuration& c : run.configurations) {
        std::vector<std::string> row = swept_cells(run, c, text);
        const Latency& l = c.*which;
        row.push_back(std::to_string(c.*count));
        for (const auto& p : {l.p50, l.p95, l.p99, l.p999}) row.push_back(with_interval(p));
        row.push_back(c.*count == 0 ? "–" : us_text(l.max));
        rows.push_back(std::move(row));
    }
    return table(caption, rows, text);
}

std::string stages_table(const RunResults& run) {
    Rows rows{swept_heads(run)};
    const size_t text = rows[0].size();
    rows[0].insert(rows[0].end(), results::kStages.begin(), results::kStages.end());
    rows[0].emplace_back("sum");
    for (const Configuration& c : run.configurations) {
        if (!c.stages) continue;
        std::vector<std::string> row = swept_cells(run, c, text);
        double sum = 0;
        for (const double mean : *c.stages) {
            row.push_back(us_text(mean));
            sum += mean;
        }
        row.push_back(us_text(sum));
        rows.push_back(std::move(row));
    }
    return rows.size() == 1 ? "" : table("Means of the stages, µs", rows, text);
}

std::string other_table(const RunResults& run) {
    Rows rows{swept_heads(run)};
    const size_t text = rows[0].size();
    rows[0].insert(rows[0].end(),
                   {"retained", "STP", "ANTT", "lost work", "MiB saved", "modelled s", "seed", "seeds", "trace hash"});
    for (const Configuration& c : run.configurations) {
        std::vector<std::string> row = swept_cells(run, c, text);
        row.insert(row.end(), {part_text(c.best_effort_retained), ratio_text(c.stp), ratio_text(c.antt),
                               c.lost_work ? std::to_string(*c.lost_work) : "not looked for",
                               c.bytes_saved ? fmt::format("{:.0f}", static_cast<double>(*c.bytes_saved) / 1048576)
                                             : std::string("not known"),
                               fmt::format("{:.2f}", c.simulated_ms / 1000), std::to_string(c.seed), std::to_string(c.seeds),
                               escape(c.trace_hash)});
        rows.push_back(std::move(row));
    }
    return table("Throughput, work and what is needed to repeat it", rows, text);
}

std::string client_table(const RunResults& run) {
    Rows rows{swept_heads(run)};
    const size_t text = rows[0].size() + 1;
    rows[0].insert(rows[0].end(), {"client", "kernels done", "longest off, ms"});
    for (const Configuration& c : run.configurations) {
        for (const results::Client& client : c.clients) {
            std::vector<std::string> row = swept_cells(run, c, text - 1);
            row.insert(row.end(), {escape(client.name), std::to_string(client.kernels),
                                   client.longest_off_us ? fmt::format("{:.3f}", *client.longest_off_us / 1000)
                                                         : std::string("not known")});
            rows.push_back(std::move(row));
        }
    }
    return rows.size() == 1
               ? ""
               : table("Clients: longest off is how long one wanted to run and was not on the hardware", rows, text);
}

struct Pair {
    const Configuration *first, *second;
};

std::string difference(double from, double to) {
    return from == 0 ? (to == 0 ? "0.0 %" : "–") : fmt::format("{:+.1f} %", (to - from) / from * 100);
}

bool overlap(const Percentile& a, const Percentile& b) { return a.low <= b.high && b.low <= a.high; }

std::string overlay(const std::vector<Pair>& pairs, const RunResults& first, const Shown& what, const std::string& a,
                    const std::string& b) {
    std::vector<Series> series;
    std::vector<double> values;
    const auto add = [&](const Configuration& c, const std::string& name, size_t colour, bool dashed) {
        Series each{name, fmt::format("c{}", colour), {}, dashed, false, true};
        const std::vector<double>& cdf = what.of(c).cdf;
        for (size_t n = 0; n < cdf.size(); ++n)
            each.points.push_back({cdf[n], static_cast<double>(n) / static_cast<double>(cdf.size() - 1)});
        values.insert(values.end(), {cdf.front(), cdf.back()});
        series.push_back(std::move(each));
    };
    for (const Pair& pair : pairs) {
        if (!what.has(*pair.first) || !what.has(*pair.second)) continue;
        if (series.size() == 2 * kMostOverlaid) break;
        const std::string label = pair.first->swept.empty() ? "" : ", " + label_of(first, *pair.first);
        const size_t colour = pairs.size() == 1 ? 1 : series.size() / 2 + 1;
        add(*pair.first, a + label, colour, false);
        add(*pair.second, b + label, pairs.size() == 1 ? 8 : colour, true);
    }
    if (series.empty()) return "";
    const std::string says = "Distribution in both: the first with full lines, the second with broken ones." +
                             (series.size() / 2 == pairs.size()
                                  ? ""
                                  : fmt::format(" {} of {} configurations are drawn.", series.size() / 2, pairs.size()));
    const Axis x = log_axis(std::string(what.name()) + ", from doorbell to first wave", values, time_text),
               y{"part of all", false, 0, 1, percent_text};
    return figure("Both distributions", says, line_chart({"compare-cdf", "Both distributions", says}, x, y, series),
                  legend(series));
}

}  // namespace

std::string table(const std::string& caption, const std::vector<std::vector<std::string>>& rows, size_t text_columns) {
    std::string out = "<div class=\"wide\">\n<table>\n<caption>" + escape(caption) + "</caption>\n<thead><tr>";
    const auto row_class = [&](size_t column) { return column < text_columns ? " class=\"text\"" : ""; };
    for (size_t n = 0; n < rows[0].size(); ++n) out += fmt::format("<th scope=\"col\"{}>{}</th>", row_class(n), rows[0][n]);
    out += "</tr></thead>\n<tbody>\n";
    for (size_t r = 1; r < std::min(rows.size(), kMostRows + 1); ++r) {
        out += "<tr>";
        for (size_t n = 0; n < rows[r].size(); ++n) out += fmt::format("<td{}>{}</td>", row_class(n), rows[r][n]);
        out += "</tr>\n";
    }
    out += "</tbody>\n</table>\n</div>\n";
    if (rows.size() > kMostRows + 1)
        out += fmt::format("<p>The first {} of {} rows; the results have all.</p>\n", kMostRows, rows.size() - 1);
    return out;
}

std::string tables(const RunResults& run) {
    return latency_table(run, "Latency of samples that pre-empted a queue, µs, with 95 % intervals",
                         &Configuration::preemption_latency, &Configuration::preemptions) +
           latency_table(run, "Latency of all samples, µs, with 95 % intervals", &Configuration::latency,
                         &Configuration::samples) +
           latency_table(run, "From the intended arrival to the first wave, µs", &Configuration::arrival_latency,
                         &Configuration::samples) +
           latency_table(run, "From the intended arrival until all waves are resident, µs", &Configuration::resident_latency,
                         &Configuration::samples) +
           latency_table(run, "From the intended arrival to completion, µs", &Configuration::completion,
                         &Configuration::samples) +
           latency_table(run, "Completion as multiple of its mean alone (slowdown)", &Configuration::slowdown,
                         &Configuration::samples) +
           stages_table(run) + other_table(run) + client_table(run);
}

std::string comparison(const NamedRun& first, const NamedRun& second) {
    const bool sources = first.run.manifest.source != second.run.manifest.source;
    // A simulation is judged by what was measured.
    const bool turned = sources && first.run.manifest.source == "sim";
    const NamedRun &a = turned ? second : first, &b = turned ? first : second;
    const std::string a_name = sources ? "measured" : "before", b_name = sources ? "simulated" : "after";
    const Shown what{shown(a.run).preemptions && shown(b.run).preemptions};
    std::vector<Pair> pairs;
    for (const Configuration& one : a.run.configurations) {
        const auto found = std::find_if(b.run.configurations.begin(), b.run.configurations.end(),
                                        [&](const Configuration& other) { return other.swept == one.swept; });
        if (found != b.run.configurations.end()) pairs.push_back({&one, &*found});
    }
    std::string out =
        fmt::format("<section id=\"comparison\">\n<h2>{}</h2>\n", sources ? "Simulation and measurement" : "Before and after");
    out += fmt::format("<p>{}: {}; {}: {}.", a_name, escape(a.name), b_name, escape(b.name));
    if (pairs.empty()) return out + " No configuration is in both, so there is nothing to compare.</p>\n</section>\n";
    const size_t alone = a.run.configurations.size() + b.run.configurations.size() - 2 * pairs.size();
    out += fmt::format(" Configurations in both: {}, in one only: {}.</p>\n", pairs.size(), alone);
    out += overlay(pairs, a.run, what, a_name, b_name);
    Rows rows{swept_heads(a.run)};
    const size_t text = rows[0].size();
    for (const char* percentile : {"p50", "p99"}) {
        for (const std::string& head :
             {percentile + (" " + a_name), percentile + (" " + b_name), std::string("difference"), std::string("overlap")})
            rows[0].push_back(head);
    }
    rows[0].insert(rows[0].end(), {"retained " + a_name, "retained " + b_name});
    for (const Pair& pair : pairs) {
        std::vector<std::string> row = swept_cells(a.run, *pair.first, text);
        const std::string &name = a.run.manifest.name, &other = b.run.manifest.name;
        if (pair.first->swept.empty() && name != other) row[0] = escape(name + ", " + other);
        for (const auto percentile : {&Latency::p50, &Latency::p99}) {
            if (!(what.of(*pair.first).*percentile) || !(what.of(*pair.second).*percentile)) {
                row.insert(row.end(), 4, "–");
                continue;
            }
            const Percentile &p = *(what.of(*pair.first).*percentile), &q = *(what.of(*pair.second).*percentile);
            row.insert(row.end(),
                       {us_text(p.value), us_text(q.value), difference(p.value, q.value), overlap(p, q) ? "yes" : "no"});
        }
        for (const Configuration* c : {pair.first, pair.second}) row.push_back(part_text(c->best_effort_retained));
        rows.push_back(std::move(row));
    }
    return out +
           table(fmt::format("Comparison of the {}, µs: difference of the second from the first, and whether their 95 % "
                             "intervals overlap",
                             what.name()),
                 rows, text) +
           "</section>\n";
}

std::string side_by_side(const std::vector<NamedRun>& runs) {
    std::vector<Series> series;
    std::vector<double> values;
    size_t all = 0;
    Rows rows{{"experiment", "source", "p50", "band of p50", "p99", "band of p99", "retained", "STP", "ANTT", "lost work"}};
    for (const NamedRun& named : runs) {
        const RunResults& run = named.run;
        for (const Configuration& c : run.configurations) {
            const std::string name = run.manifest.name + (c.swept.empty() ? "" : ", " + label_of(run, c));
            const Latency& l = c.arrival_latency;
            rows.push_back({escape(name), run.manifest.source == "sim" ? "simulated" : "measured in a guest",
                            with_interval(l.p50), band_text(c.band, false), with_interval(l.p99), band_text(c.band, true),
                            part_text(c.best_effort_retained), ratio_text(c.stp), ratio_text(c.antt),
                            c.lost_work ? std::to_string(*c.lost_work) : "not looked for"});
            if (l.cdf.empty()) continue;
            ++all;
            if (series.size() == kMostTogether) continue;
            Series each{name, fmt::format("c{}", series.size() + 1), {}, run.manifest.source == "sim", false, true};
            for (size_t n = 0; n < l.cdf.size(); ++n)
                each.points.push_back({l.cdf[n], static_cast<double>(n) / static_cast<double>(l.cdf.size() - 1)});
            values.insert(values.end(), {l.cdf.front(), l.cdf.back()});
            series.push_back(std::move(each));
        }
    }
    std::string out = "<section id=\"side-by-side\">\n<h2>Side by side</h2>\n";
    if (!series.empty()) {
        const std::string says = "From the intended arrival to the first wave; simulated ones with broken lines." +
                                 (series.size() == all ? "" : fmt::format(" {} of {} are drawn.", series.size(), all));
        const Axis x = log_axis("latency, from the intended arrival to the first wave", values, time_text),
                   y{"part of all", false, 0, 1, percent_text};
        out += figure("Distributions", says, line_chart({"side-by-side-cdf", "Distributions", says}, x, y, series),
                      legend(series));
    }
    return out + table("From the intended arrival to the first wave, µs", rows, 2) +
           "<p>Small figures are 95 % intervals. Bands are the simulator's: all uncertain times at the ends of their "
           "ranges.</p>\n"
           "</section>\n";
}

}  // namespace lyra::report
