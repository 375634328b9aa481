// SPDX-License-Identifier: MIT
// f16: conversion, arithmetic against exact computation, packed and mixed-precision operations.
#include <gtest/gtest.h>

#include "gcn-interp/exec/valu_machine.h"

namespace lyra::gcn::test {
namespace {

TEST(ValuHalf, ConversionIsRoundedOnceFromAnyFloat) {
    Machine m;
    for (unsigned round = 0; round < 4; ++round) {
        m.wave.mode = (kDefaultModeBits & ~0xcu) | (round << 2);
        for (unsigned batch = 0; batch < 600; ++batch) {
            for (unsigned l = 0; l < kLanes; ++l) {
                // near an f16, a midpoint of two, or anywhere
                const uint32_t h = static_cast<uint32_t>(m.random()) & 0xffff;
                const double value = half_value(h), next = half_value(h ^ 1);
                const float near[] = {static_cast<float>(value), static_cast<float>((value + next) / 2),
                                      std::nextafterf(static_cast<float>((value + next) / 2), 1e9f),
                                      std::nextafterf(static_cast<float>(value), -1e9f)};
                m.set(1, l, batch % 2 ? near[m.random() % 4] : std::bit_cast<float>(m.odd_f32()));
            }
            ASSERT_TRUE(m.run(make(Op::v_cvt_f16_f32, Format::VOP1, 2, {v(1)})));
            for (unsigned l = 0; l < kLanes; ++l) {
                const float x = m.f(1, l);
                const uint32_t e = std::isinf(x) ? (x < 0 ? 0xfc00 : 0x7c00) : reference_half(x, std::signbit(x), round);
                ASSERT_TRUE(same16(m.u(2, l), e))
                    << std::hexfloat << x << " mode " << round << std::hex << ' ' << m.u(2, l) << ' ' << e;
            }
        }
    }
    m.wave.mode = kDefaultModeBits;
    for (unsigned h = 0; h < 0x10000; h += kLanes) {
        for (unsigned l = 0; l < kLanes; ++l) m.set(1, l, h + l);
        ASSERT_TRUE(m.run(make(Op::v_cvt_f32_f16, Format::VOP1, 2, {v(1)})));
        for (unsigned l = 0; l < kLanes; ++l) {
            ASSERT_TRUE(same32(m.u(2, l), std::bit_cast<uint32_t>(static_cast<float>(half_value(h + l))))) << std::hex << h + l;
        }
    }
}

TEST(ValuHalf, ArithmeticAgainstExactComputation) {
    Machine m;
    for (unsigned batch = 0; batch < 2000; ++batch) {
        m.wave.mode = (kDefaultModeBits & ~0xcu) | (batch % 4 << 2);
        const unsigned round = batch % 4;
        for (unsigned l = 0; l < kLanes; ++l) {
            for (unsigned r = 1; r < 4; ++r) m.set(r, l, m.odd_f16() | static_cast<uint32_t>(m.random() << 16));
        }
        struct Case {
            Op op;
            Format format;
            int kind;
        };
        for (const Case& c :
             {Case{Op::v_add_f16, Format::VOP2, 0}, Case{Op::v_sub_f16, Format::VOP2, 1}, Case{Op::v_mul_f16, Format::VOP2, 2},
              Case{Op::v_fma_f16, Format::VOP3, 3}, Case{Op::v_fma_legacy_f16, Format::VOP3, 3}}) {
            Inst inst = make(c.op, c.format, 4, {v(1), v(2)});
            if (c.kind == 3) inst.src[2] = v(3);
            ASSERT_TRUE(m.run(inst));
            for (unsigned l = 0; l < kLanes; ++l) {
                const double a = half_value(m.u(1, l) & 0xffff), b = half_value(m.u(2, l) & 0xffff),
                             d = half_value(m.u(3, l) & 0xffff);
                const double plain = c.kind == 0 ? a + b : c.kind == 1 ? a - b : c.kind == 2 ? a * b : std::fma(a, b, d);
                const Wide exact = c.kind == 0   ? Wide(a) + b
                                   : c.kind == 1 ? Wide(a) - b
                                   : c.kind == 2 ? Wide(a) * b
                                                 : Wide(a) * b + d;
                // The sign of an exact zero sum follows the rounding direction: not compared there.
                uint32_t got = m.u(4, l) & 0xffff;
                uint32_t e =
                    std::isinf(plain) ? (plain < 0 ? 0xfc00 : 0x7c00) : reference_half(exact, std::signbit(plain), round);
                if (exact == 0 && round == 2) got &= 0x7fff, e &= 0x7fff;
                ASSERT_TRUE(same16(got, e)) << info(c.op).name << ' ' << a << ' ' << b << ' ' << d << " mode " << round
                                            << std::hex << ' ' << got << ' ' << e;
            }
        }
    }
}

TEST(ValuHalf, FusedSumJustBelowATieIsNotRoundedTwice) {
    Machine m;
    // 2^-11 (1 - 2^-20) added to 1 + 2^-10: a rounding to f32 first would make it a tie, and the tie goes up.
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(1, l, reference_half(std::ldexp(1 + 0x1p-10, -6), false));
        m.set(2, l, reference_half(std::ldexp(1 - 0x1p-10, -5), false));
        m.set(3, l, 0x3c01u);
    }
    ASSERT_TRUE(m.run(make(Op::v_fma_f16, Format::VOP3, 4, {v(1), v(2), v(3)})));
    EXPECT_EQ(m.u(4, 0) & 0xffff, 0x3c01u);
}

TEST(ValuHalf, UnaryFunctions) {
    Machine m;
    for (unsigned h = 0; h < 0x10000; h += kLanes) {
        for (unsigned l = 0; l < kLanes; ++l) m.set(1, l, h + l);
        struct Case {
            Op op;
            double (*expected)(double);
            int ulps;
        };
        for (const Case& c : {Case{Op::v_sqrt_f16, [](double x) { return std::sqrt(x); }, 0},
                              Case{Op::v_rcp_f16, [](double x) { return 1 / x; }, 0},
                              Case{Op::v_floor_f16, [](double x) { return std::floor(x); }, 0},
                              Case{Op::v_ceil_f16, [](double x) { return std::ceil(x); }, 0},
                              Case{Op::v_trunc_f16, [](double x) { return std::trunc(x); }, 0},
                              Case{Op::v_rndne_f16, [](double x) { return std::nearbyint(x); }, 0},
                              Case{Op::v_exp_f16, [](double x) { return std::exp2(x); }, 1},
                              Case{Op::v_log_f16, [](double x) { return std::log2(x); }, 1},
                              Case{Op::v_rsq_f16, [](double x) { return 1 / std::sqrt(x); }, 1}}) {
            ASSERT_TRUE(m.run(make(c.op, Format::VOP1, 2, {v(1)})));
            for (unsigned l = 0; l < kLanes; ++l) {
                const double r = c.expected(half_value(h + l));
                const uint32_t e = std::isinf(r) ? (r < 0 ? 0xfc00 : 0x7c00) : reference_half(r, std::signbit(r));
                const int distance = std::abs(static_cast<int>(m.u(2, l)) - static_cast<int>(e));
                ASSERT_TRUE(same16(m.u(2, l), e) || distance <= c.ulps)
                    << info(c.op).name << ' ' << half_value(h + l) << std::hex << ' ' << m.u(2, l) << ' ' << e;
            }
        }
    }
}

TEST(ValuPacked, HalvesAreChosenByOpSel) {
    Machine m;
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(1, l, static_cast<uint32_t>(m.random()));
        m.set(2, l, static_cast<uint32_t>(m.random()));
        m.set(3, l, static_cast<uint32_t>(m.random()));
    }
    for (unsigned code = 0; code < 64; ++code) {
        Inst inst = make(Op::v_pk_mad_u16, Format::VOP3P, 4, {v(1), v(2), v(3)});
        inst.op_sel = code & 7;
        inst.op_sel_hi = static_cast<uint8_t>(code >> 3);
        ASSERT_TRUE(m.run(inst));
        for (unsigned l = 0; l < kLanes; ++l) {
            uint32_t e = 0;
            for (unsigned half = 0; half < 2; ++half) {
                const auto pick = [&](unsigned n) {
                    return (m.u(1 + n, l) >> ((code >> (3 * half + n)) & 1 ? 16 : 0)) & 0xffff;
                };
                e |= ((pick(0) * pick(1) + pick(2)) & 0xffff) << (16 * half);
            }
            ASSERT_EQ(m.u(4, l), e) << code;
        }
    }
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(1, l, 0xc0003c00u);  // -2, 1
        m.set(2, l, 0x42004400u);  // 3, 4
    }
    Inst add = make(Op::v_pk_add_f16, Format::VOP3P, 4, {v(1), v(2)});
    add.op_sel_hi = 3;
    add.neg = 1;
    add.neg_hi = 2;
    ASSERT_TRUE(m.run(add));
    EXPECT_EQ(half_value(m.u(4, 7) & 0xffff), -1.0 + 4.0);
    EXPECT_EQ(half_value(m.u(4, 7) >> 16), -2.0 - 3.0);
    Inst constant = make(Op::v_pk_mul_f16, Format::VOP3P, 4, {v(1), 244});  // 2.0 sits in the low half only
    constant.op_sel_hi = 1;
    ASSERT_TRUE(m.run(constant));
    EXPECT_EQ(half_value(m.u(4, 7) & 0xffff), 2.0);
    EXPECT_EQ(half_value(m.u(4, 7) >> 16), -4.0);
    Inst saturating = make(Op::v_pk_add_u16, Format::VOP3P, 4, {v(2), v(1)});
    saturating.op_sel_hi = 3;
    saturating.clamp = true;
    ASSERT_TRUE(m.run(saturating));
    EXPECT_EQ(m.u(4, 0), 0xffff8000u);
}

TEST(ValuPacked, MixedMultiplyAddReadsHalvesOrFloats) {
    Machine m;
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(1, l, 0x42004000u);  // 3.0 | 2.0
        m.set(2, l, 0.1f);
        m.set(3, l, 1000.0f);
        m.set(5, l, 0x77778888u);
    }
    Inst inst = make(Op::v_mad_mix_f32, Format::VOP3P, 4, {v(1), v(2), v(3)});
    inst.op_sel_hi = 1;
    inst.op_sel = 1;
    ASSERT_TRUE(m.run(inst));
    EXPECT_EQ(m.f(4, 0), static_cast<float>(3.0f * 0.1f) + 1000.0f);
    inst.neg = 4;
    inst.op_sel = 0;
    ASSERT_TRUE(m.run(inst));
    EXPECT_EQ(m.f(4, 0), static_cast<float>(2.0f * 0.1f) - 1000.0f);
    inst.neg_hi = 4;  // abs of source 2, then neg
    for (unsigned l = 0; l < kLanes; ++l) m.set(3, l, -1000.0f);
    ASSERT_TRUE(m.run(inst));
    EXPECT_EQ(m.f(4, 0), static_cast<float>(2.0f * 0.1f) - 1000.0f);
    for (const Op op : {Op::v_mad_mixlo_f16, Op::v_mad_mixhi_f16}) {
        for (unsigned l = 0; l < kLanes; ++l) m.set(5, l, 0x77778888u);
        Inst part = make(op, Format::VOP3P, 5, {v(1), v(1), 128});
        part.op_sel_hi = 3;
        part.op_sel = 2;
        ASSERT_TRUE(m.run(part));
        EXPECT_EQ(m.u(5, 3), op == Op::v_mad_mixlo_f16 ? 0x77774600u : 0x46008888u);
    }
}

}  // namespace
}  // namespace lyra::gcn::test
