// SPDX-License-Identifier: MIT
// PSP (MP0): the security processor's command ring. Every command succeeds: microcode contents have no meaning here.
#pragma once

#include <cstdint>
#include <functional>

#include "common/env.h"
#include "common/memory_port.h"
#include "common/snapshot.h"
#include "qemu-hw/soc/register_file.h"

namespace lyra {

class Psp : public RegisterBlock {
public:
    /// @param reset      mode-1 reset of the chip was asked for
    /// @param partition  so many compute partitions were asked for. @return false: the chip cannot be divided so
    Psp(Env& env, RegisterFile& registers, MemoryPort& mmhub, std::function<void()> reset,
        std::function<bool(uint32_t)> partition);

    uint32_t read(uint32_t dw) override;
    void write(uint32_t dw, uint32_t value) override;
    /// Power-on values.
    void reset();
    void visit(StateVisitor& v);

private:
    void mailbox(uint32_t value);
    void run_ring(uint32_t wptr_dw);
    void run_frame(uint64_t address);

    Env& env_;
    RegisterFile& registers_;
    MemoryPort& mmhub_;
    std::function<void()> reset_;
    std::function<bool(uint32_t)> partition_;
    uint32_t done_wptr_dw_ = 0;
    bool ring_on_ = false;
};

}  // namespace lyra
