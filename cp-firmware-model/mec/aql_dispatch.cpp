// SPDX-License-Identifier: MIT
// AQL kernel dispatch packets: checks, kernel descriptor, user SGPRs, scratch; step 4 of the data flow.
#include <fmt/format.h>

#include <algorithm>

#include "cp-firmware-model/mec/aql.h"
#include "cp-firmware-model/mec/aql_ring.h"
#include "cp-firmware-model/mec/pm4.h"

namespace lyra {

namespace {

constexpr uint32_t kMaxGroupItems = 1024;
constexpr uint32_t kLdsGranule = same_for_all_chips(&ChipFacts::lds_granule);  ///< bytes per unit of RSRC2.LDS_SIZE
constexpr uint64_t kEntryAlignment = 256, kDescriptorAlignment = 64;
constexpr unsigned kMaxUserSgprs = 16;

namespace rsrc1 = field::COMPUTE_PGM_RSRC1;
namespace rsrc2 = field::COMPUTE_PGM_RSRC2;

std::array<uint32_t, 3> grid_of(const AqlPacket& p) {
    return {aql::kernel_dispatch::grid_size_x(p), aql::kernel_dispatch::grid_size_y(p), aql::kernel_dispatch::grid_size_z(p)};
}

std::array<uint32_t, 3> group_of(const AqlPacket& p) {
    return {aql::kernel_dispatch::workgroup_size_x(p), aql::kernel_dispatch::workgroup_size_y(p),
            aql::kernel_dispatch::workgroup_size_z(p)};
}

/// Dimensions, group size, LDS. @source docs/spec/front-end.md 3.1
Fault check_sizes(const AqlPacket& p) {
    const unsigned dimensions = aql::kernel_dispatch::setup(p) & 3;
    const auto grid = grid_of(p);
    const auto group = group_of(p);
    if (dimensions == 0) return Fault::AqlDimension;
    uint64_t items = 1;
    for (unsigned d = 0; d < 3; ++d) {
        if (grid[d] == 0 || group[d] == 0) return Fault::AqlDimension;
        if (d >= dimensions && (grid[d] != 1 || group[d] != 1)) return Fault::AqlDimension;
        items *= group[d];
    }
    if (items > kMaxGroupItems) return Fault::AqlWorkgroupSize;
    if (aql::kernel_dispatch::group_segment_size(p) > gcn::kLdsBytes) return Fault::AqlGroupMemory;
    return Fault::None;
}

/// Collects user SGPRs in the order of the kernel descriptor's bits.
struct UserSgprs {
    std::array<uint32_t, kMaxUserSgprs> values{};
    unsigned count = 0;
    void add(uint32_t value) {
        if (count < kMaxUserSgprs) values[count++] = value;
    }
    void add64(uint64_t value) {
        add(lo32(value));
        add(hi32(value));
    }
};

UserSgprs build_user_sgprs(const AqlPacket& p, const AmdQueue& queue, uint16_t wanted, uint64_t packet_address,
                           uint64_t index) {
    UserSgprs s;
    if (kernel_property::PrivateSegmentBuffer::get(wanted)) {
        for (const uint32_t word : queue.scratch_descriptor) s.add(word);
    }
    if (kernel_property::DispatchPtr::get(wanted)) s.add64(packet_address);
    if (kernel_property::QueuePtr::get(wanted)) s.add64(queue.address);
    if (kernel_property::KernargSegmentPtr::get(wanted)) s.add64(aql::kernel_dispatch::kernarg_address(p));
    if (kernel_property::DispatchId::get(wanted)) s.add64(index);
    if (kernel_property::FlatScratchInit::get(wanted)) s.add64(queue.scratch_base);
    if (kernel_property::PrivateSegmentSize::get(wanted)) {
        s.add(static_cast<uint32_t>(align_up(aql::kernel_dispatch::private_segment_size(p), 4)));
    }
    return s;
}

}  // namespace

AqlProcessor::Step AqlProcessor::kernel_dispatch(Hqd& hqd) {
    AqlState& st = hqd.aql;
    const Fault sizes = check_sizes(st.head);
    if (sizes != Fault::None) return fail(hqd, sizes, "kernel dispatch");
    const uint64_t object = aql::kernel_dispatch::kernel_object(st.head);
    if (object == 0 || object % kDescriptorAlignment != 0)
        return fail(hqd, Fault::AqlCodeObject, fmt::format("kernel object {:#x}", object));
    KernelDescriptor descriptor;
    if (bus_.gfxhub().read(hqd.vmid(), object, descriptor.bytes.data(), descriptor.bytes.size()) != Fault::None) {
        report(env_, Fault::AqlCodeObject, fmt::format("kernel object {:#x}", object));
        return memory_error(hqd, aql::hqd_error::kDescriptor, "kernel descriptor");
    }
    AmdQueue queue;
    if (read_queue(hqd, queue) != Fault::None) return memory_error(hqd, aql::hqd_error::kReadPointer, "amd_queue_t");
    const DispatchRequest request = make_request(hqd, st.head, hqd.aql.fetch_index, queue, descriptor);
    if (request.entry % kEntryAlignment != 0) return fail(hqd, Fault::AqlCodeObject, fmt::format("entry {:#x}", request.entry));
    const uint32_t scratch = aql::kernel_dispatch::private_segment_size(st.head);
    if (scratch > queue.scratch_lane_bytes) return insufficient_scratch(hqd, queue);
    const Fault fault = dispatcher_.check(request);
    if (fault == Fault::AqlScratch) return insufficient_scratch(hqd, queue);
    if (fault != Fault::None) return fail(hqd, fault, "kernel dispatch");

    AqlInFlight packet;
    packet.index = hqd.aql.fetch_index;
    packet.completion_signal = aql::any::completion_signal(st.head);
    packet.start_ts = st.head_start_ts;
    packet.write_back = releases_to_system(st.head);
    acquire(st.head);
    packet.dispatch = dispatcher_.start(request);
    if (scratch != 0 && queue.scratch_once) {
        st.once_in_flight = true;
        st.once_index = packet.index;
    }
    return advance(hqd, packet);
}

/// What of a grid is its queue's and its packet's place.
void AqlProcessor::take_resources(DispatchRequest& r, const Hqd& hqd, uint64_t index) {
    lyra::take_resources(r, hqd);
    r.packet_index = static_cast<uint32_t>(aql::slot(hqd, index));
}

DispatchRequest AqlProcessor::make_request(const Hqd& hqd, const AqlPacket& p, uint64_t index, const AmdQueue& queue,
                                           const KernelDescriptor& descriptor) const {
    DispatchRequest r;
    take_resources(r, hqd, index);
    r.entry = aql::kernel_dispatch::kernel_object(p) + static_cast<uint64_t>(descriptor.entry_offset());
    r.lds_bytes = static_cast<uint32_t>(align_up(aql::kernel_dispatch::group_segment_size(p), kLdsGranule));
    // The CP fills these in: a user's code object starts neither in privileged mode nor above others.
    // @source LLVM AMDGPUUsage "compute_pgm_rsrc1"
    r.rsrc1 = rsrc1::PRIORITY::set(rsrc1::PRIV::set(descriptor.rsrc1(), 0), 0);
    r.rsrc2 = rsrc2::LDS_SIZE::set(descriptor.rsrc2(), r.lds_bytes / kLdsGranule);
    r.rsrc3 = descriptor.rsrc3();
    r.rsrc2 = rsrc2::TRAP_PRESENT::set(r.rsrc2, bus_.vmid_state(r.vmid).tba != 0);
    const UserSgprs sgprs = build_user_sgprs(p, queue, descriptor.properties(), aql::packet_address(hqd, index), index);
    r.user_sgprs = sgprs.values;
    r.user_sgpr_count = std::min(rsrc2::USER_SGPR::get(r.rsrc2), kMaxUserSgprs);
    r.grid = grid_of(p);
    r.group_size = group_of(p);
    r.tmpring_size = queue.tmpring_size;
    r.scratch_base = queue.scratch_base;
    r.release_ns = release_ns(p);
    return r;
}

/// Ask the runtime for scratch and wait; the packet is looked at again when the signal is 0. @source docs/spec/front-end.md 3.2
AqlProcessor::Step AqlProcessor::insufficient_scratch(Hqd& hqd, const AmdQueue& queue) {
    // The runtime finds the packet at read_dispatch_id.
    if (!hqd.aql.in_flight.empty()) return Step::Wait;
    if (queue.inactive_signal == 0) return fail(hqd, Fault::AqlScratch, "kernel dispatch");
    const Result<int64_t> value = signals_.load(hqd.vmid(), queue.inactive_signal);
    if (!value) return signal_error(hqd, value.fault(), "queue_inactive_signal");
    if (*value == 0) {
        const Fault fault = signals_.store(owner(hqd), queue.inactive_signal, aql::error_info(Fault::AqlScratch)->code);
        if (fault != Fault::None) return signal_error(hqd, fault, "queue_inactive_signal");
    }
    hqd.aql.halted_on_signal = queue.inactive_signal;
    return Step::Poll;
}

}  // namespace lyra
