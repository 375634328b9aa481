// SPDX-License-Identifier: MIT
// Starts the waves of a work-group with their initial registers; steps 5 and 6 of the data flow.
// @source LLVM AMDGPUUsage "Initial Kernel Execution State"; docs/spec/front-end.md 4.1, 4.2
#include <algorithm>
#include <cwchar>
#include <utility>

#include "facts/register_fields.h"
#include "gcn-interp/cu/paced.h"
#include "gcn-interp/cu/plan.h"
#include "gcn-interp/cu/wave_event.h"

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

/// Work-item ids in one register. @source LLVM AMDGPUUsage "Initial Kernel Execution State", hasPackedTID()
constexpr unsigned kPackedIdBits = 10;
constexpr uint32_t kPackedIdMask = (1u << kPackedIdBits) - 1;

/// HW_ID, but for slot and work-group.
template <class Launch>
uint32_t hardware_id(const Launch& launch) {
    return (launch.cu_in_engine & 15) << 8 | (launch.shader_engine & 3) << 13 | (launch.vmid & 15) << 20;
}
uint32_t place_in_unit(unsigned slot, unsigned group) {
    return (slot / kSimdsPerCu & 15) | (slot % kSimdsPerCu) << 4 | (group & 15) << 16;
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
    system.flat_scratch = facts_of(kernel.chip).flat_scratch_from_start && rsrc2::SCRATCH_EN::get(kernel.rsrc2);
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

/// x, y and z of a wave's work-items, as many as components says. @param rows  so many; one where it holds all of them
void make_work_item_ids(VgprRow* rows, const std::array<uint32_t, 3>& size, unsigned components, bool packed,
                        unsigned position) {
    const uint32_t first = position * kLanes, line = first / size[0];
    uint32_t x = first % size[0], y = line % size[1], z = line / size[1];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const uint32_t id[] = {x, y, z};
        if (packed) rows[0].lane[lane] = 0;
        for (unsigned d = 0; d < components; ++d) {
            if (packed)
                rows[0].lane[lane] |= (id[d] & kPackedIdMask) << (kPackedIdBits * d);
            else
                rows[d].lane[lane] = id[d];
        }
        if (++x < size[0]) continue;
        x = 0;
        if (++y < size[1]) continue;
        y = 0;
        ++z;
    }
}

/// What the trap handler and debuggers find in the trap registers.
/// @source docs/spec/front-end.md 4.2; ROCdbgapi architecture.cpp (gfx940)
void set_ttmps(Wave& wave, const KernelLaunch& kernel, const GroupLaunch& group, unsigned number) {
    const uint32_t packet = kernel.packet_index & 0x1ffffff;
    const bool in_ttmp11 = facts_of(kernel.chip).packet_in_ttmp11;
    wave.ttmp[6] = in_ttmp11 ? 0 : packet;
    for (unsigned d = 0; d < 3; ++d) wave.ttmp[8 + d] = group.group_id[d];
    wave.ttmp[11] = (number & 63) | (in_ttmp11 ? packet << 6 : uint32_t{wave.scratch_slot < 0} << 6);
}

/// Uninitialized registers and LDS. Undefined on hardware; one value makes runs repeatable and shows no one another's data.
void fill(const Env& env, uint32_t* words, size_t count) {
    static_assert(sizeof(wchar_t) == sizeof(uint32_t), "the C library's fastest way to fill words");
    if (count != 0) std::wmemset(reinterpret_cast<wchar_t*>(words), env.poison ? static_cast<wchar_t>(kPoison) : 0, count);
}

constexpr VgprRow all_lanes(uint32_t value) {
    VgprRow row{};
    for (uint32_t& lane : row.lane) lane = value;
    return row;
}
constexpr VgprRow kPoisoned = all_lanes(kPoison), kZero = all_lanes(0);
const VgprRow& others(const Env& env) { return env.poison ? kPoisoned : kZero; }

/// General registers and VCC hold the pattern of Env::poison, everything else is zero.
Wave blank(const Env& env, const WaveRegisters& registers, Chip chip) {
    Wave wave;
    wave.chip = chip;
    wave.acc_first = static_cast<uint16_t>(registers.acc_first);
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
    storage_->unwritten_groups |= uint64_t{1} << plan.group;
}

/// VGPRs and LDS of what was launched since the compute unit ran. They are most of what a launch writes, and the thread that
/// runs the compute unit has them in its caches then.
void ComputeUnit::write_registers() const {
    Storage& s = *storage_;
    for (uint64_t left = std::exchange(s.unwritten_groups, 0); left != 0; left &= left - 1) {
        const Workgroup& group = workgroups_[static_cast<unsigned>(std::countr_zero(left))];
        fill(env_, reinterpret_cast<uint32_t*>(s.lds.data() + group.lds_base), group.lds_bytes / sizeof(uint32_t));
    }
    for (uint64_t left = std::exchange(s.unwritten_waves, 0); left != 0; left &= left - 1) {
        const Wave& wave = waves_[static_cast<unsigned>(std::countr_zero(left))];
        s.begin_rows(wave.vgpr, wave.vgpr_count, prepared_->ids(s.position[wave.slot]), &others(env_));
    }
}

/// In its slot and with its registers.
[[gnu::always_inline]] inline Wave& ComputeUnit::take_wave(const Wave& image, const Plan& plan, unsigned number,
                                                           const WorkItemIds& ids, bool without_others) {
    const WavePlace place = plan.place[number];
    Wave& wave = waves_[place.slot];
    VgprRow* const rows = storage_->file(place.simd()) + place.first_vgpr;
    storage_->begin(wave, image, rows, ids, without_others ? nullptr : &others(env_));
    wave.slot = place.slot;
    workgroups_[plan.group].slots |= uint64_t{1} << place.slot;
    wave.workgroup = plan.group;
    wave.wave_in_group = static_cast<uint8_t>(number);
    wave.lds_base = plan.lds_base;
    wave.lds_bytes = plan.lds_granules * kLdsGranule;
    wave.status = StatusBits::InTg::set(wave.status, plan.waves > 1);
    wave.hw_id |= place_in_unit(place.slot, plan.group);
    return wave;
}

[[gnu::always_inline]] inline void ComputeUnit::begin_wave(Wave& wave) {
    set_state(wave, WaveState::Running);
    ++live_;
    if (env_.clock.on()) {
        if (!paced_) paced_ = std::make_unique<Paced>();
        paced_->begin(wave, env_.clock.clk());
    }
    if (env_.tracer.on()) emit_of_wave<event::wave_begin>(env_, index_, wave, wave.dispatch);
}

/// The same for every group, so those that are not just counted are made once.
[[gnu::always_inline]] inline WorkItemIds ComputeUnit::Prepared::ids(unsigned position) {
    const uint32_t first = position * kLanes;
    const bool packed = facts_of(kernel.chip).packed_work_item_ids;
    const unsigned count = packed ? 1 : id_components;
    if (first + kLanes <= kernel.group_size[0]) return {.rows = count, .first = first};
    VgprRow* const rows = made_ids[position].data();
    if (!std::exchange(has_ids[position], true)) make_work_item_ids(rows, kernel.group_size, id_components, packed, position);
    return {.rows = count, .made = rows};
}

void ComputeUnit::prepare(const KernelLaunch& kernel) {
    if (!prepared_) prepared_ = std::make_unique<Prepared>();
    Prepared& p = *prepared_;
    p.first_code = {};
    if (p.kernel == kernel && p.poison == env_.poison && p.needs.waves != 0) return;
    write_registers();
    const unsigned components = std::min(rsrc2::TIDIG_COMP_CNT::get(kernel.rsrc2) + 1, 3u);
    if (p.kernel.group_size != kernel.group_size || p.id_components != components) p.has_ids = {};
    p.kernel = kernel;
    p.poison = env_.poison;
    p.needs = Needs::of(kernel, kernel.group_size);
    p.id_components = components;
    p.last_lanes = valid_lanes(kernel, kernel.group_size, std::max(p.needs.waves, 1u) - 1);
    Wave& wave = p.image;
    wave = blank(env_, p.needs.registers, kernel.chip);
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
    wave.hw_id = hardware_id(kernel);
    wave.xcc = kernel.xcc;
    p.system = set_user_sgprs(wave, kernel);
}

/// A wave that begins with only the others of first_rows() runs. Where it stops it gets what it has not written.
[[gnu::noinline]] uint64_t ComputeUnit::run_owing(Wave& wave, uint64_t limit, const WorkItemIds& ids) {
    FirstCode& code = prepared_->first_code;
    ExecContext ctx{wave, &env_, &memory_, &services_, storage_->lds.data()};
    ctx.pages = &storage_->pages;
    const uint64_t va = wave.pc & ~(kPageBytes - 1);
    uint64_t stopped_at = wave.pc;
    bool past_first = false;
    const uint64_t done = translator_->run_first(code.entered, ctx, va, limit, stopped_at, ids, past_first);
    translated_ += done;
    wave.instructions += done;
    if (ctx.request == Request::End) {
        code.rows_written = ctx.rows_written;
        end_wave(wave);
        return done;
    }
    const bool stopped = ctx.yield || ctx.fault != Fault::None;
    if (!past_first) {
        for (const auto& [offset, vgpr] : code.rows->written) {
            if (offset >= wave.pc - va) wave.vgpr[vgpr] = others(env_);
        }
    }
    if (stopped && !after(ctx, stopped_at)) return done;
    return done < limit ? done + execute(wave, limit - done) : done;
}

/// Each wave runs as far as it can before the next one begins.
/// @param limit  instructions; 0: none runs, and VGPRs are written later
/// @return instructions
uint64_t ComputeUnit::start_on(Plan& plan, const GroupLaunch& group, bool whole, uint64_t limit) {
    Prepared& p = *prepared_;
    uint64_t done = 0;
    unsigned number = 0;
    const bool debugged = ModeBits::DebugEn::get(p.image.mode);
    for (unsigned position = 0; number < plan.waves && position < kMaxWavesPerWorkgroup; ++position) {
        const uint64_t lanes = !whole                       ? valid_lanes(p.kernel, group.group_valid, position)
                               : position + 1 == plan.waves ? p.last_lanes
                                                            : ~uint64_t{0};
        if (lanes == 0) continue;
        bool& rows_as_begun = plan.rows_as_begun[number];
        const WorkItemIds ids = limit != 0 ? p.ids(position) : WorkItemIds{};
        const bool runs = done < limit && !p.kernel.halted;
        // Code that writes no rows leaves them for all that come. Where it does, the next wave begins with those that it reads.
        const bool may_owe = p.first_code.may_owe() && runs && !rows_as_begun && lanes == ~uint64_t{0} && !debugged;
        const FirstRows* const owed = may_owe ? first_rows() : nullptr;
        Wave& wave = take_wave(p.image, plan, number, ids, rows_as_begun || limit == 0 || owed != nullptr);
        if (owed != nullptr) storage_->some_rows(wave.vgpr, owed->others_behind(ids.rows), others(env_));
        if (limit == 0) {
            storage_->position[wave.slot] = static_cast<uint8_t>(position);
            storage_->unwritten_waves |= uint64_t{1} << wave.slot;
        }
        rows_as_begun = false;
        wave.exec = lanes;
        wave.scratch_slot = group.scratch_slot[number];
        set_system_sgprs(wave, p.system, group, number, plan.waves);
        if (p.system.flat_scratch) wave.write_scalar64(kFlatScratchLo, p.kernel.scratch_base + group.scratch_offset[number]);
        set_ttmps(wave, p.kernel, group, number);
        begin_wave(wave);
        if (p.kernel.halted) set_halt(wave, true);
        if (owed != nullptr) {
            done += run_owing(wave, limit - done, ids);
        } else if (runs && debugged) {
            done += step(wave, limit - done);
        } else if (runs) {
            done += execute(wave, limit - done, &p.first_code, &ids);
            const bool ended = wave.state == WaveState::Free || wave.state == WaveState::Ended;
            rows_as_begun = ended && !p.first_code.rows_written;
        }
        ++number;
    }
    return done;
}

void ComputeUnit::launch(const WorkgroupLaunch& launch) {
    prepare(launch);
    const bool whole = is_whole(launch, launch.group_valid);
    Plan plan;
    if (!this->plan(whole ? prepared_->needs : Needs::of(launch, launch.group_valid), storage_->taken, plan)) return;
    take_group(launch.dispatch, plan);
    start_on(plan, launch, whole, 0);
    env_.stats.add(Stat::waves, plan.waves);
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
    const bool whole = is_whole(p.kernel, group.group_valid);
    // One that is cut at the grid's edge has the first places of a whole one.
    if (!whole) cut(plan, Needs::of(p.kernel, group.group_valid).waves);
    take_group(p.kernel.dispatch, plan);
    workgroups_[plan.group].keeps_place = whole;
    workgroups_[plan.group].counts_ends = whole && !env_.tracer.on();
    if (limit != 0) write_registers();
    p.progress.waves += plan.waves;
    uint64_t done = start_on(plan, group, whole, limit);
    if (done < limit && workgroups_[plan.group].used) done += run_group(plan, limit - done);
    p.instructions += done;
    if (p.reserved == 0) return done;  // reset meanwhile
    if (whole && !workgroups_[plan.group].used) return done;
    if (whole) keep_no_place(plan);
    ++p.started;
    return done;
}

/// Wave by wave up to a barrier or the end, as long as one of them can run.
uint64_t ComputeUnit::run_group(const Plan& plan, uint64_t limit) {
    uint64_t done = 0;
    GroupCode code;
    for (bool ran = true; ran && done < limit;) {
        ran = false;
        for (unsigned n = 0; n < plan.waves && done < limit; ++n) {
            Wave& wave = waves_[plan.place[n].slot];
            if (wave.state != WaveState::Running) continue;
            const bool debugged = ModeBits::DebugEn::get(wave.mode);
            if (debugged) code = {};
            done += debugged ? step(wave, limit - done) : execute(wave, limit - done, nullptr, nullptr, &code);
            ran = true;
        }
    }
    return done;
}

/// The group goes on: what its waves had that have ended is free.
void ComputeUnit::keep_no_place(const Plan& plan) {
    const WaveRegisters& registers = prepared_->needs.registers;
    workgroups_[plan.group].keeps_place = workgroups_[plan.group].counts_ends = false;
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

ComputeUnit::Started ComputeUnit::started() {
    const Started progress = std::exchange(prepared_->progress, {});
    started_waves_ += progress.waves;
    if (!counts_later_) tell_counts();
    return progress;
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
    Wave image = blank(env_, needs.registers, group.chip);
    image.vmid = group.vmid;
    image.doorbell_id = group.doorbell_id;
    image.dispatch = group.dispatch;
    image.restoring = true;
    image.pc = flow::code_address(group.tba + kRestoreEntry);
    image.tba = group.tba;
    image.tma = group.tma;
    image.status = StatusBits::SpiPrio::set(0u, rsrc1::PRIORITY::get(group.rsrc1));
    image.status = StatusBits::Priv::set(image.status, 1);
    image.status = StatusBits::TrapEn::set(image.status, 1);
    image.status = StatusBits::Valid::set(image.status, 1);
    image.private_base = group.private_base;
    image.retry = group.retry;
    image.shared_base = group.shared_base;
    image.hw_id = hardware_id(group);
    image.xcc = group.xcc;
    for (unsigned number = 0; number < plan.waves; ++number) {
        Wave& wave = take_wave(image, plan, number, {}, false);
        wave.exec = record_answer(group.record[number], number == 0);
        wave.scratch_slot = group.scratch_slot[number];
        begin_wave(wave);
    }
    env_.stats.add(Stat::waves, plan.waves);
}

}  // namespace lyra::gcn
