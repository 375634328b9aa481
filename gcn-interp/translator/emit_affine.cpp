// SPDX-License-Identifier: MIT
// Affine VGPRs of waves of which all lanes are on: in each strip of 16 lanes, lane n holds what lane 0 does plus n times a
// distance that is known when code is generated; step 6 of the data flow.
//
// Addresses are mostly such. One register holds the first lanes of all four strips, so that an instruction is emitted once in
// place of four times, and memory is reached without a look at each lane. Rows are written where code is left.
//
// What holds for the lanes beside the first one rests on checks where it is not certain: a strip whose low halves pass 2^32,
// say, has not one high half. Such a wave gives up: it leaves the code in front of the instruction, for the interpreter.
#include <algorithm>
#include <optional>

#include "gcn-interp/isa/op.h"
#include "gcn-interp/translator/emit_whole.h"

namespace lyra::gcn {
namespace {

constexpr uint32_t kMaxDistance = 0xffff;  ///< a strip never passes 2^31 and 2^32 at once
constexpr uint32_t kLast = kStripLanes - 1;
constexpr uint8_t kGreater = 6;  ///< of vpcmpud

bool is_subtraction(Op op) { return op == Op::v_sub_co_u32 || op == Op::v_subb_co_u32; }
bool is_reversed(Op op) { return op == Op::v_subrev_co_u32 || op == Op::v_subbrev_co_u32; }

/// The distance of 16 rows of a strip and those of the other strips, if they are affine.
std::optional<uint32_t> distance_of(const VgprRow& row) {
    const uint32_t distance = row.lane[1] - row.lane[0];
    if (distance > kMaxDistance) return std::nullopt;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        if (row.lane[lane] != row.lane[lane - lane % kStripLanes] + distance * (lane % kStripLanes)) return std::nullopt;
    }
    return distance;
}

}  // namespace

// What is affine ----------------------------------------------------------------------------------------------------------

/// Which instructions compute what addresses of loads and stores are computed from. Others gain nothing: their results are
/// needed lane by lane.
void Emitter::plan_affine(const Region& region) {
    feeds_addresses_.reset();
    if (circumstances_.gave_up == nullptr) return;
    std::map<int32_t, VectorSet> wanted;  // by offset of a block, where it begins
    for (bool changed = true; changed;) {
        changed = false;
        for (auto block = region.blocks.rbegin(); block != region.blocks.rend(); ++block) {
            VectorSet now;
            const auto after = [&](int32_t offset) {
                if (const auto found = wanted.find(offset); found != wanted.end()) now |= found->second;
            };
            if (block->end == BlockEnd::Next || block->end == BlockEnd::Choice) after(block->next);
            if (block->end == BlockEnd::Branch || block->end == BlockEnd::Choice) after(block->target);
            std::vector<StepPlan>& plans = plans_.at(&*block);
            for (size_t i = plans.size(); i-- > 0;) {
                StepPlan& plan = plans[i];
                const Inst& inst = block->steps[i].inst;
                const bool feeds = plan.vector.emit != nullptr && (plan.writes & now).any();
                plan.feeds_address |= feeds || circumstances_.all_affine;
                now &= ~plan.writes;
                if (feeds) now |= plan.vector.uses.vector_reads;
                if (!plan.move) continue;
                now.set(inst.vaddr);
                if (plan.move->routine.high) now.set(inst.vaddr + 1u);
            }
            VectorSet& before = wanted[static_cast<int32_t>(block->offset)];
            changed |= before != now;
            before = now;
        }
    }
    feeds_addresses_ = wanted[static_cast<int32_t>(region.blocks.front().offset)];
    if (circumstances_.all_affine) feeds_addresses_.set();
}

/// VGPRs of the wave that is about to enter the region.
Affine Emitter::affine_rows() const {
    Affine out;
    for (unsigned vgpr = 0; vgpr < config_.vgprs && circumstances_.rows != nullptr; ++vgpr) {
        if (!feeds_addresses_.test(vgpr)) continue;
        if (const auto distance = distance_of(circumstances_.rows[vgpr])) out[vgpr] = *distance;
    }
    return out;
}

/// How the instruction computes affine VGPRs from those that are affine here; nothing if it does not.
std::optional<Emitter::AffineStep> Emitter::affine_step(const BasicBlock& block, size_t step) const {
    using enum AffineStep::Check;
    const StepPlan& plan = plan_of(block, step);
    const VectorOp& op = plan.vector;
    if (op.emit == nullptr || plan.writes.none() || !plan.feeds_address) return std::nullopt;
    const Inst& inst = *op.inst;
    if (inst.format != Format::VOP1 && inst.format != Format::VOP2 && inst.format != Format::VOP3) return std::nullopt;
    bool all_known = true;
    const auto distance_of_vgpr = [&](unsigned vgpr) {
        const auto found = affine_.find(vgpr);
        all_known &= found != affine_.end();
        return found != affine_.end() ? found->second : 0;
    };
    std::array<uint32_t, 3> d{};
    std::array<Constant, 3> constant{};
    for (unsigned n = 0; n < info(inst.op).profile->sources(); ++n) {
        const unsigned number = inst.src[n];
        if (number == kNoOperand) continue;
        if (number >= kSrcVgpr0)
            d[n] = distance_of_vgpr(number - kSrcVgpr0);
        else
            constant[n] = constant_of(inst, number, 1, false);
    }
    if (!all_known) return std::nullopt;
    const bool same_in_strips = d[0] == 0 && d[1] == 0 && d[2] == 0;
    uint64_t distance = 0;
    AffineStep how;
    const auto shifted = [&](unsigned value, unsigned count) {
        distance += uint64_t{d[value]} << (constant[count].bits & 31);
        return d[value] == 0 || constant[count].is_constant;
    };
    switch (inst.op) {
        case Op::v_mov_b32: distance = d[0]; break;
        case Op::v_add_u32:
        case Op::v_add_i32: distance = uint64_t{d[0]} + d[1]; break;
        case Op::v_add3_u32: distance = uint64_t{d[0]} + d[1] + d[2]; break;
        case Op::v_sub_u32:
        case Op::v_sub_i32: distance = uint64_t{d[0]} - d[1]; break;
        case Op::v_subrev_u32: distance = uint64_t{d[1]} - d[0]; break;
        case Op::v_lshlrev_b32:
            if (d[0] != 0 || !shifted(1, 0)) return std::nullopt;
            break;
        case Op::v_lshl_add_u32:
            if (d[1] != 0 || !shifted(0, 1)) return std::nullopt;
            distance += d[2];
            break;
        case Op::v_add_lshl_u32:
            if (d[2] != 0 || !shifted(0, 2) || !shifted(1, 2)) return std::nullopt;
            break;
        case Op::v_mul_lo_u32:
            for (unsigned n = 0; n < 2; ++n) {
                if (d[n] != 0 && !constant[1 - n].is_constant) return std::nullopt;
                distance += d[n] * constant[1 - n].bits;
            }
            break;
        case Op::v_mad_u32_u24:
        case Op::v_mad_i32_i24:
            if (d[0] != 0 || d[1] != 0) return std::nullopt;
            distance = d[2];
            break;
        case Op::v_or_b32:
            if (d[0] != 0 && d[1] != 0) return std::nullopt;
            if (!same_in_strips) how.check = Disjoint, how.low = d[0] != 0 ? 0 : 1;
            distance = uint64_t{d[0]} + d[1];
            break;
        case Op::v_lshl_or_b32:
            if (d[0] != 0 || d[1] != 0 || (d[2] != 0 && !constant[1].is_constant)) return std::nullopt;
            if (!same_in_strips) how.check = Disjoint, how.low = 2;
            distance = d[2];
            break;
        case Op::v_ashrrev_i32:
            if (same_in_strips) break;
            if (d[0] != 0 || !constant[0].is_constant || constant[0].bits != 31) return std::nullopt;
            how.check = NotNegative, how.low = 1;
            break;
        case Op::v_lshlrev_b64: {
            const uint64_t by = constant[0].bits;
            if (!constant[0].is_constant || by == 0 || by > 31 || inst.src[1] < kSrcVgpr0) return std::nullopt;
            if (distance_of_vgpr(inst.src[1] - kSrcVgpr0 + 1u) != 0 || !all_known) return std::nullopt;
            if (!same_in_strips) how.check = NoWrap, how.low = 1;
            distance = uint64_t{d[1]} << by;
            how.results = 2;
            break;
        }
        case Op::v_lshl_add_u64:
            if (!constant[1].is_constant || (d[0] != 0 && d[2] != 0)) return std::nullopt;
            for (const unsigned n : {0u, 2u}) {
                if (inst.src[n] >= kSrcVgpr0 && distance_of_vgpr(inst.src[n] - kSrcVgpr0 + 1u) != 0) return std::nullopt;
            }
            if (!all_known) return std::nullopt;
            if (!same_in_strips) how.check = NoWrap, how.low = d[0] != 0 ? 0 : 2;
            distance = (uint64_t{d[0]} << (constant[1].bits & 7)) + d[2];
            how.results = 2;
            break;
        case Op::v_add_co_u32:
        case Op::v_sub_co_u32:
        case Op::v_subrev_co_u32:
            if (d[0] != 0 && d[1] != 0) return std::nullopt;
            how.low = d[0] != 0 ? 0 : 1;
            if (is_subtraction(inst.op) && d[1] != 0) return std::nullopt;
            if (is_reversed(inst.op) && d[0] != 0) return std::nullopt;
            if (!same_in_strips && !is_dead_mask(block, step)) how.check = NoWrap;
            distance = uint64_t{d[0]} + d[1];
            break;
        case Op::v_addc_co_u32:
        case Op::v_subb_co_u32:
        case Op::v_subbrev_co_u32:
            if (!same_in_strips || !affine_masks_.test(static_cast<size_t>(op.mask_in))) return std::nullopt;
            break;
        // What is the same in all lanes of a strip stays so.
        case Op::v_not_b32:
        case Op::v_and_b32:
        case Op::v_xor_b32:
        case Op::v_lshrrev_b32:
        case Op::v_mul_u32_u24:
        case Op::v_mul_i32_i24:
        case Op::v_bfe_u32:
        case Op::v_bfe_i32:
        case Op::v_and_or_b32:
        case Op::v_or3_b32:
        case Op::v_xad_u32:
        case Op::v_min_i32:
        case Op::v_max_i32:
        case Op::v_min_u32:
        case Op::v_max_u32:
            if (!same_in_strips) return std::nullopt;
            break;
        default: return std::nullopt;
    }
    if (distance > kMaxDistance) return std::nullopt;
    how.distance = static_cast<uint32_t>(distance);
    return how;
}

// Emitting ----------------------------------------------------------------------------------------------------------------

int Emitter::find_first_lanes(unsigned vgpr) const {
    for (unsigned reg = 0; reg < held_.size(); ++reg) {
        const Held& held = held_[reg];
        if (held.kind == Kind::Vgpr && held.strip == kFirstLanes && held.key == vgpr) return static_cast<int>(reg);
    }
    return -1;
}

/// The lanes of a strip of the affine VGPR in register `first`.
void Emitter::lanes_from_first(const Xbyak::Zmm& to, unsigned first, unsigned strip) {
    const Xbyak::Xmm from(static_cast<int>(first)), part(to.getIdx());
    if (strip != 0) vpshufd(part, from, static_cast<uint8_t>(strip * 0x55));
    vpbroadcastd(to, strip != 0 ? part : from);
    if (const uint32_t distance = held_[first].distance; distance != 0) vpaddd(to, to, ptr[rip + pool_lanes(distance, 0)]);
}

void Emitter::first_lanes_of_rows(const Xbyak::Zmm& to, unsigned vgpr) {
    const Xbyak::Xmm part(to.getIdx());
    vmovd(part, dword[row(vgpr, 0).getRegExp()]);
    for (unsigned strip = 1; strip < kStrips; ++strip)
        vpinsrd(part, part, dword[row(vgpr, strip).getRegExp()], static_cast<uint8_t>(strip));
}

/// The rows of a VGPR hold it, if it is affine.
void Emitter::rows_of_affine(unsigned vgpr) {
    const int first = find_first_lanes(vgpr);
    if (first >= 0 && held_[static_cast<unsigned>(first)].dirty) write_back(static_cast<unsigned>(first));
}

/// Its lanes get other values: no register has them any more. What shares 64-bit lanes with it keeps its own half.
void Emitter::forget_lanes(unsigned vgpr) {
    for (strip_ = 0; strip_ < kStrips; ++strip_) {
        forget_wide(vgpr);
        if (const int reg = find(Kind::Vgpr, vgpr); reg >= 0) held_[static_cast<unsigned>(reg)] = {};
    }
}

/// VGPRs are about to be written lane by lane, by an instruction that reads some.
void Emitter::forget_affine(const VectorSet& written, const VectorSet& read) {
    if (affine_.empty()) return;
    for (auto each = affine_.begin(); each != affine_.end();) {
        const unsigned vgpr = each->first;
        if (!written.test(vgpr)) {
            ++each;
            continue;
        }
        if (read.test(vgpr)) {
            for (strip_ = 0; strip_ < kStrips; ++strip_)
                held_[static_cast<unsigned>(load(Kind::Vgpr, vgpr).getIdx())].dirty = true;
        }
        if (const int first = find_first_lanes(vgpr); first >= 0) held_[static_cast<unsigned>(first)] = {};
        release_pins();
        each = affine_.erase(each);
    }
}

/// VGPRs that a step may write which is no vector instruction with an emitter.
VectorSet Emitter::written_by(const BasicBlock& block, size_t step) const {
    const StepPlan& plan = plan_of(block, step);
    const Inst& inst = block.steps[step].inst;
    VectorSet written = plan.writes;
    if (writes_no_vgpr(inst)) return {};
    if (row_function(inst.op) != nullptr) {
        if (inst.dst < written.size()) written.set(inst.dst);
    } else if (plan.vector.emit == nullptr && plan.scalar.emit == nullptr && !plan.move && !plan.scalar_load &&
               inst.format != Format::SOPP) {
        written.set();
    }
    return written;
}

/// An instruction was emitted for any lanes: its results are in rows, and the rest of the affine VGPRs, too.
void Emitter::forget_affine_of(const BasicBlock& block, size_t step) {
    affine_masks_.reset();
    if (affine_.empty() || has_no_effect(block.steps[step].inst)) return;
    const VectorSet written = written_by(block, step);
    std::erase_if(affine_, [&](const auto& each) { return written.test(each.first); });
}

/// The wave goes on with this instruction on the interpreter.
void Emitter::give_up(const BasicBlock& block, size_t step, Xbyak::Label& where) {
    elsewhere_.push_back([this, &where, left = block.count() - static_cast<unsigned>(step), offset = block.steps[step].offset,
                          held = held_, masks = masks_]() mutable {
        L(where);
        set_whole(true);
        held_ = held;
        masks_ = masks;
        write_back_all();
        mov(rax, reinterpret_cast<uint64_t>(circumstances_.gave_up));
        add(dword[rax], 1);  // a lost one does not matter
        add(r13, left);
        leave(static_cast<int32_t>(offset));
    });
}

void Emitter::give_up_unless(const AffineStep& how, const VectorOp& op, const BasicBlock& block, size_t step) {
    using enum AffineStep::Check;
    if (how.check == None) return;
    const Inst& inst = *op.inst;
    const auto first_lanes = [&](unsigned n) { return Xbyak::Xmm(operand(op, inst.src[n], 0, 1, false).getIdx()); };
    const Xbyak::Xmm low = first_lanes(how.low), scratch(static_cast<int>(kScratch)), other(temporary().getIdx());
    const uint32_t low_distance = affine_.at(inst.src[how.low] - kSrcVgpr0);
    const Xbyak::Opmask k = temporary_mask();
    const auto in_all = [this](uint32_t bits) { return ptr_b[rip + pool(bits)]; };
    Xbyak::Label& fails = new_label();
    switch (how.check) {
        case None: return;
        case NotNegative:
            vpaddd(scratch, low, in_all(kLast * low_distance));
            vpord(scratch, scratch, low);
            vpmovd2m(k, scratch);
            break;
        case NoWrap: {
            if (inst.op == Op::v_lshlrev_b64) {
                vpslld(scratch, low, static_cast<uint8_t>(constant_of(inst, inst.src[0], 1, false).bits));
                vpcmpud(k, scratch, in_all(~(kLast * how.distance)), kGreater);
                break;
            }
            if (inst.op == Op::v_lshl_add_u64) {
                const Xbyak::Xmm addend = first_lanes(2);
                vpslld(scratch, first_lanes(0), static_cast<uint8_t>(constant_of(inst, inst.src[1], 1, false).bits & 7));
                vpaddd(other, scratch, addend);
                // Lanes that pass 2^32 before they are shifted do so behind it, too.
                vpmaxud(scratch, other, how.low == 0 ? scratch : addend);
                vpcmpud(k, scratch, in_all(~(kLast * how.distance)), kGreater);
                break;
            }
            const Xbyak::Xmm s0 = first_lanes(0), s1 = first_lanes(1);
            is_subtraction(inst.op) ? vpsubd(scratch, s0, s1)
            : is_reversed(inst.op)  ? vpsubd(scratch, s1, s0)
                                    : vpaddd(scratch, s0, s1);
            if (!no_wrap_.test(inst.src[how.low] - kSrcVgpr0)) vpmaxud(scratch, scratch, low);
            vpcmpud(k, scratch, in_all(~(kLast * how.distance)), kGreater);
            break;
        }
        case Disjoint: {
            const Xbyak::Xmm rest = first_lanes(how.low == 0 ? 1 : 0);
            if (inst.op == Op::v_lshl_or_b32)
                vpslld(scratch, rest, static_cast<uint8_t>(constant_of(inst, inst.src[1], 1, false).bits & 31));
            else
                vmovdqa32(scratch, rest);
            // Bits below its lowest one: those in which lanes of the affine part differ have to be there.
            vpaddd(other, scratch, in_all(~0u));
            vpandnd(other, scratch, other);
            vpaddd(scratch, low, in_all(kLast * low_distance));
            vpxord(scratch, scratch, low);
            vpcmpud(k, scratch, other, kGreater);
            break;
        }
    }
    kortestw(k, k);
    jnz(fails, T_NEAR);
    give_up(block, step, fails);
}

/// @return false: the instruction has to be emitted for each strip
bool Emitter::emit_affine(const BasicBlock& block, size_t step) {
    const std::optional<AffineStep> how = affine_step(block, step);
    if (!how) return false;
    const VectorOp& op = plan_of(block, step).vector;
    const unsigned dst = op.inst->dst;
    mask_is_dead_ = info(op.inst->op).has(flag::CarryOut) && is_dead_mask(block, step);
    ScalarSet values = op.uses.reads;
    if (op.mask_in >= 0) values.reset(static_cast<size_t>(op.mask_in)).reset(static_cast<size_t>(op.mask_in) + 1);
    masks_for(op, values, 1);
    for (unsigned n = 0; n < how->results; ++n) {
        for (strip_ = 0; strip_ < kStrips; ++strip_) {
            narrow_held(dst + n);
            release_pins();
        }
    }
    strip_ = kFirstLanes;
    give_up_unless(*how, op, block, step);
    forget_other_masks(op, 1);
    for (unsigned n = 0; n < how->results; ++n) forget_lanes(dst + n);
    strip_ = kFirstLanes;
    op.emit(*this, op);
    release_pins();
    for (unsigned n = 0; n < how->results; ++n) {
        const uint32_t distance = n == 0 ? how->distance : 0;
        affine_[dst + n] = distance;
        if (const int first = find_first_lanes(dst + n); first >= 0) held_[static_cast<unsigned>(first)].distance = distance;
        no_wrap_.set(dst + n, distance == 0 || (n == 0 && how->check == AffineStep::Check::NoWrap));
    }
    if (op.mask_out >= 0) {
        forget_scalars(op.uses.writes);
        affine_masks_.set(static_cast<size_t>(op.mask_out), !mask_is_dead_);
    }
    mask_is_dead_ = false;
    return true;
}

// Memory ------------------------------------------------------------------------------------------------------------------

/// A load or store at affine addresses. @return false: lanes have to be looked at
bool Emitter::affine_move(const BasicBlock& block, size_t step) {
    const PlainMove& move = *plan_of(block, step).move;
    const Inst& inst = block.steps[step].inst;
    const Routine& kind = move.routine;
    const auto low_found = affine_.find(inst.vaddr), high_found = affine_.find(inst.vaddr + 1u);
    if (low_found == affine_.end()) return false;
    if (kind.high && (high_found == affine_.end() || high_found->second != 0)) return false;
    const uint32_t distance = low_found->second;
    const bool lines = distance == kind.words * 4, same = kind.loads && distance == 0,
               overlapping = kind.loads && kind.words == 4 && distance == 8;
    if (!lines && !same && !overlapping) return false;
    const int span = static_cast<int>(kLast * distance + kind.words * 4);

    Xbyak::Label &slow = new_label(), &end = new_label(), &miss = new_label(), &found = new_label();
    strip_ = kFirstLanes;
    const Xbyak::Xmm low(load(Kind::Vgpr, inst.vaddr).getIdx());
    const Xbyak::Xmm high(kind.high ? load(Kind::Vgpr, inst.vaddr + 1u).getIdx() : 0);
    const WholeMove m = begin_move(inst, move, true);
    const Xbyak::Opmask k = temporary_mask();
    const Registers before = held_;
    const Masks masks_before = masks_;
    const auto& at = WholeMove::at;
    const Xbyak::Xmm some(m.t.getIdx()), others(m.different.getIdx());
    const Xbyak::Ymm all(m.t.getIdx()), bound(m.different.getIdx());
    const bool may_wrap = kind.global && distance != 0 && !no_wrap_.test(inst.vaddr);
    if (kind.global) unless_translations_changed(slow);
    if (may_wrap) {
        vpcmpud(k, low, ptr_b[rip + pool(~(kLast * distance))], kGreater);
        kortestw(k, k);
        jnz(slow, T_NEAR);
    }
    if (!kind.global) {
        find_lds(move, span, slow);
        vpbroadcastd(others, edx);
        vpcmpud(k, low, others, kGreater);
        kortestw(k, k);
        jnz(slow, T_NEAR);
        for (unsigned s = 0; s < kStrips; ++s) {
            s == 0 ? vmovd(at[s].cvt32(), low) : vpextrd(at[s].cvt32(), low, static_cast<uint8_t>(s));
        }
        L(found);
    } else {
        const auto addresses = [=, this] {
            if (kind.high) {
                vpunpckldq(some, low, high);
                vpunpckhdq(others, low, high);
                vinserti32x4(all, all, others, 1);
            } else {
                vpmovzxdq(all, low);
            }
            if (inst.saddr != kNoOperand || inst.imm != 0) {
                global_base(inst);
                vpbroadcastq(bound, rdi);
                vpaddq(all, all, bound);
            }
        };
        const auto by_strip = [=, this] {
            vmovq(at[0], some);
            vpextrq(at[1], some, 1);
            vextracti32x4(some, all, 1);
            vmovq(at[2], some);
            vpextrq(at[3], some, 1);
        };
        addresses();
        vmovq(rax, some);
        tlb_entry(rax, rdx, kind.loads);
        mov(rdx, ptr[rax + static_cast<int>(offsetof(TlbEntry, size))]);
        sub(rdx, span);
        jb(miss, T_NEAR);
        mov(rsi, ptr[rax + static_cast<int>(offsetof(TlbEntry, start))]);
        vpbroadcastq(bound, rsi);
        add(rsi, ptr[rax + static_cast<int>(offsetof(TlbEntry, bias))]);
        vpsubq(all, all, bound);
        vpbroadcastq(bound, rdx);
        vpcmpuq(k, all, bound, kGreater);
        kortestw(k, k);
        jnz(miss, T_NEAR);
        by_strip();
        L(found);
        elsewhere_.push_back([=, this, &slow, &miss, &found]() mutable {
            L(miss);
            addresses();
            by_strip();
            call(strip_routines_[{kind.loads, span}]);
            jnz(slow, T_NEAR);
            xor_(esi, esi);
            jmp(found, T_NEAR);
        });
    }
    if (lines)
        move_lines(m);
    else if (same)
        load_same(m);
    else
        load_overlapping(m);
    L(end);
    define_loaded(m);
    slow_path(block, {step}, before, masks_before, slow, end);
    return true;
}

/// r8 to r11, addresses of the first lanes of strips, become host addresses of so many bytes each. ZF is 0 if one is not in the
/// TLB.
void Emitter::find_strips(bool loads, int span) {
    Xbyak::Label fails;
    for (const Xbyak::Reg64& at : WholeMove::at) {
        Xbyak::Label held, missing;
        const auto look = [&](const Xbyak::Label& otherwise) {
            mov(rax, at);
            tlb_entry(rax, rdx, loads);
            mov(rdx, at);
            sub(rdx, ptr[rax + static_cast<int>(offsetof(TlbEntry, start))]);
            mov(rdi, ptr[rax + static_cast<int>(offsetof(TlbEntry, size))]);
            sub(rdi, span);
            jb(otherwise, T_NEAR);
            cmp(rdx, rdi);
            ja(otherwise, T_NEAR);
        };
        look(missing);
        jmp(held, T_NEAR);
        L(missing);
        mov(rax, at);
        tlb_refill(fails, loads);
        look(fails);
        L(held);
        add(at, ptr[rax + static_cast<int>(offsetof(TlbEntry, bias))]);
    }
    xor_(eax, eax);
    ret();
    L(fails);
    or_(eax, 1);
    ret();
}

/// Jumps unless the rows of VGPRs hold what is said of them.
void Emitter::check_affine_rows(const Affine& affine, const Xbyak::Label& otherwise) {
    if (affine.empty()) return;
    bool first = true;
    for (const auto& [vgpr, distance] : affine) {
        for (unsigned strip = 0; strip < kStrips; ++strip) {
            vpbroadcastd(zmm0, dword[row(vgpr, strip).getRegExp()]);
            if (distance != 0) vpaddd(zmm0, zmm0, ptr[rip + pool_lanes(distance, 0)]);
            first ? vpxord(zmm1, zmm0, row(vgpr, strip)) : vpternlogd(zmm1, zmm0, row(vgpr, strip), kOrDifferent);
            first = false;
        }
    }
    vptestmd(k1, zmm1, zmm1);
    kortestw(k1, k1);
    jnz(otherwise, T_NEAR);
}

}  // namespace lyra::gcn
