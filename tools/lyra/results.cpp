// SPDX-License-Identifier: MIT
// Writes lines of results, and makes what is in them from samples.
#include "tools/lyra/results.h"

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

ordered_json latency_json(const Latency& latency) {
    ordered_json out;
    const std::pair<const char*, const Percentile*> all[] = {
        {"p50", &latency.p50}, {"p95", &latency.p95}, {"p99", &latency.p99}, {"p99.9", &latency.p999}};
    for (const auto& [name, percentile] : all) {
        out[name] = percentile->value;
        out[std::string(name) + "_95"] = {percentile->low, percentile->high};
    }
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

Latency describe(const std::vector<uint64_t>& sorted_ns) {
    const auto at = [&](double percent) {
        const sim::Percentile p = sim::percentile(sorted_ns, percent);
        return Percentile{us(p.value), us(p.low), us(p.high)};
    };
    Latency out{at(50), at(95), at(99), at(99.9), at(100).value, {}};
    if (sorted_ns.empty()) return out;
    for (unsigned n = 0; n <= kSteps; ++n) {
        // Rank ceil(n / steps * count), in whole numbers; the first is the smallest value.
        const size_t rank = std::max<size_t>((n * sorted_ns.size() + kSteps - 1) / kSteps, 1);
        out.cdf.push_back(us(sorted_ns[rank - 1]));
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
    out["samples"] = configuration.samples;
    out["latency_us"] = latency_json(configuration.latency);
    out["preemptions"] = configuration.preemptions;
    out["preemption_latency_us"] = latency_json(configuration.preemption_latency);
    out["best_effort_retained"] = configuration.best_effort_retained;
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
    out["trace_hash"] = configuration.trace_hash;
    if (!all) return line_of(out);
    if (configuration.stages) {
        for (size_t n = 0; n < kStages.size(); ++n) out["stages_us"][kStages[n]] = (*configuration.stages)[n];
    }
    if (!configuration.latency.cdf.empty()) out["latency_cdf_us"] = configuration.latency.cdf;
    if (!configuration.preemption_latency.cdf.empty()) out["preemption_latency_cdf_us"] = configuration.preemption_latency.cdf;
    return line_of(out);
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
