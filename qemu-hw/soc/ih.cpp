// SPDX-License-Identifier: MIT
// Interrupt ring 0.
#include "qemu-hw/soc/ih.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "common/bits.h"
#include "facts/register_fields.h"

namespace lyra {

namespace {

using namespace regs::OSSSYS;

// @source Linux 6.12 vega10_ih.c
namespace cntl = field::IH_RB_CNTL;

constexpr uint32_t kVectorBytes = 32;
constexpr uint32_t kRbOverflow = field::IH_RB_WPTR::RB_OVERFLOW::kMask;
// More than any driver leaves unread; past it a guest has stopped listening.
constexpr size_t kBacklogVectors = 65536;

}  // namespace

InterruptHandler::InterruptHandler(Env& env, RegisterFile& registers, BusMemory& bus)
    : env_(env), registers_(registers), bus_(bus) {
    registers.attach(regs::Owner::Ih, *this);
}

uint32_t InterruptHandler::control() const { return registers_.stored(IH_RB_CNTL); }

uint64_t InterruptHandler::ring_bytes() const { return uint64_t{4} << cntl::RB_SIZE::get(control()); }

uint32_t InterruptHandler::read(uint32_t dw) { return registers_.stored(dw); }

void InterruptHandler::write(uint32_t dw, uint32_t value) {
    if (dw == IH_RB_RPTR) return rptr_moved(value);
    if (dw == IH_RB_CNTL) {
        const bool was_on = cntl::RB_ENABLE::get(control());
        registers_.store(dw, cntl::WPTR_OVERFLOW_CLEAR::set(value, 0));  // a pulse
        if (cntl::WPTR_OVERFLOW_CLEAR::get(value)) registers_.store(IH_RB_WPTR, registers_.stored(IH_RB_WPTR) & ~kRbOverflow);
        if (!was_on && cntl::RB_ENABLE::get(value)) flush();
        return;
    }
    registers_.store(dw, value);
}

uint16_t InterruptHandler::pasid_of(uint32_t vmid, bool mmhub) const {
    return static_cast<uint16_t>(registers_.stored((mmhub ? IH_VMID_LUT_MM : IH_VMID_LUT) + (vmid & 0xf)));
}

void InterruptHandler::set_pasid(uint32_t vmid, uint16_t pasid) {
    registers_.store(IH_VMID_LUT + (vmid & 0xf), pasid);
    registers_.store(IH_VMID_LUT_MM + (vmid & 0xf), pasid);
}

void InterruptHandler::raise(const Interrupt& interrupt) {
    const uint64_t now = env_.now_ns();
    emit<event::interrupt>(env_.tracer, now, interrupt.client, interrupt.source, interrupt.ring_id, interrupt.vmid,
                           interrupt.pasid, interrupt.data[0]);
    if (backlog_.size() >= kBacklogVectors) {
        report(env_, Fault::InterruptRingFull,
               fmt::format("client {:#x} source {} dropped", interrupt.client, interrupt.source));
        return;
    }
    const uint64_t clock = gpu_clock(env_);
    Vector v{};
    v[0] = interrupt.client | uint32_t{interrupt.source} << 8 | uint32_t{interrupt.ring_id} << 16 |
           uint32_t{interrupt.vmid & 0xfu} << 24 | (interrupt.mmhub ? 1u << 31 : 0);
    v[1] = lo32(clock);
    v[2] = hi32(clock) & 0xffff;
    v[3] = interrupt.pasid | uint32_t{interrupt.node} << 16;
    for (int i = 0; i < 4; ++i) v[4 + i] = interrupt.data[i];
    backlog_.push_back(v);
    flush();
}

void InterruptHandler::flush() {
    if (!cntl::RB_ENABLE::get(control()) || !bus_.bus_master()) return;
    const uint64_t mask = ring_bytes() - 1;
    if (ring_bytes() < 2 * kVectorBytes) return;
    const uint64_t base =
        make64(registers_.stored(IH_RB_BASE), field::IH_RB_BASE_HI::ADDR::get(registers_.stored(IH_RB_BASE_HI))) << 8;
    uint64_t wptr = registers_.stored(IH_RB_WPTR) & mask & ~uint64_t{kVectorBytes - 1};
    const uint64_t rptr = registers_.stored(IH_RB_RPTR) & mask & ~uint64_t{kVectorBytes - 1};
    uint32_t overflow = registers_.stored(IH_RB_WPTR) & kRbOverflow;
    bool wrote = false;
    while (!backlog_.empty()) {
        if (overrun_ || ((wptr + kVectorBytes) & mask) == rptr) {
            if (!env_.ih_overflow || !cntl::WPTR_OVERFLOW_ENABLE::get(control())) break;
            report(env_, Fault::InterruptRingFull, fmt::format("the vector at {:#x} is lost", (wptr + kVectorBytes) & mask));
            overrun_ = true;
            overflow = kRbOverflow;
        }
        store(base + wptr, backlog_.front().data(), kVectorBytes);
        backlog_.pop_front();
        wptr = (wptr + kVectorBytes) & mask;
        env_.stats.add(Stat::interrupts);
        wrote = true;
    }
    if (!wrote) return;
    const uint32_t value = static_cast<uint32_t>(wptr) | overflow;
    registers_.store(IH_RB_WPTR, value);
    if (cntl::WPTR_WRITEBACK_ENABLE::get(control())) {
        const uint32_t high = field::IH_RB_WPTR_ADDR_HI::ADDR::get(registers_.stored(IH_RB_WPTR_ADDR_HI));
        store(make64(registers_.stored(IH_RB_WPTR_ADDR_LO), high), &value, 4);
    }
    if (!cntl::ENABLE_INTR::get(control())) return;
    notify();
}

void InterruptHandler::notify() {
    env_.stats.add(Stat::msis);
    if (!env_.clock.on()) return env_.host.raise_msi();
    // One that is on its way tells of later vectors too: the driver reads the ring to its end.
    arrives_ns_ = std::min(arrives_ns_, env_.clock.ns() + env_.timing.interrupt_ns);
}

void InterruptHandler::deliver() {
    arrives_ns_ = kNever;
    env_.host.raise_msi();
}

/// To memory only. The handler's own doorbell as the target of its pointer would have it call itself; no root complex hands a
/// device its own write back.
void InterruptHandler::store(uint64_t bus, const void* data, size_t size) {
    if (uint8_t* target = bus_.host(bus, size, true)) {
        std::memcpy(target, data, size);
    } else {
        report(env_, Fault::BusAddress, fmt::format("interrupt ring: write of {} bytes at {:#x}", size, bus));
    }
}

void InterruptHandler::rptr_moved(uint32_t value) {
    registers_.store(IH_RB_RPTR, value);
    overrun_ = false;
    flush();
    // MSI is edge triggered: whatever the driver has not yet read needs another one.
    const uint64_t mask = ring_bytes() - 1;
    if (cntl::ENABLE_INTR::get(control()) && cntl::RB_ENABLE::get(control()) && bus_.bus_master() &&
        (registers_.stored(IH_RB_WPTR) & mask) != (value & mask)) {
        notify();
    }
}

bool InterruptHandler::doorbell(uint32_t byte_offset, uint32_t value) {
    const uint32_t control = registers_.stored(IH_DOORBELL_RPTR);
    namespace rptr = field::IH_DOORBELL_RPTR;
    if (!rptr::ENABLE::get(control) || rptr::OFFSET::get(control) * 4 != byte_offset) return false;
    rptr_moved(value);
    return true;
}

void InterruptHandler::reset() {
    backlog_.clear();
    arrives_ns_ = kNever;
    overrun_ = false;
}

void InterruptHandler::visit(StateVisitor& v) {
    v.list("backlog", backlog_, kBacklogVectors);
    v("arrives_ns", arrives_ns_);
    v("overrun", overrun_);
}

}  // namespace lyra
