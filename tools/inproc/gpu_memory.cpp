// SPDX-License-Identifier: MIT
// Memory of the in-process GPU: allocation and the four-level page tables that gfx9 walks.
#include "tools/inproc/gpu_memory.h"

#include <sys/mman.h>

namespace lyra::inproc {

namespace {

constexpr uint64_t kVramReserve = uint64_t{2} << 20;  // the end of VRAM holds the discovery table
constexpr uint64_t kAddressMask = 0x0000fffffffff000;
constexpr uint64_t kNoSpace = ~uint64_t{0};
constexpr unsigned kLevels = 4;

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// Level 0 is PDB2, level 3 the page table block.
uint64_t index_at(uint64_t va, unsigned level) { return va >> (12 + 9 * (kLevels - 1 - level)) & 0x1ff; }

}  // namespace

HostMapping::HostMapping(uint64_t bytes) : bytes_(bytes) {
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    data_ = data == MAP_FAILED ? nullptr : static_cast<uint8_t*>(data);
}

HostMapping::~HostMapping() {
    if (data_) munmap(data_, bytes_);
}

GpuMemory::GpuMemory(uint64_t vram_bytes, uint64_t system_bytes) : vram_(vram_bytes), system_(system_bytes) {
    if (ok()) root_ = take(Domain::Vram, kPageBytes, kPageBytes);
}

uint64_t GpuMemory::take(Domain domain, uint64_t bytes, uint64_t align) {
    uint64_t& next = domain == Domain::Vram ? next_vram_ : next_system_;
    const uint64_t end = domain == Domain::Vram ? vram_.bytes() - kVramReserve : system_.bytes();
    const uint64_t start = round_up(next, align);
    if (bytes > end || start > end - bytes) return kNoSpace;
    next = start + round_up(bytes, kPageBytes);
    return start;
}

GpuBuffer GpuMemory::allocate(uint64_t bytes, Domain domain, uint64_t access, uint64_t align) {
    const uint64_t size = round_up(bytes ? bytes : 1, kPageBytes);
    if (size < bytes) return {};
    const uint64_t start = take(domain, size, align < kPageBytes ? kPageBytes : align);
    if (start == kNoSpace) return {};
    GpuBuffer buffer;
    buffer.va = round_up(next_va_, align < kPageBytes ? kPageBytes : align);
    buffer.bytes = bytes;
    buffer.domain = domain;
    buffer.host = (domain == Domain::Vram ? vram_.data() : system_.data()) + start;
    buffer.offset = domain == Domain::Vram ? start : kSystemBusBase + start;
    next_va_ = buffer.va + size + kPageBytes;
    if (!map(buffer.va, domain, buffer.offset, size, access)) return {};
    return buffer;
}

// The slot of a page's entry in its page table block; nullptr when a table is missing (or cannot be made).
uint64_t* GpuMemory::entry(uint64_t va, bool create) {
    uint64_t at = root_;
    for (unsigned level = 0; level + 1 < kLevels; ++level) {
        uint64_t& slot = table(at)[index_at(va, level)];
        if (!(slot & pte::kValid)) {
            const uint64_t made = create ? take(Domain::Vram, kPageBytes, kPageBytes) : kNoSpace;
            if (made == kNoSpace) return nullptr;
            slot = made | pte::kValid;
        }
        at = slot & kAddressMask;
    }
    return &table(at)[index_at(va, kLevels - 1)];
}

const uint64_t* GpuMemory::find_entry(uint64_t va) const { return const_cast<GpuMemory*>(this)->entry(va, false); }

bool GpuMemory::map(uint64_t va, Domain domain, uint64_t offset, uint64_t bytes, uint64_t access) {
    const uint64_t flags = pte::kValid | access | (domain == Domain::System ? pte::kSystem | pte::kSnooped : 0);
    for (uint64_t done = 0; done < bytes; done += kPageBytes) {
        uint64_t* slot = entry(va + done, true);
        if (!slot) return false;
        *slot = (offset + done) | flags;
    }
    changed_ = true;
    return true;
}

void GpuMemory::unmap(uint64_t va, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes; done += kPageBytes) {
        if (uint64_t* slot = entry(va + done, false)) *slot = 0;
    }
    changed_ = true;
}

uint8_t* GpuMemory::host(uint64_t va, uint64_t bytes) const {
    uint8_t* first = nullptr;
    const uint64_t start = va / kPageBytes * kPageBytes;
    for (uint64_t page = start; page < va + bytes || page == start; page += kPageBytes) {
        const uint64_t* slot = find_entry(page);
        if (!slot || !(*slot & pte::kValid)) return nullptr;
        const bool in_system = *slot & pte::kSystem;
        const uint64_t offset = (*slot & kAddressMask) - (in_system ? kSystemBusBase : 0);
        if (offset >= (in_system ? system_.bytes() : vram_.bytes())) return nullptr;
        uint8_t* here = (in_system ? system_.data() : vram_.data()) + offset;
        if (!first) {
            first = here;
        } else if (here != first + (page - start)) {
            return nullptr;
        }
    }
    return first + (va - start);
}

}  // namespace lyra::inproc
