// SPDX-License-Identifier: MIT
// What a compute unit of gfx90a has otherwise: register file, AccVGPRs, wave slots, packed work-item ids.
#include "common/snapshot.h"
#include "gcn-interp/cu/test_machine.h"

namespace lyra::gcn::test {

class Gfx90a : public MachineOf<Chip::gfx90a> {};

TEST_F(Gfx90a, WorkItemIdsAreInOneRegister) {
    WorkgroupLaunch launch = launch_of("s_nop 0");
    launch.group_size = launch.group_valid = {5, 4, 3};
    for (const unsigned components : {1u, 2u, 3u}) {
        launch.rsrc2 = (launch.rsrc2 & ~(3u << 11)) | (components - 1) << 11;
        run_on_it(launch);
        for (const uint32_t lane : {0u, 4u, 7u, 21u, 59u}) {
            const uint32_t id[] = {lane % 5, lane / 5 % 4, lane / 20};
            uint32_t packed = 0;
            for (unsigned d = 0; d < components; ++d) packed |= id[d] << (10 * d);
            EXPECT_EQ(v(0, lane), packed) << components << " " << lane;
            EXPECT_EQ(v(1, lane), 0x7fb5a5a5u) << "no id";
        }
    }
}

TEST_F(Gfx90a, ASimdHasEightWavesAndTwiceTheRegisters) {
    WorkgroupLaunch launch = launch_of("s_nop 0");
    launch.rsrc1 = 0 | 2 << 6;
    const auto groups = [&] {
        unit.reset();
        unsigned count = 0;
        for (; unit.fits(launch); ++count) unit.launch(launch);
        return count;
    };
    EXPECT_EQ(groups(), 32u);
    launch.rsrc1 = 7 | 2 << 6;
    EXPECT_EQ(groups(), 32u) << "64 registers each";
    launch.rsrc1 = 8 | 2 << 6;
    EXPECT_EQ(groups(), 28u) << "72 registers: seven waves";
    launch.rsrc1 = 63 | 2 << 6;
    EXPECT_EQ(groups(), 4u) << "512 registers";
    EXPECT_EQ(unit.wave(0).vgpr_count, 512);
    launch.chip = Chip::gfx900;
    EXPECT_EQ(cu.fits(launch), true);
    cu.launch(launch);
    EXPECT_EQ(cu.wave(0).vgpr_count, 256) << "the same field on gfx900";
    EXPECT_EQ(cu.wave(0).acc_first, 0);
}

TEST_F(Gfx90a, AccVgprsAreRegistersOfTheirOwn) {
    run_on_it(launch_of(R"(
        v_lshlrev_b32 v1, 2, v0
        v_add_u32 v2, 100, v0
        v_accvgpr_write_b32 a3, v2
        v_accvgpr_mov_b32 a5, a3
        v_mov_b32 v3, 7
        v_mov_b32 v5, 8
        global_store_dword v1, a5, s[0:1]
        global_load_dword a6, v1, s[0:1] offset:256
        v_accvgpr_read_b32 v6, a5
        s_mov_b32 m0, -1
        ds_write_b32 v1, a3
        s_waitcnt vmcnt(0) lgkmcnt(0)
        ds_read_b32 v8, v1
        v_accvgpr_read_b32 v7, a6
        s_waitcnt lgkmcnt(0)
        s_getreg_b32 s4, hwreg(HW_REG_GPR_ALLOC)
    )"));
    // LDS of none is written to nowhere.
    for (const unsigned lane : {0u, 9u, 63u}) {
        EXPECT_EQ(word(lane), 100 + lane) << "stored from a5";
        EXPECT_EQ(v(6, lane), 100 + lane);
        EXPECT_EQ(v(7, lane), word(64 + lane)) << "loaded into a6";
        EXPECT_EQ(v(3, lane), 7u) << "a3 is not v3";
        EXPECT_EQ(v(5, lane), 8u);
    }
    EXPECT_EQ(bits(s(4), 6, 6), 64u / 8 - 1) << "VGPR_SIZE";
    EXPECT_EQ(bits(s(4), 12, 6), 32u / 4 - 1) << "ACCV_OFFSET";
    EXPECT_EQ(services.last.acc_first, 32);
}

TEST_F(Gfx90a, ARelativeNumberIsThatOfTheAccVgpr) {
    run_on_it(launch_of(R"(
        s_mov_b32 s4, 2
        v_add_u32 v2, 50, v0
        s_set_gpr_idx_on s4, gpr_idx(DST)
        v_accvgpr_write_b32 a1, v2
        s_set_gpr_idx_off
        v_accvgpr_read_b32 v4, a3
        s_set_gpr_idx_on s4, gpr_idx(SRC0)
        v_accvgpr_read_b32 v5, a1
        s_set_gpr_idx_off
    )"));
    for (const unsigned lane : {0u, 63u}) {
        EXPECT_EQ(v(4, lane), 50 + lane);
        EXPECT_EQ(v(5, lane), 50 + lane);
    }
}

TEST_F(Gfx90a, PackedFloatsTakeTheirHalvesFromEitherRegister) {
    run_on_it(launch_of(R"(
        v_cvt_f32_u32 v2, v0
        v_mov_b32 v3, 0x41200000
        v_mov_b32 v4, 2.0
        v_mov_b32 v5, 0.5
        v_pk_add_f32 v[6:7], v[2:3], v[4:5]
        v_pk_mul_f32 v[8:9], v[2:3], v[4:5] op_sel:[1,0] op_sel_hi:[0,1]
        v_pk_fma_f32 v[10:11], v[2:3], v[4:5], v[2:3] neg_lo:[0,0,1] neg_hi:[1,0,0]
        v_pk_mov_b32 v[12:13], v[2:3], v[4:5] op_sel:[1,0]
        v_fmac_f64 v[14:15], 2.0, v[14:15]
    )"));
    const auto number = [&](unsigned n, unsigned lane) { return std::bit_cast<float>(v(n, lane)); };
    for (const unsigned lane : {0u, 1u, 63u}) {
        const auto x = static_cast<float>(lane);
        EXPECT_EQ(number(6, lane), x + 2);
        EXPECT_EQ(number(7, lane), 10.5f);
        EXPECT_EQ(number(8, lane), 20.0f);
        EXPECT_EQ(number(9, lane), x * 0.5f);
        EXPECT_EQ(number(10, lane), x * 2 - x);
        EXPECT_EQ(number(11, lane), -10 * 0.5f + 10);
        EXPECT_EQ(number(12, lane), 10.0f);
        EXPECT_EQ(number(13, lane), 2.0f);
    }
}

/// C[i][j] of the result, which is in register 4 * (i / 8) + i % 4 of lane 32 * (i / 4 % 2) + j.
TEST_F(Gfx90a, MatrixProductIgnoresExec) {
    WorkgroupLaunch launch = launch_of(R"(
        v_cvt_f32_u32 v1, v0
        v_mov_b32 v2, 2.0
        s_mov_b64 exec, 1
        v_mfma_f32_32x32x2f32 a[0:15], v1, v2, 1.0
        v_mfma_f32_32x32x2f32 v[16:31], v1, v2, 1.0
        v_mfma_f32_4x4x1f32 v[4:7], v1, v1, 0 blgp:7
        v_mfma_i32_4x4x4i8 v[8:11], v0, v0, 5
        s_mov_b64 exec, -1
        v_accvgpr_read_b32 v3, a9
    )");
    run_on_it(launch);
    const auto number = [&](unsigned n, unsigned lane) { return std::bit_cast<float>(v(n, lane)); };
    for (unsigned lane = 0; lane < 64; ++lane) {
        // A[i][k] is i + 32 * k, every B is 2.
        const auto row = static_cast<float>(16 + 1 + 4 * (lane / 32));
        EXPECT_EQ(number(3, lane), 1 + 2 * row + 2 * (row + 32)) << lane;
        EXPECT_EQ(number(16 + 9, lane), number(3, lane));
        const unsigned block = lane / 4, b_lane = 48 + lane % 16;
        for (unsigned i = 0; i < 4; ++i) {
            EXPECT_EQ(number(4 + i, lane), static_cast<float>((4 * block + i) * b_lane)) << lane;
            EXPECT_EQ(v(8 + i, lane), 5 + (4 * block + i) * lane) << lane;
        }
    }
}

// At every boundary of a kernel with matrix instructions the unit's state leaves it and comes back.
TEST_F(Gfx90a, MatrixKernelGoesOnFromASavedUnit) {
    const WorkgroupLaunch launch = launch_of(R"(
        v_cvt_f32_u32 v1, v0
        v_add_f32 v2, 0.5, v1
        v_lshlrev_b32 v3, 2, v0
        v_mfma_f32_16x16x4f32 a[0:3], v1, v2, 0
        v_mfma_f32_16x16x4f32 a[4:7], v2, v1, a[0:3]
        v_cvt_f64_u32 v[4:5], v0
        v_mfma_f64_16x16x4f64 v[8:15], v[4:5], v[4:5], 1.0
        v_mfma_f32_16x16x16f16 a[0:3], a[4:5], v[4:5], a[4:7] cbsz:0 blgp:3
        global_store_dword v3, a2, s[0:1]
        global_store_dword v3, v11, s[0:1] offset:256
        s_nop 0
    )");
    const auto results = [&] {
        std::vector<uint32_t> words;
        for (unsigned n = 0; n < 128; ++n) words.push_back(word(n));
        return words;
    };
    run_on_it(launch);
    const std::vector<uint32_t> expected = results();
    for (unsigned at = 0; at < 12; ++at) {
        for (unsigned n = 0; n < 128; ++n) memory.at<uint32_t>(kData + 4 * n) = 0;
        unit.reset();
        unit.launch(launch);
        for (unsigned n = 0; n < at; ++n) unit.run(1);
        StateWriter writer;
        writer.begin("unit");
        unit.visit(writer);
        writer.end();
        const std::vector<uint8_t> bytes = writer.take();
        unit.reset();
        StateLoader loader(bytes);
        loader.begin("unit");
        unit.visit(loader);
        loader.end();
        loader.finish();
        ASSERT_EQ(loader.error(), "");
        ASSERT_NE(unit.waves_live(), 0u) << at;
        for (unsigned n = 0; n < 100 && unit.waves_live() != 0; ++n) unit.run(1000);
        EXPECT_EQ(results(), expected) << "after " << at << " instructions";
    }
}

TEST_F(Gfx90a, LanesReadOneOfTheirRow) {
    run_on_it(launch_of(R"(
        v_cvt_f64_u32 v[2:3], v0
        v_mov_b32 v6, 0
        v_mov_b32 v7, 0
        v_mov_b32 v4, v0 row_newbcast:5 row_mask:0xf bank_mask:0xf
        v_fmac_f64 v[6:7], v[2:3], v[2:3] row_newbcast:3 row_mask:0xf bank_mask:0xf
        v_cvt_i32_f64 v8, v[6:7]
    )"));
    for (unsigned lane = 0; lane < 64; ++lane) {
        EXPECT_EQ(v(4, lane), lane / 16 * 16 + 5);
        EXPECT_EQ(v(8, lane), (lane / 16 * 16 + 3) * lane);
    }
}

TEST_F(Gfx90a, WhatHasNoRowIsIllegal) {
    WorkgroupLaunch launch = launch_of(".long 0xd3c30000, 0x04020300");
    unit.launch(launch);
    unit.run(1000);
    EXPECT_EQ(services.errors, std::vector<unsigned>{1});
}

}  // namespace lyra::gcn::test
