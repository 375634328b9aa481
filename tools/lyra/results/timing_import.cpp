// SPDX-License-Identifier: MIT
#include "tools/lyra/results/timing_import.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/timing.h"
#include "tools/lyra/results/results.h"

namespace lyra::results {

namespace {

using nlohmann::json;

constexpr double kLeastR2 = 0.9;  ///< a line that explains less is none

/// A kind of record, and what is read of it.
struct Kind {
    const char* name;
    std::vector<const char*> series, numbers;
    const char* unused = nullptr;  ///< why no row is made of it; nullptr: some are
};
const std::vector<Kind>& kinds() {
    constexpr const char* kChoice = "a choice of the firmware and not a time (docs/design/firmware.md)";
    static const std::vector<Kind> all = {
        {"machine", {}, {"cus", "shader_engines", "max_mhz"}},
        {"idle_queue", {"update_0_us", "update_100_us"}, {}},
        {"preempt", {"first_wave_back_us", "last_wave_back_us"}, {"waves_per_cu"}},
        {"fit", {}, {"mb_per_s", "r2"}},
        {"dispatch", {"first_wave_us", "first_store_seen_us", "signal_seen_us"}, {}},
        {"mmio", {"register_read_ns", "vram_read_ns", "doorbell_write_ns"}, {}},
        {"fence_order", {}, {"late_waves"}, "an order and not a time"},
        {"bystander", {}, {}, "the sum of times for which there are rows"},
        {"selective_unmap", {}, {}, kChoice},
        {"runlist_over_live", {}, {}, kChoice},
    };
    return all;
}

/// What was never seen is null.
bool is_series(const json& value) {
    return value.is_null() || (value.is_object() && value.contains("p50") && value["p50"].is_number());
}

/// @return what is wrong with it; empty: nothing
std::string mistake(const json& record) {
    if (!record.is_object() || !record.contains("record") || !record["record"].is_string())
        return "no record of preempt_timing";
    const auto name = record["record"].get<std::string>();
    const auto kind = std::find_if(kinds().begin(), kinds().end(), [&](const Kind& k) { return name == k.name; });
    if (kind == kinds().end()) return fmt::format("no record of preempt_timing is called \"{}\"", name);
    for (const char* key : kind->series)
        if (record.contains(key) && !is_series(record[key])) return fmt::format("{} of \"{}\" has no median", key, name);
    for (const char* key : kind->numbers)
        if (record.contains(key) && !record[key].is_number()) return fmt::format("{} of \"{}\" is no number", key, name);
    return "";
}

/// Records of one kind, in the file's order.
class Records {
public:
    Records(std::string_view text, const std::string& name) {
        size_t line = 0;
        for (size_t at = 0; at < text.size();) {
            const size_t end = std::min(text.find('\n', at), text.size());
            ++line;
            if (end > at) {
                json record = json::parse(text.substr(at, end - at), nullptr, false);
                if (const std::string why = mistake(record); !why.empty())
                    throw Error(fmt::format("{}:{}: {}", name, line, why));
                records_.push_back(std::move(record));
            }
            at = end + 1;
        }
        if (of("machine").size() != 1) throw Error(fmt::format("{}: has to be the output of one run of preempt_timing", name));
    }
    std::vector<const json*> of(const char* kind) const {
        std::vector<const json*> out;
        for (const json& record : records_)
            if (record["record"] == kind) out.push_back(&record);
        return out;
    }
    const json* first(const char* kind) const {
        const auto all = of(kind);
        return all.empty() ? nullptr : all.front();
    }

private:
    std::vector<json> records_;
};

std::optional<double> number(const json* record, const char* key) {
    if (record == nullptr || !record->contains(key)) return std::nullopt;
    return (*record)[key].get<double>();
}

std::optional<double> median(const json* record, const char* key) {
    if (record == nullptr || !record->contains(key) || (*record)[key].is_null()) return std::nullopt;
    return number(&(*record)[key], "p50");
}

std::string text_of(const json& record, const char* key) {
    return record.contains(key) && record[key].is_string() ? record[key].get<std::string>() : "?";
}

/// Takes rows that the table can hold.
class Rows {
public:
    explicit Rows(ImportedTiming& out) : out_(out) {}
    void add(const char* name, double value, std::string from) {
        const auto* info = std::find_if(std::begin(kTimings), std::end(kTimings),
                                        [&](const TimingInfo& t) { return std::string(t.name) == name; });
        const double rounded = std::round(value);
        if (!(rounded >= static_cast<double>(info->smallest)) || !(rounded <= static_cast<double>(info->largest)))
            return note(fmt::format("{}: {:.1f} is no value that it can have ({})", name, value, from));
        out_.rows.push_back({name, static_cast<uint64_t>(rounded), std::move(from)});
    }
    void note(std::string text) { out_.notes.push_back(std::move(text)); }

private:
    ImportedTiming& out_;
};

void add_speed(const Records& records, SaveAreaIn area, Rows& rows) {
    for (const json* fit : records.of("fit")) {
        if (text_of(*fit, "of") != "update_0_us") continue;
        const auto speed = number(fit, "mb_per_s"), r2 = number(fit, "r2");
        if (!speed || !r2 || *r2 < kLeastR2) break;
        const std::string from = fmt::format("fit of update_0_us: {:.0f} MB/s, R2 {:.3f}", *speed, *r2);
        if (area == SaveAreaIn::System) return rows.add("system_mb_per_s", *speed, from);
        return rows.add("vram_efficiency_percent", 100 * *speed / static_cast<double>(Timing{}.vram_mb_per_s),
                        fmt::format("{}, of {} MB/s", from, Timing{}.vram_mb_per_s));
    }
    rows.note("the speed of a save: update_0_us is no line over the bytes");
}

/// An unmap and its fence are two packets; what the driver itself needs is in a queue update that brings an idle queue back.
void add_scheduler(const Records& records, Rows& rows) {
    const json* idle = records.first("idle_queue");
    const auto off = median(idle, "update_0_us"), on = median(idle, "update_100_us");
    if (!off || !on) return rows.note("scheduler_packet_ns: no idle_queue");
    rows.add("scheduler_packet_ns", (*off - *on) * 1000 / 2,
             fmt::format("idle_queue: update_0_us {:.2f} less update_100_us {:.2f}, two packets", *off, *on));
}

/// How a dispatch is divided among the three is an estimate, and stays as it is in the table.
void add_dispatch(const Records& records, Rows& rows) {
    const json* dispatch = records.first("dispatch");
    const auto wave = median(dispatch, "first_wave_us"), store = median(dispatch, "first_store_seen_us"),
               signal = median(dispatch, "signal_seen_us");
    if (!wave || !store || !signal) return rows.note("doorbell_ns, packet_ns, dispatch_ns, end_of_pipe_ns: no dispatch");
    const Timing table;
    const double sum = static_cast<double>(table.doorbell_ns + table.packet_ns + table.dispatch_ns);
    for (const auto& [name, part] : {std::pair("doorbell_ns", table.doorbell_ns), std::pair("packet_ns", table.packet_ns),
                                     std::pair("dispatch_ns", table.dispatch_ns)})
        rows.add(name, *wave * 1000 * static_cast<double>(part) / sum,
                 fmt::format("first_wave_us {:.2f}, divided as in the table", *wave));
    rows.add("end_of_pipe_ns", (*signal - *store) * 1000,
             fmt::format("signal_seen_us {:.2f} less first_store_seen_us {:.2f}", *signal, *store));
}

/// Waves of a shader engine come back one after the other: least squares over how many they are.
void add_launch(const Records& records, Rows& rows) {
    const json* machine = records.first("machine");
    const auto cus = number(machine, "cus"), engines = number(machine, "shader_engines"), mhz = number(machine, "max_mhz");
    std::vector<std::pair<double, double>> points;
    for (const json* record : records.of("preempt")) {
        const auto waves = number(record, "waves_per_cu");
        const auto first = median(record, "first_wave_back_us"), last = median(record, "last_wave_back_us");
        if (waves && first && last && cus && engines && *engines > 0)
            points.emplace_back(*waves * *cus / *engines, *last - *first);
    }
    double x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    const auto n = static_cast<double>(points.size());
    for (const auto& [waves, us] : points) x += waves / n, y += us / n;
    for (const auto& [waves, us] : points)
        xx += (waves - x) * (waves - x), xy += (waves - x) * (us - y), yy += (us - y) * (us - y);
    if (points.size() < 3 || !(xx > 0) || !(yy > 0) || !mhz || xy * xy / (xx * yy) < kLeastR2)
        return rows.note("wave_launch_clk: last_wave_back_us less first_wave_back_us is no line over the waves");
    rows.add("wave_launch_clk", xy / xx * *mhz,
             fmt::format("{:.4f} us for each wave of a shader engine, at {:.0f} MHz", xy / xx, *mhz));
}

/// A read of VRAM does not reach the registers' bus inside the GPU, so it is only taken where the driver reads no register.
void add_mmio(const Records& records, Rows& rows) {
    const json* mmio = records.first("mmio");
    if (mmio == nullptr) return rows.note("mmio_read_ns, mmio_write_ns: no mmio");
    const auto of_register = median(mmio, "register_read_ns"), of_vram = median(mmio, "vram_read_ns");
    if (of_register)
        rows.add("mmio_read_ns", *of_register, fmt::format("register_read_ns {:.1f}", *of_register));
    else if (of_vram)
        rows.add("mmio_read_ns", *of_vram,
                 fmt::format("vram_read_ns {:.1f}: the link, without the way to a register", *of_vram));
    else
        rows.note("mmio_read_ns: neither register_read_ns nor vram_read_ns");
    const auto write = median(mmio, "doorbell_write_ns");
    if (!write) return rows.note("mmio_write_ns: no doorbell_write_ns");
    rows.add("mmio_write_ns", *write, fmt::format("doorbell_write_ns {:.1f}", *write));
}

/// With late waves, the time until the call returns is not the time until all waves are saved.
void add_unused(const Records& records, Rows& rows) {
    for (const Kind& kind : kinds()) {
        const json* record = records.first(kind.name);
        if (record == nullptr || kind.unused == nullptr) continue;
        const double late = number(record, "late_waves").value_or(0);
        rows.note(late == 0 ? fmt::format("{}: {}", kind.name, kind.unused)
                            : fmt::format("{}: {:.0f} waves ran when update_0_us was over, so what is made of it is too short",
                                          kind.name, late));
    }
}

}  // namespace

ImportedTiming import_timing(std::string_view text, const std::string& name, SaveAreaIn area) {
    const Records records(text, name);
    const json& machine = *records.first("machine");
    ImportedTiming out;
    out.machine = fmt::format("{} ({}), kernel {}, module {}", text_of(machine, "gpu"), text_of(machine, "chip"),
                              text_of(machine, "kernel"), text_of(machine, "amdgpu_module"));
    Rows rows(out);
    if (const auto mhz = number(&machine, "max_mhz")) rows.add("shader_clock_mhz", *mhz, "the highest clock");
    add_speed(records, area, rows);
    add_scheduler(records, rows);
    add_dispatch(records, rows);
    add_launch(records, rows);
    add_mmio(records, rows);
    add_unused(records, rows);
    return out;
}

std::string to_toml(const ImportedTiming& timing) {
    std::string out = fmt::format("# Measured by preempt_timing on {}.\n", timing.machine);
    for (const std::string& note : timing.notes) out += fmt::format("# not there: {}\n", note);
    out += "[timing]\n";
    for (const ImportedRow& row : timing.rows) out += fmt::format("{} = {}  # {}\n", row.name, row.value, row.from);
    return out;
}

}  // namespace lyra::results
