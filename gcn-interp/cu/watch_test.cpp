// SPDX-License-Identifier: MIT
// Watched addresses: which accesses are seen, which bit of TRAPSTS they set, and when the trap handler is entered for them.
// @source Linux 6.12 gc_9_0_sh_mask.h TCP_WATCH0_CNTL, SQ_WAVE_TRAPSTS; kfd_ioctl.h kfd_dbg_trap_address_watch_mode
#include "gcn-interp/exec/watch.h"
#include "gcn-interp/cu/test_machine.h"

namespace lyra::gcn::test {
namespace {

enum Mode : uint8_t { kRead = 0, kNonRead = 1, kAtomic = 2, kAll = 3 };
constexpr uint32_t kExcpEnWatch = 1u << 7;                                // MODE.EXCP_EN, all watches
constexpr uint32_t kTrapsts[] = {1u << 7, 1u << 12, 1u << 13, 1u << 14};  // EXCP[7], EXCP_HI[2:0]
constexpr uint64_t kLine = ~uint64_t{63} & 0xffffffffffff;

/// Each entry of the handler is one of the log: TRAPSTS, and the PC as bytes from the start of the program.
struct Entry {
    uint32_t trapsts, at;
    bool operator==(const Entry&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Entry& entry) {
    return out << "{" << std::hex << entry.trapsts << ", " << entry.at << "}" << std::dec;
}

class Watch : public Machine {
protected:
    static constexpr const char* kLogAndGoOn = R"(
  s_getreg_b32 ttmp14, hwreg(HW_REG_TMA_LO)
  s_getreg_b32 ttmp15, hwreg(HW_REG_TMA_HI)
  s_lshl_b64 ttmp[14:15], ttmp[14:15], 8
  s_getreg_b32 ttmp2, hwreg(HW_REG_TRAPSTS)
  s_mov_b32 ttmp3, ttmp0
  s_store_dwordx2 ttmp[2:3], ttmp[14:15], ttmp5
  s_add_u32 ttmp5, ttmp5, 8
  s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 7, 1), 0
  s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 12, 3), 0
  s_and_b32 ttmp1, ttmp1, 0xffff
  s_rfe_b64 ttmp[0:1])";

    void watch(unsigned number, Mode mode, uint64_t address, uint64_t mask = kLine, uint32_t vmid = 8) {
        points.points[number] = {true, vmid, mode, address & mask, mask};
        cu.set_watch(&points);
    }
    /// v[2:3] is the address of the data, in every lane; v4 is 1.
    WorkgroupLaunch program(const std::string& text, const std::string& handler = kLogAndGoOn) {
        WorkgroupLaunch launch = simple("v_mov_b32 v2, s0\n v_mov_b32 v3, s1\n v_mov_b32 v4, 1\n" + text);
        with_traps(launch, handler);
        launch.rsrc2 |= 1u << 13;  // EXCP_EN_MSB[0]: address watch
        return launch;
    }
    static constexpr uint32_t kFirst = 12;  ///< bytes of what program() puts before the text
    std::vector<Entry> log(const WorkgroupLaunch& launch) {
        std::fill_n(&memory.at<uint8_t>(kData + 0x8000), 0x400, 0);
        run(launch);
        std::vector<Entry> entries;
        for (unsigned n = 0; n < services.last.ttmp[5] / 8; ++n) {
            const uint32_t* entry = &memory.at<uint32_t>(kData + 0x8000 + 8 * n);
            entries.push_back({entry[0], entry[1] - lo32(kCode) - kFirst});
        }
        return entries;
    }
    Watchpoints points;
};

/// One instruction of 8 bytes each.
constexpr const char* kOneOfEach = R"(
  global_load_dword v5, v[2:3], off
  global_store_dword v[2:3], v4, off
  global_atomic_add v[2:3], v4, off
  global_atomic_add v5, v[2:3], v4, off glc
  flat_load_dword v5, v[2:3]
  flat_store_dword v[2:3], v4
  flat_atomic_add v[2:3], v4)";

TEST_F(Watch, EachModeSeesItsAccesses) {
    // The PC is that of the next instruction.
    const std::vector<Entry> reads{{1 << 7, 8}, {1 << 7, 40}}, writes{{1 << 7, 16}, {1 << 7, 48}},
        atomics{{1 << 7, 24}, {1 << 7, 32}, {1 << 7, 56}};
    const auto in_order = [](std::vector<Entry> entries) {
        std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.at < b.at; });
        return entries;
    };
    std::vector<Entry> not_reads = writes, all = reads;
    not_reads.insert(not_reads.end(), atomics.begin(), atomics.end());
    all.insert(all.end(), not_reads.begin(), not_reads.end());
    const WorkgroupLaunch launch = program(kOneOfEach);
    watch(0, kRead, kData);
    EXPECT_EQ(log(launch), reads);
    watch(0, kNonRead, kData);
    EXPECT_EQ(log(launch), in_order(not_reads));
    watch(0, kAtomic, kData);
    EXPECT_EQ(log(launch), atomics);
    watch(0, kAll, kData);
    EXPECT_EQ(log(launch), in_order(all));
    EXPECT_EQ(word(0), 1u + 64) << "the accesses happen: a store of 1, then 64 lanes add 1";
    points.points[0].valid = false;
    EXPECT_EQ(log(launch), std::vector<Entry>{});
}

TEST_F(Watch, BuffersAndScratchAreSeenLdsAndScalarAccessesAreNot) {
    watch(0, kAll, 0, 0);  // every address
    WorkgroupLaunch launch = program(R"(
  s_mov_b32 m0, -1
  s_load_dword s10, s[0:1], 0x0
  s_store_dword s10, s[0:1], 0x40
  v_mov_b32 v8, 0
  ds_write_b32 v8, v4
  v_mov_b32 v6, 0
  v_mov_b32 v7, 0x10000
  flat_store_dword v[6:7], v4
  v_mov_b32 v10, 0
  v_mov_b32 v11, 0x20000
  s_mov_b32 flat_scratch_lo, s0
  s_mov_b32 flat_scratch_hi, s1
  s_mov_b64 s[4:5], s[0:1]
  s_mov_b32 s6, 0x1000
  s_mov_b32 s7, 0x27000
before:
  buffer_store_dword v4, v8, s[4:7], 0 offen
  buffer_atomic_add v4, v8, s[4:7], 0 offen
  buffer_load_dword v5, v8, s[4:7], 0 offen
  tbuffer_load_format_x v5, v8, s[4:7], dfmt:4, nfmt:4, 0 offen
  flat_store_dword v[10:11], v4)");
    launch.lds_bytes = 512;
    const std::vector<Entry> entries = log(launch);
    ASSERT_EQ(entries.size(), 5u);
    for (unsigned n = 1; n < 5; ++n) EXPECT_EQ(entries[n].at, entries[0].at + 8 * n);
    EXPECT_EQ(s(6), 0x1000u) << "it came to its end";
}

TEST_F(Watch, EachWatchHasItsBit) {
    for (unsigned n = 0; n < 4; ++n) watch(n, kNonRead, kData + 0x100 * n);
    const WorkgroupLaunch launch = program(R"(
  global_store_dword v[2:3], v4, off
  global_store_dword v[2:3], v4, off offset:0x100
  global_store_dword v[2:3], v4, off offset:0x200
  global_store_dword v[2:3], v4, off offset:0x300
  v_lshlrev_b32 v8, 7, v0
  global_store_dword v8, v4, s[0:1])");
    const std::vector<Entry> expected{{kTrapsts[0], 8},
                                      {kTrapsts[1], 16},
                                      {kTrapsts[2], 24},
                                      {kTrapsts[3], 32},
                                      {kTrapsts[0] | kTrapsts[1] | kTrapsts[2] | kTrapsts[3], 44}};
    EXPECT_EQ(log(launch), expected);
}

TEST_F(Watch, ComparesTheBitsOfItsMaskAndNothingBelowALine) {
    const WorkgroupLaunch launch = program(R"(
  global_store_dword v[2:3], v4, off offset:0x2fc
  global_store_dword v[2:3], v4, off offset:0x300
  global_store_dword v[2:3], v4, off offset:0x33c
  global_store_dword v[2:3], v4, off offset:0x3fc
  global_store_dword v[2:3], v4, off offset:0x400
  global_store_dwordx2 v[2:3], v[4:5], off offset:0x2fc
  global_store_byte v[2:3], v4, off offset:0x3ff)");
    const auto hits = [&](std::vector<uint32_t> after) {
        std::vector<Entry> entries;
        for (const uint32_t at : after) entries.push_back({1 << 7, at});
        return entries;
    };
    watch(0, kNonRead, kData + 0x300);
    EXPECT_EQ(log(launch), hits({16, 24, 48})) << "one line; the sixth store reaches into it";
    watch(0, kNonRead, kData + 0x300, kLine & ~uint64_t{0xff});
    EXPECT_EQ(log(launch), hits({16, 24, 32, 48, 56})) << "four lines";
    watch(0, kNonRead, kData + 0x4000300);
    EXPECT_EQ(log(launch), hits({}));
    watch(0, kNonRead, kData + 0x4000300, kLine & ~uint64_t{0x4000000});
    EXPECT_EQ(log(launch), hits({16, 24, 48})) << "and the bits in the middle that the mask leaves out";
}

TEST_F(Watch, OnlyActiveLanesOfItsVmidCount) {
    const std::string third = R"(
  s_mov_b64 exec, 0xff
  v_lshlrev_b32 v8, 6, v0
  global_store_dword v8, v4, s[0:1])";
    watch(0, kAll, kData + 7 * 64);
    EXPECT_EQ(log(program(third)).size(), 1u);
    watch(0, kAll, kData + 8 * 64);
    EXPECT_EQ(log(program(third)).size(), 0u);
    watch(0, kAll, kData + 7 * 64, kLine, 9);
    EXPECT_EQ(log(program(third)).size(), 0u);
    WorkgroupLaunch other = program(third);
    other.vmid = 9;
    EXPECT_EQ(log(other).size(), 1u);
}

TEST_F(Watch, WithoutItsBitInExcpEnItIsOnlyNoted) {
    watch(2, kAll, kData);
    WorkgroupLaunch launch = program("global_store_dword v[2:3], v4, off\n s_getreg_b32 s8, hwreg(HW_REG_TRAPSTS)");
    launch.rsrc2 &= ~(1u << 13);
    EXPECT_EQ(log(launch).size(), 0u);
    EXPECT_EQ(s(8), kTrapsts[2]);
    launch.rsrc2 |= 1u << 14 | 0x7fu << 24;  // all other exceptions
    EXPECT_EQ(log(launch).size(), 0u);
    // Enabled by the wave itself.
    launch = program("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 19, 1), 1\n global_store_dword v[2:3], v4, off");
    launch.rsrc2 &= ~(1u << 13);
    EXPECT_EQ(log(launch), (std::vector<Entry>{{kTrapsts[2], 16}}));
    // And without a handler nothing happens.
    launch.rsrc2 &= ~(1u << 6);
    run(launch);
    EXPECT_EQ(services.last.trapsts, kTrapsts[2]);
    EXPECT_TRUE(services.errors.empty());
}

TEST_F(Watch, TheHandlersOwnAccessesAreNotSeen) {
    watch(0, kAll, kData);
    const WorkgroupLaunch launch = program("s_trap 1\n global_load_dword v5, v[2:3], off", std::string(R"(
  global_store_dword v[2:3], v4, off
  global_atomic_add v[2:3], v4, off
  global_load_dword v6, v[2:3], off
  s_bfe_u32 ttmp6, ttmp1, 0x80010
  s_lshl_b32 ttmp6, ttmp6, 2
  s_add_u32 ttmp0, ttmp0, ttmp6)") + kLogAndGoOn);
    const std::vector<Entry> expected{{0, 4}, {1 << 7, 12}};
    EXPECT_EQ(log(launch), expected) << "the trap, stepped over, and the load";
    EXPECT_EQ(word(0), 1u + 64);
}

/// Both the fault and the watch are noted; the trap is one.
TEST_F(Watch, AnAccessThatFaultsIsOneTrap) {
    watch(0, kAll, 0x40000000);
    const WorkgroupLaunch launch = program("v_mov_b32 v3, 0\n v_mov_b32 v2, 0x40000000\n global_load_dword v5, v[2:3], off",
                                           std::string("s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 28, 1), 0\n") + kLogAndGoOn);
    const std::vector<Entry> entries = log(launch);
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0], (Entry{1u << 8 | 1u << 7, 16}));
}

}  // namespace
}  // namespace lyra::gcn::test
