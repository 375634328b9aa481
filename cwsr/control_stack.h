// SPDX-License-Identifier: MIT
// The control stack of a save area: which work-groups are saved, how large their waves are, and where their records lie.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/fault.h"
#include "common/snapshot.h"
#include "facts/chips.h"

namespace lyra::cwsr {

struct SavedWave {
    uint64_t record = 0;  ///< bytes from the start of the save area
    uint32_t scratch_slot = 0;
    bool scratch_en = false;
    void visit(StateVisitor& v);
};

/// A work-group with what is left of its waves, first to last.
struct SavedGroup {
    unsigned vgprs = 4;      ///< multiple of the chip's granule, AccVGPRs among them
    unsigned sgprs = 16;     ///< multiple of 16, without TTMPs
    uint32_t lds_bytes = 0;  ///< multiple of 512; in the record of the first wave
    unsigned engine = 0;     ///< shader engine; scratch slots belong to it
    std::vector<SavedWave> waves;
    unsigned acc_first = 0;  ///< of the VGPRs the first AccVGPR; 0: the chip has none

    void visit(StateVisitor& v);
    uint64_t record_bytes(bool first) const;
    /// From the start of a record to its hardware registers.
    uint64_t hwreg_offset() const;
};

/// Where a queue's save area is, and what the queue's registers say about it. Offsets in bytes.
struct Area {
    uint64_t base = 0;        ///< CP_HQD_CTX_SAVE_BASE_ADDR, in the queue's address space
    uint32_t size = 0;        ///< CTX_SAVE_SIZE, the stack included
    uint32_t stack_size = 0;  ///< CNTL_STACK_SIZE: here the wave records begin
    uint32_t stack_offset = 0;  ///< CNTL_STACK_OFFSET: the stack's low end; stack_size when nothing is saved
    uint32_t wave_end = 0;      ///< WG_STATE_OFFSET: behind the last record

    void visit(StateVisitor& v);
    bool usable() const { return base != 0 && stack_size != 0 && stack_size < size; }
    bool empty() const { return stack_offset == stack_size; }
};

/// Give every wave of the groups its record, and make the words of the stack. groups are in the order in which they shall be
/// restored; those at the end keep the records they had when they are what a former layout ended with.
/// @return SaveAreaFull: the area cannot hold them, and is unchanged
Fault lay_out(std::vector<SavedGroup>& groups, Area& area, std::vector<uint32_t>& words, Chip chip = Chip::gfx900);

/// What lay_out() made, from the words at area.stack_offset. Nothing in them is trusted.
/// @return SavedImage when they do not describe whole work-groups whose records end exactly at area.wave_end
Fault parse(std::span<const uint32_t> words, const Area& area, std::vector<SavedGroup>& groups, Chip chip = Chip::gfx900);

}  // namespace lyra::cwsr
