// SPDX-License-Identifier: MIT
// What a saved record says of a wave's registers is what the trace says that the wave held; changes in the record come back.
#include "cwsr/save_area.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "common/bits.h"
#include "cwsr/area.h"
#include "cwsr/control_stack.h"
#include "cwsr/layout.h"
#include "gcn-interp/cu/test_machine.h"

namespace lyra::cwsr {
namespace {

class SavedEvents : public TraceSink {
public:
    void record(const TraceRecord& record) override {
        if (record.id == EventId::wave_saved)
            digests.push_back({record.args[2], record.args[3], record.args[4], record.args[5]});
    }
    std::vector<WaveDigest> digests;
};

constexpr uint32_t kItems = 192;
constexpr uint64_t kLoopEnd = 0x38;  ///< bytes of the program before the end of its loop
/// Waits until s20 is not 1, then stores s21 and v9 behind s[0:1]. Lanes from 50 on are not active while it waits.
constexpr const char* kProgram = R"(
  s_mov_b32 m0, -1
  s_mov_b32 s20, 1
  s_mov_b32 s21, 0x2121
  s_mov_b32 vcc_lo, 0xcc
  v_lshlrev_b32 v1, 2, v0
  v_mul_u32_u24 v9, 5, v0
  ds_write_b32 v1, v9
  s_mov_b32 exec_hi, 0x3ffff
wait:
  s_cmp_eq_u32 s20, 1
  s_cbranch_scc1 wait
  s_mov_b64 exec, -1
  v_mov_b32 v2, s21
  v_lshlrev_b32 v1, 3, v0
  global_store_dwordx2 v1, v[2:3], s[0:1]
  global_store_dword v1, v9, s[0:1] offset:4)";

class SaveArea : public gcn::test::Machine {
protected:
    static constexpr uint64_t kArea = gcn::test::TestMemory::kBase + 0x800000;

    void SetUp() override {
        env.tracer.set_sink(&events);
        std::stringstream text;
        text << std::ifstream(LYRA_CWSR_SOURCE "/handler/handler.s").rdbuf();
        memory.put(kHandler, gcn::test::assemble(text.str()));
        gcn::WorkgroupLaunch launch = simple(kProgram, kItems);
        launch.rsrc2 |= 1 << 6;
        launch.tba = kHandler;
        launch.tma = kData + 0x8000;
        launch.lds_bytes = 1024;
        launch.group_id = {3, 0, 0};
        cu.launch(launch);
        for (unsigned n = 0; n < 100; ++n) cu.run(10);
        save();
    }
    void save() {
        cu.request_save(1);
        for (unsigned n = 0; n < 1000 && cu.runnable(); ++n) cu.run(100);
        groups.assign(1, {});
        groups[0].lds_bytes = 1024;
        std::vector<unsigned> slots;
        for (unsigned number = 0; number < kItems / 64; ++number) {
            for (unsigned slot = 0; slot < gcn::kWaveSlots; ++slot) {
                const gcn::Wave& wave = cu.wave(slot);
                if (wave.state != gcn::WaveState::Saving || wave.wave_in_group != number) continue;
                groups[0].vgprs = wave.vgpr_count;
                groups[0].sgprs = wave.sgpr_count;
                groups[0].waves.push_back({});
                slots.push_back(slot);
            }
        }
        ASSERT_EQ(slots.size(), kItems / 64);
        const AreaSizes sizes = area_sizes(1, 1);
        Area area{kArea, sizes.total(), sizes.control_stack, sizes.control_stack, sizes.control_stack};
        std::vector<uint32_t> words;
        ASSERT_EQ(lay_out(groups, area, words), Fault::None);
        for (unsigned n = 0; n < slots.size(); ++n) cu.grant_save(slots[n], kArea + groups[0].waves[n].record, n == 0);
        for (unsigned n = 0; n < 1000 && cu.waves_live() != 0; ++n) cu.run(100);
        ASSERT_EQ(cu.waves_live(), 0u);
        // As the driver does it for a debugger.
        const uint32_t header[4] = {area.stack_offset, area.stack_size - area.stack_offset, area.wave_end,
                                    area.wave_end - area.stack_size};
        std::memcpy(&memory.at<uint8_t>(kArea), header, sizeof header);
        std::memcpy(&memory.at<uint8_t>(kArea + area.stack_offset), words.data(), words.size() * 4);
    }
    void restore() {
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
            group.scratch_slot[n] = -1;
        }
        cu.restore(group);
        for (unsigned n = 0; n < 1000 && cu.waves_live() != 0; ++n) cu.run(100);
    }

    /// A register of a wave in its record.
    uint32_t& saved(const WaveImage& wave, ImageRegister name, unsigned number, unsigned lane = 0) {
        return memory.at<uint32_t>(kArea + register_address(wave, name, number).value() + 4 * lane);
    }
    const ReadArea read = [this](uint64_t offset, void* data, size_t size) {
        return memory.read(8, kArea + offset, data, size) == Fault::None;
    };
    SavedEvents events;
    std::vector<SavedGroup> groups;
};

TEST_F(SaveArea, RecordsHoldWhatTheWavesHeld) {
    const Image image = read_save_area(read, 0);
    ASSERT_EQ(image.error, "");
    ASSERT_EQ(image.waves.size(), kItems / 64);
    std::vector<WaveDigest> digests;
    for (const WaveImage& wave : image.waves) {
        WaveRegisters registers;
        ASSERT_TRUE(read_registers(wave, read, registers));
        digests.push_back(digest(wave, registers));
        EXPECT_EQ(wave.exec, 0x3ffffffffffffu);
        EXPECT_EQ(registers.sgprs[21], 0x2121u);
        for (unsigned lane = 0; lane < 64; ++lane) EXPECT_EQ(registers.vgprs[9][lane], 5 * (wave.number * 64 + lane));
        ASSERT_EQ(registers.lds.size(), wave.number == 0 ? 256u : 0u);
        if (wave.number == 0) {
            EXPECT_EQ(registers.lds[100], 500u);
        }
    }
    std::sort(digests.begin(), digests.end());
    std::sort(events.digests.begin(), events.digests.end());
    EXPECT_EQ(digests, events.digests);
}

/// Of a queue of several XCCs: one area behind the other, each with its header.
TEST_F(SaveArea, AreasOfSeveralXccsAreReadInOrder) {
    constexpr uint64_t kBytes = 0x100000;
    std::vector<uint8_t> bytes(2 * kBytes);
    ASSERT_TRUE(read(0, bytes.data(), area_sizes(1, 1).total()));
    std::copy_n(bytes.begin(), kBytes, bytes.begin() + kBytes);
    const ReadArea both = [&](uint64_t offset, void* data, size_t size) {
        if (offset > bytes.size() || size > bytes.size() - offset) return false;
        std::memcpy(data, bytes.data() + offset, size);
        return true;
    };
    const Image image = read_save_areas(both, 2, kBytes, 0, Chip::gfx900);
    ASSERT_EQ(image.error, "");
    ASSERT_EQ(image.waves.size(), 2 * kItems / 64);
    bytes[kBytes + register_address(image.waves[0], ImageRegister::Vgpr, 9).value()] ^= 1;
    for (size_t n = 0; n < kItems / 64; ++n) {
        const WaveImage &first = image.waves[n], &second = image.waves[n + kItems / 64];
        EXPECT_EQ(second.record, first.record + kBytes);
        EXPECT_EQ(first.group, 0u);
        EXPECT_EQ(second.group, 1u);
        WaveRegisters one, other;
        ASSERT_TRUE(read_registers(first, both, one));
        ASSERT_TRUE(read_registers(second, both, other));
        EXPECT_EQ(digest(first, one) == digest(second, other), n != 0);
    }
    bytes[kBytes + 4] += 4;
    EXPECT_NE(read_save_areas(both, 2, kBytes, 0, Chip::gfx900).error.find("area 1: "), std::string::npos);
    EXPECT_EQ(read_save_areas(both, 1, kBytes, 0, Chip::gfx900).error, "");
}

TEST_F(SaveArea, AnyChangedRegisterChangesTheDigest) {
    const Image image = read_save_area(read, 0);
    const WaveImage& wave = image.waves[1];
    WaveRegisters before, after;
    ASSERT_TRUE(read_registers(wave, read, before));
    ++saved(wave, ImageRegister::Vgpr, 31, 63);
    ASSERT_TRUE(read_registers(wave, read, after));
    EXPECT_NE(digest(wave, before).vgprs, digest(wave, after).vgprs);
    EXPECT_EQ(digest(wave, before).sgprs, digest(wave, after).sgprs);
    ++saved(wave, ImageRegister::Sgpr, 101);
    ASSERT_TRUE(read_registers(wave, read, after));
    EXPECT_NE(digest(wave, before).sgprs, digest(wave, after).sgprs);
}

TEST_F(SaveArea, WavesGoOnWithChangedRegisters) {
    const Image image = read_save_area(read, 0);
    for (const WaveImage& wave : image.waves) {
        saved(wave, ImageRegister::Sgpr, 21) = 0xbeef;
        saved(wave, ImageRegister::Vgpr, 9, 33) = 0xabcd;
        // The first wave leaves the loop by its PC, the others by their register.
        if (wave.number != 0) {
            saved(wave, ImageRegister::Sgpr, 20) = 2;
        } else {
            saved(wave, ImageRegister::Pc, 0) = lo32(kCode + kLoopEnd);
        }
    }
    restore();
    ASSERT_EQ(cu.waves_live(), 0u);
    for (uint32_t item = 0; item < kItems; ++item) {
        EXPECT_EQ(word(2 * item), 0xbeefu);
        EXPECT_EQ(word(2 * item + 1), item % 64 == 33 ? 0xabcdu : 5 * item);
    }
}

TEST_F(SaveArea, ShowsRegistersAndCountsEqualLanes) {
    const Image image = read_save_area(read, 0);
    const std::string text = dump_image(image, read, {true, true});
    EXPECT_NE(text.find("wave 2: group 0 (3,0,0) number 2"), std::string::npos) << text;
    EXPECT_NE(text.find("exec 0x0003ffffffffffff"), std::string::npos);
    EXPECT_NE(text.find("  v31   7fb5a5a5*64\n"), std::string::npos);
    EXPECT_NE(text.find("  lds   00000000 00000005 "), std::string::npos);
    EXPECT_EQ(dump_image(image, read, {}).find("v31"), std::string::npos);
}

TEST_F(SaveArea, DamageIsSaid) {
    memory.at<uint32_t>(kArea + 4) += 4;
    EXPECT_NE(read_save_area(read, 0).error, "");
    memory.at<uint32_t>(kArea + 4) = 0x7fffffff;
    EXPECT_NE(read_save_area(read, 0).error, "");
    const ReadArea nothing = [](uint64_t, void*, size_t) { return false; };
    EXPECT_NE(read_save_area(nothing, 0).error, "");
}

}  // namespace
}  // namespace lyra::cwsr
