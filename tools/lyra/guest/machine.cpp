// SPDX-License-Identifier: MIT
// Starts QEMU with the guest image, moves the job in and its output out, and ends it in every case.
#include "tools/lyra/guest/machine.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <fstream>
#include <map>
#include <sstream>

#include "common/hash.h"
#include "tools/lyra/guest/kernel_events.h"
#include "tools/lyra/guest/kernel_log.h"
#include "tools/lyra/guest/kernel_tree.h"
#include "tools/lyra/guest/monitor.h"
#include "tools/lyra/guest/ports.h"

namespace lyra::cli {

namespace fs = std::filesystem;

namespace {

constexpr size_t kKeptLogs = 20, kKeptVmcores = 2;
/// Streams of every guest, in the order of their ports.
constexpr const char* kPortNames[] = {"stdout", "stderr", "control", "dmesg"};
constexpr size_t kControlPort = 2;
constexpr const char* kTracePort = "trace";  ///< one more, for events of the kernel
constexpr double kMakingSeconds = 90;  ///< for a machine to boot and be saved; otherwise guests boot
constexpr double kMakingVirtualSeconds = 600;  ///< the same in virtual time, with what the job does before it is saved
constexpr uint64_t kMakingSeed = 1;            ///< of a machine in virtual time that is to be saved

constexpr const char* kTerminal = "virtconsole,chardev=tty";

void prune_logs(const fs::path& dir) {
    std::vector<fs::path> logs;
    for (const auto& entry : fs::directory_iterator(dir)) logs.push_back(entry.path());
    std::sort(logs.begin(), logs.end(), [](const fs::path& a, const fs::path& b) {
        std::error_code error;
        return fs::last_write_time(a, error) > fs::last_write_time(b, error);
    });
    std::error_code error;
    for (size_t i = kKeptLogs; i < logs.size(); ++i) fs::remove(logs[i], error);
    size_t vmcores = 0;
    for (const fs::path& log : logs) {
        if (log.extension() == ".vmcore" && ++vmcores > kKeptVmcores) fs::remove(log, error);
    }
}

/// A verb may need several guests: FILE, FILE.2, FILE.3.
std::string next_recording(const std::string& file) {
    static std::atomic<unsigned> made{0};
    if (file.empty()) return {};
    const unsigned number = ++made;
    return number == 1 ? file : fmt::format("{}.{}", file, number);
}

void take_kernel_events(const std::string& text, const std::string& trace, GuestResult& result) {
    if (text.empty()) return;
    try {
        KernelEvents read = read_kernel_events(text);
        if (read.lost > 0)
            result.errors.push_back(fmt::format("{} events of the kernel did not fit into its buffer", read.lost));
        result.kernel_events = std::move(read.events);
    } catch (const std::runtime_error& error) {
        result.errors.emplace_back(error.what());
        return;
    }
    std::string error;
    if (!trace.ends_with(".tsv") && !append_kernel_events(trace, result.kernel_events, error)) result.errors.push_back(error);
}

std::optional<GuestResult::Trace> read_stats(const fs::path& path) {
    std::ifstream file(path);
    std::map<std::string, uint64_t> counters;
    std::string name;
    for (uint64_t value = 0; file >> name >> value;) counters[name] = value;
    if (counters.find("trace_hash") == counters.end()) return {};
    return GuestResult::Trace{counters["trace_hash"], counters["trace_events"], counters["virtual_ns"]};
}

void read_control(const std::string& control, GuestResult& result) {
    std::istringstream lines(control);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string word;
        words >> word;
        if (word == "exit") {
            if (words >> result.status) result.end = GuestResult::End::Finished;
        } else if (word == "error") {
            result.errors.push_back(line.substr(6));
        } else if (word == "times") {
            double seconds = 0;
            while (words >> word >> seconds) result.times.emplace_back(word, seconds);
        }
    }
}

}  // namespace

GuestMachine::GuestMachine(const GuestOptions& options) : options_(options) {
    image_arguments(options);
    if (options.accel == "kvm" && access("/dev/kvm", R_OK | W_OK) != 0) {
        throw UserError("--accel kvm: /dev/kvm cannot be used here");
    }
    if (options.deterministic && (options.accel != "tcg" || options.smp > 1 || !options.share.empty())) {
        throw UserError(
            "--deterministic is with --accel tcg, one processor and without --share: the others depend on the host's speed");
    }
    if (!options.record.empty()) {
        if (options.smp > 1) throw UserError("--record is with one processor: nobody may change memory while the GPU reads it");
        options_.smp = 1;
    }
    if (!options.kfd.empty()) {
        if (options.stock_driver) throw UserError("--kfd and --stock-driver are two different drivers");
        if (options.kfd == "lyra" && !fs::is_directory(source_dir() / "kfd-patches" / ("linux-" + options.kernel)))
            throw UserError(fmt::format("--kfd lyra: kfd-patches/ has no series for kernel {}", options.kernel));
        if (options.kfd != "lyra" && !fs::exists(options.kfd))
            throw UserError(fmt::format("--kfd {}: there is no such file or folder", options.kfd));
    }
    const ChipFacts& chip = *find_chip(options.chip);
    const unsigned xccs = options.xccs != 0 ? options.xccs : chip.xccs;
    if (xccs > chip.most_xccs) throw UserError(fmt::format("--xccs: {} has one", chip.name));
    if (options.cus % xccs != 0)
        throw UserError(fmt::format("--cus {}: the {} XCCs of {} have as many each", options.cus, xccs, chip.name));
    if (const std::string wrong = timing_.set(fmt::format("{}", fmt::join(options.timing, ","))); !wrong.empty())
        throw UserError(wrong);
    if (!std::has_single_bit(timing_.guest_instruction_ns))
        throw UserError("timing parameter guest_instruction_ns has to be a power of two");
    for (const std::string& path : {options.log, options.trace, options.record}) {
        const fs::path folder = fs::absolute(path.empty() ? "x" : path).parent_path();
        if (!fs::is_directory(folder)) throw UserError(fmt::format("there is no folder {}", folder.string()));
    }
}

void GuestMachine::prepare() {
    qemu_ = build_artefact("tools/guest/build_qemu.sh", {});
    tree_ = build_kernel_tree(options_);
    std::vector<std::string> arguments = image_arguments(options_);
    if (!tree_.empty()) arguments.insert(arguments.end(), {"--kernel-files", tree_.string()});
    image_ = build_artefact("tools/guest/build_image.sh", arguments);
    if (!options_.kfd.empty())
        driver_ = build_artefact("tools/guest/build_kfd.sh", {"--kernel", options_.kernel, options_.kfd}) / "amdgpu.ko";
}

fs::path GuestMachine::log_path() const {
    if (!options_.log.empty()) return fs::absolute(options_.log);
    const fs::path dir = cache_dir() / "log";
    fs::create_directories(dir);
    prune_logs(dir);
    static std::atomic<unsigned> made{0};  // several guests may run at a time
    return dir / fmt::format("boot-{}-{}.log", getpid(), ++made);
}

/// Nothing that is different each time may be in the machine before the job comes. What a boot says is of interest when it is
/// traced, logged or debugged, and in virtual time when it is recorded.
bool GuestMachine::can_go_on(const GuestJob& job) const {
    const bool recorded = options_.deterministic && !options_.record.empty();
    const bool boot_matters = !job.base && (!tree_.empty() || !options_.trace.empty() || recorded || !options_.log.empty());
    const bool plain = !boot_matters && options_.qemu_words.empty() && !options_.gdb;
    const auto& device = options_.device_options;
    const bool files =
        std::any_of(device.begin(), device.end(), [](const std::string& word) { return word.find('/') != std::string::npos; });
    return options_.snapshot && plain && !files && job.disks.empty();
}

GuestMachine GuestMachine::fork(uint64_t seed, std::string trace, std::string record) const {
    GuestMachine guest(*this);
    guest.options_.seed = seed;
    guest.options_.trace = std::move(trace);
    guest.options_.record.clear();
    guest.record_ = std::move(record);
    return guest;
}

GuestSnapshot GuestMachine::snapshot_of(const SavedAs& as) const {
    GuestMachine same = fork(kMakingSeed, "", "");
    if (!same.options_.share.empty()) same.options_.share = "/";
    const MemoryFiles memory;
    const std::vector<std::string> words =
        options_.deterministic ? same.deterministic_machine("", &memory) : same.machine("", "", &memory);
    std::string recipe =
        fmt::format("{}\n{} {}\n{}\n", fmt::join(words, " "), same.kernel_words(false), as.job_bytes, driver_.string());
    if (as.warm) recipe += "warm\n";
    if (!options_.kernel_events.empty()) recipe += fmt::format("{}\n", kTracePort);
    if (as.base) {
        WorkDir work;
        recipe += fmt::format("{:016x}\n", hash_text(read_text(pack(*as.base, work.path(), true, true))));
    }
    const std::string library = read_text(library_dir() / "liblyra.so.1");
    recipe += fmt::format("{:016x}\n", hash_text(library));
    if (options_.accel == "kvm") {
        std::istringstream host(read_text("/proc/cpuinfo"));
        for (std::string line; std::getline(host, line) && !line.empty();)
            if (line.starts_with("model name") || line.starts_with("flags")) recipe += line + "\n";
    }
    return GuestSnapshot(recipe);
}

bool GuestMachine::has_snapshot(const GuestSnapshot& snapshot, const SavedAs& as) const {
    return snapshot.there() || make_snapshot(snapshot, as);
}

/// @return there is one now
bool GuestMachine::make_snapshot(const GuestSnapshot& snapshot, const SavedAs& as) const {
    GuestSnapshot::Making making(snapshot);
    if (making.needless()) return true;
    WorkDir work;
    const MemoryFiles memory = making.files();
    const fs::path archive = pack(as.base ? *as.base : GuestJob(), work.path(), true, true);
    const bool timed = options_.deterministic;
    GuestMachine same = fork(kMakingSeed, "", "");
    if (!same.options_.share.empty()) same.options_.share = work.path().string();
    std::vector<std::string> argv;
    const auto add = [&](const std::vector<std::string>& words) { argv.insert(argv.end(), words.begin(), words.end()); };
    if (timed) {
        add(same.deterministic_machine(work.path(), &memory));
        add(with_initrd(work.path(), archive));
        add({"-serial", "file:" + comma_safe(memory.serial().string())});
    } else {
        fs::resize_file(archive, as.job_bytes);
        add(same.machine(work.path(), memory.serial(), &memory));
        add_disk(argv, "job", archive);
        add({"-chardev", "null,id=tty", "-device", kTerminal});
    }
    std::vector<std::string> names(std::begin(kPortNames), std::end(kPortNames));
    if (!options_.kernel_events.empty()) names.emplace_back(kTracePort);
    for (const std::string& name : names) {
        // To the guest nobody would listen at a null device; in virtual time it has all ports in the same state later.
        if (timed)
            add({"-chardev", fmt::format("file,id={},path=/dev/null", name)});
        else if (name != kPortNames[kControlPort])
            add({"-chardev", "null,id=" + name});
        add({"-device", fmt::format("virtserialport,chardev={0},name=lyra.{0}", name)});
    }
    std::string words = kernel_words(false) + " lyra.driver=amdgpu";
    if (!as.base) words += " lyra.mode=snapshot";
    if (!as.base && timed) words += " lyra.host=fw_cfg";
    if (as.warm) words += " lyra.warm=yes";
    add({"-append", words});
    const std::string wrong = making.keep(argv,
                                          timed                    ? kMakingVirtualSeconds
                                          : options_.timeout_s > 0 ? options_.timeout_s
                                                                   : kMakingSeconds,
                                          timed);
    if (!wrong.empty()) complain("no saved machine: " + wrong);
    return wrong.empty();
}

/// @param is_base  the job is what others begin as: only these are traced
fs::path GuestMachine::pack(GuestJob job, const fs::path& work, bool with_driver, bool is_base) const {
    if (!driver_.empty() && with_driver) job.files.emplace_back("amdgpu.ko", driver_);
    const fs::path dir = work / "job";
    fs::create_directory(dir);
    for (const auto& [name, file] : job.files) fs::copy_file(file, dir / name, fs::copy_options::overwrite_existing);
    const auto program = [&](const std::string& name, const std::string& text) {
        write_text(dir / name, text);
        fs::permissions(dir / name, fs::perms::owner_all | fs::perms::group_read | fs::perms::others_read);
    };
    if (!job.warm.empty()) {
        std::string words;
        for (const std::string& word : job.warm) words += word + '\0';
        write_text(dir / "arguments", words);
    }
    if (options_.kernel_events.empty() || is_base) {
        program("run", job.run);
    } else {
        program("run.traced", job.run);
        program("run", kernel_events_script(options_.kernel_events, job.base ? ". ./run.traced" : "./run.traced\nstatus=$?",
                                            "/dev/virtio-ports/lyra.trace"));
    }
    const fs::path archive = work / "job.tar";
    // The same bytes for the same files: a guest in virtual time, and which machine was saved, depend on them.
    const Captured result = capture({"tar", "-c", "-f", archive.string(), "--format=ustar", "--sort=name", "--mtime=@0",
                                     "--owner=0", "--group=0", "--numeric-owner", "-C", dir.string(), "."},
                                    true);
    if (result.status != 0) throw EnvironmentError("cannot pack the job: " + result.err);
    // In a very short disk the guest's kernel complains about the partition table.
    constexpr uintmax_t kUnit = 1 << 20;
    fs::resize_file(archive, (fs::file_size(archive) + kUnit - 1) / kUnit * kUnit);
    return archive;
}

GuestResult GuestMachine::run(const GuestJob& job, const OutputSink& out, const OutputSink& err) {
    WorkDir work;
    GuestResult result;
    result.log = log_path();
    std::string control;
    const auto keep_in = [](std::string& text) { return [&text](const char* data, size_t n) { text.append(data, n); }; };
    std::vector<Port> ports{{kPortNames[0], out},
                            {kPortNames[1], err},
                            {kPortNames[kControlPort], keep_in(control)},
                            {kPortNames[3], keep_in(result.dmesg)}};
    if (!options_.record.empty()) record_ = next_recording(options_.record);
    std::string kernel_trace;
    if (!options_.kernel_events.empty()) ports.push_back({kTracePort, keep_in(kernel_trace)});

    Command command;
    const bool timed = options_.deterministic;
    std::optional<MemoryFiles> memory;
    bool goes_on = can_go_on(job);
    fs::path archive = pack(job, work.path(), !goes_on && !job.base);
    SavedAs as{0, !job.warm.empty(), job.base};
    if (goes_on) {
        if (!timed) as.job_bytes = std::max(kJobDiskBytes, std::bit_ceil(fs::file_size(archive)));
        const GuestSnapshot snapshot = snapshot_of(as);
        goes_on = has_snapshot(snapshot, as);
        if (goes_on)
            memory = snapshot.files();
        else
            archive = pack(job, work.path(), !job.base);
    }
    const MemoryFiles* const saved = memory ? &*memory : nullptr;
    const auto add = [&](const std::vector<std::string>& words) {
        command.argv.insert(command.argv.end(), words.begin(), words.end());
    };
    if (timed) {
        add(deterministic_machine(work.path(), saved));
        add({"-serial", "file:" + comma_safe((work.path() / "serial").string())});
        if (memory || job.base) add(with_job(work.path(), archive));
        if (!memory && job.base) {
            fs::create_directory(work.path() / "base");
            archive = pack(*job.base, work.path() / "base", true, true);
        }
        if (!memory) add(with_initrd(work.path(), archive));
    } else {
        add(machine(work.path(), work.path() / "serial", saved));
        if (memory) fs::resize_file(archive, as.job_bytes);
        add_disk(command.argv, "job", archive);
        for (size_t i = 0; i < job.disks.size(); ++i) add_disk(command.argv, fmt::format("disk{}", i), job.disks[i]);
    }
    add({"-append", kernel_words() + " lyra.driver=amdgpu", "-d", "guest_errors,unimp", "-D",
         (work.path() / "device").string()});
    if (memory && !timed) {
        if (job.terminal)
            add({"-chardev", "stdio,id=tty,mux=on,signal=off", "-mon", "chardev=tty"});
        else
            add({"-chardev", "null,id=tty"});
        add({"-device", kTerminal});
    }
    std::optional<GoOn> go_on;
    if (memory) {
        const auto [ours, theirs] = stream_pair();
        command.keep.push_back(theirs);
        add({"-chardev", fmt::format("socket,id=monitor,fd={}", theirs), "-mon", "chardev=monitor,mode=control"});
        go_on.emplace(ours, *memory, timed);
        ports.push_back({nullptr, [&](const char* data, size_t bytes) { go_on->feed(data, bytes); }, ours, theirs});
    }
    // A guest that stops for its debugger at a panic would not be the same, and in virtual time nobody reads a socket.
    std::optional<GuestMonitor> monitor;
    if (!tree_.empty() && !timed && !options_.gdb) {
        const auto [ours, theirs] = stream_pair();
        result.vmcore = fs::path(result.log).replace_extension(".vmcore");
        monitor.emplace(ours, result.vmcore);
        command.keep.push_back(theirs);
        const std::vector<std::string> words = GuestMonitor::words(theirs);
        command.argv.insert(command.argv.end(), words.begin(), words.end());
        ports.push_back({nullptr, [&](const char* data, size_t bytes) { monitor->feed(data, bytes); }, ours, theirs});
    }
    for (Port& port : ports) {
        if (port.name == nullptr) continue;
        if (timed) {
            const fs::path file = work.path() / fmt::format("port-{}", port.name);
            write_text(file, "");
            port.ours = open(file.c_str(), O_RDONLY | O_CLOEXEC);
            add({"-chardev", fmt::format("file,id={},path={}", port.name, comma_safe(file.string()))});
        } else {
            std::tie(port.ours, port.theirs) = stream_pair();
            command.keep.push_back(port.theirs);
            add({"-chardev", fmt::format("socket,id={},fd={}", port.name, port.theirs)});
        }
        add({"-device", fmt::format("virtserialport,chardev={0},name=lyra.{0}", port.name)});
    }
    command.environment = {{"LD_LIBRARY_PATH", library_dir().string()}};
    command.err = open((work.path() / "qemu").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    command.out = command.err;
    if (job.terminal) {
        command.own_group = false;  // it has to read from the terminal
        command.in = Command::kInherit;
        command.out = -1;
    }

    const auto start = std::chrono::steady_clock::now();
    {
        Child child(command);
        close(command.err);
        for (Port& port : ports) {
            if (port.theirs >= 0) close(port.theirs);
        }
        if (memory && !timed) {
            const auto now =
                std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
            const std::string words =
                fmt::format("lyra.date={}{}\n", now.count(), options_.share.empty() ? "" : " lyra.share=share");
            (void)!send(ports[kControlPort].ours, words.data(), words.size(), MSG_NOSIGNAL);
        }
        const auto look = [&] {
            result.host_bytes =
                std::max(result.host_bytes, child.dirty_bytes_beside({bytes_of(options_.mem), bytes_of(options_.vram)}));
        };
        const GuestResult::End end =
            timed ? pump_files(ports, child, options_.timeout_s) : pump(ports, options_.timeout_s, look);
        if (end == GuestResult::End::Finished) child.wait(10);
        child.stop();
        read_control(control, result);
        if (timed || !record_.empty()) result.trace = read_stats(work.path() / "stats");
        if (result.trace) result.trace->virtual_time = timed;
        take_kernel_events(kernel_trace, options_.trace, result);
        if (result.end != GuestResult::End::Finished)
            result.end = end == GuestResult::End::Finished ? GuestResult::End::Died : end;
    }
    for (Port& port : ports) {
        if (port.ours >= 0) close(port.ours);
    }
    result.total_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    const bool began = control.find("start\n") != std::string::npos;
    if (memory && !began && result.end == GuestResult::End::Died) {
        complain("the saved machine does not go on: " + read_text(work.path() / "qemu"));
        snapshot_of(as).remove();
        if (job.terminal) return result;
        GuestMachine again(*this);
        again.options_.snapshot = false;
        return again.run(job, out, err);
    }
    if (!monitor || !monitor->has_vmcore()) result.vmcore.clear();
    if (monitor && !monitor->error().empty()) result.errors.push_back("no vmcore: " + monitor->error());
    std::string text = (memory ? read_text(memory->serial()) : "") + read_text(work.path() / "serial");
    if (!tree_.empty()) result.splat = kernel_splat(result.dmesg.empty() ? text : result.dmesg);
    if (result.end == GuestResult::End::Finished) {
        const std::string part = kernel_lacks(options_.debug, text);
        if (!part.empty()) result.errors.push_back("--debug " + part + ": the kernel does not say that it is on");
    }
    const bool good = result.end == GuestResult::End::Finished && result.errors.empty() && result.splat.empty();
    if (!good || !options_.log.empty()) {
        for (const char* part : {"device", "qemu"})
            text += fmt::format("\n--- {} ---\n{}", part, read_text(work.path() / part));
        write_text(result.log, text + "\n--- dmesg ---\n" + result.dmesg);
    }
    return result;
}

void report_trace(const GuestResult& result) {
    if (!result.trace || result.end != GuestResult::End::Finished) return;
    const GuestResult::Trace& trace = *result.trace;
    talk(trace_summary(trace.hash, trace.events, trace.virtual_ns, trace.virtual_time));
}

int report(const GuestResult& result, const GuestOptions& options) {
    for (const std::string& error : result.errors) complain("guest: " + error);
    const bool good = result.end == GuestResult::End::Finished && result.errors.empty() && result.splat.empty();
    if (!result.splat.empty()) complain("the guest's kernel says:\n" + result.splat);
    if (!result.vmcore.empty()) complain(vmcore_advice(options, result.vmcore));
    if (result.end == GuestResult::End::Died) complain("the guest ended before the program did");
    if (result.end == GuestResult::End::TimedOut)
        complain(fmt::format("not finished after {} s (--timeout)", options.timeout_s));
    if (!good && result.end != GuestResult::End::Interrupted) complain("boot log: " + result.log.string());
    report_trace(result);
    switch (result.end) {
        case GuestResult::End::Finished: return result.status == kOk && !result.splat.empty() ? kFailed : result.status;
        case GuestResult::End::TimedOut: return kTimedOut;
        case GuestResult::End::Interrupted: return kInterrupted;
        case GuestResult::End::Died: return result.splat.empty() ? kOurBug : kFailed;
    }
    return kOurBug;
}

}  // namespace lyra::cli
