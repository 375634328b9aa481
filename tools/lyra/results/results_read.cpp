// SPDX-License-Identifier: MIT
// Reads files of results. They come from elsewhere: everything is looked at before it is used.
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/lyra/results/results.h"

namespace lyra::results {

namespace {

using nlohmann::ordered_json;

constexpr size_t kMostConfigurations = 100'000;
constexpr size_t kMostPoints = 10'001;  ///< of a distribution
constexpr size_t kMostEntries = 1'000;  ///< clients, swept parameters, rows of the timing table
constexpr double kMostNumber = 1e15;

/// A member of an object, by its path in messages. Throws what is wrong, without file and line.
class Object {
public:
    Object(const ordered_json& json, std::string path) : json_(json), path_(std::move(path)) {
        if (!json.is_object()) throw Error(path_.empty() ? "not a JSON object" : path_ + " has to be an object");
    }
    bool has(const char* key) const { return json_.contains(key); }
    const ordered_json& get(const char* key) const {
        const auto found = json_.find(key);
        if (found == json_.end()) throw Error(fmt::format("'{}' is missing", full(key)));
        return *found;
    }
    std::string text(const char* key) const {
        const ordered_json& value = get(key);
        if (!value.is_string()) throw Error(full(key) + " has to be a string");
        return value.get<std::string>();
    }
    bool flag(const char* key) const {
        const ordered_json& value = get(key);
        if (!value.is_boolean()) throw Error(full(key) + " has to be true or false");
        return value.get<bool>();
    }
    uint64_t whole(const char* key) const { return to_whole(get(key), full(key)); }
    double number(const char* key, double most = kMostNumber) const { return to_number(get(key), full(key), most); }
    const ordered_json& list(const char* key, size_t most) const {
        const ordered_json& value = get(key);
        if (!value.is_array() || value.size() > most)
            throw Error(fmt::format("{} has to be a list of at most {}", full(key), most));
        return value;
    }
    Object object(const char* key) const {
        const ordered_json& value = get(key);
        if (value.is_object() && value.size() > kMostEntries)
            throw Error(fmt::format("{} has more than {} entries", full(key), kMostEntries));
        return Object(value, full(key));
    }
    auto items() const { return json_.items(); }
    std::string full(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

    static uint64_t to_whole(const ordered_json& value, const std::string& name) {
        if (!value.is_number_unsigned()) throw Error(name + " has to be a whole number");
        return value.get<uint64_t>();
    }
    static double to_number(const ordered_json& value, const std::string& name, double most = kMostNumber) {
        const double number = value.is_number() ? value.get<double>() : -1;
        if (!std::isfinite(number) || number < 0 || number > most)
            throw Error(fmt::format("{} has to be a number from 0 to {:g}", name, most));
        return number;
    }

private:
    const ordered_json& json_;
    std::string path_;
};

Manifest read_manifest(const Object& in) {
    const uint64_t format = in.whole("lyra_results");
    if (format != kFormat) throw Error(fmt::format("format {} of results, this program knows format {}", format, kFormat));
    Manifest m;
    m.lyra = in.text("lyra");
    m.source = in.text("source");
    if (m.source != "sim" && m.source != "measure") throw Error("source has to be \"sim\" or \"measure\"");
    m.name = in.text("name");
    if (in.has("chip")) m.chip = in.text("chip");
    if (find_chip(m.chip) == nullptr) throw Error(fmt::format("there is no chip '{}'", m.chip));
    m.seed = in.whole("seed");
    m.spec = in.text("spec");
    m.spec_hash = in.text("spec_hash");
    if (m.spec_hash != hash_text(m.spec)) throw Error("spec_hash is not that of spec: one of them was changed");
    const Object timing = in.object("timing");
    for (const auto& [name, value] : timing.items()) m.timing.emplace_back(name, Object::to_whole(value, timing.full(name)));
    return m;
}

std::optional<Percentile> read_percentile(const Object& in, const std::string& name) {
    const std::string interval = name + "_95";
    if (in.get(name.c_str()).is_null()) return std::nullopt;
    const ordered_json& bounds = in.list(interval.c_str(), 2);
    if (bounds.size() != 2) throw Error(in.full(interval) + " has to be two numbers");
    const Percentile p{in.number(name.c_str()), Object::to_number(bounds[0], in.full(interval)),
                       Object::to_number(bounds[1], in.full(interval))};
    if (p.low > p.value || p.value > p.high) throw Error(fmt::format("{} does not lie in its interval", in.full(name)));
    return p;
}

/// @param cdf  key of the distribution; "" for a latency that has none in the file
Latency read_latency(const Object& line, const std::string& key, const std::string& cdf) {
    const Object in = line.object(key.c_str());
    Latency out{read_percentile(in, "p50"),   read_percentile(in, "p95"), read_percentile(in, "p99"),
                read_percentile(in, "p99.9"), in.number("max"),           {}};
    double before = 0;
    for (const std::optional<Percentile>& each : {out.p50, out.p95, out.p99, out.p999, {Percentile{out.max}}}) {
        if (!each) continue;
        if (each->value < before) throw Error(key + ": the percentiles do not ascend");
        before = each->value;
    }
    if (cdf.empty() || !out.p50) return out;
    for (const ordered_json& point : line.list(cdf.c_str(), kMostPoints)) {
        out.cdf.push_back(Object::to_number(point, cdf));
        if (out.cdf.size() > 1 && out.cdf.back() < out.cdf[out.cdf.size() - 2]) throw Error(cdf + " does not ascend");
    }
    if (out.cdf.size() < 2) throw Error(cdf + " needs two points at least");
    return out;
}

Quantiles read_quantiles(const Object& in) {
    Quantiles out{in.number("p50"), {}};
    if (!in.get("p99").is_null()) out.p99 = in.number("p99");
    return out;
}

Configuration read_configuration(const Object& in) {
    Configuration c;
    const Object swept = in.object("configuration");
    for (const auto& [path, value] : swept.items()) {
        if (!value.is_string()) throw Error(swept.full(path) + " has to be a string");
        c.swept.emplace_back(path, value.get<std::string>());
    }
    c.seed = in.whole("seed");
    c.seeds = in.whole("seeds");
    c.samples = in.whole("samples");
    c.preemptions = in.whole("preemptions");
    if (c.preemptions > c.samples) throw Error("more preemptions than samples");
    for (const NamedLatency& each : kLatencies)
        c.*each.which =
            read_latency(in, fmt::format("{}{}", each.name, each.unit), fmt::format("{}_cdf{}", each.name, each.unit));
    if (c.latency.p50.has_value() != (c.samples != 0) || c.preemption_latency.p50.has_value() != (c.preemptions != 0))
        throw Error("samples have no percentile, or percentiles no samples");
    if (in.has("stages_us")) {
        const Object stages = in.object("stages_us");
        c.stages.emplace();
        for (size_t n = 0; n < kStages.size(); ++n) (*c.stages)[n] = stages.number(kStages[n]);
    }
    c.best_effort_retained = read_percentile(in, "best_effort_retained");
    c.stp = read_percentile(in, "stp");
    c.antt = read_percentile(in, "antt");
    c.simulated_ms = in.number("simulated_ms");
    if (in.has("bytes_saved")) c.bytes_saved = in.whole("bytes_saved");
    if (in.has("lost_work")) c.lost_work = in.whole("lost_work");
    if (in.has("displacements"))
        c.waits = {read_latency(in, "ready_latency_us", ""), in.whole("displacements"), in.whole("wasted"),
                   in.whole("rotations")};
    if (in.has("deadlocked")) c.deadlocked = in.flag("deadlocked");
    for (const ordered_json& each : in.list("clients", kMostEntries)) {
        const Object client(each, "clients");
        c.clients.push_back({client.text("name"), client.whole("kernels"), {}});
        if (client.has("longest_off_us")) c.clients.back().longest_off_us = client.number("longest_off_us");
    }
    if (!in.get("band").is_null()) {
        const Object band = in.object("band");
        c.band = Band{read_quantiles(band.object("nominal")),
                      read_quantiles(band.object("least")),
                      read_quantiles(band.object("most")),
                      {}};
        for (const ordered_json& each : in.list("sensitivity", kMostEntries)) {
            const Object row(each, "sensitivity");
            c.band->rows.push_back({row.text("parameter"), row.whole("low"), row.whole("high"),
                                    read_quantiles(row.object("at_low")), read_quantiles(row.object("at_high"))});
        }
    }
    c.trace_hash = in.text("trace_hash");
    return c;
}

/// A time or rate in a raw run. What is neither 0 nor at least 1 of its units would make quotients of any size.
double read_progress(const Object& in, const char* key, double least, double most) {
    const double value = in.number(key, most);
    if (value != 0 && value < least)
        throw Error(fmt::format("{} has to be 0, or from {:g} to {:g}", in.full(key), least, most));
    return value;
}

sim::Sample read_sample(const ordered_json& numbers, const std::vector<SeedRun::Client>& clients) {
    constexpr size_t kFirst = 2;
    if (!numbers.is_array() || numbers.size() != kFirst + std::size(kSampleStamps))
        throw Error(fmt::format("run.samples: each has to be {} numbers", kFirst + std::size(kSampleStamps)));
    for (const ordered_json& each : numbers) {
        if (static_cast<double>(Object::to_whole(each, "run.samples")) > kMostNumber)
            throw Error(fmt::format("run.samples has a number above {:g}", kMostNumber));
    }
    sim::Sample sample;
    const auto client = numbers[0].get<uint64_t>(), displaced = numbers[1].get<uint64_t>();
    if (client >= clients.size() || !clients[client].latency_critical)
        throw Error("run.samples has one of a client that is not latency-critical");
    if (displaced > 1) throw Error("run.samples: the second number has to be 0 or 1");
    sample.client = static_cast<unsigned>(client);
    sample.displaced = displaced == 1;
    for (size_t n = 0; n < std::size(kSampleStamps); ++n) sample.*kSampleStamps[n] = numbers[kFirst + n].get<uint64_t>();
    return sample;
}

/// @param of  the line before it
RawRun read_raw(const Object& in, const Configuration& of) {
    if (of.seeds != 1) throw Error("the configuration of a run has to have one seed");
    if (!of.lost_work || !of.deadlocked) throw Error("the configuration of a run needs lost_work and deadlocked");
    RawRun out;
    out.asked = in.whole("asked");
    const uint64_t duration = in.whole("duration_ns");
    if (static_cast<double>(duration) > kMostNumber) throw Error(fmt::format("run.duration_ns is above {:g}", kMostNumber));
    out.run.duration_ns = duration;
    const ordered_json& clients = in.list("clients", kMostEntries);
    if (clients.size() != of.clients.size()) throw Error("run.clients are not as many as those of the configuration");
    for (size_t n = 0; n < clients.size(); ++n) {
        const Object client(clients[n], "run.clients");
        const Client& known = of.clients[n];
        const sim::Progress progress{read_progress(client, "rate", 1 / kMostNumber, 1),
                                     read_progress(client, "alone_rate", 1 / kMostNumber, 1),
                                     read_progress(client, "turnaround_ns", 1, kMostNumber),
                                     read_progress(client, "alone_turnaround_ns", 1, kMostNumber), 1};
        out.run.clients.push_back({known.name, client.flag("latency_critical"), known.kernels, progress, known.longest_off_us});
    }
    uint64_t displaced = 0;
    for (const ordered_json& each : in.list("samples", kMostSamples)) {
        out.run.samples.push_back(read_sample(each, out.run.clients));
        displaced += out.run.samples.back().displaced ? 1 : 0;
    }
    if (out.run.samples.size() != of.samples || displaced != of.preemptions)
        throw Error(fmt::format("run.samples are {} with {} preemptions, and the configuration says {} with {}",
                                out.run.samples.size(), displaced, of.samples, of.preemptions));
    return out;
}

/// Names of members come from the file, and messages go to terminals.
std::string printable(std::string text) {
    for (char& c : text) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    }
    return text;
}

void read_line(std::string_view line, std::vector<RunResults>& runs) {
    const ordered_json json = ordered_json::parse(line.begin(), line.end());
    const Object in(json, "");
    if (in.has("lyra_results")) {
        if (!runs.empty() && runs.back().configurations.empty())
            throw Error("two manifests, and no configuration between them");
        runs.push_back({read_manifest(in), {}});
    } else if (runs.empty()) {
        throw Error("not a file of results: its first line has no 'lyra_results'");
    } else if (in.has("run")) {
        if (runs.back().configurations.empty() || runs.back().configurations.back().raw)
            throw Error("a run has to follow its configuration");
        Configuration& configuration = runs.back().configurations.back();
        configuration.raw = read_raw(in.object("run"), configuration);
    } else {
        runs.back().configurations.push_back(read_configuration(in));
    }
}

}  // namespace

std::vector<RunResults> read(std::string_view text, const std::string& name) {
    std::vector<RunResults> runs;
    size_t number = 0, configurations = 0;
    while (!text.empty()) {
        ++number;
        const size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        try {
            read_line(line, runs);
        } catch (const nlohmann::json::exception& error) {
            // Its text repeats the input, which may hold anything: only the place.
            const auto* parse = dynamic_cast<const nlohmann::json::parse_error*>(&error);
            throw Error(parse ? fmt::format("{}:{}: not JSON at byte {}", name, number, parse->byte)
                              : fmt::format("{}:{}: not JSON that can be used", name, number));
        } catch (const Error& error) {
            throw Error(fmt::format("{}:{}: {}", name, number, printable(error.what())));
        }
        if (++configurations > kMostConfigurations)
            throw Error(fmt::format("{}: more than {} lines", name, kMostConfigurations));
    }
    if (runs.empty()) throw Error(name + ": empty, it should begin with the manifest of a run");
    if (runs.back().configurations.empty()) throw Error(fmt::format("{}:{}: the run has no configuration", name, number));
    return runs;
}

}  // namespace lyra::results
