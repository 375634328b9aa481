// SPDX-License-Identifier: MIT
// How lower layers reach GPU virtual memory. Implemented by qemu-hw/soc (gmc); step 7 of the data flow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/fault.h"

namespace lyra {

enum class Access : uint8_t { Read, Write, Atomic, Execute };

inline constexpr uint64_t kPageBytes = 4096;

/// One hub's translation service. All addresses are GPU virtual addresses of the given VMID; bits 63:48 must be the sign
/// extension of bit 47. A failed access raises the hub's VM fault interrupt by itself (once per call) and is counted.
class MemoryPort {
public:
    virtual ~MemoryPort() = default;

    /// Host address of the byte at va when its 4-KiB page is plain memory that allows the access; valid up to the end of
    /// that page and until generation() changes. nullptr otherwise, without any report: read()/write() then tell why.
    virtual uint8_t* page(uint32_t vmid, uint64_t va, Access access) = 0;

    /// Copy size bytes. Crosses pages and reaches register and doorbell pages. On a fault the whole access is refused
    /// (reads give zeros) and the fault is returned. PageRetry, from a port whose faults are retried: ask again later.
    virtual Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) = 0;
    virtual Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) = 0;

    /// Changes whenever an answer of page() may have become stale (TLB invalidation, new page table, new RAM map).
    virtual uint64_t generation() const = 0;
};

}  // namespace lyra
