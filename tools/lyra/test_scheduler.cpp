// SPDX-License-Identifier: MIT
#include "tools/lyra/test_scheduler.h"

#include "tools/lyra/guest_checks.h"

namespace lyra::cli {

namespace {

/// A client of low priority fills the compute units with kernels of 20 ms; one of high priority has a short one now and then. Both
/// see that each wave did all of its work once; the driver has to have parked somebody, nobody may be parked at the end.
std::string experiment(const std::string& policy, const std::string& settings) {
    return "cd /job; dir=$(echo /sys/class/drm/card*/device/kfd_sched); chmod +x client; rm -f ready* start stop\n"
           "mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null\n"
           "value() { sed -n \"s/^$1 //p\" /sys/kernel/debug/kfd/sched; }\n"
           "until_there() { n=0; while ! [ -e $1 ] && [ $n -lt 3000 ]; do sleep 0.02; n=$((n+1)); done; }\n"
           "before=$(value parked)\n" + settings + "\n" +
           "./client name=effort priority=low kernel_us=20000 groups=16 waves=8 ready=ready.1 >out.1 2>&1 & effort=$!\n"
           "until_there ready.1\n"
           "./client name=critical priority=high kernel_us=10 whole_lds=1 samples=20 arrival=uniform rate_hz=20 ready=ready.2 >out.2 2>&1 & critical=$!\n"
           "until_there ready.2\n"
           "echo " + policy + " >$dir/policy; touch start\n"
           "wait $critical; a=$?; wait $effort; b=$?; cat out.1 out.2\n"
           "echo none >$dir/policy; sleep 0.2\n"
           "echo \"exits $a $b parked $(($(value parked) - before)) away $(($(value parked) - $(value returned))) failures $(value failures)\"\n"
           "[ $a = 0 ] && [ $b = 0 ] && [ $(value parked) -gt $before ] && [ $(value failures) = 0 ] && [ $(value parked) = $(value returned) ] && echo PASSED";
}

}  // namespace

void test_scheduler(const GuestOptions& options, Report& report) {
    WorkDir work;
    GuestJob job;
    compile_for_guest(job, work, "tools/measure/client.hip", "client", {"-O2"});
    const std::string dir = "dir=$(echo /sys/class/drm/card*/device/kfd_sched); ";
    const std::string off = dir + "cat $dir/policy";
    const std::string refused = dir + "echo bogus >$dir/policy";
    const std::string out_of_range = dir + "echo 0 >$dir/period_us";
    const std::string read_back = dir + "echo 250 >$dir/period_us; echo poll >$dir/detection; cat $dir/period_us $dir/detection; echo 100 >$dir/period_us";
    std::vector<std::string> scripts;
    std::vector<std::string> names;
    const auto add = [&](const std::string& name, const std::string& script) {
        names.push_back(name);
        scripts.push_back(script);
    };
    for (const char* policy : {"fixed", "ageing", "edf", "share", "quantum"}) {
        add(fmt::format("policy {}: the high priority displaces the low one, no work is lost", policy),
            experiment(policy, "echo adaptive >$dir/detection; echo all >$dir/unmap; echo 100 >$dir/deadline_us"));
    }
    add("only the queues that have to go are unmapped", experiment("fixed", "echo adaptive >$dir/detection; echo queue >$dir/unmap"));
    add("the device notifies of doorbells", experiment("fixed", "echo notify >$dir/detection; echo queue >$dir/unmap"));
    add("polling at a fixed period", experiment("fixed", "echo poll >$dir/detection; echo 2000 >$dir/period_us; echo queue >$dir/unmap"));
    const std::string killed =
        dir + "cd /job; rm -f ready* start stop; echo queue >$dir/unmap; echo adaptive >$dir/detection; echo fixed >$dir/policy\n"
              "touch start; ./client priority=low kernel_us=20000 groups=16 waves=8 ready=ready.1 & low=$!\n"
              "./client priority=high kernel_us=50000 groups=16 waves=8 ready=ready.2 & high=$!\n"
              "n=0; while ! [ -e ready.2 -a -e ready.1 ] && [ $n -lt 3000 ]; do sleep 0.02; n=$((n+1)); done; sleep 1\n"
              "kill -9 $low; sleep 0.5; kill -9 $high; wait; sleep 0.5; echo none >$dir/policy; rm -f stop\n"
              "./client name=after samples=3 && dmesg | grep -ci 'kernel bug\\|call trace\\|refcount\\|use-after-free'";
    const std::string reload = "rmmod amdgpu && modprobe amdgpu && " + dir + "cat $dir/policy && ls /dev/kfd";
    std::vector<GuestCheck> checks{
        {"the scheduler is off at first", off.c_str(), 0, {"[none]"}, {}},
        {"an unknown policy is refused", refused.c_str(), 1, {}, {}},
        {"a period out of range is refused", out_of_range.c_str(), 1, {}, {}},
        {"settings are read back", read_back.c_str(), 0, {"250", "[poll]"}, {}},
    };
    // Two starts of ROCm in each.
    constexpr unsigned kLong = 400;
    for (size_t n = 0; n < names.size(); ++n) checks.push_back({names[n].c_str(), scripts[n].c_str(), 0, {"PASSED"}, {}, kLong});
    checks.push_back({"processes that are killed while parked leave nothing behind", killed.c_str(), 1, {"\"lost_work\":0", "0"}, {}, kLong});
    checks.push_back({"the driver can be unloaded and loaded again", reload.c_str(), 0, {"[none]", "/dev/kfd"}, {}});
    GuestOptions guest = options;
    guest.kfd = "lyra";
    guest.stock_driver = false;
    run_checks(guest, "scheduler", "boots and loads the patched driver", checks, job, report);
}

}  // namespace lyra::cli
