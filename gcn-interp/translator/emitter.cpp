// SPDX-License-Identifier: MIT
// Blocks, segments and exits of generated code; step 6 of the data flow.
#include "gcn-interp/translator/emitter.h"

#include <algorithm>
#include <utility>

#include "gcn-interp/isa/op.h"
#include "gcn-interp/translator/emit_segment.h"
#include "gcn-interp/translator/emit_whole.h"
#include "gcn-interp/wave/operand.h"

namespace lyra::gcn {
namespace {

constexpr int offset_of(size_t offset) { return static_cast<int>(offset); }
constexpr int kPc = offset_of(offsetof(Wave, pc)), kVgpr = offset_of(offsetof(Wave, vgpr)),
              kSgpr = offset_of(offsetof(Wave, sgpr)), kM0Offset = offset_of(offsetof(Wave, m0));

bool has_wide_operands(const VectorOp& op) {
    const InstInfo& row = info(op.inst->op);
    bool wide = row.dst_dwords() > 1;
    for (unsigned n = 0; n < row.profile->sources(); ++n) wide |= row.src_dwords(n) > 1;
    return wide;
}

}  // namespace

Emitter::Emitter(uint8_t* buffer, size_t bytes, const CodeConfig& config) : CodeGenerator(bytes, buffer), config_(config) {}
Emitter::~Emitter() = default;

void Emitter::generate_entry() {
    for (const Xbyak::Reg64& reg : {rbx, rbp, r12, r13, r14, r15}) push(reg);
    sub(rsp, 8);
    mov(r12, rdi);
    mov(rbx, rsi);
    mov(r13, rdx);
    mov(rbp, ptr[rbx + kVgpr]);
    mov(r14, ptr[r12 + offset_of(offsetof(CodeFrame, page_va))]);
    jmp(rcx);
}

Emitter::Output Emitter::generate(const Region& region, const Existing& existing, const Circumstances& circumstances) {
    existing_ = &existing;
    circumstances_ = circumstances;
    for (const BasicBlock& each : region.blocks) {
        block_labels_[static_cast<int32_t>(each.offset)];
        entry_labels_[static_cast<int32_t>(each.offset)];
        std::vector<StepPlan>& plans = plans_[&each];
        for (const Step& step : each.steps) plans.push_back(plan_step(step));
    }
    entered_at_ = static_cast<int32_t>(region.blocks.front().offset);
    output_.written_first = written_first(region.blocks.front());
    plan_region(region);
    for (const BasicBlock& each : region.blocks) block(each);
    for (const BasicBlock& each : region.blocks) {
        align(16);
        output_.entries.emplace_back(each.offset, static_cast<uint32_t>(getSize()));
        entry(each);
    }
    L(exit_);
    mov(rax, r13);
    vzeroupper();
    add(rsp, 8);
    for (const Xbyak::Reg64& reg : {r15, r14, r13, r12, rbp, rbx}) pop(reg);
    ret();
    for (size_t i = 0; i < elsewhere_.size(); ++i) elsewhere_[i]();
    emit_routines();
    align(64);
    for (auto& [bits, label] : pool_) {
        L(label);
        dq(bits);
    }
    align(64);
    for (auto& [shape, label] : lane_pool_) {
        L(label);
        const auto [step, first] = shape;
        for (unsigned lane = 0; lane < kStripLanes; ++lane)
            dd(step != 0 ? step * lane + first : first == 2 ? lane % 4 * 4 + lane / 4 : lane / 2 + 8 * first + 16 * (lane % 2));
    }
    for (auto& [control, labels] : dpp_pool_) {
        Inst inst;
        inst.dpp_ctrl = control;
        const DppPattern& pattern = dpp_pattern(inst);
        L(labels.from);
        for (unsigned lane = 0; lane < kStripLanes; ++lane) dd(pattern.from[lane] % kStripLanes);
        L(labels.valid);
        for (unsigned lane = 0; lane < kStripLanes; ++lane) dd((pattern.has_source >> lane & 1) != 0 ? ~0u : 0u);
    }
    for (unsigned back = 0; back < 2; ++back) {
        L(order_pool_[back]);
        for (unsigned lane = 0; lane < kStripLanes; ++lane) {
            // Bits of the number of a lane: 8, 4, 2, 1 become 2, 8, 4, 1.
            dd(back == 0 ? ((lane & 6) << 1) | ((lane >> 2) & 2) | (lane & 1)
                         : ((lane >> 1) & 6) | ((lane & 2) << 2) | (lane & 1));
        }
    }
    output_.bytes = getSize();
    return output_;
}

VectorOp Emitter::plan_vector(const Inst& inst) const { return vector_op(inst, config_); }

void Emitter::plan_region(const Region& region) {
    plan_affine(region);
    plan_whole(region);
}

Xbyak::Label& Emitter::pool(uint64_t bits) { return pool_[bits]; }

void Emitter::leave(int32_t offset) {
    lea(rax, ptr[r14 + offset]);
    mov(ptr[rbx + kPc], rax);
    jmp(exit_, T_NEAR);
}

void Emitter::go(int32_t offset) {
    const auto known = block_labels_.find(offset);
    if (known != block_labels_.end()) return jmp(known->second, T_NEAR);
    const uint8_t* const code = offset >= 0 ? (*existing_)(static_cast<uint32_t>(offset)) : nullptr;
    if (code == nullptr) return leave(offset);
    mov(rax, reinterpret_cast<uint64_t>(code));
    jmp(rax);
}

WrittenFirst Emitter::written_first(const BasicBlock& block) const {
    WrittenFirst written;
    VectorSet touched;
    for (size_t i = 0; i < block.steps.size() && !block.steps[i].writes_exec; ++i) {
        const Inst& inst = block.steps[i].inst;
        const StepPlan& plan = plan_of(block, i);
        if (has_no_effect(inst) || plan.scalar_load) continue;
        touched |= plan.vector.uses.vector_reads | plan.scalar.uses.vector_reads;
        if (plan.scalar.emit != nullptr) continue;
        if (plan.vector.emit != nullptr) {
            const VectorSet first = plan.writes & ~touched;
            for (size_t vgpr = first._Find_first(); vgpr < first.size(); vgpr = first._Find_next(vgpr))
                written.emplace_back(block.steps[i].offset, static_cast<uint16_t>(vgpr));
        } else if (row_function(inst.op) != nullptr) {
            if (inst.src[0] >= kSrcVgpr0 && inst.src[0] != kNoOperand) touched.set(inst.src[0] - kSrcVgpr0);
            if (inst.dst != kNoOperand) touched.set(inst.dst);
        } else if (!plan.move) {
            break;  // the interpreter's function may read any
        }
        touched |= plan.writes;
    }
    return written;
}

void Emitter::note_past_first(const BasicBlock& block) {
    if (static_cast<int32_t>(block.offset) != entered_at_ || output_.written_first.empty()) return;
    mov(byte[r12 + offset_of(offsetof(CodeFrame, past_first))], 1);
}

void Emitter::jump_if_taken(Op branch, const Xbyak::Label& taken) {
    switch (branch) {
        case Op::s_cbranch_scc0: cmp(byte[rbx + kScc], 0), je(taken, T_NEAR); break;
        case Op::s_cbranch_scc1: cmp(byte[rbx + kScc], 0), jne(taken, T_NEAR); break;
        case Op::s_cbranch_vccz: cmp(qword[scalar64(kVccLo).getRegExp()], 0), je(taken, T_NEAR); break;
        case Op::s_cbranch_vccnz: cmp(qword[scalar64(kVccLo).getRegExp()], 0), jne(taken, T_NEAR); break;
        case Op::s_cbranch_execz: cmp(qword[rbx + kExec], 0), je(taken, T_NEAR); break;
        default: cmp(qword[rbx + kExec], 0), jne(taken, T_NEAR); break;
    }
}

void Emitter::choose(const BasicBlock& block) {
    Xbyak::Label taken;
    jump_if_taken(block.branch.op, taken);
    go_on(block, block.next);
    L(taken);
    go_on(block, block.target);
}

/// From a block's end to the next one: a block that is only there for waves of any lanes goes back to the code for all lanes.
void Emitter::go_on(const BasicBlock& block, int32_t offset) {
    const auto to = whole_blocks_.find(offset);
    if (whole_blocks_[static_cast<int32_t>(block.offset)].any_lanes && to != whole_blocks_.end() && !to->second.any_lanes) {
        cmp(qword[rbx + kExec], -1);
        je(entry_labels_[offset], T_NEAR);
    }
    if (to != whole_blocks_.end() && looks_at_rows(block, to->second)) return jmp(entry_labels_[offset], T_NEAR);
    go(offset);
}

void Emitter::block(const BasicBlock& block) {
    align(64);
    L(block_labels_[static_cast<int32_t>(block.offset)]);
    const unsigned count = block.count();
    if (count != 0) {
        Xbyak::Label enough;
        cmp(r13, count);
        jae(enough, T_NEAR);
        leave(static_cast<int32_t>(block.offset));
        L(enough);
        sub(r13, count);
    }
    rows_noted_ = false;
    note_rows_written();
    steps(block, 0, block.steps.size());
    forget_uniform();
    note_past_first(block);
    if (block.end == BlockEnd::Next && !block.steps.empty() && block.steps.back().writes_exec &&
        entry_labels_.contains(block.next)) {
        cmp(qword[rbx + kExec], -1);
        je(entry_labels_[block.next], T_NEAR);
        return go(block.next);
    }
    switch (block.end) {
        case BlockEnd::Branch: return go_on(block, block.target);
        case BlockEnd::Choice: return choose(block);
        case BlockEnd::Next: return go_on(block, block.next);
        case BlockEnd::Leave: return leave(block.next);
    }
}

void Emitter::emit_segment(const Segment& segment) {
    const auto scalars = [this](const auto& all) {
        for (const auto& [inst, op] : all) {
            if (touches(op.uses.writes, kExecLo)) uniform_rows();
            op.emit(*this, *inst);
            forget_uniform_masks(op.uses.writes);
        }
    };
    scalars(segment.before);
    if (!segment.vector.empty()) vector_segment(segment.vector);
    scalars(segment.after);
}

/// Some of the block's steps, of any lanes.
void Emitter::steps(const BasicBlock& block, size_t first, size_t last) {
    look_for_uniform(block, first, last);
    Segment segment;
    const auto flush = [&] {
        emit_segment(segment);
        segment = {};
    };
    for (size_t i = first; i < last; ++i) {
        const Step& step = block.steps[i];
        if (has_no_effect(step.inst)) continue;
        const StepPlan& plan = plan_of(block, i);
        if (const VectorOp& op = plan.vector; op.emit != nullptr) {
            if (segment.add(op)) continue;
            flush();
            segment.add(op);
            continue;
        }
        if (const ScalarOp& op = plan.scalar; op.emit != nullptr) {
            segment.add(step.inst, op);
            continue;
        }
        flush();
        if (step.ends) {
            end_wave(step);
            continue;
        }
        any_step(block, i);
    }
    flush();
    if (first == last || !block.steps[last - 1].ends) uniform_rows();
}

/// A step that is no vector or scalar instruction with an emitter.
void Emitter::any_step(const BasicBlock& block, size_t i) {
    const Step& step = block.steps[i];
    const auto done = static_cast<unsigned>(i) + 1;
    if (step.inst.op == Op::s_barrier) {
        uniform_rows();
        ask(step, Request::Barrier);
        return stop(block, step, done);
    }
    if (!step.can_stop && transcendental(step.inst)) return;
    uniform_rows();
    forget_uniform_of(block, i);
    if (step.can_stop ? memory(block, step, done) : matrix(step.inst)) return;
    call_handler(block, step, done);
}

/// What the function of an instruction asks for that does nothing else.
void Emitter::ask(const Step& step, Request request) {
    lea(rax, ptr[r14 + static_cast<int>(step.offset + step.inst.size_bytes)]);
    mov(ptr[rbx + kPc], rax);
    mov(rdi, ptr[r12 + offset_of(offsetof(CodeFrame, context))]);
    static_assert(sizeof(ExecContext::request) == 1 && sizeof(ExecContext::yield) == 1);
    mov(byte[rdi + offset_of(offsetof(ExecContext, request))], static_cast<uint8_t>(request));
    mov(byte[rdi + offset_of(offsetof(ExecContext, yield))], 1);
}

void Emitter::end_wave(const Step& step) {
    ask(step, Request::End);
    jmp(exit_, T_NEAR);
}

/// @param done  instructions of the block up to the one that stops
void Emitter::stop(const BasicBlock& block, const Step& step, unsigned done) {
    complete_rows();
    lea(rax, ptr[r14 + static_cast<int>(step.offset)]);
    mov(ptr[r12 + offset_of(offsetof(CodeFrame, stopped_at))], rax);
    if (const unsigned left = block.count() - done; left != 0) add(r13, left);
    jmp(exit_, T_NEAR);
}

/// The interpreter's function for one instruction. @param done  instructions of the block up to it
void Emitter::call_handler(const BasicBlock& block, const Step& step, unsigned done) {
    const int next = static_cast<int>(step.offset + step.inst.size_bytes);
    mov(rdi, ptr[r12 + offset_of(offsetof(CodeFrame, context))]);
    mov(rsi, reinterpret_cast<uint64_t>(&step.inst));
    if (step.can_stop) {
        lea(rax, ptr[r14 + next]);
        mov(ptr[rbx + kPc], rax);
    }
    mov(rax, reinterpret_cast<uint64_t>(step.fn));
    vzeroupper();
    call(rax);
    if (!step.can_stop) return;
    Xbyak::Label goes_on;
    mov(rdi, ptr[r12 + offset_of(offsetof(CodeFrame, context))]);
    mov(al, ptr[rdi + offset_of(offsetof(ExecContext, fault))]);
    or_(al, ptr[rdi + offset_of(offsetof(ExecContext, yield))]);
    jz(goes_on, T_NEAR);
    stop(block, step, done);
    L(goes_on);
}

Xbyak::Address Emitter::scalar32(unsigned operand) {
    if (operand == kM0) return dword[rbx + kM0Offset];
    if (operand >= kExecLo) return dword[rbx + (kExec + static_cast<int>(operand - kExecLo) * 4)];
    return dword[rbx + (kSgpr + static_cast<int>(config_.physical(operand)) * 4)];
}

Xbyak::Address Emitter::scalar64(unsigned operand) { return qword[scalar32(operand).getRegExp()]; }

// Vector segments ---------------------------------------------------------------------------------------------------------

void Emitter::vector_segment(const std::vector<VectorOp>& ops) {
    std::vector<const VectorOp*> pointers;
    pointers.reserve(ops.size());
    for (const VectorOp& op : ops) pointers.push_back(&op);
    now_ = together(std::move(pointers));
    written_masks_.clear();
    bool writes_exec = false;
    registers_ = std::ranges::any_of(ops, has_wide_operands) ? kScratch : static_cast<unsigned>(held_.size());
    for (const VectorOp& op : ops) {
        if (op.mask_out < 0) continue;
        const auto pair = static_cast<unsigned>(op.mask_out);
        if (std::find(written_masks_.begin(), written_masks_.end(), pair) == written_masks_.end())
            written_masks_.push_back(pair);
        writes_exec |= op.uses.writes.test(kExecLo);
    }
    plan_uniform(ops);
    const bool has_uniform = std::ranges::find_if(once_, [](int slot) { return slot != kNoSlot; }) != once_.end();
    if (whole_ || has_uniform) kxnorq(k0, k0, k0);
    if (has_uniform) {
        held_ = {};
        has_wide_ = false;
        masks_ = {};
        last_mask_ = 7;
        strip_ = 0;
        const bool whole = std::exchange(whole_, true);
        uniform_part();
        whole_ = whole;
    }
    for (unsigned i = 0; i < written_masks_.size(); ++i) xor_(collector(i).cvt32(), collector(i).cvt32());
    // Two strips side by side: chains of dependent instructions take half the time. There is room for two masks that are
    // written and what one instruction needs besides.
    const unsigned together = written_masks_.size() <= 1 ? 2 : 1;
    const UniformValues before = uniform_;
    for (unsigned first = 0; first < kStrips; first += together) {
        uniform_ = before;
        vector_strips(ops, first, together);
    }
    write_masks([this](unsigned i) { return collector(i); });
    if (writes_exec) uniform_rows();
    for (unsigned i = 0; i < written_masks_.size(); ++i) {
        if (writes_exec && static_cast<int>(written_masks_[i]) == ops.back().mask_out) mov(ptr[rbx + kExec], collector(i));
    }
}

void Emitter::vector_strips(const std::vector<VectorOp>& ops, unsigned first, unsigned count) {
    Xbyak::Label skip;
    held_ = {};
    has_wide_ = false;
    masks_ = {};
    first_strip_ = first;
    first_mask_ = whole_ ? 1 : 2;
    last_mask_ = whole_ || count == 1 ? 7 : 6;
    if (!whole_) {
        for (unsigned strip = first; strip < first + count; ++strip)
            kmovw(exec_of(strip), ptr[rbx + (kExec + static_cast<int>(strip) * 2)]);
        kortestw(exec_of(first), exec_of(first + count - 1));
        jz(skip, T_NEAR);
    }
    for (at_ = 0; at_ < ops.size(); ++at_) {
        for (strip_ = first; strip_ < first + count; ++strip_) {
            if (is_passed(at_)) {
                pass_uniform(ops[at_]);
                continue;
            }
            ops[at_].emit(*this, ops[at_]);
            release_pins();
        }
        note_results(ops[at_], once_[at_]);
    }
    for (unsigned reg = 0; reg < held_.size(); ++reg) {
        if (held_[reg].dirty) write_back(reg);
    }
    for (unsigned k = first_mask_; k < masks_.size(); ++k) {
        if (!masks_[k].dirty) continue;
        const auto index = std::find(written_masks_.begin(), written_masks_.end(), static_cast<unsigned>(masks_[k].pair));
        const Xbyak::Reg64 to = collector(static_cast<unsigned>(index - written_masks_.begin()));
        kmovw(eax, Xbyak::Opmask(static_cast<int>(k)));
        if (masks_[k].strip != 0) shl(rax, static_cast<int>(masks_[k].strip * kStripLanes));
        or_(to, rax);
    }
    L(skip);
}

}  // namespace lyra::gcn
