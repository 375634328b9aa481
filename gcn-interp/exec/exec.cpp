// SPDX-License-Identifier: MIT
// The one table of instruction handlers, filled on first use.
#include "gcn-interp/exec/exec.h"

#include "gcn-interp/exec/executed.h"

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

/// In place of every handler while executed operations are recorded.
template <Backend kBackend>
void execute_recorded(ExecContext& ctx, const Inst& inst) {
    exec_table(kBackend).get(inst.op, inst.format)(ctx, inst);
    if (ctx.fault == Fault::None) note_executed(inst);
}
constexpr ExecFn kRecorded[] = {&execute_recorded<Backend::Portable>, &execute_recorded<Backend::Avx2>, &execute_recorded<Backend::Avx512>};

}  // namespace

ExecFn exec_function(Op op, Format format, Backend backend) {
    const ExecFn fn = exec_table(backend).get(op, format);
    return fn && records_executed() ? kRecorded[static_cast<unsigned>(backend)] : fn;
}

}  // namespace lyra::gcn
