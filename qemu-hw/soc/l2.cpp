// SPDX-License-Identifier: MIT
// Copies of pages: made at the first access, merged into memory by a write-back, forgotten by an invalidation.
#include "qemu-hw/soc/l2.h"

#include <algorithm>
#include <cstring>

namespace lyra {

namespace {

constexpr size_t kMaxPages = 65536;  // twice 256 MiB of the host's memory

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

uint8_t* L2::page(uint32_t vmid, uint64_t va, Access access) {
    uint8_t* const host = port_.page(vmid, va, access);
    if (!env_.strict.l2 || host == nullptr || !hub_.cached(vmid, va)) return host;
    const uint64_t offset = va % kPageBytes;
    auto found = pages_.find(host - offset);
    if (found == pages_.end()) {
        // Other threads of the host may use what is held.
        if (pages_.size() >= kMaxPages) return host;
        found = pages_.emplace(host - offset, std::make_unique<Page>()).first;
        Page& page = *found->second;
        std::memcpy(page.now.data(), host - offset, kPageBytes);
        page.before = page.now;
    }
    return found->second->now.data() + offset;
}

Fault L2::read(uint32_t vmid, uint64_t va, void* data, size_t size) {
    if (!env_.strict.l2) return port_.read(vmid, va, data, size);
    auto* bytes = static_cast<uint8_t*>(data);
    while (size) {
        const size_t part = std::min<size_t>(size, kPageBytes - va % kPageBytes);
        if (const uint8_t* host = page(vmid, va, Access::Read)) {
            std::memcpy(bytes, host, part);
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
        const size_t part = std::min<size_t>(size, kPageBytes - va % kPageBytes);
        if (uint8_t* host = page(vmid, va, Access::Write)) {
            std::memcpy(host, bytes, part);
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
        if (page->now == page->before) continue;
        for (size_t at = 0; at < kPageBytes; at += 8) {
            uint64_t now = 0, before = 0;
            std::memcpy(&now, page->now.data() + at, 8);
            std::memcpy(&before, page->before.data() + at, 8);
            if (now != before) merge(reinterpret_cast<uint64_t*>(memory + at), now, differing(now, before));
        }
        page->before = page->now;
    }
}

void L2::invalidate() {
    env_.stats.add(Stat::l2_invalidations);
    if (pages_.empty()) return;
    write_back();
    pages_.clear();
    ++drops_;
}

void L2::reset() {
    pages_.clear();
    ++drops_;
}

}  // namespace lyra
