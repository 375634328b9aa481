// SPDX-License-Identifier: MIT
// The file of a recording: all calls of a host to a device, and the memory that the device found.
// @source docs/spec/recording.md 2
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/memory_port.h"

namespace lyra {

/// What a call is, with the function of lyra.h. End: the device was destroyed, or the recording has reached its limit.
enum class CallKind : uint8_t {
    End,
    MmioRead,
    MmioWrite,
    DoorbellRead,
    DoorbellWrite,
    VramRead,
    VramWrite,
    RunUntil,
    Reset,
    RamMap,
    BarAddresses,
    BusMaster,
    Load,
    Run,
};
inline constexpr unsigned kCallKinds = 14;

/// A change of one page that the device did not make itself.
struct PageChange {
    uint64_t place = 0;  ///< of its first byte: a bus address, or kPlaceInVram | an offset
    uint32_t before = 0;  ///< CRC-32 of the page as the device left it; 0 of one that is told as a whole
    std::vector<std::pair<uint16_t, std::vector<uint8_t>>> runs;  ///< offset in the page, bytes
    void apply(std::span<uint8_t, kPageBytes> page) const;
};
/// Of one call: 1 GiB. A recording ends before one that has more.
inline constexpr size_t kMaxChangedPages = size_t{1} << 18;
/// Of one Run. A device is not asked for more while it is recorded.
inline constexpr uint64_t kMaxRunInstructions = uint64_t{1} << 22;
inline constexpr uint64_t kPlaceInVram = uint64_t{1} << 63;

/// What the device has done since it was made.
struct Checkpoint {
    uint64_t events = 0, hash = 0;  ///< of the trace (common/trace_hash.h)
    uint64_t virtual_ns = 0, instructions = 0;
    bool operator==(const Checkpoint&) const = default;
};

struct RecordedRange {
    uint64_t bus = 0, bytes = 0;
    bool readonly = false;
};

struct RecordedCall {
    CallKind kind = CallKind::End;
    uint64_t now_ns = 0;  ///< the host's time; 0 where it has none
    uint64_t offset = 0;  ///< of an access, in bytes
    uint64_t value = 0;  ///< that was written; BusMaster: enabled; RunUntil: until when; Run: budget; End: 1, limit reached
    uint64_t result = 0;  ///< what the call returned
    uint8_t size = 0;  ///< of an access
    uint64_t msis = 0;  ///< interrupts that the device raised meanwhile
    std::vector<PageChange> pages{};  ///< which happened before it
    std::vector<RecordedRange> ranges{};  ///< RamMap
    std::vector<uint8_t> state{};  ///< Load
    uint64_t bars[3] = {};  ///< BarAddresses
    std::optional<Checkpoint> checkpoint{};  ///< after it
};

/// What the device was made of, as texts by name.
using RecordingHeader = std::vector<std::pair<std::string, std::string>>;

class RecordingWriter {
public:
    /// @param limit  size in bytes that the file shall not exceed by much
    /// @return nullptr when the file cannot be written; error says why
    static std::unique_ptr<RecordingWriter> open(const std::string& path, uint64_t limit, const RecordingHeader& header,
                                                 std::string& error);
    ~RecordingWriter();

    void write(const RecordedCall& call);
    /// Bytes in the file now. Those that wait to be compressed are not in it yet.
    uint64_t bytes() const;
    bool full() const { return bytes() >= limit_; }
    /// A write has failed (disk full); nothing more is written.
    bool failed() const { return failed_; }

private:
    struct File;
    RecordingWriter(std::unique_ptr<File> file, uint64_t limit);

    std::unique_ptr<File> file_;
    uint64_t limit_;
    bool failed_ = false;
    uint64_t last_ns_ = 0;
    std::vector<uint8_t> record_;
};

/// Reads what anybody may have written.
class RecordingReader {
public:
    /// @return nullptr when it is no recording of a known format; error says why
    static std::unique_ptr<RecordingReader> open(const std::string& path, std::string& error);
    ~RecordingReader();

    const RecordingHeader& header() const { return header_; }
    /// Text of the header by name, empty: it has none.
    std::string_view text(std::string_view name) const;
    /// @return false: there is no further call. error() then says why, or is empty after End
    bool next(RecordedCall& call);
    const std::string& error() const { return error_; }

private:
    struct File;
    explicit RecordingReader(std::unique_ptr<File> file);
    bool read_header();
    void refuse(std::string_view why);
    uint8_t byte();
    uint64_t number();
    uint64_t number(uint64_t most, std::string_view what);
    std::vector<uint8_t> bytes(uint64_t size);
    void read_page(PageChange& page);

    std::unique_ptr<File> file_;
    RecordingHeader header_;
    std::string error_;
    bool ended_ = false;
    uint64_t last_ns_ = 0;
};

}  // namespace lyra
