// SPDX-License-Identifier: MIT
// Run lists that do not fit: who is mapped when, what stays mapped, lists without end, work that arrives meanwhile.
#include <random>
#include <set>

#include "cp-firmware-model/testing/cp_rig.h"

namespace lyra {
namespace {

using namespace lyra::testing;
using pm4::Opcode;

class Rotation : public CpRig {
protected:
    static constexpr unsigned kSlots = 24, kProcesses = 8;
    Rotation() { start_hiq(); }

    TestRing far_ring(unsigned n) { return make_ring(0x10000000 + uint64_t{n} * 0x10000, 0x4000 + n * 8); }
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
    std::vector<TestRing> list(unsigned processes, unsigned queues, std::vector<Words>& packets) {
        std::vector<TestRing> rings;
        for (unsigned p = 0; p < processes; ++p) {
            packets.push_back(map_process(static_cast<uint16_t>(0x8001 + p)));
            for (unsigned n = queues * p / processes; n < queues * (p + 1) / processes; ++n) {
                rings.push_back(far_ring(n));
                packets.push_back(map_queue(rings.back()));
            }
        }
        return rings;
    }
    /// What was mapped, round by round.
    std::vector<std::set<uint32_t>> rounds(unsigned count) {
        std::vector<std::set<uint32_t>> found;
        for (unsigned n = 0; n < 100 * count && found.size() < count; ++n) {
            cp.run(10);
            pass_ms(1);
            const auto now = mapped();
            if (!now.empty() && (found.empty() || found.back() != now)) found.push_back(now);
        }
        return found;
    }
};

struct Load {
    unsigned processes, queues;
};
class EveryQueueComes : public Rotation, public ::testing::WithParamInterface<Load> {};

TEST_P(EveryQueueComes, WithinTheRoundsThatTheyTake) {
    const auto [processes, queues] = GetParam();
    std::vector<Words> packets;
    const auto rings = list(processes, queues, packets);
    run_list(packets, kProcesses, true);
    const unsigned by_slots = (queues + kSlots - 1) / kSlots, by_vmids = (processes + kProcesses - 1) / kProcesses;
    const unsigned bound = processes <= kProcesses ? by_slots : by_slots + by_vmids;
    const auto seen = rounds(bound * 4);
    ASSERT_EQ(seen.size(), bound * 4);
    for (unsigned first = 0; first + bound <= seen.size(); ++first) {
        std::set<uint32_t> together;
        for (unsigned n = first; n < first + bound; ++n) together.insert(seen[n].begin(), seen[n].end());
        ASSERT_EQ(together.size(), queues) << "rounds from " << first;
    }
    EXPECT_LE(bus.bound.size(), kProcesses);
}

INSTANTIATE_TEST_SUITE_P(Loads, EveryQueueComes,
                         ::testing::Values(Load{1, 25}, Load{1, 65}, Load{1, 200}, Load{9, 9}, Load{12, 48}, Load{20, 20},
                                           Load{20, 200}),
                         [](const auto& test) {
                             return std::to_string(test.param.processes) + "x" + std::to_string(test.param.queues);
                         });

TEST_F(Rotation, StaticAndDebugQueuesStay) {
    std::vector<Words> packets;
    auto rings = list(1, 40, packets);
    packets[1] = map_queue(rings[0], 1u << 29 | 1u << 4 | 1u << 21);  // debug interface
    packets[2] = map_queue(rings[1], 1u << 29 | 1u << 4 | 2u << 21);
    packets[3] = map_queue(rings[2], 1u << 29 | 1u << 4 | 3u << 21);
    run_list(packets, kProcesses, true);
    std::set<uint32_t> all;
    for (const auto& round : rounds(8)) {
        for (unsigned n = 0; n < 3; ++n) EXPECT_TRUE(round.count(rings[n].doorbell));
        all.insert(round.begin(), round.end());
    }
    EXPECT_EQ(all.size(), 40u);
    submit(hiq, unmap(3));
    settle(20);
    EXPECT_EQ(mapped().size(), 3u);
    EXPECT_EQ(bus.bound.size(), 1u) << "their process keeps its VMID";
    submit(hiq, unmap(2));
    settle(20);
    EXPECT_TRUE(mapped().empty());
    EXPECT_TRUE(bus.bound.empty());
}

TEST_F(Rotation, AListMayGoOnElsewhere) {
    std::vector<Words> first, second;
    const auto rings = list(1, 40, first);
    second.assign(first.begin() + 21, first.end());
    first.resize(21);
    second.insert(second.begin(), map_process(0x8002));
    Words elsewhere;
    for (const Words& p : second) elsewhere.insert(elsewhere.end(), p.begin(), p.end());
    size_t dwords = 4;
    for (const Words& p : first) dwords += p.size();
    // The second list points back to the first one.
    const Words back = run_list_packet(kRunList, dwords, kProcesses, true);
    elsewhere.insert(elsewhere.end(), back.begin(), back.end());
    put_words(kIb, elsewhere);
    first.push_back(run_list_packet(kIb, elsewhere.size(), kProcesses, true));
    run_list(first, kProcesses, false);
    std::set<uint32_t> all;
    for (const auto& round : rounds(12)) all.insert(round.begin(), round.end());
    EXPECT_EQ(all.size(), 40u) << "each of the lists fits, both together do not";
}

TEST_F(Rotation, ListsWithoutEndDoNotHoldUpAnything) {
    // Nothing but a packet that points to itself; and lists of NOPs and of processes without queues that do.
    const std::vector<std::vector<Words>> lists = {
        {}, {{pm4::kOneDwordNop, pm4::kOneDwordNop}}, {map_process(0x8001), map_process(0x8002)}, {{0xc0001000, 0}}};
    for (const auto& packets : lists) {
        run_list(packets, kProcesses, true);
        for (unsigned n = 0; n < 50; ++n) cp.run(10), pass_ms(1);
        submit(kiq, write_data(kScratch, {static_cast<uint32_t>(&packets - lists.data() + 1)}));
        settle(20);
        EXPECT_EQ(word(kScratch), static_cast<uint32_t>(&packets - lists.data() + 1));
        submit(hiq, unmap(2));
        submit(hiq, query_status(kScratch + 8, 100));
        settle(20);
        EXPECT_EQ(qword(kScratch + 8), 100u);
        bus.memory.put<uint64_t>(kScratch + 8, 0);
    }
}

/// Doorbells and unmapping at random moments: each packet happens once.
TEST_F(Rotation, NothingIsLostAndNothingHappensTwice) {
    constexpr unsigned kQueues = 40, kPackets = 30;
    std::mt19937 random(11);
    std::vector<Words> packets;
    auto rings = list(10, kQueues, packets);
    const auto counter = [](unsigned queue) { return kScratch + 0x1000 + queue * 8; };
    // ATOMIC_MEM: add 1, 64 bits.
    const auto add = [&](unsigned queue) {
        const uint64_t at = counter(queue);
        return packet(Opcode::ATOMIC_MEM, {0x2f, lo32(at), hi32(at), 1, 0, 0, 0, 0});
    };
    std::vector<unsigned> sent(kQueues);
    bool listed = false;
    for (unsigned n = 0; n < 200'000; ++n) {
        const unsigned queue = random() % kQueues;
        if (sent[queue] < kPackets && random() % 2) {
            emit(rings[queue], add(queue));
            ++sent[queue];
            ring_bell(rings[queue]);
        }
        if (random() % 40 == 0) {
            if (listed) {
                bus.memory.put<uint64_t>(kScratch, 0);
                submit(hiq, unmap(3));
                submit(hiq, query_status(kScratch, 100));
                for (unsigned k = 0; k < 100 && qword(kScratch) != 100; ++k) cp.run(1);
                ASSERT_EQ(qword(kScratch), 100u);
                ASSERT_TRUE(mapped().empty());
                // After the fence nothing of them happens.
                std::vector<uint64_t> before;
                for (unsigned q = 0; q < kQueues; ++q) before.push_back(qword(counter(q)));
                for (unsigned k = 0; k < 5; ++k) cp.run(10);
                for (unsigned q = 0; q < kQueues; ++q) ASSERT_EQ(qword(counter(q)), before[q]);
            }
            run_list(packets, kProcesses, true);
            listed = true;
        }
        cp.run(1 + random() % 20);
        if (random() % 4 == 0) pass_ms(1);
        unsigned complete = 0;
        for (unsigned q = 0; q < kQueues; ++q) complete += qword(counter(q)) == kPackets;
        if (complete == kQueues) break;
    }
    for (unsigned q = 0; q < kQueues; ++q) EXPECT_EQ(qword(counter(q)), kPackets) << q;
}

}  // namespace
}  // namespace lyra
