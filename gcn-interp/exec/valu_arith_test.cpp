// SPDX-License-Identifier: MIT
// Results of vector arithmetic against independent scalar computations: floats, conversions, integers.
#include <gtest/gtest.h>

#include "gcn-interp/exec/valu_machine.h"

namespace lyra::gcn::test {
namespace {

TEST(ValuArithmetic, F32AndF64BasicOperations) {
    Machine m;
    for (unsigned round = 0; round < 300; ++round) {
        for (unsigned l = 0; l < kLanes; ++l) {
            for (unsigned r = 1; r < 4; ++r) m.set(r, l, m.odd_f32());
            for (unsigned r = 4; r < 10; r += 2) m.set64(r, l, m.odd_f64());
        }
        struct Case32 {
            Op op;
            Format format;
            float (*expected)(float, float, float);
        };
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
                ASSERT_TRUE(same32(m.u(20, l), std::bit_cast<uint32_t>(e)))
                    << info(c.op).name << std::hexfloat << m.f(1, l) << ' ' << m.f(2, l);
            }
        }
        struct Case64 {
            Op op;
            double (*expected)(double, double, double);
        };
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
    struct Case {
        uint32_t a, b, min, max;
    };
    const Case ieee[] = {{one, two, one, two},
                         {two, one, one, two},
                         {quiet, one, one, one},
                         {one, quiet, one, one},
                         {quiet, quiet + 1, quiet + 1, quiet + 1},
                         {signaling, one, 0x7fc00001, 0x7fc00001},
                         {one, signaling, 0x7fc00001, 0x7fc00001},
                         {pz, nz, nz, pz},
                         {nz, pz, nz, pz},
                         {0xff800000, 0x7f800000, 0xff800000, 0x7f800000}};
    for (const Case& c : ieee) {
        for (unsigned l = 0; l < kLanes; ++l) {
            m.set(1, l, c.a);
            m.set(2, l, c.b);
            const auto widen = [](uint32_t x) {
                return (uint64_t{x & 0x80000000} << 32) | ((x & 0x7fffffff) >= 0x7f800000 ? 0x7ff0000000000000u : uint64_t{0}) |
                       ((x & 0x7fffffff) != 0 && (x & 0x7fffffff) < 0x7f800000 ? uint64_t{0x380} << 52 : 0);
            };
            const auto wide = [&](uint32_t x) {
                return ((x & 0x7fffffff) == 0 || (x & 0x7fffffff) >= 0x7f800000)
                           ? widen(x) | (uint64_t{x & 0x7fffff} << 29)
                           : (uint64_t{x & 0x80000000} << 32) | ((uint64_t{x & 0x7fffffff} << 29) + (uint64_t{0x380} << 52));
            };
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

TEST(ValuConvert, FloatsToIntegersTruncateAndSaturate) {
    Machine m;
    const double in[] = {0.0,          -0.0,          0.9,           -0.9,         1.5,          -1.5,      2147483647.0,
                         2147483648.0, -2147483648.0, -2147483649.0, 4294967295.0, 4294967296.0, 1e30,      -1e30,
                         INFINITY,     -INFINITY,     NAN,           3000000000.0, 5e-324,       16777217.0};
    const auto i32 = [](double x) {
        return std::isnan(x) ? 0 : x >= 2147483648.0 ? INT32_MAX : x <= -2147483649.0 ? INT32_MIN : static_cast<int32_t>(x);
    };
    const auto u32 = [](double x) {
        return std::isnan(x) || x <= 0 ? 0u : x >= 4294967296.0 ? UINT32_MAX : static_cast<uint32_t>(static_cast<uint64_t>(x));
    };
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
    const float in[] = {0.0f,     1.0f,     -1.0f, 0.5f,     -0.5f,      2.0f, -7.0f,  NAN,
                        65504.0f, 65535.0f, 1e9f,  0x1p-24f, 0x1.8p-24f, 0.1f, 300.0f, 3.9f};
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
        const auto snorm = [](float x) {
            return static_cast<uint16_t>(std::isnan(x) ? 0 : std::lrint(std::clamp(x, -1.0f, 1.0f) * 32767.0));
        };
        const auto unorm = [](float x) {
            return static_cast<uint16_t>(std::isnan(x) ? 0 : std::lrint(std::clamp(x, 0.0f, 1.0f) * 65535.0));
        };
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
        struct Case {
            Op op;
            F expected;
        };
        const Case cases[] = {
            {Op::v_bfe_u32,
             [](uint32_t a, uint32_t b, uint32_t c) {
                 uint32_t r = 0;
                 for (unsigned i = 0; i < c % 32 && b % 32 + i < 32; ++i) r |= ((a >> (b % 32 + i)) & 1) << i;
                 return r;
             }},
            {Op::v_bfi_b32,
             [](uint32_t a, uint32_t b, uint32_t c) {
                 uint32_t r = 0;
                 for (unsigned i = 0; i < 32; ++i) r |= (((a >> i) & 1 ? b : c) >> i & 1) << i;
                 return r;
             }},
            {Op::v_alignbit_b32,
             [](uint32_t a, uint32_t b, uint32_t c) { return c % 32 == 0 ? b : (b >> (c % 32)) | (a << (32 - c % 32)); }},
            {Op::v_alignbyte_b32,
             [](uint32_t a, uint32_t b, uint32_t c) { return c % 4 == 0 ? b : (b >> (c % 4 * 8)) | (a << (32 - c % 4 * 8)); }},
            {Op::v_lshl_add_u32, [](uint32_t a, uint32_t b, uint32_t c) { return (a << (b % 32)) + c; }},
            {Op::v_add_lshl_u32, [](uint32_t a, uint32_t b, uint32_t c) { return (a + b) << (c % 32); }},
            {Op::v_add3_u32, [](uint32_t a, uint32_t b, uint32_t c) { return a + b + c; }},
            {Op::v_lshl_or_b32, [](uint32_t a, uint32_t b, uint32_t c) { return (a << (b % 32)) | c; }},
            {Op::v_and_or_b32, [](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; }},
            {Op::v_or3_b32, [](uint32_t a, uint32_t b, uint32_t c) { return a | b | c; }},
            {Op::v_xad_u32, [](uint32_t a, uint32_t b, uint32_t c) { return (a ^ b) + c; }},
            {Op::v_min3_u32, [](uint32_t a, uint32_t b, uint32_t c) { return std::min({a, b, c}); }},
            {Op::v_max3_i32,
             [](uint32_t a, uint32_t b, uint32_t c) { return uint32_t(std::max({int32_t(a), int32_t(b), int32_t(c)})); }},
            {Op::v_med3_u32,
             [](uint32_t a, uint32_t b, uint32_t c) {
                 uint32_t x[] = {a, b, c};
                 std::sort(x, x + 3);
                 return x[1];
             }},
            {Op::v_med3_i32,
             [](uint32_t a, uint32_t b, uint32_t c) {
                 int32_t x[] = {int32_t(a), int32_t(b), int32_t(c)};
                 std::sort(x, x + 3);
                 return uint32_t(x[1]);
             }},
            {Op::v_mad_u32_u24,
             [](uint32_t a, uint32_t b, uint32_t c) { return uint32_t((a % 0x1000000) * uint64_t(b % 0x1000000) + c); }},
            {Op::v_mad_u32_u16,
             [](uint32_t a, uint32_t b, uint32_t c) { return uint32_t((a % 0x10000) * uint64_t(b % 0x10000) + c); }},
            {Op::v_sad_u32, [](uint32_t a, uint32_t b, uint32_t c) { return (a > b ? a - b : b - a) + c; }},
            {Op::v_sad_u8,
             [](uint32_t a, uint32_t b, uint32_t c) {
                 for (int i = 0; i < 4; ++i) c += uint32_t(std::abs(int(a >> 8 * i & 255) - int(b >> 8 * i & 255)));
                 return c;
             }},
            {Op::v_sad_u16,
             [](uint32_t a, uint32_t b, uint32_t c) {
                 for (int i = 0; i < 2; ++i) c += uint32_t(std::abs(int(a >> 16 * i & 65535) - int(b >> 16 * i & 65535)));
                 return c;
             }},
            {Op::v_lerp_u8,
             [](uint32_t a, uint32_t b, uint32_t c) {
                 uint32_t r = 0;
                 for (int i = 0; i < 32; i += 8) r |= (((a >> i & 255) + (b >> i & 255) + (c >> i & 1)) / 2) << i;
                 return r;
             }},
            {Op::v_perm_b32,
             [](uint32_t a, uint32_t b, uint32_t c) {
                 const uint8_t bytes[8] = {uint8_t(b), uint8_t(b >> 8), uint8_t(b >> 16), uint8_t(b >> 24),
                                           uint8_t(a), uint8_t(a >> 8), uint8_t(a >> 16), uint8_t(a >> 24)};
                 uint32_t r = 0;
                 for (int i = 0; i < 4; ++i) {
                     const unsigned s = c >> 8 * i & 255;
                     const uint8_t x = s < 8 ? bytes[s] : s < 12 ? (bytes[2 * (s - 8) + 1] & 128 ? 255 : 0) : s == 12 ? 0 : 255;
                     r |= uint32_t{x} << 8 * i;
                 }
                 return r;
             }},
        };
        for (unsigned l = 0; l < kLanes; ++l)
            if (l % 4 == 1) m.set(3, l, static_cast<uint32_t>(m.random() & 0x0f0f0f0f));
        for (const Case& c : cases) {
            ASSERT_TRUE(m.run(make(c.op, Format::VOP3, 10, {v(1), v(2), v(3)})));
            for (unsigned l = 0; l < kLanes; ++l) {
                ASSERT_EQ(m.u(10, l), c.expected(m.u(1, l), m.u(2, l), m.u(3, l)))
                    << info(c.op).name << std::hex << ' ' << m.u(1, l) << ' ' << m.u(2, l) << ' ' << m.u(3, l);
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

}  // namespace
}  // namespace lyra::gcn::test
