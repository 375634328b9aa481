// SPDX-License-Identifier: MIT
// Wiring of the chip: register and doorbell routing, process binding, reset; step 2 of the data flow.
#include "qemu-hw/soc/soc.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include "common/bits.h"
#include "facts/register_fields.h"
#include "facts/registers.h"
#include "qemu-hw/include/lyra.h"

namespace lyra {

namespace {

static_assert(LYRA_DOORBELL_NOTIFY_REGISTER == regs::LYRA::LYRA_DOORBELL_NOTIFY * 4);

constexpr uint32_t kAtcValid = field::ATC_VMID_PASID_MAPPING::VALID::kMask;
constexpr uint32_t kFbBase = 0x8000;  ///< FB_BASE: bits 47:24 of the first MC address of VRAM
/// Dwords behind an SDMA engine's base that its registers may be in.
constexpr uint32_t kSdmaSpan = 0x300;

}  // namespace

Soc::Soc(Env& env, const GpuShape& shape, uint8_t* vram, uint64_t vram_bytes)
    : env_(env), shape_(shape), registers_(env, shape.chip), bus_(env, vram, vram_bytes), ih_(env, registers_, bus_),
      mmhub_(
          env, registers_, bus_, kMmHub, [this](const Interrupt& i) { interrupt(i); },
          [this](uint32_t vmid, bool mm) { return ih_.pasid_of(vmid, mm); }, [](uint32_t) { return true; }),
      nbio_(env, registers_, bus_, shape.chip), hdp_(env, registers_, bus_),
      psp_(
          env, registers_, mmhub_, [this] { mode1_reset(); }, [this](uint32_t count) { return set_partitions(count); }),
      smu_(env, registers_, nbio_, mmhub_, [this] { return xcc(0).cp().dispatcher().activity(); }),
      notify_(registers_, [this](const Interrupt& i) { interrupt(i); }), counters_(registers_, env.stats),
      sdma0_(env, *this, 0, shape.chip), sdma1_(env, *this, 1, shape.chip), doorbells_(LYRA_DOORBELL_BAR_BYTES / 8) {
    env_.vram = vram;
    env_.vram_bytes = vram_bytes;
    for (const regs::Owner owner : {regs::Owner::Sdma0, regs::Owner::Sdma1}) registers_.attach(owner, *this);
    // The first has the engines of all: it schedules for all when there is one partition. Of 2^k partitions those lead whose
    // number has the bits below clear.
    for (unsigned n = 1; n < shape.xccs; ++n) {
        xcc_registers_.push_back(std::make_unique<RegisterFile>(env, shape.chip));
        registers_.add_xcc(*xcc_registers_.back());
    }
    // Waves of all that one leads reach memory through their own hubs, so those that lead come last.
    xccs_.resize(shape.xccs);
    for (unsigned n = shape.xccs; n-- != 0;) {
        GpuShape engines = shape;
        if (n != 0) engines.xccs = n & -n;
        xccs_[n] =
            std::make_unique<Xcc>(env, *this, n, engines, n == 0 ? registers_ : *xcc_registers_[n - 1], bus_, sdma0_, sdma1_);
    }
    bus_.set_target(this);
    reset();
}

/// The two SDMA engines are divided as the driver does, so that more partitions have none. @source Linux 6.12 kfd_device.c
/// kfd_get_num_sdma_engines() @return false: the XCCs cannot be divided so
bool Soc::set_partitions(uint32_t count) {
    const unsigned all = shape_.xccs;
    if (count == 0 || all % count != 0) return false;
    partitions_ = count;
    for (unsigned n = 0; n < all; ++n) {
        Partition partition;
        partition.xccs = all / count;
        partition.xcc = n % partition.xccs;
        partition.sdma_engines = 2 / count;
        partition.first_sdma = n / partition.xccs * partition.sdma_engines;
        xcc(n).set_partition(partition);
    }
    if (all > 1) nbio_.set_partitions(count, all);
    return true;
}

uint32_t Soc::read(uint32_t dw) {
    uint32_t value = 0;
    if (dw - regs::kSdmaBase[0] < kSdmaSpan) {
        if (sdma0_.read_register(dw - regs::kSdmaBase[0], value)) return value;
    } else if (sdma1_.read_register(dw - regs::kSdmaBase[1], value)) {
        return value;
    }
    return registers_.stored(dw);
}

void Soc::write(uint32_t dw, uint32_t value) {
    const bool taken = dw - regs::kSdmaBase[0] < kSdmaSpan ? sdma0_.write_register(dw - regs::kSdmaBase[0], value)
                                                           : sdma1_.write_register(dw - regs::kSdmaBase[1], value);
    if (!taken) registers_.store(dw, value);
}

void Soc::set_fb_location() {
    const uint32_t top = kFbBase + static_cast<uint32_t>(bus_.vram_bytes() >> 24) - 1;
    registers_.store(regs::kMmHub.MC_VM_FB_LOCATION_BASE, kFbBase);
    registers_.store(regs::kMmHub.MC_VM_FB_LOCATION_TOP, top);
    for (const auto& xcc : xccs_) xcc->set_fb_location(kFbBase, top);
}

void Soc::write_discovery_table() {
    const std::vector<uint8_t> table = discovery_table(shape_);
    std::memcpy(bus_.vram(bus_.vram_bytes() - kDiscoveryOffset, table.size()), table.data(), table.size());
}

void Soc::reset() {
    env_.stats.add(Stat::resets);
    registers_.reset();
    for (const auto& registers : xcc_registers_) registers->reset();
    for (const auto& xcc : xccs_) xcc->reset();
    sdma0_.reset();
    sdma1_.reset();
    mmhub_.reset();
    hdp_.reset();
    ih_.reset();
    psp_.reset();
    nbio_.reset();
    smu_.reset();
    notify_.reset();
    set_fb_location();
    set_partitions(1);
    write_discovery_table();
    std::fill(doorbells_.begin(), doorbells_.end(), 0);
}

void Soc::visit(StateVisitor& v) {
    v("env", env_);
    v("registers", registers_);
    v("ih", ih_);
    v("mmhub", mmhub_);
    v("nbio", nbio_);
    v("hdp", hdp_);
    v("psp", psp_);
    v("smu", smu_);
    v("notify", notify_);
    v("sdma0", sdma0_);
    v("sdma1", sdma1_);
    v("partitions", partitions_, shape_.xccs);
    if (v.loads()) v.require(set_partitions(partitions_), "XCCs that cannot be divided so");
    for (size_t n = 0; n < xccs_.size(); ++n) {
        v.begin("xcc", n);
        if (n != 0) v("registers", *xcc_registers_[n - 1]);
        xccs_[n]->visit(v);
        v.end();
    }
    v.begin("doorbells");
    v.sparse("last", doorbells_.data(), doorbells_.size() * sizeof(uint64_t));
    v.end();
}

// MODE1 leaves VRAM and the BIOS scratch registers alone. @source docs/spec/bring-up.md 3
// Registers do not answer meanwhile: the driver waits for half a second, and then until the size of VRAM does not read as ones.
// How long a chip takes is not public. @source Linux 6.12 psp_v3_1_mode1_reset(), amdgpu_device_mode1_reset()
void Soc::mode1_reset() {
    constexpr uint32_t kScratchFirst = regs::NBIO::SBIOS_SCRATCH, kScratchCount = 20;
    static_assert(kScratchFirst + 4 == regs::NBIO::BIOS_SCRATCH);
    std::array<uint32_t, kScratchCount> scratch{};
    for (uint32_t i = 0; i < kScratchCount; ++i) scratch[i] = registers_.stored(kScratchFirst + i);
    reset();
    for (uint32_t i = 0; i < kScratchCount; ++i) registers_.store(kScratchFirst + i, scratch[i]);
    constexpr uint64_t kMode1ResetNs = 200'000'000;
    registers_.silence(env_.now_ns() + kMode1ResetNs);
}

void Soc::wake() {
    for (const auto& xcc : xccs_) xcc->cp().wake();
}

void Soc::trace_queues(Tracer& tracer) {
    for (const auto& xcc : xccs_) xcc->cp().trace_queues(tracer);
}

uint64_t Soc::run_until(uint64_t ns) {
    std::array<CommandProcessor*, kMaxXccs> all{};
    for (size_t n = 0; n < xccs_.size(); ++n) all[n] = &xccs_[n]->cp();
    const uint64_t next = CommandProcessor::run_until(std::span(all).first(xccs_.size()), ns);
    if (env_.clock.ns() >= ih_.arrives_ns()) ih_.deliver();
    hdp_.age();
    return std::min({next, ih_.arrives_ns(), hdp_.leaves_ns()});
}

// What the L2 holds of memory that goes has to reach it before.
void Soc::set_ram_map(std::vector<RamRange> ranges) {
    if (env_.strict.l2)
        for (const auto& xcc : xccs_) xcc->invalidate_l2();
    bus_.set_ram_map(std::move(ranges));
}

void Soc::set_bus_master(bool enabled) {
    bus_.set_bus_master(enabled);
    if (enabled) ih_.flush();
}

RunState Soc::run(uint64_t instruction_budget) {
    hdp_.age();
    RunState state = RunState::Idle;
    for (const auto& xcc : xccs_) state = busier(state, xcc->cp().run(instruction_budget));
    return busier(state, run_sdma());
}

RunState Soc::run_sdma() {
    const RunState state = sdma0_.run();
    return busier(state, sdma1_.run());
}

void Soc::doorbell_write(uint64_t offset, uint64_t value, unsigned size) {
    if (offset > LYRA_DOORBELL_BAR_BYTES - size || offset % size) return;
    env_.stats.add(Stat::doorbells);
    const DoorbellTarget target = nbio_.doorbell_target(static_cast<uint32_t>(offset));
    if (target == DoorbellTarget::Nowhere) {
        report(env_, Fault::DoorbellAperture, fmt::format("doorbell {:#x}", offset));
        return;
    }
    const uint32_t slot = static_cast<uint32_t>(offset / 8) * 8;
    uint64_t& last = doorbells_[offset / 8];
    if (size == 8)
        last = value;
    else if (offset % 8)
        last = make64(lo32(last), lo32(value));
    else
        last = make64(lo32(value), hi32(last));
    emit<event::doorbell>(env_.tracer, env_.now_ns(), static_cast<uint32_t>(offset), value);
    bool taken = false;
    switch (target) {
        case DoorbellTarget::Ih: taken = ih_.doorbell(static_cast<uint32_t>(offset), lo32(value)); break;
        case DoorbellTarget::Sdma0: taken = sdma0_.doorbell(slot, last); break;
        case DoorbellTarget::Sdma1: taken = sdma1_.doorbell(slot, last); break;
        // One doorbell rings the queues of all XCCs that have it.
        case DoorbellTarget::Cp:
            for (const auto& xcc : xccs_) taken |= xcc->cp().doorbell(slot, last);
            break;
        case DoorbellTarget::Video:
        case DoorbellTarget::Nowhere: break;
    }
    if (!taken) env_.stats.add(Fault::DoorbellUnmatched);
    const auto is_kernels = [slot](const auto& xcc) { return xcc->cp().kernel_doorbell(slot); };
    if ((target == DoorbellTarget::Cp || !taken) && std::none_of(xccs_.begin(), xccs_.end(), is_kernels)) notify_.rung(slot);
}

uint64_t Soc::doorbell_read(uint64_t offset, unsigned size) const {
    if (offset > LYRA_DOORBELL_BAR_BYTES - size || offset % size) return ~uint64_t{0};
    const uint64_t value = doorbells_[offset / 8];
    return size == 8 ? value : offset % 8 ? hi32(value) : lo32(value);
}

void Soc::interrupt(const Interrupt& interrupt) { ih_.raise(interrupt); }

void Soc::bind(uint32_t vmid, const ProcessBinding& binding) {
    mmhub_.set_page_table_base(vmid, binding.page_table_base);
    ih_.set_pasid(vmid, binding.pasid);
    registers_.store(regs::ATHUB::ATC_VMID_PASID_MAPPING + vmid, binding.pasid | kAtcValid);
}

void Soc::release_vmid(uint32_t vmid) {
    const uint32_t dw = regs::ATHUB::ATC_VMID_PASID_MAPPING + (vmid & 0xf);
    registers_.store(dw, registers_.stored(dw) & ~kAtcValid);
}

uint64_t Soc::bar_read(unsigned bar, uint64_t offset, unsigned size) {
    if (bar == 2) return doorbell_read(offset, size);
    const uint64_t low = registers_.read(static_cast<uint32_t>(offset / 4));
    return size == 8 ? low | uint64_t{registers_.read(static_cast<uint32_t>(offset / 4 + 1))} << 32 : low;
}

// A user process may map the HDP flush page of BAR5; nothing else there may be written from a queue.
void Soc::bar_write(unsigned bar, uint64_t offset, uint64_t value, unsigned size) {
    if (bar == 2) return doorbell_write(offset, value, size);
    const uint64_t page = registers_.on_chip(regs::NBIO::REMAPPED_HDP_MEM_FLUSH) * uint64_t{4} & ~(kPageBytes - 1);
    if (offset - page < kPageBytes) return hdp_.flush();
    report(env_, Fault::RegisterRange, fmt::format("GPU write of register {:#x}", offset));
}

}  // namespace lyra
