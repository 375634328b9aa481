// SPDX-License-Identifier: MIT
// Results of experiments as JSON Lines (docs/user/results.md): their content, a writer, and a reader that checks everything.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "facts/chips.h"
#include "scheduler/sim/experiment.h"
#include "scheduler/sim/metrics.h"

namespace lyra::results {

inline constexpr unsigned kFormat = 2;

/// Parts of the time line from doorbell to first wave, in their order: the stamps t0 to t8 are their ends.
inline constexpr std::array<const char*, 8> kStages = {"submit", "detect", "request", "wait",
                                                       "save",   "notify", "switch",  "dispatch"};
using Stamps = std::array<uint64_t, kStages.size() + 1>;  ///< t0 ... t8; ns, 0: did not happen
using StageMeans = std::array<double, kStages.size()>;    ///< us

/// What a run was: the same on every machine.
struct Manifest {
    std::string lyra;       ///< version and git id
    std::string source;     ///< "sim" or "measure"
    std::string name;       ///< of the experiment: its file without folder and ending
    std::string spec;       ///< text of the file
    std::string spec_hash;  ///< hash_text() of it
    uint64_t seed = 0;
    std::vector<std::pair<std::string, uint64_t>> timing;  ///< the table in use; a configuration may sweep some of it
    std::string chip = kChips[0].name;  ///< what the GPU was; a file names it when it is another one than this

    bool operator==(const Manifest&) const = default;
};

/// A statistic and its 95 % interval; of a latency in us.
struct Percentile {
    double value = 0, low = 0, high = 0;
};

/// Percentiles of a set of latencies, us. One that so few samples cannot tell is not there: p99 needs 1,000 of them, p99.9
/// 10,000.
struct Latency {
    std::optional<Percentile> p50, p95, p99, p999;
    double max = 0;
    std::vector<double>
        cdf;  ///< at equal steps of probability, from the smallest (0) to the largest (1); empty without samples
};

struct Client {
    std::string name;
    uint64_t kernels = 0;
    std::optional<double> longest_off_us;  ///< wanted to run, and was not on the hardware; when it is known
};

/// p50 and p99 of arrival_latency, us; a p99 that so few samples cannot tell is not there.
struct Quantiles {
    double p50 = 0;
    std::optional<double> p99;
};
/// How much of them hangs on what nobody has measured (scheduler/sim/sensitivity.h).
struct SensitivityRow {
    std::string name;
    uint64_t low = 0, high = 0;
    Quantiles at_low, at_high;
};
struct Band {
    Quantiles nominal, least, most;    ///< as the simulator has them
    std::vector<SensitivityRow> rows;  ///< the largest first
};

/// What only the simulator knows: of clients that wait for each other, and of queues that do not all fit.
struct Waits {
    Latency ready_latency;       ///< from when nothing but the hardware kept a kernel any more, to its first wave
    uint64_t displacements = 0;  ///< actions that took queues for others
    uint64_t wasted = 0;         ///< of these: none of the others could begin
    uint64_t rotations = 0;      ///< quantums of the hardware scheduler that ended
};

/// What one run gave: a configuration with one seed.
struct SeedRun {
    struct Client {
        std::string name;
        bool latency_critical = false;
        uint64_t kernels = 0;              ///< done
        sim::Progress progress;            ///< 0 where it is not known
        std::optional<double> longest_off_us;
    };
    std::vector<Client> clients;
    std::vector<sim::Sample> samples;  ///< Sample::client is a place in clients
    uint64_t duration_ns = 0;
};

/// The run behind a configuration of one seed, for those who put several seeds together. In a file it is the line after that
/// configuration, and has only what is not in that one. Each client has one queue.
struct RawRun {
    uint64_t asked = 0;  ///< kernels of each latency-critical client that were wanted
    SeedRun run;         ///< without Sample::ready, which only the simulator knows
};
inline constexpr size_t kMostSamples = 1'000'000;  ///< of a raw run
/// Stamps of a sample, in the order of its line.
inline constexpr uint64_t sim::Sample::* kSampleStamps[] = {
    &sim::Sample::arrival,       &sim::Sample::t0_doorbell, &sim::Sample::t2_detected, &sim::Sample::t3_requested,
    &sim::Sample::t4_dequeue,    &sim::Sample::t5_saved,    &sim::Sample::t6_fence,    &sim::Sample::t7_mapped,
    &sim::Sample::t8_first_wave, &sim::Sample::resident,    &sim::Sample::t9_done};

struct Configuration {
    std::vector<std::pair<std::string, std::string>> swept;  ///< path and value, as in the file's [sweep]
    uint64_t seed = 0, seeds = 1;  ///< the first one, and how many runs with it and the following ones
    uint64_t samples = 0, preemptions = 0;
    Latency latency, preemption_latency;  ///< doorbell to first wave: of all samples; of those that pre-empted a queue
    Latency arrival_latency, resident_latency, completion;  ///< from the intended arrival: to first wave, all waves, end
    Latency slowdown;                     ///< completion as multiple of its mean alone; no unit
    std::optional<StageMeans> stages;     ///< means over the pre-emptions
    /// Sum over best-effort clients of their throughput, each as part of what one queue of it does alone. Nothing when that is
    /// not known.
    std::optional<Percentile> best_effort_retained;
    std::optional<Percentile> stp, antt;  ///< of all clients: system throughput, average normalized turnaround time
    double simulated_ms = 0;
    std::optional<uint64_t> bytes_saved;  ///< when it is known
    std::optional<uint64_t> lost_work;  ///< when it was looked for
    std::optional<Waits> waits;
    std::optional<bool> deadlocked;  ///< nothing went on any more; when it was looked for
    std::vector<Client> clients;
    std::optional<Band> band;  ///< when it was asked for
    std::string trace_hash;
    std::optional<RawRun> raw;  ///< in the output of a measurement's job
};

/// The latencies of a configuration: their names in a file are name + unit, and name + "_cdf" + unit.
struct NamedLatency {
    const char *name, *unit;
    Latency Configuration::* which;
};
inline constexpr NamedLatency kLatencies[] = {{"latency", "_us", &Configuration::latency},
                                              {"preemption_latency", "_us", &Configuration::preemption_latency},
                                              {"arrival_latency", "_us", &Configuration::arrival_latency},
                                              {"resident_latency", "_us", &Configuration::resident_latency},
                                              {"completion", "_us", &Configuration::completion},
                                              {"slowdown", "", &Configuration::slowdown}};

struct RunResults {
    Manifest manifest;
    std::vector<Configuration> configurations;
};

/// FNV-1a of the bytes, 16 hexadecimal digits.
std::string hash_text(std::string_view text);

/// Percentiles and distribution of latencies. @param runs  those of each seed, in any order; ns
Latency describe(std::vector<std::vector<uint64_t>> runs);

/// Means of the stages over samples. A stamp that did not happen, or only after the first wave, did not delay that wave: its
/// stage has no length, so that the stages of a sample add up to its latency.
class StageSums {
public:
    void add(const Stamps& stamps);
    std::optional<StageMeans> means() const;

private:
    std::array<uint64_t, kStages.size()> ns_{};
    uint64_t count_ = 0;
};

/// JSON, one line with its end. Text that is not UTF-8 is replaced.
std::string to_line(const Manifest& manifest);
/// @param all  false: without the seed, the distributions and the stages
std::string to_line(const Configuration& configuration, bool all = true);
std::string to_line(const RawRun& raw);

/// What is wrong with a file of results, and where.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// @param name of the file, for messages  @throws Error
std::vector<RunResults> read(std::string_view text, const std::string& name);

/// A file that is there when it is complete, and not before: written under another name beside it. Without commit() nothing is
/// left.
class AtomicFile {
public:
    explicit AtomicFile(std::filesystem::path path);  ///< throws Error
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    void write(std::string_view text);  ///< throws Error
    void commit();  ///< throws Error

private:
    [[noreturn]] void fail(const char* what) const;

    std::filesystem::path path_;
    std::string temporary_;
    int file_ = -1;
};

}  // namespace lyra::results
