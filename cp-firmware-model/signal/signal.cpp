// SPDX-License-Identifier: MIT
// HSA signals: atomic value, timestamps, event mailbox, end-of-pipe interrupt; step 8 of the data flow.
#include "cp-firmware-model/signal/signal.h"

#include <fmt/format.h>

namespace lyra {

namespace {

bool aligned(uint64_t address) { return (address & 7) == 0; }

uint64_t* atomic_pointer(MemoryPort& port, uint32_t vmid, uint64_t address, Access access) {
    return reinterpret_cast<uint64_t*>(port.page(vmid, address, access));
}

}  // namespace

Result<int64_t> Signals::load(uint32_t vmid, uint64_t signal) {
    const uint64_t address = signal + amd_signal::k_value;
    if (!aligned(address)) {
        report(env_, Fault::PacketField, fmt::format("signal at {:#x} is not aligned", signal));
        return Fault::PacketField;
    }
    MemoryPort& port = bus_.gfxhub();
    if (const uint64_t* p = atomic_pointer(port, vmid, address, Access::Read)) {
        return static_cast<int64_t>(__atomic_load_n(p, __ATOMIC_ACQUIRE));
    }
    int64_t value = 0;
    const Fault fault = port.read(vmid, address, &value, sizeof value);
    if (fault != Fault::None) return fault;
    return value;
}

Fault Signals::copy_in(uint32_t vmid, uint64_t signal, AmdSignal& copy) {
    if (!aligned(signal)) {
        report(env_, Fault::PacketField, fmt::format("signal at {:#x} is not aligned", signal));
        return Fault::PacketField;
    }
    return bus_.gfxhub().read(vmid, signal, copy.bytes.data(), copy.bytes.size());
}

Fault Signals::decrement(uint32_t vmid, uint64_t address) {
    MemoryPort& port = bus_.gfxhub();
    if (uint64_t* p = atomic_pointer(port, vmid, address, Access::Atomic)) {
        __atomic_fetch_sub(p, 1, __ATOMIC_SEQ_CST);
        return Fault::None;
    }
    // Not plain memory, or not writable: the port says which, and refuses what is not allowed.
    uint64_t value = 0;
    Fault fault = port.read(vmid, address, &value, sizeof value);
    if (fault != Fault::None) return fault;
    --value;
    return port.write(vmid, address, &value, sizeof value);
}

Fault Signals::notify(const SignalOwner& owner, const AmdSignal& copy) {
    const uint64_t mailbox = amd_signal::event_mailbox_ptr(copy);
    if (mailbox == 0) return Fault::None;
    const uint64_t event_id = amd_signal::event_id(copy);
    if (!aligned(mailbox)) {
        report(env_, Fault::PacketField, fmt::format("event mailbox at {:#x} is not aligned", mailbox));
        return Fault::PacketField;
    }
    MemoryPort& port = bus_.gfxhub();
    if (uint64_t* p = atomic_pointer(port, owner.vmid, mailbox, Access::Write)) {
        __atomic_store_n(p, event_id, __ATOMIC_RELEASE);
    } else {
        const Fault fault = port.write(owner.vmid, mailbox, &event_id, sizeof event_id);
        if (fault != Fault::None) return fault;
    }
    end_of_pipe(owner, static_cast<uint32_t>(event_id));
    return Fault::None;
}

void Signals::end_of_pipe(const SignalOwner& owner, uint32_t context_id) {
    Interrupt interrupt;
    interrupt.client = ih_client::kGrbmCp;
    interrupt.source = ih_source::kCpEndOfPipe;
    interrupt.ring_id = owner.ring_id;
    interrupt.vmid = static_cast<uint8_t>(owner.vmid);
    interrupt.pasid = owner.pasid;
    interrupt.data[0] = context_id;
    bus_.interrupt(interrupt);
}

Fault Signals::complete(const SignalOwner& owner, uint64_t signal, uint64_t start_ts, uint64_t end_ts) {
    // The signal may be freed as soon as its value changes: everything that is needed later is read first.
    AmdSignal copy;
    Fault fault = copy_in(owner.vmid, signal, copy);
    if (fault != Fault::None) return fault;
    const uint64_t stamps[2] = {start_ts, end_ts};
    static_assert(amd_signal::k_end_ts == amd_signal::k_start_ts + 8);
    fault = bus_.gfxhub().write(owner.vmid, signal + amd_signal::k_start_ts, stamps, sizeof stamps);
    if (fault != Fault::None) return fault;
    fault = decrement(owner.vmid, signal + amd_signal::k_value);
    if (fault != Fault::None) return fault;
    return notify(owner, copy);
}

Fault Signals::store(const SignalOwner& owner, uint64_t signal, int64_t value) {
    AmdSignal copy;
    Fault fault = copy_in(owner.vmid, signal, copy);
    if (fault != Fault::None) return fault;
    MemoryPort& port = bus_.gfxhub();
    const uint64_t address = signal + amd_signal::k_value;
    if (uint64_t* p = atomic_pointer(port, owner.vmid, address, Access::Write)) {
        __atomic_store_n(p, static_cast<uint64_t>(value), __ATOMIC_RELEASE);
    } else {
        fault = port.write(owner.vmid, address, &value, sizeof value);
        if (fault != Fault::None) return fault;
    }
    return notify(owner, copy);
}

}  // namespace lyra
