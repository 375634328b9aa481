// SPDX-License-Identifier: MIT
// PM4 packets that decide what runs next: indirect buffers, predication, scheduler packets; step 4 of the data flow.
#include <fmt/format.h>

#include "cp-firmware-model/mec/pm4_handlers.h"

namespace lyra {

namespace {

/// Chained buffers per ring packet. Drivers chain a few hundred; a chain that closes on itself never ends.
constexpr uint32_t kMaxChained = 65536;

}  // namespace

PacketResult Pm4Handlers::no_effect(P&, Hqd&, const Packet&) { return PacketResult::Done; }

PacketResult Pm4Handlers::todo(P& p, Hqd& hqd, const Packet& packet) { return p.todo(hqd, packet, "not modelled"); }

/// Skip so many dwords when the value is 0. @source Linux 6.12 gfx_v9_0_ring_emit_init_cond_exec()
PacketResult Pm4Handlers::cond_exec(P& p, Hqd& hqd, const Packet& packet) {
    uint32_t value = 0;
    const uint64_t address = pm4::COND_EXEC::addr(packet) & ~uint64_t{3};
    if (p.memory_.read(p.vmid(hqd), address, &value, sizeof value) != Fault::None) return PacketResult::Done;
    if (value == 0) p.skip(hqd, pm4::COND_EXEC::exec_count(packet));
    return PacketResult::Done;
}

/// This chip is device 0 of its group.
PacketResult Pm4Handlers::pred_exec(P& p, Hqd& hqd, const Packet& packet) {
    if (!bit(pm4::PRED_EXEC::device_select(packet), 0)) p.skip(hqd, pm4::PRED_EXEC::exec_count(packet));
    return PacketResult::Done;
}

/// @source Linux 6.12 kfd_pm4_headers_ai.h,
/// gfx_v9_0_ring_emit_ib_compute()
PacketResult Pm4Handlers::indirect_buffer(P& p, Hqd& hqd, const Packet& packet) {
    namespace f = pm4::INDIRECT_BUFFER;
    IndirectBuffer ib;
    ib.base = f::ib_base(packet) & ~uint64_t{3};
    ib.size_dw = f::ib_size(packet);
    // Only a kernel ring chooses the address space; a buffer cannot leave the one it runs in.
    const bool may_choose = hqd.pm4.ib_stack.empty() && hqd.kind != QueueKind::User;
    ib.vmid = may_choose ? f::vmid(packet) : p.vmid(hqd);
    if (ib.size_dw == 0) return PacketResult::Done;
    if (f::chain(packet) != 0 && !hqd.pm4.ib_stack.empty()) {
        if (++hqd.pm4.chained > kMaxChained) {
            return p.stop(hqd, Fault::IndirectDepth, fmt::format("queue {}: {} buffers chained", hqd.id(), kMaxChained));
        }
        hqd.pm4.ib_stack.back() = ib;
        return PacketResult::Done;
    }
    if (hqd.pm4.ib_stack.size() >= kMaxIndirectBuffers) {
        return p.stop(hqd, Fault::IndirectDepth, fmt::format("queue {}: {} levels", hqd.id(), kMaxIndirectBuffers));
    }
    hqd.pm4.ib_stack.push_back(ib);
    return PacketResult::Done;
}

PacketResult Pm4Handlers::scheduler(P& p, Hqd& hqd, const Packet& packet) {
    if (!p.scheduler_) return p.todo(hqd, packet, "no scheduler");
    return p.scheduler_->scheduler_packet(hqd, packet);
}

}  // namespace lyra
