// SPDX-License-Identifier: MIT
// Line and bar charts.
#include "tools/report/svg.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace lyra::report {

namespace {

constexpr double kWidth = 800;

/// A coordinate: to a hundredth.
std::string px(double value) {
    std::string text = fmt::format("{:.2f}", value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text == "-0" ? "0" : text;
}

/// Beginning of a picture. What the data attributes say lets a reader turn places back into values.
std::string begin(const ChartText& text, double height, const Axis& x, const Axis* y) {
    const auto scale = [](const char* name, const Axis& axis) {
        return fmt::format(" data-{}=\"{} {} {} {} {}\"", name, axis.log ? "log" : "linear", axis.low, axis.high, px(axis.from),
                           px(axis.to));
    };
    return fmt::format(
        "<svg id=\"{0}\" viewBox=\"0 0 {1} {2}\" role=\"img\" aria-labelledby=\"{0}-t {0}-d\"{3}{4}>\n<title "
        "id=\"{0}-t\">{5}</title>\n"
        "<desc id=\"{0}-d\">{6}</desc>\n",
        escape(text.id), px(kWidth), px(height), scale("x", x), y ? scale("y", *y) : "", escape(text.title),
        escape(text.description));
}

/// About what a text takes, for places where it has to fit.
double text_width(std::string_view text) {
    const auto characters = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
    return 6.8 * static_cast<double>(characters);
}

/// At most so many characters of UTF-8.
std::string shortened(const std::string& text, size_t most) {
    size_t characters = 0, cut = text.size();
    for (size_t n = 0; n < text.size(); ++n) {
        if ((text[n] & 0xc0) == 0x80) continue;
        if (++characters == most) cut = n;
    }
    return characters <= most ? text : text.substr(0, cut) + "…";
}

std::string x_axis(const Axis& x, double top, double bottom) {
    std::string out;
    for (const double tick : x.ticks()) {
        const std::string at = px(x.at(tick));
        out += fmt::format("<line class=\"grid\" x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" y2=\"{2}\"/>", at, px(top), px(bottom));
        out += fmt::format("<text class=\"tick xt\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", at, px(bottom + 18),
                           escape(x.text(tick)));
    }
    out += fmt::format("<text class=\"label\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", px((x.from + x.to) / 2),
                       px(bottom + 38), escape(x.label));
    return out;
}

std::string path_of(const Series& series, const Axis& x, const Axis& y) {
    std::string d;
    for (const Point& p : series.points) d += fmt::format("{}{},{}", d.empty() ? "M" : " L", px(x.at(p.x)), px(y.at(p.y)));
    return d;
}

std::string drawn(const Series& series, const Axis& x, const Axis& y) {
    std::string out;
    const std::string colour = escape(series.colour), name = escape(series.name);
    if (series.line && series.points.size() > 1) {
        out += fmt::format("<path class=\"line {}{}\" d=\"{}\"><title>{}</title></path>\n", colour,
                           series.dashed ? " dashed" : "", path_of(series, x, y), name);
    }
    for (const Point& p : series.points) {
        if (!series.markers) break;
        const std::string at = px(x.at(p.x));
        if (p.high > p.low)
            out += fmt::format("<path class=\"whisker {}\" d=\"M{},{} L{},{}\"/>", colour, at, px(y.at(p.low)), at,
                               px(y.at(p.high)));
        out += fmt::format("<circle class=\"dot {}\" cx=\"{}\" cy=\"{}\" r=\"4\"><title>{}: {}, {}</title></circle>\n", colour,
                           at, px(y.at(p.y)), name, escape(x.text(p.x)), escape(y.text(p.y)));
    }
    return out;
}

std::string legend_of(const std::vector<std::string>& samples, const std::vector<std::string>& names) {
    std::string out = "<ul class=\"legend\">";
    for (size_t n = 0; n < names.size(); ++n) {
        out += fmt::format("<li><svg viewBox=\"0 0 22 12\" aria-hidden=\"true\">{}</svg>{}</li>", samples[n], escape(names[n]));
    }
    return out + "</ul>\n";
}

}  // namespace

std::string line_chart(const ChartText& text, Axis x, Axis y, const std::vector<Series>& series) {
    constexpr double kHeight = 380, kTop = 34, kBottom = kHeight - 52;
    double left = 0;
    for (const double tick : y.ticks()) left = std::max(left, text_width(y.text(tick)));
    x.from = left + 20;
    x.to = kWidth - std::max(24.0, text_width(x.text(x.high)) / 2 + 4);
    y.from = kBottom;
    y.to = kTop;
    std::string out = begin(text, kHeight, x, &y);
    for (const double tick : y.ticks()) {
        const double at = y.at(tick);
        out += fmt::format("<line class=\"grid\" x1=\"{0}\" y1=\"{1}\" x2=\"{2}\" y2=\"{1}\"/>", px(x.from), px(at), px(x.to));
        out += fmt::format("<text class=\"tick yt\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", px(x.from - 8),
                           px(at + 4), escape(y.text(tick)));
    }
    out += x_axis(x, kTop, kBottom);
    out += fmt::format("<text class=\"label\" x=\"{}\" y=\"16\">{}</text>\n", px(0), escape(y.label));
    out += fmt::format("<path class=\"axis\" d=\"M{},{} L{},{}\"/>\n", px(x.from), px(kBottom), px(x.to), px(kBottom));
    for (const Series& each : series) out += drawn(each, x, y);
    return out + "</svg>\n";
}

std::string bar_chart(const ChartText& text, Axis x, const std::vector<Bar>& bars) {
    constexpr double kTop = 6, kBar = 18, kPitch = 28;
    constexpr size_t kLabel = 30;
    double left = 0, right = 0;
    for (const Bar& bar : bars) {
        left = std::max(left, text_width(shortened(bar.label, kLabel)));
        right = std::max(right, text_width(bar.text));
    }
    const double bottom = kTop + kPitch * static_cast<double>(bars.size());
    x.from = left + 12;
    x.to = kWidth - std::max(right + 24, text_width(x.text(x.high)) / 2 + 4);
    std::string out = begin(text, bottom + 48, x, nullptr) + x_axis(x, kTop, bottom);
    for (size_t n = 0; n < bars.size(); ++n) {
        const Bar& bar = bars[n];
        const double top = kTop + kPitch * static_cast<double>(n) + (kPitch - kBar) / 2;
        out += fmt::format("<text class=\"name\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}<title>{}</title></text>\n",
                           px(x.from - 8), px(top + 13.5), escape(shortened(bar.label, kLabel)), escape(bar.label));
        double sum = 0;
        for (const BarPart& part : bar.parts) {
            const double begins = x.at(sum), ends = x.at(sum + part.value);
            sum += part.value;
            if (part.value <= 0) continue;
            const double gap = ends - begins > 3 ? 1.5 : 0;  // so that neighbours stand apart
            out +=
                fmt::format("<rect class=\"area {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>\n",
                            escape(part.colour), px(begins), px(top), px(ends - begins - gap), px(kBar),
                            escape(part.name + ": " + x.text(part.value)));
        }
        out += fmt::format("<text class=\"value\" x=\"{}\" y=\"{}\">{}</text>\n", px(x.at(sum) + 8), px(top + 13.5),
                           escape(bar.text));
    }
    out += fmt::format("<path class=\"axis\" d=\"M{0},{1} L{0},{2}\"/>\n", px(x.from), px(kTop), px(bottom));
    return out + "</svg>\n";
}

std::string legend(const std::vector<Series>& series) {
    std::vector<std::string> samples, names;
    for (const Series& each : series) {
        std::string sample;
        if (each.line)
            sample +=
                fmt::format("<path class=\"line {}{}\" d=\"M1,6 L21,6\"/>", escape(each.colour), each.dashed ? " dashed" : "");
        if (each.markers) sample += fmt::format("<circle class=\"dot {}\" cx=\"11\" cy=\"6\" r=\"4\"/>", escape(each.colour));
        samples.push_back(sample);
        names.push_back(each.name);
    }
    return legend_of(samples, names);
}

std::string legend(const std::vector<BarPart>& parts) {
    std::vector<std::string> samples, names;
    for (const BarPart& part : parts) {
        samples.push_back(
            fmt::format("<rect class=\"area {}\" x=\"4\" y=\"0\" width=\"14\" height=\"12\"/>", escape(part.colour)));
        names.push_back(part.name);
    }
    return legend_of(samples, names);
}

}  // namespace lyra::report
