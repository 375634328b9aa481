// SPDX-License-Identifier: MIT
// What a compute unit of gfx942 has otherwise: FLAT_SCRATCH from the start, SCRATCH with two registers, loads to LDS, 8-bit
// floats.
#include <bit>

#include "gcn-interp/cu/test_machine.h"

namespace lyra::gcn::test {

class Gfx942 : public MachineOf<Chip::gfx942> {};

/// Dword d of a lane's private memory lies at (64 * d + lane) * 4 behind FLAT_SCRATCH.
TEST_F(Gfx942, WavesBeginWithFlatScratch) {
    WorkgroupLaunch launch = launch_of(R"(
        s_mov_b32 s6, 4
        v_lshlrev_b32 v1, 3, v0
        v_and_b32 v1, 8, v1
        v_add_u32 v2, 7, v0
        scratch_store_dword off, v2, off offset:12
        scratch_store_dword v1, v0, s6
        scratch_load_dword v3, off, s6 offset:8
        scratch_load_dword v4, v1, off offset:4
        s_waitcnt vmcnt(0)
    )");
    launch.rsrc2 |= 1;  // SCRATCH_EN
    launch.scratch_base = kScratch;
    launch.scratch_slot[0] = 1;
    launch.scratch_offset[0] = 0x4000;
    run_on_it(launch);
    EXPECT_EQ(services.last.flat_scratch(), kScratch + 0x4000);
    for (const uint32_t lane : {0u, 1u, 40u, 63u}) {
        uint32_t stored = 0;
        memory.read(0, kScratch + 0x4000 + (64 * 3 + lane) * 4, reinterpret_cast<uint8_t*>(&stored), 4);
        const uint32_t last = lane % 2 == 1 ? lane : 7 + lane;  // odd lanes store to 4 + 8
        EXPECT_EQ(stored, last) << lane;
        EXPECT_EQ(v(3, lane), last) << "offset 12 by SGPR";
        EXPECT_EQ(v(4, lane), lane) << "by VGPR";
    }
}

TEST_F(Gfx942, WithoutScratchThereIsNone) {
    WorkgroupLaunch launch = launch_of("s_nop 0");
    launch.scratch_base = kScratch;
    run_on_it(launch);
    EXPECT_EQ(services.last.flat_scratch(), 0u);
}

TEST_F(Gfx942, ThePacketIsInTtmp11) {
    WorkgroupLaunch launch = launch_of("s_nop 0");
    launch.packet_index = 0x1234567;
    run_on_it(launch);
    EXPECT_EQ(services.last.ttmp[6], 0u);
    EXPECT_EQ(services.last.ttmp[11], 0x1234567u << 6) << "the first wave of its group";
}

/// @source LLVM D112635
TEST_F(Gfx942, D16LoadsClearTheOtherHalf) {
    WorkgroupLaunch launch = launch_of(R"(
        v_mov_b32 v1, 0
        v_mov_b32 v2, 0x5678abcd
        v_mov_b32 v5, -1
        v_mov_b32 v6, -1
        v_mov_b32 v7, -1
        v_mov_b32 v8, -1
        v_mov_b32 v9, -1
        v_lshlrev_b32 v3, 2, v0
        ds_write_b32 v3, v2
        global_store_dword v1, v2, s[0:1]
        s_waitcnt vmcnt(0) lgkmcnt(0)
        s_mov_b32 exec_hi, 0
        ds_read_u16_d16 v5, v3
        ds_read_u16_d16_hi v6, v3 offset:2
        global_load_short_d16_hi v7, v1, s[0:1]
        global_load_ubyte_d16 v8, v1, s[0:1]
        global_load_sbyte_d16_hi v9, v1, s[0:1]
        s_waitcnt vmcnt(0) lgkmcnt(0)
        s_mov_b32 exec_hi, -1
    )");
    launch.lds_bytes = 256;
    run_on_it(launch);
    const uint32_t expected[] = {0x0000abcd, 0x56780000, 0xabcd0000, 0x000000cd, 0xffcd0000};
    for (unsigned n = 0; n < 5; ++n) {
        EXPECT_EQ(v(5 + n, 7), expected[n]) << n;
        EXPECT_EQ(v(5 + n, 40), ~0u) << "a lane that is off";
    }
}

TEST_F(Gfx942, LoadsGoToLds) {
    WorkgroupLaunch launch = launch_of(R"(
        v_lshlrev_b32 v1, 2, v0
        v_add_u32 v2, 1000, v0
        global_store_dword v1, v2, s[0:1]
        s_waitcnt vmcnt(0)
        s_mov_b32 m0, 0x100
        global_load_lds_dword v1, s[0:1] offset:16
        global_load_lds_ubyte v1, s[0:1] offset:512
        s_waitcnt vmcnt(0)
        s_mov_b32 m0, -1
        ds_read_b32 v3, v1 offset:0x110
        s_waitcnt lgkmcnt(0)
    )");
    launch.lds_bytes = 4096;
    run_on_it(launch);
    for (const uint32_t lane : {0u, 17u, 59u})
        EXPECT_EQ(v(3, lane), 1000 + lane + 4) << "its address and its place have the offset";
}

TEST_F(Gfx942, EightBitFloats) {
    run_on_it(launch_of(R"(
        v_cvt_f32_u32 v1, v0
        v_mov_b32 v2, 0x11223344
        v_cvt_pk_fp8_f32 v2, v1, -v1 op_sel:[0,0,1]
        v_cvt_f32_fp8_sdwa v3, v2 src0_sel:BYTE_3
        v_cvt_pk_f32_fp8_sdwa v[4:5], v2 src0_sel:WORD_1
        v_mov_b32 v6, 0
        v_mov_b32 v7, -1
        v_cvt_sr_bf8_f32 v6, v1, 0 op_sel:[0,0,1,0]
        v_cvt_sr_bf8_f32 v6, v1, v7 op_sel:[0,0,1,1]
        v_cvt_f32_bf8_sdwa v8, v6 src0_sel:BYTE_1
        v_cvt_f32_bf8_sdwa v9, v6 src0_sel:BYTE_3
    )"));
    // 17 has five digits: 16 and 18 are next to it in four, 16 and 20 in three.
    EXPECT_EQ(std::bit_cast<float>(v(3, 17)), -16.0f);
    EXPECT_EQ(std::bit_cast<float>(v(4, 17)), 16.0f);
    EXPECT_EQ(std::bit_cast<float>(v(5, 19)), -20.0f) << "the middle of 18 and 20 goes to the even one";
    EXPECT_EQ(v(2, 5) & 0xffff, 0x3344u) << "the other half stays";
    EXPECT_EQ(std::bit_cast<float>(v(8, 19)), 16.0f);
    EXPECT_EQ(std::bit_cast<float>(v(9, 17)), 20.0f);
    EXPECT_EQ(v(6, 17) & 0x00ff00ff, 0u);
}

TEST_F(Gfx942, WideIntegersAndTheNumberOfTheXcc) {
    run_on_it(launch_of(R"(
        v_mov_b64 v[2:3], -5
        v_lshl_add_u64 v[4:5], v[2:3], 3, v[2:3]
        v_mov_b64 v[6:7], 1.0
        s_getreg_b32 s4, hwreg(HW_REG_XCC_ID)
    )"));
    EXPECT_EQ(make64(v(4, 9), v(5, 9)), static_cast<uint64_t>(-45));
    EXPECT_EQ(make64(v(6, 9), v(7, 9)), 0x3ff0000000000000u);
    EXPECT_EQ(s(4), 0u);
}

TEST_F(Gfx942, WhatItLacksIsIllegal) {
    for (const char* word : {".long 0x2c040904", ".long 0xd1c10002, 0x04120d04", ".long 0xd3d40000, 0x04120904"}) {
        services.errors.clear();
        unit.reset();
        unit.launch(launch_of(word));
        unit.run(1000);
        EXPECT_EQ(services.errors, std::vector<unsigned>{1}) << word << ": v_mac_f32, v_mad_f32, v_mfma_i32_32x32x8i8";
    }
}

}  // namespace lyra::gcn::test
