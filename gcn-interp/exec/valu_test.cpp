// SPDX-License-Identifier: MIT
// The frame of vector instructions: operands, EXEC, modifiers, SDWA, DPP, MODE, lane access; against plain per-lane computations.
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
    const std::set<std::string> graphics = {"v_screen_partition_4se_b32", "v_interp_p1ll_f16", "v_interp_p1lv_f16",
                                            "v_interp_p2_legacy_f16", "v_interp_p2_f16"};
    unsigned rows = 0;
    for (std::size_t i = 1; i < kOpCount; ++i) {
        const Op op = static_cast<Op>(i);
        const InstInfo& row = info(op);
        if (!is_vector(row.format) || row.has(flag::OnlyGfx906)) continue;
        const ExecTable& t = vector_table();
        if (graphics.count(row.name) != 0) {
            EXPECT_EQ(t.get(op, row.format), nullptr) << row.name;
            continue;
        }
        ++rows;
        EXPECT_NE(t.get(op, row.format), nullptr) << row.name;
        if (row.format == Format::VOP3 || row.format == Format::VOP3P) continue;
        if (!row.has(flag::NoE64)) {
            EXPECT_NE(t.get(op, Format::VOP3), nullptr) << row.name;
        }
        const Format sdwa = row.format == Format::VOP1 ? Format::VOP1_SDWA : row.format == Format::VOP2 ? Format::VOP2_SDWA : Format::VOPC_SDWA;
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

    struct Case { Op op; Format format; uint32_t a, b, wrap, clamped; };
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

uint32_t reference_select(uint32_t x, unsigned sel, bool sext) {
    if (sel == 6) return x;
    if (sel < 4) {
        const uint32_t byte = (x >> (8 * sel)) & 0xff;
        return sext && byte >= 0x80 ? byte | 0xffffff00 : byte;
    }
    const uint32_t word = sel == 4 ? x & 0xffff : x >> 16;
    return sext && word >= 0x8000 ? word | 0xffff0000 : word;
}

TEST(ValuSdwa, EverySelection) {
    Machine m;
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(1, l, static_cast<uint32_t>(m.random()));
        m.set(2, l, static_cast<uint32_t>(m.random()));
    }
    for (unsigned s0 = 0; s0 < 7; ++s0) {
        for (unsigned s1 = 0; s1 < 7; ++s1) {
            for (unsigned code = 0; code < 4 * 7 * 3; ++code) {
                const unsigned ds = code / 4 % 7, unused = code / 28;
                Inst inst = make(Op::v_add_u32, Format::VOP2_SDWA, 3, {v(1), v(2)});
                inst.src_sel[0] = static_cast<uint8_t>(s0);
                inst.src_sel[1] = static_cast<uint8_t>(s1);
                inst.sext[0] = code & 1;
                inst.sext[1] = code & 2;
                inst.dst_sel = static_cast<uint8_t>(ds);
                inst.dst_unused = static_cast<uint8_t>(unused);
                for (unsigned l = 0; l < kLanes; ++l) m.set(3, l, 0x89abcdefu);
                ASSERT_TRUE(m.run(inst));
                for (unsigned l = 0; l < kLanes; l += 7) {
                    const uint32_t r = reference_select(m.u(1, l), s0, code & 1) + reference_select(m.u(2, l), s1, code & 2);
                    uint32_t expected = r;
                    if (ds < 6) {
                        const unsigned width = ds < 4 ? 8 : 16, low = ds < 4 ? 8 * ds : 16 * (ds - 4);
                        const uint32_t field = ((1u << width) - 1) << low;
                        const uint32_t value = (r << low) & field;
                        const bool negative = (r >> (width - 1)) & 1;
                        const uint64_t above = ~((uint64_t{1} << (low + width)) - 1);
                        if (unused == 0) expected = value;
                        if (unused == 1) expected = value | (negative ? static_cast<uint32_t>(above) : 0);
                        if (unused == 2) expected = (0x89abcdef & ~field) | value;
                    }
                    ASSERT_EQ(m.u(3, l), expected) << s0 << ' ' << s1 << ' ' << ds << ' ' << unused;
                }
            }
        }
    }
}

TEST(ValuSdwa, ComparesWriteAnyScalarPairAndSelectHalves) {
    Machine m;
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(1, l, (l << 16) | 0xffff);
        m.set(2, l, 32u);
    }
    Inst inst = make(Op::v_cmp_lt_u16, Format::VOPC_SDWA, kNoOperand, {v(1), v(2)});
    inst.sdst = 20;
    inst.src_sel[0] = 5;
    inst.src_sel[1] = 4;
    ASSERT_TRUE(m.run(inst));
    EXPECT_EQ(m.wave.read_scalar64(20), 0xffffffffu);
}

/// Lane that lane reads under the control, -1 for none; written from the enumeration's words, one case each.
int reference_dpp(unsigned ctrl, int lane) {
    const int row = lane / 16, in_row = lane % 16;
    if (ctrl < 0x100) return lane / 4 * 4 + static_cast<int>((ctrl >> (lane % 4 * 2)) & 3);
    if (ctrl > 0x100 && ctrl < 0x110) return in_row + static_cast<int>(ctrl - 0x100) <= 15 ? lane + static_cast<int>(ctrl - 0x100) : -1;
    if (ctrl > 0x110 && ctrl < 0x120) return in_row >= static_cast<int>(ctrl - 0x110) ? lane - static_cast<int>(ctrl - 0x110) : -1;
    if (ctrl > 0x120 && ctrl < 0x130) return row * 16 + (in_row + 16 - static_cast<int>(ctrl - 0x120)) % 16;
    switch (ctrl) {
    case 0x130: return lane == 63 ? -1 : lane + 1;
    case 0x134: return lane == 63 ? 0 : lane + 1;
    case 0x138: return lane == 0 ? -1 : lane - 1;
    case 0x13c: return lane == 0 ? 63 : lane - 1;
    case 0x140: return row * 16 + 15 - in_row;
    case 0x141: return lane / 8 * 8 + 7 - lane % 8;
    case 0x142: return row == 0 ? -1 : row * 16 - 1;
    case 0x143: return lane < 32 ? -1 : 31;
    default: return -1;
    }
}

TEST(ValuDpp, EveryControlWithMasksAndBoundControl) {
    Machine m;
    std::vector<unsigned> controls;
    for (unsigned c = 0; c < 0x100; c += 5) controls.push_back(c);
    for (unsigned base : {0x100u, 0x110u, 0x120u}) {
        for (unsigned n = 1; n < 16; ++n) controls.push_back(base + n);
    }
    for (unsigned c : {0x130u, 0x134u, 0x138u, 0x13cu, 0x140u, 0x141u, 0x142u, 0x143u}) controls.push_back(c);
    for (const unsigned ctrl : controls) {
        for (unsigned variant = 0; variant < 8; ++variant) {
            m.wave.exec = variant & 1 ? 0xf0f7ffff0fffff3f : ~uint64_t{0};
            Inst inst = make(Op::v_add_u32, Format::VOP2_DPP, 1, {v(1), v(2)});  // the destination is the permuted source
            inst.dpp_ctrl = static_cast<uint16_t>(ctrl);
            inst.bound_ctrl = variant & 2;
            inst.row_mask = variant & 4 ? 0xa : 0xf;
            inst.bank_mask = variant & 4 ? 0x7 : 0xf;
            for (unsigned l = 0; l < kLanes; ++l) {
                m.set(1, l, 100u + l);
                m.set(2, l, 1000u * l);
            }
            ASSERT_TRUE(m.run(inst));
            for (int l = 0; l < 64; ++l) {
                const int from = reference_dpp(ctrl, l);
                const bool valid = from >= 0 && ((m.wave.exec >> from) & 1);
                bool writes = (m.wave.exec >> l) & 1;
                if (variant & 4) writes = writes && (l / 16 == 1 || l / 16 == 3) && l % 16 < 12;
                if (!valid && !(variant & 2)) writes = false;
                const uint32_t lane = static_cast<uint32_t>(l);
                const uint32_t expected = !writes ? 100 + lane : 1000 * lane + (valid ? 100 + static_cast<uint32_t>(from) : 0);
                ASSERT_EQ(m.u(1, lane), expected) << std::hex << ctrl << " lane " << std::dec << l << " variant " << variant;
            }
        }
    }
}

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
            const uint64_t b = m.random() % 3 == 0 ? a : (type == "f32" ? m.odd_f32() : type == "f16" ? m.odd_f16() : m.odd_f64());
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
            struct Relation { const char* name; const char* accepts; };
            static const Relation relations[] = {{"f", ""}, {"lt", "L"}, {"eq", "E"}, {"le", "LE"}, {"gt", "G"}, {"lg", "LG"}, {"ne", "LG"},
                                                 {"ge", "GE"}, {"o", "LEG"}, {"u", "U"}, {"nge", "LU"}, {"nlg", "EU"}, {"ngt", "LEU"},
                                                 {"nle", "GU"}, {"neq", "LGU"}, {"nlt", "EGU"}, {"tru", "LEGU"}, {"t", "LEGU"}};
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
    const uint32_t f32[] = {0x7f800001, 0x7fc00000, 0xff800000, 0xbf800000, 0x80000001, 0x80000000, 0, 1, 0x3f800000, 0x7f800000};
    const uint64_t f64[] = {0x7ff0000000000001, 0x7ff8000000000000, 0xfff0000000000000, 0xbff0000000000000, 0x8000000000000001,
                            0x8000000000000000, 0, 1, 0x3ff0000000000000, 0x7ff0000000000000};
    const uint32_t f16[] = {0x7c01, 0x7e00, 0xfc00, 0xbc00, 0x8001, 0x8000, 0, 1, 0x3c00, 0x7c00};
    for (unsigned test = 0; test < 10; ++test) {
        for (unsigned l = 0; l < kLanes; ++l) {
            m.set(1, l, f32[l % 10]);
            m.set64(2, l, f64[l % 10]);
            m.set(4, l, f16[l % 10]);
            m.set(5, l, 1u << test);
        }
        struct Case { Op op; uint16_t source; };
        for (const Case c : {Case{Op::v_cmp_class_f32, v(1)}, Case{Op::v_cmp_class_f64, v(2)}, Case{Op::v_cmp_class_f16, v(4)}}) {
            ASSERT_TRUE(m.run(make(c.op, Format::VOPC, kNoOperand, {c.source, v(5)})));
            for (unsigned l = 0; l < kLanes; ++l) EXPECT_EQ((m.wave.vcc() >> l) & 1, l % 10 == test ? 1u : 0u) << info(c.op).name << l;
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

TEST(ValuLanes, ReadWriteAndFirst) {
    Machine m;
    for (unsigned l = 0; l < kLanes; ++l) m.set(1, l, 500u + l);
    m.wave.exec = 0x00000000fff00000;
    Inst first = make(Op::v_readfirstlane_b32, Format::VOP1, kNoOperand, {v(1)});
    first.sdst = 7;
    ASSERT_TRUE(m.run(first));
    EXPECT_EQ(m.wave.sgpr[7], 520u);
    m.wave.exec = 0;
    ASSERT_TRUE(m.run(first));
    EXPECT_EQ(m.wave.sgpr[7], 500u);
    m.wave.sgpr[9] = 64 + 33;
    Inst read = make(Op::v_readlane_b32, Format::VOP3, kNoOperand, {v(1), 9});
    read.sdst = 8;
    ASSERT_TRUE(m.run(read));
    EXPECT_EQ(m.wave.sgpr[8], 533u);
    m.wave.sgpr[10] = 0xabcd;
    ASSERT_TRUE(m.run(make(Op::v_writelane_b32, Format::VOP3, 1, {10, 9})));
    for (unsigned l = 0; l < kLanes; ++l) EXPECT_EQ(m.u(1, l), l == 33 ? 0xabcdu : 500u + l);
}

TEST(ValuLanes, SwapUnderExec) {
    Machine m;
    for (unsigned l = 0; l < kLanes; ++l) {
        m.set(1, l, l);
        m.set(2, l, 100u + l);
    }
    m.wave.exec = 0x5555555555555555;
    ASSERT_TRUE(m.run(make(Op::v_swap_b32, Format::VOP1, 1, {v(2)})));
    for (unsigned l = 0; l < kLanes; ++l) {
        EXPECT_EQ(m.u(1, l), l % 2 ? l : 100 + l);
        EXPECT_EQ(m.u(2, l), l % 2 ? 100 + l : l);
    }
}

TEST(ValuLanes, CountOfLanesBelow) {
    Machine m;
    m.wave.sgpr[2] = 0xf0f0f0f0;
    m.wave.sgpr[3] = 0x12345678;
    ASSERT_TRUE(m.run(make(Op::v_mbcnt_lo_u32_b32, Format::VOP3, 1, {2, 133})));
    ASSERT_TRUE(m.run(make(Op::v_mbcnt_hi_u32_b32, Format::VOP3, 2, {3, v(1)})));
    for (unsigned l = 0; l < kLanes; ++l) {
        const uint64_t below = (uint64_t{1} << l) - 1;
        EXPECT_EQ(m.u(2, l), 5u + static_cast<uint32_t>(std::popcount(0x12345678f0f0f0f0u & below))) << l;
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
        m.set(1, l, 0x80000100u);             // denormal input
        m.set(2, l, 0x00800000u);             // smallest normal
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
