// SPDX-License-Identifier: MIT
// Random C programs (csmith) by clang-15 and clang-19 at several levels on the device in this process, against the host's
// build: lyra_isa_random COUNT SEED. A program's answer is a hash of its variables. Exit status 1 when one differs.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/inproc/kernel_runner.h"
#include "tools/isa/host_program.h"

namespace lyra::isa {
namespace {

namespace fs = std::filesystem;
using inproc::argument;
using inproc::GpuBuffer;
using inproc::KernelRunner;
using inproc::RunOutcome;

constexpr const char* kKernel = "random_program";
constexpr const char* kOptions = "-x c -std=gnu11 -fwrapv -fno-strict-aliasing -w -Iprograms -Icsmith";

// That of bookworm's hipcc. It sees the current folder and what is below it.
constexpr const char* kClang15 = LYRA_ISA_SOURCE "/guest_clang.sh --release bookworm";

struct Configuration {
    const char* compiler;
    const char* level;
    const char* chip;
};
constexpr Configuration kConfigurations[] = {
    {kClang15, "-O0", "gfx900"},   {kClang15, "-O3", "gfx906"},   {"clang-19", "-O0", "gfx906"},
    {"clang-19", "-O1", "gfx900"}, {"clang-19", "-O3", "gfx900"}, {"clang-19", "-O3", "gfx906"},
};

/// What a program leaves: a hash of its variables, and how many they were.
struct Answer {
    uint64_t hash = 0, variables = 0;
    bool operator==(const Answer&) const = default;
};

class RandomPrograms {
public:
    explicit RandomPrograms(const fs::path& work) {
        fs::copy(LYRA_ISA_SOURCE "/programs", work / "programs");
        fs::copy(LYRA_CSMITH_INCLUDE, work / "csmith", fs::copy_options::recursive);
        fs::current_path(work);
    }

    int run(uint64_t count, uint64_t seed) {
        for (uint64_t i = 0; i < count; ++i) one(seed + i);
        const bool good = wrong_ == 0 && answers_ > 0 && answers_ >= 3 * (count - too_long_);  // of six configurations
        fmt::print(
            "random programs: {} from seed {}, {} of them too long, {} crashes of a compiler, {} answers, {} wrong: {}\n",
            count, seed, too_long_, crashed_, answers_, wrong_, good ? "PASSED" : "FAILED");
        return good ? 0 : 1;
    }

private:
    /// A crash of a compiler is its own fault, everything else that fails is ours.
    bool shell(const std::string& command) {
        if (std::system((command + " >messages 2>&1").c_str()) == 0) return true;
        if (std::system("grep -q 'PLEASE submit a bug report' messages") == 0) {
            fmt::print("crashed: {}\n", command);
            ++crashed_;
            return false;
        }
        fmt::print("failed: {}\n", command);
        std::fflush(stdout);
        if (std::system("head -n 10 messages") != 0) fmt::print("no messages\n");
        ++wrong_;
        return false;
    }

    /// In a process of its own: some programs do not end.
    static bool on_host(Answer& answer) {
        constexpr unsigned kSeconds = 1;
        void* shared = mmap(nullptr, sizeof(Answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) return false;
        const pid_t child = fork();
        if (child == 0) {
            const rlimit limit{kSeconds, kSeconds};
            setrlimit(RLIMIT_CPU, &limit);
            HostProgram program((fs::current_path() / "host.so").string());
            _exit(program.run(kKernel, 1, 1, shared, shared) ? 0 : 1);
        }
        int status = -1;
        if (child > 0) waitpid(child, &status, 0);
        answer = *static_cast<const Answer*>(shared);
        munmap(shared, sizeof(Answer));
        return status == 0;
    }

    static RunOutcome on_device(const Configuration& how, Answer& answer, std::string& error) {
        inproc::InProcessOptions options;
        options.chip = how.chip;
        KernelRunner runner("device.co", options);
        error = runner.error();
        if (!error.empty()) return RunOutcome::Stuck;
        const GpuBuffer out = runner.buffer(std::vector<Answer>(1));
        const inproc::AqlDispatch packet = runner.packet(kKernel, {}, {argument(out.va), argument(out.va)});
        inproc::RunLimits limits;
        limits.instructions = 500'000'000;
        limits.seconds = 600;
        error = runner.error();
        const RunOutcome outcome = error.empty() ? runner.run(packet, limits) : RunOutcome::Stuck;
        answer = KernelRunner::content<Answer>(out)[0];
        return outcome;
    }

    void one(uint64_t seed) {
        if (!shell(fmt::format("csmith --no-argc --no-volatiles --seed {} -o random.c", seed))) return;
        if (!shell(fmt::format("clang-19 {} -O1 -fPIC -shared random.c -o host.so", kOptions))) return;
        Answer want;
        if (!on_host(want)) {
            ++too_long_;
            return;
        }
        for (const Configuration& how : kConfigurations) {
            if (!shell(fmt::format("{} -target amdgcn-amd-amdhsa -mcpu={} -nogpulib -ffreestanding {} {} random.c -o device.co",
                                   how.compiler, how.chip, kOptions, how.level))) {
                continue;
            }
            Answer got;
            std::string error;
            const RunOutcome outcome = on_device(how, got, error);
            if (outcome == RunOutcome::OutOfBudget || outcome == RunOutcome::OutOfTime) {
                ++too_long_;
                return;
            }
            ++answers_;
            if (outcome == RunOutcome::Done && got == want) continue;
            ++wrong_;
            fmt::print("seed {} by {} {} for {}: {:#x} of {} variables, not {:#x} of {} {}\n", seed, how.compiler, how.level,
                       how.chip, got.hash, got.variables, want.hash, want.variables,
                       outcome == RunOutcome::Done ? "" : "did not end " + error);
        }
    }

    uint64_t answers_ = 0, wrong_ = 0, too_long_ = 0, crashed_ = 0;
};

}  // namespace
}  // namespace lyra::isa

int main(int argc, char** argv) {
    const uint64_t count = argc == 3 ? std::strtoull(argv[1], nullptr, 10) : 0;
    if (count == 0) {
        fmt::print(stderr, "usage: lyra_isa_random COUNT SEED\n");
        return 2;
    }
    std::string work = (std::filesystem::temp_directory_path() / "lyra-random-XXXXXX").string();
    if (!mkdtemp(work.data())) return 1;
    const int status = lyra::isa::RandomPrograms(work).run(count, std::strtoull(argv[2], nullptr, 10));
    std::filesystem::current_path("/");
    std::filesystem::remove_all(work);
    return status;
}
