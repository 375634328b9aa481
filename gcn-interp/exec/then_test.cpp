// SPDX-License-Identifier: MIT
// What follows an instruction agrees with what its row says of the PC and of the compute unit.
#include "gcn-interp/exec/then.h"

#include <gtest/gtest.h>

#include "gcn-interp/isa/effects.h"

namespace lyra::gcn {
namespace {

TEST(Then, WhatSetsThePcOrAsksForSomethingIsNeverFollowedBlindly) {
    unsigned seen = 0;
    for (size_t i = 1; i < kOpCount; ++i) {
        Inst inst;
        inst.op = static_cast<Op>(i);
        inst.format = info(inst.op).format;
        const Effects effects = effects_of(inst.op);
        if (((effects.reads | effects.writes) & effect::Pc) == 0 && (effects.writes & (effect::Ask | effect::Fault)) == 0)
            continue;
        ++seen;
        EXPECT_NE(then_of(inst), Then::Next) << info(inst.op).name;
    }
    EXPECT_GT(seen, 100u);
}

}  // namespace
}  // namespace lyra::gcn
