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

TEST(PerfettoTrace, ADoorbellFlowsToTheGridsThatItAsksFor) {
    const std::string path = fmt::format("{}lyra-trace-{}-flow.pftrace", ::testing::TempDir(), getpid());
    std::string error;
    {
        const std::unique_ptr<TraceSink> sink = open_perfetto_trace(path, error);
        ASSERT_TRUE(sink) << error;
        Tracer tracer;
        tracer.set_sink(sink.get());
        emit<event::queue_mapped>(tracer, 1, 3u, 8u, 0x1000u, 0x5000u);
        emit<event::doorbell>(tracer, 2, 0x1000u, 6u);
        emit<event::doorbell>(tracer, 3, 0x2000u, 6u);  // another queue's
        emit<event::doorbell>(tracer, 4, 0x1000u, 8u);  // for two packets
        for (const uint64_t position : {6u, 7u, 8u}) {
            emit<event::packet>(tracer, 10 + position, 3u, 1u, 2u, position);
            emit<event::dispatch_begin>(tracer, 10 + position, position, 3u, 1u, 0x7000u);
            emit<event::dispatch_end>(tracer, 10 + position, position, 3u);
        }
        emit<event::queue_unmapped>(tracer, 30, 3u);
    }
    ASSERT_TRUE(append_kernel_events(
        path, {{5, "kfd_sched-7", "kfd_unmap_queues", {{"filter", "4"}}}, {6, "kfd_sched-7", "kfd_hws_done", {}}}, error));
    std::ifstream file(path, std::ios::binary);
    pf::Trace trace;
    ASSERT_TRUE(trace.ParseFromIstream(&file));
    std::remove(path.c_str());

    std::map<uint64_t, std::string> tracks;
    std::map<uint64_t, uint64_t> rings;              // flow, time of its doorbell
    std::vector<uint64_t> asked;                     // for each grid, the time of the doorbell that flows to it
    int on_hardware = 0;
    std::vector<std::string> kernel;
    for (const pf::TracePacket& packet : trace.packet()) {
        if (packet.has_track_descriptor()) {
            EXPECT_TRUE(tracks.emplace(packet.track_descriptor().uuid(), packet.track_descriptor().name()).second)
                << "two tracks with one id";
            continue;
        }
        const pf::TrackEvent& event = packet.track_event();
        const std::string& track = tracks.at(event.track_uuid());
        if (event.name() == "doorbell") rings[event.flow_ids(0)] = packet.timestamp();
        if (event.name().starts_with("dispatch ")) {
            ASSERT_EQ(event.flow_ids_size(), 2);
            asked.push_back(rings.at(event.flow_ids(1)));
        }
        if (track == "queue 3" && event.type() == pf::TrackEvent::SLICE_BEGIN) ++on_hardware;
        if (track == "queue 3" && event.type() == pf::TrackEvent::SLICE_END) --on_hardware;
        if (track == "kernel: kfd_sched-7") kernel.push_back(event.name());
    }
    EXPECT_EQ(asked, (std::vector<uint64_t>{2, 4, 4}));
    EXPECT_EQ(on_hardware, 0);
    EXPECT_EQ(kernel, (std::vector<std::string>{"kfd_unmap_queues", "kfd_hws_done"}));
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

std::string text_trace(bool waves) {
    const std::string path = fmt::format("{}lyra-trace-{}.tsv", ::testing::TempDir(), getpid());
    std::string error;
    {
        const std::unique_ptr<TraceSink> sink = open_trace(path, waves, error);
        if (!sink) return error;
        Tracer tracer;
        tracer.set_sink(sink.get());
        emit<event::doorbell>(tracer, 17, 0x1000u, uint64_t{1} << 63);
        emit<event::wave_begin>(tracer, 18, 0u, 5u, uint64_t{1});
        emit<event::dispatch_started>(tracer, 19, uint64_t{1}, 3u);
    }
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    std::remove(path.c_str());
    return text;
}

TEST(TextTrace, HasALineForEachEventAndThoseOfWavesIfTheyAreWanted) {
    EXPECT_EQ(text_trace(false), "17\tdoorbell\t4096\t9223372036854775808\n19\tdispatch_started\t1\t3\n");
    EXPECT_EQ(text_trace(true),
              "17\tdoorbell\t4096\t9223372036854775808\n18\twave_begin\t0\t5\t1\n19\tdispatch_started\t1\t3\n");
    std::string error;
    EXPECT_FALSE(open_trace("/no/such/folder/x.tsv", false, error));
}

}  // namespace
}  // namespace lyra
