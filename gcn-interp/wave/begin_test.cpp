// SPDX-License-Identifier: MIT
// A wave that begins has nothing of the wave that was in its slot before.
#include "gcn-interp/wave/begin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "gcn-interp/wave/lanes.h"

namespace lyra::gcn {
namespace {

constexpr uint32_t kOther = 0x7fb5a5a5, kStale = 0xdead5678;

class Begin : public ::testing::TestWithParam<Backend> {
protected:
    void SetUp() override {
        fill_row(others.lane, kOther);
        for (VgprRow& row : rows) fill_row(row.lane, kStale);
        image.sgpr_count = 32;
        image.vgpr_count = 8;
        image.pc = 0x1234;
        image.scratch_slot = -1;
        for (unsigned n = 0; n < image.sgpr_count; ++n) image.sgpr[n] = n + 1;
        image.ttmp[15] = 99;
        wave.sgpr_count = kMaxSgprs;
        wave.sgpr.fill(kStale);
        wave.ttmp.fill(kStale);
        wave.exec = 0x5555;
        exec_rows(wave);
    }
    void begin(const WorkItemIds& ids) { begin_function(GetParam())(wave, image, rows.data() + 1, ids, &others); }
    bool holds(unsigned row, uint32_t value) {
        return std::all_of(std::begin(rows[row].lane), std::end(rows[row].lane), [&](uint32_t lane) { return lane == value; });
    }

    Wave image, wave;
    std::vector<VgprRow> rows = std::vector<VgprRow>(10);
    VgprRow others;
};

TEST_P(Begin, ScalarStateIsTheImages) {
    begin({});
    EXPECT_EQ(wave.pc, 0x1234u);
    EXPECT_EQ(wave.scratch_slot, -1);
    EXPECT_EQ(wave.ttmp, image.ttmp);
    EXPECT_EQ(wave.sgpr, image.sgpr) << "also those that only the wave before had";
    EXPECT_EQ(wave.sgpr_count, 32);
    EXPECT_EQ(wave.vgpr, rows.data() + 1);
}

TEST_P(Begin, TheExpandedExecIsThatOfTheWaveBefore) {
    begin({});
    EXPECT_EQ(wave.mask_of, 0x5555u);
    VgprRow expected;
    for (const uint64_t exec : {uint64_t{0}, uint64_t{0x5555}, ~uint64_t{0}}) {
        wave.exec = exec;
        expand_mask(exec, expected);
        EXPECT_TRUE(std::equal(std::begin(expected.lane), std::end(expected.lane), exec_rows(wave))) << exec;
    }
}

TEST_P(Begin, RegistersOfTheWaveAreWrittenAndNoOthers) {
    begin({});
    for (unsigned n = 1; n <= 8; ++n) EXPECT_TRUE(holds(n, kOther)) << n;
    EXPECT_TRUE(holds(0, kStale));
    EXPECT_TRUE(holds(9, kStale));
}

TEST_P(Begin, IdsThatAreCounted) {
    begin({.rows = 3, .first = 192});
    for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(rows[1].lane[lane], 192 + lane);
    EXPECT_TRUE(holds(2, 0));
    EXPECT_TRUE(holds(3, 0));
    EXPECT_TRUE(holds(4, kOther));
}

TEST_P(Begin, IdsThatWereMade) {
    std::vector<VgprRow> made(2);
    for (unsigned n = 0; n < 128; ++n) made[n / 64].lane[n % 64] = 3 * n;
    begin({.rows = 2, .made = made.data()});
    for (unsigned n = 0; n < 128; ++n) EXPECT_EQ(rows[1 + n / 64].lane[n % 64], 3 * n);
    EXPECT_TRUE(holds(3, kOther));
    EXPECT_TRUE(holds(8, kOther));
    EXPECT_TRUE(holds(9, kStale));
}

TEST_P(Begin, RowsThatHoldTheOthersAreNotWritten) {
    begin_function(GetParam())(wave, image, rows.data() + 1, {.rows = 1, .first = 64}, nullptr);
    for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(rows[1].lane[lane], 64 + lane);
    for (unsigned n = 2; n <= 8; ++n) EXPECT_TRUE(holds(n, kStale)) << n;
}

TEST_P(Begin, OnlySomeRowsAreWritten) {
    begin_function(GetParam())(wave, image, rows.data() + 1, {.rows = 1, .first = 64}, nullptr);
    const std::vector<uint16_t> some{1, 4, 7};
    some_rows_function(GetParam())(wave.vgpr, some, others);
    for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(rows[1].lane[lane], 64 + lane);
    for (unsigned n = 1; n < 8; ++n) EXPECT_TRUE(holds(n + 1, n == 1 || n == 4 || n == 7 ? kOther : kStale)) << n;
    EXPECT_TRUE(holds(9, kStale));
}

/// Those that this build has and this host can run.
std::vector<Backend> host_backends() {
    std::vector<Backend> found;
    std::copy_if(std::begin(kAllBackends), std::end(kAllBackends), std::back_inserter(found),
                 [](Backend each) { return each <= kWidest && supported(each); });
    return found;
}
INSTANTIATE_TEST_SUITE_P(Backends, Begin, ::testing::ValuesIn(host_backends()),
                         [](const auto& each) { return kBackendNames[static_cast<size_t>(each.param)]; });

}  // namespace
}  // namespace lyra::gcn
