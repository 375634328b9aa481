// SPDX-License-Identifier: MIT
// PM4 engine: position in ring and indirect buffers, framing, privileges, end-of-pipe actions; step 4 of the data flow.
#include "cp-firmware-model/mec/pm4.h"

#include <algorithm>

#include <fmt/format.h>

#include "cp-firmware-model/mec/pm4_handlers.h"
#include "cp-firmware-model/packets/text.h"

namespace lyra {

namespace {

/// CP_HQD_ERROR bits. @source gc_9_0_sh_mask.h
constexpr uint32_t kErrorPacket = field::CP_HQD_ERROR::AQL_ERROR::kMask,
                   kErrorRingRead = field::CP_HQD_ERROR::PQ_UTCL1_ERROR::kMask,
                   kErrorBufferRead = field::CP_HQD_ERROR::IB_UTCL1_ERROR::kMask;

using Handler = PacketResult (*)(Pm4Processor&, Hqd&, const pm4::Packet&);

constexpr Handler kHandlers[] = {
#define PM4(name, opcode, min, max, senders, handler) &Pm4Handlers::handler,
#include "facts/packets/pm4.def"
};

}  // namespace

Pm4Processor::Pm4Processor(Env& env, CpBus& bus, Dispatcher& dispatcher)
    : env_(env), bus_(bus), memory_(bus.gfxhub()), dispatcher_(dispatcher) {
    body_.resize(pm4::kMaxBodyDwords);
}

Pm4Processor::Source Pm4Processor::source(const Hqd& hqd) const {
    if (!hqd.pm4.ib_stack.empty()) {
        const IndirectBuffer& ib = hqd.pm4.ib_stack.back();
        return {false, ib.base, ib.size_dw, ib.next_dw, ib.size_dw - ib.next_dw, ib.vmid};
    }
    const uint64_t waiting = hqd.wptr_dw > hqd.rptr_dw ? hqd.wptr_dw - hqd.rptr_dw : 0;
    return {true, hqd.ring_base(), hqd.ring_dwords(), hqd.rptr_dw, std::min(waiting, hqd.ring_dwords()), hqd.vmid()};
}

bool Pm4Processor::read_words(const Source& source, uint64_t position, uint32_t* words, uint32_t count) {
    while (count > 0) {
        const uint64_t offset = source.ring ? position & (source.size_dw - 1) : position;
        const auto piece = static_cast<uint32_t>(std::min<uint64_t>(count, source.size_dw - offset));
        if (memory_.read(source.vmid, source.base + offset * 4, words, size_t{piece} * 4) != Fault::None) return false;
        words += piece;
        position += piece;
        count -= piece;
    }
    return true;
}

Pm4Processor::Fetch Pm4Processor::unreadable(Hqd& hqd, const Source& source, uint64_t position) {
    stop(hqd, Fault::RingUnreadable,
         fmt::format("queue {} {} at {:#x} + {:#x} dwords", hqd.id(), source.ring ? "ring" : "indirect buffer", source.base,
                     position));
    hqd.regs[hqd_reg::CP_HQD_ERROR] |= source.ring ? kErrorRingRead : kErrorBufferRead;
    return Fetch::Stopped;
}

/// A packet that ends after the last dword written so far. In a ring the rest may still come, as the hardware fetches up
/// to the write pointer and waits; a packet that no ring of this size can hold, or a cut buffer, never becomes whole.
Pm4Processor::Fetch Pm4Processor::fetch_incomplete(Hqd& hqd, const Source& source, uint64_t need_dw) {
    const std::string detail = fmt::format("queue {}: needs {} dwords, {} are there", hqd.id(), need_dw, source.available_dw);
    if (!source.ring || need_dw > source.size_dw) {
        stop(hqd, Fault::ShortPacket, detail);
        return Fetch::Stopped;
    }
    if (hqd.pm4.short_packet_at != source.next_dw) {
        hqd.pm4.short_packet_at = source.next_dw;
        report(env_, Fault::ShortPacket, detail + "; waiting for the rest");
    }
    return Fetch::Incomplete;
}

Pm4Processor::Fetch Pm4Processor::fetch(Hqd& hqd, const Source& source, pm4::Packet& packet) {
    if (source.available_dw == 0) return Fetch::Empty;
    uint32_t header = 0;
    if (!read_words(source, source.next_dw, &header, 1)) return unreadable(hqd, source, source.next_dw);
    const Frame<pm4::PacketInfo> frame = pm4::frame(header, pm4::sender(hqd), source.available_dw);
    if (frame.fault == Fault::ShortPacket) return fetch_incomplete(hqd, source, frame.dwords);
    if (frame.fault == Fault::PacketType) {
        stop(hqd, frame.fault, fmt::format("queue {}: header {:#010x}", hqd.id(), header));
        return Fetch::Stopped;
    }
    if (!frame.whole()) {
        const char* const why = frame.row ? " is not for this kind of queue" : "";
        stop(hqd, frame.fault, fmt::format("queue {}: {:#04x}{}", hqd.id(), pm4::opcode(header), why));
        return Fetch::Stopped;
    }
    const auto body = static_cast<uint32_t>(frame.dwords - 1);
    if (!read_words(source, source.next_dw + 1, body_.data(), body)) return unreadable(hqd, source, source.next_dw + 1);
    packet = {frame.row->opcode, {body_.data(), body}};
    return Fetch::Ready;
}

void Pm4Processor::advance(Hqd& hqd, uint64_t dwords) {
    if (hqd.pm4.ib_stack.empty()) {
        hqd.rptr_dw += dwords;
    } else {
        hqd.pm4.ib_stack.back().next_dw += static_cast<uint32_t>(dwords);
    }
}

/// Jump over dwords of the current ring or buffer without looking at them.
void Pm4Processor::skip(Hqd& hqd, uint32_t dwords) {
    if (hqd.pm4.ib_stack.empty()) {
        hqd.pm4.drop_dwords = dwords;
        return;
    }
    IndirectBuffer& ib = hqd.pm4.ib_stack.back();
    ib.next_dw += std::min(dwords, ib.size_dw - ib.next_dw);
}

PacketResult Pm4Processor::execute(Hqd& hqd, const pm4::Packet& packet) {
    const uint8_t row = pm4::kRowOfOpcode[packet.opcode];
    const pm4::PacketInfo& info = pm4::kPackets[row];
    const uint64_t position = source(hqd).next_dw;
    const bool in_ring = hqd.pm4.ib_stack.empty();
    if (in_ring) hqd.pm4.chained = 0;
    // Handlers see the position behind their packet, so that a call returns to it.
    advance(hqd, packet.dwords());
    PacketResult result = PacketResult::Done;
    if (pm4::fits(info, packet.body.size())) {
        result = kHandlers[row](*this, hqd, packet);
    } else {
        result = bad_field(hqd, packet, fmt::format("{} dwords", packet.body.size()));
    }
    if (result == PacketResult::Done) {
        hqd.pm4.packet_progress = 0;
        env_.stats.add(Stat::pm4_packets);
        if (hqd.vmid() != 0) env_.stats.add(Stat::user_pm4_packets);
        env_.clock.owe(env_.timing.packet_ns);
        if (env_.tracer.on()) {
            emit<event::packet>(env_.tracer, env_.now_ns(), hqd.id(), 0u, packet.opcode, position);
        }
        note_packet(env_, [&] { return packet_text(packet, pm4::sender(hqd)); });
        return result;
    }
    // A packet can take its own queue down (a dequeue by register write); then there is no position to go back to.
    if (hqd.active()) {
        if (in_ring) {
            hqd.rptr_dw = position;
        } else if (!hqd.pm4.ib_stack.empty()) {
            hqd.pm4.ib_stack.back().next_dw = static_cast<uint32_t>(position);
        }
    }
    return result;
}

/// Next packets of the buffers, and of the ring when ring_too.
RunState Pm4Processor::step_packets(Hqd& hqd, unsigned max_packets, bool ring_too) {
    bool progress = false;
    for (unsigned n = 0; n < max_packets; ++n) {
        if (hqd.state != HqdState::Active && !(hqd.state == HqdState::Draining && !ring_too)) break;
        while (!hqd.pm4.ib_stack.empty() && hqd.pm4.ib_stack.back().next_dw >= hqd.pm4.ib_stack.back().size_dw) {
            hqd.pm4.ib_stack.pop_back();
            progress = true;
        }
        if (hqd.pm4.ib_stack.empty()) {
            if (!ring_too) break;
            if (hqd.pm4.drop_dwords > 0) {
                const auto dropped = static_cast<uint32_t>(std::min<uint64_t>(hqd.pm4.drop_dwords, source(hqd).available_dw));
                hqd.rptr_dw += dropped;
                hqd.pm4.drop_dwords -= dropped;
                progress |= dropped > 0;
                if (hqd.pm4.drop_dwords > 0) break;
            }
        }
        pm4::Packet packet;
        const Fetch fetched = fetch(hqd, source(hqd), packet);
        if (fetched != Fetch::Ready) break;
        const PacketResult result = execute(hqd, packet);
        if (result == PacketResult::Retry) return progress ? RunState::Busy : RunState::Polling;
        progress = true;
        if (result == PacketResult::More) break;
    }
    return progress ? RunState::Busy : RunState::Idle;
}

RunState Pm4Processor::step(Hqd& hqd, unsigned max_packets) {
    const bool retired = retire_dispatches(hqd);
    const RunState state = step_packets(hqd, max_packets, true);
    report_rptr(hqd);
    return retired ? RunState::Busy : state;
}

RunState Pm4Processor::step_ib(Hqd& hqd) {
    constexpr unsigned kPackets = 16;
    const bool retired = retire_dispatches(hqd);
    RunState state = step_packets(hqd, env_.clock.on() ? 1 : kPackets, false);
    if (retired) state = RunState::Busy;
    if (state == RunState::Idle && !drained(hqd) && hqd.state != HqdState::Stopped) state = RunState::Polling;
    return state;
}

/// The ring position as software reads it: 32-bit dword offset, wrapped. Not moved past a packet whose buffers still run.
void Pm4Processor::report_rptr(Hqd& hqd) {
    if (hqd.rptr_dw == hqd.pm4.reported_dw || !hqd.pm4.ib_stack.empty() || !hqd.active()) return;
    hqd.pm4.reported_dw = hqd.rptr_dw;
    if (field::CP_HQD_PQ_CONTROL::NO_UPDATE_RPTR::get(hqd.regs[hqd_reg::CP_HQD_PQ_CONTROL])) return;
    const uint64_t address = hqd.rptr_report_address() & ~uint64_t{3};
    if (address == 0) return;
    const auto wrapped = static_cast<uint32_t>(hqd.rptr_dw & (hqd.ring_dwords() - 1));
    memory_.write(hqd.vmid(), address, &wrapped, sizeof wrapped);
}

bool Pm4Processor::retire_dispatches(Hqd& hqd) {
    if (hqd.pm4.dispatches.empty() && hqd.pm4.end_of_pipe.empty()) return false;
    std::erase_if(hqd.pm4.dispatches, [&](uint64_t id) { return dispatcher_.complete(id); });
    bool ran = false;
    while (!hqd.pm4.end_of_pipe.empty()) {
        EndOfPipe& first = hqd.pm4.end_of_pipe.front();
        if (!hqd.pm4.dispatches.empty() && hqd.pm4.dispatches.front() <= first.after_dispatch) break;
        if (writes_back(first)) break;
        const EndOfPipe action = first;
        hqd.pm4.end_of_pipe.pop_front();
        end_of_pipe(hqd, action);
        ran = true;
    }
    return ran;
}

void Pm4Processor::forget(Hqd& hqd) {
    hqd.pm4.dispatches.clear();
    hqd.pm4.end_of_pipe.clear();
    hqd.pm4.packet_progress = 0;
}

uint32_t Pm4Processor::vmid(const Hqd& hqd) const {
    return hqd.pm4.ib_stack.empty() ? hqd.vmid() : hqd.pm4.ib_stack.back().vmid;
}

/// Kernel rings and kernel buffers (VMID 0) may touch registers; a user's buffer on a kernel ring may not.
bool Pm4Processor::privileged(const Hqd& hqd) const { return hqd.kind != QueueKind::User && vmid(hqd) == 0; }

PacketResult Pm4Processor::privilege_fault(Hqd& hqd, const pm4::Packet& packet, uint32_t reg) {
    report(env_, Fault::PrivilegedRegister,
           fmt::format("queue {}: {} of register dword {:#x}", hqd.id(), pm4::info(packet.opcode)->name, reg));
    interrupt(hqd, ih_source::kCpPrivReg, vmid(hqd), 0);
    return PacketResult::Done;
}

PacketResult Pm4Processor::bad_field(Hqd& hqd, const pm4::Packet& packet, std::string_view what) {
    report(env_, Fault::PacketField, fmt::format("queue {}: {}: {}", hqd.id(), pm4::info(packet.opcode)->name, what));
    return PacketResult::Done;
}

PacketResult Pm4Processor::todo(Hqd& hqd, const pm4::Packet& packet, std::string_view what) {
    report(env_, Fault::TodoPacket, fmt::format("queue {}: {}: {}", hqd.id(), pm4::info(packet.opcode)->name, what));
    return PacketResult::Done;
}

/// @source Linux 6.12 gfx_v9_0_eop_irq(): ring_id = pipe 1:0, me 3:2, queue 6:4
void Pm4Processor::interrupt(const Hqd& hqd, uint8_t source, uint32_t vmid, uint32_t context_id) {
    Interrupt vector;
    vector.client = ih_client::kGrbmCp;
    vector.source = source;
    vector.ring_id = static_cast<uint8_t>(hqd.pipe | hqd.me << 2 | hqd.queue << 4);
    vector.vmid = static_cast<uint8_t>(vmid);
    vector.pasid = hqd.mapped_by_hws && vmid == hqd.vmid() ? hqd.pasid : bus_.vmid_state(vmid).pasid;
    vector.data[0] = context_id;
    bus_.interrupt(vector);
}

PacketResult Pm4Processor::stop(Hqd& hqd, Fault fault, std::string_view detail) {
    report(env_, fault, detail);
    const uint32_t context = (hqd.doorbell_bytes() / 8 & 0x3ff) | pm4::exception_of(fault) << 10;
    interrupt(hqd, ih_source::kCpBadOpcode, vmid(hqd), hqd.kind == QueueKind::User ? context : 0);
    hqd.regs[hqd_reg::CP_HQD_ERROR] |= kErrorPacket;
    hqd.pm4.ib_stack.clear();
    hqd.pm4.packet_progress = 0;
    if (hqd.active()) hqd.state = HqdState::Stopped;
    return PacketResult::Stop;
}

}  // namespace lyra
