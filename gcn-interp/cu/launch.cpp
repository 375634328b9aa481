// SPDX-License-Identifier: MIT
// Starts the waves of a work-group with their initial registers; steps 5 and 6 of the data flow.
// @source LLVM AMDGPUUsage "Initial Kernel Execution State"; docs/spec/front-end.md 4.1, 4.2
#include <algorithm>
#include <cstring>

#include "facts/register_fields.h"
#include "gcn-interp/cu/paced.h"
#include "gcn-interp/cu/plan.h"

namespace lyra::gcn {
namespace {

namespace rsrc1 = regs::field::COMPUTE_PGM_RSRC1;
namespace rsrc2 = regs::field::COMPUTE_PGM_RSRC2;

uint32_t initial_mode(const WorkgroupLaunch& launch) {
    uint32_t mode = rsrc1::FLOAT_MODE::get(launch.rsrc1);
    mode = ModeBits::Dx10Clamp::set(mode, rsrc1::DX10_CLAMP::get(launch.rsrc1));
    mode = ModeBits::Ieee::set(mode, rsrc1::IEEE_MODE::get(launch.rsrc1));
    mode = ModeBits::DebugEn::set(mode, rsrc1::DEBUG_MODE::get(launch.rsrc1));
    mode = ModeBits::Fp16Ovfl::set(mode, rsrc1::FP16_OVFL::get(launch.rsrc1));
    const uint32_t exceptions = rsrc2::EXCP_EN::get(launch.rsrc2) | rsrc2::EXCP_EN_MSB::get(launch.rsrc2) << 7;
    return ModeBits::ExcpEn::set(mode, exceptions);
}

uint32_t initial_status(const WorkgroupLaunch& launch, unsigned waves) {
    uint32_t status = 0;
    // @source LLVM amd_kernel_code_t, priority: "Drives spi_priority in spi_sq newWave cmd"
    status = StatusBits::SpiPrio::set(status, rsrc1::PRIORITY::get(launch.rsrc1));
    status = StatusBits::Priv::set(status, rsrc1::PRIV::get(launch.rsrc1));
    status = StatusBits::TrapEn::set(status, traps_enabled(launch));
    status = StatusBits::InTg::set(status, waves > 1);
    return StatusBits::Valid::set(status, 1);
}

template <class Group>
uint32_t hardware_id(const Group& launch, unsigned slot, unsigned group) {
    return (slot / kSimdsPerCu & 15) | (slot % kSimdsPerCu) << 4 | (launch.cu_in_engine & 15) << 8 |
           (launch.shader_engine & 3) << 13 | (group & 15) << 16 | (launch.vmid & 15) << 20;
}

/// User SGPRs, then the system SGPRs that RSRC2 asks for, in this order.
void set_sgprs(Wave& wave, const WorkgroupLaunch& launch, unsigned number, unsigned waves) {
    unsigned next = 0;
    const auto put = [&](uint32_t value) {
        if (next < wave.sgpr_count) wave.sgpr[next] = value;
        ++next;
    };
    for (unsigned i = 0; i < launch.user_sgpr_count && i < launch.user_sgprs.size(); ++i) put(launch.user_sgprs[i]);
    if (rsrc2::TGID_X_EN::get(launch.rsrc2)) put(launch.group_id[0]);
    if (rsrc2::TGID_Y_EN::get(launch.rsrc2)) put(launch.group_id[1]);
    if (rsrc2::TGID_Z_EN::get(launch.rsrc2)) put(launch.group_id[2]);
    if (rsrc2::TG_SIZE_EN::get(launch.rsrc2)) put((number == 0 ? 0x80000000u : 0u) | (waves & 63));
    if (rsrc2::SCRATCH_EN::get(launch.rsrc2)) put(launch.scratch_offset[number]);
}

/// v0, v1, v2: work-item ids, as many as RSRC2.TIDIG_COMP_CNT asks for.
void set_work_item_ids(Wave& wave, const WorkgroupLaunch& launch, unsigned position) {
    const unsigned components = std::min(rsrc2::TIDIG_COMP_CNT::get(launch.rsrc2) + 1, 3u);
    const std::array<uint32_t, 3>& size = launch.group_size;
    const uint32_t first = position * kLanes, rows = first / size[0];
    // In parts in which y and z stay what they are: this is done for every wave.
    uint32_t x = first % size[0], y = rows % size[1], z = rows / size[1];
    for (uint32_t lane = 0; lane < kLanes;) {
        const auto end = static_cast<uint32_t>(std::min<uint64_t>(kLanes, uint64_t{lane} + size[0] - x));
        uint32_t* const xs = wave.vgpr[0].lane;
        for (uint32_t l = lane; l < end; ++l) xs[l] = x + (l - lane);
        if (components > 1) std::fill(wave.vgpr[1].lane + lane, wave.vgpr[1].lane + end, y);
        if (components > 2) std::fill(wave.vgpr[2].lane + lane, wave.vgpr[2].lane + end, z);
        lane = end;
        x = 0;
        if (++y < size[1]) continue;
        y = 0;
        ++z;
    }
}

/// What the trap handler and debuggers find in the trap registers. @source docs/spec/front-end.md 4.2
void set_ttmps(Wave& wave, const WorkgroupLaunch& launch, unsigned number) {
    wave.ttmp.fill(0);
    wave.ttmp[6] = launch.packet_index & 0x1ffffff;
    for (unsigned d = 0; d < 3; ++d) wave.ttmp[8 + d] = launch.group_id[d];
    wave.ttmp[11] = (number & 63) | (wave.scratch_slot < 0 ? 1u << 6 : 0u);
}

}  // namespace

Workgroup& ComputeUnit::take_group(uint64_t dispatch, const Plan& plan) {
    Workgroup& group = workgroups_[plan.group];
    group = Workgroup{};
    group.used = true;
    group.dispatch = dispatch;
    group.lds_base = plan.lds_base;
    group.lds_bytes = plan.lds_granules * kLdsGranule;
    group.has_barrier_slot = plan.waves > 1;
    storage_->barriers_taken += group.has_barrier_slot;
    for (unsigned i = 0; i < plan.lds_granules; ++i) storage_->lds_taken.set(plan.lds_base / kLdsGranule + i);
    // Undefined on hardware; one value makes runs repeatable and shows no one another's data.
    const uint32_t value = env_.poison ? kPoison : 0;
    for (uint32_t at = 0; at < group.lds_bytes; at += 4) std::memcpy(storage_->lds.data() + plan.lds_base + at, &value, 4);
    return group;
}

/// Slot and registers of wave `number`. General registers and VCC hold the pattern of Env::poison, everything else is zero.
Wave& ComputeUnit::take_wave(const Needs& needs, const Plan& plan, unsigned number) {
    const WavePlace place = plan.place[number];
    const unsigned simd = place.slot % kSimdsPerCu;
    storage_->taken.vgprs[simd] |= granule_mask(place.first_vgpr / kVgprGranule, needs.registers.vgprs / kVgprGranule);
    storage_->taken.sgprs[simd] += needs.registers.sgprs_taken;

    Wave& wave = waves_[place.slot];
    wave = Wave{};
    wave.slot = place.slot;
    wave.workgroup = plan.group;
    wave.wave_in_group = static_cast<uint8_t>(number);
    wave.sgpr_count = static_cast<uint16_t>(needs.registers.sgprs);
    wave.vgpr_count = static_cast<uint16_t>(needs.registers.vgprs);
    wave.lds_base = plan.lds_base;
    wave.lds_bytes = plan.lds_granules * kLdsGranule;
    wave.vgpr = storage_->vgprs[simd].data() + place.first_vgpr;
    const uint32_t value = env_.poison ? kPoison : 0;
    for (unsigned n = 0; n < wave.vgpr_count; ++n) std::fill(std::begin(wave.vgpr[n].lane), std::end(wave.vgpr[n].lane), value);
    if (env_.poison) {
        std::fill_n(wave.sgpr.begin(), wave.special_base(), value);
        wave.set_vcc(make64(value, value));
    }
    return wave;
}

void ComputeUnit::begin_wave(Wave& wave) {
    set_state(wave, WaveState::Running);
    ++live_;
    if (env_.clock.on()) {
        if (!paced_) paced_ = std::make_unique<Paced>();
        paced_->begin(wave, env_.clock.clk());
    }
    if (env_.tracer.on()) emit<event::wave_begin>(env_.tracer, env_.now_ns(), index_, wave.slot, wave.dispatch);
}

void ComputeUnit::launch(const WorkgroupLaunch& launch) {
    const Needs needs = Needs::of(launch);
    Plan plan;
    if (!this->plan(needs, plan)) return;
    Workgroup& group = take_group(launch.dispatch, plan);
    unsigned number = 0;
    for (unsigned position = 0; number < plan.waves && position < kMaxWavesPerWorkgroup; ++position) {
        const uint64_t lanes = valid_lanes(launch, position);
        if (lanes == 0) continue;
        Wave& wave = take_wave(needs, plan, number);
        wave.vmid = launch.vmid;
        wave.doorbell_id = launch.doorbell_id;
        wave.dispatch = launch.dispatch;
        wave.pc = flow::code_address(launch.entry);
        wave.exec = lanes;
        wave.tba = traps_enabled(launch) ? launch.tba : 0;
        wave.tma = launch.tma;
        wave.status = initial_status(launch, plan.waves);
        wave.mode = initial_mode(launch);
        wave.private_base = launch.private_base;
        wave.retry = launch.retry;
        wave.shared_base = launch.shared_base;
        wave.hw_id = hardware_id(launch, wave.slot, plan.group);
        wave.scratch_slot = launch.scratch_slot[number];
        set_sgprs(wave, launch, number, plan.waves);
        set_work_item_ids(wave, launch, position);
        set_ttmps(wave, launch, number);
        begin_wave(wave);
        set_halt(wave, launch.halted);
        ++number;
    }
    group.waves_live = static_cast<uint8_t>(number);
    env_.stats.add(Stat::waves, number);
}

/// The trap handler's second entry loads everything else. @source cwsr_trap_handler_gfx9.asm (L_JUMP_TO_RESTORE)
void ComputeUnit::restore(const WorkgroupRestore& group) {
    const Needs needs = Needs::of(group);
    Plan plan;
    if (!this->plan(needs, plan)) return;
    take_group(group.dispatch, plan).waves_live = static_cast<uint8_t>(plan.waves);
    for (unsigned number = 0; number < plan.waves; ++number) {
        Wave& wave = take_wave(needs, plan, number);
        wave.vmid = group.vmid;
        wave.doorbell_id = group.doorbell_id;
        wave.dispatch = group.dispatch;
        wave.restoring = true;
        wave.pc = flow::code_address(group.tba + kRestoreEntry);
        wave.exec = record_answer(group.record[number], number == 0);
        wave.tba = group.tba;
        wave.tma = group.tma;
        wave.status = StatusBits::SpiPrio::set(0u, rsrc1::PRIORITY::get(group.rsrc1));
        wave.status = StatusBits::Priv::set(wave.status, 1);
        wave.status = StatusBits::TrapEn::set(wave.status, 1);
        wave.status = StatusBits::InTg::set(wave.status, plan.waves > 1);
        wave.status = StatusBits::Valid::set(wave.status, 1);
        wave.private_base = group.private_base;
        wave.retry = group.retry;
        wave.shared_base = group.shared_base;
        wave.hw_id = hardware_id(group, wave.slot, plan.group);
        wave.scratch_slot = group.scratch_slot[number];
        begin_wave(wave);
    }
    env_.stats.add(Stat::waves, plan.waves);
}

}  // namespace lyra::gcn
