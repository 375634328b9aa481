// SPDX-License-Identifier: MIT
// The slow corner of lane memory: why an atomic was refused; step 6 of the data flow.
#include "gcn-interp/exec/lane_memory.h"

#include <fmt/format.h>

namespace lyra::gcn::lane_memory {

Fault refuse_atomic(ExecContext& ctx, uint32_t vmid, uint64_t va, unsigned bytes) {
    uint8_t data[8] = {};
    if (!ctx.memory->page(vmid, va, Access::Read)) {
        // Unmapped, or registers. A read tells; it also raises the fault interrupt.
        const Fault fault = ctx.memory->read(vmid, va, data, bytes);
        if (fault != Fault::None) return fault;
        report(*ctx.env, Fault::NotPlainMemory, fmt::format("atomic at {:#x}", va));
        return Fault::NotPlainMemory;
    }
    // Plain memory that may be read, so the write permission is missing: let the port say so.
    if (const Fault fault = ctx.memory->read(vmid, va, data, bytes); fault != Fault::None) return fault;
    const Fault fault = ctx.memory->write(vmid, va, data, bytes);
    return fault == Fault::None ? Fault::PagePermission : fault;
}

}  // namespace lyra::gcn::lane_memory
