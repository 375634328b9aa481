// SPDX-License-Identifier: MIT
// What an SDMA engine has to remember: registers, rings, and the packet that each is busy with.
#include "cp-firmware-model/sdma/engine_impl.h"

namespace lyra {

namespace sdma {

/// The packet as it was checked.
void Active::visit(StateVisitor& v) {
    v("row", number, kNone);
    v("words", words);
    v("total_dw", total_dw);
    v("done", done);
    v("left", left);
    v("started", started);
    v("waiting", waiting);
    v("tries", tries);
    v("next_try", next_try);
    if (!v.loads()) return;
    if (v.ok() && row() != nullptr) {
        const Frame<Packet> checked = frame(words, ~uint64_t{0});
        v.require(checked.row == row() && total_dw == checked.dwords, "a packet of another kind");
    }
    if (!v.ok()) number = kNone;
}

void IbState::visit(StateVisitor& v) {
    v("active", active);
    v("base", base);
    v("size_dw", size_dw);
    v("next_dw", next_dw);
    v("vmid", vmid, kVmids - 1);
    v.require(next_dw <= size_dw || !v.loads(), "a position behind its buffer");
}

void Ring::visit(StateVisitor& v) {
    v("regs", regs);
    v("rptr", rptr);
    v("wptr", wptr);
    v("wptr_from_memory", wptr_from_memory);
    v("ib", ib);
    v("skip_dw", skip_dw);
    v("packet", packet);
    v("stopped", stopped);
    v("draining", draining);
    v("rptr_dirty", rptr_dirty);
    v("writeback_failed", writeback_failed);
    v("gap_reported", gap_reported);
    v("mapped", mapped);
    v("mqd", mqd);
    v("pasid", pasid);
    v("epoch", epoch);
}

}  // namespace sdma

void SdmaEngine::Impl::visit(StateVisitor& v) {
    v("regs", regs);
    v.fixed("rings", rings);
    v("first_ring", first_ring, rings.size() - 1);
    v("next_run_ns", next_run_ns);
    v("timestamp_offset", timestamp_offset);
}

void SdmaEngine::visit(StateVisitor& v) { impl_->visit(v); }

}  // namespace lyra
