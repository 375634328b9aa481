// SPDX-License-Identifier: MIT
// AQL packets that wait: barriers on signals, and PM4 indirect buffers; step 4 of the data flow.
#include <array>

#include <fmt/format.h>

#include "cp-firmware-model/mec/aql.h"
#include "cp-firmware-model/packets/pm4.h"

namespace lyra {

namespace {

/// HSA signal conditions, signed. @source hsa.h hsa_signal_condition_t
bool condition_met(uint32_t condition, int64_t value, int64_t reference) {
    switch (condition) {
        case 0: return value == reference;
        case 1: return value != reference;
        case 2: return value < reference;
        default: return value >= reference;
    }
}

}  // namespace

/// A null signal counts as satisfied for AND; for OR it is left out, and a packet without any signal is satisfied.
AqlProcessor::Step AqlProcessor::barrier(Hqd& hqd, bool all) {
    const AqlPacket& p = hqd.aql.head;
    const uint64_t signals[] = {aql::barrier::dep_signal_0(p), aql::barrier::dep_signal_1(p), aql::barrier::dep_signal_2(p),
                                aql::barrier::dep_signal_3(p), aql::barrier::dep_signal_4(p)};
    unsigned present = 0, satisfied = 0;
    for (const uint64_t signal : signals) {
        if (signal == 0) continue;
        ++present;
        const Result<int64_t> value = signals_.load(hqd.vmid(), signal);
        if (!value) return signal_error(hqd, value.fault(), "dependency signal");
        if (*value == 0) ++satisfied;
    }
    const bool done = present == 0 || (all ? satisfied == present : satisfied != 0);
    return done ? finish_head(hqd) : Step::Poll;
}

AqlProcessor::Step AqlProcessor::barrier_value(Hqd& hqd) {
    const AqlPacket& p = hqd.aql.head;
    const uint32_t condition = aql::barrier_value::condition(p);
    if (condition > 3) return fail(hqd, Fault::AqlInvalidPacket, fmt::format("condition {}", condition));
    const uint64_t signal = aql::barrier_value::signal(p);
    if (signal == 0) return finish_head(hqd);
    const Result<int64_t> value = signals_.load(hqd.vmid(), signal);
    if (!value) return signal_error(hqd, value.fault(), "dependency signal");
    const int64_t masked = *value & aql::barrier_value::mask(p);
    return condition_met(condition, masked, aql::barrier_value::value(p)) ? finish_head(hqd) : Step::Poll;
}

AqlProcessor::Step AqlProcessor::pm4_ib(Hqd& hqd) {
    AqlState& st = hqd.aql;
    if (!st.ib_started) {
        // INDIRECT_BUFFER as a ring would have it. @source docs/spec/front-end.md 2.2
        const uint32_t header = aql::pm4_ib::ib_header(st.head);
        const std::array<uint32_t, 3> body{aql::pm4_ib::ib_base_lo(st.head), aql::pm4_ib::ib_base_hi(st.head),
                                           aql::pm4_ib::ib_control(st.head)};
        const pm4::Packet packet{pm4::opcode(header), body};
        const Frame<pm4::PacketInfo> frame = pm4::frame(header, pm4::kFromUser, packet.dwords());
        const bool buffer = static_cast<pm4::Opcode>(packet.opcode) == pm4::Opcode::INDIRECT_BUFFER;
        if (!buffer || !frame.whole() || frame.dwords != packet.dwords()) {
            return fail(hqd, Fault::AqlVendorPacket, fmt::format("PM4 header {:#010x} is no INDIRECT_BUFFER", header));
        }
        constexpr uint64_t kAddressBits = make64(~3u, 0xffff);
        IndirectBuffer ib;
        ib.base = pm4::INDIRECT_BUFFER::ib_base(packet) & kAddressBits;
        ib.size_dw = pm4::INDIRECT_BUFFER::ib_size(packet);
        ib.vmid = hqd.vmid();
        hqd.pm4.ib_stack.assign(1, ib);
        st.ib_started = true;
    }
    const RunState run = ib_runner_.step_ib(hqd);
    if (hqd.state == HqdState::Stopped) return Step::Stop;
    st.ib_polling = run == RunState::Polling;
    if (run == RunState::Busy) return Step::Next;
    if (run == RunState::Polling || !hqd.pm4.ib_stack.empty()) return Step::Poll;
    return finish_head(hqd);
}

}  // namespace lyra
