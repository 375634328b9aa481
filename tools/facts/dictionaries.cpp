// SPDX-License-Identifier: MIT
#include <algorithm>

#include "cp-firmware-model/packets/aql.h"
#include "cp-firmware-model/packets/pm4.h"
#include "cp-firmware-model/packets/sdma.h"
#include "facts/registers.h"
#include "tools/facts/pages.h"

namespace lyra::facts {

namespace {

/// NAME="\x00\x10\x00\xc0", little-endian as in memory.
void add(std::string& text, std::string_view name, uint32_t value, unsigned bytes) {
    text += fmt::format("{}=\"", name);
    for (unsigned n = 0; n < bytes; ++n) text += fmt::format("\\x{:02x}", value >> (8 * n) & 0xff);
    text += "\"\n";
}

std::string pm4() {
    std::string text = "# Headers of PM4 packets with their shortest body, and dwords of registers.\n";
    for (const pm4::PacketInfo& row : pm4::kPackets) {
        const uint32_t body = std::max<uint32_t>(row.min_body, 1);
        add(text, row.name, pm4::header(static_cast<pm4::Opcode>(row.opcode), body), 4);
    }
    for (const regs::Row& row : regs::kRows) add(text, fmt::format("{}_{}", row.block, row.name), row.dw, 4);
    return text;
}

std::string sdma() {
    std::string text = "# Headers of SDMA packets.\n";
    for (const sdma::Packet& row : sdma::kPackets) add(text, row.name, sdma::header(row), 4);
    return text;
}

std::string aql() {
    std::string text = "# Types and formats of AQL packets.\n";
#define AQL_TYPE(name, value, meaning) add(text, #name, value, 2);
#define AQL_VENDOR(name, format, meaning) add(text, #name, format, 1);
#include "facts/packets/aql.def"
    return text;
}

}  // namespace

std::string dictionary(std::string_view name) {
    return name == "pm4" ? pm4() : name == "sdma" ? sdma() : name == "aql" ? aql() : "";
}

}  // namespace lyra::facts
