// SPDX-License-Identifier: MIT
// Reads a Perfetto file packet by packet: it may be large.
#include "common/trace_read.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "trace.pb.h"

namespace lyra {

namespace {

namespace pf = lyra::perfetto;
namespace io = google::protobuf::io;

constexpr uint32_t kPacketTag = 1 << 3 | 2;  ///< field 1 of Trace, with a length

class FileStream : public io::CopyingInputStream {
public:
    explicit FileStream(std::ifstream& file) : file_(file) {}
    int Read(void* buffer, int size) override {
        file_.read(static_cast<char*>(buffer), size);
        return static_cast<int>(file_.gcount());
    }

private:
    std::ifstream& file_;
};

TraceRecord record_of(const pf::TracePacket& packet, EventId id) {
    TraceRecord record{id, packet.timestamp(), {}};
    const int count = std::min<int>(packet.track_event().debug_annotations_size(), kMaxEventArgs);
    for (int n = 0; n < count; ++n)
        record.args[static_cast<size_t>(n)] = packet.track_event().debug_annotations(n).uint_value();
    return record;
}

}  // namespace

bool read_trace_events(const std::string& path, EventId id, std::vector<TraceRecord>& records, std::string& error) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        error = fmt::format("{}: {}", path, std::strerror(errno));
        return false;
    }
    FileStream bytes(file);
    io::CopyingInputStreamAdaptor stream(&bytes);
    const std::string name = kEvents[static_cast<size_t>(id)].name;
    while (true) {
        // A new reader for each packet: one counts its bytes in 31 bits.
        io::CodedInputStream in(&stream);
        const uint32_t tag = in.ReadTag();
        if (tag == 0 && in.ConsumedEntireMessage()) return true;
        uint32_t size = 0;
        pf::TracePacket packet;
        std::string data;
        if (tag != kPacketTag || !in.ReadVarint32(&size) || !in.ReadString(&data, static_cast<int>(size)) ||
            !packet.ParseFromString(data)) {
            error = path + ": not a trace, or cut off";
            return false;
        }
        if (packet.has_track_event() && packet.track_event().name() == name) records.push_back(record_of(packet, id));
    }
}

}  // namespace lyra
