// SPDX-License-Identifier: MIT
#include "tools/lyra/test/scheduler.h"

#include <algorithm>
#include <fstream>

#include "common/fault.h"
#include "common/trace_text.h"
#include "cp-firmware-model/packets/pm4.h"
#include "tools/lyra/cli/work_dir.h"
#include "tools/lyra/guest/checks.h"
#include "tools/lyra/guest/hip_program.h"
#include "tools/lyra/guest/slot_trace.h"
#include "tools/lyra/guest/table.h"

namespace lyra::cli {

namespace {

constexpr unsigned kLong = 400;  ///< seconds for a check: most start ROCm twice
constexpr unsigned kSamples = 20, kWarmUp = 2;  ///< kernels of the critical client; the latter before the scheduler is on

/// Work-groups of a client's kernels, and of the one kernel of a queue of high priority in the process of the client of low
/// priority: the trace tells queues by them, so no other experiment has so many. And the priority of the critical client.
struct Clients {
    unsigned critical = 1, effort = 16, idle = 0;
    const char* priority = "high";
};

/// How queues are unmapped, and which queues beside the one of low priority lose their slots when that one has to go.
struct Way {
    const char* unmap;
    Clients clients;
    bool idle_goes, critical_goes;
    unsigned statics;  ///< queues of the experiment that are static
};
constexpr Way kWays[] = {
    {"all", {2, 17, 21}, true, true, 0},
    {"queue", {3, 18, 22}, false, false, 0},
    // HIP gives each process a queue of normal priority. With the others' critical client it would have to go, too, and take
    // that one with it.
    {"process", {4, 19, 23, "normal"}, true, false, 0},
    {"static", {5, 20, 24}, false, false, 2},
};

/// Shell functions: a counter of the scheduler, waiting for a file, user queues that have a slot, static queues.
const std::string kFunctions =
    "cd /job; dir=$(echo /sys/class/drm/card*/device/kfd_sched); chmod +x client; rm -f ready* start stop\n"
    "mount -t debugfs none /sys/kernel/debug 2>/dev/null\n"  // "debugfs" is a program in this folder
    "value() { sed -n \"s/^$1 //p\" /sys/kernel/debug/kfd/sched; }\n"
    "until_there() { n=0; while ! [ -e $1 ] && [ $n -lt 3000 ]; do sleep 0.02; n=$((n+1)); done; }\n"
    // CP_MQD_BASE_ADDR, _HI, CP_HQD_ACTIVE, CP_HQD_VMID are the first registers of a slot.
    "mapped() { awk '/CP Pipe/ { getline; n += $4 == \"00000001\" && $5 != \"00000000\" } END { print n + 0 }' "
    "/sys/kernel/debug/kfd/hqds; }\n"
    "until_none_mapped() { n=0; while [ $(mapped) != 0 ] && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done; }\n"
    "statics() { awk 'NF == 9 && $9 == 1 { n++ } END { print n + 0 }' /sys/kernel/debug/kfd/sched; }\n";

/// A client of low priority fills the compute units with kernels of 20 ms; one of high priority has a short one now and then.
/// Both see that each wave did all of its work once; the driver has to have parked somebody, nobody may be parked at the end.
/// Queues of processes that are gone have no slot, though the scheduler is still on.
std::string experiment(const std::string& policy, const std::string& settings, const Clients& clients = {},
                       const std::string& meanwhile = "") {
    return kFunctions + "before=$(value parked)\n" + settings + "\n" +
           fmt::format(
               "./client name=effort priority=low kernel_us=20000 groups={} idle_groups={} waves=8 ready=ready.1 >out.1 2>&1 & "
               "effort=$!\n",
               clients.effort, clients.idle) +
           "until_there ready.1\n" +
           fmt::format(
               "./client name=critical priority={} kernel_us=10 whole_lds=1 warm_up={} samples={} groups={} arrival=uniform "
               "rate_hz=20 "
               "ready=ready.2 >out.2 2>&1 & critical=$!\n",
               clients.priority, kWarmUp, kSamples, clients.critical) +
           "until_there ready.2\n"
           "echo " +
           policy + " >$dir/policy; sleep 0.2; echo \"mapped $(mapped) static $(statics)\"; touch start\n" + meanwhile +
           "wait $critical; a=$?; wait $effort; b=$?; cat out.1 out.2\n"
           "until_none_mapped; left=$(mapped); echo none >$dir/policy; sleep 0.2\n"
           "echo \"exits $a $b parked $(($(value parked) - before)) away $(($(value parked) - $(value returned))) failures "
           "$(value failures) left $left\"\n"
           "[ $a = 0 ] && [ $b = 0 ] && [ $(value parked) -gt $before ] && [ $(value failures) = 0 ] && [ $(value parked) = "
           "$(value returned) ] &&\n"
           "[ $left = 0 ] && echo PASSED";
}

/// Both processes are killed, the first one while its queue is parked; afterwards the GPU works and has no queue of theirs.
std::string killed(const std::string& unmap) {
    return kFunctions + "echo " + unmap +
           " >$dir/unmap; echo adaptive >$dir/detection; echo fixed >$dir/policy\n"
           "touch start; ./client priority=low kernel_us=20000 groups=16 waves=8 ready=ready.1 & low=$!\n"
           "./client priority=high kernel_us=50000 groups=16 waves=8 ready=ready.2 & high=$!\n"
           "until_there ready.1; until_there ready.2; sleep 1\n"
           "echo \"static $(statics)\"; kill -9 $low; sleep 0.5; kill -9 $high; wait; sleep 0.5\n"
           "until_none_mapped; echo \"left $(mapped)\"; echo none >$dir/policy; rm -f stop\n"
           "./client name=after samples=3 && dmesg | grep -ci 'kernel bug\\|call trace\\|refcount\\|use-after-free\\|page "
           "fault'";
}

/// The priority that the scheduler takes the queue of a client of high priority for: of a user who may ask for it, of one who
/// may not, and of that one where the limit is higher. Each process has queues of normal priority (7) besides.
std::string unprivileged() {
    return kFunctions +
           "chmod 777 .; chmod 666 /dev/kfd /dev/dri/*; echo fixed >$dir/policy; touch start\n"
           "nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'\n"
           "highest() { rm -f ready stop; $1 ./client priority=high kernel_us=1000 groups=1 ready=ready & until_there ready; "
           "sleep 0.2\n"
           "awk 'NF == 9 && $3 + 0 > most { most = $3 } END { print \"highest\", most }' /sys/kernel/debug/kfd/sched; kill -9 "
           "$!; wait; until_none_mapped; }\n"
           "highest; highest \"$nobody\"; echo 9 >$dir/unprivileged_priority; highest \"$nobody\"\n"
           "echo 7 >$dir/unprivileged_priority; echo none >$dir/policy; rm -f stop";
}

/// What the device has seen of the experiment with this way.
void check_slots(const SlotTrace& trace, const Way& way, Report& report) {
    // From the second kernel with the scheduler on: its queues may be mapped anew at first.
    const auto lost = [&](unsigned who) { return trace.unmapped(who, way.clients.critical, kWarmUp + 1, way.clients.effort); };
    const long effort = lost(way.clients.effort), idle = lost(way.clients.idle), critical = lost(way.clients.critical);
    const bool right = effort > 0 && (way.idle_goes ? 2 * idle > effort : idle == 0) &&
                       (way.critical_goes ? 2 * critical > effort : critical == 0);
    report.add("scheduler",
               fmt::format("unmap {}: {} lose their slots with the one that has to go", way.unmap,
                           way.critical_goes ? "all queues"
                           : way.idle_goes   ? "queues of its process only"
                                             : "no other queues"),
               right ? Verdict::Passed : Verdict::Failed,
               fmt::format("times that queues lost their slots: low priority {}, another one of its process {}, critical {}\n",
                           effort, idle, critical));
}

/// Registers do not answer while the GPU is reset, as it is by some checks: whoever reads one then acts on what is not its
/// value.
void check_resets(const std::filesystem::path& trace, Report& report) {
    unsigned touched = 0;
    std::ifstream file(trace);
    read_text_trace(file, [&](const TraceRecord& e) {
        touched += e.id == EventId::fault && e.args[0] == static_cast<uint64_t>(Fault::AccessDuringReset);
    });
    report.add("scheduler", "nobody touches registers while the GPU is reset and nobody debugs",
               touched == 0 ? Verdict::Passed : Verdict::Failed, fmt::format("{} accesses\n", touched));
}

}  // namespace

void test_scheduler(const GuestOptions& options, Report& report) {
    WorkDir work;
    GuestJob job;
    compile_for_guest(job, work, "tools/measure/client.hip", "client", {"-O2"}, options);
    add_driver_programs(job);
    const std::string dir = "dir=$(echo /sys/class/drm/card*/device/kfd_sched); ";
    const std::string off = dir + "cat $dir/policy";
    const std::string refused = dir + "echo bogus >$dir/policy";
    const std::string out_of_range = dir + "echo 0 >$dir/period_us";
    const std::string no_priority = dir + "echo 16 >$dir/static_priority";
    const std::string read_back =
        dir +
        "echo 250 >$dir/period_us; echo poll >$dir/detection; echo static >$dir/unmap; echo 15 >$dir/static_priority\n"
        "cat $dir/period_us $dir/detection $dir/unmap $dir/static_priority; echo 100 >$dir/period_us; echo 11 "
        ">$dir/static_priority";
    std::vector<std::string> scripts;
    std::vector<std::string> names;
    std::vector<std::string> statics;
    const auto add = [&](const std::string& name, const std::string& script, unsigned static_queues = 0) {
        names.push_back(name);
        scripts.push_back(script);
        statics.push_back(fmt::format("static {}\n", static_queues));
    };
    for (const char* policy : {"fixed", "ageing", "edf", "share", "quantum"}) {
        add(fmt::format("policy {}: the high priority displaces the low one, no work is lost", policy),
            experiment(policy, "echo adaptive >$dir/detection; echo all >$dir/unmap; echo 100 >$dir/deadline_us"));
    }
    for (const Way& way : kWays) {
        add(fmt::format("unmap {}: no work is lost", way.unmap),
            experiment("fixed",
                       fmt::format("echo adaptive >$dir/detection; echo 2000 >$dir/period_us; echo {} >$dir/unmap", way.unmap),
                       way.clients),
            way.statics);
    }
    add("the way of unmapping changes while queues are mapped",
        experiment("fixed", "echo adaptive >$dir/detection; echo static >$dir/unmap", {},
                   "for n in $(seq 100); do [ -e stop ] && break; for way in all static queue process static; do echo $way "
                   ">$dir/unmap; sleep 0.06; done; done\n"),
        1);
    add("the device notifies of doorbells", experiment("fixed", "echo notify >$dir/detection; echo queue >$dir/unmap"));
    add("polling at a fixed period",
        experiment("fixed", "echo poll >$dir/detection; echo 2000 >$dir/period_us; echo queue >$dir/unmap"));
    std::vector<GuestCheck> checks{
        {"the scheduler is off at first", off.c_str(), 0, {"[none]"}, {}},
        {"an unknown policy is refused", refused.c_str(), 1, {}, {}},
        {"a period out of range is refused", out_of_range.c_str(), 1, {}, {}},
        {"a priority out of range is refused", no_priority.c_str(), 1, {}, {}},
        {"settings are read back", read_back.c_str(), 0, {"250", "[poll]", "[static]", "15"}, {}},
    };
    for (size_t n = 0; n < names.size(); ++n)
        checks.push_back({names[n].c_str(), scripts[n].c_str(), 0, {"PASSED", statics[n].c_str()}, {}, kLong});
    const std::string killed_queue = killed("queue"), killed_process = killed("process"), killed_static = killed("static");
    checks.push_back({"unmap queue: processes that are killed while parked leave nothing behind",
                      killed_queue.c_str(),
                      1,
                      {"static 0", "left 0", "\"lost_work\":0", "\n0\n"},
                      {},
                      kLong});
    checks.push_back({"unmap process: processes that are killed while parked leave nothing behind",
                      killed_process.c_str(),
                      1,
                      {"static 0", "left 0", "\"lost_work\":0", "\n0\n"},
                      {},
                      kLong});
    checks.push_back({"unmap static: processes that are killed while parked, and while static, leave nothing behind",
                      killed_static.c_str(),
                      1,
                      {"static 1", "left 0", "\"lost_work\":0", "\n0\n"},
                      {},
                      kLong});
    const std::string disabled =
        kFunctions +
        "chmod +x disabled; before=$(value parked); echo adaptive >$dir/detection; echo 2000 >$dir/period_us\n"
        "echo fixed >$dir/policy; ./disabled; echo none >$dir/policy; echo \"parked $(($(value parked) - before))\"";
    checks.push_back({"a queue that was disabled and enabled again works, and was not parked",
                      disabled.c_str(),
                      0,
                      {"disabled: PASSED", "parked 0\n"},
                      {},
                      kLong});
    const std::string hung =
        kFunctions +
        "chmod +x hung_queue; echo adaptive >$dir/detection; echo 2000 >$dir/period_us; echo fixed >$dir/policy\n"
        "for way in queue all; do echo $way >$dir/unmap; ./hung_queue parked || exit 1; done; echo none >$dir/policy";
    checks.push_back({"a queue that hangs when it is to be parked is reset, and does not come back",
                      hung.c_str(),
                      0,
                      {"hung_queue: PASSED\ntold of a reset", "hung_queue: PASSED\n"},
                      {},
                      kLong});
    // Which policy shows it: only some keep idle queues parked. Without turns against starvation, which would move those that
    // have to stand still.
    const std::pair<const char*, const char*> displaced[] = {
        {"suspended", "fixed"}, {"unreadable", "share"}, {"userfault", "share"}, {"crowd", "fixed"}};
    std::vector<std::string> odd_scripts;
    for (const auto& [mode, policy] : displaced) {
        odd_scripts.push_back(kFunctions + fmt::format("chmod +x displaced; echo adaptive >$dir/detection; echo 2000 "
                                                       ">$dir/period_us; echo all >$dir/unmap; echo 0 >$dir/starvation_us\n"
                                                       "echo {} >$dir/policy; ./displaced {}; echo none >$dir/policy\n"
                                                       "echo 50000 >$dir/starvation_us",
                                                       policy, mode));
    }
    checks.push_back({"a queue that a debugger has suspended keeps nobody from the GPU",
                      odd_scripts[0].c_str(),
                      0,
                      {"displaced suspended: PASSED"},
                      {},
                      kLong});
    checks.push_back({"a queue whose process has unmapped its pointers is parked like others",
                      odd_scripts[1].c_str(),
                      0,
                      {"displaced unreadable: PASSED"},
                      {},
                      kLong});
    checks.push_back({"a process that answers no page fault does not keep the scheduler",
                      odd_scripts[2].c_str(),
                      0,
                      {"displaced userfault: PASSED"},
                      {},
                      kLong});
    checks.push_back({"more queues than a process's share are parked, too",
                      odd_scripts[3].c_str(),
                      0,
                      {"untracked 8\n", "displaced crowd: PASSED"},
                      {},
                      kLong});
    // A turn against starvation would let the low queue run, too; there is none within two minutes. Without turns an unknown
    // owner has none either.
    const std::string awaited =
        kFunctions +
        "chmod +x awaited; echo adaptive >$dir/detection; echo 2000 >$dir/period_us; echo queue >$dir/unmap\n"
        "echo 120000000 >$dir/starvation_us; echo fixed >$dir/policy\n"
        "echo 0 >$dir/turn_us; ./awaited known || exit 1; echo 2000000 >$dir/turn_us; ./awaited unknown || exit 1\n"
        "echo none >$dir/policy; echo 50000 >$dir/starvation_us; echo 2000 >$dir/turn_us";
    checks.push_back({"a queue of low priority that a high one waits for runs, whether its owner is known or not",
                      awaited.c_str(),
                      0,
                      {"awaited known: PASSED", "awaited unknown: PASSED"},
                      {},
                      kLong});
    const std::string races =
        kFunctions +
        "chmod +x races; ./races 30 1 settings kill debug evict || exit 1\n"
        "./races 30 2 settings kill reset evict || exit 1\n"
        "echo none >$dir/policy; echo all >$dir/unmap; echo adaptive >$dir/detection; "
        "echo 50000 >$dir/starvation_us; echo 1 >$dir/inherit; until_none_mapped; echo \"left $(mapped)\"";
    checks.push_back({"queues, settings, kills, debuggers, evictions and resets against each other",
                      races.c_str(),
                      0,
                      {"races: PASSED", "left 0\n"},
                      {},
                      kLong});
    const std::string limited = unprivileged();
    checks.push_back({"a user without CAP_SYS_NICE gets no high priority",
                      limited.c_str(),
                      0,
                      {"highest 15\n", "highest 7\n", "highest 9\n"},
                      {},
                      kLong});
    const std::string reload = "for way in process static; do " + dir +
                               "echo $way >$dir/unmap; echo fixed >$dir/policy\n"
                               "rmmod amdgpu && modprobe amdgpu || exit 1; done; " +
                               dir + "cat $dir/policy $dir/unmap && ls /dev/kfd";
    checks.push_back({"the driver can be unloaded and loaded again", reload.c_str(), 0, {"[none]", "[all]", "/dev/kfd"}, {}});
    const std::string waits =
        kFunctions +
        "cd /sys/kernel/debug/dri; regs=$(echo */amdgpu_regs | cut -d' ' -f1)\n"
        // CP_IQ_WAIT_TIME2: QUE_SLEEP 7:0, SCH_WAVE 15:8
        "waits() { dd if=$regs bs=4 count=1 skip=$((0xc2c0 / 4)) 2>/dev/null | od -A n -t x4 | tr -d ' '; }\n"
        "echo 7 >$dir/grace_period; echo 9 >$dir/dequeue_retry; echo before $(waits); cat ${regs%/*}/amdgpu_gpu_recover; echo "
        "after $(waits)\n"
        "cd /job; echo fixed >$dir/policy; touch start; ./client name=after samples=3";
    checks.push_back({"the CP's waits outlast a reset of the GPU",
                      waits.c_str(),
                      0,
                      {"before 40400709", "after 40400709", "\"lost_work\":0"},
                      {},
                      kLong});
    GuestOptions guest = options;
    // A tree of the user's own has to have the patches.
    if (guest.kernel_tree.empty()) guest.kfd = "lyra";
    guest.stock_driver = false;
    guest.trace = (work.path() / "trace.tsv").string();
    run_checks(guest, "scheduler", "boots and loads the patched driver", checks, job, report);
    std::ifstream file(guest.trace);
    const SlotTrace trace(file);
    for (const Way& way : kWays) check_slots(trace, way, report);
    check_resets(guest.trace, report);
}

// In a guest of their own, because the driver writes registers of the debugger during a reset, which is not the scheduler's.
// The driver without the patches does not survive the first two, and fails in the others.
void test_bad_times(const GuestOptions& options, Report& report) {
    const std::array<std::pair<const char*, const char*>, 4> meanwhile = {
        {{"enter", "debugging begins during a reset of the GPU"},
         {"leave", "debugging ends during a reset of the GPU"},
         {"resume", "a queue that is to be destroyed is resumed during a reset of the GPU"},
         {"evict", "VRAM can be evicted after it was evicted during a reset of the GPU"}}};
    std::vector<std::string> reset_scripts;
    reset_scripts.reserve(meanwhile.size());
    for (const auto& [mode, name] : meanwhile)
        reset_scripts.push_back(fmt::format("chmod +x during_reset; ./during_reset {}", mode));
    std::vector<GuestCheck> during_reset;
    during_reset.reserve(meanwhile.size() + 2);
    for (size_t n = 0; n < meanwhile.size(); ++n)
        during_reset.push_back({meanwhile[n].second, reset_scripts[n].c_str(), 0, {": PASSED"}, {}, kLong});
    during_reset.push_back({"processes that are killed while VRAM is evicted are gone soon after",
                            "chmod +x during_evict; ./during_evict 80",
                            0,
                            {": PASSED"},
                            {},
                            kLong});
    during_reset.push_back({"debuggers leave while their program makes queues",
                            "chmod +x debug_events; ./debug_events 20",
                            0,
                            {": PASSED"},
                            {},
                            kLong});
    GuestOptions guest = options;
    if (guest.kernel_tree.empty()) guest.kfd = "lyra";
    guest.stock_driver = false;
    GuestJob job;
    add_driver_programs(job);
    run_checks(guest, "scheduler", "runs for debuggers and evictions that come at a bad time", during_reset, job, report);
}

namespace {

/// Each answer of the hardware scheduler that the driver saw comes after what it asked for, and a packet of the device is
/// between them.
std::string compare_clocks(const std::vector<KernelEvent>& driver, const std::filesystem::path& device) {
    std::vector<uint64_t> unmaps;
    std::ifstream file(device);
    read_text_trace(file, [&](const TraceRecord& e) {
        if (e.id == EventId::packet && e.args[1] == 0 && e.args[2] == static_cast<uint64_t>(pm4::Opcode::UNMAP_QUEUES))
            unmaps.push_back(e.time_ns);
    });
    uint64_t asked = 0, answers = 0;
    for (const KernelEvent& event : driver) {
        if (event.name == "kfd_unmap_queues" && asked == 0) asked = event.time_ns;
        if (event.name != "kfd_hws_done") continue;
        const auto between = [&](uint64_t ns) { return asked < ns && ns < event.time_ns; };
        if (asked == 0 || std::none_of(unmaps.begin(), unmaps.end(), between))
            return fmt::format("the device has no UNMAP_QUEUES between {} and {} ns", asked, event.time_ns);
        asked = 0;
        ++answers;
    }
    return answers == 0 ? fmt::format("no kfd_hws_done in {} events of the driver", driver.size()) : "";
}

}  // namespace

void test_kernel_events(const GuestOptions& options, Report& report) {
    WorkDir work;
    GuestOptions guest = options;
    guest.deterministic = true;
    guest.smp = 1;  // virtual time has one processor
    if (guest.kernel_tree.empty()) guest.kfd = "lyra";
    guest.trace = (work.path() / "trace.tsv").string();
    guest.kernel_events = {"amdkfd"};
    if (guest.timeout_s == 0) guest.timeout_s = 900;
    compile_hip(source_dir() / "examples/vector_add.hip", work.path() / "program", {}, guest);
    GuestJob job;
    job.files.emplace_back("program", work.path() / "program");
    job.run = "#!/bin/sh\nchmod +x program\nexec ./program\n";
    GuestMachine machine(guest);
    machine.prepare();
    std::string out;
    const auto keep = [&](const char* data, size_t bytes) { out.append(data, bytes); };
    const GuestResult result = machine.run(job, keep, keep);
    if (result.end == GuestResult::End::Interrupted) throw Interrupted();
    std::string why;
    if (result.end != GuestResult::End::Finished || result.status != 0 || !result.errors.empty())
        why = fmt::format("boot log: {}\n{}\n{}", result.log.string(), out, fmt::join(result.errors, "\n"));
    else
        why = compare_clocks(result.kernel_events, guest.trace);
    report.add("scheduler", "the driver's trace events are in the device's clock",
               why.empty() ? Verdict::Passed : Verdict::Failed, why);
}

void test_firmware_probe(const GuestOptions& options, Report& report) {
    WorkDir work;
    GuestOptions guest = options;
    guest.deterministic = true;  // the host would make gaps of its own
    guest.smp = 1;
    if (guest.kernel_tree.empty()) guest.kfd = "lyra";
    guest.stock_driver = false;
    guest.snapshot = false;  // no other guest would go on from it
    GuestJob job;
    add_timing_program(job);
    // One setting differs from what the driver begins with, so that setting back is more than setting the defaults.
    const std::string settings = kFunctions +
                                 "chmod +x preempt_timing; echo process >$dir/unmap\n"
                                 "now() { cat $dir/policy $dir/unmap $dir/starvation_us; }\n";
    const std::string probed = settings + "./preempt_timing --quick && now";
    const std::string ended = settings +
                              "./preempt_timing --quick & probe=$!; n=0\n"
                              "until grep -q '\\[queue\\]' $dir/unmap || [ $n = 3000 ]; do sleep 0.02; n=$((n+1)); done\n"
                              "kill $probe; wait $probe; status=$?; now; exit $status";
    const std::vector<const char*> before = {"[none]", "[process]", "\n50000\n"};
    std::vector<const char*> seen = before;
    for (const char* text : {"\"selective_unmap\",\"probed\":true", "\"samples\":20,\"stopped\":20,\"gaps\":0",
                             "\"consistent_with\":[\"keep\",\"stop\"]", "\"runlist_over_live\",\"probed\":true",
                             "\"consistent_with\":[\"keep\"]", "\"gaps_at_0\":20,\"gaps_at_100\":20,\"gaps_without_call\":0"})
        seen.push_back(text);
    const std::vector<GuestCheck> checks = {
        {"preempt_timing sees that the firmware keeps the other queue", probed.c_str(), 0, seen, {}, 600},
        {"preempt_timing sets back the scheduler when a signal ends it", ended.c_str(), 143, before, {}, 600},
    };
    run_checks(guest, "scheduler", "boots the patched driver in virtual time", checks, job, report);
}

void test_kunit(Report& report) {
    const std::filesystem::path linux_of_tests = build_artefact("tools/guest/build_kunit.sh", {}) / "linux";
    const Captured result = capture({linux_of_tests.string(), "kunit.enable=1", "mem=256M", "kunit_shutdown=halt"}, true);
    if (interrupted) throw Interrupted();
    const std::pair<const char*, unsigned> suites[] = {{"kfd_sched", 17}, {"kfd_sched_aql", 15}};
    for (unsigned n = 0; n < std::size(suites); ++n) {
        const auto& [suite, tests] = suites[n];
        const std::string end = fmt::format("# Totals: pass:{0} fail:0 skip:0 total:{0}\nok {1} {2}\n", tests, n + 1, suite);
        const bool good = result.out.find(end) != std::string::npos;
        report.add("scheduler", fmt::format("KUnit: {}", suite), good ? Verdict::Passed : Verdict::Failed,
                   good ? "" : result.out + result.err);
    }
}

void test_facts(Report& report) {
    const Captured result = capture({(source_dir() / "tools/checks/facts.sh").string(), "--cache", cache_dir().string()}, true);
    if (interrupted) throw Interrupted();
    report.add("scheduler", "registers, fields of packets and MQDs are where the driver's headers have them",
               result.status == 0 ? Verdict::Passed : Verdict::Failed, result.out + result.err);
}

void test_measure(const GuestOptions& options, Report& report) {
    WorkDir work;
    const std::string pauses = (work.path() / "pauses.so").string();
    const Captured compiled = capture(
        {"cc", "-O2", "-shared", "-fPIC", "-o", pauses, (source_dir() / "tools/lyra/test/testdata/pauses.c").string()}, true);
    const auto measured = [&](std::vector<std::string> more, const std::string& preload = "") {
        std::vector<std::string> argv{own_program().string(),
                                      "measure",
                                      (source_dir() / "examples/measure/session.toml").string(),
                                      "--samples",
                                      "5",
                                      "--json",
                                      "--kernel",
                                      options.kernel};
        argv.insert(argv.end(), more.begin(), more.end());
        if (!preload.empty()) argv.insert(argv.begin(), {"env", "LD_PRELOAD=" + preload});
        Captured result = capture(argv, true);
        if (interrupted) throw Interrupted();
        return result;
    };
    const auto hash_of = [](const Captured& run) {
        const auto row = nlohmann::json::parse(run.out, nullptr, false);
        return row.is_object() ? row.value("trace_hash", "") : std::string();
    };
    const std::string recording = (work.path() / "recording").string();
    const Captured two = measured({"--seeds", "2"}), again = measured({"--seeds", "2", "--parallel", "1"}),
                   first = measured({"--seed", "1"}), second = measured({"--seed", "2", "--record", recording}),
                   paused = measured({"--seed", "2"}, pauses),
                   replayed = capture({own_program().string(), "replay", "--check", recording}, true);
    std::string all = compiled.err;
    for (const Captured& run : {two, again, first, second, paused, replayed}) all += run.out + run.err;
    const auto check = [&](const char* name, bool good) {
        report.add("scheduler", name, good ? Verdict::Passed : Verdict::Failed, good ? "" : all);
    };
    check("lyra measure: the same seeds give the same results, one at a time or several",
          two.status == 0 && two.out == again.out && two.out.find("\"lost_work\":0,") != std::string::npos &&
              two.out.find("\"samples\":10,") != std::string::npos);
    // A row has the hash of its guest, or one of the hashes of several that differ.
    check("lyra measure: each seed has a guest of its own", !hash_of(first).empty() && hash_of(first) != hash_of(second) &&
                                                                hash_of(two) != hash_of(first) &&
                                                                hash_of(two) != hash_of(second));
    // Without qemu-hw/patches/0003-idle-before-accounting.patch six of six such runs had hashes of their own.
    check("lyra measure: pauses of QEMU's processor thread change nothing",
          compiled.status == 0 && paused.status == 0 && !hash_of(paused).empty() && paused.out == second.out);
    check("lyra measure: a fork is recorded, and replayed to the same trace",
          second.status == 0 && replayed.status == 0 && replayed.out.find("as recorded") != std::string::npos);
}

void test_measure_on(Chip chip, const GuestOptions& options, Report& report) {
    if (older_kernel(options.kernel, "6.12")) return;
    const Captured run =
        capture({own_program().string(), "measure", (source_dir() / "examples/measure/deployable.toml").string(), "--chip",
                 facts_of(chip).name, "--samples", "5", "--seeds", "1", "--json", "--kernel", options.kernel},
                true);
    if (interrupted) throw Interrupted();
    const auto row = nlohmann::json::parse(run.out, nullptr, false);
    const bool good = run.status == 0 && row.is_object() && row.value("samples", 0) == 5 && row.value("preemptions", 0) == 5 &&
                      row.value("lost_work", -1) == 0;
    report.add("scheduler", fmt::format("lyra measure: {} is pre-empted for each sample, no work is lost", facts_of(chip).name),
               good ? Verdict::Passed : Verdict::Failed, good ? "" : run.out + run.err);
}

void test_session(Report& report) {
    const Captured result =
        capture({"python3", (source_dir() / "tools/checks/session.py").string(), source_dir().string()}, true);
    if (interrupted) throw Interrupted();
    report.add("scheduler", "the session of docs/first_hour/scheduling_idea.md",
               result.status == 0 ? Verdict::Passed : Verdict::Failed, result.out + result.err);
}

}  // namespace lyra::cli
