// SPDX-License-Identifier: MIT
// The unit of translation: basic blocks of one page of code, and of the next one, that reach one another by direct
// branches; step 6 of the data flow.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/isa/inst.h"

namespace lyra::gcn {

/// One instruction of a block.
struct Step {
    Inst inst;  ///< as_rows() of what the code says
    ExecFn fn = nullptr;  ///< the interpreter's handler of it
    uint32_t offset = 0;  ///< bytes from the start of the page
    bool can_stop = false;  ///< it may fault or ask for something, and sees its PC
    bool writes_exec = false;  ///< the last one of its block: which code goes on depends on EXEC
    bool ends = false;  ///< s_endpgm
};

/// How control leaves a block.
enum class BlockEnd : uint8_t {
    Next,  ///< goes on at `next`
    Branch,  ///< always to `target`
    Choice,  ///< to `target` when the condition of `branch` holds, else to `next`
    Leave,  ///< the instruction at `next` is the interpreter's
};

struct BasicBlock {
    uint32_t offset = 0;  ///< of its first instruction
    std::vector<Step> steps;  ///< without its branch
    BlockEnd end = BlockEnd::Leave;
    Inst branch;  ///< of Branch and Choice
    uint32_t branch_offset = 0;
    int32_t target = 0;  ///< offset from the start of the page; may lie outside of it
    int32_t next = 0;
    /// Instructions that a run through it executes.
    unsigned count() const {
        return static_cast<unsigned>(steps.size()) + (end == BlockEnd::Branch || end == BlockEnd::Choice);
    }
};

struct Region {
    std::vector<BasicBlock> blocks;  ///< the first one holds the entry
    size_t cost = 0;  ///< in calculations: how much code it becomes, and how long generating that takes
};

inline constexpr unsigned kMaxRegionBlocks = 64, kMaxBlockSteps = 256, kMaxRegionCost = 1024;

struct CodeBytes {
    std::span<const uint8_t> bytes;  ///< one page, or two that follow each other: a loop that crosses is one region
    bool crosses_within = false;  ///< an instruction may be in both
};

/// Blocks that can be reached from an offset, within the code and the limits above.
/// @param acc_first  row of a0
/// @param is_known  the block at an offset has code already, and is not part of the region
Region discover(const CodeBytes& code, uint32_t entry, Chip chip, unsigned acc_first,
                const std::function<bool(uint32_t)>& is_known);

/// The same instruction without AccVGPRs, which are VGPRs from a row on that the wave does not change: moves between the two
/// are moves like others.
Inst as_rows(const Inst& inst, unsigned acc_first);

}  // namespace lyra::gcn
