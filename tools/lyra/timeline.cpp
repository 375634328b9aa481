// SPDX-License-Identifier: MIT
#include "tools/lyra/timeline.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "common/trace.h"
#include "cp-firmware-model/packets/pm4.h"

namespace lyra::cli {

namespace {

constexpr uint64_t kAql = 1, kPm4 = 0;       // the packet event's kind
constexpr uint64_t kAqlKernelDispatch = 2;   // HSA_PACKET_TYPE_KERNEL_DISPATCH

struct Line {
    uint64_t ns = 0;
    EventId id{};
    std::array<uint64_t, kMaxEventArgs> args{};
};

std::optional<EventId> event_of(std::string_view name) {
    for (size_t n = 0; n < std::size(kEvents); ++n) {
        if (name == kEvents[n].name) return static_cast<EventId>(n);
    }
    return {};
}

Line parse(std::string_view text, uint64_t number) {
    const auto bad = [&] { return std::runtime_error(fmt::format("line {} of the trace is not an event: '{}'", number, text.substr(0, 80))); };
    const auto next = [&, rest = text]() mutable -> std::optional<std::string_view> {
        if (rest.data() == nullptr) return {};
        const size_t tab = rest.find('\t');
        const std::string_view word = rest.substr(0, tab);
        rest = tab == std::string_view::npos ? std::string_view() : rest.substr(tab + 1);
        return word;
    };
    const auto value = [&](std::string_view word) {
        uint64_t out = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
        if (error != std::errc{} || end != word.data() + word.size()) throw bad();
        return out;
    };
    Line line;
    line.ns = value(next().value());
    const std::optional<std::string_view> name = next();
    const std::optional<EventId> id = name ? event_of(*name) : std::nullopt;
    if (!id) throw bad();
    line.id = *id;
    size_t count = 0;
    while (const std::optional<std::string_view> word = next()) {
        if (count == line.args.size()) throw bad();
        line.args[count++] = value(*word);
    }
    if (count != event_arg_count(*id)) throw bad();
    return line;
}

/// Follows the device from event to event.
class Reader {
public:
    explicit Reader(const TimelineOptions& options) : options_(options) {}

    void take(const Line& e) {
        switch (e.id) {
            case EventId::doorbell: rung_[e.args[0]].push_back({e.ns, e.args[1]}); break;
            case EventId::queue_mapped: doorbell_[e.args[0]] = e.args[2]; break;
            case EventId::queue_unmapped: unmapped(e); break;
            case EventId::packet: packet(e); break;
            case EventId::dispatch_begin: begin(e); break;
            case EventId::dispatch_started: started(e); break;
            case EventId::dispatch_end: end(e); break;
            default: break;
        }
    }

    Timeline finish() {
        out_.samples.erase(std::remove_if(out_.samples.begin(), out_.samples.end(), [](const sim::Sample& s) { return s.t9_done == 0; }),
                           out_.samples.end());
        std::sort(periods_.begin(), periods_.end());
        if (!periods_.empty()) out_.alone_ns = periods_[periods_.size() / 2];
        if (out_.best_effort > 0) out_.best_effort_ns = last_end_ - first_begin_;
        for (const sim::Sample& s : out_.samples) {
            const uint64_t from = std::max(s.t8_first_wave, first_begin_), to = std::min(s.t9_done, last_end_);
            if (from < to) out_.critical_ns += to - from;
        }
        return std::move(out_);
    }

private:
    struct Ring {
        uint64_t ns, value;
    };
    struct Open {
        size_t sample = SIZE_MAX;  ///< of a latency-critical kernel
        uint64_t begin_ns = 0;
    };

    /// The first ring that told of the packet, and forget the ones before.
    uint64_t rung_for(uint64_t doorbell, uint64_t position) {
        std::vector<Ring>& rings = rung_[doorbell];
        const auto it = std::find_if(rings.begin(), rings.end(), [&](const Ring& r) { return r.value >= position; });
        if (it == rings.end()) return 0;
        const uint64_t ns = it->ns;
        rings.erase(rings.begin(), it);
        return ns;
    }

    void packet(const Line& e) {
        const uint64_t queue = e.args[0], kind = e.args[1], opcode = e.args[2];
        if (kind == kAql && opcode == kAqlKernelDispatch) position_[queue] = e.args[3];
        if (kind != kPm4) return;
        if (opcode == static_cast<uint64_t>(pm4::Opcode::RUN_LIST)) hiq_ = queue;
        if (opcode != static_cast<uint64_t>(pm4::Opcode::UNMAP_QUEUES) || queue != hiq_) return;
        const std::vector<Ring>& rings = rung_[doorbell_[queue]];
        const uint64_t asked = rings.empty() ? e.ns : rings.back().ns;
        for (const auto& [dispatch, open] : open_) {
            if (open.sample == SIZE_MAX) continue;
            sim::Sample& s = out_.samples[open.sample];
            if (s.t8_first_wave == 0 && s.t4_dequeue == 0) note_unmap(s, asked, e.ns);
        }
        last_unmap_ = {asked, e.ns};
        ++unmaps_;
    }

    void note_unmap(sim::Sample& s, uint64_t asked, uint64_t ns) {
        s.t2_detected = s.t3_requested = std::max(asked, s.t0_doorbell);
        s.t4_dequeue = ns;
        s.displaced = true;
    }

    void unmapped(const Line& e) {
        if (!begun_) return;
        ++out_.saved_queues;
        for (const auto& [dispatch, open] : open_) {
            if (open.sample == SIZE_MAX) continue;
            sim::Sample& s = out_.samples[open.sample];
            if (s.t8_first_wave == 0 && s.t4_dequeue != 0) s.t5_saved = s.t6_fence = e.ns;
        }
        last_unmapped_ns_ = e.ns;
    }

    void begin(const Line& e) {
        const uint64_t dispatch = e.args[0], queue = e.args[1], groups = e.args[2], doorbell = doorbell_[queue];
        Open open;
        open.begin_ns = e.ns;
        if (groups > 1) {
            if (const auto it = last_begin_.find(doorbell); it != last_begin_.end() && !begun_) periods_.push_back(e.ns - it->second);
            last_begin_[doorbell] = e.ns;
        } else if (seen_[doorbell]++ >= options_.warm_up) {
            sim::Sample s;
            s.t0_doorbell = rung_for(doorbell, position_[queue]);
            if (s.t0_doorbell == 0) s.t0_doorbell = e.ns;
            // The queue was away itself, or went to the hardware again with the others, before its packet was read.
            if (last_unmap_.second > s.t0_doorbell) {
                note_unmap(s, last_unmap_.first, last_unmap_.second);
                if (last_unmapped_ns_ > last_unmap_.second) s.t5_saved = s.t6_fence = last_unmapped_ns_;
            }
            open.sample = out_.samples.size();
            out_.samples.push_back(s);
            if (!begun_) first_begin_ = s.t0_doorbell;
            begun_ = true;
        }
        open_[dispatch] = open;
    }

    void started(const Line& e) {
        const auto it = open_.find(e.args[0]);
        if (it != open_.end() && it->second.sample != SIZE_MAX) {
            sim::Sample& s = out_.samples[it->second.sample];
            if (s.t8_first_wave == 0) s.t8_first_wave = e.ns;
        }
    }

    void end(const Line& e) {
        const auto it = open_.find(e.args[0]);
        if (it == open_.end()) return;
        if (it->second.sample != SIZE_MAX) {
            out_.samples[it->second.sample].t9_done = e.ns;
        } else if (begun_) {
            // One that had begun before the samples did a part of its work then: the next one is the first.
            if (out_.best_effort == 0 && it->second.begin_ns < first_begin_) {
                first_begin_ = e.ns;
            } else {
                ++out_.best_effort;
            }
            last_end_ = e.ns;
        }
        open_.erase(it);
    }

    TimelineOptions options_;
    Timeline out_;
    std::map<uint64_t, std::vector<Ring>> rung_;          // by doorbell
    std::map<uint64_t, uint64_t> doorbell_, position_;    // by queue
    std::map<uint64_t, uint64_t> seen_, last_begin_;      // by doorbell
    std::map<uint64_t, Open> open_;                       // by dispatch
    std::vector<uint64_t> periods_;
    uint64_t hiq_ = ~uint64_t{0}, unmaps_ = 0;
    std::pair<uint64_t, uint64_t> last_unmap_{0, 0};
    uint64_t last_unmapped_ns_ = 0, first_begin_ = 0, last_end_ = 0;
    bool begun_ = false;
};

}  // namespace

double Timeline::retained() const {
    if (alone_ns == 0 || best_effort == 0 || best_effort_ns <= critical_ns) return 0;
    return static_cast<double>(best_effort) * static_cast<double>(alone_ns) / static_cast<double>(best_effort_ns - critical_ns);
}

Timeline read_timeline(std::istream& in, const TimelineOptions& options) {
    Reader reader(options);
    uint64_t number = 0;
    for (std::string line; std::getline(in, line);) reader.take(parse(line, ++number));
    return reader.finish();
}

}  // namespace lyra::cli
