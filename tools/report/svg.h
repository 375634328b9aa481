// SPDX-License-Identifier: MIT
// Pieces of charts as SVG text: escaping, axes with their ticks, lines and bars. Colours are classes that the page's style
// gives values.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lyra::report {

/// Text for HTML and for attributes in double quotes. Characters that HTML may not have become U+FFFD.
std::string escape(std::string_view text);

/// "85.2 µs", "2.61 ms", "1.2 s"; three digits.
std::string time_text(double us);
/// "512 B", "20 KiB", "21.2 MiB"
std::string bytes_text(double bytes);
/// With so many digits as it takes, at most four, no exponent below 10^15.
std::string number_text(double value);
/// The unit that bytes_text() gives the largest of them.
double bytes_unit(const std::vector<double>& bytes);
/// 0.987 as "98.7 %"
std::string percent_text(double part);

/// From values to places on the screen.
struct Axis {
    std::string label;
    bool log = false;
    double low = 0, high = 1;                               ///< of the values
    std::function<std::string(double)> text = number_text;  ///< of a tick
    double unit = 1;  ///< ticks are round numbers of it: a MiB is no round number of bytes
    double from = 0, to = 1;  ///< places of low and high; the chart sets them

    double at(double value) const;
    std::vector<double> ticks() const;
};

/// An axis that holds all values with round ends: from 0 upwards, or logarithmic with ends of 1, 2 or 5 times a power of ten.
/// @param values  those that are not positive have no place on a logarithmic axis and stand at its low end
Axis linear_axis(std::string label, const std::vector<double>& values, std::function<std::string(double)> text,
                 double unit = 1);
Axis log_axis(std::string label, const std::vector<double>& values, std::function<std::string(double)> text, double unit = 1);
/// Logarithmic if all values are positive and the largest is 50 times the smallest or more, else linear.
Axis fitting_axis(std::string label, const std::vector<double>& values, std::function<std::string(double)> text,
                  double unit = 1);

struct Point {
    double x = 0, y = 0;
    double low = 0, high = 0;  ///< of an interval, drawn when high > low
};

struct Series {
    std::string name;
    std::string colour;  ///< class: c1 to c8, r1 to r8 (a row of one hue)
    std::vector<Point> points;
    bool dashed = false, markers = false, line = true;
};

/// What a chart is, also for those who do not see it.
struct ChartText {
    std::string id, title, description;
};

std::string line_chart(const ChartText& text, Axis x, Axis y, const std::vector<Series>& series);

struct BarPart {
    double value = 0;
    std::string colour, name;
};
struct Bar {
    std::string label;
    std::vector<BarPart> parts;  ///< from left to right
    std::string text;  ///< beside its end
};

/// Horizontal bars, one below the other, of parts that stand end to end. The axis begins with 0.
std::string bar_chart(const ChartText& text, Axis x, const std::vector<Bar>& bars);

/// A list of names with samples of their lines or areas.
std::string legend(const std::vector<Series>& series);
std::string legend(const std::vector<BarPart>& parts);

}  // namespace lyra::report
