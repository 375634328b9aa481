// SPDX-License-Identifier: MIT
// The command lines of QEMU: a guest in the host's time, and one in virtual time (tools/guest/PROTOCOL.md).
#include <algorithm>
#include <bit>
#include <initializer_list>
#include <thread>

#include "tools/lyra/guest/initrd.h"
#include "tools/lyra/guest/kernel_tree.h"
#include "tools/lyra/guest/machine.h"

namespace lyra::cli {

namespace fs = std::filesystem;

namespace {

/// A value of --accel, in QEMU's words. TCG runs each processor in a thread of its own.
/// QEMU would keep up to 1 GB of translated code; with 96 MB it stays below 280 MB beside the memory of guest and GPU.
/// Without ERMS and FSRM the kernel clears and copies eight bytes a turn of a translated loop, not one.
struct Accelerator {
    const char *name, *words, *cpu;
};
constexpr Accelerator kAccelerators[] = {
    {"tcg", "tcg,thread=multi,tb-size=96", "max,la57=off,erms=off,fsrm=off"},
    {"kvm", "kvm", "host,arch-capabilities=off"},
};

/// Its random numbers come from --seed. Without ERMS the kernel copies by eight bytes an instruction.
constexpr const char* kDeterministicCpu = "max,la57=off,erms=off";
/// The slot of the GPU. Linux 7.2 and later let KFD use PCIe atomic operations only below a root port.
constexpr const char* kRootPort = "pcie-root-port,id=gpu,chassis=1,hotplug=off";
constexpr const char* kStops = "pvpanic-pci,addr=1e.0";  ///< where tools/guest/init/host.cpp looks for it
constexpr const char* kFixedDate = "base=2025-01-01T00:00:00,clock=vm";

/// Of a guest without --smp. Not all of a large host: starting each takes time.
unsigned default_processors() { return std::clamp(std::thread::hardware_concurrency(), 1u, 4u); }

}  // namespace

std::string GuestMachine::kernel_words(bool shares) const {
    std::string words = "console=ttyS0 panic=-1 tsc=reliable mitigations=off nokaslr audit=0 random.trust_cpu=on";
    // On a busy host the timer may be late for the kernel's check, which panics.
    if (!options_.deterministic) words += " no_timer_check";
    if (options_.stock_driver || options_.accel == "kvm") words += " lyra.module=stock";
    for (const std::string& word : options_.kernel_words) words += " " + word;
    return words + (options_.share.empty() || !shares ? "" : " lyra.share=share");
}

std::string GuestMachine::device_words(const MemoryFiles* memory) const {
    std::string device = fmt::format("lyra,bus=gpu,vram={},cus={}", options_.vram, options_.cus);
    if (options_.chip != kChips[0].name) device += ",chip=" + options_.chip;
    if (options_.xccs != 0) device += fmt::format(",xccs={}", options_.xccs);
    if (memory) device += ",memdev=vram";
    if (!options_.trace.empty()) device += ",trace=" + comma_safe(fs::absolute(options_.trace).string());
    if (!record_.empty()) device += ",record=" + comma_safe(fs::absolute(record_).string());
    if (options_.deterministic) device += ",pump=virtual";
    if (!options_.timing.empty()) device += fmt::format(",timing={}", fmt::join(options_.timing, ",,"));
    for (const std::string& property : options_.device_options) device += "," + property;
    return device;
}

// Words at the end of every command line. The debugger's socket is in work.
std::vector<std::string> GuestMachine::further_words(const fs::path& work) const {
    std::vector<std::string> words;
    if (options_.gdb) {
        const fs::path socket = work / "gdb";
        words = {"-S", "-gdb", fmt::format("unix:{},server=on,wait=off", comma_safe(socket.string()))};
        complain("the guest waits for: " + debugger_command(options_, tree_, socket));
    }
    words.insert(words.end(), options_.qemu_words.begin(), options_.qemu_words.end());
    return words;
}

/// What every command line begins with.
std::vector<std::string> GuestMachine::board(const std::string& accelerator, const std::string& cpu, unsigned processors,
                                             const MemoryFiles* memory) const {
    return {(qemu_ / "bin/qemu-system-x86_64").string(),
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-no-reboot",
            "-M",
            memory ? "q35,memory-backend=ram" : "q35",
            "-accel",
            accelerator,
            "-cpu",
            cpu,
            "-smp",
            std::to_string(processors),
            "-m",
            options_.mem};
}

// Nothing that answers when the host has time: root and job are in memory, the ports write files and are served at once.
std::vector<std::string> GuestMachine::deterministic_machine(const fs::path& work, const MemoryFiles* memory) const {
    std::vector<std::string> argv = board("tcg,thread=single", kDeterministicCpu, 1, memory);
    for (const std::string& word : std::initializer_list<std::string>{
             "-icount",
             fmt::format("shift={},sleep=off,align=off", std::countr_zero(timing_.guest_instruction_ns)),
             "-rtc",
             kFixedDate,
             "-seed",
             std::to_string(options_.seed),
             "-kernel",
             (image_ / "vmlinux").string(),
             "-device",
             "virtio-serial-pci,ioeventfd=off",
             "-device",
             kRootPort,
             "-device",
             device_words(memory) + ",stats=" + comma_safe((work / "stats").string()),
         })
        argv.push_back(word);
    if (memory) {
        const std::vector<std::string> words = memory->words(options_.mem, options_.vram);
        argv.insert(argv.end(), words.begin(), words.end());
        // A program of the guest may write to the device as well. It is heard only while the machine is made.
        argv.insert(argv.end(), {"-device", kStops, "-action", memory->goes_on ? "panic=none" : "panic=pause"});
    }
    const std::vector<std::string> further = further_words(work);
    argv.insert(argv.end(), further.begin(), further.end());
    return argv;
}

/// Root and job of a guest without disks.
std::vector<std::string> GuestMachine::with_initrd(const fs::path& work, const fs::path& job) const {
    const fs::path initrd = work / "initrd";
    write_guest_initrd(image_ / "initramfs", image_ / "root.erofs", job, initrd);
    return {"-initrd", initrd.string()};
}

/// What a guest in virtual time reads after it was saved.
std::vector<std::string> GuestMachine::with_job(const fs::path& work, const fs::path& job) const {
    write_text(work / "seed", std::to_string(options_.seed));
    std::vector<std::string> argv;
    for (const auto& [name, file] : {std::pair("seed", work / "seed"), std::pair("job", job)})
        argv.insert(argv.end(), {"-fw_cfg", fmt::format("name=opt/lyra/{},file={}", name, comma_safe(file.string()))});
    return argv;
}

// What a job and a shell have in common.
std::vector<std::string> GuestMachine::machine(const fs::path& work, const fs::path& serial_log,
                                               const MemoryFiles* memory) const {
    const Accelerator& accelerator = *std::find_if(std::begin(kAccelerators), std::end(kAccelerators),
                                                   [&](const Accelerator& each) { return options_.accel == each.name; });
    std::vector<std::string> argv =
        board(accelerator.words, accelerator.cpu, options_.smp != 0 ? options_.smp : default_processors(), memory);
    for (const std::string& word : std::initializer_list<std::string>{
             "-kernel",
             (image_ / "vmlinux").string(),
             "-initrd",
             (image_ / "initramfs").string(),
             "-drive",
             "if=none,id=root,format=raw,readonly=on,file=" + comma_safe((image_ / "root.erofs").string()),
             "-device",
             "virtio-blk-pci,drive=root",
             "-device",
             "virtio-serial-pci",
             "-serial",
             "file:" + comma_safe(serial_log.string()),
             "-device",
             kRootPort,
             "-device",
             device_words(memory) + (record_.empty() ? "" : ",stats=" + comma_safe((work / "stats").string())),
        // A guest that goes on from a saved one is told, and its random numbers are others.
             "-device",
             "vmgenid,guid=auto",
         })
        argv.push_back(word);
    if (memory) {
        const std::vector<std::string> words = memory->words(options_.mem, options_.vram);
        argv.insert(argv.end(), words.begin(), words.end());
    }
    if (!options_.share.empty()) {
        argv.insert(argv.end(), {"-virtfs", fmt::format("local,path={},mount_tag=share,security_model=none",
                                                        comma_safe(fs::absolute(options_.share).string()))});
    }
    const std::vector<std::string> further = further_words(work);
    argv.insert(argv.end(), further.begin(), further.end());
    return argv;
}

void GuestMachine::add_disk(std::vector<std::string>& argv, const std::string& id, const fs::path& file) const {
    argv.insert(argv.end(),
                {"-drive", fmt::format("if=none,id={},format=raw,readonly=on,file={}", id, comma_safe(file.string())),
                 "-device", "virtio-blk-pci,drive=" + id});
}

}  // namespace lyra::cli
