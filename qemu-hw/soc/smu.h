// SPDX-License-Identifier: MIT
// SMU (MP1): the power management processor's mailbox. It is there because the driver resets a GPU only when it has one. Clocks
// never change; power and temperature are computed from how many compute units have waves.
#pragma once

#include <cstdint>
#include <functional>

#include "common/activity.h"
#include "common/env.h"
#include "common/memory_port.h"
#include "common/snapshot.h"
#include "qemu-hw/soc/nbio.h"
#include "qemu-hw/soc/register_file.h"

namespace lyra {

class Smu : public RegisterBlock {
public:
    /// @param activity  of the compute units
    Smu(Env& env, RegisterFile& registers, Nbio& nbio, MemoryPort& mmhub, std::function<Activity()> activity);

    uint32_t read(uint32_t dw) override;
    void write(uint32_t dw, uint32_t value) override;
    void reset();
    void visit(StateVisitor& v) { v("table_address", table_address_); }

private:
    /// @return response: OK, failed or unknown
    uint32_t message(uint32_t id, uint32_t& argument);
    bool give_table(uint32_t number);

    Env& env_;
    RegisterFile& registers_;
    Nbio& nbio_;
    MemoryPort& mmhub_;
    std::function<Activity()> activity_;
    uint64_t table_address_ = 0;  ///< where the driver wants tables: GPU address of the kernel
};

}  // namespace lyra
