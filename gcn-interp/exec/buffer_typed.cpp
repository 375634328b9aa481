// SPDX-License-Identifier: MIT
// Buffer access that converts formats; step 6 of the data flow.
// @source AMD Vega ISA document, "Buffer data"
#include "gcn-interp/exec/buffer_typed.h"

namespace lyra::gcn {
namespace {

using namespace lane_memory;

/// Bytes of an element, one by one when swizzled. @return false after a fault
bool read_element(ExecContext& ctx, Wave& wave, const BufferAccess& buffer, unsigned lane, uint8_t* data, unsigned size) {
    if (!buffer.swizzled()) {
        fail(ctx, ctx.pages->read(wave.vmid, buffer.byte(lane, 0), data, size));
    } else {
        for (unsigned i = 0; i < size && ctx.fault == Fault::None; ++i) {
            fail(ctx, ctx.pages->read(wave.vmid, buffer.byte(lane, i), data + i, 1));
        }
    }
    return ctx.fault == Fault::None;
}

void write_element(ExecContext& ctx, Wave& wave, const BufferAccess& buffer, unsigned lane, const uint8_t* data,
                   unsigned size) {
    if (!buffer.swizzled()) {
        fail(ctx, ctx.pages->write(wave.vmid, buffer.byte(lane, 0), data, size));
    } else {
        for (unsigned i = 0; i < size && ctx.fault == Fault::None; ++i) {
            fail(ctx, ctx.pages->write(wave.vmid, buffer.byte(lane, i), data + i, 1));
        }
    }
}

void watch_buffer(ExecContext& ctx, Wave& wave, const BufferAccess& buffer, uint64_t lanes, unsigned size, Access access) {
    if (ctx.watch == nullptr || lanes == 0) return;
    if (buffer.swizzled()) return watch_swizzled(ctx, wave, buffer.swizzled_addresses(lanes, 0), size, access);
    watch(ctx, wave, buffer.linear(lanes, 0), size, access);
}

}  // namespace

void load_typed(ExecContext& ctx, Wave& wave, const Inst& inst, const BufferAccess& buffer, const BufferFormat& format,
                TypedShape shape) {
    const unsigned size = format.bytes();
    const uint64_t inside = size ? buffer.lanes_inside(0, size) : 0;
    watch_buffer(ctx, wave, buffer, inside, size, Access::Read);
    VgprRow dump;
    for_lanes(buffer.exec(), [&](unsigned lane) {
        if (ctx.fault != Fault::None) return;
        uint32_t element[4] = {};
        if (bit(inside, lane)) {
            uint8_t data[16] = {};
            if (!read_element(ctx, wave, buffer, lane, data, size)) return;
            unpack_element(format, data, element);
        }
        for (unsigned c = 0; c < shape.components; ++c) {
            const uint32_t value = bit(inside, lane) ? selected_component(buffer.desc().dst_sel(c), format, element) : 0;
            if (inst.lds) {
                put_in_lds(ctx, wave, inst, lane, value);
                continue;
            }
            uint32_t* row = vgpr_write_row(wave, inst.dst + (shape.d16 ? c / 2 : c), dump);
            if (shape.d16) {
                put_half(row[lane], shape.hi || c % 2, narrow_component(format, value));
            } else {
                row[lane] = value;
            }
        }
    });
}

void store_typed(ExecContext& ctx, Wave& wave, const Inst& inst, const BufferAccess& buffer, const BufferFormat& format,
                 TypedShape shape) {
    const unsigned size = format.bytes();
    const uint64_t inside = size ? buffer.lanes_inside(0, size) : 0;
    watch_buffer(ctx, wave, buffer, inside, size, Access::Write);
    for_lanes(inside, [&](unsigned lane) {
        if (ctx.fault != Fault::None) return;
        uint32_t element[4] = {};
        for (unsigned c = 0; c < shape.components; ++c) {
            const uint32_t word = vgpr_read_row(wave, inst.vdata + (shape.d16 ? c / 2 : c))[lane];
            const bool high = shape.hi || c % 2;
            element[c] = shape.d16 ? widen_component(format, high ? word >> 16 : word & 0xffff) : word;
        }
        uint8_t data[16];
        pack_element(format, element, data);
        write_element(ctx, wave, buffer, lane, data, size);
    });
}

}  // namespace lyra::gcn
