// SPDX-License-Identifier: MIT
// Each assumption about the firmware (common/firmware.def), in all that it may be.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "cp-firmware-model/testing/waves_bench.h"

namespace lyra {
namespace {

using testing::TestRing;
using testing::WavesBench;
using testing::Words;

constexpr uint32_t kListed = 0, kNonStatic = 3;

struct FirmwareTest : WavesBench {
    void SetUp() override { ASSERT_READY(); }
    void assume(const char* text) { ASSERT_EQ(env.firmware.set(text), ""); }
    std::vector<TestRing> rings(unsigned count) {
        std::vector<TestRing> made;
        for (unsigned n = 0; n < count; ++n) made.push_back(make_ring(0x10000000 + uint64_t{n} * 0x10000, 0x4000 + n * 8));
        return made;
    }
    /// @param idle_disable  of the packet that chains the list to itself; none without oversubscription
    void send(const std::vector<TestRing>& queues, bool chain = false, bool idle_disable = false) {
        std::vector<Words> list{map_process(0x8001)};
        for (const TestRing& ring : queues) list.push_back(map_queue(ring));
        size_t dwords = 4;
        for (const Words& words : list) dwords += words.size();
        if (chain) {
            list.push_back(run_list_packet(kRunList, dwords, 8, true));
            if (idle_disable) list.back()[3] |= 1u << 22;
        }
        run_list(list);
        for (unsigned n = 0; n < 20; ++n) cp.run(64);
    }
    std::set<uint32_t> mapped() {
        std::set<uint32_t> doorbells;
        for (uint8_t pipe = 0; pipe < 4; ++pipe) {
            for (uint8_t queue = 0; queue < 8; ++queue) {
                const GrbmSelect slot{1, pipe, queue, 0};
                if (reg(0xc91c, slot) == 1) doorbells.insert(reg(0xc950, slot) & 0x0ffffffc);
            }
        }
        return doorbells;
    }
    static std::set<uint32_t> doorbells(const std::vector<TestRing>& queues) {
        std::set<uint32_t> all;
        for (const TestRing& ring : queues) all.insert(ring.doorbell);
        return all;
    }
    void pass(unsigned ms) {
        for (unsigned n = 0; n < ms; ++n) {
            pass_ms(1);
            for (unsigned k = 0; k < 4; ++k) cp.run(64);
        }
    }
    Words unmap_doorbell(const TestRing& ring) {
        return testing::packet(pm4::Opcode::UNMAP_QUEUES, {kListed << 4 | 1u << 29, ring.doorbell, 0, 0, 0});
    }
    /// @return ms until other queues are mapped, at most 100
    unsigned round_ms() {
        const auto before = mapped();
        for (unsigned ms = 1; ms <= 100; ++ms) {
            pass(1);
            if (mapped() != before) return ms;
        }
        return 100;
    }
};

/// 40 idle queues in 24 slots; the process has a quantum of 10 ms.
TEST_F(FirmwareTest, IdleRoundsEndWhenTheFirmwareSaysSo) {
    const auto queues = rings(40);
    const struct {
        const char* choice;
        bool idle_disable;
        unsigned least, most;
    } cases[] = {{"idle-round=cut", true, 1, 2},
                 {"idle-round=full", false, 10, 11},
                 {"idle-round=packet", false, 1, 2},
                 {"idle-round=packet", true, 10, 11}};
    for (const auto& c : cases) {
        assume(c.choice);
        send(queues, true, c.idle_disable);
        round_ms();  // the first list packet is the ring's, without the bit
        for (unsigned n = 0; n < 3; ++n) {
            const unsigned ms = round_ms();
            EXPECT_GE(ms, c.least) << c.choice << c.idle_disable;
            EXPECT_LE(ms, c.most) << c.choice << c.idle_disable;
        }
        submit(hiq, CpBench::unmap(kNonStatic));
        settle();
        ASSERT_TRUE(mapped().empty());
    }
}

TEST_F(FirmwareTest, ARunListOverALiveOne) {
    const auto all = rings(3);
    const std::vector<TestRing> first{all[0], all[1]}, second{all[1], all[2]};
    for (const char* choice : {"keep", "preempt", "defer", "reject"}) {
        SCOPED_TRACE(choice);
        assume(("runlist-over-live=" + std::string(choice)).c_str());
        const uint64_t refused = faults(Fault::FirmwareRefused);
        send(first);
        ASSERT_EQ(mapped(), doorbells(first)) << "nothing was live";
        send(second);
        const std::string how = choice;
        const auto at_once = mapped();
        pass(11);
        const auto later = mapped();
        if (how == "keep") {
            EXPECT_EQ(at_once, doorbells(all));
            EXPECT_EQ(later, at_once);
        } else if (how == "preempt") {
            EXPECT_EQ(at_once, doorbells(second));
            EXPECT_EQ(later, at_once);
        } else if (how == "defer") {
            EXPECT_EQ(at_once, doorbells(first));
            EXPECT_EQ(later, doorbells(second));
        } else {
            EXPECT_EQ(at_once, doorbells(first));
            EXPECT_EQ(later, at_once);
        }
        EXPECT_EQ(faults(Fault::FirmwareRefused) - refused, how == "reject" ? 1u : 0u);
        submit(hiq, CpBench::unmap(kNonStatic));
        settle();
        ASSERT_TRUE(mapped().empty());
    }
}

/// A list that was put off does not come back after everything was unmapped.
TEST_F(FirmwareTest, UnmappingForgetsADeferredList) {
    assume("runlist-over-live=defer");
    const auto all = rings(2);
    send({all[0]});
    send({all[1]});
    submit(hiq, CpBench::unmap(kNonStatic));
    settle();
    pass(30);
    EXPECT_TRUE(mapped().empty());
}

/// 40 queues rotate; one of them is unmapped by its doorbell.
TEST_F(FirmwareTest, UnmappingByDoorbell) {
    const auto queues = rings(40);
    for (const char* choice : {"keep", "stop", "reject"}) {
        SCOPED_TRACE(choice);
        const std::string how = choice;
        assume(("unmap-by-doorbell=" + how).c_str());
        const uint64_t refused = faults(Fault::FirmwareRefused);
        send(queues, true);
        const auto before = mapped();
        const uint32_t gone = *before.begin();
        const auto ring = std::find_if(queues.begin(), queues.end(), [&](const TestRing& r) { return r.doorbell == gone; });
        bus.memory.put<uint64_t>(kDone, 0);
        submit(hiq, unmap_doorbell(*ring));
        submit(hiq, query_status(kDone, 100));
        for (unsigned n = 0; n < 20; ++n) cp.run(64);
        EXPECT_EQ(qword(kDone), 100u);
        EXPECT_EQ(mapped().count(gone), how == "reject" ? 1u : 0u);
        EXPECT_EQ(faults(Fault::FirmwareRefused) - refused, how == "reject" ? 1u : 0u);
        EXPECT_EQ(round_ms() < 100, how != "stop") << "it rotates, or it does not";
        submit(hiq, CpBench::unmap(kNonStatic));
        settle();
        ASSERT_TRUE(mapped().empty());
    }
}

/// One more in word 0 a wave, and then nothing but time.
constexpr const char* kStay = R"(
  v_mov_b32 v0, 0
  v_mov_b32 v1, 1
  s_mov_b64 exec, 1
  global_atomic_add v0, v1, s[0:1]
again:
  s_sleep 1
  s_branch again
)";

/// The waves of one queue fill the chip and never end; another queue has one.
TEST_F(FirmwareTest, RescueIsWhatLetsAWaitingQueueIn) {
    ASSERT_TRUE(program(0, kStay));
    for (const bool rescue : {false, true}) {
        assume(rescue ? "rescue=on" : "rescue=off");
        std::vector<TestRing> both{save_ring(0), save_ring(1)};
        run_list({process(0x8001), map_queue(both[0]), map_queue(both[1])});
        for (unsigned n = 0; n < 20; ++n) cp.run(64);
        bus.memory.put<uint32_t>(kData, 0);
        bus.memory.put<uint32_t>(kData + 0x100, 0);
        submit_grid(both[0], 0, 400, 0, kData);
        for (unsigned n = 0; n < 200; ++n) cp.run(2000);
        ASSERT_GT(word(kData), 100u);
        submit_grid(both[1], 0, 1, 0, kData + 0x100);
        pass(40);
        for (unsigned n = 0; n < 200; ++n) cp.run(2000);
        EXPECT_EQ(word(kData + 0x100), rescue ? 1u : 0u);
        submit(hiq, CpBench::unmap(kNonStatic, 1));  // reset
        settle();
        ASSERT_TRUE(mapped().empty());
    }
}

}  // namespace
}  // namespace lyra
