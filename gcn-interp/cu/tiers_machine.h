// SPDX-License-Identifier: MIT
// A compute unit that runs generated code, for tests.
#pragma once

#include "gcn-interp/cu/test_machine.h"
#include "gcn-interp/testing/generated_backends.h"
#include "gcn-interp/translator/translator.h"

namespace lyra::gcn::test {

class Tiers : public Machine, public ::testing::WithParamInterface<Backend> {
protected:
    void SetUp() override { cu.set_translator(&translator); }
    /// 4 * lane + 100 to the data; MODE is the one that generated code wants.
    WorkgroupLaunch program() {
        WorkgroupLaunch launch = simple(
            "s_mov_b32 s4, 0\n v_mov_b32 v1, 0\n"
            "loop: v_add_u32 v1, v1, v0\n s_add_i32 s4, s4, 1\n s_cmp_lt_u32 s4, 4\n s_cbranch_scc1 loop\n"
            "v_add_u32 v1, 0x64, v1\n v_lshlrev_b32 v2, 2, v0\n v_mov_b32 v3, s1\n"
            "v_add_co_u32 v2, vcc, s0, v2\n v_addc_co_u32 v3, vcc, 0, v3, vcc\n global_store_dword v[2:3], v1, off");
        launch.rsrc1 |= 0xf0u << 12;
        return launch;
    }
    void expect_result() {
        for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(word(lane), 4 * lane + 100);
    }
    uint64_t generated() { return translator.counters().executed; }

    Translator translator{Chip::gfx900, {size_t{1} << 20, 0, false, false, GetParam()}};
};

}  // namespace lyra::gcn::test
