// SPDX-License-Identifier: MIT
// Opcodes of PM4 packets (facts/packets/pm4.def), and headers made of them.
#pragma once

#include <cstdint>

#include "common/bits.h"

namespace lyra::pm4 {

enum class Opcode : uint8_t {
#define PM4(name, opcode, min, max, senders, handler) name = opcode,
#include "facts/packets/pm4.def"
};

/// Fields of a type-3 header. @source Linux 6.12 soc15d.h PACKET3()
namespace header_field {
using Type = Bits<30, 2>;
using Count = Bits<16, 14>;  ///< dwords of the body - 1
using Opcode = Bits<8, 8>;
}  // namespace header_field

constexpr uint32_t header(Opcode op, uint32_t body) {
    const uint32_t typed = header_field::Type::set(uint32_t{0}, 3);
    return header_field::Count::set(header_field::Opcode::set(typed, static_cast<uint8_t>(op)), body - 1);
}

/// Where the packets SET_SH_REG, SET_CONFIG_REG and SET_UCONFIG_REG count from, dwords of BAR5.
/// @source Linux 6.12 soc15d.h PACKET3_SET_SH_REG_START
inline constexpr uint32_t kShRegisters = 0x2c00, kConfigRegisters = 0x2000, kUconfigRegisters = 0xc000;

}  // namespace lyra::pm4
