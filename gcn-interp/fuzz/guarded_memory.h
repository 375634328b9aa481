// SPDX-License-Identifier: MIT
// Fuzzing only: GPU memory of a few pages that knows exactly which bytes may be touched, and how.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>

#include "common/memory_port.h"

namespace lyra::gcn::fuzz {

inline void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "fuzz: %s\n", what);
    std::abort();
}

/// Every page is an allocation of its own, so that AddressSanitizer sees the first byte beside it, and a host address that is
/// kept for longer than the translations it came with.
class GuardedMemory : public MemoryPort {
public:
    enum Rights : uint8_t { kRead = 1, kWrite = 2, kExecute = 4, kRegisters = 8 };

    void map(uint64_t va, unsigned count, uint8_t rights) {
        for (unsigned i = 0; i < count; ++i) pages_[va + i * kPageBytes] = Page{make(), make(), rights};
    }
    /// From the host's side.
    void put(uint64_t va, const void* data, size_t bytes) {
        for (size_t at = 0; at < bytes;) {
            const size_t offset = (va + at) % kPageBytes, n = std::min<size_t>(bytes - at, kPageBytes - offset);
            Page* page = find(va + at);
            require(page != nullptr, "the fuzzer writes outside of its memory");
            std::memcpy(page->host.get() + offset, static_cast<const uint8_t*>(data) + at, n);
            std::memcpy(page->first.get() + offset, static_cast<const uint8_t*>(data) + at, n);
            at += n;
        }
    }
    /// All pages are somewhere else, with the same content; who keeps old addresses touches freed memory.
    void move_all() {
        translations_changed();
        for (auto& [va, page] : pages_) {
            Bytes moved = make();
            std::memcpy(moved.get(), page.host.get(), kPageBytes);
            page.host = std::move(moved);
        }
    }
    bool same_content(const GuardedMemory& other) const {
        for (const auto& [va, page] : pages_) {
            const auto found = other.pages_.find(va);
            if (found == other.pages_.end() || std::memcmp(page.host.get(), found->second.host.get(), kPageBytes) != 0)
                return false;
        }
        return true;
    }
    /// What may not be written has not been.
    void check() const {
        for (const auto& [va, page] : pages_) {
            if (page.rights & kWrite) continue;
            require(std::memcmp(page.host.get(), page.first.get(), kPageBytes) == 0,
                    "a page without write permission has changed");
        }
    }

    uint8_t* page(uint32_t, uint64_t va, Access access) override {
        Page* found = find(va);
        if (!found || (found->rights & kRegisters) || !(found->rights & needed(access))) return nullptr;
        return found->host.get() + va % kPageBytes;
    }
    Fault read(uint32_t, uint64_t va, void* data, size_t size) override {
        std::memset(data, 0, size);
        return each(va, size, kRead, [&](Page& page, size_t at, size_t offset, size_t n) {
            std::memcpy(static_cast<uint8_t*>(data) + at, page.host.get() + offset, n);
        });
    }
    Fault write(uint32_t, uint64_t va, const void* data, size_t size) override {
        return each(va, size, kWrite, [&](Page& page, size_t at, size_t offset, size_t n) {
            std::memcpy(page.host.get() + offset, static_cast<const uint8_t*>(data) + at, n);
        });
    }

private:
    struct Free {
        void operator()(uint8_t* bytes) const { ::operator delete[](bytes, std::align_val_t{64}); }
    };
    using Bytes = std::unique_ptr<uint8_t[], Free>;
    struct Page {
        Bytes host, first;   ///< first: as the host left it
        uint8_t rights;
    };
    static Bytes make() {
        auto* bytes = static_cast<uint8_t*>(::operator new[](kPageBytes, std::align_val_t{64}));
        std::memset(bytes, 0, kPageBytes);
        return Bytes(bytes);
    }
    static uint8_t needed(Access access) {
        return access == Access::Read ? kRead : access == Access::Execute ? kExecute : kWrite;
    }
    Page* find(uint64_t va) {
        const auto found = pages_.find(va & ~(kPageBytes - 1));
        return found == pages_.end() ? nullptr : &found->second;
    }
    template <class Move>
    Fault each(uint64_t va, size_t size, uint8_t right, Move move) {
        require(size <= 64, "an access is larger than any instruction's");
        for (const bool look : {true, false}) {  // a fault refuses the whole access
            for (size_t at = 0; at < size;) {
                const size_t offset = (va + at) % kPageBytes, n = std::min<size_t>(size - at, kPageBytes - offset);
                Page* page = find(va + at);
                if (!page) return Fault::PageNotPresent;
                if (!(page->rights & right)) return Fault::PagePermission;
                if (!look) move(*page, at, offset, n);
                at += n;
            }
        }
        return Fault::None;
    }

    std::map<uint64_t, Page> pages_;
};

}  // namespace lyra::gcn::fuzz
