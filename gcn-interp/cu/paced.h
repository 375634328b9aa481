// SPDX-License-Identifier: MIT
// When each wave of a compute unit may go on, and what its units are busy with, in virtual time; step 6 of the data flow.
#pragma once

#include <array>
#include <cstdint>

#include "common/env.h"
#include "gcn-interp/cu/compute_unit.h"
#include "gcn-interp/exec/traffic.h"
#include "gcn-interp/isa/pace.h"

namespace lyra::gcn {

/// Instructions of one counter (vmcnt, lgkmcnt) that are not done: the times at which they are, in the order of issue.
template <unsigned kDepth>
class InFlight {
public:
    void issue(uint64_t done_clk) {
        last_ = done_clk > last_ ? done_clk : last_;
        done_[count_++ % kDepth] = last_;
    }
    /// When no more than `left` of them are to be done.
    uint64_t at_most(unsigned left) const { return left >= count_ || left >= kDepth ? 0 : done_[(count_ - 1 - left) % kDepth]; }

private:
    uint64_t count_ = 0, last_ = 0;
    std::array<uint64_t, kDepth> done_{};
};

struct WavePace {
    uint64_t ready_clk = 0;  ///< its next instruction is not before
    InFlight<64> vector;     ///< vmcnt has 6 bits
    InFlight<16> local;      ///< lgkmcnt has 4 bits
};

/// The two smallest of several times, and the first slot that has the smallest.
struct FirstTwo {
    uint64_t least = kNever, second = kNever;
    unsigned slot = 0;
};

struct ComputeUnit::Paced {
    std::array<WavePace, kWaveSlots> waves{};
    /// By SIMD: when each wave may go on, kNever for those that wait for something; see changed_. A turn changes one of them,
    /// so that those of the other SIMDs need not be looked through again.
    std::array<std::array<uint64_t, kWaveSlots / kSimdsPerCu>, kSimdsPerCu> next{};
    std::array<FirstTwo, kSimdsPerCu> first{};  ///< of next
    std::array<uint64_t, kSimdsPerCu> vector_free{}, scalar_free{};
    uint64_t memory_free = 0, lds_free = 0;  ///< one path of each per compute unit
    uint64_t now_clk = 0;  ///< how far it has come
    bool room = false;  ///< a wave has ended

    void begin(Wave& wave, uint64_t clk);
    uint64_t issue_at(const Env& env, const Wave& wave, Pace pace, const Inst& inst) const;
    void issued(Env& env, const Wave& wave, Pace pace, const Inst& inst, uint64_t clk, const Traffic& traffic);
};

}  // namespace lyra::gcn
