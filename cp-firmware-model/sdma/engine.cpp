// SPDX-License-Identifier: MIT
// SDMA engine: registers, doorbells, ring positions and the bounded run loop; steps 2 and 3 of the data flow for copies.
#include "cp-firmware-model/sdma/engine.h"

#include <algorithm>

#include <fmt/format.h>

#include "cp-firmware-model/packets/text.h"
#include "cp-firmware-model/sdma/engine_impl.h"

namespace lyra {

using namespace sdma;

namespace {

constexpr uint32_t kDwordBytes = 4;
constexpr uint32_t kIndirectDwords = kPackets[static_cast<size_t>(Id::INDIRECT)].dwords;

}  // namespace

SdmaEngine::SdmaEngine(Env& env, CpBus& bus, unsigned index, Chip chip)
    : impl_(std::make_unique<Impl>(env, bus, index, chip)) {}
SdmaEngine::~SdmaEngine() = default;
bool SdmaEngine::read_register(uint32_t offset, uint32_t& value) { return impl_->read_register(offset, value); }
bool SdmaEngine::write_register(uint32_t offset, uint32_t value) { return impl_->write_register(offset, value); }
bool SdmaEngine::doorbell(uint32_t byte_offset, uint64_t value) { return impl_->doorbell(byte_offset, value); }
bool SdmaEngine::unmap_queue(unsigned slot) { return impl_->unmap_queue(slot); }
void SdmaEngine::reset_queue(unsigned slot) { impl_->reset_queue(slot); }
RunState SdmaEngine::run() { return impl_->run(); }
uint64_t SdmaEngine::next_run_ns() const { return impl_->next_run_ns; }
void SdmaEngine::wake() {
    if (impl_->next_run_ns == kNever) impl_->next_run_ns = impl_->env.clock.ns();
}
void SdmaEngine::reset() { impl_->reset(); }
int SdmaEngine::map_queue(uint64_t mqd, uint64_t wptr_address, uint32_t doorbell_bytes, uint32_t vmid, uint16_t pasid) {
    return impl_->map_queue(mqd, wptr_address, doorbell_bytes, vmid, pasid);
}

SdmaEngine::Impl::Impl(Env& env, CpBus& bus, unsigned index, Chip chip)
    : env(env), bus(bus), index(index), starts_running(facts_of(chip).sdma_started_by_psp),
      count_bits(facts_of(chip).sdma_count_bits), rings(kFirstRlc + facts_of(chip).sdma_queues) {
    reset();
}

void SdmaEngine::Impl::reset() {
    for (size_t i = 0; i < regs.size(); ++i) regs[i] = kEngineRows[i].reset;
    if (starts_running) regs[reg::F32_CNTL] = field::SDMA_F32_CNTL::HALT::set(regs[reg::F32_CNTL], 0);
    for (uint32_t r = 0; r < rings.size(); ++r) {
        const uint32_t epoch = rings[r].epoch + 1;  // a packet that resets its own engine must notice
        rings[r] = {};
        rings[r].index = r;
        rings[r].epoch = epoch;
        for (size_t i = 0; i < kRingStride; ++i) rings[r].regs[i] = kRingRows[i].reset;
    }
    timestamp_offset = 0;
    first_ring = 0;
    next_run_ns = 0;
}

bool SdmaEngine::Impl::halted() const {
    return field::SDMA_F32_CNTL::HALT::get(regs[reg::F32_CNTL]) || field::SDMA_FREEZE::FREEZE::get(regs[reg::FREEZE]);
}

/// There is something on the ring that the engine has not finished.
bool SdmaEngine::Impl::pending(const Ring& ring) const {
    const bool inside = ring.packet.row() && !ring.packet.waiting;
    return inside || (ring.enabled() && (ring.rptr != ring.wptr || ring.ib.active));
}

bool SdmaEngine::Impl::read_register(uint32_t offset, uint32_t& value) {
    if (offset >= kRegisters) return false;
    if (offset >= kRingBase) {
        const uint32_t in_ring = (offset - kRingBase) % kRingStride;
        if (kRingRows[in_ring].access == RegAccess::None) return false;
        value = read_ring_register(rings[(offset - kRingBase) / kRingStride], in_ring);
        return true;
    }
    if (kEngineRows[offset].access == RegAccess::None) return false;
    value = regs[offset];
    if (offset == reg::STATUS_REG && !halted()) {
        namespace status = field::SDMA_STATUS_REG;
        for (const Ring& ring : rings) {
            if (pending(ring)) value &= ~(status::IDLE::kMask | status::RB_EMPTY::kMask);
            if (ring.ib.active) value |= status::INSIDE_IB::kMask;
        }
    }
    if (offset == reg::FREEZE) value = field::SDMA_FREEZE::FROZEN::set(value, field::SDMA_FREEZE::FREEZE::get(value));
    return true;
}

bool SdmaEngine::Impl::write_register(uint32_t offset, uint32_t value) {
    if (offset >= kRegisters) return false;
    if (offset >= kRingBase) {
        const uint32_t in_ring = (offset - kRingBase) % kRingStride;
        if (kRingRows[in_ring].access == RegAccess::None) return false;
        write_ring_register(rings[(offset - kRingBase) / kRingStride], in_ring, value);
        return true;
    }
    const RegAccess access = kEngineRows[offset].access;
    if (access == RegAccess::None) return false;
    if (access == RegAccess::Ram || offset == reg::FREEZE) regs[offset] = value;
    return true;
}

uint32_t SdmaEngine::Impl::read_ring_register(const Ring& ring, uint32_t offset) const {
    switch (offset) {
        case ring_reg::RB_RPTR: return lo32(ring.rptr);
        case ring_reg::RB_RPTR_HI: return hi32(ring.rptr);
        case ring_reg::RB_WPTR: return lo32(ring.wptr);
        case ring_reg::RB_WPTR_HI: return hi32(ring.wptr);
        case ring_reg::IB_RPTR:
        case ring_reg::IB_OFFSET: return ring.ib.next_dw * kDwordBytes;
        case ring_reg::IB_BASE_LO: return lo32(ring.ib.base);
        case ring_reg::IB_BASE_HI: return hi32(ring.ib.base);
        case ring_reg::IB_SIZE: return ring.ib.size_dw;
        case ring_reg::SKIP_CNTL: return ring.skip_dw;
        case ring_reg::CONTEXT_STATUS:
            // The driver waits for IDLE after it cleared RB_ENABLE. @source amdgpu_amdkfd_gfx_v9.c kgd_hqd_sdma_destroy
            return field::SDMA_RING_CONTEXT_STATUS::SELECTED::of(ring.index == kGfx) |
                   field::SDMA_RING_CONTEXT_STATUS::IDLE::of(!pending(ring));
        default: return ring.regs[offset];
    }
}

void SdmaEngine::Impl::write_ring_register(Ring& ring, uint32_t offset, uint32_t value) {
    const bool was_enabled = ring.enabled();
    switch (offset) {
        case ring_reg::RB_RPTR:
        case ring_reg::RB_RPTR_HI:
            ring.abandon();
            ring.rptr = offset == ring_reg::RB_RPTR ? make64(value & ~3u, hi32(ring.rptr)) : make64(lo32(ring.rptr), value);
            ring.rptr_dirty = true;
            return;
        // The halves arrive one after the other, so that only begin_packet() can judge the whole.
        case ring_reg::RB_WPTR:
        case ring_reg::RB_WPTR_HI:
            ring.wptr = offset == ring_reg::RB_WPTR ? make64(value & ~3u, hi32(ring.wptr)) : make64(lo32(ring.wptr), value);
            ring.gap_reported = false;
            return;
        default: break;
    }
    if (kRingRows[offset].access == RegAccess::ReadOnly) return;
    if (kRingRows[offset].access == RegAccess::Live && offset != ring_reg::RB_CNTL) return;
    ring.regs[offset] = value;
    if (offset != ring_reg::RB_CNTL || was_enabled == ring.enabled()) return;
    ring.gap_reported = ring.writeback_failed = false;
    if (ring.enabled()) {
        ring.stopped = false;
    } else if (ring.packet.waiting) {
        ring.packet = {};  // a poll is taken back; the ring stands before it
    }
}

/// A doorbell is the 64-bit write pointer. A 32-bit store shows as a value with an empty high half that lies behind the
/// present pointer: it replaces the low half, with carry. What then lies outside the ring is refused.
bool SdmaEngine::Impl::doorbell(uint32_t byte_offset, uint64_t value) {
    for (Ring& ring : rings) {
        const uint32_t control = ring.regs[ring_reg::DOORBELL];
        const uint32_t at = field::SDMA_RING_DOORBELL_OFFSET::OFFSET::in_place(ring.regs[ring_reg::DOORBELL_OFFSET]);
        if (!field::SDMA_RING_DOORBELL::ENABLE::get(control) || at != byte_offset) continue;
        value &= ~uint64_t{3};
        const bool minor = field::SDMA_RING_MINOR_PTR_UPDATE::ENABLE::get(ring.regs[ring_reg::MINOR_PTR_UPDATE]);
        const bool older = ring.wptr_from_memory && value < ring.wptr;
        if (!minor && value < ring.wptr && hi32(value) == 0 && hi32(ring.wptr) != 0) {
            value = make64(lo32(value), hi32(ring.wptr));
            if (value < ring.wptr) value += uint64_t{1} << 32;
        }
        if (!minor && (value < ring.wptr || value - ring.rptr > ring.bytes())) {
            if (older) return true;  // rung before the pointer was written, handed over after it was read
            report(env, Fault::WritePointer,
                   fmt::format("sdma{} ring {} doorbell {:#x}, wptr {:#x}, rptr {:#x}", index, ring.index, value, ring.wptr,
                               ring.rptr));
            return true;
        }
        if (value != ring.wptr) ring.gap_reported = false;
        ring.wptr = value;
        ring.wptr_from_memory = false;
        if (env.clock.on() && next_run_ns == kNever) next_run_ns = env.clock.ns() + env.timing.doorbell_ns;
        return true;
    }
    return false;
}

RunState SdmaEngine::Impl::run() {
    if (env.clock.on()) return run_paced();
    int64_t budget = kBytesPerRun;
    const RunState state = run_rings(budget);
    // What idle rings have left over; those of the kernel are first.
    for (Ring& ring : rings) {
        if (budget <= 0 || state != RunState::Busy) break;
        run_ring(ring, budget);
        write_back_rptr(ring);
    }
    return state;
}

/// Packets and bytes owe their time as they are done; the engine is free again when that is over.
RunState SdmaEngine::Impl::run_paced() {
    const uint64_t now = env.clock.ns();
    if (now < next_run_ns) return RunState::Idle;
    int64_t budget = kBytesPerTurn;
    const RunState state = run_rings(budget);
    const uint64_t cost = env.clock.collect();
    switch (state) {
        case RunState::Busy: next_run_ns = now + std::max<uint64_t>(cost, 1); break;
        case RunState::Polling: next_run_ns = now + std::max(cost, env.timing.poll_ns); break;
        case RunState::Idle: next_run_ns = cost ? now + cost : kNever; break;
    }
    return state;
}

RunState SdmaEngine::Impl::run_rings(int64_t& budget) {
    RunState state = RunState::Idle;
    const auto count = static_cast<uint32_t>(rings.size());
    for (uint32_t turn = 0; turn < count; ++turn) {
        Ring& ring = rings[(first_ring + turn) % count];
        // Every ring has its share, and what the rings before it left over.
        int64_t share = budget / (count - turn);
        budget -= share;
        state = busier(state, run_ring(ring, share));
        budget += share;
        write_back_rptr(ring);
    }
    first_ring = (first_ring + 1) % count;
    return state;
}

RunState SdmaEngine::Impl::run_ring(Ring& ring, int64_t& budget) {
    while (!halted() && !ring.stopped) {
        if (!ring.packet.row()) {
            if (!ring.enabled() || ring.draining || !pending(ring)) return RunState::Idle;
            if (budget <= 0) return RunState::Busy;
            const uint64_t rptr = ring.rptr, ib = ring.ib.next_dw;
            if (!begin_packet(ring)) {
                // Without a packet, but moved on: the end of an indirect buffer or skipped dwords.
                if (ring.rptr != rptr || ring.ib.next_dw != ib) continue;
                return RunState::Idle;
            }
        }
        if (budget <= 0) return RunState::Busy;
        const uint32_t epoch = ring.epoch;
        budget -= kPacketCost;
        const Step step = execute(ring, budget);
        if (ring.epoch != epoch) continue;  // the packet's own register write moved the ring
        if (step == Step::Again) return RunState::Busy;
        if (step == Step::Wait) {
            // Blocked by a cleared IB_ENABLE: only a register write helps. Otherwise the value may come from anywhere.
            const bool polls = !ring.packet.row()->is(Id::INDIRECT);
            ring.packet.waiting = true;
            if (ring.enabled() && !ring.draining) return polls ? RunState::Polling : RunState::Idle;
            ring.packet = {};
            return RunState::Idle;
        }
        finish(ring, step);
        if (env.clock.on()) return RunState::Busy;
    }
    return RunState::Idle;
}

/// Dwords that can be fetched now, from the indirect buffer or the ring. Reports a write pointer outside the ring.
uint64_t SdmaEngine::Impl::available_dw(Ring& ring) {
    if (ring.ib.active) return ring.ib.size_dw - ring.ib.next_dw;
    const uint64_t bytes = ring.wptr - ring.rptr;
    if (ring.wptr >= ring.rptr && bytes <= ring.bytes()) return bytes / kDwordBytes;
    if (!ring.gap_reported) {
        ring.gap_reported = true;
        report(env, Fault::WritePointer,
               fmt::format("sdma{} ring {} wptr {:#x}, rptr {:#x}, {:#x} bytes", index, ring.index, ring.wptr, ring.rptr,
                           ring.bytes()));
    }
    return 0;
}

void SdmaEngine::Impl::consume(Ring& ring, uint64_t dwords) {
    if (ring.ib.active) {
        ring.ib.next_dw += static_cast<uint32_t>(dwords);
        return;
    }
    ring.rptr += dwords * kDwordBytes;
    ring.rptr_dirty = true;
    ring.gap_reported = false;
}

/// Fetch and check the next packet. @return false when there is none; the position may have moved nevertheless.
bool SdmaEngine::Impl::begin_packet(Ring& ring) {
    uint64_t available = available_dw(ring);
    if (available == 0) {
        if (ring.ib.active) {
            ring.ib = {};
            ring.skip_dw = 0;  // COND_EXE does not reach beyond its buffer
            consume(ring, kIndirectDwords);
        }
        return false;
    }
    if (ring.skip_dw) {
        const uint64_t skipped = std::min<uint64_t>(ring.skip_dw, available);
        ring.skip_dw -= static_cast<uint32_t>(skipped);
        consume(ring, skipped);
        return false;
    }
    Active packet;
    const uint64_t fetched = std::min<uint64_t>(available, kMaxFixedDwords);
    if (fetch(ring, 0, packet.words.data(), fetched) != Fault::None) {
        stop(ring, Fault::RingUnreadable, "fetch");
        return false;
    }
    const Frame<Packet> frame = sdma::frame(packet.words, available);
    if (frame.fault == Fault::ShortPacket) return short_packet(ring, frame.dwords);
    if (!frame.whole()) {
        stop(ring, frame.fault, fmt::format("header {:#010x}", packet.words[0]));
        return false;
    }
    packet.number = static_cast<uint32_t>(frame.row - kPackets);
    packet.total_dw = static_cast<uint32_t>(frame.dwords);
    ring.packet = packet;
    env.clock.owe(env.timing.sdma_packet_ns);
    emit<event::packet>(env.tracer, env.now_ns(), 0x100 + index * static_cast<uint32_t>(rings.size()) + ring.index, 2u,
                        packet.row()->op, ring.rptr);
    note_packet(env, [&] { return packet_text(*packet.row(), packet.words); });
    return true;
}

/// A packet that the buffer does not hold. On the ring the rest may still come, unless the ring is too small for it.
bool SdmaEngine::Impl::short_packet(Ring& ring, uint64_t dwords) {
    const std::string detail = fmt::format("{} dwords", dwords);
    if (ring.ib.active || dwords * kDwordBytes > ring.bytes()) {
        stop(ring, Fault::ShortPacket, detail);
    } else if (!ring.gap_reported) {
        ring.gap_reported = true;
        report(env, Fault::ShortPacket,
               fmt::format("sdma{} ring {} at {:#x} waits for {}", index, ring.index, ring.rptr, detail));
    }
    return false;
}

void SdmaEngine::Impl::stop(Ring& ring, Fault fault, std::string_view detail) {
    ring.stopped = true;
    ring.packet = {};
    report(env, fault,
           fmt::format("sdma{} ring {} vmid {} at {:#x}{}: {}", index, ring.index, ring.vmid(), ring.rptr,
                       ring.ib.active ? fmt::format(" (buffer {:#x}+{})", ring.ib.base, ring.ib.next_dw) : "", detail));
}

/// Leave the active packet. Step::Stop was reported where it arose.
void SdmaEngine::Impl::finish(Ring& ring, Step step) {
    const uint32_t dwords = ring.packet.total_dw;
    ring.packet = {};
    if (step == Step::Stop) {
        ring.stopped = true;
        return;
    }
    if (step == Step::Done || step == Step::Enter) {
        env.stats.add(Stat::sdma_packets);
        if (!ring.kernel()) env.stats.add(Stat::user_sdma_packets);
    }
    if (step != Step::Enter) consume(ring, dwords);
}

/// @source sdma_v4_0.c sdma_v4_0_ring_get_rptr: 64-bit byte position
void SdmaEngine::Impl::write_back_rptr(Ring& ring) {
    if (!ring.rptr_dirty) return;
    ring.rptr_dirty = false;
    const uint64_t address = ring.rptr_address();
    if (!rb_cntl::RPTR_WRITEBACK_ENABLE::get(ring.regs[ring_reg::RB_CNTL]) || !address || ring.writeback_failed ||
        !ring.enabled())
        return;
    // One fault is enough: a ring that cannot report its position would otherwise raise one per call.
    const bool aligned = address % sizeof(uint64_t) == 0;
    const Fault fault = aligned ? store<uint64_t>(ring.ring_vmid(), address, ring.rptr)
                                : write_memory(ring.ring_vmid(), address, &ring.rptr, sizeof ring.rptr);
    ring.writeback_failed = fault != Fault::None;
}

}  // namespace lyra
