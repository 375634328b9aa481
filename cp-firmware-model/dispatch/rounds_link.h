// SPDX-License-Identifier: MIT
// What a compute unit has in a round in place of the dispatcher and its memory; step 5 of the data flow.
#pragma once

#include <utility>
#include <vector>

#include "cp-firmware-model/dispatch/rounds.h"

namespace lyra {

/// Services and memory of one compute unit. The memory's generation stays what it was when the round began: whatever happens to
/// translations meanwhile, the compute unit sees it in the next one.
class Dispatcher::Rounds::Link final : public gcn::CuServices, public MemoryPort {
    template <class F>
    auto locked(F f) {
        const auto hold = rounds_.hold(cu_);
        return f();
    }

public:
    Link(Rounds& rounds, unsigned cu)
        : rounds_(rounds), d_(rounds.d_), port_(rounds.d_.bus_.wave_memory(rounds.d_.shape_.xcc_of_cu(cu))), cu_(cu) {
        share_generation(*this, port_);
    }

    void wave_interrupt(const gcn::Wave& wave, uint32_t data) override {
        locked([&] { d_.wave_interrupt(wave, data); });
    }
    void wave_error(const gcn::Wave& wave, unsigned error) override {
        locked([&] { d_.wave_error(wave, error); });
    }
    /// Ends come often and nobody waits for them: they are counted, and told before the next launch here.
    void wave_ended(const gcn::Wave& wave) override {
        room = true;
        if (!counts_ends_) return locked([&] { d_.wave_ended(wave); });
        if (wave.scratch_slot < 0 && wave.save == gcn::SaveStep::None)
            ++counts_of(wave.dispatch).waves;
        else
            ends_.push_back({wave.dispatch, wave.scratch_slot, wave.save});
    }
    void workgroup_ended(uint64_t dispatch) override {
        if (!counts_ends_) return locked([&] { d_.workgroup_ended(dispatch); });
        ++counts_of(dispatch).groups;
    }
    void wave_save_ready(const gcn::Wave& wave) override {
        locked([&] { d_.wave_save_ready(wave); });
    }
    void workgroup_saved(uint64_t dispatch) override {
        if (!counts_ends_) return locked([&] { d_.workgroup_saved(dispatch); });
        ++counts_of(dispatch).saved_groups;
    }
    /// Of so many waves that were counted as launched. Some were none, others have ended.
    void launched(uint64_t dispatch, uint64_t waves, const gcn::CuPort::Started& started) {
        const uint64_t gone = waves - started.waves + started.ended_waves;
        if (gone == 0 && started.ended_groups == 0) return;
        if (!counts_ends_) return locked([&] { d_.ended(dispatch, gone, started.ended_groups); });
        Counts& counts = counts_of(dispatch);
        counts.waves += gone;
        counts.groups += started.ended_groups;
    }
    bool has_news() const { return claimed != 0 || !ends_.empty() || counts_.dispatch != 0; }
    /// Under the lock, for this compute unit. A grid is forgotten with its last group, so the waves are first.
    void tell_ends() {
        for (const Ended& end : ends_) {
            wave_.dispatch = end.dispatch;
            wave_.scratch_slot = end.scratch_slot;
            wave_.save = end.save;
            d_.wave_ended(wave_);
        }
        if (counts_.dispatch != 0) other_counts_.push_back(std::exchange(counts_, {}));
        for (const Counts& ended : other_counts_) {
            for (uint64_t n = 0; n < ended.saved_groups; ++n) d_.workgroup_saved(ended.dispatch);
            d_.ended(ended.dispatch, ended.waves, ended.groups);
        }
        ends_.clear();
        other_counts_.clear();
    }
    gcn::GwsAnswer gws(const gcn::Wave& wave, gcn::GwsOp op, uint32_t resource, uint32_t value) override {
        return locked([&] { return d_.gws(wave, op, resource, value); });
    }
    gcn::GdsWindow gds(uint32_t vmid) override {
        return locked([&] { return d_.gds(vmid); });
    }
    void gws_left(const gcn::Wave& wave) override {
        locked([&] { d_.gws_left(wave); });
    }
    uint64_t shader_clock() override {
        return locked([&] { return d_.shader_clock(); });
    }
    uint64_t reference_clock() override {
        return locked([&] { return d_.reference_clock(); });
    }

    uint8_t* page(uint32_t vmid, uint64_t va, Access access) override {
        return locked([&] { return port_.page(vmid, va, access); });
    }
    HostRange range(uint32_t vmid, uint64_t va, Access access) override {
        return locked([&] { return port_.range(vmid, va, access); });
    }
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) override {
        return locked([&] { return port_.read(vmid, va, data, size); });
    }
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) override {
        return locked([&] { return port_.write(vmid, va, data, size); });
    }
    Fault check(uint32_t vmid, uint64_t va, Access access) override {
        return locked([&] { return port_.check(vmid, va, access); });
    }
    void touch(uint8_t* host) override { port_.touch(host); }
    void begin_round(bool parallel) {
        if (parallel) keep_generation(*this, port_);
        parallel_ = parallel;
        counts_ends_ = !d_.env_.tracer.on();  // in a trace they stand where they were
        d_.cus_[cu_]->set_counts_later(true);
        room = true;
        prepared = 0;
        had_turn = false;
    }
    void end_round() {
        if (parallel_) share_generation(*this, port_);
        parallel_ = counts_ends_ = false;
        d_.cus_[cu_]->set_counts_later(false);
    }
    /// For groups of the grid.
    void prepare(const Grid& grid) {
        launch = grid.launch;
        d_.place_launch(launch, cu_);
        d_.debug_.apply(grid.request, launch);
        d_.cus_[cu_]->prepare(launch);
        prepared = grid.id;
        waves_per_group = grid.waves_per_group;
    }

    bool room = true;  ///< a wave has ended since no group could be placed here
    uint64_t prepared = 0;  ///< dispatch whose kernel the compute unit has prepared
    gcn::WorkgroupLaunch launch;  ///< its next group
    unsigned waves_per_group = 1;
    uint64_t group_cost = 1024;  ///< instructions that work-groups have taken when they were launched, on average
    GridWalk walk;  ///< begins with those that have been claimed
    uint64_t claimed = 0;  ///< groups of the shared grid that have not been counted here
    unsigned part = 0;  ///< of the shared grid
    uint64_t far = 0;  ///< groups of the part: with fewer it is not far ahead
    bool had_turn = false;  ///< in this round
    uint64_t ahead = 0;  ///< instructions that it had before its next turn
    uint64_t rest = 0;  ///< of its share, for which the budget of the round was too small: what it gets in its next turn

private:
    Rounds& rounds_;
    Dispatcher& d_;
    MemoryPort& port_;
    unsigned cu_;
    bool parallel_ = false;  ///< in a round with helpers
    bool counts_ends_ = false;  ///< in a round
    struct Counts {
        uint64_t dispatch = 0;
        uint64_t waves = 0, groups = 0, saved_groups = 0;
    };
    Counts& counts_of(uint64_t dispatch) {
        if (counts_.dispatch != dispatch) {
            if (counts_.dispatch != 0) other_counts_.push_back(counts_);
            counts_ = {dispatch};
        }
        return counts_;
    }
    /// Here, and not the last of the others: elements of a small vector share their line with those of other compute units.
    Counts counts_;
    std::vector<Counts> other_counts_;
    struct Ended {
        uint64_t dispatch;
        int32_t scratch_slot;
        gcn::SaveStep save;
    };
    std::vector<Ended> ends_;  ///< waves of which more is to be told
    gcn::Wave wave_;  ///< what the dispatcher wants to know of one that has ended
};

}  // namespace lyra
