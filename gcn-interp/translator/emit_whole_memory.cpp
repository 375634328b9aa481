// SPDX-License-Identifier: MIT
// Loads and stores of waves of which all lanes are on, between memory and registers; step 6 of the data flow.
//
// In place: the addresses of each strip are one after the other (or, for loads, all the same), and plain memory is there for
// them. Everything else is done as it is for waves of any lanes, with rows that are written before and read after.
#include <algorithm>

#include "gcn-interp/translator/emit_whole.h"

namespace lyra::gcn {
/// Steps as they are for waves of any lanes; afterwards registers hold what they do at `end`.
void Emitter::slow_path(const BasicBlock& block, std::vector<size_t> steps, const Registers& before, const Masks& masks_before,
                        Xbyak::Label& slow, Xbyak::Label& end) {
    elsewhere_.push_back([this, &block, steps = std::move(steps), before, masks_before, &slow, &end, after = held_,
                          masks_after = masks_]() mutable {
        L(slow);
        set_whole(true);
        held_ = before;
        masks_ = masks_before;
        write_back_all();
        set_whole(false);
        note_rows_written();
        for (const size_t step : steps) {
            if (!memory(block, block.steps[step], static_cast<unsigned>(step) + 1)) throw Xbyak::Error(Xbyak::ERR_INTERNAL);
        }
        kxnorq(k0, k0, k0);
        held_ = after;
        for (unsigned reg = 0; reg < held_.size(); ++reg) fill(reg);
        for (unsigned k = 1; k < masks_after.size(); ++k) {
            const Mask& mask = masks_after[k];
            if (mask.pair >= 0) load_mask(Xbyak::Opmask(static_cast<int>(k)), static_cast<unsigned>(mask.pair), mask.strip);
        }
        jmp(end, T_NEAR);
    });
}

/// @return the last step that was emitted
size_t Emitter::whole_scalar_loads(const BasicBlock& block, size_t first) {
    auto [steps, loads, read, written] = scalar_loads_from(block, first);
    for (const Mask& mask : masks_) {
        if (mask.pair < 0 || !mask.dirty) continue;
        const auto pair = static_cast<size_t>(mask.pair);
        const ScalarSet both = written | read;
        if (both.test(pair) || both.test(pair + 1)) {
            write_back_masks();
            break;
        }
    }
    Xbyak::Label &slow = new_label(), &end = new_label();
    strip_ = 0;
    const Xbyak::Zmm scratch = temporary();
    const Registers before = held_;
    const Masks masks_before = masks_;
    scalar_loads(loads, slow, scratch);
    L(end);
    release_pins();
    forget_masks(written);
    forget_scalars(written);
    const size_t last = steps.back();
    slow_path(block, std::move(steps), before, masks_before, slow, end);
    return last;
}

/// A register for each value that is loaded, and what the move needs beside.
Emitter::WholeMove Emitter::begin_move(const Inst& inst, const PlainMove& move, bool is_affine) {
    const Routine& kind = move.routine;
    WholeMove m{inst, move, kind, static_cast<int>(kind.words * 4), Xbyak::Zmm(0), Xbyak::Zmm(0), {}, {}, {}, {}, {}};
    const auto place = [this](unsigned vgpr, unsigned strip) {
        strip_ = strip;
        narrow_held(vgpr);
        const int reg = find(Kind::Vgpr, vgpr);
        if (reg >= 0) held_[static_cast<unsigned>(reg)].pinned = true;
        return reg;
    };
    if (!is_affine) {
        rows_of_affine(inst.vaddr);
        if (kind.high) rows_of_affine(inst.vaddr + 1u);
    }
    for (unsigned w = 0; w < kind.words && !kind.loads; ++w) rows_of_affine(move.rows[0] + w);
    for (unsigned s = 0; s < kStrips; ++s) {
        if (!is_affine) {
            m.low[s] = place(inst.vaddr, s);
            if (kind.high) m.high[s] = place(inst.vaddr + 1u, s);
        }
        for (unsigned w = 0; w < kind.words && !kind.loads; ++w) m.data[w][s] = place(move.rows[0] + w, s);
    }
    strip_ = 0;
    m.t = temporary();
    m.different = temporary();
    for (unsigned e = 0; e < kind.elements && kind.loads; ++e) {
        for (unsigned w = 0; w < kind.words; ++w) {
            for (unsigned s = 0; s < kStrips; ++s) m.values[e][w][s] = temporary().getIdx();
        }
    }
    for (unsigned w = 0; w < 4 && !kind.loads && kind.words == 4; ++w) m.quads[w] = temporary().getIdx();
    return m;
}

Xbyak::Address Emitter::memory_of(const WholeMove& m, unsigned e, unsigned s, int plus) {
    return ptr[rsi + WholeMove::at[s] + (static_cast<int>(m.move.plus[e]) + plus)];
}

/// rsi: where the wave's LDS is on the host; rdx: the last offset from which so many bytes are in it, for each element.
void Emitter::find_lds(const PlainMove& move, int span, const Xbyak::Label& outside) {
    const uint32_t last = std::max(move.plus[0], move.routine.elements == 2 ? move.plus[1] : 0) + static_cast<uint32_t>(span);
    mov(rsi, ptr[r12 + static_cast<int>(offsetof(CodeFrame, lds))]);
    mov(edx, ptr[r12 + static_cast<int>(offsetof(CodeFrame, lds_bytes))]);
    sub(rdx, last);
    jb(outside, T_NEAR);
}

/// Dwords w and w + 1 of elements that are 8 bytes apart.
void Emitter::load_pairs(const WholeMove& m, unsigned e, unsigned first, unsigned s) {
    const int plus = static_cast<int>(4 * first);
    vmovdqu32(m.t, memory_of(m, e, s, plus));
    for (unsigned w = 0; w < 2; ++w) {
        vmovdqa32(m.value(e, first + w, s), ptr[rip + pool_lanes(2, w)]);
        vpermi2d(m.value(e, first + w, s), m.t, memory_of(m, e, s, plus + 64));
    }
}

/// Four registers of which each has a dword of 16 lanes, or all four dwords of 4 lanes: from either to the other, but for the
/// order within.
void Emitter::transpose(const WholeMove& m, const std::array<Xbyak::Zmm, 4>& x) {
    vshufi32x4(m.t, x[0], x[1], 0x44);
    vshufi32x4(m.different, x[0], x[1], 0xee);
    vshufi32x4(x[0], x[2], x[3], 0x44);
    vshufi32x4(x[1], x[2], x[3], 0xee);
    vshufi32x4(x[2], m.different, x[1], 0x88);
    vshufi32x4(x[3], m.different, x[1], 0xdd);
    vshufi32x4(x[1], m.t, x[0], 0xdd);
    vshufi32x4(x[0], m.t, x[0], 0x88);
}

/// Lanes of each strip are side by side.
void Emitter::move_lines(const WholeMove& m) {
    const Routine& kind = m.kind;
    const auto with_data = [&](unsigned w, unsigned s, const auto& emit) {
        m.data[w][s] >= 0 ? emit(static_cast<const Xbyak::Operand&>(Xbyak::Zmm(m.data[w][s])))
                          : emit(static_cast<const Xbyak::Operand&>(row(m.move.rows[0] + w, s)));
    };
    for (unsigned s = 0; s < kStrips; ++s) {
        for (unsigned e = 0; e < kind.elements; ++e) {
            if (kind.loads && kind.words == 4) {
                const std::array<Xbyak::Zmm, 4> x{m.value(e, 0, s), m.value(e, 1, s), m.value(e, 2, s), m.value(e, 3, s)};
                vmovdqa32(m.t, ptr[rip + pool_quads()]);
                for (unsigned part = 0; part < 4; ++part) vpermd(x[part], m.t, memory_of(m, e, s, static_cast<int>(64 * part)));
                transpose(m, x);
            } else if (kind.words == 4) {
                const std::array<Xbyak::Zmm, 4> x{Xbyak::Zmm(m.quads[0]), Xbyak::Zmm(m.quads[1]), Xbyak::Zmm(m.quads[2]),
                                                  Xbyak::Zmm(m.quads[3])};
                for (unsigned w = 0; w < 4; ++w) with_data(w, s, [&](const Xbyak::Operand& op) { vmovdqa32(x[w], op); });
                transpose(m, x);
                vmovdqa32(m.t, ptr[rip + pool_quads()]);
                for (unsigned part = 0; part < 4; ++part) {
                    vpermd(x[part], m.t, x[part]);
                    vmovdqu32(memory_of(m, e, s, static_cast<int>(64 * part)), x[part]);
                }
            } else if (kind.loads && kind.words == 1) {
                vmovdqu32(m.value(e, 0, s), memory_of(m, e, s, 0));
            } else if (kind.loads) {
                load_pairs(m, e, 0, s);
            } else {
                const Xbyak::Zmm first = m.data[0][s] < 0 ? m.t : Xbyak::Zmm(m.data[0][s]);
                if (m.data[0][s] < 0) vmovdqa32(m.t, row(m.move.rows[0], s));
                if (kind.words == 1) {
                    vmovdqu32(memory_of(m, 0, s, 0), first);
                    continue;
                }
                for (unsigned half = 0; half < 2; ++half) {
                    vmovdqa32(m.different, ptr[rip + pool_interleave(half)]);
                    with_data(1, s, [&](const Xbyak::Operand& op) { vpermi2d(m.different, first, op); });
                    vmovdqu32(memory_of(m, 0, s, static_cast<int>(64 * half)), m.different);
                }
            }
        }
    }
}

/// All lanes of a strip load the same.
void Emitter::load_same(const WholeMove& m) {
    for (unsigned e = 0; e < m.kind.elements; ++e) {
        for (unsigned w = 0; w < m.kind.words; ++w) {
            for (unsigned s = 0; s < kStrips; ++s) vpbroadcastd(m.value(e, w, s), memory_of(m, e, s, static_cast<int>(4 * w)));
        }
    }
}

/// Each lane loads its own 8 bytes and the next one's.
void Emitter::load_overlapping(const WholeMove& m) {
    for (unsigned s = 0; s < kStrips; ++s) {
        load_pairs(m, 0, 0, s);
        load_pairs(m, 0, 2, s);
    }
}

void Emitter::define_loaded(const WholeMove& m) {
    VectorSet written;
    for (unsigned e = 0; e < m.kind.elements && m.kind.loads; ++e) {
        for (unsigned w = 0; w < m.kind.words; ++w) written.set(m.move.rows[e] + w);
    }
    forget_affine(written, {});
    for (unsigned e = 0; e < m.kind.elements && m.kind.loads; ++e) {
        for (unsigned w = 0; w < m.kind.words; ++w) {
            for (strip_ = 0; strip_ < kStrips; ++strip_) define(m.move.rows[e] + w, m.value(e, w, strip_));
        }
    }
    release_pins();
}

void Emitter::whole_move(const BasicBlock& block, size_t step) {
    if (affine_move(block, step)) return;
    const PlainMove& move = *plan_of(block, step).move;
    const Inst& inst = block.steps[step].inst;
    const Routine& kind = move.routine;
    const auto bytes = static_cast<int>(kind.words * 4);
    Xbyak::Label &slow = new_label(), &end = new_label(), &not_lines = new_label(), &miss = new_label(), &found = new_label();
    const WholeMove m = begin_move(inst, move, false);
    const Xbyak::Zmm t = m.t, different = m.different;
    const Xbyak::Opmask k = temporary_mask();
    // From here on no register changes its meaning.
    const Registers before = held_;
    const Masks masks_before = masks_;
    const auto& low = m.low;
    const auto& high = m.high;
    const auto& at = WholeMove::at;
    const auto with = [this](int reg, unsigned vgpr, unsigned strip, const auto& emit) {
        reg >= 0 ? emit(static_cast<const Xbyak::Operand&>(Xbyak::Zmm(reg)))
                 : emit(static_cast<const Xbyak::Operand&>(row(vgpr, strip)));
    };
    const auto first_lane = [this](const Xbyak::Reg32& to, int reg, unsigned vgpr, unsigned strip) {
        reg >= 0 ? vmovd(to, Xbyak::Xmm(reg)) : mov(to, dword[row(vgpr, strip).getRegExp()]);
    };
    const auto broadcast_first = [this](const Xbyak::Zmm& to, int reg, unsigned vgpr, unsigned strip) {
        reg >= 0 ? vpbroadcastd(to, Xbyak::Xmm(reg)) : vpbroadcastd(to, row(vgpr, strip));
    };
    /// Jumps unless the lanes of each strip are so many bytes apart.
    const auto compare = [=, this](unsigned apart, const Xbyak::Label& otherwise) {
        for (unsigned s = 0; s < kStrips; ++s) {
            broadcast_first(t, low[s], inst.vaddr, s);
            if (apart != 0) vpaddd(t, t, ptr[rip + pool_lanes(apart, 0)]);
            with(low[s], inst.vaddr, s, [&](const Xbyak::Operand& op) {
                s == 0 ? vpxord(different, t, op) : vpternlogd(different, t, op, kOrDifferent);
            });
        }
        if (kind.high) {
            broadcast_first(t, high[0], inst.vaddr + 1u, 0);
            for (unsigned s = 0; s < kStrips; ++s) {
                with(high[s], inst.vaddr + 1u, s,
                     [&](const Xbyak::Operand& op) { vpternlogd(different, t, op, kOrDifferent); });
            }
        }
        vptestmd(k, different, different);
        kortestw(k, k);
        jnz(otherwise, T_NEAR);
    };
    /// rsi + at[s] becomes the host address of the first lane of a strip, of which so many bytes are moved.
    const auto look_up = [=, this](int span, const Xbyak::Label& slow, const Xbyak::Label& miss) {
        for (unsigned s = 0; s < kStrips; ++s) first_lane(at[s].cvt32(), low[s], inst.vaddr, s);
        if (!kind.global) {
            find_lds(move, span, slow);
        } else {
            global_base(inst);
            if (kind.high) {
                first_lane(eax, high[0], inst.vaddr + 1u, 0);
                shl(rax, 32);
                or_(rax, at[0]);
                add(rax, rdi);
            } else {
                lea(rax, ptr[rdi + at[0]]);
            }
            mov(rcx, rax);
            tlb_entry(rcx, rdx, kind.loads);
            mov(rsi, ptr[rcx + static_cast<int>(offsetof(TlbEntry, start))]);
            sub(rax, rsi);
            mov(rdx, ptr[rcx + static_cast<int>(offsetof(TlbEntry, size))]);
            add(rsi, ptr[rcx + static_cast<int>(offsetof(TlbEntry, bias))]);
            sub(rdx, span);
            jb(miss, T_NEAR);
            cmp(rax, rdx);
            ja(miss, T_NEAR);
            // The low halves of a strip's addresses do not overflow, either: rdi is where they would.
            mov(edi, static_cast<uint32_t>(-span));
            sub(rdi, at[0]);
            jb(slow, T_NEAR);
            add(rdi, rax);
            cmp(rdi, rdx);
            cmovb(rdx, rdi);
            sub(rax, at[0]);
            for (const Xbyak::Reg64& each : at) add(each, rax);
        }
        for (const Xbyak::Reg64& each : at) {
            cmp(each, rdx);
            ja(slow, T_NEAR);
        }
    };

    if (kind.global) unless_translations_changed(slow);
    if (kind.loads) {
        // What it may be the first two lanes tell.
        low[0] >= 0 ? vmovq(rax, Xbyak::Xmm(low[0])) : mov(rax, qword[row(inst.vaddr, 0).getRegExp()]);
        mov(ecx, eax);
        shr(rax, 32);
        sub(eax, ecx);
        cmp(eax, bytes);
        jne(not_lines, T_NEAR);
    }
    compare(kind.words * 4, slow);
    look_up(static_cast<int>(kStripLanes) * bytes, slow, kind.global ? miss : slow);
    L(found);
    move_lines(m);
    L(end);
    if (kind.global) {
        elsewhere_.push_back([=, this, &slow, &miss, &found]() mutable {
            L(miss);
            add(rax, rsi);
            sub(rax, ptr[rcx + static_cast<int>(offsetof(TlbEntry, bias))]);
            tlb_refill(slow, kind.loads);
            look_up(static_cast<int>(kStripLanes) * bytes, slow, slow);
            jmp(found, T_NEAR);
        });
    }
    if (kind.loads) {
        elsewhere_.push_back([=, this, &slow, &end, &not_lines]() mutable {
            L(not_lines);
            if (kind.words == 4) {
                Xbyak::Label not_overlapping;
                cmp(eax, 8);
                jne(not_overlapping, T_NEAR);
                compare(8, slow);
                look_up(static_cast<int>(kStripLanes) * 8 + 8, slow, slow);
                load_overlapping(m);
                jmp(end, T_NEAR);
                L(not_overlapping);
            }
            compare(0, slow);
            look_up(bytes, slow, slow);
            load_same(m);
            jmp(end, T_NEAR);
        });
    }
    define_loaded(m);
    slow_path(block, {step}, before, masks_before, slow, end);
}

}  // namespace lyra::gcn
