// SPDX-License-Identifier: MIT
// Lines of memory that a vector instruction touches, counted for virtual time only; steps 6 and 7 of the data flow.
#pragma once

#include <bit>
#include <cstdint>

#include "common/env.h"
#include "gcn-interp/exec/page_cache.h"

namespace lyra::gcn {

struct Traffic {
    uint64_t vram_bytes = 0, system_bytes = 0;
};

/// Counts where the accesses of one instruction go. Lanes side by side share a line, as the address coalescer sees them.
class TrafficCounter {
public:
    TrafficCounter(const Env& env, PageCache& pages, uint32_t vmid)
        : env_(env), pages_(pages), vmid_(vmid), shift_(static_cast<unsigned>(std::countr_zero(env.timing.line_bytes))) {}

    /// @param active lanes; va(lane) is where bytes bytes are accessed
    template <class AddressOf>
    void add(uint64_t active, unsigned bytes, AddressOf va) {
        uint64_t last = ~uint64_t{0};
        for (; active; active &= active - 1) {
            const uint64_t at = va(static_cast<unsigned>(std::countr_zero(active)));
            for (uint64_t line = at >> shift_; line <= (at + bytes - 1) >> shift_; ++line) {
                if (line != last) add_line(line);
                last = line;
            }
        }
    }

    Traffic take() {
        const Traffic taken = traffic_;
        traffic_ = {};
        return taken;
    }

private:
    void add_line(uint64_t line) {
        const uint64_t va = line << shift_;
        if (va / kPageBytes != page_) {
            page_ = va / kPageBytes;
            const uint8_t* host = pages_.page(vmid_, va, Access::Read);
            in_vram_ = host == nullptr || env_.is_vram(host);
        }
        (in_vram_ ? traffic_.vram_bytes : traffic_.system_bytes) += uint64_t{1} << shift_;
    }

    const Env& env_;
    PageCache& pages_;
    uint32_t vmid_;
    unsigned shift_;
    uint64_t page_ = ~uint64_t{0};
    bool in_vram_ = true;
    Traffic traffic_;
};

}  // namespace lyra::gcn
