// SPDX-License-Identifier: MIT
// Which shader engine a work-group goes to: in virtual time they are dealt evenly, in free running to whoever has room.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "cp-firmware-model/dispatch/dispatcher.h"
#include "cp-firmware-model/testing/fake_compute_unit.h"
#include "cp-firmware-model/testing/flat_bus.h"

namespace lyra {
namespace {

using testing::FakeCus;
using testing::WavePlan;

class Placement : public ::testing::Test {
protected:
    /// Work-groups that fill a compute unit each.
    static DispatchRequest request(uint32_t groups, uint32_t queue, const std::array<uint32_t, 4>& mask) {
        DispatchRequest r;
        r.queue_id = queue;
        r.vmid = 8;
        r.entry = 0x10000;
        r.grid = {groups * 64, 1, 1};
        r.group_size = {64, 1, 1};
        r.lds_bytes = gcn::kLdsBytes;
        std::copy(mask.begin(), mask.end(), r.cu_mask.begin());
        return r;
    }
    void virtual_time() { env.clock.start(env.timing); }
    void run_until_complete(uint64_t dispatch) {
        for (unsigned n = 0; n < 10'000 && !dispatcher.complete(dispatch); ++n) run();
        EXPECT_TRUE(dispatcher.complete(dispatch));
    }
    void run() {
        if (env.clock.on())
            dispatcher.run_quantum(env.clock.clk() + 300);
        else
            dispatcher.run(300);
    }
    std::array<unsigned, 4> groups_of_engines() const {
        std::array<unsigned, 4> groups{};
        for (const auto& l : fakes.launches) ++groups[l.launch.shader_engine];
        return groups;
    }

    testing::FakeHost host;
    Env env{host};
    testing::FlatBus bus;
    FakeCus fakes;
    Dispatcher dispatcher{env, bus, GpuShape{4, 2, 32}, fakes.maker()};
};

constexpr std::array<uint32_t, 4> kUnevenMask{0x1, 0x3, 0, 0x3}, kFirstEngine{0x3, 0, 0, 0}, kAll{0x3, 0x3, 0x3, 0x3};

TEST_F(Placement, VirtualTimeDealsEvenlyToEnginesWhateverTheyHave) {
    virtual_time();
    fakes.plan = [](const auto&) { return WavePlan{.instructions = 1000}; };
    run_until_complete(dispatcher.start(request(90, 1, kUnevenMask)));
    EXPECT_EQ(groups_of_engines(), (std::array<unsigned, 4>{30, 30, 0, 30}));
}

TEST_F(Placement, FreeRunningGivesMoreToEnginesWithMoreUnits) {
    fakes.plan = [](const auto&) { return WavePlan{.instructions = 1000}; };
    run_until_complete(dispatcher.start(request(90, 1, kUnevenMask)));
    const std::array<unsigned, 4> groups = groups_of_engines();
    EXPECT_EQ(groups[2], 0u);
    EXPECT_LT(groups[0], 25u);
    EXPECT_GT(groups[1], 30u);
    EXPECT_GT(groups[3], 30u);
}

TEST_F(Placement, VirtualTimeWaitsForAFullEngineAndOnlyThatQueueDoes) {
    virtual_time();
    fakes.plan = [](const gcn::WorkgroupLaunch& l) { return WavePlan{.instructions = 100, .forever = l.user_sgprs[0] == 1}; };
    DispatchRequest endless = request(2, 1, kFirstEngine);
    endless.user_sgprs[0] = 1;
    dispatcher.start(endless);
    for (unsigned n = 0; n < 20; ++n) run();
    EXPECT_EQ(dispatcher.waves_live(1), 2u);
    const uint64_t waiting = dispatcher.start(request(8, 2, kAll)), other = dispatcher.start(request(8, 3, {0, 0x3, 0x3, 0x3}));
    run_until_complete(other);
    EXPECT_FALSE(dispatcher.complete(waiting));
    EXPECT_EQ(dispatcher.waves_live(2), 0u);
    EXPECT_TRUE(dispatcher.starving(2));
    dispatcher.kill_queue(1);
    run_until_complete(waiting);
}

TEST_F(Placement, FreeRunningPassesOverAFullEngine) {
    fakes.plan = [](const gcn::WorkgroupLaunch& l) { return WavePlan{.instructions = 100, .forever = l.user_sgprs[0] == 1}; };
    DispatchRequest endless = request(2, 1, kFirstEngine);
    endless.user_sgprs[0] = 1;
    dispatcher.start(endless);
    for (unsigned n = 0; n < 20; ++n) run();
    run_until_complete(dispatcher.start(request(8, 2, kAll)));
    EXPECT_EQ(dispatcher.waves_live(1), 2u);
}

/// Small groups keep a large one out of the engine in turn: one of its units is kept free for it, not one of another engine.
TEST_F(Placement, VirtualTimeKeepsAUnitOfTheEngineInTurnFree) {
    virtual_time();
    fakes.plan = [](const auto&) { return WavePlan{.instructions = 500}; };
    for (uint32_t queue : {1u, 2u}) {
        DispatchRequest small = request(20'000, queue, kFirstEngine);
        small.lds_bytes = gcn::kLdsBytes / 4;
        dispatcher.start(small);
        for (unsigned n = 0; n < 3; ++n) run();
    }
    run_until_complete(dispatcher.start(request(1, 3, kAll)));
    EXPECT_NE(dispatcher.waves_live(1), 0u);
}

}  // namespace
}  // namespace lyra
