// SPDX-License-Identifier: MIT
// Programs for the tests of generated code: instructions that depend on each other, with branches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "gcn-interp/fuzz/random_program.h"

namespace lyra::gcn {

/// Few registers, so that each instruction depends on those before: lane masks as masks and as values, SGPRs that change, EXEC,
/// pairs of VGPRs that overlap.
inline const std::vector<std::vector<uint32_t>> kDependent = {
    {0x7d920501},  // v_cmp_lt_u32_e32 vcc, v1, v2
    {0x7d880303},  // v_cmp_gt_i32_e32 vcc, v3, v1
    {0xd0410006, 0x00020901},  // v_cmp_lt_f32_e64 s[6:7], v1, v4
    {0x32020702},  // v_add_co_u32_e32 v1, vcc, v2, v3
    {0x38040903},  // v_addc_co_u32_e32 v2, vcc, v3, v4, vcc
    {0x3a080501},  // v_subb_co_u32_e32 v4, vcc, v1, v2, vcc
    {0xd11c0603, 0x001a0501},  // v_addc_co_u32_e64 v3, s[6:7], v1, v2, s[6:7]
    {0x00040903},  // v_cndmask_b32_e32 v2, v3, v4, vcc
    {0xd1000001, 0x001a0702},  // v_cndmask_b32_e64 v1, v2, v3, s[6:7]
    {0x7e06026a},  // v_mov_b32_e32 v3, vcc_lo
    {0x6802026b},  // v_add_u32_e32 v1, vcc_hi, v1
    {0x8688066a},  // s_and_b64 s[8:9], vcc, s[6:7]
    {0xbeea0108},  // s_mov_b64 vcc, s[8:9]
    {0xbeea0004},  // s_mov_b32 vcc_lo, s4
    {0x88070406},  // s_xor_b32 s7, s6, s4
    {0x68020204},  // v_add_u32_e32 v1, s4, v1
    {0x2a040404},  // v_xor_b32_e32 v2, s4, v2
    {0x0a060804},  // v_mul_f32_e32 v3, s4, v4
    {0x80040804},  // s_add_u32 s4, s4, s8
    {0x8e048309},  // s_lshl_b32 s4, s9, 3
    {0xbefe016a},  // s_mov_b64 exec, vcc
    {0x87fe087e},  // s_or_b64 exec, exec, s[8:9]
    {0xbefe01c1},  // s_mov_b64 exec, -1
    {0xbe8a206a},  // s_and_saveexec_b64 s[10:11], vcc
    {0x7db20501},  // v_cmpx_lt_u32_e32 vcc, v1, v2
    {0xd2800000, 0x00020902},  // v_add_f64 v[0:1], v[2:3], v[4:5]
    {0xd2810001, 0x00020900},  // v_mul_f64 v[1:2], v[0:1], v[4:5]
    {0xd1cc0003, 0x040e0101},  // v_fma_f64 v[3:4], v[1:2], v[0:1], v[3:4]
    {0xd2900002, 0x00020287},  // v_lshrrev_b64 v[2:3], 7, v[1:2]
    {0xd2900001, 0x000204a8},  // v_lshrrev_b64 v[1:2], 40, v[2:3]
    {0xd2910003, 0x000202a1},  // v_ashrrev_i64 v[3:4], 33, v[1:2]
    {0xd2910001, 0x00020485},  // v_ashrrev_i64 v[1:2], 5, v[2:3]
    {0xd28f0002, 0x000206a3},  // v_lshlrev_b64 v[2:3], 35, v[3:4]
    {0x7e020300},  // v_mov_b32_e32 v1, v0
    {0x7e046901},  // v_frexp_mant_f32_e32 v2, v1
    {0x7e064502},  // v_rcp_f32_e32 v3, v2
    {0xd1620002, 0x20000103},  // v_rcp_f32_e64 v2, -v3
    // Addresses
    {0x2204029f},  // v_ashrrev_i32_e32 v2, 31, v1
    {0xd28f0001, 0x00020282},  // v_lshlrev_b64 v[1:2], 2, v[1:2]
    {0xd28f0003, 0x00020283},  // v_lshlrev_b64 v[3:4], 3, v[1:2]
    {0xd2000002, 0x04051004},  // v_lshl_or_b32 v2, s4, 8, v1
    {0x28060204},  // v_or_b32_e32 v3, s4, v1
    {0xd1fd0001, 0x040d0502},  // v_lshl_add_u32 v1, v2, 2, v3
    {0xd1fe0004, 0x02080901},  // v_add_lshl_u32 v4, v1, s4, 2
    {0xd1ff0001, 0x00120702},  // v_add3_u32 v1, v2, v3, s4
    {0xd2850002, 0x00011901},  // v_mul_lo_u32 v2, v1, 12
    {0xd2850003, 0x00000904},  // v_mul_lo_u32 v3, v4, s4
    {0xd1c30004, 0x04050604},  // v_mad_u32_u24 v4, s4, 3, v1
    {0xd1350001, 0x00000901},  // v_sub_u32_e64 v1, v1, s4
    {0x6c040404},  // v_subrev_u32_e32 v2, s4, v2
    {0x24060282},  // v_lshlrev_b32_e32 v3, 2, v1
    {0x32020404},  // v_add_co_u32_e32 v1, vcc, s4, v2
    {0x38040480},  // v_addc_co_u32_e32 v2, vcc, 0, v2, vcc
    {0x34060501},  // v_sub_co_u32_e32 v3, vcc, v1, v2
    {0x36060204},  // v_subrev_co_u32_e32 v3, vcc, s4, v1
    {0x7e080204},  // v_mov_b32_e32 v4, s4
    {0x7e040280},  // v_mov_b32_e32 v2, 0
    {0x10020485},  // v_mul_u32_u24_e32 v1, 5, v2
    {0x26060404},  // v_and_b32_e32 v3, s4, v2
};

/// The same of chips that have them: pairs begin with an even VGPR there.
inline const std::vector<std::vector<uint32_t>> kDependentOfPairs = {
    {0x2202009f},  // v_ashrrev_i32_e32 v1, 31, v0
    {0xd28f0002, 0x00020082},  // v_lshlrev_b64 v[2:3], 2, v[0:1]
    {0xd2080002, 0x04110500},  // v_lshl_add_u64 v[2:3], v[0:1], 2, v[4:5]
    {0xd2080004, 0x04090004},  // v_lshl_add_u64 v[4:5], s[4:5], 0, v[2:3]
    {0xd2080000, 0x00110702},  // v_lshl_add_u64 v[0:1], v[2:3], 3, s[4:5]
    {0xd2080002, 0x04090102},  // v_lshl_add_u64 v[2:3], v[2:3], 0, v[2:3]
    {0x7e087102},  // v_mov_b64_e32 v[4:5], v[2:3]
    {0xd3b30000, 0x18020902},  // v_pk_mov_b32 v[0:1], v[2:3], v[4:5]
    {0xd3b20002, 0x18020500},  // v_pk_add_f32 v[2:3], v[0:1], v[2:3]
    {0x7e021efa, 0xff315202},  // v_cvt_f32_f64_dpp v1, -|v[2:3]| row_newbcast:2 row_mask:0xf bank_mask:0xf
    {0x7e081efa, 0xf7095500},  // v_cvt_f32_f64_dpp v4, v[0:1] row_newbcast:5 row_mask:0xf bank_mask:0x7 bound_ctrl:1
};

/// Mostly computed from SGPRs alone, so the same in all lanes; v0 differs.
inline const std::vector<std::vector<uint32_t>> kUniform = {
    {0x7e020204},  // v_mov_b32_e32 v1, s4
    {0x7e040205},  // v_mov_b32_e32 v2, s5
    {0x7e0602f0},  // v_mov_b32_e32 v3, 0.5
    {0x7e020c04},  // v_cvt_f32_u32_e32 v1, s4
    {0x7e044404},  // v_rcp_f32_e32 v2, s4
    {0x7e084e05},  // v_sqrt_f32_e32 v4, s5
    {0xd1010003, 0x00000804},  // v_add_f32_e64 v3, s4, s4
    {0x7e080301},  // v_mov_b32_e32 v4, v1
    {0xd1050003, 0x0001e004},  // v_mul_f32_e64 v3, s4, 0.5
    {0x0a080204},  // v_mul_f32_e32 v4, s4, v1
    {0xd1cb0002, 0x84100903},  // v_fma_f32 v2, v3, s4, -v4
    {0xd1cb0103, 0x040e0501},  // v_fma_f32 v3, |v1|, v2, v3
    {0x7e024503},  // v_rcp_f32_e32 v1, v3
    {0x7e044f04},  // v_sqrt_f32_e32 v2, v4
    {0x7e084901},  // v_rsq_f32_e32 v4, v1
    {0x7e064102},  // v_exp_f32_e32 v3, v2
    {0x7e024304},  // v_log_f32_e32 v1, v4
    {0x7e004103},  // v_exp_f32_e32 v0, v3
    {0xd2880004, 0x00000903},  // v_ldexp_f32 v4, v3, s4
    {0x7e041101},  // v_cvt_i32_f32_e32 v2, v1
    {0x7c880404},  // v_cmp_gt_f32_e32 vcc, s4, v2
    {0xd04e0006, 0x00020604},  // v_cmp_nlt_f32_e64 s[6:7], s4, v3
    {0xd041016a, 0x00000b04},  // v_cmp_lt_f32_e64 vcc, |v4|, s5
    {0xd1000003, 0x01a9e480},  // v_cndmask_b32_e64 v3, 0, 1.0, vcc
    {0x00020902},  // v_cndmask_b32_e32 v1, v2, v4, vcc
    {0xd1000004, 0x001a0701},  // v_cndmask_b32_e64 v4, v1, v3, s[6:7]
    {0x00000501},  // v_cndmask_b32_e32 v0, v1, v2, vcc
    {0x02000700},  // v_add_f32_e32 v0, v0, v3
    {0x32040604},  // v_add_co_u32_e32 v2, vcc, s4, v3
    {0x38020902},  // v_addc_co_u32_e32 v1, vcc, v2, v4, vcc
    {0xd2800002, 0x00020404},  // v_add_f64 v[2:3], s[4:5], v[2:3]
    {0xd2810001, 0x00020702},  // v_mul_f64 v[1:2], v[2:3], v[3:4]
    {0x7e022103},  // v_cvt_f64_f32_e32 v[1:2], v3
    {0x7e081f01},  // v_cvt_f32_f64_e32 v4, v[1:2]
    {0xd28f0003, 0x00020283},  // v_lshlrev_b64 v[3:4], 3, v[1:2]
    {0xd1e86a01, 0x04060604},  // v_mad_u64_u32 v[1:2], vcc, s4, v3, v[1:2]
    {0x2c060404},  // v_mac_f32_e32 v3, s4, v2
    {0xd1ce0002, 0x00120303},  // v_alignbit_b32 v2, v3, v1, s4
    {0xd1c80004, 0x021d0702},  // v_bfe_u32 v4, v2, 3, 7
    {0xd2860003, 0x00020501},  // v_mul_hi_u32 v3, v1, v2
    {0x7c200702},  // v_cmp_class_f32_e32 vcc, v2, v3
    {0x7e046901},  // v_frexp_mant_f32_e32 v2, v1
    {0x7e064502},  // v_rcp_f32_e32 v3, v2
    {0xbeea0106},  // s_mov_b64 vcc, s[6:7]
    {0x86867e6a},  // s_and_b64 s[6:7], vcc, exec
    {0x80040804},  // s_add_u32 s4, s4, s8
    {0xbe850009},  // s_mov_b32 s5, s9
    {0xbefe01c1},  // s_mov_b64 exec, -1
    {0xbefe0108},  // s_mov_b64 exec, s[8:9]
    {0x7db80103},  // v_cmpx_gt_u32_e32 vcc, v3, v0
    {0x24040082},  // v_lshlrev_b32_e32 v2, 2, v0
    {0x807f0504},  // s_add_u32 exec_hi, s4, s5
    {0xbefe0005},  // s_mov_b32 exec_lo, s5
};

/// One instruction; a branch goes to another one by number.
struct Piece {
    std::vector<uint32_t> words;
    int target = -1;
};
using Program = std::vector<Piece>;

/// Mostly back, and not far: loops that overlap.
inline Piece branch(fuzz::Bytes& bytes, size_t length) {
    static constexpr uint32_t kBranches[] = {0xbf820000, 0xbf840000, 0xbf850000, 0xbf860000,
                                             0xbf870000, 0xbf880000, 0xbf890000};
    return {{kBranches[bytes.one_in(8) ? 0 : 1 + bytes.below(std::size(kBranches) - 1)]},
            static_cast<int>(bytes.below(static_cast<unsigned>(length)))};
}

inline std::vector<uint32_t> flat(const Program& program) {
    std::vector<size_t> begins;
    std::vector<uint32_t> words;
    for (const Piece& each : program) {
        begins.push_back(words.size());
        words.insert(words.end(), each.words.begin(), each.words.end());
    }
    begins.push_back(words.size());
    for (size_t i = 0; i < program.size(); ++i) {
        if (program[i].target < 0) continue;
        const auto distance =
            static_cast<int>(begins[static_cast<size_t>(program[i].target)]) - static_cast<int>(begins[i]) - 1;
        words[begins[i]] |= static_cast<uint16_t>(distance);
    }
    words.push_back(0xbf8f0000);  // s_setprio: the interpreter's
    return words;
}

inline Program without(Program program, size_t which) {
    program.erase(program.begin() + static_cast<std::ptrdiff_t>(which));
    for (Piece& each : program) {
        if (each.target > static_cast<int>(which)) --each.target;
    }
    return program;
}

}  // namespace lyra::gcn
