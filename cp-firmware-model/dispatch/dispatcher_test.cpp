// SPDX-License-Identifier: MIT
// Grid walk, scratch slots, placement, fairness, limits and interrupts, over compute units that only count down.
#include "cp-firmware-model/dispatch/dispatcher.h"

#include <gtest/gtest.h>

#include <set>

#include "cp-firmware-model/dispatch/grid_walk.h"
#include "cp-firmware-model/dispatch/scratch_slots.h"
#include "cp-firmware-model/queue/flight.h"
#include "cp-firmware-model/testing/fake_compute_unit.h"
#include "cp-firmware-model/testing/flat_bus.h"

namespace lyra {
namespace {

using testing::FakeCus;
using testing::WavePlan;

TEST(GridWalk, GoesThroughXFirstAndCutsTheEdges) {
    GridWalk walk({5, 3, 1}, {4, 2, 1}, {0, 0, 0});
    EXPECT_EQ(walk.total(), 4u);
    const std::array<uint32_t, 3> ids[] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}};
    const std::array<uint32_t, 3> valid[] = {{4, 2, 1}, {1, 2, 1}, {4, 1, 1}, {1, 1, 1}};
    for (unsigned i = 0; i < 4; ++i, walk.next()) {
        ASSERT_FALSE(walk.done());
        EXPECT_EQ(walk.group(), ids[i]);
        EXPECT_EQ(walk.valid(), valid[i]);
    }
    EXPECT_TRUE(walk.done());
}

TEST(GridWalk, StartsAtTheGivenGroup) {
    GridWalk walk({8, 2, 1}, {2, 1, 1}, {2, 1, 0});
    EXPECT_EQ(walk.total(), 2u);
    EXPECT_EQ(walk.group(), (std::array<uint32_t, 3>{2, 1, 0}));
    walk.next();
    EXPECT_EQ(walk.group(), (std::array<uint32_t, 3>{3, 1, 0}));
    walk.next();
    EXPECT_TRUE(walk.done());
}

TEST(GridWalk, HugeGridsAndEmptyOnes) {
    GridWalk huge({~0u, ~0u, ~0u}, {1, 1, 1}, {0, 0, 0});
    EXPECT_EQ(huge.total(), ~uint64_t{0});
    EXPECT_FALSE(huge.done());
    GridWalk edge({~0u, 1, 1}, {1024, 1, 1}, {4194303, 0, 0});
    EXPECT_EQ(edge.valid()[0], 1023u);
    EXPECT_TRUE(GridWalk({0, 1, 1}, {1, 1, 1}, {0, 0, 0}).done());
    EXPECT_TRUE(GridWalk({4, 1, 1}, {0, 1, 1}, {0, 0, 0}).done());
    EXPECT_TRUE(GridWalk({4, 1, 1}, {4, 1, 1}, {1, 0, 0}).done());
}

TEST(GridWalk, SkipsAsStepsGo) {
    const GridWalk whole({10, 7, 3}, {2, 3, 1}, {1, 0, 1});
    const auto total = static_cast<unsigned>(whole.total());
    ASSERT_EQ(total, 4u * 3 * 2);
    GridWalk steps = whole;
    for (unsigned n = 0; n <= total; ++n, steps.next()) {
        EXPECT_EQ(steps.left(1000), total - n);
        EXPECT_EQ(steps.left(3), std::min(total - n, 3u));
        GridWalk skips = whole;
        skips.skip(n / 2);
        skips.skip(n - n / 2);
        EXPECT_EQ(skips.done(), steps.done()) << n;
        EXPECT_EQ(skips.group(), steps.group()) << n;
    }
    EXPECT_EQ(GridWalk({~0u, ~0u, ~0u}, {1, 1, 1}, {0, 0, 0}).left(~uint64_t{0}), ~uint64_t{0});
}

TEST(GridDeal, EachGroupIsOfOnePart) {
    for (const unsigned parts : {1u, 2u, 3u, 16u})
        for (const uint32_t stride : {1u, 3u, 8u})
            for (const uint64_t groups : {1u, 7u, 24u, 50u, 129u}) {
                SCOPED_TRACE(::testing::Message() << parts << " parts, " << stride << ", " << groups);
                GridDeal deal{.parts = parts, .stride = stride, .groups = groups};
                std::vector<unsigned> part_of(groups, parts);
                for (unsigned part = 0; part < parts; ++part)
                    for (uint64_t nth = 0, before = 0; nth < deal.size(part); ++nth) {
                        const uint64_t number = deal.number(part, nth);
                        ASSERT_LT(number, groups);
                        EXPECT_EQ(part_of[number], parts);
                        EXPECT_TRUE(nth == 0 || number > before);
                        EXPECT_EQ(deal.below(part, number), nth);
                        EXPECT_EQ(deal.below(part, number + 1), nth + 1);
                        EXPECT_EQ(part_of[number] = part, number / stride % parts);
                        EXPECT_LE(number + deal.run(part, nth), groups);
                        EXPECT_EQ(deal.number(part, nth + deal.run(part, nth) - 1), number + deal.run(part, nth) - 1);
                        before = number;
                    }
                EXPECT_EQ(std::count(part_of.begin(), part_of.end(), parts), 0);
                for (uint64_t number = 0; number < groups; ++number) {
                    ASSERT_EQ(deal.lowest(), part_of[number]);
                    EXPECT_EQ(deal.number(deal.lowest(), deal.launched[deal.lowest()]), number);
                    EXPECT_TRUE(deal.in_order_until(number));
                    EXPECT_FALSE(deal.in_order_until(number + 1));
                    ++deal.launched[deal.lowest()];
                }
                EXPECT_EQ(deal.lowest(), parts);
            }
}

TEST(GridDeal, IsInAnMqdWhatItWas) {
    for (const uint64_t base : {uint64_t{0}, uint64_t{5}, uint64_t{0x123456789}}) {
        LaunchPosition position{{7, 8, 9}, {.parts = 16, .stride = 2048, .groups = base * 16 + 100'000}};
        for (unsigned n = 0; n < 16; ++n) position.deal.launched[n] = base + n * 4000;
        std::array<uint32_t, kFlightWords> words{};
        flight::put_position(position, words);
        const LaunchPosition again = flight::get_position(words);
        EXPECT_EQ(again.group, position.group);
        EXPECT_EQ(again.deal.parts, 16u);
        EXPECT_EQ(again.deal.stride, 2048u);
        EXPECT_EQ(again.deal.launched, position.deal.launched);
    }
    std::array<uint32_t, kFlightWords> words{};
    flight::put_position({{1, 2, 3}, {}}, words);
    EXPECT_FALSE(flight::get_position(words).deal.dealt());
}

TEST(GridDeal, AStreamThatLiesIsRefused) {
    const auto load = [](GridDeal deal) {
        StateWriter writer;
        writer("deal", deal);
        const std::vector<uint8_t> bytes = writer.take();
        GridDeal loaded;
        StateLoader loader(bytes);
        loader("deal", loaded);
        EXPECT_TRUE(loader.ok() || !loaded.dealt());
        return loader.ok();
    };
    const GridDeal good{.parts = 3, .stride = 4, .groups = 20, .launched = {2, 4, 1}};
    EXPECT_TRUE(load(good));
    EXPECT_TRUE(load({}));
    GridDeal bad = good;
    bad.stride = 0;
    EXPECT_FALSE(load(bad));
    bad = good;
    bad.parts = 17;
    EXPECT_FALSE(load(bad));
    bad = good;
    bad.groups = ~uint64_t{0};
    EXPECT_FALSE(load(bad));
    bad = good;
    bad.launched[1] = 9;
    EXPECT_FALSE(load(bad));
}

TEST(ScratchSlots, GivesTheLowestFreeSlotBelowTheLimit) {
    ScratchSlots slots(2);
    for (int i = 0; i < 70; ++i) EXPECT_EQ(slots.take(1, 70), i);
    EXPECT_EQ(slots.take(1, 70), -1);
    EXPECT_EQ(slots.available(1, 70), 0u);
    EXPECT_EQ(slots.available(0, 70), 70u);
    slots.give_back(1, 65);
    slots.give_back(1, 3);
    EXPECT_EQ(slots.available(1, 70), 2u);
    EXPECT_EQ(slots.take(1, 70), 3);
    EXPECT_EQ(slots.take(1, 64), -1);
    EXPECT_EQ(slots.take(1, 70), 65);
}

TEST(SqInterrupt, PutsDataAndPlaceWhereTheDriverLooks) {
    const Interrupt i = sq_interrupt(SqEncoding::Wave, {2, 5, 3, 9, true}, 0xabcdef, 8, 77);
    EXPECT_EQ(i.client, 0x0c);
    EXPECT_EQ(i.source, 239);
    const uint32_t c0 = i.data[0], c1 = i.data[1];
    EXPECT_EQ((c0 & 0xfff) | ((c0 >> 16) & 0xf000) | ((c1 << 16) & 0xff0000), 0xabcdefu);
    EXPECT_EQ(c0 & 0x00002000, 0x2000u);
    EXPECT_EQ((c0 & 0x0003c000) >> 14, 9u);
    EXPECT_EQ((c0 & 0x000c0000) >> 18, 3u);
    EXPECT_EQ((c0 & 0x00f00000) >> 20, 5u);
    EXPECT_EQ((c0 & 0x03000000) >> 24, 2u);
    EXPECT_EQ((c0 & 0x0c000000) >> 26, 1u);
    EXPECT_EQ(i.pasid, 77);
}

class DispatcherTest : public ::testing::Test {
protected:
    DispatchRequest request(uint32_t items, uint32_t group, uint32_t queue = 0) {
        DispatchRequest r;
        r.queue_id = queue;
        r.vmid = 8 + queue % 8;
        r.entry = 0x10000;
        r.grid = {items, 1, 1};
        r.group_size = {group, 1, 1};
        return r;
    }
    void run_to_end(unsigned rounds = 1000) {
        for (unsigned i = 0; i < rounds; ++i) {
            if (dispatcher.run(100000) == RunState::Idle) return;
        }
        FAIL() << "still busy";
    }

    testing::FakeHost host;
    Env env{host};
    testing::FlatBus bus;
    GpuShape shape{4, 2, 32};
    FakeCus fakes;
    Dispatcher dispatcher{env, bus, shape, fakes.maker()};
};

TEST_F(DispatcherTest, LaunchesEveryGroupOnceAndCompletes) {
    const uint64_t id = dispatcher.start(request(1000, 64));
    EXPECT_NE(id, 0u);
    EXPECT_FALSE(dispatcher.complete(id));
    run_to_end();
    EXPECT_TRUE(dispatcher.complete(id));
    EXPECT_TRUE(dispatcher.launched(id));
    ASSERT_EQ(fakes.launches.size(), 16u);
    for (unsigned i = 0; i < 16; ++i) EXPECT_EQ(fakes.launches[i].launch.group_id[0], i);
    EXPECT_EQ(fakes.launches[15].launch.group_valid[0], 1000u - 15 * 64);
    EXPECT_EQ(dispatcher.waves_live_total(), 0u);
    EXPECT_EQ(env.stats.get(Stat::workgroups), 16u);
}

/// On a device with one thread, or with others than had dealt it, what is left behind comes first.
TEST_F(DispatcherTest, AGridThatWasDealtGoesOnWithItsLowestGroups) {
    const DispatchRequest r = request(64 * 20, 64);
    LaunchPosition position{{2, 0, 0}, {.parts = 3, .stride = 4, .launched = {2, 4, 1}}};
    dispatcher.end_resume((dispatcher.resume(r, &position), r.queue_id));
    run_to_end();
    std::vector<unsigned> launched;
    for (const auto& each : fakes.launches) launched.push_back(each.launch.group_id[0]);
    EXPECT_EQ(launched, (std::vector<unsigned>{2, 3, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
}

TEST_F(DispatcherTest, ADealThatCannotBeIsNotFollowed) {
    const DispatchRequest r = request(64 * 20, 64);
    std::vector<LaunchPosition> positions(6, {{18, 0, 0}, {.parts = 3, .stride = 4, .launched = {2, 4, 1}}});
    positions[0].deal.parts = 1;
    positions[1].deal.parts = 17;
    positions[2].deal.stride = 0;
    positions[3].deal.launched = {9, 0, 0};
    positions[4].deal.launched = {8, 8, 4};  // all
    positions[5].deal.launched = {~uint64_t{0}, 0, 0};
    for (LaunchPosition& position : positions) {
        fakes.launches.clear();
        dispatcher.resume(r, &position);
        dispatcher.end_resume(r.queue_id);
        run_to_end();
        ASSERT_EQ(fakes.launches.size(), 2u);
        EXPECT_EQ(fakes.launches[0].launch.group_id[0], 18u);
    }
}

TEST_F(DispatcherTest, TheLastGroupHasFewerWaves) {
    const uint64_t id = dispatcher.start(request(128 * 2000 + 64, 128));
    for (unsigned n = 0; n < 10'000 && !dispatcher.complete(id); ++n) dispatcher.run(1000);
    ASSERT_TRUE(dispatcher.complete(id));
    EXPECT_EQ(fakes.launches.back().launch.group_valid[0], 64u);
    EXPECT_EQ(dispatcher.waves_live(0), 0u);
    EXPECT_EQ(dispatcher.waves_on_engine(0), 0u);
    EXPECT_EQ(env.stats.get(Stat::workgroups), 2001u);
}

TEST_F(DispatcherTest, SpreadsOverEnginesThenOverTheirUnits) {
    fakes.plan = [](const auto&) { return WavePlan{.instructions = 1u << 30}; };
    dispatcher.start(request(8 * 64, 64));
    dispatcher.run(1);
    ASSERT_EQ(fakes.launches.size(), 8u);
    const unsigned order[] = {0, 2, 4, 6, 1, 3, 5, 7};
    for (unsigned i = 0; i < 8; ++i) {
        EXPECT_EQ(fakes.launches[i].cu, order[i]);
        EXPECT_EQ(fakes.launches[i].launch.shader_engine, order[i] / 2);
        EXPECT_EQ(fakes.launches[i].launch.cu_in_engine, order[i] % 2);
    }
}

TEST_F(DispatcherTest, ObeysTheCuMask) {
    DispatchRequest r = request(64 * 64, 64);
    r.cu_mask = {0, 0x2, 0, 0x1, ~0u, ~0u, ~0u, ~0u};
    const uint64_t id = dispatcher.start(r);
    run_to_end();
    EXPECT_TRUE(dispatcher.complete(id));
    std::set<unsigned> used;
    for (const auto& l : fakes.launches) used.insert(l.cu);
    EXPECT_EQ(used, (std::set<unsigned>{3, 6}));
}

TEST_F(DispatcherTest, AMaskWithoutUnitsOnlyStopsItsOwnQueue) {
    DispatchRequest none = request(64, 64, 1);
    none.cu_mask.fill(0);
    const uint64_t stuck = dispatcher.start(none);
    const uint64_t other = dispatcher.start(request(64 * 1000, 64, 2));
    run_to_end();
    EXPECT_FALSE(dispatcher.complete(stuck));
    EXPECT_TRUE(dispatcher.complete(other));
    dispatcher.kill_queue(1);
    EXPECT_TRUE(dispatcher.complete(stuck));
}

TEST_F(DispatcherTest, KeepsTheOrderWithinAQueue) {
    dispatcher.start(request(64 * 400, 64));
    const uint64_t second = dispatcher.start(request(64, 64));
    dispatcher.run(1);
    EXPECT_FALSE(dispatcher.launched(second));
    run_to_end();
    EXPECT_EQ(fakes.launches.back().launch.dispatch, second);
}

TEST_F(DispatcherTest, GivesPipesTheirTurns) {
    dispatcher.start(request(64 * 4000, 64, 1));
    dispatcher.start(request(64 * 4000, 64, 1 + kQueuesPerPipe));
    dispatcher.run(1);
    unsigned of_first = 0;
    for (const auto& l : fakes.launches) of_first += l.launch.dispatch == 1;
    EXPECT_EQ(fakes.launches.size(), 320u);
    EXPECT_EQ(of_first, 160u);
}

TEST_F(DispatcherTest, ALargeGroupIsNotKeptOutBySmallOnes) {
    fakes.plan = [](const gcn::WorkgroupLaunch& l) { return WavePlan{.instructions = 2000 + l.group_id[0] * 37 % 3000}; };
    DispatchRequest small = request(~0u, 64, 1);
    small.lds_bytes = 4096;
    dispatcher.start(small);
    dispatcher.run(1000);
    DispatchRequest large = request(1024, 1024, 2);
    large.lds_bytes = 64 * 1024;
    const uint64_t id = dispatcher.start(large);
    for (unsigned i = 0; i < 1000 && !dispatcher.complete(id); ++i) dispatcher.run(10000);
    EXPECT_TRUE(dispatcher.complete(id));
}

TEST_F(DispatcherTest, AGroupThatFindsNoRoomForEverDoesNotStopTheOthers) {
    Dispatcher one(env, bus, {1, 1, 32}, fakes.maker());
    fakes.plan = [](const gcn::WorkgroupLaunch& l) { return WavePlan{.instructions = 10, .forever = l.dispatch == 1}; };
    DispatchRequest large = request(1024, 1024, 2);
    large.lds_bytes = 64 * 1024;
    DispatchRequest blocker = request(64, 64, 1);
    blocker.lds_bytes = 512;
    one.start(blocker);
    one.run(10);
    one.start(large);
    for (unsigned i = 0; i < 2000; ++i) one.run(100);
    const uint64_t other = one.start(request(64 * 100, 64, 3));
    for (unsigned i = 0; i < 2000 && !one.complete(other); ++i) one.run(1000);
    EXPECT_TRUE(one.complete(other));
}

TEST_F(DispatcherTest, AHugeGridDoesNotHoldUpTheCaller) {
    DispatchRequest r = request(~0u, 1);
    r.grid = {~0u, ~0u, ~0u};
    const uint64_t id = dispatcher.start(r);
    EXPECT_EQ(dispatcher.run(10000), RunState::Busy);
    EXPECT_LT(fakes.launches.size(), 2000u);
    dispatcher.kill_vmid(8);
    EXPECT_TRUE(dispatcher.complete(id));
    EXPECT_EQ(dispatcher.run(1000), RunState::Idle);
}

TEST_F(DispatcherTest, AnEmptyGridIsCompleteAtOnce) {
    EXPECT_EQ(dispatcher.check(request(0, 64)), Fault::None);
    EXPECT_TRUE(dispatcher.complete(dispatcher.start(request(0, 64))));
}

TEST_F(DispatcherTest, RefusesWhatNoUnitCanHold) {
    EXPECT_EQ(dispatcher.check(request(64, 64)), Fault::None);
    EXPECT_EQ(dispatcher.check(request(64, 0)), Fault::AqlWorkgroupSize);
    EXPECT_EQ(dispatcher.check(request(64, 1025)), Fault::AqlWorkgroupSize);
    DispatchRequest r = request(64, 64);
    r.group_size = {~0u, ~0u, ~0u};
    EXPECT_EQ(dispatcher.check(r), Fault::AqlWorkgroupSize);
    r = request(64, 64);
    r.lds_bytes = 64 * 1024 + 1;
    EXPECT_EQ(dispatcher.check(r), Fault::AqlGroupMemory);
    r.lds_bytes = ~0u;
    EXPECT_EQ(dispatcher.check(r), Fault::AqlGroupMemory);
    r = request(1024, 1024);
    r.rsrc1 = 63;
    EXPECT_EQ(dispatcher.check(r), Fault::AqlRegisters);
    r = request(1024, 1024);
    r.rsrc2 = 1;
    r.tmpring_size = 32 | 1u << 12;
    EXPECT_EQ(dispatcher.check(r), Fault::AqlScratch);
    r.tmpring_size = 64 | 1u << 12;
    EXPECT_EQ(dispatcher.check(r), Fault::None);
}

TEST_F(DispatcherTest, GivesScratchSlotsByEngine) {
    fakes.plan = [](const auto&) { return WavePlan{.instructions = 20}; };
    DispatchRequest r = request(128 * 100, 128);
    r.rsrc2 = 1;
    r.tmpring_size = 16 | 3u << 12;  // four slots per engine, 3 KiB each
    const uint64_t id = dispatcher.start(r);
    dispatcher.run(1);
    ASSERT_EQ(fakes.launches.size(), 8u);
    std::set<uint32_t> offsets;
    for (const auto& l : fakes.launches) {
        for (unsigned w = 0; w < 2; ++w) {
            const uint32_t expected = (4 * l.launch.shader_engine + l.launch.scratch_slot[w]) * 3 * 1024;
            EXPECT_EQ(l.launch.scratch_offset[w], expected);
            offsets.insert(expected);
        }
    }
    EXPECT_EQ(offsets.size(), 16u);
    run_to_end();
    EXPECT_TRUE(dispatcher.complete(id));
    EXPECT_EQ(fakes.launches.size(), 100u);
}

TEST_F(DispatcherTest, PartialGroupsGiveBackTheSlotsTheyDoNotUse) {
    fakes.plan = [](const auto&) { return WavePlan{.forever = true}; };
    DispatchRequest r = request(1, 256);
    r.rsrc2 = 1;
    r.tmpring_size = 16 | 1u << 12;
    for (unsigned i = 0; i < 4; ++i) dispatcher.start(r);
    for (unsigned i = 0; i < 12; ++i) {
        DispatchRequest one = request(1, 64);
        one.rsrc2 = 1;
        one.tmpring_size = r.tmpring_size;
        dispatcher.start(one);
    }
    dispatcher.run(1);
    EXPECT_EQ(fakes.launches.size(), 16u);
    EXPECT_EQ(dispatcher.waves_live(0), 16u);
}

TEST_F(DispatcherTest, ScratchWavesPerUnitAreLimited) {
    fakes.plan = [](const auto&) { return WavePlan{.forever = true}; };
    DispatchRequest r = request(64 * 1000, 64);
    r.rsrc2 = 1;
    r.tmpring_size = 4000 | 1u << 12;
    dispatcher.start(r);
    dispatcher.run(1);
    EXPECT_EQ(fakes.launches.size(), 32u * 8);
}

TEST_F(DispatcherTest, ObeysResourceLimits) {
    fakes.plan = [](const auto&) { return WavePlan{.forever = true}; };
    DispatchRequest r = request(64 * 1000, 64);
    r.resource_limits = 3u << 12;
    dispatcher.start(r);
    dispatcher.run(1);
    EXPECT_EQ(fakes.launches.size(), 24u);
    DispatchRequest waves = request(128 * 1000, 128, 1);
    waves.resource_limits = 5;
    dispatcher.start(waves);
    dispatcher.run(1);
    EXPECT_EQ(fakes.launches.size(), 24u + 2 * 4);
}

/// Places are not filled before they matter, but then the first queue has had them.
TEST_F(DispatcherTest, AnotherQueueFindsNoPlaceThatTheFirstOneWouldHaveTaken) {
    fakes.plan = [](const auto&) { return WavePlan{.instructions = 1'000'000}; };
    dispatcher.start(request(64 * 1000, 64, 0));
    dispatcher.run(1);
    EXPECT_LT(fakes.launches.size(), 320u) << "nobody has looked";
    dispatcher.start(request(64 * 1000, 64, 1));
    dispatcher.run(1);
    EXPECT_EQ(dispatcher.waves_live(0), 320u);
    EXPECT_EQ(dispatcher.waves_live(1), 0u);
}

TEST_F(DispatcherTest, WhoLooksSeesEveryPlaceTaken) {
    fakes.plan = [](const auto&) { return WavePlan{.instructions = 1'000'000}; };
    dispatcher.start(request(64 * 1000, 64));
    const auto look = [&](unsigned way) -> unsigned {
        switch (way) {
            case 0: return dispatcher.waves_live_total();
            case 1: return 8 * dispatcher.waves_on_engine(1) / 2;
            case 2: return dispatcher.waves_live(0, 0);
            case 3: return 8 * dispatcher.cu(5).waves_live();
            case 4: return dispatcher.only_halted_waves(0) ? 0 : static_cast<unsigned>(fakes.launches.size());
            case 5: return dispatcher.starving(0) ? 0 : static_cast<unsigned>(fakes.launches.size());
            case 9: {
                StateWriter writer;
                dispatcher.visit(writer);
                break;
            }
            case 10: dispatcher.resume(request(64, 64, 1), nullptr); break;
            case 6: dispatcher.command_waves(gcn::WaveCommand::SetHalt, 0, {}); break;
            case 7: dispatcher.set_debug({}); break;
            default: dispatcher.ask_to_save(0);
        }
        return static_cast<unsigned>(fakes.launches.size());
    };
    for (unsigned way = 0; way < 11; ++way) {
        dispatcher.kill_queue(0);
        fakes.launches.clear();
        dispatcher.start(request(64 * 1000, 64));
        dispatcher.run(1);
        EXPECT_LT(fakes.launches.size(), 320u) << way;
        EXPECT_EQ(look(way), 320u) << way;
    }
}

/// One that has run is in use, though no wave waits there, as long as there are groups for it.
TEST_F(DispatcherTest, ComputeUnitsWithPlacesToFillAreInUse) {
    const auto units = [&] {
        dispatcher.note_activity();
        host.time_ns += 2 * ActivityMeter::kWindowNs;
        return dispatcher.activity().units;
    };
    fakes.plan = [](const auto&) { return WavePlan{.instructions = 10}; };
    dispatcher.start(request(64 * 100'000, 64));
    dispatcher.run(1000);
    EXPECT_EQ(units(), 8000u);
    dispatcher.kill_queue(0);
    EXPECT_EQ(units(), 0u);
    dispatcher.start(request(64 * 100'000, 64));
    dispatcher.run(1000);
    dispatcher.reset();
    EXPECT_EQ(units(), 0u);
}

TEST_F(DispatcherTest, AStalledQueueLaunchesNothingNew) {
    fakes.plan = [](const auto&) { return WavePlan{.instructions = 10}; };
    const uint64_t id = dispatcher.start(request(64 * 400, 64));
    dispatcher.run(1);
    EXPECT_EQ(dispatcher.waves_live(0), 320u);
    const size_t launched = fakes.launches.size();
    dispatcher.stall_queue(0, true);
    run_to_end();
    EXPECT_EQ(fakes.launches.size(), launched);
    EXPECT_EQ(dispatcher.waves_live(0), 0u);
    EXPECT_FALSE(dispatcher.complete(id));
    dispatcher.stall_queue(0, false);
    run_to_end();
    EXPECT_TRUE(dispatcher.complete(id));
    EXPECT_EQ(fakes.launches.size(), 400u);
}

TEST_F(DispatcherTest, KillingAQueueLeavesTheOthers) {
    fakes.plan = [](const auto&) { return WavePlan{.forever = true}; };
    const uint64_t a = dispatcher.start(request(64 * 4, 64, 1));
    const uint64_t b = dispatcher.start(request(64 * 4, 64, 2));
    dispatcher.run(1000);
    EXPECT_EQ(dispatcher.waves_live(1), 4u);
    dispatcher.kill_queue(1);
    EXPECT_TRUE(dispatcher.complete(a));
    EXPECT_FALSE(dispatcher.complete(b));
    EXPECT_EQ(dispatcher.waves_live(1), 0u);
    EXPECT_EQ(dispatcher.waves_live(2), 4u);
    dispatcher.reset();
    EXPECT_TRUE(dispatcher.complete(b));
    EXPECT_EQ(dispatcher.waves_live_total(), 0u);
}

TEST_F(DispatcherTest, TellsHaltedWavesFromRunningOnes) {
    fakes.plan = [](const gcn::WorkgroupLaunch& l) { return WavePlan{.halts = true, .forever = l.dispatch == 2}; };
    bus.vm[9].pasid = 0x8001;
    dispatcher.start(request(64, 64, 1));
    dispatcher.start(request(64, 64, 2));
    dispatcher.run(1000);
    EXPECT_TRUE(dispatcher.only_halted_waves(1));
    EXPECT_FALSE(dispatcher.only_halted_waves(2));
    EXPECT_FALSE(dispatcher.only_halted_waves(3));
    ASSERT_EQ(bus.interrupts.size(), 1u);
    EXPECT_EQ(bits(bus.interrupts[0].data[0], 26, 2), 2u);
    EXPECT_EQ(bits(bus.interrupts[0].data[1], 4, 4), 2u);  // ERR_TYPE: memory violation
    EXPECT_EQ(bus.interrupts[0].pasid, 0x8001);
}

TEST_F(DispatcherTest, AWaveMessageBecomesAnInterruptOfItsEngine) {
    fakes.plan = [](const auto&) { return WavePlan{.interrupts = true}; };
    DispatchRequest r = request(64 * 4, 64, 3);
    r.user_sgprs[0] = 0x123456;
    r.user_sgpr_count = 1;
    bus.vm[11].pasid = 5;
    dispatcher.start(r);
    run_to_end();
    ASSERT_EQ(bus.interrupts.size(), 4u);
    std::set<unsigned> clients;
    for (const Interrupt& i : bus.interrupts) {
        clients.insert(i.client);
        EXPECT_EQ(i.vmid, 11);
        EXPECT_EQ(i.pasid, 5);
        EXPECT_EQ(i.data[0] & 0xfff, 0x456u);
        EXPECT_EQ(i.data[1], 0x12u);
    }
    EXPECT_EQ(clients, (std::set<unsigned>{0xa, 0xb, 0xc, 0xd}));
}

TEST_F(DispatcherTest, TrapHandlerAndAperturesComeFromTheVmid) {
    bus.vm[8] = {1, 0x20001000, 0, 0x7f0000, 0x7f1800};
    DispatchRequest r = request(64, 64);
    r.rsrc2 = 1u << 6;
    dispatcher.start(r);
    r.rsrc2 = 0;
    dispatcher.start(r);
    bus.vm[8].tba = 0;
    r.rsrc2 = 1u << 6;
    dispatcher.start(r);
    run_to_end();
    ASSERT_EQ(fakes.launches.size(), 3u);
    EXPECT_EQ(fakes.launches[0].launch.tba, 0x7f0000u);
    EXPECT_EQ(fakes.launches[0].launch.tma, 0x7f1800u);
    EXPECT_EQ(fakes.launches[0].launch.private_base, uint64_t{0x1000} << 48);
    EXPECT_EQ(fakes.launches[0].launch.shared_base, uint64_t{0x2000} << 48);
    EXPECT_EQ(fakes.launches[1].launch.tba, 0u);
    EXPECT_EQ(fakes.launches[2].launch.rsrc2, 0u);
    EXPECT_EQ(fakes.invalidations, 3u * 8);
}

}  // namespace
}  // namespace lyra
