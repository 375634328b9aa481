// SPDX-License-Identifier: MIT
// What decode() promises beyond the text: implied operands, limits of the code, signs of offsets.
#include <gtest/gtest.h>

#include "gcn-interp/isa/op.h"

namespace lyra::gcn {
namespace {

template <class... Words>
Inst decode_words(Words... words) {
    const uint32_t code[] = {static_cast<uint32_t>(words)...};
    return decode(code, sizeof...(words));
}

TEST(Decode, CarryInstructionsNameVcc) {
    const Inst inst = decode_words(0x3810210cu);  // v_addc_co_u32_e32 v8, vcc, v12, v16, vcc
    EXPECT_EQ(inst.op, Op::v_addc_co_u32);
    EXPECT_EQ(inst.dst, 8);
    EXPECT_EQ(inst.sdst, 106);
    EXPECT_EQ(inst.src[0], kSrcVgpr0 + 12);
    EXPECT_EQ(inst.src[1], kSrcVgpr0 + 16);
    EXPECT_EQ(inst.src[2], 106);
}

TEST(Decode, CompareWritesVccOrAnSgprPair) {
    EXPECT_EQ(decode_words(0x7c82210cu).sdst, 106);               // v_cmp_lt_f32_e32 vcc, v12, v16
    const Inst e64 = decode_words(0xd0410008u, 0x0002210cu);      // v_cmp_lt_f32_e64 s[8:9], v12, v16
    EXPECT_EQ(e64.op, Op::v_cmp_lt_f32);
    EXPECT_EQ(e64.format, Format::VOP3);
    EXPECT_EQ(e64.sdst, 8);
    EXPECT_EQ(e64.dst, kNoOperand);
}

TEST(Decode, LiteralFollowsMadmkAlways) {
    const Inst inst = decode_words(0x2e10210cu, 0x3f8ccccdu);  // v_madmk_f32 v8, v12, 0x3f8ccccd, v16
    EXPECT_EQ(inst.op, Op::v_madmk_f32);
    EXPECT_EQ(inst.size_bytes, 8);
    EXPECT_EQ(inst.literal, 0x3f8ccccdu);
    EXPECT_EQ(inst.src[1], kSrcVgpr0 + 16);
    EXPECT_EQ(decode_words(0x2e10210cu).format, Format::Invalid);
}

TEST(Decode, InstructionCutOffByTheEndIsInvalid) {
    EXPECT_EQ(decode(nullptr, 0).format, Format::Invalid);
    EXPECT_EQ(decode_words(0xbe8000ffu).format, Format::Invalid);   // s_mov_b32 with a literal
    EXPECT_EQ(decode_words(0xd1010008u).format, Format::Invalid);   // half a VOP3
    EXPECT_EQ(decode_words(0x7e1002f9u).format, Format::Invalid);   // SDWA without its dword
    EXPECT_EQ(decode_words(0xbe8000ffu, 7u).literal, 7u);
}

TEST(Decode, InvalidTakesFourBytes) {
    const Inst inst = decode_words(0xbfff0000u, 0u);
    EXPECT_EQ(inst.op, Op::Invalid);
    EXPECT_EQ(inst.format, Format::Invalid);
    EXPECT_EQ(inst.size_bytes, 4);
}

TEST(Decode, OffsetsHaveTheSignOfTheirSegment) {
    EXPECT_EQ(decode_words(0xdc509fffu, 0x087f000cu).imm, -1);      // global
    EXPECT_EQ(decode_words(0xdc505fffu, 0x087f000cu).imm, -1);      // scratch
    EXPECT_EQ(decode_words(0xdc500fffu, 0x0800000cu).imm, 4095);    // flat
    EXPECT_EQ(decode_words(0xc0020004u, 0x001fffffu).imm, -1);      // s_load_dword
    EXPECT_EQ(decode_words(0xbf82ffffu).imm, -1);                   // s_branch
}

TEST(Decode, AtomicReturnsOnlyWithGlc) {
    EXPECT_EQ(decode_words(0xdd088000u, 0x087f100cu).dst, kNoOperand);   // global_atomic_add v[12:13], v16, off
    const Inst inst = decode_words(0xdd098000u, 0x087f100cu);            // ... v8, v[12:13], v16, off glc
    EXPECT_EQ(inst.op, Op::flat_atomic_add);
    EXPECT_EQ(inst.seg, 2);
    EXPECT_EQ(inst.dst, 8);
    EXPECT_EQ(inst.vdata, 16);
    EXPECT_EQ(inst.vaddr, 12);
    EXPECT_EQ(inst.saddr, kNoOperand);
}

TEST(Decode, ChipDecidesWhatAnOpcodeIs) {
    EXPECT_EQ(decode_words(0xd3a00008u, 0x0452210cu).op, Op::v_mad_mix_f32);
    EXPECT_EQ(decode_words(0x7610210cu).format, Format::Invalid);        // v_fmac_f32 came with gfx906
}

TEST(InstInfo, DescribesOperands) {
    EXPECT_EQ(info(Op::v_fma_f64).dst_dwords(), 2u);
    EXPECT_EQ(info(Op::v_lshlrev_b64).src_dwords(0), 1u);
    EXPECT_TRUE(info(Op::v_cndmask_b32).float_source(0));
    EXPECT_FALSE(info(Op::v_ldexp_f32).float_source(1));
    EXPECT_TRUE(info(Op::v_cmpx_lt_f32).has(flag::WritesExec));
    EXPECT_STREQ(info(Op::s_load_dwordx16).name, "s_load_dwordx16");
}

}  // namespace
}  // namespace lyra::gcn
