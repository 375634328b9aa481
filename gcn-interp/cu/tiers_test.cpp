// SPDX-License-Identifier: MIT
// The compute unit runs generated code where it may, and the interpreter where somebody looks at single instructions.
#include "gcn-interp/cu/test_machine.h"
#include "gcn-interp/exec/watch.h"
#include "gcn-interp/translator/translator.h"

namespace lyra::gcn::test {
namespace {

class Tiers : public Machine {
protected:
    void SetUp() override {
        if (!Translator::supported()) GTEST_SKIP() << "this host cannot run generated code";
        cu.set_translator(&translator);
    }
    /// 4 * lane + 100 to the data; MODE is the one that generated code wants.
    WorkgroupLaunch program() {
        WorkgroupLaunch launch = simple(
            "s_mov_b32 s4, 0\n v_mov_b32 v1, 0\n"
            "loop: v_add_u32 v1, v1, v0\n s_add_i32 s4, s4, 1\n s_cmp_lt_u32 s4, 4\n s_cbranch_scc1 loop\n"
            "v_add_u32 v1, 0x64, v1\n v_lshlrev_b32 v2, 2, v0\n v_mov_b32 v3, s1\n"
            "v_add_co_u32 v2, vcc, s0, v2\n v_addc_co_u32 v3, vcc, 0, v3, vcc\n global_store_dword v[2:3], v1, off");
        launch.rsrc1 |= 0xf0u << 12;
        return launch;
    }
    void expect_result() {
        for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(word(lane), 4 * lane + 100);
    }
    uint64_t generated() { return translator.counters().executed; }

    Translator translator{Chip::gfx900, {size_t{1} << 20, 0, false}};
};

TEST_F(Tiers, AProgramRunsAsGeneratedCode) {
    run(program());
    expect_result();
    EXPECT_EQ(generated(), services.last.instructions - 1);  // all but s_endpgm
    EXPECT_EQ(env.stats.get(Stat::translated_instructions), generated());
}

TEST_F(Tiers, CodeThatHasChangedIsGeneratedAnew) {
    run(program());
    const uint64_t before = translator.counters().blocks;
    WorkgroupLaunch launch = simple("v_lshlrev_b32 v2, 2, v0\n v_mov_b32 v1, 7\n global_store_dword v2, v1, s[0:1]");
    launch.rsrc1 |= 0xf0u << 12;
    run(launch);
    for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(word(lane), 7u);
    EXPECT_GT(translator.counters().blocks, before);
}

TEST_F(Tiers, WithoutTheTranslatorNothingIsGenerated) {
    cu.set_translator(nullptr);
    run(program());
    expect_result();
    EXPECT_EQ(generated(), 0u);
}

TEST_F(Tiers, WatchedMemoryIsInterpreted) {
    Watchpoints watch;
    watch.points[0].valid = true;
    cu.set_watch(&watch);
    run(program());
    expect_result();
    EXPECT_EQ(generated(), 0u);
}

TEST_F(Tiers, OtherRoundingIsInterpreted) {
    WorkgroupLaunch launch = program();
    launch.rsrc1 |= 1u << 12;  // FP_ROUND: up
    run(launch);
    expect_result();
    EXPECT_EQ(generated(), 0u);
}

/// More code than fits: the rest is interpreted, and what is not used any more makes room.
TEST_F(Tiers, AFullCodeMemoryIsNoFault) {
    Translator little(Chip::gfx900, {size_t{8} << 10, 0, false});
    cu.set_translator(&little);
    for (unsigned n = 0; n < 40; ++n) {
        WorkgroupLaunch launch = simple("v_mov_b32 v1, " + std::to_string(1000 + n) +
                                        "\n v_lshlrev_b32 v2, 2, v0\n global_store_dword v2, v1, s[0:1]");
        launch.rsrc1 |= 0xf0u << 12;
        run(launch);
        for (unsigned lane = 0; lane < kLanes; ++lane) ASSERT_EQ(word(lane), 1000 + n);
    }
    EXPECT_GT(little.counters().executed, 0u);
    cu.set_translator(nullptr);
}

}  // namespace
}  // namespace lyra::gcn::test
