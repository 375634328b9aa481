// SPDX-License-Identifier: MIT
// Fills in queue descriptors. @source Linux 6.12 kfd_mqd_manager_v9.c, kfd_mqd_manager.c, gc_9_0_sh_mask.h
#include "kfdtest-ports/shim/mqd.h"

#include <algorithm>
#include <bit>

#include "common/bits.h"

namespace lyra::kfd {

namespace {

using namespace v9_mqd;

constexpr uint32_t kQueueSizeMask = 0x3f, kRptrBlockSize = 5u << 8, kUnordDispatch = 1u << 28, kPrivState = 1u << 30,
                   kKmdQueue = 1u << 31;
constexpr uint32_t kPreload = 1 | 0x53 << 8, kQswitchMode = 1u << 30;
constexpr uint32_t kTrapPresent = 1u << 6;
constexpr uint32_t kMaxEop = 0xa;

uint32_t order_base_2(uint32_t value) { return value > 1 ? static_cast<uint32_t>(std::bit_width(value - 1)) : 0; }

void put64(uint32_t* mqd, uint32_t dword, uint64_t value) {
    mqd[dword] = lo32(value);
    mqd[dword + 1] = hi32(value);
}

/// LOW up to 6, MEDIUM up to 10, HIGH above. @source Linux 6.12 kfd_mqd_manager.c pipe_priority_map
uint32_t pipe_priority(uint32_t priority) { return priority >= 11 ? 2 : priority >= 7 ? 1 : 0; }

}  // namespace

void update_mqd(uint32_t* mqd, const QueueProperties& q) {
    mqd[kPqControl] &= ~kQueueSizeMask;
    mqd[kPqControl] |= order_base_2(q.queue_size / 4) - 1;
    put64(mqd, kPqBase, q.queue_address >> 8);
    put64(mqd, kPqRptrReportAddr, q.read_ptr);
    put64(mqd, kPqWptrPollAddr, q.write_ptr);
    mqd[kPqDoorbellControl] = q.doorbell_off << 2;
    mqd[kIbControl] = 3u << 20 | 1u << 23;
    mqd[kEopControl] = q.eop_size ? std::min(kMaxEop, order_base_2(q.eop_size / 8)) : 0;
    put64(mqd, kEopBaseAddr, q.eop_address >> 8);
    mqd[kIqTimer] = 0;
    mqd[kHqdVmid] = 0;  // the scheduler chooses
    if (q.type == QueueType::Aql) {
        mqd[kPqControl] |= 1u << 27 | 2u << 25 | 1u << 14 | 1u << 16;  // no rptr update, slot-based wptr, full, clamp
        mqd[kPqDoorbellControl] |= 1u << 1;
    }
    if (q.ctx_save_address) mqd[kCtxSaveControl] = 0;
    mqd[kPipePriority] = pipe_priority(q.priority);
    mqd[kQueuePriority] = q.priority;
}

void init_mqd(uint32_t* mqd, uint64_t address, const QueueProperties& q) {
    std::fill_n(mqd, kMqdDwords, 0u);
    mqd[0] = 0xc0310800;
    mqd[11] = 1;  // compute_pipelinestat_enable
    const uint32_t all[4] = {~0u, ~0u, ~0u, ~0u};
    update_cu_mask(mqd, all);
    for (uint32_t se = 0; se < 4; ++se) mqd[kStaticThreadMgmtSe4 + se] = ~0u;
    mqd[kPersistentState] = kPreload;
    mqd[kPqControl] = kRptrBlockSize | kUnordDispatch;
    mqd[kMqdControl] = 1u << 8;
    put64(mqd, kMqdBaseAddr, address);
    mqd[kQuantum] = 1 | 1 << 4 | 1 << 8;  // 1 ms
    mqd[kHqStatus0] = 1u << 14;
    if (q.type == QueueType::Aql) mqd[kAqlControl] = 1;
    if (q.tba_addr) mqd[kComputePgmRsrc2] |= kTrapPresent;
    if (q.ctx_save_address) {
        mqd[kPersistentState] |= kQswitchMode;
        put64(mqd, kCtxSaveBaseAddr, q.ctx_save_address);
        mqd[kCtxSaveSize] = q.ctx_save_size;
        mqd[kCntlStackSize] = mqd[kCntlStackOffset] = mqd[kWgStateOffset] = q.ctl_stack_size;
    }
    update_mqd(mqd, q);
}

void init_mqd_hiq(uint32_t* mqd, uint64_t address, const QueueProperties& q) {
    init_mqd(mqd, address, q);
    mqd[kPqControl] |= kPrivState | kKmdQueue;
}

void update_cu_mask(uint32_t* mqd, const uint32_t se_mask[4]) {
    mqd[kStaticThreadMgmtSe0] = se_mask[0];
    mqd[kStaticThreadMgmtSe0 + 1] = se_mask[1];
    mqd[kStaticThreadMgmtSe2] = se_mask[2];
    mqd[kStaticThreadMgmtSe2 + 1] = se_mask[3];
}

void update_mqd_sdma(uint32_t* mqd, const QueueProperties& q) {
    enum : uint32_t {
        kRbCntl = 0,
        kRbBase = 1,
        kRptrAddrHi = 8,
        kRptrAddrLo = 9,
        kDoorbellOffset = 22,
        kDummyReg = 27,
        kEngineId = 126
    };
    mqd[kRbCntl] = order_base_2(q.queue_size / 4) << 1 | 1u << 12 | 6u << 16;  // size, rptr write-back, its timer
    put64(mqd, kRbBase, q.queue_address >> 8);
    mqd[kRptrAddrLo] = lo32(q.read_ptr);
    mqd[kRptrAddrHi] = hi32(q.read_ptr);
    mqd[kDoorbellOffset] = q.doorbell_off << 2;
    mqd[kEngineId] = q.sdma_engine_id;
    mqd[kEngineId + 1] = q.sdma_queue_id;
    mqd[kDummyReg] = 0xf;
}

void init_mqd_sdma(uint32_t* mqd, const QueueProperties& q) {
    std::fill_n(mqd, kMqdDwords, 0u);
    update_mqd_sdma(mqd, q);
}

}  // namespace lyra::kfd
