// SPDX-License-Identifier: MIT
// When each wave of a compute unit may go on, and what its units are busy with, in virtual time; step 6 of the data flow.
#pragma once

#include <algorithm>
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

/// When a wave may go on, at equal times the higher priority before the lower, and then the first slot: clock << 9 | 7 -
/// priority << 6 | slot. kNever for one that waits for something.
class Turn {
public:
    static constexpr uint64_t at(uint64_t clk, unsigned priority, unsigned slot) {
        return std::min(clk, kNever >> kClkShift) << kClkShift | uint64_t{kRankMask - priority} << kSlotBits | slot;
    }
    static constexpr uint64_t clk(uint64_t turn) { return turn == kNever ? kNever : turn >> kClkShift; }
    static constexpr unsigned priority(uint64_t turn) {
        return static_cast<unsigned>(kRankMask - (turn >> kSlotBits & kRankMask));
    }
    static constexpr unsigned slot(uint64_t turn) { return static_cast<unsigned>(turn & kSlotMask); }

private:
    static constexpr unsigned kRankBits = 3, kSlotBits = 6, kClkShift = kRankBits + kSlotBits;
    static constexpr unsigned kRankMask = (1u << kRankBits) - 1;
    static constexpr uint64_t kSlotMask = (1u << kSlotBits) - 1;
    static_assert(kWaveSlots <= kSlotMask);
};

/// The turns of all waves, which change one at a time: a tree in which each node is the smaller one of its two children.
class Turns {
public:
    Turns() { nodes_.fill(kNever); }
    uint64_t of(unsigned slot) const { return nodes_[kLeaves + slot]; }
    void set(unsigned slot, uint64_t turn) {
        unsigned at = kLeaves + slot;
        nodes_[at] = turn;
        for (; at > 1; at /= 2) {
            turn = std::min(turn, nodes_[at ^ 1]);
            nodes_[at / 2] = turn;
        }
    }
    uint64_t least() const { return nodes_[1]; }
    /// The least of the others.
    uint64_t second() const {
        uint64_t out = kNever;
        for (unsigned at = kLeaves + Turn::slot(least()); at > 1; at /= 2) out = std::min(out, nodes_[at ^ 1]);
        return out;
    }

private:
    static constexpr unsigned kLeaves = 64;
    static_assert(kWaveSlots < kLeaves);  // kNever has the slot of a leaf that nobody has
    std::array<uint64_t, 2 * kLeaves> nodes_;  ///< from 1 on; the children of n are 2 n and 2 n + 1
};

/// The next instruction of a wave, as far as its time depends on it.
struct NextInst {
    uint64_t pc = 1;  ///< 1: not known
    uint64_t generation = 0, epoch = 0;  ///< of translations and of decoded code
    Pace pace = Pace::Scalar;
    uint16_t imm = 0;
};

struct ComputeUnit::Paced {
    std::array<WavePace, kWaveSlots> waves{};
    Turns turns;  ///< see changed_
    std::array<NextInst, kWaveSlots> next{};
    uint64_t raised = 0;  ///< by slot: waves that may go on and have a priority above 0
    std::array<uint64_t, kSimdsPerCu> vector_free{}, scalar_free{};
    uint64_t memory_free = 0, lds_free = 0;  ///< one path of each per compute unit
    uint64_t now_clk = 0;  ///< how far it has come
    bool room = false;  ///< a wave has ended

    void begin(Wave& wave, uint64_t clk);
    void visit(StateVisitor& v);
    uint64_t issue_at(const Wave& wave, Pace pace, unsigned imm) const;
    void issued(Env& env, const Wave& wave, Pace pace, const Inst& inst, uint64_t clk, const Traffic& traffic);
};

}  // namespace lyra::gcn
