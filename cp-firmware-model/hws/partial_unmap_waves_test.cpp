// SPDX-License-Identifier: MIT
// Some queues are unmapped and mapped again by another run list while the waves of the others go on.
#include <array>

#include "cp-firmware-model/testing/waves_bench.h"

namespace lyra {
namespace {

using testing::TestRing;
using testing::WavesBench;
using testing::Words;

constexpr uint32_t kStatic = 2u << 21;
constexpr uint32_t kByPasid = 1, kAllNonStatic = 3;
constexpr uint32_t kTurns = 20000;

/// s3 times one more in word 0.
constexpr const char* kCount = R"(
  v_mov_b32 v0, 0
  v_mov_b32 v1, 1
  s_mov_b64 exec, 1
  s_mov_b32 s10, 0
again:
  global_atomic_add v0, v1, s[0:1]
  s_waitcnt vmcnt(0)
  s_add_u32 s10, s10, 1
  s_cmp_lt_u32 s10, s3
  s_cbranch_scc1 again
  s_endpgm
)";

/// Three processes with a queue each; the one in the middle has to go.
struct PartialUnmap : WavesBench {
    static constexpr std::array<uint32_t, 3> kWaves{4, 3, 5};

    PartialUnmap() {
        ready = ready && program(0, kCount);
        for (unsigned n = 0; ready && n < kWaves.size(); ++n) rings.push_back(save_ring(n));
    }
    static uint64_t data(unsigned n) { return kData + n * 0x100; }
    uint32_t count(unsigned n) { return word(data(n)); }
    void send_list(uint32_t type_of_others) {
        std::vector<Words> list;
        for (unsigned n = 0; n < rings.size(); ++n) {
            list.push_back(process(static_cast<uint16_t>(0x8001 + n)));
            list.push_back(map_queue(rings[n], kMapQueue | (n == 1 ? 0 : type_of_others)));
        }
        run_list(list);
        for (unsigned n = 0; n < 20; ++n) cp.run(64);
    }
    void preempt_the_middle(uint32_t select, uint32_t type_of_others) {
        send_list(type_of_others);
        for (unsigned n = 0; n < rings.size(); ++n) submit_grid(rings[n], 0, kWaves[n], kTurns, data(n));
        std::mt19937 random(5);
        constexpr unsigned kTimes = 30;
        for (unsigned n = 0; n < kTimes; ++n) {
            for (unsigned k = 1 + random() % 10; k != 0; --k) cp.run(1 + random() % 500);
            bus.memory.put<uint64_t>(kDone, 0);
            submit(hiq, CpBench::unmap(select, 0, select == kByPasid ? 0x8002 : 0));
            submit(hiq, query_status(kDone, 100));
            for (unsigned k = 0; k < 2000 && qword(kDone) != 100; ++k) cp.run(100);
            ASSERT_EQ(qword(kDone), 100u);
            ASSERT_EQ(cp.dispatcher().waves_live_total(), kWaves[0] + kWaves[2]);
            const std::array<uint32_t, 3> before{count(0), count(1), count(2)};
            for (unsigned k = 0; k < 5; ++k) cp.run(200);
            ASSERT_GT(count(0), before[0]);
            ASSERT_EQ(count(1), before[1]);
            ASSERT_GT(count(2), before[2]);
            send_list(type_of_others);
        }
        EXPECT_EQ(env.stats.get(Stat::waves_saved), kTimes * kWaves[1]) << "nobody else's";
        for (unsigned n = 0; n < 20'000 && !(word(fence(rings[0])) && word(fence(rings[1])) && word(fence(rings[2]))); ++n)
            cp.run(2000);
        for (unsigned n = 0; n < rings.size(); ++n) EXPECT_EQ(count(n), kWaves[n] * kTurns) << n;
        expect_all_restored();
    }

    std::vector<TestRing> rings;
};

TEST_F(PartialUnmap, ByPasidLeavesOtherProcesses) {
    ASSERT_READY();
    preempt_the_middle(kByPasid, 0);
}

TEST_F(PartialUnmap, NonStaticLeavesStaticQueues) {
    ASSERT_READY();
    preempt_the_middle(kAllNonStatic, kStatic);
}

}  // namespace
}  // namespace lyra
