// SPDX-License-Identifier: MIT
// Numbers of registers: past the end, where a chip has moved them, and of another XCC.
#include "qemu-hw/soc/register_file.h"

#include <gtest/gtest.h>

#include "qemu-hw/soc/test_host.h"

namespace lyra {
namespace {

struct RegisterFileTest : ::testing::Test {
    TestHost host;
    Env env{host};
    RegisterFile moved{env, Chip::gfx942}, second{env, Chip::gfx942};
    RegisterFileTest() { moved.add_xcc(second); }
};

TEST_F(RegisterFileTest, PastTheEndReadsOnesAndIsCounted) {
    RegisterFile plain{env};
    uint64_t counted = 0;
    for (RegisterFile* file : {&plain, &moved}) {
        for (const uint32_t dw : {kRegisterCount, ~0u}) {
            EXPECT_EQ(file->read(dw), ~0u);
            file->write(dw, 1);
            EXPECT_EQ(file->guest_read(dw), ~0u);
            counted += 3;
            EXPECT_EQ(env.stats.get(Fault::RegisterRange), counted) << dw;
        }
    }
}

TEST_F(RegisterFileTest, ARegisterIsWhereItsChipHasIt) {
    moved.write(0x2820, 5);
    EXPECT_EQ(moved.stored(regs::kGfxHub.VM_L2_CNTL), 5u);
    EXPECT_EQ(moved.on_chip(regs::kGfxHub.VM_L2_CNTL), 0x2820u);
    moved.write(0x12820, 6);
    EXPECT_EQ(moved.stored(regs::kGfxHub.VM_L2_CNTL), 5u);
    EXPECT_EQ(second.stored(regs::kGfxHub.VM_L2_CNTL), 6u);
}

// 0x2980 is MC_VM_FB_LOCATION_BASE on gfx900 only.
TEST_F(RegisterFileTest, WhatOtherChipsHaveThereIsNotThere) {
    moved.guest_write(0x2980, 7);
    EXPECT_EQ(moved.guest_read(0x2980), 0u);
    EXPECT_EQ(moved.stored(0x2980), 0u);
    EXPECT_EQ(env.stats.get(Fault::TodoRegister), 1u) << "told of once";
}

}  // namespace
}  // namespace lyra
