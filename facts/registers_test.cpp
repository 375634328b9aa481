// SPDX-License-Identifier: MIT
#include "facts/registers.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace lyra::regs {
namespace {

TEST(Registers, EveryDwordOfARowIsFoundByIt) {
    for (const Row& row : kRows) {
        EXPECT_EQ(find(row.dw), &row) << row.name;
        EXPECT_EQ(find(row.dw + row.count - 1), &row) << row.name;
    }
    EXPECT_EQ(find(NBIO::PCIE_DATA2 + 1), nullptr);
    EXPECT_EQ(find(~0u), nullptr);
}

TEST(Registers, ANameIsOneRegistersOfItsBlock) {
    std::set<std::string> names;
    for (const Row& row : kRows) EXPECT_TRUE(names.insert(std::string(row.block) + "." + row.name).second) << row.name;
}

TEST(Registers, EveryOwnerHasSome) {
    std::set<Owner> owners;
    for (const Row& row : kRows) {
        EXPECT_LT(static_cast<unsigned>(row.owner), kOwners);
        owners.insert(row.owner);
    }
    EXPECT_EQ(owners.size(), kOwners);
}

// The names began at SBIOS_SCRATCH_3 once, so that each was that of its neighbour.
TEST(Registers, ScratchRegistersOfTheBios) {
    EXPECT_EQ(NBIO::BIOS_SCRATCH + 7, 0x14cu / 4);
    EXPECT_STREQ(find(0x14c / 4)->name, "BIOS_SCRATCH");
    EXPECT_EQ(find(0x14c / 4)->dw, 0x130u / 4);
    EXPECT_STREQ(find(0x12c / 4)->name, "SBIOS_SCRATCH");
}

TEST(Registers, RingsOfBothSdmaEngines) {
    EXPECT_STREQ(find(0x4b80 / 4)->name, "SDMA0_GFX_RB_CNTL");
    EXPECT_STREQ(find(0x6828 / 4)->name, "SDMA1_RLC1_IB_CNTL");
    EXPECT_EQ(SDMA1::F32_CNTL * 4, 0x6228u);
}

}  // namespace
}  // namespace lyra::regs
