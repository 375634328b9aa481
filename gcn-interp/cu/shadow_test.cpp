// SPDX-License-Identifier: MIT
// Shadow mode beside somebody who looks at memory while waves run.
#include <atomic>
#include <cstdlib>
#include <thread>

#include "gcn-interp/cu/shadow.h"
#include "gcn-interp/cu/tiers_machine.h"

namespace lyra::gcn::test {
namespace {

INSTANTIATE_TEST_SUITE_P(OnThisHost, Tiers, ::testing::ValuesIn(generated_backends()), backend_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Tiers);

/// The environment is asked once, by the first translator.
const bool kWanted = setenv("LYRA_SHADOW", "guest", 1) == 0 && Shadow::kind() == Shadow::Kind::BesideProcessors;

/// A processor of the guest never sees that it is undone.
TEST_P(Tiers, AnAtomicOperationOnMemoryHappensOnce) {
    ASSERT_TRUE(kWanted);
    constexpr uint32_t kRounds = 0x4000;
    WorkgroupLaunch launch = simple(R"(
        s_movk_i32 s4, 0x4000
        v_mov_b32 v2, s0
        v_mov_b32 v3, s1
        v_mov_b32 v1, 1
        loop: v_add_u32 v4, v1, v0
        v_add_u32 v5, v4, v1
        global_atomic_add v[2:3], v1, off
        s_sub_u32 s4, s4, 1
        s_cmp_lg_u32 s4, 0
        s_cbranch_scc1 loop)");
    launch.rsrc1 |= 0xf0u << 12;
    std::atomic<bool> ended{false};
    uint32_t steps_back = 0;
    memory.at<uint32_t>(kData) = 0;
    std::atomic_ref<uint32_t> counter(memory.at<uint32_t>(kData));
    std::thread processor([&] {
        for (uint32_t before = 0; !ended;) {
            const uint32_t now = counter;
            steps_back += now < before;
            before = now;
        }
    });
    run(launch);
    ended = true;
    processor.join();
    EXPECT_EQ(word(0), kRounds * kLanes);
    EXPECT_EQ(steps_back, 0u);
    EXPECT_GT(generated(), kRounds);
}

}  // namespace
}  // namespace lyra::gcn::test
