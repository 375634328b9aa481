// SPDX-License-Identifier: MIT
// The same sources by several compilers, at several optimisation levels, for both chips: every answer has to be the one of the
// host's build, bit for bit. lyra_isa_compilers [--quick] [--clang 15|17|19|21]... [--seed N]; one line for each configuration;
// exit status 1 when an answer differs or a compiler fails, 2 for usage.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "facts/chips.h"
#include "tools/inproc/kernel_runner.h"
#include "tools/isa/host_program.h"

namespace lyra::isa {
namespace {

namespace fs = std::filesystem;
using inproc::argument;
using inproc::GpuBuffer;
using inproc::KernelRunner;
using inproc::RunOutcome;

constexpr uint32_t kGroups = 4, kGroup = 128, kItems = kGroups * kGroup, kInputs = 8, kOutputs = 16;  // as portable.h
using Words = std::vector<uint64_t>;

struct Compiler {
    const char* name;
    const char* command;  ///< %P: this program's source folder
    const char* device_library;  ///< as that compiler sees it
    Chip last = kChips[std::size(kChips) - 1].chip;  ///< that it knows
};
constexpr Compiler kCompilers[] = {
    {"15", "%P/guest_clang.sh --release bookworm", "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode", Chip::gfx90a},
    {"17", "%P/guest_clang.sh --release trixie", "/usr/lib/llvm-17/lib/clang/17/amdgcn/bitcode"},
    {"19", "clang-19", LYRA_DEVICE_LIBRARY},
    {"21", "%P/guest_clang.sh --release sid", "/usr/lib/llvm-21/lib/clang/21/amdgcn/bitcode"},
};
constexpr const char* kCommon = "-ffp-contract=off -fwrapv -w";

struct Source {
    const char* file;
    bool hip;
    std::vector<const char*> kernels;
};
const Source kSources[] = {
    {"arithmetic.cl",
     false,
     {"integers", "divisions", "integer_functions", "sub_dwords", "floats", "doubles", "halves", "vectors"}},
    {"control.cl",
     false,
     {"switches", "divergent_loops", "early_exits", "calls", "private_arrays", "register_pressure", "structures",
      "shared_memory", "generic_pointers", "atomics", "group_shapes"}},
    {"objects.hip", true, {"matrices", "indirect_calls", "lambdas", "bit_fields", "wide", "variables", "sorting", "counters"}},
};

/// An optimisation level, and which compilers are asked for it.
struct Level {
    const char* name;
    const char* options;
    bool quick;
};
constexpr Level kLevels[] = {{"-O0", "-O0", true}, {"-O1", "-O1", false}, {"-O3", "-O3", true}};

/// Wrong code of a compiler: where an answer differs, these options are tried instead, which leave the fault out; with them
/// every answer has to be right.
struct Fault {
    const char* compiler;
    const char* level;
    const char* kernel;  ///< nullptr: any
    const char* options;
    const char* reason;
};
// Where divergent control flow joins, spilled vector registers are reloaded before EXEC has all lanes again, so that lanes of
// the other path keep what they had (llvm-project pull requests 69923 and 69924). The register allocator of the other levels
// does not do that.
constexpr const char* kWithoutPasses = "-O1 -Xclang -disable-llvm-passes";
constexpr Fault kFaults[] = {
    {"17", "-O0", nullptr, kWithoutPasses, "registers reloaded too early"},
    // s_lshl_b64 of 0xffff, not 0xff, makes the mask of v_bfi_b32: the next byte is overwritten too.
    {"15", "-O1", "sub_dwords", "-O1 -mllvm -disable-promote-alloca-to-vector", "a byte put into a register overwrites two"},
};

struct Options {
    bool quick = false;
    std::vector<std::string> compilers;
    uint64_t seed = 1;
};

/// Random words; some are small, some have few bits.
Words inputs(uint64_t seed) {
    Words words(size_t{kItems} * kInputs);
    uint64_t state = seed;
    for (uint64_t& word : words) {
        uint64_t v = state += 0x9e3779b97f4a7c15;
        v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9;
        v = (v ^ (v >> 27)) * 0x94d049bb133111eb;
        word = v ^ (v >> 31);
        if (v % 16 == 0) word >>= word & 63;
        if (v % 64 == 1) word = ~uint64_t{0} << (word & 63);
    }
    return words;
}

class Matrix {
public:
    Matrix(const Options& options, const fs::path& work) : options_(options), work_(work), in_(inputs(options.seed)) {}

    int run() {
        fs::current_path(work_);
        for (const auto& entry : fs::directory_iterator(fs::path(LYRA_ISA_SOURCE) / "programs")) fs::copy(entry.path(), work_);
        for (const Source& source : kSources) host(source);
        for (const Compiler& compiler : kCompilers) {
            const auto& chosen = options_.compilers;
            if (!chosen.empty() && std::find(chosen.begin(), chosen.end(), compiler.name) == chosen.end()) continue;
            for (const Level& level : kLevels) {
                if (options_.quick && !level.quick) continue;
                for (const char* chip : kChipNames) {
                    if (find_chip(chip)->chip > compiler.last) continue;
                    if (options_.quick && chip != kChipNames[level.options[2] == '3']) continue;
                    for (const Source& source : kSources) {
                        if (source.hip || has_device_library(compiler, chip))
                            configuration(compiler, level, chip, source);
                        else
                            fmt::print("clang-{} {} {} {}: not run, the device library does not know the chip\n", compiler.name,
                                       level.name, chip, source.file);
                    }
                }
            }
        }
        fmt::print("compilers: {} answers of {} configurations, seed {}: {} wrong: {}\n", answers_, configurations_,
                   options_.seed, wrong_, wrong_ == 0 && answers_ > 0 ? "PASSED" : "FAILED");
        return wrong_ == 0 && answers_ > 0 ? 0 : 1;
    }

private:
    /// Debian 12's library on the host is older than clang-19; those of the guests came with their compilers.
    static bool has_device_library(const Compiler& compiler, const std::string& chip) {
        const fs::path library = fs::path(compiler.device_library) / fmt::format("oclc_isa_version_{}.bc", chip.substr(3));
        return compiler.command[0] == '%' || fs::exists(library);
    }
    bool shell(const std::string& command) {
        if (std::system(fmt::format("( {} ) >messages 2>&1", command).c_str()) == 0) return true;
        fmt::print("failed: {}\n", command);
        std::fflush(stdout);
        if (std::system("head -n 10 messages") != 0) fmt::print("no messages\n");
        ++wrong_;
        return false;
    }

    /// What the host's build answers.
    void host(const Source& source) {
        const std::string library = (work_ / (std::string(source.file) + ".so")).string();
        const char* language = source.hip ? "-x c++ -std=c++17" : "-x cl -cl-std=CL2.0 -cl-no-stdinc";
        if (!shell(fmt::format("clang-19 {} {} -O1 -mf16c -mfma -fPIC -c {} -o host.o && clang-19 -shared host.o -lm -o {}",
                               language, kCommon, source.file, library))) {
            return;
        }
        HostProgram program(library);
        for (const char* kernel : source.kernels) {
            Words out(size_t{kItems} * kOutputs);
            if (program.run(kernel, kGroups, kGroup, out.data(), in_.data())) {
                expected_.emplace_back(kernel, std::move(out));
            } else {
                fmt::print("host: no kernel {} {}\n", kernel, program.error());
                ++wrong_;
            }
        }
    }

    std::string compile(const Compiler& compiler, const std::string& options, const char* chip, const Source& source) {
        std::string command = compiler.command;
        if (command.rfind("%P", 0) == 0) command = LYRA_ISA_SOURCE + command.substr(2);
        const std::string language =
            source.hip
                ? fmt::format(
                      "-x hip --offload-device-only --no-gpu-bundle-output -nogpuinc -nogpulib -std=c++17 --offload-arch={}",
                      chip)
                : fmt::format(
                      "-x cl -cl-std=CL2.0 -Xclang -finclude-default-header -target amdgcn-amd-amdhsa -mcpu={} "
                      "--rocm-device-lib-path={} -cl-fp32-correctly-rounded-divide-sqrt",
                      chip, compiler.device_library);
        const std::string output = fmt::format("device-{}.co", configurations_);
        return shell(fmt::format("{} {} {} {} {} -o {}", command, language, kCommon, options, source.file, output)) ? output
                                                                                                                    : "";
    }

    /// @return the names of the kernels whose answers differ
    std::vector<std::string> differing(const std::string& code_object, const char* chip, const Source& source) {
        std::vector<std::string> names;
        for (const char* kernel : source.kernels) {
            if (!same(code_object, chip, kernel)) names.push_back(kernel);
        }
        return names;
    }
    bool same(const std::string& code_object, const char* chip, const char* kernel) {
        inproc::InProcessOptions device;
        device.chip = chip;
        KernelRunner runner(code_object, device);
        const auto expected =
            std::find_if(expected_.begin(), expected_.end(), [&](const auto& each) { return each.first == kernel; });
        if (!runner.error().empty() || expected == expected_.end()) return complain(kernel, runner.error());
        const GpuBuffer out = runner.buffer(Words(size_t{kItems} * kOutputs)), in = runner.buffer(in_);
        inproc::LaunchShape shape;
        shape.grid[0] = kItems;
        shape.block[0] = kGroup;
        const inproc::AqlDispatch packet = runner.packet(kernel, shape, {argument(out.va), argument(in.va)});
        inproc::RunLimits limits;
        limits.instructions = 2'000'000'000;
        limits.seconds = 600;
        if (!runner.error().empty()) return complain(kernel, runner.error());
        if (runner.run(packet, limits) != RunOutcome::Done) return complain(kernel, "did not end");
        const Words got = KernelRunner::content<uint64_t>(out);
        ++answers_;
        const auto [a, b] = std::mismatch(got.begin(), got.end(), expected->second.begin());
        if (a == got.end()) return true;
        const size_t at = static_cast<size_t>(a - got.begin());
        difference_ = fmt::format("{}: item {} output {} is {:#x}, not {:#x}", kernel, at / kOutputs, at % kOutputs, *a, *b);
        return false;
    }
    bool complain(const char* kernel, const std::string& why) {
        difference_ = fmt::format("{}: {}", kernel, why);
        return false;
    }

    static const Fault* known_fault(const Compiler& compiler, const Level& level, const std::vector<std::string>& different) {
        for (const Fault& each : kFaults) {
            const bool all = !each.kernel || std::all_of(different.begin(), different.end(),
                                                         [&](const auto& name) { return name == each.kernel; });
            if (all && std::strcmp(each.compiler, compiler.name) == 0 && std::strcmp(each.level, level.name) == 0) return &each;
        }
        return nullptr;
    }

    void configuration(const Compiler& compiler, const Level& level, const char* chip, const Source& source) {
        ++configurations_;
        const std::string name = fmt::format("clang-{} {} {} {}", compiler.name, level.name, chip, source.file);
        const std::string code_object = compile(compiler, level.options, chip, source);
        if (code_object.empty()) return;
        std::vector<std::string> different = differing(code_object, chip, source);
        std::string remark;
        const Fault* fault = different.empty() ? nullptr : known_fault(compiler, level, different);
        if (fault) {
            remark = fmt::format(", {} with {}: {}", fmt::join(different, " "), fault->options, fault->reason);
            const std::string again = compile(compiler, fault->options, chip, source);
            if (again.empty()) return;
            different = differing(again, chip, source);
        }
        fs::remove(code_object);
        wrong_ += different.size();
        fmt::print("{:<36} {:>2} of {} the same{}\n", name, source.kernels.size() - different.size(), source.kernels.size(),
                   remark);
        if (!different.empty()) fmt::print("    {}; all: {}\n", difference_, fmt::join(different, " "));
        std::fflush(stdout);
    }

    const Options& options_;
    fs::path work_;
    Words in_;
    std::vector<std::pair<std::string, Words>> expected_;
    std::string difference_;
    unsigned configurations_ = 0;
    uint64_t answers_ = 0, wrong_ = 0;
};

bool parse(int argc, char** argv, Options& options) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--quick") {
            options.quick = true;
        } else if (word == "--clang" && i + 1 < argc) {
            options.compilers.push_back(argv[++i]);
            const auto known = [&](const Compiler& each) { return options.compilers.back() == each.name; };
            if (std::none_of(std::begin(kCompilers), std::end(kCompilers), known)) return false;
        } else if (word == "--seed" && i + 1 < argc) {
            options.seed = std::strtoull(argv[++i], nullptr, 10);
        } else {
            return false;
        }
    }
    return true;
}

}  // namespace
}  // namespace lyra::isa

int main(int argc, char** argv) {
    lyra::isa::Options options;
    if (!lyra::isa::parse(argc, argv, options)) {
        fmt::print(stderr, "usage: lyra_isa_compilers [--quick] [--clang 15|17|19|21]... [--seed N]\n");
        return 2;
    }
    std::string work = (std::filesystem::temp_directory_path() / "lyra-compilers-XXXXXX").string();
    if (!mkdtemp(work.data())) return 1;
    const int status = lyra::isa::Matrix(options, work).run();
    std::filesystem::current_path("/");
    std::filesystem::remove_all(work);
    return status;
}
