// SPDX-License-Identifier: MIT
// What a compute unit has to remember: waves, work-groups, registers and LDS. What of them is taken follows from the waves.
#include <algorithm>

#include "gcn-interp/cu/paced.h"
#include "gcn-interp/cu/storage.h"

namespace lyra::gcn {

// Not the register file's address, the mask of EXEC, or the generation of page tables: they are made anew.
void Wave::visit(StateVisitor& v) {
    v("state", state, WaveState::Saving);
    v("seen", seen, WaveState::Ended);
    v("save", save, SaveStep::Granted);
    v("workgroup", workgroup, kMaxWorkgroupsPerCu - 1);
    v("wave_in_group", wave_in_group, kMaxWavesPerWorkgroup - 1);
    v("vmid", vmid, 15);
    v("doorbell_id", doorbell_id);
    v("dispatch", dispatch);
    v("pc", pc);
    v("exec", exec);
    v("tba", tba);
    v("tma", tma);
    v("m0", m0);
    v("status", status);
    v("mode", mode);
    v("trapsts", trapsts);
    v("ib_sts", ib_sts);
    v("scc", scc);
    v("restoring", restoring);
    v("stepped", stepped);
    v("user_gpr_idx", user_gpr_idx);
    v("sgpr_count", sgpr_count, kMaxSgprs);
    v("vgpr_count", vgpr_count, kMaxVgprRows);
    v("acc_first", acc_first, kMaxVgprRows);
    v("lds_base", lds_base, kLdsBytes);
    v("lds_bytes", lds_bytes, kLdsBytes);
    v("private_base", private_base);
    v("shared_base", shared_base);
    v("hw_id", hw_id);
    v("xcc", xcc);
    v("scratch_slot", scratch_slot);
    v("sleep_until_round", sleep_until_round);
    v("retry", retry);
    v("page_until_ns", page_until_ns);
    v("instructions", instructions);
    v("ttmp", ttmp);
    v("sgpr", sgpr);
    if (!v.loads()) return;
    mask_of = 0;
    mask = {};
    page_generation = 0;
}

void Workgroup::visit(StateVisitor& v) {
    v("dispatch", dispatch);
    v("lds_base", lds_base, kLdsBytes);
    v("lds_bytes", lds_bytes, kLdsBytes);
    v("waves_live", waves_live, kMaxWavesPerWorkgroup);
    v("waves_at_barrier", waves_at_barrier, kMaxWavesPerWorkgroup);
    v("has_barrier_slot", has_barrier_slot);
    v("saved", saved);
}

void WavePace::visit(StateVisitor& v) {
    v("ready_clk", ready_clk);
    v("vector", vector);
    v("local", local);
}

/// Whose turn is next is looked for again.
void ComputeUnit::Paced::visit(StateVisitor& v) {
    v("waves", waves);
    v("vector_free", vector_free);
    v("scalar_free", scalar_free);
    v("memory_free", memory_free);
    v("lds_free", lds_free);
    v("now_clk", now_clk);
    if (v.loads()) raised = 0;
}

/// Only those that are there, each with its rows of the register file.
void ComputeUnit::visit_wave(StateVisitor& v, unsigned slot) {
    Wave& wave = waves_[slot];
    VgprRow* const file = storage_->file(slot % kSimdsPerCu);
    const ChipFacts& chip = facts_of(storage_->chip);
    bool used = wave.state != WaveState::Free;
    v("used", used);
    if (v.loads()) {
        wave = Wave{};
        wave.slot = static_cast<uint8_t>(slot);
        wave.chip = chip.chip;
    }
    if (!used) return;
    uint32_t first = static_cast<uint32_t>(v.loads() ? 0 : wave.vgpr - file);
    v("first_vgpr", first, chip.vgprs_per_simd);
    v("wave", wave);
    if (v.loads()) {
        v.require(wave.state != WaveState::Free, "a wave without a state");
        v.require(wave.sgpr_count != 0 && wave.sgpr_count % kSgprGranule == 0 && wave.vgpr_count != 0 &&
                      wave.vgpr_count % chip.vgpr_granule == 0 && first % chip.vgpr_granule == 0 &&
                      first + wave.vgpr_count <= chip.vgprs_per_simd && slot < chip.waves_per_cu() &&
                      (wave.acc_first != 0) == chip.has_acc() && wave.acc_first <= wave.vgpr_count,
                  "registers that no wave can have");
        if (!v.ok()) {
            wave = Wave{};
            return;
        }
        wave.vgpr = file + first;
    }
    v.plain_memory("vgpr", wave.vgpr, wave.vgpr_count * sizeof(VgprRow));
}

/// What is taken by waves and work-groups, all of which have been loaded.
void ComputeUnit::take_loaded(StateVisitor& v) {
    Taken& taken = storage_->taken;
    taken = Taken(storage_->chip);
    live_ = 0;
    for (const Wave& wave : waves_) {
        if (wave.state == WaveState::Free) continue;
        ++live_;
        const WavePlace place = storage_->place_of(wave);
        const uint64_t rows = granule_mask(place.first_vgpr >> taken.granule_log2, wave.vgpr_count >> taken.granule_log2);
        v.require((taken.simds[place.simd()].vgprs & rows) == 0, "two waves have the same registers");
        taken.add_wave(place, wave.vgpr_count, sgprs_taken(wave));
        v.require(taken.simds[place.simd()].sgprs <= kSgprsPerSimd, "waves have more registers than there are");
        Workgroup& group = workgroups_[wave.workgroup];
        group.slots |= uint64_t{1} << wave.slot;
        v.require(group.used && group.dispatch == wave.dispatch && group.lds_base == wave.lds_base &&
                      group.lds_bytes == wave.lds_bytes,
                  "a wave is not of its work-group");
    }
    awake_ = taken.slots;
    for (size_t n = 0; n < workgroups_.size(); ++n) {
        const Workgroup& group = workgroups_[n];
        const auto count = [&](auto is) {
            return std::count_if(waves_.begin(), waves_.end(), [&](const Wave& wave) {
                return wave.state != WaveState::Free && wave.workgroup == n && is(wave);
            });
        };
        const auto at_barrier = [](const Wave& wave) { return wave.state == WaveState::AtBarrier; };
        v.require(group.waves_live == count([](const Wave&) { return true; }) && (group.waves_live != 0) == group.used &&
                      group.waves_at_barrier == count(at_barrier),
                  "a work-group has other waves");
        v.require(group.lds_base % kLdsGranule == 0 && group.lds_bytes % kLdsGranule == 0 &&
                      group.lds_base + group.lds_bytes <= kLdsBytes,
                  "a work-group has LDS that is not there");
        if (!v.ok() || !group.used) continue;
        taken.groups |= uint64_t{1} << n;
        taken.barriers += group.has_barrier_slot;
        const auto granules = granule_mask<LdsMap>(group.lds_base / kLdsGranule, group.lds_bytes / kLdsGranule);
        v.require((taken.lds & granules) == 0, "two work-groups have the same LDS");
        taken.lds |= granules;
    }
}

void ComputeUnit::visit(StateVisitor& v) {
    write_registers();
    for (unsigned slot = 0; slot < kWaveSlots; ++slot) {
        v.begin("slot", slot);
        visit_wave(v, slot);
        v.end();
    }
    for (size_t n = 0; n < workgroups_.size(); ++n) {
        v.begin("workgroup", n);
        v("used", workgroups_[n].used);
        if (v.loads()) workgroups_[n] = {.used = workgroups_[n].used};
        if (workgroups_[n].used) workgroups_[n].visit(v);
        v.end();
    }
    v.sparse("lds", storage_->lds.data(), storage_->lds.size());
    v("round", round_);
    v("next_slot", next_slot_, kWaveSlots - 1);
    bool paced = paced_ != nullptr;
    v("paced", paced);
    if (v.loads()) paced_ = paced ? std::make_unique<Paced>() : nullptr;
    if (paced) v("pace", *paced_);
    if (!v.loads()) return;
    changed_ = ~uint64_t{0};
    take_loaded(v);
    v.require(live_ == 0 || paced == env_.clock.on(), "waves of another kind of time");
    if (!v.ok()) reset();
}

}  // namespace lyra::gcn
