// SPDX-License-Identifier: MIT
// The compute unit: launch state, resources, barriers, fair switching, traps, exceptions, code cache.
#include "gcn-interp/cu/test_machine.h"

namespace lyra::gcn::test {

/// Of registers and LDS that nothing has initialized. A compute unit of its own has it, a device when it is asked for.
constexpr uint32_t kPattern = 0x7fb5a5a5;

class Cu : public Machine {};

/// The wave before has left other values, which must not be seen either.
TEST_F(Cu, UninitializedRegistersAndLdsArePoisoned) {
    for (const bool poison : {true, false}) {
        env.poison = poison;
        WorkgroupLaunch launch = simple(
            "v_mov_b32 v5, 77\n v_mov_b32 v1, 77\n s_mov_b32 s20, 77\n s_mov_b64 vcc, 77\n s_mov_b32 m0, -1\n"
            "v_lshlrev_b32 v2, 2, v0\n ds_write_b32 v2, v5");
        launch.lds_bytes = 512;
        run(launch);
        ASSERT_EQ(v(5, 9), 77u);
        launch = simple("s_mov_b32 m0, -1\n v_lshlrev_b32 v2, 2, v0\n ds_read_b32 v6, v2\n s_waitcnt lgkmcnt(0)");
        launch.lds_bytes = 512;
        run(launch);
        const uint32_t found = poison ? kPattern : 0;
        for (const unsigned lane : {0u, 9u, 63u}) {
            EXPECT_EQ(v(0, lane), lane);
            for (const unsigned n : {1u, 5u, 6u, 31u}) EXPECT_EQ(v(n, lane), found) << n;
        }
        EXPECT_EQ(s(2), 0u) << "the work-group's position";
        for (const unsigned n : {3u, 20u, 101u}) EXPECT_EQ(s(n), found) << n;
        EXPECT_EQ(services.last.vcc(), make64(found, found));
    }
}

TEST_F(Cu, WorkItemIdsOfZeroAreWritten) {
    WorkgroupLaunch launch = simple("s_nop 0");
    launch.group_size = {8, 4, 1};
    launch.group_valid = launch.group_size;
    launch.rsrc2 |= 2 << 11;
    run(launch);
    for (const unsigned lane : {0u, 7u, 31u}) {
        EXPECT_EQ(v(1, lane), lane / 8);
        EXPECT_EQ(v(2, lane), 0u);
    }
}

TEST_F(Cu, LaunchSetsRegistersAsTheDescriptorAsks) {
    WorkgroupLaunch launch = simple("s_nop 0");
    launch.group_size = {5, 4, 7};  // 140 items: waves of 64, 64, 12
    launch.group_valid = launch.group_size;
    launch.rsrc2 = 1 | 7 << 7 | 1 << 10 | 2 << 11;
    launch.group_id = {11, 12, 13};
    launch.packet_index = 0x123;
    launch.scratch_slot[2] = 9;
    launch.scratch_offset[2] = 0x2400;
    EXPECT_EQ(wave_count(launch), 3u);
    cu.launch(launch);
    ASSERT_EQ(cu.waves_live(), 3u);
    EXPECT_EQ(cu.waves_live(1), 3u);
    const Wave& wave = cu.wave(2);
    EXPECT_EQ(wave.wave_in_group, 2);
    EXPECT_EQ(wave.exec, 0xfffu);
    const uint32_t expect[] = {lo32(kData), hi32(kData), 11, 12, 13, 3, 0x2400, kPattern};
    for (unsigned n = 0; n < 8; ++n) EXPECT_EQ(wave.read_scalar(n), expect[n]) << n;
    EXPECT_EQ(cu.wave(0).read_scalar(5), 0x80000003u);
    for (unsigned lane = 0; lane < 12; ++lane) {
        const unsigned flat = 128 + lane;
        EXPECT_EQ(wave.vgpr[0].lane[lane], flat % 5);
        EXPECT_EQ(wave.vgpr[1].lane[lane], flat / 5 % 4);
        EXPECT_EQ(wave.vgpr[2].lane[lane], flat / 20);
    }
    EXPECT_EQ(wave.mode, 0xc0u | 1 << 8 | 1 << 9);
    EXPECT_EQ(wave.sgpr_count, 112);
    EXPECT_EQ(wave.vgpr_count, 32);
    EXPECT_EQ(wave.ttmp[6], 0x123u);
    EXPECT_EQ(wave.ttmp[8], 11u);
    EXPECT_EQ(wave.ttmp[11], 2u);
    EXPECT_EQ(cu.wave(1).ttmp[11], 1u | 1 << 6) << "no scratch slot";
    finish();
    EXPECT_EQ(services.workgroups, std::vector<uint64_t>{1});
    EXPECT_EQ(services.waves, 3u);
    EXPECT_EQ(env.stats.get(Stat::waves), 3u);
    EXPECT_EQ(env.stats.get(Stat::instructions), 6u);
}

TEST_F(Cu, PartialGroupsLeaveLanesAndWavesOut) {
    WorkgroupLaunch launch = simple("s_nop 0");
    launch.group_size = {16, 16, 1};
    launch.group_valid = {16, 5, 1};
    EXPECT_EQ(wave_count(launch), 2u);
    cu.launch(launch);
    EXPECT_EQ(cu.wave(0).exec, ~0ull);
    EXPECT_EQ(cu.wave(1).exec, 0xffffull);
    finish();
}

TEST_F(Cu, GroupsOfAPreparedKernelAreLikeLaunchedOnes) {
    WorkgroupLaunch launch = simple("s_nop 0", 128);
    launch.rsrc2 |= 7 << 7 | 1 << 10;
    launch.lds_bytes = 1024;
    ComputeUnit each{env, memory, services, 3};
    const auto room = [&](ComputeUnit& unit) {
        unit.prepare(launch);
        const unsigned groups = unit.reserve(kMaxWorkgroupsPerCu);
        unit.finish();
        return groups;
    };
    const unsigned empty = room(cu);
    EXPECT_EQ(empty, 14u) << "SGPRs of 28 waves";
    ASSERT_EQ(cu.reserve(5), 5u);
    for (uint32_t n = 0; n < 3; ++n) {
        launch.group_id = {n, 2 * n, 7};
        launch.group_valid = {n == 2 ? 60u : 128u, 1, 1};
        EXPECT_EQ(cu.start(launch, 0), 0u);
        each.launch(launch);
    }
    EXPECT_EQ(cu.started().waves, 5u) << "one group has been cut";
    cu.finish();
    for (unsigned slot = 0; slot < kWaveSlots; ++slot) {
        const Wave &a = cu.wave(slot), &b = each.wave(slot);
        ASSERT_EQ(a.state, b.state) << slot;
        if (a.state == WaveState::Free) continue;
        EXPECT_EQ(a.sgpr, b.sgpr) << slot;
        EXPECT_EQ(a.ttmp, b.ttmp) << slot;
        EXPECT_EQ(
            std::tuple(a.exec, a.status, a.hw_id, a.workgroup, a.wave_in_group, a.lds_base, a.lds_bytes, a.vgpr[0].lane[9]),
            std::tuple(b.exec, b.status, b.hw_id, b.workgroup, b.wave_in_group, b.lds_base, b.lds_bytes, b.vgpr[0].lane[9]))
            << slot;
    }
    EXPECT_EQ(room(cu), room(each));
    finish();
    EXPECT_EQ(room(cu), empty);
}

TEST_F(Cu, GroupsThatEndAtOnceLeaveTheirPlaceToTheNext) {
    // The second wave of group 1 halts.
    WorkgroupLaunch launch =
        simple("v_readfirstlane_b32 s4, v0\n s_add_u32 s4, s4, s2\n s_cmp_lg_u32 s4, 65\n s_cbranch_scc1 1\n s_sethalt 1", 128);
    launch.lds_bytes = 1024;
    const auto room = [&] {
        const unsigned groups = cu.reserve(kMaxWorkgroupsPerCu);
        cu.finish();
        return groups;
    };
    cu.prepare(launch);
    const unsigned empty = room();
    ASSERT_EQ(cu.reserve(2), 2u);
    for (uint32_t n = 0; n < 4; ++n) {
        launch.group_id = {n, 0, 0};
        EXPECT_EQ(cu.start(launch, 1000), 10u) << n;
        EXPECT_EQ(cu.waves_live(), n == 0 ? 0u : 1u) << n;
    }
    const ComputeUnit::Started started = cu.started();
    EXPECT_EQ(started.waves, 8u);
    EXPECT_EQ(started.ended_waves, 7u);
    EXPECT_EQ(started.ended_groups, 3u);
    EXPECT_EQ(services.waves, 0u);
    EXPECT_EQ(cu.started().waves, 0u);
    EXPECT_EQ(cu.reserve(2), 2u) << "of which one had been left";
    cu.finish();
    EXPECT_EQ(room(), empty - 1) << "the halted wave's";
    cu.kill_dispatch(1);
    EXPECT_EQ(services.workgroups.size(), 1u) << "of those that were counted nobody hears";
    EXPECT_EQ(services.waves, 1u);
    EXPECT_EQ(room(), empty);
}

TEST_F(Cu, AnEndOfWhichMoreIsToBeToldIsNotJustCounted) {
    WorkgroupLaunch launch = simple("s_nop 0", 256);
    const auto start = [&] {
        services.waves = 0;
        cu.prepare(launch);
        EXPECT_EQ(cu.reserve(1), 1u);
        cu.start(launch, 1000);
        cu.finish();
        return cu.started();
    };
    launch.scratch_slot[2] = 7;
    ComputeUnit::Started started = start();
    EXPECT_EQ(services.waves, 1u);
    EXPECT_EQ(services.last.scratch_slot, 7);
    EXPECT_EQ(started.ended_waves, 3u);
    EXPECT_EQ(started.ended_groups, 1u);
    // Cut at the grid's edge: its place is no place for the next one.
    launch.scratch_slot[2] = -1;
    launch.group_valid[0] = 100;
    started = start();
    EXPECT_EQ(started.waves, 2u);
    EXPECT_EQ(started.ended_waves, 0u);
    EXPECT_EQ(services.waves, 2u);
    EXPECT_EQ(services.workgroups.size(), 1u);
}

TEST_F(Cu, WavesOfAStartedGroupMeetAtBarriers) {
    // Each adds its number to LDS; all read the sum behind the barrier.
    WorkgroupLaunch launch = simple(
        "v_mov_b32 v1, 0\n v_mov_b32 v2, 1\n s_mov_b32 m0, -1\n ds_add_u32 v1, v2\n s_barrier\n ds_read_b32 v3, v1\n"
        "v_lshlrev_b32 v4, 2, v0\n global_store_dword v4, v3, s[0:1]",
        256);
    launch.lds_bytes = 512;
    env.poison = false;
    cu.prepare(launch);
    ASSERT_EQ(cu.reserve(1), 1u);
    for (unsigned n = 0; n < 3; ++n) {
        std::memset(&memory.at<uint8_t>(kData), 0, 1024);
        EXPECT_EQ(cu.start(launch, 1000), 4u * 9);
        for (unsigned item = 0; item < 256; ++item) ASSERT_EQ(word(item), 256u) << n << " " << item;
    }
    EXPECT_EQ(cu.started().ended_groups, 3u);
    cu.finish();
    EXPECT_EQ(cu.waves_live(), 0u);
    EXPECT_FALSE(cu.runnable());
}

TEST_F(Cu, WorkItemIdsFollowTheSizeOfTheGroup) {
    for (const std::array<uint32_t, 3> size : {std::array<uint32_t, 3>{16, 16, 1}, {8, 8, 4}, {256, 1, 1}, {5, 51, 1}}) {
        WorkgroupLaunch launch = simple("s_nop 0");
        launch.rsrc2 |= 2 << 11;
        launch.group_size = launch.group_valid = size;
        for (unsigned n = 0; n < 2; ++n) cu.launch(launch);
        ASSERT_EQ(cu.waves_live(), 8u);
        for (unsigned slot = 0; slot < 8; ++slot) {
            const Wave& wave = cu.wave(slot);
            for (unsigned lane = 0; lane < kLanes; ++lane) {
                const uint32_t item = wave.wave_in_group * kLanes + lane;
                ASSERT_EQ(wave.vgpr[0].lane[lane], item % size[0]) << size[0] << " " << item;
                ASSERT_EQ(wave.vgpr[1].lane[lane], item / size[0] % size[1]) << size[0] << " " << item;
                ASSERT_EQ(wave.vgpr[2].lane[lane], item / size[0] / size[1]) << size[0] << " " << item;
                ASSERT_EQ(wave.vgpr[3].lane[lane], kPattern);
            }
        }
        cu.reset();
    }
}

/// VGPRs are written when waves run, whatever was launched or killed before.
TEST_F(Cu, WavesThatHaveNotRunKeepTheRegistersOfTheirLaunch) {
    WorkgroupLaunch square = simple("s_nop 0");
    square.rsrc2 |= 1 << 11;
    square.group_size = square.group_valid = {8, 8, 1};
    WorkgroupLaunch line = square, killed = square;
    line.dispatch = 2;
    line.rsrc1 = (line.rsrc1 & ~63u) | 31;  // 128 VGPRs, where two waves had their 32
    line.group_size = line.group_valid = {64, 1, 1};
    killed.dispatch = 3;
    killed.group_size = killed.group_valid = {512, 1, 1};
    cu.launch(square);
    cu.launch(killed);
    cu.kill_dispatch(3);
    cu.launch(square);
    cu.prepare(line);
    ASSERT_EQ(cu.reserve(1), 1u);
    EXPECT_EQ(cu.start(line, 0), 0u);
    cu.finish();
    ASSERT_EQ(cu.waves_live(), 3u);
    for (unsigned slot = 0; slot < kWaveSlots; ++slot) {
        const Wave& wave = cu.wave(slot);
        if (wave.state == WaveState::Free) continue;
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            ASSERT_EQ(wave.vgpr[0].lane[lane], wave.dispatch == 2 ? lane : lane % 8);
            ASSERT_EQ(wave.vgpr[1].lane[lane], wave.dispatch == 2 ? 0 : lane / 8);
            for (unsigned n = 2; n < wave.vgpr_count; ++n) ASSERT_EQ(wave.vgpr[n].lane[lane], kPattern) << slot << " v" << n;
        }
    }
    finish();
}

TEST_F(Cu, AGroupThatIsLaunchedHasNoMoreThanItsTurn) {
    WorkgroupLaunch launch = simple("s_branch -1", 128);
    cu.prepare(launch);
    const unsigned empty = cu.reserve(kMaxWorkgroupsPerCu);
    EXPECT_EQ(cu.start(launch, 100), 100u);
    EXPECT_EQ(cu.waves_live(), 2u);
    cu.finish();
    EXPECT_EQ(cu.reserve(kMaxWorkgroupsPerCu), empty - 1);
    cu.reset();
    cu.prepare(launch);
    EXPECT_EQ(cu.reserve(kMaxWorkgroupsPerCu), empty);
    cu.finish();
}

TEST_F(Cu, ResourcesLimitAndAreReturned) {
    WorkgroupLaunch launch = simple("s_barrier", 256);
    launch.lds_bytes = 20 * 1024;
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(cu.fits(launch)) << i;
        cu.launch(launch);
    }
    EXPECT_FALSE(cu.fits(launch)) << "60 of 64 KiB of LDS are taken";
    launch.lds_bytes = 4096;
    EXPECT_TRUE(cu.fits(launch));
    finish();
    EXPECT_EQ(services.workgroups.size(), 3u);

    launch = simple("s_nop 0");
    launch.rsrc1 = (launch.rsrc1 & ~63u) | 63;  // 256 VGPRs: one wave per SIMD
    unsigned groups = 0;
    for (; cu.fits(launch); ++groups) cu.launch(launch);
    EXPECT_EQ(groups, 4u);
    finish();
    EXPECT_TRUE(cu.fits(launch));
    launch.group_size = launch.group_valid = {1024, 1, 1};
    EXPECT_FALSE(can_ever_fit(launch));
    launch.rsrc1 &= ~63u;
    EXPECT_TRUE(can_ever_fit(launch));
    launch.lds_bytes = 65 * 1024;
    EXPECT_FALSE(can_ever_fit(launch));
    launch.lds_bytes = 0;
    launch.group_size = launch.group_valid = {1025, 1, 1};
    EXPECT_FALSE(can_ever_fit(launch));
    launch.group_size = launch.group_valid = {0, 1, 1};
    EXPECT_FALSE(can_ever_fit(launch));
    EXPECT_FALSE(cu.fits(launch));
}

TEST_F(Cu, BarrierWaitsForAllWavesAndEndedOnesCount) {
    // Wave 3 ends at once; wave 0 writes late; all others read after the barrier.
    WorkgroupLaunch launch = simple(R"(
        v_readfirstlane_b32 s8, v0
        s_lshr_b32 s8, s8, 6
        s_cmp_eq_u32 s8, 3
        s_cbranch_scc1 end
        v_mov_b32 v1, 0
        s_cmp_lg_u32 s8, 0
        s_cbranch_scc1 wait
        s_movk_i32 s9, 2000
    delay:
        s_sub_u32 s9, s9, 1
        s_cmp_lg_u32 s9, 0
        s_cbranch_scc1 delay
        v_mov_b32 v2, 42
        ds_write_b32 v1, v2
    wait:
        s_barrier
        ds_read_b32 v3, v1
        v_lshlrev_b32 v4, 2, v0
        global_store_dword v4, v3, s[0:1]
    end:
    )",
                                    256);
    launch.lds_bytes = 512;
    run(launch);
    for (unsigned i = 0; i < 192; ++i) ASSERT_EQ(word(i), 42u) << i;
    EXPECT_EQ(word(192), 0u);
}

TEST_F(Cu, SpinLocksBetweenGroupsMakeProgress) {
    WorkgroupLaunch launch = simple(R"(
        v_mov_b32 v2, 0
        v_mov_b32 v4, 1
        v_mov_b32 v5, 0
        s_mov_b64 exec, 1
    acquire:
        global_atomic_cmpswap v6, v2, v[4:5], s[0:1] glc
        s_waitcnt vmcnt(0)
        v_cmp_ne_u32 vcc, 0, v6
        s_cbranch_vccz locked
        s_sleep 1
        s_branch acquire
    locked:
        global_load_dword v7, v2, s[0:1] offset:4
        s_movk_i32 s9, 300
    hold:
        s_sub_u32 s9, s9, 1
        s_cmp_lg_u32 s9, 0
        s_cbranch_scc1 hold
        v_add_u32 v7, 1, v7
        global_store_dword v2, v7, s[0:1] offset:4
        global_atomic_swap v2, v5, s[0:1]
    )");
    for (unsigned i = 0; i < 20; ++i) {
        launch.dispatch = i;
        ASSERT_TRUE(cu.fits(launch));
        cu.launch(launch);
    }
    finish();
    EXPECT_EQ(word(1), 20u);
    EXPECT_EQ(word(0), 0u);
}

TEST_F(Cu, SpinWithoutSleepWaitsForALaterWave) {
    WorkgroupLaunch waits = simple(R"(
        s_cmp_eq_u32 s2, 0
        s_cbranch_scc0 setter
    again:
        s_load_dword s4, s[0:1], 0x0
        s_cmp_eq_u32 s4, 0
        s_cbranch_scc1 again
        s_branch end
    setter:
        s_mov_b32 s4, 1
        s_store_dword s4, s[0:1], 0x0
    end:
    )");
    cu.launch(waits);
    EXPECT_EQ(cu.run(5000), 5000u) << "an endless loop costs its budget and no more";
    EXPECT_EQ(cu.waves_live(), 1u);
    waits.group_id = {1, 0, 0};
    cu.launch(waits);
    finish();
}

TEST_F(Cu, SleepersYieldButWake) {
    cu.launch(simple("s_sleep 127\n s_sleep 127\n s_mov_b32 s4, 5"));
    unsigned calls = 0;
    while (cu.waves_live() && calls < 100) {
        EXPECT_TRUE(cu.runnable());
        EXPECT_NE(cu.run(1000), 0u);
        ++calls;
    }
    EXPECT_EQ(s(4), 5u);
    EXPECT_EQ(cu.run(1000), 0u);
}

TEST_F(Cu, TrapEntersTheHandlerAndReturns) {
    WorkgroupLaunch launch = simple(R"(
        s_mov_b32 s4, 1
        s_trap 3
        s_mov_b32 s5, 2
    )");
    with_traps(launch, R"(
        s_mov_b32 s6, ttmp0
        s_mov_b32 s7, ttmp1
        s_getreg_b32 s8, hwreg(HW_REG_STATUS)
        s_getreg_b32 s9, hwreg(18, 0, 32)
        s_add_u32 ttmp0, ttmp0, 4
        s_addc_u32 ttmp1, ttmp1, 0
        s_and_b32 ttmp1, ttmp1, 0xffff
        s_rfe_b64 ttmp[0:1]
    )");
    run(launch);
    EXPECT_EQ(s(5), 2u);
    EXPECT_EQ(s(6), lo32(kCode) + 4);
    EXPECT_EQ(s(7), 3u << 16);
    EXPECT_EQ(StatusBits::Priv::get(s(8)), 1u);
    EXPECT_EQ(s(9), lo32((kData + 0x8000) >> 8));
    EXPECT_FALSE(services.last.priv());
}

TEST_F(Cu, TrapWithoutHandlerDoesNothing) {
    run("s_trap 2\n s_mov_b32 s5, 2");
    EXPECT_EQ(s(5), 2u);
    EXPECT_TRUE(services.errors.empty());
}

TEST_F(Cu, HandlerGetsDoorbellSendsInterruptAndParksTheWave) {
    WorkgroupLaunch launch = simple("s_nop 0\n s_trap 2\n s_mov_b32 s5, 2");
    launch.doorbell_id = 0x155;
    with_traps(launch, R"(
        s_mov_b64 s[10:11], exec
        s_mov_b32 exec_lo, 0x80000000
        s_sendmsg sendmsg(MSG_GET_DOORBELL)
    wait:
        s_cmp_lt_i32 exec_lo, 0
        s_cbranch_scc1 wait
        s_mov_b32 s12, exec_lo
        s_mov_b64 exec, s[10:11]
        s_or_b32 m0, s12, 0x10000
        s_sendmsg sendmsg(MSG_INTERRUPT)
        s_getreg_b32 ttmp12, hwreg(HW_REG_STATUS)
        s_or_b32 ttmp12, ttmp12, 0x2000
        s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12
        s_mov_b32 s13, 1
        s_and_b32 ttmp1, ttmp1, 0xffff
        s_rfe_b64 ttmp[0:1]
    )");
    cu.launch(launch);
    for (int i = 0; i < 20; ++i) cu.run(1000);
    EXPECT_EQ(services.interrupts, std::vector<uint32_t>{0x10155});
    EXPECT_EQ(cu.wave(0).state, WaveState::Halted);
    EXPECT_EQ(cu.wave(0).read_scalar(13), 1u) << "HALT does not stop the handler";
    EXPECT_EQ(cu.wave(0).pc, kCode + 4);
    EXPECT_FALSE(cu.runnable());
    cu.kill_dispatch(1);
    EXPECT_EQ(cu.waves_live(), 0u);
}

TEST_F(Cu, ExceptionsReachTheHandler) {
    const std::string handler = R"(
        s_getreg_b32 s6, hwreg(HW_REG_TRAPSTS)
        s_mov_b32 s7, ttmp0
        s_mov_b32 s8, ttmp1
        s_endpgm
    )";
    WorkgroupLaunch launch = simple("s_nop 0\n .long 0xbfffffff\n s_mov_b32 s5, 1");
    with_traps(launch, handler);
    run(launch);
    EXPECT_EQ(s(6), 1u << 11);
    EXPECT_EQ(s(7), lo32(kCode) + 4) << "the instruction itself";
    EXPECT_EQ(s(8), 0u);
    EXPECT_EQ(env.stats.get(Fault::IllegalInstruction), 1u);

    launch = simple("s_load_dword s4, s[10:11], 0x0\n s_mov_b32 s5, 1");
    with_traps(launch, handler);
    run(launch);
    EXPECT_EQ(s(6), 1u << 8 | 1u << 28);
    EXPECT_TRUE(services.errors.empty());
}

TEST_F(Cu, IllegalAndMissingInstructionsHaltWithoutHandler) {
    cu.launch(simple(".long 0xbfffffff"));
    cu.run(100);
    EXPECT_EQ(services.errors, std::vector<unsigned>{1});
    EXPECT_EQ(services.error_pc, kCode);
    EXPECT_EQ(cu.wave(0).state, WaveState::Halted);
    cu.kill_vmid(8);

    std::vector<unsigned> expected{1};
    for (const char* graphics :
         {"exp null off, off, off, off done", "image_get_lod v[0:1], v[0:1], s[0:7], s[8:11] dmask:0x3"}) {
        cu.launch(simple(graphics));
        cu.run(100);
        expected.push_back(1);
        EXPECT_EQ(services.errors, expected) << graphics;
        EXPECT_EQ(env.stats.get(Fault::TodoInstruction), expected.size() - 1) << graphics;
        cu.kill_vmid(8);
    }
    EXPECT_EQ(cu.waves_live(), 0u);
}

TEST_F(Cu, FetchFaultsAndReturnFromTrapInUserCodeAreExceptions) {
    cu.launch(simple("s_mov_b64 s[4:5], 0x40\n s_setpc_b64 s[4:5]"));
    cu.run(100);
    EXPECT_EQ(services.errors, std::vector<unsigned>{2});
    EXPECT_EQ(services.error_pc, 0x40u);
    EXPECT_EQ(cu.wave(0).trapsts, 1u << 8) << "no page fault flag: an aperture violation to the handler";
    EXPECT_EQ(memory.faults, 1u);
    cu.kill_vmid(8);

    cu.launch(simple("s_rfe_b64 s[0:1]"));
    cu.run(100);
    EXPECT_EQ(services.errors, (std::vector<unsigned>{2, 1}));
    cu.kill_vmid(8);
}

TEST_F(Cu, AnExceptionInTheHandlerHalts) {
    WorkgroupLaunch launch = simple("s_trap 1");
    with_traps(launch, ".long 0xbfffffff");
    cu.launch(launch);
    cu.run(1000);
    EXPECT_EQ(cu.wave(0).state, WaveState::Halted);
    EXPECT_EQ(services.errors, std::vector<unsigned>{1});
    cu.reset();
    EXPECT_EQ(cu.waves_live(), 0u);
    EXPECT_TRUE(cu.fits(launch));
}

TEST_F(Cu, KillingAGroupFreesItsResources) {
    WorkgroupLaunch launch =
        simple("s_cmp_eq_u32 s2, 1\n s_cbranch_scc1 end\n l: s_branch l\n end:\n s_barrier\n k: s_branch k", 256);
    launch.lds_bytes = 64 * 1024;
    cu.launch(launch);
    cu.run(10'000);
    EXPECT_FALSE(cu.fits(launch));
    cu.kill_dispatch(1);
    EXPECT_TRUE(cu.fits(launch));
    EXPECT_EQ(services.waves, 4u);
    EXPECT_EQ(services.workgroups.size(), 1u);
}

TEST_F(Cu, NewCodeIsSeenAfterInvalidation) {
    run("s_mov_b32 s4, 1");
    EXPECT_EQ(s(4), 1u);
    WorkgroupLaunch launch = simple("s_mov_b32 s4, 2");
    run(launch);
    EXPECT_EQ(s(4), 2u);
    memory.put(kCode, assemble("s_mov_b32 s4, 3\n s_endpgm"));
    memory.translations_changed();
    run(launch);
    EXPECT_EQ(s(4), 3u);
}

TEST_F(Cu, InstructionsMayCrossPages) {
    WorkgroupLaunch launch = simple("s_nop 0");
    const std::vector<uint8_t> code =
        assemble("s_mov_b32 s4, 0x12345678\n v_mov_b32_sdwa v1, v0 dst_sel:DWORD src0_sel:BYTE_0\n s_endpgm");
    memory.put(kCode + kPageBytes - 4, code);
    launch.entry = kCode + kPageBytes - 4;
    run(launch);
    EXPECT_EQ(s(4), 0x12345678u);
    EXPECT_EQ(v(1, 9), 9u);
    // The same at the end of memory: the second dword cannot be fetched.
    memory.put(TestMemory::kBase + TestMemory::kSize - 4, {code.begin(), code.begin() + 4});
    launch.entry = TestMemory::kBase + TestMemory::kSize - 4;
    cu.launch(launch);
    cu.run(100);
    EXPECT_EQ(services.errors, std::vector<unsigned>{2});
    cu.kill_vmid(8);
}

TEST_F(Cu, TracesWavesAndTraps) {
    struct Sink : TraceSink {
        void record(const TraceRecord& record) override { records.push_back(record); }
        std::vector<TraceRecord> records;
    } sink;
    env.tracer.set_sink(&sink);
    WorkgroupLaunch launch = simple("s_trap 4");
    with_traps(launch, "s_endpgm");
    run(launch);
    env.tracer.set_sink(nullptr);
    ASSERT_EQ(sink.records.size(), 3u);
    EXPECT_EQ(sink.records[0].id, EventId::wave_begin);
    EXPECT_EQ(sink.records[0].args[0], 3u);
    EXPECT_EQ(sink.records[1].id, EventId::wave_trap);
    EXPECT_EQ(sink.records[1].args[2], 4u);
    EXPECT_EQ(sink.records[1].args[3], kCode);
    EXPECT_EQ(sink.records[2].id, EventId::wave_end);
    EXPECT_EQ(sink.records[2].args[2], 2u);
}

}  // namespace lyra::gcn::test
