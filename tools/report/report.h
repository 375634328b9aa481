// SPDX-License-Identifier: MIT
// Reports about results of experiments: one HTML page that needs nothing else.
#pragma once

#include <string>
#include <vector>

#include "tools/lyra/results/results.h"

namespace lyra::report {

/// A run, and what it is called in the report: the file that it came from.
struct NamedRun {
    std::string name;
    results::RunResults run;
};

/// The whole page. Two runs are also compared with each other, more than two stand side by side first.
std::string html(const std::vector<NamedRun>& runs);

// --- what it consists of

/// Least-squares line through points.
struct Fit {
    double intercept = 0, slope = 0, r2 = 0;  ///< r2: 1 when all y are equal and met
    size_t points = 0;
};
/// @return points is 0 when there are fewer than two different x
Fit least_squares(const std::vector<std::pair<double, double>>& points);

/// A value of [sweep] as a number, if it is one.
bool as_number(const std::string& text, double& value);
/// What a swept parameter is called in a picture: its path without what all paths have in common.
std::vector<std::string> short_names(const std::vector<std::string>& paths);
/// A value as people write it: by the unit that its name ends with.
std::string value_text(const std::string& path, const std::string& value);
/// What a configuration is called in pictures. Without [sweep] the experiment's name.
std::string label_of(const results::RunResults& run, const results::Configuration& configuration);

/// Percentiles of pre-emptions, or of all samples where nothing was pre-empted in the whole run.
struct Shown {
    bool preemptions = false;
    const results::Latency& of(const results::Configuration& c) const { return preemptions ? c.preemption_latency : c.latency; }
    bool has(const results::Configuration& c) const { return !of(c).cdf.empty(); }
    const char* name() const { return preemptions ? "pre-emption latency" : "latency"; }
};
Shown shown(const results::RunResults& run);

/// A picture with its heading and what there is to say about it, and its legend.
std::string figure(const std::string& heading, const std::string& says, const std::string& svg, const std::string& legend);

std::string cdf_figure(const results::RunResults& run, const std::string& id);
std::string stages_figure(const results::RunResults& run, const std::string& id);
std::string parameter_figures(const results::RunResults& run, const std::string& id);
/// A tornado plot for each configuration that has a band.
std::string sensitivity_figures(const results::RunResults& run, const std::string& id);
std::string retained_figure(const results::RunResults& run, const std::string& id);
std::string tables(const results::RunResults& run);
std::string comparison(const NamedRun& first, const NamedRun& second);
/// Arrival latencies and throughput of all configurations.
std::string side_by_side(const std::vector<NamedRun>& runs);

/// A table: the first row is its head; cells are HTML already.
std::string table(const std::string& caption, const std::vector<std::vector<std::string>>& rows, size_t text_columns);

}  // namespace lyra::report
