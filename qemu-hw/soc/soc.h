// SPDX-License-Identifier: MIT
// The whole chip: its blocks, their wiring, and CpBus for the SDMA engines.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "common/env.h"
#include "cp-firmware-model/sdma/engine.h"
#include "qemu-hw/soc/bus_memory.h"
#include "qemu-hw/soc/counter_window.h"
#include "qemu-hw/soc/discovery.h"
#include "qemu-hw/soc/doorbell_notify.h"
#include "qemu-hw/soc/gmc.h"
#include "qemu-hw/soc/hdp.h"
#include "qemu-hw/soc/ih.h"
#include "qemu-hw/soc/nbio.h"
#include "qemu-hw/soc/psp.h"
#include "qemu-hw/soc/register_file.h"
#include "qemu-hw/soc/smu.h"
#include "qemu-hw/soc/xcc.h"

namespace lyra {

class Soc : public CpBus, public BarTarget, public RegisterBlock {
public:
    Soc(Env& env, const GpuShape& shape, uint8_t* vram, uint64_t vram_bytes);

    void reset();
    /// The state of the chip without VRAM, and without what its host says: the map of memory, where the BARs are, bus
    /// mastering.
    void visit(StateVisitor& v);
    RunState run(uint64_t instruction_budget);
    /// The part of it that both SDMA engines have.
    RunState run_sdma();
    /// Virtual time: let everything happen that happens until then. @return when something will happen next, kNever: nothing
    uint64_t run_until(uint64_t ns);
    /// Virtual time: the host has touched registers or memory.
    void wake();
    void trace_queues(Tracer& tracer);

    const GpuShape& shape() const { return shape_; }
    Xcc& xcc(unsigned index) { return *xccs_[index]; }
    RegisterFile& registers() { return registers_; }
    const RegisterFile& registers() const { return registers_; }
    BusMemory& bus() { return bus_; }
    Hdp& hdp() { return hdp_; }
    void set_bus_master(bool enabled);
    void set_ram_map(std::vector<RamRange> ranges);

    /// BAR2. size 4 or 8.
    void doorbell_write(uint64_t offset, uint64_t value, unsigned size);
    uint64_t doorbell_read(uint64_t offset, unsigned size) const;

    // CpBus
    MemoryPort& gfxhub() override { return xcc(0).gfxhub(); }
    MemoryPort& mmhub(unsigned engine) override { return engine == 0 ? sdma0_port_ : sdma1_port_; }
    uint32_t read_register(uint32_t dw) override { return registers_.read(dw); }
    void write_register(uint32_t dw, uint32_t value) override { registers_.write(dw, value); }
    void interrupt(const Interrupt& interrupt) override;
    void bind_process(uint32_t vmid, const ProcessBinding& binding) override { xcc(0).bind_process(vmid, binding); }
    void release_vmid(uint32_t vmid) override;
    VmidState vmid_state(uint32_t vmid) override { return xcc(0).vmid_state(vmid); }
    void invalidate_tlb(uint32_t vmid_mask, bool all_hubs) override { xcc(0).invalidate_tlb(vmid_mask, all_hubs); }
    void invalidate_tlb_pasid(uint16_t pasid, bool all_hubs) override { xcc(0).invalidate_tlb_pasid(pasid, all_hubs); }
    void doorbell(uint64_t byte_offset, uint64_t value) override { doorbell_write(byte_offset, value, 8); }

    // BarTarget: the GPU reaches its own BARs over the bus
    uint64_t bar_read(unsigned bar, uint64_t offset, unsigned size) override;
    void bar_write(unsigned bar, uint64_t offset, uint64_t value, unsigned size) override;

    // what XCCs ask of the rest
    uint16_t pasid_of(uint32_t vmid, bool mmhub) const { return ih_.pasid_of(vmid, mmhub); }
    /// What MAP_PROCESS binds, as far as all XCCs have it in common.
    void bind(uint32_t vmid, const ProcessBinding& binding);
    void invalidate_mmhub(uint32_t vmid_mask) { mmhub_.invalidate(vmid_mask); }

    // RegisterBlock: the ranges of SDMA
    uint32_t read(uint32_t dw) override;
    void write(uint32_t dw, uint32_t value) override;

private:
    void mode1_reset();
    void write_discovery_table();
    void set_fb_location();
    bool set_partitions(uint32_t count);

    Env& env_;
    GpuShape shape_;
    RegisterFile registers_;
    BusMemory bus_;
    InterruptHandler ih_;
    Hub mmhub_;
    HubPort sdma0_port_{mmhub_, kSdma0}, sdma1_port_{mmhub_, kSdma1};
    Nbio nbio_;
    Hdp hdp_;
    Psp psp_;
    Smu smu_;
    DoorbellNotify notify_;
    CounterWindow counters_;
    SdmaEngine sdma0_, sdma1_;
    std::vector<std::unique_ptr<RegisterFile>> xcc_registers_;  ///< of all XCCs but the first
    std::vector<std::unique_ptr<Xcc>> xccs_;
    uint32_t partitions_ = 1;  ///< compute partitions that the XCCs are shared by
    std::vector<uint64_t> doorbells_;  ///< last values, one per 8-byte slot
};

}  // namespace lyra
