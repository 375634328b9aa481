// SPDX-License-Identifier: MIT
// Translations of one VMID for one kind of access, laid out for code that is generated; steps 6 and 7 of the data flow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/memory_port.h"

namespace lyra::gcn {

/// A range of plain memory: va is in it when va - start < size, and is then at host address va + bias, both modulo 2^64.
/// A size of 0 holds nothing.
struct TlbEntry {
    uint64_t start = 0;  ///< GPU virtual address
    uint64_t size = 0;   ///< bytes, whole pages
    uint64_t bias = 0;   ///< host address minus start
    uint64_t vmid = 0;   ///< for the table behind, which is one for all

    static TlbEntry of(const HostRange& range, uint32_t vmid) {
        return {range.start, range.size, reinterpret_cast<uintptr_t>(range.host) - range.start, vmid};
    }
    bool holds(uint64_t va) const { return va - start < size; }
    /// All of bytes bytes at va, which is held. A range is shorter than 2^31 bytes.
    bool holds_to_end(uint64_t va, uint64_t bytes) const { return va - start + bytes <= size; }
    uint8_t* host(uint64_t va) const { return reinterpret_cast<uint8_t*>(va + bias); }  // NOLINT(performance-no-int-to-ptr)
};
static_assert(sizeof(TlbEntry) == 32 && offsetof(TlbEntry, start) == 0 && offsetof(TlbEntry, size) == 8 &&
              offsetof(TlbEntry, bias) == 16);
static_assert(kMaxRangeBytes < uint64_t{1} << 31);

/// An address is looked up in the entry of its 64 KiB, then in a second one, where the range is that was in the first one
/// before, and then in that of its 2 MiB, where the last range of more than 64 KiB is. What is found goes to the first one. Two
/// buffers that meet within 64 KiB keep one of its two entries each.
/// All of it is empty when PageCache::begin() has seen another generation.
struct alignas(64) Tlb {
    static constexpr unsigned kNearBits = 5, kNearShift = 16, kLargeBits = 4, kLargeShift = 21;
    /// Buffers mostly begin at a multiple of 2 MiB, and kernels read several at the same offset: bits from there on up decide,
    /// too, which entry it is.
    static constexpr unsigned kNearFold = kLargeShift - kNearShift;

    std::array<TlbEntry, 1u << kNearBits> near{};
    std::array<TlbEntry, 1u << kNearBits> second{};
    std::array<TlbEntry, 1u << kLargeBits> large{};

    static constexpr unsigned near_index(uint64_t va) {
        const uint64_t unit = va >> kNearShift;
        return (unit ^ unit >> kNearFold) & ((1u << kNearBits) - 1);
    }
    TlbEntry& near_of(uint64_t va) { return near[near_index(va)]; }
    TlbEntry& large_of(uint64_t va) { return large[va >> kLargeShift & ((1u << kLargeBits) - 1)]; }

    /// @return nullptr when va is not held
    const TlbEntry* find(uint64_t va) {
        TlbEntry& entry = near_of(va);
        if (entry.holds(va)) [[likely]]
            return &entry;
        TlbEntry& second_entry = second[near_index(va)];
        if (second_entry.holds(va)) {
            std::swap(entry, second_entry);
            return &entry;
        }
        const TlbEntry& other = large_of(va);
        if (!other.holds(va)) return nullptr;
        second_entry = std::exchange(entry, other);
        return &entry;
    }
    /// @param va  for which range was asked
    void enter(uint64_t va, const TlbEntry& range) {
        second[near_index(va)] = std::exchange(near_of(va), range);
        if (range.size > uint64_t{1} << kNearShift) large_of(va) = range;
    }
};
static_assert(offsetof(Tlb, near) == 0);

}  // namespace lyra::gcn
