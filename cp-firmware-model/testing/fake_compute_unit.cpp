// SPDX-License-Identifier: MIT
// Test double of a compute unit: slots, LDS and VGPR room are kept, but waves only count down.
#include "cp-firmware-model/testing/fake_compute_unit.h"

#include <algorithm>
#include <utility>

#include "common/bits.h"

namespace lyra::testing {

namespace {

using namespace gcn;

bool wave_exists(const WorkgroupLaunch& launch, unsigned wave) {
    for (uint32_t flat = wave * kLanes; flat < (wave + 1) * kLanes; ++flat) {
        const uint32_t x = flat % launch.group_size[0];
        const uint32_t y = flat / launch.group_size[0] % launch.group_size[1];
        const uint32_t z = flat / launch.group_size[0] / launch.group_size[1];
        if (x < launch.group_valid[0] && y < launch.group_valid[1] && z < launch.group_valid[2]) return true;
    }
    return false;
}

/// Waves of a group of full size.
unsigned waves_of(const KernelLaunch& launch) {
    const uint64_t items = uint64_t{launch.group_size[0]} * launch.group_size[1] * launch.group_size[2];
    return static_cast<unsigned>((items + kLanes - 1) / kLanes);
}

class FakeUnit final : public CuPort {
public:
    FakeUnit(FakeCus& all, Env& env, CuServices& services, unsigned index)
        : all_(all), env_(env), services_(services), index_(index) {}

    bool fits(const WorkgroupLaunch& launch) const override {
        return waves_live() + waves_of(launch) <= kWaveSlots && lds_used_ + launch.lds_bytes <= kLdsBytes;
    }
    void launch(const WorkgroupLaunch& launch) override;

    void prepare(const KernelLaunch& kernel) override {
        prepared_ = kernel;
        started_ = 0;
    }
    unsigned reserve(unsigned most) override {
        const unsigned waves = waves_of(prepared_), slots = kWaveSlots - waves_live();
        const uint32_t lds = kLdsBytes - lds_used_;
        return std::min({most, slots / waves, prepared_.lds_bytes == 0 ? most : lds / prepared_.lds_bytes});
    }
    uint64_t start(const GroupLaunch& group, uint64_t) override {
        WorkgroupLaunch whole;
        static_cast<KernelLaunch&>(whole) = prepared_;
        static_cast<GroupLaunch&>(whole) = group;
        const unsigned before = waves_live();
        launch(whole);
        started_ += waves_live() - before;
        return 0;
    }
    Started started() override { return {.waves = std::exchange(started_, 0u)}; }
    void finish() override {}

    uint64_t run(uint64_t budget) override;
    uint64_t run_until(uint64_t limit_clk) override {
        constexpr uint64_t kClkPerInstruction = 4;
        run((limit_clk - std::min(limit_clk, env_.clock.clk())) / kClkPerInstruction);
        return limit_clk;
    }
    uint64_t next_clk() override { return runnable() ? env_.clock.clk() : kNever; }
    bool waits_for_page() const override { return false; }
    bool runnable() const override {
        return !all_.paused &&
               std::any_of(waves_.begin(), waves_.end(), [](const Wave& wave) { return wave.state == WaveState::Running; });
    }
    unsigned waves_live() const override {
        return static_cast<unsigned>(
            std::count_if(waves_.begin(), waves_.end(), [](const Wave& wave) { return wave.state != WaveState::Free; }));
    }

    void kill_dispatch(uint64_t dispatch) override {
        for (Wave& wave : waves_) {
            if (wave.state != WaveState::Free && wave.dispatch == dispatch) end_wave(wave);
        }
    }
    void command(WaveCommand command, uint32_t data, const WaveMatch& match) override {
        for (Wave& wave : waves_) {
            if (wave.state == WaveState::Free || !match(wave)) continue;
            if (command == WaveCommand::Kill) end_wave(wave);
            if (command == WaveCommand::SetHalt) wave.state = data & 1 ? WaveState::Halted : WaveState::Running;
        }
    }
    void set_watch(const Watchpoints*) override {}

    // Waves that only count down have no state to save: they go on until they end.
    bool fits(const WorkgroupRestore&) const override { return false; }
    void restore(const WorkgroupRestore&) override {}
    void request_save(uint64_t) override {}
    void grant_save(unsigned, uint64_t, bool) override {}
    void gws_done(unsigned) override {}
    void gws_again(unsigned) override {}
    void visit(StateVisitor&) override {}

    void reset() override {
        for (Wave& wave : waves_) wave.state = WaveState::Free;
        for (Workgroup& g : workgroups_) g = {};
        lds_used_ = 0;
        next_slot_ = 0;
    }
    void invalidate_code() override { ++all_.invalidations; }
    const Wave& wave(unsigned slot) const override { return waves_[slot]; }
    const Workgroup& workgroup(unsigned number) const override { return workgroups_[number]; }

private:
    struct Run {
        WavePlan plan;
        uint64_t left = 0;
    };
    void end_wave(Wave& wave);

    FakeCus& all_;
    Env& env_;
    CuServices& services_;
    unsigned index_;
    std::array<Wave, kWaveSlots> waves_;
    std::array<Workgroup, kMaxWorkgroupsPerCu> workgroups_;
    std::array<Run, kWaveSlots> run_;
    uint32_t lds_used_ = 0;
    unsigned next_slot_ = 0;
    KernelLaunch prepared_;
    unsigned started_ = 0;  ///< waves, of the prepared kernel
};

void FakeUnit::end_wave(Wave& wave) {
    wave.state = WaveState::Ended;
    services_.wave_ended(wave);
    wave.state = WaveState::Free;
    Workgroup& g = workgroups_[wave.workgroup];
    if (--g.waves_live != 0) return;
    g.used = false;
    lds_used_ -= g.lds_bytes;
    services_.workgroup_ended(g.dispatch);
}

void FakeUnit::launch(const WorkgroupLaunch& launch) {
    all_.launches.push_back({index_, launch});
    unsigned group = 0;
    while (workgroups_[group].used) ++group;
    Workgroup& g = workgroups_[group];
    g = {};
    g.used = true;
    g.dispatch = launch.dispatch;
    g.lds_bytes = launch.lds_bytes;
    lds_used_ += launch.lds_bytes;
    unsigned slot = 0;
    for (unsigned w = 0; w < waves_of(launch); ++w) {
        if (!wave_exists(launch, w)) continue;
        while (waves_[slot].state != WaveState::Free) ++slot;
        Wave& wave = waves_[slot];
        wave = {};
        wave.state = launch.halted ? WaveState::Halted : WaveState::Running;
        wave.slot = static_cast<uint8_t>(slot);
        wave.workgroup = static_cast<uint8_t>(group);
        wave.dispatch = launch.dispatch;
        wave.vmid = launch.vmid;
        wave.sgpr[0] = launch.user_sgprs[0];
        wave.scratch_slot = launch.scratch_slot[w];
        run_[slot].plan = all_.plan(launch);
        run_[slot].left = run_[slot].plan.instructions;
        ++g.waves_live;
    }
}

uint64_t FakeUnit::run(uint64_t budget) {
    constexpr uint64_t kTurn = 16;
    uint64_t used = 0;
    while (used < budget && runnable()) {
        for (unsigned i = 0; i < kWaveSlots && used < budget; ++i) {
            Wave& wave = waves_[next_slot_];
            next_slot_ = (next_slot_ + 1) % kWaveSlots;
            if (wave.state != WaveState::Running) continue;
            Run& run = run_[wave.slot];
            if (run.plan.interrupts) services_.wave_interrupt(wave, wave.sgpr[0]);
            run.plan.interrupts = false;
            const uint64_t n = std::min({run.plan.forever ? kTurn : run.left, kTurn, budget - used});
            used += n;
            run.left -= run.plan.forever ? 0 : n;
            if (run.plan.forever || run.left != 0) continue;
            if (run.plan.halts) {
                wave.state = WaveState::Halted;
                services_.wave_error(wave, 2);
            } else {
                end_wave(wave);
            }
        }
    }
    return used;
}

}  // namespace

gcn::MakeCu FakeCus::maker() {
    return [this](Env& env, MemoryPort&, CuServices& services, unsigned index) {
        return std::make_unique<FakeUnit>(*this, env, services, index);
    };
}

}  // namespace lyra::testing
