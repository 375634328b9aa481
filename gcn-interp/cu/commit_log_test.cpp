// SPDX-License-Identifier: MIT
// What the commit log says of an instruction, and what is counted.
#include "gcn-interp/cu/commit_log.h"

#include <cstdio>
#include <sstream>

#include "gcn-interp/cu/exec_histogram.h"
#include "gcn-interp/cu/test_machine.h"

namespace lyra::gcn::test {
namespace {

class Log : public Machine {
protected:
    /// The lines of a run of the text, without the s_endpgm.
    std::vector<std::string> log(const std::string& text, uint32_t items = 64, ExecObserver* next = nullptr) {
        char* data = nullptr;
        size_t bytes = 0;
        std::vector<std::string> lines;
        {
            CommitLog log(open_memstream(&data, &bytes), next);
            env.observer = &log;
            WorkgroupLaunch launch = simple(text, items);
            launch.lds_bytes = 512;
            launch.group_id = {7, 8, 9};
            run(launch);
            env.observer = executed_observer();
        }
        std::istringstream all(std::string(data, bytes));
        std::free(data);
        for (std::string line; std::getline(all, line);) lines.push_back(line);
        EXPECT_FALSE(lines.empty());
        if (!lines.empty()) lines.pop_back();
        return lines;
    }
    static std::string changes(const std::string& line) {
        const size_t bar = line.find(" | ");
        return bar == std::string::npos ? "" : line.substr(bar + 3);
    }
};

TEST_F(Log, SaysWhoWhereAndWhat) {
    const std::vector<std::string> lines = log("s_nop 0\n s_mov_b32 s20, 0x1234", 100);
    ASSERT_EQ(lines.size(), 5u);  // two waves, one s_endpgm cut off
    EXPECT_EQ(lines[0], "1 (7,8,9).0 #1 000000100000 exec=ffffffffffffffff s_nop 0");
    EXPECT_EQ(lines[1], "1 (7,8,9).0 #2 000000100004 exec=ffffffffffffffff s_mov_b32 s20, 0x1234 | s20=00001234");
    EXPECT_EQ(lines[4], "1 (7,8,9).1 #2 000000100004 exec=0000000fffffffff s_mov_b32 s20, 0x1234 | s20=00001234");
}

TEST_F(Log, ScalarState) {
    const std::vector<std::string> lines = log(R"(
        s_cmp_eq_u32 s0, s0
        s_mov_b64 vcc, -2
        s_mov_b64 exec, 0xff
        s_mov_b32 m0, 3
        s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5
        s_mov_b32 flat_scratch_hi, 9
        s_branch end
        s_nop 1
      end:)");
    const char* expected[] = {"scc=1",       "vcc=fffffffffffffffe", "exec=00000000000000ff",
                              "m0=00000003", "mode=000003c5",        "flat_scratch_hi=00000009"};
    ASSERT_EQ(lines.size(), std::size(expected) + 1);
    for (size_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(changes(lines[i]), expected[i]) << lines[i];
    EXPECT_EQ(changes(lines.back()).substr(0, 3), "pc=") << lines.back();
}

TEST_F(Log, VectorRegistersByLane) {
    const std::vector<std::string> lines = log(R"(
        v_mov_b32 v3, 5
        s_mov_b64 exec, 0x1f
        v_min_u32 v4, 2, v0
        v_mov_b32 v4, v4)");
    EXPECT_EQ(changes(lines[0]), "v3{0-63:00000005}");
    EXPECT_EQ(changes(lines[2]), "v4{0:00000000 1:00000001 2-4:00000002}");
    EXPECT_EQ(changes(lines[3]), "");
}

TEST_F(Log, ExceptionsOfTheInstructionThatRaisesThem) {
    env.fp_exceptions = FpExceptions::Always;
    const std::vector<std::string> lines = log("v_mov_b32 v3, 0\n v_rcp_f32 v4, v3\n v_rcp_f32 v4, v3");
    EXPECT_EQ(changes(lines[1]).find("trapsts=00000004"), 0u) << lines[1];
    EXPECT_EQ(changes(lines[2]), "");
}

TEST_F(Log, StoresAtomicsAndLds) {
    const std::vector<std::string> lines = log(R"(
        s_mov_b64 exec, 5
        v_mov_b32 v2, s0
        v_mov_b32 v3, s1
        v_mov_b32 v5, 0x11
        v_mov_b32 v6, 0x22
        global_store_dwordx2 v[2:3], v[5:6], off
        global_atomic_add v[2:3], v5, off
        global_store_byte v[2:3], v5, off offset:9
        s_store_dword s0, s[0:1], 0x20
        v_lshlrev_b32 v7, 2, v0
        ds_write_b32 v7, v5 offset:16)");
    ASSERT_EQ(lines.size(), 11u);
    EXPECT_EQ(changes(lines[5]), "[000000200000]=00000011,00000022 [000000200000]=00000011,00000022");
    EXPECT_EQ(changes(lines[6]), "[000000200000]=00000033 [000000200000]=00000033");
    EXPECT_EQ(changes(lines[7]), "[000000200009]=11 [000000200009]=11");
    EXPECT_EQ(changes(lines[8]), "[000000200020]=00200000");
    EXPECT_EQ(changes(lines[10]), "lds[10]=00000011 lds[18]=00000011");
}

TEST_F(Log, SwizzledStoresByteByByte) {
    // A halfword across two dwords of private memory: they lie 256 bytes apart.
    const std::vector<std::string> lines = log(R"(
        s_mov_b64 exec, 1
        s_mov_b32 flat_scratch_lo, s0
        s_mov_b32 flat_scratch_hi, s1
        v_mov_b32 v2, 3
        v_mov_b32 v5, 0x1234
        scratch_store_short v2, v5, off)");
    EXPECT_EQ(changes(lines[5]), "[000000200003]=34 [000000200100]=12");
}

TEST_F(Log, NamesTheFault) {
    const std::vector<std::string> lines = [&] {
        char* data = nullptr;
        size_t bytes = 0;
        {
            CommitLog log(open_memstream(&data, &bytes));
            env.observer = &log;
            cu.launch(simple("s_mov_b32 s20, 0\n s_load_dword s20, s[20:21], 0x0", 64));
            cu.run(100);
            env.observer = executed_observer();
        }
        const std::string text(data, bytes);
        std::free(data);
        return std::vector<std::string>{text};
    }();
    EXPECT_NE(lines[0].find("s_load_dword s20, s[20:21], 0x0 | fault=MemoryViolation\n"), std::string::npos) << lines[0];
}

TEST_F(Log, HistogramBehindIt) {
    ExecHistogram histogram;
    log("v_add_f32 v1, v2, v3\n v_add_f32_e64 v1, v2, -v3\n v_add_f32 v1, v2, v3\n global_load_dword v1, v0, s[0:1]", 64,
        &histogram);
    std::map<std::string, uint64_t> counts;
    histogram.each([&](const std::string& name, const char* format, uint64_t count) { counts[name + " " + format] = count; });
    const std::map<std::string, uint64_t> expected = {
        {"v_add_f32 VOP2", 2}, {"v_add_f32 VOP3", 1}, {"global_load_dword FLAT", 1}, {"s_endpgm SOPP", 1}};
    EXPECT_EQ(counts, expected);
}

}  // namespace
}  // namespace lyra::gcn::test
