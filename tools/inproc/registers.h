// SPDX-License-Identifier: MIT
// The registers that a driver in miniature needs, as byte offsets in BAR5 (gfx900 address map).
#pragma once

#include <cstdint>

namespace lyra::inproc {

/// @source Linux 6.12 asic_reg/gc/gc_9_0_offset.h, mmhub_1_0_offset.h, nbio; IP bases of the discovery table
namespace reg {
inline constexpr uint32_t kDoorbellAperEn = 0x3780;         ///< RCC_DOORBELL_APER_EN
/// BIF_SDMA0_DOORBELL_RANGE and its neighbours: OFFSET 11:2 and SIZE 20:16, dwords
inline constexpr uint32_t kSdma0DoorbellRange = 0x3bc0, kSdma1DoorbellRange = 0x3bc4, kIhDoorbellRange = 0x3bc8;
inline constexpr uint32_t kIhRbCntl = 0x4480;  ///< IH_RB_CNTL: ENABLE 0, SIZE 5:1, WPTR_WRITEBACK 8, ENABLE_INTR 17
inline constexpr uint32_t kIhRbBase = 0x4484, kIhRbBaseHi = 0x4488;  ///< bus address >> 8, >> 40
inline constexpr uint32_t kIhRbRptr = 0x448c, kIhRbWptr = 0x4490;
inline constexpr uint32_t kIhRbWptrAddrHi = 0x4494, kIhRbWptrAddrLo = 0x4498;
inline constexpr uint32_t kIhDoorbellRptr = 0x449c;  ///< IH_DOORBELL_RPTR: dword index 25:0, ENABLE 28
inline constexpr uint32_t kSdma0Cntl = 0x49f0, kSdma1Cntl = 0x61f0;  ///< SDMA0_CNTL: TRAP_ENABLE 0, AUTO_CTXSW_ENABLE 18
inline constexpr uint32_t kSdma0F32Cntl = 0x4a28, kSdma1F32Cntl = 0x6228;  ///< SDMA0_F32_CNTL: HALT 0
inline constexpr uint32_t kGrbmGfxCntl = 0x8088;  ///< GRBM_GFX_CNTL: pipe 1:0, me 3:2, vmid 7:4, queue 10:8
inline constexpr uint32_t kMecCntl = 0x8234;  ///< CP_MEC_CNTL: ME1_HALT 30, ME2_HALT 28
inline constexpr uint32_t kShMemBases = 0x8c28;  ///< SH_MEM_BASES: private 15:0, shared 31:16
inline constexpr uint32_t kShMemConfig = 0x8c34;  ///< SH_MEM_CONFIG: alignment 4:3, retry disable 12
inline constexpr uint32_t kMecDoorbellRangeLower = 0xc170, kMecDoorbellRangeUpper = 0xc174;
inline constexpr uint32_t kPqStatus = 0xc2e0;  ///< CP_PQ_STATUS: DOORBELL_ENABLE 1
inline constexpr uint32_t kMqdBaseAddr = 0xc914;  ///< CP_MQD_BASE_ADDR, first of the 56 registers of a queue
inline constexpr uint32_t kHqdActive = 0xc91c;  ///< CP_HQD_ACTIVE
inline constexpr uint32_t kHqdVmid = 0xc920;  ///< CP_HQD_VMID
inline constexpr uint32_t kHqdPqDoorbellControl = 0xc950;  ///< CP_HQD_PQ_DOORBELL_CONTROL
inline constexpr uint32_t kHqdDequeueRequest = 0xc974;  ///< CP_HQD_DEQUEUE_REQUEST
inline constexpr uint32_t kHqdEopRptr = 0xc9b4;  ///< CP_HQD_EOP_RPTR: INIT_FETCHER 31
inline constexpr uint32_t kHqdError = 0xc9e0;  ///< CP_HQD_ERROR
inline constexpr uint32_t kRlcGpuClockLsb = 0x3b090, kRlcGpuClockMsb = 0x3b094, kRlcCaptureGpuClock = 0x3b098;
inline constexpr uint32_t kRlcCpSchedulers = 0x3b2a8;  ///< RLC_CP_SCHEDULERS: the KIQ's queue 2:0, pipe 4:3, ME 6:5, 7: valid
inline constexpr uint32_t kSmuMessage = 0x58a08, kSmuArgument = 0x58a48, kSmuResponse = 0x58a68;  ///< MP1_SMN_C2PMSG_66, 82, 90
inline constexpr uint32_t kMmhubFbLocationBase = 0x6a0b0;  ///< MC_VM_FB_LOCATION_BASE: 23:0 << 24
inline constexpr uint32_t kHdpMemFlush = 0x7f000;  ///< where KFD maps REMAP_HDP_MEM_FLUSH_CNTL for processes
}  // namespace reg

/// One of the two memory hubs: same registers, different place.
struct HubRegisters {
    uint32_t context_cntl;  ///< VM_CONTEXT0_CNTL, stride 4
    uint32_t page_table_base;  ///< VM_CONTEXT0_PAGE_TABLE_BASE_ADDR lo, hi; stride 8; so the next two
    uint32_t page_table_start;
    uint32_t page_table_end;
    uint32_t invalidate_req;  ///< VM_INVALIDATE_ENG0_REQ, stride 4
    uint32_t invalidate_ack;
    uint32_t fault_status;  ///< VM_L2_PROTECTION_FAULT_STATUS; the fault address (page number) follows
    uint32_t fault_cntl;
};
inline constexpr HubRegisters kGfxhub{0xa200, 0xa3ac, 0xa42c, 0xa4ac, 0xa28c, 0xa2d4, 0xa12c, 0xa11c};
inline constexpr HubRegisters kMmhub{0x69b00, 0x69cac, 0x69d2c, 0x69dac, 0x69b8c, 0x69bd4, 0x69a2c, 0x69a1c};

}  // namespace lyra::inproc
