// SPDX-License-Identifier: MIT
// Waves of few active lanes take shorter loops: every vector instruction gives those lanes what it gives them in a full wave.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "gcn-interp/exec/valu_machine.h"

namespace lyra::gcn::test {
namespace {

constexpr uint64_t kFew = 0x85;  // the highest of the few is among them

bool lane_wise(Op op) {
    static const std::set<std::string> others = {"v_readfirstlane_b32", "v_readlane_b32", "v_writelane_b32", "v_nop"};
    return others.count(info(op).name) == 0;
}

/// The same random registers in both, odd floats in lane 0 and 2.
void fill(Machine& m, uint64_t seed) {
    m.random.seed(seed);
    for (unsigned r = 0; r < Machine::kRows; ++r) {
        for (unsigned l = 0; l < kLanes; ++l) m.u(r, l) = m.odd_f32();
    }
    m.wave.write_scalar64(kVccLo, m.random());
}

void compare(Op op, Format format, uint32_t mode, uint64_t seed) {
    Inst inst = make(op, format, 20, {});
    const unsigned sources = format == Format::VOP1 ? 1 : format == Format::VOP3 && !info(op).has(flag::CarryIn) ? 3 : 2;
    for (unsigned n = 0; n < sources; ++n) inst.src[n] = v(1 + 4 * n);
    inst.literal = 0x3fa00000;
    Machine full, few;
    fill(full, seed);
    fill(few, seed);
    const uint64_t old_vcc = few.wave.vcc();
    std::unique_ptr<VgprRow[]> before = std::make_unique<VgprRow[]>(Machine::kRows);
    for (unsigned r = 0; r < Machine::kRows; ++r) before[r] = few.rows[r];
    full.wave.mode = few.wave.mode = mode;
    few.wave.exec = kFew;
    const bool ran = full.run(inst);
    ASSERT_EQ(few.run(inst), ran) << info(op).name;
    for (unsigned r = 0; r < Machine::kRows; ++r) {
        for (unsigned l = 0; l < kLanes; ++l) {
            const uint32_t expected = (kFew >> l) & 1 ? full.u(r, l) : before[r].lane[l];
            ASSERT_EQ(few.u(r, l), expected) << info(op).name << " mode " << mode << " v" << r << " lane " << l;
        }
    }
    const bool writes_vcc = full.wave.vcc() != old_vcc || few.wave.vcc() != old_vcc;
    if (writes_vcc) {
        EXPECT_EQ(few.wave.vcc(), full.wave.vcc() & kFew) << info(op).name;
    }
}

TEST(ValuFewLanes, GiveWhatAFullWaveGives) {
    unsigned compared = 0;
    for (std::size_t i = 1; i < kOpCount; ++i) {
        const Op op = static_cast<Op>(i);
        const Format format = info(op).format;
        const bool vector =
            format == Format::VOP1 || format == Format::VOP2 || format == Format::VOP3 || format == Format::VOPC;
        if (!vector || !lane_wise(op) || vector_table().get(op, format) == nullptr) continue;
        for (const uint32_t mode : {kDefaultModeBits, 0x3c0u, 0x300u, 0x0u}) {
            compare(op, format, mode, i);
            if (HasFatalFailure()) return;
            ++compared;
        }
    }
    EXPECT_GT(compared, 1500u);
}

}  // namespace
}  // namespace lyra::gcn::test
