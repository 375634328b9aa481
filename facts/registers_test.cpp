// SPDX-License-Identifier: MIT
#include "facts/registers.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "facts/register_fields.h"

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

std::string first_field(uint32_t byte) {
    const std::span<const FieldRow> fields = fields_of(*find(byte / 4));
    return fields.empty() ? "" : fields.front().name;
}

TEST(Fields, OfAnArrayOfBothHubsAndOfEveryRing) {
    EXPECT_EQ(first_field(0x0a200), "ENABLE_CONTEXT");
    EXPECT_EQ(first_field(0x0a200 + 4 * 15), "ENABLE_CONTEXT");
    EXPECT_EQ(first_field(0x69b00 + 4 * 8), "ENABLE_CONTEXT");
    for (const Row& row : kRows)
        if (std::string(row.name).ends_with("_RB_CNTL") && row.block[0] == 'S') {
            EXPECT_STREQ(fields_of(row).front().name, "RB_ENABLE") << row.name;
        }
    EXPECT_EQ(first_field(4 * SDMA1::F32_CNTL), "HALT");
    EXPECT_EQ(first_field(4 * GC::CP_HQD_PQ_BASE), "");
}

TEST(Fields, ARegisterLikeAnotherHasItsFields) {
    EXPECT_EQ(fields_of(*find(GC::TCP_WATCH3_CNTL)).data(), fields_of(*find(GC::TCP_WATCH0_CNTL)).data());
    EXPECT_EQ(field::TCP_WATCH3_CNTL::VALID::kMask, 0x80000000u);
}

/// What a field's type says, beside its row. A table, because a function of all comparisons takes minutes to compile.
struct TypeAndRow {
    uint32_t mask, most;
    FieldRow row;
};
constexpr TypeAndRow kTypesAndRows[] = {
#define FIELD(reg, name, low, width) \
    {field::reg::name::kMask, field::reg::name::get(field::reg::name::of(~0u)), {Register::reg, #reg "." #name, low, width}},
#define LIKE(reg, other)
#include "facts/registers/fields.def"
#undef FIELD
#undef LIKE
};

TEST(Fields, ATypeAndARowSayTheSame) {
    for (const TypeAndRow& field : kTypesAndRows) {
        EXPECT_EQ(field.mask, field.row.mask()) << field.row.name;
        EXPECT_EQ(field.most, field.row.get(~0u)) << field.row.name;
    }
}

}  // namespace
}  // namespace lyra::regs
