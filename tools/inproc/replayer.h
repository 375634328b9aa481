// SPDX-License-Identifier: MIT
// A device that does again what a recording has, without the host that it had.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/recording.h"
#include "qemu-hw/include/lyra.h"
#include "tools/inproc/gpu_memory.h"

namespace lyra::inproc {

struct ReplayOptions {
    std::string trace_path, commit_log_path;  ///< empty: none
    bool log_packets = false;  ///< lines at LYRA_LOG_DEBUG of packets and waves, one when its event is traced
    bool histogram = false;  ///< count wave instructions for lyra_histogram()
    uint64_t most_ns_per_call = uint64_t{1} << 53;  ///< virtual time; a recording that wants more is refused
    std::function<void(lyra_log_level, const char*)> log;  ///< empty: errors and warnings go to standard error
};

/// liblyra with the memory that a recording tells. Recordings are not trusted.
class Replayer {
public:
    /// @return nullptr, and one line in error, when the device of the recording cannot be made
    static std::unique_ptr<Replayer> create(const RecordingReader& recording, const ReplayOptions& options, std::string& error);
    ~Replayer();
    Replayer(const Replayer&) = delete;
    Replayer& operator=(const Replayer&) = delete;

    /// Change memory as the call found it, and make the call.
    /// @return what was not as recorded, the first that was seen; empty: nothing
    /// @throws std::runtime_error  the call cannot be made
    std::string perform(const RecordedCall& call);

    lyra_device* handle() const { return device_; }
    Checkpoint checkpoint() const;

private:
    /// Bus memory from address 0, which grows.
    class BusImage {
    public:
        ~BusImage();
        /// @return false: the host gives no memory
        bool grow(uint64_t bytes);
        uint8_t* data() const { return data_; }
        uint64_t bytes() const { return bytes_; }

    private:
        uint8_t* data_ = nullptr;
        uint64_t bytes_ = 0;
    };
    Replayer(const ReplayOptions& options, uint64_t vram_bytes) : options_(options), vram_(vram_bytes) {}
    std::string change(const PageChange& page);
    std::string compare(const RecordedCall& call, uint64_t result, uint64_t msis) const;
    void make_ram(const RecordedCall& call);
    void set_ram_map(const RecordedCall& call);
    void check(const RecordedCall& call) const;

    ReplayOptions options_;
    HostMapping vram_;
    BusImage ram_;
    lyra_device* device_ = nullptr;
    uint64_t now_ns_ = 0, last_ns_ = 0, msis_ = 0;
    bool host_clock_ = false, host_time_ = false;
};

}  // namespace lyra::inproc
