// SPDX-License-Identifier: MIT
// Scalar operations: results, SCC, flow, hardware registers.
#include "gcn-interp/cu/test_machine.h"

namespace lyra::gcn::test {

class Scalar : public Machine {};

TEST_F(Scalar, AddsWithCarryAndOverflow) {
    run(R"(
        s_mov_b32 s4, 0xffffffff
        s_add_u32 s5, s4, 1
        s_addc_u32 s6, 0, 0
        s_cselect_b32 s7, 1, 0
        s_add_i32 s8, 0x7fffffff, 1
        s_cselect_b32 s9, 1, 0
        s_sub_u32 s10, 1, 2
        s_subb_u32 s11, 5, 0
        s_sub_i32 s12, 0x80000000, 1
        s_cselect_b32 s13, 1, 0
        s_mov_b32 s14, 0x7fff0000
        s_addk_i32 s14, 0x7fff
        s_cselect_b32 s15, 1, 0
    )");
    EXPECT_EQ(s(5), 0u);
    EXPECT_EQ(s(6), 1u);
    EXPECT_EQ(s(7), 0u);
    EXPECT_EQ(s(8), 0x80000000u);
    EXPECT_EQ(s(9), 1u);
    EXPECT_EQ(s(10), 0xffffffffu);
    EXPECT_EQ(s(11), 4u);
    EXPECT_EQ(s(12), 0x7fffffffu);
    EXPECT_EQ(s(13), 1u);
    EXPECT_EQ(s(14), 0x7fff7fffu);
    EXPECT_EQ(s(15), 0u);
}

TEST_F(Scalar, BitFieldsShiftsAndCounts) {
    run(R"(
        s_mov_b32 s4, 0x89abcdef
        s_bfe_u32 s5, s4, 0x80008
        s_bfe_i32 s6, s4, 0x8001c
        s_bfe_i32 s7, s4, 0x40018
        s_mov_b32 s8, 0x12345678
        s_mov_b32 s9, 0x89abcdef
        s_bfe_u64 s[10:11], s[8:9], 0x10001c
        s_bfe_i64 s[12:13], s[8:9], 0x200020
        s_bfm_b32 s14, 4, 8
        s_bfm_b64 s[16:17], 8, 60
        s_ashr_i64 s[18:19], s[8:9], 32
        s_lshl_b64 s[20:21], s[8:9], 4
        s_bcnt1_i32_b64 s22, s[8:9]
        s_ff1_i32_b32 s23, 0
        s_ff1_i32_b64 s24, s[8:9]
        s_flbit_i32_b32 s25, 1
        s_flbit_i32 s26, -1
        s_brev_b32 s27, 1
        s_bitreplicate_b64_b32 s[28:29], 5
        s_mul_hi_i32 s30, s4, 2
        s_mul_hi_u32 s31, s4, 2
        s_absdiff_i32 s32, -3, 4
        s_lshl4_add_u32 s33, s4, 1
        s_cselect_b32 s34, 1, 0
        s_pack_lh_b32_b16 s35, s4, s8
        s_sext_i32_i8 s36, s4
        s_quadmask_b32 s37, 0x1001
        s_wqm_b32 s38, 0x1001
    )");
    EXPECT_EQ(s(5), 0xcdu);
    EXPECT_EQ(s(6), 0xfffffff8u);
    EXPECT_EQ(s(7), 0xfffffff9u);
    EXPECT_EQ(s64(10), (0x89abcdef12345678ull >> 28) & 0xffff);
    EXPECT_EQ(s64(12), 0xffffffff89abcdefull);
    EXPECT_EQ(s(14), 0xf00u);
    EXPECT_EQ(s64(16), 0xffull << 60);
    EXPECT_EQ(s64(18), 0xffffffff89abcdefull);
    EXPECT_EQ(s64(20), 0x9abcdef123456780ull);
    EXPECT_EQ(s(22), static_cast<uint32_t>(__builtin_popcountll(0x89abcdef12345678ull)));
    EXPECT_EQ(s(23), 0xffffffffu);
    EXPECT_EQ(s(24), 3u);
    EXPECT_EQ(s(25), 31u);
    EXPECT_EQ(s(26), 0xffffffffu);
    EXPECT_EQ(s(27), 0x80000000u);
    EXPECT_EQ(s64(28), 0x33u);
    EXPECT_EQ(s(30), 0xffffffffu);
    EXPECT_EQ(s(31), 1u);
    EXPECT_EQ(s(32), 7u);
    EXPECT_EQ(s(33), 0x9abcdef1u);
    EXPECT_EQ(s(34), 1u);
    EXPECT_EQ(s(35), 0x1234cdefu);
    EXPECT_EQ(s(36), 0xffffffefu);
    EXPECT_EQ(s(37), 9u);
    EXPECT_EQ(s(38), 0xf00fu);
}

TEST_F(Scalar, ExecMasksAndSourceOperands) {
    run(R"(
        s_mov_b64 s[4:5], exec
        s_mov_b32 s6, 0xff
        s_mov_b32 s7, 0
        s_and_saveexec_b64 s[8:9], s[6:7]
        s_mov_b64 s[10:11], exec
        s_andn2_wrexec_b64 s[12:13], s[4:5]
        s_mov_b64 s[14:15], exec
        s_cselect_b32 s16, 1, 0
        s_mov_b64 vcc, 0
        s_mov_b32 s17, src_vccz
        s_mov_b32 s18, src_execz
        s_mov_b64 s[20:21], -5
        s_mov_b64 s[22:23], 0.5
        s_mov_b32 s24, 0.15915494
        s_mov_b64 s[26:27], src_private_base
        s_mov_b64 s[28:29], src_shared_limit
        s_getreg_b32 s30, hwreg(HW_REG_SH_MEM_BASES, 16, 16)
        s_mov_b32 s31, vcc_hi
    )");
    EXPECT_EQ(s64(4), ~0ull);
    EXPECT_EQ(s64(8), ~0ull);
    EXPECT_EQ(s64(10), 0xffull);
    EXPECT_EQ(s64(14), ~0xffull);
    EXPECT_EQ(s(16), 1u);
    EXPECT_EQ(s(17), 1u);
    EXPECT_EQ(s(18), 0u);
    EXPECT_EQ(s64(20), static_cast<uint64_t>(-5));
    EXPECT_EQ(s64(22), 0x3fe0000000000000ull);
    EXPECT_EQ(s(24), 0x3e22f983u);
    EXPECT_EQ(s64(26), kPrivate);
    EXPECT_EQ(s64(28), kShared | 0xffffffff);
    EXPECT_EQ(s(30), 1u);
}

TEST_F(Scalar, CallsBranchesAndRelativeMoves) {
    run(R"(
        s_getpc_b64 s[4:5]
        s_call_b64 s[6:7], function
        s_mov_b32 s8, 7
        s_movk_i32 s9, 3
    loop:
        s_add_u32 s8, s8, 10
        s_sub_u32 s9, s9, 1
        s_cmp_lg_u32 s9, 0
        s_cbranch_scc1 loop
        s_mov_b32 m0, 2
        s_movrels_b32 s11, s6
        s_movreld_b32 s12, 0x55
        s_branch end
    function:
        s_mov_b32 s10, 99
        s_setpc_b64 s[6:7]
    end:
    )");
    EXPECT_EQ(s64(4), kCode + 4);
    EXPECT_EQ(s64(6), kCode + 8);
    EXPECT_EQ(s(8), 37u);
    EXPECT_EQ(s(10), 99u);
    EXPECT_EQ(s(11), 37u);
    EXPECT_EQ(s(14), 0x55u);
}

TEST_F(Scalar, ForkRunsBothSidesAndJoins) {
    run(R"(
        s_mov_b32 s40, 0x0f
        s_mov_b32 s41, 0
        s_getpc_b64 s[42:43]
    here:
        s_add_u32 s42, s42, other-here
        s_addc_u32 s43, s43, 0
        v_mov_b32 v1, 0
        s_cbranch_g_fork s[40:41], s[42:43]
        v_mov_b32 v1, 1
        s_branch join
    other:
        v_mov_b32 v1, 2
    join:
        s_mov_b32 s44, 0
        s_cbranch_join s44
    )");
    for (unsigned lane = 0; lane < 64; ++lane) EXPECT_EQ(v(1, lane), lane < 4 ? 2u : 1u) << lane;
    EXPECT_EQ(services.last.exec, ~0xfull) << "the larger side runs last";
}

TEST_F(Scalar, HardwareRegistersKeepReadOnlyBits) {
    run(R"(
        s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0x5
        s_getreg_b32 s4, hwreg(HW_REG_MODE)
        s_setreg_imm32_b32 hwreg(HW_REG_STATUS), 0xffffffff
        s_getreg_b32 s5, hwreg(HW_REG_STATUS)
        s_getreg_b32 s6, hwreg(HW_REG_GPR_ALLOC, 24, 4)
        s_getreg_b32 s7, hwreg(HW_REG_GPR_ALLOC, 8, 6)
        s_getreg_b32 s8, hwreg(HW_REG_HW_ID, 20, 4)
        s_set_gpr_idx_on s4, gpr_idx(SRC0,DST)
        s_mov_b32 s9, m0
        s_set_gpr_idx_off
    )");
    EXPECT_EQ(bits(s(4), 4, 4), 5u);
    EXPECT_EQ(StatusBits::Priv::get(s(5)), 0u);
    EXPECT_EQ(StatusBits::Halt::get(s(5)), 0u);
    EXPECT_EQ(s(6), 6u);
    EXPECT_EQ(s(7), 7u);
    EXPECT_EQ(s(8), 8u);
    EXPECT_EQ(s(9), (s(4) & 0xff) | 0x9000);
}

TEST_F(Scalar, LoadsAndStoresMemory) {
    for (unsigned i = 0; i < 64; ++i) memory.at<uint32_t>(kData + 4 * i) = 0x100 + i;
    run(R"(
        s_load_dword s4, s[0:1], 0x6
        s_load_dwordx2 s[6:7], s[0:1], 0x10
        s_load_dwordx16 s[16:31], s[0:1], 0x40
        s_mov_b32 s8, 0x20
        s_load_dword s9, s[0:1], s8
        s_load_dword s10, s[0:1], s8 offset:0x4
        s_store_dwordx2 s[6:7], s[0:1], 0x200
        s_atomic_add s4, s[0:1], 0x14 glc
        s_mov_b32 s32, s0
        s_mov_b32 s33, s1
        s_mov_b32 s34, 12
        s_mov_b32 s35, 0
        s_buffer_load_dwordx4 s[36:39], s[32:35], 0x4
        s_memtime s[40:41]
        s_memtime s[42:43]
    )");
    EXPECT_EQ(s64(6), 0x105'00000104ull);
    EXPECT_EQ(s(16), 0x110u);
    EXPECT_EQ(s(31), 0x11fu);
    EXPECT_EQ(s(9), 0x108u);
    EXPECT_EQ(s(10), 0x109u);
    EXPECT_EQ(memory.at<uint64_t>(kData + 0x200), 0x105'00000104ull);
    EXPECT_EQ(s(4), 0x105u);
    EXPECT_EQ(word(5), 0x105u + 0x101u);
    EXPECT_EQ(s(36), 0x101u);
    EXPECT_EQ(s(37), 0x102u);
    EXPECT_EQ(s(38), 0u) << "past the end of the buffer";
    EXPECT_GT(s64(42), s64(40));
}

}  // namespace lyra::gcn::test
