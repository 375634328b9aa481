// SPDX-License-Identifier: MIT
// Tracks: doorbells, queues (a slice for the time on the hardware, packets in it), grids by queue, waves by CU and slot,
// interrupts, memory, everything else by event. Flows lead from the doorbell to the grid that it asked for, and from the grid
// to its waves.
#include "common/trace_perfetto.h"

#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "trace.pb.h"

namespace lyra {

namespace {

namespace pf = lyra::perfetto;

/// How an event is drawn: on which track, and as begin, end or instant.
enum class Shape : uint8_t {
    Instant,
    Doorbell,
    QueueInstant,
    QueueMapped,
    QueueUnmapped,
    GridBegin,
    GridEnd,
    WaveBegin,
    WaveInstant,
    WaveEnd
};

Shape shape_of(EventId id) {
    switch (id) {
        case EventId::doorbell: return Shape::Doorbell;
        case EventId::packet: return Shape::QueueInstant;
        case EventId::queue_mapped: return Shape::QueueMapped;
        case EventId::queue_unmapped: return Shape::QueueUnmapped;
        case EventId::dispatch_begin: return Shape::GridBegin;
        case EventId::dispatch_end: return Shape::GridEnd;
        case EventId::wave_begin: return Shape::WaveBegin;
        case EventId::wave_trap:
        case EventId::wave_saved: return Shape::WaveInstant;
        case EventId::wave_end: return Shape::WaveEnd;
        default: return Shape::Instant;
    }
}

constexpr size_t kMostRings = 256;  ///< of a doorbell that are remembered: nobody rings more often unanswered
constexpr size_t kMostDoorbells = 1024;  ///< with rings that are remembered: a guest may ring all there are
constexpr uint64_t kRingFlows = uint64_t{1} << 63;  ///< beside those of dispatches

class PerfettoSink : public TraceSink {
public:
    explicit PerfettoSink(std::ofstream file) : file_(std::move(file)) {}
    ~PerfettoSink() override { flush(); }

    void record(const TraceRecord& record) override {
        const EventInfo& info = kEvents[static_cast<size_t>(record.id)];
        // A new track is described before its first event.
        pf::TrackEvent event;
        place(record, event);
        if (event.type() != pf::TrackEvent::SLICE_END) {
            event.add_categories(info.block);
            if (!event.has_name()) event.set_name(info.name);
            annotate(record, event);
        }
        pf::TracePacket& packet = *trace_.add_packet();
        packet.set_timestamp(record.time_ns);
        packet.set_trusted_packet_sequence_id(1);
        *packet.mutable_track_event() = std::move(event);
        if (trace_.packet_size() >= 4096) flush();
    }

private:
    void annotate(const TraceRecord& record, pf::TrackEvent& event) {
        size_t i = 0;
        for (const EventArgInfo& arg : kEventArgs) {
            if (arg.event != record.id) continue;
            pf::DebugAnnotation& note = *event.add_debug_annotations();
            note.set_name(arg.name);
            note.set_uint_value(record.args[i++]);
        }
    }

    void place(const TraceRecord& r, pf::TrackEvent& event) {
        // Which argument holds the queue differs by event: see events.def.
        switch (shape_of(r.id)) {
            case Shape::Instant: instant(event, kEvents[static_cast<size_t>(r.id)].name); break;
            case Shape::Doorbell:
                instant(event, kEvents[static_cast<size_t>(r.id)].name);
                event.add_flow_ids(ring(r.args[0], r.args[1]));
                break;
            case Shape::QueueInstant:
                instant(event, fmt::format("queue {}", r.args[0]));
                queues_[r.args[0]].position = r.args[3];
                break;
            case Shape::QueueMapped:
                event.set_type(pf::TrackEvent::SLICE_BEGIN);
                event.set_name(fmt::format("VMID {}", r.args[1]));
                event.set_track_uuid(track(fmt::format("queue {}", r.args[0])));
                queues_[r.args[0]].doorbell = r.args[2];
                break;
            case Shape::QueueUnmapped:
                event.set_type(pf::TrackEvent::SLICE_END);
                event.set_track_uuid(track(fmt::format("queue {}", r.args[0])));
                break;
            case Shape::GridBegin:
                event.set_type(pf::TrackEvent::SLICE_BEGIN);
                event.set_name(fmt::format("dispatch {}", r.args[0]));
                event.set_track_uuid(track(fmt::format("queue {} dispatch {}", r.args[1], lane(r.args[1], r.args[0]))));
                event.add_flow_ids(r.args[0]);
                if (const uint64_t flow = asked_for(r.args[1])) event.add_flow_ids(flow);
                break;
            case Shape::GridEnd:
                event.set_type(pf::TrackEvent::SLICE_END);
                event.set_track_uuid(track(fmt::format("queue {} dispatch {}", r.args[1], release(r.args[1], r.args[0]))));
                break;
            case Shape::WaveBegin:
                event.set_type(pf::TrackEvent::SLICE_BEGIN);
                event.set_name(fmt::format("wave of {}", r.args[2]));
                event.set_track_uuid(track(fmt::format("CU {} slot {:02}", r.args[0], r.args[1])));
                event.add_flow_ids(r.args[2]);
                break;
            case Shape::WaveInstant: instant(event, fmt::format("CU {} slot {:02}", r.args[0], r.args[1])); break;
            case Shape::WaveEnd:
                event.set_type(pf::TrackEvent::SLICE_END);
                event.set_track_uuid(track(fmt::format("CU {} slot {:02}", r.args[0], r.args[1])));
                break;
        }
    }

    void instant(pf::TrackEvent& event, const std::string& name) {
        event.set_type(pf::TrackEvent::INSTANT);
        event.set_track_uuid(track(name));
    }

    /// What the doorbells of user queues carry is the index of the last packet: that is how a grid finds the ring that it
    /// follows.
    struct Queue {
        uint64_t doorbell = 0, position = 0;  ///< bytes from the start of BAR2; of the last packet
    };
    struct Ring {
        uint64_t value, flow;
    };

    uint64_t ring(uint64_t doorbell, uint64_t value) {
        if (rings_.size() > kMostDoorbells) rings_.clear();
        std::deque<Ring>& rings = rings_[doorbell];
        if (rings.size() == kMostRings) rings.pop_front();
        rings.push_back({value, kRingFlows | ++rung_});
        return rings.back().flow;
    }
    /// @return the flow of the first ring that tells of the queue's last packet; 0: none is known
    uint64_t asked_for(uint64_t queue) {
        const Queue& q = queues_[queue];
        std::deque<Ring>& rings = rings_[q.doorbell];
        while (!rings.empty() && rings.front().value < q.position) rings.pop_front();
        return rings.empty() ? 0 : rings.front().flow;
    }

    /// Grids of one queue may overlap and slices of one track must nest, so each takes the first free lane of its queue.
    size_t lane(uint64_t queue, uint64_t dispatch) {
        std::vector<uint64_t>& lanes = lanes_[queue];
        for (size_t i = 0; i < lanes.size(); ++i)
            if (lanes[i] == 0) return lanes[i] = dispatch, i;
        lanes.push_back(dispatch);
        return lanes.size() - 1;
    }
    size_t release(uint64_t queue, uint64_t dispatch) {
        std::vector<uint64_t>& lanes = lanes_[queue];
        for (size_t i = 0; i < lanes.size(); ++i)
            if (lanes[i] == dispatch) return lanes[i] = 0, i;
        return 0;
    }

    uint64_t track(const std::string& name) {
        auto [it, fresh] = tracks_.try_emplace(name, tracks_.size() + 1);
        if (fresh) {
            pf::TracePacket& packet = *trace_.add_packet();
            packet.set_trusted_packet_sequence_id(1);
            packet.mutable_track_descriptor()->set_uuid(it->second);
            packet.mutable_track_descriptor()->set_name(name);
        }
        return it->second;
    }

    void flush() {
        // Messages of one type simply follow each other on the wire, so a trace can be written in pieces.
        trace_.SerializeToOstream(&file_);
        file_.flush();
        trace_.Clear();
    }

    std::ofstream file_;
    pf::Trace trace_;
    std::map<std::string, uint64_t> tracks_;
    std::map<uint64_t, std::vector<uint64_t>> lanes_;
    std::map<uint64_t, Queue> queues_;
    std::map<uint64_t, std::deque<Ring>> rings_;  // by doorbell
    uint64_t rung_ = 0;
};

/// Events of the guest's kernel follow the device's in the file, with tracks and a sequence of their own.
class KernelTracks {
public:
    explicit KernelTracks(pf::Trace& trace) : trace_(trace) {}

    void add(const KernelEvent& from) {
        const uint64_t uuid = track(from.task);
        pf::TracePacket& packet = next();
        packet.set_timestamp(from.time_ns);
        pf::TrackEvent& event = *packet.mutable_track_event();
        event.set_type(pf::TrackEvent::INSTANT);
        event.set_track_uuid(uuid);
        event.add_categories("kernel");
        event.set_name(from.name);
        for (const auto& [name, value] : from.fields) {
            pf::DebugAnnotation& note = *event.add_debug_annotations();
            note.set_name(name);
            note.set_string_value(value);
        }
    }

private:
    static constexpr uint64_t kFirst = uint64_t{1} << 32;  // above the device's tracks

    pf::TracePacket& next() {
        pf::TracePacket& packet = *trace_.add_packet();
        packet.set_trusted_packet_sequence_id(2);
        return packet;
    }
    uint64_t track(const std::string& task) {
        auto [it, fresh] = tracks_.try_emplace(task, kFirst + tracks_.size());
        if (fresh) {
            pf::TrackDescriptor& track = *next().mutable_track_descriptor();
            track.set_uuid(it->second);
            track.set_name("kernel: " + task);
        }
        return it->second;
    }

    pf::Trace& trace_;
    std::map<std::string, uint64_t> tracks_;
};

}  // namespace

std::unique_ptr<TraceSink> open_perfetto_trace(const std::string& path, std::string& error) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    if (!file) {
        error = fmt::format("cannot write trace file {}: {}", path, std::strerror(errno));
        return nullptr;
    }
    return std::make_unique<PerfettoSink>(std::move(file));
}

bool append_kernel_events(const std::string& path, const std::vector<KernelEvent>& events, std::string& error) {
    std::ofstream file(path, std::ios::binary | std::ios::app);
    pf::Trace trace;
    KernelTracks tracks(trace);
    for (const KernelEvent& event : events) tracks.add(event);
    if (file && trace.SerializeToOstream(&file) && file.flush()) return true;
    error = fmt::format("cannot write trace file {}: {}", path, std::strerror(errno));
    return false;
}

}  // namespace lyra
