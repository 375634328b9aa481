// SPDX-License-Identifier: MIT
// The ring of an AQL queue: doorbell, fetch, order, completion, retirement, errors; step 4 of the data flow.
#include "cp-firmware-model/mec/aql.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cp-firmware-model/mec/aql_ring.h"
#include "cp-firmware-model/packets/text.h"
#include "cp-firmware-model/queue/flight.h"

namespace lyra {

namespace {

/// Packets between fetch and retirement. A guest could otherwise fill memory with packets that are done behind one that is not.
/// A context save has a bit for each.
constexpr size_t kMaxInFlight = flight::kMaxPackets;
namespace ib_control = field::CP_HQD_IB_CONTROL;

template <class T>
Fault store(MemoryPort& port, uint32_t vmid, uint64_t address, T value) {
    uint8_t* p = address % sizeof(T) == 0 ? port.page(vmid, address, Access::Write) : nullptr;
    if (p == nullptr) return port.write(vmid, address, &value, sizeof value);
    __atomic_store_n(reinterpret_cast<T*>(p), value, __ATOMIC_RELEASE);
    return Fault::None;
}

}  // namespace

AqlProcessor::AqlProcessor(Env& env, CpBus& bus, Dispatcher& dispatcher, IbRunner& ib_runner)
    : env_(env), bus_(bus), dispatcher_(dispatcher), ib_runner_(ib_runner), signals_(env, bus) {}

SignalOwner AqlProcessor::owner(const Hqd& hqd) {
    SignalOwner o;
    o.vmid = hqd.vmid();
    o.ring_id = static_cast<uint8_t>(hqd.pipe | hqd.me << 2 | hqd.queue << 4);
    o.pasid = hqd.pasid != 0 ? hqd.pasid : bus_.vmid_state(o.vmid).pasid;
    return o;
}

void AqlProcessor::doorbell(Hqd& hqd, uint64_t value) {
    AqlState& st = hqd.aql;
    // Producers ring out of order, and one that rings a lower index may have published the head.
    hqd.aql.head_examined_empty = false;
    if (value >= aql::retire_index(hqd) + aql::ring_packets(hqd)) {
        report(env_, Fault::WritePointer, fmt::format("AQL doorbell {:#x} of queue {}", value, hqd.id()));
        if (value == ~uint64_t{0}) return;
    }
    st.write_index = std::max(st.write_index, value + 1);
    hqd.wptr_dw = st.write_index * aql::kPacketDwords;
    hqd.regs[hqd_reg::CP_HQD_PQ_WPTR_LO] = lo32(hqd.wptr_dw);
    hqd.regs[hqd_reg::CP_HQD_PQ_WPTR_HI] = hi32(hqd.wptr_dw);
}

RunState AqlProcessor::step(Hqd& hqd, unsigned max_packets) {
    if (hqd.state == HqdState::Idle) return RunState::Idle;
    const bool completed = poll_completions(hqd);
    retire(hqd);
    if (hqd.state != HqdState::Stopped && still_halted(hqd)) {
        return hqd.state == HqdState::Stopped ? RunState::Busy : RunState::Polling;
    }
    unsigned done = 0;
    Step last = Step::Next;
    while (last == Step::Next && done < max_packets && hqd.state != HqdState::Stopped) {
        last = step_head(hqd);
        done += last == Step::Next;
    }
    // A started dispatch or a stored signal is something for others to look at, even if this queue now waits.
    if (done != 0 || completed) return RunState::Busy;
    return last == Step::Poll ? RunState::Polling : RunState::Idle;
}

/// queue_inactive_signal keeps the queue waiting until the runtime has stored 0.
bool AqlProcessor::still_halted(Hqd& hqd) {
    if (hqd.aql.halted_on_signal == 0) return false;
    const Result<int64_t> value = signals_.load(hqd.vmid(), hqd.aql.halted_on_signal);
    if (!value) {
        signal_error(hqd, value.fault(), "queue_inactive_signal");
        return true;
    }
    if (*value != 0) return true;
    AqlState& st = hqd.aql;
    if (st.once_waiting) {
        // The runtime stores 0 first and takes USE_SCRATCH_ONCE back afterwards.
        AmdQueue queue;
        if (read_queue(hqd, queue) == Fault::None && queue.ok && queue.scratch_once) return true;
        st.once_waiting = false;
    }
    hqd.aql.halted_on_signal = 0;
    return false;
}

AqlProcessor::Step AqlProcessor::step_head(Hqd& hqd) {
    AqlState& st = hqd.aql;
    const bool draining = hqd.state == HqdState::Draining;
    if (draining && !st.ib_started) return Step::Wait;
    if (!st.fetched) {
        const Step fetched = fetch(hqd);
        if (fetched != Step::Next) return fetched;
    }
    if (!st.ib_started) {
        if (st.once_in_flight || hqd.aql.in_flight.size() >= kMaxInFlight) return Step::Wait;
        if (aql::barrier_bit(st.head) && !hqd.aql.in_flight.empty()) return Step::Wait;
        // In order: the packet before must at least have handed out all its work-groups.
        if (!hqd.aql.in_flight.empty() && !dispatcher_.launched(hqd.aql.in_flight.back().dispatch)) return Step::Wait;
        if (st.head_start_ts == 0) st.head_start_ts = gpu_clock(env_);
    }
    return execute(hqd);
}

AqlProcessor::Step AqlProcessor::fetch(Hqd& hqd) {
    AqlState& st = hqd.aql;
    const uint64_t packets = aql::ring_packets(hqd);
    const uint64_t index = hqd.aql.fetch_index;
    // Slots that are not retired hold packets which have run already.
    if (hqd.aql.head_examined_empty || index >= st.write_index || index - aql::retire_index(hqd) >= packets) {
        return packets == 0 && index < st.write_index ? memory_error(hqd, aql::hqd_error::kRing, "ring without room")
                                                      : Step::Wait;
    }
    const uint64_t address = aql::packet_address(hqd, index);
    const uint32_t vmid = hqd.vmid();
    MemoryPort& port = bus_.gfxhub();
    uint16_t header = 0;
    if (const uint8_t* p = port.page(vmid, address, Access::Read)) {
        header = __atomic_load_n(reinterpret_cast<const uint16_t*>(p), __ATOMIC_ACQUIRE);
    } else if (port.read(vmid, address, &header, sizeof header) != Fault::None) {
        return memory_error(hqd, aql::hqd_error::kRing, "packet header");
    }
    if (aql::type(header) == aql::Type::Invalid) {
        hqd.aql.head_examined_empty = true;
        return Step::Wait;
    }
    if (port.read(vmid, address, st.head.bytes.data(), st.head.bytes.size()) != Fault::None) {
        return memory_error(hqd, aql::hqd_error::kRing, "packet");
    }
    std::memcpy(st.head.bytes.data(), &header, sizeof header);
    st.fetched = true;
    st.head_start_ts = 0;
    env_.stats.add(Stat::aql_packets);
    env_.clock.owe(env_.timing.packet_ns);
    emit<event::packet>(env_.tracer, env_.now_ns(), hqd.id(), 1, aql::type(header), index);
    note_packet(env_, [&] { return packet_text(st.head); });
    return Step::Next;
}

AqlProcessor::Step AqlProcessor::execute(Hqd& hqd) {
    const AqlPacket& head = hqd.aql.head;
    switch (aql::type(head)) {
        case aql::Type::KernelDispatch: return kernel_dispatch(hqd);
        case aql::Type::BarrierAnd: return barrier(hqd, true);
        case aql::Type::BarrierOr: return barrier(hqd, false);
        case aql::Type::VendorSpecific: break;
        default: return fail(hqd, Fault::AqlInvalidPacket, fmt::format("type {}", static_cast<unsigned>(aql::type(head))));
    }
    switch (static_cast<aql::Vendor>(aql::any::vendor_format(head))) {
        case aql::Vendor::Pm4Ib: return pm4_ib(hqd);
        case aql::Vendor::BarrierValue: return barrier_value(hqd);
    }
    return fail(hqd, Fault::AqlVendorPacket, fmt::format("format {}", aql::any::vendor_format(head)));
}

AqlProcessor::Step AqlProcessor::advance(Hqd& hqd, const AqlInFlight& packet) {
    AqlState& st = hqd.aql;
    hqd.aql.in_flight.push_back(packet);
    ++hqd.aql.fetch_index;
    st.fetched = false;
    st.ib_started = false;
    st.ib_polling = false;
    return Step::Next;
}

/// The head packet has done its work and leaves nothing running.
AqlProcessor::Step AqlProcessor::finish_head(Hqd& hqd) {
    const AqlState& st = hqd.aql;
    AqlInFlight packet;
    packet.index = hqd.aql.fetch_index;
    packet.completion_signal = aql::any::completion_signal(st.head);
    packet.start_ts = st.head_start_ts;
    packet.done = true;
    packet.write_back = releases_to_system(st.head);
    acquire(st.head);
    if (packet.write_back) env_.clock.owe(env_.timing.l2_writeback_ns);
    advance(hqd, packet);
    complete(hqd, packet);
    retire(hqd);
    return hqd.state == HqdState::Stopped ? Step::Stop : Step::Next;
}

bool AqlProcessor::poll_completions(Hqd& hqd) {
    bool any = false;
    for (AqlInFlight& packet : hqd.aql.in_flight) {
        if (packet.done || !dispatcher_.complete(packet.dispatch)) continue;
        packet.done = any = true;
        complete(hqd, packet);
    }
    return any;
}

bool AqlProcessor::releases_to_system(const AqlPacket& p) {
    return aql::header_field::ReleaseScope::get(aql::any::header(p)) == aql::kScopeSystem;
}

uint64_t AqlProcessor::release_ns(const AqlPacket& p) const { return releases_to_system(p) ? env_.timing.l2_writeback_ns : 0; }

/// The L2 is where all waves of the chip meet, so only a fence with the rest of the system touches it. The L1 caches are not
/// modelled.
void AqlProcessor::acquire(const AqlPacket& p) {
    if (aql::header_field::AcquireScope::get(aql::any::header(p)) != aql::kScopeSystem) return;
    env_.clock.owe(env_.timing.l2_invalidate_ns);
    bus_.invalidate_l2();
}

void AqlProcessor::complete(Hqd& hqd, const AqlInFlight& packet) {
    if (packet.write_back) bus_.write_back_l2();
    if (packet.completion_signal != 0) {
        const Fault fault = signals_.complete(owner(hqd), packet.completion_signal, packet.start_ts, gpu_clock(env_));
        if (fault != Fault::None) signal_error(hqd, fault, "completion signal");
    }
    const AqlState& st = hqd.aql;
    if (st.once_in_flight && st.once_index == packet.index) release_scratch_once(hqd);
}

/// A dispatch with USE_SCRATCH_ONCE is over: the runtime takes the scratch back before anything else starts.
void AqlProcessor::release_scratch_once(Hqd& hqd) {
    AqlState& st = hqd.aql;
    st.once_in_flight = false;
    AmdQueue queue;
    if (read_queue(hqd, queue) != Fault::None || queue.inactive_signal == 0) return;
    const Fault fault = signals_.store(owner(hqd), queue.inactive_signal, aql::kScratchReclaim);
    if (fault != Fault::None) {
        signal_error(hqd, fault, "queue_inactive_signal");
        return;
    }
    hqd.aql.halted_on_signal = queue.inactive_signal;
    st.once_waiting = true;
}

/// Give slots back in order: first every header, then the index.
void AqlProcessor::retire(Hqd& hqd) {
    if (hqd.aql.in_flight.empty() || !hqd.aql.in_flight.front().done) return;
    MemoryPort& port = bus_.gfxhub();
    const uint32_t vmid = hqd.vmid();
    const auto invalid = static_cast<uint16_t>(aql::Type::Invalid);
    while (!hqd.aql.in_flight.empty() && hqd.aql.in_flight.front().done) {
        const uint64_t address = aql::packet_address(hqd, hqd.aql.in_flight.front().index);
        hqd.aql.in_flight.pop_front();
        if (store(port, vmid, address, invalid) != Fault::None) memory_error(hqd, aql::hqd_error::kRing, "packet header");
    }
    const uint64_t index = aql::retire_index(hqd);
    hqd.rptr_dw = index * aql::kPacketDwords;
    hqd.regs[hqd_reg::CP_HQD_PQ_RPTR] = static_cast<uint32_t>(hqd.rptr_dw & (hqd.ring_dwords() - 1));
    if (hqd.rptr_report_address() != 0 && store(port, vmid, hqd.rptr_report_address(), index) != Fault::None) {
        memory_error(hqd, aql::hqd_error::kReadPointer, "read_dispatch_id");
    }
}

AqlProcessor::Step AqlProcessor::fail(Hqd& hqd, Fault fault, std::string_view detail) {
    report(env_, fault, fmt::format("{}, packet {:#x} of queue {}", detail, hqd.aql.fetch_index, hqd.id()));
    hqd.regs[hqd_reg::CP_HQD_ERROR] |= aql::hqd_error::kAql;
    hqd.state = HqdState::Stopped;
    const aql::ErrorInfo* info = aql::error_info(fault);
    if (info == nullptr) return Step::Stop;
    AmdQueue queue;
    if (read_queue(hqd, queue) == Fault::None && queue.ok && queue.inactive_signal != 0) {
        const Fault stored = signals_.store(owner(hqd), queue.inactive_signal, info->code);
        if (stored != Fault::None) hqd.regs[hqd_reg::CP_HQD_ERROR] |= aql::hqd_error::kSignal;
    }
    if (info->exception == 0) return Step::Stop;
    const SignalOwner o = owner(hqd);
    Interrupt interrupt;
    interrupt.client = ih_client::kGrbmCp;
    interrupt.source = ih_source::kCpBadOpcode;
    interrupt.ring_id = o.ring_id;
    interrupt.vmid = static_cast<uint8_t>(o.vmid);
    interrupt.pasid = o.pasid;
    interrupt.data[0] = ((hqd.doorbell_bytes() / 8) & 0x3ff) | info->exception << 10;
    bus_.interrupt(interrupt);
    return Step::Stop;
}

AqlProcessor::Step AqlProcessor::memory_error(Hqd& hqd, uint32_t hqd_error_bit, std::string_view detail) {
    report(env_, Fault::RingUnreadable, fmt::format("{} of AQL queue {}, packet {:#x}", detail, hqd.id(), hqd.aql.fetch_index));
    hqd.regs[hqd_reg::CP_HQD_ERROR] |= hqd_error_bit;
    hqd.state = HqdState::Stopped;
    return Step::Stop;
}

AqlProcessor::Step AqlProcessor::signal_error(Hqd& hqd, Fault fault, std::string_view detail) {
    if (fault == Fault::PacketField) return fail(hqd, Fault::AqlInvalidPacket, detail);
    return memory_error(hqd, aql::hqd_error::kSignal, detail);
}

Fault AqlProcessor::read_queue(const Hqd& hqd, AmdQueue& queue) {
    AmdQueueTail tail;
    const uint64_t address = hqd.rptr_report_address();
    const Fault fault = bus_.gfxhub().read(hqd.vmid(), address, tail.bytes.data(), tail.bytes.size());
    if (fault != Fault::None) return fault;
    queue = {};
    const uint32_t offset = amd_queue::base_byte_offset(tail);
    queue.address = address - offset;
    // A queue that was not made by the runtime has only a read pointer there.
    if (offset != amd_queue::kReadDispatchIdOffset) return Fault::None;
    queue.ok = true;
    queue.tmpring_size = amd_queue::compute_tmpring_size(tail);
    queue.scratch_descriptor = {amd_queue::scratch_resource_descriptor_0(tail), amd_queue::scratch_resource_descriptor_1(tail),
                                amd_queue::scratch_resource_descriptor_2(tail), amd_queue::scratch_resource_descriptor_3(tail)};
    queue.scratch_base = amd_queue::scratch_backing_memory_location(tail);
    queue.scratch_lane_bytes = amd_queue::scratch_wave64_lane_byte_size(tail);
    queue.scratch_once = amd_queue::UseScratchOnce::get(amd_queue::queue_properties(tail));
    queue.inactive_signal = amd_queue::queue_inactive_signal(tail);
    return Fault::None;
}

void AqlProcessor::load(Hqd& hqd) {
    AqlState& st = hqd.aql;
    st = {};
    hqd.aql.fetch_index = make64(hqd.compute[mqd::cp_mqd_readindex_lo], hqd.compute[mqd::cp_mqd_readindex_hi]);
    hqd.rptr_dw = hqd.aql.fetch_index * aql::kPacketDwords;
    hqd.save.flight_lost = !resume_flight(hqd);
    // Doorbells rung while the queue had no slot are lost: the write index in memory stands for them.
    uint64_t write_index = hqd.aql.fetch_index;
    if (hqd.wptr_poll_address() != 0 &&
        bus_.gfxhub().read(hqd.vmid(), hqd.wptr_poll_address(), &write_index, sizeof write_index) != Fault::None) {
        memory_error(hqd, aql::hqd_error::kWritePointer, "write_dispatch_id");
        write_index = hqd.aql.fetch_index;
    }
    st.write_index = std::max(write_index, hqd.aql.fetch_index);
    hqd.wptr_dw = st.write_index * aql::kPacketDwords;
    resume_ib(hqd);
    // A queue that was unmapped while the runtime dealt with its inactive signal goes on waiting for it.
    AmdQueue queue;
    if (bus_.gfxhub().page(hqd.vmid(), hqd.rptr_report_address(), Access::Read) == nullptr) return;
    if (read_queue(hqd, queue) != Fault::None || !queue.ok || queue.inactive_signal == 0) return;
    if (bus_.gfxhub().page(hqd.vmid(), queue.inactive_signal, Access::Read) == nullptr) return;
    const Result<int64_t> value = signals_.load(hqd.vmid(), queue.inactive_signal);
    if (value && *value != 0) hqd.aql.halted_on_signal = queue.inactive_signal;
}

/// An indirect buffer that was given up half way goes on where it was.
void AqlProcessor::resume_ib(Hqd& hqd) {
    uint32_t& control = hqd.regs[hqd_reg::CP_HQD_IB_CONTROL];
    if (!ib_control::PROCESSING_IB::get(control)) return;
    IndirectBuffer ib;
    ib.base = make64(hqd.regs[hqd_reg::CP_HQD_IB_BASE_ADDR],
                     field::CP_HQD_IB_BASE_ADDR_HI::IB_BASE_ADDR_HI::get(hqd.regs[hqd_reg::CP_HQD_IB_BASE_ADDR_HI]));
    ib.size_dw = ib_control::IB_SIZE::get(control);
    ib.next_dw = std::min(hqd.regs[hqd_reg::CP_HQD_IB_RPTR], ib.size_dw);
    ib.vmid = hqd.vmid();
    control = ib_control::PROCESSING_IB::set(ib_control::IB_SIZE::set(control, 0), 0);
    AqlState& st = hqd.aql;
    if (fetch(hqd) != Step::Next || aql::type(st.head) != aql::Type::VendorSpecific) return;
    hqd.pm4.ib_stack.assign(1, ib);
    st.ib_started = true;
}

void AqlProcessor::save(Hqd& hqd) {
    AqlState& st = hqd.aql;
    const uint64_t index = aql::retire_index(hqd);
    hqd.compute[mqd::cp_mqd_readindex_lo] = lo32(index);
    hqd.compute[mqd::cp_mqd_readindex_hi] = hi32(index);
    hqd.rptr_dw = index * aql::kPacketDwords;
    hqd.regs[hqd_reg::CP_HQD_PQ_RPTR] = static_cast<uint32_t>(hqd.rptr_dw & (hqd.ring_dwords() - 1));
    // Nested buffers have no place in the registers: such a packet starts again from its beginning.
    if (st.ib_started && hqd.pm4.ib_stack.size() == 1) {
        const IndirectBuffer& ib = hqd.pm4.ib_stack.front();
        hqd.regs[hqd_reg::CP_HQD_IB_BASE_ADDR] = lo32(ib.base);
        hqd.regs[hqd_reg::CP_HQD_IB_BASE_ADDR_HI] = hi32(ib.base);
        hqd.regs[hqd_reg::CP_HQD_IB_RPTR] = ib.next_dw;
        hqd.regs[hqd_reg::CP_HQD_IB_CONTROL] |= ib_control::PROCESSING_IB::kMask | ib_control::IB_SIZE::of(ib.size_dw);
    }
    hqd.pm4.ib_stack.clear();
    st = {};
}

bool AqlProcessor::savable(const Hqd& hqd) const {
    const AqlState& st = hqd.aql;
    const bool ib_at_rest = !st.ib_started || st.ib_polling || hqd.state == HqdState::Stopped;
    return ib_at_rest && hqd.pm4.dispatches.empty() && hqd.pm4.end_of_pipe.empty();
}

bool AqlProcessor::drained(const Hqd& hqd) const {
    const AqlState& st = hqd.aql;
    const bool ib_at_rest = !st.ib_started || st.ib_polling || hqd.state == HqdState::Stopped;
    return hqd.aql.in_flight.empty() && hqd.pm4.dispatches.empty() && ib_at_rest;
}

}  // namespace lyra
