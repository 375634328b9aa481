// SPDX-License-Identifier: MIT
// PM4 packets that wait, signal, and order memory; steps 4 and 8 of the data flow.
#include <fmt/format.h>

#include "cp-firmware-model/mec/pm4_handlers.h"
#include "cp-firmware-model/queue/flight.h"

namespace lyra {

namespace {

/// WAIT_REG_MEM function. @source Linux 6.12 soc15d.h
bool compare(uint32_t function, uint32_t value, uint32_t reference) {
    switch (function) {
        case 1: return value < reference;
        case 2: return value <= reference;
        case 3: return value == reference;
        case 4: return value != reference;
        case 5: return value >= reference;
        case 6: return value > reference;
        default: return true;
    }
}

/// End-of-pipe actions a queue may have outstanding; all of them must be kept by a context save.
constexpr size_t kMaxEndOfPipe = flight::kMaxActions;

constexpr uint32_t kCsPartialFlush = 7;
/// Bits of ACQUIRE_MEM's COHER_CNTL and of RELEASE_MEM's event. An action without write-back writes back what is dirty too.
/// @source Linux 6.12 soc15d.h, PACKET3_ACQUIRE_MEM_CP_COHER_CNTL_*, EOP_TC_*_ACTION_EN
constexpr unsigned kCoherWriteBack = 18, kCoherInvalidate = 23, kCoherCode = 29;
constexpr unsigned kEventWriteBack = 15, kEventInvalidate = 17;
/// Of INVALIDATE_TLBS, dw1 31:29. @source Linux 6.12 soc15d.h PACKET3_INVALIDATE_TLBS_FLUSH_TYPE
using FlushType = Bits<29, 3>;

}  // namespace

/// dw1: function 2:0, memory 4, operation 7:6; dw2,3 address or registers; dw4 reference, dw5 mask.
/// Operation 1 writes the reference to the register in dw2, then waits for the one in dw3. @source gfx_v9_0_wait_reg_mem()
PacketResult Pm4Handlers::wait_reg_mem(P& p, Hqd& hqd, const Packet& packet) {
    const uint32_t function = bits(packet[0], 0, 3), operation = bits(packet[0], 6, 2);
    const uint32_t reference = packet[3], mask = packet[4];
    if (operation > 1) return p.bad_field(hqd, packet, fmt::format("operation {}", operation));
    if (operation == 0 && bit(packet[0], 4)) {
        uint32_t value = 0;
        const uint64_t address = make64(packet[1] & ~3u, packet[2]);
        if (p.memory_.read(p.vmid(hqd), address, &value, sizeof value) != Fault::None) return PacketResult::Done;
        return compare(function, value & mask, reference) ? PacketResult::Done : PacketResult::Retry;
    }
    const uint32_t first = bits(packet[1], 0, 18), polled = operation == 1 ? bits(packet[2], 0, 18) : first;
    if (!p.privileged(hqd)) return p.privilege_fault(hqd, packet, first);
    if (first >= kRegisterDwords || polled >= kRegisterDwords) {
        return p.bad_field(hqd, packet, "register outside the aperture");
    }
    if (operation == 1 && hqd.packet_progress == 0) {
        p.bus_.write_register(first, reference);
        hqd.packet_progress = 1;
    }
    // The TLB flush writes a whole request word and waits for its own bit only.
    const uint32_t wanted = operation == 1 ? reference & mask : reference;
    return compare(function, p.bus_.read_register(polled) & mask, wanted) ? PacketResult::Done : PacketResult::Retry;
}

/// dw1 event and caches; dw2: dst_sel 17:16, int_sel 26:24, data_sel 31:29; dw3,4 address; dw5,6 data; dw7 context id.
/// @source Linux 6.12 gfx_v9_0_ring_emit_fence(), soc15d.h
PacketResult Pm4Handlers::release_mem(P& p, Hqd& hqd, const Packet& packet) {
    if (hqd.end_of_pipe.size() >= kMaxEndOfPipe) return PacketResult::Retry;
    EndOfPipe action;
    action.data_sel = static_cast<uint8_t>(bits(packet[1], 29, 3));
    action.int_sel = static_cast<uint8_t>(bits(packet[1], 24, 3));
    if (bits(packet[1], 16, 2) > 1) return p.todo(hqd, packet, "destination that is not memory");
    if (action.data_sel > 4) return p.todo(hqd, packet, fmt::format("data {}", action.data_sel));
    action.address = make64(packet[2], packet[3]);
    action.data = make64(packet[4], packet[5]);
    action.context_id = packet[6];
    action.vmid = p.vmid(hqd);
    action.invalidate = bit(packet[0], kEventInvalidate);
    action.write_back = action.invalidate || bit(packet[0], kEventWriteBack);
    action.after_dispatch = hqd.dispatches.empty() ? 0 : hqd.dispatches.back();
    hqd.end_of_pipe.push_back(action);
    p.retire_dispatches(hqd);
    return PacketResult::Done;
}

/// @return whether what the action does to the L2 takes time that is not over yet
bool Pm4Processor::writes_back(EndOfPipe& action) {
    if (!action.write_back || !env_.clock.on()) return false;
    const uint64_t now = env_.clock.ns();
    if (action.due_ns == 0) action.due_ns = now + env_.timing.l2_writeback_ns;
    return action.due_ns > now;
}

void Pm4Processor::end_of_pipe(Hqd& hqd, const EndOfPipe& action) {
    if (action.write_back) bus_.write_back_l2();
    if (action.invalidate) bus_.invalidate_l2();
    if (action.data_sel == 1) {
        const uint32_t word = lo32(action.data);
        memory_.write(action.vmid, action.address & ~uint64_t{3}, &word, sizeof word);
    } else if (action.data_sel >= 2) {
        const uint64_t word = action.data_sel == 2 ? action.data : gpu_clock(env_);
        memory_.write(action.vmid, action.address & ~uint64_t{7}, &word, sizeof word);
    }
    // 1: interrupt only, 2: after the write, 4 and up: unconditional forms. 3: data confirmed, no interrupt.
    const bool interrupts = action.int_sel != 0 && action.int_sel != 3;
    if (interrupts) interrupt(hqd, ih_source::kCpEndOfPipe, action.vmid, action.context_id);
}

PacketResult Pm4Handlers::acquire_mem(P& p, Hqd&, const Packet& packet) {
    if (bit(packet[0], kCoherCode)) p.dispatcher_.invalidate_code();
    if (bit(packet[0], kCoherInvalidate)) {
        p.env_.clock.owe(p.env_.timing.l2_invalidate_ns);
        p.bus_.invalidate_l2();
    } else if (bit(packet[0], kCoherWriteBack)) {
        p.env_.clock.owe(p.env_.timing.l2_writeback_ns);
        p.bus_.write_back_l2();
    }
    return PacketResult::Done;
}

/// dw1: event 5:0. Only the one that waits matters: what the others flush are caches of the graphics pipeline, and the L1.
PacketResult Pm4Handlers::event_write(P&, Hqd& hqd, const Packet& packet) {
    if (bits(packet[0], 0, 6) != kCsPartialFlush) return PacketResult::Done;
    return hqd.dispatches.empty() ? PacketResult::Done : PacketResult::Retry;
}

/// dw1: dst_sel 3:0 (1 = by PASID), all hubs 4, PASID 20:5, flush type 31:29. @source gfx_v9_0_kiq_invalidate_tlbs()
PacketResult Pm4Handlers::invalidate_tlbs(P& p, Hqd&, const Packet& packet) {
    const bool all_hubs = bit(packet[0], 4);
    if (FlushType::get(packet[0]) == kHeavyweightFlush) p.bus_.invalidate_l2();
    p.env_.clock.owe(p.env_.timing.tlb_invalidate_ns);
    if (bits(packet[0], 0, 4) == 1) {
        p.bus_.invalidate_tlb_pasid(static_cast<uint16_t>(bits(packet[0], 5, 16)), all_hubs);
    } else {
        p.bus_.invalidate_tlb(0xffff, all_hubs);
    }
    return PacketResult::Done;
}

}  // namespace lyra
