// SPDX-License-Identifier: MIT
// A port over the flat memory of a bench in which every process sees its own pages only, as page tables would have it. Who
// comes where only an error of the model could bring him is noted.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "cp-firmware-model/testing/cp_bench.h"

namespace lyra::testing {

class OwnedMemory : public MemoryPort {
public:
    explicit OwnedMemory(RigBus& bus) : bus_(bus) {
        bus.on_bind = [this] { translations_changed(); };
    }

    /// Pages of the process with this PASID. What no process owns is the driver's: VMID 0.
    void own(uint64_t first, uint64_t bytes, uint16_t pasid) { ranges_.push_back({first, first + bytes, pasid, false}); }
    /// Pages that every process reads.
    void share(uint64_t first, uint64_t bytes) { ranges_.push_back({first, first + bytes, 0, true}); }

    uint8_t* page(uint32_t vmid, uint64_t va, Access access) override {
        return allowed(vmid, va, 1, access) ? bus_.memory.page(vmid, va, access) : nullptr;
    }
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) override {
        if (allowed(vmid, va, size, Access::Read)) return bus_.memory.read(vmid, va, data, size);
        if (size != 0) std::memset(data, 0, size);
        return Fault::PageNotPresent;
    }
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) override {
        if (!allowed(vmid, va, size, Access::Write)) return Fault::PageNotPresent;
        return bus_.memory.write(vmid, va, data, size);
    }

    uint64_t refused = 0;   ///< accesses of processes to pages that are not theirs
    std::string violation;  ///< the first access that no page table would have kept from its goal

private:
    struct Range {
        uint64_t first, end;
        uint16_t pasid;
        bool shared;
    };
    const Range* range_of(uint64_t va) const {
        for (const Range& range : ranges_) {
            if (va >= range.first && va < range.end) return &range;
        }
        return nullptr;
    }
    void violate(uint32_t vmid, uint64_t va, Access access) {
        if (violation.empty()) violation = fmt::format("VMID {} at {:#x}, access {}", vmid, va, static_cast<int>(access));
    }
    /// The command processor uses VMID 0 for what the driver gave it; a process's addresses it uses with that one's VMID.
    bool allowed(uint32_t vmid, uint64_t va, size_t size, Access access) {
        if (vmid != 0 && !bus_.bound.contains(vmid)) violate(vmid, va, access);
        const uint16_t pasid = vmid == 0 ? 0 : bus_.vmid_state(vmid).pasid;
        const uint64_t last = va + (size == 0 ? 0 : size - 1);
        if (last < va) return true;  // the memory refuses it
        const bool reads = access != Access::Write && access != Access::Atomic;
        for (uint64_t p = align_down(va, kPageBytes); p <= last; p += kPageBytes) {
            const Range* range = range_of(p);
            if (range != nullptr && range->shared && reads) continue;
            if (pasid == (range == nullptr ? 0 : range->pasid)) continue;
            if (vmid == 0) violate(vmid, p, access);
            ++refused;
            return false;
        }
        return true;
    }

    RigBus& bus_;
    std::vector<Range> ranges_;
};

}  // namespace lyra::testing
