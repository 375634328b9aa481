// SPDX-License-Identifier: MIT
// The programs that prove the instruction set, and how they are built and run.
#include "tools/lyra/test/isa.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gcn-interp/translator/translator.h"
#include "tools/lyra/cli/cli.h"
#include "tools/lyra/guest/machine.h"

namespace lyra::cli {

namespace {

namespace fs = std::filesystem;

/// On what a proof runs its instructions.
enum class Runs {
    Anywhere,     ///< on the interpreter, or on none
    BackEnds,     ///< on every back end of the interpreter that the host can run, one after the other
    Program,      ///< on generated code and the interpreter, which the program compares itself: once for each back end
    Device,       ///< on a device, in shadow mode: once for each back end
};

/// A long proof of `lyra test --isa`: a program of the release build. It has passed when it ends with 0 and its last line of
/// output, which is shown with the result, says so.
struct IsaProof {
    std::string name;
    const char* program;                     ///< target of CMake, built when it is needed; exit status 77: skipped
    std::vector<std::string> arguments;
    const char* says;                        ///< part of the last line
    std::vector<std::string> environment = {};
    bool alone = false;  ///< uses all processors by itself; the others run side by side
    Runs on = Runs::Anywhere;
    bool by_itself = false;  ///< on a device: each tier once more without the other; the last lines are equal
    bool shadow = false;  ///< has to say that generated code was compared
    std::string not_run = {};  ///< why this host cannot run it
    const char* release = nullptr;  ///< with LLVM of a guest's root file system (tools/isa/with_llvm.sh)
    unsigned timeout_s = 7200;
};

// A program of GoogleTest, longer than in the tests.
#define GOLDEN(name, program, rounds, ...) \
    {name, program, {}, "[  PASSED  ]", {"LYRA_GOLDEN_ROUNDS=" #rounds}, false, ##__VA_ARGS__}
// One optimising compiler each, so that they run side by side.
#define COMPILERS(version)                                                \
    {"one answer from clang-" version " at three levels, for both chips", \
     "lyra_isa_compilers",                                                \
     {"--clang", version},                                                \
     " 0 wrong: PASSED",                                                  \
     {},                                                                  \
     false,                                                               \
     Runs::Device}
#define DIVISION(pairs, seed)                           \
    {"division, reciprocal and square root are IEEE's", \
     "lyra_isa_division",                               \
     {pairs, seed},                                     \
     " 0 wrong: PASSED",                                \
     {},                                                \
     false,                                             \
     Runs::Device}

// The longest first.
std::vector<IsaProof> proofs_once() {
    return {
        {"decoding and text are LLVM 19's on random dwords", "gcn_llvm_random", {"100000000"}, ", 0 others, ", {}, true},
        {.name = "decoding and text are LLVM 21's on random dwords",
         .program = "gcn_llvm_random",
         .arguments = {"100000000"},
         .says = ", 0 others, ",
         .alone = true,
         .release = "sid"},
        DIVISION("10000000", "1"),
        COMPILERS("21"),
        COMPILERS("19"),
        COMPILERS("17"),
        COMPILERS("15"),
        {"random C programs answer as on the host",
         "lyra_isa_random",
         {"20", "1"},
         " 0 wrong: PASSED",
         {},
         false,
         Runs::Device},
        GOLDEN("vector operations equal the reference model", "gcn_golden_test", 3000, Runs::BackEnds),
        GOLDEN("memory operations equal the reference model", "gcn_memory_golden_test", 1000, Runs::BackEnds),
        GOLDEN("scalar operations equal the reference model", "gcn_scalar_golden_test", 5000),
        GOLDEN("the reference model equals MPFR", "gcn_mpfr_test", 1000),
        {"transcendental routines equal their lane functions for every f32",
         "gcn_transcendental_test",
         {},
         "[  PASSED  ]",
         {"LYRA_EXHAUSTIVE=1"},
         false,
         Runs::BackEnds},
        {"OpenCL's functions are within their bounds", "lyra_isa_ocml", {"16384"}, "PASSED", {}, false, Runs::Device, true},
        {"random programs and every emitter do what the interpreter does",
         "gcn_translator_test",
         {"--gtest_filter=*.RandomPrograms*/BACKEND_*:*.EveryEmitter*/BACKEND_*"},
         "[  PASSED  ] 8 tests.",  // of four chips
         {"LYRA_TRANSLATOR_PROGRAMS=100000"},
         false,
         Runs::Program},
        {"random machines with memory, traps and saves do what the interpreter's do",
         "gcn_tiers_fuzz",
         {"--random", "100000"},
         " inputs",
         {"LYRA_BACKEND=BACKEND"},
         false,
         Runs::Program},
    };
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

std::string name_of(gcn::Backend backend) { return gcn::kBackendNames[static_cast<unsigned>(backend)]; }
std::string lacks(gcn::Backend backend) { return fmt::format("not run: this host has no {}", name_of(backend)); }

/// A row for each back end that generated code is for; those that this host cannot run say so.
std::vector<IsaProof> isa_proofs() {
    std::vector<IsaProof> out;
    const auto with = [&out](IsaProof proof, const std::string& on, std::vector<std::string> environment) -> IsaProof& {
        proof.name += fmt::format(" ({})", on);
        proof.environment.insert(proof.environment.end(), environment.begin(), environment.end());
        return out.emplace_back(std::move(proof));
    };
    for (const IsaProof& proof : proofs_once()) {
        if (proof.on == Runs::Anywhere || proof.on == Runs::BackEnds) {
            out.push_back(proof);
            for (const gcn::Backend backend : gcn::kAllBackends) {
                if (proof.on == Runs::BackEnds && !gcn::supported(backend))
                    with(proof, name_of(backend), {}).not_run = lacks(backend);
            }
            continue;
        }
        if (proof.by_itself) with(proof, "interpreter", {"LYRA_JIT=off", "LYRA_SHADOW=0"});
        for (const gcn::Backend backend : {gcn::Backend::Avx512, gcn::Backend::Avx2}) {
            const std::string name = name_of(backend);
            const std::string jit = fmt::format("LYRA_JIT=eager{}", backend == gcn::Backend::Avx2 ? ",avx2" : "");
            const std::string not_run = gcn::supported(backend) ? "" : lacks(backend);
            if (proof.by_itself) with(proof, name, {jit, "LYRA_SHADOW=0"}).not_run = not_run;
            IsaProof& both = with(proof, name + " and interpreter", {});
            both.not_run = not_run;
            both.by_itself = false;
            if (proof.on == Runs::Device) {
                both.environment.insert(both.environment.end(), {"LYRA_SHADOW=1", jit});
                both.shadow = true;
            }
            for (std::string& each : both.arguments) replace_all(each, "BACKEND", name);
            for (std::string& each : both.environment) replace_all(each, "=BACKEND", "=" + name);
        }
    }
    return out;
}

#undef GOLDEN
#undef COMPILERS
#undef DIVISION

// A program of the release build tree, with tests.
fs::path isa_build() { return cache_dir() / (own_program().parent_path().parent_path().filename().string() + "-isa"); }

// @return why it failed
std::string build_isa_proof(unsigned jobs, const std::string& target) {
    const fs::path build = isa_build(), source = build / "src";
    fs::create_directories(build);
    if (!fs::is_symlink(source)) fs::create_directory_symlink(source_dir(), source);
    const std::vector<std::vector<std::string>> steps = {
        {"cmake", "-S", source.string(), "-B", build.string(), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DLYRA_TESTS=ON",
         fmt::format("-DLYRA_AVX512={}", gcn::supported(gcn::Backend::Avx512) ? "ON" : "OFF")},
        {"ninja", "-C", build.string(), "-j", std::to_string(jobs), target},
    };
    for (const auto& step : steps) {
        const Captured result = capture(step, true);
        if (interrupted) throw Interrupted();
        if (result.status != 0) return result.out + result.err;
    }
    return "";
}

// Where a target's program lies, empty without any.
fs::path find_program(const fs::path& build, const std::string& name) {
    std::error_code error;
    for (const auto& each : fs::directory_iterator(build, error)) {
        if (each.is_directory() && fs::is_regular_file(each.path() / name, error)) return each.path() / name;
    }
    return {};
}

/// What tiers have said that ran by themselves.
class Answers {
public:
    void add(const IsaProof& proof, const std::string& said) {
        const std::lock_guard hold(lock_);
        said_[proof.program].emplace_back(proof.name, said);
    }
    void compare(Report& report) const {
        for (const auto& [program, answers] : said_) {
            const std::string name = fmt::format("{} says the same on {} tiers", program, answers.size());
            std::string all;
            bool equal = true;
            for (const auto& [on, said] : answers) {
                all += fmt::format("{}: {}\n", on, said);
                equal &= said == answers.front().second;
            }
            if (answers.size() < 2)
                report.add("isa", name, Verdict::Skipped, "not run: there is nothing to compare");
            else
                report.add("isa", name, equal ? Verdict::Passed : Verdict::Failed, all);
        }
    }

private:
    std::mutex lock_;
    std::map<std::string, std::vector<std::pair<std::string, std::string>>> said_;
};

Outcome run_isa_proof(const IsaProof& proof, Answers& answers) try {
    std::vector<std::string> argv{"env"};
    argv.insert(argv.end(), proof.environment.begin(), proof.environment.end());
    if (proof.release != nullptr) argv.insert(argv.end(), {(source_dir() / "tools/isa/with_llvm.sh").string(), proof.release});
    argv.push_back(find_program(isa_build(), proof.program).string());
    argv.insert(argv.end(), proof.arguments.begin(), proof.arguments.end());
    const Captured result = capture(argv, true, proof.timeout_s);
    const std::string said = last_line(result.out);
    // With nothing compared, it would be a proof of nothing.
    const bool compared = result.err.find("lyra: shadow mode compared ") != std::string::npos &&
                          result.err.find("compared 0 instructions") == std::string::npos;
    const bool good =
        result.status == 0 && !result.timed_out && said.find(proof.says) != std::string::npos && (compared || !proof.shadow);
    const Verdict verdict = good                                             ? Verdict::Passed
                            : result.status == kSkipped && !result.timed_out ? Verdict::Skipped
                                                                             : Verdict::Failed;
    const std::string why = result.timed_out ? fmt::format("not finished after {} s\n", proof.timeout_s)
                            : proof.shadow && !compared
                                ? fmt::format("exit status {}, and no generated code was compared\n", result.status)
                                : fmt::format("exit status {}, last line without \"{}\"\n", result.status, proof.says);
    if (proof.by_itself) answers.add(proof, said);
    return {"isa", said.empty() ? proof.name : fmt::format("{}: {}", proof.name, said), verdict,
            good ? "" : why + result.out + result.err};
} catch (const std::exception& error) {
    return {"isa", proof.name, Verdict::Failed, error.what()};
}

}  // namespace

// The long proofs of the instruction set, without sanitizers, as many at a time as there are jobs. One line each: the last one
// that the program prints.
void test_isa(unsigned jobs, Report& report) {
    Progress progress;
    std::map<std::string, std::string> failed_builds;
    const std::vector<IsaProof> proofs = isa_proofs();
    for (const IsaProof& proof : proofs) {
        if (!proof.not_run.empty() || failed_builds.count(proof.program)) continue;
        progress.show(fmt::format("building {} ...", proof.program));
        failed_builds[proof.program] = build_isa_proof(jobs, proof.program);
    }
    std::mutex lock;
    const auto tell = [&](const Outcome& outcome) {
        std::lock_guard hold(lock);
        progress.clear();
        report.add(outcome.group, outcome.name, outcome.verdict, outcome.detail);
    };
    Answers answers;
    std::vector<const IsaProof*> side_by_side;
    for (const IsaProof& proof : proofs) {
        if (!proof.not_run.empty()) {
            tell({"isa", proof.name, Verdict::Skipped, proof.not_run});
        } else if (const std::string& log = failed_builds[proof.program]; !log.empty()) {
            tell({"isa", proof.name, Verdict::Failed, log});
        } else if (!proof.alone) {
            side_by_side.push_back(&proof);
        } else {
            progress.show(fmt::format("{} ...", proof.name));
            const Outcome outcome = run_isa_proof(proof, answers);
            if (interrupted) throw Interrupted();
            tell(outcome);
        }
    }
    progress.show(fmt::format("{} proofs, {} at a time ...", side_by_side.size(), jobs));
    std::atomic<size_t> next{0};
    const auto work = [&] {
        for (size_t n; !interrupted && (n = next++) < side_by_side.size();) {
            const Outcome outcome = run_isa_proof(*side_by_side[n], answers);
            if (!interrupted) tell(outcome);
        }
    };
    std::vector<std::thread> threads;
    for (unsigned n = 1; n < jobs; ++n) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    progress.clear();
    if (interrupted) throw Interrupted();
    answers.compare(report);
}

}  // namespace lyra::cli
