// SPDX-License-Identifier: MIT
// Context save of running waves at every instruction boundary, by a trap handler that they execute, and their restore.
// LYRA_CWSR_HANDLER=file runs the same tests with another handler (raw code, such as the one a driver installs).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "cwsr/area.h"
#include "cwsr/control_stack.h"
#include "cwsr/image.h"
#include "cwsr/layout.h"
#include "gcn-interp/cu/test_machine.h"

namespace lyra::cwsr {
namespace {

using gcn::WaveState;

std::vector<uint8_t> handler_code() {
    std::ifstream raw;
    if (const char* path = std::getenv("LYRA_CWSR_HANDLER")) {
        raw.open(path, std::ios::binary);
        std::vector<uint8_t> code((std::istreambuf_iterator<char>(raw)), {});
        EXPECT_FALSE(code.empty()) << path;
        return code;
    }
    std::stringstream text;
    text << std::ifstream(LYRA_CWSR_HANDLER_SOURCE).rdbuf();
    return gcn::test::assemble(text.str());
}

/// Remembers what was saved, beside what the compute unit's tests remember.
class SaveServices : public gcn::test::TestServices {
public:
    void wave_ended(const gcn::Wave& wave) override {
        if (wave.saved())
            ++waves_saved;
        else
            TestServices::wave_ended(wave);
    }
    void wave_save_ready(const gcn::Wave&) override { ++ready; }
    void workgroup_saved(uint64_t) override { ++groups_saved; }
    unsigned ready = 0, waves_saved = 0, groups_saved = 0;
};

struct Program {
    const char* name;
    const char* text;
    uint32_t items = 64;
    uint32_t lds_bytes = 0;
    uint32_t rsrc1_vgprs = 7;  ///< blocks of 4, minus 1
    uint32_t rsrc1_sgprs = 12;
    bool scratch = false;
};

std::ostream& operator<<(std::ostream& out, const Program& program) { return out << program.name; }

/// Every program stores its result behind s[0:1]; v0 is the work-item.
constexpr Program kPrograms[] = {
    {"LdsAndBarrier", R"(
  s_mov_b32 m0, -1
  v_lshlrev_b32 v1, 2, v0
  v_mul_u32_u24 v2, 7, v0
  ds_write_b32 v1, v2
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_sub_u32 v3, 0xff, v0
  v_lshlrev_b32 v3, 2, v3
  ds_read_b32 v4, v3
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_write_b32 v1, v4 offset:1024
  s_barrier
  ds_read_b32 v5, v3 offset:1024
  s_waitcnt lgkmcnt(0)
  v_add_u32 v4, v4, v5
  global_store_dword v1, v4, s[0:1])", 256, 2048},
    {"Divergence", R"(
  v_mov_b32 v2, 0
  v_and_b32 v3, 7, v0
  s_mov_b64 s[10:11], exec
loop:
  v_add_u32 v2, v2, v3
  v_sub_u32 v3, v3, 1
  v_cmp_lt_i32 vcc, 0, v3
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz loop
  s_mov_b64 exec, s[10:11]
  v_lshlrev_b32 v1, 2, v0
  global_store_dword v1, v2, s[0:1])"},
    {"Atomics", R"(
  s_mov_b32 s20, 5
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
again:
  global_atomic_add v3, v1, v2, s[0:1] glc
  global_atomic_add v1, v2, s[0:1] offset:4
  s_atomic_add s20, s[0:1], 0x8
  s_sub_u32 s20, 5, 1
  s_add_u32 s21, s21, 1
  s_cmp_lt_u32 s21, 3
  s_cbranch_scc1 again)", 128},
    {"Scratch", R"(
  s_mov_b32 flat_scratch_lo, s4
  s_mov_b32 flat_scratch_hi, s5
  s_mov_b32 s6, 0
  s_mov_b32 s7, 0
fill:
  v_mov_b32 v2, s7
  v_add_u32 v3, v0, v2
  scratch_store_dword v2, v3, off
  s_add_u32 s7, s7, 4
  s_cmp_lt_u32 s7, 16
  s_cbranch_scc1 fill
  scratch_load_dword v4, off, s6 offset:4
  scratch_load_dword v5, off, s6 offset:12
  v_add_u32 v4, v4, v5
  v_lshlrev_b32 v1, 2, v0
  global_store_dword v1, v4, s[0:1])", 64, 0, 7, 12, true},
    {"GprIndex", R"(
  v_mov_b32 v4, 10
  v_mov_b32 v5, 20
  v_mov_b32 v6, 30
  v_mov_b32 v7, 40
  v_mov_b32 v2, 0
  s_mov_b32 s8, 0
next:
  s_set_gpr_idx_on s8, gpr_idx(SRC0)
  v_mov_b32 v3, v4
  s_set_gpr_idx_off
  v_add_u32 v2, v2, v3
  s_set_gpr_idx_on s8, gpr_idx(DST)
  v_mov_b32 v8, v2
  s_set_gpr_idx_off
  s_add_u32 s8, s8, 1
  s_cmp_lt_u32 s8, 4
  s_cbranch_scc1 next
  v_add_u32 v2, v8, v11
  v_lshlrev_b32 v1, 2, v0
  global_store_dword v1, v2, s[0:1])"},
    {"Registers", R"(
  s_mov_b32 vcc_lo, 0x11111111
  s_mov_b32 vcc_hi, 0x22222222
  s_mov_b32 flat_scratch_lo, 0x33333333
  s_mov_b32 flat_scratch_hi, 0x44444444
  s_mov_b32 m0, 0x55555555
  s_mov_b32 s15, 0x66666666
  s_mov_b32 s95, 0x77777777
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xc5
  v_mov_b32 v31, 0x1234
  v_cmp_gt_u32 s[20:21], 33, v0
  s_mov_b64 exec, s[20:21]
  v_mov_b32 v30, 0x4321
  s_mov_b64 exec, -1
  s_cmp_eq_u32 s15, s15
  s_nop 0
  s_cselect_b32 s16, 0x100, 2
  s_getreg_b32 s17, hwreg(HW_REG_MODE)
  s_xor_b32 s18, vcc_lo, flat_scratch_hi
  s_add_u32 s18, s18, vcc_hi
  s_xor_b32 s18, s18, flat_scratch_lo
  s_add_u32 s18, s18, m0
  s_add_u32 s18, s18, s95
  s_add_u32 s18, s18, s16
  s_add_u32 s18, s18, s17
  v_add_u32 v2, s18, v31
  v_add_u32 v2, v2, v30
  v_lshlrev_b32 v1, 2, v0
  global_store_dword v1, v2, s[0:1])"},
    {"FewRegisters", R"(
  s_mov_b32 s3, 9
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v2, s3
more:
  v_mad_u32_u24 v2, v2, v2, v0
  s_sub_u32 s3, s3, 3
  s_cbranch_scc1 out
  s_cmp_lg_u32 s3, 0
  s_cbranch_scc1 more
out:
  s_sleep 1
  v_mov_b32 v3, 0x10001
  v_mul_lo_u32 v2, v2, v3
  global_store_dword v1, v2, s[0:1])", 100, 0, 0, 0},
    {"TrapAndSkip", R"(
  v_mov_b32 v2, 3
  s_trap 1
  s_setvskip 1, 0
  v_mov_b32 v2, 4
  s_nop 0
  v_mov_b32 v2, 5
  s_setvskip 0, 0
  s_trap 7
  v_add_u32 v2, v2, v0
  v_lshlrev_b32 v1, 2, v0
  global_store_dword v1, v2, s[0:1])"},
    {"Integers", R"(
  v_mov_b32 v4, v0
  v_mov_b32 v5, 0x3f800000
  v_cvt_f32_u32 v6, v0
  s_mov_b32 s9, 6
more:
  v_mad_u64_u32 v[8:9], vcc, v4, v4, v[4:5]
  v_addc_co_u32 v4, vcc, v8, v9, vcc
  v_fma_f32 v5, v5, v6, 0.5
  v_rcp_f32 v6, v5
  s_sub_u32 s9, s9, 1
  s_cmp_lg_u32 s9, 0
  s_cbranch_scc1 more
  v_xor_b32 v2, v4, v5
  v_lshlrev_b32 v1, 2, v0
  global_store_dword v1, v2, s[0:1])"},
};

class SaveRestore : public gcn::test::Machine, public ::testing::WithParamInterface<Program> {
protected:
    static constexpr uint64_t kArea = gcn::test::TestMemory::kBase + 0x800000;
    static constexpr unsigned kResult = 1024;  ///< bytes behind kData that programs write

    void SetUp() override { memory.put(kHandler, handler_code()); }

    gcn::WorkgroupLaunch launch_of(const Program& program) {
        gcn::WorkgroupLaunch launch = simple(program.text, program.items);
        launch.rsrc1 = (launch.rsrc1 & ~0x3ffu) | program.rsrc1_vgprs | program.rsrc1_sgprs << 6;
        launch.rsrc2 |= 1 << 6;
        launch.tba = kHandler;
        launch.tma = kData + 0x8000;
        launch.lds_bytes = program.lds_bytes;
        launch.packet_index = 5;
        launch.group_id = {3, 2, 1};
        if (program.scratch) {
            launch.user_sgprs[4] = lo32(kScratch);
            launch.user_sgprs[5] = hi32(kScratch);
            launch.user_sgpr_count = 6;
            launch.scratch_slot[0] = 7;
        }
        return launch;
    }
    void clear_results() { std::fill_n(&memory.at<uint8_t>(kData), kResult, 0); }
    std::vector<uint8_t> results() { return {&memory.at<uint8_t>(kData), &memory.at<uint8_t>(kData) + kResult}; }

    bool step(unsigned instructions) {
        for (unsigned n = 0; n < instructions && unit.waves_live() != 0; ++n) unit.run(1);
        return unit.waves_live() != 0;
    }
    void run_out() {
        for (unsigned n = 0; n < 100 && unit.waves_live() != 0; ++n) unit.run(10'000);
        ASSERT_EQ(unit.waves_live(), 0u);
    }
    static Area empty_area() {
        const AreaSizes sizes = area_sizes(1, 1);
        return {kArea, sizes.total(), sizes.control_stack, sizes.control_stack, sizes.control_stack};
    }
    /// Let every wave save itself. @return false: none was left to be saved
    bool save(std::vector<SavedGroup>& groups, Area& area) {
        unit.request_save(1);
        for (unsigned n = 0; n < 10'000 && unit.runnable(); ++n) unit.run(100);
        if (unit.waves_live() == 0) return false;
        std::vector<unsigned> slots;
        groups.assign(1, {});
        for (unsigned number = 0; number < gcn::kMaxWavesPerWorkgroup; ++number) {
            for (unsigned slot = 0; slot < gcn::kWaveSlots; ++slot) {
                const gcn::Wave& wave = unit.wave(slot);
                if (wave.state != WaveState::Saving || wave.wave_in_group != number) continue;
                groups[0].vgprs = wave.vgpr_count;
                groups[0].sgprs = wave.sgpr_count;
                groups[0].lds_bytes = wave.lds_bytes;
                groups[0].waves.push_back({0, static_cast<uint32_t>(std::max(wave.scratch_slot, 0)), wave.scratch_slot >= 0});
                slots.push_back(slot);
            }
        }
        EXPECT_EQ(slots.size(), unit.waves_live()) << "a wave did not come to its save";
        area = empty_area();
        std::vector<uint32_t> words;
        EXPECT_EQ(lay_out(groups, area, words), Fault::None);
        for (unsigned n = 0; n < slots.size(); ++n) unit.grant_save(slots[n], kArea + groups[0].waves[n].record, n == 0);
        for (unsigned n = 0; n < 10'000 && unit.waves_live() != 0; ++n) unit.run(100);
        EXPECT_EQ(unit.waves_live(), 0u) << "a wave did not end its save";
        check(words, area, groups[0].waves.size());
        std::vector<SavedGroup> parsed;
        EXPECT_EQ(parse(words, area, parsed), Fault::None);
        EXPECT_EQ(parsed.size(), 1u);
        groups = parsed;
        return true;
    }
    void check(const std::vector<uint32_t>& words, const Area& area, size_t waves) {
        const ImageHeader header{area.stack_offset, area.stack_size - area.stack_offset, area.wave_end,
                                 area.wave_end - area.stack_size};
        const auto read = [&](uint64_t offset, void* data, size_t size) {
            return memory.read(8, kArea + offset, data, size) == Fault::None;
        };
        image = read_image(header, words, read, 64 * 64);
        EXPECT_EQ(image.error, "");
        EXPECT_EQ(image.waves.size(), waves);
        for (const WaveImage& wave : image.waves) {
            EXPECT_EQ(wave.packet, 5u);
            EXPECT_EQ(wave.group_id, (std::array<uint32_t, 3>{3, 2, 1}));
            EXPECT_GE(wave.pc, kCode);
            EXPECT_LT(wave.pc, kCode + 0x1000);
        }
    }
    void restore(const std::vector<SavedGroup>& groups) {
        gcn::WorkgroupRestore group;
        group.dispatch = 1;
        group.vmid = 8;
        group.tba = kHandler;
        group.tma = kData + 0x8000;
        group.private_base = kPrivate;
        group.shared_base = kShared;
        group.vgprs = groups[0].vgprs;
        group.sgprs = groups[0].sgprs;
        group.lds_bytes = groups[0].lds_bytes;
        group.waves = static_cast<unsigned>(groups[0].waves.size());
        for (unsigned n = 0; n < group.waves; ++n) {
            group.record[n] = kArea + groups[0].waves[n].record;
            group.scratch_slot[n] = groups[0].waves[n].scratch_en ? static_cast<int>(groups[0].waves[n].scratch_slot) : -1;
        }
        ASSERT_TRUE(unit.can_ever_fit(group));
        ASSERT_TRUE(unit.fits(group));
        unit.restore(group);
    }

    SaveServices saves;
    gcn::ComputeUnit unit{env, memory, saves, 1};
    Image image;
};

TEST_P(SaveRestore, AtEveryInstructionBoundary) {
    const Program& program = GetParam();
    const gcn::WorkgroupLaunch launch = launch_of(program);
    unit.invalidate_code();
    clear_results();
    unit.launch(launch);
    const unsigned waves = unit.waves_live();
    unsigned length = 0;
    while (step(1)) ASSERT_LT(++length, 5000u);
    const std::vector<uint8_t> expected = results();
    EXPECT_EQ(saves.waves, waves);

    for (unsigned at = 0; at < length; ++at) {
        SCOPED_TRACE(testing::Message() << "saved after " << at << " of " << length << " instructions");
        clear_results();
        saves.waves = saves.waves_saved = 0;
        unit.launch(launch);
        ASSERT_TRUE(step(at));
        std::vector<SavedGroup> groups;
        Area area;
        if (save(groups, area)) {
            ASSERT_EQ(saves.waves + groups[0].waves.size(), waves);
            restore(groups);
        }
        run_out();
        ASSERT_EQ(saves.waves, waves) << "each wave ends once";
        ASSERT_EQ(results(), expected);
        ASSERT_FALSE(HasFailure());
    }
}

TEST_P(SaveRestore, AgainAtEveryInstructionOfTheRestore) {
    const Program& program = GetParam();
    const gcn::WorkgroupLaunch launch = launch_of(program);
    unit.invalidate_code();
    clear_results();
    unit.launch(launch);
    const unsigned waves = unit.waves_live();
    run_out();
    const std::vector<uint8_t> expected = results();

    const unsigned middle = 9 * waves;
    for (unsigned at = 0;; at += 7) {
        SCOPED_TRACE(testing::Message() << "saved again after " << at << " instructions");
        clear_results();
        saves.waves = 0;
        unit.launch(launch);
        step(middle);
        std::vector<SavedGroup> groups;
        Area area;
        ASSERT_TRUE(save(groups, area));
        restore(groups);
        const bool inside = step(at);
        if (inside && save(groups, area)) restore(groups);
        run_out();
        ASSERT_EQ(saves.waves, waves);
        ASSERT_EQ(results(), expected);
        ASSERT_FALSE(HasFailure());
        if (!inside) break;
    }
}

INSTANTIATE_TEST_SUITE_P(Programs, SaveRestore, testing::ValuesIn(kPrograms),
                         [](const testing::TestParamInfo<Program>& info) { return std::string(info.param.name); });

TEST_F(SaveRestore, AHaltedWaveIsSavedAndStaysHalted) {
    const Program program{"halt", "v_mov_b32 v2, 7\n s_sethalt 1\n v_mov_b32 v2, 8"};
    unit.invalidate_code();
    unit.launch(launch_of(program));
    step(10);
    ASSERT_FALSE(unit.runnable());
    std::vector<SavedGroup> groups;
    Area area;
    ASSERT_TRUE(save(groups, area));
    EXPECT_TRUE(bit(image.waves[0].status, 13));
    EXPECT_EQ(image.waves[0].pc, kCode + 8);
    restore(groups);
    for (unsigned n = 0; n < 100; ++n) unit.run(1000);
    EXPECT_EQ(unit.waves_live(), 1u);
    EXPECT_FALSE(unit.runnable());
}

TEST_F(SaveRestore, TheMessageMeansNothingWithoutARequest) {
    unit.invalidate_code();
    unit.launch(launch_of({"message", "s_sendmsg sendmsg(MSG_SAVEWAVE)"}));
    run_out();
    EXPECT_EQ(saves.ready, 0u);
    EXPECT_EQ(saves.waves, 1u);
    EXPECT_EQ(env.stats.get(Fault::SaveMessage), 1u);
}

TEST_F(SaveRestore, AWaveWithoutAHandlerGoesOn) {
    gcn::WorkgroupLaunch launch = launch_of({"plain", "s_nop 0"});
    launch.rsrc2 &= ~(1u << 6);
    unit.invalidate_code();
    unit.launch(launch);
    unit.request_save(1);
    run_out();
    EXPECT_EQ(saves.waves, 1u);
    EXPECT_EQ(saves.ready, 0u);
}

}  // namespace
}  // namespace lyra::cwsr
