// SPDX-License-Identifier: MIT
// A virtual machine with the GPU in it, driven as tools/guest/PROTOCOL.md says.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/timing.h"
#include "common/trace_perfetto.h"
#include "tools/lyra/cli/artefact.h"
#include "tools/lyra/cli/cli.h"
#include "tools/lyra/cli/process.h"
#include "tools/lyra/cli/work_dir.h"
#include "tools/lyra/guest/options.h"
#include "tools/lyra/guest/snapshot.h"

namespace lyra::cli {

/// What the guest is to do: files for its /job folder, among them an executable `run`.
struct GuestJob {
    std::vector<std::pair<std::string, std::filesystem::path>> files;  ///< name in /job, file of the host
    std::string run;  ///< content of `run`
    /// In the place of run, in a guest that goes on from a saved machine: a program as a shared object, in files as program.so,
    /// with the name and arguments that it gets. It is started in a process in which HIP is up.
    std::vector<std::string> warm{};
    /// A job in virtual time that many others begin as: it calls `/usr/lib/lyra/host stop` where they part, as
    /// tools/guest/PROTOCOL.md says. The machine is saved there, and `run` is what base sources next.
    const GuestJob* base = nullptr;
    bool terminal = false;  ///< /dev/hvc0 is our terminal; only in a guest that goes on from a saved machine
    std::vector<std::filesystem::path> disks{};  ///< /dev/vdc, /dev/vdd, ..., read only; not in a deterministic guest
};

struct GuestResult {
    enum class End { Finished, Died, TimedOut, Interrupted } end = End::Died;
    int status = -1;  ///< exit status of the job when finished
    std::vector<std::string> errors;  ///< what the guest complained about (driver not loaded, ...)
    std::string dmesg;
    std::string splat;  ///< what a kernel of the user's own complained about; its text
    std::filesystem::path vmcore;  ///< its memory, when it has panicked
    struct Trace {
        uint64_t hash = 0, events = 0, virtual_ns = 0;
        bool virtual_time = true;  ///< false: virtual_ns is the device's time, which is the host's
    };
    std::optional<Trace> trace;  ///< of a deterministic run, or one that was recorded
    std::vector<KernelEvent> kernel_events;  ///< those that were asked for; a Perfetto trace has them too
    std::vector<std::pair<std::string, double>> times;  ///< stage, seconds since the kernel started, or since `resumed`
    double start_s = 0, total_s = 0;  ///< host: QEMU's start to the first stage is unknown, to the end is total_s
    /// The most that QEMU had written beside the memories of the guest and the GPU, looked at once a second. 0: not known
    uint64_t host_bytes = 0;
    std::filesystem::path log;  ///< exists unless it was removed after a good end
};

/// Receives output of the job as it comes.
using OutputSink = std::function<void(const char* data, size_t bytes)>;

class GuestMachine {
public:
    explicit GuestMachine(const GuestOptions& options);

    /// Make QEMU and the image if they are not there yet. Takes minutes the first time, then nothing.
    void prepare();
    /// The options let a guest go on from a saved machine.
    bool may_go_on() const { return can_go_on({}); }
    /// A prepared guest like this one, for a run in virtual time with another seed and files of its own. Several may run at a
    /// time.
    GuestMachine fork(uint64_t seed, std::string trace, std::string record) const;
    /// Boot, run, switch off.
    GuestResult run(const GuestJob& job, const OutputSink& out, const OutputSink& err);
    /// A shell on our terminal, in a saved machine if that is possible. @return exit code
    int shell();

private:
    /// What a machine is when it is saved, beside the options.
    struct SavedAs {
        uintmax_t job_bytes = 0;  ///< of its job's disk; none in virtual time
        bool warm = false;  ///< with a process in which HIP is up
        const GuestJob* base = nullptr;
    };
    /// A saved machine has a disk for jobs of up to this size; twice, four times as much for a longer one.
    static constexpr uintmax_t kJobDiskBytes = uintmax_t{64} << 20;
    std::filesystem::path pack(GuestJob job, const std::filesystem::path& work, bool with_driver = true,
                               bool is_base = false) const;
    // command_line.cpp
    std::vector<std::string> board(const std::string& accelerator, const std::string& cpu, unsigned processors,
                                   const MemoryFiles* memory) const;
    std::vector<std::string> machine(const std::filesystem::path& work, const std::filesystem::path& serial_log,
                                     const MemoryFiles* memory = nullptr) const;
    bool can_go_on(const GuestJob& job) const;
    bool has_snapshot(const GuestSnapshot& snapshot, const SavedAs& as) const;
    int saved_shell();
    int booted_shell();
    void add_disk(std::vector<std::string>& argv, const std::string& id, const std::filesystem::path& file) const;
    GuestSnapshot snapshot_of(const SavedAs& as) const;
    bool make_snapshot(const GuestSnapshot& snapshot, const SavedAs& as) const;
    std::vector<std::string> deterministic_machine(const std::filesystem::path& work,
                                                   const MemoryFiles* memory = nullptr) const;
    std::vector<std::string> with_initrd(const std::filesystem::path& work, const std::filesystem::path& job) const;
    std::vector<std::string> with_job(const std::filesystem::path& work, const std::filesystem::path& job) const;
    std::vector<std::string> further_words(const std::filesystem::path& work) const;
    std::string device_words(const MemoryFiles* memory = nullptr) const;
    std::string kernel_words(bool shares = true) const;
    std::filesystem::path log_path() const;

    GuestOptions options_;
    Timing timing_;  ///< as options_ has set it
    std::filesystem::path qemu_, image_, driver_, tree_;
    std::string record_;  ///< recording of the guest that runs; empty: none
};

/// Say what the GPU did in a deterministic run that has finished.
void report_trace(const GuestResult& result);

/// The exit code of the verb for a result, after telling the user what is wrong and where the log is.
int report(const GuestResult& result, const GuestOptions& options);

}  // namespace lyra::cli
