// SPDX-License-Identifier: MIT
// Look-up of bus addresses in the host's RAM map.
#include "qemu-hw/soc/bus_memory.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "qemu-hw/include/lyra.h"

namespace lyra {

void BusMemory::set_ram_map(std::vector<RamRange> ranges) {
    std::sort(ranges.begin(), ranges.end(), [](const RamRange& a, const RamRange& b) { return a.bus < b.bus; });
    ranges_ = std::move(ranges);
    last_ = 0;
    ++generation_;
    changed(Change::Map);
}

void BusMemory::set_bars(uint64_t vram, uint64_t doorbells, uint64_t registers, uint64_t register_bytes) {
    bar_vram_ = vram;
    bar_doorbells_ = doorbells;
    bar_registers_ = registers;
    register_bytes_ = register_bytes;
    ++generation_;
    changed(Change::Map);
}

uint8_t* BusMemory::host(uint64_t bus, uint64_t size, bool write) {
    if (!bus_master_ || size == 0) return nullptr;
    if (bus >= bar_vram_ && bus - bar_vram_ < vram_bytes_ && size <= vram_bytes_ - (bus - bar_vram_))
        return vram(bus - bar_vram_, size);
    auto holds = [&](const RamRange& r) {
        return bus >= r.bus && bus - r.bus < r.size && size <= r.size - (bus - r.bus) && !(write && r.readonly);
    };
    const auto found = [&](const RamRange& r) {
        const uint64_t before = bus - r.bus;
        if (watch_) tell(bus, r.host + before, size, before, r.size - before);
        return r.host + before;
    };
    if (last_ < ranges_.size() && holds(ranges_[last_])) return found(ranges_[last_]);
    auto it = std::upper_bound(ranges_.begin(), ranges_.end(), bus, [](uint64_t b, const RamRange& r) { return b < r.bus; });
    if (it == ranges_.begin()) return nullptr;
    --it;
    if (!holds(*it)) return nullptr;
    last_ = static_cast<size_t>(it - ranges_.begin());
    return found(*it);
}

/// Whole pages, as far as their memory goes. @param before, after  bytes of that memory before and from host on
void BusMemory::tell(uint64_t place, uint8_t* host, uint64_t bytes, uint64_t before, uint64_t after) {
    const uint64_t first = std::min(place % kPageBytes, before);
    const uint64_t end = std::min((place + bytes + kPageBytes - 1) / kPageBytes * kPageBytes - place, after);
    uint64_t left = first + end;
    place -= first;
    host -= first;
    while (left != 0) {
        const size_t part = std::min<uint64_t>(left, kPageBytes - place % kPageBytes);
        watch_->touched(place, host, part);
        place += part, host += part, left -= part;
    }
}

void BusMemory::touch(uint8_t* host) {
    if (!watch_) return;
    const auto offset_in = [host](const uint8_t* first) {
        return reinterpret_cast<uintptr_t>(host) - reinterpret_cast<uintptr_t>(first);
    };
    if (const uint64_t offset = offset_in(vram_); offset < vram_bytes_) {
        tell(kInVram | offset, host, 1, offset, vram_bytes_ - offset);
        return;
    }
    for (const RamRange& range : ranges_) {
        const uint64_t offset = offset_in(range.host);
        if (offset < range.size) tell(range.bus + offset, host, 1, offset, range.size - offset);
    }
}

bool BusMemory::own_bar(uint64_t bus, size_t size, unsigned& bar, uint64_t& offset) const {
    const bool aligned = (size == 4 || size == 8) && bus % size == 0;
    if (!aligned || !target_) return false;
    if (bus >= bar_doorbells_ && bus - bar_doorbells_ < LYRA_DOORBELL_BAR_BYTES) {
        bar = 2;
        offset = bus - bar_doorbells_;
        return true;
    }
    if (bus >= bar_registers_ && bus - bar_registers_ < register_bytes_) {
        bar = 5;
        offset = bus - bar_registers_;
        return true;
    }
    return false;
}

Fault BusMemory::read(uint64_t bus, void* data, size_t size) {
    if (const uint8_t* source = host(bus, size, false)) {
        std::memcpy(data, source, size);
        return Fault::None;
    }
    unsigned bar;
    uint64_t offset;
    if (bus_master_ && own_bar(bus, size, bar, offset)) {
        const uint64_t value = target_->bar_read(bar, offset, static_cast<unsigned>(size));
        std::memcpy(data, &value, size);
        return Fault::None;
    }
    std::memset(data, 0xff, size);
    const Fault fault = bus_master_ ? Fault::BusAddress : Fault::BusMasterOff;
    report(env_, fault, fmt::format("read of {} bytes at {:#x}", size, bus));
    return fault;
}

Fault BusMemory::write(uint64_t bus, const void* data, size_t size) {
    if (uint8_t* target = host(bus, size, true)) {
        std::memcpy(target, data, size);
        return Fault::None;
    }
    unsigned bar;
    uint64_t offset;
    if (bus_master_ && own_bar(bus, size, bar, offset)) {
        uint64_t value = 0;
        std::memcpy(&value, data, size);
        target_->bar_write(bar, offset, value, static_cast<unsigned>(size));
        return Fault::None;
    }
    const Fault fault = bus_master_ ? Fault::BusAddress : Fault::BusMasterOff;
    report(env_, fault, fmt::format("write of {} bytes at {:#x}", size, bus));
    return fault;
}

std::optional<uint64_t> BusMemory::place_of(const uint8_t* host) const {
    const auto address = reinterpret_cast<uintptr_t>(host);
    const auto within = [=](const uint8_t* first, uint64_t size) {
        return address - reinterpret_cast<uintptr_t>(first) < size;
    };
    if (within(vram_, vram_bytes_)) return (address - reinterpret_cast<uintptr_t>(vram_)) | kInVram;
    for (const RamRange& range : ranges_)
        if (within(range.host, range.size)) return address - reinterpret_cast<uintptr_t>(range.host) + range.bus;
    return std::nullopt;
}

uint8_t* BusMemory::page_at(uint64_t place) {
    if (place % kPageBytes != 0) return nullptr;
    if ((place & kInVram) == 0) return host(place, kPageBytes, true);
    const uint64_t offset = place & ~kInVram;
    return offset < vram_bytes_ ? vram_ + offset : nullptr;
}

}  // namespace lyra
