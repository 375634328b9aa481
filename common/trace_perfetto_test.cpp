// SPDX-License-Identifier: MIT
// The Perfetto sink, read back with the protobuf library.
#include "common/trace_perfetto.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/trace_read.h"
#include "common/trace_text.h"
#include "trace.pb.h"

namespace lyra {
namespace {

namespace pf = lyra::perfetto;

TEST(PerfettoTrace, DispatchesAreSlicesOfTheirQueueAndFlowToTheirWaves) {
    const std::string path = fmt::format("{}lyra-trace-{}.pftrace", ::testing::TempDir(), getpid());
    std::string error;
    {
        const std::unique_ptr<TraceSink> sink = open_perfetto_trace(path, error);
        ASSERT_TRUE(sink) << error;
        Tracer tracer;
        tracer.set_sink(sink.get());
        emit<event::doorbell>(tracer, 5, 0x1000u, 7u);
        emit<event::dispatch_begin>(tracer, 10, 1u, 3u, 4u, 0x7000u);
        emit<event::dispatch_begin>(tracer, 11, 2u, 3u, 4u, 0x7000u);  // overlaps the first one
        emit<event::wave_begin>(tracer, 12, 0u, 5u, 1u);
        emit<event::wave_end>(tracer, 20, 0u, 5u, 99u);
        emit<event::dispatch_end>(tracer, 21, 1u, 3u);
        emit<event::dispatch_end>(tracer, 22, 2u, 3u);
    }
    std::ifstream file(path, std::ios::binary);
    pf::Trace trace;
    ASSERT_TRUE(trace.ParseFromIstream(&file));
    std::remove(path.c_str());

    std::map<uint64_t, std::string> tracks;
    std::map<std::string, int> depth;
    std::map<std::string, uint64_t> begun;
    int instants = 0;
    for (const pf::TracePacket& packet : trace.packet()) {
        if (packet.has_track_descriptor()) tracks[packet.track_descriptor().uuid()] = packet.track_descriptor().name();
        if (!packet.has_track_event()) continue;
        const pf::TrackEvent& event = packet.track_event();
        ASSERT_TRUE(tracks.count(event.track_uuid())) << "an event on a track that was not named before";
        const std::string& track = tracks[event.track_uuid()];
        if (event.type() == pf::TrackEvent::SLICE_BEGIN) {
            ++depth[track];
            ASSERT_EQ(event.flow_ids_size(), 1);
            begun[track] = event.flow_ids(0);
            EXPECT_EQ(depth[track], 1) << track << ": slices of one track must not overlap";
        }
        if (event.type() == pf::TrackEvent::SLICE_END) --depth[track];
        if (event.type() == pf::TrackEvent::INSTANT) ++instants;
    }
    EXPECT_EQ(instants, 1);
    EXPECT_EQ(begun["queue 3 dispatch 0"], 1u);
    EXPECT_EQ(begun["queue 3 dispatch 1"], 2u);
    EXPECT_EQ(begun["CU 0 slot 05"], 1u);
    for (const auto& [track, open] : depth) EXPECT_EQ(open, 0) << track;
}

TEST(PerfettoTrace, SaysWhyAFileCannotBeWritten) {
    std::string error;
    EXPECT_FALSE(open_perfetto_trace("/no/such/folder/x.pftrace", error));
    EXPECT_NE(error.find("No such file"), std::string::npos);
}

TEST(PerfettoTrace, EventsAreReadBackByKind) {
    const std::string path = fmt::format("{}lyra-trace-{}-read.pftrace", ::testing::TempDir(), getpid());
    std::string error;
    {
        const std::unique_ptr<TraceSink> sink = open_perfetto_trace(path, error);
        ASSERT_TRUE(sink) << error;
        Tracer tracer;
        tracer.set_sink(sink.get());
        for (uint64_t n = 0; n < 5000; ++n) {
            emit<event::doorbell>(tracer, n, 0x1000u, n);
            if (n % 1000 == 7) emit<event::wave_saved>(tracer, n, 1u, 2u, n << 40, ~uint64_t{0}, n + 1, n + 2);
        }
    }
    std::vector<TraceRecord> records;
    ASSERT_TRUE(read_trace_events(path, EventId::wave_saved, records, error)) << error;
    ASSERT_EQ(records.size(), 5u);
    EXPECT_EQ(records[4].time_ns, 4007u);
    EXPECT_EQ(records[4].args, (std::array<uint64_t, kMaxEventArgs>{1, 2, uint64_t{4007} << 40, ~uint64_t{0}, 4008, 4009}));
    std::ofstream(path, std::ios::binary | std::ios::app) << "rest";
    EXPECT_FALSE(read_trace_events(path, EventId::wave_saved, records, error));
    std::remove(path.c_str());
    EXPECT_FALSE(read_trace_events(path, EventId::wave_saved, records, error));
}

TEST(TextTrace, HasALineForEachEventButThoseOfWaves) {
    const std::string path = fmt::format("{}lyra-trace-{}.tsv", ::testing::TempDir(), getpid());
    std::string error;
    {
        const std::unique_ptr<TraceSink> sink = open_trace(path, error);
        ASSERT_TRUE(sink) << error;
        Tracer tracer;
        tracer.set_sink(sink.get());
        emit<event::doorbell>(tracer, 17, 0x1000u, uint64_t{1} << 63);
        emit<event::wave_begin>(tracer, 18, 0u, 5u, uint64_t{1});
        emit<event::dispatch_started>(tracer, 19, uint64_t{1}, 3u);
    }
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    EXPECT_EQ(text, "17\tdoorbell\t4096\t9223372036854775808\n19\tdispatch_started\t1\t3\n");
    std::remove(path.c_str());
    EXPECT_FALSE(open_trace("/no/such/folder/x.tsv", error));
}

}  // namespace
}  // namespace lyra
