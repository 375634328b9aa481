// SPDX-License-Identifier: MIT
#include <vector>

#include "cp-firmware-model/packets/aql.h"
#include "cp-firmware-model/packets/pm4.h"
#include "cp-firmware-model/packets/sdma.h"
#include "facts/mqd.h"
#include "tools/facts/pages.h"

namespace lyra::facts {

namespace {

constexpr std::string_view kPm4Handlers[] = {
#define PM4(name, opcode, min, max, senders, handler) #handler,
#include "facts/packets/pm4.def"
};

constexpr std::string_view kSdmaHandlers[] = {
#define SDMA_PACKET(name, op, sub_op, variant, dwords, tail, handler) #handler,
#include "facts/packets/sdma.def"
#undef SDMA_PACKET
};

std::string_view effect(std::string_view handler) {
    return handler == "todo" ? "not modelled" : handler == "no_effect" ? "none" : "";
}

std::string senders(uint8_t mask) {
    if (mask == pm4::Any) return "any queue";
    if (mask == pm4::Ring) return "the kernel's rings";
    if (mask == pm4::Sched) return "KIQ, HIQ";
    return mask == pm4::Gfx ? "the gfx ring" : fmt::format("{:#x}", mask);
}

/// "dw 2: `dst_sel` 11:8". @param first  number of dword 0
template <class Field>
void add_field(std::string& text, const Field& field, unsigned first, std::string_view note = "") {
    const unsigned dword = field.dword + first;
    if (!text.empty()) text += ", ";
    text += field.width == 64   ? fmt::format("`{}` dw {}..{}", field.name, dword, dword + 1)
            : field.width == 32 ? fmt::format("`{}` dw {}", field.name, dword)
                                : fmt::format("`{}` dw {} {}", field.name, dword, bit_range(field.low, field.width));
    text += note;
}

std::string pm4_table() {
    std::string text;
    for (size_t n = 0; n < std::size(pm4::kPackets); ++n) {
        const pm4::PacketInfo& row = pm4::kPackets[n];
        std::string fields;
        for (const pm4::Field& field : pm4::kFields) {
            const bool any = field.packet == row.name;
            if (any || pm4::has(row, pm4::kFromKiq, field)) add_field(fields, field, 2, any ? "" : " (KIQ)");
            if (!any && pm4::has(row, pm4::kFromGfx, field)) add_field(fields, field, 2, " (gfx ring)");
        }
        const std::string body =
            row.min_body == row.max_body ? fmt::format("{}", row.min_body) : fmt::format("{}..{}", row.min_body, row.max_body);
        text += fmt::format("| `{}` | {:#04x} | {} | {} | {} | {} |\n", row.name, row.opcode, body, senders(row.senders),
                            effect(kPm4Handlers[n]), fields);
    }
    return text;
}

std::string sdma_table() {
    std::string text;
    for (size_t n = 0; n < std::size(sdma::kPackets); ++n) {
        const sdma::Packet& row = sdma::kPackets[n];
        std::string fields;
        sdma::each_field(row, [&](const sdma::Field& field) { add_field(fields, field, 0); });
        text += fmt::format("| `{}` | {} | {} | {}{} | {} | {} |\n", row.name, row.op, row.sub_op, row.dwords,
                            row.tail == sdma::Tail::None ? "" : " and data", effect(kSdmaHandlers[n]), fields);
    }
    return text;
}

std::string aql_table() {
    std::string text;
#define AQL_HEADER(name, low, width) text += fmt::format("| header | `{}` | 0x00 {} | |\n", #name, bit_range(low, width));
#define AQL_FIELD(packet, name, offset, type) \
    text += fmt::format("| {} | `{}` | {:#04x} | {} |\n", #packet, #name, offset, #type);
#include "facts/packets/aql.def"
    return text;
}

std::string mqd_table() {
    std::string text;
    const auto add = [&](const char* name, unsigned dword, unsigned dwords, std::string_view meaning) {
        const std::string range = dwords == 1 ? fmt::format("{}", dword) : fmt::format("{}..{}", dword, dword + dwords - 1);
        text += fmt::format("| {} | `{}` | {} |\n", range, name, meaning);
    };
#define MQD_REG(name, dword, dwords, reg) add(#name, dword, dwords, "`" #reg "`");
#define MQD(name, dword, dwords) add(#name, dword, dwords, "");
#define MQD_OWN(name, dword, dwords) add(#name, dword, dwords, "of the model");
#include "facts/mqd/v9_mqd.def"
    return text;
}

std::string sdma_mqd_table() {
    std::string text;
#define SDMA_MQD(name, dword, reg) text += fmt::format("| {} | `sdmax_rlcx_{}` | `{}` |\n", dword, #name, #reg);
#include "facts/mqd/v9_sdma_mqd.def"
    return text;
}

}  // namespace

std::string packets_page() {
    return fmt::format(
        "# Packets and queue descriptors\n\n{}\n\n"
        "Tables in `facts/packets/` and `facts/mqd/`. Effect: `none` is a packet for state that the\n"
        "model does not have; `not modelled` is a gap, counted and skipped.\n\n"
        "## PM4\n\nThe header is dw 1, as the driver counts. Body: dwords after the header.\n\n"
        "| packet | opcode | body | from | effect | fields |\n|---|---|---|---|---|---|\n{}\n"
        "## SDMA\n\nThe header is dw 0.\n\n"
        "| packet | op | sub_op | dwords | effect | fields |\n|---|---|---|---|---|---|\n{}\n"
        "## AQL\n\nOffsets are bytes in the packet of 64.\n\n| packet | field | offset | type |\n|---|---|---|---|\n{}\n"
        "## Compute MQD\n\nDwords of `v9_mqd` that the model uses.\n\n| dword | name | register |\n|---|---|---|\n{}\n"
        "## SDMA MQD\n\nDwords of `v9_sdma_mqd` that the model uses.\n\n| dword | name | register |\n|---|---|---|\n{}",
        kMadeOfRows, pm4_table(), sdma_table(), aql_table(), mqd_table(), sdma_mqd_table());
}

}  // namespace lyra::facts
