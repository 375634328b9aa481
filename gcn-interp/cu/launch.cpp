// SPDX-License-Identifier: MIT
// Starts the waves of a work-group with their initial registers; steps 5 and 6 of the data flow.
// @source LLVM AMDGPUUsage "Initial Kernel Execution State"; docs/spec/front-end.md 4.1, 4.2
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <cwchar>
#include <type_traits>
#include <utility>

#include "facts/register_fields.h"
#include "gcn-interp/cu/paced.h"
#include "gcn-interp/cu/plan.h"

namespace lyra::gcn {
namespace {

namespace rsrc1 = regs::field::COMPUTE_PGM_RSRC1;
namespace rsrc2 = regs::field::COMPUTE_PGM_RSRC2;

uint32_t initial_mode(const KernelLaunch& kernel) {
    uint32_t mode = rsrc1::FLOAT_MODE::get(kernel.rsrc1);
    mode = ModeBits::Dx10Clamp::set(mode, rsrc1::DX10_CLAMP::get(kernel.rsrc1));
    mode = ModeBits::Ieee::set(mode, rsrc1::IEEE_MODE::get(kernel.rsrc1));
    mode = ModeBits::DebugEn::set(mode, rsrc1::DEBUG_MODE::get(kernel.rsrc1));
    mode = ModeBits::Fp16Ovfl::set(mode, rsrc1::FP16_OVFL::get(kernel.rsrc1));
    const uint32_t exceptions = rsrc2::EXCP_EN::get(kernel.rsrc2) | rsrc2::EXCP_EN_MSB::get(kernel.rsrc2) << 7;
    return ModeBits::ExcpEn::set(mode, exceptions);
}

uint32_t initial_status(const KernelLaunch& kernel) {
    uint32_t status = 0;
    // @source LLVM amd_kernel_code_t, priority: "Drives spi_priority in spi_sq newWave cmd"
    status = StatusBits::SpiPrio::set(status, rsrc1::PRIORITY::get(kernel.rsrc1));
    status = StatusBits::Priv::set(status, rsrc1::PRIV::get(kernel.rsrc1));
    status = StatusBits::TrapEn::set(status, traps_enabled(kernel));
    return StatusBits::Valid::set(status, 1);
}

template <class Group>
uint32_t hardware_id(const Group& launch, unsigned slot, unsigned group) {
    return (slot / kSimdsPerCu & 15) | (slot % kSimdsPerCu) << 4 | (launch.cu_in_engine & 15) << 8 |
           (launch.shader_engine & 3) << 13 | (group & 15) << 16 | (launch.vmid & 15) << 20;
}

/// User SGPRs, then the system SGPRs that RSRC2 asks for, in this order. What does not fit is left out.
SystemSgprs set_user_sgprs(Wave& wave, const KernelLaunch& kernel) {
    unsigned next = 0;
    for (; next < std::min<size_t>(kernel.user_sgpr_count, kernel.user_sgprs.size()); ++next) {
        if (next < wave.sgpr_count) wave.sgpr[next] = kernel.user_sgprs[next];
    }
    SystemSgprs system;
    const auto put = [&](bool wanted, uint8_t& number) {
        if (wanted && next < wave.sgpr_count) number = static_cast<uint8_t>(next);
        next += wanted;
    };
    put(rsrc2::TGID_X_EN::get(kernel.rsrc2), system.group_id[0]);
    put(rsrc2::TGID_Y_EN::get(kernel.rsrc2), system.group_id[1]);
    put(rsrc2::TGID_Z_EN::get(kernel.rsrc2), system.group_id[2]);
    put(rsrc2::TG_SIZE_EN::get(kernel.rsrc2), system.group_size);
    put(rsrc2::SCRATCH_EN::get(kernel.rsrc2), system.scratch_offset);
    return system;
}

void set_system_sgprs(Wave& wave, const SystemSgprs& system, const GroupLaunch& group, unsigned number, unsigned waves) {
    const auto put = [&](uint8_t at, uint32_t value) {
        if (at != SystemSgprs::kNone) wave.sgpr[at] = value;
    };
    for (unsigned d = 0; d < 3; ++d) put(system.group_id[d], group.group_id[d]);
    put(system.group_size, (number == 0 ? 0x80000000u : 0u) | (waves & 63));
    put(system.scratch_offset, group.scratch_offset[number]);
}

/// v0, v1, v2: work-item ids, as many as components says.
void set_work_item_ids(Wave& wave, const std::array<uint32_t, 3>& size, unsigned components, unsigned position) {
    const uint32_t first = position * kLanes;
    if (first + kLanes <= size[0]) {
        for (uint32_t lane = 0; lane < kLanes; ++lane) wave.vgpr[0].lane[lane] = first + lane;
        for (unsigned d = 1; d < components; ++d) wave.vgpr[d] = {};
        return;
    }
    const uint32_t rows = first / size[0];
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
void set_ttmps(Wave& wave, const KernelLaunch& kernel, const GroupLaunch& group, unsigned number) {
    wave.ttmp[6] = kernel.packet_index & 0x1ffffff;
    for (unsigned d = 0; d < 3; ++d) wave.ttmp[8 + d] = group.group_id[d];
    wave.ttmp[11] = (number & 63) | (wave.scratch_slot < 0 ? 1u << 6 : 0u);
}

/// The wave becomes what the image is. SGPRs that are not allocated are zero in both, and the expanded EXEC says whose it is,
/// so that most of the 960 bytes need not be written.
void copy_image(Wave& wave, const Wave& image) {
    static_assert(std::is_trivially_copyable_v<Wave> && std::is_standard_layout_v<Wave>);
    constexpr size_t kBlock = kSgprGranule * sizeof(uint32_t);
    const unsigned before = wave.sgpr_count;
    std::memcpy(static_cast<void*>(&wave), &image, offsetof(Wave, sgpr));
    unsigned n = 0;
    for (; n < image.sgpr_count; n += kSgprGranule) std::memcpy(&wave.sgpr[n], &image.sgpr[n], kBlock);
    for (; n < before; n += kSgprGranule) std::memset(&wave.sgpr[n], 0, kBlock);
}

/// Uninitialized registers and LDS. Undefined on hardware; one value makes runs repeatable and shows no one another's data.
void fill(const Env& env, uint32_t* words, size_t count) {
    static_assert(sizeof(wchar_t) == sizeof(uint32_t), "the C library's fastest way to fill words");
    std::wmemset(reinterpret_cast<wchar_t*>(words), env.poison ? static_cast<wchar_t>(kPoison) : 0, count);
}

/// General registers and VCC hold the pattern of Env::poison, everything else is zero.
Wave blank(const Env& env, const WaveRegisters& registers) {
    Wave wave;
    wave.sgpr_count = static_cast<uint16_t>(registers.sgprs);
    wave.vgpr_count = static_cast<uint16_t>(registers.vgprs);
    fill(env, wave.sgpr.data(), wave.special_base());
    if (env.poison) wave.set_vcc(make64(kPoison, kPoison));
    return wave;
}

}  // namespace

void ComputeUnit::take_group(uint64_t dispatch, const Plan& plan) {
    Workgroup& group = workgroups_[plan.group];
    group = Workgroup{};
    group.used = true;
    group.dispatch = dispatch;
    group.lds_base = plan.lds_base;
    group.lds_bytes = plan.lds_granules * kLdsGranule;
    group.has_barrier_slot = plan.waves > 1;
    group.waves_live = static_cast<uint8_t>(plan.waves);
    fill(env_, reinterpret_cast<uint32_t*>(storage_->lds.data() + plan.lds_base), group.lds_bytes / sizeof(uint32_t));
}

/// In its slot and with its registers, of which `written` rows need no value.
Wave& ComputeUnit::take_wave(const Wave& image, const Plan& plan, unsigned number, unsigned written) {
    const WavePlace place = plan.place[number];
    Wave& wave = waves_[place.slot];
    copy_image(wave, image);
    wave.slot = place.slot;
    workgroups_[plan.group].slots |= uint64_t{1} << place.slot;
    wave.workgroup = plan.group;
    wave.wave_in_group = static_cast<uint8_t>(number);
    wave.lds_base = plan.lds_base;
    wave.lds_bytes = plan.lds_granules * kLdsGranule;
    wave.vgpr = storage_->vgprs[place.simd()].data() + place.first_vgpr;
    fill(env_, reinterpret_cast<uint32_t*>(wave.vgpr + written), size_t{wave.vgpr_count - written} * kLanes);
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

void ComputeUnit::prepare(const KernelLaunch& kernel) {
    if (!prepared_) prepared_ = std::make_unique<Prepared>();
    Prepared& p = *prepared_;
    if (p.kernel == kernel && p.poison == env_.poison && p.needs.waves != 0) return;
    p.kernel = kernel;
    p.poison = env_.poison;
    p.needs = Needs::of(kernel, kernel.group_size);
    p.id_components = std::min(rsrc2::TIDIG_COMP_CNT::get(kernel.rsrc2) + 1, 3u);
    Wave& wave = p.image;
    wave = blank(env_, p.needs.registers);
    wave.vmid = kernel.vmid;
    wave.doorbell_id = kernel.doorbell_id;
    wave.dispatch = kernel.dispatch;
    wave.pc = flow::code_address(kernel.entry);
    wave.tba = traps_enabled(kernel) ? kernel.tba : 0;
    wave.tma = kernel.tma;
    wave.status = initial_status(kernel);
    wave.mode = initial_mode(kernel);
    wave.private_base = kernel.private_base;
    wave.retry = kernel.retry;
    wave.shared_base = kernel.shared_base;
    p.system = set_user_sgprs(wave, kernel);
}

/// @return waves
unsigned ComputeUnit::start_on(const Plan& plan, const GroupLaunch& group) {
    const Prepared& p = *prepared_;
    take_group(p.kernel.dispatch, plan);
    const bool whole = group.group_valid == p.kernel.group_size;
    unsigned number = 0;
    for (unsigned position = 0; number < plan.waves && position < kMaxWavesPerWorkgroup; ++position) {
        const uint64_t lanes =
            whole && position + 1 < plan.waves ? ~uint64_t{0} : valid_lanes(p.kernel, group.group_valid, position);
        if (lanes == 0) continue;
        Wave& wave = take_wave(p.image, plan, number, p.id_components);
        wave.exec = lanes;
        wave.status = StatusBits::InTg::set(wave.status, plan.waves > 1);
        wave.hw_id = hardware_id(p.kernel, wave.slot, plan.group);
        wave.scratch_slot = group.scratch_slot[number];
        set_system_sgprs(wave, p.system, group, number, plan.waves);
        set_work_item_ids(wave, p.kernel.group_size, p.id_components, position);
        set_ttmps(wave, p.kernel, group, number);
        begin_wave(wave);
        if (p.kernel.halted) set_halt(wave, true);
        ++number;
    }
    return number;
}

void ComputeUnit::launch(const WorkgroupLaunch& launch) {
    prepare(launch);
    const bool whole = launch.group_valid == launch.group_size;
    Plan plan;
    if (!this->plan(whole ? prepared_->needs : Needs::of(launch, launch.group_valid), storage_->taken, plan)) return;
    env_.stats.add(Stat::waves, start_on(plan, launch));
}

unsigned ComputeUnit::reserve(unsigned most) {
    Prepared& p = *prepared_;
    if (p.started != 0) std::copy(p.plans.begin() + p.started, p.plans.begin() + p.reserved, p.plans.begin());
    p.reserved -= std::exchange(p.started, 0u);
    most = std::min<unsigned>(most, p.plans.size());
    while (p.reserved < most && plan(p.needs, storage_->taken, p.plans[p.reserved])) ++p.reserved;
    return std::min(p.reserved, most);
}

uint64_t ComputeUnit::start(const GroupLaunch& group, uint64_t limit) {
    Prepared& p = *prepared_;
    if (p.started == p.reserved) return 0;
    Plan& plan = p.plans[p.started];
    const bool whole = group.group_valid == p.kernel.group_size;
    // One that is cut at the grid's edge has the first places of a whole one.
    if (!whole) cut(plan, Needs::of(p.kernel, group.group_valid).waves);
    p.waves += start_on(plan, group);
    workgroups_[plan.group].keeps_place = whole;
    const uint64_t done = run_group(plan, limit);
    if (p.reserved == 0) return done;  // reset meanwhile
    if (whole && !workgroups_[plan.group].used) return done;
    if (whole) keep_no_place(plan);
    ++p.started;
    return done;
}

/// Wave by wave up to a barrier or the end, as long as one of them can run.
uint64_t ComputeUnit::run_group(const Plan& plan, uint64_t limit) {
    uint64_t done = 0;
    for (bool ran = true; ran && done < limit;) {
        ran = false;
        for (unsigned n = 0; n < plan.waves && done < limit; ++n) {
            Wave& wave = waves_[plan.place[n].slot];
            if (wave.state != WaveState::Running) continue;
            done += step(wave, limit - done);
            ran = true;
        }
    }
    prepared_->instructions += done;
    return done;
}

/// The group goes on: what its waves had that have ended is free.
void ComputeUnit::keep_no_place(const Plan& plan) {
    const WaveRegisters& registers = prepared_->needs.registers;
    workgroups_[plan.group].keeps_place = false;
    for (unsigned n = 0; n < plan.waves; ++n) {
        if (waves_[plan.place[n].slot].state != WaveState::Free) continue;
        storage_->taken.give_back_wave(plan.place[n], registers.vgprs, registers.sgprs_taken);
    }
}

void ComputeUnit::cut(Plan& plan, unsigned waves) {
    const WaveRegisters& registers = prepared_->needs.registers;
    for (; plan.waves > waves; --plan.waves) {
        storage_->taken.give_back_wave(plan.place[plan.waves - 1], registers.vgprs, registers.sgprs_taken);
        storage_->taken.barriers -= plan.waves == 2;
    }
}

unsigned ComputeUnit::started() {
    const unsigned waves = std::exchange(prepared_->waves, 0u);
    env_.stats.add(Stat::waves, waves);
    return waves;
}

void ComputeUnit::finish() {
    if (!prepared_) return;
    Prepared& p = *prepared_;
    for (; p.started != p.reserved; ++p.started) {
        Plan& plan = p.plans[p.started];
        cut(plan, 0);
        storage_->taken.give_back_group(plan.group, plan.lds_base, plan.lds_granules * kLdsGranule, false);
    }
    p.reserved = p.started = 0;
    count(std::exchange(p.instructions, 0u));
}

/// The trap handler's second entry loads everything else. @source cwsr_trap_handler_gfx9.asm (L_JUMP_TO_RESTORE)
void ComputeUnit::restore(const WorkgroupRestore& group) {
    const Needs needs = Needs::of(group);
    Plan plan;
    if (!this->plan(needs, storage_->taken, plan)) return;
    take_group(group.dispatch, plan);
    for (unsigned number = 0; number < plan.waves; ++number) {
        Wave& wave = take_wave(blank(env_, needs.registers), plan, number, 0);
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
