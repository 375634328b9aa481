// SPDX-License-Identifier: MIT
#include "cp-firmware-model/packets/text.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace lyra {

namespace {

void add(std::string& text, std::string_view name, uint64_t value) {
    if (value != 0) text += value < 4096 ? fmt::format(" {}={}", name, value) : fmt::format(" {}={:#x}", name, value);
}

struct AqlRow {
    std::string_view packet, name;
    uint64_t (*get)(const AqlPacket&);
};

constexpr AqlRow kAqlRows[] = {
#define AQL_FIELD(packet, name, offset, type) \
    {#packet, #name, [](const AqlPacket& p) { return static_cast<uint64_t>(aql::packet::name(p)); }},
#include "facts/packets/aql.def"
};

struct AqlKind {
    const char* name;
    std::string_view rows;  ///< empty: only those of any packet
};

AqlKind kind_of(const AqlPacket& packet) {
    switch (aql::type(packet)) {
        case aql::Type::KernelDispatch: return {"KernelDispatch", "kernel_dispatch"};
        case aql::Type::BarrierAnd: return {"BarrierAnd", "barrier"};
        case aql::Type::BarrierOr: return {"BarrierOr", "barrier"};
        case aql::Type::AgentDispatch: return {"AgentDispatch", ""};
        case aql::Type::Invalid: return {"Invalid", ""};
        case aql::Type::VendorSpecific: break;
    }
    switch (static_cast<aql::Vendor>(aql::any::vendor_format(packet))) {
        case aql::Vendor::Pm4Ib: return {"Pm4Ib", "pm4_ib"};
        case aql::Vendor::BarrierValue: return {"BarrierValue", "barrier_value"};
    }
    return {"VendorSpecific", ""};
}

}  // namespace

std::string packet_text(const pm4::Packet& packet, pm4::Sender sender) {
    const pm4::PacketInfo* const info = pm4::info(packet.opcode);
    std::string text = info ? info->name : fmt::format("opcode {:#04x}", packet.opcode);
    bool known = false;
    if (info)
        pm4::each_field(*info, sender, [&](const pm4::Field& field) {
            known = true;
            add(text, field.name, field.get(packet));
        });
    constexpr size_t kShown = 8;
    for (size_t n = 0; !known && n < std::min(packet.body.size(), kShown); ++n) text += fmt::format(" {:#010x}", packet[n]);
    return text;
}

std::string packet_text(const AqlPacket& packet) {
    const AqlKind kind = kind_of(packet);
    const bool vendor = aql::type(packet) == aql::Type::VendorSpecific;
    std::string text = kind.name;
    for (const AqlRow& row : kAqlRows) {
        const bool any = row.packet == "any" && (vendor || row.name != "vendor_format");  // others have something else there
        if (any || row.packet == kind.rows) add(text, row.name, row.get(packet));
    }
    return text;
}

std::string packet_text(const sdma::Packet& row, const sdma::Words& words) {
    std::string text = row.name;
    sdma::each_field(row, [&](const sdma::Field& field) { add(text, field.name, field.get(words)); });
    return text;
}

}  // namespace lyra
