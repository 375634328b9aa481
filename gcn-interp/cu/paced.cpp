// SPDX-License-Identifier: MIT
// The loop that steps the waves of a compute unit in virtual time; step 6 of the data flow.
#include "gcn-interp/cu/paced.h"

#include <algorithm>
#include <array>
#include <bit>

#include "gcn-interp/cu/plan.h"
#include "gcn-interp/exec/flow.h"

namespace lyra::gcn {
namespace {

/// SIMM16 of s_waitcnt. @source LLVM AMDGPU AMDGPUBaseInfo.h, gfx9
unsigned vmcnt(unsigned imm) { return (imm & 0xf) | (imm >> 14 & 3) << 4; }
unsigned lgkmcnt(unsigned imm) { return imm >> 8 & 0xf; }

}  // namespace

void ComputeUnit::Paced::begin(Wave& wave, uint64_t clk) {
    waves[wave.slot] = {};
    waves[wave.slot].ready_clk = std::max(clk, now_clk);
    next[wave.slot] = {};
    wave.seen = wave.state;
}

/// The first clock at which the wave is ready, what it waits for has come, and the unit that it needs is free.
uint64_t ComputeUnit::Paced::issue_at(const Wave& wave, Pace pace, unsigned imm) const {
    const WavePace& own = waves[wave.slot];
    const unsigned simd = wave.slot % kSimdsPerCu;
    switch (pace) {
        case Pace::Vector:
        case Pace::VectorQuarter:
        case Pace::VectorF64: return std::max(own.ready_clk, vector_free[simd]);
        case Pace::Wait:
            return std::max({own.ready_clk, own.vector.at_most(vmcnt(imm)), own.local.at_most(lgkmcnt(imm))});
    // The hardware waits for everything before it ends a wave. @source AMD Vega ISA document, S_ENDPGM
        case Pace::End: return std::max({own.ready_clk, own.vector.at_most(0), own.local.at_most(0)});
        case Pace::Lds: return std::max({own.ready_clk, lds_free, own.local.at_most(15)});
        case Pace::ScalarMemory: return std::max({own.ready_clk, scalar_free[simd], own.local.at_most(15)});
        case Pace::VectorMemory: return std::max({own.ready_clk, memory_free, own.vector.at_most(63)});
        case Pace::FlatMemory: return std::max({own.ready_clk, memory_free, own.vector.at_most(63), own.local.at_most(15)});
        default: return std::max(own.ready_clk, scalar_free[simd]);
    }
}

void ComputeUnit::Paced::issued(Env& env, const Wave& wave, Pace pace, const Inst& inst, uint64_t clk, const Traffic& traffic) {
    const Timing& timing = env.timing;
    WavePace& own = waves[wave.slot];
    const unsigned simd = wave.slot % kSimdsPerCu;
    own.ready_clk = clk + timing.issue_clk;
    const auto vector = [&](uint64_t busy_clk) {
        vector_free[simd] = clk + busy_clk;
        own.ready_clk = std::max(own.ready_clk, clk + busy_clk);
    };
    switch (pace) {
        case Pace::Vector: return vector(timing.valu_clk);
        case Pace::VectorQuarter: return vector(timing.valu_quarter_clk);
        case Pace::VectorF64: return vector(timing.valu_f64_clk);
        case Pace::Branch: own.ready_clk = clk + std::max(timing.branch_clk, timing.issue_clk); break;
        case Pace::Nop: own.ready_clk = clk + timing.issue_clk * ((inst.imm & 0xf) + 1u); return;
        case Pace::Wait:
        case Pace::End: return;
        case Pace::Lds:
            lds_free = clk + timing.lds_clk;
            own.local.issue(clk + timing.lds_latency_clk);
            return;
        case Pace::ScalarMemory: own.local.issue(clk + env.clock.to_clk(timing.scalar_latency_ns)); break;
        case Pace::VectorMemory:
        case Pace::FlatMemory: {
            const uint64_t bytes = traffic.vram_bytes + traffic.system_bytes;
            memory_free = clk + std::max(timing.issue_clk, bytes / timing.cu_bytes_per_clk);
            uint64_t done = memory_free;
            if (traffic.vram_bytes) {
                done = std::max(
                    done, clk + env.clock.to_clk(timing.vram_latency_ns) +
                              env.vram_traffic.send(clk, traffic.vram_bytes, timing.vram_speed(), timing.shader_clock_mhz));
            }
            if (traffic.system_bytes) {
                done = std::max(done, clk + env.clock.to_clk(timing.system_latency_ns) +
                                          env.system_traffic.send(clk, traffic.system_bytes, timing.system_mb_per_s,
                                                                  timing.shader_clock_mhz));
            }
            own.vector.issue(done);
            if (pace == Pace::FlatMemory) own.local.issue(bytes ? done : clk + timing.lds_latency_clk);
            return;
        }
        default: break;
    }
    scalar_free[simd] = clk + timing.issue_clk;
}

void ComputeUnit::look_at(unsigned slot) {
    Wave& wave = waves_[slot];
    paced_->raised &= ~(uint64_t{1} << slot);
    if (wave.state == WaveState::Running || wave.state == WaveState::Sleeping || wave.state == WaveState::AtPage) {
        paced_->turns.set(slot, Turn::at(ready_clk(wave), wave.priority(), slot));
        paced_->raised |= uint64_t{wave.priority() != 0} << slot;
    } else {
        wave.seen = wave.state;
        paced_->turns.set(slot, kNever);
    }
}

/// A SIMD serves the wave of the highest priority first: one of its waves that is above this one may go on at clk, or before.
bool ComputeUnit::outranked(const Wave& wave, uint64_t clk) const {
    constexpr uint64_t kSlotsOfSimd0 = 0x1111111111;
    static_assert(kSimdsPerCu == 4 && kWaveSlots == 40);
    if (paced_->raised == 0) return false;
    const unsigned priority = wave.priority();
    const unsigned simd = wave.slot % kSimdsPerCu;
    for (uint64_t left = paced_->raised & kSlotsOfSimd0 << simd; left != 0; left &= left - 1) {
        const uint64_t other = paced_->turns.of(static_cast<unsigned>(std::countr_zero(left)));
        if (Turn::priority(other) > priority && Turn::clk(other) <= clk) return true;
    }
    return false;
}

void ComputeUnit::look_at_changed() {
    uint64_t changed = changed_ & ((uint64_t{1} << kWaveSlots) - 1);
    changed_ = 0;
    for (; changed != 0; changed &= changed - 1) look_at(static_cast<unsigned>(std::countr_zero(changed)));
}

uint64_t ComputeUnit::next_clk() {
    if (live_ == 0) return kNever;
    look_at_changed();
    return Turn::clk(paced_->turns.least());
}

/// When the wave may go on. One that something else has set running since the last look goes on now.
uint64_t ComputeUnit::ready_clk(Wave& wave) {
    uint64_t& ready = paced_->waves[wave.slot].ready_clk;
    if (wave.seen != wave.state) {
        const uint64_t now = std::max(paced_->now_clk, env_.clock.clk());
        const bool waited = wave.seen == WaveState::Sleeping || wave.seen == WaveState::AtPage;
        ready = waited ? now : std::max(ready, now);
        wave.seen = wave.state;
    }
    return ready;
}

/// A turn that comes to nothing: the instruction at wave.pc is known, and is not issued before the limit, because of what other
/// waves do. Most turns are such.
[[gnu::always_inline]] inline bool ComputeUnit::waits(const Wave& wave, uint64_t limit_clk) {
    Paced& paced = *paced_;
    const NextInst& next = paced.next[wave.slot];
    if (next.pc != wave.pc || wave.stepped || next.epoch != storage_->code.epoch() || next.generation != memory_.generation())
        return false;
    const uint64_t clk = paced.issue_at(wave, next.pace, next.imm);
    if (clk < limit_clk && !outranked(wave, clk)) return false;
    paced.waves[wave.slot].ready_clk = clk;
    paced.turns.set(wave.slot, Turn::at(clk, wave.priority(), wave.slot));
    return true;
}

uint64_t ComputeUnit::run_until(uint64_t limit_clk) {
    if (live_ == 0) return limit_clk;
    write_registers();
    Paced& paced = *paced_;
    paced.now_clk = std::max(paced.now_clk, env_.clock.clk());
    paced.room = false;
    uint64_t done = 0;
    while (live_ != 0 && !paced.room) {
        look_at_changed();
        const uint64_t least = paced.turns.least(), earliest = Turn::clk(least), second = Turn::clk(paced.turns.second());
        if (earliest >= limit_clk) break;
        const uint64_t ahead = second == kNever ? kNever : std::max(second, earliest) + env_.timing.wave_turn_clk;
        const uint64_t limit = std::min(limit_clk, ahead);
        Wave& wave = waves_[Turn::slot(least)];
        wave.state = wave.seen = WaveState::Running;
        if (waits(wave, limit)) continue;
        done += turn(wave, limit);
        changed_ |= uint64_t{1} << wave.slot;
    }
    env_.stats.add(Stat::instructions, done);
    if (paced.room) return paced.now_clk;
    paced.now_clk = limit_clk;
    return limit_clk;
}

/// Step one wave until it has to wait or has come to a time. @return instructions executed
uint64_t ComputeUnit::turn(Wave& wave, uint64_t limit_clk) {
    Paced& paced = *paced_;
    uint64_t& ready = paced.waves[wave.slot].ready_clk;
    TrafficCounter traffic(env_, storage_->pages, wave.vmid);
    ExecContext ctx{wave, &env_, &memory_, &services_, storage_->lds.data()};
    ctx.pages = &storage_->pages;
    ctx.traffic = &traffic;
    ctx.watch = watch_;
    uint64_t done = 0, page_va = 1;
    CodePage* page = nullptr;
    while (ready < limit_clk) {
        step_trap(wave);
        const uint64_t pc = wave.pc;
        if ((pc & ~(kPageBytes - 1)) != page_va) {
            page = code_page(wave, pc);
            page_va = page ? pc & ~(kPageBytes - 1) : 1;
        }
        const CodeEntry* entry = page ? page->at(memory_, pc) : nullptr;
        if (!entry || !entry->fn) {
            ++done;
            paced.now_clk = std::max(paced.now_clk, ready);
            env_.clock.set_clk(ready);
            ready += env_.timing.issue_clk;
            if (entry ? cannot_execute(wave, entry->inst, pc) : fetch_failed(wave, pc)) continue;
            if (wave.state == WaveState::AtPage) ready += env_.clock.to_clk(env_.timing.poll_ns);
            wave.seen = wave.state;
            break;
        }
        const Inst& inst = entry->inst;
        const Pace pace = entry->pace;
        const uint64_t clk = paced.issue_at(wave, pace, inst.imm);
        if (clk >= limit_clk || outranked(wave, clk)) {
            ready = clk;
            break;
        }
        ++done;
        ++wave.instructions;
        wave.stepped = ModeBits::DebugEn::get(wave.mode) && !wave.priv();
        wave.pc = pc + inst.size_bytes;
        env_.clock.set_clk(clk);
        paced.now_clk = std::max(paced.now_clk, clk);
        const unsigned sleep = inst.imm & 0x7f;
        const bool skip = flow::skipped(wave, inst);
        if (!skip) entry->fn(ctx, inst);
        paced.issued(env_, wave, skip ? Pace::Scalar : pace, inst, clk, traffic.take());
        if (!ctx.yield && ctx.fault == Fault::None) continue;
        page_va = 1;  // it may look at other code
        if (!after(ctx, pc)) {
            if (wave.state == WaveState::Sleeping)
                ready = clk + std::max<uint64_t>(sleep * env_.timing.sleep_clk, env_.timing.issue_clk);
            if (wave.state == WaveState::AtPage) ready = clk + env_.clock.to_clk(env_.timing.poll_ns);
            wave.seen = wave.state;
            paced.room |= wave.state == WaveState::Free;
            break;
        }
    }
    keep_next(wave, page, page_va);
    return done;
}

/// What waits() asks for. @param page  where the wave is, if page_va is its address
void ComputeUnit::keep_next(const Wave& wave, const CodePage* page, uint64_t page_va) {
    NextInst& next = paced_->next[wave.slot];
    next.pc = 1;
    if ((wave.pc & ~(kPageBytes - 1)) != page_va) return;
    const CodeEntry* const entry = page->decoded(wave.pc);
    if (entry != nullptr && entry->fn != nullptr)
        next = {wave.pc, memory_.generation(), storage_->code.epoch(), entry->pace, static_cast<uint16_t>(entry->inst.imm)};
}

}  // namespace lyra::gcn
