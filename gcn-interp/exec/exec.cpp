// SPDX-License-Identifier: MIT
// The one table of instruction handlers, filled on first use.
#include "gcn-interp/exec/exec.h"

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

/// In place of every handler of code that is observed.
void execute_observed(ExecContext& ctx, const Inst& inst) {
    ctx.env->observer->execute(ctx, inst, exec_handler(inst.op, inst.format));
}

}  // namespace

ExecFn exec_handler(Op op, Format format, Backend backend) { return exec_table(backend).get(op, format); }

ExecFn exec_function(Op op, Format format, bool observed) {
    const ExecFn fn = exec_handler(op, format);
    return fn && observed ? &execute_observed : fn;
}

}  // namespace lyra::gcn
