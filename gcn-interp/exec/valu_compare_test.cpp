// SPDX-License-Identifier: MIT
// Lane masks as results: every compare against its name, number classes, carry chains.
#include <gtest/gtest.h>

#include <string>

#include "gcn-interp/exec/valu_machine.h"

namespace lyra::gcn::test {
namespace {

TEST(ValuCompare, EveryRowAgreesWithItsName) {
    Machine m;
    m.wave.exec = 0xfffffffffffffff7;
    for (std::size_t i = 1; i < kOpCount; ++i) {
        const Op op = static_cast<Op>(i);
        const InstInfo& row = info(op);
        const std::string name = row.name;
        if (row.format != Format::VOPC || name.find("class") != std::string::npos) continue;
        const std::string type = name.substr(name.rfind('_') + 1);
        const std::string relation = name.substr(name.find('_', 2) + 1, name.rfind('_') - name.find('_', 2) - 1);
        for (unsigned l = 0; l < kLanes; ++l) {
            const uint64_t a = type == "f32" ? m.odd_f32() : type == "f16" ? m.odd_f16() : m.odd_f64();
            const uint64_t b = m.random() % 3 == 0 ? a
                                                   : (type == "f32"   ? m.odd_f32()
                                                      : type == "f16" ? m.odd_f16()
                                                                      : m.odd_f64());
            m.set64(2, l, a);
            m.set64(4, l, b);
        }
        Inst inst = make(op, Format::VOP3, kNoOperand, {v(2), v(4)});
        inst.sdst = 30;
        const uint64_t exec = m.wave.exec;
        ASSERT_TRUE(m.run(inst)) << name;
        const uint64_t got = m.wave.read_scalar64(30);
        EXPECT_EQ(m.wave.exec, row.has(flag::WritesExec) ? got : exec) << name;
        m.wave.exec = exec;
        for (unsigned l = 0; l < kLanes; ++l) {
            // Exactly one of L, E, G, U holds; a relation is the set of those it accepts.
            char outcome = 'E';
            const uint64_t a = m.u64(2, l), b = m.u64(4, l);
            const auto order = [&](auto x, auto y) { return x < y ? 'L' : x > y ? 'G' : x == y ? 'E' : 'U'; };
            if (type == "f16") outcome = order(half_value(a & 0xffff), half_value(b & 0xffff));
            if (type == "f32") outcome = order(std::bit_cast<float>(uint32_t(a)), std::bit_cast<float>(uint32_t(b)));
            if (type == "f64") outcome = order(std::bit_cast<double>(a), std::bit_cast<double>(b));
            if (type == "i16") outcome = order(static_cast<int16_t>(a), static_cast<int16_t>(b));
            if (type == "u16") outcome = order(static_cast<uint16_t>(a), static_cast<uint16_t>(b));
            if (type == "i32") outcome = order(static_cast<int32_t>(a), static_cast<int32_t>(b));
            if (type == "u32") outcome = order(static_cast<uint32_t>(a), static_cast<uint32_t>(b));
            if (type == "i64") outcome = order(static_cast<int64_t>(a), static_cast<int64_t>(b));
            if (type == "u64") outcome = order(a, b);
            struct Relation {
                const char* name;
                const char* accepts;
            };
            static const Relation relations[] = {{"f", ""},      {"lt", "L"},     {"eq", "E"},    {"le", "LE"},  {"gt", "G"},
                                                 {"lg", "LG"},   {"ne", "LG"},    {"ge", "GE"},   {"o", "LEG"},  {"u", "U"},
                                                 {"nge", "LU"},  {"nlg", "EU"},   {"ngt", "LEU"}, {"nle", "GU"}, {"neq", "LGU"},
                                                 {"nlt", "EGU"}, {"tru", "LEGU"}, {"t", "LEGU"}};
            const Relation* found = nullptr;
            for (const Relation& r : relations) {
                if (relation == r.name) found = &r;
            }
            ASSERT_NE(found, nullptr) << name;
            const bool expected = ((exec >> l) & 1) && std::string(found->accepts).find(outcome) != std::string::npos;
            ASSERT_EQ((got >> l) & 1, expected ? 1u : 0u) << name << " lane " << l << std::hex << ' ' << a << ' ' << b;
        }
    }
}

TEST(ValuCompare, ClassNamesEachKindOfNumber) {
    Machine m;
    const uint32_t f32[] = {0x7f800001, 0x7fc00000, 0xff800000, 0xbf800000, 0x80000001,
                            0x80000000, 0,          1,          0x3f800000, 0x7f800000};
    const uint64_t f64[] = {0x7ff0000000000001,
                            0x7ff8000000000000,
                            0xfff0000000000000,
                            0xbff0000000000000,
                            0x8000000000000001,
                            0x8000000000000000,
                            0,
                            1,
                            0x3ff0000000000000,
                            0x7ff0000000000000};
    const uint32_t f16[] = {0x7c01, 0x7e00, 0xfc00, 0xbc00, 0x8001, 0x8000, 0, 1, 0x3c00, 0x7c00};
    for (unsigned test = 0; test < 10; ++test) {
        for (unsigned l = 0; l < kLanes; ++l) {
            m.set(1, l, f32[l % 10]);
            m.set64(2, l, f64[l % 10]);
            m.set(4, l, f16[l % 10]);
            m.set(5, l, 1u << test);
        }
        struct Case {
            Op op;
            uint16_t source;
        };
        for (const Case c :
             {Case{Op::v_cmp_class_f32, v(1)}, Case{Op::v_cmp_class_f64, v(2)}, Case{Op::v_cmp_class_f16, v(4)}}) {
            ASSERT_TRUE(m.run(make(c.op, Format::VOPC, kNoOperand, {c.source, v(5)})));
            for (unsigned l = 0; l < kLanes; ++l)
                EXPECT_EQ((m.wave.vcc() >> l) & 1, l % 10 == test ? 1u : 0u) << info(c.op).name << l;
        }
    }
}

TEST(ValuCarry, AddAndSubtractChains) {
    Machine m;
    m.wave.exec = 0xffffffff00ffffff;
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set64(2, l, m.random());
        m.set64(4, l, m.random() | (l % 3 == 0 ? 0xffffffffu : 0u));
        if (l % 5 == 0) m.set(5, l, ~m.u(3, l));  // the carry in alone decides about the carry out
        if (l % 10 == 0) m.set(5, l, m.u(3, l));
    }
    ASSERT_TRUE(m.run(make(Op::v_add_co_u32, Format::VOP2, 6, {v(2), v(4)})));
    EXPECT_EQ(m.wave.vcc() & ~m.wave.exec, 0u);
    ASSERT_TRUE(m.run(make(Op::v_addc_co_u32, Format::VOP2, 7, {v(3), v(5)})));
    const uint64_t sum_carry = m.wave.vcc();
    Inst low = make(Op::v_sub_co_u32, Format::VOP3, 8, {v(2), v(4)});
    low.sdst = 40;
    Inst high = make(Op::v_subb_co_u32, Format::VOP3, 9, {v(3), v(5), 40});
    high.sdst = 42;
    ASSERT_TRUE(m.run(low));
    ASSERT_TRUE(m.run(high));
    ASSERT_TRUE(m.run(make(Op::v_subrev_co_u32, Format::VOP2, 10, {v(2), v(4)})));
    ASSERT_TRUE(m.run(make(Op::v_subbrev_co_u32, Format::VOP2, 11, {v(3), v(5)})));
    for (unsigned l = 0; l < kLanes; ++l) {
        if (!((m.wave.exec >> l) & 1)) continue;
        EXPECT_EQ(m.u64(6, l), m.u64(2, l) + m.u64(4, l)) << l;
        EXPECT_EQ((sum_carry >> l) & 1, m.u64(2, l) + m.u64(4, l) < m.u64(2, l) ? 1u : 0u) << l;
        EXPECT_EQ(m.u64(8, l), m.u64(2, l) - m.u64(4, l)) << l;
        EXPECT_EQ(m.u64(10, l), m.u64(4, l) - m.u64(2, l)) << l;
        EXPECT_EQ((m.wave.read_scalar64(42) >> l) & 1, m.u64(2, l) < m.u64(4, l) ? 1u : 0u) << l;
        EXPECT_EQ((m.wave.vcc() >> l) & 1, m.u64(4, l) < m.u64(2, l) ? 1u : 0u) << l;
    }
}

}  // namespace
}  // namespace lyra::gcn::test
