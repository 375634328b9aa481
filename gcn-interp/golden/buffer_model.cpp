// SPDX-License-Identifier: MIT
// Reference model of MUBUF and MTBUF: addresses, range check, conversion, data through LDS.
// @source AMD Vega ISA document, "Vector memory buffer instructions"; Mesa for the unit of NUM_RECORDS on gfx9: records when
// IDXEN is set and the stride is not zero, bytes otherwise
#include "gcn-interp/golden/buffer_formats.h"

namespace lyra::golden {

using namespace gcn;

namespace {

struct Buffer {
    uint64_t base = 0;
    uint64_t scalar_offset = 0, stride = 0, records = 0;
    uint64_t group = 8;  ///< records whose dwords lie side by side when swizzled
    bool swizzled = false, counts_records = false;
    unsigned select[4] = {};
    unsigned data_format = 0, number_format = 0;
    std::array<uint32_t, kLanes> index{}, offset{};

    Buffer(const Wave& wave, const Inst& inst);
    Place place(unsigned lane, unsigned byte) const;
    bool inside(unsigned lane, unsigned from, unsigned bytes) const;
    Places places(unsigned lane, unsigned from, unsigned bytes) const;
};

Buffer::Buffer(const Wave& wave, const Inst& inst) {
    uint32_t word[4];
    for (unsigned w = 0; w < 4; ++w) word[w] = wave.read_scalar(inst.saddr + w);
    const auto field = [&](unsigned w, unsigned low, unsigned width) { return word[w] >> low & ((1u << width) - 1); };
    scalar_offset = inst.soffset == kNoOperand ? 0 : scalar_value(wave, inst.soffset);
    base = uint64_t{field(1, 0, 16)} << 32 | word[0];
    if ((base >> 47) != 0) base |= uint64_t{0xffff} << 48;
    stride = field(1, 16, 14);
    swizzled = field(1, 31, 1) != 0;
    records = word[2];
    for (unsigned c = 0; c < 4; ++c) select[c] = field(3, 3 * c, 3);
    number_format = field(3, 12, 3);
    data_format = field(3, 15, 4);
    group = uint64_t{8} << field(3, 21, 2);
    const bool add_thread = field(3, 23, 1) != 0;
    if (add_thread) stride += uint64_t{data_format} << 14;
    counts_records = inst.idxen && stride != 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        unsigned next = inst.vaddr;
        if (inst.idxen) index[lane] = vgpr(wave, next++, lane);
        if (inst.offen) offset[lane] = vgpr(wave, next, lane);
        offset[lane] += static_cast<uint32_t>(inst.imm);
        if (add_thread) index[lane] += lane;
    }
}

Place Buffer::place(unsigned lane, unsigned byte) const {
    const uint64_t i = index[lane];
    if (!swizzled) return {Place::Memory, base + scalar_offset + stride * i + offset[lane] + byte};
    const uint32_t o = offset[lane] + byte;
    return {Place::Memory, base + scalar_offset + (i / group * stride + o / 4 * 4) * group + i % group * 4 + o % 4};
}

bool Buffer::inside(unsigned lane, unsigned from, unsigned bytes) const {
    if (counts_records) return index[lane] < records;
    const uint64_t end = (swizzled ? 0 : stride * index[lane]) + offset[lane] + from + bytes;
    return scalar_offset < records && end <= records - scalar_offset;
}

/// The range check looks at dwords.
Places Buffer::places(unsigned lane, unsigned from, unsigned bytes) const {
    Places places(bytes);
    for (unsigned i = 0; i < bytes; ++i) {
        const bool in = bytes <= 4 ? inside(lane, from, bytes) : inside(lane, from + i / 4 * 4, 4);
        if (in) places[i] = place(lane, from + i);
    }
    return places;
}

/// Components of one lane, in the registers that the mnemonic tells of.
struct Registers {
    unsigned count;
    bool half, high;
    unsigned number(unsigned c) const { return half ? c / 2 : c; }
    bool upper(unsigned c) const { return high || c % 2 != 0; }
};

uint32_t selected(unsigned select, const TypedFormat& format, const std::array<uint32_t, 4>& components) {
    if (select >= 4) return components[select - 4];
    return select == 1 ? (format.integers() ? 1 : 0x3f800000) : 0;
}

uint32_t typed_load(MemoryMachine& m, const Inst& inst, const Buffer& buffer, const TypedFormat& format, Registers to,
                    unsigned lane) {
    uint32_t complaint = 0;
    const unsigned bytes = format.bytes();
    std::array<uint32_t, 4> components{};
    const bool inside = bytes != 0 && buffer.inside(lane, 0, bytes);
    if (inside) {
        Places places(bytes);
        for (unsigned i = 0; i < bytes; ++i) places[i] = buffer.place(lane, i);
        components = components_of(format, read_bytes(m, places, complaint));
    }
    for (unsigned c = 0; c < to.count; ++c) {
        const uint32_t value = inside ? selected(buffer.select[c], format, components) : 0;
        if (inst.lds) {
            load_to_lds(m, inst, lane, value);
        } else if (to.half) {
            const Element half{2, false, to.upper(c) ? Element::High : Element::Low};
            set_register_bytes(m.wave, inst.dst + to.number(c), lane, half, bytes_of(inside ? narrow(format, value) : 0, 2));
        } else {
            set_vgpr(m.wave, inst.dst + c, lane, value);
        }
    }
    return complaint;
}

uint32_t typed_store(MemoryMachine& m, const Inst& inst, const Buffer& buffer, const TypedFormat& format, Registers from,
                     unsigned lane) {
    uint32_t complaint = 0;
    const unsigned bytes = format.bytes();
    if (bytes == 0 || !buffer.inside(lane, 0, bytes)) return 0;
    std::array<uint32_t, 4> components{};
    for (unsigned c = 0; c < from.count; ++c) {
        const uint32_t word = vgpr(m.wave, inst.vdata + from.number(c), lane);
        components[c] = from.half ? widen(format, from.upper(c) ? word >> 16 : word & 0xffff) : word;
    }
    Places places(bytes);
    for (unsigned i = 0; i < bytes; ++i) places[i] = buffer.place(lane, i);
    write_bytes(m, places, element_of(format, components), complaint);
    return complaint;
}

uint32_t change(MemoryMachine& m, const Inst& inst, const Name& name, const Buffer& buffer, unsigned lane) {
    Wave& wave = m.wave;
    const Change change = change_of(name);
    uint32_t complaint = 0;
    Bytes old(change.bytes);
    if (buffer.inside(lane, 0, change.bytes)) {
        Places places(change.bytes);
        for (unsigned i = 0; i < change.bytes; ++i) places[i] = buffer.place(lane, i);
        // Swizzled, dwords lie apart: the offset has to be aligned as well as the first dword.
        const uint32_t offset = buffer.swizzled ? buffer.offset[lane] : 0;
        if (places[0].at % (buffer.swizzled ? 4 : change.bytes) != 0 || offset % change.bytes != 0) return kAperture;
        complaint = complaints(m, places, true);
        if (complaint != 0) return complaint;
        old = read_bytes(m, places, complaint);
        const uint64_t data = vgpr_number(wave, inst.vdata, lane, change.bytes);
        const uint64_t other = change.takes_two() ? vgpr_number(wave, inst.vdata + change.bytes / 4, lane, change.bytes) : 0;
        write_bytes(m, places, bytes_of(apply(m, change, number_of(old), data, other), change.bytes), complaint);
    }
    if (inst.glc) set_register_bytes(wave, inst.vdata, lane, {change.bytes}, old);
    return complaint;
}

uint32_t move(MemoryMachine& m, const Inst& inst, const Name& name, const Buffer& buffer, unsigned lane) {
    Wave& wave = m.wave;
    uint32_t complaint = 0;
    const bool store = name.has("store");
    const Element element = element_of(name, store);
    const Places places = buffer.places(lane, 0, element.bytes);
    if (store && name.has("lds")) {
        const uint32_t from = (wave.m0 & 0xffff) + static_cast<uint32_t>(inst.imm) + 4 * lane;
        write_bytes(m, places, read_bytes(m, lds_places(m, from, 4), complaint), complaint);
    } else if (store) {
        write_bytes(m, places, register_bytes(wave, inst.vdata, lane, element), complaint);
    } else if (inst.lds) {
        uint64_t value = number_of(read_bytes(m, places, complaint));
        if (element.sign && (value >> (8 * element.bytes - 1)) != 0) value |= ~uint64_t{0} << (8 * element.bytes);
        load_to_lds(m, inst, lane, static_cast<uint32_t>(value));
    } else {
        set_register_bytes(wave, inst.dst, lane, element, read_bytes(m, places, complaint));
    }
    return complaint;
}

}  // namespace

uint32_t run_buffer(MemoryMachine& m, const Inst& inst, const Name& name) {
    if (name.starts("buffer_wb") || name.starts("buffer_inv")) return 0;  // one memory, coherent
    const Buffer buffer(m.wave, inst);
    const bool typed = name.part(0) == "tbuffer";
    const TypedFormat format = typed_format(typed ? inst.dfmt : buffer.data_format, typed ? inst.nfmt : buffer.number_format);
    const Registers registers{static_cast<unsigned>(name.last().size()), name.has("d16"), name.has("hi")};
    uint32_t complaint = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        if (!active(m.wave, lane)) continue;
        if (name.has("format") && name.has("load"))
            complaint |= typed_load(m, inst, buffer, format, registers, lane);
        else if (name.has("format"))
            complaint |= typed_store(m, inst, buffer, format, registers, lane);
        else if (name.has("atomic"))
            complaint |= change(m, inst, name, buffer, lane);
        else
            complaint |= move(m, inst, name, buffer, lane);
    }
    return complaint;
}

}  // namespace lyra::golden
