// SPDX-License-Identifier: MIT
#include "tools/lyra/results/measure_job.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "facts/chips.h"
#include "tools/lyra/cli/cli.h"
#include "tools/lyra/cli/work_dir.h"

namespace lyra::cli {

namespace {

/// What a wave of tools/measure/client.hip has to save: 24 VGPRs, its SGPRs and hardware registers.
constexpr uint64_t kWaveBytes = 24 * 256 + 512 + 128;
constexpr unsigned kMostGroupWaves = 16;  ///< of a work-group
constexpr unsigned kHighPriority = 11, kLowPriority = 6;  ///< KFD's, as ROCr maps HIP's three priorities to them
/// In fields of CP_IQ_WAIT_TIME2, for which 0 is no end.
constexpr uint64_t kMostWaitUnits = 255;

double us(uint64_t ns) { return static_cast<double>(ns) / 1000; }

uint64_t wait_units(const sim::Experiment& e, uint64_t ns) {
    return (ns + e.timing.iq_wait_unit_ns / 2) / e.timing.iq_wait_unit_ns;
}

const sim::ClientClass* class_of(const sim::Experiment& e, const std::string& name) {
    const auto it = std::find_if(e.clients.begin(), e.clients.end(), [&](const sim::ClientClass& c) { return c.name == name; });
    return it == e.clients.end() ? nullptr : &*it;
}

/// A driver's setting, as a line of the job.
std::string setting(const char* name, const std::string& value) { return fmt::format("echo {} >$dir/{}\n", value, name); }
std::string setting_us(const char* name, uint64_t ns) { return setting(name, std::to_string(ns / 1000)); }

std::string settings(const sim::Experiment& e) {
    std::string out;
    switch (e.detection) {
        case sim::Detection::Poll: out += setting("detection", "poll"); break;
        case sim::Detection::Adaptive: out += setting("detection", "adaptive"); break;
        case sim::Detection::Notify: out += setting("detection", "notify"); break;
    }
    switch (e.unmap) {
        case sim::Unmap::All: out += setting("unmap", "all"); break;
        case sim::Unmap::Process: out += setting("unmap", "process"); break;
        case sim::Unmap::Queue: out += setting("unmap", "queue"); break;
        case sim::Unmap::Static:
            out += setting("unmap", "static") + setting("static_priority", std::to_string(e.static_priority));
            break;
    }
    out += setting("grace_period", std::to_string(wait_units(e, e.grace_ns))) +
           setting("dequeue_retry", std::to_string(wait_units(e, e.retry_ns)));
    out += setting_us("period_us", e.period_ns) + setting_us("idle_period_us", e.idle_period_ns);
    if (e.policy.quantum_ns != 0) out += setting_us("quantum_us", e.policy.quantum_ns);
    out += setting_us("min_run_us", e.policy.min_run_ns) + setting_us("hysteresis_us", e.policy.hysteresis_ns);
    out += setting_us("starvation_us", e.policy.starvation_ns) + setting_us("turn_us", e.policy.turn_ns);
    out += setting_us("ageing_us", e.policy.ageing_ns) + setting("inherit", e.policy.inherit ? "1" : "0");
    out += setting("runnable_test", e.runnable_test ? "1" : "0");
    return out + setting("policy", qsched_policy_name(e.policy.policy));
}

const char* priority_word(unsigned priority) {
    return priority >= kHighPriority ? "high" : priority <= kLowPriority ? "low" : "normal";
}

const char* arrival_word(sim::Arrival arrival) {
    switch (arrival) {
        case sim::Arrival::Closed: return "closed";
        case sim::Arrival::Uniform: return "uniform";
        case sim::Arrival::Poisson: return "poisson";
        case sim::Arrival::Bursty: return "bursty";
        case sim::Arrival::Trace: return "trace";
        case sim::Arrival::Dependent: return "dependent";
    }
    return "";
}

/// The shape of a client's grid: work-groups, waves in each, bytes of LDS of each.
struct Shape {
    unsigned groups = 1, waves = 1, lds = 0;
};

/// Groups as large as possible, all alike, so that a compute unit's part of the context is as wanted: registers first, the rest
/// LDS.
Shape shape_of(const sim::ClientClass& client, unsigned cus, const ChipFacts& chip) {
    const unsigned most_waves = chip.waves_per_cu();
    if (client.latency_critical && !client.full_gpu) return {};
    const double wanted = static_cast<double>(client.context_bytes) / kExperimentCus;
    const double waves_wanted = client.context_bytes == 0 ? most_waves : wanted / kWaveBytes;
    const unsigned per_cu = static_cast<unsigned>(std::clamp(std::round(waves_wanted), 1.0, static_cast<double>(most_waves)));
    unsigned groups = (per_cu + kMostGroupWaves - 1) / kMostGroupWaves;
    while (per_cu % groups != 0) ++groups;
    const unsigned most = chip.lds_bytes / groups;
    const double rest = std::max(0.0, wanted - static_cast<double>(per_cu * kWaveBytes));
    return {groups * cus, per_cu / groups,
            static_cast<unsigned>(std::min<double>(rest / groups, most)) / chip.lds_granule * chip.lds_granule};
}

/// Where the driver's settings are.
constexpr const char* kFindScheduler =
    "dir=$(echo /sys/class/drm/card*/device/kfd_sched)\n"
    "if ! [ -d \"$dir\" ]; then echo 'the driver has no scheduler' >&2; exit 70; fi\n";

uint64_t warm_up_of(const sim::Experiment& e, const sim::ClientClass& client) {
    constexpr uint64_t kLeast = 5, kMost = 1000, kCritical = 20;
    if (client.latency_critical) return kCritical;
    return std::clamp((e.alone_ns + client.kernel_ns - 1) / client.kernel_ns, kLeast, kMost);
}

/// The queue that a reference to a class means, for queue n of the referring one.
unsigned id_of(const sim::Experiment& e, const std::vector<Place>& places, const std::string& name, unsigned number) {
    const sim::ClientClass* client = class_of(e, name);
    for (const Place& p : places) {
        if (&e.clients[p.client] == client && p.number == number % client->count) return p.id;
    }
    return 0;
}

bool awaited(const sim::Experiment& e, const std::string& name) {
    return std::any_of(e.clients.begin(), e.clients.end(),
                       [&](const sim::ClientClass& c) { return c.waits_for == name || c.after == name; });
}

/// How often each wave of such a kernel goes round, so that it takes kernel_ns alone: 1 KiB of VRAM, or a write and a read of
/// LDS.
uint64_t rounds_of(const sim::Experiment& e, const sim::ClientClass& client, const Shape& shape) {
    constexpr double kBytes = 64 * 16;
    const double waves = static_cast<double>(shape.groups) * shape.waves, microseconds = us(client.kernel_ns);
    double rounds = 0;
    if (client.work == sim::Work::Stream) {
        const double bytes_per_us = static_cast<double>(e.timing.vram_speed()) * e.cus / kExperimentCus;
        rounds = microseconds * bytes_per_us / (waves * kBytes);
    } else {
        const double accesses =
            microseconds * static_cast<double>(e.timing.shader_clock_mhz) / static_cast<double>(e.timing.lds_clk);
        rounds = accesses / (2 * waves / e.cus);
    }
    return std::max<uint64_t>(1, static_cast<uint64_t>(std::round(rounds)));
}

std::string words_of(const sim::Experiment& e, const std::vector<Place>& places, const Place& place, const ChipFacts& chip) {
    const sim::ClientClass& client = e.clients[place.client];
    const Shape shape = shape_of(client, e.cus, chip);
    std::string words =
        fmt::format("arrival={} rate_hz={} kernel_us={} clock_mhz={} groups={} waves={} lds={} warm_up={} seed={}",
                    arrival_word(client.arrival), client.rate_hz, us(client.kernel_ns), e.timing.shader_clock_mhz, shape.groups,
                    shape.waves, shape.lds, place.warm_up, e.seed + place.id);
    if (client.work != sim::Work::Sleep)
        words +=
            fmt::format(" work={} rounds={}", client.work == sim::Work::Stream ? "stream" : "lds", rounds_of(e, client, shape));
    if (client.latency_critical) words += fmt::format(" whole_lds={} samples={}", client.full_gpu ? 0 : 1, e.samples);
    if (client.arrival == sim::Arrival::Bursty)
        words += fmt::format(" burst_hz={} burst_us={} calm_us={}", client.burst_hz, us(client.burst_ns), us(client.calm_ns));
    if (client.arrival == sim::Arrival::Trace) words += fmt::format(" trace=trace.{}", place.id);
    if (client.arrival == sim::Arrival::Dependent)
        words += fmt::format(" after={}", id_of(e, places, client.after, place.number));
    if (!client.suspends.empty()) words += fmt::format(" suspends={}", id_of(e, places, client.suspends, place.number));
    if (!client.waits_for.empty()) words += fmt::format(" waits_for={}", id_of(e, places, client.waits_for, place.number));
    return words;
}

/// Nothing happens for longer than any kernel takes.
double watch_ms(const sim::Experiment& e) {
    uint64_t longest = 0;
    for (const sim::ClientClass& c : e.clients) longest = std::max(longest, c.kernel_ns);
    return std::max(1000.0, 10 * us(longest) / 1000);
}

}  // namespace

void check_measurable(const sim::Experiment& e) {
    const auto refuse = [](const std::string& what) { throw UserError(what + ": only lyra sim can do that so far"); };
    if (e.unmap == sim::Unmap::Static && e.static_priority > kHighPriority)
        refuse(fmt::format("action.static_priority above {}", kHighPriority));
    if (!e.owner_known) refuse("detection.owner_known");
    const auto in_register = [&](const char* key, uint64_t ns) {
        const uint64_t units = wait_units(e, ns);
        if (units < 1 || units > kMostWaitUnits)
            throw UserError(fmt::format("action.{} has to be from 1 to {} units of the packet processor, each {} us", key,
                                        kMostWaitUnits, us(e.timing.iq_wait_unit_ns)));
    };
    in_register("grace_us", e.grace_ns);
    in_register("retry_us", e.retry_ns);
    for (const sim::ClientClass& c : e.clients) {
        if (c.room != 1) refuse(fmt::format("client.{}.room", c.name));
        if (const sim::ClientClass* other = class_of(e, c.suspends);
            !c.suspends.empty() &&
            (other == nullptr || other->latency_critical || (!c.process.empty() && c.process == other->process)))
            throw UserError(fmt::format("client.{}.suspends has to be a client of another process, without samples", c.name));
        for (const auto& [key, name] : {std::pair("waits_for", c.waits_for), std::pair("after", c.after)}) {
            if (name.empty()) continue;
            const sim::ClientClass* other = class_of(e, name);
            if (other == nullptr || c.process.empty() || other->process != c.process)
                throw UserError(fmt::format("client.{}.{}: in a guest both clients have to be of one `process`", c.name, key));
        }
    }
    if (std::none_of(e.clients.begin(), e.clients.end(), [](const sim::ClientClass& c) { return c.latency_critical; }))
        throw UserError("no client is latency_critical: there would be no samples");
}

std::vector<Place> places_of(const sim::Experiment& e) {
    std::vector<Place> out;
    for (const bool critical : {true, false}) {
        for (size_t c = 0; c < e.clients.size(); ++c) {
            if (e.clients[c].latency_critical != critical) continue;
            for (unsigned n = 0; n < e.clients[c].count; ++n)
                out.push_back({static_cast<unsigned>(out.size()), c, n, warm_up_of(e, e.clients[c])});
        }
    }
    return out;
}

MeasureJob measure_job(const sim::Experiment& e, Chip chip) {
    const std::vector<Place> places = places_of(e);
    MeasureJob job;
    std::map<std::string, std::string>
        processes;  // by the first place's number, as text of equal length, so that they start in that order
    std::map<std::string, std::string> key_of;
    for (const Place& place : places) {
        const sim::ClientClass& client = e.clients[place.client];
        std::string key = fmt::format("{:05}", place.id);
        if (!client.process.empty()) key = key_of.try_emplace(client.process, key).first->second;
        std::string& process = processes[key];
        process += fmt::format("{} id={} name={} priority={} cu_mask={} marks={} awaited={} experiment=experiment.{}",
                               process.empty() ? "./client" : " /", place.id, shell_quote(client.name),
                               priority_word(client.queue.priority), client.cu_mask, place.id == 0 ? 1 : 0,
                               awaited(e, client.name) ? 1 : 0, place.id);
        job.files.emplace_back(fmt::format("experiment.{}", place.id),
                               fmt::format("{} watch_ms={}\n", words_of(e, places, place, facts_of(chip)), watch_ms(e)));
        if (client.arrival == sim::Arrival::Trace) {
            std::string times;
            for (const uint64_t ns : client.trace_ns) times += fmt::format("{}\n", us(ns));
            job.files.emplace_back(fmt::format("trace.{}", place.id), times);
        }
    }
    job.base =
        std::string("#!/bin/bash\n") +
        (e.stock_driver ? "none() { :; }\n" : std::string(kFindScheduler) + "none() { echo none >$dir/policy; }\n") +
        // Nobody polls while clients are measured: they say in a pipe what has happened.
        "mkfifo events; exec 3<>events; declare -A happened\n"
        "alive() { for pid in $pids; do kill -0 $pid 2>/dev/null || { cat err.* >&2; exit 71; }; done; }\n"
        "wait_for() { while ! [ \"${happened[$1]}\" ]; do if read -r -t 5 -u 3 event; then happened[$event]=1; stuck $event; "
        "else alive; fi; done; }\n"
        // An experiment in which nothing goes on is ended.
        "stuck() { if [ $1 = stuck ] && ! [ -e halt ]; then echo stuck; touch halt; none; fi; }\n";
    for (const auto& [key, process] : processes)
        job.base += fmt::format("{} >out.{} 2>err.{} &\npids=\"$pids $!\"\n", process, key, key);
    for (const Place& place : places) job.base += fmt::format("wait_for up.{}\n", place.id);
    job.base +=
        "host=/usr/lib/lyra/host\n"
        "$host stop\n"
        "echo start >/dev/virtio-ports/lyra.control\n"
        "$host read seed | $host seed && $host read job | tar -x || exit 70\n"
        ". ./run\n"
        "exit $status\n";
    for (const Place& place : places) job.run += fmt::format("touch warm.{0}\nwait_for ready.{0}\n", place.id);
    job.run += (e.stock_driver ? "" : settings(e)) + "touch start\n";
    for (const Place& place : places) job.run += fmt::format("wait_for done.{}\n", place.id);
    job.run += "none\ntouch end\nstatus=0\nfor pid in $pids; do wait $pid || status=$?; done\ncat err.* >&2\ncat out.*\n";
    if (!e.stock_driver)
        job.run += "mount -t debugfs debugfs /sys/kernel/debug\nsed 's/^/sched: /' /sys/kernel/debug/kfd/sched >&2\n";
    return job;
}

}  // namespace lyra::cli
