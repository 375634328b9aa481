// SPDX-License-Identifier: MIT
// Which programs of Debian's libraries run in the guest, how many of their tests have to pass, and which are left out and why.
#include "tools/lyra/test/libraries.h"

#include <deque>

#include "tools/lyra/guest/checks.h"

namespace lyra::cli {

namespace {

constexpr const char* kGroup = "libraries";

/// A program of librocrand1-tests. It has to pass exactly this number of tests and skip none.
struct RocrandProgram {
    const char* name;
    unsigned tests;
    unsigned timeout_s;
    bool quick;   ///< also runs when not all programs are asked for
};

// All of the package. For each MT19937 generator (test_rocrand_mt19937_prng, and those tests of others whose parameter is
// number 5 of the list) the host computes 8191 jumps of the sequence with 10^6 to 10^7 operations each, which takes an emulated
// processor three to five minutes; LFSR113 generators take the GPU as long. The largest buffers are 2 x 300 MB, the tests named
// DISABLED_ are upstream's own (one, of kernel_philox4x32_10). The four test_..._distribution use no GPU.
constexpr RocrandProgram kRocrand[] = {
    {"test_log_normal_distribution", 15, 1800, false},
    {"test_normal_distribution", 12, 1800, false},
    {"test_poisson_distribution", 12, 1800, false},
    {"test_rocrand_basic", 44, 3600, false},
    {"test_rocrand_cpp_wrapper", 28, 1800, false},
    {"test_rocrand_generate", 47, 3600, false},
    {"test_rocrand_generate_log_normal", 43, 3600, false},
    {"test_rocrand_generate_normal", 43, 3600, false},
    {"test_rocrand_generate_poisson", 29, 3600, false},
    {"test_rocrand_generate_uniform", 43, 3600, false},
    {"test_rocrand_generator_type", 4, 300, true},
    {"test_rocrand_kernel_lfsr113", 20, 1800, false},
    {"test_rocrand_kernel_mrg", 20, 1800, false},
    {"test_rocrand_kernel_mtgp32", 11, 1800, false},
    {"test_rocrand_kernel_philox4x32_10", 18, 1800, false},
    {"test_rocrand_kernel_scrambled_sobol32", 14, 1800, false},
    {"test_rocrand_kernel_scrambled_sobol64", 14, 1800, false},
    {"test_rocrand_kernel_sobol32", 11, 1800, false},
    {"test_rocrand_kernel_sobol64", 11, 1800, false},
    {"test_rocrand_kernel_threefry2x32_20", 20, 1800, true},
    {"test_rocrand_kernel_threefry2x64_20", 20, 1800, false},
    {"test_rocrand_kernel_threefry4x32_20", 20, 1800, false},
    {"test_rocrand_kernel_threefry4x64_20", 20, 1800, false},
    {"test_rocrand_kernel_xorwow", 18, 1800, false},
    {"test_rocrand_lfsr113_prng", 8, 7200, false},
    {"test_rocrand_linkage", 1, 300, true},
    {"test_rocrand_mrg_prng", 49, 1800, false},
    {"test_rocrand_mt19937_prng", 8, 7200, false},
    {"test_rocrand_mtgp32_prng", 7, 1800, false},
    {"test_rocrand_philox_prng", 19, 1800, false},
    {"test_rocrand_scrambled_sobol32_qrng", 31, 1800, false},
    {"test_rocrand_scrambled_sobol64_qrng", 31, 1800, false},
    {"test_rocrand_sobol32_qrng", 28, 1800, false},
    {"test_rocrand_sobol64_qrng", 28, 1800, false},
    {"test_rocrand_threefry2x32_20_prng", 20, 1800, false},
    {"test_rocrand_threefry2x64_20_prng", 21, 1800, false},
    {"test_rocrand_threefry4x32_20_prng", 20, 1800, false},
    {"test_rocrand_threefry4x64_20_prng", 21, 1800, false},
    {"test_rocrand_xorwow_prng", 19, 1800, false},
    {"test_uniform_distribution", 16, 1800, false},
};

#define ROCBLAS(program) "chmod +x " program "; LD_LIBRARY_PATH=/mnt/libraries/usr/lib/x86_64-linux-gnu ./" program

std::string rocrand_script(const RocrandProgram& program) {
    return fmt::format(
        "export LD_LIBRARY_PATH=/mnt/libraries/usr/lib/x86_64-linux-gnu\n"
        "exec /mnt/libraries/usr/libexec/rocm/librocrand1-tests/{}",
        program.name);
}

}  // namespace

void test_libraries(const GuestOptions& options, bool all, Report& report) {
    WorkDir work;
    GuestJob job;
    job.disks.push_back(build_artefact("tools/guest/build_libraries.sh", {"--chip", options.chip}) / "libraries.erofs");
    compile_for_guest(job, work, "tools/lyra/test/testdata/rocblas.hip", "rocblas", {"-O2"}, options);
    compile_for_guest(job, work, "tools/lyra/test/testdata/rocblas_gemm.hip", "rocblas_gemm", {"-O2"}, options);
    std::deque<std::string> texts;  // checks keep pointers into them
    const auto keep = [&](std::string text) { return texts.emplace_back(std::move(text)).c_str(); };
    std::vector<GuestCheck> checks{
        {"the disk with the packages is there",
         "mkdir /mnt/libraries && mount -t erofs -o ro /dev/vdc /mnt/libraries && "
         "ls /mnt/libraries/usr/libexec/rocm/librocrand1-tests",
         0,
         {"test_rocrand_linkage"},
         {}},
        // Minutes: rocBLAS reads 117 MB about the kernels that it could take, and the runtime 8 MB about the 4478 that gfx900
        // has.
        {"rocBLAS: saxpy and sgemm are within rounding of the host's",
         ROCBLAS("rocblas"),
         0,
         {"23 cases", "PASSED"},
         {"FAILED"},
         3600},
        {"rocBLAS: gemm in f16, bf16, f32, f64 and i8 is within rounding of the host's",
         ROCBLAS("rocblas_gemm"),
         0,
         {"20 cases: PASSED"},
         {"FAILED"},
         3600},
    };
    for (const RocrandProgram& program : kRocrand) {
        if (!all && !program.quick) continue;
        const char* name = keep(fmt::format("rocRAND: {}: {} tests", program.name, program.tests));
        const char* script = keep(rocrand_script(program));
        const char* passed = keep(fmt::format("[  PASSED  ] {} test{}.", program.tests, program.tests == 1 ? "" : "s"));
        checks.push_back({name, script, 0, {passed}, {"[  FAILED  ]", "[  SKIPPED ]"}, program.timeout_s});
    }
    // The programs copy from read-only memory, which the runtime tries to pin first: the driver says that it cannot, as on
    // hardware.
    checks.push_back({"dmesg has no warning of the device",
                      "! dmesg --level=emerg,alert,crit,err,warn | grep -iE 'amdgpu|kfd|drm|\\[TTM\\]' | "
                      "grep -v 'init_user_pages: Failed to get user pages: -1$'",
                      0,
                      {},
                      {}});
#undef ROCBLAS
    run_checks(options, kGroup, "boots with the libraries", checks, job, report);
}

}  // namespace lyra::cli
