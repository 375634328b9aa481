// SPDX-License-Identifier: MIT
// Host addresses of the pages a compute unit touched last, and data access through them; steps 6 and 7 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "common/memory_port.h"

namespace lyra::gcn {

/// Direct-mapped cache in front of MemoryPort::page(). Answers are valid while the port's generation stays the same;
/// begin() checks that once per instruction.
class PageCache {
public:
    explicit PageCache(MemoryPort& port) : port_(port), generation_(port.generation()) { clear(); }

    /// Before the first access of an instruction.
    void begin() {
        if (const uint64_t now = port_.generation(); now != generation_) {
            same_translations(now, generation_) ? lay_aside() : clear();
            generation_ = now;
        }
    }

    /// Host address of the page that holds va, nullptr when it is not plain memory with this access.
    uint8_t* page(uint32_t vmid, uint64_t va, Access access) {
        const uint64_t number = va / kPageBytes;
        const uint64_t tag = number << 4 | (vmid & 15);
        Entry& entry = entries_[static_cast<size_t>(access) % kKinds][(number ^ vmid * 5) % kEntries];
        if (entry.tag == tag) return entry.host;
        return fill(entry, tag, vmid, va, access);
    }

    /// Copy bytes, at most a page, that may cross pages or reach registers. @param access Read or Scalar @return the fault
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size, Access access = Access::Read) {
        if (va % kPageBytes + size <= kPageBytes) {
            if (const uint8_t* host = page(vmid, va, Access::Read)) {
                std::memcpy(data, host + va % kPageBytes, size);
                return Fault::None;
            }
        }
        if (access != Access::Read) {
            for (const uint64_t end : {va, va + size - 1}) {
                if (const Fault fault = port_.check(vmid, end, access); fault != Fault::None) return fault;
            }
        }
        return port_.read(vmid, va, data, size);
    }
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) {
        if (va % kPageBytes + size <= kPageBytes) {
            if (uint8_t* host = page(vmid, va, Access::Write)) {
                std::memcpy(host + va % kPageBytes, data, size);
                return Fault::None;
            }
        }
        return port_.write(vmid, va, data, size);
    }

    MemoryPort& port() { return port_; }

private:
    struct Entry {
        uint64_t tag = ~uint64_t{0};
        uint8_t* host = nullptr;
    };
    static constexpr size_t kEntries = 256;
    static constexpr size_t kKinds = 4;  ///< one table per Access; Scalar reads are reads

    using Entries = std::array<std::array<Entry, kEntries>, kKinds>;

    uint8_t* fill(Entry& entry, uint64_t tag, uint32_t vmid, uint64_t va, Access access) {
        if (aside_) {
            // An answer that was laid aside is what the entry would have been; one of another page it would have displaced.
            Entry& old = (&(*aside_)[0][0])[&entry - &entries_[0][0]];
            const Entry was = old;
            old = {};
            if (was.tag == tag) {
                port_.touch(was.host);
                entry = was;
                return was.host;
            }
        }
        uint8_t* host = port_.page(vmid, va & ~(kPageBytes - 1), access);
        if (host) entry = {tag, host};
        return host;
    }
    void clear() {
        for (auto& kind : entries_) kind.fill(Entry{});
        aside_.reset();
    }
    /// A watch wants to be told of each page once more.
    void lay_aside() {
        if (!aside_) aside_ = std::make_unique<Entries>();
        for (size_t kind = 0; kind < kKinds; ++kind) {
            for (size_t n = 0; n < kEntries; ++n) {
                Entry& entry = entries_[kind][n];
                if (entry.tag != Entry{}.tag) (*aside_)[kind][n] = std::exchange(entry, Entry{});
            }
        }
    }

    MemoryPort& port_;
    uint64_t generation_;
    Entries entries_;
    std::unique_ptr<Entries> aside_;  ///< from earlier turns; only while memory is watched
};

/// A run of accesses of one kind that mostly stay on one page.
class PageCursor {
public:
    PageCursor(PageCache& cache, uint32_t vmid, Access access) : cache_(cache), vmid_(vmid), access_(access) {}

    /// Host address of size bytes at va, nullptr when they cross pages or are not plain memory.
    uint8_t* at(uint64_t va, unsigned size) {
        const uint64_t offset = va % kPageBytes;
        if (offset + size > kPageBytes) return nullptr;
        if (const uint64_t page = va - offset; page != page_) {
            host_ = cache_.page(vmid_, va, access_);
            page_ = host_ ? page : kNoPage;
            if (!host_) return nullptr;
        }
        return host_ + offset;
    }

private:
    static constexpr uint64_t kNoPage = 1;  // never page aligned
    PageCache& cache_;
    uint32_t vmid_;
    Access access_;
    uint64_t page_ = kNoPage;
    uint8_t* host_ = nullptr;
};

}  // namespace lyra::gcn
