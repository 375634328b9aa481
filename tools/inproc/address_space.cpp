// SPDX-License-Identifier: MIT
// Buffers and the four-level page tables that gfx9 walks.
#include "tools/inproc/address_space.h"

#include <algorithm>

namespace lyra::inproc {

namespace {

constexpr uint64_t kAddressMask = 0x0000fffffffff000;
constexpr unsigned kLevels = 4;

// Level 0 is PDB2, level 3 the page table block.
uint64_t index_at(uint64_t va, unsigned level) { return va >> (12 + 9 * (kLevels - 1 - level)) & 0x1ff; }

}  // namespace

AddressSpace::AddressSpace(GpuMemory& memory) : memory_(memory) {
    if (memory.ok()) root_ = memory.take(Domain::Vram, kPageBytes);
}

GpuBuffer AddressSpace::allocate(uint64_t bytes, Domain domain, uint64_t access, uint64_t align) {
    const uint64_t size = round_up(bytes ? bytes : 1, kPageBytes);
    if (size < bytes) return {};
    align = std::max(align, kPageBytes);
    const uint64_t start = memory_.take(domain, size, align);
    if (start == GpuMemory::kNoSpace) return {};
    GpuBuffer buffer;
    buffer.va = reserve(size, align);
    buffer.bytes = bytes;
    buffer.domain = domain;
    buffer.host = memory_.host(domain, start);
    buffer.offset = domain == Domain::Vram ? start : GpuMemory::kSystemBusBase + start;
    if (!map(buffer.va, domain, buffer.offset, size, access)) return {};
    return buffer;
}

uint64_t AddressSpace::reserve(uint64_t bytes, uint64_t align) {
    const uint64_t va = round_up(next_va_, align);
    next_va_ = va + round_up(bytes, kPageBytes) + kPageBytes;
    return va;
}

void AddressSpace::release(GpuBuffer& buffer) {
    if (!buffer) return;
    const uint64_t size = round_up(buffer.bytes ? buffer.bytes : 1, kPageBytes);
    unmap(buffer.va, size);
    memory_.give_back(buffer.domain, buffer.offset - (buffer.domain == Domain::System ? GpuMemory::kSystemBusBase : 0), size);
    buffer = {};
}

// The slot of a page's entry in its page table block; nullptr when a table is missing (or cannot be made).
uint64_t* AddressSpace::entry(uint64_t va, bool create) {
    uint64_t at = root_;
    for (unsigned level = 0; level + 1 < kLevels; ++level) {
        uint64_t& slot = table(at)[index_at(va, level)];
        if (!(slot & pte::kValid)) {
            const uint64_t made = create ? memory_.take(Domain::Vram, kPageBytes) : GpuMemory::kNoSpace;
            if (made == GpuMemory::kNoSpace) return nullptr;
            slot = made | pte::kValid;
        }
        at = slot & kAddressMask;
    }
    return &table(at)[index_at(va, kLevels - 1)];
}

const uint64_t* AddressSpace::find_entry(uint64_t va) const { return const_cast<AddressSpace*>(this)->entry(va, false); }

bool AddressSpace::map(uint64_t va, Domain domain, uint64_t offset, uint64_t bytes, uint64_t access) {
    const uint64_t flags = pte::kValid | access | (domain == Domain::System ? pte::kSystem | pte::kSnooped : 0);
    for (uint64_t done = 0; done < bytes; done += kPageBytes) {
        uint64_t* slot = entry(va + done, true);
        if (!slot) return false;
        *slot = (offset + done) | flags;
    }
    changed_ = true;
    return true;
}

void AddressSpace::unmap(uint64_t va, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes; done += kPageBytes) {
        if (uint64_t* slot = entry(va + done, false)) *slot = 0;
    }
    changed_ = true;
}

uint8_t* AddressSpace::host(uint64_t va, uint64_t bytes) const {
    uint8_t* first = nullptr;
    const uint64_t start = va / kPageBytes * kPageBytes;
    for (uint64_t page = start; page < va + bytes || page == start; page += kPageBytes) {
        const uint64_t* slot = find_entry(page);
        if (!slot || !(*slot & pte::kValid)) return nullptr;
        const bool in_system = *slot & pte::kSystem;
        const uint64_t offset = (*slot & kAddressMask) - (in_system ? GpuMemory::kSystemBusBase : 0);
        if (offset >= (in_system ? memory_.system_bytes() : memory_.vram_bytes())) return nullptr;
        uint8_t* here = memory_.host(in_system ? Domain::System : Domain::Vram, offset);
        if (!first) {
            first = here;
        } else if (here != first + (page - start)) {
            return nullptr;
        }
    }
    return first + (va - start);
}

}  // namespace lyra::inproc
