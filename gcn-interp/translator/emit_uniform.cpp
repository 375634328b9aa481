// SPDX-License-Identifier: MIT
// Uniform instructions: all that they read is the same in all active lanes, so they are computed once; step 6 of the data flow.
//
// Kernels compute much from their arguments alone, in VGPRs where scalar instructions cannot (floats, say). Within a block,
// where EXEC stays what it is, such results are in slots of the frame, in all lanes of a strip. The instructions of a segment
// that are uniform come before its strips, which read the slots. Rows are written where somebody may look at them.
#include <algorithm>
#include <optional>
#include <utility>

#include "gcn-interp/isa/op.h"
#include "gcn-interp/translator/emitter.h"

namespace lyra::gcn {

Xbyak::RegExp Emitter::uniform_slot(unsigned slot) const {
    return r12 + static_cast<int>(offsetof(CodeFrame, uniform) + slot * sizeof(CodeFrame::uniform[0]));
}

bool Emitter::is_uniform(const VectorOp& op) const {
    if (!wants_uniform_ || is_dpp(op.inst->format) || op.uses.writes.test(kExecLo)) return false;
    if (op.mask_in >= 0 && !uniform_.masks.contains(static_cast<unsigned>(op.mask_in))) return false;
    const VectorSet& reads = op.uses.vector_reads;
    for (size_t vgpr = reads._Find_first(); vgpr < reads.size(); vgpr = reads._Find_next(vgpr)) {
        if (!uniform_.vgprs.contains(static_cast<unsigned>(vgpr))) return false;
    }
    return true;
}

/// Whether it is worth while for some steps of a block: moves alone gain nothing.
void Emitter::look_for_uniform(const BasicBlock& block, size_t first, size_t last) {
    bool found = false;
    wants_uniform_ = true;
    for (size_t i = first; i < last; ++i) {
        const StepPlan& plan = plan_of(block, i);
        const Inst& inst = block.steps[i].inst;
        if (has_no_effect(inst)) continue;
        if (plan.vector.emit != nullptr) {
            const bool is_one = is_uniform(plan.vector);
            found |= is_one && inst.op != Op::v_mov_b32;
            note_results(plan.vector, is_one ? 0 : kNoSlot);
        } else if (plan.scalar.emit != nullptr) {
            forget_uniform_masks(plan.scalar.uses.writes);
        } else {
            found |= row_function(inst.op) != nullptr && uniform_.vgprs.contains(inst.src[0] - kSrcVgpr0);
            forget_uniform_of(block, i);
        }
    }
    forget_uniform();
    wants_uniform_ = found;
}

/// What a uniform instruction does to rows is done later. Not that of a move in a segment that has strips: there it takes no
/// longer, and its slot is for other uniform instructions.
bool Emitter::leaves_row(const VectorOp& op) const { return !has_strips_ || op.inst->op != Op::v_mov_b32; }

/// The instruction is not one of the strips'.
bool Emitter::is_passed(size_t n) const { return once_[n] != kNoSlot && leaves_row(*now_.ops[n]); }

std::optional<uint32_t> Emitter::known_source(const VectorOp& op, unsigned n) const {
    const Inst& inst = *op.inst;
    if (is_sdwa(inst.format) || is_dpp(inst.format)) return std::nullopt;
    const unsigned number = source_number(inst, n);
    if (number >= kSrcVgpr0) {
        const auto found = uniform_.vgprs.find(number - kSrcVgpr0);
        return found != uniform_.vgprs.end() ? found->second.constant : std::nullopt;
    }
    const Constant value = constant_of(inst, number, 1, true);
    return value.is_constant ? std::optional(lo32(value.bits)) : std::nullopt;
}

/// Behind an instruction. @param slot  of its first result; kNoSlot: it is not uniform
void Emitter::note_results(const VectorOp& op, int slot) {
    const unsigned results = results_of(*op.inst);
    const auto first = static_cast<unsigned>(slot);
    const std::optional<uint32_t> constant = op.inst->op == Op::v_mov_b32 ? known_source(op, 0) : std::nullopt;
    for (unsigned n = 0; n < results; ++n) {
        if (slot == kNoSlot)
            uniform_.vgprs.erase(op.inst->dst + n);
        else
            uniform_.vgprs[op.inst->dst + n] = {first + n, !leaves_row(op), constant};
    }
    if (op.mask_out < 0) return;
    const auto pair = static_cast<unsigned>(op.mask_out);
    if (slot == kNoSlot)
        uniform_.masks.erase(pair);
    else
        uniform_.masks[pair] = first + results;
}

/// Which instructions of a segment are uniform, and the slots of their results.
void Emitter::plan_uniform(const std::vector<VectorOp>& ops) {
    const UniformValues before = uniform_;
    first_new_slot_ = uniform_slots_;
    once_.assign(ops.size(), kNoSlot);
    for (size_t i = 0; i < ops.size(); ++i) {
        const unsigned results = results_of(*ops[i].inst) + (ops[i].mask_out >= 0);
        if (uniform_slots_ + results <= kUniformSlots && is_uniform(ops[i])) {
            once_[i] = static_cast<int>(uniform_slots_);
            uniform_slots_ += results;
        }
        note_results(ops[i], once_[i]);
    }
    has_strips_ = std::ranges::find(once_, kNoSlot) != once_.end();
    uniform_ = before;
}

/// Slot of a VGPR or a mask that the instruction which is emitted once writes.
Xbyak::RegExp Emitter::slot_of_result(unsigned vgpr) const {
    return uniform_slot(static_cast<unsigned>(once_[at_]) + vgpr - now_.ops[at_]->inst->dst);
}
Xbyak::RegExp Emitter::slot_of_mask() const {
    return uniform_slot(static_cast<unsigned>(once_[at_]) + results_of(*now_.ops[at_]->inst));
}

/// Emits the uniform instructions of the segment. What they are emitted with goes on from what uniform_ says.
void Emitter::uniform_part() {
    const UniformValues before = uniform_;
    is_once_ = true;
    for (at_ = 0; at_ < now_.ops.size(); ++at_) {
        if (once_[at_] != kNoSlot) emit_op(*now_.ops[at_]);
        note_results(*now_.ops[at_], once_[at_]);
    }
    is_once_ = false;
    uniform_ = before;
}

/// Rows hold all uniform VGPRs. EXEC is what it was when those were computed.
void Emitter::uniform_rows() {
    std::vector<std::pair<unsigned, unsigned>> rows;
    for (auto& [vgpr, value] : uniform_.vgprs) {
        if (!std::exchange(value.in_row, true)) rows.emplace_back(vgpr, value.slot);
    }
    if (!rows.empty()) write_uniform_rows(rows);
}

/// The row of one holds it, if it is uniform.
void Emitter::uniform_row(unsigned vgpr) {
    const auto found = uniform_.vgprs.find(vgpr);
    if (found != uniform_.vgprs.end() && !std::exchange(found->second.in_row, true))
        write_uniform_rows({{vgpr, found->second.slot}});
}

/// The pairs that the segment writes get what the strips have collected or a slot holds.
void Emitter::write_masks(const std::function<Xbyak::Reg64(unsigned)>& collected) {
    for (unsigned i = 0; i < written_masks_.size(); ++i) {
        const unsigned pair = written_masks_[i];
        if (const auto found = uniform_.masks.find(pair); found != uniform_.masks.end() && found->second >= first_new_slot_) {
            movsx(rax, word[uniform_slot(found->second)]);
            and_(rax, ptr[rbx + kExec]);
            mov(scalar64(pair), rax);
        } else {
            mov(scalar64(pair), collected(i));
        }
    }
}

/// Pairs of SGPRs that scalar instructions write.
void Emitter::forget_uniform_masks(const ScalarSet& written) {
    std::erase_if(uniform_.masks, [&](const auto& each) { return touches(written, static_cast<int>(each.first)); });
}

/// A step that is no vector instruction with an emitter is about to be emitted.
void Emitter::forget_uniform_of(const BasicBlock& block, size_t step) {
    uniform_.masks.clear();
    if (uniform_.vgprs.empty()) return;
    const VectorSet written = written_by(block, step);
    std::erase_if(uniform_.vgprs, [&](const auto& each) { return written.test(each.first); });
}

/// A function of rows for a uniform VGPR: for one strip, from slot to slot.
bool Emitter::uniform_transcendental(const Inst& inst, transcendental::Routine function) {
    const auto source = uniform_.vgprs.find(inst.src[0] - kSrcVgpr0);
    if (source == uniform_.vgprs.end() || uniform_slots_ == kUniformSlots) return false;
    const unsigned slot = uniform_slots_++;
    lea(rdi, ptr[uniform_slot(slot)]);
    lea(rsi, ptr[uniform_slot(source->second.slot)]);
    mov(edx, (1u << lanes_of_strip()) - 1);
    mov(rax, reinterpret_cast<uint64_t>(function));
    call(rax);
    uniform_.vgprs[inst.dst] = {slot};
    return true;
}

// AVX-512 -----------------------------------------------------------------------------------------------------------------

void Emitter::emit_op(const VectorOp& op) {
    op.emit(*this, op);
    release_pins();
}

/// A strip goes on behind a uniform instruction: what registers hold of its results is nobody's any more.
void Emitter::pass_uniform(const VectorOp& op) {
    for (unsigned n = 0; n < results_of(*op.inst); ++n) {
        const unsigned vgpr = op.inst->dst + n;
        narrow_held(vgpr);  // the other half stays
        forget_wide(vgpr);
        if (const int reg = find(Kind::Vgpr, vgpr); reg >= 0) held_[static_cast<unsigned>(reg)] = {};
    }
    for (Mask& mask : masks_) {
        if (op.mask_out >= 0 && mask.pair == op.mask_out && mask.strip == strip_) mask = {};
    }
    release_pins();
}

void Emitter::write_uniform_rows(const std::vector<std::pair<unsigned, unsigned>>& rows) {
    const std::array lanes{k1, k2, k3, k4};
    static_assert(lanes.size() == kStrips);
    for (unsigned strip = 0; strip < kStrips; ++strip) kmovw(lanes[strip], ptr[rbx + (kExec + static_cast<int>(strip) * 2)]);
    for (const auto& [vgpr, slot] : rows) {
        vmovdqa32(zmm0, ptr[uniform_slot(slot)]);
        for (unsigned strip = 0; strip < kStrips; ++strip) vmovdqa32(row(vgpr, strip) | lanes[strip], zmm0);
    }
}

}  // namespace lyra::gcn
