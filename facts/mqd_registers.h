// SPDX-License-Identifier: MIT
// Which dword of an MQD is which register.
#pragma once

#include "facts/mqd.h"
#include "facts/registers.h"

namespace lyra::mqd {

struct RegisterRow {
    uint32_t reg;  ///< dword of BAR5, of the first
    uint16_t dword, count;
};

inline constexpr RegisterRow kRegisters[] = {
#define MQD_REG(name, dword, dwords, reg) {regs::GC::reg, dword, dwords},
#include "facts/mqd/v9_mqd.def"
};

/// The MQD dword of a register, 0 when it has none.
constexpr unsigned dword_of(uint32_t reg) {
    for (const RegisterRow& row : kRegisters)
        if (reg - row.reg < row.count) return row.dword + (reg - row.reg);
    return 0;
}

// The registers of a queue slot follow each other as the dwords do, so that both are one array.
static_assert([] {
    unsigned dword = cp_mqd_base_addr_lo;
#define HQDREG(name, byte, reset) \
    if (dword_of((byte) / 4) != dword++) return false;
#include "facts/registers/hqd.def"
#undef HQDREG
    return dword == cp_hqd_pq_wptr_hi + 1u;
}());

}  // namespace lyra::mqd
