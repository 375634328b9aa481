// SPDX-License-Identifier: MIT
// Reports: pictures hold the numbers that went in, text from files stays text.
#include "tools/report/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <regex>
#include <sstream>

#include "tools/report/svg.h"

namespace lyra::report {
namespace {

using results::Configuration;
using results::Latency;
using results::RunResults;

Latency latency_of(double scale) {
    std::vector<uint64_t> ns;
    for (uint64_t n = 1; n <= 2000; ++n)
        ns.push_back(static_cast<uint64_t>(scale * 1000 * (50 + std::pow(1.003, static_cast<double>(n)))));
    return results::describe({ns});
}

Configuration configuration(std::vector<std::pair<std::string, std::string>> swept, double scale) {
    Configuration c;
    c.swept = std::move(swept);
    c.samples = c.preemptions = 2000;
    c.latency = c.preemption_latency = latency_of(scale);
    c.stages = results::StageMeans{0, 10 * scale, 5, 0, 40 * scale, 0, 2.5, 2.5};
    c.arrival_latency = c.resident_latency = c.completion = c.latency;
    c.best_effort_retained = results::Percentile{0.975, 0.97, 0.98};
    c.trace_hash = "00ff";
    c.clients = {{"effort", 3, 1500}};
    return c;
}

NamedRun run_of(std::string source, std::vector<Configuration> configurations) {
    NamedRun run{"file-" + source, {}};
    run.run.manifest = {
        "0.1.0 (test)",      std::move(source), "notify", "samples = 1\n", results::hash_text("samples = 1\n"), 1,
        {{"packet_ns", 200}}};
    run.run.configurations = std::move(configurations);
    return run;
}

NamedRun kernel_sweep() {
    return run_of(
        "sim", {configuration({{"client.effort.kernel_us", "10"}}, 1), configuration({{"client.effort.kernel_us", "1000"}}, 2),
                configuration({{"client.effort.kernel_us", "100000"}}, 30)});
}

/// The picture with this id.
std::string picture(const std::string& page, const std::string& id) {
    const size_t from = page.find("<svg id=\"" + id + "\"");
    return from == std::string::npos ? "" : page.substr(from, page.find("</svg>", from) - from);
}

/// From the data attribute of a picture back to values.
struct Scale {
    std::string kind;
    double low = 0, high = 0, from = 0, to = 0;
    Scale(const std::string& svg, const char* name) {
        const std::string key = std::string(" data-") + name + "=\"";
        std::istringstream in(svg.substr(svg.find(key) + key.size()));
        in >> kind >> low >> high >> from >> to;
    }
    double value(double place) const {
        const double part = (place - from) / (to - from);
        return kind == "log" ? low * std::pow(high / low, part) : low + part * (high - low);
    }
};

std::vector<std::pair<double, double>> path_points(const std::string& svg, const std::string& colour) {
    std::vector<std::pair<double, double>> out;
    const size_t at = svg.find("<path class=\"line " + colour);
    if (at == std::string::npos) return out;
    const size_t d = svg.find(" d=\"", at) + 4;
    std::string text = svg.substr(d, svg.find('"', d) - d);
    for (char& c : text) {
        if (c == 'M' || c == 'L' || c == ',') c = ' ';
    }
    std::istringstream in(text);
    for (double x, y; in >> x >> y;) out.emplace_back(x, y);
    return out;
}

size_t count(const std::string& text, const std::string& part) {
    size_t n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

TEST(Report, DistributionIsTheQuantiles) {
    const NamedRun run = kernel_sweep();
    const std::string svg = picture(html({run}), "run1-cdf");
    ASSERT_FALSE(svg.empty());
    const Scale x(svg, "x"), y(svg, "y");
    EXPECT_EQ(x.kind, "log");
    for (size_t n = 0; n < 3; ++n) {
        const char* colours[] = {"r1", "r4", "r8"};
        const auto points = path_points(svg, colours[n]);
        const std::vector<double>& cdf = run.run.configurations[n].preemption_latency.cdf;
        ASSERT_EQ(points.size(), cdf.size());
        for (size_t k = 0; k < cdf.size(); ++k) {
            EXPECT_NEAR(x.value(points[k].first) / cdf[k], 1, 1e-3);
            EXPECT_NEAR(y.value(points[k].second), static_cast<double>(k) / 200, 1e-4);
        }
    }
    // Ticks stand where the same scale puts them.
    std::smatch tick;
    ASSERT_TRUE(std::regex_search(svg, tick, std::regex("class=\"tick xt\" x=\"([0-9.]+)\"[^>]*>1 ms<")))
        << svg.substr(0, 3000);
    EXPECT_NEAR(x.value(std::stod(tick[1])), 1000, 1);
    ASSERT_TRUE(std::regex_search(svg, tick, std::regex("class=\"tick yt\" x=\"[0-9.]+\" y=\"([0-9.]+)\"[^>]*>60 %<")));
    EXPECT_NEAR(y.value(std::stod(tick[1]) - 4), 0.6, 1e-3);
}

TEST(Report, BarsAreTheStages) {
    const NamedRun run = kernel_sweep();
    const std::string page = html({run}), svg = picture(page, "run1-stages");
    const Scale x(svg, "x");
    const double per_us = (x.to - x.from) / (x.high - x.low);
    std::regex rect("<rect class=\"area (c[0-9])\" x=\"([0-9.]+)\" y=\"[0-9.]+\" width=\"([0-9.]+)\"");
    std::vector<std::tuple<std::string, double, double>> parts;
    for (std::sregex_iterator at(svg.begin(), svg.end(), rect), end; at != end; ++at)
        parts.emplace_back((*at)[1], std::stod((*at)[2]), std::stod((*at)[3]));
    ASSERT_EQ(parts.size(), 15u);  // five stages that last, in three configurations
    // The last configuration: detect 300, request 5, save 1200, switch 2.5, dispatch 2.5.
    const auto& [save, save_x, save_width] = parts[12];
    EXPECT_EQ(save, "c5");
    EXPECT_NEAR(x.value(save_x), 305, 2);
    EXPECT_NEAR(save_width / per_us, 1200, 3.0 / per_us);
    EXPECT_NE(svg.find("save: 1.2 ms"), std::string::npos);
    EXPECT_NE(svg.find(">1.51 ms<"), std::string::npos);
    EXPECT_NE(page.find("</svg>detect</li>"), std::string::npos);
    EXPECT_EQ(page.find("</svg>notify</li>"), std::string::npos);  // takes no time, so it needs no colour
}

TEST(Report, ParametersAreAxes) {
    const NamedRun run = kernel_sweep();
    const std::string svg = picture(html({run}), "run1-parameter-1");
    const Scale x(svg, "x"), y(svg, "y");
    EXPECT_EQ(x.kind, "log");
    const auto p99 = path_points(svg, "c8");
    ASSERT_EQ(p99.size(), 3u);
    const double kernels[] = {10, 1000, 100000};
    for (size_t n = 0; n < 3; ++n) {
        EXPECT_NEAR(x.value(p99[n].first) / kernels[n], 1, 1e-3);
        EXPECT_NEAR(y.value(p99[n].second) / run.run.configurations[n].preemption_latency.p99.value().value, 1, 0.01);
    }
    EXPECT_NE(svg.find(">100 ms<"), std::string::npos);
}

TEST(Report, ContextBytesHaveTheirLine) {
    std::vector<Configuration> all;
    for (const double mib : {0.0, 4.0, 8.0, 16.0}) {
        Configuration c =
            configuration({{"client.effort.context_bytes", std::to_string(static_cast<uint64_t>(mib * 1048576))}}, 1);
        for (const auto p : {&Latency::p50, &Latency::p95, &Latency::p99, &Latency::p999})
            c.preemption_latency.*p = results::Percentile{20 + 3.5 * mib, 20 + 3.5 * mib, 20 + 3.5 * mib};
        all.push_back(c);
    }
    const std::string page = html({run_of("sim", all)});
    EXPECT_NE(page.find("p50: 20 µs + 3.5 µs per MiB (300 GB/s), R² = 1.0000"), std::string::npos);
    const std::string svg = picture(page, "run1-parameter-1-fit");
    const Scale x(svg, "x"), y(svg, "y");
    const auto line = path_points(svg, "c1");
    ASSERT_EQ(line.size(), 2u);
    EXPECT_NEAR(y.value(line[0].second), 20, 0.1);
    EXPECT_NEAR(x.value(line[1].first), 16 * 1048576, 20000);
    EXPECT_NEAR(y.value(line[1].second), 76, 0.1);
}

TEST(Report, LeastSquares) {
    // Anscombe's first set.
    const Fit fit = least_squares({{10, 8.04},
                                   {8, 6.95},
                                   {13, 7.58},
                                   {9, 8.81},
                                   {11, 8.33},
                                   {14, 9.96},
                                   {6, 7.24},
                                   {4, 4.26},
                                   {12, 10.84},
                                   {7, 4.82},
                                   {5, 5.68}});
    EXPECT_NEAR(fit.intercept, 3.0001, 1e-4);
    EXPECT_NEAR(fit.slope, 0.5001, 1e-4);
    EXPECT_NEAR(fit.r2, 0.6665, 1e-4);
    EXPECT_EQ(least_squares({{1, 2}, {1, 3}}).points, 0u);
    EXPECT_EQ(least_squares({}).points, 0u);
    EXPECT_EQ(least_squares({{1, 2}, {3, 2}}).r2, 1);
}

TEST(Report, TextFromFilesStaysText) {
    const std::string evil = "</title></svg></pre><script>alert('1')</script>\"&\x1b";
    NamedRun run = run_of("sim", {configuration({{evil + ".a_us", "1"}, {"b", evil}}, 1),
                                  configuration({{evil + ".a_us", "2"}, {"b", evil}}, 2)});
    run.name = evil;
    results::Manifest& m = run.run.manifest;
    m.lyra = m.name = m.spec = m.spec_hash = evil;
    m.timing = {{evil, 1}};
    for (Configuration& c : run.run.configurations) {
        c.trace_hash = evil;
        c.clients[0].name = evil;
    }
    const std::string page = html({run, run});
    for (const char* word : {"<script", "alert('", "\x1b", "&\x1b"}) EXPECT_EQ(page.find(word), std::string::npos) << word;
    EXPECT_GT(count(page, "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&amp;"), 20u);
    EXPECT_EQ(count(page, "<title"), count(page, "</title>"));
    EXPECT_EQ(count(page, "<svg"), count(page, "</svg>"));
    EXPECT_EQ(count(page, "<pre>"), count(page, "</pre>"));
}

TEST(Report, PicturesSayWhatTheyAreAndNeedNothing) {
    const std::string page = html({kernel_sweep()});
    EXPECT_EQ(count(page, "<svg id="), count(page, "role=\"img\""));
    EXPECT_EQ(count(page, "<svg id="), count(page, "<desc id="));
    EXPECT_GE(count(page, "<svg id="), 4u);
    for (const char* word : {"http:", "https:", "src=", "@import", "url(", "<link"})
        EXPECT_EQ(page.find(word), std::string::npos) << word;
    EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
}

TEST(Report, SimulationIsComparedWithMeasurement) {
    NamedRun measured =
        run_of("measure", {configuration({{"policy.name", "fixed"}}, 1), configuration({{"policy.name", "edf"}}, 1)});
    NamedRun simulated =
        run_of("sim", {configuration({{"policy.name", "edf"}}, 1.1), configuration({{"policy.name", "none"}}, 1)});
    const std::string page = html({simulated, measured});
    EXPECT_NE(page.find("<h2>Simulation and measurement</h2>"), std::string::npos);
    EXPECT_NE(page.find(" Configurations in both: 1, in one only: 2."), std::string::npos);
    const std::string compared =
        page.substr(page.find("id=\"comparison\""), page.find("</section>") - page.find("id=\"comparison\""));
    EXPECT_EQ(count(compared, "<td>+10.0 %</td>"), 2u);  // p50 and p99
    EXPECT_NE(compared.find("<td class=\"text\">edf</td>"), std::string::npos);
    EXPECT_EQ(compared.find("none"), std::string::npos);
    const std::string svg = picture(page, "compare-cdf");
    const Scale x(svg, "x");
    const auto first = path_points(svg, "c1"), second = path_points(svg, "c8 dashed");
    ASSERT_EQ(second.size(), 201u);
    EXPECT_NEAR(x.value(second[100].first) / x.value(first[100].first), 1.1, 1e-3);
}

TEST(Report, TwoOfAKindAreBeforeAndAfter) {
    const NamedRun before = run_of("sim", {configuration({}, 2)}), after = run_of("sim", {configuration({}, 1)});
    const std::string page = html({before, after});
    EXPECT_NE(page.find("<h2>Before and after</h2>"), std::string::npos);
    EXPECT_EQ(count(page, "<td>-50.0 %</td>"), 2u);
    EXPECT_NE(html({before, kernel_sweep()}).find("No configuration is in both"), std::string::npos);
    EXPECT_EQ(html({before}).find("id=\"comparison\""), std::string::npos);
}

TEST(Report, SeveralStandSideBySide) {
    NamedRun measured = run_of("measure", {configuration({}, 2)}), swept = kernel_sweep();
    measured.run.manifest.name = "deployable";
    measured.run.configurations[0].stp = results::Percentile{1.625, 1.6, 1.65};
    measured.run.configurations[0].lost_work = 0;
    results::Band band;
    band.least = {1777, 3333};
    band.most = {4444, 9999};
    measured.run.configurations[0].band = band;
    const std::string page = html({measured, swept, run_of("sim", {configuration({}, 5)})});
    const size_t from = page.find("id=\"side-by-side\"");
    ASSERT_NE(from, std::string::npos);
    const std::string part = page.substr(from, page.find("</section>", from) - from);
    EXPECT_EQ(part.find("id=\"comparison\""), std::string::npos);
    size_t rows = 0;
    for (size_t at = 0; (at = part.find("<tr><td", at)) != std::string::npos; ++at) ++rows;
    EXPECT_EQ(rows, 5u);
    for (const char* text : {"deployable", "measured in a guest", "1777.0–4444.0", "3333.0–9999.0", "1.625", "97.50 %"})
        EXPECT_NE(part.find(text), std::string::npos) << text;
    // Each curve ends at its own largest value.
    const std::string svg = picture(page, "side-by-side-cdf");
    const Scale x(svg, "x");
    for (const auto& [colour, scale] : {std::pair("c1", 2.0), std::pair("c5", 5.0)})
        EXPECT_NEAR(x.value(path_points(svg, colour).back().first), scale * (50 + std::pow(1.003, 2000)), scale) << colour;
    EXPECT_EQ(html({measured, swept}).find("id=\"side-by-side\""), std::string::npos) << "two are compared";
}

TEST(Report, NothingPreempted) {
    Configuration c = configuration({}, 1);
    c.preemptions = 0;
    c.preemption_latency = {};
    c.stages.reset();
    const std::string page = html({run_of("sim", {c})});
    EXPECT_NE(page.find("Distribution of the latency<"), std::string::npos);
    EXPECT_TRUE(picture(page, "run1-stages").empty());
    c.samples = 0;
    c.latency = {};
    EXPECT_NE(html({run_of("sim", {c})}).find("<td>–</td>"), std::string::npos);
}

TEST(Report, LargeSweepsAreThinnedAndSaySo) {
    std::vector<Configuration> all;
    for (unsigned n = 0; n < 60; ++n) all.push_back(configuration({{"policy.quantum_us", std::to_string(n + 1)}}, 1 + n));
    const std::string page = html({run_of("sim", all)});
    EXPECT_NE(page.find(" 8 of 60 configurations are drawn"), std::string::npos);
    EXPECT_EQ(count(picture(page, "run1-cdf"), "<path class=\"line"), 8u);
    EXPECT_NE(page.find(" 40 of 60 configurations are drawn"), std::string::npos);
    EXPECT_EQ(count(picture(page, "run1-parameter-1"), "<circle"), 120u);
}

TEST(Axis, HasRoundEndsAndTicks) {
    const Axis log = log_axis("", {73, 140}, time_text);
    EXPECT_DOUBLE_EQ(log.low, 50);
    EXPECT_DOUBLE_EQ(log.high, 200);
    EXPECT_EQ(log.ticks(), (std::vector<double>{50, 100, 200}));
    const Axis wide = log_axis("", {0, 3, 4.2e6}, time_text);
    EXPECT_DOUBLE_EQ(wide.low, 2);
    EXPECT_DOUBLE_EQ(wide.high, 5e6);
    EXPECT_EQ(wide.ticks().size(), 6u);  // 10 to 10^6
    const Axis one = log_axis("", {100}, time_text);
    EXPECT_LT(one.low, 100);
    EXPECT_GT(one.high, 100);
    const Axis linear = linear_axis("", {61}, number_text);
    EXPECT_DOUBLE_EQ(linear.high, 80);
    EXPECT_EQ(linear.ticks().size(), 5u);
    EXPECT_TRUE(fitting_axis("", {1, 50}, number_text).log);
    EXPECT_FALSE(fitting_axis("", {1, 49}, number_text).log);
    EXPECT_FALSE(fitting_axis("", {0, 500}, number_text).log);
    const Axis bytes = linear_axis("", {0, 22230000}, bytes_text, bytes_unit({0, 22230000}));
    std::string ticks;
    for (const double tick : bytes.ticks()) ticks += bytes.text(tick) + " ";
    EXPECT_EQ(ticks, "0 5 MiB 10 MiB 15 MiB 20 MiB 25 MiB ");
    EXPECT_EQ(bytes_unit({100, 1024}), 1024);
    EXPECT_GT(log_axis("", {}, time_text).high, 0);
    EXPECT_GT(linear_axis("", {}, time_text).high, 0);
}

TEST(Names, AreForPeople) {
    EXPECT_EQ(time_text(0.7), "700 ns");
    EXPECT_EQ(time_text(85.21), "85.2 µs");
    EXPECT_EQ(time_text(2614), "2.61 ms");
    EXPECT_EQ(time_text(3.6e9), "3600 s");
    EXPECT_EQ(time_text(100), "100 µs");
    EXPECT_EQ(bytes_text(22230000), "21.2 MiB");
    EXPECT_EQ(number_text(3600000), "3600000");
    EXPECT_EQ(number_text(0.25), "0.25");
    EXPECT_EQ(percent_text(0.987), "98.7 %");
    EXPECT_EQ(value_text("client.a.kernel_us", "2500"), "2.5 ms");
    EXPECT_EQ(value_text("policy.name", "edf"), "edf");
    EXPECT_EQ(short_names({"client.a.kernel_us", "client.b.kernel_us", "detection.period_us"}),
              (std::vector<std::string>{"a.kernel", "b.kernel", "period"}));
    EXPECT_EQ(short_names({"x", "x"}).size(), 2u);
    EXPECT_EQ(escape("a<b>&\"'\n\x01"), "a&lt;b&gt;&amp;&quot;&#39;\n\xef\xbf\xbd");
}

/// A tornado plot: each bar goes from where the median is least to where it is largest, around the nominal one.
TEST(Report, SensitivityIsATornado) {
    NamedRun run = run_of("sim", {configuration({}, 1)});
    EXPECT_EQ(sensitivity_figures(run.run, "s"), "") << "nobody asked";
    run.run.configurations[0].band = results::Band{{50, {}}, {25, {}}, {200, {}}, {{"vram_speed", 4, 9, {100, {}}, {40, {}}}}};
    const std::string page = html({run});
    EXPECT_NE(page.find("What the latency hangs on"), std::string::npos);
    EXPECT_NE(page.find("vram_speed"), std::string::npos);
    const std::string figure = sensitivity_figures(run.run, "s");
    const std::regex bar("<rect class=\"area (none|c1|c8)\"[^>]* width=\"([0-9.]+)\"");
    std::map<std::string, std::vector<double>> width;
    for (std::sregex_iterator it(figure.begin(), figure.end(), bar), end; it != end; ++it)
        width[(*it)[1]].push_back(std::stod((*it)[2]));
    ASSERT_EQ(width["none"].size(), 2u);
    // All at once: 25 to 50 to 200; the row: 40 to 50 to 100. The legend's samples come first.
    const auto last_two = [&](const char* colour) { return std::vector<double>(width[colour].end() - 2, width[colour].end()); };
    EXPECT_NEAR(last_two("c8")[0] / last_two("c8")[1], 3, 0.2);
    EXPECT_NEAR(last_two("c1")[0] / last_two("c1")[1], 2.5, 0.2);
}

}  // namespace
}  // namespace lyra::report
