// SPDX-License-Identifier: MIT
// Queue slots of the micro engines: doorbell to write pointer, MQD to slot and back, round robin; steps 3 and 4.
#include "cp-firmware-model/mec/mec.h"

#include <algorithm>

#include <fmt/format.h>

#include "cp-firmware-model/mec/aql_ring.h"
#include "cp-firmware-model/mqd/mqd.h"
#include "cp-firmware-model/queue/hqd_reset.h"
#include "facts/registers.h"

namespace lyra {

namespace {

static_assert(kHqdGwsWords == kGwsWords);
namespace doorbell_control = field::CP_HQD_PQ_DOORBELL_CONTROL;

}  // namespace

Mec::Mec(Env& env, CpBus& bus, Dispatcher& dispatcher)
    : env_(env), bus_(bus), dispatcher_(dispatcher), pm4_(env, bus, dispatcher), aql_(env, bus, dispatcher, pm4_),
      unmap_(env, bus, dispatcher, pm4_, aql_) {
    reset();
}

Hqd& Mec::slot(unsigned me, unsigned pipe, unsigned queue) {
    const unsigned mec = me >= 2 ? 1 : 0;
    return slots_[(mec * kPipesPerMec + (pipe & 3)) * kQueuesPerPipe + (queue & 7)];
}

void Mec::reset() {
    for (unsigned i = 0; i < slots_.size(); ++i) {
        Hqd& hqd = slots_[i];
        hqd = {};
        hqd.me = static_cast<uint8_t>(1 + i / (kPipesPerMec * kQueuesPerPipe));
        hqd.pipe = static_cast<uint8_t>(i / kQueuesPerPipe % kPipesPerMec);
        hqd.queue = static_cast<uint8_t>(i % kQueuesPerPipe);
        hqd.regs = kHqdReset;
    }
    gfx_ = {};
    gfx_.kind = QueueKind::Kernel;
    gfx_.state = HqdState::Active;
    // It has no MQD: the registers' reset values. @source Linux 6.12 gc_9_0_default.h
    for (const unsigned first : {mqd::compute_static_thread_mgmt_se0, mqd::compute_static_thread_mgmt_se2})
        std::fill_n(&gfx_.compute[first], 2, ~0u);
    std::fill_n(&gfx_.compute[mqd::compute_static_thread_mgmt_se4], 4, ~0u);
    halted_ = {true, true, true, true};
    unmap_.reset();
    pipes_ = {};
    weights_ = {};
    first_ = 0;
    pipe_free_ns_ = {};
}

void Mec::restart_gfx() {
    unmap_.kill_waves(gfx_);
    gfx_.rptr_dw = gfx_.wptr_dw = gfx_.pm4.reported_dw = 0;
    gfx_.pm4.ib_stack.clear();
    gfx_.pm4.drop_dwords = 0;
    gfx_.pm4.short_packet_at = ~uint64_t{0};
    gfx_.regs[hqd_reg::CP_HQD_ERROR] = 0;
    gfx_.state = HqdState::Active;
}

void Mec::set_wptr(Hqd& hqd, uint64_t value) {
    // The hardware would run through the ring again and again; nothing useful can be there.
    if (value < hqd.rptr_dw || value - hqd.rptr_dw > hqd.ring_dwords()) {
        report(env_, Fault::WritePointer,
               fmt::format("queue {}: write pointer {:#x}, read pointer {:#x}, ring {:#x} dwords", hqd.id(), value, hqd.rptr_dw,
                           hqd.ring_dwords()));
        return;
    }
    hqd.wptr_dw = value;
}

bool Mec::doorbell(uint32_t byte_offset, uint64_t value) {
    const auto rings = [&](const Hqd& hqd) {
        return hqd.active() && hqd.doorbell_enabled() && hqd.doorbell_bytes() == byte_offset;
    };
    if (rings(gfx_)) {
        set_wptr(gfx_, value);
        rang(gfx_);
        return true;
    }
    for (Hqd& hqd : slots_) {
        if (!rings(hqd)) continue;
        if (hqd.is_aql()) {
            aql_.doorbell(hqd, value);
        } else if (!hqd.wptr_from_memory || value >= hqd.wptr_dw) {
            hqd.wptr_from_memory = false;
            set_wptr(hqd, value);
        }
        rang(hqd);
        return true;
    }
    return false;
}

bool Mec::kernel_doorbell(uint32_t byte_offset) const {
    const auto rings = [&](const Hqd& hqd) { return hqd.active() && hqd.doorbell_bytes() == byte_offset; };
    return rings(gfx_) ||
           std::any_of(slots_.begin(), slots_.end(), [&](const Hqd& h) { return h.kind != QueueKind::User && rings(h); });
}

/// Doorbells are posted: one that was rung before the pointer was written may come after it has been read here. It is older,
/// and nothing is wrong with it.
void Mec::poll_wptr(Hqd& hqd) {
    uint64_t value = 0;
    const uint64_t address = hqd.wptr_poll_address() & ~uint64_t{7};
    if (address == 0 || bus_.gfxhub().read(hqd.vmid(), address, &value, sizeof value) != Fault::None) return;
    // AQL queues count packets there, and hold only the index of a packet that may not have been written yet.
    if (hqd.is_aql()) {
        if (value != 0) aql_.doorbell(hqd, value - 1);
    } else {
        set_wptr(hqd, value);
        hqd.wptr_from_memory = hqd.wptr_dw == value;
    }
}

/// Ring positions from the register image.
void Mec::take_positions(Hqd& hqd) {
    hqd.wptr_dw = make64(hqd.regs[hqd_reg::CP_HQD_PQ_WPTR_LO], hqd.regs[hqd_reg::CP_HQD_PQ_WPTR_HI]);
    if (hqd.is_aql()) {
        aql_.load(hqd);
    } else {
        hqd.rptr_dw = mqd::unwrap_rptr(hqd.regs[hqd_reg::CP_HQD_PQ_RPTR], hqd.wptr_dw, hqd.ring_dwords());
        hqd.pm4.reported_dw = hqd.rptr_dw;
    }
}

Fault Mec::map(Hqd& hqd, const QueueMapping& mapping) {
    forget(hqd);
    hqd.kind = mapping.kind;
    hqd.regs[hqd_reg::CP_HQD_VMID] = field::CP_HQD_VMID::VMID::of(mapping.vmid);
    if (mqd::load(bus_.gfxhub(), hqd, mapping.mqd) != Fault::None) {
        report(env_, Fault::MqdUnreadable, fmt::format("queue {}: {:#x}", hqd.id(), mapping.mqd));
        return Fault::MqdUnreadable;
    }
    hqd.regs[hqd_reg::CP_MQD_BASE_ADDR] = lo32(mapping.mqd);
    hqd.regs[hqd_reg::CP_MQD_BASE_ADDR_HI] = field::CP_MQD_BASE_ADDR_HI::BASE_ADDR_HI::of(hi32(mapping.mqd));
    if (mapping.by_hws && take_xccs(hqd) != Fault::None) {
        report(env_, Fault::MqdUnreadable, fmt::format("queue {}: copies of {:#x}", hqd.id(), mapping.mqd));
        return Fault::MqdUnreadable;
    }
    // The driver leaves the doorbell off in the MQDs of user queues. @source Linux 6.12 kfd_mqd_manager_v9.c update_mqd()
    uint32_t& doorbell = hqd.regs[hqd_reg::CP_HQD_PQ_DOORBELL_CONTROL];
    doorbell = doorbell_control::DOORBELL_OFFSET::set(doorbell, mapping.doorbell_bytes / 4);
    doorbell = doorbell_control::DOORBELL_EN::set(doorbell, 1);
    hqd.regs[hqd_reg::CP_HQD_PQ_WPTR_POLL_ADDR] = lo32(mapping.wptr_address);
    hqd.regs[hqd_reg::CP_HQD_PQ_WPTR_POLL_ADDR_HI] =
        field::CP_HQD_PQ_WPTR_POLL_ADDR_HI::WPTR_ADDR_HI::of(hi32(mapping.wptr_address));
    hqd.regs[hqd_reg::CP_HQD_DEQUEUE_REQUEST] = 0;
    hqd.pasid = mapping.pasid;
    hqd.mapped_by_hws = mapping.by_hws;
    hqd.is_static = mapping.is_static;
    hqd.state = hqd.regs[hqd_reg::CP_HQD_ERROR] ? HqdState::Stopped : HqdState::Active;
    hqd.last = RunState::Busy;
    env_.clock.owe(env_.timing.descriptor_ns);
    if (env_.clock.on()) hqd.pace.turn_ns = env_.clock.ns() + env_.timing.descriptor_ns;
    priority_changed(hqd);
    take_gws(hqd, mapping);
    take_positions(hqd);
    // Doorbells rung while the queue had no slot were dropped; memory has the newest value.
    if (!hqd.is_aql()) poll_wptr(hqd);
    unmap_.saves().resume(hqd);
    env_.stats.add(Stat::queues_mapped);
    if (env_.tracer.on()) {
        emit<event::queue_mapped>(env_.tracer, env_.now_ns(), hqd.id(), hqd.vmid(), hqd.doorbell_bytes(), mapping.mqd);
    }
    return Fault::None;
}

/// What the copies of the descriptor say: which XCC's is which of the grid's groups, and which CUs it may use.
Fault Mec::take_xccs(Hqd& hqd) {
    if (partition_.xccs == 1) return Fault::None;
    QueueXccs& xccs = hqd.xccs;
    xccs.count = partition_.xccs;
    mqd::Image image{};
    for (unsigned xcc = 0; xcc < xccs.count; ++xcc) {
        if (bus_.gfxhub().read(0, hqd.mqd_address(xcc), image.data(), sizeof image) != Fault::None) return Fault::MqdUnreadable;
        if (xcc == 0) xccs.stride = image[mqd::cp_mqd_stride_size];
        const unsigned engines = dispatcher_.shape().shader_engines, first = mqd::compute_static_thread_mgmt_se0;
        constexpr unsigned kMasks[] = {0, 1, mqd::compute_static_thread_mgmt_se2 - mqd::compute_static_thread_mgmt_se0,
                                       mqd::compute_static_thread_mgmt_se3 - mqd::compute_static_thread_mgmt_se0};
        for (unsigned n = 0; n < std::min<size_t>(engines, std::size(kMasks)); ++n)
            xccs.cu_mask[xcc * engines + n] = image[first + kMasks[n]];
        // Group 0 goes to the one whose number is 0.
        if (image[mqd::compute_current_logic_xcc_id] == 0) xccs.first = xcc;
        if (xcc == 0) xccs.dealt = image[mqd::compute_tg_chunk_size] != 0;
    }
    if (!xccs.dealt) xccs.first = image[mqd::pm4_target_xcc_in_xcp] % xccs.count;
    return Fault::None;
}

/// All 64 do not fit into GWS_SIZE and read as 63.
void Mec::take_gws(Hqd& hqd, const QueueMapping& mapping) {
    hqd.gws_base = mapping.gws_base;
    hqd.gws_size = mapping.gws_size;
    namespace gds = field::CP_HQD_GDS_RESOURCE_STATE;
    hqd.regs[hqd_reg::CP_HQD_GDS_RESOURCE_STATE] =
        gds::GWS_SIZE::of(std::min<uint32_t>(hqd.gws_size, 63)) | gds::GWS_PNTR::of(hqd.gws_base);
    if (hqd.gws_size == 0) return;
    const GwsRange range{hqd.gws_base, hqd.gws_size};
    bus_.write_register(regs::GC::GDS_GWS_VMID + hqd.vmid(), range.reg());
    dispatcher_.load_gws(range, hqd.gws);
}

void Mec::activate(Hqd& hqd, QueueKind kind) {
    const auto regs = hqd.regs;
    const bool poll = hqd.wptr_poll_once;
    forget(hqd);
    hqd.regs = regs;
    hqd.regs[hqd_reg::CP_HQD_ERROR] = 0;
    hqd.regs[hqd_reg::CP_HQD_DEQUEUE_REQUEST] = 0;
    hqd.kind = kind;
    if (hqd.mqd_address() != 0 && mqd::load_private(bus_.gfxhub(), hqd, hqd.mqd_address()) != Fault::None) {
        report(env_, Fault::MqdUnreadable, fmt::format("queue {}: {:#x}", hqd.id(), hqd.mqd_address()));
    }
    hqd.state = HqdState::Active;
    priority_changed(hqd);
    take_positions(hqd);
    if (poll) poll_wptr(hqd);
    unmap_.saves().resume(hqd);
    env_.stats.add(Stat::queues_mapped);
    if (env_.tracer.on()) {
        emit<event::queue_mapped>(env_.tracer, env_.now_ns(), hqd.id(), hqd.vmid(), hqd.doorbell_bytes(), hqd.mqd_address());
    }
}

void Mec::trace_queues(Tracer& tracer) {
    for (const Hqd& hqd : slots_) {
        if (!hqd.active()) continue;
        emit<event::queue_mapped>(tracer, env_.now_ns(), hqd.id(), hqd.vmid(), hqd.doorbell_bytes(), hqd.mqd_address());
    }
}

/// Everything but place and registers.
void Mec::forget(Hqd& hqd) {
    Hqd fresh;
    fresh.me = hqd.me;
    fresh.pipe = hqd.pipe;
    fresh.queue = hqd.queue;
    fresh.regs = hqd.regs;
    hqd = fresh;
}

bool Mec::restoring() const {
    for (const Hqd& hqd : slots_) {
        if (hqd.active() && hqd.save.restoring && dispatcher_.waves_live(hqd.id()) != 0) return true;
    }
    return dispatcher_.restoring();
}

void Mec::priority_changed(const Hqd& hqd) { dispatcher_.set_priority(hqd.id(), priority_of(hqd)); }

/// Of the engine that runs the user queues, the launches follow the same weights.
void Mec::set_pipe_weights(unsigned me, const PipeWeights& weights) {
    weights_[me >= 2 ? 1 : 0] = weights;
    if (me < 2) dispatcher_.set_pipe_weights(weights);
}

bool Mec::quantum_runs(const Hqd& hqd) const {
    const bool holds = pipes_[pipe_number(hqd.me, hqd.pipe)].hold.queue == hqd.id();
    return hqd.active() && holds && hqd.last == RunState::Busy && priority_of(hqd).quantum_ns != 0;
}

bool Mec::busy(const Hqd& hqd) const {
    if (!hqd.active()) return false;
    if (hqd.dequeue != Dequeue::None || hqd.save.restoring) return true;
    if (!hqd.pm4.dispatches.empty() || !hqd.pm4.end_of_pipe.empty() || !hqd.aql.in_flight.empty()) return true;
    if (hqd.state == HqdState::Stopped || halted_[hqd.me]) return false;
    const uint64_t fetched_dw = hqd.is_aql() ? hqd.aql.fetch_index * aql::kPacketDwords : hqd.rptr_dw;
    return !hqd.pm4.ib_stack.empty() || (hqd.wptr_dw > fetched_dw && !hqd.aql.head_examined_empty);
}

uint32_t Mec::busy_pipes() const {
    uint32_t pipes = 0;
    for (const Hqd& hqd : slots_) pipes |= uint32_t{busy(hqd)} << pipe_number(hqd.me, hqd.pipe);
    return pipes;
}

RunState Mec::step_queue(Hqd& hqd, unsigned max_packets) {
    if (env_.clock.on()) max_packets = std::min(max_packets, 1u);  // each has its time
    if (!hqd.is_aql()) return pm4_.step(hqd, max_packets);
    return aql_.step(hqd, max_packets);
}

/// Active queues of a pipe, the one that may go first at the front.
Mec::PipeOrder Mec::order_of(unsigned number) {
    PipeOrder order;
    for (unsigned q = 0; q < kQueuesPerPipe; ++q) {
        Hqd& hqd = slots_[number * kQueuesPerPipe + q];
        if (hqd.active()) order.queue[order.count++] = &hqd;
    }
    if (order.count < 2) return order;
    PipeHold& hold = pipes_[number].hold;
    const uint64_t quantum = hold.queue < slots_.size() ? priority_of(slots_[hold.queue]).quantum_ns : 0;
    const bool over = quantum != 0 && env_.now_ns() - hold.since_ns >= quantum;
    const auto before = [&](const Hqd* a, const Hqd* b) {
        const unsigned first = priority_of(*a).queue, second = priority_of(*b).queue;
        return first != second ? first > second : hold.place(a->id(), over) < hold.place(b->id(), over);
    };
    // Insertion sort: of so few std::sort makes the same, but GCC 14 warns of its code for many.
    Hqd** const begin = order.queue.data();
    for (Hqd** at = begin + 1; at != begin + order.count; ++at)
        std::rotate(std::upper_bound(begin, at, *at, before), at, at + 1);
    if (over) hold = {};
    return order;
}

/// A queue that has packets to execute has the pipe: the ones after it only see their work end. One that waits, for memory
/// or for its own waves, does not keep the others from it.
RunState Mec::step_pipe(unsigned number) {
    Pipe& pipe = pipes_[number];
    const unsigned packets = weights_[number / kPipesPerMec].of_pipe_level(pipe.level);
    RunState state = RunState::Idle;
    bool taken = false;
    const PipeOrder order = order_of(number);
    for (unsigned n = 0; n < order.count; ++n) {
        Hqd& hqd = *order.queue[n];
        // A packet of another queue may have taken it down.
        if (!hqd.active() || (halted_[hqd.me] && hqd.dequeue == Dequeue::None) || !due(hqd)) continue;
        if (hqd.dequeue != Dequeue::None) {
            // A dispatch or a store by another agent ends its wait.
            hqd.last = unmap_.look(hqd) ? RunState::Busy : RunState::Polling;
        } else {
            const RunState found = step_queue(hqd, taken ? 0 : packets);
            if (!taken || found == RunState::Busy) hqd.last = found;
            if (hqd.save.restoring) unmap_.saves().watch_restore(hqd);
        }
        state = busier(state, hqd.last);
        if (taken && hqd.dequeue == Dequeue::None) continue;  // its turn is still to come
        took_turn(hqd);
        if (hqd.dequeue != Dequeue::None || hqd.last != RunState::Busy || !hqd.active()) continue;
        taken = true;
        if (pipe.hold.queue != hqd.id()) pipe.hold = {hqd.id(), env_.now_ns()};
    }
    return state;
}

RunState Mec::step() {
    RunState state = RunState::Idle;
    if (!halted_[0] && due(gfx_)) {
        state = busier(state, gfx_.last = step_queue(gfx_, weights_[0].second));
        took_turn(gfx_);
    }
    for (unsigned n = 0; n < pipes_.size(); ++n) state = busier(state, step_pipe((first_ + n) % pipes_.size()));
    first_ = (first_ + 1) % pipes_.size();
    return state;
}

}  // namespace lyra
