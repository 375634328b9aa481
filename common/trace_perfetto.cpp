// SPDX-License-Identifier: MIT
// Tracks: doorbells, queues, waves by CU and slot, interrupts, memory, everything else by block. A dispatch is a flow from its
// queue to its waves.
#include "common/trace_perfetto.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "trace.pb.h"

namespace lyra {

namespace {

namespace pf = lyra::perfetto;

/// How an event is drawn: on which track, and as begin, end or instant.
enum class Shape : uint8_t { Instant, QueueInstant, QueueBegin, QueueEnd, WaveBegin, WaveEnd };

Shape shape_of(EventId id) {
    switch (id) {
        case EventId::packet:
        case EventId::queue_mapped:
        case EventId::queue_unmapped: return Shape::QueueInstant;
        case EventId::dispatch_begin: return Shape::QueueBegin;
        case EventId::dispatch_end: return Shape::QueueEnd;
        case EventId::wave_begin: return Shape::WaveBegin;
        case EventId::wave_end: return Shape::WaveEnd;
        default: return Shape::Instant;
    }
}

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
            case Shape::Instant:
                event.set_type(pf::TrackEvent::INSTANT);
                event.set_track_uuid(track(kEvents[static_cast<size_t>(r.id)].name));
                break;
            case Shape::QueueInstant:
                event.set_type(pf::TrackEvent::INSTANT);
                event.set_track_uuid(track(fmt::format("queue {}", r.args[0])));
                break;
            case Shape::QueueBegin:
                event.set_type(pf::TrackEvent::SLICE_BEGIN);
                event.set_name(fmt::format("dispatch {}", r.args[0]));
                event.set_track_uuid(track(fmt::format("queue {} dispatch {}", r.args[1], lane(r.args[1], r.args[0]))));
                event.add_flow_ids(r.args[0]);
                break;
            case Shape::QueueEnd:
                event.set_type(pf::TrackEvent::SLICE_END);
                event.set_track_uuid(track(fmt::format("queue {} dispatch {}", r.args[1], release(r.args[1], r.args[0]))));
                break;
            case Shape::WaveBegin:
                event.set_type(pf::TrackEvent::SLICE_BEGIN);
                event.set_name(fmt::format("wave of {}", r.args[2]));
                event.set_track_uuid(track(fmt::format("CU {} slot {:02}", r.args[0], r.args[1])));
                event.add_flow_ids(r.args[2]);
                break;
            case Shape::WaveEnd:
                event.set_type(pf::TrackEvent::SLICE_END);
                event.set_track_uuid(track(fmt::format("CU {} slot {:02}", r.args[0], r.args[1])));
                break;
        }
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

}  // namespace lyra
