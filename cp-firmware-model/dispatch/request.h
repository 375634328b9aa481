// SPDX-License-Identifier: MIT
// What a packet asks of the dispatcher: one grid; step 5 of the data flow.
#pragma once

#include <array>
#include <cstdint>

#include "common/snapshot.h"
#include "cp-firmware-model/cp_bus.h"

namespace lyra {

/// One grid, as PM4 DISPATCH_* or an AQL packet describes it.
struct DispatchRequest {
    static constexpr auto kAllCus = [] {
        std::array<uint32_t, kMaxEngines> all{};
        all.fill(~0u);
        return all;
    }();
    uint32_t queue_id = 0;  ///< Hqd::id()
    uint32_t vmid = 0;
    uint64_t entry = 0;  ///< byte address of the first instruction
    uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
    std::array<uint32_t, 16> user_sgprs{};
    unsigned user_sgpr_count = 0;
    std::array<uint32_t, 3> grid{1, 1, 1};         ///< work-items, counted from group 0; 0 in a dimension: empty grid
    std::array<uint32_t, 3> group_size{1, 1, 1};   ///< work-items
    std::array<uint32_t, 3> group_start{0, 0, 0};  ///< COMPUTE_START_X/Y/Z: groups below it are not launched
    uint32_t lds_bytes = 0;
    uint64_t scratch_base = 0;  ///< of the queue's scratch memory; 0 where user SGPRs have all that is known of it
    uint32_t tmpring_size = 0;                                                ///< WAVES 11:0, WAVESIZE 24:12 in KiB
    std::array<uint32_t, kMaxEngines> cu_mask = kAllCus;  ///< STATIC_THREAD_MGMT of the engines of all XCCs
    uint32_t resource_limits = 0;  ///< COMPUTE_RESOURCE_LIMITS: WAVES_PER_SH 9:0, TG_PER_CU 15:12; 0 = no limit
    uint32_t packet_index = 0;     ///< AQL ring slot, or number of a PM4 dispatch in its queue: TTMP6 of its waves
    uint32_t doorbell_id = 0;      ///< (doorbell byte offset / 8) & 0x3ff, for MSG_GET_DOORBELL
    unsigned xccs = 1;    ///< that its groups go to in turn
    unsigned first_xcc = 0;  ///< of the partition: the one that group 0 goes to
    uint64_t release_ns = 0;       ///< virtual time: from the end of the pipe until its packet counts as complete
    /// Of the partition, for a group by its number in the order of launch. @source docs/design/chips.md
    unsigned xcc_of(uint64_t group) const { return xccs == 1 ? first_xcc : static_cast<unsigned>((first_xcc + group) % xccs); }
    void visit(StateVisitor& v);
};

}  // namespace lyra
