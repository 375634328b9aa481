// SPDX-License-Identifier: MIT
// Virtual time: packet processors, scheduler and engines act when their time has come, compute units run in quanta between.
#include <algorithm>

#include "cp-firmware-model/command_processor_impl.h"

namespace lyra {

/// Everything but the waves, as far as its time has come.
void CommandProcessor::Impl::step() {
    VirtualClock& clock = env.clock;
    mec.step();
    clock.collect();  // of work that no pipe is busy with
    for (SdmaEngine* engine : sdma) engine->run();
    if (clock.ns() < scheduler_free_ns) return;
    const RunState state = scheduler.run();
    constexpr uint64_t kShortestTurnNs = 20;
    const uint64_t cost = std::max(clock.collect(), kShortestTurnNs);
    scheduler_look_ns = kNever;
    if (state == RunState::Busy) scheduler_look_ns = scheduler_free_ns = clock.ns() + cost;
    if (state == RunState::Polling) scheduler_look_ns = clock.ns() + env.timing.scheduler_poll_ns;
}

uint64_t CommandProcessor::Impl::next_step_ns() const {
    return std::min({mec.next_turn_ns(), scheduler_look_ns, sdma[0]->next_run_ns(), sdma[1]->next_run_ns()});
}

uint64_t CommandProcessor::run_until(uint64_t target_ns) {
    VirtualClock& clock = impl_->env.clock;
    const Timing& timing = impl_->env.timing;
    Dispatcher& dispatcher = impl_->dispatcher;
    while (true) {
        impl_->step();
        dispatcher.note_activity();
        const uint64_t now = clock.ns(), step = impl_->next_step_ns();
        if (step <= now) continue;
        const uint64_t waves = clock.to_ns(dispatcher.next_event_clk());
        if (now >= target_ns) {
            const uint64_t next = std::min(step, waves);
            return next == kNever ? kNever : std::max(next, now + timing.host_interval_ns);
        }
        if (waves > now) clock.set_ns(std::min({target_ns, step, waves}));
        if (waves > clock.ns()) continue;
        const uint64_t end = std::min({target_ns, clock.ns() + timing.quantum_ns, std::max(step, clock.ns() + 1)});
        if (end > clock.ns()) dispatcher.run_quantum(clock.to_clk(end));
    }
}

void CommandProcessor::wake() {
    impl_->mec.wake();
    for (SdmaEngine* engine : impl_->sdma) engine->wake();
}

}  // namespace lyra
