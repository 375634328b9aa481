// SPDX-License-Identifier: MIT
// Host addresses of the pages a compute unit touched last, and data access through them; steps 6 and 7 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "common/memory_port.h"
#include "gcn-interp/exec/tlb.h"

namespace lyra::gcn {

/// Cache in front of MemoryPort::range(): a Tlb for each VMID and kind of access, and behind them one table by page for memory
/// that is in pieces. Answers are valid while the port's generation stays the same; begin() checks that once per instruction.
class PageCache {
public:
    explicit PageCache(MemoryPort& port) : port_(port), generation_(port.generation()) {}

    /// Before the first access of an instruction.
    void begin() {
        if (const uint64_t now = port_.generation(); now != generation_) [[unlikely]]
            renew(now);
    }

    /// What generated code and the fast functions read. It stays where it is.
    Tlb& tlb(uint32_t vmid, Access access) {
        auto& tlbs = tlbs_[vmid % kVmids];
        if (!tlbs) [[unlikely]]
            tlbs = std::make_unique<std::array<Tlb, kKinds>>();
        return (*tlbs)[kind_of(access)];
    }

    /// The range that holds va, nullptr when it is not plain memory with this access. Valid until the next call.
    const TlbEntry* range(uint32_t vmid, uint64_t va, Access access) {
        Tlb& known = tlb(vmid, access);
        if (const TlbEntry* entry = known.find(va)) return entry;
        return fill(known, vmid, va, access);
    }
    /// Host address of the page that holds va, nullptr when it is not plain memory with this access.
    uint8_t* page(uint32_t vmid, uint64_t va, Access access) {
        const TlbEntry* entry = range(vmid, va, access);
        return entry ? entry->host(va & ~(kPageBytes - 1)) : nullptr;
    }

    /// Copy bytes, at most a page, that may cross pages or reach registers. @param access Read or Scalar @return the fault
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size, Access access = Access::Read) {
        if (const TlbEntry* entry = range(vmid, va, Access::Read); entry && entry->holds_to_end(va, size)) {
            std::memcpy(data, entry->host(va), size);
            return Fault::None;
        }
        if (access != Access::Read) {
            for (const uint64_t end : {va, va + size - 1}) {
                if (const Fault fault = port_.check(vmid, end, access); fault != Fault::None) return fault;
            }
        }
        return port_.read(vmid, va, data, size);
    }
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) {
        if (const TlbEntry* entry = range(vmid, va, Access::Write); entry && entry->holds_to_end(va, size)) {
            std::memcpy(entry->host(va), data, size);
            return Fault::None;
        }
        return port_.write(vmid, va, data, size);
    }

    MemoryPort& port() { return port_; }
    /// Of which generation the TLBs are, where generated code reads it.
    const uint64_t& seen_generation() const { return generation_; }

private:
    static constexpr size_t kVmids = 16;
    static constexpr size_t kEntries = 256;
    static constexpr size_t kKinds = 3;
    /// Nothing executes by way of this, and what the scalar cache reads is read.
    static constexpr size_t kind_of(Access access) { return access == Access::Write ? 1 : access == Access::Atomic ? 2 : 0; }

    using Entries = std::array<std::array<TlbEntry, kEntries>, kKinds>;

    const TlbEntry* fill(Tlb& known, uint32_t vmid, uint64_t va, Access access) {
        const uint64_t number = va / kPageBytes, page = number * kPageBytes;
        const size_t kind = kind_of(access), slot = (number ^ vmid * 5) % kEntries;
        TlbEntry& entry = entries_[kind][slot];
        if (!entry.holds(va) || entry.vmid != vmid) {
            TlbEntry found;
            if (aside_) {
                // An answer that was laid aside is what the entry would have been; one of another page it would have displaced.
                const TlbEntry was = std::exchange((*aside_)[kind][slot], TlbEntry{});
                if (was.start == page && was.size == kPageBytes && was.vmid == vmid) {
                    port_.touch(was.host(page));
                    found = was;
                }
            }
            if (found.size == 0) found = TlbEntry::of(port_.range(vmid, va, access), vmid);
            if (found.size == 0) return nullptr;
            entry = found;
        }
        known.enter(va, entry);
        return known.find(va);
    }
    void renew(uint64_t generation) {
        for (auto& tlbs : tlbs_)
            if (tlbs) *tlbs = {};
        same_translations(generation, generation_) ? lay_aside() : clear();
        generation_ = generation;
    }
    void clear() {
        entries_ = {};
        aside_.reset();
    }
    /// A watch wants to be told of each page once more.
    void lay_aside() {
        if (!aside_) aside_ = std::make_unique<Entries>();
        for (size_t kind = 0; kind < kKinds; ++kind) {
            for (size_t n = 0; n < kEntries; ++n) {
                TlbEntry& entry = entries_[kind][n];
                if (entry.size != 0) (*aside_)[kind][n] = std::exchange(entry, TlbEntry{});
            }
        }
    }

    MemoryPort& port_;
    uint64_t generation_;
    std::array<std::unique_ptr<std::array<Tlb, kKinds>>, kVmids> tlbs_;  ///< of VMIDs that were here
    Entries entries_{};
    std::unique_ptr<Entries> aside_;  ///< from earlier turns; only while memory is watched
};

/// A run of accesses of one kind that mostly stay in one range.
class PageCursor {
public:
    PageCursor(PageCache& cache, uint32_t vmid, Access access) : cache_(cache), vmid_(vmid), access_(access) {}

    /// Host address of size bytes at va, nullptr when they cross ranges or are not plain memory.
    uint8_t* at(uint64_t va, unsigned size) {
        if (!range_.holds(va)) {
            const TlbEntry* found = cache_.range(vmid_, va, access_);
            range_ = found ? *found : TlbEntry{};
            if (!found) return nullptr;
        }
        return range_.holds_to_end(va, size) ? range_.host(va) : nullptr;
    }

private:
    PageCache& cache_;
    uint32_t vmid_;
    Access access_;
    TlbEntry range_;
};

}  // namespace lyra::gcn
