// SPDX-License-Identifier: MIT
// Queue descriptors as amdkfd lays them out for gfx9. Independent of the model's own table of them.
#pragma once

#include <cstdint>

namespace lyra::kfd {

enum class QueueType : uint8_t { Pm4, Aql, Sdma };

/// What the driver keeps about a queue; names of struct queue_properties. @source Linux 6.12 kfd_priv.h
struct QueueProperties {
    QueueType type = QueueType::Pm4;
    uint64_t queue_address = 0;
    uint32_t queue_size = 0;             ///< bytes, power of two
    uint32_t queue_percent = 100;
    uint32_t priority = 7;               ///< 0..15
    uint64_t read_ptr = 0, write_ptr = 0;
    uint32_t doorbell_off = 0;           ///< dwords in the doorbell BAR
    uint64_t eop_address = 0;
    uint32_t eop_size = 0;
    uint64_t ctx_save_address = 0;
    uint32_t ctx_save_size = 0, ctl_stack_size = 0;
    uint64_t tba_addr = 0;
    uint32_t sdma_engine_id = 0, sdma_queue_id = 0;
    bool is_evicted = false, is_suspended = false, is_active = false, is_gws = false;

    /// @source Linux 6.12 kfd_priv.h QUEUE_IS_ACTIVE()
    bool should_run() const {
        return queue_size > 0 && queue_address != 0 && queue_percent > 0 && !is_evicted && !is_suspended;
    }
};

inline constexpr uint32_t kMqdDwords = 512;

/// Dwords of v9_mqd that tests look at. @source Linux 6.12 include/v9_structs.h
namespace v9_mqd {
enum : uint32_t {
    kComputePgmRsrc2 = 20,
    kStaticThreadMgmtSe0 = 23,
    kStaticThreadMgmtSe2 = 26,
    kStaticThreadMgmtSe4 = 39,
    kMqdBaseAddr = 128,
    kHqdActive = 130,
    kHqdVmid = 131,
    kPersistentState = 132,
    kPipePriority = 133,
    kQueuePriority = 134,
    kQuantum = 135,
    kPqBase = 136,
    kPqRptr = 138,
    kPqRptrReportAddr = 139,
    kPqWptrPollAddr = 141,
    kPqDoorbellControl = 143,
    kPqControl = 145,
    kIbControl = 149,
    kIqTimer = 150,
    kHqStatus0 = 160,
    kMqdControl = 162,
    kEopBaseAddr = 165,
    kEopControl = 167,
    kCtxSaveBaseAddr = 171,
    kCtxSaveControl = 173,
    kCntlStackOffset = 174,
    kCntlStackSize = 175,
    kWgStateOffset = 176,
    kCtxSaveSize = 177,
    kAqlControl = 181,
    kPqWptr = 182,
    kQueueDoorbellId0 = 240,
};
}  // namespace v9_mqd

/// @param mqd kMqdDwords dwords  @param address of it for VMID 0
void init_mqd(uint32_t* mqd, uint64_t address, const QueueProperties& q);
/// init_mqd() with the bits of a queue of the kernel.
void init_mqd_hiq(uint32_t* mqd, uint64_t address, const QueueProperties& q);
void update_mqd(uint32_t* mqd, const QueueProperties& q);
/// @param se_mask enabled CUs of each shader engine
void update_cu_mask(uint32_t* mqd, const uint32_t se_mask[4]);
void init_mqd_sdma(uint32_t* mqd, const QueueProperties& q);
void update_mqd_sdma(uint32_t* mqd, const QueueProperties& q);

}  // namespace lyra::kfd
