// SPDX-License-Identifier: MIT
// An XCC as its command processor sees it: local register numbers, its hub, and the XCCs that it schedules for.
#include "qemu-hw/soc/xcc.h"

#include "common/bits.h"
#include "facts/register_fields.h"
#include "facts/registers.h"
#include "qemu-hw/soc/soc.h"

namespace lyra {

namespace {

constexpr uint32_t kAtcValid = field::ATC_VMID_PASID_MAPPING::VALID::kMask;

/// @source Linux 6.12 amdgpu_irq.h enum amdgpu_irq_src_node: four ids for each active interposer die, with two XCCs
uint8_t node_of(unsigned xcc) { return static_cast<uint8_t>(4 * (xcc / 2) + 1 + xcc % 2); }

}  // namespace

Xcc::Xcc(Env& env, Soc& soc, unsigned index, const GpuShape& shape, RegisterFile& registers, BusMemory& bus, SdmaEngine& sdma0,
         SdmaEngine& sdma1)
    : env_(env), soc_(soc), index_(index), one_of_many_(facts_of(shape.chip).xccs > 1), registers_(registers),
      gfxhub_(
          env, registers, bus, kGfxHub, [this](const Interrupt& i) { interrupt(i); },
          [this](uint32_t vmid, bool mm) { return soc_.pasid_of(vmid, mm); },
          [this](uint32_t vmid) { return grbm_.vmid_state(vmid).retry(); }),
      l2_(env, gfxhub_, kWaves), grbm_(env, registers, shape), cp_(env, *this, shape, sdma0, sdma1) {
    registers.attach(regs::Owner::Cp, *this);
    gfxhub_.set_heavyweight([this] { l2_.invalidate(); });
}

uint32_t Xcc::read(uint32_t dw) {
    uint32_t value = 0;
    return cp_.read_register(dw, grbm_.select(), value) ? value : registers_.stored(dw);
}

void Xcc::write(uint32_t dw, uint32_t value) {
    if (!cp_.write_register(dw, grbm_.select(), value)) registers_.store(dw, value);
}

void Xcc::set_fb_location(uint32_t base, uint32_t top) {
    registers_.store(regs::kGfxHub.MC_VM_FB_LOCATION_BASE, base);
    registers_.store(regs::kGfxHub.MC_VM_FB_LOCATION_TOP, top);
}

void Xcc::set_partition(const Partition& partition) {
    partition_ = partition;
    cp_.set_partition(partition);
    namespace xcp = field::CP_HYP_XCP_CTL;
    if (one_of_many_)
        registers_.store(regs::GC::CP_HYP_XCP_CTL,
                         xcp::VIRTUAL_XCC_ID::of(partition.xcc) | xcp::NUM_XCC_IN_XCP::of(partition.xccs));
}

void Xcc::reset() {
    cp_.reset();
    gfxhub_.reset();
    l2_.reset();
    grbm_.reset();
}

void Xcc::visit(StateVisitor& v) {
    v("gfxhub", gfxhub_);
    v("l2", l2_);
    v("grbm", grbm_);
    v("cp", cp_);
}

/// What a packet of this XCC means by a register. @see regs::in_xcc
uint32_t Xcc::on_chip(uint32_t dw) const {
    return dw < regs::kXccStride && regs::in_xcc(dw) ? dw + index_ * regs::kXccStride : dw;
}

uint32_t Xcc::read_register(uint32_t dw) { return soc_.registers().read(on_chip(dw)); }
void Xcc::write_register(uint32_t dw, uint32_t value) { soc_.registers().write(on_chip(dw), value); }

/// An XCC that this one schedules for, by its number in the partition.
Xcc& Xcc::of_partition(unsigned xcc) { return xcc == 0 ? *this : soc_.xcc(index_ + xcc); }

MemoryPort& Xcc::wave_memory(unsigned xcc) { return of_partition(xcc).l2_; }

void Xcc::write_back_l2() {
    for (unsigned n = 0; n < scheduled(); ++n) of_partition(n).l2_.write_back();
}

void Xcc::invalidate_l2() {
    for (unsigned n = 0; n < scheduled(); ++n) of_partition(n).l2_.invalidate();
}

MemoryPort& Xcc::mmhub(unsigned engine) { return soc_.mmhub(engine); }

void Xcc::interrupt(const Interrupt& interrupt) {
    Interrupt vector = interrupt;
    if (one_of_many_) vector.node = node_of(index_ + interrupt.xcc);
    soc_.interrupt(vector);
}

void Xcc::bind(uint32_t vmid, const ProcessBinding& binding) {
    gfxhub_.set_page_table_base(vmid, binding.page_table_base);
    grbm_.bind(vmid, binding);
    cp_.bind_debug(vmid, binding);
}

void Xcc::bind_process(uint32_t vmid, const ProcessBinding& binding) {
    vmid &= 0xf;
    env_.stats.add(Stat::processes_mapped);
    for (unsigned n = 0; n < partition_.xccs; ++n) of_partition(n).bind(vmid, binding);
    soc_.bind(vmid, binding);
}

void Xcc::release_vmid(uint32_t vmid) { soc_.release_vmid(vmid); }

VmidState Xcc::vmid_state(uint32_t vmid) {
    VmidState state = grbm_.vmid_state(vmid);
    state.pasid = soc_.pasid_of(vmid, false);
    return state;
}

void Xcc::invalidate_tlb(uint32_t vmid_mask, bool all_hubs) {
    for (unsigned n = 0; n < scheduled(); ++n) of_partition(n).gfxhub_.invalidate(vmid_mask);
    if (all_hubs) soc_.invalidate_mmhub(vmid_mask);
}

void Xcc::invalidate_tlb_pasid(uint16_t pasid, bool all_hubs) {
    uint32_t mask = 0;
    for (uint32_t vmid = 1; vmid < kVmids; ++vmid)
        if (soc_.registers().stored(regs::ATHUB::ATC_VMID_PASID_MAPPING + vmid) == (pasid | kAtcValid)) mask |= 1u << vmid;
    if (mask) invalidate_tlb(mask, all_hubs);
}

// Stores of the host that have waited for so long would hit whoever gets the memory of a process that is gone.
void Xcc::queue_left() {
    invalidate_l2();
    soc_.hdp().drain();
}

CommandProcessor* Xcc::leader() { return partition_.follows() ? &soc_.xcc(index_ - partition_.xcc).cp() : nullptr; }

void Xcc::doorbell(uint64_t byte_offset, uint64_t value) { soc_.doorbell_write(byte_offset, value, 8); }

}  // namespace lyra
