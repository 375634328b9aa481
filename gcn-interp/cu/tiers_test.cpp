// SPDX-License-Identifier: MIT
// The compute unit runs generated code where it may, and the interpreter where somebody looks at single instructions.
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "gcn-interp/cu/storage.h"
#include "gcn-interp/cu/tiers_machine.h"
#include "gcn-interp/exec/watch.h"

namespace lyra::gcn::test {
namespace {

INSTANTIATE_TEST_SUITE_P(OnThisHost, Tiers, ::testing::ValuesIn(generated_backends()), backend_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Tiers);

class Gfx90aTiers : public MachineOf<Chip::gfx90a>, public ::testing::WithParamInterface<Backend> {
protected:
    void SetUp() override { unit.set_translator(&translator); }
    Translator translator{Chip::gfx90a, {size_t{1} << 20, 0, false, false, GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(OnThisHost, Gfx90aTiers, ::testing::ValuesIn(generated_backends()), backend_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Gfx90aTiers);

TEST_P(Gfx90aTiers, AD16LoadClearsTheOtherHalf) {
    WorkgroupLaunch launch = launch_of(R"(
        v_lshlrev_b32 v1, 2, v0
        v_mov_b32 v2, -1
        v_mov_b32 v3, -1
        v_mov_b32 v4, -1
        v_mov_b32 v5, 0x1234
        v_accvgpr_write_b32 a2, v2
        ds_write_b32 v1, v5
        global_load_short_d16 v2, v1, s[0:1]
        global_load_short_d16_hi v3, v1, s[0:1]
        global_load_short_d16 a2, v1, s[0:1]
        s_waitcnt vmcnt(0) lgkmcnt(0)
        ds_read_u16_d16 v4, v1
        v_accvgpr_read_b32 v6, a2
        s_waitcnt lgkmcnt(0)
        global_store_dword v1, v6, s[0:1] offset:1024
    )");
    launch.rsrc1 |= 0xf0u << 12;
    launch.lds_bytes = 1024;
    for (unsigned n = 0; n < kLanes; ++n) memory.at<uint32_t>(kData + 4 * n) = 0x77000000 | n;
    run_on_it(launch);
    run_on_it(launch);  // the TLB holds the memory now
    EXPECT_GT(uint64_t{translator.counters().executed}, 20u);
    for (const unsigned lane : {0u, 9u, 63u}) {
        EXPECT_EQ(v(2, lane), lane);
        EXPECT_EQ(v(3, lane), lane << 16);
        EXPECT_EQ(v(4, lane), 0x1234u);
        EXPECT_EQ(word(256 + lane), lane) << "loaded into a2";
    }
}

TEST_P(Tiers, AProgramRunsAsGeneratedCode) {
    run(program());
    expect_result();
    EXPECT_EQ(generated(), services.last.instructions);
    EXPECT_EQ(env.stats.get(Stat::translated_instructions), generated());
}

TEST_P(Tiers, CodeThatHasChangedIsGeneratedAnew) {
    run(program());
    const uint64_t before = translator.counters().blocks;
    WorkgroupLaunch launch = simple("v_lshlrev_b32 v2, 2, v0\n v_mov_b32 v1, 7\n global_store_dword v2, v1, s[0:1]");
    launch.rsrc1 |= 0xf0u << 12;
    run(launch);
    for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(word(lane), 7u);
    EXPECT_GT(translator.counters().blocks, before);
}

/// A loop in two pages. When the second one changes, the code that was generated from both is not entered again.
TEST_P(Tiers, TheNextPageIsPartOfThePage) {
    WorkgroupLaunch launch = simple(
        "s_mov_b32 s4, 0\n v_mov_b32 v1, 0\n s_branch loop\n .org 0xff8\n"
        "loop: s_add_i32 s4, s4, 1\n v_add_u32 v1, 0x10000, v1\n s_cmp_lt_u32 s4, 10\n s_cbranch_scc1 loop\n"
        "v_add_u32 v1, 5, v1\n v_lshlrev_b32 v2, 2, v0\n global_store_dword v2, v1, s[0:1]");
    launch.rsrc1 |= 0xf0u << 12;
    for (unsigned n = 0; n < 2; ++n) {
        const uint64_t before = generated();
        cu.invalidate_code();
        run(launch);
        for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(word(lane), 0xa0005u);
        // But for the first time, when the next page was not there yet, no instruction of the loop is the interpreter's.
        EXPECT_LE(services.last.instructions - (generated() - before), 1u);
    }
    // Something behind the loop, and then the literal of the instruction that lies in both.
    auto& add = memory.at<uint32_t>(kCode + 0x100c);
    ASSERT_EQ(add, 0x68020285u);
    add = 0x68020286;
    cu.invalidate_code();
    run(launch);
    for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(word(lane), 0xa0006u);
    auto& literal = memory.at<uint32_t>(kCode + 0x1000);
    ASSERT_EQ(literal, 0x10000u);
    literal = 0x20000;
    cu.invalidate_code();
    run(launch);
    for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(word(lane), 0x140006u);
}

/// Where the waves before it have found their code is no longer where it is.
TEST_P(Tiers, AStartedGroupFindsCodeThatHasChanged) {
    WorkgroupLaunch launch = program();
    cu.prepare(launch);
    ASSERT_EQ(cu.reserve(1), 1u);
    for (unsigned n = 0; n < 3; ++n) cu.start(launch, 1000);
    expect_result();
    simple("v_lshlrev_b32 v2, 2, v0\n v_mov_b32 v1, 7\n global_store_dword v2, v1, s[0:1]");
    cu.start(launch, 1000);
    for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(word(lane), 7u);
    cu.finish();
    EXPECT_EQ(cu.started().ended_groups, 4u);
}

/// A wave finds what all waves begin with in VGPRs where the one before it left something: in registers only, written back for
/// a function of the interpreter, by a store that is not in place, by code for some lanes, by the interpreter.
TEST_P(Tiers, AStartedGroupBeginsAsTheFirstOne) {
    // Rounding in another way: all of it is interpreted.
    const std::string interpreted = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 1\n";
    const std::string lefts[] = {interpreted, "", "v_readfirstlane_b32 s5, v5",
                                 "s_movk_i32 s6, 0x4000\n global_load_dword v6, v5, s[0:1]",
                                 "s_mov_b64 exec, 5\n v_mov_b32 v6, 9"};
    for (const std::string& left : lefts) {
        WorkgroupLaunch launch =
            simple((left == interpreted ? left : "") +
                   std::string("v_add_u32 v7, v5, v6\n v_lshlrev_b32 v2, 2, v0\n global_store_dword v2, v7, s[0:1]\n"
                               "v_mov_b32 v5, 7\n") +
                   (left == interpreted ? "" : left));
        launch.rsrc1 |= 0xf0u << 12;
        ASSERT_TRUE(env.poison);
        cu.invalidate_code();
        cu.prepare(launch);
        ASSERT_EQ(cu.reserve(1), 1u);
        for (unsigned n = 0; n < 4; ++n) {
            for (unsigned lane = 0; lane < kLanes; ++lane) memory.at<uint32_t>(kData + 4 * lane) = 1;
            cu.start(launch, 1000);
            for (unsigned lane = 0; lane < kLanes; ++lane) ASSERT_EQ(word(lane), 2 * kPoison) << left << ", group " << n;
        }
        cu.finish();
        EXPECT_EQ(cu.started().ended_groups, 4u);
    }
}

/// A loop has code before the instructions in front of it have: its first register is the work-item id no longer. Nothing else
/// is affine where it begins.
/// It writes most of its VGPRs first. It reads v27, v28 and v30 before, each in another way, and leaves v26 to a function.
constexpr const char* kWritesFirst = R"(
    s_load_dwordx2 s[4:5], s[0:1], 0x800
    s_load_dword s6, s[0:1], 0x808
    s_waitcnt 0
    v_cvt_f32_u32 v14, v0
    v_cvt_f32_u32 v15, v1
    v_mul_f32 v16, v15, v14
    v_add_f32 v17, v16, v15
    v_mul_f32 v18, v17, v16
    v_add_f32 v19, v18, v17
    v_exp_f32 v26, v30
    v_add_f32 v20, v19, v18
    v_mul_f32 v14, v20, v19
    v_add_f32 v15, v14, v20
    v_mul_f32 v16, v15, v14
    v_add_f32 v17, v16, v15
    v_mul_f32 v18, v17, v16
    v_add_f32 v19, v18, v27
    v_add_u32 v2, s6, v0
    v_ashrrev_i32 v3, 31, v2
    v_lshlrev_b64 v[2:3], 2, v[2:3]
    v_mov_b32 v4, s5
    v_add_co_u32 v2, vcc, s4, v2
    v_addc_co_u32 v3, vcc, v4, v3, vcc
    global_load_dword v5, v[2:3], off
    s_waitcnt 0
    v_add_f32 v21, v18, v17
    v_mul_f32 v22, v21, v18
    v_add_f32 v23, v22, v21
    v_mul_f32 v24, v23, v22
    v_add_f32 v25, v24, v23
    v_mov_b32 v26, 1.0
    v_mov_b32 v27, 1.0
    v_mov_b32 v30, 1.0
    v_mad_f32 v29, v28, v14, v15
    v_mov_b32 v28, 1.0
    v_lshlrev_b32 v6, 2, v0
    global_store_dword v6, v19, s[0:1]
    global_store_dword v6, v29, s[0:1] offset:256
    global_store_dword v6, v25, s[0:1] offset:512
)";
constexpr uint32_t kRsrc1Of32Vgprs = 7;

/// A wave begins without VGPRs that its code writes first, and has them all wherever it stops: at a load that faults, where it
/// gives up generated code and then faults, where its budget ends; where some lanes are off; where it is halted from the start.
TEST_P(Tiers, AWaveThatStopsHasTheVgprsThatItHasNotWritten) {
    WorkgroupLaunch launch = simple(kWritesFirst);
    launch.rsrc1 = (launch.rsrc1 & ~0x3fu) | kRsrc1Of32Vgprs | 0xf0u << 12;
    ASSERT_TRUE(env.poison);
    constexpr uint64_t kNowhere = 0x7700000000;
    const struct {
        const char* name;
        uint64_t pointer = kData;
        uint32_t index = 0;
        uint64_t limit = 1000;
        uint32_t valid = 0;
        bool halted = false;
    } ends[] = {{.name = "fault", .pointer = kNowhere},
                {.name = "gives up and faults", .pointer = kNowhere, .index = ~0u},
                {.name = "budget", .limit = 3},
                {.name = "budget in the calculation", .limit = 9},
                {.name = "some lanes", .pointer = kNowhere, .valid = 10},
                {.name = "halted", .halted = true}};
    const std::array<uint32_t, 3> sizes[] = {{kLanes, 1, 1}, {16, 4, 1}};
    ComputeUnit interpreted{env, memory, services, 4};
    for (const auto& size : sizes) {
        launch.group_size = launch.group_valid = size;
        launch.rsrc2 = (launch.rsrc2 & ~(3u << 11)) | (size[1] > 1 ? 1u << 11 : 0);  // TIDIG_COMP_CNT
        for (const auto& end : ends) {
            SCOPED_TRACE(end.name);
            std::vector<Wave> waves;
            std::vector<std::vector<VgprRow>> rows;
            std::vector<std::vector<uint32_t>> stored;
            for (ComputeUnit* unit : {&interpreted, &cu}) {
                unit->invalidate_code();
                unit->prepare(launch);
                ASSERT_EQ(unit->reserve(1), 1u);
                memory.at<uint64_t>(kData + 0x800) = kData;
                memory.at<uint32_t>(kData + 0x808) = 0;
                for (unsigned n = 0; n < 4; ++n) unit->start(launch, 1000);
                ASSERT_EQ(unit->started().ended_groups, 4u);
                const auto* const words = &memory.at<uint32_t>(kData);
                stored.emplace_back(words, words + 3 * kLanes);
                memory.at<uint64_t>(kData + 0x800) = end.pointer;
                memory.at<uint32_t>(kData + 0x808) = end.index;
                WorkgroupLaunch last = launch;
                if (end.valid != 0) last.group_valid[0] = end.valid;
                last.halted = end.halted;
                if (end.halted) {
                    unit->finish();
                    unit->prepare(last);
                    ASSERT_EQ(unit->reserve(1), 1u);
                }
                unit->start(last, end.limit);
                ASSERT_EQ(unit->waves_live(), 1u);
                const Wave& wave = unit->wave(0);
                waves.push_back(wave);
                rows.emplace_back(wave.vgpr, wave.vgpr + wave.vgpr_count);
                unit->kill_dispatch(launch.dispatch);
                unit->finish();
            }
            EXPECT_EQ(stored[0], stored[1]);
            EXPECT_EQ(waves[0].pc, waves[1].pc);
            EXPECT_EQ(waves[0].state, waves[1].state);
            EXPECT_EQ(waves[0].instructions, waves[1].instructions);
            for (unsigned n = 0; n < rows[0].size(); ++n)
                EXPECT_EQ(std::memcmp(&rows[0][n], &rows[1][n], sizeof(VgprRow)), 0) << "v" << n;
        }
    }
    EXPECT_GT(generated(), 500u);
}

/// There is code, for another MODE.
TEST_P(Tiers, AStartedGroupWithOtherRoundingIsInterpreted) {
    WorkgroupLaunch launch = simple(kWritesFirst);
    memory.at<uint64_t>(kData + 0x800) = kData;
    const uint32_t rsrc1 = (launch.rsrc1 & ~0x3fu) | kRsrc1Of32Vgprs;
    uint64_t before = 0;
    for (const uint32_t mode : {0xf0u, 0xf5u}) {
        launch.rsrc1 = rsrc1 | mode << 12;
        cu.prepare(launch);
        ASSERT_EQ(cu.reserve(1), 1u);
        before = generated();
        for (unsigned n = 0; n < 4; ++n) cu.start(launch, 1000);
        ASSERT_EQ(cu.started().ended_groups, 4u);
        cu.finish();
        EXPECT_EQ(generated() != before, mode == 0xf0);
    }
}

/// It stops in front of the block in which it began, and behind it in time: all that the block has written is there.
TEST_P(Tiers, AWaveThatStopsLaterHasWhatItsFirstBlockHasWritten) {
    WorkgroupLaunch launch = simple(R"(
        back: global_load_dword v5, v[2:3], off
        s_endpgm
        s_load_dwordx2 s[4:5], s[0:1], 0x800
        s_waitcnt 0
        v_lshlrev_b32 v2, 2, v0
        v_mov_b32 v3, s5
        v_add_co_u32 v2, vcc, s4, v2
        v_addc_co_u32 v3, vcc, 0, v3, vcc
        v_cvt_f32_u32 v6, v0
        v_add_f32 v7, 1.0, v6
        v_mul_f32 v8, v7, v6
        v_add_f32 v9, v8, v7
        v_mul_f32 v10, v9, v8
        v_add_f32 v11, v10, v9
        v_mul_f32 v12, v11, v10
        v_add_f32 v13, v12, v11
        v_mul_f32 v14, v13, v12
        v_add_f32 v15, v14, v13
        v_mul_f32 v16, v15, v14
        v_add_f32 v17, v16, v15
        s_branch back
    )");
    launch.entry += 12;
    launch.rsrc1 = (launch.rsrc1 & ~0x3fu) | 5;  // 24 VGPRs
    launch.rsrc1 |= 0xf0u << 12;
    cu.prepare(launch);
    ASSERT_EQ(cu.reserve(1), 1u);
    memory.at<uint64_t>(kData + 0x800) = kData;
    for (unsigned n = 0; n < 4; ++n) cu.start(launch, 1000);
    ASSERT_EQ(cu.started().ended_groups, 4u);
    memory.at<uint64_t>(kData + 0x800) = 0x7700000000;
    cu.start(launch, 1000);
    ASSERT_EQ(cu.waves_live(), 1u);
    EXPECT_EQ(cu.wave(0).pc, kCode + 8);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const VgprRow* const rows = cu.wave(0).vgpr;
        EXPECT_EQ(rows[6].lane[lane], std::bit_cast<uint32_t>(static_cast<float>(lane)));
        EXPECT_EQ(rows[7].lane[lane], std::bit_cast<uint32_t>(static_cast<float>(lane) + 1));
        EXPECT_EQ(rows[18].lane[lane], kPoison);
    }
    EXPECT_GT(generated(), 80u);
}

TEST_P(Tiers, AStartedGroupHasItsIdsOnlyWhereItBegins) {
    Translator late{Chip::gfx900, {size_t{1} << 20, 6, false, false, GetParam()}};
    cu.set_translator(&late);
    WorkgroupLaunch launch = simple(
        "v_add_u32 v0, 0x40, v0\n s_mov_b32 s6, 0\n v_mov_b32 v1, 0\n"
        "again: v_lshlrev_b32 v2, 2, v0\n global_load_dword v4, v2, s[0:1]\n s_waitcnt 0\n v_add_u32 v1, v1, v4\n"
        "v_mov_b32 v2, v1\n s_add_i32 s6, s6, 1\n s_cmp_lt_u32 s6, 8\n s_cbranch_scc1 again\n v_lshlrev_b32 v2, 2, v0\n "
        "global_store_dword v2, "
        "v1, s[0:1]");
    launch.rsrc1 |= 0xf0u << 12;
    cu.invalidate_code();
    cu.prepare(launch);
    ASSERT_EQ(cu.reserve(1), 1u);
    for (unsigned n = 0; n < 20; ++n) {
        for (unsigned word = 0; word < 2 * kLanes; ++word) memory.at<uint32_t>(kData + 4 * word) = word;
        cu.start(launch, 1000);
        for (unsigned lane = 0; lane < kLanes; ++lane) ASSERT_EQ(word(kLanes + lane), 8 * (lane + kLanes)) << "group " << n;
    }
    cu.finish();
    EXPECT_EQ(cu.started().ended_groups, 20u);
    EXPECT_GT(late.counters().blocks, 1u);
    cu.set_translator(nullptr);
}

/// Bits that are the same in all lanes may be above and below those that are put to them.
TEST_P(Tiers, NoWaveGivesUpForBitsThatAllItsLanesHave) {
    constexpr unsigned kGroups = 20, kInstructions = 5;
    WorkgroupLaunch launch =
        simple("v_or_b32 v2, 0x100, v0\n v_or_b32 v2, s2, v2\n v_lshlrev_b32 v2, 2, v2\n global_store_dword v2, v0, s[0:1]");
    launch.rsrc1 |= 0xf0u << 12;
    launch.group_id[0] = 0x40;
    cu.prepare(launch);
    ASSERT_EQ(cu.reserve(1), 1u);
    for (unsigned n = 0; n < 2; ++n) {
        const uint64_t before = generated();
        for (unsigned group = 0; group < kGroups; ++group) cu.start(launch, 1000);
        cu.finish();
        if (n != 0) EXPECT_EQ(generated() - before, uint64_t{kGroups} * kInstructions);
        cu.prepare(launch);
        cu.reserve(1);
    }
    EXPECT_EQ(word(0x140 + 17), 17u);
}

/// The bits that are put together meet in all waves but the first, for which the code was generated. That is seen in front of
/// its first instruction.
TEST_P(Tiers, CodeIsGeneratedAnewForWavesThatGiveUpAtOnce) {
    constexpr unsigned kInstructions = 4;
    WorkgroupLaunch launch = simple("v_or_b32 v2, s2, v0\n v_lshlrev_b32 v2, 2, v2\n global_store_dword v2, v0, s[0:1]");
    launch.rsrc1 |= 0xf0u << 12;
    cu.prepare(launch);
    ASSERT_EQ(cu.reserve(1), 1u);
    const auto start = [&](unsigned groups, uint32_t id) {
        const uint64_t before = generated();
        launch.group_id[0] = id;
        for (unsigned n = 0; n < groups; ++n) cu.start(launch, 1000);
        cu.finish();
        cu.prepare(launch);
        cu.reserve(1);
        return generated() - before;
    };
    EXPECT_EQ(start(10, 64), 10u * kInstructions);
    start(300, 1);
    EXPECT_EQ(start(10, 1), 10u * kInstructions);
    for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(word(lane | 1), lane | 1);
    cu.finish();
    EXPECT_EQ(cu.started().ended_groups, 320u);
}

/// Waves of a group go on with the code that the one before them has found. One of them has switched exceptions on, for which
/// there is other code.
TEST_P(Tiers, AWaveOfAGroupWhoseExceptionsAreTrackedHasItsOwnCode) {
    constexpr unsigned kWaves = 4, kOverflow = 3;
    for (unsigned number = 0; number <= kWaves; ++number) {
        WorkgroupLaunch launch = simple("v_readfirstlane_b32 s4, v0\n s_cmp_lg_u32 s4, " + std::to_string(number * kLanes) +
                                            "\n s_cbranch_scc1 others\n s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 9), 0x1ff\n"
                                            "others: s_barrier\n s_nop 0\n s_barrier\n v_mov_b32 v1, 0x7f000000\n"
                                            "v_mul_f32 v1, v1, v1\n s_barrier\n v_lshlrev_b32 v2, 2, v0\n"
                                            "global_store_dword v2, v1, s[0:1]",
                                        kWaves * kLanes);
        launch.rsrc1 |= 0xf0u << 12;
        cu.invalidate_code();
        cu.prepare(launch);
        ASSERT_EQ(cu.reserve(1), 1u);
        for (unsigned n = 0; n < 2; ++n) cu.start(launch, 10'000);
        cu.finish();
        EXPECT_EQ(cu.started().ended_groups, 2u);
        for (unsigned slot = 0; slot < kWaves; ++slot) {
            const bool overflows = (cu.wave(slot).trapsts >> kOverflow & 1) != 0;
            EXPECT_EQ(overflows, slot == number) << "wave " << slot;
        }
        EXPECT_EQ(word(kWaves * kLanes - 1), 0x7f800000u);
    }
    EXPECT_GT(generated(), 0u);
}

/// Code far away can have the cache's entry of the code where waves begin.
TEST_P(Tiers, AStartedGroupFindsCodeThatHasLeftTheCache) {
    constexpr uint64_t kFar = kCode + 64 * kPageBytes;
    memory.put(kFar, assemble("v_lshlrev_b32 v2, 2, v0\n global_store_dword v2, v1, s[0:1]\n s_endpgm"));
    WorkgroupLaunch launch =
        simple("v_mov_b32 v1, s2\n s_mov_b32 s4, " + std::to_string(kFar) + "\n s_mov_b32 s5, 0\n s_setpc_b64 s[4:5]");
    launch.rsrc1 |= 0xf0u << 12;
    cu.prepare(launch);
    ASSERT_EQ(cu.reserve(1), 1u);
    for (uint32_t n = 0; n < 3; ++n) {
        launch.group_id[0] = 100 + n;
        cu.start(launch, 1000);
        for (unsigned lane = 0; lane < kLanes; ++lane) ASSERT_EQ(word(lane), 100 + n);
    }
    cu.finish();
    EXPECT_GT(generated(), 0u);
}

TEST_P(Tiers, WithoutTheTranslatorNothingIsGenerated) {
    cu.set_translator(nullptr);
    run(program());
    expect_result();
    EXPECT_EQ(generated(), 0u);
}

TEST_P(Tiers, CodeOfATranslatorThatIsGoneIsNotEntered) {
    const WorkgroupLaunch launch = program();
    run(launch);
    const uint64_t before = generated();
    EXPECT_GT(before, 0u);
    cu.set_translator(nullptr);
    run(launch);
    expect_result();
    EXPECT_EQ(generated(), before);
}

TEST_P(Tiers, WatchedMemoryIsInterpreted) {
    Watchpoints watch;
    watch.points[0].valid = true;
    cu.set_watch(&watch);
    run(program());
    expect_result();
    EXPECT_EQ(generated(), 0u);
}

/// Somebody begins to watch between two groups of a kernel.
TEST_P(Tiers, AStartedGroupIsInterpretedOnceMemoryIsWatched) {
    WorkgroupLaunch launch = program();
    cu.prepare(launch);
    ASSERT_EQ(cu.reserve(1), 1u);
    for (unsigned n = 0; n < 3; ++n) cu.start(launch, 1000);
    EXPECT_EQ(cu.started().ended_groups, 3u);
    const uint64_t before = generated();
    EXPECT_GT(before, 0u);
    const Watchpoints watchpoints;
    cu.set_watch(&watchpoints);
    cu.start(launch, 1000);
    EXPECT_EQ(cu.started().ended_groups, 1u);
    EXPECT_EQ(generated(), before);
    cu.finish();
}

TEST_P(Tiers, OtherRoundingIsInterpreted) {
    WorkgroupLaunch launch = program();
    launch.rsrc1 |= 1u << 12;  // FP_ROUND: up
    run(launch);
    expect_result();
    EXPECT_EQ(generated(), 0u);
}

/// More code than fits: the rest is interpreted, and what is not used any more makes room.
TEST_P(Tiers, AFullCodeMemoryIsNoFault) {
    Translator little(Chip::gfx900, {size_t{8} << 10, 0, false, false, GetParam()});
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
