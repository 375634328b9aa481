// SPDX-License-Identifier: MIT
// Reference model of DS: LDS, GDS, and the exchanges between lanes.
// @source AMD Vega ISA document, "LDS and GDS instructions"; docs/design/decisions.md for GDS
#include <algorithm>
#include <array>
#include <bitset>

#include "gcn-interp/golden/memory_parts.h"

namespace lyra::golden {

using namespace gcn;

namespace {

uint32_t offset16(const Inst& inst) { return static_cast<uint32_t>(inst.imm) & 0xffff; }

/// Lane that ds_swizzle takes lane i's value from.
unsigned swizzled_lane(uint32_t offset, unsigned i) {
    const auto field = [&](unsigned low, unsigned width) { return offset >> low & ((1u << width) - 1); };
    const std::bitset<5> lane(i & 31), mask(field(0, 5));
    std::bitset<5> from;
    if (offset >= 0xe000) {  // FFT
        for (unsigned b = 0; b < 5; ++b) from[b] = lane[4 - b];
        from = (from >> mask.count()) | (lane & mask);
    } else if (offset >= 0xc000) {  // rotation of the lanes that differ outside of the mask
        const unsigned rotation = field(10, 1) ? 32 - field(5, 5) : field(5, 5);
        from = (lane & mask) | (std::bitset<5>((i + rotation) % 32) & ~mask);
    } else if (field(15, 1)) {  // within quads
        return i / 4 * 4 + field(2 * (i % 4), 2);
    } else {
        from = ((lane & mask) | std::bitset<5>(field(5, 5))) ^ std::bitset<5>(field(10, 5));
    }
    return i / 32 * 32 + static_cast<unsigned>(from.to_ulong());
}

/// Exchanges read all registers before they write one; lanes that are off give nothing.
void exchange_lanes(MemoryMachine& m, const Inst& inst, const Name& name) {
    Wave& wave = m.wave;
    std::array<uint32_t, kLanes> result{};
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        if (!active(wave, lane)) continue;
        const uint32_t address = vgpr(wave, inst.vaddr, lane) + offset16(inst);
        if (name.has("permute")) {
            result[address / 4 % 64] = vgpr(wave, inst.vdata, lane);
        } else {
            const bool swizzle = name.has("swizzle");
            const unsigned from = swizzle ? swizzled_lane(offset16(inst), lane) : address / 4 % 64;
            if (active(wave, from)) result[lane] = vgpr(wave, swizzle ? inst.vaddr : inst.vdata, from);
        }
    }
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        if (active(wave, lane)) set_vgpr(wave, inst.dst, lane, result[lane]);
    }
}

/// Append and consume: one count for the wave.
void count(MemoryMachine& m, const Inst& inst, bool append) {
    const std::bitset<64> lanes(m.wave.exec);
    if (lanes.none()) return;
    uint32_t none = 0;
    const Places places = lds_places(m, ((m.wave.m0 & 0xffff) + offset16(inst)) & ~3u, 4);
    const Bytes old = read_bytes(m, places, none);
    const uint64_t change = append ? lanes.count() : 0 - lanes.count();
    write_bytes(m, places, bytes_of(number_of(old) + change, 4), none);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        if (lanes[lane]) set_register_bytes(m.wave, inst.dst, lane, {4}, old);
    }
}

/// MEM[A] = MEM[A] op MEM[B], B so many dwords from A as the offset says, or bits 31:17 of the address when its top bit is set.
void combine(MemoryMachine& m, const Inst& inst, const Name& name, unsigned lane) {
    const Change change = change_of(name);
    const uint32_t address = vgpr(m.wave, inst.vaddr, lane), offset = offset16(inst);
    const bool in_address = (offset & 0x8000) != 0;
    int distance = static_cast<int>(in_address ? address >> 17 : offset & 0x7fff);
    if (distance >= 0x4000) distance -= 0x8000;
    const uint32_t a = in_address ? address % 0x20000 : address;
    uint32_t none = 0;
    const Places to = lds_places(m, a / change.bytes * change.bytes, change.bytes);
    const Places from = lds_places(m, a / change.bytes * change.bytes + static_cast<uint32_t>(4 * distance), change.bytes);
    const uint64_t old = number_of(read_bytes(m, to, none)), other = number_of(read_bytes(m, from, none));
    write_bytes(m, to, bytes_of(apply(m, change, old, other, 0), change.bytes), none);
}

/// One address and one element: the instruction itself, or each half of those with two.
struct Part {
    uint32_t offset;
    uint16_t data;
    unsigned dst_plus;  ///< registers after the destination
};

uint32_t address_of(const MemoryMachine& m, const Inst& inst, const Name& name, const Part& part, unsigned lane) {
    if (name.has("addtid")) return (m.wave.m0 & 0xffff) + part.offset + 4 * lane;
    return vgpr(m.wave, inst.vaddr, lane) + part.offset;
}

/// @return what the lane loads, or what memory held before an atomic
Bytes one_access(MemoryMachine& m, const Inst& inst, const Name& name, const Part& part, const Element& element,
                 unsigned lane) {
    uint32_t none = 0;
    uint32_t address = address_of(m, inst, name, part, lane);
    if (name.part(1).starts_with("read")) return read_bytes(m, lds_places(m, address, element.bytes), none);
    if (name.part(1).starts_with("write")) {
        write_bytes(m, lds_places(m, address, element.bytes), register_bytes(m.wave, part.data, lane, element), none);
        return {};
    }
    const Change change = change_of(name);
    address -= address % change.bytes;
    uint64_t data = vgpr_number(m.wave, part.data, lane, change.bytes);
    uint64_t other = change.takes_two() ? vgpr_number(m.wave, inst.vdata2, lane, change.bytes) : 0;
    if (change.what == Change::CompareSwap) std::swap(data, other);  // the value to compare comes first
    const Places places = lds_places(m, address, change.bytes);
    const Bytes old = read_bytes(m, places, none);
    write_bytes(m, places, bytes_of(apply(m, change, number_of(old), data, other), change.bytes), none);
    return old;
}

std::vector<Part> parts_of(const Inst& inst, const Name& name, unsigned bytes) {
    const bool far = name.part(1).ends_with("2st64"),
               two = far || name.part(1) == "read2" || name.part(1) == "write2" || name.part(1) == "wrxchg2";
    if (!two) return {{offset16(inst), inst.vdata, 0}};
    const uint32_t unit = bytes * (far ? 64 : 1);
    return {{(static_cast<uint32_t>(inst.imm) & 0xff) * unit, inst.vdata, 0}, {inst.imm2 * unit, inst.vdata2, bytes / 4}};
}

/// The first part of all lanes comes before the second one; registers are read before any is written.
void access(MemoryMachine& m, const Inst& inst, const Name& name) {
    const bool moves = name.part(1).starts_with("read") || name.part(1).starts_with("write");
    const Element element = moves ? element_of(name, name.part(1).starts_with("write")) : Element{change_of(name).bytes};
    struct Result {
        unsigned vgpr, lane;
        Bytes bytes;
    };
    std::vector<Result> results;
    for (const Part& part : parts_of(inst, name, element.bytes)) {
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            if (active(m.wave, lane))
                results.push_back({inst.dst + part.dst_plus, lane, one_access(m, inst, name, part, element, lane)});
        }
    }
    if (inst.dst == kNoOperand) return;
    for (const Result& each : results) set_register_bytes(m.wave, each.vgpr, each.lane, element, each.bytes);
}

}  // namespace

uint32_t run_ds(MemoryMachine& m, const Inst& inst, const Name& name) {
    if (name.has("swizzle") || name.has("permute") || name.has("bpermute")) return exchange_lanes(m, inst, name), 0;
    if (name.has("nop")) return 0;
    const bool counts = name.has("append") || name.has("consume");
    // With the GDS bit M0 has the base and the size of what the wave may use.
    const std::span<uint8_t> lds = m.lds;
    if (inst.gds) {
        const size_t base = counts ? 0 : std::min<size_t>(m.wave.m0 >> 16, m.gds.size());
        const size_t size = counts ? m.gds.size() : m.wave.m0 & 0xffff;
        m.lds = m.gds.subspan(base, std::min(size, m.gds.size() - base));
    }
    if (counts) {
        count(m, inst, name.has("append"));
    } else if (name.has("src2")) {
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            if (active(m.wave, lane)) combine(m, inst, name, lane);
        }
    } else {
        access(m, inst, name);
    }
    m.lds = lds;
    return 0;
}

}  // namespace lyra::golden
