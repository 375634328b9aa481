// SPDX-License-Identifier: MIT
// Lines: fetched by the first load, merged into memory by a write-back, forgotten by an invalidation.
#include "qemu-hw/soc/l2.h"

#include <algorithm>
#include <cstring>

namespace lyra {

namespace {

constexpr size_t kMaxPages = 65536;  // twice 256 MiB of the host's memory

/// Each bit as a byte.
uint64_t of_bytes(uint8_t bits) {
    uint64_t mask = 0;
    for (unsigned i = 0; i < 8; ++i)
        if ((bits >> i & 1) != 0) mask |= uint64_t{0xff} << 8 * i;
    return mask;
}

/// Bytes of a word that differ, as a mask.
uint64_t differing(uint64_t a, uint64_t b) {
    uint64_t mask = 0;
    for (unsigned i = 0; i < 64; i += 8)
        if (((a ^ b) >> i & 0xff) != 0) mask |= uint64_t{0xff} << i;
    return mask;
}

/// The others see a word as a whole, and what they have stored into bytes that are not dirty stays.
void merge(uint64_t* memory, uint64_t value, uint64_t mask) {
    uint64_t seen = __atomic_load_n(memory, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(memory, &seen, (seen & ~mask) | (value & mask), false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {}
}

}  // namespace

/// Bytes of the line that nobody has loaded or stored. One that an atomic has changed is no longer memory's.
void L2::Page::fetch(const uint8_t* memory, size_t line) {
    const uint64_t missing = ~valid[line];
    for (size_t n = 0; missing != 0 && n < kLineBytes; ++n) {
        const size_t at = line * kLineBytes + n;
        if ((missing >> n & 1) == 0 || (before && now[at] != (*before)[at])) continue;
        now[at] = memory[at];
        if (before) (*before)[at] = memory[at];
    }
}

/// @param memory  host address of the byte at va  @return nullptr: not held, waves access memory
L2::Page* L2::held(uint32_t vmid, uint64_t va, Access access, uint8_t* memory) {
    if (!hub_.cached(vmid, va)) return nullptr;
    uint8_t* const first = memory - va % kPageBytes;
    auto found = pages_.find(first);
    if (found == pages_.end()) {
        // Other threads of the host may use what is held.
        if (pages_.size() >= kMaxPages) return nullptr;
        found = pages_.emplace(first, std::make_unique<Page>()).first;
    }
    Page* const page = found->second.get();
    if (access != Access::Read && access != Access::Write)
        for (size_t line = 0; line < page->valid.size(); ++line) page->fetch(first, line);
    if (access == Access::Atomic && !page->before) page->before = std::make_unique<Bytes>(page->now);
    return page;
}

/// Loads and stores of a page that is held have to say which lines they mean.
uint8_t* L2::page(uint32_t vmid, uint64_t va, Access access) {
    uint8_t* const memory = port_.page(vmid, va, access);
    if (!env_.strict.l2 || memory == nullptr) return memory;
    Page* const page = held(vmid, va, access, memory);
    if (page == nullptr) return memory;
    return access == Access::Read || access == Access::Write ? nullptr : page->now.data() + va % kPageBytes;
}

Fault L2::read(uint32_t vmid, uint64_t va, void* data, size_t size) {
    if (!env_.strict.l2) return port_.read(vmid, va, data, size);
    auto* bytes = static_cast<uint8_t*>(data);
    while (size) {
        const size_t at = va % kPageBytes, part = std::min<size_t>(size, kPageBytes - at);
        uint8_t* const memory = port_.page(vmid, va, Access::Read);
        if (Page* const page = memory == nullptr ? nullptr : held(vmid, va, Access::Read, memory)) {
            for (size_t line = at / kLineBytes; line <= (at + part - 1) / kLineBytes; ++line) {
                page->fetch(memory - at, line);
                page->valid[line] = ~uint64_t{0};
            }
            std::memcpy(bytes, page->now.data() + at, part);
        } else if (const Fault fault = port_.read(vmid, va, bytes, part); fault != Fault::None) {
            std::memset(bytes, 0, size);
            return fault;
        }
        va += part, bytes += part, size -= part;
    }
    return Fault::None;
}

Fault L2::write(uint32_t vmid, uint64_t va, const void* data, size_t size) {
    if (!env_.strict.l2) return port_.write(vmid, va, data, size);
    const auto* bytes = static_cast<const uint8_t*>(data);
    while (size) {
        const size_t at = va % kPageBytes, part = std::min<size_t>(size, kPageBytes - at);
        uint8_t* const memory = port_.page(vmid, va, Access::Write);
        if (Page* const page = memory == nullptr ? nullptr : held(vmid, va, Access::Write, memory)) {
            std::memcpy(page->now.data() + at, bytes, part);
            for (size_t n = at; n < at + part; ++n) {
                const uint64_t bit = uint64_t{1} << n % kLineBytes;
                page->valid[n / kLineBytes] |= bit;
                page->dirty[n / kLineBytes] |= bit;
            }
        } else if (const Fault fault = port_.write(vmid, va, bytes, part); fault != Fault::None) {
            return fault;
        }
        va += part, bytes += part, size -= part;
    }
    return Fault::None;
}

void L2::write_back() {
    env_.stats.add(Stat::l2_writebacks);
    for (auto& [memory, page] : pages_) {
        const bool stored = std::any_of(page->dirty.begin(), page->dirty.end(), [](uint64_t line) { return line != 0; });
        const Bytes& before = page->before ? *page->before : page->now;
        if (!stored && page->now == before) continue;
        for (size_t at = 0; at < kPageBytes; at += 8) {
            uint64_t now = 0, was = 0;
            std::memcpy(&now, page->now.data() + at, 8);
            std::memcpy(&was, before.data() + at, 8);
            const auto bytes = static_cast<uint8_t>(page->dirty[at / kLineBytes] >> at % kLineBytes);
            const uint64_t mask = of_bytes(bytes) | differing(now, was);
            if (mask != 0) merge(reinterpret_cast<uint64_t*>(memory + at), now, mask);
        }
        if (page->before) *page->before = page->now;
        page->dirty = {};
    }
}

void L2::invalidate() {
    env_.stats.add(Stat::l2_invalidations);
    if (pages_.empty()) return;
    write_back();
    pages_.clear();
    translations_changed();
}

void L2::reset() {
    pages_.clear();
    translations_changed();
}

void L2::Page::visit(StateVisitor& v) {
    v("now", now);
    v("valid", valid);
    v("dirty", dirty);
    bool atomics = before != nullptr;
    v("atomics", atomics);
    if (!atomics) return;
    if (!before) before = std::make_unique<Bytes>();
    v("before", *before);
}

// By the place of their memory: host addresses mean nothing in another process.
void L2::visit(StateVisitor& v) {
    struct Held {
        uint64_t place = 0;
        std::unique_ptr<Page> page;
        void visit(StateVisitor& v) {
            if (!page) page = std::make_unique<Page>();
            v("place", place);
            v("page", *page);
        }
    };
    std::vector<Held> held;
    for (auto& [memory, page] : pages_)
        if (const std::optional<uint64_t> place = hub_.bus().place_of(memory)) held.push_back({*place, std::move(page)});
    std::sort(held.begin(), held.end(), [](const Held& a, const Held& b) { return a.place < b.place; });
    v.list("pages", held, kMaxPages);
    pages_.clear();
    for (Held& entry : held) {
        uint8_t* const memory = v.ok() ? hub_.bus().page_at(entry.place) : nullptr;
        if (memory)
            pages_[memory] = std::move(entry.page);
        else
            v.refuse("a page where there is no memory");
    }
    if (v.loads()) translations_changed();
}

}  // namespace lyra
