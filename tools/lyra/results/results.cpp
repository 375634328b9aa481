// SPDX-License-Identifier: MIT
// Writes lines of results, and makes what is in them from samples.
#include "tools/lyra/results/results.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "scheduler/sim/metrics.h"

namespace lyra::results {

namespace {

using nlohmann::ordered_json;

constexpr unsigned kSteps = 200;  ///< of the distribution

double us(uint64_t ns) { return static_cast<double>(ns) / 1000; }

void put(ordered_json& out, const std::string& name, const std::optional<Percentile>& value) {
    out[name] = nullptr;
    if (!value) return;
    out[name] = value->value;
    out[name + "_95"] = {value->low, value->high};
}

ordered_json quantiles_json(const Quantiles& q) {
    ordered_json out{{"p50", q.p50}, {"p99", nullptr}};
    if (q.p99) out["p99"] = *q.p99;
    return out;
}

ordered_json latency_json(const Latency& latency) {
    ordered_json out;
    const std::pair<const char*, const std::optional<Percentile>*> all[] = {
        {"p50", &latency.p50}, {"p95", &latency.p95}, {"p99", &latency.p99}, {"p99.9", &latency.p999}};
    for (const auto& [name, percentile] : all) put(out, name, *percentile);
    out["max"] = latency.max;
    return out;
}

std::string line_of(const ordered_json& json) {
    return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string hash_text(std::string_view text) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
    return fmt::format("{:016x}", hash);
}

Latency describe(std::vector<std::vector<uint64_t>> runs) {
    std::vector<uint64_t> all;
    for (std::vector<uint64_t>& run : runs) {
        std::sort(run.begin(), run.end());
        all.insert(all.end(), run.begin(), run.end());
    }
    if (all.empty()) return {};
    std::sort(all.begin(), all.end());
    const std::vector<double> percents = {50, 95, 99, 99.9};
    const std::vector<sim::Percentile> found = sim::percentiles(runs, percents);
    const auto told = [&](size_t n) -> std::optional<Percentile> {
        if (!sim::enough_for(all.size(), percents[n])) return std::nullopt;
        return Percentile{us(found[n].value), us(found[n].low), us(found[n].high)};
    };
    Latency out{told(0), told(1), told(2), told(3), us(all.back()), {}};
    for (unsigned n = 0; n <= kSteps; ++n) {
        // Rank ceil(n / steps * count), in whole numbers; the first is the smallest value.
        const size_t rank = std::max<size_t>((n * all.size() + kSteps - 1) / kSteps, 1);
        out.cdf.push_back(us(all[rank - 1]));
    }
    return out;
}

void StageSums::add(const Stamps& stamps) {
    const uint64_t last = std::max(stamps.back(), stamps.front());
    uint64_t before = stamps.front();
    for (size_t n = 0; n < ns_.size(); ++n) {
        uint64_t at = n + 1 == ns_.size() ? last : stamps[n + 1];
        if (at < before || at > last) at = before;
        ns_[n] += at - before;
        before = at;
    }
    ++count_;
}

std::optional<StageMeans> StageSums::means() const {
    if (count_ == 0) return std::nullopt;
    StageMeans out;
    for (size_t n = 0; n < out.size(); ++n) out[n] = us(ns_[n]) / static_cast<double>(count_);
    return out;
}

std::string to_line(const Manifest& manifest) {
    ordered_json out;
    out["lyra_results"] = kFormat;
    out["lyra"] = manifest.lyra;
    out["source"] = manifest.source;
    out["name"] = manifest.name;
    if (manifest.chip != kChips[0].name) out["chip"] = manifest.chip;
    out["seed"] = manifest.seed;
    out["spec_hash"] = manifest.spec_hash;
    out["spec"] = manifest.spec;
    out["timing"] = ordered_json::object();
    for (const auto& [name, value] : manifest.timing) out["timing"][name] = value;
    return line_of(out);
}

std::string to_line(const Configuration& configuration, bool all) {
    ordered_json out;
    out["configuration"] = ordered_json::object();
    for (const auto& [path, value] : configuration.swept) out["configuration"][path] = value;
    if (all) out["seed"] = configuration.seed;
    out["seeds"] = configuration.seeds;
    out["samples"] = configuration.samples;
    out["preemptions"] = configuration.preemptions;
    for (const NamedLatency& each : kLatencies)
        out[each.name + std::string(each.unit)] = latency_json(configuration.*each.which);
    put(out, "best_effort_retained", configuration.best_effort_retained);
    put(out, "stp", configuration.stp);
    put(out, "antt", configuration.antt);
    out["simulated_ms"] = configuration.simulated_ms;
    if (configuration.bytes_saved) out["bytes_saved"] = *configuration.bytes_saved;
    if (configuration.lost_work) out["lost_work"] = *configuration.lost_work;
    if (const std::optional<Waits>& waits = configuration.waits) {
        out["ready_latency_us"] = latency_json(waits->ready_latency);
        out["displacements"] = waits->displacements;
        out["wasted"] = waits->wasted;
        out["rotations"] = waits->rotations;
    }
    if (configuration.deadlocked) out["deadlocked"] = *configuration.deadlocked;
    out["clients"] = ordered_json::array();
    for (const Client& client : configuration.clients) {
        out["clients"].push_back({{"name", client.name}, {"kernels", client.kernels}});
        if (client.longest_off_us) out["clients"].back()["longest_off_us"] = *client.longest_off_us;
    }
    if (const std::optional<Band>& band = configuration.band) {
        out["band"] = {{"nominal", quantiles_json(band->nominal)},
                       {"least", quantiles_json(band->least)},
                       {"most", quantiles_json(band->most)}};
        out["sensitivity"] = ordered_json::array();
        for (const SensitivityRow& row : band->rows)
            out["sensitivity"].push_back({{"parameter", row.name},
                                          {"low", row.low},
                                          {"high", row.high},
                                          {"at_low", quantiles_json(row.at_low)},
                                          {"at_high", quantiles_json(row.at_high)}});
    } else {
        out["band"] = nullptr;
    }
    out["trace_hash"] = configuration.trace_hash;
    if (!all) return line_of(out);
    if (configuration.stages) {
        for (size_t n = 0; n < kStages.size(); ++n) out["stages_us"][kStages[n]] = (*configuration.stages)[n];
    }
    for (const NamedLatency& each : kLatencies) {
        const Latency& latency = configuration.*each.which;
        if (!latency.cdf.empty()) out[fmt::format("{}_cdf{}", each.name, each.unit)] = latency.cdf;
    }
    return line_of(out);
}

std::string to_line(const RawRun& raw) {
    ordered_json run;
    run["asked"] = raw.asked;
    run["duration_ns"] = raw.run.duration_ns;
    run["clients"] = ordered_json::array();
    for (const SeedRun::Client& client : raw.run.clients)
        run["clients"].push_back({{"latency_critical", client.latency_critical},
                                  {"rate", client.progress.throughput},
                                  {"alone_rate", client.progress.alone_throughput},
                                  {"turnaround_ns", client.progress.turnaround_ns},
                                  {"alone_turnaround_ns", client.progress.alone_turnaround_ns}});
    run["samples"] = ordered_json::array();
    for (const sim::Sample& sample : raw.run.samples) {
        ordered_json numbers = {sample.client, sample.displaced ? 1 : 0};
        for (const auto stamp : kSampleStamps) numbers.push_back(sample.*stamp);
        run["samples"].push_back(std::move(numbers));
    }
    return line_of({{"run", std::move(run)}});
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
    // Not the process number: several machines may share the folder.
    temporary_ = (path_.parent_path() / fmt::format(".{}.XXXXXX", path_.filename().string())).string();
    file_ = mkstemp(temporary_.data());
    if (file_ < 0) fail("write");
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(file_, 0666 & ~mask);
}

AtomicFile::~AtomicFile() {
    if (file_ < 0) return;
    close(file_);
    unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(file_, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) fail("write");
        text.remove_prefix(static_cast<size_t>(written));
    }
}

void AtomicFile::commit() {
    if (fsync(file_) != 0 && errno != EINVAL) fail("write");
    if (rename(temporary_.c_str(), path_.c_str()) != 0) fail("write");
    close(file_);
    file_ = -1;
}

void AtomicFile::fail(const char* what) const {
    throw Error(fmt::format("cannot {} '{}': {}", what, path_.string(), std::strerror(errno)));
}

}  // namespace lyra::results
