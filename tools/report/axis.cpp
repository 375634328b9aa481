// SPDX-License-Identifier: MIT
// Axes with round ends and round ticks, and how values are written.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tools/report/svg.h"

namespace lyra::report {

namespace {

/// Three digits, without zeros at the end.
std::string three_digits(double value) {
    const int digits = value == 0 ? 2 : std::clamp(2 - static_cast<int>(std::floor(std::log10(std::abs(value)))), 0, 9);
    std::string text = fmt::format("{:.{}f}", value, digits);
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text;
}

/// The largest of 1, 2 and 5 times a power of ten that is not above value.
double round_down(double value) {
    const double power = std::pow(10, std::floor(std::log10(value)));
    for (const double factor : {5.0, 2.0}) {
        if (factor * power <= value * (1 + 1e-12)) return factor * power;
    }
    return power;
}
double round_up(double value) {
    const double down = round_down(value);
    if (down >= value * (1 - 1e-12)) return down;
    const double power = std::pow(10, std::floor(std::log10(down) + 1e-9)), factor = std::round(down / power);
    return power * (factor < 1.5 ? 2 : factor < 3 ? 5 : 10);
}

}  // namespace

std::string escape(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            case '\'': out += "&#39;"; break;
            case '\n':
            case '\t': out += c; break;
            default:
                if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
                    out += "\xef\xbf\xbd";
                else
                    out += c;
        }
    }
    return out;
}

std::string time_text(double us) {
    if (us == 0) return "0";
    if (std::abs(us) < 0.9995) return three_digits(us * 1e3) + " ns";
    if (std::abs(us) < 999.5) return three_digits(us) + " µs";
    if (std::abs(us) < 999.5e3) return three_digits(us / 1e3) + " ms";
    return three_digits(us / 1e6) + " s";
}

double bytes_unit(const std::vector<double>& bytes) {
    double most = 0, unit = 1;
    for (const double each : bytes) most = std::max(most, each);
    while (most >= unit * 1024 && unit < 1024.0 * 1024 * 1024) unit *= 1024;
    return unit;
}

std::string bytes_text(double bytes) {
    const double unit = bytes_unit({bytes});
    const char* name = unit == 1 ? "B" : unit == 1024 ? "KiB" : unit == 1024 * 1024 ? "MiB" : "GiB";
    return bytes == 0 ? "0" : three_digits(bytes / unit) + " " + name;
}

std::string number_text(double value) {
    const std::string text = fmt::format("{:.4g}", value);
    return text.find('e') == std::string::npos || std::abs(value) >= 1e15 || std::abs(value) < 1 ? text
                                                                                                 : fmt::format("{:.0f}", value);
}

std::string percent_text(double part) { return three_digits(part * 100) + " %"; }

double Axis::at(double value) const {
    double part;
    if (log) {
        part = value <= low ? 0 : std::log(value / low) / std::log(high / low);
    } else {
        part = (value - low) / (high - low);
    }
    return from + std::clamp(part, 0.0, 1.0) * (to - from);
}

std::vector<double> Axis::ticks() const {
    std::vector<double> out;
    const double least = low / unit, most = high / unit;
    if (!log) {
        const double step = round_up((most - least) / 6);
        for (unsigned n = 0; least + step * n <= most + step * 1e-6; ++n) out.push_back((least + step * n) * unit);
        return out;
    }
    const int first = static_cast<int>(std::floor(std::log10(least) + 1e-9)),
              last = static_cast<int>(std::ceil(std::log10(most) - 1e-9));
    const bool fine = most / least <= 200;
    const int step = std::max(1, (last - first + 7) / 8);
    for (int power = first; power <= last; power += step) {
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double value = factor * std::pow(10, power);
            if ((factor == 1 || fine) && value >= least * (1 - 1e-9) && value <= most * (1 + 1e-9)) out.push_back(value * unit);
        }
    }
    return out;
}

Axis linear_axis(std::string label, const std::vector<double>& values, std::function<std::string(double)> text, double unit) {
    double most = 0;
    for (const double value : values) most = std::max(most, value / unit);
    if (most == 0) most = 1;
    const double step = round_up(most / 6);
    return {std::move(label), false, 0, step * std::ceil(most / step * (1 - 1e-9)) * unit, std::move(text), unit};
}

Axis log_axis(std::string label, const std::vector<double>& values, std::function<std::string(double)> text, double unit) {
    double least = 0, most = 0;
    for (const double value : values) {
        if (value <= 0) continue;
        least = least == 0 ? value : std::min(least, value);
        most = std::max(most, value);
    }
    if (most == 0) least = most = 1;
    double low = round_down(least / unit), high = round_up(most / unit);
    if (high <= low) {
        low = round_down(low * 0.99);
        high = round_up(high * 1.01);
    }
    return {std::move(label), true, low * unit, high * unit, std::move(text), unit};
}

Axis fitting_axis(std::string label, const std::vector<double>& values, std::function<std::string(double)> text, double unit) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const bool wide = !values.empty() && *least > 0 && *most >= 50 * *least;
    return wide ? log_axis(std::move(label), values, std::move(text), unit)
                : linear_axis(std::move(label), values, std::move(text), unit);
}

}  // namespace lyra::report
