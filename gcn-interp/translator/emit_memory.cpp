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

constexpr int kExec = static_cast<int>(offsetof(Wave, exec));
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

// Elements of one or two dwords. The code that moves them is in routines, one of a kind in each region: in place it would be
// many times as long as the rest.
//
// Arguments: rsi rows of addresses, rdx rows of their high halves, rcx rows that are loaded or stored; with two elements also
// r9 rows of the second one, r8 its distance in memory, zmm19 the same in all lanes. Result: ZF is 0 when not all active lanes
// are in the window, or cannot be stored so; the interpreter's function does all of it then, and has all it needs.

/// rdi: where offset 0 of the window is on the host. zmm16: what to subtract from the low halves for offsets. zmm17: the last
/// offset that an element may have. zmm18: the high half.
void Emitter::move_strips(const Routine& routine) {
    const auto lanes = [](unsigned strip) { return Xbyak::Opmask(static_cast<int>(4 + strip)); };
    const auto offsets = [](unsigned strip) { return Xbyak::Zmm(static_cast<int>(20 + strip)); };
    const auto part = [](const Xbyak::Reg64& rows, unsigned strip, unsigned word = 0) {
        return rows + static_cast<int>(word * sizeof(VgprRow) + strip * 64);
    };
    constexpr uint8_t kNotEqual = 4, kGreater = 6;
    Xbyak::Label outside, some_lanes;
    if (!routine.global && routine.elements == 1 && routine.words == 1) move_line(routine, some_lanes);
    L(some_lanes);
    kxorw(k1, k1, k1);
    for (unsigned s = 0; s < kStrips; ++s) {
        kmovw(lanes(s), ptr[rbx + (kExec + static_cast<int>(s) * 2)]);
        vmovdqa32(offsets(s), ptr[part(rsi, s)]);
        vpsubd(offsets(s), offsets(s), zmm16);
        vpcmpud(k2 | lanes(s), offsets(s), zmm17, kGreater);
        korw(k1, k1, k2);
        if (routine.elements == 2) {
            vpaddd(zmm24, offsets(s), zmm19);
            vpcmpud(k2 | lanes(s), zmm24, zmm17, kGreater);
            korw(k1, k1, k2);
        }
        if (routine.high) {
            vpcmpd(k2 | lanes(s), zmm18, ptr[part(rdx, s)], kNotEqual);
            korw(k1, k1, k2);
        }
    }
    kortestw(k1, k1);
    jnz(outside, T_NEAR);
    for (unsigned s = 0; s < kStrips; ++s) {
        Xbyak::Label not_line, scattered, next;
        kortestw(lanes(s), lanes(s));
        jz(next, T_NEAR);
        vmovd(eax, Xbyak::Xmm(offsets(s).getIdx()));
        add(rax, rdi);
        vpbroadcastd(zmm24, Xbyak::Xmm(offsets(s).getIdx()));
        vpsubd(zmm24, offsets(s), zmm24);
        vpcmpd(k2 | lanes(s), zmm24, ptr[rip + pool_lanes(routine.words * 4, 0)], kNotEqual);
        kortestw(k2, k2);
        jnz(not_line, T_NEAR);
        if (routine.words == 2) {
            kortestw(lanes(s), lanes(s));
            jnc(scattered, T_NEAR);  // not all lanes
        }
        for (unsigned element = 0; element < routine.elements; ++element) {
            if (element == 1) add(rax, r8);
            const Xbyak::Reg64& rows = element == 0 ? rcx : r9;
            if (routine.words == 1 && routine.loads) {
                vmovdqu32(zmm25 | lanes(s) | T_z, ptr[rax]);
                store_lanes(part(rows, s), zmm25, lanes(s));
            } else if (routine.words == 1) {
                vmovdqa32(zmm25, ptr[part(rows, s)]);
                vmovdqu32(ptr[rax] | lanes(s), zmm25);
            } else if (routine.loads) {
                vmovdqu32(zmm25, ptr[rax]);
                vmovdqu32(zmm26, ptr[rax + 64]);
                for (unsigned w = 0; w < 2; ++w) {
                    vmovdqa32(zmm27, ptr[rip + pool_lanes(2, w)]);
                    vpermi2d(zmm27, zmm25, zmm26);
                    vmovdqa32(ptr[part(rows, s, w)], zmm27);
                }
            } else {
                vmovdqa32(zmm25, ptr[part(rows, s)]);
                vmovdqa32(zmm26, ptr[part(rows, s, 1)]);
                for (unsigned half = 0; half < 2; ++half) {
                    vmovdqa32(zmm27, ptr[rip + pool_interleave(half)]);
                    vpermi2d(zmm27, zmm25, zmm26);
                    vmovdqu32(ptr[rax + static_cast<int>(64 * half)], zmm27);
                }
            }
        }
        jmp(next, T_NEAR);
        L(not_line);
        vptestmd(k2 | lanes(s), zmm24, zmm24);
        kortestw(k2, k2);
        jnz(scattered, T_NEAR);
        for (unsigned element = 0; element < routine.elements; ++element) {
            if (element == 1) add(rax, r8);
            for (unsigned w = 0; w < routine.words; ++w) {
                const auto rows = part(element == 0 ? rcx : r9, s, w);
                if (routine.loads) {
                    vpbroadcastd(zmm25, ptr[rax + static_cast<int>(4 * w)]);
                    store_lanes(rows, zmm25, lanes(s));
                } else {  // the highest lane is the last to store
                    kmovw(r10d, lanes(s));
                    bsr(r10d, r10d);
                    mov(r10d, ptr[rows + r10 * 4]);
                    mov(ptr[rax + static_cast<int>(4 * w)], r10d);
                }
            }
        }
        jmp(next, T_NEAR);
        L(scattered);
        if (!routine.loads && routine.words == 2) {
            // Where lanes overlap, both dwords of one come before those of the next: lane by lane, from the first one on.
            or_(eax, 1);
            jmp(outside, T_NEAR);
            L(next);
            continue;
        }
        if (routine.elements == 2) lea(r10, ptr[rdi + r8]);
        for (unsigned element = 0; element < routine.elements; ++element) {
            const Xbyak::Reg64& base = element == 0 ? rdi : r10;
            for (unsigned w = 0; w < routine.words; ++w) {
                const auto rows = part(element == 0 ? rcx : r9, s, w);
                const auto at = ptr[base + offsets(s) + static_cast<int>(4 * w)];
                kmovw(k2, lanes(s));
                if (routine.loads) {
                    vpxord(zmm25, zmm25, zmm25);
                    vpgatherdd(zmm25 | k2, at);
                    store_lanes(rows, zmm25, lanes(s));
                } else {
                    vmovdqa32(zmm25, ptr[rows]);
                    vpscatterdd(at | k2, zmm25);
                }
            }
        }
        L(next);
    }
    xor_(eax, eax);
    L(outside);
    ret();
}

/// The usual cases, in a shorter way: all lanes on, and their elements side by side, or all of them one.
void Emitter::move_line(const Routine& routine, Xbyak::Label& other) {
    constexpr uint8_t kNotEqual = 4;
    Xbyak::Label same;
    cmp(qword[rbx + kExec], -1);
    jne(other, T_NEAR);
    const auto part = [this](const Xbyak::Reg64& rows, unsigned strip) { return ptr[rows + static_cast<int>(strip * 64)]; };
    // eax: offset of lane 0; r10d: what is left of the window from there
    vpbroadcastd(zmm24, ptr[rsi]);
    vmovd(eax, Xbyak::Xmm(24));
    vmovd(r10d, Xbyak::Xmm(16));
    sub(eax, r10d);
    vmovd(r10d, Xbyak::Xmm(17));
    sub(r10d, eax);
    jb(other, T_NEAR);
    if (routine.high) {
        for (unsigned s = 0; s < kStrips; ++s) {
            vpcmpd(s == 0 ? k1 : k2, zmm18, part(rdx, s), kNotEqual);
            if (s != 0) korw(k1, k1, k2);
        }
        kortestw(k1, k1);
        jnz(other, T_NEAR);
    }
    if (routine.loads) {
        mov(r11d, ptr[rsi]);
        cmp(r11d, ptr[rsi + 4]);
        je(same, T_NEAR);
    }
    for (unsigned s = 0; s < kStrips; ++s) {
        vpaddd(zmm25, zmm24, ptr[rip + pool_lanes(4, s * 64)]);
        vpcmpd(s == 0 ? k1 : k2, zmm25, part(rsi, s), kNotEqual);
        if (s != 0) korw(k1, k1, k2);
    }
    kortestw(k1, k1);
    jnz(other, T_NEAR);
    cmp(r10d, (kLanes - 1) * 4);
    jb(other, T_NEAR);
    add(rax, rdi);
    for (unsigned s = 0; s < kStrips; ++s) {
        const Xbyak::Zmm value(static_cast<int>(20 + s));
        const auto memory = ptr[rax + static_cast<int>(s * 64)];
        routine.loads ? vmovdqu32(value, memory) : vmovdqa32(value, part(rcx, s));
    }
    for (unsigned s = 0; s < kStrips; ++s) {
        const Xbyak::Zmm value(static_cast<int>(20 + s));
        const auto memory = ptr[rax + static_cast<int>(s * 64)];
        routine.loads ? vmovdqa32(part(rcx, s), value) : vmovdqu32(memory, value);
    }
    xor_(eax, eax);
    ret();
    if (!routine.loads) return;
    L(same);
    for (unsigned s = 0; s < kStrips; ++s) {
        vpcmpd(s == 0 ? k1 : k2, zmm24, part(rsi, s), kNotEqual);
        if (s != 0) korw(k1, k1, k2);
    }
    kortestw(k1, k1);
    jnz(other, T_NEAR);
    vpbroadcastd(zmm20, ptr[rax + rdi]);
    for (unsigned s = 0; s < kStrips; ++s) vmovdqa32(part(rcx, s), zmm20);
    xor_(eax, eax);
    ret();
}

/// The same for global memory, where the window is looked up behind what the addresses are. Arguments: see find_window().
void Emitter::move_whole(const Routine& routine, Xbyak::Label& other) {
    constexpr uint8_t kOrDifferent = 0xf6;  // A | (B ^ C)
    const auto bytes = static_cast<int>(routine.words * 4);
    const auto row = [this](const Xbyak::Reg64& rows, unsigned strip, unsigned word = 0) {
        return ptr[rows + static_cast<int>(word * sizeof(VgprRow) + strip * 64)];
    };
    Xbyak::Label same;
    cmp(qword[rbx + kExec], -1);
    jne(other, T_NEAR);
    mov(r8d, ptr[rsi]);
    cmp(r8d, static_cast<uint32_t>(-static_cast<int>(kLanes) * bytes));
    ja(other, T_NEAR);  // low halves may overflow
    vpbroadcastd(zmm24, ptr[rsi]);
    if (routine.loads) {
        cmp(r8d, ptr[rsi + 4]);
        je(same, T_NEAR);
    }
    const auto look_up = [&](unsigned size) {
        if (routine.high) {
            vpbroadcastd(zmm18, ptr[rdx]);
            for (unsigned s = 0; s < kStrips; ++s) vpternlogd(zmm26, zmm18, row(rdx, s), kOrDifferent);
            mov(eax, ptr[rdx]);
            shl(rax, 32);
            or_(r8, rax);
        }
        add(r8, rdi);
        mov(rax, r8);
        tlb_entry(rax, r11, routine.loads);
        mov(r10, ptr[rax + static_cast<int>(offsetof(TlbEntry, size))]);
        mov(r9, r8);
        sub(r9, ptr[rax + static_cast<int>(offsetof(TlbEntry, start))]);
        sub(r10, size);
        jb(other, T_NEAR);
        cmp(r9, r10);
        ja(other, T_NEAR);
        add(r8, ptr[rax + static_cast<int>(offsetof(TlbEntry, bias))]);
        vptestmd(k1, zmm26, zmm26);
        kortestw(k1, k1);
        jnz(other, T_NEAR);
    };
    for (unsigned s = 0; s < kStrips; ++s) {
        vpaddd(zmm25, zmm24, ptr[rip + pool_lanes(routine.words * 4, s * kStripLanes * routine.words * 4)]);
        s == 0 ? vpxord(zmm26, zmm25, row(rsi, s)) : vpternlogd(zmm26, zmm25, row(rsi, s), kOrDifferent);
    }
    look_up(kLanes * routine.words * 4);
    if (routine.words == 1) {
        for (unsigned s = 0; s < kStrips; ++s) {
            const Xbyak::Zmm value(static_cast<int>(20 + s));
            const auto memory = ptr[r8 + static_cast<int>(s * 64)];
            routine.loads ? vmovdqu32(value, memory) : vmovdqa32(value, row(rcx, s));
        }
        for (unsigned s = 0; s < kStrips; ++s) {
            const Xbyak::Zmm value(static_cast<int>(20 + s));
            const auto memory = ptr[r8 + static_cast<int>(s * 64)];
            routine.loads ? vmovdqa32(row(rcx, s), value) : vmovdqu32(memory, value);
        }
    } else {
        for (unsigned half = 0; half < 2; ++half) {
            const Xbyak::Zmm places(static_cast<int>(28 + half));
            vmovdqa32(places, ptr[rip + (routine.loads ? pool_lanes(2, half) : pool_interleave(half))]);
        }
        for (unsigned s = 0; s < kStrips; ++s) {
            const auto memory = [&](unsigned half) { return ptr[r8 + static_cast<int>((2 * s + half) * 64)]; };
            for (unsigned half = 0; half < 2; ++half) {
                const Xbyak::Zmm value(static_cast<int>(20 + half));
                routine.loads ? vmovdqu32(value, memory(half)) : vmovdqa32(value, row(rcx, s, half));
            }
            vmovdqa32(zmm22, zmm20);
            vpermt2d(zmm20, zmm28, zmm21);
            vpermt2d(zmm22, zmm29, zmm21);
            for (unsigned half = 0; half < 2; ++half) {
                const Xbyak::Zmm value(half == 0 ? 20 : 22);
                routine.loads ? vmovdqa32(row(rcx, s, half), value) : vmovdqu32(memory(half), value);
            }
        }
    }
    xor_(eax, eax);
    ret();
    if (!routine.loads) return;
    L(same);
    for (unsigned s = 0; s < kStrips; ++s)
        s == 0 ? vpxord(zmm26, zmm24, row(rsi, s)) : vpternlogd(zmm26, zmm24, row(rsi, s), kOrDifferent);
    look_up(routine.words * 4);
    for (unsigned w = 0; w < routine.words; ++w) {
        vpbroadcastd(zmm20, ptr[r8 + static_cast<int>(4 * w)]);
        for (unsigned s = 0; s < kStrips; ++s) vmovdqa32(row(rcx, s, w), zmm20);
    }
    xor_(eax, eax);
    ret();
}

void Emitter::store_lanes(const Xbyak::RegExp& row, const Xbyak::Zmm& value, const Xbyak::Opmask& lanes) {
    Xbyak::Label all;
    kortestw(lanes, lanes);
    jc(all);
    knotw(k3, lanes);
    vmovdqa32(value | k3, ptr[row]);
    L(all);
    vmovdqa32(ptr[row], value);
}

/// Tlb::near_of() of the address in a register, which becomes that of the entry.
void Emitter::tlb_entry(const Xbyak::Reg64& address, const Xbyak::Reg64& scratch, bool loads) {
    shr(address, static_cast<int>(Tlb::kNearShift));
    mov(scratch, address);
    shr(scratch, static_cast<int>(Tlb::kNearFold));
    xor_(address, scratch);
    and_(address, (1 << Tlb::kNearBits) - 1);
    static_assert(sizeof(TlbEntry) == 32);
    shl(address, 5);
    add(address, ptr[r12 + static_cast<int>(loads ? offsetof(CodeFrame, reads) : offsetof(CodeFrame, writes))]);
}

/// rdi: what is added to the addresses of the rows. The window is the TLB's entry of the first active lane's address.
void Emitter::find_window(const Routine& routine) {
    Xbyak::Label some, outside;
    const auto bytes = static_cast<int>(routine.words * 4);
    mov(rax, ptr[rbx + kExec]);
    test(rax, rax);
    jnz(some);
    ret();
    L(outside);
    or_(eax, 1);
    ret();
    L(some);
    tzcnt(rax, rax);
    mov(r8d, ptr[rsi + rax * 4]);
    if (routine.high) {
        mov(eax, ptr[rdx + rax * 4]);
        vpbroadcastd(zmm18, eax);
        shl(rax, 32);
        add(rdi, rax);
    }
    add(rdi, r8);
    mov(rax, rdi);
    tlb_entry(rax, r11, routine.loads);
    mov(r11, rdi);
    sub(r11, ptr[rax + static_cast<int>(offsetof(TlbEntry, start))]);
    mov(r9, ptr[rax + static_cast<int>(offsetof(TlbEntry, size))]);
    cmp(r11, r9);
    jae(outside);
    sub(r9, r11);
    cmp(r9, bytes);
    jb(outside);
    add(rdi, ptr[rax + static_cast<int>(offsetof(TlbEntry, bias))]);
    // In low halves: from the start of the range to its last element, both within 32 bits.
    mov(eax, 0);
    mov(r10, r8);
    sub(r10, r11);
    cmovc(r10, rax);
    lea(r11, ptr[r8 + r9 - bytes]);
    mov(eax, -1);
    cmp(r11, rax);
    cmova(r11, rax);
    sub(r8, r10);
    sub(rdi, r8);
    sub(r11, r10);
    vpbroadcastd(zmm16, r10d);
    vpbroadcastd(zmm17, r11d);
}

void Emitter::emit_routines() {
    for (auto& [routine, label] : routines_) {
        align(16);
        L(label);
        if (routine.global) {
            Xbyak::Label other;
            move_whole(routine, other);
            L(other);
            find_window(routine);
        }
        move_strips(routine);
    }
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
