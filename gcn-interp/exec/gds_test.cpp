// SPDX-License-Identifier: MIT
// DS instructions with the GDS bit: the part of the GDS that M0 and the VMID give, and nothing else.
#include "gcn-interp/cu/test_machine.h"

namespace lyra::gcn::test {
namespace {

class Gds : public Machine {
protected:
    void SetUp() override { services.gds_memory.resize(0x100); }
    uint32_t& gds(unsigned at) { return *reinterpret_cast<uint32_t*>(&services.gds_memory[at]); }
    void run_with_lds(const std::string& text) {
        WorkgroupLaunch launch = simple("v_lshlrev_b32 v1, 2, v0\n" + text);
        launch.lds_bytes = 512;
        run(launch);
    }
};

TEST_F(Gds, AtomicsAtTheBaseOfM0) {
    gds(0x20) = 100, gds(0x24) = 200, gds(0x28) = 300;
    run_with_lds(R"(
        s_mov_b32 m0, 0x00100040
        s_mov_b64 exec, 3
        v_mov_b32 v2, 7
        ds_add_rtn_u32 v3, v1, v2 offset:16 gds)");
    EXPECT_EQ(gds(0x20), 107u);
    EXPECT_EQ(gds(0x24), 207u);
    EXPECT_EQ(gds(0x28), 300u);
    EXPECT_EQ(v(3, 0), 100u);
    EXPECT_EQ(v(3, 1), 200u);
}

TEST_F(Gds, OutsideTheSizeOfM0LoadsZeroAndStoresNothing) {
    gds(0x1c) = 5, gds(0x20) = 6;
    run_with_lds(R"(
        s_mov_b32 m0, 0x00100010
        v_mov_b32 v2, 9
        v_mov_b32 v3, 1
        ds_read_b32 v3, v1 gds
        s_mov_b64 exec, 0x30
        ds_write_b32 v1, v2 gds)");
    EXPECT_EQ(v(3, 3), 5u);
    EXPECT_EQ(v(3, 4), 0u);
    EXPECT_EQ(gds(0x20), 6u);
}

TEST_F(Gds, LargerThanTheVmidsPart) {
    run_with_lds("s_mov_b32 m0, 0x0000ffff\n v_mov_b32 v2, 9\n v_lshlrev_b32 v1, 3, v0\n ds_write_b32 v1, v2 gds");
    EXPECT_EQ(gds(0xf8), 9u);  // the lanes behind it stored nothing
    run_with_lds("s_mov_b32 m0, 0xffffffff\n v_mov_b32 v2, 8\n ds_write_b32 v1, v2 gds");
    EXPECT_EQ(gds(0), 9u);
}

TEST_F(Gds, IsNotTheLds) {
    run_with_lds(R"(
        s_mov_b32 m0, 0x00000100
        v_mov_b32 v2, 9
        ds_write_b32 v1, v2 gds
        ds_read_b32 v3, v1
        ds_write_b32 v1, v0
        ds_read_b32 v4, v1
        ds_read_b32 v5, v1 gds)");
    EXPECT_NE(v(3, 5), 9u);
    EXPECT_EQ(v(4, 5), 5u);
    EXPECT_EQ(v(5, 5), 9u);
}

TEST_F(Gds, AppendAndConsumeAtTheAddressInM0) {
    gds(0x14) = 10;
    run_with_lds(
        "s_mov_b32 m0, 0x10\n s_mov_b64 exec, 7\n ds_append v3 offset:4 gds\n ds_append v4 offset:4 gds\n ds_consume v5 "
        "offset:4 gds");
    EXPECT_EQ(v(3, 2), 10u);
    EXPECT_EQ(v(4, 0), 13u);
    EXPECT_EQ(v(5, 1), 16u);
    EXPECT_EQ(gds(0x14), 13u);
}

TEST_F(Gds, WithoutAnyItLoadsZero) {
    services.gds_memory.clear();
    run_with_lds("s_mov_b32 m0, -1\n v_mov_b32 v3, 1\n ds_read_b32 v3, v1 gds\n ds_write_b32 v1, v1 gds");
    EXPECT_EQ(v(3, 0), 0u);
    EXPECT_TRUE(services.errors.empty());
}

TEST_F(Gds, OrderedCountNeedsAUnit) {
    cu.launch(simple("ds_ordered_count v0, v1 gds"));
    cu.run(100);
    EXPECT_EQ(services.errors, std::vector<unsigned>{2});
}

TEST_F(Gds, OrderedCountAddsAndExchanges) {
    services.gds_ordered = true;
    gds(0x30) = 5;
    run_with_lds(
        "s_mov_b32 m0, 0x30\n v_mov_b32 v1, 4\n ds_ordered_count v3, v1 offset:0x300 gds\n ds_ordered_count v4, v1 "
        "offset:0x1300 gds");
    EXPECT_EQ(v(3, 63), 5u);
    EXPECT_EQ(v(4, 0), 9u);
    EXPECT_EQ(gds(0x30), 4u);
}

}  // namespace
}  // namespace lyra::gcn::test
