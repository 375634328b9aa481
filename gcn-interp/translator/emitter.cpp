// SPDX-License-Identifier: MIT
// Blocks, segments and exits of generated code; step 6 of the data flow.
#include "gcn-interp/translator/emitter.h"

#include <algorithm>
#include <utility>

#include "gcn-interp/isa/op.h"
#include "gcn-interp/translator/emit_whole.h"
#include "gcn-interp/wave/operand.h"

namespace lyra::gcn {
namespace {

constexpr int offset_of(size_t offset) { return static_cast<int>(offset); }
constexpr int kPc = offset_of(offsetof(Wave, pc)), kScc = offset_of(offsetof(Wave, scc)),
              kVgpr = offset_of(offsetof(Wave, vgpr)), kSgpr = offset_of(offsetof(Wave, sgpr)),
              kM0Offset = offset_of(offsetof(Wave, m0));

/// Pairs of SGPRs that are lane masks of the instructions.
size_t masks_of(const std::vector<VectorOp>& ops) {
    ScalarSet pairs;
    for (const VectorOp& op : ops) {
        if (op.mask_in >= 0) pairs.set(static_cast<size_t>(op.mask_in));
        if (op.mask_out >= 0) pairs.set(static_cast<size_t>(op.mask_out));
    }
    return pairs.count();
}

bool has_wide_operands(const VectorOp& op) {
    const InstInfo& row = info(op.inst->op);
    bool wide = row.dst_dwords() > 1;
    for (unsigned n = 0; n < row.profile->sources(); ++n) wide |= row.src_dwords(n) > 1;
    return wide;
}

bool has_no_effect(const Inst& inst) { return inst.op == Op::s_nop || inst.op == Op::s_waitcnt; }

}  // namespace

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

Emitter::Output Emitter::generate(const Region& region, const Existing& existing) {
    existing_ = &existing;
    for (const BasicBlock& each : region.blocks) {
        block_labels_[static_cast<int32_t>(each.offset)];
        entry_labels_[static_cast<int32_t>(each.offset)];
        std::vector<StepPlan>& plans = plans_[&each];
        for (const Step& step : each.steps) plans.push_back(plan_step(step));
    }
    plan_whole(region);
    for (const BasicBlock& each : region.blocks) block(each);
    for (const BasicBlock& each : region.blocks) {
        align(16);
        output_.entries.emplace_back(each.offset, static_cast<uint32_t>(getSize()));
        whole_entry(each);
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

void Emitter::choose(const BasicBlock& block) {
    Xbyak::Label taken;
    switch (block.branch.op) {
        case Op::s_cbranch_scc0: cmp(byte[rbx + kScc], 0), je(taken, T_NEAR); break;
        case Op::s_cbranch_scc1: cmp(byte[rbx + kScc], 0), jne(taken, T_NEAR); break;
        case Op::s_cbranch_vccz: cmp(qword[scalar64(kVccLo).getRegExp()], 0), je(taken, T_NEAR); break;
        case Op::s_cbranch_vccnz: cmp(qword[scalar64(kVccLo).getRegExp()], 0), jne(taken, T_NEAR); break;
        case Op::s_cbranch_execz: cmp(qword[rbx + kExec], 0), je(taken, T_NEAR); break;
        default: cmp(qword[rbx + kExec], 0), jne(taken, T_NEAR); break;
    }
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

/// Some of the block's steps, of any lanes.
void Emitter::steps(const BasicBlock& block, size_t first, size_t last) {
    Segment segment;
    const auto flush = [&] {
        for (const auto& [inst, op] : segment.before) op.emit(*this, *inst);
        if (!segment.vector.empty()) vector_segment(segment.vector);
        for (const auto& [inst, op] : segment.after) op.emit(*this, *inst);
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
        if (step.can_stop ? memory(block, step, static_cast<unsigned>(i) + 1) : transcendental(step.inst)) continue;
        call_handler(block, step, static_cast<unsigned>(i) + 1);
    }
    flush();
}

/// s_endpgm: what its function asks for.
void Emitter::end_wave(const Step& step) {
    lea(rax, ptr[r14 + static_cast<int>(step.offset + step.inst.size_bytes)]);
    mov(ptr[rbx + kPc], rax);
    mov(rdi, ptr[r12 + offset_of(offsetof(CodeFrame, context))]);
    static_assert(sizeof(ExecContext::request) == 1 && sizeof(ExecContext::yield) == 1);
    mov(byte[rdi + offset_of(offsetof(ExecContext, request))], static_cast<uint8_t>(Request::End));
    mov(byte[rdi + offset_of(offsetof(ExecContext, yield))], 1);
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
    lea(rax, ptr[r14 + static_cast<int>(step.offset)]);
    mov(ptr[r12 + offset_of(offsetof(CodeFrame, stopped_at))], rax);
    if (const unsigned left = block.count() - done; left != 0) add(r13, left);
    jmp(exit_, T_NEAR);
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
    for (unsigned i = 0; i < written_masks_.size(); ++i) xor_(collector(i).cvt32(), collector(i).cvt32());
    // Two strips side by side: chains of dependent instructions take half the time. Masks of two do not always have room.
    const unsigned together = masks_of(ops) <= 1 ? 2 : 1;
    for (unsigned first = 0; first < kStrips; first += together) vector_strips(ops, first, together);
    for (unsigned i = 0; i < written_masks_.size(); ++i) {
        mov(scalar64(written_masks_[i]), collector(i));
        if (writes_exec && static_cast<int>(written_masks_[i]) == ops.back().mask_out) mov(ptr[rbx + kExec], collector(i));
    }
}

void Emitter::vector_strips(const std::vector<VectorOp>& ops, unsigned first, unsigned count) {
    Xbyak::Label skip;
    held_ = {};
    has_wide_ = false;
    masks_ = {};
    first_strip_ = first;
    last_mask_ = count == 1 ? 7 : 6;
    for (unsigned strip = first; strip < first + count; ++strip)
        kmovw(exec_of(strip), ptr[rbx + (kExec + static_cast<int>(strip) * 2)]);
    kortestw(exec_of(first), exec_of(first + count - 1));
    jz(skip, T_NEAR);
    for (at_ = 0; at_ < ops.size(); ++at_) {
        for (strip_ = first; strip_ < first + count; ++strip_) {
            ops[at_].emit(*this, ops[at_]);
            release_pins();
        }
    }
    for (unsigned reg = 0; reg < held_.size(); ++reg) {
        if (held_[reg].dirty) write_back(reg);
    }
    for (unsigned k = 2; k < masks_.size(); ++k) {
        if (!masks_[k].dirty) continue;
        const auto index = std::find(written_masks_.begin(), written_masks_.end(), static_cast<unsigned>(masks_[k].pair));
        const Xbyak::Reg64 to = collector(static_cast<unsigned>(index - written_masks_.begin()));
        kmovw(eax, Xbyak::Opmask(static_cast<int>(k)));
        if (masks_[k].strip != 0) shl(rax, static_cast<int>(masks_[k].strip * kStripLanes));
        or_(to, rax);
    }
    L(skip);
}

// Registers of a strip ----------------------------------------------------------------------------------------------------

void Emitter::note_rows_written() {
    if (!rows_noted_) mov(byte[r12 + offset_of(offsetof(CodeFrame, rows_written))], 1);
    rows_noted_ = true;
}

/// Inactive lanes keep what the row holds. In registers they hold anything: EXEC stays what it is within a segment.
void Emitter::write_back(unsigned reg) {
    note_rows_written();
    const auto vgpr = static_cast<unsigned>(held_[reg].key);
    const unsigned strip = held_[reg].strip;
    if (held_[reg].kind == Kind::Vgpr) {
        vmovdqa32(row(vgpr, strip) | exec_of(strip), Xbyak::Zmm(static_cast<int>(reg)));
        held_[reg].dirty = false;
        return;
    }
    std::array<int, 2> parts{};
    for (unsigned other = 0; other < held_.size(); ++other) {
        Held& held = held_[other];
        if ((held.kind != Kind::First && held.kind != Kind::Second) || held.key != vgpr || held.strip != strip) continue;
        parts[held.kind == Kind::Second] = static_cast<int>(other);
        held.dirty = false;
    }
    const Xbyak::Zmm half(static_cast<int>(kScratch));
    for (unsigned n = 0; n < 2; ++n) {
        vshufps(half, Xbyak::Zmm(parts[0]), Xbyak::Zmm(parts[1]), n == 0 ? 0x88 : 0xdd);
        vmovdqa32(row(vgpr + n, strip) | exec_of(strip), half);
    }
}

size_t Emitter::next_use(const Held& held) const {
    const bool wide = held.kind == Kind::First || held.kind == Kind::Second;
    if (held.kind != Kind::Vgpr && !wide) return held.kind == Kind::None ? ~size_t{0} : at_ + 8;
    const size_t next = held.strip > strip_ ? at_ : at_ + 1;
    const size_t never = now_.ops.size();
    size_t first = never;
    for (size_t vgpr = held.key; vgpr <= held.key + wide && vgpr < now_.reads.size(); ++vgpr) {
        const auto& reads = now_.reads[vgpr];
        if (const auto found = std::ranges::lower_bound(reads, next); found != reads.end())
            first = std::min<size_t>(first, *found);
    }
    if (first != never) return first;
    return held.dirty ? never : never + 1;
}

Emitter::Together Emitter::together(std::vector<const VectorOp*> ops) {
    Together out{std::move(ops), {}};
    for (size_t i = 0; i < out.ops.size(); ++i) {
        const VectorSet& reads = out.ops[i]->uses.vector_reads;
        for (size_t vgpr = reads._Find_first(); vgpr < reads.size(); vgpr = reads._Find_next(vgpr)) {
            if (out.reads.size() <= vgpr) out.reads.resize(vgpr + 1);
            out.reads[vgpr].push_back(static_cast<uint32_t>(i));
        }
    }
    return out;
}

Xbyak::Zmm Emitter::take_register() {
    int best = -1;
    size_t farthest = 0;
    for (unsigned reg = 0; reg < registers_; ++reg) {
        if (held_[reg].kind == Kind::None) {
            best = static_cast<int>(reg);
            break;
        }
        if (held_[reg].pinned) continue;
        if (const size_t use = next_use(held_[reg]); best < 0 || use > farthest) best = static_cast<int>(reg), farthest = use;
    }
    if (best < 0) throw Xbyak::Error(Xbyak::ERR_INTERNAL);  // more than one instruction may need
    Held& held = held_[static_cast<unsigned>(best)];
    if (held.dirty) write_back(static_cast<unsigned>(best));
    held = {};
    return Xbyak::Zmm(best);
}

void Emitter::release_pins() {
    for (Held& held : held_) {
        held.pinned = false;
        if (held.kind == Kind::Temporary) held = {};
    }
    for (Mask& mask : masks_) {
        mask.pinned = false;
        if (mask.pair == -2) mask = {};
    }
}

int Emitter::find(Kind kind, uint64_t key) const {
    for (unsigned reg = 0; reg < held_.size(); ++reg) {
        const bool here = (kind != Kind::Vgpr && kind != Kind::First && kind != Kind::Second) || held_[reg].strip == strip_;
        if (held_[reg].kind == kind && held_[reg].key == key && here) return static_cast<int>(reg);
    }
    return -1;
}

/// The pair that begins with a VGPR is only held as 64-bit lanes.
bool Emitter::is_dirty_wide(unsigned vgpr) const {
    if (!has_wide_) return false;
    const int reg = find(Kind::First, vgpr);
    return reg >= 0 && held_[static_cast<unsigned>(reg)].dirty;
}

/// If a VGPR is only held as half of 64-bit lanes, it and the other half come into registers of their own.
void Emitter::narrow_held(unsigned vgpr) {
    if (!has_wide_) return;
    for (const unsigned first : {vgpr, vgpr - 1}) {
        if (first > vgpr || !is_dirty_wide(first)) continue;
        const Wide wide{Xbyak::Zmm(find(Kind::First, first)), Xbyak::Zmm(find(Kind::Second, first))};
        std::array<bool, 2> pinned{};
        const auto held = [&](unsigned n) -> Held& {
            return held_[static_cast<unsigned>((n == 0 ? wide.first : wide.second).getIdx())];
        };
        for (unsigned n = 0; n < 2; ++n) pinned[n] = std::exchange(held(n).pinned, true);
        const Xbyak::Zmm low = temporary(), high = temporary();
        narrow(wide, low, high);
        held_[static_cast<unsigned>(low.getIdx())] = {Kind::Vgpr, true, true, first, strip_};
        held_[static_cast<unsigned>(high.getIdx())] = {Kind::Vgpr, true, true, first + 1, strip_};
        for (unsigned n = 0; n < 2; ++n) held(n).pinned = pinned[n], held(n).dirty = false;
    }
}

/// A VGPR gets another value: what holds it as half of 64-bit lanes does not any more.
void Emitter::forget_wide(unsigned vgpr) {
    if (!has_wide_) return;
    for (const unsigned first : {vgpr, vgpr - 1}) {
        if (first > vgpr) continue;
        for (const Kind part : {Kind::First, Kind::Second}) {
            if (const int reg = find(part, first); reg >= 0) held_[static_cast<unsigned>(reg)] = {};
        }
    }
}

Xbyak::Zmm Emitter::load(Kind kind, uint64_t key) {
    if (kind == Kind::Vgpr) narrow_held(static_cast<unsigned>(key));
    if (const int reg = find(kind, key); reg >= 0) {
        held_[static_cast<unsigned>(reg)].pinned = true;
        return Xbyak::Zmm(reg);
    }
    const Xbyak::Zmm reg = take_register();
    held_[static_cast<unsigned>(reg.getIdx())] = {kind, false, true, key, strip_};
    fill(static_cast<unsigned>(reg.getIdx()));
    return reg;
}

/// A register gets what it is said to hold.
void Emitter::fill(unsigned number) {
    const Xbyak::Zmm reg(static_cast<int>(number));
    const uint64_t key = held_[number].key;
    switch (held_[number].kind) {
        case Kind::Vgpr: vmovdqa32(reg, row(static_cast<unsigned>(key), held_[number].strip)); break;
        case Kind::First:
        case Kind::Second: {
            const unsigned strip = held_[number].strip;
            vmovdqa32(Xbyak::Zmm(static_cast<int>(kScratch)), row(static_cast<unsigned>(key), strip));
            const Xbyak::Address high = row(static_cast<unsigned>(key) + 1, strip);
            held_[number].kind == Kind::First ? vpunpckldq(reg, Xbyak::Zmm(static_cast<int>(kScratch)), high)
                                              : vpunpckhdq(reg, Xbyak::Zmm(static_cast<int>(kScratch)), high);
            break;
        }
        case Kind::Scalar: vpbroadcastd(reg, scalar32(static_cast<unsigned>(key))); break;
        case Kind::Constant:
            if (key == 0) {
                const Xbyak::Xmm part(reg.getIdx());
                if (reg.getIdx() < 16)
                    vpxor(part, part, part);
                else
                    vpxord(reg, reg, reg);
            } else {
                vpbroadcastd(reg, ptr[rip + pool(key)]);
            }
            break;
        case Kind::Constant64: vpbroadcastq(reg, ptr[rip + pool(key)]); break;
        default: break;
    }
}

Xbyak::Zmm Emitter::temporary() {
    const Xbyak::Zmm reg = take_register();
    held_[static_cast<unsigned>(reg.getIdx())] = {Kind::Temporary, false, true, 0, strip_};
    return reg;
}

Xbyak::Zmm Emitter::constant(uint32_t bits) { return load(Kind::Constant, bits); }
Xbyak::Zmm Emitter::constant64(uint64_t bits) { return load(Kind::Constant64, bits); }

/// Source 0 as the lanes of the strip see it; dpp_valid_ becomes those that have a source. The others read 0.
Xbyak::Zmm Emitter::through_dpp(const Inst& inst, const Xbyak::Zmm& value) {
    DppLabels& labels = dpp_pool_[inst.dpp_ctrl];
    const Xbyak::Zmm from = temporary(), active = temporary();
    dpp_valid_ = temporary_mask();
    vmovdqa32(from, ptr[rip + labels.from]);
    vpmovm2d(active, exec());
    vpermd(active, from, active);
    vpandd(active, active, ptr[rip + labels.valid]);
    vpmovd2m(dpp_valid_, active);
    vpermd(from | dpp_valid_ | T_z, from, value);
    return from;
}

/// Lanes that DPP does not let be written keep what they have.
void Emitter::keep_lanes(const Inst& inst, unsigned vgpr, const Xbyak::Zmm& value) {
    const auto enabled = static_cast<uint16_t>(dpp_enabled_lanes(inst) >> (strip_ * kStripLanes));
    if (inst.bound_ctrl && enabled == 0xffff) return;
    const Xbyak::Zmm before = load(Kind::Vgpr, vgpr);
    if (inst.bound_ctrl) {
        mov(eax, enabled);
    } else {
        kmovw(eax, dpp_valid_);
        and_(eax, enabled);
    }
    kmovw(dpp_valid_, eax);
    vpblendmd(value | dpp_valid_, before, value);
}

void Emitter::define(unsigned vgpr, const Xbyak::Zmm& value) {
    if (const Inst& inst = *now_.ops[at_]->inst; is_dpp(inst.format)) keep_lanes(inst, vgpr, value);
    for (const unsigned first : {vgpr, vgpr - 1}) {
        if (first <= vgpr && is_dirty_wide(first)) narrow_held(vgpr);  // the other half stays
    }
    forget_wide(vgpr);
    if (const int old = find(Kind::Vgpr, vgpr); old >= 0 && old != value.getIdx()) held_[static_cast<unsigned>(old)] = {};
    held_[static_cast<unsigned>(value.getIdx())] = {Kind::Vgpr, true, true, vgpr, strip_};
}

void Emitter::define_wide(unsigned vgpr, const Wide& value) {
    // Pairs that share one VGPR with this one keep the other.
    if (vgpr != 0 && is_dirty_wide(vgpr - 1)) narrow_held(vgpr - 1);
    if (is_dirty_wide(vgpr + 1)) narrow_held(vgpr + 2);
    for (const unsigned half : {vgpr, vgpr + 1}) {
        forget_wide(half);
        if (const int old = find(Kind::Vgpr, half); old >= 0) held_[static_cast<unsigned>(old)] = {};
    }
    has_wide_ = true;
    held_[static_cast<unsigned>(value.first.getIdx())] = {Kind::First, true, true, vgpr, strip_};
    held_[static_cast<unsigned>(value.second.getIdx())] = {Kind::Second, true, true, vgpr, strip_};
}

Xbyak::Zmm Emitter::operand(const VectorOp& op, unsigned number, unsigned half, unsigned dwords, bool is_float) {
    if (number >= kSrcVgpr0) return load(Kind::Vgpr, number - kSrcVgpr0 + half);
    if (const Constant value = constant_of(*op.inst, number, dwords, is_float); value.is_constant)
        return load(Kind::Constant, half == 0 ? lo32(value.bits) : hi32(value.bits));
    return load(Kind::Scalar, config_.physical(number) + half);
}

Xbyak::Zmm Emitter::source(const VectorOp& op, unsigned n) {
    const Inst& inst = *op.inst;
    const InstInfo& row = info(inst.op);
    const uint16_t number = inst.src[n] == kNoOperand ? static_cast<uint16_t>(kSrcVgpr0 + inst.dst) : inst.src[n];
    Xbyak::Zmm value = operand(op, number, 0, 1, true);
    const bool selects =
        inst.format == Format::VOP1_SDWA || inst.format == Format::VOP2_SDWA || inst.format == Format::VOPC_SDWA;
    if (selects && n < 2 && inst.src_sel[n] != 6) {
        const unsigned width = inst.src_sel[n] < 4 ? 8 : 16;
        const unsigned low = inst.src_sel[n] < 4 ? inst.src_sel[n] * 8u : (inst.src_sel[n] - 4u) * 16u;
        const Xbyak::Zmm part = temporary();
        if (inst.sext[n] || low + width != 32) {
            if (low + width != 32) {
                vpslld(part, value, static_cast<uint8_t>(32 - low - width));
                inst.sext[n] ? vpsrad(part, part, static_cast<uint8_t>(32 - width))
                             : vpsrld(part, part, static_cast<uint8_t>(32 - width));
            } else {
                vpsrad(part, value, static_cast<uint8_t>(32 - width));
            }
        } else {
            vpsrld(part, value, static_cast<uint8_t>(32 - width));
        }
        value = part;
    }
    if (n == 0 && is_dpp(inst.format)) value = through_dpp(inst, value);
    if (!row.float_source(n)) return value;
    return with_sign(inst, n, value);
}

/// abs, then neg of the dword that has the sign.
Xbyak::Zmm Emitter::with_sign(const Inst& inst, unsigned n, const Xbyak::Zmm& value) {
    const bool neg = inst.neg >> n & 1, abs = inst.abs >> n & 1;
    if (!neg && !abs) return value;
    const Xbyak::Zmm changed = temporary(), sign = constant(0x80000000);
    if (abs)
        neg ? vpord(changed, value, sign) : vpandnd(changed, sign, value);
    else
        vpxord(changed, value, sign);
    return changed;
}

Xbyak::Zmm Emitter::low_half(const VectorOp& op, unsigned n) {
    return operand(op, op.inst->src[n], 0, 2, info(op.inst->op).float_source(n));
}
Xbyak::Zmm Emitter::high_half(const VectorOp& op, unsigned n) {
    const bool is_float = info(op.inst->op).float_source(n);
    const Xbyak::Zmm value = operand(op, op.inst->src[n], 1, 2, is_float);
    return is_float ? with_sign(*op.inst, n, value) : value;
}

/// Lanes 0, 1, 4, 5, 8, 9, 12, 13 and 2, 3, 6, 7, 10, 11, 14, 15: so they interleave without crossing 128 bits.
Emitter::Wide Emitter::widen(const Xbyak::Zmm& low, const Xbyak::Zmm& high) {
    const Wide out{temporary(), temporary()};
    vpunpckldq(out.first, low, high);
    vpunpckhdq(out.second, low, high);
    return out;
}
void Emitter::narrow(const Wide& wide, const Xbyak::Zmm& low, const Xbyak::Zmm& high) {
    vshufps(low, wide.first, wide.second, 0x88);
    vshufps(high, wide.first, wide.second, 0xdd);
}
void Emitter::join_masks(const Xbyak::Opmask& first, const Xbyak::Opmask& second) {
    kmovw(eax, first);
    kmovw(ecx, second);
    mov(edx, 0x3333);
    pdep(eax, eax, edx);
    not_(edx);
    pdep(ecx, ecx, edx);
    or_(eax, ecx);
    kmovw(first, eax);
}

Emitter::Wide Emitter::wide_source(const VectorOp& op, unsigned n) {
    const unsigned number = op.inst->src[n];
    const bool is_float = info(op.inst->op).float_source(n);
    if (number < kSrcVgpr0) {
        Constant value = constant_of(*op.inst, number, 2, is_float);
        if (value.is_constant) {
            if (is_float && (op.inst->abs >> n & 1)) value.bits &= ~(uint64_t{1} << 63);
            if (is_float && (op.inst->neg >> n & 1)) value.bits ^= uint64_t{1} << 63;
            const Xbyak::Zmm all = constant64(value.bits);
            return {all, all};
        }
    }
    const bool changed = is_float && ((op.inst->abs | op.inst->neg) >> n & 1) != 0;
    if (number < kSrcVgpr0 || changed) return widen(low_half(op, n), high_half(op, n));
    const unsigned vgpr = number - kSrcVgpr0;
    const int first = find(Kind::First, vgpr), second = find(Kind::Second, vgpr);
    if (first >= 0 && second >= 0) {
        for (const int part : {first, second}) held_[static_cast<unsigned>(part)].pinned = true;
        return {Xbyak::Zmm(first), Xbyak::Zmm(second)};
    }
    const Wide wide = widen(low_half(op, n), high_half(op, n));
    for (const int part : {first, second}) {
        if (part >= 0) held_[static_cast<unsigned>(part)] = {};
    }
    has_wide_ = true;
    held_[static_cast<unsigned>(wide.first.getIdx())] = {Kind::First, false, true, vgpr, strip_};
    held_[static_cast<unsigned>(wide.second.getIdx())] = {Kind::Second, false, true, vgpr, strip_};
    return wide;
}

Xbyak::Zmm Emitter::consumed_source(const VectorOp& op, unsigned n) {
    const Xbyak::Zmm value = source(op, n);
    Held& held = held_[static_cast<unsigned>(value.getIdx())];
    if (held.kind == Kind::Temporary) return value;
    if (held.kind == Kind::Vgpr && held.key == op.inst->dst && !is_dpp(op.inst->format)) {
        held = {Kind::Temporary, false, true, 0, strip_};
        return value;
    }
    const Xbyak::Zmm copy = temporary();
    vmovdqa32(copy, value);
    return copy;
}

// Masks -------------------------------------------------------------------------------------------------------------------

Xbyak::Opmask Emitter::take_mask() {
    for (unsigned k = first_mask_; k <= last_mask_; ++k) {
        if (masks_[k].pair == -1) return Xbyak::Opmask(static_cast<int>(k));
    }
    for (unsigned k = first_mask_; k <= last_mask_; ++k) {
        if (masks_[k].pair >= 0 && !masks_[k].dirty && !masks_[k].pinned) return Xbyak::Opmask(static_cast<int>(k));
    }
    throw Xbyak::Error(Xbyak::ERR_INTERNAL);  // more masks than a segment may have
}

Xbyak::Opmask Emitter::temporary_mask() {
    const Xbyak::Opmask k = take_mask();
    masks_[static_cast<unsigned>(k.getIdx())] = {-2, false, true, strip_};
    return k;
}

Xbyak::Opmask Emitter::mask(unsigned pair) {
    for (unsigned k = first_mask_; k < masks_.size(); ++k) {
        if (masks_[k].pair != static_cast<int>(pair) || masks_[k].strip != strip_) continue;
        masks_[k].pinned = true;
        return Xbyak::Opmask(static_cast<int>(k));
    }
    const Xbyak::Opmask k = take_mask();
    masks_[static_cast<unsigned>(k.getIdx())] = {static_cast<int>(pair), false, true, strip_};
    kmovw(k, ptr[(scalar32(pair).getRegExp() + static_cast<int>(strip_) * 2)]);
    return k;
}

void Emitter::define_mask(unsigned pair, const Xbyak::Opmask& value) {
    for (Mask& mask : masks_) {
        if (mask.pair == static_cast<int>(pair) && mask.strip == strip_) mask = {};
    }
    masks_[static_cast<unsigned>(value.getIdx())] = {static_cast<int>(pair), true, true, strip_};
}

}  // namespace lyra::gcn
