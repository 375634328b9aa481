// SPDX-License-Identifier: MIT
// Reference model of FLAT, GLOBAL and SCRATCH.
// @source AMD Vega ISA document, "Flat memory instructions"; LLVM AMDGPUUsage for the place of private memory
#include "gcn-interp/golden/memory_parts.h"

namespace lyra::golden {

using namespace gcn;

namespace {

/// What an address of one lane means.
struct FlatAddress {
    enum Kind : uint8_t { Linear, Lds, Private, None } kind = Linear;
    uint64_t at = 0;
};

FlatAddress address_of(const Wave& wave, const Inst& inst, unsigned lane) {
    const auto offset = static_cast<uint64_t>(static_cast<int64_t>(inst.imm));
    if (inst.seg == 1) {
        uint64_t variable = 0;
        if (inst.saddr != kNoOperand) variable += wave.read_scalar(inst.saddr);
        if (inst.vaddr != kNoOperand) variable += vgpr(wave, inst.vaddr, lane);
        return {FlatAddress::Private, static_cast<uint32_t>(variable + offset)};
    }
    if (inst.seg == 2) {
        if (inst.saddr != kNoOperand)
            return {FlatAddress::Linear, wave.read_scalar64(inst.saddr) + vgpr(wave, inst.vaddr, lane) + offset};
        return {FlatAddress::Linear, vgpr_number(wave, inst.vaddr, lane, 8) + offset};
    }
    const uint64_t address = vgpr_number(wave, inst.vaddr, lane, 8) + offset;
    // An aperture is 4 GiB of the 256 TiB that its top sixteen bits name; the rest of those is nothing.
    for (const auto& [base, kind] :
         {std::pair{wave.shared_base, FlatAddress::Lds}, {wave.private_base, FlatAddress::Private}}) {
        if (base == 0 || address >> 48 != base >> 48) continue;
        return address - base < (uint64_t{1} << 32) ? FlatAddress{kind, address - base} : FlatAddress{FlatAddress::None, 0};
    }
    return {FlatAddress::Linear, address};
}

Places places_of(const MemoryMachine& m, const FlatAddress& address, unsigned bytes) {
    Places places(bytes, Place{Place::NoAperture, 0});
    if (address.kind == FlatAddress::Lds && address.at + bytes > m.lds.size()) return places;
    if (address.kind == FlatAddress::None) return places;
    for (unsigned i = 0; i < bytes; ++i) {
        const uint64_t at = address.at + i;
        switch (address.kind) {
            case FlatAddress::Lds: places[i] = {Place::Lds, at}; break;
            default: places[i] = {Place::Memory, at}; break;
        }
    }
    return places;
}

/// Dword d of lane l lies at FLAT_SCRATCH + (64 * d + l) * 4.
Places private_places(const Wave& wave, uint32_t offset, unsigned lane, unsigned bytes) {
    Places places(bytes);
    uint64_t base = wave.flat_scratch() & 0xffffffffffff;
    if ((base >> 47) != 0) base |= uint64_t{0xffff} << 48;
    for (unsigned i = 0; i < bytes; ++i) {
        const uint32_t at = offset + i;
        places[i] = {Place::Memory, base + (uint64_t{at / 4} * 64 + lane) * 4 + at % 4};
    }
    return places;
}

}  // namespace

uint32_t run_flat(MemoryMachine& m, const Inst& inst, const Name& name) {
    Wave& wave = m.wave;
    uint32_t complaint = 0;
    const bool atomic = name.has("atomic");
    Change change = atomic ? change_of(name) : Change{};
    const bool in_memory = change.in_memory;
    const Element element = atomic ? Element{change.bytes} : element_of(name, name.has("store"));
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        if (!active(wave, lane)) continue;
        FlatAddress address = address_of(wave, inst, lane);
        if (atomic && address.at % element.bytes != 0) {
            // LDS leaves the low bits out, everything else wants natural alignment.
            if (address.kind != FlatAddress::Lds) {
                complaint |= kAperture;
                continue;
            }
            address.at -= address.at % element.bytes;
        }
        const Places places = address.kind == FlatAddress::Private
                                  ? private_places(wave, static_cast<uint32_t>(address.at), lane, element.bytes)
                                  : places_of(m, address, element.bytes);
        if (name.has("store")) {
            write_bytes(m, places, register_bytes(wave, inst.vdata, lane, element), complaint);
        } else if (atomic) {
            const uint32_t refused = complaints(m, places, true);
            complaint |= refused;
            if (refused != 0) continue;
            const Bytes old = read_bytes(m, places, complaint);
            const uint64_t data = vgpr_number(wave, inst.vdata, lane, element.bytes);
            change.in_memory = in_memory && address.kind != FlatAddress::Lds;
            const uint64_t other =
                change.takes_two() ? vgpr_number(wave, inst.vdata + element.bytes / 4, lane, element.bytes) : 0;
            write_bytes(m, places, bytes_of(apply(m, change, number_of(old), data, other), element.bytes), complaint);
            if (inst.glc) set_register_bytes(wave, inst.dst, lane, element, old);
        } else if (inst.lds) {
            uint64_t value = number_of(read_bytes(m, places, complaint));
            if (element.sign && (value >> (8 * element.bytes - 1)) != 0) value |= ~uint64_t{0} << (8 * element.bytes);
            load_to_lds(m, inst, lane, static_cast<uint32_t>(value));
        } else {
            set_register_bytes(wave, inst.dst, lane, element, read_bytes(m, places, complaint));
        }
    }
    return complaint;
}

}  // namespace lyra::golden
