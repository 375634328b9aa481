// SPDX-License-Identifier: MIT
// Starts the waves of a work-group with their initial registers; steps 5 and 6 of the data flow.
// @source LLVM AMDGPUUsage "Initial Kernel Execution State"; docs/spec/front-end.md 4.1, 4.2
#include <algorithm>
#include <cstring>

#include "gcn-interp/cu/paced.h"
#include "gcn-interp/cu/plan.h"

namespace lyra::gcn {
namespace {

/// COMPUTE_PGM_RSRC1 and 2 as far as they shape a wave. @source docs/spec/front-end.md 1.3
struct Rsrc1 {
    using Priority = Bits<10, 2>;
    using FloatMode = Bits<12, 8>;
    using Priv = Bits<20, 1>;
    using Dx10Clamp = Bits<21, 1>;
    using DebugMode = Bits<22, 1>;
    using Ieee = Bits<23, 1>;
    using Fp16Ovfl = Bits<26, 1>;
};
struct Rsrc2 {
    using ScratchEn = Bits<0, 1>;
    using TgidXyzEn = Bits<7, 3>;
    using TgSizeEn = Bits<10, 1>;
    using TidigCompCnt = Bits<11, 2>;
    using ExcpEnMsb = Bits<13, 2>;
    using ExcpEn = Bits<24, 7>;
};

uint32_t initial_mode(const WorkgroupLaunch& launch) {
    uint32_t mode = Rsrc1::FloatMode::get(launch.rsrc1);
    mode = ModeBits::Dx10Clamp::set(mode, Rsrc1::Dx10Clamp::get(launch.rsrc1));
    mode = ModeBits::Ieee::set(mode, Rsrc1::Ieee::get(launch.rsrc1));
    mode = Bits<11, 1>::set(mode, Rsrc1::DebugMode::get(launch.rsrc1));
    mode = ModeBits::Fp16Ovfl::set(mode, Rsrc1::Fp16Ovfl::get(launch.rsrc1));
    const uint32_t exceptions = Rsrc2::ExcpEn::get(launch.rsrc2) | Rsrc2::ExcpEnMsb::get(launch.rsrc2) << 7;
    return ModeBits::ExcpEn::set(mode, exceptions);
}

uint32_t initial_status(const WorkgroupLaunch& launch, unsigned waves) {
    uint32_t status = 0;
    // @source LLVM amd_kernel_code_t, priority: "Drives spi_priority in spi_sq newWave cmd"
    status = StatusBits::SpiPrio::set(status, Rsrc1::Priority::get(launch.rsrc1));
    status = StatusBits::Priv::set(status, Rsrc1::Priv::get(launch.rsrc1));
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
    for (unsigned d = 0; d < 3; ++d) {
        if (bit(Rsrc2::TgidXyzEn::get(launch.rsrc2), d)) put(launch.group_id[d]);
    }
    if (Rsrc2::TgSizeEn::get(launch.rsrc2)) put((number == 0 ? 0x80000000u : 0u) | (waves & 63));
    if (Rsrc2::ScratchEn::get(launch.rsrc2)) put(launch.scratch_offset[number]);
}

/// v0, v1, v2: work-item ids, as many as RSRC2.TIDIG_COMP_CNT asks for.
void set_work_item_ids(Wave& wave, const WorkgroupLaunch& launch, unsigned position) {
    const unsigned components = std::min(Rsrc2::TidigCompCnt::get(launch.rsrc2) + 1, 3u);
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
        wave.status = StatusBits::SpiPrio::set(0u, Rsrc1::Priority::get(group.rsrc1));
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
