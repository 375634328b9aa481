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

}  // namespace

/// Operation 1 writes the reference to the register in dw2, then waits for the one in dw3. @source gfx_v9_0_wait_reg_mem()
PacketResult Pm4Handlers::wait_reg_mem(P& p, Hqd& hqd, const Packet& packet) {
    namespace f = pm4::WAIT_REG_MEM;
    const uint32_t function = f::function(packet), operation = f::operation(packet);
    const uint32_t reference = f::reference(packet), mask = f::mask(packet);
    if (operation > 1) return p.bad_field(hqd, packet, fmt::format("operation {}", operation));
    if (operation == 0 && f::mem_space(packet) != 0) {
        uint32_t value = 0;
        const uint64_t address = f::mem_addr(packet) & ~uint64_t{3};
        if (p.memory_.read(p.vmid(hqd), address, &value, sizeof value) != Fault::None) return PacketResult::Done;
        return compare(function, value & mask, reference) ? PacketResult::Done : PacketResult::Retry;
    }
    const uint32_t first = f::reg_addr1(packet), polled = operation == 1 ? f::reg_addr2(packet) : first;
    if (!p.privileged(hqd)) return p.privilege_fault(hqd, packet, first);
    if (first >= kRegisterDwords || polled >= kRegisterDwords) {
        return p.bad_field(hqd, packet, "register outside the aperture");
    }
    if (operation == 1 && hqd.pm4.packet_progress == 0) {
        p.bus_.write_register(first, reference);
        hqd.pm4.packet_progress = 1;
    }
    // The TLB flush writes a whole request word and waits for its own bit only.
    const uint32_t wanted = operation == 1 ? reference & mask : reference;
    return compare(function, p.bus_.read_register(polled) & mask, wanted) ? PacketResult::Done : PacketResult::Retry;
}

/// An action without write-back writes back what is dirty too. @source Linux 6.12 gfx_v9_0_ring_emit_fence(), soc15d.h
PacketResult Pm4Handlers::release_mem(P& p, Hqd& hqd, const Packet& packet) {
    if (hqd.pm4.end_of_pipe.size() >= kMaxEndOfPipe) return PacketResult::Retry;
    EndOfPipe action;
    namespace f = pm4::RELEASE_MEM;
    action.data_sel = static_cast<uint8_t>(f::data_sel(packet));
    action.int_sel = static_cast<uint8_t>(f::int_sel(packet));
    if (f::dst_sel(packet) > 1) return p.todo(hqd, packet, "destination that is not memory");
    if (action.data_sel > 4) return p.todo(hqd, packet, fmt::format("data {}", action.data_sel));
    action.address = f::address(packet);
    action.data = f::data(packet);
    action.context_id = f::int_ctxid(packet);
    action.vmid = p.vmid(hqd);
    action.invalidate = f::tc_action_ena(packet) != 0;
    action.write_back = action.invalidate || f::tc_wb_action_ena(packet) != 0;
    action.after_dispatch = hqd.pm4.dispatches.empty() ? 0 : hqd.pm4.dispatches.back();
    hqd.pm4.end_of_pipe.push_back(action);
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

/// The ring's position is reported first: the packet is consumed before the end of pipe signals it, and software that the
/// interrupt woke places packets in the room it left [inferred, from what kfdtest's QueueLatency takes for granted].
void Pm4Processor::end_of_pipe(Hqd& hqd, const EndOfPipe& action) {
    report_rptr(hqd);
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
    namespace f = pm4::ACQUIRE_MEM;
    if (f::sh_icache_action_ena(packet) != 0) p.dispatcher_.invalidate_code();
    if (f::tc_action_ena(packet) != 0) {
        p.env_.clock.owe(p.env_.timing.l2_invalidate_ns);
        p.bus_.invalidate_l2();
    } else if (f::tc_wb_action_ena(packet) != 0) {
        p.env_.clock.owe(p.env_.timing.l2_writeback_ns);
        p.bus_.write_back_l2();
    }
    return PacketResult::Done;
}

/// Only the event that waits matters: what the others flush are caches of the graphics pipeline, and the L1.
PacketResult Pm4Handlers::event_write(P&, Hqd& hqd, const Packet& packet) {
    if (pm4::EVENT_WRITE::event_type(packet) != kCsPartialFlush) return PacketResult::Done;
    return hqd.pm4.dispatches.empty() ? PacketResult::Done : PacketResult::Retry;
}

/// @source gfx_v9_0_kiq_invalidate_tlbs()
PacketResult Pm4Handlers::invalidate_tlbs(P& p, Hqd&, const Packet& packet) {
    namespace f = pm4::INVALIDATE_TLBS;
    constexpr uint32_t kByPasid = 1;
    const bool all_hubs = f::all_hub(packet) != 0;
    if (f::flush_type(packet) == kHeavyweightFlush) p.bus_.invalidate_l2();
    p.env_.clock.owe(p.env_.timing.tlb_invalidate_ns);
    if (f::dst_sel(packet) == kByPasid) {
        p.bus_.invalidate_tlb_pasid(static_cast<uint16_t>(f::pasid(packet)), all_hubs);
    } else {
        p.bus_.invalidate_tlb(0xffff, all_hubs);
    }
    return PacketResult::Done;
}

}  // namespace lyra
