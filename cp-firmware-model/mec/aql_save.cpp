// SPDX-License-Identifier: MIT
// What an AQL queue has in flight, as words for its MQD and back; the packets themselves stay in the ring; steps 3 and 4.
#include <algorithm>

#include "cp-firmware-model/mec/aql.h"
#include "cp-firmware-model/mec/aql_ring.h"
#include "cp-firmware-model/queue/flight.h"

namespace lyra {

void AqlProcessor::save_flight(Hqd& hqd) {
    auto& words = hqd.save.flight;
    words = {};
    if (hqd.aql.in_flight.empty()) return;
    const AqlState& st = hqd.aql;
    words[flight::kMagic] = flight::kMagicAql;
    words[flight::kCount] = static_cast<uint32_t>(hqd.aql.in_flight.size());
    for (unsigned i = 0; i < hqd.aql.in_flight.size(); ++i) {
        const AqlInFlight& packet = hqd.aql.in_flight[i];
        words[flight::kList + i / 32] |= uint32_t{packet.done} << i % 32;
        if (packet.done) continue;
        if (st.once_in_flight && st.once_index == packet.index) words[flight::kOnce] = i + 1;
        LaunchPosition next;
        if (dispatcher_.next_group(packet.dispatch, next)) {
            words[flight::kPartial] = i + 1;
            flight::put_position(next, words);
        }
        // The start time stays where the runtime will look for it.
        if (packet.completion_signal == 0) continue;
        const uint64_t address = packet.completion_signal + amd_signal::k_start_ts;
        if (bus_.gfxhub().page(hqd.vmid(), address, Access::Write) == nullptr) continue;
        bus_.gfxhub().write(hqd.vmid(), address, &packet.start_ts, sizeof packet.start_ts);
    }
}

/// Packets from the read index on, as a context save left them.
bool AqlProcessor::resume_flight(Hqd& hqd) {
    const auto& words = hqd.save.flight;
    if (words[flight::kMagic] == 0) return true;
    const uint32_t count = words[flight::kCount];
    if (words[flight::kMagic] != flight::kMagicAql || count > flight::kMaxPackets || count > aql::ring_packets(hqd))
        return false;
    AqlState& st = hqd.aql;
    const uint64_t first = hqd.aql.fetch_index;
    for (uint32_t i = 0; i < count; ++i) {
        AqlInFlight packet;
        packet.index = first + i;
        packet.done = bit(words[flight::kList + i / 32], i % 32);
        const bool partial = words[flight::kPartial] == i + 1;
        const LaunchPosition next = partial ? flight::get_position(words) : LaunchPosition{};
        if (!packet.done && !resume_packet(hqd, packet, partial ? &next : nullptr)) return false;
        if (!packet.done && words[flight::kOnce] == i + 1) {
            st.once_in_flight = true;
            st.once_index = packet.index;
        }
        hqd.aql.in_flight.push_back(packet);
    }
    hqd.aql.fetch_index = first + count;
    return true;
}

bool AqlProcessor::resume_packet(Hqd& hqd, AqlInFlight& packet, const LaunchPosition* position) {
    MemoryPort& port = bus_.gfxhub();
    AqlPacket p;
    if (port.read(hqd.vmid(), aql::packet_address(hqd, packet.index), p.bytes.data(), p.bytes.size()) != Fault::None)
        return false;
    if (aql::type(p) != aql::Type::KernelDispatch) return false;
    packet.completion_signal = aql::any::completion_signal(p);
    const uint64_t stamp = packet.completion_signal + amd_signal::k_start_ts;
    if (packet.completion_signal != 0 && port.page(hqd.vmid(), stamp, Access::Read) != nullptr) {
        port.read(hqd.vmid(), stamp, &packet.start_ts, sizeof packet.start_ts);
    }
    packet.write_back = releases_to_system(p);
    DispatchRequest request;
    take_resources(request, hqd, packet.index);
    request.release_ns = release_ns(p);
    if (position != nullptr) {
        KernelDescriptor descriptor;
        AmdQueue queue;
        const uint64_t object = aql::kernel_dispatch::kernel_object(p);
        if (port.read(hqd.vmid(), object, descriptor.bytes.data(), descriptor.bytes.size()) != Fault::None) return false;
        if (read_queue(hqd, queue) != Fault::None) return false;
        request = make_request(hqd, p, packet.index, queue, descriptor);
        if (dispatcher_.check(request) != Fault::None) return false;
    }
    packet.dispatch = dispatcher_.resume(request, position);
    return true;
}

uint64_t AqlProcessor::dispatch_of(const Hqd& hqd, uint32_t slot) const {
    for (const AqlInFlight& packet : hqd.aql.in_flight) {
        if (!packet.done && aql::slot(hqd, packet.index) == slot) return packet.dispatch;
    }
    return 0;
}

}  // namespace lyra
