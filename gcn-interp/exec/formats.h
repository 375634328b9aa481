// SPDX-License-Identifier: MIT
// The scalar and memory formats and how their handlers enter the table.
#pragma once

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/exec/lane_shape.h"

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

/// Handlers that try a fast function and then another handler, which is compiled once: Quick::run<kBackend>, not compiled for
/// the back end itself.
template <class Quick>
void enter_quick(ExecTable& table, Op op, Format format) {
    switch (table.backend()) {
        case Backend::Portable: return table.set(op, format, Quick::template run<Backend::Portable>);
        case Backend::Avx2: return table.set(op, format, Quick::template run<Backend::Avx2>);
        case Backend::Avx512: return table.set(op, format, Quick::template run<kWidest>);
    }
}

/// Lanes move elements of a size that the row says.
constexpr bool moves_lanes(const MemoryShape& move) {
    return move.bytes != 0 && (move.direction == Direction::Load || move.direction == Direction::Store);
}
/// From or to registers; a load that may also go to LDS says so in the instruction.
template <Op kOp>
constexpr bool kHasQuick = moves_lanes(memory_shape(kOp)) && kOp != Op::buffer_store_lds_dword;

/// Loads and stores of FLAT and MUBUF; in what else they have no time is spent in loops over lanes.
/// @tparam Quick  Quick<shape, direction, handler> tries the fast functions
template <Op kOp, WaveFn kFn, template <lane_memory::Shape, Direction, WaveFn> class Quick>
void enter_moves(ExecTable& table, Format format) {
    constexpr MemoryShape kMove = memory_shape(kOp);
    if constexpr (kHasQuick<kOp>) {
        enter_quick<Quick<lane_memory::element(kMove), kMove.direction, kFn>>(table, kOp, format);
    } else if constexpr (moves_lanes(kMove)) {
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
