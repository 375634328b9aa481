// SPDX-License-Identifier: MIT
// Parts of mnemonics, places of bytes, registers as bytes: what the formats of the memory model share.
#include "gcn-interp/golden/memory_parts.h"

#include <algorithm>

namespace lyra::golden {

using namespace gcn;

Name::Name(Op op) : text_(info(op).name) {
    for (size_t at = 0; at <= text_.size();) {
        const size_t end = std::min(text_.find('_', at), text_.size());
        parts_.push_back(text_.substr(at, end - at));
        at = end + 1;
    }
}
bool Name::has(std::string_view part) const { return std::find(parts_.begin(), parts_.end(), part) != parts_.end(); }

namespace {

bool canonical(uint64_t address) {
    const uint64_t top = address >> 47;
    return top == 0 || top == 0x1ffff;
}

uint32_t complaint_of(const MemoryMachine& m, const Place& place, bool write) {
    if (place.where == Place::NoAperture) return kAperture;
    if (place.where != Place::Memory) return kNoComplaint;
    if (!canonical(place.at)) return kAperture;
    const uint64_t page = (place.at - m.memory.first) / GlobalMemory::kPage;
    if (place.at < m.memory.first || page >= m.memory.pages.size()) return kViolation;
    const PageRights rights = m.memory.pages[page];
    return rights == PageRights::Absent || (write && rights == PageRights::ReadOnly) ? kViolation : kNoComplaint;
}

uint8_t* byte_at(const MemoryMachine& m, const Place& place) {
    switch (place.where) {
        case Place::Memory: return &m.memory.bytes[place.at - m.memory.first];
        case Place::Lds: return &m.lds[place.at];
        default: return nullptr;
    }
}

}  // namespace

uint32_t complaints(const MemoryMachine& m, const Places& places, bool write) {
    uint32_t all = 0;
    for (const Place& place : places) all |= complaint_of(m, place, write);
    return all;
}

Bytes read_bytes(const MemoryMachine& m, const Places& places, uint32_t& complaint) {
    Bytes bytes(places.size());
    const uint32_t found = complaints(m, places, false);
    complaint |= found;
    if (found != 0) return bytes;
    for (size_t i = 0; i < places.size(); ++i) {
        if (const uint8_t* byte = byte_at(m, places[i])) bytes[i] = *byte;
    }
    return bytes;
}

void write_bytes(MemoryMachine& m, const Places& places, const Bytes& bytes, uint32_t& complaint) {
    const uint32_t found = complaints(m, places, true);
    complaint |= found;
    if (found != 0) return;
    for (size_t i = 0; i < places.size(); ++i) {
        if (uint8_t* byte = byte_at(m, places[i])) *byte = bytes[i];
        if (places[i].where == Place::Memory) m.stored.push_back({places[i].at, bytes[i]});
    }
}

Places lds_places(const MemoryMachine& m, uint32_t address, unsigned bytes) {
    Places places(bytes);
    if (uint64_t{address} + bytes > m.lds.size()) return places;
    for (unsigned i = 0; i < bytes; ++i) places[i] = {Place::Lds, address + i};
    return places;
}

Element element_of(const Name& name, bool store) {
    static constexpr struct {
        std::string_view part;
        unsigned bytes;
        bool sign;
    } kParts[] = {
        {"ubyte", 1, false}, {"sbyte", 1, true},  {"ushort", 2, false},  {"sshort", 2, true},    {"byte", 1, false},
        {"short", 2, false}, {"dword", 4, false}, {"dwordx2", 8, false}, {"dwordx3", 12, false}, {"dwordx4", 16, false},
        {"u8", 1, false},    {"i8", 1, true},     {"u16", 2, false},     {"i16", 2, true},       {"b8", 1, false},
        {"b16", 2, false},   {"b32", 4, false},   {"b64", 8, false},     {"b96", 12, false},     {"b128", 16, false},
    };
    Element element;
    for (const auto& each : kParts) {
        if (name.has(each.part)) element = {each.bytes, each.sign, Element::Whole};
    }
    // A store takes the low half anyway, a load of D16 leaves the other half alone.
    if (name.has("d16")) element.part = name.has("hi") ? Element::High : store ? Element::Whole : Element::Low;
    return element;
}

uint32_t vgpr(const Wave& wave, unsigned n, unsigned lane) { return wave.vgpr[n < wave.vgpr_count ? n : 0].lane[lane]; }
void set_vgpr(Wave& wave, unsigned n, unsigned lane, uint32_t value) {
    if (n < wave.vgpr_count) wave.vgpr[n].lane[lane] = value;
}

Bytes register_bytes(const Wave& wave, unsigned n, unsigned lane, const Element& element) {
    const unsigned skip = element.part == Element::High ? 2 : 0;
    Bytes bytes(element.bytes);
    for (unsigned i = 0; i < element.bytes; ++i) {
        bytes[i] = static_cast<uint8_t>(vgpr(wave, n + (i + skip) / 4, lane) >> (8 * ((i + skip) % 4)));
    }
    return bytes;
}

void set_register_bytes(Wave& wave, unsigned n, unsigned lane, const Element& element, const Bytes& bytes) {
    Bytes all = bytes;
    const uint8_t fill = element.sign && (all.back() & 0x80) != 0 ? 0xff : 0;
    const unsigned whole = element.part == Element::Whole ? 4 : 2;
    while (all.size() % whole != 0) all.push_back(fill);
    const unsigned skip = element.part == Element::High ? 2 : 0;
    for (unsigned i = 0; i < all.size(); ++i) {
        const unsigned to = n + (i + skip) / 4, shift = 8 * ((i + skip) % 4);
        set_vgpr(wave, to, lane, (vgpr(wave, to, lane) & ~(0xffu << shift)) | uint32_t{all[i]} << shift);
    }
}

uint64_t number_of(const Bytes& bytes) {
    uint64_t number = 0;
    for (size_t i = 0; i < bytes.size(); ++i) number |= uint64_t{bytes[i]} << (8 * i);
    return number;
}
Bytes bytes_of(uint64_t number, unsigned bytes) {
    Bytes result(bytes);
    for (unsigned i = 0; i < bytes; ++i) result[i] = static_cast<uint8_t>(number >> (8 * i));
    return result;
}
uint64_t vgpr_number(const Wave& wave, unsigned n, unsigned lane, unsigned bytes) {
    return number_of(register_bytes(wave, n, lane, {bytes}));
}

void load_to_lds(MemoryMachine& m, const Inst& inst, unsigned lane, uint32_t value) {
    const uint32_t address = (m.wave.m0 & 0xffff) + static_cast<uint32_t>(inst.imm) + 4 * lane;
    uint32_t none = 0;
    write_bytes(m, lds_places(m, address, 4), bytes_of(value, 4), none);
}

uint32_t scalar_value(const Wave& wave, unsigned operand) {
    static constexpr uint32_t kFloats[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                           0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
    if (operand < 128) return wave.read_scalar(operand);
    if (operand <= 192) return operand - 128;
    if (operand <= 208) return 0u - (operand - 192);
    switch (operand) {
        case 235: return static_cast<uint32_t>(wave.shared_base >> 32);
        case 236: return static_cast<uint32_t>(wave.shared_base >> 32);
        case 237: return static_cast<uint32_t>(wave.private_base >> 32);
        case 238: return static_cast<uint32_t>(wave.private_base >> 32);
        case 251: return wave.vcc() == 0 ? 1 : 0;
        case 252: return wave.exec == 0 ? 1 : 0;
        case 253: return wave.scc ? 1 : 0;
        default: return operand >= 240 && operand <= 248 ? kFloats[operand - 240] : 0;
    }
}

bool models_memory(Op op) {
    switch (info(op).format) {
        case Format::DS: return !info(op).has(flag::Gws);
        case Format::FLAT:
        case Format::MUBUF:
        case Format::MTBUF:
        case Format::SMEM: return true;
        default: return false;
    }
}

uint32_t execute_memory(MemoryMachine& machine, const Inst& inst) {
    const Name name(inst.op);
    switch (inst.format) {
        case Format::DS: return run_ds(machine, inst, name);
        case Format::FLAT: return run_flat(machine, inst, name);
        case Format::SMEM: return run_smem(machine, inst, name);
        default: return run_buffer(machine, inst, name);
    }
}

}  // namespace lyra::golden
