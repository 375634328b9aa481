// SPDX-License-Identifier: MIT
// Watched addresses: vector memory accesses that a debugger wants to hear of; step 6 of the data flow.
// @source Linux 6.12 gc_9_0_sh_mask.h TCP_WATCH0_CNTL; kfd_ioctl.h kfd_dbg_trap_address_watch_mode; kfd_topology.c for the
// mask's bits
#pragma once

#include <array>
#include <cstdint>

#include "common/memory_port.h"
#include "common/snapshot.h"

namespace lyra::gcn {

struct Watchpoint {
    bool valid = false;
    uint32_t vmid = 0;
    uint8_t mode = 0;      ///< 0 reads, 1 all but reads, 2 atomics, 3 everything
    uint64_t address = 0;
    uint64_t mask = 0;     ///< bits of the address that are compared

    void visit(StateVisitor& v) {
        v("valid", valid);
        v("vmid", vmid, 15);
        v("mode", mode, 3);
        v("address", address);
        v("mask", mask);
    }

    bool sees(Access access) const {
        switch (mode) {
            case 0: return access == Access::Read;
            case 1: return access != Access::Read;
            case 2: return access == Access::Atomic;
            default: return true;
        }
    }
    bool covers(uint64_t va) const { return ((va ^ address) & mask) == 0; }
};

inline constexpr unsigned kWatchpoints = 4;
inline constexpr uint64_t kWatchLine = 64;  ///< bytes; lower bits of an address are never compared

struct Watchpoints {
    std::array<Watchpoint, kWatchpoints> points{};
    bool any() const {
        for (const Watchpoint& point : points) {
            if (point.valid) return true;
        }
        return false;
    }
};

}  // namespace lyra::gcn
