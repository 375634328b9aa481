// SPDX-License-Identifier: MIT
// The host data path: what the host stores in VRAM, and when the chip sees it.
#include "qemu-hw/soc/hdp.h"

#include <vector>

#include <gtest/gtest.h>

#include "qemu-hw/soc/test_host.h"

namespace lyra {
namespace {

constexpr uint64_t kVram = 32 << 20;
constexpr uint32_t kCoherencyFlush = 0x385c / 4, kFlushReq = 0x3898 / 4, kFlushDone = 0x389c / 4, kRemapped = 0x7f000 / 4;

class HdpTest : public ::testing::Test {
protected:
    HdpTest() : env(host), vram(kVram), registers(env), bus(env, vram.data(), kVram), hdp(env, registers, bus) {}
    TestHost host;
    Env env;
    std::vector<uint8_t> vram;
    RegisterFile registers;
    BusMemory bus;
    Hdp hdp;
};

TEST_F(HdpTest, StoresReachMemoryAtOnceUnlessStrict) {
    hdp.write_vram(0x1000, 0x1122334455667788, 8);
    EXPECT_EQ(vram[0x1000], 0x88);
    EXPECT_EQ(vram[0x1007], 0x11);
    EXPECT_EQ(hdp.read_vram(0x1002, 2), 0x5566u);
}

TEST_F(HdpTest, StrictStoresWaitForEveryKindOfFlush) {
    env.strict.hdp = true;
    uint8_t value = 1;
    for (const uint32_t dw : {kCoherencyFlush, kFlushReq, kRemapped, kRemapped + 1}) {
        hdp.write_vram(0x1ffe, 0x01010101u * value, 4);
        EXPECT_EQ(vram[0x1ffe], value - 1) << "before the flush";
        EXPECT_EQ(hdp.read_vram(0x1ffe, 4), 0x01010101u * value) << "the host sees its own";
        vram[0x1ffd] = 0xee;  // the chip's store beside it
        EXPECT_EQ(hdp.read_vram(0x1ffc, 4), 0x0000ee00u | 0x01010000u * value);
        registers.write(dw, 1);
        EXPECT_EQ(vram[0x1ffe], value);
        EXPECT_EQ(vram[0x2001], value);
        EXPECT_EQ(vram[0x1ffd], 0xee);
        ++value;
    }
    EXPECT_EQ(env.stats.get(Stat::hdp_flushes), 4u);
}

TEST_F(HdpTest, StrictKeepsABoundedAmount) {
    env.strict.hdp = true;
    for (uint64_t page = 0; page < 5000; ++page) hdp.write_vram(page * kPageBytes, 0xab, 1);
    EXPECT_EQ(vram[0], 0xab) << "made room";
    EXPECT_EQ(vram[4999 * kPageBytes], 0);
    hdp.reset();
    hdp.flush();
    EXPECT_EQ(vram[4999 * kPageBytes], 0) << "lost in the reset";
}

TEST_F(HdpTest, StrictStoresLeaveByThemselves) {
    env.strict.hdp = true;
    hdp.age();
    EXPECT_EQ(hdp.leaves_ns(), kNever);
    hdp.write_vram(0x1000, 0xab, 1);
    const uint64_t leaves = hdp.leaves_ns();
    host.now = leaves - 1;
    hdp.write_vram(0x1001, 0xcd, 1);
    hdp.age();
    EXPECT_EQ(vram[0x1000], 0);
    host.now = leaves;
    hdp.age();
    EXPECT_EQ(vram[0x1000], 0xab);
    EXPECT_EQ(vram[0x1001], 0xcd);
    EXPECT_EQ(hdp.leaves_ns(), kNever);
    EXPECT_EQ(env.stats.get(Stat::hdp_flushes), 0u);
}

TEST_F(HdpTest, OutsideOfVramIsNothing) {
    for (const bool strict : {false, true}) {
        env.strict.hdp = strict;
        for (const uint64_t offset : {kVram, kVram - 3, ~uint64_t{0}, ~uint64_t{0} - 7}) {
            hdp.write_vram(offset, 0, 8);
            EXPECT_EQ(hdp.read_vram(offset, 8), ~uint64_t{0});
        }
    }
}

TEST_F(HdpTest, AFlushIsDoneInItsTime) {
    EXPECT_EQ(registers.read(kFlushDone), ~0u);
    env.clock.start(env.timing);
    env.clock.set_ns(5000);
    registers.write(kFlushReq, 1);
    EXPECT_EQ(registers.read(kFlushDone), 0u);
    env.clock.set_ns(5000 + env.timing.hdp_flush_ns);
    EXPECT_EQ(registers.read(kFlushDone), ~0u);
    registers.write(kFlushDone, 0);
    EXPECT_EQ(registers.read(kFlushDone), ~0u) << "not the guest's to change";
}

}  // namespace
}  // namespace lyra
