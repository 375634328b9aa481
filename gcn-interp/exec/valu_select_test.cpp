// SPDX-License-Identifier: MIT
// Choice of lanes and of parts of registers: SDWA, DPP, lane reads and writes; against plain per-lane computations.
#include <gtest/gtest.h>

#include "gcn-interp/exec/valu_machine.h"

namespace lyra::gcn::test {
namespace {

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
    if (ctrl > 0x100 && ctrl < 0x110)
        return in_row + static_cast<int>(ctrl - 0x100) <= 15 ? lane + static_cast<int>(ctrl - 0x100) : -1;
    if (ctrl > 0x110 && ctrl < 0x120)
        return in_row >= static_cast<int>(ctrl - 0x110) ? lane - static_cast<int>(ctrl - 0x110) : -1;
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

}  // namespace
}  // namespace lyra::gcn::test
