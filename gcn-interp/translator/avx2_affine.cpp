// SPDX-License-Identifier: MIT
// Affine VGPRs in AVX2 code, as emit_affine.cpp has them, in strips of eight lanes; step 6 of the data flow.
//
// The first lanes of the eight strips of an affine VGPR are in a slot of the frame, so that what computes addresses is emitted
// once in place of a loop. Its row is written where somebody may look at it: see write_rows().
#include <algorithm>

#include "gcn-interp/isa/op.h"
#include "gcn-interp/translator/avx2_emitter.h"
#include "gcn-interp/translator/emit_segment.h"
#include "gcn-interp/translator/emit_whole.h"
#include "gcn-interp/wave/operand.h"

namespace lyra::gcn {
namespace {

using Xbyak::Ymm;

constexpr uint32_t kLast = Avx2Emitter::kLanesOfStrip - 1;
constexpr int kBytesOfStrip = Avx2Emitter::kLanesOfStrip * 4;

}  // namespace

// Slots and rows ----------------------------------------------------------------------------------------------------------

/// @return false: there are no more
bool Avx2Emitter::has_slot(unsigned vgpr) {
    if (slots_.contains(vgpr)) return true;
    if (slots_.size() >= kAffineSlots) return false;
    slots_.emplace(vgpr, static_cast<unsigned>(slots_.size()));
    return true;
}

Xbyak::RegExp Avx2Emitter::slot(unsigned vgpr) const {
    return r12 + static_cast<int>(offsetof(CodeFrame, first_lanes) + slots_.at(vgpr) * kBytesOfStrip);
}

/// Changes ymm0.
void Avx2Emitter::write_row(unsigned vgpr) {
    const uint32_t distance = affine_.at(vgpr);
    if (rows_hold_.test(vgpr)) return;
    rows_hold_.set(vgpr);
    call(row_routines_[{vgpr, distance}]);
}

/// The rows of all affine and uniform VGPRs hold them.
void Avx2Emitter::write_rows() {
    for (const auto& [vgpr, distance] : affine_) write_row(vgpr);
    uniform_rows();
}

/// Those of VGPRs that an instruction reads.
void Avx2Emitter::write_sources(const Inst& inst) {
    for (unsigned n = 0; n < info(inst.op).profile->sources(); ++n) {
        const unsigned vgpr = inst.src[n] - kSrcVgpr0;
        if (inst.src[n] >= kSrcVgpr0 && affine_.contains(vgpr)) write_row(vgpr);
    }
}

/// Those of the address and the data of a store or an atomic operation.
void Avx2Emitter::write_moved(const Inst& inst) {
    constexpr unsigned kMostDwords = 4;
    for (const unsigned first : {inst.vaddr, inst.vdata, inst.vdata2}) {
        for (unsigned vgpr = first; first != kNoOperand && vgpr < first + kMostDwords; ++vgpr) {
            if (affine_.contains(vgpr)) write_row(vgpr);
        }
    }
}

/// All rows, though only here.
void Avx2Emitter::complete_rows() {
    if (!is_affine_code_) return;
    const VectorSet hold = rows_hold_;
    const UniformValues uniform = uniform_;
    write_rows();
    rows_hold_ = hold;
    uniform_ = uniform;
}

/// Those of VGPRs that another version of the code does not take as affine.
void Avx2Emitter::write_rows_but(const Affine& others) {
    for (const auto& [vgpr, distance] : affine_) {
        if (!others.contains(vgpr)) write_row(vgpr);
    }
}

void Avx2Emitter::emit_row_routines() {
    for (auto& [key, label] : row_routines_) {
        const auto [vgpr, distance] = key;
        align(16);
        L(label);
        if (distance != 0) vmovdqu(ymm1, ptr[rip + pool_lanes(distance, 0)]);
        for (unsigned strip = 0; strip < kStripsOfWave; ++strip) {
            vpbroadcastd(ymm0, dword[slot(vgpr) + static_cast<int>(strip * 4)]);
            if (distance != 0) vpaddd(ymm0, ymm0, ymm1);
            vmovaps(ptr[row_of(vgpr) + static_cast<int>(strip) * kBytesOfStrip], ymm0);
        }
        ret();
    }
}

// Blocks ------------------------------------------------------------------------------------------------------------------

/// Without affine VGPRs there is one code for a block.
void Avx2Emitter::plan_region(const Region& region) {
    if (!has_affine()) {
        for (const BasicBlock& each : region.blocks) whole_blocks_[static_cast<int32_t>(each.offset)].any_lanes = true;
        return;
    }
    plan_affine(region);
    plan_loops(region);
    for (auto& [offset, whole] : whole_blocks_) {
        whole.any_lanes = false;
        whole.versions.front().emitted = true;
    }
    Affine affine = affine_rows();
    std::erase_if(affine, [&](const auto& each) { return !has_slot(each.first); });
    if (!affine.empty()) add_version(whole_blocks_[entered_at_], affine);
    whole_versions();
}

void Avx2Emitter::emit_version(const BasicBlock& block, Version& version) {
    const auto offset = static_cast<int32_t>(block.offset);
    affine_ = version.affine;
    no_wrap_.reset();
    affine_masks_.reset();
    rows_hold_.reset();
    rows_noted_ = translations_known_ = false;
    is_affine_code_ = looks_once_ = true;
    align(64);
    L(version.code);
    if (const unsigned count = block.count(); count != 0) {
        Xbyak::Label& too_short = new_label();
        cmp(r13, count);
        jb(too_short, T_NEAR);
        sub(r13, count);
        later([this, &too_short, offset] {
            L(too_short);
            write_rows();
            leave(offset);
        });
    }
    note_rows_written();
    affine_steps(block);
    forget_uniform();
    note_past_first(block);
    affine_end(block);
    is_affine_code_ = looks_once_ = translations_known_ = false;
    affine_.clear();
}

/// Code behind the region's, with what is affine here.
void Avx2Emitter::later(std::function<void()> emit) {
    elsewhere([this, emit = std::move(emit), affine = affine_, hold = rows_hold_, uniform = uniform_, slots = uniform_slots_] {
        affine_ = affine;
        rows_hold_ = hold;
        uniform_ = uniform;
        uniform_slots_ = slots;
        is_affine_code_ = true;
        emit();
        forget_uniform();
        is_affine_code_ = false;
        affine_.clear();
    });
}

void Avx2Emitter::affine_steps(const BasicBlock& block) {
    look_for_uniform(block, 0, block.steps.size());
    Segment segment;
    const auto flush = [&] {
        end_first_lanes();
        emit_segment(segment);
        segment = {};
    };
    for (size_t i = 0; i < block.steps.size(); ++i) {
        const Step& step = block.steps[i];
        if (has_no_effect(step.inst)) continue;
        const StepPlan& plan = plan_of(block, i);
        if (const auto how = affine_step(block, i); how && has_slots(step.inst, how->results)) {
            if (!segment.empty()) flush();
            first_lanes(block, i, *how);
            continue;
        }
        if (plan.vector.emit != nullptr) {
            end_first_lanes();
            if (!segment.add(plan.vector)) {
                flush();
                segment.add(plan.vector);
            }
            if (segment.vector.size() == 1) segment_affine_ = affine_;
            std::erase_if(affine_, [&](const auto& each) { return plan.writes.test(each.first); });
            if (plan.vector.mask_out >= 0) affine_masks_.reset(static_cast<size_t>(plan.vector.mask_out));
            continue;
        }
        if (plan.scalar.emit != nullptr) {
            end_first_lanes();
            segment.add(step.inst, plan.scalar);
            forget_masks(plan.scalar.uses.writes);
            continue;
        }
        flush();
        if (step.ends) {
            end_wave(step);
            continue;
        }
        if (plan.move && affine_move(block, i, *plan.move)) {
            forget_uniform_of(block, i);
            continue;
        }
        if (plan.scalar_load) {
            i = affine_scalar_loads(block, i);
            continue;
        }
        if (row_function(step.inst.op) != nullptr)
            write_sources(step.inst);
        else if (writes_no_vgpr(step.inst))
            write_moved(step.inst);
        else
            write_rows();
        any_step(block, i);
        forget_affine_of(block, i);
        translations_known_ = false;
    }
    flush();
    if (block.steps.empty() || !block.steps.back().ends) uniform_rows();
}

/// @return the last step that was emitted
size_t Avx2Emitter::affine_scalar_loads(const BasicBlock& block, size_t first) {
    const auto [steps, loads, read, written] = scalar_loads_from(block, first);
    Xbyak::Label &slow = new_label(), &end = new_label();
    later([this, &slow, &end, &block, steps] {
        L(slow);
        write_rows();
        for (const size_t each : steps) call_handler(block, block.steps[each], static_cast<unsigned>(each) + 1);
        jmp(end, T_NEAR);
    });
    scalar_loads(loads, slow, zmm0);
    L(end);
    forget_masks(written);
    forget_uniform_masks(written);
    return steps.back();
}

void Avx2Emitter::affine_end(const BasicBlock& block) {
    switch (block.end) {
        case BlockEnd::Leave: write_rows(); return leave(block.next);
        case BlockEnd::Branch: return affine_go(block.target);
        case BlockEnd::Next:
            if (!block.steps.empty() && block.steps.back().writes_exec) {
                Xbyak::Label& some = new_label();
                cmp(qword[rbx + kExec], -1);
                jne(some, T_NEAR);
                later([this, &some, next = block.next] {
                    L(some);
                    write_rows();
                    go(next);
                });
            }
            return affine_go(block.next);
        case BlockEnd::Choice: break;
    }
    if (block.branch.op == Op::s_cbranch_execz) return affine_go(block.next);
    if (block.branch.op == Op::s_cbranch_execnz) return affine_go(block.target);
    Xbyak::Label taken;
    jump_if_taken(block.branch.op, taken);
    const VectorSet hold = rows_hold_;
    affine_go(block.next);
    L(taken);
    rows_hold_ = hold;
    affine_go(block.target);
}

void Avx2Emitter::affine_go(int32_t offset) {
    const auto found = whole_blocks_.find(offset);
    if (found != whole_blocks_.end() && !affine_.empty()) {
        Version& to = version_for(found->second, affine_);
        if (!to.affine.empty()) {
            write_rows_but(to.affine);
            return jmp(to.code, T_NEAR);
        }
    }
    write_rows();
    go(offset);
}

/// Entered from outside: all that waves have is in memory.
void Avx2Emitter::entry(const BasicBlock& block) {
    const auto offset = static_cast<int32_t>(block.offset);
    WholeBlock& whole = whole_blocks_[offset];
    L(entry_labels_[offset]);
    // What the launch says holds here or nowhere: code of another region comes here with other values.
    const Xbyak::Address counts_ids = byte[r12 + static_cast<int>(offsetof(CodeFrame, counts_ids))];
    movzx(eax, counts_ids);
    mov(counts_ids, 0);
    if (!has_affine() || (!whole.begins_loop && offset != entered_at_)) return jmp(block_labels_[offset], T_NEAR);
    cmp(qword[rbx + kExec], -1);
    jne(block_labels_[offset], T_NEAR);
    for (auto version = whole.versions.rbegin(); version != whole.versions.rend(); ++version) {
        if (version->affine.empty()) continue;
        Xbyak::Label other, look;
        if (offset == entered_at_ && version->affine == Affine{{0, 1}}) {
            test(eax, eax);
            jz(look, T_NEAR);
            vpbroadcastd(ymm0, dword[r12 + static_cast<int>(offsetof(CodeFrame, first_id))]);
            vpaddd(ymm0, ymm0, ptr[rip + pool_lanes(kLanesOfStrip, 0)]);
            vmovdqa(ptr[slot(0)], ymm0);
            jmp(version->code, T_NEAR);
            L(look);
        }
        look_at_rows(version->affine, other);
        jmp(version->code, T_NEAR);
        L(other);
    }
    jmp(block_labels_[offset], T_NEAR);
}

/// Where a loop begins.
bool Avx2Emitter::looks_at_rows(const BasicBlock& from, const WholeBlock& to) const {
    return has_affine() && to.begins_loop && to.versions.size() > 1 && !to.loop.contains(static_cast<int32_t>(from.offset));
}

/// Fills slots, and jumps unless the rows hold what is said of them.
void Avx2Emitter::look_at_rows(const Affine& affine, const Xbyak::Label& otherwise) {
    vpxor(ymm2, ymm2, ymm2);
    for (const auto& [vgpr, distance] : affine) {
        for (unsigned strip = 0; strip < kStripsOfWave; ++strip) {
            const Xbyak::RegExp at = row_of(vgpr) + static_cast<int>(strip) * kBytesOfStrip;
            vpbroadcastd(ymm0, dword[at]);
            vmovd(dword[slot(vgpr) + static_cast<int>(strip * 4)], xmm0);
            if (distance != 0) vpaddd(ymm0, ymm0, ptr[rip + pool_lanes(distance, 0)]);
            vpxor(ymm0, ymm0, ptr[at]);
            vpor(ymm2, ymm2, ymm0);
        }
    }
    vptest(ymm2, ymm2);
    jnz(otherwise, T_NEAR);
}

// Calculations ------------------------------------------------------------------------------------------------------------

bool Avx2Emitter::has_slots(const Inst& inst, unsigned results) {
    for (unsigned n = 0; n < results; ++n) {
        if (!has_slot(inst.dst + n)) return false;
    }
    return true;
}

/// Emits the instruction for the first lanes of all strips. Registers go on holding them until end_first_lanes().
void Avx2Emitter::first_lanes(const BasicBlock& block, size_t step, const AffineStep& how) {
    const VectorOp& op = plan_of(block, step).vector;
    const unsigned dst = op.inst->dst;
    if (!is_first_lanes_) {
        lanes_ = {};
        is_first_lanes_ = all_ = true;
    }
    now_ = together({&op});
    at_ = 0;
    give_up_unless(how, op, block, step);
    op.emit(*this, op);
    release_pins();
    note_results(op, kNoSlot);
    for (unsigned n = 0; n < how.results; ++n) {
        const uint32_t distance = n == 0 ? how.distance : 0;
        affine_[dst + n] = distance;
        rows_hold_.reset(dst + n);
        no_wrap_.set(dst + n, distance == 0 || (n == 0 && how.check == AffineStep::Check::NoWrap));
    }
    if (op.mask_out < 0) return;
    write_back_dirty();
    for (Lanes& each : lanes_) {
        if (each.what == What::Scalar || each.what == What::Scalar64) each = {};
    }
    affine_masks_.set(static_cast<size_t>(op.mask_out), !is_dead_mask(block, step));
}

void Avx2Emitter::end_first_lanes() {
    if (!is_first_lanes_) return;
    write_back_dirty();
    lanes_ = {};
    is_first_lanes_ = false;
}

void Avx2Emitter::give_up_unless(const AffineStep& how, const VectorOp& op, const BasicBlock& block, size_t step) {
    using enum AffineStep::Check;
    if (how.check == None) return;
    write_back_dirty();
    const Inst& inst = *op.inst;
    const auto lanes = [&](unsigned n) { return operand(op, inst.src[n], 0, 1, false); };
    const Ymm low = lanes(how.low), t = temporary(), other = temporary();
    const uint32_t low_distance = affine_.at(inst.src[how.low] - kSrcVgpr0);
    Xbyak::Label& fails = new_label();
    const auto unless_within = [&](const Ymm& most) {
        vpmaxud(t, t, most);
        vpcmpeqd(t, t, most);
        vmovmskps(eax, t);
        cmp(eax, 0xff);
        jne(fails, T_NEAR);
    };
    switch (how.check) {
        case None: break;
        case NotNegative:
            vpaddd(t, low, constant(kLast * low_distance));
            vpor(t, t, low);
            vmovmskps(eax, t);
            test(eax, eax);
            jnz(fails, T_NEAR);
            break;
        case NoWrap: {
            const Ymm most = constant(~(kLast * how.distance));
            if (inst.op == Op::v_lshlrev_b64) {
                vpslld(t, low, static_cast<uint8_t>(constant_of(inst, inst.src[0], 1, false).bits));
            } else if (inst.op == Op::v_lshl_add_u64) {
                const Ymm addend = lanes(2);
                vpslld(other, lanes(0), static_cast<uint8_t>(constant_of(inst, inst.src[1], 1, false).bits & 7));
                vpaddd(t, other, addend);
                // Lanes that pass 2^32 before they are shifted do so behind it, too.
                vpmaxud(t, t, how.low == 0 ? other : addend);
            } else {
                const Ymm s0 = lanes(0), s1 = lanes(1);
                const bool subtracts = inst.op == Op::v_sub_co_u32, reversed = inst.op == Op::v_subrev_co_u32;
                subtracts ? vpsubd(t, s0, s1) : reversed ? vpsubd(t, s1, s0) : vpaddd(t, s0, s1);
                if (!no_wrap_.test(inst.src[how.low] - kSrcVgpr0)) vpmaxud(t, t, low);
            }
            unless_within(most);
            break;
        }
        case Disjoint: {
            const Ymm rest = lanes(how.low == 0 ? 1 : 0), ones = constant(~0u), last = constant(kLast * low_distance);
            if (inst.op == Op::v_lshl_or_b32)
                vpslld(other, rest, static_cast<uint8_t>(constant_of(inst, inst.src[1], 1, false).bits & 31));
            else
                vmovdqa(other, rest);
            // Bits below its lowest one: those in which lanes of the affine part differ have to be there.
            vpaddd(t, other, ones);
            vpandn(other, other, t);
            vpaddd(t, low, last);
            vpxor(t, t, low);
            unless_within(other);
            break;
        }
    }
    release_pins();
    later([this, &fails, left = block.count() - static_cast<unsigned>(step), offset = block.steps[step].offset] {
        L(fails);
        write_rows();
        mov(rax, reinterpret_cast<uint64_t>(circumstances_.gave_up));
        add(dword[rax], 1);  // a lost one does not matter
        add(r13, left);
        leave(static_cast<int32_t>(offset));
    });
}

// Memory ------------------------------------------------------------------------------------------------------------------

/// A load or store at affine addresses. @return false: lanes have to be looked at
bool Avx2Emitter::affine_move(const BasicBlock& block, size_t step, const PlainMove& move) {
    const Inst& inst = block.steps[step].inst;
    const Routine& kind = move.routine;
    const auto low = affine_.find(inst.vaddr), high = affine_.find(inst.vaddr + 1u);
    if (low == affine_.end() || (kind.high && (high == affine_.end() || high->second != 0))) return false;
    const uint32_t distance = low->second;
    const bool lines = distance == kind.words * 4 && kind.words <= 2, same = kind.loads && distance == 0,
               overlapping = kind.loads && kind.words == 4 && distance == 8;
    if (!lines && !same && !overlapping) return false;
    // What cannot be done for the second element is done for both, and the address has to be there.
    if (kind.elements == 2 && kind.loads && inst.vaddr >= move.rows[0] && inst.vaddr < move.rows[0] + kind.words) return false;
    Xbyak::Label &slow = new_label(), &end = new_label();
    if (!kind.loads) {
        for (unsigned element = 0; element < kind.elements; ++element) {
            for (unsigned word = 0; word < kind.words; ++word) {
                if (affine_.contains(move.rows[element] + word)) write_row(move.rows[element] + word);
                uniform_row(move.rows[element] + word);
            }
        }
    }
    later([this, &slow, &end, &block, step] {
        L(slow);
        write_rows();
        any_step(block, step);
        jmp(end, T_NEAR);
    });
    Routine one = kind;
    one.elements = 1;
    if (kind.global) unless_translations_changed(slow);
    for (unsigned element = 0; element < kind.elements; ++element) {
        lea(rsi, ptr[slot(inst.vaddr)]);
        if (kind.high) lea(rdx, ptr[slot(inst.vaddr + 1u)]);
        lea(rcx, all_rows(move.rows[element]));
        if (kind.global) {
            global_base(inst);
        } else {
            mov(rdi, ptr[r12 + static_cast<int>(offsetof(CodeFrame, lds))]);
            mov(r11d, ptr[r12 + static_cast<int>(offsetof(CodeFrame, lds_bytes))]);
            sub(r11d, kind.words * 4);
            jb(slow, T_NEAR);
            mov(r10d, 0u - move.plus[element]);
        }
        call(affine_routines_[{one, distance}]);
        jnz(slow, T_NEAR);
    }
    L(end);
    if (kind.loads) {
        const VectorSet& writes = plan_of(block, step).writes;
        std::erase_if(affine_, [&](const auto& each) { return writes.test(each.first); });
    }
    return true;
}

/// As the routines of avx2_memory.cpp, but rsi and rdx are the slots of addresses.
void Avx2Emitter::emit_affine_routines() {
    for (auto& [key, label] : affine_routines_) {
        const auto& [routine, distance] = key;
        Xbyak::Label fails;
        align(16);
        L(label);
        routine.global ? find_window(routine) : keep_window(r10d, r11d);
        const Ymm first(13), addresses(1), most(2), within(3);
        vmovdqa(addresses, ptr[rsi]);
        vpsubd(addresses, addresses, first);
        sub(r11d, kLast * distance);
        jb(fails, T_NEAR);
        vmovd(Xbyak::Xmm(most.getIdx()), r11d);
        vpbroadcastd(most, Xbyak::Xmm(most.getIdx()));
        vpmaxud(within, addresses, most);
        vpcmpeqd(within, within, most);
        if (routine.high) {
            vpcmpeqd(ymm4, ymm12, ptr[rdx]);
            vpand(within, within, ymm4);
        }
        vpmovmskb(eax, within);
        cmp(eax, -1);
        jne(fails, T_NEAR);
        const auto rows_from_one = [&](unsigned first_strip, unsigned strips) {  // rax: its address
            for (unsigned word = 0; word < routine.words; ++word) {
                vbroadcastss(ymm2, ptr[rax + static_cast<int>(4 * word)]);
                for (unsigned strip = first_strip; strip < first_strip + strips; ++strip)
                    vmovaps(ptr[rcx + static_cast<int>(word * sizeof(VgprRow)) + static_cast<int>(strip) * kBytesOfStrip],
                            ymm2);
            }
        };
        if (distance == 0) {
            Xbyak::Label differ;
            vmovd(eax, Xbyak::Xmm(addresses.getIdx()));
            vpbroadcastd(ymm4, Xbyak::Xmm(addresses.getIdx()));
            vpxor(ymm4, ymm4, addresses);
            vptest(ymm4, ymm4);
            jnz(differ, T_NEAR);
            add(rax, rdi);
            rows_from_one(0, kStripsOfWave);
            xor_(eax, eax);
            ret();
            L(differ);
        }
        vextracti128(xmm5, addresses, 1);
        for (unsigned strip = 0; strip < kStripsOfWave; ++strip) {
            const Xbyak::Xmm from(strip < 4 ? 1 : 5);
            strip % 4 == 0 ? vmovd(eax, from) : vpextrd(eax, from, static_cast<uint8_t>(strip % 4));
            add(rax, rdi);
            if (routine.words == 4 && distance != 0) {
                // The second half of a lane is the first one of the next lane.
                constexpr int kHalf = 2 * sizeof(VgprRow);
                const Routine half{routine.global, true, routine.high, 2, 1};
                move_line_of_strip(half, strip);
                add(rax, 8);
                add(rcx, kHalf);
                move_line_of_strip(half, strip);
                sub(rcx, kHalf);
                continue;
            }
            if (distance != 0) {
                move_line_of_strip(routine, strip);
                continue;
            }
            rows_from_one(strip, 1);
        }
        xor_(eax, eax);
        L(fails);
        ret();
    }
}

}  // namespace lyra::gcn
