// SPDX-License-Identifier: MIT
// Writes a recording while a device works that is a function of its calls: what its host calls, and the memory that it finds
// changed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/recording.h"
#include "qemu-hw/soc/bus_memory.h"

namespace lyra {

/// The device is a function of its calls and of the memory that it reads. While a call lasts nobody else changes memory, so a
/// page that the call touches is compared with what the device left there, and the difference is written before the call; the
/// first time, all of the page. One call at a time.
class Recorder final : public MemoryWatch {
public:
    Recorder(std::unique_ptr<RecordingWriter> writer, BusMemory& bus) : writer_(std::move(writer)), bus_(bus) {
        bus_.set_watch(this);
    }
    ~Recorder() override { bus_.set_watch(nullptr); }

    /// @param now_ns  the host's time, which is that of the whole call
    void begin(uint64_t now_ns);
    uint64_t now_ns() const { return now_ns_; }
    /// The call without time and pages, which are added. @param checkpoint  asked for when one is due
    template <class F>
    void end(RecordedCall call, F checkpoint) {
        if (call.kind == CallKind::End || ++calls_ % kCheckpointCalls == 0) call.checkpoint = checkpoint();
        write(std::move(call));
    }
    bool stopped() const { return stopped_; }
    bool failed() const { return writer_->failed(); }
    uint64_t bytes() const { return writer_->bytes(); }
    bool full() const { return writer_->full(); }

    /// A load has brought VRAM.
    void vram_replaced() { replaced_ = true; }
    void touched(uint64_t place, uint8_t* host, size_t bytes) override;

private:
    static constexpr uint64_t kCheckpointCalls = 1024;
    struct Shadow {
        alignas(64) std::array<uint8_t, kPageBytes> bytes{};  ///< as the device left it
        uint32_t turn = 0;  ///< last compared
    };
    struct Touched {
        uint8_t* shadow;
        const uint8_t* host;
        size_t bytes;
    };
    void write(RecordedCall call);
    bool begins_as_zeros(uint64_t place) const;

    std::unique_ptr<RecordingWriter> writer_;
    BusMemory& bus_;
    std::unordered_map<uint64_t, std::unique_ptr<Shadow>> shadows_;  ///< by place
    std::unordered_set<uint64_t> before_load_;  ///< places that have been told before a load
    bool replaced_ = false;
    std::vector<Touched> touched_;
    std::vector<PageChange> changes_;
    uint64_t now_ns_ = 0, calls_ = 0;
    bool in_call_ = false, stopped_ = false;
};

}  // namespace lyra
