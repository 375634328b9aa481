// SPDX-License-Identifier: MIT
// Work-groups as a compute unit is given them, and what it can hold; step 6 of the data flow.
#pragma once

#include <array>
#include <cstdint>

#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

using lyra::kSimdsPerCu;
/// Room for the waves of any chip; one that has fewer leaves the last slots free.
inline constexpr unsigned kWaveSlots = kSimdsPerCu * most_of_all_chips(&ChipFacts::waves_per_simd);
inline constexpr unsigned kMaxWorkgroupsPerCu = kWaveSlots;
inline constexpr unsigned kBarrierSlots = 16;           ///< work-groups of more than one wave
inline constexpr unsigned kMaxWavesPerWorkgroup = 16;
inline constexpr uint32_t kLdsBytes = same_for_all_chips(&ChipFacts::lds_bytes);
inline constexpr unsigned kSgprsPerSimd = same_for_all_chips(&ChipFacts::sgprs_per_simd);

/// What the work-groups of a kernel have in common, on one compute unit.
struct KernelLaunch {
    uint64_t dispatch = 0;
    uint64_t entry = 0;                     ///< byte address of the first instruction
    uint32_t vmid = 0;
    /// COMPUTE_PGM_RSRC1 to 3; RSRC2.TRAP_PRESENT tells whether tba is used, RSRC3 is that of chips with AccVGPRs.
    uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
    Chip chip = Chip::gfx900;               ///< that of the compute unit
    uint64_t tba = 0, tma = 0;              ///< byte addresses; 0 = none
    uint64_t private_base = 0, shared_base = 0;
    uint64_t scratch_base = 0;              ///< FLAT_SCRATCH of a wave without offset, on chips that set it
    bool retry = false;                     ///< accesses to missing pages are held back (XNACK)
    uint32_t lds_bytes = 0;                 ///< multiple of 512
    std::array<uint32_t, 16> user_sgprs{};
    unsigned user_sgpr_count = 0;
    std::array<uint32_t, 3> group_size{};   ///< work-items per dimension, full size: ids and wave count follow from it
    uint32_t packet_index = 0;              ///< ttmp6: AQL packet index in the ring
    uint32_t doorbell_id = 0;
    uint32_t shader_engine = 0, cu_in_engine = 0;
    uint8_t xcc = 0;
    bool halted = false;                    ///< STATUS.HALT from the start: a debugger's launch mode

    bool operator==(const KernelLaunch&) const = default;
};

/// What differs from one work-group of a kernel to the next.
struct GroupLaunch {
    std::array<uint32_t, 3> group_id{};
    std::array<uint32_t, 3> group_valid{};  ///< work-items per dimension that exist (partial groups at the grid's edge)
    std::array<int32_t, kMaxWavesPerWorkgroup> scratch_slot{};       ///< scoreboard ids, -1 = none
    std::array<uint32_t, kMaxWavesPerWorkgroup> scratch_offset{};    ///< bytes; system SGPR of RSRC2.SCRATCH_EN
};

/// Everything the CU needs to start one work-group.
/// @source LLVM AMDGPUUsage "Initial Kernel Execution State"; docs/spec/front-end.md 4.1
struct WorkgroupLaunch : KernelLaunch, GroupLaunch {
    void visit(StateVisitor& v) {
        v("dispatch", dispatch);
        v("entry", entry);
        v("vmid", vmid);
        v("rsrc1", rsrc1);
        v("rsrc2", rsrc2);
        v("rsrc3", rsrc3);
        v("tba", tba);
        v("tma", tma);
        v("private_base", private_base);
        v("shared_base", shared_base);
        v("scratch_base", scratch_base);
        v("retry", retry);
        v("lds_bytes", lds_bytes);
        v("user_sgprs", user_sgprs);
        v("user_sgpr_count", user_sgpr_count);
        v("group_id", group_id);
        v("group_size", group_size);
        v("group_valid", group_valid);
        v("packet_index", packet_index);
        v("doorbell_id", doorbell_id);
        v("shader_engine", shader_engine);
        v("cu_in_engine", cu_in_engine);
        v("xcc", xcc);
        v("halted", halted);
        v("scratch_slot", scratch_slot);
        v("scratch_offset", scratch_offset);
    }
};

/// What the CU needs to bring back one work-group from the save area. @source docs/spec/front-end.md 6.4, 6.6
struct WorkgroupRestore {
    uint64_t dispatch = 0;
    uint32_t vmid = 0;
    uint64_t tba = 0, tma = 0;              ///< byte addresses; waves start at tba + 4
    uint64_t private_base = 0, shared_base = 0;
    bool retry = false;
    uint32_t doorbell_id = 0;
    uint32_t shader_engine = 0, cu_in_engine = 0;
    uint8_t xcc = 0;
    Chip chip = Chip::gfx900;               ///< that of the compute unit
    unsigned vgprs = 4;                     ///< multiple of the chip's granule
    unsigned acc_first = 0;                 ///< of these the first AccVGPR; 0: the chip has none
    unsigned sgprs = 16;                    ///< multiple of 16, without TTMPs
    uint32_t lds_bytes = 0;                 ///< multiple of 512
    unsigned waves = 1;
    uint32_t rsrc1 = 0;                     ///< of its grid; PRIORITY only, the rest is in the save area
    std::array<uint64_t, kMaxWavesPerWorkgroup> record{};       ///< addresses in the wave's VMID, 48 bits
    std::array<int32_t, kMaxWavesPerWorkgroup> scratch_slot{};  ///< scoreboard ids, -1 = none

    void visit(StateVisitor& v) {
        v("dispatch", dispatch);
        v("vmid", vmid, 15);
        v("tba", tba);
        v("tma", tma);
        v("private_base", private_base);
        v("shared_base", shared_base);
        v("retry", retry);
        v("doorbell_id", doorbell_id);
        v("shader_engine", shader_engine);
        v("cu_in_engine", cu_in_engine);
        v("xcc", xcc);
        v("vgprs", vgprs);
        v("acc_first", acc_first);
        v("sgprs", sgprs);
        v("lds_bytes", lds_bytes);
        v("waves", waves);
        v("rsrc1", rsrc1);
        v("record", record);
        v("scratch_slot", scratch_slot);
    }
};

/// Waves of a work-group of this size; a wave without any existing work-item is not launched.
unsigned wave_count(const WorkgroupLaunch& launch);

/// True when an empty CU could ever hold the work-group.
bool can_ever_fit(const WorkgroupLaunch& launch);
bool can_ever_fit(const WorkgroupRestore& group);

struct Workgroup {
    bool used = false;
    uint64_t dispatch = 0;
    uint32_t lds_base = 0, lds_bytes = 0;
    uint8_t waves_live = 0;
    uint8_t waves_at_barrier = 0;
    bool has_barrier_slot = false;
    bool saved = false;                     ///< at least one of its waves has ended in the save area
    uint64_t slots = 0;                     ///< of its waves, a bit each
    bool keeps_place = false;               ///< while start() runs it: what it has taken is for the next group then
    bool counts_ends = false;               ///< then, and nobody wants to hear of each
    void visit(StateVisitor& v);
};

}  // namespace lyra::gcn
