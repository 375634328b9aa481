// SPDX-License-Identifier: MIT
// How lower layers reach GPU virtual memory. Implemented by qemu-hw/soc (gmc); step 7 of the data flow.
#pragma once

#include <atomic>
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

/// Plain memory that lies side by side in GPU virtual addresses and on the host, all of it with the same rights.
struct HostRange {
    uint64_t start = 0;  ///< GPU virtual address of its first page
    uint64_t size = 0;   ///< bytes, whole pages; 0: no plain memory
    uint8_t* host = nullptr;  ///< where start is
};

/// A range lies between two multiples of this.
inline constexpr uint64_t kMaxRangeBytes = uint64_t{1} << 30;

/// One hub's translation service. All addresses are GPU virtual addresses of the given VMID; bits 63:48 must be the sign
/// extension of bit 47. A failed access raises the hub's VM fault interrupt by itself (once per call) and is counted.
class MemoryPort {
public:
    virtual ~MemoryPort() = default;

    /// Host address of the byte at va when its 4-KiB page is plain memory that allows the access; valid up to the end of
    /// that page and until generation() changes. nullptr otherwise, without any report: read(), write() or check() tell why.
    virtual uint8_t* page(uint32_t vmid, uint64_t va, Access access) = 0;

    /// The page of va as page() answers it, and its neighbours as far as is known without much work. No more than the page
    /// while memory is watched, so that touch() can tell of each.
    virtual HostRange range(uint32_t vmid, uint64_t va, Access access) {
        const uint64_t start = va & ~(kPageBytes - 1);
        uint8_t* host = page(vmid, start, access);
        return host ? HostRange{start, kPageBytes, host} : HostRange{};
    }

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

    /// Changes whenever an answer of page() or range() may have become stale (TLB invalidation, new page table, new RAM map),
    /// and when a watch of the memory begins another turn: answers then stay, but touch() has to be called before they are
    /// used.
    uint64_t generation() const { return generation_->load(std::memory_order_acquire); }
    /// The same where generated code reads it. It stays the port's for as long as the port lives.
    const std::atomic<uint64_t>& generation_counter() const { return *generation_; }

    /// An answer of page() from an earlier turn is about to be used.
    virtual void touch(uint8_t*) {}

protected:
    MemoryPort() = default;
    MemoryPort(const MemoryPort&) = delete;
    MemoryPort& operator=(const MemoryPort&) = delete;

    void translations_changed() { generation_->fetch_add(uint64_t{1} << kTurnBits, std::memory_order_acq_rel); }
    void turn_began() { generation_->fetch_add(1, std::memory_order_acq_rel); }
    /// From now on a port has one generation with another: what changes it for one changes it for both.
    static void share_generation(MemoryPort& port, const MemoryPort& with) { port.generation_ = with.generation_; }
    /// From now on the port has a generation of its own, which begins as another's is now.
    static void keep_generation(MemoryPort& port, const MemoryPort& of) {
        port.own_generation_.store(of.generation(), std::memory_order_release);
        port.generation_ = &port.own_generation_;
    }

private:
    std::atomic<uint64_t> own_generation_{0};
    std::atomic<uint64_t>* generation_ = &own_generation_;
};

}  // namespace lyra
