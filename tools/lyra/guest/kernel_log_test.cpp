// SPDX-License-Identifier: MIT
#include "tools/lyra/guest/kernel_log.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace lyra::cli {
namespace {

constexpr const char* kQuiet = "[    0.5] Linux version 6.12\n[    1.0] kfd kfd: amdgpu: added device 1002:9a00\n";

TEST(KernelSplat, AQuietLogHasNone) {
    EXPECT_EQ(kernel_splat(kQuiet), "");
    EXPECT_EQ(kernel_splat(""), "");
}

TEST(KernelSplat, TakesAWarningToItsEndAndNothingElse) {
    const std::string warning =
        "[    2.0] ------------[ cut here ]------------\n"
        "[    2.0] WARNING: CPU: 0 PID: 7 at drivers/gpu/drm/amd/amdkfd/kfd_process.c:1\n"
        "[    2.0] Call Trace:\n[    2.0]  kfd_open+0x1/0x2\n[    2.0]  </TASK>\n"
        "[    2.0] ---[ end trace 0000000000000000 ]---\n";
    const std::string splat = kernel_splat(kQuiet + warning + "[    3.0] later\n");
    EXPECT_EQ(splat, warning.substr(warning.find("[    2.0] WARNING")));
}

TEST(KernelSplat, EachOfTheTools) {
    for (const char* line : {
             "WARNING: possible circular locking dependency detected",
             "WARNING: suspicious RCU usage",
             "BUG: KASAN: slab-use-after-free in kfd_ioctl+0x1/0x2 [amdgpu]",
             "BUG: KCSAN: data-race in kfd_a / kfd_b",
             "BUG: sleeping function called from invalid context at kernel/locking/mutex.c:585",
             "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
             "UBSAN: array-index-out-of-bounds in drivers/gpu/drm/amd/amdkfd/kfd_crat.c:1",
             "INFO: task kfdtest:77 blocked for more than 241 seconds.",
             "Kernel panic - not syncing: sysrq triggered crash",
             "list_del corruption. prev->next should be 1, but was 2",
         }) {
        EXPECT_EQ(kernel_splat(kQuiet + std::string("[    9.9] ") + line + "\n"), std::string("[    9.9] ") + line + "\n");
    }
}

TEST(KernelSplat, IsBounded) {
    std::string log = "BUG: KASAN: slab-out-of-bounds\nCall Trace:\n";
    for (unsigned n = 0; n < 1000; ++n) log += "line\n";
    const std::string splat = kernel_splat(log);
    EXPECT_EQ(std::count(splat.begin(), splat.end(), '\n'), 100);
}

TEST(KernelLacks, WhatIsNotSaidToBeOn) {
    const std::string on =
        "[    2.2] kasan: KernelAddressSanitizer initialized\n[    3.1] Lock dependency validator: Copyright (c) 2006\n";
    EXPECT_EQ(kernel_lacks({}, kQuiet), "");
    EXPECT_EQ(kernel_lacks({"lockdep", "kasan", "kcov"}, on), "");
    EXPECT_EQ(kernel_lacks({"lockdep", "kcsan"}, on), "kcsan");
    EXPECT_EQ(kernel_lacks({"kcsan"}, "[    2.1] kcsan: enabled early\n"), "");
    EXPECT_EQ(kernel_lacks({"kmemleak"}, on), "kmemleak");
}

TEST(KernelComplaint, IsALineOfTheLog) {
    EXPECT_EQ(kernel_complaint("KFDQMTest.CreateCpQueue", kQuiet), "");
    EXPECT_EQ(kernel_complaint("KFDQMTest.CreateCpQueue", "a\n[1] amdgpu: GPU reset begin!\nb\n"),
              "[1] amdgpu: GPU reset begin!");
    EXPECT_EQ(kernel_complaint("KFDExceptionTest.FaultStorm", "[1] page fault\n"), "");
    EXPECT_EQ(kernel_complaint("KFDQMTest.CreateCpQueue", "[1] page fault\n"), "[1] page fault");
}

}  // namespace
}  // namespace lyra::cli
