// SPDX-License-Identifier: MIT
// Untyped buffer access; step 6 of the data flow.
// @source AMD Vega ISA document, "Vector memory buffer instructions"
#include "gcn-interp/exec/buffer_address.h"
#include "gcn-interp/exec/buffer_typed.h"
#include "gcn-interp/exec/d16.h"
#include "gcn-interp/exec/fast_memory.h"
#include "gcn-interp/exec/formats.h"
#include "gcn-interp/exec/lane_memory.h"

namespace lyra::gcn {
namespace {

using namespace lane_memory;

/// Lanes outside the buffer load zero.
template <Shape kShape>
void load_zero(Wave& wave, uint64_t lanes, unsigned vgpr) {
    if (!lanes) return;
    static constexpr uint8_t kZero[16] = {};
    Destination<kShape> to(wave, vgpr);
    for_lanes(lanes, [&](unsigned lane) { to.put(lane, kZero); });
}

template <Shape kShape>
void load_part(ExecContext& ctx, Wave& wave, const BufferAccess& buffer, uint64_t inside, unsigned plus, unsigned vgpr) {
    if (inside && buffer.swizzled()) {
        load_swizzled<kShape>(ctx, wave, buffer.swizzled_addresses(inside, plus), vgpr);
    } else if (inside) {
        load<kShape>(ctx, wave, buffer.linear(inside, plus), vgpr);
    }
    if (ctx.fault == Fault::None) load_zero<kShape>(wave, buffer.exec() & ~inside, vgpr);
}

template <Shape kShape>
void store_part(ExecContext& ctx, Wave& wave, const BufferAccess& buffer, uint64_t inside, unsigned plus, unsigned vgpr) {
    if (inside && buffer.swizzled()) {
        store_swizzled<kShape>(ctx, wave, buffer.swizzled_addresses(inside, plus), vgpr);
    } else if (inside) {
        store<kShape>(ctx, wave, buffer.linear(inside, plus), vgpr);
    }
}

template <Shape kShape>
[[gnu::noinline]] void load_lanes_to_lds(ExecContext& ctx, Wave& wave, const Inst& inst, const BufferAccess& buffer) {
    const uint64_t inside = buffer.lanes_inside(0, kShape.bytes);
    if (ctx.watch != nullptr) {
        if (buffer.swizzled())
            watch_swizzled(ctx, wave, buffer.swizzled_addresses(inside, 0), kShape.bytes, Access::Read);
        else
            watch(ctx, wave, buffer.linear(inside, 0), kShape.bytes, Access::Read);
    }
    load_to_lds<kShape>(ctx, wave, inst, inside, buffer.swizzled(),
                        [&](unsigned lane, unsigned i) { return buffer.byte(lane, i); });
}

/// The other way: a dword per lane from LDS at M0[15:0] + offset + lane * 4; lanes outside the LDS store zero.
void store_from_lds(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const BufferAccess buffer(wave, inst);
    const uint64_t inside = buffer.lanes_inside(0, 4);
    if (ctx.watch != nullptr) {
        if (buffer.swizzled())
            watch_swizzled(ctx, wave, buffer.swizzled_addresses(inside, 0), 4, Access::Write);
        else
            watch(ctx, wave, buffer.linear(inside, 0), 4, Access::Write);
    }
    const uint32_t from = (wave.m0 & 0xffff) + static_cast<uint32_t>(inst.imm);
    if (ctx.traffic) ctx.traffic->add(inside, 4, [&](unsigned lane) { return buffer.byte(lane, 0); });
    for_lanes(inside, [&](unsigned lane) {
        uint32_t value = 0;
        if (const uint8_t* host = lds_bytes(ctx, wave, from + lane * 4, 4)) std::memcpy(&value, host, 4);
        const unsigned step = buffer.swizzled() ? 1 : 4;
        for (unsigned i = 0; i < 4 && ctx.fault == Fault::None; i += step) {
            fail(ctx, ctx.pages->write(wave.vmid, buffer.byte(lane, i), reinterpret_cast<const uint8_t*>(&value) + i, step));
        }
    });
}

template <Shape kShape>
void load_op(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const BufferAccess buffer(wave, inst);
    if constexpr (kShape.bytes <= 4) {
        if (inst.lds) return load_lanes_to_lds<kShape>(ctx, wave, inst, buffer);
    }
    const uint64_t inside = buffer.lanes_inside(0, kShape.bytes);
    // The range check is per dword: only a lane at the buffer's end can be half inside.
    if (kShape.bytes <= 4 || inside == buffer.lanes_inside(0, 4)) {
        return load_part<kShape>(ctx, wave, buffer, inside, 0, inst.dst);
    }
    for (unsigned w = 0; w < kShape.words() && ctx.fault == Fault::None; ++w) {
        load_part<Shape{4}>(ctx, wave, buffer, buffer.lanes_inside(4 * w, 4), 4 * w, inst.dst + w);
    }
}

template <Shape kShape>
void store_op(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const BufferAccess buffer(wave, inst);
    const uint64_t inside = buffer.lanes_inside(0, kShape.bytes);
    if (kShape.bytes <= 4 || inside == buffer.lanes_inside(0, 4)) {
        return store_part<kShape>(ctx, wave, buffer, inside, 0, inst.vdata);
    }
    for (unsigned w = 0; w < kShape.words() && ctx.fault == Fault::None; ++w) {
        store_part<Shape{4}>(ctx, wave, buffer, buffer.lanes_inside(4 * w, 4), 4 * w, inst.vdata + w);
    }
}

template <AtomicOp kOp, class T>
void atomic_op(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const BufferAccess buffer(wave, inst);
    const uint64_t inside = buffer.lanes_inside(0, sizeof(T));
    if (inside && buffer.swizzled()) {
        atomic_swizzled<kOp, T>(ctx, wave, buffer.swizzled_addresses(inside, 0), inst.vdata, inst.vdata, inst.glc);
    } else if (inside) {
        atomic<kOp, T>(ctx, wave, buffer.linear(inside, 0), inst.vdata, inst.vdata, inst.glc);
    }
    if (inst.glc && ctx.fault == Fault::None) load_zero<kWord<T>>(wave, buffer.exec() & ~inside, inst.vdata);
}

/// The format is the descriptor's.
BufferFormat descriptor_format(const BufferAccess& buffer) {
    return buffer_format(buffer.desc().data_format(), buffer.desc().num_format());
}

template <TypedShape kShape>
void load_format(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const BufferAccess buffer(wave, inst);
    load_typed(ctx, wave, inst, buffer, descriptor_format(buffer), kShape);
}

template <TypedShape kShape>
void store_format(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const BufferAccess buffer(wave, inst);
    store_typed(ctx, wave, inst, buffer, descriptor_format(buffer), kShape);
}

/// Buffers with an offset in a register and no index.
template <Shape kShape, Direction kDirection, WaveFn kFn>
struct QuickBuffer {
    template <Backend kBackend>
    static void run(ExecContext& ctx, const Inst& inst) {
        if (moves<kBackend>(ctx, inst)) [[likely]]
            return;
        on_wave<kFn>(ctx, inst);
    }

private:
    template <Backend kBackend>
    static bool moves(ExecContext& ctx, const Inst& inst) {
        using Fast = FastMemory<kBackend>;
        Wave& wave = ctx.wave;
        const bool load = kDirection == Direction::Load;
        const unsigned vgpr = load ? inst.dst : inst.vdata;
        if (ctx.watch != nullptr || ctx.traffic != nullptr || !inst.offen || inst.idxen || inst.lds ||
            vgpr + kShape.words() > wave.vgpr_count)
            return false;
        const BufferDesc desc = BufferDesc::read(wave, inst.saddr);
        if (desc.swizzle() || desc.add_tid()) return false;
        const BufferWindow window(wave, inst, desc);
        ctx.pages->begin();
        const uint32_t* low = vgpr_read_row(wave, inst.vaddr);
        uint32_t* rows = wave.vgpr[vgpr].lane;
        Tlb& tlb = ctx.pages->tlb(wave.vmid, load ? Access::Read : Access::Write);
        const auto plus = static_cast<uint32_t>(inst.imm);
        if constexpr (load)
            return Fast::template load_buffer<kShape>(rows, low, plus, window.limit, window.base, wave.exec, tlb);
        else
            return Fast::template store_buffer<kShape>(rows, low, plus, window.limit, window.base, wave.exec, tlb);
    }
};

/// Memory is coherent: nothing to write back or to drop.
void no_effect(ExecContext&, Wave&, const Inst&) {}

template <Op kOp>
constexpr WaveFn mubuf_function() {
    constexpr MemoryShape kMove = memory_shape(kOp);
    if constexpr (info(kOp).profile->none() && !info(kOp).has(flag::LdsDma)) {
        return no_effect;
    } else if constexpr (kOp == Op::buffer_store_lds_dword) {
        return store_from_lds;
    } else if constexpr (info(kOp).has(flag::Converts)) {
        return kMove.direction == Direction::Load ? load_format<typed(kMove)> : store_format<typed(kMove)>;
    } else if constexpr (kMove.direction == Direction::Load) {
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

static_assert(kHasQuick<Op::buffer_load_dword> && kHasQuick<Op::buffer_store_dwordx3> && !kHasQuick<Op::buffer_load_format_x>);

void register_mubuf(ExecTable& table) {
#define MUBUF(opcode, name, profile, flags, ...) \
    enter_moves<Op::name, mubuf_function<Op::name>(), WithD16<QuickBuffer>::Of>(table, Format::MUBUF);
#include "gcn-interp/isa/mubuf.def"
#undef MUBUF
}

}  // namespace lyra::gcn
