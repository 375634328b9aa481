// SPDX-License-Identifier: MIT
// The structures that a program shares with the command processor: AQL packets, queue and signal records.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lyra::inproc {

/// AQL packet header. @source HSA runtime specification, hsa.h
namespace aql {
enum Type : uint16_t { kVendor = 0, kInvalid = 1, kDispatch = 2, kBarrierAnd = 3, kAgentDispatch = 4, kBarrierOr = 5 };
inline constexpr uint16_t kBarrierBit = 1u << 8;
inline constexpr uint16_t kAcquireSystem = 2u << 9, kReleaseSystem = 2u << 11;
inline constexpr uint16_t kFences = kAcquireSystem | kReleaseSystem;
}  // namespace aql

struct AqlDispatch {
    uint16_t header = aql::kDispatch | aql::kBarrierBit | aql::kFences;
    uint16_t setup = 3;                       ///< number of dimensions
    uint16_t workgroup[3] = {1, 1, 1};        ///< work-items
    uint16_t reserved0 = 0;
    uint32_t grid[3] = {1, 1, 1};             ///< work-items
    uint32_t private_bytes = 0;               ///< scratch of one work-item
    uint32_t group_bytes = 0;                 ///< LDS of one work-group
    uint64_t kernel_object = 0;               ///< address of the kernel descriptor
    uint64_t kernarg = 0;
    uint64_t reserved2 = 0;
    uint64_t completion_signal = 0;
};
static_assert(sizeof(AqlDispatch) == 64);

struct AqlBarrier {
    uint16_t header = aql::kBarrierAnd | aql::kFences;
    uint16_t reserved0 = 0;
    uint32_t reserved1 = 0;
    uint64_t dependency[5] = {};              ///< signals, 0: none
    uint64_t reserved2 = 0;
    uint64_t completion_signal = 0;
};
static_assert(sizeof(AqlBarrier) == 64);

/// amd_signal_t. @source ROCr amd_hsa_signal.h
struct AmdSignal {
    int64_t kind = 1;
    int64_t value = 0;
    uint64_t event_mailbox = 0;
    uint32_t event_id = 0;
    uint32_t reserved1 = 0;
    uint64_t start_ts = 0;
    uint64_t end_ts = 0;
    uint64_t queue_ptr = 0;
    uint32_t reserved3[2] = {};
};
static_assert(sizeof(AmdSignal) == 64);

/// amd_queue_t, the part that the command processor and kernels read. @source ROCr amd_hsa_queue.h
struct AmdQueue {
    uint32_t type = 0, features = 1;
    uint64_t base_address = 0;
    uint64_t doorbell_signal = 0;
    uint32_t size = 0;                        ///< packets
    uint32_t reserved1 = 0;
    uint64_t id = 0;
    uint32_t caps = 0;
    uint32_t reserved2[3] = {};
    uint64_t write_dispatch_id = 0;
    uint32_t group_segment_aperture_base_hi = 0;
    uint32_t private_segment_aperture_base_hi = 0;
    uint32_t max_cu_id = 0, max_wave_id = 0;
    uint64_t max_legacy_doorbell_dispatch_id_plus_1 = 0;
    uint32_t legacy_doorbell_lock = 0;
    uint32_t reserved3[9] = {};
    uint64_t read_dispatch_id = 0;            ///< written by the command processor
    uint32_t read_dispatch_id_field_base_byte_offset = 0x80;
    uint32_t compute_tmpring_size = 0;
    uint32_t scratch_resource_descriptor[4] = {};
    uint64_t scratch_backing_memory_location = 0;
    uint64_t scratch_backing_memory_byte_size = 0;
    uint32_t scratch_wave64_lane_byte_size = 0;
    uint32_t queue_properties = 0;
    uint64_t scratch_last_used_index = 0;
    uint64_t queue_inactive_signal = 0;
    uint32_t reserved4[14] = {};
};
static_assert(offsetof(AmdQueue, write_dispatch_id) == 0x38 && offsetof(AmdQueue, read_dispatch_id) == 0x80);
static_assert(offsetof(AmdQueue, compute_tmpring_size) == 0x8c && offsetof(AmdQueue, queue_properties) == 0xb4);
static_assert(offsetof(AmdQueue, queue_inactive_signal) == 0xc0 && sizeof(AmdQueue) == 256);

}  // namespace lyra::inproc
