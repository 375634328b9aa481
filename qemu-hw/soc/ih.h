// SPDX-License-Identifier: MIT
// Interrupt handler: ring 0, its pointers and doorbell, MSI; step 9 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "common/env.h"
#include "common/snapshot.h"
#include "cp-firmware-model/cp_bus.h"
#include "qemu-hw/soc/bus_memory.h"
#include "qemu-hw/soc/register_file.h"

namespace lyra {

/// vega10_ih ring 0. Vectors wait in the device while the ring is full, so none is lost unless the guest stops for good. With
/// Env::ih_overflow, and where the guest has enabled it, the oldest ones in the ring are overwritten instead and RB_OVERFLOW of
/// the write pointer says so until the guest clears it. @source Linux 6.12 vega10_ih_get_wptr()
/// Rings 1 and 2 (retry-fault delegation) are plain registers: the device never writes to them.
class InterruptHandler : public RegisterBlock {
public:
    InterruptHandler(Env& env, RegisterFile& registers, BusMemory& bus);

    void raise(const Interrupt& interrupt);
    uint16_t pasid_of(uint32_t vmid, bool mmhub) const;
    void set_pasid(uint32_t vmid, uint16_t pasid);

    uint32_t read(uint32_t dw) override;
    void write(uint32_t dw, uint32_t value) override;
    /// @return true when the doorbell is the ring's read pointer
    bool doorbell(uint32_t byte_offset, uint32_t value);
    /// Bus mastering came on: deliver what waited.
    void flush();
    void reset();
    void visit(StateVisitor& v);

    /// Virtual time: when the message that is on its way reaches the host, kNever: there is none. Then it is to be delivered.
    uint64_t arrives_ns() const { return arrives_ns_; }
    void deliver();

private:
    void store(uint64_t bus, const void* data, size_t size);
    using Vector = std::array<uint32_t, 8>;
    uint32_t control() const;
    uint64_t ring_bytes() const;
    void rptr_moved(uint32_t value);
    void notify();

    Env& env_;
    RegisterFile& registers_;
    BusMemory& bus_;
    std::deque<Vector> backlog_;
    uint64_t arrives_ns_ = kNever;
    bool overrun_ = false;  ///< the write pointer has passed the read pointer: the ring is full until that one moves
};

}  // namespace lyra
