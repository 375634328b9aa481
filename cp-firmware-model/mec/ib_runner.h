// SPDX-License-Identifier: MIT
// What the AQL processor needs of the PM4 processor: run the indirect buffers of a queue; step 4 of the data flow.
#pragma once

#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/queue/hqd.h"

namespace lyra {

class IbRunner {
public:
    virtual ~IbRunner() = default;

    /// Execute a few packets from the top of hqd.pm4.ib_stack; a finished buffer is popped. Done when the stack is empty.
    /// A bad packet sets hqd.state to Stopped, with its own report and interrupt.
    /// @return Polling: a packet waits for memory, a register or a dispatch; Busy: call again; Idle: nothing left to do
    virtual RunState step_ib(Hqd& hqd) = 0;
};

}  // namespace lyra
