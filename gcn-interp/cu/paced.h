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
    void visit(StateVisitor& v) {
        v("count", count_);
        v("last", last_);
        v("done", done_);
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
    void visit(StateVisitor& v);
};

/// The two smallest of several turns, and the first slot that has the smallest.
struct FirstTwo {
    uint64_t least = kNever, second = kNever;
    unsigned slot = 0;
};

/// When a wave may go on, and at equal times the higher priority before the lower: clock << 3 | 7 - priority. kNever for one
/// that waits for something.
class Turn {
public:
    static constexpr uint64_t at(uint64_t clk, unsigned priority) { return clk << kRankBits | (kRankMask - priority); }
    static constexpr uint64_t clk(uint64_t turn) { return turn == kNever ? kNever : turn >> kRankBits; }
    static constexpr unsigned priority(uint64_t turn) { return static_cast<unsigned>(kRankMask - (turn & kRankMask)); }

private:
    static constexpr unsigned kRankBits = 3;
    static constexpr uint64_t kRankMask = (1u << kRankBits) - 1;
};

struct ComputeUnit::Paced {
    std::array<WavePace, kWaveSlots> waves{};
    /// By SIMD: the Turn of each; see changed_. One turn changes one of them, so that those of the other SIMDs need not be
    /// looked through again.
    std::array<std::array<uint64_t, kWaveSlots / kSimdsPerCu>, kSimdsPerCu> next{};
    std::array<FirstTwo, kSimdsPerCu> first{};  ///< of next
    uint64_t raised = 0;  ///< by slot: waves that may go on and have a priority above 0
    std::array<uint64_t, kSimdsPerCu> vector_free{}, scalar_free{};
    uint64_t memory_free = 0, lds_free = 0;  ///< one path of each per compute unit
    uint64_t now_clk = 0;  ///< how far it has come
    bool room = false;  ///< a wave has ended

    void begin(Wave& wave, uint64_t clk);
    void visit(StateVisitor& v);
    uint64_t issue_at(const Env& env, const Wave& wave, Pace pace, const Inst& inst) const;
    void issued(Env& env, const Wave& wave, Pace pace, const Inst& inst, uint64_t clk, const Traffic& traffic);
};

}  // namespace lyra::gcn
