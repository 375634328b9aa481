// SPDX-License-Identifier: MIT
// The frame of vector instructions: table, EXEC, operands, modifiers, MODE; against plain per-lane computations.
#include <gtest/gtest.h>

#include <cfenv>
#include <set>
#include <string>

#include "gcn-interp/exec/valu_machine.h"

namespace lyra::gcn::test {
namespace {

bool is_vector(Format f) {
    return f == Format::VOP1 || f == Format::VOP2 || f == Format::VOP3 || f == Format::VOP3P || f == Format::VOPC;
}

TEST(ValuTable, EveryGfx900RowHasAHandlerInEveryEncoding) {
    unsigned rows = 0;
    for (std::size_t i = 1; i < kOpCount; ++i) {
        const Op op = static_cast<Op>(i);
        const InstInfo& row = info(op);
        if (!is_vector(row.format) || !row.on(Chip::gfx900)) continue;
        const ExecTable& t = vector_table();
        ++rows;
        EXPECT_NE(t.get(op, row.format), nullptr) << row.name;
        if (row.format == Format::VOP3 || row.format == Format::VOP3P) continue;
        if (!row.has(flag::NoE64)) {
            EXPECT_NE(t.get(op, Format::VOP3), nullptr) << row.name;
        }
        const Format sdwa = row.format == Format::VOP1   ? Format::VOP1_SDWA
                            : row.format == Format::VOP2 ? Format::VOP2_SDWA
                                                         : Format::VOPC_SDWA;
        if (!row.has(flag::NoSdwa)) {
            EXPECT_NE(t.get(op, sdwa), nullptr) << row.name;
        }
        if (row.format == Format::VOPC) continue;
        if (!row.has(flag::NoDpp)) {
            EXPECT_NE(t.get(op, row.format == Format::VOP1 ? Format::VOP1_DPP : Format::VOP2_DPP), nullptr) << row.name;
        }
    }
    EXPECT_GT(rows, 400u);
}

TEST(ValuFrame, WritesOnlyActiveLanes) {
    Machine m;
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0}, uint64_t{1}, uint64_t{1} << 63, uint64_t{0x00ff00f0a5a50001}}) {
        for (unsigned l = 0; l < kLanes; ++l) {
            m.set(1, l, l * 3u);
            m.set(2, l, 1000u + l);
            m.set(3, l, 0xdeadbeefu);
            m.set(4, l, 1.0 + l);
            m.set(6, l, 2.0);
            m.set64(8, l, 0x1122334455667788);
        }
        m.wave.exec = exec;
        ASSERT_TRUE(m.run(make(Op::v_add_u32, Format::VOP2, 3, {v(1), v(2)})));
        ASSERT_TRUE(m.run(make(Op::v_add_f64, Format::VOP3, 8, {v(4), v(6)})));
        for (unsigned l = 0; l < kLanes; ++l) {
            const bool on = (exec >> l) & 1;
            EXPECT_EQ(m.u(3, l), on ? 1000u + 4 * l : 0xdeadbeefu) << l;
            EXPECT_EQ(m.u64(8, l), on ? std::bit_cast<uint64_t>(3.0 + l) : 0x1122334455667788u) << l;
        }
    }
}

TEST(ValuFrame, SourceAndDestinationMayOverlap) {
    Machine m;
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set64(1, l, 0x0000000100000000u + l);  // v[1:2]
        m.set(3, l, 7u);
    }
    // The destination pair v[2:3] shares v2 with the source pair v[1:2].
    ASSERT_TRUE(m.run(make(Op::v_lshlrev_b64, Format::VOP3, 2, {129, v(1)})));
    for (unsigned l = 0; l < kLanes; ++l) EXPECT_EQ(m.u64(2, l), (0x0000000100000000u + l) << 1) << l;
}

TEST(ValuFrame, RegistersPastTheAllocationReadV0AndDropWrites) {
    Machine m;
    for (unsigned l = 0; l < kLanes; ++l) m.set(0, l, 40u + l);
    ASSERT_TRUE(m.run(make(Op::v_mov_b32, Format::VOP1, 1, {v(200)})));
    EXPECT_EQ(m.u(1, 5), 45u);
    ASSERT_TRUE(m.run(make(Op::v_mov_b32, Format::VOP1, 64, {v(0)})));
    ASSERT_TRUE(m.run(make(Op::v_mov_b32, Format::VOP1, 255, {v(0)})));
    ASSERT_TRUE(m.run(make(Op::v_cvt_f64_u32, Format::VOP1, 63, {v(0)})));  // high half lands past the end
    ASSERT_TRUE(m.run(make(Op::v_swap_b32, Format::VOP1, 64, {v(255)})));
    Inst lane = make(Op::v_writelane_b32, Format::VOP3, 64, {130, 131});
    ASSERT_TRUE(m.run(lane));
    EXPECT_TRUE(m.guard_intact());
    EXPECT_EQ(m.u(63, 0), 0u);  // low half of 40.0
}

TEST(ValuOperand, InlineConstantsHaveTheWidthOfTheirOperand) {
    Machine m;
    const uint16_t one = 242, minus_16 = 208, sixty_four = 192;
    ASSERT_TRUE(m.run(make(Op::v_mov_b32, Format::VOP1, 1, {one})));
    EXPECT_EQ(m.u(1, 63), 0x3f800000u);
    ASSERT_TRUE(m.run(make(Op::v_mov_b32, Format::VOP1, 1, {minus_16})));
    EXPECT_EQ(m.u(1, 0), static_cast<uint32_t>(-16));
    ASSERT_TRUE(m.run(make(Op::v_mov_b32, Format::VOP1, 1, {sixty_four})));
    EXPECT_EQ(m.u(1, 0), 64u);
    for (unsigned l = 0; l < kLanes; ++l) m.set(2, l, 0.0);
    ASSERT_TRUE(m.run(make(Op::v_add_f64, Format::VOP3, 4, {one, v(2)})));
    EXPECT_EQ(m.d(4, 9), 1.0);
    for (unsigned l = 0; l < kLanes; ++l) m.set(2, l, 0u);
    ASSERT_TRUE(m.run(make(Op::v_add_f16, Format::VOP2, 4, {one, v(2)})));
    EXPECT_EQ(m.u(4, 9), 0x3c00u);
    Inst literal = make(Op::v_cvt_f32_f64, Format::VOP1, 4, {kSrcLiteral});
    literal.literal = 0x40080000;  // high half of 3.0
    ASSERT_TRUE(m.run(literal));
    EXPECT_EQ(m.f(4, 1), 3.0f);
    m.wave.sgpr[5] = 77;
    ASSERT_TRUE(m.run(make(Op::v_mov_b32, Format::VOP1, 1, {5})));
    EXPECT_EQ(m.u(1, 40), 77u);
    m.wave.m0 = 99;
    ASSERT_TRUE(m.run(make(Op::v_mov_b32, Format::VOP1, 1, {kM0})));
    EXPECT_EQ(m.u(1, 40), 99u);
}

TEST(ValuOperand, NegAndAbsOnEveryFloatWidth) {
    Machine m;
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(1, l, l % 2 ? -2.5f : 2.5f);
        m.set(2, l, 1.0f);
        m.set(4, l, l % 2 ? -2.5 : 2.5);
        m.set(6, l, 1.0);
        m.set(8, l, l % 2 ? 0xc100u : 0x4100u);
        m.set(9, l, 0x3c00u);
    }
    for (unsigned code = 0; code < 4; ++code) {
        const auto expected = [&](unsigned l) {
            double x = l % 2 ? -2.5 : 2.5;
            if (code & 1) x = std::fabs(x);
            if (code & 2) x = -x;
            return x + 1.0;
        };
        Inst a = make(Op::v_add_f32, Format::VOP3, 3, {v(1), v(2)});
        Inst b = make(Op::v_add_f64, Format::VOP3, 10, {v(4), v(6)});
        Inst c = make(Op::v_add_f16, Format::VOP3, 12, {v(8), v(9)});
        for (Inst* i : {&a, &b, &c}) {
            i->abs = code & 1 ? 1 : 0;
            i->neg = code & 2 ? 1 : 0;
            ASSERT_TRUE(m.run(*i));
        }
        for (unsigned l = 0; l < kLanes; ++l) {
            EXPECT_EQ(m.f(3, l), static_cast<float>(expected(l)));
            EXPECT_EQ(m.d(10, l), expected(l));
            EXPECT_EQ(half_value(m.u(12, l)), expected(l));
        }
    }
}

TEST(ValuOperand, CndmaskTakesVccOrAScalarPairAndItsSignModifiers) {
    Machine m;
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(1, l, 1.5f);
        m.set(2, l, -4.0f);
    }
    m.wave.set_vcc(0xaaaaaaaa12345678);
    m.wave.write_scalar64(10, 0x00ff00ff00ff00ff);
    ASSERT_TRUE(m.run(make(Op::v_cndmask_b32, Format::VOP2, 3, {v(1), v(2)})));
    Inst e64 = make(Op::v_cndmask_b32, Format::VOP3, 4, {v(1), v(2), 10});
    e64.neg = 2;
    ASSERT_TRUE(m.run(e64));
    for (unsigned l = 0; l < kLanes; ++l) {
        EXPECT_EQ(m.f(3, l), (m.wave.vcc() >> l) & 1 ? -4.0f : 1.5f);
        EXPECT_EQ(m.f(4, l), (l / 8) % 2 == 0 ? 4.0f : 1.5f);
    }
}

TEST(ValuResult, ClampOfFloatsAndIntegers) {
    Machine m;
    const float in[] = {-1.0f, -0.0f, 0.25f, 1.0f, 7.0f, NAN, INFINITY, -INFINITY};
    const float out[] = {0.0f, 0.0f, 0.25f, 1.0f, 1.0f, 0.0f, 1.0f, 0.0f};
    for (unsigned l = 0; l < kLanes; ++l) m.set(1, l, in[l % 8]);
    Inst add = make(Op::v_mul_f32, Format::VOP3, 2, {v(1), 242});
    add.clamp = true;
    ASSERT_TRUE(m.run(add));
    for (unsigned l = 0; l < kLanes; ++l) EXPECT_EQ(m.u(2, l), std::bit_cast<uint32_t>(out[l % 8])) << l;
    m.wave.mode &= ~0x100u;  // without DX10_CLAMP a NaN stays
    ASSERT_TRUE(m.run(add));
    EXPECT_TRUE(std::isnan(m.f(2, 5)));
    m.wave.mode = kDefaultModeBits;

    struct Case {
        Op op;
        Format format;
        uint32_t a, b, wrap, clamped;
    };
    const Case cases[] = {
        {Op::v_add_u32, Format::VOP3, 0xfffffff0, 0x20, 0x10, 0xffffffff},
        {Op::v_sub_u32, Format::VOP3, 5, 6, 0xffffffff, 0},
        {Op::v_subrev_u32, Format::VOP3, 6, 5, 0xffffffff, 0},
        {Op::v_add_i32, Format::VOP3, 0x7fffffff, 1, 0x80000000, 0x7fffffff},
        {Op::v_sub_i32, Format::VOP3, 0x80000000, 1, 0x7fffffff, 0x80000000},
        {Op::v_add_u16, Format::VOP3, 0xfff0, 0x20, 0x10, 0xffff},
        {Op::v_sub_u16, Format::VOP3, 1, 2, 0xffff, 0},
        {Op::v_add_co_u32, Format::VOP3, 0xffffffff, 1, 0, 0xffffffff},
        {Op::v_mul_i32_i24, Format::VOP3, 0x7fffff, 0x7fffff, 0xff000001, 0x7fffffff},
        {Op::v_mul_u32_u24, Format::VOP3, 0xffffff, 0xffffff, 0xfe000001, 0xffffffff},
    };
    for (const Case& c : cases) {
        for (unsigned l = 0; l < kLanes; ++l) {
            m.set(1, l, c.a);
            m.set(2, l, c.b);
        }
        Inst inst = make(c.op, c.format, 3, {v(1), v(2)});
        ASSERT_TRUE(m.run(inst));
        EXPECT_EQ(m.u(3, 17), c.wrap) << info(c.op).name;
        inst.clamp = true;
        ASSERT_TRUE(m.run(inst));
        EXPECT_EQ(m.u(3, 17), c.clamped) << info(c.op).name;
    }
}

TEST(ValuResult, OutputModifierNeedsDenormalsAndIeeeOff) {
    Machine m;
    for (unsigned l = 0; l < kLanes; ++l) m.set(1, l, 3.0f);
    Inst inst = make(Op::v_add_f32, Format::VOP3, 2, {v(1), 242});
    for (unsigned omod = 1; omod < 4; ++omod) {
        inst.omod = static_cast<uint8_t>(omod);
        m.wave.mode = kDefaultModeBits;
        ASSERT_TRUE(m.run(inst));
        EXPECT_EQ(m.f(2, 3), 4.0f);
        m.wave.mode = 0x1c0;  // f32 denormals flushed, IEEE off
        ASSERT_TRUE(m.run(inst));
        EXPECT_EQ(m.f(2, 3), omod == 1 ? 8.0f : omod == 2 ? 16.0f : 2.0f);
    }
}

TEST(ValuResult, SixteenBitResultsZeroOrKeepTheOtherHalf) {
    Machine m;
    const auto fill = [&] {
        for (unsigned l = 0; l < kLanes; ++l) {
            m.set(1, l, 0x11112222u);
            m.set(2, l, 0x33334444u);
            m.set(3, l, 0x55556666u);
            m.set(4, l, 0xaaaabbbbu);
        }
    };
    fill();
    ASSERT_TRUE(m.run(make(Op::v_add_u16, Format::VOP2, 4, {v(1), v(2)})));
    EXPECT_EQ(m.u(4, 0), 0x00006666u);
    fill();
    ASSERT_TRUE(m.run(make(Op::v_mad_u16, Format::VOP3, 4, {v(1), v(2), v(3)})));
    EXPECT_EQ(m.u(4, 0), 0xaaaa0000u | ((0x2222u * 0x4444u + 0x6666u) & 0xffff));
    fill();
    ASSERT_TRUE(m.run(make(Op::v_mad_legacy_u16, Format::VOP3, 4, {v(1), v(2), v(3)})));
    EXPECT_EQ(m.u(4, 0), (0x2222u * 0x4444u + 0x6666u) & 0xffff);
    for (unsigned sel = 0; sel < 16; ++sel) {
        fill();
        Inst inst = make(Op::v_mad_u16, Format::VOP3, 4, {v(1), v(2), v(3)});
        inst.op_sel = static_cast<uint8_t>(sel);
        ASSERT_TRUE(m.run(inst));
        const uint32_t a = sel & 1 ? 0x1111 : 0x2222, b = sel & 2 ? 0x3333 : 0x4444, c = sel & 4 ? 0x5555 : 0x6666;
        const uint32_t r = (a * b + c) & 0xffff;
        EXPECT_EQ(m.u(4, 31), sel & 8 ? (r << 16) | 0xbbbb : 0xaaaa0000 | r) << sel;
    }
}

TEST(ValuMode, RelativeIndexingByM0) {
    Machine m;
    for (unsigned r = 0; r < 16; ++r) {
        for (unsigned l = 0; l < kLanes; ++l) m.set(r, l, 100u * r + l);
    }
    m.wave.mode |= 1u << 27;
    m.wave.m0 = 5 | (1u << 12);  // source 0 only
    ASSERT_TRUE(m.run(make(Op::v_mov_b32, Format::VOP1, 20, {v(2)})));
    EXPECT_EQ(m.u(20, 3), 703u);
    m.wave.m0 = 5 | (8u << 12);  // destination only
    ASSERT_TRUE(m.run(make(Op::v_mov_b32, Format::VOP1, 20, {v(2)})));
    EXPECT_EQ(m.u(25, 3), 203u);
    m.wave.m0 = 0xff | (0xfu << 12);  // past every register: nothing may be hit
    ASSERT_TRUE(m.run(make(Op::v_add_f64, Format::VOP3, 20, {v(2), v(4)})));
    EXPECT_TRUE(m.guard_intact());
}

TEST(ValuMode, RoundingDirections) {
    Machine m;
    const int host[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (unsigned mode = 0; mode < 16; ++mode) {
        m.wave.mode = (kDefaultModeBits & ~0xfu) | mode;
        for (unsigned l = 0; l < kLanes; ++l) {
            m.set(1, l, m.odd_f32());
            m.set(2, l, m.odd_f32());
            m.set64(4, l, m.odd_f64());
            m.set64(6, l, m.odd_f64());
            m.set(10, l, static_cast<float>(static_cast<int>(m.random() % 200000) - 100000) * 0.3717f);
        }
        ASSERT_TRUE(m.run(make(Op::v_add_f32, Format::VOP2, 3, {v(1), v(2)})));
        ASSERT_TRUE(m.run(make(Op::v_mul_f64, Format::VOP3, 8, {v(4), v(6)})));
        ASSERT_TRUE(m.run(make(Op::v_cvt_f16_f32, Format::VOP1, 11, {v(10)})));
        EXPECT_EQ(std::fegetround(), FE_TONEAREST);
        for (unsigned l = 0; l < kLanes; ++l) {
            std::fesetround(host[mode & 3]);
            volatile float a = m.f(1, l), b = m.f(2, l);
            volatile float sum = a + b;
            std::fesetround(host[mode >> 2]);
            volatile double x = m.d(4, l), y = m.d(6, l);
            volatile double product = x * y;
            std::fesetround(FE_TONEAREST);
            EXPECT_TRUE(same32(m.u(3, l), std::bit_cast<uint32_t>(float(sum)))) << mode;
            EXPECT_TRUE(same64(m.u64(8, l), std::bit_cast<uint64_t>(double(product)))) << mode;
            EXPECT_EQ(m.u(11, l), reference_half(m.f(10, l), std::signbit(m.f(10, l)), mode >> 2)) << mode << ' ' << m.f(10, l);
        }
    }
}

TEST(ValuMode, DenormalsAreFlushedWhereModeSaysSo) {
    Machine m;
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(1, l, 0x80000100u);  // denormal input
        m.set(2, l, 0x00800000u);  // smallest normal
        m.set64(4, l, 0x0000000000000100u);
        m.set(6, l, 0x0001u);
    }
    const uint32_t modes[] = {0x3f0, 0x300, 0x3d0, 0x3e0};  // both, neither, f32 inputs only, f32 outputs only
    for (const uint32_t mode : modes) {
        m.wave.mode = mode;
        const bool in = mode & 0x10, out = mode & 0x20;
        ASSERT_TRUE(m.run(make(Op::v_max_f32, Format::VOP2, 3, {v(1), v(1)})));
        EXPECT_EQ(m.u(3, 0), in && out ? 0x80000100u : 0x80000000u) << mode;
        ASSERT_TRUE(m.run(make(Op::v_mul_f32, Format::VOP2, 3, {v(2), 240})));  // times 0.5: a denormal result
        EXPECT_EQ(m.u(3, 0), out ? 0x00400000u : 0u) << mode;
        ASSERT_TRUE(m.run(make(Op::v_mov_b32, Format::VOP1, 3, {v(1)})));
        EXPECT_EQ(m.u(3, 0), 0x80000100u);  // moves never flush
        ASSERT_TRUE(m.run(make(Op::v_add_f64, Format::VOP3, 8, {v(4), 128})));
        EXPECT_EQ(m.u64(8, 0), (mode & 0xc0) == 0xc0 ? 0x100u : 0u) << mode;
        ASSERT_TRUE(m.run(make(Op::v_add_f16, Format::VOP2, 10, {v(6), 128})));
        EXPECT_EQ(m.u(10, 0), (mode & 0xc0) == 0xc0 ? 1u : 0u) << mode;
        ASSERT_TRUE(m.run(make(Op::v_mad_f32, Format::VOP3, 11, {v(1), 242, 128})));
        EXPECT_EQ(m.u(11, 0) & 0x7fffffff, 0u) << "v_mad_f32 flushes in every mode";
        ASSERT_TRUE(m.run(make(Op::v_fma_f32, Format::VOP3, 11, {v(1), 242, 128})));
        EXPECT_EQ(m.u(11, 0) & 0x7fffffff, in && out ? 0x100u : 0u) << mode;
    }
}

}  // namespace
}  // namespace lyra::gcn::test
