// SPDX-License-Identifier: MIT
// Reference model of scalar memory: each dword is looked at on its own.
// @source AMD Vega ISA document, "Scalar memory operations": all parts of an address count bytes, their two low bits are
// ignored
#include "gcn-interp/golden/memory_parts.h"

namespace lyra::golden {

using namespace gcn;

namespace {

struct ScalarAddress {
    uint64_t base = 0;
    int64_t offset = 0;
    uint64_t size = ~uint64_t{0};  ///< bytes of a buffer
};

ScalarAddress address_of(const Wave& wave, const Inst& inst, const Name& name) {
    ScalarAddress a;
    if (inst.imm_offset) a.offset += inst.imm & ~3;
    if (inst.soffset != kNoOperand) {
        const int64_t variable = scalar_value(wave, inst.soffset);
        a.offset += name.has("scratch") ? variable * 64 : variable & ~int64_t{3};
    }
    const uint32_t low = wave.read_scalar(inst.saddr), high = wave.read_scalar(inst.saddr + 1u);
    if (name.has("buffer")) {
        const uint64_t stride = high >> 16 & 0x3fff, records = wave.read_scalar(inst.saddr + 2u);
        a.base = uint64_t{high & 0xffff} << 32 | low;
        if ((a.base >> 47) != 0) a.base |= uint64_t{0xffff} << 48;
        a.size = records * (stride == 0 ? 1 : stride);
    } else {
        a.base = uint64_t{high} << 32 | low;
    }
    a.base &= ~uint64_t{3};
    return a;
}

/// Bytes from the address on; dwords that are not all inside of the buffer are nowhere. A negative offset is undefined, and
/// taken as outside.
Places places_of(const ScalarAddress& a, unsigned bytes) {
    Places places(bytes);
    if (a.size != ~uint64_t{0} && a.offset < 0) return places;
    for (unsigned i = 0; i < bytes; ++i) {
        const auto offset = static_cast<uint64_t>(a.offset + i);
        if (a.size == ~uint64_t{0} || offset / 4 * 4 + 4 <= a.size) places[i] = {Place::Memory, a.base + offset};
    }
    return places;
}

unsigned dwords_of(const Name& name) {
    const std::string_view last = name.last();
    return last == "dword" ? 1 : static_cast<unsigned>(std::stoul(std::string(last.substr(6))));
}

uint64_t sgpr_number(const Wave& wave, unsigned n, unsigned bytes) {
    return bytes == 8 ? wave.read_scalar64(n) : wave.read_scalar(n);
}

uint32_t run_atomic(MemoryMachine& m, const Inst& inst, const Name& name) {
    Wave& wave = m.wave;
    const Change change = change_of(name);
    const ScalarAddress a = address_of(wave, inst, name);
    Places places = places_of(a, change.bytes);
    const bool inside = places.back().where == Place::Memory && places.front().where == Place::Memory;
    uint32_t complaint = 0;
    uint64_t old = 0;
    if (inside) {
        if (places.front().at % change.bytes != 0) return kAperture;
        complaint = complaints(m, places, true);
        if (complaint != 0) return complaint;
        old = number_of(read_bytes(m, places, complaint));
        const uint64_t data = sgpr_number(wave, inst.src[0], change.bytes);
        const uint64_t other = change.takes_two() ? sgpr_number(wave, inst.src[0] + change.bytes / 4, change.bytes) : 0;
        write_bytes(m, places, bytes_of(apply(m, change, old, data, other), change.bytes), complaint);
    }
    for (unsigned w = 0; inst.glc && w < change.bytes / 4; ++w)
        wave.write_scalar(inst.src[0] + w, static_cast<uint32_t>(old >> (32 * w)));
    return complaint;
}

}  // namespace

uint32_t run_smem(MemoryMachine& m, const Inst& inst, const Name& name) {
    Wave& wave = m.wave;
    if (name.has("memtime")) return wave.write_scalar64(inst.dst, m.shader_clock), 0;
    if (name.has("memrealtime")) return wave.write_scalar64(inst.dst, m.reference_clock), 0;
    if (name.has("atomic")) return run_atomic(m, inst, name);
    const bool load = name.has("load"), store = name.has("store");
    if (!load && !store) return 0;  // caches and probes: there is one memory, coherent
    uint32_t complaint = 0;
    const unsigned dwords = dwords_of(name);
    const Places places = places_of(address_of(wave, inst, name), 4 * dwords);
    if (load) {
        const Bytes bytes = read_bytes(m, places, complaint);
        for (unsigned w = 0; w < dwords; ++w)
            wave.write_scalar(inst.dst + w, static_cast<uint32_t>(number_of(Bytes(&bytes[4 * w], &bytes[4 * w] + 4))));
    } else {
        Bytes bytes;
        for (unsigned w = 0; w < dwords; ++w) {
            const Bytes more = bytes_of(wave.read_scalar(inst.src[0] + w), 4);
            bytes.insert(bytes.end(), more.begin(), more.end());
        }
        write_bytes(m, places, bytes, complaint);
    }
    return complaint;
}

}  // namespace lyra::golden
