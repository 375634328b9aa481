// SPDX-License-Identifier: MIT
// The scalar and memory formats and how their handlers enter the table.
#pragma once

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/isa/memory_shape.h"

namespace lyra::gcn {

using WaveFn = void (*)(ExecContext& ctx, Wave& wave, const Inst& inst);

template <WaveFn kFn>
void on_wave(ExecContext& ctx, const Inst& inst) {
    kFn(ctx, ctx.wave, inst);
}

/// The same for each back end: loops over lanes that are worth it.
template <WaveFn kFn>
struct OnLanes {
    [[gnu::flatten, LYRA_PORTABLE]] static void portable(ExecContext& ctx, const Inst& inst) { kFn(ctx, ctx.wave, inst); }
    [[gnu::flatten, LYRA_AVX2]] static void avx2(ExecContext& ctx, const Inst& inst) { kFn(ctx, ctx.wave, inst); }
    [[gnu::flatten, LYRA_AVX512]] static void avx512(ExecContext& ctx, const Inst& inst) { kFn(ctx, ctx.wave, inst); }
    static constexpr ExecFn on(Backend backend) {
        if constexpr (kWidest == Backend::Avx512) {
            if (backend == Backend::Avx512) return &avx512;
        }
        return backend == Backend::Portable ? &portable : &avx2;
    }
};

/// A row whose function is nullptr is not done: it stays out of the table and raises the illegal-instruction exception.
template <WaveFn kFn>
void enter(ExecTable& table, Op op, Format format) {
    if constexpr (kFn != nullptr) table.set(op, format, on_wave<kFn>);
}

template <WaveFn kFn>
void enter_lanes(ExecTable& table, Op op, Format format) {
    if constexpr (kFn != nullptr) table.set(op, format, OnLanes<kFn>::on(table.backend()));
}

/// Of loads and stores; in what else FLAT and MUBUF have no time is spent in loops over lanes.
template <Op kOp, WaveFn kFn>
void enter_moves(ExecTable& table, Format format) {
    constexpr MemoryShape kMove = memory_shape(kOp);
    if constexpr (kMove.bytes != 0 && (kMove.direction == Direction::Load || kMove.direction == Direction::Store)) {
        enter_lanes<kFn>(table, kOp, format);
    } else {
        enter<kFn>(table, kOp, format);
    }
}

void register_sop1(ExecTable& table);
void register_sop2(ExecTable& table);
void register_sopk(ExecTable& table);
void register_sopc(ExecTable& table);
void register_sopp(ExecTable& table);
void register_smem(ExecTable& table);
void register_ds(ExecTable& table);
void register_flat(ExecTable& table);
void register_mubuf(ExecTable& table);
void register_mtbuf(ExecTable& table);
void register_mimg(ExecTable& table);

}  // namespace lyra::gcn
