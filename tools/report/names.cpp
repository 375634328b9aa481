// SPDX-License-Identifier: MIT
// What parameters and configurations are called, which latencies are shown, and the line of least squares.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "tools/report/report.h"
#include "tools/report/svg.h"

namespace lyra::report {

namespace {

/// The last words of a path, so many.
std::string tail(const std::string& path, size_t words) {
    size_t at = path.size();
    for (; words > 0; --words) {
        at = at == 0 ? std::string::npos : path.rfind('.', at - 1);
        if (at == std::string::npos) return path;
    }
    return path.substr(at + 1);
}

std::string without_unit(const std::string& name) {
    for (const std::string_view unit : {"_us", "_bytes"}) {
        if (name.size() > unit.size() && name.ends_with(unit)) return name.substr(0, name.size() - unit.size());
    }
    return name;
}

}  // namespace

Fit least_squares(const std::vector<std::pair<double, double>>& points) {
    const auto n = static_cast<double>(points.size());
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
    for (const auto& [x, y] : points) {
        mean_x += x / n;
        mean_y += y / n;
    }
    for (const auto& [x, y] : points) {
        xx += (x - mean_x) * (x - mean_x);
        xy += (x - mean_x) * (y - mean_y);
        yy += (y - mean_y) * (y - mean_y);
    }
    if (points.size() < 2 || xx == 0) return {};
    const double slope = xy / xx;
    return {mean_y - slope * mean_x, slope, yy == 0 ? 1 : xy * xy / (xx * yy), points.size()};
}

bool as_number(const std::string& text, double& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

std::vector<std::string> short_names(const std::vector<std::string>& paths) {
    std::vector<std::string> out;
    for (const std::string& path : paths) {
        size_t words = 1;
        const auto same = [&](const std::string& other) {
            return &other != &path && other != path && tail(other, words) == tail(path, words);
        };
        while (std::any_of(paths.begin(), paths.end(), same) && tail(path, words) != path) ++words;
        std::string name = without_unit(tail(path, words));
        std::replace(name.begin(), name.end(), '_', ' ');
        out.push_back(std::move(name));
    }
    return out;
}

std::string value_text(const std::string& path, const std::string& value) {
    double number = 0;
    if (!as_number(value, number)) return value;
    if (path.ends_with("_us")) return time_text(number);
    if (path.ends_with("_bytes")) return bytes_text(number);
    return value;
}

std::string label_of(const results::RunResults& run, const results::Configuration& configuration) {
    if (configuration.swept.empty()) return run.manifest.name;
    std::vector<std::string> paths;
    for (const auto& [path, value] : configuration.swept) paths.push_back(path);
    const std::vector<std::string> names = short_names(paths);
    std::string out;
    for (size_t n = 0; n < names.size(); ++n) {
        const auto& [path, value] = configuration.swept[n];
        out += fmt::format("{}{} {}", out.empty() ? "" : ", ", names[n], value_text(path, value));
    }
    return out;
}

Shown shown(const results::RunResults& run) {
    return {
        std::any_of(run.configurations.begin(), run.configurations.end(), [](const auto& c) { return c.preemptions != 0; })};
}

}  // namespace lyra::report
