// SPDX-License-Identifier: MIT
#include "tools/lyra/timeline.h"

#include <algorithm>
#include <map>

#include "common/trace_text.h"
#include "cp-firmware-model/packets/pm4.h"

namespace lyra::cli {

namespace {

constexpr uint64_t kAql = 1, kPm4 = 0;       // the packet event's kind
constexpr uint64_t kAqlKernelDispatch = 2;   // HSA_PACKET_TYPE_KERNEL_DISPATCH

/// Follows the device from event to event.
class Reader {
public:
    explicit Reader(const TimelineOptions& options) : options_(options) {}

    void take(const TraceRecord& e) {
        if (begin_ns_ == 0) begin_ns_ = e.time_ns;
        now_ns_ = e.time_ns;
        switch (e.id) {
            case EventId::doorbell: rang(e); break;
            case EventId::queue_mapped: mapped(e); break;
            case EventId::queue_unmapped: unmapped(e); break;
            case EventId::packet: packet(e); break;
            case EventId::dispatch_begin: begin(e); break;
            case EventId::dispatch_started: started(e); break;
            case EventId::dispatch_end: end(e); break;
            default: break;
        }
    }

    std::vector<Timeline> finish() {
        if (!marked_) finish_experiment();
        return std::move(experiments_);
    }

private:
    void mark() {
        if (marked_) finish_experiment();
        marked_ = true;
        out_ = {};
        seen_.clear();
        last_begin_.clear();
        running_.clear();
        periods_.clear();
        order_.clear();
        off_.clear();
        last_asked_ns_ = last_unmapped_ns_ = first_begin_ = last_end_ = 0;
        begin_ns_ = now_ns_;
        begun_ = false;
    }

    void finish_experiment() {
        out_.samples.erase(
            std::remove_if(out_.samples.begin(), out_.samples.end(), [](const sim::Sample& s) { return s.t9_done == 0; }),
            out_.samples.end());
        if (!periods_.empty()) out_.alone_ns = *std::min_element(periods_.begin(), periods_.end());
        if (out_.best_effort > 0) out_.best_effort_ns = last_end_ - first_begin_;
        for (const sim::Sample& s : out_.samples) {
            const uint64_t from = std::max(s.t8_first_wave, first_begin_), to = std::min(s.t9_done, last_end_);
            if (from < to) out_.critical_ns += to - from;
        }
        for (const uint64_t doorbell : order_) out_.longest_off_ns.push_back(off_[doorbell].longest_ns);
        out_.duration_ns = now_ns_ - begin_ns_;
        experiments_.push_back(std::move(out_));
    }

    struct Ring {
        uint64_t ns, value;
    };
    /// The kernel that a queue has begun; clients have one at a time. It has another dispatch id when it was saved and
    /// restored.
    struct Kernel {
        size_t sample = SIZE_MAX;  ///< of a latency-critical one
        uint64_t begin_ns = 0;
    };

    /// What a queue has to do, and how long it had no slot for it.
    struct Off {
        uint64_t rung = 0, read = 0;  ///< packets that doorbells told of, and that were read
        bool off = false;
        uint64_t since_ns = 0;        ///< of a queue that is off: 0 when it has nothing to do
        uint64_t longest_ns = 0;
    };

    /// Calls f for each sample whose first wave is not there yet.
    template <class F>
    void for_waiting(F f) {
        for (const auto& [doorbell, kernel] : running_) {
            if (kernel.sample != SIZE_MAX && out_.samples[kernel.sample].t8_first_wave == 0) f(out_.samples[kernel.sample]);
        }
    }

    /// When the first ring told of what is at the position; forgets the ones before.
    uint64_t rung_for(uint64_t doorbell, uint64_t position) {
        std::vector<Ring>& rings = rung_[doorbell];
        const auto it = std::find_if(rings.begin(), rings.end(), [&](const Ring& r) { return r.value >= position; });
        if (it == rings.end()) return 0;
        const uint64_t ns = it->ns;
        rings.erase(rings.begin(), it);
        return ns;
    }

    void rang(const TraceRecord& e) {
        rung_[e.args[0]].push_back({e.time_ns, e.args[1]});
        Off& off = off_[e.args[0]];
        off.rung = std::max(off.rung, e.args[1] + 1);
        if (off.off && off.since_ns == 0) off.since_ns = e.time_ns;
    }

    void mapped(const TraceRecord& e) {
        doorbell_[e.args[0]] = e.args[2];
        Off& off = off_[e.args[2]];
        if (off.off && off.since_ns != 0) off.longest_ns = std::max(off.longest_ns, e.time_ns - off.since_ns);
        off.off = false;
        off.since_ns = 0;
    }

    void packet(const TraceRecord& e) {
        const uint64_t queue = e.args[0], kind = e.args[1], opcode = e.args[2], position = e.args[3];
        off_[doorbell_[queue]].read = position + 1;
        if (kind == kAql && opcode == kAqlKernelDispatch) position_[queue] = position;
        if (kind != kPm4) return;
        if (opcode == static_cast<uint64_t>(pm4::Opcode::RUN_LIST)) hiq_ = queue;
        if (queue != hiq_) return;
        // The driver rings for each packet: what remains is of those that are not complete.
        std::vector<Ring>& rings = rung_[doorbell_[queue]];
        rings.erase(rings.begin(), std::find_if(rings.begin(), rings.end(), [&](const Ring& r) { return r.value > position; }));
        if (!rings.empty()) rings.erase(rings.begin());
    }

    /// A queue goes: the unmap that the HIQ's oldest doorbell told of. (The packet itself is in the trace when it is complete.)
    void unmapped(const TraceRecord& e) {
        const auto kernel = running_.find(doorbell_[e.args[0]]);
        Off& off = off_[doorbell_[e.args[0]]];
        off.off = true;
        off.since_ns = kernel != running_.end() || off.rung > off.read ? e.time_ns : 0;
        if (kernel == running_.end() || kernel->second.sample != SIZE_MAX) return;  // nobody loses anything
        if (begun_) ++out_.saved_queues;
        const std::vector<Ring>& rings = rung_[doorbell_[hiq_]];
        const uint64_t asked = rings.empty() ? e.time_ns : rings.front().ns;
        for_waiting([&](sim::Sample& s) { note_unmap(s, asked, e.time_ns); });
        last_asked_ns_ = asked;
        last_unmapped_ns_ = e.time_ns;
    }

    static void note_unmap(sim::Sample& s, uint64_t asked, uint64_t unmapped) {
        if (!s.displaced) s.t2_detected = s.t3_requested = s.t4_dequeue = std::max(asked, s.t0_doorbell);
        s.displaced = true;
        s.t5_saved = s.t6_fence = unmapped;
    }

    void begin(const TraceRecord& e) {
        const uint64_t queue = e.args[1], groups = e.args[2], doorbell = doorbell_[queue];
        Kernel kernel;
        kernel.begin_ns = e.time_ns;
        const uint64_t rung = rung_for(doorbell, position_[queue]);
        if (groups == kMarkGroups) return mark();
        if (std::find(order_.begin(), order_.end(), doorbell) == order_.end()) order_.push_back(doorbell);
        if (groups > 1) {
            if (const auto it = last_begin_.find(doorbell); it != last_begin_.end() && !begun_)
                periods_.push_back(e.time_ns - it->second);
            last_begin_[doorbell] = e.time_ns;
        } else if (seen_[doorbell]++ >= options_.warm_up) {
            sim::Sample s;
            s.t0_doorbell = rung != 0 ? rung : e.time_ns;
            // The queue had no slot, or went to the hardware anew with the others, before its packet was read.
            if (last_unmapped_ns_ > s.t0_doorbell) note_unmap(s, last_asked_ns_, last_unmapped_ns_);
            kernel.sample = out_.samples.size();
            out_.samples.push_back(s);
            if (!begun_) first_begin_ = s.t0_doorbell;
            begun_ = true;
        }
        running_[doorbell] = kernel;
    }

    void started(const TraceRecord& e) {
        const auto it = running_.find(doorbell_[e.args[1]]);
        if (it == running_.end() || it->second.sample == SIZE_MAX) return;
        sim::Sample& s = out_.samples[it->second.sample];
        if (s.t8_first_wave != 0) return;
        s.t8_first_wave = e.time_ns;
        // It is saved unit by unit, and the unmap may go on when there is already room: what has been asked for counts.
        const std::vector<Ring>& rings = rung_[doorbell_[hiq_]];
        const bool others =
            std::any_of(running_.begin(), running_.end(), [](const auto& each) { return each.second.sample == SIZE_MAX; });
        if (others && !rings.empty() && rings.front().ns >= s.t0_doorbell) note_unmap(s, rings.front().ns, e.time_ns);
        s.t5_saved = std::min(s.t5_saved, e.time_ns);
    }

    void end(const TraceRecord& e) {
        const auto it = running_.find(doorbell_[e.args[1]]);
        if (it == running_.end()) return;
        if (it->second.sample != SIZE_MAX) {
            out_.samples[it->second.sample].t9_done = e.time_ns;
        } else if (begun_ && last_begin_.contains(it->first)) {
            // One that had begun before the samples did a part of its work then: the next one is the first.
            if (out_.best_effort == 0 && it->second.begin_ns < first_begin_) {
                first_begin_ = e.time_ns;
            } else {
                ++out_.best_effort;
            }
            last_end_ = e.time_ns;
        }
        running_.erase(it);
    }

    TimelineOptions options_;
    Timeline out_;
    std::vector<Timeline> experiments_;
    std::map<uint64_t, std::vector<Ring>> rung_;  // by doorbell
    std::map<uint64_t, uint64_t> doorbell_, position_;  // by queue
    std::map<uint64_t, uint64_t> seen_, last_begin_;  // by doorbell
    std::map<uint64_t, Kernel> running_;  // by doorbell
    std::map<uint64_t, Off> off_;  // by doorbell
    std::vector<uint64_t> periods_, order_;  // order_: doorbells, by their queues' first kernels
    uint64_t hiq_ = ~uint64_t{0};
    uint64_t last_asked_ns_ = 0, last_unmapped_ns_ = 0, first_begin_ = 0, last_end_ = 0;
    uint64_t begin_ns_ = 0, now_ns_ = 0;
    bool begun_ = false, marked_ = false;
};

}  // namespace

double Timeline::retained() const {
    if (alone_ns == 0 || best_effort == 0 || best_effort_ns <= critical_ns) return 0;
    return static_cast<double>(best_effort) * static_cast<double>(alone_ns) / static_cast<double>(best_effort_ns - critical_ns);
}

std::vector<Timeline> read_timelines(std::istream& in, const TimelineOptions& options) {
    Reader reader(options);
    read_text_trace(in, [&](const TraceRecord& record) { reader.take(record); });
    return reader.finish();
}

}  // namespace lyra::cli
