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

}  // namespace

/// The VGPRs that an instruction names are all the wave's.
bool Emitter::has_rows(unsigned first, unsigned count) const { return first != kNoOperand && first + count <= config_.vgprs; }

void Emitter::unless_translations_changed(Xbyak::Label& changed) {
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

bool Emitter::global_strips(const Inst& inst, Xbyak::Label& slow) {
    const MemoryShape& shape = kShapes[op_index(inst.op)];
    const bool has_base = inst.saddr != kNoOperand;
    const Routine routine{true, shape.direction == Direction::Load, !has_base, shape.bytes / 4u, 1};
    const unsigned rows = routine.loads ? inst.dst : inst.vdata;
    if (inst.format != Format::FLAT || inst.seg != kGlobal || inst.lds) return false;
    if (!routine.loads && shape.direction != Direction::Store) return false;
    if ((shape.bytes != 4 && shape.bytes != 8) || shape.d16 || shape.hi || shape.sign) return false;
    if (!has_rows(rows, routine.words) || !has_rows(inst.vaddr, has_base ? 1 : 2)) return false;
    if (has_base && !are_scalar_registers(inst.saddr, 2, config_)) return false;
    unless_translations_changed(slow);
    lea(rsi, all_rows(inst.vaddr));
    if (!has_base) lea(rdx, ptr[rsi + static_cast<int>(sizeof(VgprRow))]);
    lea(rcx, all_rows(rows));
    if (has_base) {
        mov(rdi, scalar64(inst.saddr));
        if (inst.imm != 0) add(rdi, inst.imm);
    } else {
        inst.imm == 0 ? xor_(edi, edi) : mov(rdi, static_cast<uint64_t>(static_cast<int64_t>(inst.imm)));
    }
    call_routine(routine, slow);
    return true;
}

bool Emitter::lds_strips(const Inst& inst, Xbyak::Label& slow) {
    const MemoryShape& shape = kShapes[op_index(inst.op)];
    const InstInfo& row = info(inst.op);
    const Routine routine{false, shape.direction == Direction::Load, false, shape.bytes / 4u, shape.count};
    if (inst.format != Format::DS || inst.gds || (!routine.loads && shape.direction != Direction::Store)) return false;
    if (row.has(flag::Swizzle | flag::Gws | flag::ReadsM0 | flag::NoMemory)) return false;
    if ((shape.bytes != 4 && shape.bytes != 8) || shape.d16 || shape.hi || shape.sign || shape.count > 2) return false;
    // The second elements of all lanes are stored behind the first ones of all: here strips would mix them.
    if (!routine.loads && shape.count == 2) return false;
    const unsigned first = routine.loads ? inst.dst : inst.vdata, second = routine.loads ? first + routine.words : inst.vdata2;
    if (!has_rows(first, routine.words) || !has_rows(inst.vaddr, 1)) return false;
    if (routine.elements == 2 && !has_rows(second, routine.words)) return false;
    uint32_t plus = static_cast<uint32_t>(inst.imm) & 0xffff;
    lea(rsi, all_rows(inst.vaddr));
    lea(rcx, all_rows(first));
    if (routine.elements == 2) {
        const uint32_t unit = shape.bytes * (row.has(flag::TwoSt64) ? 64u : 1u);
        plus = (static_cast<uint32_t>(inst.imm) & 0xff) * unit;
        lea(r9, all_rows(second));
        mov(r8, static_cast<uint64_t>(static_cast<int64_t>(inst.imm2 * unit) - static_cast<int64_t>(plus)));
        vpbroadcastd(zmm19, r8d);
    }
    mov(rdi, ptr[r12 + static_cast<int>(offsetof(CodeFrame, lds))]);
    mov(edx, ptr[r12 + static_cast<int>(offsetof(CodeFrame, lds_bytes))]);
    sub(edx, shape.bytes);
    jb(slow, T_NEAR);
    vpbroadcastd(zmm17, edx);
    mov(eax, 0u - plus);
    vpbroadcastd(zmm16, eax);
    call_routine(routine, slow);
    return true;
}

/// s_load_dword* of plain memory, from the TLB's entry of the address.
bool Emitter::scalar_memory(const Inst& inst, Xbyak::Label& slow) {
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
    const bool by_register = inst.soffset != kNoOperand;
    if (by_register && !are_scalar_registers(inst.soffset, 1, config_)) return false;
    unless_translations_changed(slow);
    mov(rax, scalar64(inst.saddr));
    and_(rax, -4);
    if (by_register) {
        mov(ecx, scalar32(inst.soffset));
        and_(ecx, -4);
        add(rax, rcx);
    }
    if (inst.imm_offset && (inst.imm & ~3) != 0) add(rax, inst.imm & ~3);
    mov(rcx, rax);
    tlb_entry(rcx, rdx, true);
    mov(rdx, rax);
    sub(rdx, ptr[rcx + static_cast<int>(offsetof(TlbEntry, start))]);
    cmp(rdx, ptr[rcx + static_cast<int>(offsetof(TlbEntry, size))]);
    jae(slow, T_NEAR);
    add(rdx, bytes);
    cmp(rdx, ptr[rcx + static_cast<int>(offsetof(TlbEntry, size))]);
    ja(slow, T_NEAR);
    add(rax, ptr[rcx + static_cast<int>(offsetof(TlbEntry, bias))]);
    const Xbyak::RegExp to = scalar32(inst.dst).getRegExp();
    switch (words) {
        case 1: mov(ecx, ptr[rax]), mov(dword[to], ecx); break;
        case 2: mov(rcx, ptr[rax]), mov(qword[to], rcx); break;
        case 4: vmovdqu(xmm0, ptr[rax]), vmovdqu(ptr[to], xmm0); break;
        case 8: vmovdqu(ymm0, ptr[rax]), vmovdqu(ptr[to], ymm0); break;
        default: vmovdqu32(zmm0, ptr[rax]), vmovdqu32(ptr[to], zmm0); break;
    }
    return true;
}

/// A memory instruction: the fast way, and the interpreter's function where that does not go.
bool Emitter::memory(const BasicBlock& block, const Step& step, unsigned done) {
    Xbyak::Label slow, end;
    const Inst& inst = step.inst;
    if (!global_strips(inst, slow) && !lds_strips(inst, slow) && !global_memory(inst, slow) && !lds_memory(inst, slow) &&
        !scalar_memory(inst, slow))
        return false;
    jmp(end, T_NEAR);
    L(slow);
    call_handler(block, step, done);
    L(end);
    return true;
}

}  // namespace lyra::gcn
