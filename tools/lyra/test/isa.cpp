// SPDX-License-Identifier: MIT
// The programs that prove the instruction set, and how they are built and run.
#include "tools/lyra/test/isa.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "gcn-interp/translator/translator.h"
#include "tools/lyra/cli/cli.h"
#include "tools/lyra/guest/machine.h"

namespace lyra::cli {

namespace {

namespace fs = std::filesystem;

/// A long proof of `lyra test --isa`: a program of the release build. It has passed when it ends with 0 and its last line of
/// output, which is shown with the result, says so.
struct IsaProof {
    std::string name;
    const char* program;                     ///< target of CMake, built when it is needed; exit status 77: skipped
    std::vector<std::string> arguments;
    const char* says;                        ///< part of the last line
    std::vector<std::string> environment = {};
    bool alone = false;                      ///< uses all processors by itself; the others run side by side
    bool on_device = false;                  ///< waves run: on both tiers, for each back end whose code this host can run
    unsigned timeout_s = 7200;
};

// A program of GoogleTest, longer than in the tests.
#define GOLDEN(name, program, rounds)                                        \
    {                                                                        \
        name, program, {}, "[  PASSED  ]", { "LYRA_GOLDEN_ROUNDS=" #rounds } \
    }
// One optimising compiler each, so that they run side by side.
#define COMPILERS(version)                                                \
    {"one answer from clang-" version " at three levels, for both chips", \
     "lyra_isa_compilers",                                                \
     {"--clang", version},                                                \
     " 0 wrong: PASSED",                                                  \
     {},                                                                  \
     false,                                                               \
     true}
#define DIVISION(pairs, seed) \
    {"division, reciprocal and square root are IEEE's", "lyra_isa_division", {pairs, seed}, " 0 wrong: PASSED", {}, false, true}

// The longest first.
std::vector<IsaProof> proofs_once() {
    return {
        {"decoding and text are LLVM's on random dwords", "gcn_llvm_random", {"100000000"}, ", 0 others, ", {}, true},
        DIVISION("10000000", "1"),
        COMPILERS("21"),
        COMPILERS("19"),
        COMPILERS("17"),
        COMPILERS("15"),
        {"random C programs answer as on the host", "lyra_isa_random", {"20", "1"}, " 0 wrong: PASSED", {}, false, true},
        GOLDEN("vector operations equal the reference model", "gcn_golden_test", 3000),
        GOLDEN("memory operations equal the reference model", "gcn_memory_golden_test", 1000),
        GOLDEN("scalar operations equal the reference model", "gcn_scalar_golden_test", 5000),
        GOLDEN("the reference model equals MPFR", "gcn_mpfr_test", 1000),
        {"transcendental routines equal their lane functions for every f32",
         "gcn_transcendental_test",
         {},
         "[  PASSED  ]",
         {"LYRA_EXHAUSTIVE=1"}},
        {"OpenCL's functions are within their bounds", "lyra_isa_ocml", {"16384"}, "PASSED", {}, false, true},
    };
}

/// Where waves run, every block is generated when it is first entered, and compared with the interpreter (LYRA_SHADOW).
std::vector<IsaProof> isa_proofs() {
    const auto widest = gcn::Translator::host();
    std::vector<IsaProof> out;
    for (const IsaProof& proof : proofs_once()) {
        if (!proof.on_device || !widest) {
            out.push_back(proof);
            continue;
        }
        for (const gcn::Backend backend : {gcn::Backend::Avx512, gcn::Backend::Avx2}) {
            if (backend > *widest) continue;
            IsaProof with = proof;
            with.name += fmt::format(" ({} and interpreter)", gcn::kBackendNames[static_cast<unsigned>(backend)]);
            with.environment.emplace_back("LYRA_SHADOW=1");
            if (backend == gcn::Backend::Avx2) with.environment.emplace_back("LYRA_JIT=avx2");
            out.push_back(with);
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
        {"cmake", "-S", source.string(), "-B", build.string(), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DLYRA_TESTS=ON"},
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

Outcome run_isa_proof(const IsaProof& proof) try {
    std::vector<std::string> argv{"env"};
    argv.insert(argv.end(), proof.environment.begin(), proof.environment.end());
    argv.push_back(find_program(isa_build(), proof.program).string());
    argv.insert(argv.end(), proof.arguments.begin(), proof.arguments.end());
    const Captured result = capture(argv, true, proof.timeout_s);
    const std::string said = last_line(result.out);
    const bool good = result.status == 0 && !result.timed_out && said.find(proof.says) != std::string::npos;
    const Verdict verdict = good                                             ? Verdict::Passed
                            : result.status == kSkipped && !result.timed_out ? Verdict::Skipped
                                                                             : Verdict::Failed;
    const std::string why = result.timed_out
                                ? fmt::format("not finished after {} s\n", proof.timeout_s)
                                : fmt::format("exit status {}, last line without \"{}\"\n", result.status, proof.says);
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
        if (failed_builds.count(proof.program)) continue;
        progress.show(fmt::format("building {} ...", proof.program));
        failed_builds[proof.program] = build_isa_proof(jobs, proof.program);
    }
    std::mutex lock;
    const auto tell = [&](const Outcome& outcome) {
        std::lock_guard hold(lock);
        progress.clear();
        report.add(outcome.group, outcome.name, outcome.verdict, outcome.detail);
    };
    std::vector<const IsaProof*> side_by_side;
    for (const IsaProof& proof : proofs) {
        if (const std::string& log = failed_builds[proof.program]; !log.empty()) {
            tell({"isa", proof.name, Verdict::Failed, log});
        } else if (!proof.alone) {
            side_by_side.push_back(&proof);
        } else {
            progress.show(fmt::format("{} ...", proof.name));
            const Outcome outcome = run_isa_proof(proof);
            if (interrupted) throw Interrupted();
            tell(outcome);
        }
    }
    progress.show(fmt::format("{} proofs, {} at a time ...", side_by_side.size(), jobs));
    std::atomic<size_t> next{0};
    const auto work = [&] {
        for (size_t n; !interrupted && (n = next++) < side_by_side.size();) {
            const Outcome outcome = run_isa_proof(*side_by_side[n]);
            if (!interrupted) tell(outcome);
        }
    };
    std::vector<std::thread> threads;
    for (unsigned n = 1; n < jobs; ++n) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    progress.clear();
    if (interrupted) throw Interrupted();
}

}  // namespace lyra::cli
