// SPDX-License-Identifier: MIT
// Buffer access that converts formats; step 6 of the data flow.
// @source AMD Vega ISA document, "Buffer data"
#include "gcn-interp/exec/buffer_typed.h"

#include <bit>

namespace lyra::gcn {
namespace {

using namespace lane_memory;

/// Component as the descriptor's DST_SEL asks: 0, 1, or one of X Y Z W.
uint32_t selected(const BufferDesc& desc, const BufferFormat& format, const uint32_t element[4], unsigned component) {
    const uint32_t select = desc.dst_sel(component);
    if (select >= 4) return element[select - 4];
    if (select == 1) return format.integer() ? 1 : 0x3f800000;
    return 0;
}

uint32_t narrow(const BufferFormat& format, uint32_t value) {
    return format.integer() ? value & 0xffff : to_half(std::bit_cast<float>(value));
}
uint32_t widen(const BufferFormat& format, uint32_t half) {
    if (format.num_format == 5) return static_cast<uint32_t>(sign_extend(half, 16));
    return format.integer() ? half : std::bit_cast<uint32_t>(from_half(static_cast<uint16_t>(half)));
}

void put_half(uint32_t& word, bool high, uint32_t half) {
    word = high ? (word & 0xffff) | half << 16 : (word & 0xffff0000) | half;
}

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
    if (buffer.swizzled()) return watch_swizzled(ctx, wave, buffer.swizzled_addresses(lanes, 0), access);
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
            const uint32_t value = bit(inside, lane) ? selected(buffer.desc(), format, element, c) : 0;
            uint32_t* row = vgpr_write_row(wave, inst.dst + (shape.d16 ? c / 2 : c), dump);
            if (shape.d16) {
                put_half(row[lane], shape.hi || c % 2, narrow(format, value));
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
            element[c] = shape.d16 ? widen(format, high ? word >> 16 : word & 0xffff) : word;
        }
        uint8_t data[16];
        pack_element(format, element, data);
        write_element(ctx, wave, buffer, lane, data, size);
    });
}

}  // namespace lyra::gcn
