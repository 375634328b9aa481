// SPDX-License-Identifier: MIT
// Opcodes of PM4 packets (facts/packets/pm4.def), and headers made of them.
#pragma once

#include <cstdint>

namespace lyra::pm4 {

enum class Opcode : uint8_t {
#define PM4(name, opcode, min, max, senders, handler) name = opcode,
#include "facts/packets/pm4.def"
};

/// Type-3 header: type 31:30, body dwords - 1 29:16, opcode 15:8. @source Linux 6.12 soc15d.h PACKET3()
constexpr uint32_t header(Opcode op, uint32_t body) {
    return 0xc0000000u | ((body - 1) & 0x3fff) << 16 | static_cast<uint32_t>(op) << 8;
}

/// Where the packets SET_SH_REG, SET_CONFIG_REG and SET_UCONFIG_REG count from, dwords of BAR5.
/// @source Linux 6.12 soc15d.h PACKET3_SET_SH_REG_START
inline constexpr uint32_t kShRegisters = 0x2c00, kConfigRegisters = 0x2000, kUconfigRegisters = 0xc000;

}  // namespace lyra::pm4
