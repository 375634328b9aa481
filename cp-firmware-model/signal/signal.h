// SPDX-License-Identifier: MIT
// HSA signals (amd_signal_t) in guest memory: read, complete, store, and tell the guest's event; step 8 of the data flow.
#pragma once

#include <cstdint>

#include "common/env.h"
#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/packets/aql.h"

namespace lyra {

/// On whose behalf a signal is touched.
struct SignalOwner {
    uint32_t vmid = 0;
    uint8_t ring_id = 0;  ///< pipe | me << 2 | queue << 4, for the interrupt vector
    uint16_t pasid = 0;
};

/// All values are 64-bit and are accessed atomically when they are in plain memory. An address that is not 8-byte aligned is
/// refused as PacketField; memory faults are raised by the memory port and returned.
class Signals {
public:
    Signals(Env& env, CpBus& bus) : env_(env), bus_(bus) {}

    Result<int64_t> load(uint32_t vmid, uint64_t signal);

    /// Write both timestamps, take 1 from the value, write the event mailbox and raise the end-of-pipe interrupt.
    /// @param start_ts, end_ts GPU clock ticks
    /// @source docs/spec/front-end.md 3.3 (order)
    Fault complete(const SignalOwner& owner, uint64_t signal, uint64_t start_ts, uint64_t end_ts);

    /// Store a value and notify as complete() does.
    Fault store(const SignalOwner& owner, uint64_t signal, int64_t value);

    void end_of_pipe(const SignalOwner& owner, uint32_t context_id);

private:
    Fault decrement(uint32_t vmid, uint64_t address);
    Fault notify(const SignalOwner& owner, const AmdSignal& copy);
    Fault copy_in(uint32_t vmid, uint64_t signal, AmdSignal& copy);

    Env& env_;
    CpBus& bus_;
};

}  // namespace lyra
