// SPDX-License-Identifier: MIT
// Code for waves of which all lanes are on; step 6 of the data flow.
//
// The four strips of a wave go side by side, and VGPRs stay in registers from one instruction to the next, over loads, stores
// and branches: rows are written when code is left, or where the interpreter's functions read them. A block begins with the
// registers that the first jump to it brings, a loop with those that it uses most.
#include "gcn-interp/translator/emit_whole.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "gcn-interp/isa/op.h"

namespace lyra::gcn {

/// Begin to emit code of the one or the other kind, with nothing in registers.
void Emitter::set_whole(bool whole) {
    whole_ = looks_once_ = whole;
    first_mask_ = whole ? 1 : 2;
    last_mask_ = 7;
    registers_ = kScratch;
    rows_noted_ = false;
    has_wide_ = false;
    held_ = {};
    masks_ = {};
}

// Blocks ------------------------------------------------------------------------------------------------------------------

void Emitter::whole_block(const BasicBlock& block, Version& here) {
    const auto offset = static_cast<int32_t>(block.offset);
    const WholeBlock& all = whole_blocks_[offset];
    set_whole(true);
    affine_ = here.affine;
    no_wrap_.reset();
    affine_masks_.reset();
    translations_known_ = false;
    if (!here.begins_with) here.begins_with = all.begins_loop ? loop_registers(all, affine_) : Registers{};
    align(64);
    L(here.code);
    held_ = *here.begins_with;
    if (const unsigned count = block.count(); count != 0) {
        Xbyak::Label too_short;
        cmp(r13, count);
        jb(too_short, T_NEAR);
        sub(r13, count);
        elsewhere_.push_back([this, too_short, offset, held = held_]() mutable {
            L(too_short);
            set_whole(true);
            held_ = held;
            write_back_all();
            leave(offset);
        });
    }
    whole_steps(block);
    note_past_first(block);
    whole_end(block);
    set_whole(false);
}

/// Entered from outside: all that waves have is in memory.
void Emitter::entry(const BasicBlock& block) {
    const auto offset = static_cast<int32_t>(block.offset);
    WholeBlock& whole = whole_blocks_[offset];
    L(entry_labels_[offset]);
    // What the launch says holds here or nowhere: code of another region comes here with other values.
    const Xbyak::Address counts_ids = byte[r12 + static_cast<int>(offsetof(CodeFrame, counts_ids))];
    movzx(eax, counts_ids);
    mov(counts_ids, 0);
    if (whole.any_lanes) return jmp(block_labels_[offset], T_NEAR);
    cmp(qword[rbx + kExec], -1);
    jne(block_labels_[offset], T_NEAR);
    kxnorq(k0, k0, k0);
    const bool may_stay_long = whole.begins_loop || offset == entered_at_;
    for (auto version = whole.versions.rbegin(); version != whole.versions.rend(); ++version) {
        if (!may_stay_long && !version->affine.empty()) continue;  // to look at rows takes longer than that saves
        Xbyak::Label other, look;
        held_ = *version->begins_with;
        if (offset == entered_at_ && version->affine == Affine{{0, 1}}) {
            const int first = find_first_lanes(0);
            if (first >= 0) {
                const Xbyak::Xmm ids(first);
                test(eax, eax);
                jz(look, T_NEAR);
                for (unsigned reg = 0; reg < held_.size(); ++reg) {
                    if (static_cast<int>(reg) != first) fill(reg);
                }
                vpbroadcastd(ids, dword[r12 + static_cast<int>(offsetof(CodeFrame, first_id))]);
                vpaddd(ids, ids, ptr[rip + pool_lanes(kStripLanes, 0)]);
                jmp(version->code, T_NEAR);
                L(look);
            }
        }
        check_affine_rows(version->affine, other);
        for (unsigned reg = 0; reg < held_.size(); ++reg) fill(reg);
        jmp(version->code, T_NEAR);
        L(other);
    }
}

void Emitter::whole_steps(const BasicBlock& block) {
    std::vector<const VectorOp*> ops;
    for (const StepPlan& plan : plans_[&block]) ops.push_back(&plan.vector);
    now_ = together(std::move(ops));
    size_t in_place = 0;  // steps of a calculation that is known to be short
    for (size_t i = 0; i < block.steps.size(); ++i) {
        const Step& step = block.steps[i];
        if (has_no_effect(step.inst)) continue;
        at_ = i;
        if (emit_affine(block, i)) continue;
        if (i >= in_place) {
            if (const size_t end = long_calculation_end(block, i); end != i) {
                whole_general(block, i, end);
                i = end - 1;
                continue;
            }
            in_place = calculation_end(block, i);
        }
        const StepPlan& plan = plan_of(block, i);
        if (plan.vector.emit != nullptr && !step.writes_exec) {
            whole_vector(block, i);
            continue;
        }
        if (plan.scalar.emit != nullptr) {
            whole_scalar(step.inst, plan.scalar);
            continue;
        }
        if (plan.move) {
            whole_move(block, i);
            continue;
        }
        if (plan.scalar_load) {
            i = whole_scalar_loads(block, i);
            continue;
        }
        if (step.ends) {
            // Nobody sees the registers of a wave that has ended.
            end_wave(step);
            continue;
        }
        whole_general(block, i, i + 1);
    }
}

/// First lanes of affine VGPRs that the steps leave alone go to slots of the frame while all registers are theirs. Where a wave
/// may stop meanwhile nothing does. @return registers, with what they held
std::vector<std::pair<unsigned, Emitter::Held>> Emitter::put_aside(const BasicBlock& block, size_t first, size_t last) {
    VectorSet touched;
    for (size_t i = first; i < last; ++i) {
        const Step& step = block.steps[i];
        const StepPlan& plan = plan_of(block, i);
        if (step.can_stop) return {};
        touched |= plan.vectors() | written_by(block, i);
        if (row_function(step.inst.op) != nullptr && step.inst.src[0] >= kSrcVgpr0) touched.set(step.inst.src[0] - kSrcVgpr0);
    }
    std::vector<std::pair<unsigned, Held>> aside;
    for (unsigned reg = 0; reg < held_.size(); ++reg) {
        Held& held = held_[reg];
        if (held.kind != Kind::Vgpr || held.strip != kFirstLanes || !held.dirty || touched.test(held.key)) continue;
        if (aside.size() == kAffineSlots) break;
        vmovdqa32(aside_slot(aside.size()), Xbyak::Xmm(static_cast<int>(reg)));
        aside.emplace_back(reg, held);
        held = {};
    }
    return aside;
}

/// Steps as they are for waves of any lanes, but all are on.
void Emitter::whole_general(const BasicBlock& block, size_t first, size_t last) {
    const auto aside = put_aside(block, first, last);
    write_back_all();
    set_whole(false);
    whole_ = true;
    note_rows_written();
    Together before = std::move(now_);
    steps(block, first, last);
    forget_uniform();
    now_ = std::move(before);
    set_whole(true);
    kxnorq(k0, k0, k0);
    for (size_t i = first; i < last; ++i) forget_affine_of(block, i);
    for (size_t n = 0; n < aside.size(); ++n) {
        held_[aside[n].first] = aside[n].second;
        vmovdqa32(Xbyak::Xmm(static_cast<int>(aside[n].first)), aside_slot(n));
    }
    translations_known_ = false;
}

/// @param step  adds or subtracts with carry
bool Emitter::is_dead_mask(const BasicBlock& block, size_t step) const {
    const int pair = plan_of(block, step).vector.mask_out;
    // VGPRs that may be affine and not the same in all lanes: at what is computed from those a wave may give up.
    VectorSet varying;
    for (const auto& [vgpr, distance] : affine_) varying.set(vgpr, distance != 0);
    for (size_t i = step; i < block.steps.size(); ++i) {
        const StepPlan& plan = plan_of(block, i);
        if (has_no_effect(block.steps[i].inst)) continue;
        const bool varies = (plan.vector.uses.vector_reads & varying).any();
        if (i != step) {
            if (plan.vector.emit == nullptr && plan.scalar.emit == nullptr) return false;
            if (varies && plan.feeds_address) return false;
            const Uses& uses = plan.vector.emit != nullptr ? plan.vector.uses : plan.scalar.uses;
            if (touches(uses.reads, pair)) return false;
            if (plan.vector.emit != nullptr && plan.vector.mask_out == pair) return true;
            if (touches(uses.writes, pair) || block.steps[i].writes_exec) return false;
        }
        varying = varies ? varying | plan.writes : varying & ~plan.writes;
    }
    return false;
}

void Emitter::whole_vector(const BasicBlock& block, size_t step) {
    const VectorOp& op = plan_of(block, step).vector;
    mask_is_dead_ = info(op.inst->op).has(flag::CarryOut) && is_dead_mask(block, step);
    // One pair has a mask for each strip. What reads its SGPRs as values finds them in memory.
    ScalarSet values = op.uses.reads;
    if (op.mask_in >= 0) values.reset(static_cast<size_t>(op.mask_in)).reset(static_cast<size_t>(op.mask_in) + 1);
    masks_for(op, values, kStrips);
    forget_other_masks(op, kStrips);
    forget_affine(plan_of(block, step).writes, op.uses.vector_reads);
    for (strip_ = 0; strip_ < kStrips; ++strip_) {
        op.emit(*this, op);
        release_pins();
    }
    if (op.mask_out >= 0) {
        forget_scalars(op.uses.writes);
        affine_masks_.reset(static_cast<size_t>(op.mask_out));
    }
    mask_is_dead_ = false;
}

/// Masks that the instruction reads as values, or as the other kind of mask, and those of other pairs that it would make dirty
/// beside its own are written to their SGPRs. @param strips  kStrips: it has a mask for each strip; 1: of first lanes
void Emitter::masks_for(const VectorOp& op, const ScalarSet& values, unsigned strips) {
    const auto is_other_kind = [&](const Mask& mask) { return (mask.strip == kFirstLanes) == (strips == kStrips); };
    const auto must_be_written = [&](const Mask& mask) {
        if (mask.pair < 0 || !mask.dirty) return false;
        if (op.mask_out >= 0 && op.mask_out != mask.pair) return true;
        return touches(values, mask.pair) || (mask.pair == op.mask_in && is_other_kind(mask));
    };
    if (std::ranges::any_of(masks_, must_be_written)) write_back_masks();
}

/// The instruction writes all of a pair's mask, as the one kind: what is held of the other kind is nobody's any more.
void Emitter::forget_other_masks(const VectorOp& op, unsigned strips) {
    for (Mask& mask : masks_) {
        if (mask.pair >= 0 && mask.pair == op.mask_out && (mask.strip == kFirstLanes) == (strips == kStrips)) mask = {};
    }
}

void Emitter::whole_scalar(const Inst& inst, const ScalarOp& op) {
    for (const Mask& mask : masks_) {
        if (mask.pair >= 0 && mask.dirty && touches(op.uses.reads | op.uses.writes, mask.pair)) {
            write_back_masks();
            break;
        }
    }
    op.emit(*this, inst);
    forget_masks(op.uses.writes);
    forget_scalars(op.uses.writes);
}

void Emitter::forget_masks(const ScalarSet& written) {
    for (Mask& mask : masks_) {
        if (mask.pair >= 0 && touches(written, mask.pair)) mask = {};
    }
    for (unsigned pair = 0; pair < kSccBit; ++pair) {
        if (affine_masks_.test(pair) && touches(written, static_cast<int>(pair))) affine_masks_.reset(pair);
    }
}

void Emitter::forget_scalars(const ScalarSet& written) {
    for (Held& held : held_) {
        if (held.kind == Kind::Scalar && written.test(held.key)) held = {};
    }
}

// Ends of blocks ----------------------------------------------------------------------------------------------------------

void Emitter::whole_end(const BasicBlock& block) {
    const bool exec_is_new = !block.steps.empty() && block.steps.back().writes_exec;
    write_back_masks();
    masks_ = {};
    switch (block.end) {
        case BlockEnd::Leave:
            write_back_all();
            leave(block.next);
            return;
        case BlockEnd::Branch: return whole_go(block.target);
        case BlockEnd::Next:
            if (exec_is_new) {
                Xbyak::Label some;
                cmp(qword[rbx + kExec], -1);
                jne(some, T_NEAR);
                elsewhere_.push_back([this, some, held = held_, next = block.next]() mutable {
                    L(some);
                    set_whole(true);
                    held_ = held;
                    write_back_all();
                    go(next);
                });
            }
            return whole_go(block.next);
        case BlockEnd::Choice: break;
    }
    if (block.branch.op == Op::s_cbranch_execz) return whole_go(block.next);
    if (block.branch.op == Op::s_cbranch_execnz) return whole_go(block.target);
    Xbyak::Label taken;
    jump_if_taken(block.branch.op, taken);
    const Registers held = held_;
    const bool noted = rows_noted_;
    whole_go(block.next);
    L(taken);
    held_ = held;
    rows_noted_ = noted;
    whole_go(block.target);
}

void Emitter::whole_go(int32_t offset) {
    const auto found = whole_blocks_.find(offset);
    if (found == whole_blocks_.end() || found->second.any_lanes) {
        write_back_all();
        return go(offset);
    }
    Version& to = version_for(found->second, affine_);
    if (!to.begins_with) {
        to.begins_with = held_;
        for (Held& held : *to.begins_with) {
            const bool as_affine = held.strip == kFirstLanes, is_affine = to.affine.contains(static_cast<unsigned>(held.key));
            if (held.kind != Kind::Vgpr || as_affine != is_affine) held = {};
        }
        if (found->second.begins_loop) to.begins_with = loop_registers(found->second, to.affine);
    }
    conform(*to.begins_with);
    jmp(to.code, T_NEAR);
}

/// Registers become what a block begins with.
void Emitter::conform(const Registers& wanted) {
    for (const Held& held : wanted) {
        if (held.kind != Kind::Vgpr || held.strip == kFirstLanes || !affine_.contains(static_cast<unsigned>(held.key)))
            continue;
        strip_ = held.strip;
        if (find(Kind::Vgpr, held.key) < 0) rows_of_affine(static_cast<unsigned>(held.key));
    }
    const auto wanted_in = [&](const Held& held) {
        const auto same = [&](const Held& other) {
            return other.kind == Kind::Vgpr && other.key == held.key && other.strip == held.strip;
        };
        return std::ranges::find_if(wanted, same);
    };
    struct Move {
        unsigned to, from;
    };
    std::vector<Move> moves;
    std::vector<unsigned> loads;
    std::array<bool, 32> used{};
    for (unsigned reg = 0; reg < held_.size(); ++reg) {
        if (held_[reg].kind != Kind::Vgpr) {
            if (held_[reg].dirty) write_back(reg);
            continue;
        }
        const auto place = wanted_in(held_[reg]);
        if (held_[reg].dirty && (place == wanted.end() || !place->dirty)) write_back(reg);
    }
    for (unsigned reg = 0; reg < wanted.size(); ++reg) {
        if (wanted[reg].kind != Kind::Vgpr) continue;
        used[reg] = true;
        strip_ = wanted[reg].strip;
        const int from = find(Kind::Vgpr, wanted[reg].key);
        if (from < 0)
            loads.push_back(reg);
        else if (from != static_cast<int>(reg))
            moves.push_back({reg, static_cast<unsigned>(from)});
    }
    for (const Move& move : moves) used[move.from] = true;
    while (!moves.empty()) {
        const auto ready = std::ranges::find_if(moves, [&](const Move& move) {
            return std::ranges::none_of(moves, [&](const Move& other) { return other.from == move.to; });
        });
        if (ready != moves.end()) {
            vmovdqa32(Xbyak::Zmm(static_cast<int>(ready->to)), Xbyak::Zmm(static_cast<int>(ready->from)));
            used[ready->from] = wanted[ready->from].kind == Kind::Vgpr;
            moves.erase(ready);
            continue;
        }
        const auto spare = std::ranges::find(used, false);
        if (spare == used.end()) throw Xbyak::Error(Xbyak::ERR_INTERNAL);  // blocks never begin with that many
        const auto to = static_cast<unsigned>(spare - used.begin());
        used[to] = true;
        vmovdqa32(Xbyak::Zmm(static_cast<int>(to)), Xbyak::Zmm(static_cast<int>(moves.front().from)));
        moves.front().from = to;
    }
    held_ = wanted;
    for (const unsigned reg : loads) fill(reg);
}

// Rows and masks in memory ------------------------------------------------------------------------------------------------

/// All that somebody else may look at.
void Emitter::write_back_all() {
    for (unsigned reg = 0; reg < held_.size(); ++reg) {
        if (held_[reg].dirty) write_back(reg);
    }
    write_back_masks();
}

/// A pair that is dirty is so in all strips, or as a mask of first lanes, and no other one is.
void Emitter::write_back_masks() {
    std::array<int, kStrips> of{-1, -1, -1, -1};
    int pair = -1;
    for (unsigned k = 1; k < masks_.size(); ++k) {
        if (masks_[k].pair < 0 || !masks_[k].dirty) continue;
        if (masks_[k].strip == kFirstLanes) {
            kmovw(eax, Xbyak::Opmask(static_cast<int>(k)));
            mov(rcx, kFirstLaneBits);
            pdep(rax, rax, rcx);
            imul(rax, rax, 0xffff);
            mov(scalar64(static_cast<unsigned>(masks_[k].pair)), rax);
            masks_[k].dirty = false;
            return;
        }
        of[masks_[k].strip] = static_cast<int>(k);
        pair = masks_[k].pair;
        masks_[k].pinned = true;
    }
    if (pair < 0) return;
    if (std::ranges::find(of, -1) != of.end()) throw Xbyak::Error(Xbyak::ERR_INTERNAL);
    const Xbyak::Opmask low = temporary_mask(), high = temporary_mask();
    kunpckwd(low, Xbyak::Opmask(of[1]), Xbyak::Opmask(of[0]));
    kunpckwd(high, Xbyak::Opmask(of[3]), Xbyak::Opmask(of[2]));
    kunpckdq(low, high, low);
    kmovq(scalar64(static_cast<unsigned>(pair)), low);
    for (Mask& mask : masks_) {
        mask.pinned = false;
        if (mask.pair == -2) mask = {};
        mask.dirty = false;
    }
}

}  // namespace lyra::gcn
