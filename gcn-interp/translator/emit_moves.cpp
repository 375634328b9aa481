// SPDX-License-Identifier: MIT
// The routines of generated code that move rows to and from memory and LDS; step 6 of the data flow.
//
// Elements of one or two dwords. The code that moves them is in routines, one of a kind in each region: in place it would be
// many times as long as the rest.
//
// Arguments: rsi rows of addresses, rdx rows of their high halves, rcx rows that are loaded or stored; with two elements also
// r9 rows of the second one, r8 its distance in memory, zmm19 the same in all lanes. Result: ZF is 0 when not all active lanes
// are in the window, or cannot be stored so; the interpreter's function does all of it then, and has all it needs.
#include "gcn-interp/translator/emitter.h"

namespace lyra::gcn {

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

/// rax: an address that its near entry does not hold. The second one takes the place if that does, or the large one of its 2
/// MiB: see Tlb::find().
void Emitter::tlb_refill(const Xbyak::Label& fails, bool loads) {
    constexpr int kToSecond = static_cast<int>(offsetof(Tlb, second));
    const Xbyak::Ymm before(static_cast<int>(kScratch));
    Xbyak::Label is_second, done;
    const auto move_here = [&](const Xbyak::Reg64& from, int plus) {
        vmovdqu32(before, ptr[rdi]);
        for (int part = 0; part < static_cast<int>(sizeof(TlbEntry)); part += 8) {
            mov(rdx, ptr[from + (plus + part)]);
            mov(ptr[rdi + part], rdx);
        }
        vmovdqu32(ptr[rdi + kToSecond], before);
    };
    mov(rdi, rax);
    tlb_entry(rdi, rdx, loads);
    mov(rdx, rax);
    sub(rdx, ptr[rdi + (kToSecond + static_cast<int>(offsetof(TlbEntry, start)))]);
    cmp(rdx, ptr[rdi + (kToSecond + static_cast<int>(offsetof(TlbEntry, size)))]);
    jb(is_second, T_NEAR);
    mov(rcx, rax);
    shr(rcx, static_cast<int>(Tlb::kLargeShift));
    and_(ecx, (1 << Tlb::kLargeBits) - 1);
    shl(rcx, 5);
    add(rcx, ptr[r12 + static_cast<int>(loads ? offsetof(CodeFrame, reads) : offsetof(CodeFrame, writes))]);
    add(rcx, static_cast<int>(offsetof(Tlb, large)));
    mov(rdx, rax);
    sub(rdx, ptr[rcx + static_cast<int>(offsetof(TlbEntry, start))]);
    cmp(rdx, ptr[rcx + static_cast<int>(offsetof(TlbEntry, size))]);
    jae(fails, T_NEAR);
    move_here(rcx, 0);
    jmp(done, T_NEAR);
    L(is_second);
    move_here(rdi, kToSecond);
    L(done);
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
        keep_high(eax);
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
    keep_window(r10d, r11d);
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
    for (auto& [arguments, label] : strip_routines_) {
        align(16);
        L(label);
        find_strips(arguments.first, arguments.second);
    }
}

}  // namespace lyra::gcn
