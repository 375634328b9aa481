// SPDX-License-Identifier: MIT
// Room for work-groups, and the barrier between their waves; step 6 of the data flow.
// @source docs/spec/front-end.md 4.1, 4.4, 4.5; LLVM AMDGPUUsage "compute_pgm_rsrc1" for granules
#include <algorithm>
#include <bit>

#include "facts/register_fields.h"
#include "gcn-interp/cu/plan.h"

namespace lyra::gcn {

namespace {

namespace rsrc1 = regs::field::COMPUTE_PGM_RSRC1;

uint64_t items(const WorkgroupLaunch& launch) {
    uint64_t product = 1;
    for (const uint32_t size : launch.group_size) product *= std::min<uint32_t>(size, 2048);
    return product;
}

unsigned blocks_of_lds(const WorkgroupLaunch& launch) {
    return static_cast<unsigned>((uint64_t{launch.lds_bytes} + kLdsGranule - 1) / kLdsGranule);
}

/// First run of `count` free LDS granules, -1 without one.
int find_lds(const LdsMap& taken, unsigned count) {
    unsigned run = 0;
    for (unsigned i = 0; i < kLdsGranules; ++i) {
        run = taken[i] ? 0 : run + 1;
        if (run == count) return static_cast<int>(i + 1 - count);
    }
    return -1;
}

}  // namespace

WaveRegisters wave_registers(const WorkgroupLaunch& launch) {
    const unsigned vgprs = (rsrc1::VGPRS::get(launch.rsrc1) + 1) * kVgprGranule;
    const unsigned sgprs = (rsrc1::SGPRS::get(launch.rsrc1) / 2 + 1) * kSgprGranule;
    const unsigned usable = std::min(sgprs, kMaxSgprs);
    return {std::min(vgprs, kVgprsPerSimd), usable, usable + (traps_enabled(launch) ? kTtmps : 0)};
}

uint64_t valid_lanes(const WorkgroupLaunch& launch, unsigned number) {
    const uint64_t count = items(launch);
    uint64_t mask = 0;
    if (launch.group_valid == launch.group_size) {
        // Not cut at the grid's edge: no need to look at every lane.
        const uint64_t first = uint64_t{number} * kLanes;
        if (first >= count) return 0;
        return count - first >= kLanes ? ~uint64_t{0} : (uint64_t{1} << (count - first)) - 1;
    }
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const uint64_t flat = uint64_t{number} * kLanes + lane;
        if (flat >= count) break;
        const uint64_t x = flat % launch.group_size[0], rest = flat / launch.group_size[0];
        const uint64_t y = rest % launch.group_size[1], z = rest / launch.group_size[1];
        if (x < launch.group_valid[0] && y < launch.group_valid[1] && z < launch.group_valid[2]) mask |= uint64_t{1} << lane;
    }
    return mask;
}

unsigned wave_count(const WorkgroupLaunch& launch) {
    const uint64_t most = std::min<uint64_t>((items(launch) + kLanes - 1) / kLanes, kMaxWavesPerWorkgroup);
    unsigned count = 0;
    for (unsigned number = 0; number < most; ++number) count += valid_lanes(launch, number) != 0;
    return count;
}

int find_free(uint64_t taken, unsigned count) {
    if (count > 64) return -1;
    uint64_t free = ~taken;  // bit n: a run of `length` free granules begins at n
    for (unsigned length = 1; length < count && free != 0;) {
        const unsigned more = std::min(length, count - length);
        free &= free >> more;
        length += more;
    }
    return free == 0 ? -1 : std::countr_zero(free);
}

ComputeUnit::Needs ComputeUnit::Needs::of(const WorkgroupLaunch& launch) {
    Needs needs;
    if (items(launch) > kMaxWavesPerWorkgroup * kLanes) return needs;
    needs.waves = wave_count(launch);
    needs.registers = wave_registers(launch);
    needs.lds_granules = blocks_of_lds(launch);
    return needs;
}

ComputeUnit::Needs ComputeUnit::Needs::of(const WorkgroupRestore& group) {
    Needs needs;
    const bool sizes = group.vgprs != 0 && group.vgprs <= kVgprsPerSimd && group.vgprs % kVgprGranule == 0 &&
                       group.sgprs != 0 && group.sgprs <= kMaxSgprs && group.sgprs % kSgprGranule == 0 &&
                       group.lds_bytes <= kLdsBytes;
    if (!sizes || group.waves > kMaxWavesPerWorkgroup || group.tba == 0) return needs;
    needs.waves = group.waves;
    needs.registers = {group.vgprs, group.sgprs, group.sgprs + kTtmps};
    needs.lds_granules = (group.lds_bytes + kLdsGranule - 1) / kLdsGranule;
    return needs;
}

bool ComputeUnit::plan(const Needs& needs, Plan& plan) const {
    plan.waves = needs.waves;
    const auto group = std::find_if(workgroups_.begin(), workgroups_.end(), [](const Workgroup& g) { return !g.used; });
    if (plan.waves == 0 || group == workgroups_.end()) return false;
    plan.group = static_cast<uint8_t>(group - workgroups_.begin());
    if (plan.waves > 1 && storage_->barriers_taken >= kBarrierSlots) return false;
    plan.lds_granules = needs.lds_granules;
    const int lds = plan.lds_granules ? find_lds(storage_->lds_taken, plan.lds_granules) : 0;
    if (lds < 0) return false;
    plan.lds_base = static_cast<uint32_t>(lds) * kLdsGranule;
    uint64_t slots_taken = 0;
    for (unsigned slot = 0; slot < kWaveSlots; ++slot) {
        if (waves_[slot].state != WaveState::Free) slots_taken |= uint64_t{1} << slot;
    }
    RegisterMaps taken = storage_->taken;
    for (unsigned n = 0; n < plan.waves; ++n) {
        if (!place_wave(needs.registers, slots_taken, taken, plan.place[n])) return false;
    }
    return true;
}

bool place_wave(const WaveRegisters& needs, uint64_t& slots_taken, RegisterMaps& taken, WavePlace& place) {
    // The SIMD with the fewest waves first: work-groups spread evenly.
    constexpr uint64_t kSimd0Slots = 0x1111111111 & ((uint64_t{1} << kWaveSlots) - 1);
    static_assert(kSimdsPerCu == 4);
    std::array<unsigned, kSimdsPerCu> order{0, 1, 2, 3};
    std::array<int, kSimdsPerCu> waves;
    for (unsigned simd = 0; simd < kSimdsPerCu; ++simd) waves[simd] = std::popcount(slots_taken & kSimd0Slots << simd);
    for (unsigned n = 1; n < kSimdsPerCu; ++n) {
        for (unsigned m = n; m > 0 && waves[order[m]] < waves[order[m - 1]]; --m) std::swap(order[m], order[m - 1]);
    }
    const unsigned granules = needs.vgprs / kVgprGranule;
    for (const unsigned simd : order) {
        const uint64_t slots = ~slots_taken & kSimd0Slots << simd;
        if (slots == 0 || taken.sgprs[simd] + needs.sgprs_taken > kSgprsPerSimd) continue;
        const int at = find_free(taken.vgprs[simd], granules);
        if (at < 0) continue;
        const auto slot = static_cast<unsigned>(std::countr_zero(slots));
        place = {static_cast<uint8_t>(slot), static_cast<uint16_t>(at * static_cast<int>(kVgprGranule))};
        slots_taken |= uint64_t{1} << slot;
        taken.vgprs[simd] |= granule_mask(static_cast<unsigned>(at), granules);
        taken.sgprs[simd] += needs.sgprs_taken;
        return true;
    }
    return false;
}

bool ComputeUnit::fits(const WorkgroupLaunch& launch) const {
    Plan unused;
    return plan(Needs::of(launch), unused);
}

bool ComputeUnit::fits(const WorkgroupRestore& group) const {
    Plan unused;
    return plan(Needs::of(group), unused);
}

bool ComputeUnit::Needs::possible() const {
    if (lds_granules > kLdsGranules) return false;
    uint64_t slots_taken = 0;
    RegisterMaps taken;
    WavePlace place;
    for (unsigned n = 0; n < waves; ++n) {
        if (!place_wave(registers, slots_taken, taken, place)) return false;
    }
    return waves != 0;
}

bool ComputeUnit::can_ever_fit(const WorkgroupLaunch& launch) { return Needs::of(launch).possible(); }

bool ComputeUnit::can_ever_fit(const WorkgroupRestore& group) { return Needs::of(group).possible(); }

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
    for (Wave& wave : waves_) {
        if (wave.state != WaveState::AtBarrier || wave.workgroup != group) continue;
        wave.status = StatusBits::InBarrier::set(wave.status, 0);
        go_on(wave);
    }
}

void ComputeUnit::end_wave(Wave& wave) {
    if (env_.tracer.on()) emit<event::wave_end>(env_.tracer, env_.now_ns(), index_, wave.slot, wave.instructions);
    Workgroup& group = workgroups_[wave.workgroup];
    if (wave.state == WaveState::AtBarrier) --group.waves_at_barrier;
    if (wave.state == WaveState::AtGws) services_.gws_left(wave);
    group.saved |= wave.saved();
    set_state(wave, WaveState::Ended);
    services_.wave_ended(wave);
    if (wave.state != WaveState::Ended) return;  // the callback reset this CU

    const unsigned simd = wave.slot % kSimdsPerCu;
    const auto first = static_cast<unsigned>(wave.vgpr - storage_->vgprs[simd].data()) / kVgprGranule;
    storage_->taken.vgprs[simd] &= ~granule_mask(first, wave.vgpr_count / kVgprGranule);
    storage_->taken.sgprs[simd] -= wave.sgpr_count + (wave.tba ? kTtmps : 0);
    set_state(wave, WaveState::Free);
    --live_;
    --group.waves_live;
    if (group.waves_live != 0) {
        if (group.waves_at_barrier == group.waves_live) release_barrier(wave.workgroup);
        return;
    }
    for (uint32_t at = 0; at < group.lds_bytes; at += kLdsGranule) {
        storage_->lds_taken.reset((group.lds_base + at) / kLdsGranule);
    }
    if (group.has_barrier_slot) --storage_->barriers_taken;
    const uint64_t dispatch = group.dispatch;
    const bool saved = group.saved;
    group = Workgroup{};
    if (saved)
        services_.workgroup_saved(dispatch);
    else
        services_.workgroup_ended(dispatch);
}

void ComputeUnit::kill(const WaveMatch& match) {
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
