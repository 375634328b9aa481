// SPDX-License-Identifier: MIT
// FLAT, GLOBAL and SCRATCH access; step 6 of the data flow.
// @source AMD Vega ISA document, "Flat memory instructions"; LLVM 19 AMDGPU FLATInstructions.td
#include "gcn-interp/exec/aperture.h"
#include "gcn-interp/exec/d16.h"
#include "gcn-interp/exec/fast_memory.h"
#include "gcn-interp/exec/formats.h"
#include "gcn-interp/exec/lane_memory.h"

namespace lyra::gcn {
namespace {

using namespace lane_memory;

constexpr uint8_t kSegScratch = 1, kSegGlobal = 2;

/// 64-bit address of each lane: SGPR base + 32-bit register, or a register pair; plus the immediate.
void lane_addresses(const Wave& wave, const Inst& inst, LaneAddresses& a) {
    a.active = wave.exec;
    const auto imm = static_cast<uint64_t>(static_cast<int64_t>(inst.imm));
    const uint32_t* low = vgpr_read_row(wave, inst.vaddr);
    if (inst.seg == kSegGlobal && inst.saddr != kNoOperand) {
        const uint64_t base = wave.read_scalar64(inst.saddr) + imm;
        for (unsigned lane = 0; lane < kLanes; ++lane) a.va[lane] = base + low[lane];
        return;
    }
    const uint32_t* high = vgpr_read_row(wave, inst.vaddr + 1u);
    for (unsigned lane = 0; lane < kLanes; ++lane) a.va[lane] = make64(low[lane], high[lane]) + imm;
}

/// Private offsets of SCRATCH instructions: a register, scalar or vector, or both, plus the immediate.
void scratch_addresses(const Wave& wave, const Inst& inst, SwizzledAddresses& a) {
    scratch_bases(wave, a);
    a.active = wave.exec;
    const uint32_t offset = (inst.saddr != kNoOperand ? wave.read_scalar(inst.saddr) : 0) + static_cast<uint32_t>(inst.imm);
    if (inst.vaddr != kNoOperand) {
        const uint32_t* row = vgpr_read_row(wave, inst.vaddr);
        for (unsigned lane = 0; lane < kLanes; ++lane) a.offset[lane] = row[lane] + offset;
    } else {
        for (unsigned lane = 0; lane < kLanes; ++lane) a.offset[lane] = offset;
    }
}

/// Run one operation over the three memories that a flat address can mean. After ctx.pages->begin(). LDS is the last: nothing
/// of an atomic may have happened when a page of the others has to be asked for again.
template <class Linear, class Lds, class Swizzled>
void by_aperture(ExecContext& ctx, Wave& wave, const Inst& inst, Linear linear, Lds lds, Swizzled swizzled) {
    if (inst.seg == kSegScratch) {
        SwizzledAddresses a;
        scratch_addresses(wave, inst, a);
        return swizzled(a);
    }
    LaneAddresses a;
    lane_addresses(wave, inst, a);
    if (inst.seg == kSegGlobal || !touches_aperture(wave, a)) return linear(a);
    const FlatSplit split = split_flat(wave, a);
    if (split.outside) ctx.fault = Fault::ApertureViolation;
    if (ctx.fault == Fault::None && a.active) linear(a);
    if (ctx.fault == Fault::None && split.scratch.active) swizzled(split.scratch);
    if (ctx.fault == Fault::None && split.lds.active) lds(split.lds);
}

/// Not plain memory, or perhaps not: compiled once, for every back end.
template <Shape kShape>
[[gnu::noinline]] void load_anywhere(ExecContext& ctx, Wave& wave, const Inst& inst) {
    by_aperture(
        ctx, wave, inst, [&](const LaneAddresses& a) { load<kShape>(ctx, wave, a, inst.dst); },
        [&](const LdsAddresses& a) { load_lds<kShape>(ctx, wave, a, inst.dst, true); },
        [&](const SwizzledAddresses& a) { load_swizzled<kShape>(ctx, wave, a, inst.dst); });
}
template <Shape kShape>
[[gnu::noinline]] void store_anywhere(ExecContext& ctx, Wave& wave, const Inst& inst) {
    by_aperture(
        ctx, wave, inst, [&](const LaneAddresses& a) { store<kShape>(ctx, wave, a, inst.vdata); },
        [&](const LdsAddresses& a) { store_lds<kShape>(ctx, wave, a, inst.vdata, true); },
        [&](const SwizzledAddresses& a) { store_swizzled<kShape>(ctx, wave, a, inst.vdata); });
}

/// GLOBAL and SCRATCH only.
template <Shape kShape>
[[gnu::noinline]] void load_lanes_to_lds(ExecContext& ctx, Wave& wave, const Inst& inst) {
    if (inst.seg == kSegScratch) {
        SwizzledAddresses a;
        scratch_addresses(wave, inst, a);
        watch_swizzled(ctx, wave, a, kShape.bytes, Access::Read);
        return load_to_lds<kShape>(ctx, wave, inst, a.active, true, [&](unsigned lane, unsigned i) { return a.byte(lane, i); });
    }
    LaneAddresses a;
    lane_addresses(wave, inst, a);
    watch(ctx, wave, a, kShape.bytes, Access::Read);
    load_to_lds<kShape>(ctx, wave, inst, a.active, false, [&](unsigned lane, unsigned i) { return a.va[lane] + i; });
}

template <Shape kShape>
void load_op(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    if constexpr (kShape.bytes <= 4) {
        if (inst.lds) return load_lanes_to_lds<kShape>(ctx, wave, inst);
    }
    if (inst.seg != kSegGlobal) return load_anywhere<kShape>(ctx, wave, inst);
    LaneAddresses a;
    lane_addresses(wave, inst, a);
    load<kShape>(ctx, wave, a, inst.dst);
}

template <Shape kShape>
void store_op(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    if (inst.seg != kSegGlobal) return store_anywhere<kShape>(ctx, wave, inst);
    LaneAddresses a;
    lane_addresses(wave, inst, a);
    store<kShape>(ctx, wave, a, inst.vdata);
}

template <AtomicOp kOp, class T>
void atomic_op(ExecContext& ctx, Wave& wave, const Inst& inst) {
    const unsigned other = kOp == AtomicOp::CmpSwap ? inst.vdata + sizeof(T) / 4 : inst.vdata;
    ctx.pages->begin();
    by_aperture(
        ctx, wave, inst, [&](const LaneAddresses& a) { atomic<kOp, T>(ctx, wave, a, inst.vdata, inst.dst, inst.glc); },
        [&](const LdsAddresses& a) { atomic_lds<kOp, T>(ctx, wave, a, inst.vdata, other, inst.dst, inst.glc, true); },
        [&](const SwizzledAddresses& a) { atomic_swizzled<kOp, T>(ctx, wave, a, inst.vdata, inst.dst, inst.glc); });
}

/// What the fast functions take of global memory.
struct FastAddress {
    const uint32_t* low = nullptr;
    const uint32_t* high = nullptr;
    uint64_t base = 0;
};
/// @param vgpr  the first of the registers that are moved  @return whether they can be tried
bool can_be_fast(const ExecContext& ctx, const Inst& inst, unsigned vgpr, unsigned words, FastAddress& a) {
    const Wave& wave = ctx.wave;
    if (ctx.watch != nullptr || ctx.traffic != nullptr || inst.seg == kSegScratch || inst.lds || vgpr + words > wave.vgpr_count)
        return false;
    a.low = vgpr_read_row(wave, inst.vaddr);
    a.base = static_cast<uint64_t>(static_cast<int64_t>(inst.imm));
    if (inst.seg == kSegGlobal && inst.saddr != kNoOperand) {
        a.base += wave.read_scalar64(inst.saddr);
        return true;
    }
    a.high = vgpr_read_row(wave, inst.vaddr + 1u);
    if (inst.seg == kSegGlobal) return true;
    // A range is in one aperture.
    const unsigned lane = wave.exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(wave.exec));
    const uint64_t top = (make64(a.low[lane], a.high[lane]) + a.base) >> 48;
    return top == 0 || (top != wave.shared_base >> 48 && top != wave.private_base >> 48);
}

template <Shape kShape, Direction kDirection, WaveFn kFn>
struct QuickFlat {
    template <Backend kBackend>
    static void run(ExecContext& ctx, const Inst& inst) {
        using Fast = FastMemory<kBackend>;
        Wave& wave = ctx.wave;
        FastAddress a;
        ctx.pages->begin();
        if constexpr (kDirection == Direction::Load) {
            if (can_be_fast(ctx, inst, inst.dst, kShape.words(), a) &&
                Fast::template load<kShape>(wave.vgpr[inst.dst].lane, a.low, a.high, a.base, wave.exec,
                                            ctx.pages->tlb(wave.vmid, Access::Read))) [[likely]]
                return;
        } else {
            if (can_be_fast(ctx, inst, inst.vdata, kShape.words(), a) &&
                Fast::template store<kShape>(wave.vgpr[inst.vdata].lane, a.low, a.high, a.base, wave.exec,
                                             ctx.pages->tlb(wave.vmid, Access::Write))) [[likely]]
                return;
        }
        on_wave<kFn>(ctx, inst);
    }
};

template <Op kOp>
constexpr WaveFn flat_function() {
    constexpr MemoryShape kMove = memory_shape(kOp);
    if constexpr (kMove.direction == Direction::Load) {
        return load_op<element(kMove)>;
    } else if constexpr (kMove.direction == Direction::Store) {
        return store_op<element(kMove)>;
    } else if constexpr (kMove.bytes == 8) {
        return atomic_op<kMove.op, uint64_t>;
    } else {
        static_assert(kMove.direction == Direction::Atomic && kMove.bytes == 4);
        return atomic_op<kMove.op, uint32_t>;
    }
}

}  // namespace

static_assert(kHasQuick<Op::flat_load_dword> && kHasQuick<Op::flat_load_ubyte> && kHasQuick<Op::flat_load_dwordx4> &&
              kHasQuick<Op::flat_store_dword> && !kHasQuick<Op::flat_atomic_add>);

void register_flat(ExecTable& table) {
#define FLAT(opcode, name, profile, flags, ...) \
    enter_moves<Op::name, flat_function<Op::name>(), WithD16<QuickFlat>::Of>(table, Format::FLAT);
#include "gcn-interp/isa/flat.def"
#undef FLAT
}

}  // namespace lyra::gcn
