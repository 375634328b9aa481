// SPDX-License-Identifier: MIT
// What a queue slot has to remember, part by part; step 3 of the data flow.
#include "cp-firmware-model/queue/flight.h"
#include "cp-firmware-model/queue/hqd.h"

namespace lyra {

namespace {

constexpr size_t kMaxStackWords = size_t{1} << 20;

}  // namespace

void IndirectBuffer::visit(StateVisitor& v) {
    v("base", base);
    v("size_dw", size_dw);
    v("next_dw", next_dw);
    v("vmid", vmid, kVmids - 1);
    v.require(next_dw <= size_dw || !v.loads(), "a position behind its buffer");
}

void EndOfPipe::visit(StateVisitor& v) {
    v("after_dispatch", after_dispatch);
    v("address", address);
    v("data", data);
    v("vmid", vmid, kVmids - 1);
    v("context_id", context_id);
    v("data_sel", data_sel);
    v("int_sel", int_sel);
    v("write_back", write_back);
    v("invalidate", invalidate);
    v("due_ns", due_ns);
}

void AqlInFlight::visit(StateVisitor& v) {
    v("index", index);
    v("dispatch", dispatch);
    v("completion_signal", completion_signal);
    v("start_ts", start_ts);
    v("done", done);
    v("write_back", write_back);
}

void Pm4State::visit(StateVisitor& v) {
    v.list("ib_stack", ib_stack, kMaxIndirectBuffers);
    v.list("dispatches", dispatches, flight::kMaxDispatches);
    v.list("end_of_pipe", end_of_pipe, flight::kMaxActions);
    v("reported_dw", reported_dw);
    v("drop_dwords", drop_dwords);
    v("indirect_base", indirect_base);
    v("packet_progress", packet_progress);
    v("unmap_deadline_ns", unmap_deadline_ns);
    v("chained", chained);
    v("short_packet_at", short_packet_at);
}

void AqlState::visit(StateVisitor& v) {
    v.list("in_flight", in_flight, flight::kMaxPackets);
    v("fetch_index", fetch_index);
    v("halted_on_signal", halted_on_signal);
    v("head_examined_empty", head_examined_empty);
    v("fetched", fetched);
    v("ib_started", ib_started);
    v("ib_polling", ib_polling);
    v("once_in_flight", once_in_flight);
    v("once_waiting", once_waiting);
    v("once_index", once_index);
    v("head_start_ts", head_start_ts);
    v("write_index", write_index);
    v("head", head.bytes);
}

void QueuePace::visit(StateVisitor& v) {
    v("turn_ns", turn_ns);
    v("dequeue_look_ns", dequeue_look_ns);
}

void QueueSave::Part::visit(StateVisitor& v) {
    v("area", area);
    v.list("stack_words", stack_words, kMaxStackWords);
}

void QueueXccs::visit(StateVisitor& v) {
    v("count", count, kMaxXccs);
    v("stride", stride);
    v("first", first, kMaxXccs - 1);
    v("dealt", dealt);
    v("cu_mask", cu_mask);
    v("reset", reset, (1u << kMaxXccs) - 1);
    v.require(count != 0, "a queue of no XCC");
}

void QueueSave::visit(StateVisitor& v) {
    v("state", state, SaveState::Storing);
    v("after_ns", after_ns);
    v("flight_lost", flight_lost);
    v("restoring", restoring);
    v("parts", parts);
    v("flight", flight);
}

// Not its place, which is that of its slot.
void Hqd::visit(StateVisitor& v) {
    v("state", state, HqdState::Stopped);
    v("kind", kind, QueueKind::User);
    v("regs", regs);
    v("compute", compute);
    v("rptr_dw", rptr_dw);
    v("wptr_dw", wptr_dw);
    v("pasid", pasid);
    v("mapped_by_hws", mapped_by_hws);
    v("is_static", is_static);
    v("gws_base", gws_base, 2 * kHqdGwsWords - 1);  // two resources in a word
    v("gws_size", gws_size, 2 * kHqdGwsWords);
    v("gws", gws);
    v("trap_present", trap_present);
    v("wptr_from_memory", wptr_from_memory);
    v("wptr_poll_once", wptr_poll_once);
    v("dequeue", dequeue, Dequeue::Save);
    v("last", last, RunState::Idle);
    v("pm4", pm4);
    v("aql", aql);
    v("pace", pace);
    v("save", save);
    v("xccs", xccs);
    v.require(save.state == SaveState::Idle || dequeue == Dequeue::Save, "waves are saved of a queue that stays");
}

}  // namespace lyra
