// SPDX-License-Identifier: MIT
// The command processor put together: registers, micro engines, scheduler, dispatcher; steps 2 to 4 and 8.
#include "cp-firmware-model/command_processor.h"

#include "cp-firmware-model/command_processor_impl.h"

namespace lyra {

CommandProcessor::CommandProcessor(Env& env, CpBus& bus, const GpuShape& shape, SdmaEngine& sdma0, SdmaEngine& sdma1,
                                   const gcn::MakeCu& make_cu)
    : impl_(std::make_unique<Impl>(env, bus, shape, sdma0, sdma1, make_cu)) {}

CommandProcessor::~CommandProcessor() = default;

bool CommandProcessor::read_register(uint32_t dw, const GrbmSelect& select, uint32_t& value) {
    return impl_->registers.read(dw, select, value);
}

bool CommandProcessor::write_register(uint32_t dw, const GrbmSelect& select, uint32_t value) {
    return impl_->registers.write(dw, select, value);
}

void CommandProcessor::set_partition(const Partition& partition) {
    impl_->dispatcher.set_xccs(partition.follows() ? 1 : partition.xccs);
    impl_->mec.set_partition(partition);
    impl_->scheduler.set_partition(partition);
}

void CommandProcessor::bind_debug(uint32_t vmid, const ProcessBinding& binding) { impl_->registers.bind_debug(vmid, binding); }

bool CommandProcessor::doorbell(uint32_t byte_offset, uint64_t value) { return impl_->mec.doorbell(byte_offset, value); }
bool CommandProcessor::kernel_doorbell(uint32_t byte_offset) const { return impl_->mec.kernel_doorbell(byte_offset); }

/// Waves first: what they finish is then completed, and what they ring is then fetched, in the same call.
RunState CommandProcessor::run(uint64_t instruction_budget) {
    RunState state = impl_->dispatcher.run(instruction_budget);
    state = busier(state, impl_->mec.step());
    state = busier(state, impl_->scheduler.run());
    impl_->dispatcher.note_activity();
    return state;
}

void CommandProcessor::reset() {
    impl_->dispatcher.reset();
    impl_->mec.reset();
    impl_->scheduler.reset();
    impl_->registers.reset();
    impl_->scheduler_free_ns = 0;
    impl_->scheduler_look_ns = kNever;
}

Dispatcher& CommandProcessor::dispatcher() { return impl_->dispatcher; }

const Hqd& CommandProcessor::slot(unsigned me, unsigned pipe, unsigned queue) const { return impl_->mec.slot(me, pipe, queue); }

void CommandProcessor::reset_queue(const Hqd& hqd, unsigned xcc) {
    impl_->registers.reset_queue(impl_->mec.slot(hqd.me, hqd.pipe, hqd.queue), xcc);
}

unsigned CommandProcessor::waves_live(const Hqd& hqd, unsigned xcc) const {
    return impl_->dispatcher.waves_live(hqd.id(), xcc);
}

void CommandProcessor::trace_queues(Tracer& tracer) { impl_->mec.trace_queues(tracer); }

void CommandProcessor::visit(StateVisitor& v) {
    v("registers", impl_->registers);
    v("dispatcher", impl_->dispatcher);
    v("mec", impl_->mec);
    v("scheduler", impl_->scheduler);
    v("scheduler_free_ns", impl_->scheduler_free_ns);
    v("scheduler_look_ns", impl_->scheduler_look_ns);
}

}  // namespace lyra
