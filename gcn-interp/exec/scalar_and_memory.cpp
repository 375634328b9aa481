// SPDX-License-Identifier: MIT
// Enters the handlers of all scalar and memory formats into the table.
#include "gcn-interp/exec/formats.h"

namespace lyra::gcn {

void register_scalar_and_memory(ExecTable& table) {
    register_sop1(table);
    register_sop2(table);
    register_sopk(table);
    register_sopc(table);
    register_sopp(table);
    register_smem(table);
    register_ds(table);
    register_flat(table);
    register_mubuf(table);
    register_mtbuf(table);
    register_mimg(table);
}

}  // namespace lyra::gcn
