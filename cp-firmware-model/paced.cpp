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

uint64_t CommandProcessor::run_until(std::span<CommandProcessor* const> all, uint64_t target_ns) {
    VirtualClock& clock = all[0]->impl_->env.clock;
    const Timing& timing = all[0]->impl_->env.timing;
    while (true) {
        for (CommandProcessor* cp : all) {
            cp->impl_->step();
            cp->impl_->dispatcher.note_activity();
        }
        const uint64_t now = clock.ns();
        uint64_t step = kNever, wave_clk = kNever;
        for (CommandProcessor* cp : all) step = std::min(step, cp->impl_->next_step_ns());
        if (step <= now) continue;
        for (CommandProcessor* cp : all) wave_clk = std::min(wave_clk, cp->impl_->dispatcher.next_event_clk());
        const uint64_t waves = clock.to_ns(wave_clk);
        if (now >= target_ns) {
            const uint64_t next = std::min(step, waves);
            return next == kNever ? kNever : std::max(next, now + timing.host_interval_ns);
        }
        if (waves > now) clock.set_ns(std::min({target_ns, step, waves}));
        if (waves > clock.ns()) continue;
        const uint64_t end = std::min({target_ns, clock.ns() + timing.quantum_ns, std::max(step, clock.ns() + 1)});
        if (end <= clock.ns()) continue;
        const uint64_t from_clk = clock.clk(), end_clk = clock.to_clk(end);
        for (CommandProcessor* cp : all) {
            clock.set_clk(from_clk);
            cp->impl_->dispatcher.run_quantum(end_clk);
        }
    }
}

void CommandProcessor::wake() {
    impl_->mec.wake();
    for (SdmaEngine* engine : impl_->sdma) engine->wake();
}

}  // namespace lyra
