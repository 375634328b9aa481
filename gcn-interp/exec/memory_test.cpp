// SPDX-License-Identifier: MIT
// Vector memory: LDS, global, flat, scratch, buffers, atomics, faults.
#include "facts/atomics.h"
#include "gcn-interp/cu/test_machine.h"
#include "gcn-interp/exec/buffer_format.h"

namespace lyra::gcn::test {

class VectorMemory : public Machine {
protected:
    /// v2:v3 = address of this lane's dword in the data, v0 the lane.
    static constexpr const char* kLaneAddress = R"(
        v_lshlrev_b32 v2, 2, v0
        v_mov_b32 v3, s1
        v_add_co_u32 v2, vcc, s0, v2
        v_addc_co_u32 v3, vcc, 0, v3, vcc
    )";
    void fill() {
        for (unsigned i = 0; i < 1024; ++i) memory.at<uint32_t>(kData + 4 * i) = 0x1000 + i * 0x01010101u;
    }
};

TEST_F(VectorMemory, GlobalLoadsOfEverySize) {
    fill();
    run(std::string(kLaneAddress) + R"(
        global_load_dword v4, v[2:3], off offset:4
        global_load_ubyte v5, v[2:3], off offset:1
        global_load_sbyte v6, v[2:3], off offset:3
        global_load_ushort v7, v[2:3], off offset:2
        global_load_sshort v8, v[2:3], off offset:2
        v_mov_b32 v9, -1
        global_load_short_d16_hi v9, v[2:3], off
        v_mov_b32 v10, -1
        global_load_ubyte_d16 v10, v[2:3], off
        v_lshlrev_b32 v11, 4, v0
        global_load_dwordx4 v[12:15], v11, s[0:1] offset:16
        global_load_dwordx3 v[16:18], v11, s[0:1] offset:-4096
    )" + "v_mov_b32 v19, 0\n global_load_dword v20, v19, s[0:1] offset:40");
    for (unsigned lane = 0; lane < 64; ++lane) {
        const uint32_t w = word(lane);
        EXPECT_EQ(v(4, lane), word(lane + 1));
        EXPECT_EQ(v(5, lane), (w >> 8) & 0xff);
        EXPECT_EQ(v(6, lane), static_cast<uint32_t>(sign_extend(w >> 24, 8)));
        EXPECT_EQ(v(7, lane), w >> 16);
        EXPECT_EQ(v(8, lane), static_cast<uint32_t>(sign_extend(w >> 16, 16)));
        EXPECT_EQ(v(9, lane), (w << 16) | 0xffff);
        EXPECT_EQ(v(10, lane), 0xffff0000 | (w & 0xff));
        for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(v(12 + i, lane), word(4 * lane + 4 + i));
        EXPECT_EQ(v(20, lane), word(10));
    }
}

TEST_F(VectorMemory, NeighboursMayShareHalfOfWhatTheyLoad) {
    fill();
    run(R"(
        v_lshlrev_b32 v2, 3, v0
        global_load_dwordx4 v[4:7], v2, s[0:1] offset:4
        v_lshlrev_b32 v3, 2, v0
        global_load_dwordx2 v[8:9], v3, s[0:1]
        v_add_u32 v3, 4092, v3
        global_load_dwordx2 v[10:11], v3, s[0:1] offset:-252
        v_lshlrev_b32 v12, 3, v0
        global_load_dwordx4 v[12:15], v12, s[0:1] offset:3584
    )");
    for (unsigned lane = 0; lane < 64; ++lane) {
        for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(v(4 + i, lane), word(1 + 2 * lane + i));
        for (unsigned i = 0; i < 2; ++i) EXPECT_EQ(v(8 + i, lane), word(lane + i));
        for (unsigned i = 0; i < 2; ++i)
            EXPECT_EQ(v(10 + i, lane), word((4092 - 252) / 4 + lane + i)) << "the last one reaches the next page";
        for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(v(12 + i, lane), word(3584 / 4 + 2 * lane + i)) << "so does this";
    }
}

TEST_F(VectorMemory, StoresRespectExecAndHighHalves) {
    run(std::string(kLaneAddress) + R"(
        v_mov_b32 v4, 0xaabbccdd
        s_mov_b64 exec, 0xf0f0
        global_store_dword v[2:3], v4, off
        s_mov_b64 exec, -1
        global_store_short_d16_hi v[2:3], v4, off offset:1024
        global_store_byte v[2:3], v4, off offset:1027
        v_mov_b32 v5, v0
        v_lshlrev_b32 v11, 4, v0
        v_mov_b32 v12, 1
        v_mov_b32 v13, 2
        v_mov_b32 v14, v0
        v_mov_b32 v15, 4
        global_store_dwordx4 v11, v[12:15], s[0:1] offset:2048
    )");
    for (unsigned lane = 0; lane < 64; ++lane) {
        EXPECT_EQ(word(lane), bit(0xf0f0, lane) ? 0xaabbccddu : 0u);
        EXPECT_EQ(word(256 + lane), 0xdd00aabbu);
        EXPECT_EQ(word(512 + 4 * lane + 2), lane);
    }
}

TEST_F(VectorMemory, UnalignedAndPageCrossingAccess) {
    fill();
    run(R"(
        v_mul_u32_u24 v2, 0x7f, v0
        v_add_u32 v2, 1, v2
        global_load_dwordx2 v[4:5], v2, s[0:1]
        global_store_dwordx2 v2, v[4:5], s[0:1] offset:2048
    )");
    for (unsigned lane = 0; lane < 64; ++lane) {
        const uint64_t at = kData + 0x7f * lane + 1;
        uint64_t value;
        std::memcpy(&value, &memory.at<uint8_t>(at + 2048), 8);
        EXPECT_EQ(make64(v(4, lane), v(5, lane)), value) << lane;
    }
}

TEST_F(VectorMemory, AtomicsReturnTheOldValueOnlyWithGlc) {
    memory.at<uint32_t>(kData) = 5;
    memory.at<uint64_t>(kData + 8) = 100;
    run(R"(
        v_mov_b32 v2, 0
        v_mov_b32 v3, 1
        v_mov_b32 v4, 77
        global_atomic_add v4, v2, v3, s[0:1] glc
        global_atomic_add v2, v3, s[0:1]
        v_mov_b32 v6, 2
        v_mov_b32 v7, 0
        global_atomic_sub_x2 v2, v[6:7], s[0:1] offset:8
        global_atomic_inc v8, v2, v6, s[0:1] offset:16 glc
        global_atomic_umax v2, v0, s[0:1] offset:20
        v_mov_b32 v9, 50
        v_mov_b32 v10, v0
        global_atomic_cmpswap v11, v2, v[9:10], s[0:1] offset:24 glc
    )");
    EXPECT_EQ(word(0), 5u + 128);
    for (unsigned lane = 0; lane < 64; ++lane) {
        EXPECT_EQ(v(4, lane), 5 + lane);
        EXPECT_EQ(v(8, lane), lane % 3);
        EXPECT_EQ(v(11, lane), lane == 0 ? 0u : 50u);
    }
    EXPECT_EQ(memory.at<uint64_t>(kData + 8), uint64_t{100} - 128);
    EXPECT_EQ(word(5), 63u);
    EXPECT_EQ(word(6), 50u);
}

TEST_F(VectorMemory, LdsReadsWritesAndBounds) {
    WorkgroupLaunch launch = simple(R"(
        v_lshlrev_b32 v2, 3, v0
        v_mov_b32 v3, v0
        v_add_u32 v4, 0x100, v0
        ds_write2_b32 v2, v3, v4 offset0:0 offset1:1
        ds_read_b64 v[5:6], v2
        ds_read_u8 v7, v2 offset:1
        v_mov_b32 v8, -1
        ds_read_u16_d16_hi v8, v2 offset:4
        v_lshlrev_b32 v9, 2, v0
        ds_read2st64_b32 v[10:11], v9 offset0:0 offset1:1
        v_mov_b32 v12, 0x10000
        v_mov_b32 v13, 7
        ds_read_b32 v13, v12
        ds_write_b32 v12, v13
        v_mov_b32 v14, 0
        v_mov_b32 v15, 0x400
        ds_write2_b32 v15, v14, v14 offset0:0 offset1:1
        ds_write_b32 v15, v14 offset:8
        v_mov_b32 v15, 1.0
        ds_add_f32 v14, v15 offset:1024
        ds_add_rtn_u32 v16, v14, v0 offset:1028
        v_mov_b32 v17, 0
        v_mov_b32 v18, 9
        ds_cmpst_rtn_b32 v19, v14, v17, v18 offset:1032
        ds_read_b128 v[20:23], v14 offset:1024
    )");
    launch.lds_bytes = 2048;
    run(launch);
    for (unsigned lane = 0; lane < 64; ++lane) {
        EXPECT_EQ(v(5, lane), lane);
        EXPECT_EQ(v(6, lane), 0x100 + lane);
        EXPECT_EQ(v(7, lane), 0u);
        EXPECT_EQ(v(8, lane), ((0x100 + lane) << 16) | 0xffff);
        EXPECT_EQ(v(10, lane), lane % 2 ? 0x100 + lane / 2 : lane / 2);
        EXPECT_EQ(v(11, lane), lane % 2 ? 0x120 + lane / 2 : 32 + lane / 2);
        EXPECT_EQ(v(13, lane), 0u);
        EXPECT_EQ(v(16, lane), lane * (lane - 1) / 2);
        EXPECT_EQ(v(19, lane), lane ? 9u : 0u);
    }
    EXPECT_EQ(v(20, 0), 0x42800000u) << "64.0";
    EXPECT_EQ(v(21, 5), 64u * 63 / 2);
    EXPECT_EQ(v(22, 9), 9u);
}

TEST_F(VectorMemory, LaneExchanges) {
    run(R"(
        ds_swizzle_b32 v2, v0 offset:swizzle(SWAP,1)
        ds_swizzle_b32 v3, v0 offset:swizzle(QUAD_PERM,3,2,1,0)
        ds_swizzle_b32 v4, v0 offset:swizzle(BROADCAST,32,5)
        ds_swizzle_b32 v12, v0 offset:swizzle(REVERSE,32)
        v_sub_u32 v5, 63, v0
        v_lshlrev_b32 v6, 2, v5
        ds_bpermute_b32 v7, v6, v0
        v_mov_b32 v8, 0
        v_mov_b32 v9, 0
        v_mov_b32 v11, 0
        s_mov_b64 exec, 0xff
        ds_permute_b32 v8, v6, v0
        v_lshlrev_b32 v10, 3, v0
        ds_permute_b32 v9, v10, v0
        ds_bpermute_b32 v11, v10, v0
        s_mov_b64 exec, -1
    )");
    for (unsigned lane = 0; lane < 64; ++lane) {
        EXPECT_EQ(v(2, lane), lane ^ 1);
        EXPECT_EQ(v(3, lane), lane ^ 3);
        EXPECT_EQ(v(4, lane), (lane & 32) + 5);
        EXPECT_EQ(v(12, lane), lane ^ 31);
        EXPECT_EQ(v(7, lane), 63 - lane);
        EXPECT_EQ(v(8, lane), 0u) << "sent to lanes that are off";
        EXPECT_EQ(v(9, lane), lane < 8 && lane % 2 == 0 ? lane / 2 : 0) << lane;
        EXPECT_EQ(v(11, lane), lane < 4 ? lane * 2 : 0u) << lane;
    }
}

TEST_F(VectorMemory, ScratchThroughBuffersAndFlatAgree) {
    WorkgroupLaunch launch = simple(R"(
        s_add_u32 flat_scratch_lo, s6, s9
        s_addc_u32 flat_scratch_hi, s7, 0
        s_mov_b32 s12, s6
        s_or_b32 s13, s7, 0x80000000
        s_mov_b32 s14, -1
        s_mov_b32 s15, 0x00e00000
        v_mov_b32 v1, 16
        v_add_u32 v2, 0x500, v0
        buffer_store_dword v2, v1, s[12:15], s9 offen offset:4
        v_mov_b32 v3, 0xab
        buffer_store_byte v3, v1, s[12:15], s9 offen offset:9
        s_mov_b64 s[16:17], src_private_base
        v_mov_b32 v4, 20
        v_mov_b32 v5, s17
        flat_load_dwordx2 v[6:7], v[4:5]
        scratch_load_dword v8, v4, off
        s_mov_b32 s20, 0
        scratch_load_ubyte v9, off, s20 offset:25
        v_mov_b32 v10, 21
        v_mov_b32 v11, s17
        flat_load_dword v12, v[10:11]
        v_mov_b32 v13, 3
        flat_atomic_add v14, v[4:5], v13 glc
        buffer_load_dword v15, v1, s[12:15], s9 offen offset:4
    )");
    launch.user_sgprs = {lo32(kData), hi32(kData), 0, 0, 0, 0, lo32(kScratch), hi32(kScratch)};
    launch.user_sgpr_count = 8;
    launch.rsrc2 |= 1;
    launch.scratch_slot[0] = 0;
    launch.scratch_offset[0] = 0x4000;
    run(launch);
    EXPECT_EQ(s(9), 0x4000u);
    for (unsigned lane = 0; lane < 64; ++lane) {
        EXPECT_EQ(memory.at<uint32_t>(kScratch + 0x4000 + 20 / 4 * 256 + lane * 4), 0x503 + lane);
        EXPECT_EQ(v(6, lane), 0x500 + lane);
        EXPECT_EQ(v(7, lane), 0xab00u);
        EXPECT_EQ(v(8, lane), 0x500 + lane);
        EXPECT_EQ(v(9, lane), 0xabu);
        EXPECT_EQ(v(12, lane), (0x500 + lane) >> 8);
        EXPECT_EQ(v(14, lane), 0x500 + lane);
        EXPECT_EQ(v(15, lane), 0x503 + lane);
    }
}

TEST_F(VectorMemory, FlatReachesLdsAndGlobalInOneInstruction) {
    WorkgroupLaunch launch = simple(std::string(kLaneAddress) + R"(
        v_lshlrev_b32 v4, 2, v0
        v_add_u32 v5, 0x700, v0
        ds_write_b32 v4, v5
        s_mov_b64 s[8:9], src_shared_base
        v_mov_b32 v6, s9
        v_cmp_gt_u32 vcc, 32, v0
        v_cndmask_b32 v2, v2, v4, vcc
        v_cndmask_b32 v3, v3, v6, vcc
        flat_load_dword v7, v[2:3]
        v_mov_b32 v8, 1
        flat_atomic_add v[2:3], v8
        ds_read_b32 v9, v4
    )");
    launch.lds_bytes = 512;
    fill();
    run(launch);
    for (unsigned lane = 0; lane < 64; ++lane) {
        const uint32_t global = 0x1000 + lane * 0x01010101u;
        EXPECT_EQ(v(7, lane), lane < 32 ? 0x700 + lane : global);
        EXPECT_EQ(v(9, lane), lane < 32 ? 0x701 + lane : 0x700 + lane);
        EXPECT_EQ(word(lane), lane < 32 ? global : global + 1);
    }
}

TEST_F(VectorMemory, BuffersCheckTheirRange) {
    fill();
    run(R"(
        s_mov_b32 s12, s0
        s_mov_b32 s13, s1
        s_mov_b32 s14, 0x80
        s_mov_b32 s15, 0x27fac
        v_lshlrev_b32 v1, 2, v0
        v_mov_b32 v2, 5
        v_mov_b32 v3, 6
        buffer_load_dword v2, v1, s[12:15], 0 offen
        buffer_load_dwordx2 v[3:4], v1, s[12:15], 0 offen
        s_or_b32 s13, s13, 0x40000
        s_mov_b32 s14, 3
        buffer_load_dword v5, v0, s[12:15], 0 idxen
        v_mov_b32 v6, 0x77
        buffer_store_dword v6, v0, s[12:15], 0 idxen offset:4
        s_mov_b32 m0, 0x40
        buffer_load_dword v0, s[12:15], 0 idxen lds
    )");
    for (unsigned lane = 0; lane < 64; ++lane) {
        EXPECT_EQ(v(2, lane), lane < 32 ? 0x1000 + lane * 0x01010101u : 0u);
        EXPECT_EQ(v(4, lane), lane < 31 ? 0x1000 + (lane + 1) * 0x01010101u : 0u);
        EXPECT_EQ(v(3, lane), lane < 32 ? 0x1000 + lane * 0x01010101u : 0u);
        EXPECT_EQ(v(5, lane), lane < 3 ? 0x1000 + lane * 0x01010101u : 0u);
    }
    EXPECT_EQ(word(1), 0x77u);
    EXPECT_EQ(word(3), 0x77u);
    EXPECT_EQ(word(4), 0x1000u + 4 * 0x01010101u);
}

TEST_F(VectorMemory, TypedBuffersConvert) {
    memory.at<uint32_t>(kData) = 0x80ff4000;
    const float in[2] = {0.5f, -2.0f};
    std::memcpy(&memory.at<uint32_t>(kData + 16), in, 8);
    run(R"(
        s_mov_b32 s12, s0
        s_mov_b32 s13, s1
        s_mov_b32 s14, 0x1000
        s_mov_b32 s15, 0x50fac
        tbuffer_load_format_xyzw v[2:5], off, s[12:15], 0 format:[BUF_DATA_FORMAT_8_8_8_8,BUF_NUM_FORMAT_UNORM]
        buffer_load_format_xyzw v[6:9], off, s[12:15], 0
        tbuffer_load_format_xy v[10:11], off, s[12:15], 0 format:[BUF_DATA_FORMAT_32_32,BUF_NUM_FORMAT_FLOAT] offset:16
        tbuffer_store_format_xy v[10:11], off, s[12:15], 0 format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_FLOAT] offset:32
        tbuffer_load_format_d16_xy v12, off, s[12:15], 0 format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_FLOAT] offset:32
    )");
    EXPECT_EQ(v(2, 3), 0u);
    EXPECT_EQ(v(4, 3), 0x3f800000u);
    EXPECT_EQ(v(10, 7), 0x3f000000u);
    EXPECT_EQ(v(11, 7), 0xc0000000u);
    EXPECT_EQ(word(8), 0xc0003800u);
    EXPECT_EQ(v(12, 9), 0xc0003800u);
    EXPECT_EQ(v(6, 0), v(2, 0));
}

TEST(HalfFloat, RoundTripsAndRounds) {
    for (uint32_t half = 0; half < 0x10000; ++half) {
        const auto h = static_cast<uint16_t>(half);
        if ((h & 0x7c00) == 0x7c00 && (h & 0x3ff)) continue;
        EXPECT_EQ(to_half(from_half(h)), h);
    }
    EXPECT_EQ(to_half(65519.0f), 0x7bff);
    EXPECT_EQ(to_half(65520.0f), 0x7c00);
    EXPECT_EQ(to_half(1.0f + 1.0f / 2048), 0x3c00) << "ties to even";
    EXPECT_EQ(to_half(2.98e-8f), 0x0000);
    EXPECT_EQ(to_half(3.0e-8f), 0x0001);
}

TEST_F(VectorMemory, FaultsHaltTheWaveAndAreCounted) {
    WorkgroupLaunch launch = simple(R"(
        v_mov_b32 v2, 0
        v_mov_b32 v3, 0x40
        global_load_dword v4, v[2:3], off
        s_mov_b32 s8, 1
    )");
    cu.launch(launch);
    cu.run(1000);
    ASSERT_EQ(services.errors, std::vector<unsigned>{2});
    EXPECT_EQ(memory.faults, 1u) << "one report for the instruction, not one per lane";
    const Wave& wave = cu.wave(0);
    EXPECT_EQ(wave.state, WaveState::Halted);
    EXPECT_EQ(TrapstsBits::MemViol::get(wave.trapsts), 1u);
    EXPECT_EQ(TrapstsBits::XnackError::get(wave.trapsts), 1u);
    EXPECT_NE(wave.read_scalar(8), 1u);
    EXPECT_EQ(env.stats.get(Fault::MemoryViolation), 1u);
    EXPECT_FALSE(cu.runnable());
    cu.kill_vmid(8);
    EXPECT_EQ(cu.waves_live(), 0u);
    EXPECT_EQ(services.workgroups.size(), 1u);
}

TEST_F(VectorMemory, ReadOnlyPagesAndMisalignedAtomicsFault) {
    const auto error_of = [&](const std::string& offset, const char* what) {
        services.errors.clear();
        cu.launch(simple("s_mov_b32 s4, " + offset + "\n v_mov_b32 v2, s4\n v_mov_b32 v3, 1\n" + what));
        cu.run(1000);
        const uint32_t trapsts = cu.wave(0).trapsts;
        cu.kill_vmid(8);
        return services.errors.empty() ? 0u : trapsts;
    };
    const std::string read_only = std::to_string(TestMemory::kReadOnly - kData);
    const uint32_t violation = 1u << 8, page_fault = violation | 1u << 28;
    EXPECT_EQ(error_of(read_only, "global_load_dword v3, v2, s[0:1]"), 0u);
    EXPECT_EQ(error_of(read_only, "global_store_dword v2, v3, s[0:1]"), page_fault);
    EXPECT_EQ(error_of(read_only, "global_atomic_add v2, v3, s[0:1]"), page_fault);
    EXPECT_EQ(error_of("2", "global_atomic_add v2, v3, s[0:1]"), violation);
    EXPECT_EQ(error_of("2", "flat_load_dword v4, v[2:3]"), page_fault);
    EXPECT_EQ(error_of("0x10000", "s_mov_b64 s[8:9], src_shared_base\n v_mov_b32 v3, s9\n flat_load_dword v4, v[2:3]"),
              violation);
}

TEST_F(VectorMemory, SeesNewTranslationsAfterTheGenerationChanged) {
    memory.at<uint32_t>(kData) = 1;
    WorkgroupLaunch launch = simple("s_load_dword s4, s[0:1], 0x0\n s_load_dword s5, s[0:1], 0x0");
    run(launch);
    const unsigned before = memory.lookups;
    run(launch);
    EXPECT_EQ(memory.lookups, before) << "answers are cached";
    memory.translations_changed();
    run(launch);
    EXPECT_GT(memory.lookups, before);
}

// A watch is told of a page in each turn, and a translation that is held stays held.
TEST_F(VectorMemory, TouchesPagesOfAnEarlierTurnAgain) {
    WorkgroupLaunch launch = simple("s_load_dword s4, s[0:1], 0x0\n s_load_dword s5, s[0:1], 0x0");
    run(launch);
    const unsigned before = memory.lookups;
    for (unsigned turn = 1; turn <= 3; ++turn) {
        memory.turn_began();
        memory.touched.clear();
        run(launch);
        EXPECT_EQ(memory.touched, std::vector<uint64_t>{kData}) << turn;
        EXPECT_EQ(memory.lookups, before) << turn;
    }
    // What is held goes with its translation, in whichever turn.
    memory.translations_changed();
    memory.touched.clear();
    run(launch);
    EXPECT_TRUE(memory.touched.empty());
    EXPECT_GT(memory.lookups, before);
}

// A page that displaces another one displaces it in a later turn, too.
TEST_F(VectorMemory, DisplacesPagesOfAnEarlierTurn) {
    constexpr uint64_t kOther = kData + 256 * kPageBytes;  // the same entry of the cache
    WorkgroupLaunch launch = simple("s_load_dword s4, s[0:1], 0x0"), other = launch;
    other.user_sgprs[0] = static_cast<uint32_t>(kOther);
    run(launch);
    memory.turn_began();
    run(other);
    const unsigned before = memory.lookups;
    memory.touched.clear();
    run(launch);
    EXPECT_GT(memory.lookups, before);
    EXPECT_TRUE(memory.touched.empty());
}

TEST(Atomics, SumOfNansIsTheOneInMemoryMadeQuiet) {
    const atomics::Denormals kept;
    EXPECT_EQ(atomics::sum<uint32_t>(0xff800005, 0x7fc00006, kept), 0xffc00005u);
    EXPECT_EQ(atomics::sum<uint32_t>(0x3f800000, 0x7f800006, kept), 0x7fc00006u);
    EXPECT_EQ(atomics::sum<uint32_t>(0x7f800000, 0xff800000, kept), 0xffc00000u);
    EXPECT_EQ(atomics::sum<uint64_t>(0x7ff0000000000005, 0xfff8000000000006, kept), 0x7ff8000000000005u);
}

}  // namespace lyra::gcn::test
