// SPDX-License-Identifier: MIT
// Pages that a call touches, against what the device left in them.
#include "qemu-hw/soc/recorder.h"

#include <cstring>

#include <zlib.h>

#include "qemu-hw/soc/discovery.h"

namespace lyra {

namespace {

/// Two changes that are nearer than this are written as one: a run has a length and an offset.
constexpr size_t kGap = 8;

PageChange difference(uint64_t place, const std::array<uint8_t, kPageBytes>& was, size_t first, const uint8_t* now,
                      size_t bytes) {
    PageChange change;
    change.place = place;
    change.before = static_cast<uint32_t>(crc32(0, was.data(), kPageBytes));
    size_t at = 0;
    while (at < bytes) {
        if (was[first + at] == now[at]) {
            ++at;
            continue;
        }
        const size_t begin = at;
        size_t end = at + 1;  // after the last byte that differs
        for (; at < bytes && at < end + kGap; ++at)
            if (was[first + at] != now[at]) end = at + 1;
        change.runs.emplace_back(static_cast<uint16_t>(first + begin), std::vector<uint8_t>(now + begin, now + end));
    }
    return change;
}

}  // namespace

void Recorder::begin(uint64_t now_ns) {
    now_ns_ = now_ns;
    in_call_ = true;
    bus_.next_turn();
}

void Recorder::touched(uint64_t place, uint8_t* host, size_t bytes) {
    if (!in_call_ || stopped_) return;
    const size_t first = place % kPageBytes;
    std::unique_ptr<Shadow>& shadow = shadows_[place - first];
    const bool fresh = !shadow;
    if (fresh) shadow = std::make_unique<Shadow>();
    // A page of several ranges comes in parts.
    const bool whole = bytes == kPageBytes;
    if (whole && shadow->turn == bus_.turn()) return;
    if (whole) shadow->turn = bus_.turn();
    touched_.push_back({shadow->bytes.data() + first, host, bytes});
    if (fresh && whole) {
        const bool zeros = begins_as_zeros(place) && std::memcmp(shadow->bytes.data(), host, bytes) == 0;
        if (!zeros) changes_.push_back({place, 0, {{0, std::vector<uint8_t>(host, host + bytes)}}});
    } else if (std::memcmp(shadow->bytes.data() + first, host, bytes) != 0) {
        changes_.push_back(difference(place - first, shadow->bytes, first, host, bytes));
    } else {
        return;
    }
    std::memcpy(shadow->bytes.data() + first, host, bytes);
}

/// What nobody has told is 0 in the memory of a replay. A new device has written its discovery table.
bool Recorder::begins_as_zeros(uint64_t place) const {
    const uint64_t offset = place & ~BusMemory::kInVram;
    const bool table = (place & BusMemory::kInVram) != 0 && offset + kDiscoveryOffset >= bus_.vram_bytes();
    return !table && !replaced_ && !before_load_.contains(place);
}

void Recorder::write(RecordedCall call) {
    in_call_ = false;
    for (const Touched& page : touched_) std::memcpy(page.shadow, page.host, page.bytes);
    touched_.clear();
    call.now_ns = now_ns_;
    call.pages = std::move(changes_);
    changes_.clear();
    if (stopped_) return;
    const bool too_large = call.pages.size() > kMaxChangedPages;
    if (!too_large) writer_->write(call);
    if (call.kind == CallKind::Load) {  // it may have VRAM, and who loads has changed memory
        for (const auto& [place, shadow] : shadows_) before_load_.insert(place);
        shadows_.clear();
    }
    if (!too_large && !writer_->full() && !writer_->failed()) return;
    // It ends here, and what it has can be replayed.
    if (!writer_->failed() && (too_large || call.kind != CallKind::End)) {
        RecordedCall end;
        end.now_ns = now_ns_;
        end.value = 1;
        writer_->write(end);
    }
    stopped_ = true;
    shadows_.clear();
    bus_.set_watch(nullptr);
}

}  // namespace lyra
