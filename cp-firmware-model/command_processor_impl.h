// SPDX-License-Identifier: MIT
// The parts of the command processor, shared by its two ways to run them: command_processor.cpp and paced.cpp.
#pragma once

#include "cp-firmware-model/command_processor.h"
#include "cp-firmware-model/hws/scheduler.h"
#include "cp-firmware-model/mec/mec.h"
#include "cp-firmware-model/regs/cp_registers.h"

namespace lyra {

struct CommandProcessor::Impl {
    Impl(Env& env, CpBus& bus, const GpuShape& shape, SdmaEngine& sdma0, SdmaEngine& sdma1, const gcn::MakeCu& make_cu)
        : env(env), dispatcher(env, bus, shape, make_cu), mec(env, bus, dispatcher), scheduler(env, bus, mec, sdma0, sdma1),
          registers(env, bus, dispatcher, mec), sdma{&sdma0, &sdma1} {}

    // paced.cpp
    void step();
    uint64_t next_step_ns() const;

    Env& env;
    Dispatcher dispatcher;
    Mec mec;
    HwScheduler scheduler;
    CpRegisters registers;
    std::array<SdmaEngine*, 2> sdma;
    // virtual time
    uint64_t scheduler_free_ns = 0;       ///< the scheduler is busy until then
    uint64_t scheduler_look_ns = kNever;  ///< and has something to look at then
};

}  // namespace lyra
