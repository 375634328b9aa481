// SPDX-License-Identifier: MIT
// SDMA packet decode: rows of sdma.def, look-up by header word, packet length, and fields (facts/packets/sdma_fields.def).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/bits.h"
#include "cp-firmware-model/packets/frame.h"

namespace lyra::sdma {

/// Number of a row.
enum class Id : uint8_t {
#define SDMA_PACKET(name, op, sub_op, variant, dwords, tail, handler) name,
#include "facts/packets/sdma.def"
#undef SDMA_PACKET
};
enum class Variant : uint8_t { Any, Plain, Broadcast };
enum class Tail : uint8_t { None, NopCount, WriteCount, TiledCount };

struct Packet {
    const char* name;
    uint8_t op;
    uint8_t sub_op;
    Variant variant;
    uint8_t dwords;  ///< fixed part, header included
    Tail tail;
    constexpr bool is(Id id) const;
};

inline constexpr Packet kPackets[] = {
#define SDMA_PACKET(name, op, sub_op, variant, dwords, tail, handler) {#name, op, sub_op, Variant::variant, dwords, Tail::tail},
#include "facts/packets/sdma.def"
#undef SDMA_PACKET
};

inline constexpr size_t kMaxFixedDwords = 16;
/// The fixed part of a packet; words past its length are not meaningful.
using Words = std::array<uint32_t, kMaxFixedDwords>;

constexpr bool Packet::is(Id id) const { return this == &kPackets[static_cast<size_t>(id)]; }

// FENCE::addr(words)
#define SDMA_FIELD(packet, name, dword, low, width)                                                 \
    namespace packet {                                                                              \
    constexpr uint32_t name(const Words& words) { return Bits<(low), (width)>::get(words[dword]); } \
    }
#define SDMA_PAIR(packet, name, dword)                                                               \
    namespace packet {                                                                               \
    constexpr uint64_t name(const Words& words) { return make64(words[dword], words[(dword) + 1]); } \
    }
#include "facts/packets/sdma_fields.def"

/// Fields of a header that choose the row, with COPY_LINEAR::broadcast.
namespace header_field {
using Op = Bits<0, 8>;
using SubOp = Bits<8, 8>;
}  // namespace header_field

/// Row of the packet that begins with this header word; nullptr when there is none. Reserved header bits are ignored.
constexpr const Packet* find_packet(uint32_t header) {
    const uint32_t op = header_field::Op::get(header), sub_op = header_field::SubOp::get(header);
    const Variant variant = COPY_LINEAR::broadcast({header}) ? Variant::Broadcast : Variant::Plain;
    for (const Packet& row : kPackets) {
        if (row.op == op && row.sub_op == sub_op && (row.variant == Variant::Any || row.variant == variant)) return &row;
    }
    return nullptr;
}

/// Header word of a packet without fields.
constexpr uint32_t header(const Packet& row) {
    return header_field::SubOp::set(uint32_t{row.op}, row.sub_op) | (row.variant == Variant::Broadcast ? 1u << 27 : 0);
}

// Two rows for one header do not compile, nor does a packet that does not fit into Words.
static_assert([] {
    for (const Packet& row : kPackets)
        if (find_packet(header(row)) != &row || row.dwords > kMaxFixedDwords) return false;
    return true;
}());

/// Dwords that follow the fixed part. At most 2^20.
constexpr uint32_t tail_dwords(const Packet& row, const Words& words) {
    switch (row.tail) {
        case Tail::None: return 0;
        case Tail::NopCount: return NOP::count(words);
        case Tail::WriteCount: return WRITE_LINEAR::count(words) + 1;
        case Tail::TiledCount: return WRITE_TILED::count(words) + 1;
    }
    return 0;
}

/// @param words  the first dwords of the packet, as many as are there @param available  dwords from the header on, 1 or more
constexpr Frame<Packet> frame(const Words& words, uint64_t available) {
    Frame<Packet> frame;
    frame.row = find_packet(words[0]);
    if (!frame.row) {
        frame.fault = Fault::SdmaOpcode;
        return frame;
    }
    frame.dwords = frame.row->dwords;
    if (frame.dwords <= available) frame.dwords += tail_dwords(*frame.row, words);
    return frame.within(available);
}

// --- fields as rows ---

struct Field {
    Id packet;
    const char* name;
    uint8_t dword, low, width;  ///< width 64: two dwords
    constexpr uint64_t get(const Words& words) const {
        return width == 64 ? make64(words[dword], words[dword + 1u]) : bits(words[dword], low, width);
    }
};

inline constexpr Field kFields[] = {
#define SDMA_FIELD(packet, name, dword, low, width) {Id::packet, #name, dword, low, width},
#define SDMA_PAIR(packet, name, dword) {Id::packet, #name, dword, 0, 64},
#include "facts/packets/sdma_fields.def"
};

/// Visits the fields of a packet of the row. @param visit  of a Field
template <class Visit>
constexpr void each_field(const Packet& row, Visit visit) {
    for (const Field& field : kFields)
        if (row.is(field.packet)) visit(field);
}

// A field lies in the fixed part of its packet, and has no bit of another or of the operation.
static_assert([] {
    for (size_t id = 0; id < std::size(kPackets); ++id) {
        std::array<uint64_t, kMaxFixedDwords> taken{header_field::Op::kMask | header_field::SubOp::kMask};
        for (const Field& field : kFields) {
            if (field.packet != static_cast<Id>(id)) continue;
            const unsigned dwords = field.width == 64 ? 2 : 1, width = field.width / dwords;
            if (field.low + width > 32 || field.dword + dwords > kPackets[id].dwords) return false;
            for (unsigned n = field.dword; n < field.dword + dwords; ++n) {
                const uint64_t mask = ((uint64_t{1} << width) - 1) << field.low;
                if (taken[n] & mask) return false;
                taken[n] |= mask;
            }
        }
    }
    return true;
}());

// --- values of fields ---

/// Where a packet addresses a register by bytes: its dword in BAR5.
using RegisterAddress = Bits<2, 18>;

inline constexpr uint32_t kFillDwords = 2;  ///< CONST_FILL.fillsize; 0: bytes. @source cikd.h SDMA_CONSTANT_FILL_EXTRA_SIZE
inline constexpr uint32_t kPollForever = 0xfff;  ///< POLL_REGMEM.retry_count

/// Whether (value) <function> (reference) holds. function 0 always does; 7 is reserved and never does.
constexpr bool poll_condition(uint32_t function, uint32_t value, uint32_t reference) {
    switch (function) {
        case 0: return true;
        case 1: return value < reference;
        case 2: return value <= reference;
        case 3: return value == reference;
        case 4: return value != reference;
        case 5: return value >= reference;
        case 6: return value > reference;
        default: return false;
    }
}

}  // namespace lyra::sdma
