// SPDX-License-Identifier: MIT
#include "tools/bench/comparison.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace lyra::bench {

using nlohmann::json;

namespace {

/// What a row says first: a time or a rate.
const json& main_value(const json& row) { return row.at(row.at("kind") == "kernel" ? "lyra_ms" : "value"); }

/// What a file calls things is shown on a terminal.
bool printable(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

void check_row(const json& row) {
    for (const char* key : {"name", "kind"}) {
        if (!row.is_object() || !row.contains(key) || !row[key].is_string() || !printable(row[key]))
            throw std::runtime_error(fmt::format("a row has no {}", key));
    }
    const std::string name = row["name"], kind = row["kind"];
    if (kind != "kernel" && kind != "class" && kind != "rate")
        throw std::runtime_error(fmt::format("row {} is of an unknown kind, {}", name, kind));
    if (kind != "kernel" && (!row.contains("unit") || !row["unit"].is_string() || !printable(row["unit"])))
        throw std::runtime_error(fmt::format("row {} has no unit", name));
    if (!row.contains(kind == "kernel" ? "lyra_ms" : "value"))
        throw std::runtime_error(fmt::format("row {} has no value", name));
    const json& value = main_value(row);
    if (!value.is_null() && !(value.is_number() && value.get<double>() > 0))
        throw std::runtime_error(fmt::format("row {} has the value {}", name, value.dump(-1, ' ', true)));
}

std::string text_of(const json& object, const std::string& key) {
    return object.contains(key) ? object[key].dump(-1, ' ', true) : std::string("not told");
}

void note_differences(const char* what, const json& before, const json& now, std::vector<std::string>& out) {
    std::map<std::string, json> keys;
    for (const json* each : {&before, &now}) {
        for (const auto& [key, value] : each->items()) keys.emplace(key, value);
    }
    for (const auto& [key, value] : keys) {
        const std::string old = text_of(before, key), current = text_of(now, key);
        if (old != current) out.push_back(fmt::format("{} {}: {} before, {} now", what, key, old, current));
    }
}

std::string unit_of(const json& row) { return row["kind"] == "kernel" ? "ms" : row["unit"].get<std::string>(); }

/// Rows with a value, by kind and name.
std::map<std::pair<std::string, std::string>, const json*> measured(const json& result) {
    std::map<std::pair<std::string, std::string>, const json*> rows;
    for (const json& row : result["rows"]) {
        if (!main_value(row).is_null()) rows[{row["kind"], row["name"]}] = &row;
    }
    return rows;
}

}  // namespace

json read_result(const std::string& text) {
    const json result = json::parse(text, nullptr, false);
    if (result.is_discarded()) throw std::runtime_error("no JSON");
    if (!result.is_object() || !result.contains("format") || result["format"] != kResultFormat)
        throw std::runtime_error("no result of `lyra bench --json`, or one from before results had a format");
    if (!result.contains("version") || result["version"] != kResultVersion) {
        throw std::runtime_error(fmt::format("a result of version {}; this program compares version {}",
                                             text_of(result, "version"), kResultVersion));
    }
    for (const char* part : {"machine", "options"}) {
        if (!result.contains(part) || !result[part].is_object()) throw std::runtime_error(fmt::format("it has no {}", part));
        for (const auto& [key, value] : result[part].items()) {
            if (!printable(key)) throw std::runtime_error(fmt::format("a name of its {} cannot be shown", part));
        }
    }
    if (!result.contains("rows") || !result["rows"].is_array()) throw std::runtime_error("it has no rows");
    for (const json& row : result["rows"]) check_row(row);
    return result;
}

Comparison compare(const json& before, const json& now) {
    Comparison result;
    note_differences("machine", before["machine"], now["machine"], result.differences);
    note_differences("option", before["options"], now["options"], result.differences);
    const auto old_rows = measured(before), new_rows = measured(now);
    for (const auto& [key, row] : old_rows) {
        if (!new_rows.contains(key)) result.unmatched.push_back(key.second);
    }
    std::map<std::string, std::pair<double, unsigned>> logs;  // sum and count, by kind
    double sum = 0;
    for (const json& row : now["rows"]) {  // in the order of the table
        if (main_value(row).is_null()) continue;
        const auto at = old_rows.find({row["kind"], row["name"]});
        if (at == old_rows.end() || unit_of(*at->second) != unit_of(row)) {
            result.unmatched.push_back(row["name"]);
            continue;
        }
        ComparedRow both{row["name"], row["kind"], unit_of(row), main_value(*at->second).get<double>(),
                         main_value(row).get<double>()};
        both.ratio = both.kind == "rate" ? both.now / both.before : both.before / both.now;
        sum += std::log(both.ratio);
        logs[both.kind].first += std::log(both.ratio);
        ++logs[both.kind].second;
        result.rows.push_back(std::move(both));
    }
    for (const auto& [kind, log] : logs) result.geomean_by_kind[kind] = std::exp(log.first / log.second);
    if (!result.rows.empty()) result.geomean = std::exp(sum / static_cast<double>(result.rows.size()));
    return result;
}

json to_json(const Comparison& comparison) {
    json rows = json::array();
    for (const ComparedRow& row : comparison.rows) {
        rows.push_back({{"name", row.name},
                        {"kind", row.kind},
                        {"unit", row.unit},
                        {"before", row.before},
                        {"now", row.now},
                        {"ratio", row.ratio}});
    }
    return {{"differences", comparison.differences},
            {"rows", rows},
            {"unmatched", comparison.unmatched},
            {"geomean_ratio_by_kind", comparison.geomean_by_kind},
            {"geomean_ratio", comparison.geomean ? json(*comparison.geomean) : json(nullptr)}};
}

}  // namespace lyra::bench
