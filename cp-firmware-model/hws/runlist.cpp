// SPDX-License-Identifier: MIT
// The run list: read it, map what fits, and rotate through the rest by quantum; step 3 of the data flow.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cp-firmware-model/hws/scheduler.h"
#include "cp-firmware-model/packets/text.h"

namespace lyra {

namespace {

constexpr unsigned kPacketsPerWalk = 256;
constexpr uint64_t kMillisecondNs = 1'000'000;
constexpr uint32_t kDefaultQuantumMs = 10;
/// When everything mapped is idle the others need not wait for the whole quantum.
constexpr uint64_t kIdleQuantumNs = kMillisecondNs;
/// A queue whose waves cannot be saved and do not end in this time keeps its slot for another round.
constexpr uint64_t kRotationPatienceNs = 100 * kMillisecondNs;
/// The longest that restoring may put off the quantum.
constexpr uint64_t kRestorePatienceNs = 1000 * kMillisecondNs;
constexpr uint32_t kMaxListPacket = 32;  ///< dwords; the longest packet of a list has 21

}  // namespace

void HwScheduler::RunList::point_to(const pm4::Packet& packet) {
    using namespace pm4::RUN_LIST;
    base = make64(ib_base_lo(packet) << 2, ib_base_hi(packet));
    size_dw = ib_size(packet);
    idle_rounds = chained_runlist_idle_disable(packet) != 0;
}

bool HwScheduler::list_is_live() const {
    return !sdma_queues_.empty() || std::any_of(mec_.slots().begin(), mec_.slots().end(), [](const Hqd& hqd) {
        return hqd.active() && hqd.mapped_by_hws && !hqd.is_static;
    });
}

PacketResult HwScheduler::run_list(Hqd& ring, const pm4::Packet& packet) {
    RunList list;
    list.point_to(packet);
    list.process_count = pm4::RUN_LIST::process_cnt(packet);
    const bool empty = pm4::RUN_LIST::valid(packet) == 0 || list.size_dw == 0;
    switch (env_.firmware.runlist_over_live) {
        case FirmwareChoice::Reject:
            if (!list_is_live()) break;
            report(env_, Fault::FirmwareRefused, fmt::format("RUN_LIST at {:#x}", list.base));
            return PacketResult::Done;
        case FirmwareChoice::Preempt:
            if (!unmap_all_first(ring)) return PacketResult::Retry;
            break;
        case FirmwareChoice::Defer:
            if (!list_is_live() || list_.phase == Phase::None) break;
            deferred_ = empty ? RunList{} : list;
            return PacketResult::Done;
        default: break;
    }
    begin_list(empty ? RunList{} : list);
    return PacketResult::Done;
}

void HwScheduler::begin_list(const RunList& list) {
    list_ = list;
    deferred_.reset();
    if (list_.size_dw == 0) return;
    list_.phase = Phase::Walking;
    walk();
}

/// The packet at the cursor. Next moves the cursor; Full leaves it; End: the list ends here.
HwScheduler::Walk HwScheduler::walk_packet() {
    if (list_.cursor_dw >= list_.size_dw) {
        end_of_list(nullptr);
        return Walk::End;
    }
    std::array<uint32_t, kMaxListPacket> words{};
    const uint32_t left = list_.size_dw - list_.cursor_dw;
    const auto read = [&](uint32_t first, uint32_t count) {
        return bus_.gfxhub().read(0, list_.base + (uint64_t{list_.cursor_dw} + first) * 4, &words[first], count * 4) ==
               Fault::None;
    };
    const auto give_up = [&](Fault fault, std::string_view what) {
        report(env_, fault, fmt::format("run list at dword {:#x}: {}", list_.cursor_dw, what));
        list_.phase = Phase::Settled;
        return Walk::End;
    };
    if (!read(0, 1)) return give_up(Fault::RingUnreadable, "header");
    const uint32_t header = words[0];
    const Frame<pm4::PacketInfo> frame = pm4::frame(header, pm4::kFromHiq, left);
    const auto dwords = static_cast<uint32_t>(frame.dwords), body = dwords - 1;
    // Lists have no packets of type 2. A packet that is both short and unknown counts as short here.
    if (frame.fault == Fault::PacketType || pm4::is_type2(header)) {
        return give_up(Fault::PacketType, fmt::format("header {:#010x}", header));
    }
    if (dwords > left) return give_up(Fault::ShortPacket, fmt::format("{} dwords of {}", left, dwords));
    if (!frame.whole()) return give_up(frame.fault, fmt::format("{:#04x}", pm4::opcode(header)));
    const pm4::PacketInfo* const info = frame.row;
    const auto opcode = static_cast<pm4::Opcode>(info->opcode);
    if (opcode == pm4::Opcode::NOP) {
        list_.cursor_dw += dwords;
        return Walk::Next;
    }
    if (!pm4::fits(*info, body) || body >= kMaxListPacket) {
        return give_up(Fault::PacketField, fmt::format("{} of {} dwords", info->name, body));
    }
    if (!read(1, body)) return give_up(Fault::RingUnreadable, "body");
    const pm4::Packet packet{info->opcode, {&words[1], body}};
    env_.stats.add(Stat::pm4_packets);
    env_.clock.owe(env_.timing.list_packet_ns);
    note_packet(env_, [&] { return fmt::format(" {}", packet_text(packet, pm4::kFromHiq)); });
    Walk result = Walk::Next;
    switch (opcode) {
        case pm4::Opcode::MAP_PROCESS: {
            Process process;
            if (take_process(packet, process)) result = bind(process);
            // Of a process that found no VMID, the next round begins with its packet, and without the process before it.
            list_.has_process = result == Walk::Next;
            if (list_.has_process) list_.process = process;
            break;
        }
        case pm4::Opcode::MAP_QUEUES: result = map_queue_of_list(packet); break;
        case pm4::Opcode::RUN_LIST: end_of_list(&packet); return Walk::End;
        default: report(env_, Fault::PacketField, fmt::format("{} in a run list", info->name)); break;
    }
    if (result == Walk::Next) list_.cursor_dw += dwords;
    return result;
}

/// A round that read the whole list has mapped everything; otherwise the next round goes on from the list's start. A list
/// that goes on in another one has its quantum, and then the other one.
void HwScheduler::end_of_list(const pm4::Packet* packet) {
    const uint64_t before = list_.base;
    if (packet) list_.point_to(*packet);
    const bool all = list_.round_start_dw == 0 && !list_.wrapped && list_.base == before;
    list_.cursor_dw = 0;
    list_.has_process = false;
    if (all || list_.size_dw == 0) {
        start_quantum();  // until which a deferred list waits
        list_.phase = Phase::Settled;
        return;
    }
    list_.wrapped = true;
    start_quantum();
}

void HwScheduler::start_quantum() {
    uint32_t quantum = 0;
    for (const Process& process : processes_) quantum = std::max(quantum, process.quantum_ms);
    list_.phase = Phase::Quantum;
    list_.mapped_at_ns = env_.now_ns();
    list_.quantum_ns = (quantum ? quantum : kDefaultQuantumMs) * kMillisecondNs;
    list_.deadline_ns = list_.mapped_at_ns + list_.quantum_ns;
    list_.restored = false;
}

RunState HwScheduler::walk() {
    const unsigned most = env_.clock.on() ? 1 : kPacketsPerWalk;
    for (unsigned n = 0; n < most && list_.phase == Phase::Walking; ++n) {
        const Walk result = walk_packet();
        if (result == Walk::Full) start_quantum();
        if (result != Walk::Next) break;
    }
    return RunState::Busy;  // mapped queues have something to read
}

/// Every queue of the round leaves; those that cannot in time stay, and the next ones take the slots that are free.
RunState HwScheduler::rotate() {
    bool out = true;
    for (Hqd& hqd : mec_.slots()) {
        if (hqd.active() && hqd.mapped_by_hws && hqd.dequeue != Dequeue::None) out &= mec_.unmap().look(hqd);
    }
    if (list_.sharing) {
        if (!out && env_.now_ns() < list_.deadline_ns) return RunState::Polling;
        start_quantum();
        return RunState::Busy;
    }
    for (SdmaQueue& queue : sdma_queues_) queue.leaving = true;
    std::erase_if(sdma_queues_, [&](SdmaQueue& queue) { return unmap_sdma(queue, Dequeue::Save); });
    out &= sdma_queues_.empty();
    if (!out && env_.now_ns() < list_.deadline_ns) return RunState::Polling;
    for (Hqd& hqd : mec_.slots()) {
        if (hqd.active() && hqd.mapped_by_hws) mec_.unmap().cancel(hqd);
    }
    for (SdmaQueue& queue : sdma_queues_) queue.leaving = false;
    release_idle_processes();
    if (deferred_) {
        begin_list(RunList(*deferred_));
        return RunState::Busy;
    }
    list_.phase = Phase::Walking;
    list_.wrapped = list_.mapped_any = false;
    list_.round_start_dw = list_.cursor_dw;
    // The process at the cursor may have lost its VMID with its last queue.
    if (list_.has_process && bind(list_.process) == Walk::Full) start_quantum();
    return RunState::Busy;
}

/// How long a queue may find no room before those with waves are saved. Against queues of a higher pipe priority it is
/// longer by as much as they weigh more: the shares of time are then those of the launches.
/// @return 0 when nobody waits
uint64_t HwScheduler::share_patience_ns() {
    unsigned waiting = 0, running = 0;
    for (const Hqd& hqd : mec_.slots()) {
        if (!hqd.active() || !hqd.mapped_by_hws || hqd.dequeue != Dequeue::None) continue;
        unsigned& weight = mec_.starving(hqd) ? waiting : running;
        if (&weight == &waiting || mec_.has_waves(hqd)) weight = std::max(weight, mec_.launch_weight(hqd));
    }
    return waiting == 0 ? 0 : kDefaultQuantumMs * kMillisecondNs * std::max(1u, running / waiting);
}

/// Every queue has a slot, but the waves of some leave no room for those of others: the first are saved for a quantum.
RunState HwScheduler::share() {
    const uint64_t now = env_.now_ns();
    if (deferred_) {
        if (now < list_.deadline_ns) return RunState::Polling;
        begin_rotation();
        return rotate();
    }
    if (env_.firmware.rescue == FirmwareChoice::Off) return RunState::Idle;
    const uint64_t patience = share_patience_ns();
    if (patience == 0) {
        list_.starving_since_ns = 0;
        return RunState::Idle;
    }
    if (list_.starving_since_ns == 0) list_.starving_since_ns = now;
    if (now < list_.starving_since_ns + patience) return RunState::Polling;
    list_.starving_since_ns = 0;
    bool any = false;
    for (Hqd& hqd : mec_.slots()) {
        const bool mapped = hqd.active() && hqd.mapped_by_hws && !hqd.is_static && hqd.dequeue == Dequeue::None;
        if (!mapped || !mec_.has_waves(hqd) || !mec_.unmap().saves().can_save(hqd)) continue;
        mec_.unmap().request(hqd, Dequeue::Save);
        any = true;
    }
    if (!any) return RunState::Polling;
    list_.sharing = true;
    list_.phase = Phase::Rotating;
    list_.deadline_ns = now + kRestorePatienceNs;
    return rotate();
}

/// From the start of the list, for the queues that have lost their slots.
void HwScheduler::walk_again() {
    list_.sharing = false;
    list_.phase = Phase::Walking;
    list_.cursor_dw = list_.round_start_dw = 0;
    list_.wrapped = list_.has_process = false;
}

RunState HwScheduler::run() {
    switch (list_.phase) {
        case Phase::None: return RunState::Idle;
        case Phase::Settled: return share();
        case Phase::Walking: return walk();
        case Phase::Rotating: return rotate();
        case Phase::Quantum: break;
    }
    const uint64_t now = env_.now_ns();
    // Time that goes into restoring is not the queues' time: otherwise a large one would never get anywhere.
    if (!list_.restored && (!mec_.restoring() || now >= list_.mapped_at_ns + kRestorePatienceNs)) {
        list_.restored = true;
        list_.deadline_ns = now + list_.quantum_ns;
    }
    if (!list_.restored) return RunState::Polling;
    const bool idle = std::none_of(mec_.slots().begin(), mec_.slots().end(), [](const Hqd& hqd) {
        return hqd.active() && hqd.mapped_by_hws &&
               (hqd.last != RunState::Idle || !hqd.pm4.dispatches.empty() || !hqd.aql.in_flight.empty());
    });
    const bool cut = env_.firmware.idle_round == FirmwareChoice::Cut ||
                     (env_.firmware.idle_round == FirmwareChoice::Packet && !list_.idle_rounds);
    if (now < list_.deadline_ns && !(idle && cut && now >= list_.mapped_at_ns + kIdleQuantumNs)) return RunState::Polling;
    if (list_.sharing) {
        walk_again();
        return walk();
    }
    begin_rotation();
    return rotate();
}

void HwScheduler::begin_rotation() {
    for (Hqd& hqd : mec_.slots()) {
        if (hqd.active() && hqd.mapped_by_hws && !hqd.is_static) mec_.unmap().request(hqd, Dequeue::Save);
    }
    list_.phase = Phase::Rotating;
    list_.deadline_ns = env_.now_ns() + kRotationPatienceNs;
}

}  // namespace lyra
