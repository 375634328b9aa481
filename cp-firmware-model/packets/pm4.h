// SPDX-License-Identifier: MIT
// PM4 framing: headers, the table of packets (pm4.def) and who may send what; step 4 of the data flow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/bits.h"
#include "common/fault.h"
#include "cp-firmware-model/packets/frame.h"
#include "cp-firmware-model/queue/hqd.h"
#include "facts/pm4_header.h"

namespace lyra::pm4 {

enum Sender : uint8_t {
    kFromGfx = 1,
    kFromKernel = 2,
    kFromKiq = 4,
    kFromHiq = 8,
    kFromUser = 16,
    Gfx = kFromGfx,
    Sched = kFromKiq | kFromHiq,
    Ring = kFromGfx | kFromKernel | kFromKiq | kFromHiq,
    Any = Ring | kFromUser,
};

struct PacketInfo {
    const char* name;
    uint8_t opcode;
    uint16_t min_body, max_body;  ///< dwords after the header
    uint8_t senders;
};

inline constexpr PacketInfo kPackets[] = {
#define PM4(name, opcode, min, max, senders, handler) {#name, opcode, min, max, senders},
#include "facts/packets/pm4.def"
};

inline constexpr uint8_t kNoRow = 0xff;

/// Row of kPackets by opcode, kNoRow for an opcode that is not in the table. Does not compile when two rows share one.
inline constexpr std::array<uint8_t, 256> kRowOfOpcode = [] {
    std::array<uint8_t, 256> rows{};
    rows.fill(kNoRow);
    for (size_t i = 0; i < std::size(kPackets); ++i) {
        if (rows[kPackets[i].opcode] != kNoRow) throw "two packets with one opcode";
        rows[kPackets[i].opcode] = static_cast<uint8_t>(i);
    }
    return rows;
}();

inline const PacketInfo* info(uint8_t opcode) {
    const uint8_t row = kRowOfOpcode[opcode];
    return row == kNoRow ? nullptr : &kPackets[row];
}

/// KFD's exception code for a fault that stops a user queue, 0 = none.
constexpr uint32_t exception_of(Fault fault) {
    switch (fault) {
#define PM4_ERROR(fault, exception) \
    case Fault::fault: return exception;
#include "facts/packets/pm4.def"
        default: return 0;
    }
}

constexpr uint32_t type(uint32_t header) { return header_field::Type::get(header); }
constexpr uint8_t opcode(uint32_t header) { return static_cast<uint8_t>(header_field::Opcode::get(header)); }

inline constexpr uint32_t kMaxBodyDwords = header_field::Count::get(~0u) + 1;
/// A NOP with the largest count is one dword: header only.
inline constexpr uint32_t kOneDwordNop = header(Opcode::NOP, kMaxBodyDwords);
constexpr uint32_t body_dwords(uint32_t header) {
    const uint32_t body = header_field::Count::get(header) + 1;
    return opcode(header) == static_cast<uint8_t>(Opcode::NOP) && body == kMaxBodyDwords ? 0 : body;
}

/// A packet of type 2 is a NOP of one dword.
inline bool is_type2(uint32_t header) { return type(header) == 2; }

/// @param available  dwords from the header on
inline Frame<PacketInfo> frame(uint32_t header, Sender sender, uint64_t available) {
    Frame<PacketInfo> frame;
    if (is_type2(header)) {
        frame.row = info(static_cast<uint8_t>(Opcode::NOP));
        return frame.within(available);
    }
    if (type(header) != 3) {
        frame.fault = Fault::PacketType;
        return frame;
    }
    frame.row = info(opcode(header));
    frame.dwords = body_dwords(header) + 1;
    if (!frame.row || !(frame.row->senders & sender)) frame.fault = Fault::UnknownOpcode;
    return frame.within(available);
}

/// Whether a packet of the row may have so many dwords after its header.
constexpr bool fits(const PacketInfo& row, size_t body) { return body >= row.min_body && body <= row.max_body; }

/// A packet copied out of guest memory.
struct Packet {
    uint8_t opcode = 0;
    std::span<const uint32_t> body;
    uint32_t operator[](size_t dword) const { return dword < body.size() ? body[dword] : 0; }
    uint32_t dwords() const { return static_cast<uint32_t>(body.size()) + 1; }
};

// RUN_LIST::ib_size(packet)
#define PM4_FIELD(packet, name, ordinal, low, width)                                     \
    namespace packet {                                                                   \
    inline uint32_t name(const Packet& p) { return bits(p[(ordinal) - 2], low, width); } \
    }
#define PM4_PAIR(packet, name, ordinal)                                                          \
    namespace packet {                                                                           \
    inline uint64_t name(const Packet& p) { return make64(p[(ordinal) - 2], p[(ordinal) - 1]); } \
    }
#include "facts/packets/pm4_fields.def"

/// The same as rows.
struct Field {
    std::string_view packet;  ///< name of a row of kPackets, with _KIQ or _GFX for what the packet has only there
    const char* name;
    uint8_t dword, low, width;  ///< dword of the body; width 64: two dwords
    uint64_t get(const Packet& p) const { return width == 64 ? make64(p[dword], p[dword + 1u]) : bits(p[dword], low, width); }
};

inline constexpr Field kFields[] = {
#define PM4_FIELD(packet, name, ordinal, low, width) {#packet, #name, (ordinal) - 2, low, width},
#define PM4_PAIR(packet, name, ordinal) {#packet, #name, (ordinal) - 2, 0, 64},
#include "facts/packets/pm4_fields.def"
};

/// Ending of the packets' names in kFields that only this sender has.
constexpr std::string_view form_of(Sender sender) { return sender == kFromKiq ? "_KIQ" : sender == kFromGfx ? "_GFX" : ""; }

/// Whether a packet has the field when the sender has sent it.
constexpr bool has(const PacketInfo& row, Sender sender, const Field& field) {
    const std::string_view name = row.name;
    if (!field.packet.starts_with(name)) return false;
    const std::string_view form = field.packet.substr(name.size());
    return form.empty() || form == form_of(sender);
}

/// Visits the fields that a packet of the row has when the sender has sent it. @param visit  of a Field
template <class Visit>
constexpr void each_field(const PacketInfo& row, Sender sender, Visit visit) {
    for (const Field& field : kFields)
        if (has(row, sender, field)) visit(field);
}

// In 32 bits. The same bits may be two fields: what selects one decides.
static_assert([] {
    for (const Field& field : kFields)
        if (field.width != 64 && field.low + field.width > 32) return false;
    return true;
}());

constexpr Sender sender(const Hqd& hqd) {
    if (hqd.me == 0) return kFromGfx;
    switch (hqd.kind) {
        case QueueKind::Kernel: return kFromKernel;
        case QueueKind::Hiq: return kFromHiq;
        case QueueKind::Kiq: return kFromKiq;
        case QueueKind::User: break;
    }
    return kFromUser;
}

}  // namespace lyra::pm4
