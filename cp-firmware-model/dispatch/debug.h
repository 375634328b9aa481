// SPDX-License-Identifier: MIT
// What a debugger does to waves: launch modes, exceptions, watched addresses, SQ_CMD; step 5 of the data flow.
#pragma once

#include <bitset>
#include <cstdint>

#include "common/bits.h"
#include "common/snapshot.h"
#include "cp-firmware-model/dispatch/request.h"
#include "cp-firmware-model/queue/hqd.h"
#include "gcn-interp/cu/group.h"
#include "gcn-interp/exec/watch.h"

namespace lyra {

/// How waves of a debugged process start. @source libhsakmt hsakmttypes.h HSA_DBG_WAVE_LAUNCH_MODE
enum class LaunchMode : uint8_t { Normal = 0, Halt = 1, Kill = 2, SingleStep = 3 };

/// What a debugger has set for the waves of the chip. @source Linux 6.12 amdgpu_amdkfd_gfx_v9.c kgd_gfx_v9_set_wave_launch_*()
struct DebugControls {
    bool stall = false;               ///< SPI_GDBG_WAVE_CNTL.STALL_RA: no wave is launched
    uint32_t stalled_vmids = 0;       ///< STALL_VMID
    uint32_t exceptions = 0;          ///< SPI_GDBG_TRAP_MASK.EXCP_EN, for MODE.EXCP_EN of new waves
    bool replace_exceptions = false;  ///< REPLACE: instead of the kernel's own, not beside them
    uint32_t mode_vmids = 0;          ///< SPI_GDBG_WAVE_CNTL2.VMID_MASK: where launch_mode holds
    LaunchMode launch_mode = LaunchMode::Normal;
    gcn::Watchpoints watch;           ///< TCP_WATCH0..3
    void visit(StateVisitor& v);

    /// No wave of a VMID is launched.
    bool stalls(uint32_t vmid) const { return stall || bit(stalled_vmids, vmid); }
    /// How the waves of a grid start now.
    void apply(const DispatchRequest& request, gcn::WorkgroupLaunch& launch) const;
};

/// Which waves SQ_CMD is for. -1: any.
struct WaveSelection {
    int engine = -1, cu = -1, simd = -1, wave = -1;  ///< cu in its engine, wave in its SIMD
    int vmid = -1;
    std::bitset<kQueueIds> queues = std::bitset<kQueueIds>{}.set();  ///< by Hqd::id()
};

}  // namespace lyra
