// SPDX-License-Identifier: MIT
// Turns of queues and pipes at launching work-groups; step 5 of the data flow.
#include "cp-firmware-model/dispatch/launch_turns.h"

#include <algorithm>

namespace lyra {

void LaunchTurns::begin(const LaunchQueues& queues, Env& env) {
    std::array<bool, std::tuple_size_v<decltype(pipes_)>> waits{};
    for (Pipe& pipe : pipes_) pipe.top = 0;
    for (const auto& q : queues) {
        q->no_room = false;
        if (!q->waits_for_room()) continue;
        waits[q->pipe()] = true;
        pipes_[q->pipe()].top = std::max(pipes_[q->pipe()].top, q->rank());
    }
    for (unsigned n = 0; n < pipes_.size(); ++n) {
        Pipe& pipe = pipes_[n];
        if (!waits[n]) pipe.credit = 0;
        const LaunchQueue* const holder = waits[n] ? queues.find(pipe.hold.queue) : nullptr;
        const uint64_t quantum = holder != nullptr ? holder->priority.quantum_ns : 0;
        pipe.over = quantum != 0 && env.now_ns() - pipe.hold.since_ns >= quantum;
    }
}

/// Who finds no room lets the others have what he cannot use.
LaunchQueue* LaunchTurns::next(LaunchQueues& queues) {
    std::array<LaunchQueue*, std::tuple_size_v<decltype(pipes_)>> best{};
    for (const auto& q : queues) {
        if (q->no_room || !q->waits_for_room()) continue;
        const Pipe& pipe = pipes_[q->pipe()];
        LaunchQueue*& first = best[q->pipe()];
        const auto place = [&](const LaunchQueue& of) { return pipe.hold.place(of.id, pipe.over); };
        if (first == nullptr || q->rank() > first->rank() || (q->rank() == first->rank() && place(*q) < place(*first)))
            first = q.get();
    }
    LaunchQueue* chosen = nullptr;
    int64_t most_owed = 0;
    for (unsigned n = 0; n < pipes_.size(); ++n) {
        Pipe& pipe = pipes_[n];
        pipe.best = best[n] == nullptr ? kQueueIds : best[n]->id;
        if (best[n] == nullptr) continue;
        pipe.weight = weights_.of_queue_level(best[n]->priority.pipe);
        const int64_t owed = pipe.credit + pipe.weight;
        if (chosen != nullptr && owed <= most_owed) continue;
        chosen = best[n];
        most_owed = owed;
    }
    return chosen;
}

void LaunchTurns::took(const LaunchQueues& queues, const LaunchQueue& q, Env& env) {
    Pipe& turn = pipes_[q.pipe()];
    for (Pipe& pipe : pipes_) {
        if (pipe.best == kQueueIds) continue;
        pipe.credit += pipe.weight;
        turn.credit -= pipe.weight;
    }
    const LaunchQueue* const holder = queues.find(turn.hold.queue);
    const bool stays = holder != nullptr && holder->waits_for_room() && holder->rank() >= q.rank();
    if (stays && !turn.over) return;
    turn.hold = {q.id, env.now_ns()};
    turn.over = false;
}

void LaunchTurns::Pipe::visit(StateVisitor& v) {
    v("hold", hold);
    v("over", over);
    v("top", top);
    v("credit", credit);
    if (v.loads()) best = kQueueIds;
}

void LaunchTurns::visit(StateVisitor& v) {
    v("weights", weights_);
    v("pipes", pipes_);
}

void QueuePriority::visit(StateVisitor& v) {
    v("pipe", pipe, 3);
    v("queue", queue, 15);
    v("quantum_ns", quantum_ns);
}

void PipeHold::visit(StateVisitor& v) {
    v("queue", queue, kQueueIds);
    v("since_ns", since_ns);
}

void PipeWeights::visit(StateVisitor& v) {
    v("first", first);
    v("second", second);
    v("third", third);
}

}  // namespace lyra
