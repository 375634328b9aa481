// SPDX-License-Identifier: MIT
// Guest system memory by bus address, and BARs of our own device seen from the bus; step 7 of the data flow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "common/env.h"
#include "common/memory_port.h"

namespace lyra {

/// A store or load that hits one of the device's own BARs (doorbells, registers) from the GPU side.
class BarTarget {
public:
    virtual ~BarTarget() = default;
    virtual uint64_t bar_read(unsigned bar, uint64_t offset, unsigned size) = 0;
    virtual void bar_write(unsigned bar, uint64_t offset, uint64_t value, unsigned size) = 0;
};

/// Is told of every page that the device is about to load from or store to, at least once in each turn (next_turn()).
class MemoryWatch {
public:
    virtual ~MemoryWatch() = default;
    /// @param place  as place_of() gives it  @param host  the same byte  @param bytes  to the end of the page at most
    virtual void touched(uint64_t place, uint8_t* host, size_t bytes) = 0;
};

struct RamRange {
    uint64_t bus = 0, size = 0;
    uint8_t* host = nullptr;
    bool readonly = false;
};

class BusMemory {
public:
    BusMemory(Env& env, uint8_t* vram, uint64_t vram_bytes) : env_(env), vram_(vram), vram_bytes_(vram_bytes) {}

    void set_ram_map(std::vector<RamRange> ranges);
    /// @param register_bytes  size of the last one
    void set_bars(uint64_t vram, uint64_t doorbells, uint64_t registers, uint64_t register_bytes);
    void set_bus_master(bool enabled) { bus_master_ = enabled; }
    bool bus_master() const { return bus_master_; }
    void set_target(BarTarget* target) { target_ = target; }

    /// Host address of [bus, bus + size) when all of it is plain memory of one range; nullptr otherwise.
    uint8_t* host(uint64_t bus, uint64_t size, bool write);

    /// Which memory a host address is in, as a number that means the same in another process: nothing when it is in none.
    std::optional<uint64_t> place_of(const uint8_t* host) const;
    /// The host address of a page at such a place; nullptr when there is no memory.
    uint8_t* page_at(uint64_t place);

    /// Any address: RAM, our own BARs (aligned 4- and 8-byte accesses), or nothing (reads ones).
    Fault read(uint64_t bus, void* data, size_t size);
    Fault write(uint64_t bus, const void* data, size_t size);

    uint8_t* vram() { return vram_; }
    uint64_t vram_bytes() const { return vram_bytes_; }
    /// Host address of [offset, offset + bytes), which is inside VRAM.
    uint8_t* vram(uint64_t offset, uint64_t bytes) {
        if (watch_) tell(kInVram | offset, vram_ + offset, bytes, offset, vram_bytes_ - offset);
        return vram_ + offset;
    }
    uint64_t generation() const { return generation_; }
    enum class Change : uint8_t { Map, Turn };
    /// Is told of a new map, which makes answers of host() stale, and of a new turn. It lives as long as this.
    void on_change(std::function<void(Change)> told) { told_.push_back(std::move(told)); }

    /// Before the device does anything; nullptr: nobody watches.
    void set_watch(MemoryWatch* watch) { watch_ = watch; }
    /// The watch is to be told of all pages once more.
    void next_turn() {
        ++turn_;
        changed(Change::Turn);
    }
    bool watched() const { return watch_ != nullptr; }
    uint32_t turn() const { return turn_; }
    /// An answer of host() or vram() from an earlier turn is about to be used, with all of its page.
    void touch(uint8_t* host);

    static constexpr uint64_t kInVram = uint64_t{1} << 63;  ///< of a place: an offset in VRAM, otherwise a bus address

private:
    void changed(Change what) {
        for (const auto& told : told_) told(what);
    }
    void tell(uint64_t place, uint8_t* host, uint64_t bytes, uint64_t before, uint64_t after);
    bool own_bar(uint64_t bus, size_t size, unsigned& bar, uint64_t& offset) const;

    Env& env_;
    uint8_t* vram_;
    uint64_t vram_bytes_;
    std::vector<RamRange> ranges_;   ///< sorted by bus address
    size_t last_ = 0;
    uint64_t bar_vram_ = UINT64_MAX, bar_doorbells_ = UINT64_MAX, bar_registers_ = UINT64_MAX;
    uint64_t register_bytes_ = 0;
    bool bus_master_ = true;
    BarTarget* target_ = nullptr;
    uint64_t generation_ = 1;
    std::vector<std::function<void(Change)>> told_;
    MemoryWatch* watch_ = nullptr;
    uint32_t turn_ = 0;
};

}  // namespace lyra
