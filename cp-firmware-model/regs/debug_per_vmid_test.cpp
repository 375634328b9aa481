// SPDX-License-Identifier: MIT
// gfx90a has a debugger's word for each VMID, and MAP_PROCESS brings it. @source Linux 6.12 amdgpu_amdkfd_aldebaran.c,
// kfd_pm4_headers_aldebaran.h
#include "cp-firmware-model/testing/cp_rig.h"

namespace lyra {
namespace {

using namespace lyra::testing;

constexpr uint32_t kPerVmid = 0xc74c, kWatch0Cntl = 0xca88, kWatchStride = 0xc;
constexpr uint32_t kStall = 1, kHalt = 1 << 1, kTrapEn = 1 << 3, kValid = 1u << 31;

class DebugPerVmid : public ::testing::Test, protected CpBench {
protected:
    DebugPerVmid() : CpBench(GpuShape{4, 2, 32, Chip::gfx90a}, Waves::Fake) {}
    const DebugControls& debug() { return cp.dispatcher().debug(); }
};

TEST_F(DebugPerVmid, TheRegisterHasABankForEach) {
    for (uint32_t vmid = 3; vmid < 16; ++vmid) set_reg(kPerVmid, kTrapEn, {0, 0, 0, static_cast<uint8_t>(vmid)});
    for (uint32_t vmid = 0; vmid < 16; ++vmid) {
        EXPECT_EQ(reg(kPerVmid, {0, 0, 0, static_cast<uint8_t>(vmid)}), vmid < 3 ? 0 : kTrapEn);
        EXPECT_EQ(debug().of_vmid[vmid].exceptions, 0u) << "TRAP_EN is no exception";
    }
    set_reg(kPerVmid, kTrapEn | kHalt | 0x81 << 4 | 1 << 13, {0, 0, 0, 9});
    EXPECT_EQ(debug().of_vmid[9].exceptions, 0x81u);
    EXPECT_TRUE(debug().of_vmid[9].replace_exceptions);
    EXPECT_EQ(debug().of_vmid[9].launch_mode, LaunchMode::Halt);
    EXPECT_EQ(debug().of_vmid[10].launch_mode, LaunchMode::Normal);
    set_reg(kPerVmid, kStall, {0, 0, 0, 12});
    EXPECT_TRUE(debug().stalls(12));
    EXPECT_FALSE(debug().stalls(9));
}

TEST_F(DebugPerVmid, AProcessBringsItsWordAndItsWatches) {
    ProcessBinding binding;
    binding.debug = kHalt;
    binding.watch[1] = kValid | 0xffffff;
    cp.bind_debug(5, binding);
    EXPECT_EQ(debug().of_vmid[5].launch_mode, LaunchMode::Halt);
    EXPECT_TRUE(debug().watch.points[1].valid);
    EXPECT_EQ(debug().watch.points[1].vmid, 5u);
    EXPECT_EQ(reg(kWatch0Cntl + kWatchStride), kValid | 5 << 24 | 0xffffff);
    binding.watch = {kValid, 0, 0, 0};
    binding.debug = 0;
    cp.bind_debug(6, binding);
    EXPECT_TRUE(debug().watch.points[1].valid) << "that of another process";
    EXPECT_EQ(debug().watch.points[0].vmid, 6u);
    cp.bind_debug(5, ProcessBinding{});
    EXPECT_FALSE(debug().watch.points[1].valid);
    EXPECT_TRUE(debug().watch.points[0].valid);
    EXPECT_EQ(debug().of_vmid[5].launch_mode, LaunchMode::Normal);
}

TEST_F(DebugPerVmid, TheLongMapProcessHasThem) {
    start_user();
    Words words = map_process(0x8003, 20);
    words[14] = kHalt;
    words[18] = kValid | 7;
    run_list({words, map_queue(user)});
    settle();
    ASSERT_EQ(bus.bindings.count(8) + bus.bindings.count(9), 2u);
    const ProcessBinding& binding = bus.bindings.at(9);
    EXPECT_EQ(binding.debug, kHalt);
    EXPECT_EQ(binding.watch[3], kValid | 7);
    EXPECT_EQ(bus.bindings.at(8).debug, 0u) << "the short one has none";
}

}  // namespace
}  // namespace lyra
