// SPDX-License-Identifier: MIT
// Global wave sync: semaphores and barriers over all compute units, and the waves that wait there; step 6 of the data flow.
// @source AMD Vega ISA document, DS_GWS_* instructions; Linux 6.12 gc_9_0_sh_mask.h GDS_GWS_RESOURCE
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "common/bits.h"
#include "facts/register_fields.h"
#include "gcn-interp/wave/services.h"

namespace lyra {

inline constexpr unsigned kGwsResources = 64;

/// GDS_GWS_VMIDn: what of the resources a VMID may use. @source Linux 6.12 gfx_v9_0_ring_emit_gds_switch()
struct GwsRange {
    unsigned base = 0, size = 0;
    static GwsRange of(uint32_t reg) {
        namespace range = field::GDS_GWS_VMID;
        return {range::BASE::get(reg), std::min(range::SIZE::get(reg), kGwsResources)};
    }
    uint32_t reg() const { return field::GDS_GWS_VMID::BASE::of(base) | field::GDS_GWS_VMID::SIZE::of(size); }
};

/// Words that keep the resources of a queue while it has no slot: two resources each.
inline constexpr unsigned kGwsWords = kGwsResources / 2;
using GwsWords = std::array<uint32_t, kGwsWords>;

class Gws {
public:
    struct Waiter {
        unsigned cu = 0, slot = 0;
        bool barrier = false;  ///< waits until the flag changes, else for the counter
        bool flag = false;     ///< of the resource when it came
        void visit(StateVisitor& v);
    };
    using Waiters = std::vector<Waiter>;

    /// One instruction. @param released those who need not wait any more, the asking wave not among them
    /// @return false: the asking wave waits
    bool execute(gcn::GwsOp op, unsigned resource, uint32_t value, Waiter asking, Waiters& released);

    /// A wave goes without having been released: it executes its instruction again some day, or never.
    void leave(unsigned cu, unsigned slot);
    /// Waves that wait for resources of the range: they are not in the queues any more.
    Waiters evict(GwsRange range);

    void load(GwsRange range, const GwsWords& words);
    void store(GwsRange range, GwsWords& words) const;
    void reset() { resources_ = {}; }
    void visit(StateVisitor& v, unsigned cus);

    /// GDS_GWS_RESOURCE and GDS_GWS_RESOURCE_CNT.
    uint32_t state(unsigned resource) const { return word(resources_[resource % kGwsResources]); }
    uint32_t waiting(unsigned resource) const {
        return static_cast<uint32_t>(resources_[resource % kGwsResources].queue.size());
    }

private:
    static constexpr uint32_t kMaxCount = 0xfff;
    struct Resource {
        uint32_t counter = 0;
        bool flag = false;
        bool semaphore = false;
        std::deque<Waiter> queue;
        void visit(StateVisitor& v);
    };
    static void add(Resource& resource, uint32_t count) { resource.counter = std::min(resource.counter + count, kMaxCount); }
    static void withdraw(Resource& resource, const Waiter& waiter);
    static void release(Resource& resource, Waiters& released);
    /// As GDS_GWS_RESOURCE shows it.
    static uint32_t word(const Resource& r) {
        namespace resource = field::GDS_GWS_RESOURCE;
        return resource::FLAG::of(r.flag) | resource::COUNTER::of(r.counter) | resource::TYPE::of(r.semaphore);
    }

    std::array<Resource, kGwsResources> resources_;
};

}  // namespace lyra
