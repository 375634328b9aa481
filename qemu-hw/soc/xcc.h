// SPDX-License-Identifier: MIT
// An accelerated compute die: graphics hub, L2, GRBM and command processor with their registers; a chip has one or more.
#pragma once

#include <cstdint>

#include "common/env.h"
#include "cp-firmware-model/command_processor.h"
#include "cp-firmware-model/sdma/engine.h"
#include "qemu-hw/soc/bus_memory.h"
#include "qemu-hw/soc/gmc.h"
#include "qemu-hw/soc/grbm.h"
#include "qemu-hw/soc/l2.h"
#include "qemu-hw/soc/register_file.h"

namespace lyra {

class Soc;

class Xcc final : public CpBus, public RegisterBlock {
public:
    /// @param shape      the engines of this XCC, and of those that it schedules for in some partition
    /// @param registers  its own: the chip's for the first XCC
    Xcc(Env& env, Soc& soc, unsigned index, const GpuShape& shape, RegisterFile& registers, BusMemory& bus, SdmaEngine& sdma0,
        SdmaEngine& sdma1);

    Hub& hub() { return gfxhub_; }
    CommandProcessor& cp() { return cp_; }
    Grbm& grbm() { return grbm_; }
    L2& l2() { return l2_; }

    void set_fb_location(uint32_t base, uint32_t top);
    void set_partition(const Partition& partition);
    /// What MAP_PROCESS binds, as far as it is in this XCC.
    void bind(uint32_t vmid, const ProcessBinding& binding);
    void reset();
    void visit(StateVisitor& v);

    // CpBus
    MemoryPort& gfxhub() override { return gfxhub_; }
    MemoryPort& wave_memory(unsigned xcc) override;
    MemoryPort& mmhub(unsigned engine) override;
    uint32_t read_register(uint32_t dw) override;
    void write_register(uint32_t dw, uint32_t value) override;
    void interrupt(const Interrupt& interrupt) override;
    void bind_process(uint32_t vmid, const ProcessBinding& binding) override;
    void release_vmid(uint32_t vmid) override;
    VmidState vmid_state(uint32_t vmid) override;
    void invalidate_tlb(uint32_t vmid_mask, bool all_hubs) override;
    void invalidate_tlb_pasid(uint16_t pasid, bool all_hubs) override;
    void write_back_l2() override;
    void invalidate_l2() override;
    void queue_left() override;
    CommandProcessor* leader() override;
    void doorbell(uint64_t byte_offset, uint64_t value) override;

    // RegisterBlock: the ranges of the CP
    uint32_t read(uint32_t dw) override;
    void write(uint32_t dw, uint32_t value) override;

private:
    uint32_t on_chip(uint32_t dw) const;
    Xcc& of_partition(unsigned xcc);
    /// XCCs whose waves this one's command processor runs.
    unsigned scheduled() const { return partition_.follows() ? 1 : partition_.xccs; }

    Env& env_;
    Soc& soc_;
    const unsigned index_;
    const bool one_of_many_;
    Partition partition_;
    RegisterFile& registers_;
    Hub gfxhub_;
    L2 l2_;
    Grbm grbm_;
    CommandProcessor cp_;
};

}  // namespace lyra
