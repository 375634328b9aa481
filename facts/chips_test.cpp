// SPDX-License-Identifier: MIT
#include "facts/chips.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "facts/registers.h"

namespace lyra {
namespace {

TEST(Chips, ARowIsFoundByItsNameAndByItsValue) {
    for (const ChipFacts& row : kChips) {
        EXPECT_EQ(find_chip(row.name), &row);
        EXPECT_EQ(&facts_of(row.chip), &row) << row.name;
        EXPECT_EQ(only(row.chip) & kEveryChip, only(row.chip));
    }
    EXPECT_EQ(find_chip("gfx90"), nullptr);
    EXPECT_EQ(find_chip(""), nullptr);
}

TEST(Chips, ElfMachinesAreDistinct) {
    std::set<unsigned> machines;
    for (const ChipFacts& row : kChips) EXPECT_TRUE(machines.insert(row.elf_machine).second) << row.name;
}

TEST(Chips, SizesAreWholeGranules) {
    for (const ChipFacts& row : kChips) {
        EXPECT_EQ(row.vgprs_per_simd % row.vgpr_granule, 0u) << row.name;
        EXPECT_EQ(row.sgprs_per_simd % row.sgpr_granule, 0u) << row.name;
        EXPECT_EQ(row.lds_bytes % row.lds_granule, 0u) << row.name;
    }
}

TEST(IpBlocks, AChipHasEachBlockOnce) {
    std::map<std::string, ChipMask> chips;
    for (const IpBlock& row : kIpBlocks) {
        EXPECT_NE(row.chips, 0) << row.name;
        if (row.instance != 0 && row.name != std::string("SDMA1")) continue;  // of some chips only
        EXPECT_EQ(chips[row.name] & row.chips, 0) << row.name << " twice";
        chips[row.name] |= row.chips;
    }
    for (const auto& [name, mask] : chips) EXPECT_EQ(mask, kEveryChip) << name << " is missing on a chip";
}

// A further instance has a name of its own, and the id of the first.
TEST(IpBlocks, ANameIsOneHardwareId) {
    std::map<std::string, uint16_t> ids;
    std::map<uint16_t, std::string> names;
    for (const IpBlock& row : kIpBlocks) {
        if (row.instance != 0) continue;
        EXPECT_EQ(ids.emplace(row.name, row.hardware_id).first->second, row.hardware_id) << row.name;
        EXPECT_EQ(names.emplace(row.hardware_id, row.name).first->second, row.name) << row.hardware_id;
    }
}

// The constants of the registers are those of all chips.
TEST(IpBlocks, RegistersOfTheSdmaEnginesAreWhereTheTableSays) {
    for (const ChipFacts& chip : kChips) {
        EXPECT_EQ(ip_block(chip.chip, "SDMA0").base[0], regs::kSdmaBase[0]) << chip.name;
        EXPECT_EQ(ip_block(chip.chip, "SDMA1").base[0], regs::kSdmaBase[1]) << chip.name;
    }
}

}  // namespace
}  // namespace lyra
