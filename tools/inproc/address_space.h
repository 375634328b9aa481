// SPDX-License-Identifier: MIT
// One address space of the in-process GPU: buffers and the four-level page tables in VRAM that map them.
#pragma once

#include <cstdint>

#include "tools/inproc/gpu_memory.h"

namespace lyra::inproc {

/// Page table entry bits. @source Linux 6.12 amdgpu_vm.h, AMDGPU_PTE_*
namespace pte {
inline constexpr uint64_t kValid = 1u << 0, kSystem = 1u << 1, kSnooped = 1u << 2, kExecute = 1u << 4, kRead = 1u << 5,
                          kWrite = 1u << 6;
inline constexpr uint64_t kAll = kExecute | kRead | kWrite;
}  // namespace pte

/// Memory that host and GPU both see: contiguous for the host, contiguous in GPU virtual addresses. Zero-filled at first.
struct GpuBuffer {
    uint64_t va = 0;         ///< GPU virtual address, page-aligned
    uint8_t* host = nullptr;
    uint64_t bytes = 0;      ///< as asked for
    Domain domain = Domain::Vram;
    uint64_t offset = 0;     ///< VRAM offset, or bus address
    explicit operator bool() const { return host != nullptr; }
};

class AddressSpace {
public:
    static constexpr uint64_t kFirstVa = uint64_t{1} << 40;        ///< user rings lie above 2^40, see CP_HQD_PQ_BASE_HI

    explicit AddressSpace(GpuMemory& memory);

    /// Take memory and map it, followed by an unmapped page.
    /// @param access  pte::kRead | ...
    /// @return an empty buffer when the domain is full
    GpuBuffer allocate(uint64_t bytes, Domain domain, uint64_t access = pte::kAll, uint64_t align = kPageBytes);
    /// Unmap a buffer of allocate() and give its memory back. Its addresses are not used again.
    void release(GpuBuffer& buffer);

    /// Addresses that allocate() will not use, for map(). Page-aligned.
    uint64_t reserve(uint64_t bytes, uint64_t align = kPageBytes);

    /// Write page table entries for [va, va + bytes). The caller flushes the TLB.
    /// @param offset  in VRAM, or a bus address
    /// @return false: VRAM has no room for a page table
    bool map(uint64_t va, Domain domain, uint64_t offset, uint64_t bytes, uint64_t access);
    /// Clear the page table entries of [va, va + bytes).
    void unmap(uint64_t va, uint64_t bytes);

    /// Host address of a mapped range, nullptr when a page of it is missing or it is not contiguous.
    uint8_t* host(uint64_t va, uint64_t bytes) const;

    uint64_t root_table_offset() const { return root_; }  ///< VRAM offset of PDB2, GpuMemory::kNoSpace: no memory for it
    bool changed() const { return changed_; }             ///< since clear_changed(): translations may be stale
    void clear_changed() { changed_ = false; }

private:
    uint64_t* table(uint64_t offset) const { return reinterpret_cast<uint64_t*>(memory_.vram() + offset); }
    uint64_t* entry(uint64_t va, bool create);
    const uint64_t* find_entry(uint64_t va) const;

    GpuMemory& memory_;
    uint64_t next_va_ = kFirstVa;
    uint64_t root_ = GpuMemory::kNoSpace;
    bool changed_ = false;
};

}  // namespace lyra::inproc
