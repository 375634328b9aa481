// SPDX-License-Identifier: MIT
// Test double of gcn::ComputeUnit: slots, LDS and VGPR room are kept, but waves only count down.
#include "cp-firmware-model/testing/fake_compute_unit.h"

#include <algorithm>
#include <utility>

#include "common/bits.h"

namespace lyra::gcn {

class CodeCache {};

struct ComputeUnit::Storage {
    struct Run {
        testing::WavePlan plan;
        uint64_t left = 0;
    };
    std::array<Run, kWaveSlots> run{};
    uint32_t lds_used = 0;

    void end_wave(ComputeUnit& cu, Wave& wave) {
        wave.state = WaveState::Ended;
        cu.services_.wave_ended(wave);
        wave.state = WaveState::Free;
        Workgroup& g = cu.workgroups_[wave.workgroup];
        if (--g.waves_live != 0) return;
        g.used = false;
        lds_used -= g.lds_bytes;
        cu.services_.workgroup_ended(g.dispatch);
    }
};

unsigned wave_count(const WorkgroupLaunch& launch) {
    const uint64_t items = uint64_t{launch.group_size[0]} * launch.group_size[1] * launch.group_size[2];
    return static_cast<unsigned>((items + kLanes - 1) / kLanes);
}

struct ComputeUnit::Paced {};

struct ComputeUnit::Prepared {
    KernelLaunch kernel;
    unsigned waves = 0;  ///< that have been started
};

namespace {

bool wave_exists(const WorkgroupLaunch& launch, unsigned wave) {
    for (uint32_t flat = wave * kLanes; flat < (wave + 1) * kLanes; ++flat) {
        const uint32_t x = flat % launch.group_size[0];
        const uint32_t y = flat / launch.group_size[0] % launch.group_size[1];
        const uint32_t z = flat / launch.group_size[0] / launch.group_size[1];
        if (x < launch.group_valid[0] && y < launch.group_valid[1] && z < launch.group_valid[2]) return true;
    }
    return false;
}

uint32_t vgprs(const WorkgroupLaunch& launch) { return (bits(launch.rsrc1, 0, 6) + 1) * 4; }

}  // namespace

ComputeUnit::ComputeUnit(Env& env, MemoryPort& memory, CuServices& services, unsigned index, Chip)
    : env_(env), memory_(memory), services_(services), index_(index), storage_(std::make_unique<Storage>()) {}
ComputeUnit::~ComputeUnit() = default;
std::shared_ptr<Translator> make_translator(Chip) { return nullptr; }
void ComputeUnit::set_translator(Translator*) {}

bool ComputeUnit::can_ever_fit(const WorkgroupLaunch& launch) {
    const unsigned waves = wave_count(launch);
    return waves <= kMaxWavesPerWorkgroup && launch.lds_bytes <= kLdsBytes &&
           vgprs(launch) * ((waves + kSimdsPerCu - 1) / kSimdsPerCu) <= kVgprsPerSimd;
}

bool ComputeUnit::fits(const WorkgroupLaunch& launch) const {
    return waves_live() + wave_count(launch) <= kWaveSlots && storage_->lds_used + launch.lds_bytes <= kLdsBytes;
}

void ComputeUnit::launch(const WorkgroupLaunch& launch) {
    testing::FakeCus& fakes = testing::fake_cus();
    fakes.launches.push_back({index_, launch});
    unsigned group = 0;
    while (workgroups_[group].used) ++group;
    Workgroup& g = workgroups_[group];
    g = {};
    g.used = true;
    g.dispatch = launch.dispatch;
    g.lds_bytes = launch.lds_bytes;
    storage_->lds_used += launch.lds_bytes;
    unsigned slot = 0;
    for (unsigned w = 0; w < wave_count(launch); ++w) {
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
        storage_->run[slot].plan = fakes.plan(launch);
        storage_->run[slot].left = storage_->run[slot].plan.instructions;
        ++g.waves_live;
    }
}

void ComputeUnit::prepare(const KernelLaunch& kernel) { prepared_ = std::make_unique<Prepared>(Prepared{kernel}); }

unsigned ComputeUnit::reserve(unsigned most) {
    WorkgroupLaunch launch;
    static_cast<KernelLaunch&>(launch) = prepared_->kernel;
    const unsigned waves = wave_count(launch), slots = kWaveSlots - waves_live();
    const uint32_t lds = kLdsBytes - storage_->lds_used;
    return std::min({most, slots / waves, launch.lds_bytes == 0 ? most : lds / launch.lds_bytes});
}

uint64_t ComputeUnit::start(const GroupLaunch& group, uint64_t) {
    WorkgroupLaunch launch;
    static_cast<KernelLaunch&>(launch) = prepared_->kernel;
    static_cast<GroupLaunch&>(launch) = group;
    const unsigned before = waves_live();
    this->launch(launch);
    prepared_->waves += waves_live() - before;
    return 0;
}

unsigned ComputeUnit::started() { return std::exchange(prepared_->waves, 0u); }

void ComputeUnit::finish() {}

uint64_t ComputeUnit::run_until(uint64_t limit_clk) {
    constexpr uint64_t kClkPerInstruction = 4;
    run((limit_clk - std::min(limit_clk, env_.clock.clk())) / kClkPerInstruction);
    return limit_clk;
}

uint64_t ComputeUnit::next_clk() { return runnable() ? env_.clock.clk() : kNever; }

uint64_t ComputeUnit::run(uint64_t budget) {
    constexpr uint64_t kTurn = 16;
    uint64_t used = 0;
    while (used < budget && runnable()) {
        for (unsigned i = 0; i < kWaveSlots && used < budget; ++i) {
            Wave& wave = waves_[next_slot_];
            next_slot_ = (next_slot_ + 1) % kWaveSlots;
            if (wave.state != WaveState::Running) continue;
            Storage::Run& run = storage_->run[wave.slot];
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
                storage_->end_wave(*this, wave);
            }
        }
    }
    return used;
}

bool ComputeUnit::waits_for_page() const { return false; }

bool ComputeUnit::runnable() const {
    if (testing::fake_cus().paused) return false;
    for (const Wave& wave : waves_) {
        if (wave.state == WaveState::Running) return true;
    }
    return false;
}

unsigned ComputeUnit::waves_live() const {
    unsigned n = 0;
    for (const Wave& wave : waves_) n += wave.state != WaveState::Free;
    return n;
}

unsigned ComputeUnit::waves_live(uint64_t dispatch) const {
    unsigned n = 0;
    for (const Wave& wave : waves_) n += wave.state != WaveState::Free && wave.dispatch == dispatch;
    return n;
}

void ComputeUnit::kill_dispatch(uint64_t dispatch) {
    for (Wave& wave : waves_) {
        if (wave.state != WaveState::Free && wave.dispatch == dispatch) storage_->end_wave(*this, wave);
    }
}

void ComputeUnit::kill_vmid(uint32_t) {}

void ComputeUnit::command(WaveCommand command, uint32_t data, const WaveMatch& match) {
    for (Wave& wave : waves_) {
        if (wave.state == WaveState::Free || !match(wave)) continue;
        if (command == WaveCommand::Kill) storage_->end_wave(*this, wave);
        if (command == WaveCommand::SetHalt) wave.state = data & 1 ? WaveState::Halted : WaveState::Running;
    }
}

/// Waves that only count down have no state to save: they go on until they end.
bool ComputeUnit::can_ever_fit(const WorkgroupRestore&) { return false; }
bool ComputeUnit::fits(const WorkgroupRestore&) const { return false; }
void ComputeUnit::restore(const WorkgroupRestore&) {}
void ComputeUnit::request_save(uint64_t) {}
void ComputeUnit::grant_save(unsigned, uint64_t, bool) {}
void ComputeUnit::gws_done(unsigned) {}
void ComputeUnit::gws_again(unsigned) {}

void ComputeUnit::reset() {
    for (Wave& wave : waves_) wave.state = WaveState::Free;
    for (Workgroup& g : workgroups_) g = {};
    storage_->lds_used = 0;
    next_slot_ = 0;
}

void ComputeUnit::visit(StateVisitor&) {}

void ComputeUnit::invalidate_code() { ++testing::fake_cus().invalidations; }

}  // namespace lyra::gcn
