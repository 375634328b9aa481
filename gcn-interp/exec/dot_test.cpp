// SPDX-License-Identifier: MIT
// What gfx906 has beyond gfx900: dot products, v_fma_mix, v_fmac_f32, v_xnor_b32.
#include <gtest/gtest.h>

#include "gcn-interp/exec/valu_machine.h"

namespace lyra::gcn::test {
namespace {

/// Elements of a register as whole numbers, by division instead of shifts.
std::vector<int64_t> elements(uint32_t packed, unsigned bits, bool is_signed) {
    const int64_t count = int64_t{1} << bits;
    std::vector<int64_t> out;
    for (uint64_t rest = packed; out.size() < 32 / bits; rest /= static_cast<uint64_t>(count)) {
        const auto value = static_cast<int64_t>(rest % static_cast<uint64_t>(count));
        out.push_back(is_signed && value >= count / 2 ? value - count : value);
    }
    return out;
}

struct IntegerDot {
    Op op;
    unsigned bits;
    bool is_signed;
};
constexpr IntegerDot kIntegerDots[] = {
    {Op::v_dot2_i32_i16, 16, true}, {Op::v_dot2_u32_u16, 16, false}, {Op::v_dot4_i32_i8, 8, true},
    {Op::v_dot4_u32_u8, 8, false},  {Op::v_dot8_i32_i4, 4, true},    {Op::v_dot8_u32_u4, 4, false},
};

TEST(Dot, IntegersWrapOrSaturate) {
    Machine m;
    for (const IntegerDot& dot : kIntegerDots) {
        unsigned saturated = 0;
        for (unsigned batch = 0; batch < 200; ++batch) {
            for (unsigned l = 0; l < kLanes; ++l) {
                for (unsigned r = 1; r < 4; ++r) m.set(r, l, static_cast<uint32_t>(m.random()));
                if (m.random() % 4 == 0) m.set(1, l, 0x80808080u), m.set(2, l, 0x80808080u);
                if (m.random() % 2)
                    m.set(3, l, (dot.is_signed ? 0x7fffffffu : 0xffffffffu) - static_cast<uint32_t>(m.random() % 64));
                if (dot.is_signed && m.random() % 4 == 0) m.set(3, l, 0x80000000u + static_cast<uint32_t>(m.random() % 64));
            }
            Inst inst = make(dot.op, Format::VOP3P, 4, {v(1), v(2), v(3)});
            inst.op_sel_hi = 7;
            inst.clamp = batch % 2;
            ASSERT_TRUE(m.run(inst));
            for (unsigned l = 0; l < kLanes; ++l) {
                const auto a = elements(m.u(1, l), dot.bits, dot.is_signed), b = elements(m.u(2, l), dot.bits, dot.is_signed);
                int64_t sum = dot.is_signed ? int64_t{static_cast<int32_t>(m.u(3, l))} : int64_t{m.u(3, l)};
                for (size_t n = 0; n < a.size(); ++n) sum += a[n] * b[n];
                const int64_t low = dot.is_signed ? INT32_MIN : 0,
                              high = dot.is_signed ? int64_t{INT32_MAX} : int64_t{UINT32_MAX};
                saturated += inst.clamp && (sum < low || sum > high);
                if (inst.clamp) sum = std::clamp(sum, low, high);
                ASSERT_EQ(m.u(4, l), static_cast<uint32_t>(sum)) << info(dot.op).name << " lane " << l;
            }
        }
        EXPECT_GT(saturated, 100u) << info(dot.op).name;
    }
    EXPECT_TRUE(m.guard_intact());
}

TEST(Dot, HalvesOfSixteenBitFormsAreChosenByOpSel) {
    Machine m;
    for (unsigned l = 0; l < kLanes; ++l) m.set(1, l, 0x00050003u), m.set(2, l, 0x000b0007u), m.set(3, l, 1000u);
    for (unsigned code = 0; code < 16; ++code) {
        Inst inst = make(Op::v_dot2_u32_u16, Format::VOP3P, 4, {v(1), v(2), v(3)});
        inst.op_sel = code & 3;
        inst.op_sel_hi = static_cast<uint8_t>(code >> 2);
        ASSERT_TRUE(m.run(inst));
        const auto pick = [](bool high, uint32_t low_value, uint32_t high_value) { return high ? high_value : low_value; };
        EXPECT_EQ(m.u(4, 9), 1000 + pick(code & 1, 3, 5) * pick(code & 2, 7, 11) + pick(code & 4, 3, 5) * pick(code & 8, 7, 11))
            << code;
    }
}

TEST(Dot, FloatsHaveTheirOwnSignsAndFlushDenormals) {
    Machine m;
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(1, l, 0x42004000u);  // 3, 2
        m.set(2, l, 0xc4003c00u);  // -4, 1
        m.set(3, l, 100.0f);
    }
    Inst inst = make(Op::v_dot2_f32_f16, Format::VOP3P, 4, {v(1), v(2), v(3)});
    inst.op_sel_hi = 7;
    ASSERT_TRUE(m.run(inst));
    EXPECT_EQ(m.f(4, 5), 100.0f + 2.0f - 12.0f);
    inst.neg = 5;     // low half of source 0, and the addend
    inst.neg_hi = 2;  // high half of source 1
    ASSERT_TRUE(m.run(inst));
    EXPECT_EQ(m.f(4, 5), -100.0f - 2.0f + 12.0f);
    inst.neg = inst.neg_hi = 0;
    inst.clamp = true;
    ASSERT_TRUE(m.run(inst));
    EXPECT_EQ(m.f(4, 5), 1.0f);
    inst.clamp = false;
    inst.src[1] = 242;  // 1.0 as f16, in the low half only
    ASSERT_TRUE(m.run(inst));
    EXPECT_EQ(m.f(4, 5), 102.0f);
    inst.src[1] = v(2);
    for (unsigned l = 0; l < kLanes; ++l)
        m.set(1, l, 0u), m.set(3, l, 0x80400000u);  // a denormal addend, denormals allowed by MODE
    ASSERT_TRUE(m.run(inst));
    EXPECT_EQ(m.u(4, 5) & 0x7fffffff, 0u);
    for (unsigned l = 0; l < kLanes; ++l) m.set(1, l, 0x00000001u), m.set(2, l, 0x00003c00u), m.set(3, l, 0.0f);
    ASSERT_TRUE(m.run(inst));
    EXPECT_EQ(m.f(4, 5), std::ldexp(1.0f, -24)) << "f16 denormals follow MODE";
    m.wave.mode &= ~(1u << 6);
    ASSERT_TRUE(m.run(inst));
    EXPECT_EQ(m.f(4, 5), 0.0f);
}

TEST(Dot, SumsRoundAsModeSays) {
    Machine m;
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(1, l, 0x00010001u);  // 2^-24 twice
        m.set(2, l, 0x00013c00u);  // 1, 2^-24
        m.set(3, l, 1.0f);
    }
    Inst inst = make(Op::v_dot2_f32_f16, Format::VOP3P, 4, {v(1), v(2), v(3)});
    inst.op_sel_hi = 7;
    ASSERT_TRUE(m.run(inst));
    EXPECT_EQ(m.f(4, 0), 1.0f) << "to nearest even";
    m.wave.mode |= 1;
    ASSERT_TRUE(m.run(inst));
    EXPECT_EQ(m.f(4, 0), 1.0f + std::ldexp(2.0f, -23)) << "up, after each product";
}

TEST(Gfx906, FusedMixAndFmacRoundOnce) {
    Machine m;
    const float a = 1.0f + std::ldexp(1.0f, -12), c = -1.0f;
    for (unsigned l = 0; l < kLanes; ++l) m.set(1, l, a), m.set(2, l, a), m.set(3, l, c), m.set(4, l, c);
    const float once = std::fma(a, a, c), twice = static_cast<float>(static_cast<double>(a * a) + c);
    ASSERT_NE(once, twice);
    ASSERT_TRUE(m.run(make(Op::v_fmac_f32, Format::VOP2, 4, {v(1), v(2)})));
    EXPECT_EQ(m.f(4, 63), once);
    ASSERT_TRUE(m.run(make(Op::v_fma_mix_f32, Format::VOP3P, 5, {v(1), v(2), v(3)})));
    EXPECT_EQ(m.f(5, 63), once);
    ASSERT_TRUE(m.run(make(Op::v_mad_mix_f32, Format::VOP3P, 5, {v(1), v(2), v(3)})));
    EXPECT_EQ(m.f(5, 63), twice);
    for (const Op op : {Op::v_fma_mixlo_f16, Op::v_fma_mixhi_f16}) {
        for (unsigned l = 0; l < kLanes; ++l) m.set(5, l, 0x77778888u), m.set(6, l, 1.5f);
        ASSERT_TRUE(m.run(make(op, Format::VOP3P, 5, {v(6), v(6), 128})));
        EXPECT_EQ(m.u(5, 3), op == Op::v_fma_mixlo_f16 ? 0x77774080u : 0x40808888u);
    }
    for (unsigned l = 0; l < kLanes; ++l) m.set(1, l, 0xff00ff00u), m.set(2, l, 0x0ff00ff0u);
    ASSERT_TRUE(m.run(make(Op::v_xnor_b32, Format::VOP2, 4, {v(1), v(2)})));
    EXPECT_EQ(m.u(4, 0), 0x0f0f0f0fu);
}

TEST(Gfx906, OpcodesBelongToOneChip) {
    const uint32_t xnor = 0x7a00'0501u, mix[2] = {0xd3a0'0000u, 0x0402'0501u}, dot[2] = {0xd3a8'0000u, 0x0402'0501u};
    EXPECT_EQ(decode(&xnor, 1).format, Format::Invalid);
    EXPECT_EQ(decode(&xnor, 1, Chip::gfx906).op, Op::v_xnor_b32);
    EXPECT_EQ(decode(mix, 2).op, Op::v_mad_mix_f32);
    EXPECT_EQ(decode(mix, 2, Chip::gfx906).op, Op::v_fma_mix_f32);
    EXPECT_EQ(decode(dot, 2).format, Format::Invalid);
    EXPECT_EQ(decode(dot, 2, Chip::gfx906).op, Op::v_dot4_i32_i8);
}

}  // namespace
}  // namespace lyra::gcn::test
