// SPDX-License-Identifier: MIT
// Sizes of save areas, and control stacks: made, read back, damaged.
#include "cwsr/control_stack.h"

#include <gtest/gtest.h>

#include <random>

#include "cwsr/area.h"
#include "cwsr/layout.h"

namespace lyra::cwsr {
namespace {

TEST(Area, HasTheDriversSizes) {
    EXPECT_EQ(area_sizes(64, 4).control_stack, 0x5000u);
    EXPECT_EQ(area_sizes(64, 4).wave_data, 22'282'240u);
    EXPECT_EQ(area_sizes(64, 4).total(), 22'302'720u);
    EXPECT_EQ(area_sizes(60, 4).total(), 20'910'080u);
    EXPECT_EQ(area_sizes(8, 4).control_stack, 0x1000u);
}

SavedGroup group(unsigned vgprs, unsigned waves, uint32_t lds = 0, unsigned engine = 0) {
    SavedGroup g;
    g.vgprs = vgprs;
    g.sgprs = 112;
    g.lds_bytes = lds;
    g.engine = engine;
    for (unsigned n = 0; n < waves; ++n) g.waves.push_back({0, n, n % 2 == 1});
    return g;
}

Area empty_area() {
    const AreaSizes sizes = area_sizes(8, 4);
    return {0x1000, sizes.total(), sizes.control_stack, sizes.control_stack, sizes.control_stack};
}

/// @source ROCdbgapi architecture.cpp, gfx90a
TEST(ControlStack, OfGfx90aHasAccVgprsAndEightEngines) {
    std::vector<SavedGroup> groups{group(64, 2, 1024, 3), group(512, 1)};
    groups[0].acc_first = 24;
    groups[1].acc_first = 256;
    Area area = empty_area();
    std::vector<uint32_t> words;
    ASSERT_EQ(lay_out(groups, area, words, Chip::gfx90a), Fault::None);
    ASSERT_EQ(words.size(), 2u + 2 + 3);
    EXPECT_EQ(words[2] & 0x3f, 64u / 8 - 1);
    EXPECT_EQ(words[2] >> 9 & 0xff, 2u) << "LDS";
    EXPECT_EQ(words[2] >> 24 & 0x3f, 24u / 4 - 1);
    EXPECT_EQ(words[3] >> 9 & 7, 3u) << "shader engine";
    std::vector<SavedGroup> parsed;
    ASSERT_EQ(parse(words, area, parsed, Chip::gfx90a), Fault::None);
    ASSERT_EQ(parsed.size(), 2u);
    for (size_t n = 0; n < 2; ++n) {
        EXPECT_EQ(parsed[n].vgprs, groups[n].vgprs);
        EXPECT_EQ(parsed[n].acc_first, groups[n].acc_first);
        EXPECT_EQ(parsed[n].engine, groups[n].engine);
        EXPECT_EQ(parsed[n].waves[0].record, groups[n].waves[0].record);
    }
    words[2] |= 0x3f << 24;
    EXPECT_EQ(parse(words, area, parsed, Chip::gfx90a), Fault::SavedImage) << "AccVGPRs behind the last register";
    EXPECT_EQ(area_sizes(8, 4, Chip::gfx90a).wave_data, 8 * 0x95000u);
}

TEST(ControlStack, ReadsBackWhatItMade) {
    std::vector<SavedGroup> groups{group(4, 1), group(24, 4, 1024, 3), group(24, 16, 512, 1), group(256, 2)};
    Area area = empty_area();
    std::vector<uint32_t> words, parsed_words;
    ASSERT_EQ(lay_out(groups, area, words), Fault::None);
    EXPECT_EQ(area.stack_size - area.stack_offset, words.size() * 4);
    EXPECT_EQ(words.size(), 2u + 4 + 23);
    EXPECT_EQ(groups.back().waves.back().record, area.stack_size);
    EXPECT_EQ(groups[0].waves[0].record + groups[0].record_bytes(true), area.wave_end);
    std::vector<SavedGroup> parsed;
    ASSERT_EQ(parse(words, area, parsed), Fault::None);
    ASSERT_EQ(parsed.size(), groups.size());
    for (size_t n = 0; n < groups.size(); ++n) {
        EXPECT_EQ(parsed[n].vgprs, groups[n].vgprs);
        EXPECT_EQ(parsed[n].sgprs, groups[n].sgprs);
        EXPECT_EQ(parsed[n].lds_bytes, groups[n].lds_bytes);
        EXPECT_EQ(parsed[n].engine, groups[n].engine);
        ASSERT_EQ(parsed[n].waves.size(), groups[n].waves.size());
        for (size_t w = 0; w < groups[n].waves.size(); ++w) {
            EXPECT_EQ(parsed[n].waves[w].record, groups[n].waves[w].record);
            EXPECT_EQ(parsed[n].waves[w].scratch_slot, groups[n].waves[w].scratch_slot);
            EXPECT_EQ(parsed[n].waves[w].scratch_en, groups[n].waves[w].scratch_en);
        }
    }
}

TEST(ControlStack, GroupsThatStayKeepTheirRecords) {
    std::vector<SavedGroup> groups{group(8, 2), group(16, 3, 512), group(32, 1)};
    Area area = empty_area();
    std::vector<uint32_t> words;
    ASSERT_EQ(lay_out(groups, area, words), Fault::None);
    const std::vector<SavedGroup> before = groups;
    groups[0] = group(64, 7, 2048);
    groups.insert(groups.begin(), group(4, 1));
    ASSERT_EQ(lay_out(groups, area, words), Fault::None);
    EXPECT_EQ(groups[2].waves[0].record, before[1].waves[0].record);
    EXPECT_EQ(groups[3].waves[0].record, before[2].waves[0].record);
}

TEST(ControlStack, RefusesWhatDoesNotFit) {
    std::vector<SavedGroup> groups(600, group(4, 2));
    Area area = empty_area();
    const Area before = area;
    std::vector<uint32_t> words;
    EXPECT_EQ(lay_out(groups, area, words), Fault::SaveAreaFull);
    EXPECT_EQ(area.stack_offset, before.stack_offset);
    groups.assign(40, group(256, 1));
    groups.front().lds_bytes = 0x1fe00;
    area.size = area.stack_size + 40 * 0x10000;
    EXPECT_EQ(lay_out(groups, area, words), Fault::SaveAreaFull);
}

TEST(ControlStack, DamageIsRefusedOrHarmless) {
    std::vector<SavedGroup> groups{group(4, 1), group(24, 4, 1024, 3), group(24, 16)};
    Area area = empty_area();
    std::vector<uint32_t> words;
    ASSERT_EQ(lay_out(groups, area, words), Fault::None);
    std::mt19937 random(1);
    unsigned refused = 0;
    for (unsigned n = 0; n < 20'000; ++n) {
        std::vector<uint32_t> damaged = words;
        for (unsigned k = 0; k <= n % 3; ++k) damaged[random() % damaged.size()] ^= 1u << random() % 32;
        if (n % 5 == 0) damaged.resize(random() % damaged.size());
        std::vector<SavedGroup> parsed;
        if (parse(damaged, area, parsed) != Fault::None) {
            ++refused;
            continue;
        }
        uint64_t lowest = area.wave_end;
        for (const SavedGroup& g : parsed) {
            ASSERT_LE(g.waves.size(), kMaxGroupWaves);
            for (const SavedWave& wave : g.waves) {
                ASSERT_LT(wave.record, lowest);
                lowest = wave.record;
            }
        }
        ASSERT_GE(lowest, area.stack_size);
    }
    EXPECT_GT(refused, 5'000u);
}

}  // namespace
}  // namespace lyra::cwsr
