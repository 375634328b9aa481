// SPDX-License-Identifier: MIT
// Instructions that are emitted together. For the files that generate code only.
#pragma once

#include <utility>
#include <vector>

#include "gcn-interp/translator/emitter.h"

namespace lyra::gcn {

/// Vector instructions that are emitted strip by strip, with the scalar ones that go before and after them.
struct Emitter::Segment {
    std::vector<std::pair<const Inst*, ScalarOp>> before, after;
    std::vector<VectorOp> vector;
    Uses uses;        ///< of the vector instructions
    Uses after_uses;
    ScalarSet masks;  ///< pairs that vector instructions write

    bool empty() const { return before.empty() && after.empty() && vector.empty(); }

    static bool clash(const ScalarSet& reads, const ScalarSet& writes, const Uses& other) {
        return (writes & (other.reads | other.writes)).any() || (reads & other.writes).any();
    }
    /// @return false: it has to wait for the next segment
    bool add(const Inst& inst, const ScalarOp& op) {
        if (!clash(op.uses.reads, op.uses.writes, uses) && !clash(op.uses.reads, op.uses.writes, after_uses)) {
            before.emplace_back(&inst, op);
            return true;
        }
        after.emplace_back(&inst, op);
        after_uses.reads |= op.uses.reads;
        after_uses.writes |= op.uses.writes;
        return true;
    }
    bool add(const VectorOp& op) {
        if (clash(op.uses.reads, op.uses.writes, after_uses)) return false;
        // A mask of this segment is known by strip; as a scalar value it is complete only behind the segment.
        ScalarSet as_value = op.uses.reads;
        if (op.mask_in >= 0) as_value.reset(static_cast<size_t>(op.mask_in)).reset(static_cast<size_t>(op.mask_in) + 1);
        if ((as_value & uses.writes).any()) return false;
        const ScalarSet all = masks | op.uses.writes;
        if (all.count() > 2 * kMaxMasks || uses.writes.test(kExecLo)) return false;
        masks = all;
        vector.push_back(op);
        uses.reads |= op.uses.reads;
        uses.writes |= op.uses.writes;
        return true;
    }
};

}  // namespace lyra::gcn
