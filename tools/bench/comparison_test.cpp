// SPDX-License-Identifier: MIT
#include "tools/bench/comparison.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lyra::bench {
namespace {

using nlohmann::json;

json result_of(const json& rows) {
    return {{"format", kResultFormat},
            {"version", kResultVersion},
            {"machine", {{"processor", "X"}, {"translator", true}}},
            {"options", {{"min_time_s", 0.1}}},
            {"rows", rows}};
}
json kernel(const char* name, const json& ms) { return {{"name", name}, {"kind", "kernel"}, {"lyra_ms", ms}}; }
json other(const char* name, const char* kind, const char* unit, const json& value) {
    return {{"name", name}, {"kind", kind}, {"unit", unit}, {"value", value}};
}

TEST(BenchComparison, RatiosSayHowManyTimesAsFastItIsNow) {
    const json before =
        result_of({kernel("a", 8), kernel("b", 1), other("add", "class", "ns", 6), other("copy", "rate", "GB/s", 2)});
    const json now =
        result_of({kernel("a", 1), kernel("b", 2), other("add", "class", "ns", 3), other("copy", "rate", "GB/s", 16)});
    const Comparison got = compare(read_result(before.dump()), read_result(now.dump()));
    ASSERT_EQ(got.rows.size(), 4u);
    EXPECT_EQ(got.rows[0].name, "a");
    EXPECT_EQ(got.rows[0].unit, "ms");
    EXPECT_DOUBLE_EQ(got.rows[0].before, 8);
    EXPECT_DOUBLE_EQ(got.rows[0].now, 1);
    EXPECT_DOUBLE_EQ(got.rows[0].ratio, 8);
    EXPECT_DOUBLE_EQ(got.rows[1].ratio, 0.5);
    EXPECT_DOUBLE_EQ(got.rows[2].ratio, 2);
    EXPECT_DOUBLE_EQ(got.rows[3].ratio, 8) << "more of a rate is faster";
    EXPECT_NEAR(got.geomean_by_kind.at("kernel"), 2, 1e-12);
    EXPECT_NEAR(got.geomean_by_kind.at("rate"), 8, 1e-12);
    EXPECT_NEAR(got.geomean.value_or(0), std::pow(64, 0.25), 1e-12);
    EXPECT_TRUE(got.differences.empty());
    EXPECT_TRUE(got.unmatched.empty());
    EXPECT_NEAR(to_json(got)["geomean_ratio"].get<double>(), std::pow(64, 0.25), 1e-12);
    EXPECT_EQ(to_json(got)["rows"][0]["ratio"], 8);
}

TEST(BenchComparison, RowsOfOneOnlyAreNamedAndDoNotCount) {
    const json before = result_of({kernel("a", 4), kernel("gone", 1), kernel("failed", 1), other("x", "rate", "GB/s", 1)});
    const json now = result_of({kernel("a", 2), kernel("new", 1), kernel("failed", nullptr), other("x", "rate", "MB/s", 1)});
    const Comparison got = compare(before, now);
    ASSERT_EQ(got.rows.size(), 1u);
    EXPECT_NEAR(got.geomean.value_or(0), 2, 1e-12);
    EXPECT_EQ(got.unmatched, (std::vector<std::string>{"failed", "gone", "new", "x"}));
    const Comparison none = compare(result_of(json::array()), now);
    EXPECT_FALSE(none.geomean);
    EXPECT_TRUE(to_json(none)["geomean_ratio"].is_null());
}

TEST(BenchComparison, OtherMachinesAndOptionsAreTold) {
    json before = result_of(json::array());
    const json now = before;
    before["machine"]["translator"] = false;
    before["options"] = {{"repetitions", 3}};
    EXPECT_EQ(compare(before, now).differences, (std::vector<std::string>{"machine translator: false before, true now",
                                                                          "option min_time_s: not told before, 0.1 now",
                                                                          "option repetitions: 3 before, not told now"}));
}

std::string refusal(const std::string& text) {
    try {
        read_result(text);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "";
}

TEST(BenchComparison, WhatIsNoResultIsRefused) {
    const json good = result_of({kernel("a", 1), kernel("b", nullptr)});
    EXPECT_EQ(refusal(good.dump()), "");
    EXPECT_EQ(refusal(""), "no JSON");
    EXPECT_EQ(refusal(good.dump().substr(0, 40)), "no JSON");
    for (const char* text : {"[]", "3", "{}", R"({"format": 1})", R"({"format": "lyra results", "version": 1})"})
        EXPECT_EQ(refusal(text), "no result of `lyra bench --json`, or one from before results had a format") << text;
    json bad = good;
    bad["version"] = kResultVersion + 1;
    EXPECT_EQ(refusal(bad.dump()), "a result of version 2; this program compares version 1");
    for (const char* part : {"machine", "options", "rows"}) {
        bad = good;
        bad.erase(part);
        EXPECT_EQ(refusal(bad.dump()), std::string("it has no ") + part);
    }
    const auto with = [&](const json& row) {
        bad = good;
        bad["rows"].push_back(row);
        return refusal(bad.dump());
    };
    EXPECT_EQ(with(3), "a row has no name");
    EXPECT_EQ(with({{"name", "x"}}), "a row has no kind");
    EXPECT_EQ(with(other("x", "other", "ms", 1)), "row x is of an unknown kind, other");
    EXPECT_EQ(with({{"name", "x"}, {"kind", "rate"}, {"value", 1}}), "row x has no unit");
    EXPECT_EQ(with({{"name", "x"}, {"kind", "kernel"}}), "row x has no value");
    EXPECT_EQ(with(kernel("x", 0)), "row x has the value 0");
    EXPECT_EQ(with(kernel("x", "fast")), "row x has the value \"fast\"");
    // What a terminal would take for more than text.
    EXPECT_EQ(with(kernel("x\x1b[2J", 1)), "a row has no name");
    EXPECT_EQ(with(other("x", "rate\r", "ms", 1)), "a row has no kind");
    EXPECT_EQ(with(other("x", "rate", "\xc2\x9b", 1)), "row x has no unit");
    EXPECT_EQ(with(kernel("x", "\x1b")), "row x has the value \"\\u001b\"");
    bad = good;
    bad["machine"]["\x1b"] = 1;
    EXPECT_EQ(refusal(bad.dump()), "a name of its machine cannot be shown");
}

}  // namespace
}  // namespace lyra::bench
