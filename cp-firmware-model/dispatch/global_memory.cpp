// SPDX-License-Identifier: MIT
// Which part of GWS and GDS a wave reaches; step 6 of the data flow.
#include "cp-firmware-model/dispatch/global_memory.h"

#include <algorithm>

#include "facts/registers.h"

namespace lyra {

gcn::GwsAnswer GlobalMemory::execute(const gcn::Wave& wave, unsigned cu, gcn::GwsOp op, uint32_t resource, uint32_t value,
                                     Gws::Waiters& released) {
    const GwsRange range = GwsRange::of(bus_.read_register(regs::GC::GDS_GWS_VMID + wave.vmid % kVmids));
    if (resource >= range.size) return gcn::GwsAnswer::Refused;
    const bool done = gws_.execute(op, range.base + resource, value, {cu, wave.slot}, released);
    return done ? gcn::GwsAnswer::Done : gcn::GwsAnswer::Wait;
}

gcn::GdsWindow GlobalMemory::window(uint32_t vmid) {
    const uint32_t n = vmid % kVmids;
    const uint32_t base = std::min(bus_.read_register(regs::GC::GDS_VMID_BASE_SIZE + 2 * n), kGdsBytes);
    const uint32_t size = std::min(bus_.read_register(regs::GC::GDS_VMID_BASE_SIZE + 2 * n + 1), kGdsBytes - base);
    return {gds_.data() + base, size, bus_.read_register(regs::GC::GDS_OA_VMID + n) != 0, std::unique_lock(gds_lock_)};
}

void GlobalMemory::reset() {
    gws_.reset();
    gds_.fill(0);
}

void GlobalMemory::visit(StateVisitor& v, unsigned cus) {
    v.begin("gws");
    gws_.visit(v, cus);
    v.end();
    v.sparse("gds", gds_.data(), gds_.size());
}

}  // namespace lyra
