// SPDX-License-Identifier: MIT
// One SDMA v4 engine: gfx and page rings of the kernel, RLC (user) queues, linear and PTE packets.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "common/env.h"
#include "cp-firmware-model/cp_bus.h"

namespace lyra {

class SdmaEngine {
public:
    /// @param chip  for its number of user queues
    /// @param index 0 or 1; registers start at dword 0x1260 (SDMA0) or 0x1860 (SDMA1). @source docs/spec/bring-up.md 1, 4.1
    SdmaEngine(Env& env, CpBus& bus, unsigned index, Chip chip = Chip::gfx900);
    ~SdmaEngine();

    /// Registers of this engine, by dword number relative to its base.
    bool read_register(uint32_t offset_dw, uint32_t& value);
    bool write_register(uint32_t offset_dw, uint32_t value);

    /// 64-bit byte write pointer, or its low half when size is 4. @return true when a ring of this engine took it
    bool doorbell(uint32_t byte_offset, uint64_t value);

    /// HWS: load a v9_sdma_mqd into a free RLC queue. @param mqd GART address (VMID 0). @return its slot, or -1 when none is
    /// free
    int map_queue(uint64_t mqd, uint64_t wptr_address, uint32_t doorbell_bytes, uint32_t vmid, uint16_t pasid);
    /// HWS: stop a queue at a packet boundary, write its pointers back to the MQD and free the slot.
    /// @return true when it is out; false: still in a packet, ask again
    bool unmap_queue(unsigned slot);
    void reset_queue(unsigned slot);

    /// In virtual time: one packet, or a piece of one, when the engine is free.
    RunState run();
    /// Virtual time: when run() has something to do next, kNever when all rings wait for a doorbell or a register.
    uint64_t next_run_ns() const;
    /// Virtual time: the host has changed registers or memory.
    void wake();
    void reset();
    void visit(StateVisitor& v);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace lyra
