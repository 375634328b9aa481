// SPDX-License-Identifier: MIT
#include "tools/lyra/results/timeline.h"

#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

namespace lyra::cli {
namespace {

constexpr TimelineQueue kCritical{true, 0}, kBestEffort{false, 0};

Timeline read(const std::string& text, const std::vector<TimelineQueue>& queues = {kBestEffort, kCritical}) {
    std::string tabs = text;
    for (char& c : tabs) c = c == ' ' ? '\t' : c;
    std::istringstream in(tabs);
    return read_timeline(in, queues);
}

// Queue 1: best effort, doorbell 0x100; queue 2: latency-critical, 0x200; queue 9: HIQ, 0x8.
// Queue 1 has a kernel that does not end where kBusy is used.
const std::string kBusy = "40 dispatch_begin 90 1 64 4096\n41 dispatch_started 90 1\n";
const std::string kMapped = R"(10 queue_mapped 9 0 8 1
20 queue_mapped 1 8 256 2
21 queue_mapped 2 9 512 3
30 packet 9 0 165 0
31 dispatch_begin 7001 1 4098 1
32 dispatch_end 7001 1
33 dispatch_begin 7002 2 4098 1
34 dispatch_end 7002 2
)";

TEST(Timeline, FollowsAPreemptionFromDoorbellToFirstWave) {
    const Timeline t = read(kMapped + R"(100 doorbell 256 0
101 packet 1 1 2 0
102 dispatch_begin 1 1 64 4096
103 dispatch_started 1 1
1000 doorbell 512 0
1100 packet 2 1 2 0
1101 dispatch_begin 2 2 1 8192
2000 doorbell 8 70
2900 queue_unmapped 1
2901 packet 9 0 163 64
3000 dispatch_started 2 2
3500 dispatch_end 2 2
)");
    ASSERT_EQ(t.samples.size(), 1u);
    const sim::Sample& s = t.samples[0];
    EXPECT_TRUE(s.displaced);
    EXPECT_EQ(s.t0_doorbell, 1000u);
    EXPECT_EQ(s.t3_requested, 2000u);
    EXPECT_EQ(s.t5_saved, 2900u);
    EXPECT_EQ(s.t8_first_wave, 3000u);
    EXPECT_EQ(s.t9_done, 3500u);
    EXPECT_EQ(t.saved_queues, 1u);
}

TEST(Timeline, AQueueThatWasAwayCountsFromItsDoorbell) {
    // Rung while it has no slot; mapped by the run list after the unmap.
    const Timeline t = read(kMapped + kBusy + R"(50 queue_unmapped 2
1000 doorbell 512 4
2000 doorbell 8 70
2001 doorbell 8 74
2900 queue_unmapped 1
2901 packet 9 0 163 64
2950 packet 9 0 165 70
2960 queue_mapped 3 9 512 3
2970 packet 3 1 2 4
2980 dispatch_begin 5 3 1 8192
3000 dispatch_started 5 3
3500 dispatch_end 5 3
)");
    ASSERT_EQ(t.samples.size(), 1u);
    EXPECT_TRUE(t.samples[0].displaced);
    EXPECT_EQ(t.samples[0].t0_doorbell, 1000u);
    EXPECT_EQ(t.samples[0].t5_saved, 2900u);
}

TEST(Timeline, TheFirstWaveMayComeBeforeTheUnmapIsComplete) {
    const Timeline t = read(kMapped + kBusy + R"(1000 doorbell 512 0
1001 packet 2 1 2 0
1002 dispatch_begin 1 2 1 8192
1100 doorbell 8 70
1190 dispatch_started 1 2
1200 queue_unmapped 1
1201 packet 9 0 163 64
1300 dispatch_end 1 2
2000 doorbell 512 1
2001 packet 2 1 2 1
2002 dispatch_begin 2 2 1 8192
2003 dispatch_started 2 2
2004 dispatch_end 2 2
)");
    ASSERT_EQ(t.samples.size(), 2u);
    EXPECT_TRUE(t.samples[0].displaced);
    EXPECT_EQ(t.samples[0].t3_requested, 1100u);
    EXPECT_EQ(t.samples[0].t5_saved, 1190u);
    EXPECT_FALSE(t.samples[1].displaced) << "that ring was for another one";
}

TEST(Timeline, WithoutAnUnmapNobodyWasDisplaced) {
    const Timeline t = read(kMapped + R"(1000 doorbell 512 0
1001 packet 2 1 2 0
1002 dispatch_begin 1 2 1 8192
1003 dispatch_started 1 2
1004 dispatch_end 1 2
2000 doorbell 512 1
2001 packet 2 1 2 1
2002 dispatch_begin 2 2 1 8192
2003 dispatch_started 2 2
)");
    ASSERT_EQ(t.samples.size(), 1u) << "the second has not ended";
    EXPECT_FALSE(t.samples[0].displaced);
}

TEST(Timeline, AnIdleQueueThatGoesDisplacesNobody) {
    const Timeline t = read(kMapped + R"(1000 doorbell 512 0
1001 packet 2 1 2 0
1002 dispatch_begin 1 2 1 8192
1100 doorbell 8 70
1150 queue_unmapped 1
1190 dispatch_started 1 2
1201 packet 9 0 163 64
1300 dispatch_end 1 2
)");
    ASSERT_EQ(t.samples.size(), 1u);
    EXPECT_FALSE(t.samples[0].displaced);
    EXPECT_EQ(t.saved_queues, 0u);
}

TEST(Timeline, AnExperimentIsBetweenTwoMarks) {
    std::string text = kMapped + "40 dispatch_begin 1 2 1 1\n41 dispatch_started 1 2\n42 dispatch_end 1 2\n";
    uint64_t ns = 100, dispatch = 2;
    const auto kernel = [&](uint64_t groups) {
        text += std::to_string(ns) + " dispatch_begin " + std::to_string(dispatch) + " 2 " + std::to_string(groups) + " 1\n";
        text += std::to_string(ns + 1) + " dispatch_started " + std::to_string(dispatch) + " 2\n";
        text += std::to_string(ns + 9) + " dispatch_end " + std::to_string(dispatch++) + " 2\n";
        ns += 100;
    };
    const std::vector<TimelineQueue> expected{{true, 1}};
    kernel(kMarkGroups);
    kernel(kClientGroups);
    for (unsigned n = 0; n < 3; ++n) kernel(1);
    EXPECT_THROW(read(text, expected), std::runtime_error) << "it has no end";
    kernel(kMarkGroups);
    kernel(1);
    const Timeline t = read(text, expected);
    ASSERT_EQ(t.samples.size(), 2u) << "the first is the warm-up; what is before the first mark and after the last is none";
    EXPECT_EQ(t.samples[0].t8_first_wave, 401u);
    EXPECT_EQ(t.samples[1].t8_first_wave, 501u);
    kernel(kMarkGroups);
    EXPECT_THROW(read(text, expected), std::runtime_error) << "another one begins";
}

TEST(Timeline, HowFastAClientIsAloneAndBesideOthers) {
    std::string text = kMapped;
    uint64_t dispatch = 1;
    const auto kernel = [&](unsigned queue, uint64_t rung, uint64_t begin, uint64_t end) {
        const unsigned doorbell = queue == 1 ? 256 : 512;
        const uint64_t nth = dispatch++;
        text += std::to_string(rung) + " doorbell " + std::to_string(doorbell) + " " + std::to_string(nth) + "\n";
        const std::string of = " " + std::to_string(nth) + " " + std::to_string(queue);
        text += std::to_string(begin) + " packet " + std::to_string(queue) + " 1 2 " + std::to_string(nth) + "\n";
        text += std::to_string(begin) + " dispatch_begin" + of + " 64 4096\n";
        text += std::to_string(begin) + " dispatch_started" + of + "\n";
        text += std::to_string(begin + 2) + " dispatch_resident" + of + "\n";
        text += std::to_string(end) + " dispatch_end" + of + "\n";
    };
    // The warm-up of the critical queue, the first kernel of which is slow, then of the other one; then both.
    kernel(2, 50, 55, 300);
    kernel(2, 400, 405, 420);
    kernel(2, 500, 505, 520);
    for (uint64_t n = 0; n < 4; ++n) kernel(1, 995 + n * 100, 1000 + n * 100, 1090 + n * 100);
    kernel(1, 1395, 1400, 1600);  // not in its warm-up, and before the first sample: with somebody beside it, perhaps
    kernel(2, 1701, 1703, 1714);
    kernel(1, 1720, 1730, 1870);
    kernel(1, 1880, 1890, 2070);
    kernel(1, 2080, 2090, 2270);
    kernel(2, 2290, 2295, 2300);
    kernel(1, 2400, 2410, 2500);  // after the last sample
    text += "2600 queue_mapped 5 8 768 9\n2601 dispatch_begin 900 5 32 1\n2602 dispatch_end 900 5\n";  // the runtime's own
    const Timeline t = read(text, {{false, 4}, {true, 3}});
    ASSERT_EQ(t.samples.size(), 2u);
    EXPECT_EQ(t.samples[0].t0_doorbell, 1701u);
    EXPECT_EQ(t.samples[0].resident, 1705u);
    EXPECT_EQ(t.samples[0].client, 1u);
    ASSERT_EQ(t.queues.size(), 2u);
    EXPECT_DOUBLE_EQ(t.queues[1].alone_turnaround_ns, 20);
    EXPECT_DOUBLE_EQ(t.queues[0].alone_turnaround_ns, 95);
    EXPECT_DOUBLE_EQ(t.queues[0].alone_rate, 0.01);
    EXPECT_DOUBLE_EQ(t.queues[0].rate.value(), 2.0 / (2270 - 1870)) << "from end to end, of those that ended meanwhile";
    EXPECT_DOUBLE_EQ(t.queues[0].turnaround_ns, (150 + 190 + 190) / 3.0);
}

TEST(Timeline, WhoEndsNothingInALongTimeIsSlow) {
    std::string text = kMapped;
    uint64_t dispatch = 1;
    const auto kernel = [&](unsigned queue, uint64_t begin, uint64_t end) {
        const std::string of = " " + std::to_string(dispatch++) + " " + std::to_string(queue);
        text += std::to_string(begin) + " dispatch_begin" + of + " 64 4096\n";
        text += std::to_string(end) + " dispatch_end" + of + "\n";
    };
    for (uint64_t n = 0; n < 4; ++n) kernel(1, 100 + n * 100, 190 + n * 100);
    kernel(2, 1000, 1010);
    const std::string soon = text;
    kernel(2, 2100, 2110);
    EXPECT_EQ(read(text, {{false, 4}, {true, 0}}).queues[0].rate, 0.0);
    EXPECT_FALSE(read(soon, {{false, 4}, {true, 0}}).queues[0].rate);
}

TEST(Timeline, HowLongAQueueHadWorkAndNoSlot) {
    const Timeline t = read(kMapped + R"(100 doorbell 256 0
101 packet 1 1 2 0
102 dispatch_begin 1 1 64 4096
103 dispatch_started 1 1
200 doorbell 512 0
201 packet 2 1 2 0
202 dispatch_begin 2 2 1 8192
300 queue_unmapped 1
303 dispatch_started 2 2
304 dispatch_end 2 2
1000 queue_mapped 3 8 256 2
1100 dispatch_end 1 3
1200 queue_unmapped 2
1300 queue_unmapped 3
5000 doorbell 256 1
5400 queue_mapped 4 8 256 2
5401 packet 4 1 2 1
9000 doorbell 512 1
9010 queue_mapped 5 8 512 2
9020 doorbell 512 2
9030 queue_unmapped 5
9050 queue_mapped 6 8 512 2
)");
    ASSERT_EQ(t.queues.size(), 2u);
    EXPECT_EQ(t.queues[0].longest_off_ns, 700u) << "an idle queue counts from its doorbell: 400";
    EXPECT_EQ(t.queues[1].longest_off_ns, 20u) << "packets that nobody has read";
}

TEST(Timeline, RefusesWhatIsNoTrace) {
    EXPECT_THROW(read("x doorbell 1 2\n"), std::runtime_error);
    EXPECT_THROW(read("1 nothing\n"), std::runtime_error);
    EXPECT_THROW(read("1 doorbell 1\n"), std::runtime_error);
    EXPECT_THROW(read("1 doorbell 1 2 3\n"), std::runtime_error);
}

}  // namespace
}  // namespace lyra::cli
