// SPDX-License-Identifier: MIT
// Memory instructions in generated code: a call of the fast function, or scalar loads in place; what is not plain memory is
// left to the interpreter's function; step 6 of the data flow.
#include <algorithm>
#include <array>
#include <utility>

#include "gcn-interp/exec/fast_memory.h"
#include "gcn-interp/isa/memory_shape.h"
#include "gcn-interp/translator/emitter.h"

namespace lyra::gcn {
namespace {

template <size_t... I>
constexpr std::array<MemoryShape, kOpCount> shapes(std::index_sequence<I...>) {
    return {MemoryShape{}, memory_shape(static_cast<Op>(I + 1))...};
}
constexpr auto kShapes = shapes(std::make_index_sequence<kOpCount - 1>{});

constexpr uint8_t kGlobal = 2;

template <class Fn>
uint64_t address_of(Fn* fn) {
    return reinterpret_cast<uint64_t>(fn);
}

/// A load into half of a register, of which some chips with AccVGPRs do not keep the other half: see exec/d16.h.
bool may_clear_half(const MemoryShape& shape, const CodeConfig& config) {
    return config.acc_first != 0 && shape.d16 && shape.direction == Direction::Load;
}

}  // namespace

/// The VGPRs that an instruction names are all the wave's.
bool Emitter::has_rows(unsigned first, unsigned count) const { return first != kNoOperand && first + count <= config_.vgprs; }

/// In code for all lanes it is enough to look once in a block: while waves run, nothing changes translations but what the
/// interpreter's functions do, and they see to the TLB themselves.
void Emitter::unless_translations_changed(Xbyak::Label& changed) {
    if (translations_known_) return;
    translations_known_ = looks_once_;
    mov(rax, ptr[r12 + static_cast<int>(offsetof(CodeFrame, generation))]);
    mov(rcx, ptr[r12 + static_cast<int>(offsetof(CodeFrame, seen_generation))]);
    mov(rax, ptr[rax]);
    cmp(rax, ptr[rcx]);
    jne(changed, T_NEAR);
}

void Emitter::call_fast(uint64_t function, Xbyak::Label& slow) {
    mov(rax, function);
    call(rax);
    test(al, al);
    jz(slow, T_NEAR);
}

bool Emitter::global_memory(const Inst& inst, Xbyak::Label& slow) {
    const MemoryShape& shape = kShapes[op_index(inst.op)];
    const bool loads = shape.direction == Direction::Load;
    if (inst.format != Format::FLAT || inst.seg != kGlobal || inst.lds || (!loads && shape.direction != Direction::Store))
        return false;
    if (may_clear_half(shape, config_)) return false;
    const FastMoves moves = fast_moves(lane_memory::element(shape));
    const unsigned rows = loads ? inst.dst : inst.vdata;
    const bool has_base = inst.saddr != kNoOperand;
    if ((loads ? address_of(moves.load) : address_of(moves.store)) == 0) return false;
    if (!has_rows(rows, lane_memory::element(shape).words()) || !has_rows(inst.vaddr, has_base ? 1 : 2)) return false;
    if (has_base && !are_scalar_registers(inst.saddr, 2, config_)) return false;
    unless_translations_changed(slow);
    lea(rdi, all_rows(rows));
    lea(rsi, all_rows(inst.vaddr));
    if (has_base)
        xor_(edx, edx);
    else
        lea(rdx, all_rows(inst.vaddr + 1u));
    mov(rcx, static_cast<uint64_t>(static_cast<int64_t>(inst.imm)));
    if (has_base) add(rcx, scalar64(inst.saddr));
    mov(r8, ptr[rbx + kExec]);
    mov(r9, ptr[r12 + static_cast<int>(loads ? offsetof(CodeFrame, reads) : offsetof(CodeFrame, writes))]);
    call_fast(loads ? address_of(moves.load) : address_of(moves.store), slow);
    return true;
}

bool Emitter::lds_memory(const Inst& inst, Xbyak::Label& slow) {
    const MemoryShape& shape = kShapes[op_index(inst.op)];
    const bool loads = shape.direction == Direction::Load;
    const InstInfo& row = info(inst.op);
    if (inst.format != Format::DS || inst.gds || (!loads && shape.direction != Direction::Store)) return false;
    if (row.has(flag::Swizzle | flag::Gws | flag::ReadsM0 | flag::NoMemory) || shape.bytes == 0) return false;
    if (may_clear_half(shape, config_)) return false;
    const lane_memory::Shape element = lane_memory::element(shape);
    const FastMoves moves = fast_moves(element);
    const uint64_t function = loads ? address_of(moves.load_lds) : address_of(moves.store_lds);
    const unsigned words = element.words(), first = loads ? inst.dst : inst.vdata;
    if (function == 0 || !has_rows(first, words) || !has_rows(inst.vaddr, 1)) return false;
    const auto move = [&](unsigned rows, uint32_t plus) {
        lea(rdi, all_rows(rows));
        lea(rsi, all_rows(inst.vaddr));
        mov(edx, plus);
        mov(rcx, ptr[rbx + kExec]);
        mov(r8, ptr[r12 + static_cast<int>(offsetof(CodeFrame, lds))]);
        mov(r9d, ptr[r12 + static_cast<int>(offsetof(CodeFrame, lds_bytes))]);
        call_fast(function, slow);
    };
    if (shape.count == 1) {
        move(first, static_cast<uint32_t>(inst.imm) & 0xffff);
        return true;
    }
    const unsigned second = loads ? first + words : inst.vdata2;
    // When the second one cannot be fast the handler does both, the first one again: its addresses have to be there still.
    if (shape.count != 2 || !has_rows(second, words) || (loads && inst.vaddr >= first && inst.vaddr < first + words))
        return false;
    const uint32_t unit = element.bytes * (row.has(flag::TwoSt64) ? 64u : 1u);
    move(first, (static_cast<uint32_t>(inst.imm) & 0xff) * unit);
    move(second, inst.imm2 * unit);
    return true;
}

void Emitter::call_routine(const Routine& routine, Xbyak::Label& slow) {
    call(routines_[routine]);
    jnz(slow, T_NEAR);
}

std::optional<Emitter::PlainMove> Emitter::plain_move(const Inst& inst) const {
    const MemoryShape& shape = kShapes[op_index(inst.op)];
    const InstInfo& row = info(inst.op);
    const bool global = inst.format == Format::FLAT && inst.seg == kGlobal && !inst.lds, has_base = inst.saddr != kNoOperand;
    if (!global && (inst.format != Format::DS || inst.gds)) return std::nullopt;
    if (shape.direction != Direction::Load && shape.direction != Direction::Store) return std::nullopt;
    if ((shape.bytes != 4 && shape.bytes != 8 && (shape.bytes != 16 || !global)) || shape.d16 || shape.hi || shape.sign)
        return std::nullopt;
    const unsigned words = shape.bytes / 4u, elements = global ? 1 : shape.count;
    PlainMove move{{global, shape.direction == Direction::Load, global && !has_base, words, elements}, {}, {}};
    const Routine& routine = move.routine;
    move.rows[0] = routine.loads ? inst.dst : inst.vdata;
    move.rows[1] = routine.loads ? move.rows[0] + words : inst.vdata2;
    for (unsigned element = 0; element < std::min(elements, 2u); ++element) {
        if (!has_rows(move.rows[element], words)) return std::nullopt;
    }
    if (!has_rows(inst.vaddr, routine.high ? 2 : 1)) return std::nullopt;
    if (global) {
        if (has_base && !are_scalar_registers(inst.saddr, 2, config_)) return std::nullopt;
        return move;
    }
    if (row.has(flag::Swizzle | flag::Gws | flag::ReadsM0 | flag::NoMemory)) return std::nullopt;
    // The second elements of all lanes are stored behind the first ones of all: here strips would mix them.
    if (elements > 2 || (elements == 2 && !routine.loads)) return std::nullopt;
    move.plus[0] = static_cast<uint32_t>(inst.imm) & 0xffff;
    if (elements == 2) {
        const uint32_t unit = shape.bytes * (row.has(flag::TwoSt64) ? 64u : 1u);
        move.plus = {(static_cast<uint32_t>(inst.imm) & 0xff) * unit, inst.imm2 * unit};
    }
    return move;
}

/// rdi: what is added to the addresses in VGPRs.
void Emitter::global_base(const Inst& inst) {
    if (inst.saddr != kNoOperand) {
        mov(rdi, scalar64(inst.saddr));
        if (inst.imm != 0) add(rdi, inst.imm);
    } else {
        inst.imm == 0 ? xor_(edi, edi) : mov(rdi, static_cast<uint64_t>(static_cast<int64_t>(inst.imm)));
    }
}

bool Emitter::global_strips(const Inst& inst, Xbyak::Label& slow) {
    const std::optional<PlainMove> move = plain_move(inst);
    if (!move || !move->routine.global || move->routine.words > 2) return false;
    unless_translations_changed(slow);
    lea(rsi, all_rows(inst.vaddr));
    if (move->routine.high) lea(rdx, ptr[rsi + static_cast<int>(sizeof(VgprRow))]);
    lea(rcx, all_rows(move->rows[0]));
    global_base(inst);
    call_routine(move->routine, slow);
    return true;
}

bool Emitter::lds_strips(const Inst& inst, Xbyak::Label& slow) {
    const std::optional<PlainMove> move = plain_move(inst);
    if (!move || move->routine.global) return false;
    lea(rsi, all_rows(inst.vaddr));
    lea(rcx, all_rows(move->rows[0]));
    if (move->routine.elements == 2) {
        lea(r9, all_rows(move->rows[1]));
        mov(r8, static_cast<uint64_t>(static_cast<int64_t>(move->plus[1]) - static_cast<int64_t>(move->plus[0])));
        vpbroadcastd(zmm19, r8d);
    }
    mov(rdi, ptr[r12 + static_cast<int>(offsetof(CodeFrame, lds))]);
    mov(edx, ptr[r12 + static_cast<int>(offsetof(CodeFrame, lds_bytes))]);
    sub(edx, move->routine.words * 4);
    jb(slow, T_NEAR);
    vpbroadcastd(zmm17, edx);
    mov(eax, 0u - move->plus[0]);
    vpbroadcastd(zmm16, eax);
    call_routine(move->routine, slow);
    return true;
}

/// A store, or an atomic operation that returns nothing.
bool Emitter::writes_no_vgpr(const Inst& inst) {
    if (inst.format != Format::DS && inst.format != Format::FLAT) return false;
    const Direction direction = kShapes[op_index(inst.op)].direction;
    if (inst.format == Format::DS && info(inst.op).dst_dwords() != 0) return false;  // also ds_append, ds_consume
    return direction == Direction::Store || (direction == Direction::Atomic && !(inst.format == Format::FLAT && inst.glc));
}

unsigned Emitter::scalar_load_dwords(const Inst& inst) { return kShapes[op_index(inst.op)].bytes / 4; }

/// s_load_dword* of registers that the wave has.
bool Emitter::is_plain_scalar_load(const Inst& inst) const {
    switch (inst.op) {
        case Op::s_load_dword:
        case Op::s_load_dwordx2:
        case Op::s_load_dwordx4:
        case Op::s_load_dwordx8:
        case Op::s_load_dwordx16: break;
        default: return false;
    }
    const unsigned bytes = kShapes[op_index(inst.op)].bytes, words = bytes / 4;
    if (inst.dst >= kFlatScratchLo || inst.dst + words > std::min<unsigned>(config_.sgprs, kFlatScratchLo)) return false;
    if (!are_scalar_registers(inst.saddr, 2, config_)) return false;
    return inst.soffset == kNoOperand || are_scalar_registers(inst.soffset, 1, config_);
}

/// A scalar load of plain memory, from the TLB's entry of the address.
bool Emitter::scalar_memory(const Inst& inst, Xbyak::Label& slow, const Xbyak::Zmm& scratch) {
    if (!is_plain_scalar_load(inst)) return false;
    const Inst* const load = &inst;
    scalar_loads({&load, 1}, slow, scratch);
    return true;
}

/// Scalar loads with one base that follow each other are one: kernels read their arguments so.
Emitter::ScalarLoads Emitter::scalar_loads_from(const BasicBlock& block, size_t first) const {
    constexpr int kReach = 256;  ///< bytes
    const Inst& inst = block.steps[first].inst;
    ScalarLoads out;
    auto& [steps, loads, read, written] = out;
    read.set(inst.saddr).set(inst.saddr + 1u);
    if (inst.soffset != kNoOperand) read.set(config_.physical(inst.soffset));
    read.set(config_.physical(inst.saddr)).set(config_.physical(inst.saddr + 1u));
    for (size_t i = first; i < block.steps.size(); ++i) {
        const Inst& next = block.steps[i].inst;
        if (has_no_effect(next)) continue;
        if (!plan_of(block, i).scalar_load || (written & read).any()) break;
        const bool with_first = next.saddr == inst.saddr && next.soffset == kNoOperand && inst.soffset == kNoOperand &&
                                next.imm >= 0 && next.imm < kReach && inst.imm >= 0 && inst.imm < kReach;
        if (i != first && !with_first) break;
        steps.push_back(i);
        loads.push_back(&next);
        for (unsigned n = 0; n < scalar_load_dwords(next); ++n) written.set(next.dst + n);
    }
    return out;
}

/// The same for several with one base and without offsets in registers. Only the last one may replace the base.
void Emitter::scalar_loads(std::span<const Inst* const> loads, Xbyak::Label& slow, const Xbyak::Zmm& scratch) {
    const auto bytes_of = [](const Inst& inst) { return static_cast<int>(kShapes[op_index(inst.op)].bytes); };
    const auto offset_of = [](const Inst& inst) { return inst.imm_offset ? inst.imm & ~3 : 0; };
    int first = offset_of(*loads.front()), end = first;
    for (const Inst* inst : loads) {
        first = std::min(first, offset_of(*inst));
        end = std::max(end, offset_of(*inst) + bytes_of(*inst));
    }
    const Inst& inst = *loads.front();
    unless_translations_changed(slow);
    mov(rax, scalar64(inst.saddr));
    and_(rax, -4);
    if (inst.soffset != kNoOperand) {
        mov(ecx, scalar32(inst.soffset));
        and_(ecx, -4);
        add(rax, rcx);
    }
    if (first != 0) add(rax, first);
    mov(rcx, rax);
    tlb_entry(rcx, rdx, true);
    mov(rdx, rax);
    sub(rdx, ptr[rcx + static_cast<int>(offsetof(TlbEntry, start))]);
    cmp(rdx, ptr[rcx + static_cast<int>(offsetof(TlbEntry, size))]);
    jae(slow, T_NEAR);
    add(rdx, end - first);
    cmp(rdx, ptr[rcx + static_cast<int>(offsetof(TlbEntry, size))]);
    ja(slow, T_NEAR);
    add(rax, ptr[rcx + static_cast<int>(offsetof(TlbEntry, bias))]);
    for (const Inst* each : loads) {
        const Xbyak::RegExp to = scalar32(each->dst).getRegExp(), from = rax + (offset_of(*each) - first);
        switch (bytes_of(*each)) {
            case 4: mov(ecx, ptr[from]), mov(dword[to], ecx); break;
            case 8: mov(rcx, ptr[from]), mov(qword[to], rcx); break;
            default: copy(to, from, bytes_of(*each), scratch); break;
        }
    }
}

void Emitter::copy(const Xbyak::RegExp& to, const Xbyak::RegExp& from, int bytes, const Xbyak::Zmm& scratch) {
    const auto move = [&](const auto& reg) { vmovdqu32(reg, ptr[from]), vmovdqu32(ptr[to], reg); };
    switch (bytes) {
        case 16: return move(Xbyak::Xmm(scratch.getIdx()));
        case 32: return move(Xbyak::Ymm(scratch.getIdx()));
        default: return move(scratch);
    }
}

/// A memory instruction: the fast way, and the interpreter's function where that does not go.
bool Emitter::memory(const BasicBlock& block, const Step& step, unsigned done) {
    Xbyak::Label slow, end;
    const Inst& inst = step.inst;
    if (!global_strips(inst, slow) && !lds_strips(inst, slow) && !global_memory(inst, slow) && !lds_memory(inst, slow) &&
        !scalar_memory(inst, slow, zmm0))
        return false;
    jmp(end, T_NEAR);
    L(slow);
    call_handler(block, step, done);
    L(end);
    return true;
}

}  // namespace lyra::gcn
