// SPDX-License-Identifier: MIT
// Calls of a recording, checked and made.
#include "tools/inproc/replayer.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

namespace lyra::inproc {

namespace {

constexpr uint64_t kMaxBusBytes = uint64_t{1} << 40;
/// Later than any time that arithmetic in the device's clock can bear.
constexpr uint64_t kMaxNs = uint64_t{1} << 53;

uint64_t number_of(const RecordingReader& recording, const char* name, uint64_t otherwise) {
    const std::string_view text = recording.text(name);
    uint64_t value = otherwise;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? value : otherwise;
}

std::string place_text(uint64_t place) {
    return fmt::format("{} {:#x}", (place & kPlaceInVram) != 0 ? "VRAM" : "bus", place & ~kPlaceInVram);
}

}  // namespace

Replayer::BusImage::~BusImage() {
    if (data_) munmap(data_, bytes_);
}

bool Replayer::BusImage::grow(uint64_t bytes) {
    if (bytes <= bytes_) return true;
    void* data = data_ ? mremap(data_, bytes_, bytes, MREMAP_MAYMOVE)
                       : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) return false;
    data_ = static_cast<uint8_t*>(data);
    bytes_ = bytes;
    return true;
}

std::unique_ptr<Replayer> Replayer::create(const RecordingReader& recording, const ReplayOptions& options, std::string& error) {
    const auto text = [&](const char* name) { return std::string(recording.text(name)); };
    const std::string chip = text("chip"), timing = text("timing"), firmware = text("firmware"),
                      fp_exceptions = text("fp_exceptions"), strict = text("strict");
    lyra_config config;
    lyra_config_init(&config);
    config.chip = chip.c_str();
    config.vram_bytes = number_of(recording, "vram_bytes", 0);
    const auto count = [&](const char* name) {
        return static_cast<uint32_t>(std::min<uint64_t>(number_of(recording, name, 0), std::numeric_limits<uint32_t>::max()));
    };
    config.compute_units = count("compute_units");
    config.xccs = count("xccs");
    config.repeatable = text("time") == "host";
    config.virtual_time = !config.repeatable;
    config.timing = timing.c_str();
    config.firmware = firmware.c_str();
    config.fp_exceptions = fp_exceptions.empty() ? nullptr : fp_exceptions.c_str();
    config.strict = strict.empty() ? nullptr : strict.c_str();
    config.poison = text("poison") == "1";
    config.ih_overflow = text("ih_overflow") == "1";
    config.trace_path = options.trace_path.empty() ? nullptr : options.trace_path.c_str();
    config.commit_log_path = options.commit_log_path.empty() ? nullptr : options.commit_log_path.c_str();
    config.histogram = options.histogram;
    config.log_packets = options.log_packets;

    std::unique_ptr<Replayer> made(new Replayer(options, std::clamp<uint64_t>(config.vram_bytes, kPageBytes, LYRA_VRAM_MAX)));
    if (!made->vram_.data()) {
        error = "the host gives no memory for VRAM";
        return nullptr;
    }
    made->host_clock_ = config.repeatable || text("host_clock") == "1";
    made->host_time_ = config.repeatable;
    made->now_ns_ = made->last_ns_ = std::min(number_of(recording, "start_ns", 0), kMaxNs);
    lyra_host_ops ops{};
    ops.raise_msi = [](void* opaque) { ++static_cast<Replayer*>(opaque)->msis_; };
    if (made->host_clock_) ops.now_ns = [](void* opaque) { return static_cast<Replayer*>(opaque)->now_ns_; };
    if (options.log) {
        ops.log = [](void* opaque, lyra_log_level level, const char* line) {
            static_cast<Replayer*>(opaque)->options_.log(level, line);
        };
    }
    std::array<char, 256> message{};
    made->device_ = lyra_create(&config, &ops, made.get(), made->vram_.data(), message.data(), message.size());
    if (made->device_) return made;
    error = message.data();
    return nullptr;
}

Replayer::~Replayer() { lyra_destroy(device_); }

Checkpoint Replayer::checkpoint() const {
    return {lyra_stat(device_, "trace_events"), lyra_stat(device_, "trace_hash"), lyra_stat(device_, "virtual_ns"),
            lyra_stat(device_, "instructions")};
}

/// What lyra.h asks of a host, and what would never end.
void Replayer::check(const RecordedCall& call) const {
    const auto refuse = [](const std::string& why) { throw std::runtime_error(why); };
    const bool pow2 = call.size == 1 || call.size == 2 || call.size == 4 || call.size == 8;
    switch (call.kind) {
        case CallKind::MmioRead:
        case CallKind::MmioWrite:
            if (!pow2) refuse(fmt::format("an access to a register of {} bytes", call.size));
            break;
        case CallKind::DoorbellRead:
        case CallKind::DoorbellWrite:
            if (call.size != 4 && call.size != 8) refuse(fmt::format("an access to a doorbell of {} bytes", call.size));
            break;
        case CallKind::RunUntil:
            if (host_time_) refuse("a time to run until in the host's time");
            break;
        case CallKind::Run:
            if (!host_time_) refuse("a run without a time in virtual time");
            break;
        default: break;
    }
    const bool may_go_back = host_time_ && call.kind == CallKind::Load;
    if (host_clock_ && !may_go_back && call.now_ns < now_ns_) refuse("time goes backwards");
    const uint64_t then = std::max(call.now_ns, call.kind == CallKind::RunUntil ? call.value : 0);
    if (then > kMaxNs || (then > last_ns_ && then - last_ns_ > options_.most_ns_per_call))
        refuse(fmt::format("a call that lasts until {} ns", then));
}

std::string Replayer::change(const PageChange& page) {
    const bool vram = (page.place & kPlaceInVram) != 0;
    const uint64_t at = page.place & ~kPlaceInVram, bytes = vram ? vram_.bytes() : ram_.bytes();
    if (at % kPageBytes != 0 || bytes < kPageBytes || at > bytes - kPageBytes)
        throw std::runtime_error(fmt::format("a page where there is no memory, {}", place_text(page.place)));
    const std::span<uint8_t, kPageBytes> memory((vram ? vram_.data() : ram_.data()) + at, kPageBytes);
    const bool whole = page.runs.size() == 1 && page.runs[0].second.size() == kPageBytes;
    const bool same = whole || crc32(0, memory.data(), kPageBytes) == page.before;
    page.apply(memory);
    return same ? "" : fmt::format("the device has left something else in the page at {}", place_text(page.place));
}

/// Memory for the map that the call brings.
void Replayer::make_ram(const RecordedCall& call) {
    uint64_t end = kPageBytes;
    for (const RecordedRange& range : call.ranges) {
        if (range.bytes > kMaxBusBytes || range.bus > kMaxBusBytes - range.bytes)
            throw std::runtime_error(fmt::format("memory at {:#x}", range.bus));
        end = std::max(end, (range.bus + range.bytes + kPageBytes - 1) / kPageBytes * kPageBytes);
    }
    if (!ram_.grow(end)) throw std::runtime_error("the host gives no memory for the guest's");
}

void Replayer::set_ram_map(const RecordedCall& call) {
    std::vector<lyra_ram_range> ranges;
    ranges.reserve(call.ranges.size());
    for (const RecordedRange& range : call.ranges)
        ranges.push_back({range.bus, range.bytes, ram_.data() + range.bus, range.readonly});
    lyra_set_ram_map(device_, ranges.data(), ranges.size());
}

std::string Replayer::perform(const RecordedCall& call) {
    check(call);
    if (call.kind == CallKind::RamMap) make_ram(call);
    std::string different;
    for (const PageChange& page : call.pages) {
        const std::string here = change(page);
        if (different.empty()) different = here;
    }
    now_ns_ = call.now_ns;
    msis_ = 0;
    uint64_t result = 0;
    switch (call.kind) {
        case CallKind::MmioRead: result = lyra_mmio_read(device_, call.offset, call.size); break;
        case CallKind::MmioWrite: lyra_mmio_write(device_, call.offset, call.value, call.size); break;
        case CallKind::DoorbellRead: result = lyra_doorbell_read(device_, call.offset, call.size); break;
        case CallKind::DoorbellWrite: lyra_doorbell_write(device_, call.offset, call.value, call.size); break;
        case CallKind::VramRead: result = lyra_vram_read(device_, call.offset, call.size); break;
        case CallKind::VramWrite: lyra_vram_write(device_, call.offset, call.value, call.size); break;
        case CallKind::RunUntil: result = lyra_run_until(device_, call.value); break;
        case CallKind::Run: result = lyra_run(device_, call.value); break;
        case CallKind::Reset: lyra_reset(device_); break;
        case CallKind::RamMap: set_ram_map(call); break;
        case CallKind::BarAddresses: lyra_set_bar_addresses(device_, call.bars[0], call.bars[1], call.bars[2]); break;
        case CallKind::BusMaster: lyra_set_bus_master(device_, call.value != 0); break;
        case CallKind::Load: {
            char error[256] = "";
            result = lyra_load(device_, call.state.data(), call.state.size(), error, sizeof error);
            if (result == 0 && call.result != 0)
                return fmt::format("this version does not take the saved state in it: {}", error);
            break;
        }
        case CallKind::End: break;
    }
    last_ns_ = std::max({last_ns_, call.now_ns, call.kind == CallKind::RunUntil ? call.value : 0});
    return different.empty() ? compare(call, result, msis_) : different;
}

std::string Replayer::compare(const RecordedCall& call, uint64_t result, uint64_t msis) const {
    if (result != call.result) return fmt::format("the call gave {:#x}, in the recording {:#x}", result, call.result);
    if (msis != call.msis) return fmt::format("the device raised {} interrupts, in the recording {}", msis, call.msis);
    if (!call.checkpoint) return "";
    const Checkpoint own = checkpoint();
    if (own == *call.checkpoint) return "";
    return fmt::format("after {} events the trace hash is {:016x}, in the recording {:016x} after {}", own.events, own.hash,
                       call.checkpoint->hash, call.checkpoint->events);
}

}  // namespace lyra::inproc
