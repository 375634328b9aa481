// SPDX-License-Identifier: MIT
// Where the waves, registers and LDS of a work-group go.
#pragma once

#include "gcn-interp/cu/storage.h"

namespace lyra::gcn {

struct ComputeUnit::Needs {
    unsigned waves = 0;
    Chip chip{};
    WaveRegisters registers{};
    unsigned lds_granules = 0;

    static Needs of(const KernelLaunch& kernel, const std::array<uint32_t, 3>& valid);
    static Needs of(const WorkgroupRestore& group);
    /// An empty CU could hold it.
    bool possible() const;
};

struct ComputeUnit::Plan {
    unsigned waves = 0;
    uint8_t group = 0;
    unsigned lds_granules = 0;
    uint32_t lds_base = 0;  ///< bytes
    std::array<WavePlace, kMaxWavesPerWorkgroup> place;
    /// Of the waves that had these places before, and began as the next ones do: but for work-item ids their VGPRs in memory
    /// are those with which they began. Generated code keeps them in registers.
    std::array<bool, kMaxWavesPerWorkgroup> rows_as_begun{};
};

/// Registers of a wave where the kernel wants them; kNone: it does not.
struct SystemSgprs {
    static constexpr uint8_t kNone = 0xff;
    std::array<uint8_t, 3> group_id{kNone, kNone, kNone};
    uint8_t group_size = kNone;
    uint8_t scratch_offset = kNone;
    bool flat_scratch = false;  ///< with the base that the kernel has
};

/// Where waves of a kernel begin, which for most of a turn is where the last one has found it.
struct FirstCode {
    CodePage* page = nullptr;  ///< nullptr: look
    PageCode* generated = nullptr;
    bool rows_written = false;  ///< by the wave that has just begun
    const uint8_t* entered = nullptr;  ///< code for which `rows` has been looked up
    std::shared_ptr<const FirstRows> rows;  ///< VGPRs that a wave need not have there; nullptr: it needs all
    /// It may begin without: its code has written some, and nobody has found that it needs all.
    bool may_owe() const { return rows_written && (rows || entered == nullptr); }
    /// The next wave finds its code there. @param in  nullptr: it has to look
    void look(CodePage* in, PageCode* code) { page = in, generated = code, rows_written = false, entered = nullptr; }
};

/// What a wave that has come to a barrier has found: good for the next one of its work-group, which runs at once.
struct GroupCode {
    uint64_t page_va = 1;  ///< never page aligned: look
    CodePage* page = nullptr;
    PageCode* generated = nullptr;
};

struct ComputeUnit::Prepared {
    KernelLaunch kernel;
    bool poison = false;  ///< as Env::poison was
    Needs needs;  ///< of a group that is not cut at the grid's edge
    Wave image;  ///< a wave of it, but for what its place and its group decide
    SystemSgprs system;
    unsigned id_components = 1;  ///< work-item ids that it gets: x, y, z
    WorkItemIds ids(unsigned position);
    std::array<bool, kMaxWavesPerWorkgroup> has_ids{};
    std::array<std::array<VgprRow, 3>, kMaxWavesPerWorkgroup> made_ids;  ///< by wave, where has_ids says so
    uint64_t last_lanes = 0;  ///< EXEC of the last wave of a whole group; the others have all lanes
    std::array<Plan, kMaxWorkgroupsPerCu> plans;  ///< reserved, from `started` up to `reserved`
    unsigned reserved = 0, started = 0;
    Started progress;
    uint64_t instructions = 0;  ///< that started groups have executed
    FirstCode first_code;
};

inline constexpr uint64_t kRestoreEntry = 4;  ///< bytes behind the trap handler's first entry

/// Event wave_trap: what made a wave enter its handler, beside TrapIDs.
inline constexpr uint32_t kCauseException = 0x100;  ///< + bit of TRAPSTS
inline constexpr uint32_t kHostTrap = 0x100;  ///< with the TrapID: HT of TTMP1
inline constexpr uint32_t kCauseHost = 0x200, kCauseStep = 0x300;

/// What the handler finds in EXEC: the address of the wave's record, and in bit 58 whether the LDS belongs to it.
/// @source cwsr_trap_handler_gfx9.asm S_SAVE_SPI_INIT_FIRST_WAVE_MASK
constexpr uint64_t record_answer(uint64_t record, bool first) {
    return (record & ((uint64_t{1} << 48) - 1)) | uint64_t{first} << 58;
}

/// The launch's waves have a trap handler and TTMPs.
inline bool traps_enabled(const KernelLaunch& kernel) { return bit(kernel.rsrc2, 6) && kernel.tba != 0; }

/// Not cut at the grid's edge. By itself, for the library's comparison of arrays is a call.
inline bool is_whole(const KernelLaunch& kernel, const std::array<uint32_t, 3>& valid) {
    const std::array<uint32_t, 3>& size = kernel.group_size;
    return ((valid[0] ^ size[0]) | (valid[1] ^ size[1]) | (valid[2] ^ size[2])) == 0;
}

/// Lanes of wave `number` that have a work-item.
uint64_t valid_lanes(const KernelLaunch& kernel, const std::array<uint32_t, 3>& valid, unsigned number);

}  // namespace lyra::gcn
