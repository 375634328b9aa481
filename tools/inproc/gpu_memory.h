// SPDX-License-Identifier: MIT
// Memory of the in-process GPU: VRAM, system memory behind bus addresses, and the page tables of one address space.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace lyra::inproc {

inline constexpr uint64_t kPageBytes = 4096;

/// Where memory lives.
enum class Domain : uint8_t { Vram, System };

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

/// Anonymous memory that costs only what is touched.
class HostMapping {
public:
    explicit HostMapping(uint64_t bytes);
    ~HostMapping();
    HostMapping(const HostMapping&) = delete;
    HostMapping& operator=(const HostMapping&) = delete;
    uint8_t* data() const { return data_; }  ///< nullptr: the host refused
    uint64_t bytes() const { return bytes_; }

private:
    uint8_t* data_ = nullptr;
    uint64_t bytes_ = 0;
};

/// Allocates and maps. Nothing is given back before the end: programs that use it are short.
class GpuMemory {
public:
    static constexpr uint64_t kSystemBusBase = uint64_t{4} << 30;  ///< bus address of the first byte of system memory
    static constexpr uint64_t kFirstVa = uint64_t{1} << 40;        ///< user rings lie above 2^40, see CP_HQD_PQ_BASE_HI

    GpuMemory(uint64_t vram_bytes, uint64_t system_bytes);

    bool ok() const { return vram_.data() && system_.data(); }
    uint8_t* vram() const { return vram_.data(); }
    uint64_t vram_bytes() const { return vram_.bytes(); }
    uint8_t* system() const { return system_.data(); }
    uint64_t system_bytes() const { return system_.bytes(); }

    /// Take memory and map it, followed by an unmapped page.
    /// @param access  pte::kRead | ...
    /// @return an empty buffer when the domain is full
    GpuBuffer allocate(uint64_t bytes, Domain domain, uint64_t access = pte::kAll, uint64_t align = kPageBytes);

    /// Write page table entries for [va, va + bytes). The caller flushes the TLB (InProcessDevice::flush_tlb).
    /// @return false: VRAM has no room for a page table
    bool map(uint64_t va, Domain domain, uint64_t offset, uint64_t bytes, uint64_t access);
    /// Clear the page table entries of [va, va + bytes).
    void unmap(uint64_t va, uint64_t bytes);

    /// Host address of a mapped range, nullptr when a page of it is missing or it is not contiguous.
    uint8_t* host(uint64_t va, uint64_t bytes) const;

    uint64_t root_table_offset() const { return root_; }  ///< VRAM offset of PDB2
    bool changed() const { return changed_; }
    void clear_changed() { changed_ = false; }

private:
    uint64_t take(Domain domain, uint64_t bytes, uint64_t align);
    uint64_t* table(uint64_t offset) const { return reinterpret_cast<uint64_t*>(vram_.data() + offset); }
    uint64_t* entry(uint64_t va, bool create);
    const uint64_t* find_entry(uint64_t va) const;

    HostMapping vram_, system_;
    uint64_t next_vram_ = uint64_t{1} << 20;  ///< the first MiB stays empty: VRAM offset 0 is a likely wrong address
    uint64_t next_system_ = 0;
    uint64_t next_va_ = kFirstVa;
    uint64_t root_ = 0;
    bool changed_ = false;
};

}  // namespace lyra::inproc
