// SPDX-License-Identifier: MIT
// Untyped buffer access; step 6 of the data flow.
// @source AMD Vega ISA document, "Vector memory buffer instructions"
#include "gcn-interp/exec/buffer_address.h"
#include "gcn-interp/exec/buffer_typed.h"
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

template <unsigned kOpcode>
void load_op(ExecContext& ctx, Wave& wave, const Inst& inst) {
    constexpr Shape kShape = shape_of(kOpcode);
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

template <unsigned kOpcode>
void store_op(ExecContext& ctx, Wave& wave, const Inst& inst) {
    constexpr Shape kShape = shape_of(kOpcode);
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

template <unsigned kComponents, bool kD16, bool kHi>
void load_format(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const BufferAccess buffer(wave, inst);
    load_typed(ctx, wave, inst, buffer, descriptor_format(buffer), {kComponents, kD16, kHi});
}

template <unsigned kComponents, bool kD16, bool kHi>
void store_format(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const BufferAccess buffer(wave, inst);
    store_typed(ctx, wave, inst, buffer, descriptor_format(buffer), {kComponents, kD16, kHi});
}

/// Memory is coherent: nothing to write back or to drop.
void no_effect(ExecContext&, Wave&, const Inst&) {}

template <unsigned kOpcode>
constexpr WaveFn mubuf_function() {
    if constexpr (kOpcode <= 3) {
        return load_format<kOpcode + 1, false, false>;
    } else if constexpr (kOpcode <= 7) {
        return store_format<kOpcode - 3, false, false>;
    } else if constexpr (kOpcode <= 11) {
        return load_format<kOpcode - 7, true, false>;
    } else if constexpr (kOpcode <= 15) {
        return store_format<kOpcode - 11, true, false>;
    } else if constexpr (kOpcode == 38) {
        return load_format<1, true, true>;
    } else if constexpr (kOpcode == 39) {
        return store_format<1, true, true>;
    } else if constexpr (kOpcode == 62 || kOpcode == 63) {
        return no_effect;
    } else if constexpr (kOpcode >= 64 && kOpcode <= 76) {
        return atomic_op<static_cast<AtomicOp>(kOpcode - 64), uint32_t>;
    } else if constexpr (kOpcode >= 96 && kOpcode <= 108) {
        return atomic_op<static_cast<AtomicOp>(kOpcode - 96), uint64_t>;
    } else if constexpr (kOpcode >= 24 && kOpcode <= 31) {
        return store_op<kOpcode>;
    } else if constexpr (kOpcode == 61) {
        return store_from_lds;
    } else {
        static_assert(shape_of(kOpcode).bytes != 0);
        return load_op<kOpcode>;
    }
}

}  // namespace

void register_mubuf(ExecTable& table) {
#define MUBUF(opcode, name, profile, flags, ...) enter_moves<opcode, mubuf_function<opcode>()>(table, Op::name, Format::MUBUF);
#include "gcn-interp/isa/mubuf.def"
#undef MUBUF
}

}  // namespace lyra::gcn
