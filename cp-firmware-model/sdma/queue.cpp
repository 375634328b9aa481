// SPDX-License-Identifier: MIT
// SDMA user queues: load a v9_sdma_mqd into a free RLC ring, take it out at a packet boundary, save its position; step 3.
#include <fmt/format.h>

#include "cp-firmware-model/sdma/engine_impl.h"
#include "facts/mqd.h"

namespace lyra {

using namespace sdma;

namespace {

constexpr uint32_t kOffsetUnit = 4;  ///< IB_RPTR and IB_OFFSET are bytes
using Mqd = std::array<uint32_t, sdma_mqd::kDwords>;

// A dword of the MQD is the register of the ring with that number.
#define SDMA_MQD(name, dword, reg) static_assert((dword) == ring_reg::reg && (dword) < sdma_mqd::kDwords);
#include "facts/mqd/v9_sdma_mqd.def"

/// Registers that are taken as they are; what is Live becomes state.
constexpr sdma_mqd::Dword kTaken[] = {sdma_mqd::rb_base, sdma_mqd::rb_base_hi, sdma_mqd::rb_rptr_addr_hi,
                                      sdma_mqd::rb_rptr_addr_lo, sdma_mqd::ib_cntl};

/// A buffer that an earlier unmap interrupted. The position is checked, not trusted: the MQD is guest memory.
IbState saved_buffer(const Mqd& mqd, uint32_t vmid) {
    IbState ib;
    const uint32_t size = field::SDMA_RING_IB_SIZE::SIZE::get(mqd[sdma_mqd::ib_size]);
    if (size == 0 || mqd[sdma_mqd::ib_offset] / kOffsetUnit > size) return ib;
    ib.active = true;
    ib.base = make64(mqd[sdma_mqd::ib_base_lo], mqd[sdma_mqd::ib_base_hi]) & ~uint64_t{31};
    ib.size_dw = size;
    ib.next_dw = mqd[sdma_mqd::ib_offset] / kOffsetUnit;
    ib.vmid = vmid;
    return ib;
}

}  // namespace

int SdmaEngine::Impl::map_queue(uint64_t mqd_address, uint64_t wptr_address, uint32_t doorbell_bytes, uint32_t vmid,
                                uint16_t pasid) {
    uint32_t slot = kFirstRlc;
    while (slot < rings.size() && (rings[slot].mapped || rings[slot].enabled())) ++slot;
    if (slot == rings.size()) return -1;  // the scheduler reports it
    Mqd mqd{};
    if (bus.gfxhub().read(0, mqd_address, mqd.data(), sizeof mqd) != Fault::None) {
        report(env, Fault::MqdUnreadable, fmt::format("sdma{} {:#x}", index, mqd_address));
        return -1;
    }
    Ring& ring = rings[slot];
    ring.abandon();
    ring.stopped = ring.draining = ring.writeback_failed = ring.wptr_from_memory = false;
    for (size_t i = 0; i < kRingStride; ++i) ring.regs[i] = kRingRows[i].reset;
    for (const sdma_mqd::Dword dword : kTaken) ring.regs[dword] = mqd[dword];
    ring.regs[ring_reg::RB_CNTL] = rb_cntl::RB_ENABLE::set(rb_cntl::RB_VMID::set(mqd[sdma_mqd::rb_cntl], vmid), 1);
    ring.regs[ring_reg::DOORBELL] = field::SDMA_RING_DOORBELL::ENABLE::kMask;
    ring.regs[ring_reg::DOORBELL_OFFSET] = field::SDMA_RING_DOORBELL_OFFSET::OFFSET::in_place(doorbell_bytes);
    ring.mapped = true;
    ring.mqd = mqd_address;
    ring.pasid = pasid;
    ring.rptr = make64(mqd[sdma_mqd::rb_rptr], mqd[sdma_mqd::rb_rptr_hi]) & ~uint64_t{3};
    ring.wptr = make64(mqd[sdma_mqd::rb_wptr], mqd[sdma_mqd::rb_wptr_hi]) & ~uint64_t{3};
    ring.ib = saved_buffer(mqd, ring.ring_vmid());
    ring.skip_dw = field::SDMA_RING_SKIP_CNTL::SKIP_COUNT::get(mqd[sdma_mqd::skip_cntl]);
    ring.rptr_dirty = false;  // memory has it from before
    // Doorbells rung while the queue was out left their value in memory only.
    uint64_t wptr = 0;
    if (wptr_address && read_memory(ring.ring_vmid(), wptr_address, &wptr, sizeof wptr) == Fault::None) {
        ring.wptr = wptr & ~uint64_t{3};
        ring.wptr_from_memory = true;
    }
    // Virtual time: an engine that was idle looks at the ring although nobody may ring again.
    if (env.clock.on() && next_run_ns == kNever) next_run_ns = env.clock.ns();
    return static_cast<int>(slot - kFirstRlc);
}

bool SdmaEngine::Impl::unmap_queue(unsigned slot) {
    if (slot >= rings.size() - kFirstRlc || !rings[kFirstRlc + slot].mapped) {
        report(env, Fault::QueueNotMapped, fmt::format("sdma{} slot {}", index, slot));
        return true;
    }
    Ring& ring = rings[kFirstRlc + slot];
    const bool inside = ring.packet.row() && !ring.packet.waiting && !ring.stopped;
    if (inside && !halted() && ring.packet.left <= kDrainBytes) {
        ring.draining = true;
        return false;
    }
    // What is not complete is taken back: the ring or buffer stands before the packet and will run it anew.
    release(ring);
    return true;
}

void SdmaEngine::Impl::reset_queue(unsigned slot) {
    if (slot >= rings.size() - kFirstRlc || !rings[kFirstRlc + slot].mapped) {
        report(env, Fault::QueueNotMapped, fmt::format("sdma{} slot {}", index, slot));
        return;
    }
    Ring& ring = rings[kFirstRlc + slot];
    ring.ib = {};
    ring.skip_dw = 0;
    release(ring);
}

/// Save the position to the MQD and free the slot. Only the dwords that hold it are written.
void SdmaEngine::Impl::release(Ring& ring) {
    const uint32_t position[4] = {lo32(ring.rptr), hi32(ring.rptr), lo32(ring.wptr), hi32(ring.wptr)};
    const IbState& ib = ring.ib;
    const uint32_t buffer[6] = {
        ib.next_dw * kOffsetUnit,
        ib.next_dw * kOffsetUnit,
        lo32(ib.base),
        hi32(ib.base),
        ib.active ? ib.size_dw : 0,
        ring.skip_dw,
    };
    static_assert(sdma_mqd::rb_wptr_hi - sdma_mqd::rb_rptr == 3 && sdma_mqd::skip_cntl - sdma_mqd::ib_rptr == 5);
    MemoryPort& port = bus.gfxhub();
    const Fault first = port.write(0, ring.mqd + sdma_mqd::rb_rptr * 4, position, sizeof position);
    const Fault second = first != Fault::None ? first : port.write(0, ring.mqd + sdma_mqd::ib_rptr * 4, buffer, sizeof buffer);
    if (second != Fault::None) report(env, Fault::MqdUnreadable, fmt::format("sdma{} {:#x}", index, ring.mqd));
    write_back_rptr(ring);
    ring.abandon();
    ring.mapped = ring.draining = ring.stopped = false;
    ring.mqd = 0;
    ring.pasid = 0;
    ring.regs[ring_reg::DOORBELL] = 0;
    ring.regs[ring_reg::RB_CNTL] = rb_cntl::RB_ENABLE::set(ring.regs[ring_reg::RB_CNTL], 0);
}

}  // namespace lyra
