// SPDX-License-Identifier: MIT
// An extension that no hardware has: the device's counters as registers, so that a program in the guest can tell what the
// device did for it (docs/user/guest.md). No driver knows them.
#pragma once

#include <cstdint>

#include "common/stats.h"
#include "qemu-hw/soc/register_file.h"

namespace lyra {

/// LYRA_COUNTER0.. have the counters of stats.def in its order, modulo 2^32; those past the last read 0. Writes do nothing, and
/// a reset leaves the counters as they are.
class CounterWindow : public RegisterBlock {
public:
    static constexpr uint32_t kRegister = regs::LYRA::LYRA_COUNTER;
    static constexpr uint32_t kCount = 64;
    static_assert(kStatCount <= kCount);

    CounterWindow(RegisterFile& registers, const Stats& stats);

    uint32_t read(uint32_t dw) override;
    void write(uint32_t, uint32_t) override {}

private:
    const Stats& stats_;
};

}  // namespace lyra
