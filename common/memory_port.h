// SPDX-License-Identifier: MIT
// How lower layers reach GPU virtual memory. Implemented by qemu-hw/soc (gmc); step 7 of the data flow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/fault.h"

namespace lyra {

/// Scalar is a read by way of the scalar data cache.
enum class Access : uint8_t { Read, Write, Atomic, Execute, Scalar };

inline constexpr uint64_t kPageBytes = 4096;

/// MemoryPort::generation() counts changes of translations above these bits, and in them the turns of a watch.
inline constexpr unsigned kTurnBits = 32;
inline constexpr bool same_translations(uint64_t generation, uint64_t other) { return (generation ^ other) >> kTurnBits == 0; }

/// One hub's translation service. All addresses are GPU virtual addresses of the given VMID; bits 63:48 must be the sign
/// extension of bit 47. A failed access raises the hub's VM fault interrupt by itself (once per call) and is counted.
class MemoryPort {
public:
    virtual ~MemoryPort() = default;

    /// Host address of the byte at va when its 4-KiB page is plain memory that allows the access; valid up to the end of
    /// that page and until generation() changes. nullptr otherwise, without any report: read(), write() or check() tell why.
    virtual uint8_t* page(uint32_t vmid, uint64_t va, Access access) = 0;

    /// Copy size bytes. Crosses pages and reaches register and doorbell pages. On a fault the whole access is refused
    /// (reads give zeros) and the fault is returned. PageRetry, from a port whose faults are retried: ask again later.
    virtual Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) = 0;
    virtual Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) = 0;

    /// Translate as the access does, with the fault that it has. None: the page allows it; page() may still have refused it,
    /// because it is no plain memory. For a memory that has no faults of its own, what a read or a write of a dword says.
    virtual Fault check(uint32_t vmid, uint64_t va, Access access) {
        uint32_t dword = 0;
        va &= ~uint64_t{3};
        if (const Fault fault = read(vmid, va, &dword, sizeof dword); fault != Fault::None) return fault;
        const bool stores = access == Access::Write || access == Access::Atomic;
        if (!stores || !page(vmid, va, Access::Read) || page(vmid, va, access)) return Fault::None;
        const Fault fault = write(vmid, va, &dword, sizeof dword);
        return fault == Fault::None ? Fault::PagePermission : fault;
    }

    /// Changes whenever an answer of page() may have become stale (TLB invalidation, new page table, new RAM map), and when a
    /// watch of the memory begins another turn: answers then stay, but touch() has to be called before they are used.
    virtual uint64_t generation() const = 0;

    /// An answer of page() from an earlier turn is about to be used.
    virtual void touch(uint8_t*) {}
};

}  // namespace lyra
