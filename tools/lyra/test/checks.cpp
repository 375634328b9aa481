// SPDX-License-Identifier: MIT
// What `lyra test` checks beyond the tests of CTest, one row each.
#include "tools/lyra/test/checks.h"

namespace lyra::cli {

#define EXAMPLE(name) {name, name, "examples/" name ".hip", {}, ""}
#define TESTDATA(name, program, file, arguments, ...) \
    {name, file, "tools/lyra/test/testdata/" program ".hip", __VA_ARGS__, arguments}
// The compiler's -O0 cannot be trusted with divergent control flow, so there the programs leave some of it out. Unoptimised
// code through the other code generator has the same calls and stack accesses, and everything is run.
#define UNOPTIMISED {"-O1", "-Xclang", "-disable-llvm-passes"}

const std::vector<GuestProgram>& guest_programs() {
    static const std::vector<GuestProgram> programs = {
        EXAMPLE("vector_add"),
        EXAMPLE("sum32"),
        EXAMPLE("ds_read_b32"),
        EXAMPLE("matmul"),
        EXAMPLE("reduction"),
        EXAMPLE("histogram"),
        EXAMPLE("streams"),
        EXAMPLE("printf"),
        EXAMPLE("multiprocess"),
        EXAMPLE("endless"),
        TESTDATA("generated code, -O3", "codegen", "codegen_O3", "", {"-O3"}),
        TESTDATA("generated code, -O0", "codegen", "codegen_O0", "", {"-O0"}),
        TESTDATA("generated code, unoptimised", "codegen", "codegen_plain", "", UNOPTIMISED),
        TESTDATA("device maths library, -O3", "ocml", "ocml_O3", "256", {"-O3"}),
        TESTDATA("device maths library, -O0", "ocml", "ocml_O0", "256", {"-O0"}),
    };
    return programs;
}

const std::vector<GuestProgram>& package_programs() {
    static const std::vector<GuestProgram> programs = {
        {"sort with hipCUB", "sort_hipcub", "examples/packages/sort_hipcub.hip", {}, ""},
        {"reduction with rocThrust", "reduce_rocthrust", "examples/packages/reduce_rocthrust.hip", {}, ""},
        {"host code with OpenMP", "openmp", "examples/packages/openmp.hip", {"-fopenmp"}, ""},
        {"OpenCL", "opencl", "examples/packages/opencl.cpp", {"-lOpenCL"}, ""},
    };
    return programs;
}

std::vector<std::string> example_packages() {
    return {"clinfo",           "libhipcub-dev",      "libomp-17-dev",  "librocprim-dev",
            "librocthrust-dev", "ocl-icd-opencl-dev", "rocm-opencl-icd"};
}

#undef EXAMPLE
#undef TESTDATA
#undef UNOPTIMISED

// Warnings and errors that stem from the device or its driver; without two that the 6.1 driver has for most machines, and one
// that those since 7.2 have for all GPUs with gmc_v9_0 but NBIO 7.9's. Those also count the memory of a VM wrong when they are
// unloaded, and call a workqueue by a name that the kernel wants to be rid of.
#define DEVICE_LOG                                                                                                    \
    "dmesg --level=emerg,alert,crit,err,warn | grep -iE 'amdgpu|kfd|drm|\\[TTM\\]' | "                                \
    "grep -vE 'PSP runtime database doesn.t exist|SRAT table not found|memory partition mode query is not supported|" \
    "VM memory stats for proc .* is non-zero when fini|enqueued on deprecated workqueue'"
// Four processes at once ask for more SDMA queues than two engines of this chip have; the driver says so, as on hardware, and
// the runtime copies with kernels instead.
#define FEW_SDMA_QUEUES "No more SDMA queue to allocate|DQM create queue type 1 failed"

const std::vector<GuestCheck>& checks_after_boot() {
    static const std::vector<GuestCheck> checks = {
        {"driver is bound", "ls -l /dev/kfd /dev/dri/renderD128; lspci -k -d 1002:", 0, {"/dev/kfd", "amdgpu"}, {}},
        {"the driver is Debian's own and has no parameter",
         "cat /proc/sys/kernel/tainted; cat /etc/modprobe.d/* 2>/dev/null | grep amdgpu; "
         "grep -o 'amdgpu[.][^ ]*' /proc/cmdline; true",
         0,
         {"0\n"},
         {"amdgpu"}},
        {"lspci names the device", "lspci -d 1002:", 0, {"Lyra emulated GFX9 compute GPU"}, {}},
        {"rocminfo lists the agent", "rocminfo", 0, {"gfx900", "KERNEL_DISPATCH"}, {}},
        {"dmesg has no warning of the device", "! " DEVICE_LOG, 0, {}, {}},
        {"exit status passes through", "exit 3", 3, {}, {}},
        {"a signal becomes 128 + number", "sh -c 'kill -9 $$'", 137, {}, {}},
    };
    return checks;
}

// Kernels up to 6.5 call the power power1_average.
#define SENSORS                                                                               \
    "sensors() { echo $(cat $gpu/gpu_busy_percent $gpu/hwmon/hwmon*/temp1_input "             \
    "$(ls $gpu/hwmon/hwmon*/power1_input $gpu/hwmon/hwmon*/power1_average 2>/dev/null)); }; " \
    "gpu=$(echo /sys/bus/pci/drivers/amdgpu/0*); "

// Without the driver. RCC_CONFIG_MEMSIZE is that of 2 GiB unless the BAR is closed; SH_MEM_CONFIG can be written.
#define D3HOT                                                                                             \
    "rmmod amdgpu; gpu=$(lspci -D -d 1002: | cut -d' ' -f1); pci() { setpci -s $gpu \"$@\"; }; "          \
    "bars=; for n in 0 1 2 3 4 5; do bars=\"$bars $(pci BASE_ADDRESS_$n)\"; done; mmio=0x${bars##* }; "   \
    "reg() { busybox devmem $((mmio + $1)) 32 $2; }; look() { echo $1 $(reg 0x378c) $(reg 0x8c34); }; "   \
    "pci COMMAND=2; reg 0x8c34 0x55; look awake; "                                                        \
    "pci CAP_PM+4.w=3; [ \"$(reg 0x378c)\" != 0x00000800 ] && echo asleep; "                              \
    "pci CAP_PM+4.w=0; echo woken $(pci COMMAND) $(pci BASE_ADDRESS_5); "                                 \
    "n=0; for bar in $bars; do pci BASE_ADDRESS_$n=$bar; n=$((n + 1)); done; pci COMMAND=2; look again; " \
    "modprobe amdgpu && ./vector_add"

// pm_test stops short of the processors and the machine. Devices go the whole way, into D3hot.
#define SUSPENDS(name, state)                                                                                      \
    {name,                                                                                                         \
     "echo 1 >/sys/module/suspend/parameters/pm_test_delay; echo platform >/sys/power/pm_test; n=$(dmesg | wc -l)" \
     "; echo " state " >/sys/power/state && echo suspended; dmesg | tail -n +$((n + 1)); ./vector_add",            \
     0,                                                                                                            \
     {"suspended\n", "PSP is resuming", "PASSED"},                                                                 \
     {"ERROR", "failed", "FAILED"}}

const std::vector<GuestCheck>& checks_at_the_end() {
    static const std::vector<GuestCheck> checks = {
        {"activity, temperature and power follow a kernel",
         SENSORS
         "echo before $(sensors); ./endless >/dev/null & for n in $(seq 200); do set -- $(sensors); "
         "[ \"$1\" = 100 ] && [ \"$2\" -gt 35000 ] && [ \"$3\" -gt 5000000 ] && echo busy with $* && break; sleep 0.05; "
         "kill -0 $! 2>/dev/null || break; done; wait; sleep 0.2; echo after $(sensors)",
         0,
         {"before 0 35000 5000000\n", "busy with 100", "after 0 35000 5000000\n"},
         {},
         180},
        {"dmesg is clean after the programs", "! " DEVICE_LOG " | grep -vE '" FEW_SDMA_QUEUES "'", 0, {}, {}},
        {"driver unloads and loads twice",
         "for i in 1 2; do rmmod amdgpu && modprobe amdgpu && [ -e /dev/kfd ] || exit 1; done; rocminfo",
         0,
         {"gfx900"},
         {},
         300},
        {"a program runs after that", "./vector_add", 0, {"PASSED"}, {"FAILED"}},
        {"D3hot closes the BARs, and the way back is a reset",
         D3HOT,
         0,
         {"awake 0x00000800 0x00000055\n", "asleep\n", "woken 0000 00000000\n", "again 0x00000800 0x00000000\n"},
         {}},
        SUSPENDS("the driver suspends and resumes, to idle", "freeze"),
        SUSPENDS("the driver suspends and resumes, to memory", "mem"),
        // QEMU without qemu-hw/patches/0002 loses this with several processors: a panic by int3.
        {"the kernel replaces its instructions while all processors are busy",
         "for n in $(seq $(nproc)); do while :; do read -r x </proc/loadavg; done & done; for n in $(seq 200); do "
         "echo $((n % 2)) >/proc/sys/kernel/sched_schedstats; done; kill $(jobs -p); cat /proc/sys/kernel/sched_schedstats",
         0,
         {"0\n"},
         {}},
        {"dmesg is still clean", "! " DEVICE_LOG " | grep -vE '" FEW_SDMA_QUEUES "'", 0, {}, {}},
    };
    return checks;
}

// What the driver says of a queue or a GPU that it has to reset, and when there are more queues than slots.
#define RESETS_AND_CROWDS                                                                                                      \
    "Runlist is getting oversubscribed|Queue preemption failed|queue id 0x[0-9a-f]* at pasid [0-9a-fx]* is reset|"             \
    "Queues reset on process|Failed to suspend process|qcm fence wait loop timeout|The cp might be in an unrecoverable state|" \
    "Illegal opcode in command stream|Resetting wave fronts|Submitting 55555555|HIQ MQD.s queue_doorbell_id0 is not 0|"        \
    "unmap queue failed"
// A program of kfdtest-ports/guest/kfd, which prints PASSED when nothing is wrong.
#define PROGRAM(name, program, arguments, ...) \
    {name, "chmod +x *; ./" program " " arguments, 0, {program ": PASSED"}, {}, __VA_ARGS__}

// Of tools/lyra/test/testdata/faults.hip: the runtime says what was wrong and ends the process.
#define FAULT(name, kind, text) \
    {name " ends the process with the runtime's word for it", "chmod +x faults; ./faults " kind, 134, {text}, {"goes on"}}

const std::vector<GuestCheck>& checks_of_gfx90a() {
    static const std::vector<GuestCheck> checks = {
        {"gfx90a: rocminfo lists the agent", "rocminfo", 0, {"gfx90a", "KERNEL_DISPATCH"}, {"gfx900"}},
        {"gfx90a: KFD's topology has its sizes",
         "for n in /sys/class/kfd/kfd/topology/nodes/*; do grep -q '^simd_count [1-9]' $n/properties && "
         "grep -E '^(gfx_target_version|max_waves_per_simd|num_sdma_queues_per_engine|lds_size_in_kb) ' $n/properties; done",
         0,
         {"gfx_target_version 90010\n", "max_waves_per_simd 8\n", "num_sdma_queues_per_engine 2\n", "lds_size_in_kb 64\n"},
         {}},
        {"gfx90a: vector_add", "chmod +x vector_add; ./vector_add", 0, {"PASSED"}, {"FAILED"}},
        {"gfx90a: mfma_gemm",
         "chmod +x mfma_gemm; ./mfma_gemm",
         0,
         {"gemm_f32 of 64 x 96 x 80: PASSED", "gemm_f16 of 64 x 96 x 80: PASSED", "gemm_f64 of 64 x 96 x 80: PASSED"},
         {"FAILED"}},
        PROGRAM("gfx90a: saved waves of a disabled queue", "wave_state", "wave_state.image", 180),
        PROGRAM("gfx90a: a debugger lists and changes the waves of a HIP program", "debugger", "./debug_target", 180),
        PROGRAM("gfx90a: checkpoint of a queue with running waves, and its restore in another process", "checkpoint", "", 180,
                nullptr, "7.2"),
        {"gfx90a: dmesg has no warning of the device", "! " DEVICE_LOG, 0, {}, {}},
    };
    return checks;
}

// The file of sysfs that shows and switches the compute partitions.
#define PARTITION "/sys/class/drm/card0/device/current_compute_partition"
// The driver refuses while a process that has just ended is being taken down.
#define DIVIDE(mode) "for n in $(seq 20); do echo " mode " >" PARTITION " && break; sleep 0.5; done; cat " PARTITION "; "

/// The number in the partition; what the driver says of the fault.
#define FAULT_OF_XCC(xcc) \
    "chmod +x xccs; ./xccs fault " xcc " >out 2>&1; cat out; dmesg | grep -o 'fault from die .*' | tail -1"

const std::vector<GuestCheck>& checks_of_gfx942() {
    static const std::vector<GuestCheck> checks = {
        {"gfx942: rocminfo lists the agent", "rocminfo", 0, {"gfx942", "KERNEL_DISPATCH"}, {"gfx900"}},
        {"gfx942: KFD's topology has its sizes",
         "for n in /sys/class/kfd/kfd/topology/nodes/*; do grep -q '^simd_count [1-9]' $n/properties && "
         "grep -E '^(gfx_target_version|num_xcc|simd_count|num_sdma_queues_per_engine) ' $n/properties; done",
         0,
         {"gfx_target_version 90402\n", "num_xcc 2\n", "simd_count 32\n", "num_sdma_queues_per_engine 8\n"},
         {}},
        {"gfx942: vector_add", "chmod +x vector_add; ./vector_add", 0, {"PASSED"}, {"FAILED"}},
        {"gfx942: mfma_gemm",
         "chmod +x mfma_gemm; ./mfma_gemm",
         0,
         {"gemm_f32 of 64 x 96 x 80: PASSED", "gemm_f16 of 64 x 96 x 80: PASSED", "gemm_f64 of 64 x 96 x 80: PASSED"},
         {"FAILED"}},
        // XNACK is each process's own choice here, and this program's: that of the programs before is no.
        {"gfx942: pages of malloc() are mapped when waves touch them, without a parameter of the driver",
         "chmod +x page_faults; ./page_faults && ./vector_add",
         0,
         {"PASSED 1048576 integers of malloc()", "of 1048576 floats: PASSED"},
         {"FAILED"},
         120,
         "7.2"},
        PROGRAM("gfx942: saved waves of a disabled queue, of each XCC", "wave_state", "", 180),
        PROGRAM("gfx942: a debugger lists and changes the waves of a HIP program", "debugger", "./debug_target", 180),
        PROGRAM("gfx942: debugfs shows queues, slots and run list as they are", "debugfs", "", 180),
        {"gfx942: in SPX work-groups go to both XCCs in turn",
         "chmod +x xccs; cat " PARTITION "; ./xccs 1 2",
         0,
         {"SPX\n", "xccs: PASSED"},
         {"FAILED"}},
        {"gfx942: in CPX there are two devices of one XCC each",
         DIVIDE("CPX") "./xccs 2 1 && ./vector_add",
         0,
         {"CPX\n", "xccs: PASSED", "of 1048576 floats: PASSED"},
         {"FAILED"}},
        {"gfx942: in CPX each KFD node has half",
         "for n in /sys/class/kfd/kfd/topology/nodes/*; do grep -q '^simd_count [1-9]' $n/properties && "
         "grep -E '^(num_xcc|simd_count) ' $n/properties | tr '\\n' ' '; done",
         0,
         {"simd_count 16 num_xcc 1 simd_count 16 num_xcc 1 "},
         {}},
        // Between partitions, whose nodes the test takes for GPUs. It has no case for one GPU in SPX.
        {"gfx942: in CPX kfdtest's waves and processors see each other's stores",
         "chmod +x kfdtest; ./kfdtest --gtest_filter='KFDMemoryTest.AcquireReleaseCPU:KFDMemoryTest.AcquireReleaseFar*'",
         0,
         {"from CPU to node 2", "from node 2 to node 1", "from node 1 to node 2", "[  PASSED  ] 5 tests."},
         {"Skipping test", "FAILED"}},
        {"gfx942: and in SPX again there is one", DIVIDE("SPX") "./xccs 1 2", 0, {"xccs: PASSED"}, {"FAILED"}},
        {"gfx942: dmesg has no warning of the device", "! " DEVICE_LOG, 0, {}, {}},
        PROGRAM("gfx942: a hung queue is reset on each XCC, its neighbours go on", "hung_queue", "queue", 180),
        {"gfx942: a fault of the second XCC is told as its own",
         FAULT_OF_XCC("1"),
         0,
         {"fault from die AID0.XCD1\n"},
         {"no fault"}},
    };
    return checks;
}

const std::vector<GuestCheck>& checks_of_eight_xccs() {
    static const std::vector<GuestCheck> checks = {
        {"gfx942, 8 XCCs: it begins as one device, whose work-groups go to all in turn",
         "chmod +x xccs vector_add; cat " PARTITION " $(dirname " PARTITION ")/available_compute_partition; ./xccs 1 8 && "
         "./vector_add",
         0,
         {"SPX\n", "SPX, DPX, QPX, CPX\n", "xccs: PASSED", "of 1048576 floats: PASSED"},
         {"FAILED"}},
        PROGRAM("gfx942, 8 XCCs: saved waves of a disabled queue, of each XCC", "wave_state", "", 180),
        {"gfx942, 8 XCCs: in DPX there are two devices of four",
         DIVIDE("DPX") "./xccs 2 4 && ./vector_add",
         0,
         {"DPX\n", "xccs: PASSED", "of 1048576 floats: PASSED"},
         {"FAILED"}},
        {"gfx942, 8 XCCs: in QPX four of two", DIVIDE("QPX") "./xccs 4 2", 0, {"QPX\n", "xccs: PASSED"}, {"FAILED"}},
        {"gfx942, 8 XCCs: in CPX eight of one",
         DIVIDE("CPX") "./xccs 8 1 && ./vector_add",
         0,
         {"CPX\n", "xccs: PASSED", "of 1048576 floats: PASSED"},
         {"FAILED"}},
        {"gfx942, 8 XCCs: and in SPX again there is one", DIVIDE("SPX") "./xccs 1 8", 0, {"xccs: PASSED"}, {"FAILED"}},
        // Partitions that have no SDMA engine get no queue of one.
        {"gfx942, 8 XCCs: dmesg has no warning of the device", "! " DEVICE_LOG " | grep -vE '" FEW_SDMA_QUEUES "'", 0, {}, {}},
        {"gfx942, 8 XCCs: a fault of the sixth is told as its own",
         FAULT_OF_XCC("5"),
         0,
         {"fault from die AID2.XCD1\n"},
         {"no fault"}},
    };
    return checks;
}

const std::vector<GuestCheck>& checks_of_the_driver() {
    static const std::vector<GuestCheck> checks = {
        PROGRAM("twelve processes with four queues each make progress together", "oversubscribed", "", 300),
        PROGRAM("a forgotten fence or flush is seen, one that is there is enough", "fences", "strict", 180),
        PROGRAM("fifty killed processes leave nothing behind", "killed", "50", 300),
        PROGRAM("debugfs shows queues, slots and run list as they are", "debugfs", "", 180),
        PROGRAM("saved waves of a disabled queue", "wave_state", "wave_state.image", 180, "6.12"),
        PROGRAM("a debugger lists and changes the waves of a HIP program", "debugger", "./debug_target", 180, "6.12"),
        // The driver of 7.2.13 leaves the control stack out: docs/design/findings.md
        PROGRAM("checkpoint of a queue with running waves, and its restore in another process", "checkpoint", "", 180, nullptr,
                "7.2"),
        PROGRAM("a hung queue is reset, its neighbours go on", "hung_queue", "queue", 180, "6.12"),
        PROGRAM("a hung queue makes the driver reset the GPU", "hung_queue", "gpu", 180, nullptr, "6.12"),
        {"the log tells of nothing else", "! " DEVICE_LOG " | grep -vE '" RESETS_AND_CROWDS "'", 0, {}, {}},
        PROGRAM("the GPU is reset by debugfs", "gpu_reset", "recover", 180),
        PROGRAM("the GPU is reset when its scheduler hangs", "gpu_reset", "hang", 180),
        {"a HIP program runs after that", "./vector_add", 0, {"PASSED"}, {"FAILED"}},
        // A dump holds the module until somebody has read it.
        {"the driver's dump of the hung GPU shows its slots",
         "head -c 40000 /sys/class/devcoredump/devcd*/data",
         0,
         {"mmCP_HQD_ACTIVE", "IP Firmwares"},
         {},
         60,
         "6.12"},
        {"driver unloads and loads after resets",
         "echo 1 | tee /sys/class/devcoredump/devcd*/data; rmmod amdgpu && modprobe amdgpu && "
         "[ -e /dev/kfd ]",
         0,
         {},
         {},
         180},
        PROGRAM("queues are shared after that", "oversubscribed", "100", 180),
        {"the log still tells of nothing else", "! " DEVICE_LOG " | grep -vE '" RESETS_AND_CROWDS "'", 0, {}, {}},
        {"the timing program for hardware times pre-emption and dispatch",
         "chmod +x preempt_timing; ./preempt_timing --quick",
         0,
         {"\"idle_queue\",\"update_0_us\":{\"n\":20", "\"waves_per_cu\":4", "\"waves_per_cu\":16",
          "\"first_wave_us\":{\"n\":20", "\"late_waves\":0,", "\"without\":[]", "\"bystander\",\"waves\":"},
         {},
         240,
         "6.12"},
        FAULT("a wrong store", "store", "Memory access fault by GPU"),
        FAULT("a store where no address is", "aperture", "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION"),
        FAULT("a trap", "trap", "HSA_STATUS_ERROR_EXCEPTION"),
        FAULT("an illegal instruction", "illegal", "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION"),
        {"a HIP program runs after those", "./vector_add", 0, {"PASSED"}, {"FAILED"}},
    };
    return checks;
}

#undef PROGRAM
#undef FAULT
#undef RESETS_AND_CROWDS
#undef DEVICE_LOG
#undef FEW_SDMA_QUEUES
#undef SENSORS
#undef D3HOT
#undef SUSPENDS

const std::vector<CommandCheck>& command_checks() {
    static const std::vector<CommandCheck> checks = {
        {"no verb is a usage error", {}, 2, "", "subcommand is required", 10},
        {"an unknown option is a usage error", {"run", "--no-such-option=1", "examples/sum32.hip"}, 2, "", nullptr, 10},
        {"a missing program is a usage error", {"run", "no-such-file.hip"}, 2, "", "no-such-file.hip", 10},
        {"a wrong size of VRAM is a usage error", {"run", "--vram", "3G", "examples/sum32.hip"}, 2, "", "power of two", 10},
        {"measure refuses what only the simulator can",
         {"measure", "examples/measure/load.toml"},
         2,
         "",
         "only lyra sim can",
         10},
        {"kfdtest in several guests has no trace",
         {"kfdtest", "--parallel", "2", "--trace", "x.pftrace", "--filter", "KFDQMTest.CreateAqlCpQueue"},
         2,
         "",
         "several guests cannot have one",
         10},
        {"measure of a file that is not there is a usage error", {"measure", "no-such.toml"}, 2, "", "cannot read", 10},
        {"an unknown kernel is a usage error", {"run", "--kernel", "5.10", "examples/sum32.hip"}, 2, "", "--kernel", 10},
        {"an unknown release is a usage error", {"run", "--release", "potato", "examples/sum32.hip"}, 2, "", "--release", 10},
        {"packages are names",
         {"run", "--packages", "libhipcub-dev,$(x)", "examples/sum32.hip"},
         2,
         "",
         "is not the name of a Debian package",
         10},
        {"a package that is not there fails with apt's words",
         {"run", "--packages", "no-such-package", "examples/sum32.hip"},
         2,
         "",
         "no-such-package",
         300},
        {"patches for another kernel are a usage error",
         {"run", "--kfd", "lyra", "--kernel", "6.1", "examples/sum32.hip"},
         2,
         "",
         "has no series for kernel 6.1",
         10},
        {"a driver that is not there is a usage error",
         {"run", "--kfd", "no-such-tree", "examples/sum32.hip"},
         2,
         "",
         "no such file",
         10},
        {"a kernel tree that is none is a usage error",
         {"run", "--kernel-tree", "tools", "examples/sum32.hip"},
         2,
         "",
         "tools is not the source tree of a kernel",
         10},
        {"what a kernel looks for wants a kernel of one's own",
         {"run", "--debug", "lockdep", "examples/sum32.hip"},
         2,
         "",
         "--debug requires --kernel-tree",
         10},
        {"deterministic with two processors is a usage error",
         {"run", "--deterministic", "--smp", "2", "examples/sum32.hip"},
         2,
         "",
         "one processor",
         10},
        {"kernel events without virtual time are a usage error",
         {"run", "--trace", "x.pftrace", "--kernel-events", "amdkfd", "examples/sum32.hip"},
         2,
         "",
         "--deterministic",
         10},
        {"kernel events are names",
         {"run", "--deterministic", "--trace", "x.pftrace", "--kernel-events", "$(x)", "examples/sum32.hip"},
         2,
         "",
         "SYSTEM:EVENT",
         10},
        {"an unknown timing parameter is a usage error",
         {"run", "--deterministic", "--timing", "speed=3", "examples/sum32.hip"},
         2,
         "",
         "there is no timing parameter 'speed'",
         10},
        {"a recording of a guest with two processors is a usage error",
         {"run", "--smp", "2", "--record", "x.rec", "examples/sum32.hip"},
         2,
         "",
         "--record is with one processor",
         10},
        {"a recording into a folder that is not there is a usage error",
         {"run", "--deterministic", "--record", "no/such/folder.rec", "examples/sum32.hip"},
         2,
         "",
         "there is no folder",
         10},
        {"a replay of another file is a usage error", {"replay", "README.md"}, 2, "", "this is not a recording", 10},
        {"a replay until nowhere is a usage error",
         {"replay", "--until", "5x", "tools/inproc/testdata/sdma_packet.rec"},
         2,
         "",
         "such as 5ms",
         10},
        {"waves of a missing file are a usage error", {"waves", "no-such-file"}, 2, "", "no-such-file", 10},
        {"areas of several XCCs are of one size", {"waves", "--xccs", "7", "README.md"}, 2, "", "areas of 7 XCCs", 10},
        {"a chip with one XCC has no other number",
         {"run", "--xccs", "4", "examples/vector_add.hip"},
         2,
         "",
         "gfx900 has one",
         10},
        {"XCCs have as many compute units each",
         {"run", "--chip", "gfx942", "--xccs", "8", "--cus", "12", "examples/vector_add.hip"},
         2,
         "",
         "have as many each",
         10},
        {"a soak beside a group is a usage error", {"test", "--soak", "5", "--group", "command"}, 2, "", "excludes", 10},
        {"long proofs beside a group are a usage error", {"test", "--isa", "--group", "command"}, 2, "", "excludes", 10},
        {"all libraries beside a group are a usage error",
         {"test", "--libraries", "--group", "command"},
         2,
         "",
         "excludes",
         10},
        {"disassembly of a missing file is a usage error", {"disasm", "no-such-file"}, 2, "", "no-such-file", 10},
        {"disassembly of a text file is a usage error",
         {"disasm", "README.md"},
         2,
         "",
         "neither an ELF file nor an offload bundle",
         10},
        {"disassembly for an unknown chip is a usage error",
         {"disasm", "--chip", "gfx1", "README.md"},
         2,
         "",
         "unknown chip 'gfx1'",
         10},
        {"a chip whose driver gives up is a usage error",
         {"run", "--chip", "gfx908", "examples/vector_add.hip"},
         2,
         "",
         "gfx908 cannot be the GPU of a guest",
         10},
        {"a text file is no program", {"run", "README.md"}, 2, "", "neither an executable nor a HIP source", 10},
        {"a compile error is a usage error",
         {"run", "tools/lyra/test/testdata/compile_error.hip"},
         2,
         "",
         "does not compile",
         60},
        {"exit status and output of a program",
         {"run", "--timeout", "150", "tools/lyra/test/testdata/exit_status.hip", "3", "two words", "it's"},
         3,
         "[3]\n[two words]\n[it's]\n",
         "to standard error\n"},
        {"a program that never ends times out",
         {"run", "--timeout", "20", "tools/lyra/test/testdata/forever.sh"},
         4,
         nullptr,
         "--timeout"},
    };
    return checks;
}

}  // namespace lyra::cli
