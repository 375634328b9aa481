// SPDX-License-Identifier: MIT
// Which of the queues of a pipe has it: the highest priority, and among equals each for its quantum; step 3 of the data flow.
#pragma once

#include <algorithm>
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

/// QUANTUM_SCALE 1: milliseconds.
/// @source Linux 6.12 cik_regs.h QUANTUM_SCALE_1MS; that scale 0 counts microseconds is our assumption
inline QueuePriority priority_of(const Hqd& hqd) {
    namespace quantum = field::CP_HQD_QUANTUM;
    const uint32_t value = hqd.regs[hqd_reg::CP_HQD_QUANTUM];
    QueuePriority priority;
    priority.pipe =
        static_cast<uint8_t>(field::CP_HQD_PIPE_PRIORITY::PIPE_PRIORITY::get(hqd.regs[hqd_reg::CP_HQD_PIPE_PRIORITY]));
    priority.queue =
        static_cast<uint8_t>(field::CP_HQD_QUEUE_PRIORITY::PRIORITY_LEVEL::get(hqd.regs[hqd_reg::CP_HQD_QUEUE_PRIORITY]));
    const uint64_t duration = std::max(quantum::QUANTUM_DURATION::get(value), 1u);
    if (quantum::QUANTUM_EN::get(value))
        priority.quantum_ns = duration * (quantum::QUANTUM_SCALE::get(value) ? 1'000'000 : 1'000);
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
        namespace cnts = field::CP_ME1_PIPE_PRIORITY_CNTS;
        const auto turns = [](uint32_t count) { return static_cast<uint8_t>(std::max(count, 1u)); };
        return {turns(cnts::PRIORITY1_CNT::get(counts)), turns(cnts::PRIORITY2A_CNT::get(counts)),
                turns(cnts::PRIORITY3_CNT::get(counts))};
    }
    /// By CP_HQD_PIPE_PRIORITY: 0 low, 1 medium, 2 and 3 high.
    unsigned of_queue_level(unsigned level) const { return level == 0 ? third : level == 1 ? second : first; }
    /// By CP_MEn_PIPEn_PRIORITY: 0 and 1 first, 2 (the reset value) second, 3 third.
    unsigned of_pipe_level(unsigned level) const { return level < 2 ? first : level == 2 ? second : third; }
};

}  // namespace lyra
