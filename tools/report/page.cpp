// SPDX-License-Identifier: MIT
// The page around pictures and tables: style for light, dark and paper, and what each run was.
#include <algorithm>

#include <fmt/format.h>

#include "tools/report/report.h"
#include "tools/report/svg.h"

namespace lyra::report {

namespace {

// Colours of c1 to c8 keep apart from their neighbours also for eyes that see fewer colours; r1 to r8 are one hue.
constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --page: #fcfcfb; --text: #0b0b0b; --soft: #52514e; --grid: #e6e5df; --axis: #8f8e88;
  --head: #f1f0ec;
  --c1: #2a78d6; --c2: #1baf7a; --c3: #eda100; --c4: #008300; --c5: #4a3aa7; --c6: #e34948; --c7: #e87ba4; --c8: #eb6834;
  --r1: #86b6ef; --r2: #6da7ec; --r3: #5598e7; --r4: #3987e5; --r5: #2a78d6; --r6: #256abf; --r7: #184f95; --r8: #0d366b; }
@media screen and (prefers-color-scheme: dark) { :root {
  --page: #1a1a19; --text: #ffffff; --soft: #c3c2b7; --grid: #2f2f2c; --axis: #77766f; --head: #262624;
  --c1: #3987e5; --c2: #199e70; --c3: #c98500; --c4: #22a022; --c5: #9085e9; --c6: #e66767; --c7: #d55181; --c8: #e0702f;
  --r1: #1c5cab; --r2: #256abf; --r3: #2a78d6; --r4: #3987e5; --r5: #5598e7; --r6: #86b6ef; --r7: #b7d3f6; --r8: #e3eefb; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 60rem; background: var(--page); color: var(--text);
  font: 16px/1.5 system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .25rem; }
h2 { font-size: 1.3rem; margin: 3rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--grid); overflow-wrap: anywhere; }
h3 { font-size: 1.05rem; margin: 0; }
p, figcaption { color: var(--soft); max-width: 46rem; }
figure { margin: 2.25rem 0 0; break-inside: avoid; }
figcaption { font-size: .9rem; margin: .15rem 0 .6rem; }
.wide { overflow-x: auto; }
.wide > svg { display: block; width: 100%; min-width: 36rem; height: auto; }
.legend { list-style: none; margin: 0 0 .6rem; padding: 0; display: flex; flex-wrap: wrap; gap: .15rem 1.1rem;
  font-size: .85rem; color: var(--soft); }
.legend li { display: flex; align-items: center; gap: .4rem; overflow-wrap: anywhere; }
.legend svg { width: 22px; height: 12px; flex: none; }
svg text { font: 12px system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; fill: var(--soft); }
svg .name, svg .value { fill: var(--text); }
svg .value { font-variant-numeric: tabular-nums; }
.grid { stroke: var(--grid); } .axis { stroke: var(--axis); fill: none; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; } .dashed { stroke-dasharray: 6 5; }
.area.none { fill: none; } .whisker { fill: none; stroke-width: 1.5; } .dot { stroke: var(--page); stroke-width: 1.5; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1.25rem; margin: .5rem 0; font-size: .92rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: 1.75rem 0 0; font-size: .85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; font-size: .95rem; padding-bottom: .4rem; }
th, td { text-align: right; padding: .25rem .7rem; border-bottom: 1px solid var(--grid); white-space: nowrap;
  vertical-align: baseline; }
th { background: var(--head); font-weight: 600; white-space: normal; vertical-align: bottom; } .text { text-align: left; }
small { color: var(--soft); font-size: .85em; }
pre { background: var(--head); padding: .75rem 1rem; font-size: .8rem; line-height: 1.4; white-space: pre-wrap;
  overflow-wrap: anywhere; }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } .wide { overflow: visible; } .wide > svg { min-width: 0; }
  th, td { white-space: normal; padding: .15rem .35rem; } tr, pre { break-inside: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
)";

std::string colours() {
    std::string out;
    for (const char row : {'c', 'r'}) {
        for (unsigned n = 1; n <= 8; ++n) {
            out += fmt::format(
                ".line.{0}{1}, .whisker.{0}{1} {{ stroke: var(--{0}{1}); }} .area.{0}{1}, .dot.{0}{1} {{ fill: var(--{0}{1}); "
                "}}\n",
                row, n);
        }
    }
    return out;
}

std::string entry(const char* name, const std::string& value) {
    return fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, escape(value));
}

std::string range(const std::vector<double>& values) {
    if (values.empty()) return "–";
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const std::string low = time_text(*least), high = time_text(*most);
    return low == high ? low : low + " to " + high;
}

std::string about(const NamedRun& named) {
    const results::RunResults& run = named.run;
    const results::Manifest& m = run.manifest;
    const Shown what = shown(run);
    uint64_t samples = 0, preemptions = 0;
    std::vector<double> p50, p99;
    for (const results::Configuration& c : run.configurations) {
        samples += c.samples;
        preemptions += c.preemptions;
        if (!what.has(c)) continue;
        for (const auto& [values, percentile] : {std::pair(&p50, what.of(c).p50), std::pair(&p99, what.of(c).p99)})
            if (percentile) values->push_back(percentile->value);
    }
    std::string out = "<dl>\n";
    out +=
        entry("results", fmt::format("{}, {}", named.name,
                                     m.source == "sim" ? "simulated (modelled time)"
                                                       : fmt::format("measured in a guest with {} (modelled time)", m.chip)));
    out += entry("size", fmt::format("{} configuration{}, {} samples, {} pre-emptions", run.configurations.size(),
                                     run.configurations.size() == 1 ? "" : "s", samples, preemptions));
    out += entry(what.preemptions ? "pre-emption p50" : "latency p50", range(p50));
    out += entry(what.preemptions ? "pre-emption p99" : "latency p99", range(p99));
    out += entry("made by", "lyra " + m.lyra);
    out += entry("to repeat", fmt::format("lyra {} {}.toml --results FILE, seed {}, hash of the file {}", m.source, m.name,
                                          m.seed, m.spec_hash));
    return out + "</dl>\n";
}

std::string inputs(const results::Manifest& m) {
    std::string out =
        fmt::format("<h3>The experiment</h3>\n<pre>{}</pre>\n<h3>Timing table in use</h3>\n<pre>", escape(m.spec));
    for (const auto& [name, value] : m.timing) out += fmt::format("{} = {}\n", escape(name), value);
    return out + "</pre>\n";
}

std::string section(const NamedRun& named, size_t number) {
    const results::RunResults& run = named.run;
    const std::string id = fmt::format("run{}", number);
    return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", id, escape(run.manifest.name)) + about(named) +
           cdf_figure(run, id + "-cdf") + stages_figure(run, id + "-stages") + parameter_figures(run, id + "-parameter") +
           sensitivity_figures(run, id + "-sensitivity") + retained_figure(run, id + "-retained") +
           "<h3 class=\"numbers\">Numbers</h3>\n" + tables(run) + inputs(run.manifest) + "</section>\n";
}

}  // namespace

std::string html(const std::vector<NamedRun>& runs) {
    std::string title;
    for (const NamedRun& named : runs) title += (title.empty() ? "" : ", ") + named.run.manifest.name;
    std::string out =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
        "dark\">\n";
    out += fmt::format("<title>Pre-emption latency: {}</title>\n<style>{}{}</style>\n</head>\n<body>\n", escape(title), kStyle,
                       colours());
    out += fmt::format(
        "<header><h1>Pre-emption latency</h1>\n<p>From the doorbell of a latency-critical queue to its first wave: {}. Times "
        "are modelled "
        "ones of an emulated GPU; "
        "percentiles have 95 % intervals of order statistics.</p></header>\n<main>\n",
        escape(title));
    if (runs.size() == 2) out += comparison(runs[0], runs[1]);
    if (runs.size() > 2) out += side_by_side(runs);
    for (size_t n = 0; n < runs.size(); ++n) out += section(runs[n], n + 1);
    return out + "</main>\n</body>\n</html>\n";
}

}  // namespace lyra::report
