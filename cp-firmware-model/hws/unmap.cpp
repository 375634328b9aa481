// SPDX-License-Identifier: MIT
// UNMAP_QUEUES: which queues, how long it waits for them to leave, and what of those that do not; step 3 of the data flow.
#include <algorithm>

#include <fmt/format.h>

#include "cp-firmware-model/hws/scheduler.h"
#include "cp-firmware-model/mqd/mqd.h"

namespace lyra {

namespace {

enum Action : uint32_t { kPreempt = 0, kReset = 1, kDisableProcess = 2, kPreemptNoUnmap = 3 };
enum Select : uint32_t { kListed = 0, kByPasid = 1, kAll = 2, kAllNonStatic = 3 };

constexpr uint32_t kEngineGfx = 4;
constexpr uint32_t kDoorbellIds = 16;
/// Until SET_RESOURCES has said otherwise. @source Linux 6.12 KFD_UNMAP_LATENCY_MS
constexpr uint64_t kDefaultLatencyNs = 4'000'000'000;
/// Waves end by themselves instead of being saved, so queues get twice the latency; the driver waits 9 s for the fence.
constexpr uint64_t kDrainFactor = 2;

}  // namespace

bool HwScheduler::Selection::listed(uint32_t doorbell_bytes) const {
    return std::find(doorbells.begin(), doorbells.begin() + doorbell_count, doorbell_bytes) !=
           doorbells.begin() + doorbell_count;
}

/// Listed queues are any; the other filters are about the queues that the scheduler mapped.
bool HwScheduler::Selection::selects(const Hqd& hqd) const {
    if (!hqd.active()) return false;
    if (select == kListed) return hqd.kind != QueueKind::Kiq && listed(hqd.doorbell_bytes());
    if (!hqd.mapped_by_hws) return false;
    if (select == kByPasid) return hqd.pasid == pasid;
    return select == kAll || !hqd.is_static;
}

bool HwScheduler::Selection::selects(const SdmaQueue& queue) const {
    if (select == kListed) return listed(queue.doorbell_bytes);
    return select != kByPasid || queue.pasid == pasid;
}

bool HwScheduler::unmap_sdma(SdmaQueue& queue, Dequeue kind) {
    if (kind == Dequeue::Reset) {
        sdma_[queue.engine]->reset_queue(queue.slot);
        return true;
    }
    return sdma_[queue.engine]->unmap_queue(queue.slot);
}

void HwScheduler::begin_unmap(Hqd& ring, const Selection& selection, Dequeue kind) {
    unsigned selected = 0;
    for (Hqd& hqd : mec_.slots()) {
        if (!selection.selects(hqd)) continue;
        mec_.unmap().request(hqd, kind);
        ++selected;
    }
    for (SdmaQueue& queue : sdma_queues_) {
        if (!selection.selects(queue)) continue;
        queue.leaving = true;
        ++selected;
    }
    if (selection.select == kListed && selected == 0) {
        report(env_, Fault::QueueNotMapped, fmt::format("UNMAP_QUEUES of doorbell {:#x}", selection.doorbells[0]));
    }
    // A list that goes on rotating would map the queues again.
    if (selection.select != kListed ||
        (ring.kind == QueueKind::Hiq && env_.firmware.unmap_by_doorbell == FirmwareChoice::Stop)) {
        list_ = {};
        deferred_.reset();
    }
    const uint64_t latency = resources_.unmap_latency_ns ? resources_.unmap_latency_ns : kDefaultLatencyNs;
    ring.pm4.unmap_deadline_ns = env_.now_ns() + latency * kDrainFactor;
}

/// @return true when none of the selected queues has a slot any more
bool HwScheduler::finish_unmap(const Selection& selection, Dequeue kind) {
    bool out = true;
    for (Hqd& hqd : mec_.slots()) {
        if (selection.selects(hqd) && hqd.dequeue != Dequeue::None) out &= mec_.unmap().look(hqd);
    }
    std::erase_if(sdma_queues_, [&](SdmaQueue& queue) {
        if (!queue.leaving) return false;
        const bool gone = unmap_sdma(queue, kind);
        out &= gone;
        return gone;
    });
    return out;
}

/// Queues that did not drain in time stay, with their dequeue pending; their doorbells go to the HIQ's MQD, where the
/// driver looks after the fence. @source Linux 6.12 kfd_mqd_manager_v9.c check_preemption_failed()
void HwScheduler::give_up(Hqd& ring, const Selection& selection) {
    uint32_t count = 0;
    for (Hqd& hqd : mec_.slots()) {
        if (!selection.selects(hqd) || hqd.dequeue == Dequeue::None) continue;
        report(env_, Fault::PreemptionFailed, fmt::format("queue {}, doorbell {:#x}", hqd.id(), hqd.doorbell_bytes()));
        if (count >= kDoorbellIds || ring.mqd_address() == 0) continue;
        const uint32_t doorbell_dword = hqd.doorbell_bytes() / 4;
        bus_.gfxhub().write(0, ring.mqd_address() + (mqd::queue_doorbell_id0 + count) * 4, &doorbell_dword,
                            sizeof doorbell_dword);
        ++count;
    }
    for (SdmaQueue& queue : sdma_queues_) {
        if (queue.leaving) report(env_, Fault::PreemptionFailed, fmt::format("SDMA{} queue {}", queue.engine, queue.slot));
    }
    // A copy that never ends is cut off, so that the engine is free for others.
    std::erase_if(sdma_queues_, [&](SdmaQueue& queue) { return queue.leaving && unmap_sdma(queue, Dequeue::Reset); });
}

/// The gfx ring's preemption: run up to the write pointer in the packet. @source Linux 6.12 gfx_v9_0_ring_preempt_ib()
PacketResult HwScheduler::preempt_gfx(const pm4::Packet& packet) {
    Hqd& gfx = mec_.gfx();
    const uint32_t doorbell_bytes = 4 * pm4::UNMAP_QUEUES::doorbell_offset0(packet);
    if (gfx.doorbell_bytes() != doorbell_bytes) {
        report(env_, Fault::QueueNotMapped, fmt::format("UNMAP_QUEUES of doorbell {:#x}", doorbell_bytes));
        return PacketResult::Done;
    }
    const uint64_t mask = gfx.ring_dwords() - 1;
    const uint64_t ahead = (pm4::UNMAP_QUEUES_KIQ::rb_wptr(packet) - gfx.wptr_dw) & mask;
    gfx.wptr_dw += ahead;
    return PacketResult::Done;
}

/// Covers SDMA queues too, whatever the engine says. @source Linux 6.12 kfd_packet_manager_v9.c pm_unmap_queues_v9()
PacketResult HwScheduler::unmap_queues(Hqd& ring, const pm4::Packet& packet) {
    using namespace pm4::UNMAP_QUEUES;
    if (engine_sel(packet) == kEngineGfx) return preempt_gfx(packet);
    if (action(packet) == kPreemptNoUnmap) {
        report(env_, Fault::TodoPacket, "UNMAP_QUEUES without unmapping, of a compute queue");
        return PacketResult::Done;
    }
    Selection selection;
    selection.select = queue_sel(packet);
    if (selection.select == kListed && ring.kind == QueueKind::Hiq &&
        env_.firmware.unmap_by_doorbell == FirmwareChoice::Reject) {
        report(env_, Fault::FirmwareRefused, fmt::format("UNMAP_QUEUES of doorbell {:#x}", 4 * doorbell_offset0(packet)));
        return PacketResult::Done;
    }
    selection.pasid = static_cast<uint16_t>(pasid(packet));
    selection.doorbell_count = std::min<uint32_t>(num_queues(packet), 4);
    selection.doorbells = {4 * doorbell_offset0(packet), 4 * doorbell_offset1(packet), 4 * doorbell_offset2(packet),
                           4 * doorbell_offset3(packet)};
    const Dequeue kind = action(packet) == kReset ? Dequeue::Reset : Dequeue::Save;
    return unmap(ring, selection, kind) ? PacketResult::Done : PacketResult::Retry;
}

/// What a packet goes through; each of its queues goes its own way meanwhile, which unmap/unmapper.cpp draws.
///
///     begin_unmap(): all are asked --> finish_unmap(): each is looked at --all out--------------------> done
///                                        ^                            |                                ^
///                                        +-----some not, in time------+--some not, too late--> give_up()
/// @return whether the packet is done with
bool HwScheduler::unmap(Hqd& ring, const Selection& selection, Dequeue kind) {
    if (ring.pm4.packet_progress == 0) begin_unmap(ring, selection, kind);
    ring.pm4.packet_progress = 1;
    if (!finish_unmap(selection, kind)) {
        if (env_.now_ns() < ring.pm4.unmap_deadline_ns) return false;
        give_up(ring, selection);
    }
    release_idle_processes();
    return true;
}

bool HwScheduler::unmap_all_first(Hqd& ring) {
    Selection selection;
    selection.select = kAllNonStatic;
    return unmap(ring, selection, Dequeue::Save);
}

}  // namespace lyra
