// SPDX-License-Identifier: MIT
// The one table of instruction handlers, filled on first use.
#include "gcn-interp/exec/exec.h"

namespace lyra::gcn {

ExecFn exec_function(Op op, Format format) {
    static const ExecTable table = [] {
        ExecTable t;
        register_vector_alu(t);
        register_scalar_and_memory(t);
        return t;
    }();
    return table.get(op, format);
}

}  // namespace lyra::gcn
