// SPDX-License-Identifier: MIT
// Flat and global access whose addresses nearly follow each other, but not quite.
#include "gcn-interp/cu/test_machine.h"

namespace lyra::gcn::test {

class FlatRun : public Machine {
protected:
    void SetUp() override {
        for (unsigned i = 0; i < 4096; ++i) memory.at<uint32_t>(kData + 4 * i) = 0x1000 + i * 0x01010101u;
    }
    /// For a wave that ends halted, by an exception.
    void launch_and_stop(const std::string& text) {
        cu.launch(simple(text));
        while (cu.run(1000) != 0) {}
        EXPECT_EQ(cu.waves_live(), 1u);
    }
};

TEST_F(FlatRun, OneLaneElsewhere) {
    run(R"(
        v_lshlrev_b32 v2, 2, v0
        s_mov_b64 exec, 0x100
        v_mov_b32 v2, 1600
        s_mov_b64 exec, -1
        global_load_dword v4, v2, s[0:1]
        global_store_dword v2, v0, s[0:1] offset:2048
    )");
    for (unsigned lane = 0; lane < 64; ++lane) {
        const unsigned at = lane == 8 ? 400 : lane;
        EXPECT_EQ(v(4, lane), 0x1000 + at * 0x01010101u) << lane;
        EXPECT_EQ(word(512 + at), lane);
    }
    EXPECT_EQ(word(512 + 8), 0x1000 + (512 + 8) * 0x01010101u);
}

// 128 bytes below 4 GiB: the registers wrap in the middle of the wave, addresses do not.
TEST_F(FlatRun, RegistersThatWrapAreNoRun) {
    launch_and_stop(R"(
        s_sub_u32 s4, s0, 0xfffff000
        s_subb_u32 s5, s1, 0
        v_lshlrev_b32 v2, 2, v0
        v_add_u32 v2, 0xffffff80, v2
        global_load_dword v4, v2, s[4:5]
    )");
    ASSERT_EQ(services.errors, std::vector<unsigned>{2});
}

TEST_F(FlatRun, HighHalvesThatDifferAreNoRun) {
    launch_and_stop(R"(
        v_lshlrev_b32 v2, 2, v0
        v_add_u32 v2, s0, v2
        v_mov_b32 v3, s1
        s_mov_b32 exec_lo, 0
        s_mov_b32 exec_hi, 1
        v_mov_b32 v3, 1
        s_mov_b64 exec, -1
        flat_load_dword v4, v[2:3]
    )");
    ASSERT_EQ(services.errors, std::vector<unsigned>{2});
}

TEST_F(FlatRun, RunsAcrossPagesAndSingleElements) {
    run(R"(
        v_lshlrev_b32 v2, 2, v0
        v_mov_b32 v5, 0xf80
        v_add_u32 v6, v2, v5
        global_load_dword v4, v6, s[0:1]
        global_load_dwordx2 v[8:9], v5, s[0:1]
        global_load_sshort v10, v5, s[0:1] offset:-2
        global_store_dword v5, v0, s[0:1] offset:128
    )");
    const auto value = [](unsigned i) { return 0x1000 + i * 0x01010101u; };
    for (unsigned lane = 0; lane < 64; ++lane) {
        EXPECT_EQ(v(4, lane), value(0xf80 / 4 + lane)) << lane;
        EXPECT_EQ(v(8, lane), value(0xf80 / 4));
        EXPECT_EQ(v(9, lane), value(0xf80 / 4 + 1));
        EXPECT_EQ(v(10, lane), static_cast<uint32_t>(sign_extend(value(0xf7c / 4) >> 16, 16)));
    }
    EXPECT_EQ(word(0x1000 / 4), 63u);  // the last lane's store stays
}

}  // namespace lyra::gcn::test
