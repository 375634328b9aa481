// SPDX-License-Identifier: MIT
// The command processor as the chip sees it: registers in, doorbells in, bounded work out; steps 2 to 4 and 8.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "common/env.h"
#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/dispatch/dispatcher.h"
#include "cp-firmware-model/queue/hqd.h"
#include "cp-firmware-model/sdma/engine.h"

namespace lyra {

/// GRBM_GFX_CNTL: which bank of the HQD and per-VMID registers is addressed.
struct GrbmSelect {
    uint8_t me = 0, pipe = 0, queue = 0, vmid = 0;
};

/// CP: gfx ring, KIQ, HIQ with the hardware scheduler, kernel and user compute queues.
class CommandProcessor {
public:
    CommandProcessor(Env& env, CpBus& bus, const GpuShape& shape, SdmaEngine& sdma0, SdmaEngine& sdma1,
                     const gcn::MakeCu& make_cu = {});
    ~CommandProcessor();

    /// Registers listed in facts/registers/cp.def, by dword number in BAR5.
    /// @return false: not a CP register, the caller keeps it
    bool read_register(uint32_t dw, const GrbmSelect& select, uint32_t& value);
    bool write_register(uint32_t dw, const GrbmSelect& select, uint32_t value);

    void set_partition(const Partition& partition);

    /// What a debugger has said of a process that gets a VMID.
    void bind_debug(uint32_t vmid, const ProcessBinding& binding);

    /// @return true when a queue (mapped, enabled) took it
    bool doorbell(uint32_t byte_offset, uint64_t value);
    /// It is that of the gfx ring, a kernel queue, the KIQ or the HIQ.
    bool kernel_doorbell(uint32_t byte_offset) const;

    /// Virtual time: let everything happen that happens until then, SDMA too. @param all  those of the chip
    /// @return when something will happen next; kNever: nothing before a doorbell or a register write
    static uint64_t run_until(std::span<CommandProcessor* const> all, uint64_t ns);
    uint64_t run_until(uint64_t ns) {
        CommandProcessor* const self = this;
        return run_until(std::span(&self, 1), ns);
    }
    /// Virtual time: the host has changed registers or memory; what waited for it looks again.
    void wake();

    /// Advance every ring by a few packets, then run waves for about instruction_budget instructions.
    RunState run(uint64_t instruction_budget);

    void reset();
    /// Between two calls of run() or run_until().
    void visit(StateVisitor& v);
    /// What a trace that begins in the middle has to know: the queues that are mapped.
    void trace_queues(Tracer& tracer);
    Dispatcher& dispatcher();
    const Hqd& slot(unsigned me, unsigned pipe, unsigned queue) const;
    /// An XCC of the partition resets the queue in a slot.
    void reset_queue(const Hqd& hqd, unsigned xcc);
    /// Waves of the queue in a slot, on an XCC of the partition.
    unsigned waves_live(const Hqd& hqd, unsigned xcc) const;

    struct Impl;

private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace lyra
