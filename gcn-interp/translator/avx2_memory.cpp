// SPDX-License-Identifier: MIT
// Loads and stores of generated AVX2 code: routines for stores of waves of which all lanes are on, and for loads; the fast
// functions of the interpreter for others; step 6 of the data flow.
#include "gcn-interp/translator/avx2_emitter.h"

namespace lyra::gcn {
namespace {

using Xbyak::Ymm;

// What find_window() leaves, in all lanes; the arguments of routines are those of emit_moves.cpp.
const Ymm kHigh(12), kFirst(13), kLast(14);

constexpr unsigned kBytesOfStrip = Avx2Emitter::kLanesOfStrip * 4;

}  // namespace

void Avx2Emitter::keep_high(const Xbyak::Reg32& high) {
    vmovd(Xbyak::Xmm(kHigh.getIdx()), high);
    vpbroadcastd(kHigh, Xbyak::Xmm(kHigh.getIdx()));
}

void Avx2Emitter::keep_window(const Xbyak::Reg32& first, const Xbyak::Reg32& last) {
    vmovd(Xbyak::Xmm(kFirst.getIdx()), first);
    vpbroadcastd(kFirst, Xbyak::Xmm(kFirst.getIdx()));
    vmovd(Xbyak::Xmm(kLast.getIdx()), last);
    vpbroadcastd(kLast, Xbyak::Xmm(kLast.getIdx()));
}

void Avx2Emitter::emit_routines() {
    for (auto& [routine, label] : routines_) {
        align(16);
        L(label);
        if (routine.global) find_window(routine);
        move(routine);
    }
    emit_row_routines();
    emit_affine_routines();
}

/// Lanes side by side from rax on.
void Avx2Emitter::move_line_of_strip(const Routine& routine, unsigned strip) {
    const auto row = [&](unsigned word) { return ptr[rcx + static_cast<int>(word * sizeof(VgprRow) + strip * kBytesOfStrip)]; };
    if (routine.words == 1) {
        routine.loads ? vmovups(ymm2, ptr[rax]) : vmovaps(ymm2, row(0));
        routine.loads ? vmovaps(row(0), ymm2) : vmovups(ptr[rax], ymm2);
    } else if (routine.loads) {
        vmovups(ymm2, ptr[rax]);
        vmovups(ymm3, ptr[rax + 32]);
        for (unsigned word = 0; word < 2; ++word) {
            vshufps(ymm4, ymm2, ymm3, word == 0 ? 0x88 : 0xdd);
            vpermpd(ymm4, ymm4, 0xd8);
            vmovaps(row(word), ymm4);
        }
    } else {
        vmovaps(ymm2, row(0));
        vunpckhps(ymm4, ymm2, row(1));
        vunpcklps(ymm3, ymm2, row(1));
        vperm2f128(ymm2, ymm3, ymm4, 0x20);
        vperm2f128(ymm3, ymm3, ymm4, 0x31);
        vmovups(ptr[rax], ymm2);
        vmovups(ptr[rax + 32], ymm3);
    }
}

/// The usual cases, in a shorter way: all lanes side by side, or all of them one. r10d, r11d: as find_window() leaves them.
void Avx2Emitter::move_all(const Routine& routine, Xbyak::Label& otherwise) {
    const auto bytes = static_cast<int>(routine.words * 4);
    const auto part = [](const Xbyak::Reg64& rows, unsigned strip) { return rows + static_cast<int>(strip * kBytesOfStrip); };
    Xbyak::Label line;
    mov(r8d, ptr[rsi]);
    mov(eax, r8d);
    sub(eax, r10d);
    vpbroadcastd(ymm0, ptr[rsi]);
    // Lanes are where lane 0 and a distance say, and the last one is in the window.
    const auto lanes_are = [&](int distance) {
        lea(r9, ptr[rax + distance * static_cast<int>(kLanes - 1)]);
        cmp(r9, r11);
        ja(otherwise, T_NEAR);
        for (unsigned s = 0; s < kStripsOfWave; ++s) {
            const Ymm& different = s == 0 ? ymm2 : ymm1;
            const auto first = static_cast<unsigned>(distance) * (s / 2) * kStripLanes, step = static_cast<unsigned>(distance);
            if (distance != 0)
                vpaddd(different, ymm0, ptr[rip + pool_lanes(step, first) + static_cast<int>(s % 2 * kBytesOfStrip)]);
            vpxor(different, distance != 0 ? different : ymm0, ptr[part(rsi, s)]);
            if (s != 0) vpor(ymm2, ymm2, ymm1);
            if (!routine.high) continue;
            vpxor(ymm3, kHigh, ptr[part(rdx, s)]);
            vpor(ymm2, ymm2, ymm3);
        }
        vptest(ymm2, ymm2);
        jnz(otherwise, T_NEAR);
        add(rax, rdi);
    };
    if (routine.loads) {
        cmp(r8d, ptr[rsi + 4]);
        jne(line, T_NEAR);
        lanes_are(0);
        for (unsigned word = 0; word < routine.words; ++word) {
            vbroadcastss(ymm2, ptr[rax + static_cast<int>(4 * word)]);
            for (unsigned s = 0; s < kStripsOfWave; ++s)
                vmovaps(ptr[part(rcx, s) + static_cast<int>(word * sizeof(VgprRow))], ymm2);
        }
        xor_(eax, eax);
        ret();
        L(line);
    }
    lanes_are(bytes);
    for (unsigned s = 0; s < kStripsOfWave; ++s) {
        if (s != 0) add(rax, bytes * static_cast<int>(kLanesOfStrip));
        move_line_of_strip(routine, s);
    }
    xor_(eax, eax);
    ret();
}

/// A load for waves of which some lanes are on: each for itself.
void Avx2Emitter::load_some(const Routine& routine, Xbyak::Label& fails) {
    const auto part = [](const Xbyak::Reg64& rows, unsigned strip) { return rows + static_cast<int>(strip * kBytesOfStrip); };
    const Ymm lanes(5);
    mov(r10, reinterpret_cast<uint64_t>(lanes_by_mask()));
    vpxor(ymm2, ymm2, ymm2);
    for (unsigned s = 0; s < kStripsOfWave; ++s) {
        movzx(eax, byte[rbx + (kExec + static_cast<int>(s))]);
        vmovdqa(ymm1, ptr[part(rsi, s)]);
        vpsubd(ymm1, ymm1, kFirst);
        vpmaxud(ymm1, ymm1, kLast);
        vpcmpeqd(ymm1, ymm1, kLast);
        if (routine.high) {
            vpcmpeqd(ymm3, kHigh, ptr[part(rdx, s)]);
            vpand(ymm1, ymm1, ymm3);
        }
        vpmovsxbd(lanes, ptr[r10 + rax * 8]);
        vpandn(ymm1, ymm1, lanes);
        vpor(ymm2, ymm2, ymm1);
    }
    vptest(ymm2, ymm2);
    jnz(fails, T_NEAR);
    for (unsigned s = 0; s < kStripsOfWave; ++s) {
        Xbyak::Label next;
        movzx(eax, byte[rbx + (kExec + static_cast<int>(s))]);
        test(eax, eax);
        jz(next, T_NEAR);
        vpmovsxbd(lanes, ptr[r10 + rax * 8]);
        vmovdqa(ymm1, ptr[part(rsi, s)]);
        vpsubd(ymm1, ymm1, kFirst);
        for (unsigned word = 0; word < routine.words; ++word) {
            const Xbyak::Address row = ptr[part(rcx, s) + static_cast<int>(word * sizeof(VgprRow))];
            vmovaps(ymm2, row);
            vmovdqa(ymm3, lanes);
            vpgatherdd(ymm2, ptr[rdi + ymm1 + static_cast<int>(4 * word)], ymm3);
            vmovaps(row, ymm2);
        }
        L(next);
    }
    xor_(eax, eax);
    ret();
}

/// Lanes of a strip side by side or, for loads, anyhow. A store that fails may have stored some strips: the one that follows
/// stores all of them. A load that fails has done nothing: its addresses may be in rows that it loads.
void Avx2Emitter::move(const Routine& routine) {
    Xbyak::Label fails;
    const auto part = [](const Xbyak::Reg64& rows, unsigned strip) { return rows + static_cast<int>(strip * kBytesOfStrip); };
    Xbyak::Label by_strips, some;
    cmp(qword[rbx + kExec], -1);
    jne(routine.loads ? some : fails, T_NEAR);
    move_all(routine, by_strips);
    L(by_strips);
    for (unsigned s = 0; s < kStripsOfWave; ++s) {
        const Ymm& highest = s == 0 ? ymm2 : ymm1;
        vmovdqa(highest, ptr[part(rsi, s)]);
        vpsubd(highest, highest, kFirst);
        if (s != 0) vpmaxud(ymm2, ymm2, ymm1);
        if (!routine.high) continue;
        vpcmpeqd(s == 0 ? ymm4 : ymm3, kHigh, ptr[part(rdx, s)]);
        if (s != 0) vpand(ymm4, ymm4, ymm3);
    }
    vpmaxud(ymm2, ymm2, kLast);
    vpcmpeqd(ymm2, ymm2, kLast);
    if (routine.high) vpand(ymm2, ymm2, ymm4);
    vpmovmskb(eax, ymm2);
    cmp(eax, -1);
    jne(fails, T_NEAR);
    for (unsigned s = 0; s < kStripsOfWave; ++s) {
        Xbyak::Label not_line, scattered, next;
        vmovdqa(ymm1, ptr[part(rsi, s)]);
        vpsubd(ymm1, ymm1, kFirst);
        vmovd(eax, xmm1);
        add(rax, rdi);
        vpbroadcastd(ymm2, xmm1);
        vpsubd(ymm2, ymm1, ymm2);
        vpcmpeqd(ymm3, ymm2, ptr[rip + pool_lanes(routine.words * 4, 0)]);
        vpmovmskb(r8d, ymm3);
        cmp(r8d, -1);
        jne(routine.loads ? not_line : fails, T_NEAR);
        move_line_of_strip(routine, s);
        if (!routine.loads) continue;
        jmp(next, T_NEAR);
        L(not_line);
        vptest(ymm2, ymm2);
        jnz(scattered);
        for (unsigned word = 0; word < routine.words; ++word) {
            vbroadcastss(ymm2, ptr[rax + static_cast<int>(4 * word)]);
            vmovaps(ptr[part(rcx, s) + static_cast<int>(word * sizeof(VgprRow))], ymm2);
        }
        jmp(next);
        L(scattered);
        for (unsigned word = 0; word < routine.words; ++word) {
            vpcmpeqd(ymm3, ymm3, ymm3);
            vpgatherdd(ymm2, ptr[rdi + ymm1 + static_cast<int>(4 * word)], ymm3);
            vmovaps(ptr[part(rcx, s) + static_cast<int>(word * sizeof(VgprRow))], ymm2);
        }
        L(next);
    }
    xor_(eax, eax);
    L(fails);
    ret();
    if (!routine.loads) return;
    L(some);
    load_some(routine, fails);
}

/// Elements of one or two dwords. What is not for the routine goes on behind it.
bool Avx2Emitter::quick_move(const Inst& inst, Xbyak::Label& slow, Xbyak::Label& end) {
    const std::optional<PlainMove> found = plain_move(inst);
    if (!found || found->routine.words > 2) return false;
    const PlainMove& move = *found;
    Routine one = move.routine;
    one.elements = 1;
    if (one.global) {
        unless_translations_changed(slow);
        lea(rsi, all_rows(inst.vaddr));
        if (one.high) lea(rdx, ptr[rsi + static_cast<int>(sizeof(VgprRow))]);
        lea(rcx, all_rows(move.rows[0]));
        global_base(inst);
        call(routines_[one]);
        jz(end, T_NEAR);
        return true;
    }
    Xbyak::Label other;
    if (move.routine.elements == 2 && inst.vaddr >= move.rows[0] && inst.vaddr < move.rows[0] + one.words) return false;
    for (unsigned element = 0; element < move.routine.elements; ++element) {
        lea(rsi, all_rows(inst.vaddr));
        lea(rcx, all_rows(move.rows[element]));
        mov(rdi, ptr[r12 + static_cast<int>(offsetof(CodeFrame, lds))]);
        mov(r11d, ptr[r12 + static_cast<int>(offsetof(CodeFrame, lds_bytes))]);
        sub(r11d, one.words * 4);
        jb(slow, T_NEAR);
        mov(r10d, 0u - move.plus[element]);
        keep_window(r10d, r11d);
        call(routines_[one]);
        jnz(other, T_NEAR);
    }
    jmp(end, T_NEAR);
    L(other);
    return true;
}

bool Avx2Emitter::memory(const BasicBlock& block, const Step& step, unsigned done) {
    Xbyak::Label slow, end;
    const Inst& inst = step.inst;
    const bool quick = quick_move(inst, slow, end);
    if (!global_memory(inst, slow) && !lds_memory(inst, slow) && !scalar_memory(inst, slow, zmm0)) {
        if (!quick) return false;
    } else {
        jmp(end, T_NEAR);
    }
    L(slow);
    call_handler(block, step, done);
    L(end);
    return true;
}

}  // namespace lyra::gcn
