// SPDX-License-Identifier: MIT
// Which of the queues of a pipe has it: the highest priority, and among equals each for its quantum; step 3 of the data flow.
#pragma once

#include <array>
#include <cstdint>

#include "common/snapshot.h"
#include "cp-firmware-model/queue/hqd.h"

namespace lyra {

/// CP_HQD_PIPE_PRIORITY, CP_HQD_QUEUE_PRIORITY and CP_HQD_QUANTUM of a queue.
struct QueuePriority {
    uint8_t pipe = 0;         ///< 0 low, 1 medium, 2 high: of its pipe among the others, while the queue has the pipe
    uint8_t queue = 0;        ///< 0..15, among the queues of its pipe; higher goes first
    uint64_t quantum_ns = 0;  ///< 0: it keeps the pipe as long as it has work
    void visit(StateVisitor& v);
};

/// QUANTUM: EN 0, SCALE 4 (1 = milliseconds), DURATION 13:8.
/// @source Linux 6.12 gc_9_0_sh_mask.h, cik_regs.h QUANTUM_SCALE_1MS; that scale 0 counts microseconds is our assumption
inline QueuePriority priority_of(const Hqd& hqd) {
    const uint32_t quantum = hqd.regs[kHqdQuantum];
    QueuePriority priority;
    priority.pipe = static_cast<uint8_t>(hqd.regs[kHqdPipePriority] & 3);
    priority.queue = static_cast<uint8_t>(hqd.regs[kHqdQueuePriority] & 15);
    const uint64_t duration = bits(quantum, 8, 6) == 0 ? 1 : bits(quantum, 8, 6);
    if (bit(quantum, 0)) priority.quantum_ns = duration * (bit(quantum, 4) ? 1'000'000 : 1'000);
    return priority;
}

/// The queue that has a pipe, and since when.
struct PipeHold {
    uint32_t queue = kQueueIds;  ///< Hqd::id()
    uint64_t since_ns = 0;
    void visit(StateVisitor& v);

    /// Place of a queue of the pipe in the order of turns: 0 for the holder, but last when its quantum is over.
    unsigned place(uint32_t id, bool over) const { return (id - queue - (over ? 1 : 0)) % kQueuesPerPipe; }
};

/// CP_ME1_PIPE_PRIORITY_CNTS: turns that a pipe gets, by level. The header has four fields of reset value 0x20, 0x10, 8, 8;
/// that they weigh pipes against each other, the first one most, is our reading of them.
struct PipeWeights {
    uint8_t first = 0x20, second = 0x10, third = 0x08;  ///< PRIORITY1_CNT, PRIORITY2A_CNT, PRIORITY3_CNT
    void visit(StateVisitor& v);

    static PipeWeights of(uint32_t counts) {
        const auto field = [=](unsigned at) { return static_cast<uint8_t>(bits(counts, at, 8) ? bits(counts, at, 8) : 1); };
        return {field(0), field(8), field(24)};
    }
    /// By CP_HQD_PIPE_PRIORITY: 0 low, 1 medium, 2 and 3 high.
    unsigned of_queue_level(unsigned level) const { return level == 0 ? third : level == 1 ? second : first; }
    /// By CP_MEn_PIPEn_PRIORITY: 0 and 1 first, 2 (the reset value) second, 3 third.
    unsigned of_pipe_level(unsigned level) const { return level < 2 ? first : level == 2 ? second : third; }
};

}  // namespace lyra
