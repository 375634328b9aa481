// SPDX-License-Identifier: MIT
// What all compute units share besides memory: global wave sync (GWS) and the global data share (GDS); step 6 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/dispatch/gws.h"
#include "gcn-interp/cu/port.h"

namespace lyra {

/// GDS memory. GDS_VMID_BASE_SIZE, pairs of bytes, says which part of it a VMID has.
/// @source Linux 6.12 amdgpu gfx_v9_0.c gfx_v9_0_set_gds_init(), gfx_v9_0_ring_emit_gds_switch()
inline constexpr uint32_t kGdsBytes = 64 * 1024;

/// A VMID has the part of both that the registers give it.
class GlobalMemory {
public:
    explicit GlobalMemory(CpBus& bus) : bus_(bus) {}

    /// @param cu  of the wave  @param released  other waves, which need not wait any more
    gcn::GwsAnswer execute(const gcn::Wave& wave, unsigned cu, gcn::GwsOp op, uint32_t resource, uint32_t value,
                           Gws::Waiters& released);
    gcn::GdsWindow window(uint32_t vmid);

    Gws& gws() { return gws_; }
    const Gws& gws() const { return gws_; }
    void reset();
    void visit(StateVisitor& v, unsigned cus);

private:
    CpBus& bus_;
    Gws gws_;
    std::mutex gds_lock_;
    std::array<uint8_t, kGdsBytes> gds_{};
};

}  // namespace lyra
