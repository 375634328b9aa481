// SPDX-License-Identifier: MIT
// Numbers of variable length through gzip.
#include "common/recording.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/format.h>
#include <zlib.h>

namespace lyra {

namespace {

constexpr std::string_view kMagic = "lyra recording\n";
constexpr uint64_t kOldestFormat = 1, kFormat = 2;
constexpr uint64_t kMaxHeaderTexts = 64, kMaxText = 64 << 10;
constexpr uint64_t kMaxRuns = 512;  // of a page; the recorder joins those that are 8 bytes apart
constexpr uint64_t kMaxRanges = 4096;
constexpr uint64_t kMaxState = uint64_t{1} << 30;
constexpr uint64_t kRunStates = 3;
constexpr uint8_t kHasPages = 0x80, kHasCheckpoint = 0x40, kHasMsis = 0x20, kKind = 0x1f;
/// What a process that dies may take with it.
constexpr auto kFlushInterval = std::chrono::seconds(1);

void put(std::vector<uint8_t>& to, uint64_t value) {
    for (; value >= 0x80; value >>= 7) to.push_back(static_cast<uint8_t>(value | 0x80));
    to.push_back(static_cast<uint8_t>(value));
}

void put(std::vector<uint8_t>& to, std::span<const uint8_t> bytes) {
    put(to, bytes.size());
    to.insert(to.end(), bytes.begin(), bytes.end());
}

/// Small for small numbers of both signs.
uint64_t zigzag(uint64_t delta) { return delta << 1 ^ (delta >> 63 != 0 ? ~uint64_t{0} : 0); }
uint64_t unzigzag(uint64_t value) { return value >> 1 ^ ((value & 1) != 0 ? ~uint64_t{0} : 0); }

/// A place is the first byte of a page, so that its low bits are free.
uint64_t packed(uint64_t place) { return (place & ~kPlaceInVram) / kPageBytes << 1 | place >> 63; }
uint64_t unpacked(uint64_t value) { return ((value >> 1) * kPageBytes & ~kPlaceInVram) | value << 63; }

void put(std::vector<uint8_t>& to, const PageChange& page) {
    put(to, packed(page.place));
    put(to, page.before);
    put(to, page.runs.size());
    for (const auto& [offset, bytes] : page.runs) {
        put(to, offset);
        put(to, bytes);
    }
}

}  // namespace

void PageChange::apply(std::span<uint8_t, kPageBytes> page) const {
    for (const auto& [offset, bytes] : runs) std::copy(bytes.begin(), bytes.end(), page.begin() + offset);
}

// --- writer ---

struct RecordingWriter::File {
    gzFile gz = nullptr;
    std::chrono::steady_clock::time_point flushed = std::chrono::steady_clock::now();
    ~File() {
        if (gz) gzclose(gz);
    }
};

RecordingWriter::RecordingWriter(std::unique_ptr<File> file, uint64_t limit) : file_(std::move(file)), limit_(limit) {}
RecordingWriter::~RecordingWriter() = default;

std::unique_ptr<RecordingWriter> RecordingWriter::open(const std::string& path, uint64_t limit, const RecordingHeader& header,
                                                       std::string& error) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    auto file = std::make_unique<File>();
    if (descriptor >= 0) file->gz = gzdopen(descriptor, "wb3");
    if (!file->gz) {
        error = fmt::format("{}: cannot write: {}", path, std::strerror(errno));
        if (descriptor >= 0) ::close(descriptor);
        return nullptr;
    }
    std::unique_ptr<RecordingWriter> writer(new RecordingWriter(std::move(file), limit));
    std::vector<uint8_t>& record = writer->record_;
    record.assign(kMagic.begin(), kMagic.end());
    put(record, kFormat);
    put(record, header.size());
    for (const auto& [name, text] : header) {
        for (const std::string* each : {&name, &text})
            put(record, std::span(reinterpret_cast<const uint8_t*>(each->data()), each->size()));
    }
    writer->failed_ = gzwrite(writer->file_->gz, record.data(), static_cast<unsigned>(record.size())) <= 0;
    return writer;
}

uint64_t RecordingWriter::bytes() const { return static_cast<uint64_t>(std::max<z_off_t>(gzoffset(file_->gz), 0)); }

void RecordingWriter::write(const RecordedCall& call) {
    if (failed_) return;
    std::vector<uint8_t>& to = record_;
    to.clear();
    to.push_back(static_cast<uint8_t>(static_cast<uint8_t>(call.kind) | (call.pages.empty() ? 0 : kHasPages) |
                                      (call.checkpoint ? kHasCheckpoint : 0) | (call.msis != 0 ? kHasMsis : 0)));
    put(to, zigzag(call.now_ns - last_ns_));
    last_ns_ = call.now_ns;
    if (!call.pages.empty()) {
        put(to, call.pages.size());
        for (const PageChange& page : call.pages) put(to, page);
    }
    switch (call.kind) {
        case CallKind::MmioRead:
        case CallKind::DoorbellRead:
        case CallKind::VramRead:
            put(to, call.offset);
            put(to, call.size);
            put(to, call.result);
            break;
        case CallKind::MmioWrite:
        case CallKind::DoorbellWrite:
        case CallKind::VramWrite:
            put(to, call.offset);
            put(to, call.size);
            put(to, call.value);
            break;
        case CallKind::RunUntil:
            // Times are near the last one; "never" is less than all of them.
            put(to, zigzag(call.value - last_ns_));
            put(to, zigzag(call.result - last_ns_));
            break;
        case CallKind::RamMap:
            put(to, call.ranges.size());
            for (const RecordedRange& range : call.ranges) {
                put(to, range.bus);
                put(to, range.bytes);
                put(to, range.readonly);
            }
            break;
        case CallKind::BarAddresses:
            for (const uint64_t address : call.bars) put(to, address);
            break;
        case CallKind::Load:
            put(to, call.state);
            put(to, call.result);
            break;
        case CallKind::Run:
            put(to, call.value);
            put(to, call.result);
            break;
        case CallKind::BusMaster:
        case CallKind::End: put(to, call.value); break;
        case CallKind::Reset: break;
    }
    if (call.msis != 0) put(to, call.msis);
    if (call.checkpoint) {
        for (const uint64_t value :
             {call.checkpoint->events, call.checkpoint->hash, call.checkpoint->virtual_ns, call.checkpoint->instructions})
            put(to, value);
    }
    failed_ = gzwrite(file_->gz, to.data(), static_cast<unsigned>(to.size())) <= 0;
    const auto now = std::chrono::steady_clock::now();
    if (now - file_->flushed >= kFlushInterval) {
        file_->flushed = now;
        failed_ = failed_ || gzflush(file_->gz, Z_SYNC_FLUSH) != Z_OK;
    }
}

// --- reader ---

struct RecordingReader::File {
    gzFile gz = nullptr;
    std::vector<uint8_t> buffer = std::vector<uint8_t>(size_t{64} << 10);
    size_t at = 0, end = 0;
    ~File() {
        if (gz) gzclose(gz);
    }
    bool fill() {
        const int got = gzread(gz, buffer.data(), static_cast<unsigned>(buffer.size()));
        at = 0;
        end = got > 0 ? static_cast<size_t>(got) : 0;
        return end != 0;
    }
};

RecordingReader::RecordingReader(std::unique_ptr<File> file) : file_(std::move(file)) {}
RecordingReader::~RecordingReader() = default;

std::unique_ptr<RecordingReader> RecordingReader::open(const std::string& path, std::string& error) {
    auto file = std::make_unique<File>();
    file->gz = gzopen(path.c_str(), "rbe");
    if (!file->gz) {
        error = fmt::format("{}: cannot read: {}", path, std::strerror(errno));
        return nullptr;
    }
    std::unique_ptr<RecordingReader> reader(new RecordingReader(std::move(file)));
    if (reader->read_header()) return reader;
    error = fmt::format("{}: {}", path, reader->error_);
    return nullptr;
}

bool RecordingReader::read_header() {
    for (const char expected : kMagic) {
        if (!error_.empty() || byte() != static_cast<uint8_t>(expected)) {
            error_ = "this is not a recording";
            return false;
        }
    }
    const uint64_t format = number();
    if (error_.empty() && (format < kOldestFormat || format > kFormat))
        refuse(fmt::format("a recording of format {}; this program reads formats {} to {}", format, kOldestFormat, kFormat));
    const uint64_t texts = number(kMaxHeaderTexts, "the header");
    for (uint64_t n = 0; n < texts && error_.empty(); ++n) {
        std::string text[2];
        for (std::string& each : text) {
            const std::vector<uint8_t> read = bytes(number(kMaxText, "the header"));
            each.assign(read.begin(), read.end());
            // They are shown on terminals.
            if (std::any_of(each.begin(), each.end(), [](char c) { return c < 0x20 || c > 0x7e; }))
                refuse("the header is no text");
        }
        header_.emplace_back(std::move(text[0]), std::move(text[1]));
    }
    return error_.empty();
}

std::string_view RecordingReader::text(std::string_view name) const {
    for (const auto& [each, text] : header_)
        if (each == name) return text;
    return {};
}

void RecordingReader::refuse(std::string_view why) {
    if (error_.empty()) error_ = why;
}

uint8_t RecordingReader::byte() {
    if (file_->at == file_->end && !file_->fill()) {
        refuse("it ends in the middle, as when its device was killed");
        return 0;
    }
    return file_->buffer[file_->at++];
}

uint64_t RecordingReader::number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t next = byte();
        value |= uint64_t{next & 0x7fu} << shift;
        if ((next & 0x80) == 0) return value;
    }
    refuse("a number is too long");
    return 0;
}

uint64_t RecordingReader::number(uint64_t most, std::string_view what) {
    const uint64_t value = number();
    if (value <= most) return value;
    refuse(fmt::format("{}: {} is too large", what, value));
    return 0;
}

/// Grows with what is there, not with what a number says.
std::vector<uint8_t> RecordingReader::bytes(uint64_t size) {
    std::vector<uint8_t> read;
    while (size != 0 && error_.empty()) {
        if (file_->at == file_->end && !file_->fill()) {
            refuse("it ends in the middle, as when its device was killed");
            break;
        }
        const size_t part = std::min<uint64_t>(size, file_->end - file_->at);
        const auto first = file_->buffer.begin() + static_cast<ptrdiff_t>(file_->at);
        read.insert(read.end(), first, first + static_cast<ptrdiff_t>(part));
        file_->at += part;
        size -= part;
    }
    return read;
}

void RecordingReader::read_page(PageChange& page) {
    page.place = unpacked(number());
    page.before = static_cast<uint32_t>(number(UINT32_MAX, "a checksum"));
    const uint64_t runs = number(kMaxRuns, "changes of a page");
    for (uint64_t n = 0; n < runs && error_.empty(); ++n) {
        const uint64_t offset = number(kPageBytes - 1, "an offset in a page");
        const uint64_t size = number(kPageBytes - offset, "bytes of a page");
        if (size == 0) refuse("a change of no bytes");
        page.runs.emplace_back(static_cast<uint16_t>(offset), bytes(size));
    }
}

bool RecordingReader::next(RecordedCall& call) {
    call = {};
    if (ended_ || !error_.empty()) return false;
    const uint8_t head = byte();
    if ((head & kKind) >= kCallKinds) refuse(fmt::format("there is no call of kind {}", head & kKind));
    call.kind = static_cast<CallKind>(head & kKind);
    call.now_ns = last_ns_ += unzigzag(number());
    if ((head & kHasPages) != 0) {
        const uint64_t pages = number(kMaxChangedPages, "pages of a call");
        for (uint64_t n = 0; n < pages && error_.empty(); ++n) read_page(call.pages.emplace_back());
    }
    switch (call.kind) {
        case CallKind::MmioRead:
        case CallKind::DoorbellRead:
        case CallKind::VramRead:
        case CallKind::MmioWrite:
        case CallKind::DoorbellWrite:
        case CallKind::VramWrite: {
            const bool reads =
                call.kind == CallKind::MmioRead || call.kind == CallKind::DoorbellRead || call.kind == CallKind::VramRead;
            call.offset = number();
            call.size = static_cast<uint8_t>(number(8, "size of an access"));
            if (call.size == 0) refuse("an access of no bytes");
            (reads ? call.result : call.value) = number();
            break;
        }
        case CallKind::RunUntil:
            call.value = last_ns_ + unzigzag(number());
            call.result = last_ns_ + unzigzag(number());
            break;
        case CallKind::RamMap: {
            const uint64_t ranges = number(kMaxRanges, "ranges of memory");
            for (uint64_t n = 0; n < ranges && error_.empty(); ++n) {
                RecordedRange& range = call.ranges.emplace_back();
                range.bus = number();
                range.bytes = number();
                range.readonly = number(1, "a flag") != 0;
            }
            break;
        }
        case CallKind::BarAddresses:
            for (uint64_t& address : call.bars) address = number();
            break;
        case CallKind::Load:
            call.state = bytes(number(kMaxState, "a state"));
            call.result = number(1, "a flag");
            break;
        case CallKind::Run:
            call.value = number(kMaxRunInstructions, "instructions of a run");
            call.result = number(kRunStates - 1, "what a run found");
            break;
        case CallKind::BusMaster:
        case CallKind::End: call.value = number(1, "a flag"); break;
        case CallKind::Reset: break;
    }
    if ((head & kHasMsis) != 0) call.msis = number();
    if ((head & kHasCheckpoint) != 0) {
        Checkpoint& at = call.checkpoint.emplace();
        for (uint64_t* value : {&at.events, &at.hash, &at.virtual_ns, &at.instructions}) *value = number();
    }
    ended_ = call.kind == CallKind::End;
    return error_.empty();
}

}  // namespace lyra
