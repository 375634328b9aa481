// SPDX-License-Identifier: MIT
// One hardware queue descriptor (HQD) slot: register image, ring position, and what the queue is busy with; step 3.
#pragma once

#include <array>
#include <cstdint>

#include "common/bits.h"
#include "common/snapshot.h"
#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/queue/aql_state.h"
#include "cp-firmware-model/queue/pm4_state.h"
#include "cp-firmware-model/queue/save_state.h"
#include "facts/mqd.h"
#include "facts/register_fields.h"

namespace lyra {

inline constexpr unsigned kMecs = 2, kPipesPerMec = 4, kQueuesPerPipe = 8;
inline constexpr unsigned kHqdRegisters = mqd::cp_hqd_pq_wptr_hi + 1 - mqd::cp_mqd_base_addr_lo;
inline constexpr unsigned kHqdGwsWords = mqd::lyra_gws_dwords;
inline constexpr unsigned kComputeImage = mqd::cp_mqd_base_addr_lo;  ///< MQD dwords before the registers: COMPUTE_* state

/// Numbers of HQD registers in Hqd::regs. @source docs/spec/front-end.md 1.2
namespace hqd_reg {
enum : uint8_t {
#define HQDREG(name, byte, reset) name,
#include "facts/registers/hqd.def"
#undef HQDREG
};
}  // namespace hqd_reg

enum class HqdState : uint8_t {
    Idle,
    Active,
    Draining,  ///< dequeue requested: no new packets, launched work ends first
    Stopped,   ///< a bad packet or a queue error stopped it; still occupies the slot until it is dequeued
};

/// Who may use what: privileged rings (KIQ, KCQ, HIQ) can write registers and carry scheduler packets.
enum class QueueKind : uint8_t { Kernel, Hiq, Kiq, User };

/// How a queue leaves its slot, and so where it stands (unmap/unmapper.cpp); the values of CP_HQD_DEQUEUE_REQUEST. @source
/// Linux 6.12 amdgpu_amdkfd_gfx_v9.c
enum class Dequeue : uint8_t { None = 0, Drain = 1, Reset = 2, Save = 3 };

/// Id of the gfx ring, which has no HQD of its own; after the ids of the HQD slots.
inline constexpr uint32_t kGfxQueueId = kMecs * kPipesPerMec * kQueuesPerPipe;
inline constexpr uint32_t kQueueIds = kGfxQueueId + 1;

/// Virtual time: when a queue is looked at.
struct QueuePace {
    uint64_t turn_ns = 0;          ///< when it has its next turn; kNever: when something wakes it
    uint64_t dequeue_look_ns = 0;  ///< when the conditions of a dequeue are looked at next
    void visit(StateVisitor& v);
};

/// A queue of a compute partition with several XCCs. Each has a copy of its descriptor. @source Linux 6.12 kfd_mqd_manager_v9.c
/// init_mqd_v9_4_3()
struct QueueXccs {
    uint32_t count = 1;  ///< 1: a descriptor without copies
    uint32_t stride = 0;  ///< bytes from one copy to the next
    uint32_t first = 0;  ///< the XCC that group 0 of a grid goes to
    bool dealt = false;  ///< the next groups go to the next XCCs; otherwise all go to the first
    std::array<uint32_t, kMaxEngines> cu_mask{};  ///< STATIC_THREAD_MGMT of the engines of all
    uint32_t reset = 0;  ///< bit n: XCC n has reset it, and not all have
    void visit(StateVisitor& v);
};

struct Hqd {
    uint8_t me = 0, pipe = 0, queue = 0;  ///< me is 1 or 2; 0 is the gfx ring
    HqdState state = HqdState::Idle;
    QueueKind kind = QueueKind::User;
    std::array<uint32_t, kHqdRegisters> regs{};
    std::array<uint32_t, kComputeImage> compute{};  ///< COMPUTE_* by MQD dword number
    uint64_t rptr_dw = 0;  ///< PM4: consumed dwords, monotonic. AQL: packets * 16
    uint64_t wptr_dw = 0;  ///< monotonic dwords
    uint16_t pasid = 0;
    bool mapped_by_hws = false;
    bool is_static = false;  ///< left alone by UNMAP_QUEUES of the non-static queues
    uint8_t gws_base = 0, gws_size = 0;  ///< global wave sync resources while it is mapped; size 0: none
    std::array<uint32_t, kHqdGwsWords> gws{};  ///< what they hold, as the MQD keeps it
    bool trap_present = false;  ///< RSRC2.TRAP_PRESENT of the MQD: the process has a trap handler
    bool wptr_from_memory = false;  ///< PM4: wptr_dw was read from memory, and nothing has been rung that is not older
    bool wptr_poll_once = false;  ///< CP_PQ_WPTR_POLL_CNTL1: read the write pointer from memory at activation
    Dequeue dequeue = Dequeue::None;
    RunState last = RunState::Idle;  ///< what the last step found
    Pm4State pm4;
    AqlState aql;
    QueuePace pace;
    QueueSave save;
    QueueXccs xccs;

    void visit(StateVisitor& v);
    bool active() const { return state != HqdState::Idle; }
    uint32_t id() const { return me == 0 ? kGfxQueueId : ((me - 1u) * kPipesPerMec + pipe) * kQueuesPerPipe + queue; }
    uint32_t vmid() const { return field::CP_HQD_VMID::VMID::get(regs[hqd_reg::CP_HQD_VMID]); }
    bool is_aql() const { return field::CP_HQD_AQL_CONTROL::CONTROL0::get(regs[hqd_reg::CP_HQD_AQL_CONTROL]) & 1; }
    uint64_t ring_base() const {
        return make64(regs[hqd_reg::CP_HQD_PQ_BASE], field::CP_HQD_PQ_BASE_HI::ADDR_HI::get(regs[hqd_reg::CP_HQD_PQ_BASE_HI]))
               << 8;
    }
    /// At most 2^28 dwords: the field has 6 bits, the hardware no ring of more than a GiB.
    uint64_t ring_dwords() const {
        const uint32_t size = field::CP_HQD_PQ_CONTROL::QUEUE_SIZE::get(regs[hqd_reg::CP_HQD_PQ_CONTROL]);
        return uint64_t{2} << (size > 27 ? 27 : size);
    }
    bool doorbell_enabled() const {
        return field::CP_HQD_PQ_DOORBELL_CONTROL::DOORBELL_EN::get(regs[hqd_reg::CP_HQD_PQ_DOORBELL_CONTROL]);
    }
    uint64_t rptr_report_address() const {
        namespace high = field::CP_HQD_PQ_RPTR_REPORT_ADDR_HI;
        return make64(regs[hqd_reg::CP_HQD_PQ_RPTR_REPORT_ADDR],
                      high::RPTR_REPORT_ADDR_HI::get(regs[hqd_reg::CP_HQD_PQ_RPTR_REPORT_ADDR_HI]));
    }
    uint64_t wptr_poll_address() const {
        namespace high = field::CP_HQD_PQ_WPTR_POLL_ADDR_HI;
        return make64(regs[hqd_reg::CP_HQD_PQ_WPTR_POLL_ADDR],
                      high::WPTR_ADDR_HI::get(regs[hqd_reg::CP_HQD_PQ_WPTR_POLL_ADDR_HI]));
    }
    uint32_t doorbell_bytes() const {
        return field::CP_HQD_PQ_DOORBELL_CONTROL::DOORBELL_OFFSET::in_place(regs[hqd_reg::CP_HQD_PQ_DOORBELL_CONTROL]);
    }
    uint64_t mqd_address() const {
        return make64(regs[hqd_reg::CP_MQD_BASE_ADDR],
                      field::CP_MQD_BASE_ADDR_HI::BASE_ADDR_HI::get(regs[hqd_reg::CP_MQD_BASE_ADDR_HI]));
    }
    /// The descriptor's copy of an XCC; the first one's is the descriptor.
    uint64_t mqd_address(unsigned xcc) const { return mqd_address() + uint64_t{xcc} * xccs.stride; }
};

}  // namespace lyra
