// SPDX-License-Identifier: MIT
// The table of timing parameters: its page, replacing values, the clock, the shared bandwidth, and the hash of events.
#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/timing.h"
#include "common/trace_hash.h"

namespace lyra {
namespace {

TEST(Timing, PageHasEveryRowAndNoOther) {
    std::ifstream file(LYRA_TIMING_PAGE);
    std::set<std::string> rows;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("| `")) rows.insert(line);
    }
    for (const TimingInfo& info : kTimings) {
        const std::string range = info.low == info.high ? "" : fmt::format("{} to {}: {}", info.low, info.high, info.range);
        const std::string row = fmt::format("| `{}` | {} | {} | {} | {} | {} |", info.name, info.value, range,
                                            info.kind == TimingKind::Fact ? "fact" : "estimate", info.text, info.source);
        EXPECT_EQ(rows.erase(row), 1u) << "docs/design/timing.md lacks\n" << row;
        EXPECT_GE(info.value, info.smallest);
        EXPECT_LE(info.value, info.largest);
        EXPECT_LE(info.low, info.value) << info.name;
        EXPECT_GE(info.high, info.value) << info.name;
        EXPECT_GE(info.low, info.smallest) << info.name;
        EXPECT_LE(info.high, info.largest) << info.name;
        EXPECT_EQ(info.low == info.high, *info.range == '\0') << info.name << " has a range and no reason, or the reverse";
        if (info.kind == TimingKind::Fact) EXPECT_EQ(info.low, info.high) << info.name;
    }
    for (const std::string& row : rows) ADD_FAILURE() << "not in common/timing.def:\n" << row;
}

TEST(Timing, TakesValuesByName) {
    Timing timing;
    EXPECT_EQ(timing.set(""), "");
    EXPECT_EQ(timing.set("valu_clk=8,doorbell_ns=0"), "");
    EXPECT_EQ(timing.valu_clk, 8u);
    EXPECT_EQ(timing.doorbell_ns, 0u);
    EXPECT_EQ(timing.set("speed=1"), "there is no timing parameter 'speed'");
    EXPECT_EQ(timing.set("valu_clk"), "timing parameter valu_clk: '' is no number from 1 to 1000");
    EXPECT_EQ(timing.set("valu_clk=0"), "timing parameter valu_clk: '0' is no number from 1 to 1000");
    EXPECT_EQ(timing.set("valu_clk=4x"), "timing parameter valu_clk: '4x' is no number from 1 to 1000");
    EXPECT_EQ(timing.valu_clk, 8u);
}

TEST(Timing, ClockKeepsNanoseconds) {
    for (const uint64_t mhz : {1000, 1247, 1500, 4000}) {
        Timing timing;
        timing.shader_clock_mhz = mhz;
        VirtualClock clock;
        EXPECT_FALSE(clock.on());
        clock.start(timing);
        EXPECT_TRUE(clock.on());
        for (uint64_t ns = 0; ns < 5000; ++ns) {
            clock.set_ns(ns);
            ASSERT_EQ(clock.ns(), ns) << mhz;
        }
        EXPECT_EQ(clock.to_clk(1'000'000'000), mhz * 1'000'000);
        EXPECT_EQ(clock.to_ns(clock.to_clk(kNever)), kNever);
    }
}

TEST(Timing, SharedBandwidthPassesItsBytesAndNoMore) {
    // 1000 MB/s at 1000 MHz: a byte a clock.
    SharedBandwidth memory;
    EXPECT_EQ(memory.send(1000, 100, 1000, 1000), 100u);
    EXPECT_EQ(memory.send(1000, 100, 1000, 1000), 200u);
    EXPECT_EQ(memory.send(1050, 100, 1000, 1000), 250u);
    // Somebody whose clock is behind waits for what is under way, and does not lose it.
    EXPECT_EQ(memory.send(900, 10, 1000, 1000), 260u);
    EXPECT_EQ(memory.send(1310, 10, 1000, 1000), 10u);
    EXPECT_EQ(memory.send(uint64_t{1} << 60, 10, 1000, 1000), 10u);
    // Two senders as fast as the memory each: it takes twice as long.
    uint64_t last = 0;
    SharedBandwidth shared;
    for (uint64_t quantum = 0; quantum < 100; ++quantum) {
        for (unsigned sender = 0; sender < 2; ++sender) {
            for (uint64_t at = 0; at < 100; at += 10) {
                const uint64_t clk = quantum * 100 + at;
                last = std::max(last, clk + shared.send(clk, 10, 1000, 1000));
            }
        }
    }
    EXPECT_NEAR(static_cast<double>(last), 20000, 200);
}

TEST(TraceHash, ChangesWithEveryFieldAndTime) {
    const auto hash_of = [](std::initializer_list<TraceRecord> records) {
        TraceHash hash;
        for (const TraceRecord& record : records) hash.record(record);
        EXPECT_EQ(hash.events(), records.size());
        return hash.hash();
    };
    const TraceRecord a{EventId::doorbell, 5, {1, 2}}, b{EventId::doorbell, 6, {1, 2}}, c{EventId::doorbell, 5, {1, 3}},
        d{EventId::vm_fault, 5, {1, 2}}, rest{EventId::doorbell, 5, {1, 2, 9}};
    EXPECT_EQ(hash_of({a, b}), hash_of({a, b}));
    EXPECT_EQ(hash_of({a}), hash_of({rest}));  // a doorbell has two fields
    const std::set<uint64_t> different{hash_of({}),  hash_of({a}),    hash_of({b}),   hash_of({c}),
                                       hash_of({d}), hash_of({a, b}), hash_of({b, a})};
    EXPECT_EQ(different.size(), 7u);
}

}  // namespace
}  // namespace lyra
