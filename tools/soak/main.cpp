// SPDX-License-Identifier: MIT
// The soak: queues that run kernels are pre-empted at random moments, as often as asked, by the trap handler that their waves
// execute. Every work-item has to do its work exactly once, and every saved image has to be sound. On the way the state of the
// command processor is saved, forgotten and loaded.
// lyra_soak COUNT [SEED [THREADS [CHIP]]]: threads that run the waves. The handler is that of cwsr/handler, or one that the
// environment names (other_handler()).
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <random>
#include <string_view>

#include <fmt/format.h>

#include "cp-firmware-model/testing/save_bench.h"
#include "gcn-interp/translator/translator.h"

namespace lyra::soak {
namespace {

using testing::Kernel;
using testing::KernelJob;

constexpr unsigned kProcesses = 2, kQueues = 6, kMaxGroups = 4;

/// Kernels whose values do not depend on what earlier grids left in memory, with how often they are chosen.
struct Choice {
    const char* name;
    unsigned weight;
};
constexpr Choice kChoicesWithAcc[] = {{"acc_registers", 6}, {"acc_matrix", 2}};
constexpr Choice kChoices[] = {
    {"barrier_lds", 8}, {"divergence", 8}, {"scratch", 8},       {"register_index", 8}, {"integers", 4},
    {"floats", 4},      {"doubles", 6},    {"sleep", 6},         {"state", 6},          {"flow", 6},
    {"skip", 6},        {"traps", 6},      {"partial_group", 8}, {"all_registers", 1},  {"barrier_sixteen_waves", 1}};

[[noreturn]] void fail(const std::string& text, uint64_t seed, uint64_t done, Chip chip) {
    fmt::print(stderr, "FAILED after {} pre-emptions: {}\nAgain with: lyra test --soak {} --seed {} --chip {}\n", done, text,
               done + 1000, seed, facts_of(chip).name);
    std::exit(1);
}

class Soak : public testing::SaveBench {
public:
    Soak(uint64_t seed, Chip chip)
        : SaveBench(LYRA_CWSR_SOURCE, chip), chip_(chip), seed_(seed), random_(seed), stream_random_(seed) {
        for (unsigned n = 0; n < kQueues; ++n) {
            jobs_.push_back(std::make_unique<KernelJob>(*this, n, n / kProcesses % 2, kFirstVmid + n % kProcesses));
        }
        KernelJob& aql = *jobs_[kProcesses];  // where groups may be partial
        std::vector<Choice> choices(std::begin(kChoices), std::end(kChoices));
        if (facts_of(chip).acc_vgprs) choices.insert(choices.end(), std::begin(kChoicesWithAcc), std::end(kChoicesWithAcc));
        for (const Choice& choice : choices) {
            kernels_.push_back(kernel(choice.name, aql));
            weights_.push_back(choice.weight);
        }
    }
    /// Pre-empt until count queues with running waves have been saved.
    void run(uint64_t count, bool progress) {
        auto shown = std::chrono::steady_clock::now();
        uint64_t idle_rounds = 0;
        while (preempted_ < count) {
            for (auto& job : jobs_) keep_busy(*job);
            map_all();
            for (unsigned n = random_() % 12; n != 0; --n) {
                cp.run(1 + random_() % longest_);
                sometimes_through_a_stream();
            }
            if (!unmap()) stop("the queues were not unmapped");
            ++unmaps_;
            const uint64_t before = preempted_;
            for (auto& job : jobs_) check(*job);
            idle_rounds = preempted_ == before ? idle_rounds + 1 : 0;
            if (idle_rounds > 10'000) stop("nothing runs any more");
            adapt();
            if (!progress || std::chrono::steady_clock::now() - shown < std::chrono::seconds(1)) continue;
            shown = std::chrono::steady_clock::now();
            fmt::print(stderr, "\r{} of {} pre-emptions, {} batches \033[K", preempted_, count, batches_);
        }
        if (progress) fmt::print(stderr, "\r\033[K");
        finish();
    }
    void report() {
        if (eager_ && gcn::Translator::host() && env.stats.get(Stat::translated_instructions) == 0)
            stop("no generated code has run");
        // The rest is the trap handler, mostly, which is interpreted.
        fmt::print(
            "{} pre-emptions of {} waves, {} batches of work done once, {} unmaps, {} snapshots, {} of {} instructions by "
            "generated code, seed {}\n",
            preempted_, waves_, batches_, unmaps_, snapshots_, env.stats.get(Stat::translated_instructions),
            env.stats.get(Stat::instructions), seed_);
    }

private:
    [[noreturn]] void stop(const std::string& text) {
        describe();
        fail(text, seed_, preempted_, chip_);
    }
    /// For whoever has to find out.
    void describe() {
        for (auto& job : jobs_) fmt::print(stderr, "{}\n", job->describe());
        for (unsigned cu = 0; cu < cp.dispatcher().shape().cus(); ++cu) {
            for (unsigned slot = 0; slot < gcn::kWaveSlots; ++slot) {
                const gcn::Wave& wave = cp.dispatcher().cu(cu).wave(slot);
                if (wave.state == gcn::WaveState::Free) continue;
                fmt::print(stderr,
                           "CU {} slot {} dispatch {} state {} save {} pc {:#x} exec {:#x} status {:#x} trapsts {:#x}\n", cu,
                           slot, wave.dispatch, static_cast<int>(wave.state), static_cast<int>(wave.save), wave.pc, wave.exec,
                           wave.status, wave.trapsts);
            }
        }
        for (const std::string& line : host.lines) fmt::print(stderr, "{}\n", line);
    }
    const Kernel& pick_kernel(const KernelJob& job) {
        std::discrete_distribution<size_t> pick(weights_.begin(), weights_.end());
        const Kernel* kernel = &kernels_[pick(random_)];
        while (!job.can_run(*kernel)) kernel = &kernels_[pick(random_)];
        return *kernel;
    }
    void keep_busy(KernelJob& job) {
        if (!job.idle()) return;
        std::vector<KernelJob::Part> parts;
        for (unsigned n = 1 + random_() % 2; n != 0; --n) {
            const unsigned grids = 1 + random_() % 3, groups = 1 + random_() % kMaxGroups;
            parts.push_back({&pick_kernel(job), grids, groups});
        }
        job.submit(parts);
    }
    /// With random numbers of its own, so that a seed's pre-emptions are what they were.
    void sometimes_through_a_stream() {
        if (stream_random_() % 16 != 0) return;
        if (const std::string wrong = through_a_stream(); !wrong.empty()) stop("the state that was loaded: " + wrong);
        ++snapshots_;
    }
    void map_all() {
        std::vector<KernelJob*> jobs;
        jobs.reserve(jobs_.size());
        for (auto& job : jobs_) jobs.push_back(job.get());
        map(jobs);
    }
    void check(KernelJob& job) {
        size_t waves = 0;
        if (const std::string wrong = job.check_image(waves); !wrong.empty()) stop(wrong);
        preempted_ += waves != 0;
        waves_ += waves;
        const bool busy = !job.idle();
        if (const std::string wrong = job.check_batch(); !wrong.empty()) stop(wrong);
        batches_ += busy && job.idle();
    }
    /// Time between pre-emptions: as much as the waves need for their restore, and about as much again. More where code is
    /// generated: it only runs when the time lasts for whole blocks.
    void adapt() {
        if (unmaps_ % 64 != 0) return;
        longest_ =
            std::clamp<uint64_t>(batches_ * (eager_ ? 1 : 40) < unmaps_ ? longest_ * 2 : longest_ - longest_ / 8, 200, 20'000);
    }
    /// What is left runs to its end.
    void finish() {
        map_all();
        const auto all_idle = [&] {
            return std::all_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->idle(); });
        };
        for (unsigned n = 0; n < 100'000 && !all_idle(); ++n) {
            cp.run(10'000);
            for (auto& job : jobs_) {
                if (const std::string wrong = job->check_batch(); !wrong.empty()) stop(wrong);
            }
        }
        if (!all_idle()) stop("a batch does not end");
        if (env.stats.get(Stat::waves_saved) != env.stats.get(Stat::waves_restored)) stop("waves were saved and not restored");
        for (const Fault fault : {Fault::NotSaveable, Fault::SavedImage, Fault::SaveAreaFull, Fault::WaveHalted}) {
            if (env.stats.get(fault) != 0) stop(fault_info(fault).text);
        }
    }

    const Chip chip_;
    uint64_t seed_;
    std::mt19937_64 random_, stream_random_;
    std::vector<Kernel> kernels_;
    std::vector<double> weights_;
    std::vector<std::unique_ptr<KernelJob>> jobs_;
    const bool eager_ = [] {
        const char* const jit = std::getenv("LYRA_JIT");
        return jit != nullptr && std::string_view(jit).find("eager") != std::string_view::npos;
    }();
    uint64_t longest_ = 3000;
    uint64_t preempted_ = 0, waves_ = 0, batches_ = 0, unmaps_ = 0, snapshots_ = 0;
};

}  // namespace
}  // namespace lyra::soak

int main(int argc, char** argv) {
    const uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 0;
    const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 1;
    const lyra::ChipFacts* const chip = lyra::find_chip(argc > 4 ? argv[4] : "gfx900");
    if (count == 0 || argc > 5 || chip == nullptr) {
        fmt::print(stderr, "lyra_soak COUNT [SEED [THREADS [CHIP]]]\n");
        return 2;
    }
    if (argc > 3) setenv("LYRA_TEST_THREADS", argv[3], 1);
    try {
        lyra::soak::Soak soak(seed, chip->chip);
        soak.run(count, isatty(2));
        soak.report();
    } catch (const std::exception& error) {
        fmt::print(stderr, "lyra_soak: {}\n", error.what());
        return 2;
    }
    return 0;
}
