// SPDX-License-Identifier: MIT
#include "tools/lyra/guest/kernel_events.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace lyra::cli {
namespace {

constexpr const char* kTrace = R"(# tracer: nop
#
# entries-in-buffer/entries-written: 3/5   #P:1
#
#                                _-----=> irqs-off/BH-disabled
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
        kfd_sched-412     [000] ..... 9123456789: kfd_unmap_queues: gpu_id=0x8b1e filter=4 param=0x1000
        kfd_sched-412     [000] ..... 9123460000: kfd_hws_done: gpu_id=0x8b1e result=-62
   kworker/0:1 H-7        [000] d..2. 9123470000: other: two words state=R next one
)";

TEST(KernelEvents, AreTheLinesOfTheKernelsTrace) {
    const KernelEvents read = read_kernel_events(kTrace);
    EXPECT_EQ(read.lost, 2u);
    ASSERT_EQ(read.events.size(), 3u);
    EXPECT_EQ(read.events[0].time_ns, 9123456789u);
    EXPECT_EQ(read.events[0].task, "kfd_sched-412");
    EXPECT_EQ(read.events[0].name, "kfd_unmap_queues");
    using Fields = std::vector<std::pair<std::string, std::string>>;
    EXPECT_EQ(read.events[0].fields, (Fields{{"gpu_id", "0x8b1e"}, {"filter", "4"}, {"param", "0x1000"}}));
    EXPECT_EQ(read.events[1].fields[1].second, "-62");
    EXPECT_EQ(read.events[2].task, "kworker/0:1 H-7");
    EXPECT_EQ(read.events[2].fields, (Fields{{"text", "two words"}, {"state", "R next one"}}));
}

TEST(KernelEvents, OtherLinesAreRefused) {
    for (const char* text : {"nonsense\n", "a-1 [000] .....: x: y=1\n", "a-1 [000] ..... 12x: e: y=1\n",
                             "a-1 [000] ..... 12: no colon\n", "# entries-in-buffer/entries-written: 5/3   #P:1\n"})
        EXPECT_THROW(read_kernel_events(text), std::runtime_error) << text;
    EXPECT_TRUE(read_kernel_events("").events.empty());
}

TEST(KernelEvents, ASystemStandsForAllOfItsEvents) {
    const std::string script = kernel_events_script({"amdkfd", "sched:sched_switch"}, "./job\nstatus=$?", "/dev/port");
    EXPECT_NE(script.find("enable 'amdkfd:*'"), std::string::npos);
    EXPECT_NE(script.find("enable 'sched:sched_switch'"), std::string::npos);
    EXPECT_NE(script.find("./job\nstatus=$?"), std::string::npos);
}

}  // namespace
}  // namespace lyra::cli
