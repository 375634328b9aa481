// SPDX-License-Identifier: MIT
// Float division as compilers emit it against IEEE, and the transcendental instructions against the host's long functions.
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

/// 24 times what is almost the largest number lies between two numbers; the addend decides, though it is smaller than anything
/// that is left of it when all is scaled down.
TEST(ValuDivision, ASmallAddendDecidesATieThatOverflowsBeforeItIsScaled) {
    Machine m;
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set64(2, l, 0x4038000000000000);
        m.set64(4, l, 0xffeffffffffffffe);
        m.set64(6, l, l % 2 == 0 ? 0x80000030fffffffd : 0x00000030fffffffd);
    }
    m.wave.set_vcc(~uint64_t{0});
    ASSERT_TRUE(m.run(make(Op::v_div_fmas_f64, Format::VOP3, 8, {v(2), v(4), v(6)})));
    for (unsigned l = 0; l < kLanes; ++l) EXPECT_EQ(lo32(m.u64(8, l)), l % 2 == 0 ? 0xffffffffu : 0xfffffffeu) << l;
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

// Quotients between the largest denormal and the smallest normal number, which must not be rounded to 53 bits on the way.
TEST(ValuDivision, F64QuotientsAtTheEdgeOfDenormals) {
    Machine m;
    unsigned below = 0;
    for (unsigned round = 0; round < 64; ++round) {
        for (unsigned l = 0; l < kLanes; ++l) {
            const uint64_t sign = uint64_t{l & 1} << 63;
            m.set64(2, l, sign | (0x001fffffffffffff - (l / 2)));           // just below 2^-1021
            m.set64(4, l, 0x3fffffffffffffff - round / 2 + (round & 1) * 40);  // about 2
        }
        divide_f64(m);
        for (unsigned l = 0; l < kLanes; ++l) {
            const double expected = m.d(2, l) / m.d(4, l);
            below += !std::isnormal(expected);
            ASSERT_EQ(m.u64(6, l), std::bit_cast<uint64_t>(expected)) << std::hexfloat << m.d(2, l) << " / " << m.d(4, l);
        }
    }
    EXPECT_GT(below, 500u);
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
            ASSERT_TRUE(same32(m.u(15, l), std::bit_cast<uint32_t>(std::ldexp(f, static_cast<int>(m.u(4, l))))))
                << f << ' ' << static_cast<int>(m.u(4, l));
            ASSERT_TRUE(same64(m.u64(16, l), std::bit_cast<uint64_t>(std::ldexp(d, static_cast<int>(m.u(5, l))))))
                << d << ' ' << static_cast<int>(m.u(5, l));
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
    struct Case {
        Op op;
        double (*expected)(double);
        double low, high;
    };
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
    struct Case {
        Op op;
        uint32_t in, out;
    };
    const uint32_t inf = 0x7f800000, nan = 0x7fc00000;
    const Case cases[] = {
        {Op::v_exp_f32, 0, 0x3f800000},
        {Op::v_exp_f32, inf, inf},
        {Op::v_exp_f32, inf | 0x80000000, 0},
        {Op::v_exp_f32, 0x43000000, inf},
        {Op::v_exp_f32, 0xc3000000, 0},
        {Op::v_exp_f32, nan, nan},
        {Op::v_log_f32, 0, inf | 0x80000000},
        {Op::v_log_f32, 0xbf800000, nan},
        {Op::v_log_f32, inf, inf},
        {Op::v_log_f32, 0x41000000, 0x40400000},
        {Op::v_rcp_f32, 0, inf},
        {Op::v_rcp_f32, 0x80000000, inf | 0x80000000},
        {Op::v_rcp_f32, inf, 0},
        {Op::v_rcp_f32, 1, inf},
        {Op::v_rcp_f32, 0x7f000001, 0},
        {Op::v_rsq_f32, 0, inf},
        {Op::v_rsq_f32, 0xbf800000, nan},
        {Op::v_sqrt_f32, 0x80000000, 0x80000000},
        {Op::v_sin_f32, 0x3e800000, 0x3f800000},
        {Op::v_sin_f32, 0x43808000, 0},
        {Op::v_cos_f32, 0x43808000, 0x3f800000},
        {Op::v_sin_f32, inf, nan},
        {Op::v_cos_f32, 0x3f000000, 0xbf800000},
        {Op::v_cos_f32, 0, 0x3f800000},
    };
    for (const Case& c : cases) {
        for (unsigned l = 0; l < kLanes; ++l) m.set(1, l, c.in);
        ASSERT_TRUE(m.run(make(c.op, Format::VOP1, 2, {v(1)})));
        EXPECT_TRUE(same32(m.u(2, 11), c.out)) << info(c.op).name << std::hex << ' ' << c.in << " gives " << m.u(2, 11);
    }
}

TEST(ValuFloat, TwoOverPiSegmentsReduceLargeAngles) {
    Machine m;
    // sin(1e22) = -0.8522008497671888, the classic test of argument reduction; segments 0..2 give 159 bits of 2/pi past the
    // binary point.
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
