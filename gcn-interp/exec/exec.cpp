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

/// Of AccVGPRs: they are rows of the register file like others.
template <bool kObserved>
void execute_on_acc(ExecContext& ctx, const Inst& encoded) {
    Inst inst = encoded;
    for (uint16_t* const number : {&inst.dst, &inst.vdata, &inst.vdata2})
        if (*number != kNoOperand) *number = static_cast<uint16_t>(*number + ctx.wave.acc_first);
    exec_function(inst.op, inst.format, kObserved)(ctx, inst);
}

}  // namespace

ExecFn exec_handler(Op op, Format format, Backend backend) { return exec_table(backend).get(op, format); }

ExecFn exec_function(Op op, Format format, bool observed) {
    const ExecFn fn = exec_handler(op, format);
    return fn && observed ? &execute_observed : fn;
}

ExecFn exec_function(const Inst& inst, bool observed) {
    const ExecFn fn = exec_function(inst.op, inst.format, observed);
    return fn && inst.acc ? observed ? &execute_on_acc<true> : &execute_on_acc<false> : fn;
}

}  // namespace lyra::gcn
