// SPDX-License-Identifier: MIT
// The slow corners of lane memory: why an atomic was refused, and watched addresses; step 6 of the data flow.
#include "gcn-interp/exec/lane_memory.h"

#include <fmt/format.h>

#include "gcn-interp/exec/observe.h"

namespace lyra::gcn {

namespace {
thread_local AccessListener* the_listener = nullptr;
}

void set_access_listener(AccessListener* listener) { the_listener = listener; }

namespace lane_memory {

void tell_listener(uint64_t va, unsigned bytes, Access access) {
    if (the_listener != nullptr) the_listener->access(&va, 1, bytes, access);
}

Fault refuse_atomic(ExecContext& ctx, uint32_t vmid, uint64_t va, unsigned bytes) {
    if (const Fault fault = ctx.memory->check(vmid, va, Access::Atomic); fault != Fault::None) return fault;
    report(*ctx.env, Fault::NotPlainMemory, fmt::format("atomic of {} bytes at {:#x}", bytes, va));  // registers
    return Fault::NotPlainMemory;
}

bool page_missing(ExecContext& ctx, const Wave& wave, const LaneAddresses& a, unsigned bytes) {
    PageCursor cursor(*ctx.pages, wave.vmid, Access::Atomic);
    for (uint64_t mask = a.active; mask; mask &= mask - 1) {
        const unsigned lane = static_cast<unsigned>(std::countr_zero(mask));
        if (a.va[lane] % bytes != 0 || cursor.at(a.va[lane], bytes)) continue;
        if (refuse_atomic(ctx, wave.vmid, a.va[lane], bytes) != Fault::PageRetry) continue;
        ctx.fault = Fault::PageRetry;
        return true;
    }
    return false;
}

namespace {

/// The trap handler's own accesses are not a debugger's concern.
void compare_watched(ExecContext& ctx, Wave& wave, const LaneAddresses& a, unsigned bytes, Access access) {
    if (wave.priv()) return;
    uint32_t hits = 0;
    for (unsigned n = 0; n < kWatchpoints; ++n) {
        const Watchpoint& point = ctx.watch->points[n];
        if (!point.valid || point.vmid != wave.vmid || !point.sees(access)) continue;
        bool hit = false;
        for_lanes(a.active, [&](unsigned lane) {
            const uint64_t last = a.va[lane] + bytes - 1;
            hit |= point.covers(a.va[lane]) || (last / kWatchLine != a.va[lane] / kWatchLine && point.covers(last));
        });
        hits |= uint32_t{hit} << n;
    }
    if (hits == 0) return;
    wave.trapsts |= TrapstsBits::AddrWatch0::set(0u, hits & 1) | TrapstsBits::AddrWatchHigh::set(0u, hits >> 1);
    ctx.ask(Request::Exception);
}

}  // namespace

void note_watched(ExecContext& ctx, Wave& wave, const LaneAddresses& a, unsigned bytes, Access access) {
    if (the_listener != nullptr) the_listener->access(a.va, a.active, bytes, access);
    compare_watched(ctx, wave, a, bytes, access);
}

void note_watched_swizzled(ExecContext& ctx, Wave& wave, const SwizzledAddresses& a, unsigned bytes, Access access) {
    LaneAddresses linear;
    linear.active = a.active;
    for (unsigned i = 0; i < bytes && the_listener != nullptr; ++i) {
        for_lanes(a.active, [&](unsigned lane) { linear.va[lane] = a.byte(lane, i); });
        the_listener->access(linear.va, linear.active, 1, access);
    }
    to_linear(a, 0, linear);
    compare_watched(ctx, wave, linear, 1, access);
}

}  // namespace lane_memory
}  // namespace lyra::gcn
