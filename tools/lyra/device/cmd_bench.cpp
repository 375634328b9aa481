// SPDX-License-Identifier: MIT
// lyra bench: kernels on the device in this process, on PoCL and as native code, side by side; and what single things cost.
#include <cmath>
#include <map>
#include <regex>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "gcn-interp/cu/compute_unit.h"
#include "gcn-interp/wave/backend.h"
#include "tools/bench/comparison.h"
#include "tools/bench/gpu.h"
#include "tools/bench/matrix_case.h"
#include "tools/bench/pocl.h"
#include "tools/bench/round_trip.h"
#include "tools/bench/two_at_once.h"
#include "tools/lyra/cli/chip_option.h"
#include "tools/lyra/cli/process.h"
#include "tools/lyra/cli/work_dir.h"
#include "tools/lyra/device/bench_best.h"
#include "tools/lyra/device/bench_text.h"

namespace lyra::cli {

namespace {

using namespace lyra::bench;

struct Options {
    std::string filter = ".*";
    double min_time_s = 0.1;
    unsigned repetitions = 3;
    bool json = false, no_jit = false;
    std::string chip;
    std::string compare;  ///< file; empty: with nothing
};

constexpr unsigned kBatch = 200;                      // AQL packets; the ring has 256
constexpr uint64_t kCopyBytes = uint64_t{1} << 22;
constexpr int kLoops = 2000;                          // of 64 instructions
constexpr unsigned kLanesPerWave = 64;

/// Instructions of classes.cl, one loop each; "valu_mix" counts lane operations.
constexpr const char* kClasses[] = {
    "valu_mix",     "valu_f32",       "valu_fma_f32",     "valu_int", "valu_f64",         "valu_exp",    "valu_rsq",
    "valu_compare", "valu_sgpr",      "valu_dpp",         "salu",     "branch",           "scalar_load", "load_contiguous",
    "load_uniform", "load_scattered", "store_contiguous", "lds_read", "lds_read_uniform", "lds_write",   "lds_atomic"};

/// Folder of the device libraries: Debian's rocm-device-libs, or rocm-device-libs-17 (Debian 13).
std::string device_libraries() {
    for (const char* folder : {"/usr/lib/x86_64-linux-gnu/amdgcn/bitcode", "/usr/lib/llvm-17/lib/clang/17/amdgcn/bitcode"}) {
        if (std::filesystem::exists(std::filesystem::path(folder) / "ocml.bc")) return folder;
    }
    throw EnvironmentError(
        "the device libraries (ocml.bc) are missing: install the package rocm-device-libs or rocm-device-libs-17");
}

constexpr const char* kMatrixChip = "gfx90a";

void compile(const std::filesystem::path& source, const std::filesystem::path& object, const std::string& chip) {
    const std::vector<std::string> command{"clang-19",
                                           "-x",
                                           "cl",
                                           "-cl-std=CL2.0",
                                           "-target",
                                           "amdgcn-amd-amdhsa",
                                           "-mcpu=" + chip,
                                           "--rocm-device-lib-path=" + device_libraries(),
                                           "-O3",
                                           source,
                                           "-o",
                                           object};
    const Captured done = capture(command, true, 120);
    if (done.status != 0) throw EnvironmentError(fmt::format("clang-19 does not compile {}:\n{}", source.string(), done.err));
}

nlohmann::json number(std::optional<double> value) { return value ? nlohmann::json(*value) : nlohmann::json(nullptr); }

/// Geometric mean of what was added.
class GeometricMean {
public:
    void add(double value) {
        logs_ += std::log(value);
        ++count_;
    }
    std::optional<double> value() const { return count_ != 0 ? std::optional(std::exp(logs_ / count_)) : std::nullopt; }

private:
    double logs_ = 0;
    unsigned count_ = 0;
};

/// What a kernel's code cost to generate, while it ran on the device that is timed.
struct Generated {
    uint64_t blocks = 0, ns = 0;
};

/// What times depend on besides the options.
nlohmann::json machine(Chip chip) {
    std::string processor = "unknown";
    std::istringstream lines(read_text("/proc/cpuinfo"));
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("model name") || line.find(": ") == std::string::npos) continue;
        processor = line.substr(line.find(": ") + 2);
        break;
    }
    return {{"processor", processor},
            {"processors", std::thread::hardware_concurrency()},
            {"back_end", gcn::kBackendNames[static_cast<size_t>(gcn::host_backend())]},
            {"translator", gcn::make_translator(chip) != nullptr}};
}

nlohmann::json old_result(const std::string& file) {
    const std::string text = read_text(file);
    try {
        return read_result(text);
    } catch (const std::runtime_error& error) {
        throw UserError(fmt::format("--compare {}: {}", file, error.what()));
    }
}

class Bench {
public:
    explicit Bench(const Options& options) : options_(options), wanted_(options.filter) {
        chip_named(options.chip);
        if (!options.compare.empty()) old_ = old_result(options.compare);
        std::string error;
        pocl_ = Pocl::open(error);
        if (!pocl_) throw UserError(error);
        const std::filesystem::path folder = source_dir() / "tools/bench";
        for (const char* name : {"kernels", "classes"})
            compile(folder / fmt::format("{}.cl", name), work_.path() / fmt::format("{}.co", name), options_.chip);
        kernels_ = std::make_unique<Gpu>(work_.path() / "kernels.co", 1, !options_.no_jit, options_.chip);
        classes_ = std::make_unique<Gpu>(work_.path() / "classes.co", 1, !options_.no_jit, options_.chip);
        // With one processor there is nothing to compare.
        if (std::thread::hardware_concurrency() >= 2) {
            two_threads_ = std::make_unique<Gpu>(work_.path() / "kernels.co", 2, !options_.no_jit, options_.chip);
            second_ = std::make_unique<Gpu>(work_.path() / "kernels.co", 1, !options_.no_jit, options_.chip);
        }
        for (const Gpu* each : {kernels_.get(), classes_.get(), two_threads_.get(), second_.get()}) {
            if (each == nullptr) continue;
            if (!each->error().empty()) throw EnvironmentError(each->error());
        }
        if (!pocl_->build(read_text(folder / "kernels.cl"), error)) throw EnvironmentError(error);
    }

    int run() {
        for (KernelCase& each : kernel_cases()) {
            if (wanted(each.name)) cases_.push_back(std::move(each));
        }
        for (KernelCase& each : cases_) check(each);
        for (KernelCase& each : cases_) register_kernel(each);
        for (const char* name : kClasses) register_class(name);
        register_rates();
        register_matrices();
        note_round_trip();
        measure();
        collect();
        note_round_trip();
        if (rows_.empty()) throw UserError(fmt::format("--filter {}: no row has such a name", options_.filter));
        nlohmann::json all = result();
        if (old_) all["comparison"] = to_json(compare(*old_, all));
        if (options_.json)
            fmt::print("{}\n", all.dump(2));
        else
            print_bench(all);
        return failed_ ? kFailed : kOk;
    }

private:
    bool wanted(const std::string& name) const { return std::regex_search(name, wanted_); }

    /// Once on each engine, before anything is timed: equal results, and everything compiled and loaded.
    void check(KernelCase& each) {
        std::vector<std::vector<uint8_t>> own = each.buffers;
        each.native(own);
        std::string& wrong = wrong_[each.name];
        kernels_->prepare(each);
        start_generating();
        const bool ran = kernels_->run();
        note_generated(each.name);
        if (!ran) throw EnvironmentError(fmt::format("{}: {}", each.name, kernels_->error()));
        const std::string ours = difference(each, kernels_->result(each), own[each.output]);
        if (!ours.empty()) wrong = "lyra against native: " + ours;
        if (two_threads_) {
            two_threads_->prepare(each);
            if (!two_threads_->run())
                throw EnvironmentError(fmt::format("{} on two threads: {}", each.name, two_threads_->error()));
            const std::string both = difference(each, two_threads_->result(each), own[each.output]);
            if (!both.empty()) wrong = "lyra on two threads against native: " + both;
        }
        std::string error;
        if (!pocl_->prepare(each, error) || !pocl_->run())
            throw EnvironmentError(fmt::format("{}: PoCL does not run it {}", each.name, error));
        const std::string theirs = difference(each, pocl_->result(each), own[each.output]);
        if (!theirs.empty()) wrong = "PoCL against native: " + theirs;
    }

    void start_generating() { lyra_generated_code(&generated_before_.blocks, &generated_before_.ns); }
    void note_generated(const std::string& name) {
        Generated now;
        lyra_generated_code(&now.blocks, &now.ns);
        generated_[name].blocks += now.blocks - generated_before_.blocks;
        generated_[name].ns += now.ns - generated_before_.ns;
    }

    template <typename Run>
    void add(const std::string& name, Run once, std::function<void()> before = {}, std::function<void()> after = {}) {
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
            if (before) before();
            for (auto _ : state) {
                if (!once()) {
                    state.SkipWithError("did not run");
                    break;
                }
            }
            if (after) after();
        })->MeasureProcessCPUTime();
        any_ = true;
    }

    void register_kernel(KernelCase& each) {
        KernelCase* const c = &each;
        add(
            each.name + ":lyra", [this] { return kernels_->run(); },
            [this, c] {
                kernels_->prepare(*c);
                start_generating();
            },
            [this, c] { note_generated(c->name); });
        if (two_threads_) {
            add(each.name + ":two", [this] { return two_threads_->run(); }, [this, c] { two_threads_->prepare(*c); });
            add(
                each.name + ":devices", [this] { return pair_->run([this] { return kernels_->run(); }); },
                [this, c] {
                    kernels_->prepare(*c);
                    second_->prepare(*c);
                    pair_ = std::make_unique<TwoAtOnce>([this] { return second_->run(); });
                },
                [this] { pair_.reset(); });
        }
        add(
            each.name + ":pocl", [this] { return pocl_->run(); },
            [this, c] {
                std::string error;
                pocl_->prepare(*c, error);
            });
        add(each.name + ":native", [c, own = std::make_shared<std::vector<std::vector<uint8_t>>>(each.buffers)] {
            c->native(*own);
            benchmark::ClobberMemory();
            return true;
        });
    }

    /// One wave.
    void register_class(const std::string& name) {
        if (!wanted(name)) return;
        auto c = std::make_shared<KernelCase>();
        c->name = name;
        c->buffers = {std::vector<uint8_t>(4096)};
        Argument count;
        count.value.resize(sizeof kLoops);
        std::memcpy(count.value.data(), &kLoops, sizeof kLoops);
        c->arguments = {Argument{0, {}}, count};
        c->global[0] = c->local[0] = kLanesPerWave;
        add(name, [this] { return classes_->run(); }, [this, c] { classes_->prepare(*c); });
        classes_->prepare(*c);
        const uint64_t before = classes_->stat("instructions");
        if (!classes_->run()) throw EnvironmentError(fmt::format("{}: {}", name, classes_->error()));
        instructions_[name] = classes_->stat("instructions") - before;
    }

    void register_rates() {
        KernelCase waves;
        waves.name = "empty";
        waves.global[0] = kWaves * kLanesPerWave;
        waves.local[0] = 4 * kLanesPerWave;
        if (wanted("wave_launches")) {
            add("wave_launches", [this] { return classes_->run(); }, [this, waves] { classes_->prepare(waves); });
        }
        KernelCase one;
        one.name = "empty";
        one.global[0] = one.local[0] = 1;
        if (wanted("aql_packets")) {
            // A device of its own: "empty" has another shape there.
            packets_ = std::make_unique<Gpu>(work_.path() / "classes.co", 1, !options_.no_jit, options_.chip);
            packets_->prepare(one);
            add("aql_packets", [this] { return packets_->run_batch(kBatch); });
        }
        if (wanted("sdma_copy")) {
            if (!classes_->prepare_copy(kCopyBytes)) throw EnvironmentError("no room for the SDMA copy");
            if (!classes_->copy() || !classes_->copy_is_right()) wrong_["sdma_copy"] = "SDMA copied wrong";
            add("sdma_copy", [this] { return classes_->copy(); });
        }
    }

    /// Matrix instructions, and the same product by the host's BLAS where it has one.
    void register_matrices() {
        for (KernelCase& each : matrix_cases()) {
            if (wanted(each.name) || wanted(blas_name(each))) matrices_.push_back(std::move(each));
        }
        if (matrices_.empty()) return;
        const std::filesystem::path object = work_.path() / "matrix.co";
        compile(source_dir() / "tools/bench/matrix.cl", object, kMatrixChip);
        matrix_gpu_ = std::make_unique<Gpu>(object, 1, !options_.no_jit, kMatrixChip);
        if (!matrix_gpu_->error().empty()) throw EnvironmentError(matrix_gpu_->error());
        blas_ = Blas::open();
        for (KernelCase& each : matrices_) register_matrix(each);
    }
    void register_matrix(KernelCase& each) {
        KernelCase* const c = &each;
        std::vector<std::vector<uint8_t>> right = each.buffers;
        each.native(right);
        if (wanted(each.name)) {
            matrix_gpu_->prepare(each);
            if (!matrix_gpu_->run()) throw EnvironmentError(fmt::format("{}: {}", each.name, matrix_gpu_->error()));
            wrong_[each.name] = difference(each, matrix_gpu_->result(each), right[each.output]);
            add(each.name, [this] { return matrix_gpu_->run(); }, [this, c] { matrix_gpu_->prepare(*c); });
        }
        if (!has_blas(each)) return;
        auto own = std::make_shared<std::vector<std::vector<uint8_t>>>(each.buffers);
        blas_->run(*own, each);
        wrong_[blas_name(each)] = difference(each, (*own)[each.output], right[each.output]);
        add(blas_name(each), [this, c, own] {
            blas_->run(*own, *c);
            benchmark::ClobberMemory();
            return true;
        });
    }
    bool has_blas(const KernelCase& each) const { return blas_ && blas_->has(each) && wanted(blas_name(each)); }
    static std::string blas_name(const KernelCase& each) { return "blas" + each.name.substr(each.name.find('_')); }

    /// Before and after the measurements, for hosts move virtual processors.
    void note_round_trip() {
        if (two_threads_ && any_ && !cases_.empty()) round_trip_ns_.push_back(line_round_trip_ns());
    }
    void measure() {
        if (!any_) return;
        std::vector<std::string> words{"lyra", fmt::format("--benchmark_min_time={}", options_.min_time_s),
                                       fmt::format("--benchmark_repetitions={}", options_.repetitions),
                                       "--benchmark_enable_random_interleaving=true"};
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        int argc = static_cast<int>(argv.size());
        benchmark::Initialize(&argc, argv.data());
        benchmark::RunSpecifiedBenchmarks(&best_);
    }

    void collect() {
        for (const KernelCase& each : cases_) collect_kernel(each);
        for (const char* name : kClasses) {
            if (!wanted(name)) continue;
            const auto seconds = best_.seconds(name);
            const auto count_of = static_cast<double>(instructions_[name]);
            add_row(name, "class", "ns_per_wave_instruction", seconds ? std::optional(*seconds * 1e9 / count_of) : seconds);
            if (seconds && std::string(name) == "valu_mix") lane_ops_ = count_of * kLanesPerWave / *seconds;
        }
        add_rate("wave_launches", "waves_per_s", kWaves);
        add_rate("aql_packets", "packets_per_s", kBatch);
        add_rate("sdma_copy", "gb_per_s", kCopyBytes * 1e-9);
        for (const KernelCase& each : matrices_) {
            add_rate(each.name.c_str(), "gop_per_s", kMatrixOperations * 1e-9);
            if (has_blas(each)) add_rate(blas_name(each).c_str(), "gop_per_s", kMatrixOperations * 1e-9);
        }
    }
    void collect_kernel(const KernelCase& each) {
        const auto lyra = best_.seconds(each.name + ":lyra"), pocl = best_.seconds(each.name + ":pocl"),
                   native = best_.seconds(each.name + ":native");
        const bool right = wrong_[each.name].empty(), both = lyra && pocl && right;
        nlohmann::json row{{"name", each.name}, {"kind", "kernel"}, {"ok", right}};
        if (!right) row["error"] = wrong_[each.name];
        const auto ms = [](std::optional<double> s) { return number(s ? std::optional(*s * 1e3) : s); };
        row["lyra_ms"] = ms(lyra), row["pocl_ms"] = ms(pocl), row["native_ms"] = ms(native);
        const auto gb_per_s = [&](std::optional<double> s) {
            return number(s && each.streamed_bytes != 0 ? std::optional(static_cast<double>(each.streamed_bytes) * 1e-9 / *s)
                                                        : std::nullopt);
        };
        row["lyra_gb_per_s"] = gb_per_s(lyra), row["pocl_gb_per_s"] = gb_per_s(pocl);
        row["vs_pocl_1t"] = number(both ? std::optional(*pocl / *lyra) : std::nullopt);
        if (both) geomean_all_.add(*pocl / *lyra);
        if (both && each.of_the_eleven) geomean_.add(*pocl / *lyra);
        count_instructions(each, lyra, row);
        const auto one = best_.real_seconds(each.name + ":lyra"), two = best_.real_seconds(each.name + ":two");
        const bool scales = one && two && right;
        row["lyra_real_ms"] = ms(one), row["lyra_2_threads_real_ms"] = ms(two);
        row["scaling_2_cores"] = number(scales ? std::optional(*one / *two) : std::nullopt);
        if (scales && each.of_the_eleven) scaling_.add(*one / *two);
        const auto devices = best_.real_seconds(each.name + ":devices");
        const bool has_most = one && devices && right;
        row["scaling_2_devices"] = number(has_most ? std::optional(2 * *one / *devices) : std::nullopt);
        if (has_most && each.of_the_eleven) most_scaling_.add(2 * *one / *devices);
        failed_ |= !both || !native;
        rows_.push_back(row);
    }
    /// Of one more run: what is to be generated has been.
    void count_instructions(const KernelCase& each, std::optional<double> seconds, nlohmann::json& row) {
        kernels_->prepare(each);
        const uint64_t before = kernels_->stat("instructions"), translated_before = kernels_->stat("translated_instructions");
        kernels_->run();
        const auto all = static_cast<double>(kernels_->stat("instructions") - before);
        const auto translated = static_cast<double>(kernels_->stat("translated_instructions") - translated_before);
        row["wave_instructions"] = all;
        row["wave_instructions_per_s"] = number(seconds ? std::optional(all / *seconds) : std::nullopt);
        row["engine"] = translated != 0 ? "translator" : "interpreter";
        row["translated_share"] = translated / all;
        row["translated_blocks"] = generated_[each.name].blocks;
        row["translate_ms"] = static_cast<double>(generated_[each.name].ns) * 1e-6;
    }
    void add_rate(const char* name, const char* unit, double amount) {
        if (!wanted(name)) return;
        const auto seconds = best_.seconds(name);
        add_row(name, "rate", unit, seconds ? std::optional(amount / *seconds) : seconds);
    }
    void add_row(const std::string& name, const char* kind, const char* unit, std::optional<double> value) {
        const bool ok = value && wrong_[name].empty();
        failed_ |= !ok;
        rows_.push_back(
            {{"name", name}, {"kind", kind}, {"ok", ok}, {"unit", unit}, {"value", ok ? number(value) : nlohmann::json()}});
    }

    nlohmann::json result() const {
        return {{"format", kResultFormat},
                {"version", kResultVersion},
                {"machine", machine(chip_named(options_.chip))},
                {"options",
                 {{"min_time_s", options_.min_time_s},
                  {"repetitions", options_.repetitions},
                  {"filter", options_.filter},
                  {"chip", options_.chip},
                  {"jit", !options_.no_jit}}},
                {"geomean_vs_pocl_1t", number(geomean_.value())},
                {"geomean_vs_pocl_1t_all", number(geomean_all_.value())},
                {"valu_lane_ops_per_s", number(lane_ops_)},
                {"scaling_2_cores", number(scaling_.value())},
                {"scaling_2_devices", number(most_scaling_.value())},
                {"line_round_trip_ns", round_trip_ns_},
                {"pocl", pocl_->version()},
                {"blas", blas_ ? nlohmann::json(blas_->file()) : nlohmann::json(nullptr)},
                {"clock", "processor time of the process, best repetition; scaling and *_real_ms: real time"},
                {"rows", rows_}};
    }

    static constexpr unsigned kWaves = 4096;

    const Options& options_;
    const std::regex wanted_;
    std::optional<nlohmann::json> old_;  ///< to compare with
    WorkDir work_;
    std::unique_ptr<Pocl> pocl_;
    std::unique_ptr<Gpu> kernels_, classes_, packets_, two_threads_, second_, matrix_gpu_;
    std::unique_ptr<TwoAtOnce> pair_;  ///< while two devices are timed
    std::unique_ptr<Blas> blas_;
    std::vector<KernelCase> cases_, matrices_;
    std::map<std::string, std::string> wrong_;       ///< by row; empty: right
    std::map<std::string, uint64_t> instructions_;   ///< by class
    std::map<std::string, Generated> generated_;     ///< by kernel
    Generated generated_before_;
    Best best_;
    nlohmann::json rows_ = nlohmann::json::array();
    GeometricMean geomean_, geomean_all_, scaling_, most_scaling_;  ///< all but geomean_all_: of the eleven
    std::optional<double> lane_ops_;
    nlohmann::json round_trip_ns_ = nlohmann::json::array();
    bool any_ = false, failed_ = false;
};

}  // namespace

std::function<int()> set_up_bench(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_flag("--json", options->json, "as JSON; what was not measured is null");
    app.add_flag("--no-jit", options->no_jit, "interpret the waves; without it generated code runs them where the host can");
    add_chip_option(app, options->chip, "kernels, but for matrix instructions,");
    app.add_option("--filter", options->filter, "only rows whose name has a match for this regular expression")
        ->type_name("REGEX");
    app.add_option("--compare", options->compare, "also show how many times as fast each row is as in this result of --json")
        ->type_name("FILE")
        ->check(CLI::ExistingFile);
    app.add_option("--min-time", options->min_time_s, "seconds that each repetition takes at least")
        ->check(CLI::Range(0.001, 60.0));
    app.add_option("--repetitions", options->repetitions, "runs of each measurement, of which the best counts")
        ->check(CLI::Range(1, 100));
    app.footer(
        "Times are processor time; two threads against one is real time, on two idle processors. Needs PoCL: apt-get install "
        "--no-install-recommends pocl-opencl-icd ocl-icd-libopencl1");
    return [options] {
        try {
            return Bench(*options).run();
        } catch (const std::regex_error&) {
            throw UserError(fmt::format("--filter {}: not a regular expression", options->filter));
        }
    };
}

}  // namespace lyra::cli
