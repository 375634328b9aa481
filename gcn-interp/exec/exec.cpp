// SPDX-License-Identifier: MIT
// The one table of instruction handlers, filled on first use.
#include "gcn-interp/exec/exec.h"

#include <atomic>

#include "gcn-interp/exec/executed.h"
#include "gcn-interp/exec/observe.h"

namespace lyra::gcn {

namespace {

ExecTable filled(Backend backend) {
    ExecTable table(backend);
    register_vector_alu(table);
    register_scalar_and_memory(table);
    return table;
}

const ExecTable& exec_table(Backend backend) {
    static const ExecTable tables[] = {filled(Backend::Portable), filled(Backend::Avx2), filled(Backend::Avx512)};
    return tables[static_cast<unsigned>(backend)];
}

std::atomic<ExecObserver*> the_observer{nullptr};

/// Replaces every handler while executed operations are recorded or observed.
template <Backend kBackend>
void execute_observed(ExecContext& ctx, const Inst& inst) {
    const ExecFn handler = exec_table(kBackend).get(inst.op, inst.format);
    if (ExecObserver* observer = exec_observer())
        observer->execute(ctx, inst, handler);
    else
        handler(ctx, inst);
    if (ctx.fault == Fault::None) note_executed(inst);
}
constexpr ExecFn kObserved[] = {&execute_observed<Backend::Portable>, &execute_observed<Backend::Avx2>,
                                &execute_observed<Backend::Avx512>};

}  // namespace

void set_exec_observer(ExecObserver* observer) { the_observer.store(observer); }
ExecObserver* exec_observer() { return the_observer.load(std::memory_order_relaxed); }

ExecFn exec_handler(Op op, Format format, Backend backend) { return exec_table(backend).get(op, format); }

ExecFn exec_function(Op op, Format format, Backend backend) {
    const ExecFn fn = exec_handler(op, format, backend);
    return fn && (records_executed() || exec_observer() != nullptr) ? kObserved[static_cast<unsigned>(backend)] : fn;
}

}  // namespace lyra::gcn
