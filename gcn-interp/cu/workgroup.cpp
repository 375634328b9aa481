// SPDX-License-Identifier: MIT
// What work-groups need, how they end, and the barrier between their waves; step 6 of the data flow.
// @source docs/spec/front-end.md 4.1, 4.4, 4.5; LLVM AMDGPUUsage "compute_pgm_rsrc1" for granules
#include <algorithm>
#include <bit>

#include "facts/register_fields.h"
#include "gcn-interp/cu/plan.h"
#include "gcn-interp/cu/wave_event.h"

namespace lyra::gcn {

namespace {

namespace rsrc1 = regs::field::COMPUTE_PGM_RSRC1;
namespace rsrc3 = regs::field::COMPUTE_PGM_RSRC3;

uint64_t items(const KernelLaunch& kernel) {
    uint64_t product = 1;
    for (const uint32_t size : kernel.group_size) product *= std::min<uint32_t>(size, 2048);
    return product;
}

WaveRegisters wave_registers(const KernelLaunch& kernel) {
    const ChipFacts& chip = facts_of(kernel.chip);
    const unsigned vgprs = (rsrc1::VGPRS::get(kernel.rsrc1) + 1) * chip.vgpr_granule;
    const unsigned acc_offset = (rsrc3::ACCUM_OFFSET::get(kernel.rsrc3) + 1) * kAccGranule;
    const unsigned acc_first = chip.acc_file ? vgprs / 2 : chip.acc_vgprs ? std::min(acc_offset, vgprs) : 0;
    const unsigned sgprs = (rsrc1::SGPRS::get(kernel.rsrc1) / 2 + 1) * kSgprGranule;
    const unsigned usable = std::min(sgprs, kMaxSgprs);
    return {vgprs, acc_first, usable, usable + (traps_enabled(kernel) ? kTtmps : 0)};
}

unsigned wave_count(const KernelLaunch& kernel, const std::array<uint32_t, 3>& valid) {
    const uint64_t most = std::min<uint64_t>((items(kernel) + kLanes - 1) / kLanes, kMaxWavesPerWorkgroup);
    unsigned count = 0;
    for (unsigned number = 0; number < most; ++number) count += valid_lanes(kernel, valid, number) != 0;
    return count;
}

}  // namespace

uint64_t valid_lanes(const KernelLaunch& kernel, const std::array<uint32_t, 3>& valid, unsigned number) {
    const uint64_t count = items(kernel);
    uint64_t mask = 0;
    if (is_whole(kernel, valid)) {
        // No need to look at every lane.
        const uint64_t first = uint64_t{number} * kLanes;
        if (first >= count) return 0;
        return count - first >= kLanes ? ~uint64_t{0} : (uint64_t{1} << (count - first)) - 1;
    }
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const uint64_t flat = uint64_t{number} * kLanes + lane;
        if (flat >= count) break;
        const uint64_t x = flat % kernel.group_size[0], rest = flat / kernel.group_size[0];
        const uint64_t y = rest % kernel.group_size[1], z = rest / kernel.group_size[1];
        if (x < valid[0] && y < valid[1] && z < valid[2]) mask |= uint64_t{1} << lane;
    }
    return mask;
}

unsigned wave_count(const WorkgroupLaunch& launch) { return wave_count(launch, launch.group_valid); }

ComputeUnit::Needs ComputeUnit::Needs::of(const KernelLaunch& kernel, const std::array<uint32_t, 3>& valid) {
    Needs needs;
    if (items(kernel) > kMaxWavesPerWorkgroup * kLanes) return needs;
    needs.waves = wave_count(kernel, valid);
    needs.chip = kernel.chip;
    needs.registers = wave_registers(kernel);
    needs.lds_granules = static_cast<unsigned>((uint64_t{kernel.lds_bytes} + kLdsGranule - 1) / kLdsGranule);
    return needs;
}

ComputeUnit::Needs ComputeUnit::Needs::of(const WorkgroupRestore& group) {
    Needs needs;
    const ChipFacts& chip = facts_of(group.chip);
    const bool acc = chip.acc_file    ? 2 * group.acc_first == group.vgprs
                     : chip.acc_vgprs ? group.acc_first != 0 && group.acc_first <= group.vgprs
                                      : group.acc_first == 0;
    const bool sizes = group.vgprs != 0 && group.vgprs <= chip.vgprs_per_simd && group.vgprs % chip.vgpr_granule == 0 && acc &&
                       group.sgprs != 0 && group.sgprs <= kMaxSgprs && group.sgprs % kSgprGranule == 0 &&
                       group.lds_bytes <= kLdsBytes;
    if (!sizes || group.waves > kMaxWavesPerWorkgroup || group.tba == 0) return needs;
    needs.waves = group.waves;
    needs.chip = group.chip;
    needs.registers = {group.vgprs, group.acc_first, group.sgprs, group.sgprs + kTtmps};
    needs.lds_granules = (group.lds_bytes + kLdsGranule - 1) / kLdsGranule;
    return needs;
}

/// @param taken  unchanged when the group does not fit
bool ComputeUnit::plan(const Needs& needs, Taken& taken, Plan& plan) {
    const bool barrier = needs.waves > 1;
    if (needs.waves == 0 || (barrier && taken.barriers >= kBarrierSlots) || !taken.take_group(plan.group)) return false;
    plan.lds_granules = needs.lds_granules;
    const bool has_lds = taken.take_lds(needs.lds_granules, plan.lds_base);
    taken.barriers += barrier;
    plan.waves = 0;
    plan.rows_as_begun = {};
    while (has_lds && plan.waves < needs.waves && taken.take_wave(needs.registers, plan.place[plan.waves])) ++plan.waves;
    if (has_lds && plan.waves == needs.waves) return true;
    for (; plan.waves != 0; --plan.waves) {
        taken.give_back_wave(plan.place[plan.waves - 1], needs.registers.vgprs, needs.registers.sgprs_taken);
    }
    taken.give_back_group(plan.group, plan.lds_base, has_lds ? needs.lds_granules * kLdsGranule : 0, barrier);
    return false;
}

bool ComputeUnit::fits(const WorkgroupLaunch& launch) const {
    Plan unused;
    Taken taken = storage_->taken;
    return plan(Needs::of(launch, launch.group_valid), taken, unused);
}

bool ComputeUnit::fits(const WorkgroupRestore& group) const {
    Plan unused;
    Taken taken = storage_->taken;
    return plan(Needs::of(group), taken, unused);
}

bool ComputeUnit::Needs::possible() const {
    Plan unused;
    Taken nothing(chip);
    return plan(*this, nothing, unused);
}

bool can_ever_fit(const WorkgroupLaunch& launch) { return ComputeUnit::Needs::of(launch, launch.group_valid).possible(); }

bool can_ever_fit(const WorkgroupRestore& group) { return ComputeUnit::Needs::of(group).possible(); }

bool ComputeUnit::arrive_at_barrier(Wave& wave) {
    Workgroup& group = workgroups_[wave.workgroup];
    if (!group.has_barrier_slot) return true;
    set_state(wave, WaveState::AtBarrier);
    wave.status = StatusBits::InBarrier::set(wave.status, 1);
    ++group.waves_at_barrier;
    if (group.waves_at_barrier < group.waves_live) return false;
    release_barrier(wave.workgroup);
    return true;
}

void ComputeUnit::gws_done(unsigned slot) {
    constexpr uint64_t kGwsBytes = 8;
    if (slot >= kWaveSlots || waves_[slot].state != WaveState::AtGws) return;
    waves_[slot].pc += kGwsBytes;
    go_on(waves_[slot]);
}

void ComputeUnit::gws_again(unsigned slot) {
    if (slot < kWaveSlots && waves_[slot].state == WaveState::AtGws) go_on(waves_[slot]);
}

void ComputeUnit::release_barrier(uint8_t group) {
    workgroups_[group].waves_at_barrier = 0;
    uint64_t running = 0;
    for (uint64_t left = workgroups_[group].slots; left != 0; left &= left - 1) {
        Wave& wave = waves_[static_cast<unsigned>(std::countr_zero(left))];
        if (wave.state != WaveState::AtBarrier) continue;
        wave.status = StatusBits::InBarrier::set(wave.status, 0);
        if (StatusBits::FatalHalt::get(wave.status) || StatusBits::Halt::get(wave.status)) {
            go_on(wave);
            continue;
        }
        wave.state = WaveState::Running;
        running |= left & -left;
    }
    changed_ |= running;
    awake_ |= running;
}

/// The wave has ended, and everybody knows.
[[gnu::always_inline]] inline void ComputeUnit::leave_group(Wave& wave, Workgroup& group) {
    set_state(wave, WaveState::Free);
    --live_;
    group.slots &= ~(uint64_t{1} << wave.slot);
    --group.waves_live;
    if (group.waves_live != 0) {
        if (group.waves_at_barrier == group.waves_live) release_barrier(wave.workgroup);
        return;
    }
    if (!group.keeps_place)
        storage_->taken.give_back_group(wave.workgroup, group.lds_base, group.lds_bytes, group.has_barrier_slot);
    const uint64_t dispatch = group.dispatch;
    const bool saved = group.saved, counted = group.counts_ends;
    group = Workgroup{};
    if (counted && !saved)
        ++prepared_->progress.ended_groups;
    else if (saved)
        services_.workgroup_saved(dispatch);
    else
        services_.workgroup_ended(dispatch);
}

void ComputeUnit::end_wave(Wave& wave) {
    Workgroup& group = workgroups_[wave.workgroup];
    const bool counts = group.counts_ends && wave.state == WaveState::Running && wave.save == SaveStep::None;
    if (counts && wave.scratch_slot < 0) {
        ++prepared_->progress.ended_waves;
        return leave_group(wave, group);
    }
    if (env_.tracer.on()) emit_of_wave<event::wave_end>(env_, index_, wave, wave.instructions);
    if (wave.state == WaveState::AtBarrier) --group.waves_at_barrier;
    if (wave.state == WaveState::AtGws) services_.gws_left(wave);
    group.saved |= wave.saved();
    set_state(wave, WaveState::Ended);
    services_.wave_ended(wave);
    if (wave.state != WaveState::Ended) return;  // the callback reset this CU

    if (!group.keeps_place) storage_->taken.give_back_wave(storage_->place_of(wave), wave.vgpr_count, sgprs_taken(wave));
    leave_group(wave, group);
}

void ComputeUnit::kill(const WaveMatch& match) {
    write_registers();
    for (Wave& wave : waves_) {
        if (wave.state == WaveState::Free || wave.state == WaveState::Ended || !match(wave)) continue;
        if (wave.saved()) wave.save = SaveStep::None;  // killed: what is in the save area is of no use
        end_wave(wave);
    }
}

void ComputeUnit::kill_dispatch(uint64_t dispatch) {
    kill([=](const Wave& wave) { return wave.dispatch == dispatch; });
}

void ComputeUnit::kill_vmid(uint32_t vmid) {
    kill([=](const Wave& wave) { return wave.vmid == vmid; });
}

}  // namespace lyra::gcn
