// SPDX-License-Identifier: MIT
// DISPATCH_DIRECT and DISPATCH_INDIRECT: the queue's COMPUTE state becomes a grid; steps 4 and 5 of the data flow.
#include <algorithm>

#include <fmt/format.h>

#include "cp-firmware-model/mec/pm4_handlers.h"
#include "cp-firmware-model/mqd/mqd.h"
#include "cp-firmware-model/queue/flight.h"

namespace lyra {

namespace {

/// Grids of one queue in flight. The next dispatch waits for the oldest, as for a free context of the ADC.
constexpr size_t kMaxDispatches = flight::kMaxDispatches;
constexpr uint32_t kNumberMask = 0x1ffffff;  ///< TTMP6 has 25 bits

namespace start = field::COMPUTE_DISPATCH_INITIATOR;
constexpr uint32_t kLdsGranule = same_for_all_chips(&ChipFacts::lds_granule);  ///< bytes per unit of RSRC2.LDS_SIZE

void take_program(DispatchRequest& request, const Hqd& hqd) {
    const auto& compute = hqd.compute;
    const uint64_t entry = make64(compute[mqd::compute_pgm_lo], field::COMPUTE_PGM_HI::DATA::get(compute[mqd::compute_pgm_hi]))
                           << 8;
    request.entry = static_cast<uint64_t>(sign_extend(entry, 48));
    request.rsrc1 = compute[mqd::compute_pgm_rsrc1];
    request.rsrc2 = compute[mqd::compute_pgm_rsrc2];
    request.rsrc3 = compute[mqd::reserved_47];
    std::copy_n(&compute[mqd::compute_user_data_0], request.user_sgprs.size(), request.user_sgprs.begin());
    request.user_sgpr_count = std::min<unsigned>(field::COMPUTE_PGM_RSRC2::USER_SGPR::get(request.rsrc2), 16);
    request.lds_bytes = field::COMPUTE_PGM_RSRC2::LDS_SIZE::get(request.rsrc2) * kLdsGranule;
    request.tmpring_size = compute[mqd::compute_tmpring_size];
}

/// Work-items per dimension from the dimensions of the packet. @return false: more than 2^32
bool take_grid(DispatchRequest& request, const Hqd& hqd, const std::array<uint32_t, 3>& size, uint32_t initiator) {
    for (unsigned d = 0; d < 3; ++d) {
        const uint32_t threads = hqd.compute[mqd::compute_num_thread_x + d];
        const uint32_t full = field::COMPUTE_NUM_THREAD_X::NUM_THREAD_FULL::get(threads),
                       partial = field::COMPUTE_NUM_THREAD_X::NUM_THREAD_PARTIAL::get(threads);
        uint64_t items = size[d];
        if (!start::USE_THREAD_DIMENSIONS::get(initiator)) {
            items = uint64_t{size[d]} * full;
            if (start::PARTIAL_TG_EN::get(initiator) && partial != 0 && partial < full) items -= full - partial;
        }
        if (items > UINT32_MAX) return false;
        request.group_size[d] = full;
        request.grid[d] = static_cast<uint32_t>(items);
        request.group_start[d] = start::FORCE_START_AT_000::get(initiator) ? 0 : hqd.compute[mqd::compute_start_x + d];
    }
    return true;
}

}  // namespace

void take_resources(DispatchRequest& request, const Hqd& hqd) {
    const auto& compute = hqd.compute;
    request.queue_id = hqd.id();
    request.vmid = hqd.vmid();
    request.doorbell_id = hqd.doorbell_bytes() / 8 & 0x3ff;
    request.resource_limits = compute[mqd::compute_resource_limits];
    request.cu_mask = {compute[mqd::compute_static_thread_mgmt_se0], compute[mqd::compute_static_thread_mgmt_se1],
                       compute[mqd::compute_static_thread_mgmt_se2], compute[mqd::compute_static_thread_mgmt_se3],
                       compute[mqd::compute_static_thread_mgmt_se4], compute[mqd::compute_static_thread_mgmt_se5],
                       compute[mqd::compute_static_thread_mgmt_se6], compute[mqd::compute_static_thread_mgmt_se7]};
    if (hqd.xccs.count == 1) return;
    request.xccs = hqd.xccs.dealt ? hqd.xccs.count : 1;
    request.first_xcc = hqd.xccs.first;
    request.cu_mask = hqd.xccs.cu_mask;
}

PacketResult Pm4Processor::start_dispatch(Hqd& hqd, const pm4::Packet& packet, std::array<uint32_t, 3> size,
                                          uint32_t initiator) {
    // One grid at a time hands out its groups: what a context save has to keep of the others is only that they run.
    if (hqd.pm4.dispatches.size() >= kMaxDispatches) return PacketResult::Retry;
    if (!hqd.pm4.dispatches.empty() && !dispatcher_.launched(hqd.pm4.dispatches.back())) return PacketResult::Retry;
    hqd.compute[mqd::compute_dispatch_initiator] = initiator;
    std::copy(size.begin(), size.end(), &hqd.compute[mqd::compute_dim_x]);
    if (!start::COMPUTE_SHADER_EN::get(initiator) || size[0] == 0 || size[1] == 0 || size[2] == 0) return PacketResult::Done;
    DispatchRequest request;
    take_resources(request, hqd);
    request.vmid = vmid(hqd);
    take_program(request, hqd);
    if (!take_grid(request, hqd, size, initiator)) return bad_field(hqd, packet, "more than 2^32 work-items");
    const Fault fault = dispatcher_.check(request);
    if (fault != Fault::None) {
        return stop(hqd, fault,
                    fmt::format("queue {}: groups of {}x{}x{}", hqd.id(), request.group_size[0], request.group_size[1],
                                request.group_size[2]));
    }
    // In an AQL queue the numbers are those of packets; grids of its buffers end before it is saved.
    if (!hqd.is_aql()) request.packet_index = hqd.compute[mqd::compute_dispatch_id]++ & kNumberMask;
    hqd.pm4.dispatches.push_back(dispatcher_.start(request));
    return PacketResult::Done;
}

PacketResult Pm4Handlers::dispatch_direct(P& p, Hqd& hqd, const Packet& packet) {
    namespace f = pm4::DISPATCH_DIRECT;
    return p.start_dispatch(hqd, packet, {f::dim_x(packet), f::dim_y(packet), f::dim_z(packet)}, f::dispatch_initiator(packet));
}

/// Base 1 is that of indirect grids and draws. @source Mesa radeonsi
PacketResult Pm4Handlers::set_base(P&, Hqd& hqd, const Packet& packet) {
    constexpr uint32_t kIndirect = 1;
    namespace f = pm4::SET_BASE;
    if (f::base_index(packet) == kIndirect) hqd.pm4.indirect_base = f::address(packet) & 0xfffffffffff8;
    return PacketResult::Done;
}

/// Where the three dimensions are: on the compute engines an address, on the gfx ring an offset from a base. @source Mesa
/// radeonsi, si_emit_dispatch_packets(); radv
PacketResult Pm4Handlers::dispatch_indirect(P& p, Hqd& hqd, const Packet& packet) {
    const bool gfx = hqd.me == 0;
    if (packet.body.size() != (gfx ? 2 : 3)) return p.bad_field(hqd, packet, "not the form of this engine");
    std::array<uint32_t, 3> size{};
    namespace compute = pm4::DISPATCH_INDIRECT;
    namespace graphics = pm4::DISPATCH_INDIRECT_GFX;
    const uint64_t address =
        (gfx ? hqd.pm4.indirect_base + (graphics::data_offset(packet) & ~3u) : compute::addr(packet)) & ~uint64_t{3};
    if (p.memory_.read(p.vmid(hqd), address, size.data(), sizeof size) != Fault::None) return PacketResult::Done;
    return p.start_dispatch(hqd, packet, size,
                            gfx ? graphics::dispatch_initiator(packet) : compute::dispatch_initiator(packet));
}

}  // namespace lyra
