// SPDX-License-Identifier: MIT
// The one table of instruction handlers, filled on first use.
#include "gcn-interp/exec/exec.h"

#include "gcn-interp/exec/executed.h"

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

/// In place of every handler while executed operations are recorded.
void execute_recorded(ExecContext& ctx, const Inst& inst) {
    exec_table().get(inst.op, inst.format)(ctx, inst);
    if (ctx.fault == Fault::None) note_executed(inst);
}

}  // namespace

ExecFn exec_function(Op op, Format format) {
    const ExecFn fn = exec_table().get(op, format);
    return fn && records_executed() ? &execute_recorded : fn;
}

}  // namespace lyra::gcn
