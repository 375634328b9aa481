// SPDX-License-Identifier: MIT
// The one table of instruction handlers, filled on first use.
#include "gcn-interp/exec/exec.h"

#include <atomic>

#include "gcn-interp/exec/executed.h"
#include "gcn-interp/exec/observe.h"

namespace lyra::gcn {

namespace {

const ExecTable& exec_table() {
    static const ExecTable table = [] {
        ExecTable t;
        register_vector_alu(t);
        register_scalar_and_memory(t);
        return t;
    }();
    return table;
}

std::atomic<ExecObserver*> the_observer{nullptr};

/// In place of every handler while executed operations are recorded, or somebody looks.
void execute_observed(ExecContext& ctx, const Inst& inst) {
    const ExecFn handler = exec_table().get(inst.op, inst.format);
    if (ExecObserver* observer = exec_observer()) observer->execute(ctx, inst, handler);
    else handler(ctx, inst);
    if (ctx.fault == Fault::None) note_executed(inst);
}

}  // namespace

void set_exec_observer(ExecObserver* observer) { the_observer.store(observer); }
ExecObserver* exec_observer() { return the_observer.load(std::memory_order_relaxed); }

ExecFn exec_function(Op op, Format format) {
    const ExecFn fn = exec_table().get(op, format);
    return fn && (records_executed() || exec_observer() != nullptr) ? &execute_observed : fn;
}

}  // namespace lyra::gcn
