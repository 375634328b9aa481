// SPDX-License-Identifier: MIT
// What a debugger does to waves: launch modes, exceptions, watched addresses, SQ_CMD; step 5 of the data flow.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>

#include "common/bits.h"
#include "common/snapshot.h"
#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/dispatch/request.h"
#include "cp-firmware-model/queue/hqd.h"
#include "gcn-interp/cu/group.h"
#include "gcn-interp/exec/watch.h"

namespace lyra {

/// How waves of a debugged process start. @source libhsakmt hsakmttypes.h HSA_DBG_WAVE_LAUNCH_MODE
enum class LaunchMode : uint8_t { Normal = 0, Halt = 1, Kill = 2, SingleStep = 3 };

/// What a debugger has set for the waves of the chip. @source Linux 6.12 amdgpu_amdkfd_gfx_v9.c kgd_gfx_v9_set_wave_launch_*()
struct DebugControls {
    bool stall = false;          ///< SPI_GDBG_WAVE_CNTL.STALL_RA: no wave is launched
    uint32_t stalled_vmids = 0;  ///< STALL_VMID
    /// Of a VMID; some chips have one set of registers for all.
    struct OfVmid {
        uint32_t exceptions = 0;          ///< EXCP_EN, for MODE.EXCP_EN of new waves
        bool replace_exceptions = false;  ///< instead of the kernel's own, not beside them
        LaunchMode launch_mode = LaunchMode::Normal;
        void visit(StateVisitor& v);
    };
    std::array<OfVmid, kVmids> of_vmid{};
    gcn::Watchpoints watch;           ///< TCP_WATCH0..3
    void visit(StateVisitor& v);

    /// No wave of a VMID is launched.
    bool stalls(uint32_t vmid) const { return stall || bit(stalled_vmids, vmid); }
    /// How the waves of a grid start now.
    void apply(const DispatchRequest& request, gcn::WorkgroupLaunch& launch) const;
};

/// SPI_GDBG_PER_VMID_CNTL, in the place of SPI_GDBG_TRAP_MASK. TRAP_EN (bit 3) is the driver's word for itself: whether waves
/// have a trap handler is for TBA to say. @source Linux 6.12 gc_9_4_2_sh_mask.h
struct PerVmidDebug {
    using StallVmid = Bits<0, 1>;
    using LaunchMode = Bits<1, 2>;
    using ExcpEn = Bits<4, 9>;
    using ExcpReplace = Bits<13, 1>;
};

/// Which waves SQ_CMD is for. -1: any.
struct WaveSelection {
    int engine = -1, cu = -1, simd = -1, wave = -1;  ///< cu in its engine, wave in its SIMD
    int vmid = -1;
    std::bitset<kQueueIds> queues = std::bitset<kQueueIds>{}.set();  ///< by Hqd::id()
};

}  // namespace lyra
