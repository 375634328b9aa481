// SPDX-License-Identifier: MIT
// The registers that a driver in miniature needs, as byte offsets in BAR5 (gfx900 address map).
#pragma once

#include <cstdint>

#include "facts/registers.h"

namespace lyra::inproc {

namespace reg {
using namespace lyra::regs;  // dword numbers
inline constexpr uint32_t kDoorbellAperEn = 4 * NBIO::RCC_DOORBELL_APER_EN;
/// OFFSET 11:2 and SIZE 20:16, dwords
inline constexpr uint32_t kSdma0DoorbellRange = 4 * NBIO::BIF_SDMA0_DOORBELL_RANGE,
                          kSdma1DoorbellRange = 4 * NBIO::BIF_SDMA1_DOORBELL_RANGE,
                          kIhDoorbellRange = 4 * NBIO::BIF_IH_DOORBELL_RANGE;
inline constexpr uint32_t kIhRbCntl = 4 * OSSSYS::IH_RB_CNTL;  ///< ENABLE 0, SIZE 5:1, WPTR_WRITEBACK 8, ENABLE_INTR 17
inline constexpr uint32_t kIhRbBase = 4 * OSSSYS::IH_RB_BASE, kIhRbBaseHi = 4 * OSSSYS::IH_RB_BASE_HI;  ///< address >> 8, >> 40
inline constexpr uint32_t kIhRbRptr = 4 * OSSSYS::IH_RB_RPTR, kIhRbWptr = 4 * OSSSYS::IH_RB_WPTR;
inline constexpr uint32_t kIhRbWptrAddrHi = 4 * OSSSYS::IH_RB_WPTR_ADDR_HI, kIhRbWptrAddrLo = 4 * OSSSYS::IH_RB_WPTR_ADDR_LO;
inline constexpr uint32_t kIhDoorbellRptr = 4 * OSSSYS::IH_DOORBELL_RPTR;  ///< dword index 25:0, ENABLE 28
inline constexpr uint32_t kSdma0Cntl = 4 * SDMA0::CNTL, kSdma1Cntl = 4 * SDMA1::CNTL;  ///< TRAP_ENABLE 0, AUTO_CTXSW_ENABLE 18
inline constexpr uint32_t kSdma0F32Cntl = 4 * SDMA0::F32_CNTL, kSdma1F32Cntl = 4 * SDMA1::F32_CNTL;  ///< HALT 0
inline constexpr uint32_t kGrbmGfxCntl = 4 * GC::GRBM_GFX_CNTL;  ///< pipe 1:0, me 3:2, vmid 7:4, queue 10:8
inline constexpr uint32_t kMecCntl = 4 * GC::CP_MEC_CNTL;  ///< ME1_HALT 30, ME2_HALT 28
inline constexpr uint32_t kShMemBases = 4 * GC::SH_MEM_BASES;  ///< private 15:0, shared 31:16
inline constexpr uint32_t kShMemConfig = 4 * GC::SH_MEM_CONFIG;  ///< alignment 4:3, retry disable 12
inline constexpr uint32_t kMecDoorbellRangeLower = 4 * GC::CP_MEC_DOORBELL_RANGE_LOWER,
                          kMecDoorbellRangeUpper = 4 * GC::CP_MEC_DOORBELL_RANGE_UPPER;
inline constexpr uint32_t kPqStatus = 4 * GC::CP_PQ_STATUS;  ///< DOORBELL_ENABLE 1
inline constexpr uint32_t kMqdBaseAddr = 4 * GC::CP_MQD_BASE_ADDR;  ///< first of the 56 registers of a queue
inline constexpr uint32_t kHqdActive = 4 * GC::CP_HQD_ACTIVE, kHqdVmid = 4 * GC::CP_HQD_VMID,
                          kHqdPqDoorbellControl = 4 * GC::CP_HQD_PQ_DOORBELL_CONTROL,
                          kHqdDequeueRequest = 4 * GC::CP_HQD_DEQUEUE_REQUEST, kHqdError = 4 * GC::CP_HQD_ERROR;
inline constexpr uint32_t kHqdEopRptr = 4 * GC::CP_HQD_EOP_RPTR;  ///< INIT_FETCHER 31
inline constexpr uint32_t kRlcGpuClockLsb = 4 * GC::RLC_GPU_CLOCK_COUNT_LSB, kRlcGpuClockMsb = 4 * GC::RLC_GPU_CLOCK_COUNT_MSB,
                          kRlcCaptureGpuClock = 4 * GC::RLC_CAPTURE_GPU_CLOCK_COUNT;
inline constexpr uint32_t kRlcCpSchedulers = 4 * GC::RLC_CP_SCHEDULERS;  ///< the KIQ's queue 2:0, pipe 4:3, ME 6:5, 7: valid
inline constexpr uint32_t kSmuMessage = 4 * MP1::MP1_SMN_C2PMSG_66, kSmuArgument = 4 * MP1::MP1_SMN_C2PMSG_82,
                          kSmuResponse = 4 * MP1::MP1_SMN_C2PMSG_90;
inline constexpr uint32_t kMmhubFbLocationBase = 4 * kMmHub.MC_VM_FB_LOCATION_BASE;  ///< 23:0 << 24
inline constexpr uint32_t kHdpMemFlush = 4 * NBIO::REMAPPED_HDP_MEM_FLUSH;
}  // namespace reg

/// Byte offsets of a memory hub's registers.
struct HubRegisters {
    explicit constexpr HubRegisters(const lyra::regs::Hub& at)
        : context_cntl(4 * at.VM_CONTEXT_CNTL), page_table_base(4 * at.VM_CONTEXT_PAGE_TABLE_BASE_ADDR),
          page_table_start(4 * at.VM_CONTEXT_PAGE_TABLE_START_ADDR), page_table_end(4 * at.VM_CONTEXT_PAGE_TABLE_END_ADDR),
          invalidate_req(4 * at.VM_INVALIDATE_ENG_REQ), invalidate_ack(4 * at.VM_INVALIDATE_ENG_ACK),
          fault_status(4 * at.VM_L2_PROTECTION_FAULT_STATUS), fault_cntl(4 * at.VM_L2_PROTECTION_FAULT_CNTL) {}

    uint32_t context_cntl;  ///< stride 4
    uint32_t page_table_base;  ///< lo, hi; stride 8; so the next two
    uint32_t page_table_start;
    uint32_t page_table_end;
    uint32_t invalidate_req;  ///< stride 4
    uint32_t invalidate_ack;
    uint32_t fault_status;  ///< the fault address (page number) follows
    uint32_t fault_cntl;
};
inline constexpr HubRegisters kGfxhub{lyra::regs::kGfxHub}, kMmhub{lyra::regs::kMmHub};

}  // namespace lyra::inproc
