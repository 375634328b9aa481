// SPDX-License-Identifier: MIT
#include "tools/lyra/results/timeline.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include "common/trace_text.h"
#include "cp-firmware-model/packets/pm4.h"

namespace lyra::cli {

namespace {

constexpr uint64_t kAql = 1, kPm4 = 0;       // the packet event's kind
constexpr uint64_t kAqlKernelDispatch = 2;   // HSA_PACKET_TYPE_KERNEL_DISPATCH

/// Follows the device from event to event.
class Reader {
public:
    explicit Reader(const std::vector<TimelineQueue>& queues) : expected_(queues) {}

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
            case EventId::dispatch_resident: resident(e); break;
            case EventId::dispatch_end: end(e); break;
            default: break;
        }
    }

    Timeline finish() {
        if (marks_ == 0) finish_experiment();
        if (marks_ != 0 && marks_ != 2)
            throw std::runtime_error(fmt::format("the device saw {} marks of an experiment, not 2", marks_));
        return std::move(done_);
    }

private:
    void mark() {
        if (++marks_ == 2) finish_experiment();
        out_ = {};
        running_.clear();
        tracks_.clear();
        off_.clear();
        last_asked_ns_ = last_unmapped_ns_ = 0;
        begin_ns_ = now_ns_;
        begun_ = false;
    }

    void finish_experiment() {
        out_.samples.erase(
            std::remove_if(out_.samples.begin(), out_.samples.end(), [](const sim::Sample& s) { return s.t9_done == 0; }),
            out_.samples.end());
        uint64_t first = ~uint64_t{0}, last = 0;
        for (const sim::Sample& s : out_.samples) {
            first = std::min(first, s.t0_doorbell);
            last = std::max(last, s.t9_done);
        }
        out_.queues.resize(tracks_.size());
        for (const auto& [doorbell, track] : tracks_)
            out_.queues[track.number] = times_of(track, first, last, off_[doorbell].longest_ns);
        out_.duration_ns = now_ns_ - begin_ns_;
        done_ = std::move(out_);
    }

    struct Ring {
        uint64_t ns, value;
    };
    /// The kernel that a queue has begun; clients have one at a time. It has another dispatch id when it was saved and
    /// restored.
    struct Kernel {
        size_t sample = SIZE_MAX;  ///< of a latency-critical one
        uint64_t rung_ns = 0;
    };
    /// A client's queue.
    struct Track {
        size_t number = 0;  ///< of the client
        TimelineQueue expected;
        struct Ended {
            uint64_t ns, turnaround_ns;
        };
        std::vector<Ended> ended;  ///< its kernels, the warm-up first
    };

    /// Kernels that ended between the two times, and those of the warm-up, which begins with code that is not there yet: the
    /// first one does not count.
    static QueueTimes times_of(const Track& track, uint64_t first, uint64_t last, uint64_t longest_off_ns) {
        QueueTimes out;
        out.longest_off_ns = longest_off_ns;
        std::vector<Track::Ended> alone, beside;
        for (size_t n = 0; n < track.ended.size(); ++n) {
            const Track::Ended& each = track.ended[n];
            if (n < track.expected.warm_up && n > 0) alone.push_back(each);
            if (n >= track.expected.warm_up && each.ns > first && each.ns <= last) beside.push_back(each);
        }
        const auto turnaround_of = [](const std::vector<Track::Ended>& all) {
            uint64_t sum = 0;
            for (const Track::Ended& each : all) sum += each.turnaround_ns;
            return all.empty() ? 0 : static_cast<double>(sum) / static_cast<double>(all.size());
        };
        const auto rate_of = [](const std::vector<Track::Ended>& all) {
            const uint64_t ns = all.size() > 1 ? all.back().ns - all.front().ns : 0;
            return ns == 0 ? 0 : static_cast<double>(all.size() - 1) / static_cast<double>(ns);
        };
        out.alone_turnaround_ns = turnaround_of(alone);
        out.alone_rate = rate_of(alone);
        out.turnaround_ns = turnaround_of(beside);
        // Nobody ends kernels who does not get to run; who has not had the time to end one is something else.
        const double window = last > first ? static_cast<double>(last - first) : 0;
        if (beside.size() > 1)
            out.rate = rate_of(beside);
        else if (window * out.alone_rate >= 10)
            out.rate = static_cast<double>(beside.size()) / window;
        return out;
    }

    Track& track_of(uint64_t doorbell) {
        const auto [it, added] = tracks_.try_emplace(doorbell);
        if (!added) return it->second;
        it->second.number = tracks_.size() - 1;
        if (it->second.number < expected_.size()) it->second.expected = expected_[it->second.number];
        return it->second;
    }

    /// What a queue has to do, and how long it had no slot for it.
    struct Off {
        uint64_t rung = 0, read = 0;  ///< packets that doorbells told of, and that were read
        bool off = false;
        uint64_t since_ns = 0;  ///< of a queue that is off: 0 when it has nothing to do
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
        const uint64_t rung = rung_for(doorbell, position_[queue]);
        kernel.rung_ns = rung != 0 ? rung : e.time_ns;
        if (groups == kMarkGroups) return mark();
        if (groups == kClientGroups) {
            track_of(doorbell);
            return;
        }
        const auto found = tracks_.find(doorbell);
        if (found == tracks_.end()) return;
        const Track& track = found->second;
        if (track.expected.critical && track.ended.size() >= track.expected.warm_up) {
            sim::Sample s;
            s.client = static_cast<unsigned>(track.number);
            s.t0_doorbell = kernel.rung_ns;
            // The queue had no slot, or went to the hardware anew with the others, before its packet was read.
            if (last_unmapped_ns_ > s.t0_doorbell) note_unmap(s, last_asked_ns_, last_unmapped_ns_);
            kernel.sample = out_.samples.size();
            out_.samples.push_back(s);
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

    /// The last work-group of the grid has been placed.
    void resident(const TraceRecord& e) {
        const auto it = running_.find(doorbell_[e.args[1]]);
        if (it == running_.end() || it->second.sample == SIZE_MAX) return;
        sim::Sample& s = out_.samples[it->second.sample];
        if (s.resident == 0) s.resident = e.time_ns;
    }

    void end(const TraceRecord& e) {
        const auto it = running_.find(doorbell_[e.args[1]]);
        if (it == running_.end()) return;
        if (it->second.sample != SIZE_MAX) out_.samples[it->second.sample].t9_done = e.time_ns;
        track_of(it->first).ended.push_back({e.time_ns, e.time_ns - std::min(e.time_ns, it->second.rung_ns)});
        running_.erase(it);
    }

    const std::vector<TimelineQueue>& expected_;
    Timeline out_, done_;
    std::map<uint64_t, std::vector<Ring>> rung_;  // by doorbell
    std::map<uint64_t, uint64_t> doorbell_, position_;  // by queue
    std::map<uint64_t, Track> tracks_;  // by doorbell
    std::map<uint64_t, Kernel> running_;  // by doorbell
    std::map<uint64_t, Off> off_;  // by doorbell
    uint64_t hiq_ = ~uint64_t{0};
    uint64_t last_asked_ns_ = 0, last_unmapped_ns_ = 0;
    uint64_t begin_ns_ = 0, now_ns_ = 0;
    unsigned marks_ = 0;
    bool begun_ = false;
};

}  // namespace

Timeline read_timeline(std::istream& in, const std::vector<TimelineQueue>& queues) {
    Reader reader(queues);
    read_text_trace(in, [&](const TraceRecord& record) { reader.take(record); });
    return reader.finish();
}

}  // namespace lyra::cli
