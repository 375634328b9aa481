// SPDX-License-Identifier: MIT
// Results of vector arithmetic against independent scalar computations: IEEE division, f16 in exact arithmetic, conversions, integers.
#include <gtest/gtest.h>

#include "gcn-interp/exec/valu_machine.h"

namespace lyra::gcn::test {
namespace {

/// The sequence compilers emit for a float division. @source LLVM AMDGPU LowerFDIV32
void divide_f32(Machine& m) {  // v3 = v1 / v2
    const auto fma = [&](uint16_t d, uint16_t a, uint16_t b, uint16_t c, uint8_t neg = 0) {
        Inst i = make(Op::v_fma_f32, Format::VOP3, d, {a, b, c});
        i.neg = neg;
        ASSERT_TRUE(m.run(i));
    };
    Inst den = make(Op::v_div_scale_f32, Format::VOP3, 10, {v(2), v(2), v(1)});
    den.sdst = 50;
    ASSERT_TRUE(m.run(den));
    ASSERT_TRUE(m.run(make(Op::v_div_scale_f32, Format::VOP3, 11, {v(1), v(2), v(1)})));
    ASSERT_TRUE(m.run(make(Op::v_rcp_f32, Format::VOP1, 12, {v(10)})));
    fma(13, v(10), v(12), 242, 1);
    fma(14, v(13), v(12), v(12));
    ASSERT_TRUE(m.run(make(Op::v_mul_f32, Format::VOP2, 15, {v(11), v(14)})));
    fma(16, v(10), v(15), v(11), 1);
    fma(17, v(16), v(14), v(15));
    fma(18, v(10), v(17), v(11), 1);
    ASSERT_TRUE(m.run(make(Op::v_div_fmas_f32, Format::VOP3, 19, {v(18), v(14), v(17)})));
    ASSERT_TRUE(m.run(make(Op::v_div_fixup_f32, Format::VOP3, 3, {v(19), v(2), v(1)})));
}

TEST(ValuDivision, F32SequenceGivesTheIeeeQuotient) {
    Machine m;
    uint64_t wrong = 0, ordinary = 0;
    for (unsigned round = 0; round < 24000; ++round) {
        for (unsigned l = 0; l < kLanes; ++l) {
            const bool plain = round % 4 == 0;  // operands of ordinary size
            m.set(1, l, plain ? static_cast<uint32_t>(0x3f000000 + m.random() % 0x2000000) : m.odd_f32());
            m.set(2, l, plain ? static_cast<uint32_t>(0x3f000000 + m.random() % 0x2000000) : m.odd_f32());
            if (round % 8 == 1) m.set(1, l, m.u(1, l) & 0x807fffffu);
            if (round % 8 == 2) m.set(2, l, m.u(2, l) & 0x807fffffu);
            if (round % 8 == 3) {  // denormal quotients
                m.set(1, l, static_cast<uint32_t>((m.random() & 0x807fffff) | (m.random() % 60 << 23)));
                m.set(2, l, static_cast<uint32_t>((m.random() & 0x807fffff) | ((100 + m.random() % 100) << 23)));
            }
        }
        divide_f32(m);
        for (unsigned l = 0; l < kLanes; ++l) {
            const float expected = m.f(1, l) / m.f(2, l);
            ordinary += std::isnormal(expected);
            if (same32(m.u(3, l), std::bit_cast<uint32_t>(expected))) continue;
            if (++wrong < 10) {
                ADD_FAILURE() << std::hexfloat << m.f(1, l) << " / " << m.f(2, l) << " = " << m.f(3, l) << ", not " << expected;
            }
        }
    }
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(ordinary, 500000u);
}

/// @source LLVM AMDGPU LowerFDIV64
void divide_f64(Machine& m) {  // v[6:7] = v[2:3] / v[4:5]
    const auto fma = [&](uint16_t d, uint16_t a, uint16_t b, uint16_t c, uint8_t neg = 0) {
        Inst i = make(Op::v_fma_f64, Format::VOP3, d, {a, b, c});
        i.neg = neg;
        ASSERT_TRUE(m.run(i));
    };
    Inst den = make(Op::v_div_scale_f64, Format::VOP3, 10, {v(4), v(4), v(2)});
    den.sdst = 50;
    ASSERT_TRUE(m.run(den));
    ASSERT_TRUE(m.run(make(Op::v_rcp_f64, Format::VOP1, 12, {v(10)})));
    fma(14, v(10), v(12), 242, 1);
    fma(16, v(12), v(14), v(12));
    fma(18, v(10), v(16), 242, 1);
    ASSERT_TRUE(m.run(make(Op::v_div_scale_f64, Format::VOP3, 20, {v(2), v(4), v(2)})));
    fma(22, v(16), v(18), v(16));
    ASSERT_TRUE(m.run(make(Op::v_mul_f64, Format::VOP3, 24, {v(20), v(22)})));
    fma(26, v(10), v(24), v(20), 1);
    ASSERT_TRUE(m.run(make(Op::v_div_fmas_f64, Format::VOP3, 28, {v(26), v(22), v(24)})));
    ASSERT_TRUE(m.run(make(Op::v_div_fixup_f64, Format::VOP3, 6, {v(28), v(4), v(2)})));
}

TEST(ValuDivision, F64SequenceGivesTheIeeeQuotient) {
    Machine m;
    uint64_t wrong = 0, ordinary = 0;
    for (unsigned round = 0; round < 20000; ++round) {
        for (unsigned l = 0; l < kLanes; ++l) {
            m.set64(2, l, m.odd_f64());
            m.set64(4, l, m.odd_f64());
            if (round % 4 == 0) {
                m.set64(2, l, 0x3fe0000000000000 + m.random() % 0x0040000000000000);
                m.set64(4, l, 0x3fe0000000000000 + m.random() % 0x0040000000000000);
            }
            if (round % 8 == 1) m.set64(2, l, m.u64(2, l) & 0x800fffffffffffff);
            if (round % 8 == 2) m.set64(4, l, m.u64(4, l) & 0x800fffffffffffff);
            if (round % 8 == 3) {
                m.set64(2, l, (m.random() & 0x800fffffffffffff) | (m.random() % 200 << 52));
                m.set64(4, l, (m.random() & 0x800fffffffffffff) | ((900 + m.random() % 400) << 52));
            }
        }
        divide_f64(m);
        for (unsigned l = 0; l < kLanes; ++l) {
            const double expected = m.d(2, l) / m.d(4, l);
            ordinary += std::isnormal(expected);
            if (same64(m.u64(6, l), std::bit_cast<uint64_t>(expected))) continue;
            if (++wrong < 10) {
                ADD_FAILURE() << std::hexfloat << m.d(2, l) << " / " << m.d(4, l) << " = " << m.d(6, l) << ", not " << expected;
            }
        }
    }
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(ordinary, 400000u);
}

TEST(ValuArithmetic, F32AndF64BasicOperations) {
    Machine m;
    for (unsigned round = 0; round < 300; ++round) {
        for (unsigned l = 0; l < kLanes; ++l) {
            for (unsigned r = 1; r < 4; ++r) m.set(r, l, m.odd_f32());
            for (unsigned r = 4; r < 10; r += 2) m.set64(r, l, m.odd_f64());
        }
        struct Case32 { Op op; Format format; float (*expected)(float, float, float); };
        const Case32 cases32[] = {
            {Op::v_add_f32, Format::VOP2, [](float a, float b, float) { return a + b; }},
            {Op::v_sub_f32, Format::VOP2, [](float a, float b, float) { return a - b; }},
            {Op::v_subrev_f32, Format::VOP2, [](float a, float b, float) { return b - a; }},
            {Op::v_mul_f32, Format::VOP2, [](float a, float b, float) { return a * b; }},
            {Op::v_mul_legacy_f32, Format::VOP2, [](float a, float b, float) { return a == 0 || b == 0 ? 0.0f : a * b; }},
            {Op::v_fma_f32, Format::VOP3, [](float a, float b, float c) { return std::fma(a, b, c); }},
        };
        for (const Case32& c : cases32) {
            Inst inst = make(c.op, c.format, 20, {v(1), v(2)});
            if (c.format == Format::VOP3) inst.src[2] = v(3);
            ASSERT_TRUE(m.run(inst));
            for (unsigned l = 0; l < kLanes; ++l) {
                const float e = c.expected(m.f(1, l), m.f(2, l), m.f(3, l));
                ASSERT_TRUE(same32(m.u(20, l), std::bit_cast<uint32_t>(e))) << info(c.op).name << std::hexfloat << m.f(1, l) << ' ' << m.f(2, l);
            }
        }
        struct Case64 { Op op; double (*expected)(double, double, double); };
        const Case64 cases64[] = {
            {Op::v_add_f64, [](double a, double b, double) { return a + b; }},
            {Op::v_mul_f64, [](double a, double b, double) { return a * b; }},
            {Op::v_fma_f64, [](double a, double b, double c) { return std::fma(a, b, c); }},
        };
        for (const Case64& c : cases64) {
            Inst inst = make(c.op, Format::VOP3, 20, {v(4), v(6)});
            if (info(c.op).profile->sources() == 3) inst.src[2] = v(8);
            ASSERT_TRUE(m.run(inst));
            for (unsigned l = 0; l < kLanes; ++l) {
                const double e = c.expected(m.d(4, l), m.d(6, l), m.d(8, l));
                ASSERT_TRUE(same64(m.u64(20, l), std::bit_cast<uint64_t>(e))) << info(c.op).name;
            }
        }
    }
}

TEST(ValuArithmetic, MadRoundsTwiceAndFmaOnce) {
    Machine m;
    const float a = 1.1f, c = -1.2f;
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(1, l, a);
        m.set(2, l, c);
        m.set(3, l, c);
    }
    volatile float product = a * a;
    const float twice = product + c, once = std::fma(a, a, c);
    ASSERT_NE(twice, once);
    ASSERT_TRUE(m.run(make(Op::v_mad_f32, Format::VOP3, 4, {v(1), v(1), v(2)})));
    ASSERT_TRUE(m.run(make(Op::v_fma_f32, Format::VOP3, 5, {v(1), v(1), v(2)})));
    ASSERT_TRUE(m.run(make(Op::v_mac_f32, Format::VOP2, 3, {v(1), v(1)})));
    Inst madak = make(Op::v_madak_f32, Format::VOP2, 6, {v(1), v(1)});
    madak.literal = std::bit_cast<uint32_t>(c);
    ASSERT_TRUE(m.run(madak));
    Inst madmk = make(Op::v_madmk_f32, Format::VOP2, 7, {v(1), v(2)});
    madmk.literal = std::bit_cast<uint32_t>(a);
    ASSERT_TRUE(m.run(madmk));
    EXPECT_EQ(m.f(4, 0), twice);
    EXPECT_EQ(m.f(5, 0), once);
    EXPECT_EQ(m.f(3, 0), twice);
    EXPECT_EQ(m.f(6, 0), twice);
    EXPECT_EQ(m.f(7, 0), twice);
}

TEST(ValuMinMax, NanAndZeroRules) {
    Machine m;
    const uint32_t quiet = 0x7fc00001, signaling = 0x7f800001, one = 0x3f800000, two = 0x40000000, pz = 0, nz = 0x80000000;
    struct Case { uint32_t a, b, min, max; };
    const Case ieee[] = {{one, two, one, two}, {two, one, one, two}, {quiet, one, one, one}, {one, quiet, one, one}, {quiet, quiet + 1, quiet + 1, quiet + 1},
                         {signaling, one, 0x7fc00001, 0x7fc00001}, {one, signaling, 0x7fc00001, 0x7fc00001},
                         {pz, nz, nz, pz}, {nz, pz, nz, pz}, {0xff800000, 0x7f800000, 0xff800000, 0x7f800000}};
    for (const Case& c : ieee) {
        for (unsigned l = 0; l < kLanes; ++l) {
            m.set(1, l, c.a);
            m.set(2, l, c.b);
            const auto widen = [](uint32_t x) { return (uint64_t{x & 0x80000000} << 32) | ((x & 0x7fffffff) >= 0x7f800000 ? 0x7ff0000000000000u : uint64_t{0}) |
                                                       ((x & 0x7fffffff) != 0 && (x & 0x7fffffff) < 0x7f800000 ? uint64_t{0x380} << 52 : 0); };
            const auto wide = [&](uint32_t x) { return ((x & 0x7fffffff) == 0 || (x & 0x7fffffff) >= 0x7f800000)
                                                            ? widen(x) | (uint64_t{x & 0x7fffff} << 29)
                                                            : (uint64_t{x & 0x80000000} << 32) | ((uint64_t{x & 0x7fffffff} << 29) + (uint64_t{0x380} << 52)); };
            m.set64(4, l, wide(c.a));
            m.set64(6, l, wide(c.b));
        }
        ASSERT_TRUE(m.run(make(Op::v_min_f32, Format::VOP2, 10, {v(1), v(2)})));
        ASSERT_TRUE(m.run(make(Op::v_max_f32, Format::VOP2, 11, {v(1), v(2)})));
        ASSERT_TRUE(m.run(make(Op::v_min_f64, Format::VOP3, 12, {v(4), v(6)})));
        ASSERT_TRUE(m.run(make(Op::v_max_f64, Format::VOP3, 14, {v(4), v(6)})));
        EXPECT_EQ(m.u(10, 8), c.min) << std::hex << c.a << ' ' << c.b;
        EXPECT_EQ(m.u(11, 8), c.max) << std::hex << c.a << ' ' << c.b;
        const auto narrow = [&](unsigned reg) { return std::bit_cast<uint32_t>(static_cast<float>(m.d(reg, 8))); };
        EXPECT_TRUE(same32(narrow(12), c.min)) << std::hex << c.a << ' ' << c.b;
        EXPECT_TRUE(same32(narrow(14), c.max)) << std::hex << c.a << ' ' << c.b;
    }
    m.wave.mode &= ~0x200u;  // without IEEE a signaling NaN is a NaN like any other
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(1, l, signaling);
        m.set(2, l, one);
    }
    ASSERT_TRUE(m.run(make(Op::v_min_f32, Format::VOP2, 10, {v(1), v(2)})));
    EXPECT_EQ(m.u(10, 0), one);
    m.wave.mode = kDefaultModeBits;
    const float order[][3] = {{1, 2, 3}, {3, 2, 1}, {2, 3, 1}, {2, 1, 3}, {1, 3, 2}, {3, 1, 2}};
    for (const auto& o : order) {
        for (unsigned l = 0; l < kLanes; ++l) {
            for (unsigned r = 0; r < 3; ++r) m.set(1 + r, l, o[r]);
        }
        ASSERT_TRUE(m.run(make(Op::v_med3_f32, Format::VOP3, 10, {v(1), v(2), v(3)})));
        ASSERT_TRUE(m.run(make(Op::v_min3_f32, Format::VOP3, 11, {v(1), v(2), v(3)})));
        ASSERT_TRUE(m.run(make(Op::v_max3_f32, Format::VOP3, 12, {v(1), v(2), v(3)})));
        EXPECT_EQ(m.f(10, 1), 2.0f);
        EXPECT_EQ(m.f(11, 1), 1.0f);
        EXPECT_EQ(m.f(12, 1), 3.0f);
    }
    for (unsigned l = 0; l < kLanes; ++l) m.set(1, l, quiet);  // median with a NaN is the minimum of the others
    ASSERT_TRUE(m.run(make(Op::v_med3_f32, Format::VOP3, 10, {v(1), v(2), v(3)})));
    EXPECT_EQ(m.f(10, 1), 1.0f);
}

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
                ASSERT_TRUE(same16(m.u(2, l), e)) << std::hexfloat << x << " mode " << round << std::hex << ' ' << m.u(2, l) << ' ' << e;
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
        struct Case { Op op; Format format; int kind; };
        for (const Case& c : {Case{Op::v_add_f16, Format::VOP2, 0}, Case{Op::v_sub_f16, Format::VOP2, 1}, Case{Op::v_mul_f16, Format::VOP2, 2},
                              Case{Op::v_fma_f16, Format::VOP3, 3}, Case{Op::v_fma_legacy_f16, Format::VOP3, 3}}) {
            Inst inst = make(c.op, c.format, 4, {v(1), v(2)});
            if (c.kind == 3) inst.src[2] = v(3);
            ASSERT_TRUE(m.run(inst));
            for (unsigned l = 0; l < kLanes; ++l) {
                const double a = half_value(m.u(1, l) & 0xffff), b = half_value(m.u(2, l) & 0xffff), d = half_value(m.u(3, l) & 0xffff);
                const double plain = c.kind == 0 ? a + b : c.kind == 1 ? a - b : c.kind == 2 ? a * b : std::fma(a, b, d);
                const Wide exact = c.kind == 0 ? Wide(a) + b : c.kind == 1 ? Wide(a) - b : c.kind == 2 ? Wide(a) * b : Wide(a) * b + d;
                // The sign of an exact zero sum follows the rounding direction: not compared there.
                uint32_t got = m.u(4, l) & 0xffff;
                uint32_t e = std::isinf(plain) ? (plain < 0 ? 0xfc00 : 0x7c00) : reference_half(exact, std::signbit(plain), round);
                if (exact == 0 && round == 2) got &= 0x7fff, e &= 0x7fff;
                ASSERT_TRUE(same16(got, e)) << info(c.op).name << ' ' << a << ' ' << b << ' ' << d << " mode " << round << std::hex << ' ' << got << ' ' << e;
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
        struct Case { Op op; double (*expected)(double); int ulps; };
        for (const Case& c : {Case{Op::v_sqrt_f16, [](double x) { return std::sqrt(x); }, 0}, Case{Op::v_rcp_f16, [](double x) { return 1 / x; }, 0},
                              Case{Op::v_floor_f16, [](double x) { return std::floor(x); }, 0}, Case{Op::v_ceil_f16, [](double x) { return std::ceil(x); }, 0},
                              Case{Op::v_trunc_f16, [](double x) { return std::trunc(x); }, 0},
                              Case{Op::v_rndne_f16, [](double x) { return std::nearbyint(x); }, 0},
                              Case{Op::v_exp_f16, [](double x) { return std::exp2(x); }, 1}, Case{Op::v_log_f16, [](double x) { return std::log2(x); }, 1},
                              Case{Op::v_rsq_f16, [](double x) { return 1 / std::sqrt(x); }, 1}}) {
            ASSERT_TRUE(m.run(make(c.op, Format::VOP1, 2, {v(1)})));
            for (unsigned l = 0; l < kLanes; ++l) {
                const double r = c.expected(half_value(h + l));
                const uint32_t e = std::isinf(r) ? (r < 0 ? 0xfc00 : 0x7c00) : reference_half(r, std::signbit(r));
                const int distance = std::abs(static_cast<int>(m.u(2, l)) - static_cast<int>(e));
                ASSERT_TRUE(same16(m.u(2, l), e) || distance <= c.ulps) << info(c.op).name << ' ' << half_value(h + l) << std::hex << ' ' << m.u(2, l) << ' ' << e;
            }
        }
    }
}

TEST(ValuConvert, FloatsToIntegersTruncateAndSaturate) {
    Machine m;
    const double in[] = {0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 2147483647.0, 2147483648.0, -2147483648.0, -2147483649.0,
                         4294967295.0, 4294967296.0, 1e30, -1e30, INFINITY, -INFINITY, NAN, 3000000000.0, 5e-324, 16777217.0};
    const auto i32 = [](double x) { return std::isnan(x) ? 0 : x >= 2147483648.0 ? INT32_MAX : x <= -2147483649.0 ? INT32_MIN : static_cast<int32_t>(x); };
    const auto u32 = [](double x) { return std::isnan(x) || x <= 0 ? 0u : x >= 4294967296.0 ? UINT32_MAX : static_cast<uint32_t>(static_cast<uint64_t>(x)); };
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(2, l, in[l % 20]);
        m.set(4, l, static_cast<float>(in[l % 20]));
    }
    ASSERT_TRUE(m.run(make(Op::v_cvt_i32_f64, Format::VOP1, 10, {v(2)})));
    ASSERT_TRUE(m.run(make(Op::v_cvt_u32_f64, Format::VOP1, 11, {v(2)})));
    ASSERT_TRUE(m.run(make(Op::v_cvt_i32_f32, Format::VOP1, 12, {v(4)})));
    ASSERT_TRUE(m.run(make(Op::v_cvt_u32_f32, Format::VOP1, 13, {v(4)})));
    ASSERT_TRUE(m.run(make(Op::v_cvt_flr_i32_f32, Format::VOP1, 14, {v(4)})));
    ASSERT_TRUE(m.run(make(Op::v_cvt_rpi_i32_f32, Format::VOP1, 15, {v(4)})));
    for (unsigned l = 0; l < 20; ++l) {
        const double narrow = static_cast<float>(in[l]);
        EXPECT_EQ(static_cast<int32_t>(m.u(10, l)), i32(in[l])) << in[l];
        EXPECT_EQ(m.u(11, l), u32(in[l])) << in[l];
        EXPECT_EQ(static_cast<int32_t>(m.u(12, l)), i32(narrow)) << narrow;
        EXPECT_EQ(m.u(13, l), u32(narrow)) << narrow;
        EXPECT_EQ(static_cast<int32_t>(m.u(14, l)), i32(std::floor(narrow))) << narrow;
        EXPECT_EQ(static_cast<int32_t>(m.u(15, l)), i32(std::floor(narrow + 0.5))) << narrow;
    }
}

TEST(ValuConvert, IntegersToFloats) {
    Machine m;
    for (unsigned round = 0; round < 50; ++round) {
        for (unsigned l = 0; l < kLanes; ++l) m.set(1, l, static_cast<uint32_t>(m.random()));
        ASSERT_TRUE(m.run(make(Op::v_cvt_f32_i32, Format::VOP1, 2, {v(1)})));
        ASSERT_TRUE(m.run(make(Op::v_cvt_f32_u32, Format::VOP1, 3, {v(1)})));
        ASSERT_TRUE(m.run(make(Op::v_cvt_f64_i32, Format::VOP1, 4, {v(1)})));
        ASSERT_TRUE(m.run(make(Op::v_cvt_f64_u32, Format::VOP1, 6, {v(1)})));
        ASSERT_TRUE(m.run(make(Op::v_cvt_f32_ubyte2, Format::VOP1, 8, {v(1)})));
        ASSERT_TRUE(m.run(make(Op::v_cvt_off_f32_i4, Format::VOP1, 9, {v(1)})));
        for (unsigned l = 0; l < kLanes; ++l) {
            const uint32_t x = m.u(1, l);
            EXPECT_EQ(m.f(2, l), static_cast<float>(static_cast<int32_t>(x)));
            EXPECT_EQ(m.f(3, l), static_cast<float>(x));
            EXPECT_EQ(m.d(4, l), static_cast<double>(static_cast<int32_t>(x)));
            EXPECT_EQ(m.d(6, l), static_cast<double>(x));
            EXPECT_EQ(m.f(8, l), static_cast<float>((x >> 16) & 0xff));
            EXPECT_EQ(m.f(9, l), static_cast<float>((x & 8 ? static_cast<int>(x & 15) - 16 : static_cast<int>(x & 15)) / 16.0));
        }
    }
}

TEST(ValuConvert, Packing) {
    Machine m;
    const float in[] = {0.0f, 1.0f, -1.0f, 0.5f, -0.5f, 2.0f, -7.0f, NAN, 65504.0f, 65535.0f, 1e9f, 0x1p-24f, 0x1.8p-24f, 0.1f, 300.0f, 3.9f};
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(1, l, in[l % 16]);
        m.set(2, l, in[(l + 1) % 16]);
        m.set(3, l, 0x44332211u);
    }
    ASSERT_TRUE(m.run(make(Op::v_cvt_pkrtz_f16_f32, Format::VOP3, 10, {v(1), v(2)})));
    ASSERT_TRUE(m.run(make(Op::v_cvt_pknorm_i16_f32, Format::VOP3, 11, {v(1), v(2)})));
    ASSERT_TRUE(m.run(make(Op::v_cvt_pknorm_u16_f32, Format::VOP3, 12, {v(1), v(2)})));
    ASSERT_TRUE(m.run(make(Op::v_cvt_pk_u8_f32, Format::VOP3, 13, {v(1), 130, v(3)})));
    for (unsigned l = 0; l < 16; ++l) {
        const float a = in[l], b = in[(l + 1) % 16];
        EXPECT_TRUE(same16(m.u(10, l) & 0xffff, reference_half(a, std::signbit(a), 3))) << a;
        EXPECT_TRUE(same16(m.u(10, l) >> 16, reference_half(b, std::signbit(b), 3))) << b;
        const auto snorm = [](float x) { return static_cast<uint16_t>(std::isnan(x) ? 0 : std::lrint(std::clamp(x, -1.0f, 1.0f) * 32767.0)); };
        const auto unorm = [](float x) { return static_cast<uint16_t>(std::isnan(x) ? 0 : std::lrint(std::clamp(x, 0.0f, 1.0f) * 65535.0)); };
        EXPECT_EQ(m.u(11, l), snorm(a) | (uint32_t{snorm(b)} << 16)) << a << ' ' << b;
        EXPECT_EQ(m.u(12, l), unorm(a) | (uint32_t{unorm(b)} << 16)) << a << ' ' << b;
        const uint32_t byte = std::isnan(a) || a < 0 ? 0 : a > 255 ? 255 : static_cast<uint32_t>(a);
        EXPECT_EQ(m.u(13, l), 0x44002211u | (byte << 16)) << a;
    }
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(1, l, l % 2 ? 0x12345u : 0x1234u);
        m.set(2, l, l % 2 ? 0xffff0000u : 0x8000u);
    }
    ASSERT_TRUE(m.run(make(Op::v_cvt_pk_u16_u32, Format::VOP3, 10, {v(1), v(2)})));
    ASSERT_TRUE(m.run(make(Op::v_cvt_pk_i16_i32, Format::VOP3, 11, {v(1), v(2)})));
    EXPECT_EQ(m.u(10, 0), 0x80001234u);
    EXPECT_EQ(m.u(10, 1), 0xffffffffu);
    EXPECT_EQ(m.u(11, 0), 0x7fff1234u);
    EXPECT_EQ(m.u(11, 1), 0x80007fffu);
    for (unsigned l = 0; l < kLanes; ++l) m.set(1, l, 0xff80012cu);
    ASSERT_TRUE(m.run(make(Op::v_sat_pk_u8_i16, Format::VOP1, 10, {v(1)})));
    EXPECT_EQ(m.u(10, 0), 0x00ffu);
}

TEST(ValuInteger, ThreeOperandForms) {
    Machine m;
    for (unsigned round = 0; round < 200; ++round) {
        for (unsigned l = 0; l < kLanes; ++l) {
            for (unsigned r = 1; r < 4; ++r) m.set(r, l, static_cast<uint32_t>(m.random()));
            if (l % 4 == 0) m.set(3, l, m.u(3, l) & 63);
        }
        using F = uint32_t (*)(uint32_t, uint32_t, uint32_t);
        struct Case { Op op; F expected; };
        const Case cases[] = {
            {Op::v_bfe_u32, [](uint32_t a, uint32_t b, uint32_t c) { uint32_t r = 0; for (unsigned i = 0; i < c % 32 && b % 32 + i < 32; ++i) r |= ((a >> (b % 32 + i)) & 1) << i; return r; }},
            {Op::v_bfi_b32, [](uint32_t a, uint32_t b, uint32_t c) { uint32_t r = 0; for (unsigned i = 0; i < 32; ++i) r |= (((a >> i) & 1 ? b : c) >> i & 1) << i; return r; }},
            {Op::v_alignbit_b32, [](uint32_t a, uint32_t b, uint32_t c) { return c % 32 == 0 ? b : (b >> (c % 32)) | (a << (32 - c % 32)); }},
            {Op::v_alignbyte_b32, [](uint32_t a, uint32_t b, uint32_t c) { return c % 4 == 0 ? b : (b >> (c % 4 * 8)) | (a << (32 - c % 4 * 8)); }},
            {Op::v_lshl_add_u32, [](uint32_t a, uint32_t b, uint32_t c) { return (a << (b % 32)) + c; }},
            {Op::v_add_lshl_u32, [](uint32_t a, uint32_t b, uint32_t c) { return (a + b) << (c % 32); }},
            {Op::v_add3_u32, [](uint32_t a, uint32_t b, uint32_t c) { return a + b + c; }},
            {Op::v_lshl_or_b32, [](uint32_t a, uint32_t b, uint32_t c) { return (a << (b % 32)) | c; }},
            {Op::v_and_or_b32, [](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; }},
            {Op::v_or3_b32, [](uint32_t a, uint32_t b, uint32_t c) { return a | b | c; }},
            {Op::v_xad_u32, [](uint32_t a, uint32_t b, uint32_t c) { return (a ^ b) + c; }},
            {Op::v_min3_u32, [](uint32_t a, uint32_t b, uint32_t c) { return std::min({a, b, c}); }},
            {Op::v_max3_i32, [](uint32_t a, uint32_t b, uint32_t c) { return uint32_t(std::max({int32_t(a), int32_t(b), int32_t(c)})); }},
            {Op::v_med3_u32, [](uint32_t a, uint32_t b, uint32_t c) { uint32_t x[] = {a, b, c}; std::sort(x, x + 3); return x[1]; }},
            {Op::v_med3_i32, [](uint32_t a, uint32_t b, uint32_t c) { int32_t x[] = {int32_t(a), int32_t(b), int32_t(c)}; std::sort(x, x + 3); return uint32_t(x[1]); }},
            {Op::v_mad_u32_u24, [](uint32_t a, uint32_t b, uint32_t c) { return uint32_t((a % 0x1000000) * uint64_t(b % 0x1000000) + c); }},
            {Op::v_mad_u32_u16, [](uint32_t a, uint32_t b, uint32_t c) { return uint32_t((a % 0x10000) * uint64_t(b % 0x10000) + c); }},
            {Op::v_sad_u32, [](uint32_t a, uint32_t b, uint32_t c) { return (a > b ? a - b : b - a) + c; }},
            {Op::v_sad_u8, [](uint32_t a, uint32_t b, uint32_t c) { for (int i = 0; i < 4; ++i) c += uint32_t(std::abs(int(a >> 8 * i & 255) - int(b >> 8 * i & 255))); return c; }},
            {Op::v_sad_u16, [](uint32_t a, uint32_t b, uint32_t c) { for (int i = 0; i < 2; ++i) c += uint32_t(std::abs(int(a >> 16 * i & 65535) - int(b >> 16 * i & 65535))); return c; }},
            {Op::v_lerp_u8, [](uint32_t a, uint32_t b, uint32_t c) { uint32_t r = 0; for (int i = 0; i < 32; i += 8) r |= (((a >> i & 255) + (b >> i & 255) + (c >> i & 1)) / 2) << i; return r; }},
            {Op::v_perm_b32, [](uint32_t a, uint32_t b, uint32_t c) {
                 const uint8_t bytes[8] = {uint8_t(b), uint8_t(b >> 8), uint8_t(b >> 16), uint8_t(b >> 24), uint8_t(a), uint8_t(a >> 8), uint8_t(a >> 16), uint8_t(a >> 24)};
                 uint32_t r = 0;
                 for (int i = 0; i < 4; ++i) {
                     const unsigned s = c >> 8 * i & 255;
                     const uint8_t x = s < 8 ? bytes[s] : s < 12 ? (bytes[2 * (s - 8) + 1] & 128 ? 255 : 0) : s == 12 ? 0 : 255;
                     r |= uint32_t{x} << 8 * i;
                 }
                 return r; }},
        };
        for (unsigned l = 0; l < kLanes; ++l) if (l % 4 == 1) m.set(3, l, static_cast<uint32_t>(m.random() & 0x0f0f0f0f));
        for (const Case& c : cases) {
            ASSERT_TRUE(m.run(make(c.op, Format::VOP3, 10, {v(1), v(2), v(3)})));
            for (unsigned l = 0; l < kLanes; ++l) {
                ASSERT_EQ(m.u(10, l), c.expected(m.u(1, l), m.u(2, l), m.u(3, l))) << info(c.op).name << std::hex << ' ' << m.u(1, l) << ' ' << m.u(2, l) << ' ' << m.u(3, l);
            }
        }
        ASSERT_TRUE(m.run(make(Op::v_bfe_i32, Format::VOP3, 10, {v(1), v(2), v(3)})));
        for (unsigned l = 0; l < kLanes; ++l) {
            const unsigned low = m.u(2, l) % 32, width = m.u(3, l) % 32;
            int64_t e = width == 0 ? 0 : (int64_t{static_cast<int32_t>(m.u(1, l))} >> low) & ((int64_t{1} << width) - 1);
            if (width != 0 && (e >> (width - 1) & 1)) e -= int64_t{1} << width;
            ASSERT_EQ(static_cast<int32_t>(m.u(10, l)), e);
        }
    }
}

TEST(ValuInteger, WideProductsAndShifts) {
    Machine m;
    for (unsigned round = 0; round < 200; ++round) {
        for (unsigned l = 0; l < kLanes; ++l) {
            m.set(1, l, static_cast<uint32_t>(m.random()));
            m.set(2, l, static_cast<uint32_t>(m.random()));
            m.set64(4, l, m.random());
        }
        ASSERT_TRUE(m.run(make(Op::v_mul_lo_u32, Format::VOP3, 10, {v(1), v(2)})));
        ASSERT_TRUE(m.run(make(Op::v_mul_hi_u32, Format::VOP3, 11, {v(1), v(2)})));
        ASSERT_TRUE(m.run(make(Op::v_mul_hi_i32, Format::VOP3, 12, {v(1), v(2)})));
        ASSERT_TRUE(m.run(make(Op::v_mad_u64_u32, Format::VOP3, 14, {v(1), v(2), v(4)})));
        const uint64_t carry = m.wave.vcc();
        ASSERT_TRUE(m.run(make(Op::v_mad_i64_i32, Format::VOP3, 16, {v(1), v(2), v(4)})));
        const uint64_t sign = m.wave.vcc();
        ASSERT_TRUE(m.run(make(Op::v_lshlrev_b64, Format::VOP3, 18, {v(1), v(4)})));
        ASSERT_TRUE(m.run(make(Op::v_lshrrev_b64, Format::VOP3, 20, {v(1), v(4)})));
        ASSERT_TRUE(m.run(make(Op::v_ashrrev_i64, Format::VOP3, 22, {v(1), v(4)})));
        ASSERT_TRUE(m.run(make(Op::v_bfrev_b32, Format::VOP1, 24, {v(1)})));
        ASSERT_TRUE(m.run(make(Op::v_bcnt_u32_b32, Format::VOP3, 25, {v(1), v(2)})));
        ASSERT_TRUE(m.run(make(Op::v_ffbh_u32, Format::VOP1, 26, {v(1)})));
        ASSERT_TRUE(m.run(make(Op::v_ffbl_b32, Format::VOP1, 27, {v(1)})));
        for (unsigned l = 0; l < kLanes; ++l) {
            const uint64_t a = m.u(1, l), b = m.u(2, l), c = m.u64(4, l);
            const int64_t sa = static_cast<int32_t>(a), sb = static_cast<int32_t>(b);
            ASSERT_EQ(m.u(10, l), static_cast<uint32_t>(a * b));
            ASSERT_EQ(m.u(11, l), static_cast<uint32_t>((a * b) >> 32));
            ASSERT_EQ(m.u(12, l), static_cast<uint32_t>((sa * sb) >> 32));
            const unsigned __int128 wide = static_cast<unsigned __int128>(a) * b + c;
            ASSERT_EQ(m.u64(14, l), static_cast<uint64_t>(wide));
            ASSERT_EQ((carry >> l) & 1, static_cast<uint64_t>(wide >> 64));
            const __int128 signed_wide = static_cast<__int128>(sa) * sb + static_cast<int64_t>(c);
            ASSERT_EQ(m.u64(16, l), static_cast<uint64_t>(signed_wide));
            ASSERT_EQ((sign >> l) & 1, signed_wide < 0 ? 1u : 0u);
            ASSERT_EQ(m.u64(18, l), c << (a % 64));
            ASSERT_EQ(m.u64(20, l), c >> (a % 64));
            ASSERT_EQ(static_cast<int64_t>(m.u64(22, l)), static_cast<int64_t>(c) >> (a % 64));
            uint32_t reversed = 0, ones = 0;
            for (unsigned i = 0; i < 32; ++i) reversed |= ((a >> i) & 1) << (31 - i), ones += (a >> i) & 1;
            ASSERT_EQ(m.u(24, l), reversed);
            ASSERT_EQ(m.u(25, l), ones + b);
            uint32_t high = 0, low = 0;
            while (high < 32 && !((a >> (31 - high)) & 1)) ++high;
            while (low < 32 && !((a >> low) & 1)) ++low;
            ASSERT_EQ(m.u(26, l), high == 32 ? ~0u : high);
            ASSERT_EQ(m.u(27, l), low == 32 ? ~0u : low);
        }
    }
    for (unsigned l = 0; l < kLanes; ++l) m.set(1, l, l % 4 == 0 ? 0u : l % 4 == 1 ? ~0u : l % 4 == 2 ? 0xfffffff0u : 0x10u);
    ASSERT_TRUE(m.run(make(Op::v_ffbh_i32, Format::VOP1, 2, {v(1)})));
    const uint32_t expected[] = {~0u, ~0u, 28, 27};
    for (unsigned l = 0; l < kLanes; ++l) EXPECT_EQ(m.u(2, l), expected[l % 4]);
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
                const auto pick = [&](unsigned n) { return (m.u(1 + n, l) >> ((code >> (3 * half + n)) & 1 ? 16 : 0)) & 0xffff; };
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
        m.set(1, l, 0x42004000u);               // 3.0 | 2.0
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

TEST(ValuFloat, MantissaExponentAndScaling) {
    Machine m;
    for (unsigned round = 0; round < 100; ++round) {
        for (unsigned l = 0; l < kLanes; ++l) {
            m.set(1, l, m.odd_f32());
            m.set64(2, l, m.odd_f64());
            m.set(4, l, static_cast<uint32_t>(static_cast<int32_t>(m.random() % 700) - 350));
            m.set(5, l, static_cast<uint32_t>(static_cast<int32_t>(m.random() % 5000) - 2500));
        }
        ASSERT_TRUE(m.run(make(Op::v_frexp_mant_f32, Format::VOP1, 10, {v(1)})));
        ASSERT_TRUE(m.run(make(Op::v_frexp_exp_i32_f32, Format::VOP1, 11, {v(1)})));
        ASSERT_TRUE(m.run(make(Op::v_frexp_mant_f64, Format::VOP1, 12, {v(2)})));
        ASSERT_TRUE(m.run(make(Op::v_frexp_exp_i32_f64, Format::VOP1, 14, {v(2)})));
        ASSERT_TRUE(m.run(make(Op::v_ldexp_f32, Format::VOP3, 15, {v(1), v(4)})));
        ASSERT_TRUE(m.run(make(Op::v_ldexp_f64, Format::VOP3, 16, {v(2), v(5)})));
        ASSERT_TRUE(m.run(make(Op::v_fract_f32, Format::VOP1, 18, {v(1)})));
        ASSERT_TRUE(m.run(make(Op::v_rndne_f64, Format::VOP1, 20, {v(2)})));
        for (unsigned l = 0; l < kLanes; ++l) {
            const float f = m.f(1, l);
            const double d = m.d(2, l);
            int e = 0;
            float fm = std::frexp(f, &e);
            if (!std::isfinite(f)) e = 0, fm = f;
            ASSERT_TRUE(same32(m.u(10, l), std::bit_cast<uint32_t>(fm)));
            ASSERT_EQ(static_cast<int32_t>(m.u(11, l)), e);
            double dm = std::frexp(d, &e);
            if (!std::isfinite(d)) e = 0, dm = d;
            ASSERT_TRUE(same64(m.u64(12, l), std::bit_cast<uint64_t>(dm)));
            ASSERT_EQ(static_cast<int32_t>(m.u(14, l)), e);
            ASSERT_TRUE(same32(m.u(15, l), std::bit_cast<uint32_t>(std::ldexp(f, static_cast<int>(m.u(4, l)))))) << f << ' ' << static_cast<int>(m.u(4, l));
            ASSERT_TRUE(same64(m.u64(16, l), std::bit_cast<uint64_t>(std::ldexp(d, static_cast<int>(m.u(5, l)))))) << d << ' ' << static_cast<int>(m.u(5, l));
            ASSERT_TRUE(same64(m.u64(20, l), std::bit_cast<uint64_t>(std::nearbyint(d))));
            if (std::isfinite(f)) {
                ASSERT_EQ(m.f(18, l), std::min(f - std::floor(f), 0x1.fffffep-1f)) << f;
            }
        }
    }
}

/// Distance in units of the last place.
int64_t ulps(float a, float b) {
    const auto key = [](float x) {
        const int32_t i = std::bit_cast<int32_t>(x);
        return int64_t{i < 0 ? INT32_MIN - i : i};
    };
    return std::abs(key(a) - key(b));
}

/// Reduced exactly to a quarter turn before pi comes in.
double sine_of_turns(double x) {
    const double r = x - std::rint(x);
    const double folded = std::fabs(r) > 0.25 ? std::copysign(0.5 - std::fabs(r), r) : r;
    return static_cast<double>(sinl(6.28318530717958647692528676655901L * static_cast<long double>(folded)));
}

TEST(ValuFloat, TranscendentalFunctionsWithinOneUlp) {
    Machine m;
    struct Case { Op op; double (*expected)(double); double low, high; };
    const Case cases[] = {
        {Op::v_exp_f32, [](double x) { return std::exp2(x); }, -125.0, 127.9},
        {Op::v_log_f32, [](double x) { return std::log2(x); }, 1e-37, 1e38},
        {Op::v_log_f32, [](double x) { return std::log2(x); }, 0.9, 1.1},
        {Op::v_rcp_f32, [](double x) { return 1 / x; }, -1e30, 1e30},
        {Op::v_rsq_f32, [](double x) { return 1 / std::sqrt(x); }, 1e-37, 1e38},
        {Op::v_sqrt_f32, [](double x) { return std::sqrt(x); }, 1e-37, 1e38},
        {Op::v_sin_f32, [](double x) { return sine_of_turns(x); }, -256.0, 256.0},
        {Op::v_cos_f32, [](double x) { return sine_of_turns(0.25 - std::fabs(x - std::rint(x))); }, -256.0, 256.0},
    };
    for (const Case& c : cases) {
        int64_t worst = 0;
        unsigned exact = 0, total = 0;
        for (unsigned round = 0; round < 500; ++round) {
            for (unsigned l = 0; l < kLanes; ++l) {
                const double t = static_cast<double>(m.random() >> 11) * 0x1p-53;
                const bool geometric = c.low > 0 && c.high / c.low > 1e3;
                m.set(1, l, static_cast<float>(geometric ? c.low * std::pow(c.high / c.low, t) : c.low + (c.high - c.low) * t));
            }
            ASSERT_TRUE(m.run(make(c.op, Format::VOP1, 2, {v(1)})));
            for (unsigned l = 0; l < kLanes; ++l) {
                const float e = static_cast<float>(c.expected(m.f(1, l)));
                const int64_t distance = ulps(m.f(2, l), e);
                worst = std::max(worst, distance);
                exact += distance == 0;
                ++total;
            }
        }
        EXPECT_LE(worst, 1) << info(c.op).name;
        EXPECT_GE(exact, total - total / 1000) << info(c.op).name << ": rounded correctly but for rare ties";
    }
}

TEST(ValuFloat, TranscendentalSpecialValues) {
    Machine m;
    struct Case { Op op; uint32_t in, out; };
    const uint32_t inf = 0x7f800000, nan = 0x7fc00000;
    const Case cases[] = {
        {Op::v_exp_f32, 0, 0x3f800000}, {Op::v_exp_f32, inf, inf}, {Op::v_exp_f32, inf | 0x80000000, 0}, {Op::v_exp_f32, 0x43000000, inf},
        {Op::v_exp_f32, 0xc3000000, 0}, {Op::v_exp_f32, nan, nan},
        {Op::v_log_f32, 0, inf | 0x80000000}, {Op::v_log_f32, 0xbf800000, nan}, {Op::v_log_f32, inf, inf}, {Op::v_log_f32, 0x41000000, 0x40400000},
        {Op::v_rcp_f32, 0, inf}, {Op::v_rcp_f32, 0x80000000, inf | 0x80000000}, {Op::v_rcp_f32, inf, 0}, {Op::v_rcp_f32, 1, inf},
        {Op::v_rcp_f32, 0x7f000001, 0}, {Op::v_rsq_f32, 0, inf}, {Op::v_rsq_f32, 0xbf800000, nan}, {Op::v_sqrt_f32, 0x80000000, 0x80000000},
        {Op::v_sin_f32, 0x3e800000, 0x3f800000}, {Op::v_sin_f32, 0x43808000, 0}, {Op::v_cos_f32, 0x43808000, 0x3f800000},
        {Op::v_sin_f32, inf, nan}, {Op::v_cos_f32, 0x3f000000, 0xbf800000}, {Op::v_cos_f32, 0, 0x3f800000},
    };
    for (const Case& c : cases) {
        for (unsigned l = 0; l < kLanes; ++l) m.set(1, l, c.in);
        ASSERT_TRUE(m.run(make(c.op, Format::VOP1, 2, {v(1)})));
        EXPECT_TRUE(same32(m.u(2, 11), c.out)) << info(c.op).name << std::hex << ' ' << c.in << " gives " << m.u(2, 11);
    }
}

TEST(ValuFloat, TwoOverPiSegmentsReduceLargeAngles) {
    Machine m;
    // sin(1e22) = -0.8522008497671888, the classic test of argument reduction; segments 0..2 give 159 bits of 2/pi past the binary point.
    const double x = 1e22;
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(2, l, x);
        m.set(4, l, l);
    }
    ASSERT_TRUE(m.run(make(Op::v_trig_preop_f64, Format::VOP3, 6, {v(2), v(4)})));
    // x * 2/pi modulo 4, exactly: x = mantissa * 2^exponent, a segment = integer * 2^scale.
    int e = 0;
    const auto mantissa = static_cast<unsigned __int128>(static_cast<uint64_t>(std::ldexp(std::frexp(x, &e), 53)));
    e -= 53;
    long double turns = 0;
    for (unsigned segment = 0; segment < 4; ++segment) {
        int se = 0;
        const double s = m.d(6, segment);
        ASSERT_GT(s, 0.0);
        auto product = mantissa * static_cast<uint64_t>(std::ldexp(std::frexp(s, &se), 53));
        const int scale = e + se - 53;  // product * 2^scale, of which only the part below 4 matters
        if (scale >= 2) continue;
        if (2 - scale < 128) product &= (static_cast<unsigned __int128>(1) << (2 - scale)) - 1;
        turns += std::ldexp(static_cast<long double>(product), scale);
    }
    const long double angle = std::fmod(turns, 4.0L) * 1.57079632679489661923132169164L;
    EXPECT_NEAR(static_cast<double>(std::sin(angle)), -0.8522008497671888, 1e-14);
    m.set(2, 0, 1.0);
    m.set(4, 0, 0u);
    ASSERT_TRUE(m.run(make(Op::v_trig_preop_f64, Format::VOP3, 6, {v(2), v(4)})));
    EXPECT_NEAR(m.d(6, 0), 0.63661977236758134308, 1e-15);
}

}  // namespace
}  // namespace lyra::gcn::test
