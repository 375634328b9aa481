// SPDX-License-Identifier: MIT
// Reset values of a queue slot, from facts/registers/hqd.def; step 3 of the data flow.
#pragma once

#include <array>
#include <cstdint>

#include "cp-firmware-model/queue/hqd.h"
#include "facts/registers.h"

namespace lyra {

inline constexpr uint32_t kHqdFirstRegister = regs::GC::CP_MQD_BASE_ADDR;

inline constexpr std::array<uint32_t, kHqdRegisters> kHqdReset = {
#define HQDREG(name, byte, reset) reset,
#include "facts/registers/hqd.def"
#undef HQDREG
};

// Row n is register n, so that an MQD's dwords and the slot's registers are the same array.
inline constexpr bool kHqdRowsInOrder = [] {
    uint32_t expected = kHqdFirstRegister * 4, rows = 0;
    for (uint32_t byte : {
#define HQDREG(name, byte, reset) uint32_t{byte},
#include "facts/registers/hqd.def"
#undef HQDREG
         }) {
        if (byte != expected) return false;
        expected += 4;
        ++rows;
    }
    return rows == kHqdRegisters;
}();
static_assert(kHqdRowsInOrder);

}  // namespace lyra
