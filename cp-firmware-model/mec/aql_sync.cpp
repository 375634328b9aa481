// SPDX-License-Identifier: MIT
// AQL packets that wait: barriers on signals, and PM4 indirect buffers; step 4 of the data flow.
#include <fmt/format.h>

#include "cp-firmware-model/mec/aql.h"
#include "facts/pm4_header.h"

namespace lyra {

namespace {

/// INDIRECT_BUFFER with its three body dwords. @source docs/spec/front-end.md 2.2
constexpr uint32_t kIndirectBufferHeader = pm4::header(pm4::Opcode::INDIRECT_BUFFER, 3);
constexpr uint32_t kHeaderMask = 0xffffff00;
constexpr uint32_t kIbSizeMask = 0xfffff;

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
        const uint32_t header = aql::pm4_ib::ib_header(st.head);
        if ((header & kHeaderMask) != kIndirectBufferHeader) {
            return fail(hqd, Fault::AqlVendorPacket, fmt::format("PM4 header {:#010x} is no INDIRECT_BUFFER", header));
        }
        IndirectBuffer ib;
        ib.base = make64(aql::pm4_ib::ib_base_lo(st.head) & ~3u, aql::pm4_ib::ib_base_hi(st.head) & 0xffff);
        ib.size_dw = aql::pm4_ib::ib_control(st.head) & kIbSizeMask;
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
