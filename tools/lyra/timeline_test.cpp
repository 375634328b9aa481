// SPDX-License-Identifier: MIT
#include "tools/lyra/timeline.h"

#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

namespace lyra::cli {
namespace {

Timeline read(const std::string& text, uint64_t warm_up = 0) {
    std::string tabs = text;
    for (char& c : tabs) c = c == ' ' ? '\t' : c;
    std::istringstream in(tabs);
    return read_timelines(in, {warm_up}).at(0);
}

// Queue 1: best effort, doorbell 0x100; queue 2: latency-critical, 0x200; queue 9: HIQ, 0x8.
// Queue 1 has a kernel that does not end where kBusy is used.
const std::string kBusy = "40 dispatch_begin 90 1 64 4096\n41 dispatch_started 90 1\n";
const std::string kMapped = R"(10 queue_mapped 9 0 8 1
20 queue_mapped 1 8 256 2
21 queue_mapped 2 9 512 3
30 packet 9 0 165 0
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
)",
                            0);
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

TEST(Timeline, MarksDivideExperiments) {
    std::string text = kMapped + "40 dispatch_begin 1 2 1 1\n41 dispatch_started 1 2\n42 dispatch_end 1 2\n";
    uint64_t ns = 100, dispatch = 2;
    const auto kernel = [&](uint64_t groups) {
        text += std::to_string(ns) + " dispatch_begin " + std::to_string(dispatch) + " 2 " + std::to_string(groups) + " 1\n";
        text += std::to_string(ns + 1) + " dispatch_started " + std::to_string(dispatch) + " 2\n";
        text += std::to_string(ns + 9) + " dispatch_end " + std::to_string(dispatch++) + " 2\n";
        ns += 100;
    };
    for (const unsigned kernels : {3u, 2u}) {
        kernel(kMarkGroups);
        for (unsigned n = 0; n < kernels; ++n) kernel(1);
    }
    kernel(kMarkGroups);
    kernel(1);
    for (char& c : text) c = c == ' ' ? '\t' : c;
    std::istringstream in(text);
    const std::vector<Timeline> experiments = read_timelines(in, {1});
    ASSERT_EQ(experiments.size(), 2u) << "what is before the first mark and after the last is none";
    ASSERT_EQ(experiments[0].samples.size(), 2u) << "each has a warm-up";
    EXPECT_EQ(experiments[0].samples[0].t8_first_wave, 301u);
    ASSERT_EQ(experiments[1].samples.size(), 1u);
    EXPECT_EQ(experiments[1].samples[0].t8_first_wave, 701u);
}

TEST(Timeline, WarmUpIsNoSampleAndRetainedIsWorkOverTimeLeft) {
    std::string text = kMapped;
    uint64_t dispatch = 1;
    const auto effort = [&](uint64_t begin, uint64_t end) {
        text += std::to_string(begin) + " dispatch_begin " + std::to_string(dispatch) + " 1 64 4096\n";
        text += std::to_string(end) + " dispatch_end " + std::to_string(dispatch++) + " 1\n";
    };
    text += "90 dispatch_begin 900 2 1 1\n95 dispatch_end 900 2\n";  // warm-up of the critical queue
    for (uint64_t n = 0; n < 4; ++n) effort(1000 + n * 100, 1100 + n * 100);
    text +=
        "1401 doorbell 512 1\n1402 packet 2 1 2 1\n1403 dispatch_begin 901 2 1 1\n1404 dispatch_started 901 2\n1414 "
        "dispatch_end 901 2\n";
    effort(1420, 1520);
    effort(1520, 1670);  // lost half of its time
    const Timeline t = read(text, 1);
    ASSERT_EQ(t.samples.size(), 1u);
    EXPECT_EQ(t.alone_ns, 100u);
    EXPECT_EQ(t.best_effort, 2u);
    EXPECT_EQ(t.critical_ns, 10u);
    EXPECT_EQ(t.best_effort_ns, 1670u - 1401u);
    EXPECT_DOUBLE_EQ(t.retained(), 200.0 / (1670 - 1401 - 10));
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
    ASSERT_EQ(t.longest_off_ns.size(), 2u);
    EXPECT_EQ(t.longest_off_ns[0], 700u) << "an idle queue counts from its doorbell: 400";
    EXPECT_EQ(t.longest_off_ns[1], 20u) << "packets that nobody has read";
}

TEST(Timeline, RefusesWhatIsNoTrace) {
    EXPECT_THROW(read("x doorbell 1 2\n"), std::runtime_error);
    EXPECT_THROW(read("1 nothing\n"), std::runtime_error);
    EXPECT_THROW(read("1 doorbell 1\n"), std::runtime_error);
    EXPECT_THROW(read("1 doorbell 1 2 3\n"), std::runtime_error);
}

}  // namespace
}  // namespace lyra::cli
